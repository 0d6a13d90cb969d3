"""Report page: a run's record as one HTML file with pictures, that needs nothing beside it and asks no network.

Every function takes run.json's mapping and nothing else, so that any earlier record gives the same bytes again.
"""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from prep.charts import Curve, Dot, Interval, Strip, curves, forest, strips
from prep.page import rendered
from prep.report import by_condition, done_lines, measures_of, methods_md, readable, report_md

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Record = dict[str, Any]

LEVELS = (("integrated_lufs", "integrated loudness, LUFS"), ("true_peak_dbtp", "true peak, dBTP"))
BANDS = re.compile(r"spectrum_(\d+)hz_db")
MOST_DOTS = 500  # of a condition in one picture; of more, every n-th clip is drawn


def report_html(record: Record) -> str:
    """Return the report of a run as a page. It names conditions: it belongs beside the key."""
    audits = _audits(record)
    return rendered(
        "report.html",
        record=readable(record),
        done=done_lines(readable(record)),
        levels=[found for name, axis in LEVELS if (found := _levels(record, name, axis))],
        spectra=_spectra(record),
        batteries=[(_title(record, audit), _battery(audit, _margin(record))) for audit in audits],
        rocs=[picture for audit in audits for name in _corrected(record) if (picture := _roc(record, audit, name))],
        text=_sections(report_md(record)),
        methods=methods_md(record),
    )


def _audits(record: Record) -> list[Mapping[str, Any]]:
    audit = record["audit"]
    return [] if audit is None else audit.get("pairs", [audit])


def _title(record: Record, audit: Mapping[str, Any]) -> str:
    return f"{audit['a']} and {audit['b']}" if len(_audits(record)) > 1 else ""


def _margin(record: Record) -> float:
    return float(record["config"]["audit"]["equivalence_auc"])


def _corrected(record: Record) -> list[str]:
    """Return the cues that a stage corrects."""
    return sorted({spread["cue"] for spread in record["stability"].values() if spread})


def _levels(record: Record, name: str, axis: str) -> Markup:
    """Return a measure of every clip, by condition, before and after."""
    rows = []
    for series, (condition, clips) in enumerate(by_condition(record).items()):
        thin = clips[:: max(1, -(-len(clips) // MOST_DOTS))]
        for part, when in (("source", "before"), ("delivered", "after")):
            values = [(clip, measures_of(clip[part]["cues"]).get(name)) for clip in thin]
            dots = [Dot(value, str(clip["id"])) for clip, value in values if value is not None]
            rows.append(Strip(f"{condition or 'clips'}, {when}", series, dots))
    return strips(rows, axis, f"{axis} of every clip by condition, before and after")


def _spectra(record: Record) -> Markup:
    """Return the median third-octave spectrum of each condition, level removed, before and after, with quartiles."""
    lines = []
    for series, (condition, clips) in enumerate(by_condition(record).items()):
        for part, when in (("source", "before"), ("delivered", "after")):
            found = [clip[part]["cues"].get("spectrum", {}) for clip in clips]
            names = [name for name in found[0] if BANDS.fullmatch(name)] if found else []
            bands = [(float(BANDS.fullmatch(name)[1]), name) for name in names]  # type: ignore[index]
            columns = [sorted(item[name] for item in found if name in item) for _, name in bands]
            kept = [(hertz, column) for (hertz, _), column in zip(bands, columns, strict=True) if column]
            quartiles = [_quartiles(column) for _, column in kept]
            lines.append(
                Curve(
                    f"{condition or 'clips'}, {when}",
                    series,
                    [hertz for hertz, _ in kept],
                    [middle for _, middle, _ in quartiles],
                    [low for low, _, _ in quartiles] if when == "after" else (),
                    [high for _, _, high in quartiles] if when == "after" else (),
                    dashed=when == "before",
                )
            )
    label = "median third-octave spectrum by condition, before (dashed) and after (with the middle half of the clips)"
    return curves(lines, ("frequency, Hz", "level over the clip's mean, dB"), label, logarithmic=True)


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def _battery(audit: Mapping[str, Any], margin: float) -> Markup:
    """Return every cue about chance, the widest first."""
    rows = []
    for name in audit["cues"]:
        columns = {
            column: (audit[column] or {}).get(name) or {} for column in ("sources", "before", "after", "delivered")
        }
        tested = columns["after"]
        before = columns["before"].get("auc") if columns["before"] else columns["sources"].get("auc")
        rows.append(
            Interval(
                name,
                before,
                tested.get("auc"),
                columns["delivered"].get("auc"),
                tested.get("auc_low"),
                tested.get("auc_high"),
                tested.get("verdict", "descriptive only"),
            )
        )
    rows.sort(
        key=lambda row: -max((abs(value - 0.5) for value in (row.after, row.delivered) if value is not None), default=0)
    )
    return forest(rows, margin, "AUC of every cue before, after and delivered")


def _roc(record: Record, audit: Mapping[str, Any], cue: str) -> Markup:
    """Return the ROC curve of a cue of one number on held-out clips, before and after."""
    features = audit["cues"].get(cue, {}).get("features", [])
    if len(features) != 1 or not audit["after"]:
        return Markup()
    held = [clip for clip in record["clips"] if clip["delivered"] and clip["half"] == "held-out"]
    lines = []
    for series, (part, when) in enumerate((("source", "before"), (None, "after"))):
        values: dict[str, list[float]] = {audit["a"]: [], audit["b"]: []}
        for clip in held:
            cues = (clip["source"] if part else clip["evidence"] or clip["delivered"])["cues"]
            value = cues.get(cue, {}).get(features[0]["name"])
            condition = clip["columns"].get(audit["column"])
            if value is not None and condition in values:
                values[condition].append(value)
        x, y = _roc_points(values[audit["a"]], values[audit["b"]])
        lines.append(Curve(f"{cue}, {when}", series, x, y))
    lines.append(Curve("chance", 3, [0.0, 1.0], [0.0, 1.0], dashed=True))
    axes = (f"share of {audit['a']} above the threshold", f"share of {audit['b']}")
    return curves(lines, axes, f"ROC of {cue} on held-out clips, before and after")


def _roc_points(a: Sequence[float], b: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the share of each side above every threshold."""
    if not a or not b:
        return [], []
    thresholds = [float("inf"), *sorted({*a, *b}, reverse=True)]
    return tuple([sum(value >= limit for value in side) / len(side) for limit in thresholds] for side in (a, b))  # type: ignore[return-value]


def _sections(markdown: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the Markdown report as titled lists of blocks: paragraphs, lists and tables."""
    sections: list[tuple[str, list[dict[str, Any]]]] = []
    for block in markdown.split("\n\n"):
        if block.startswith("# "):
            continue
        if block.startswith("## "):
            sections.append((block[3:], []))
        elif sections:
            sections[-1][1].append(_block(block))
    return [section for section in sections if section[0] != "Methods"]


def _block(text: str) -> dict[str, Any]:
    lines = text.splitlines()
    if text.startswith("### "):
        return {"kind": "heading", "text": text[4:]}
    if text.startswith("| "):
        cells = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        return {"kind": "table", "head": cells[0], "rows": cells[2:]}
    if text.startswith("- "):
        return {"kind": "list", "items": [_plain(line[2:]) for line in lines]}
    return {"kind": "text", "text": _plain(text)}


def _plain(text: str) -> str:
    return re.sub(r"\*\*?|`", "", text)
