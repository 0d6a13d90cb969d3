"""Report: the record as text to read. Every function here takes run.json's mapping and nothing else."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from prep.methods import methods_md
from prep.recorded import (
    by_condition,
    capped_sentence,
    figure,
    readable_prose,
    spread_figure,
    values_of,
)
from prep.report_cues import cue_sections, cue_tables
from prep.summary import shortfall_sentences, step_sentences
from prep.tabular import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prep.recorded import Record

LEVEL_MEASURES = ("integrated_lufs", "true_peak_dbtp")
MOST_ROWS = 20  # of a list in the report


def report_md(record: Record) -> str:
    """Return the report of a run in Markdown. It names conditions: it belongs beside the key."""
    safe = readable_prose(record)
    parts = [
        f"# {safe['study']}\n\nThis page names conditions. Keep it with the key, away from listeners.",
        _done(safe),
        _not_achieved(safe),
        _listed("Not achieved", shortfall_table(record)),
        _set_aside(record, safe),
        _listed("Odd sources", odd_table(record)),
        _clips(record, safe),
        "## Levels\n\n" + level_table(record).markdown(),
        _fits(record, safe),
        *cue_sections(record, safe),
        "## Methods\n\n" + methods_md(record).strip(),
        _versions(safe),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def report_tables(record: Record) -> list[Table]:
    """Return every table of the report that has rows."""
    found = [
        condition_table(record),
        level_table(record),
        fit_table(record),
        exclusion_table(record),
        shortfall_table(record),
        screen_table(record),
        odd_table(record),
        *cue_tables(record),
    ]
    return [table for table in found if table.rows]


def _listed(title: str, table: Table) -> str:
    return f"## {title}\n\n{table.markdown(MOST_ROWS)}" if table.rows else ""


def _done(safe: Record) -> str:
    """Say what each step did, and on which side only."""
    lines = [
        f"{safe['counts'].get('delivered', 0)} of {len(safe['clips'])} clips delivered.",
        *(f"{name}: {text}" for name, text in step_sentences(safe)),
        *(f"Note: {notice}." for notice in safe["notices"]),
    ]
    return "## What was done\n\n" + "\n".join(f"- {line}" for line in lines)


def _not_achieved(safe: Record) -> str:
    """Say what was not achieved, the gravest first."""
    lines = [f"- {line}" for line in shortfall_sentences(safe)]
    return "## What was not achieved\n\n" + ("\n".join(lines) or "Nothing that this record knows of.")


def shortfall_table(record: Record) -> Table:
    """Return what was not achieved on delivered clips: levels that were lowered, and what steps warned of."""
    rows = []
    for clip in record["clips"]:
        for stage, notes in clip["stages"].items():
            if notes.get("lowered_by_db", 0) > 0:
                rows.append(
                    (clip["file_name"], stage, f"{notes['lowered_by_db']:.2f} dB under its target, for the ceiling")
                )
            if notes.get("warning"):
                rows.append((clip["file_name"], stage, notes["warning"]))
    return Table("not-achieved", "What was not achieved on delivered clips.", ("clip", "step", "what"), rows)


def exclusion_table(record: Record) -> Table:
    """Return each clip that is not delivered, why, and who stands in for it."""
    stand_ins = {
        lost["file_name"]: slot["filled_by"] or "none: the slot is empty"
        for slot in record["slots"]
        for lost in slot["instead_of"]
        if slot["candidates"] > 1
    }
    rows = [
        (
            clip["file_name"],
            clip["status"],
            clip["failure"]["step"],
            clip["failure"]["reason"],
            stand_ins.get(clip["file_name"], "none"),
        )
        for clip in record["clips"]
        if clip["failure"]
    ]
    head = ("clip", "status", "step", "reason", "in its place")
    return Table("exclusions", "Clips that were not delivered.", head, rows)


def _set_aside(record: Record, safe: Record) -> str:
    """List each clip that is not delivered, and what a screen let through with a flag."""
    table, noted = exclusion_table(record), screen_table(record)
    parts = ["## Exclusions", table.markdown() if table.rows else "No clip was excluded."]
    empty = [slot["slot"] for slot in safe["slots"] if not slot["filled_by"] and slot["candidates"] > 1]
    if empty:
        parts.append(f"**Empty slots:** {', '.join(empty)}: no candidate could be used.")
    spare = record["counts"].get("spare", 0)
    if spare:
        parts.append(f"{spare} further candidates were not needed and not read.")
    if noted.rows:
        parts += ["Seen by the screen in clips that are used:", noted.markdown(MOST_ROWS)]
    return "\n\n".join(parts)


def screen_table(record: Record) -> Table:
    """Return what a screen flagged, cut off or could not check in clips that are used."""
    return Table(
        "screened",
        "What the screen saw in clips that are used.",
        ("clip", "check", "what"),
        list(_screen_notes(record)),
    )


def _screen_notes(record: Record) -> Iterable[tuple[str, str, str]]:
    for clip in record["clips"]:
        screen = clip["screen"]
        if clip["status"] != "delivered" or not screen:
            continue
        for cut in screen["cut_for"]:
            yield clip["file_name"], cut["check"], f"{cut['value']:.2f} s of its start were cut off: {cut['reason']}"
        for item in screen["findings"]:
            if item["outcome"] == "failed":
                yield clip["file_name"], item["check"], f"flagged: {item['reason']}"
            elif item["outcome"] == "not checked":
                yield clip["file_name"], item["check"], f"not checked: {item['reason']}"


def odd_table(record: Record) -> Table:
    """Return what is odd about the files as they came, and how it was taken."""
    rows = [
        (clip["file_name"], warning)
        for clip in record["clips"]
        for warning in (clip["source"]["facts"] or {}).get("warnings", ())
    ]
    return Table("odd-sources", "What is odd about the files as they came.", ("clip", "what"), rows)


def condition_table(record: Record) -> Table:
    """Count clips and units by condition and half."""
    rows = []
    for condition, clips in by_condition(record).items():
        halves = Counter(clip["half"] for clip in clips)
        unit = record["config"]["compare"]["unit"] if record["config"]["compare"] else "speaker"
        units = {clip["columns"].get(unit) for clip in clips} - {None, ""}
        rows.append((condition, len(clips), len(units), halves.get("fit", 0), halves.get("held-out", 0)))
    head = ("condition", "clips", "units", "fit split", "held-out")
    return Table("conditions", "Delivered stimuli by condition.", head, rows)


def _clips(record: Record, safe: Record) -> str:
    warnings = (safe["split"] or {}).get("warnings", [])
    return "## Conditions\n\n" + condition_table(record).markdown() + "".join(f"\n\n{warning}" for warning in warnings)


def level_table(record: Record) -> Table:
    """Tell the levels of each condition before and after: median and range."""
    rows = []
    for condition, clips in by_condition(record).items():
        for name in LEVEL_MEASURES:
            before, after = (spread_figure(values_of(clips, part, name)) for part in ("source", "delivered"))
            rows.append((condition, name, before, after))
    head = ("condition", "measure", "source: median (range)", "delivered: median (range)")
    return Table("levels", "Levels of the stimuli before and after preparation.", head, rows)


def fit_table(record: Record) -> Table:
    """Return what each fitted stage learned, in the run that is the evidence and as released."""
    rows = [
        (stage, name, figure(record["fits"]["evidence"].get(stage, {}).get(name)), figure(value))
        for stage, released in record["fits"]["release"].items()
        for name, value in released.items()
        if not isinstance(value, list | dict) and name != "warning"
    ]
    head = ("stage", "value", "evidence run", "released")
    return Table("fits", "What each fitted stage learned.", head, rows)


def _fits(record: Record, safe: Record) -> str:
    """Tell what each fitted stage learned, and what that leaves."""
    table = fit_table(record)
    if not table.rows:
        return ""
    released = safe["fits"]["release"]
    capped = [f"**The cap bit:** {capped_sentence(stage, fit)}" for stage, fit in released.items() if fit.get("capped")]
    warnings = [f"**{stage}:** {fit['warning']}." for stage, fit in released.items() if fit.get("warning")]
    return "\n\n".join(["## Fits", table.markdown(), *capped, *_shifts(safe), *_stability(safe), *warnings])


def _shifts(safe: Record) -> Iterable[str]:
    """Tell the difference that a correction is for, with its interval: what may remain."""
    for stage, shifts in safe["fit_intervals"].items():
        for kind, shift in shifts.items():
            told = f"{stage}: {kind} difference of the sources {shift['shift']:+.3f}"
            if shift["low"] is None:
                yield f"{told} (too few units for an interval)."
                continue
            holds = " The interval holds 0: the sources may not differ." if shift["low"] <= 0 <= shift["high"] else ""
            yield f"{told}, 90 % interval {shift['low']:+.2f} to {shift['high']:+.2f}.{holds}"


def _stability(safe: Record) -> Iterable[str]:
    """Tell how far the held-out figure would have moved with another split."""
    for stage, spread in safe["stability"].items():
        if spread:
            yield (
                f"{stage}: had the split been drawn otherwise, the held-out AUC of {spread['cue']} after "
                f"the correction would have been {spread['auc_p5']:.2f} to {spread['auc_p95']:.2f} (5th to 95th "
                f"percentile of {spread['splits']} splits, foreseen before encoding; it is no test)."
            )


def _versions(safe: Record) -> str:
    return "## Versions\n\n" + ", ".join(f"{name} {version}" for name, version in safe["versions"].items()) + "."
