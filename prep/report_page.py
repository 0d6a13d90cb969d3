"""Report page: a run's record as one HTML file with pictures and players, that asks no network.

Every function takes run.json's mapping, and the bytes of the excerpts that it names; the same give the same page again.
The words and tables are those of the Markdown report, so that no figure can stand in one and not in the other.
"""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING, Any, NamedTuple

from prep.bibliography import CITATION
from prep.methods import methods_md
from prep.page import printable, rendered
from prep.recorded import audits, by_condition, titles
from prep.report import report_md
from prep.report_cues import NOT_SHOWN
from prep.report_figures import (
    Figure,
    battery,
    correction_figures,
    level_figures,
    roc_figures,
    spectrum_figures,
)
from prep.report_listening import heard_clips, missing_excerpts
from prep.store import digest, key_of
from prep.summary import step_sentences, unblinded_sentences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Record = dict[str, Any]
Block = dict[str, Any]

MOST_ROWS = 20  # of a list of clips
OPEN_PAIRS = 3  # pairs of conditions whose tables stand open; those of more are folded
# Sections of the Markdown report that stand beside a picture, or that the page tells in its own way.
OWN_SECTIONS = ("What was done", "Methods", "Versions")


class Pair(NamedTuple):
    """The audit of two conditions on the page: what they are called, the pictures, and the words under them."""

    title: str
    battery: Figure
    blocks: Sequence[Block]
    details: Sequence[Block]
    rocs: Sequence[Figure]


def report_html(
    record: Record, sounds: Mapping[str, bytes] | None = None, unblinded: Sequence[dict[str, str]] | None = None
) -> str:
    """Return the report of a run as a page. It names conditions: it belongs beside the key.

    Args:
        record: run.json.
        sounds: the excerpts that are at hand, by the name that the record gives them.
        unblinded: every opening of the study that is known; by default those that the record cites.
    """
    # Read before control codes are written out, which would change what a name stands for.
    sections = dict(_sections(report_md(record)))
    not_achieved = sections.pop("What was not achieved", [])
    methods = methods_md(record)
    record = printable(record)
    intro, pairs = _pairs(record, sections.pop("Cues", []))
    return rendered(
        "report.html",
        record=record,
        unblinded=printable(unblinded_sentences(record.get("unblinded", []) if unblinded is None else unblinded)),
        steps=step_sentences(record),
        one_sided={item["stage"] for item in record["one_sided"]},
        shortfalls=not_achieved,
        conditions=sections.pop("Conditions", []),
        split=_split(record),
        audit_blocks=intro,
        pairs=pairs,
        open_pairs=OPEN_PAIRS,
        levels=level_figures(record),
        level_blocks=sections.pop("Levels", []),
        spectra=spectrum_figures(record),
        corrections=correction_figures(record),
        held_back=_held_back(record),
        fit_blocks=sections.pop("Fits", []),
        changes=_changes(record),
        look_blocks=sections.pop("Where cues come from", []),
        heard=heard_clips(record, sounds or {}),
        left_out=(record.get("excerpts") or {}).get("left_out_clips", 0),
        missing=missing_excerpts(record, sounds or {}),
        sections=[(title, blocks) for title, blocks in sections.items() if title not in OWN_SECTIONS],
        methods=[CITATION.sub(_keys, _plain(text)) for text in methods.strip().split("\n\n")],
        digests=_digests(record),
        config=_yaml(_config(record)),
    )


def _config(record: Record) -> Record:
    """Return the config without the output folder, which changes nothing in the result."""
    return {name: value for name, value in record["config"].items() if name != "output"}


def _yaml(value: Any) -> str:
    import yaml

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)


def _split(record: Record) -> list[tuple[str, list[str]]]:
    """Return the groups of each half of the split; none where there is no split."""
    split = record["split"] or {"halves": {}, "by": ""}
    halves: dict[str, list[str]] = {}
    for group, half in split["halves"].items():
        halves.setdefault(half, []).append(str(group))
    return [(f"{half}, by {split['by']}", groups) for half, groups in sorted(halves.items())]


def _digests(record: Record) -> list[tuple[str, str]]:
    """Return what proves that two pages speak of the same: hashes over the sources, the delivered clips, the config."""
    clips = record["clips"]
    sources = sorted(clip["source"]["sha256"] for clip in clips if clip["source"]["sha256"])
    delivered = sorted(clip["delivered"]["sha256"] for clip in clips if clip["delivered"])
    return [
        (f"{len(sources)} sources read", digest("\n".join(sources).encode())),
        (f"{len(delivered)} clips delivered", digest("\n".join(delivered).encode())),
        ("config", key_of(_config(record))),
        *(
            (f"model {name}, {file}", sha256)
            for name, model in record["models"].items()
            for file, sha256 in model["sha256"].items()
        ),
    ]


# The audit ----------------------------------------------------------------------------------------


def _pairs(record: Record, blocks: Sequence[Block]) -> tuple[list[Block], list[Pair]]:
    """Return the words over all pairs of conditions, and each pair with its pictures and words."""
    margin = float(record["config"]["audit"]["equivalence_auc"])
    parts: list[list[Block]] = [[]]
    for block in blocks:
        if block["kind"] == "heading":
            parts.append([])
        else:
            parts[-1].append(block)
    # Of one pair all words are its own; of several, those over the first heading are of all.
    intro, words = (parts[0], parts[1:]) if len(audits(record)) != 1 else ([], parts)
    if len(words) != len(audits(record)):
        intro, words = [*blocks], [[] for _ in audits(record)]
    return intro, [
        Pair(
            title,
            battery(audit, margin),
            *_folded(held),
            roc_figures(record, audit),
        )
        for title, audit, held in zip(titles(record), audits(record), words, strict=True)
    ]


def _folded(blocks: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """Return what stands open of a pair's words, up to its table and what belongs to it, and the rest."""
    table = next((place for place, block in enumerate(blocks) if block["kind"] == "table"), len(blocks) - 1)
    open_, rest = [*blocks[: table + 1]], blocks[table + 1 :]
    told = [block for block in rest if block.get("text", "").startswith(("Limit ", NOT_SHOWN))]
    return open_ + told, [block for block in rest if block not in told]


# What the steps did to the clips ------------------------------------------------------------------


def _held_back(record: Record) -> list[tuple[str, str, str, str]]:
    """Return the clips whose correction was held back, most first: which, what it wanted, and by what."""
    found = [
        (clip, stage, note)
        for clip in record["clips"]
        for stage, note in clip["stages"].items()
        if note.get("capped_percent", 0.0) > 0 or note.get("applied_percent", 100.0) < 100
    ]
    found.sort(key=lambda item: (item[2].get("applied_percent", 100.0), -item[2].get("capped_percent", 0.0)))
    rows = [
        (
            str(clip["file_name"]),
            f"wanted up to +{note['wanted_boost_db']:.1f} and -{note['wanted_cut_db']:.1f} dB, got "
            f"+{note['largest_boost_db']:.1f} and -{note['largest_cut_db']:.1f} dB"
            if "wanted_boost_db" in note
            else stage,
            f"{note.get('capped_percent', 0.0):.1f} %",
            f"{note.get('applied_percent', 100.0):.0f} %",
        )
        for clip, stage, note in found
    ]
    more = len(rows) - MOST_ROWS
    return [*rows[:MOST_ROWS], *([(f"and {more} more; run.json has all", "", "", "")] if more > 0 else [])]


def _changes(record: Record) -> list[dict[str, Any]]:
    """Return, by step and condition, how many clips it treated and what it noted of them: median and range."""
    rows = []
    for stage in record["chain"]:
        if not any(stage in clip["stages"] for clip in record["clips"]):
            continue  # it changed nothing, as a screen that cut nothing off
        for condition, clips in by_condition(record).items():
            notes = [clip["stages"][stage] for clip in clips if stage in clip["stages"]]
            names = list(dict.fromkeys(name for note in notes for name in note))
            told = [text for name in names if (text := _noted(name, [note.get(name) for note in notes]))]
            rows.append(
                {
                    "stage": stage,
                    "condition": condition or "clips",
                    "treated": f"{len(notes)} of {len(clips)}",
                    "told": told,
                }
            )
    return rows


def _noted(name: str, values: Sequence[Any]) -> str:
    """Return a note of many clips in a few words; empty where it has neither numbers nor yes and no."""
    switches = [value for value in values if isinstance(value, bool)]
    if switches:
        return f"{name} {sum(switches)} of {len(switches)}"
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    if not numbers:
        return ""
    low, middle, high = (_short(value) for value in (min(numbers), statistics.median(numbers), max(numbers)))
    return f"{name} {low}" if low == high else f"{name} {middle} ({low} to {high})"


def _short(value: float) -> str:
    """Return a number with three digits after the point or, of thousands, none."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{round(value, 3) + 0.0:.3f}".rstrip("0").rstrip(".")


# The words of the Markdown report -----------------------------------------------------------------


def _sections(markdown: str) -> list[tuple[str, list[Block]]]:
    """Return the Markdown report as titled lists of blocks: headings, paragraphs, lists and tables."""
    sections: list[tuple[str, list[Block]]] = []
    for block in markdown.split("\n\n"):
        if block.startswith("# "):
            continue
        if block.startswith("## "):
            sections.append((block[3:], []))
        elif sections:
            sections[-1][1].append(_block(block))
    return sections


def _block(text: str) -> Block:
    lines = text.splitlines()
    if text.startswith("### "):
        return {"kind": "heading", "text": text[4:]}
    if text.startswith("| "):
        cells = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        return {"kind": "table", "head": cells[0], "rows": cells[2:]}
    if text.startswith("- "):
        return {"kind": "list", "items": [_plain(line[2:]) for line in lines]}
    return {"kind": "text", "text": _plain(text)}


def _keys(found: re.Match[str]) -> str:
    """Return a citation as its keys alone."""
    return f"[{found[1].replace('@', '')}]"


def _plain(text: str) -> str:
    return re.sub(r"\*\*?|`", "", text)
