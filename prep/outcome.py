"""Outcome: what a run came to in five lines, for a terminal, and why its exit code is not 0. From its record alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from prep.prose import counted, joined, was
from prep.recorded import by_condition, last_column, p_figure, too_few, widest_first, width
from prep.summary import TOLD_APART, auc_words

if TYPE_CHECKING:
    from prep.recorded import Record

MOST_NAMES = 3  # of clips in one line; the report has all


def outcome_lines(record: Record, output: str) -> list[str]:
    """Return five lines: what was made, what was lost, the worst remaining cue, the limits, and where to look.

    Where the exit code is not 0, a last one says why.

    Args:
        record: run.json.
        output: the output folder, as it is to be printed.
    """
    why = failures(record)
    return [
        f"made: {_made(record)}, in {output}/audio",
        f"excluded: {_excluded(record)}",
        f"worst remaining cue: {_worst(record)}",
        f"limits: {_limits(record)}",
        f"look at: {output}/report.html; for a paper: {output}/methods.md and {output}/report",
        *([f"exit code 1: {'; '.join(why)}"] if why else []),
    ]


def failures(record: Record) -> list[str]:
    """Return why a run is not wholly done: places that no clip fills, clips that failed, limits that are broken."""
    status = {clip["file_name"]: clip["status"] for clip in record["clips"]}
    # A place whose every candidate failed is told by these.
    unfilled = [
        slot
        for slot in record["slots"]
        if not slot["filled_by"] and not all(status.get(lost["file_name"]) == "failed" for lost in slot["instead_of"])
    ]
    single = sum(slot["candidates"] == 1 for slot in unfilled)
    failed = sum(clip["status"] == "failed" for clip in record["clips"])
    broken = sum(limit["broken"] for limit in record["limits"])
    return [
        *([f"{counted(single, 'clip')} {was(single)} turned down and not replaced"] if single else []),
        *([f"{counted(len(unfilled) - single, 'slot')} unfilled"] if len(unfilled) > single else []),
        *([f"{counted(failed, 'clip')} failed"] if failed else []),
        *([f"{counted(broken, 'limit')} broken"] if broken else []),
    ]


def _made(record: Record) -> str:
    delivered = record["counts"].get("delivered", 0)
    sides = joined([f"{len(clips)} {name or 'unlabelled'}" for name, clips in by_condition(record).items()])
    return f"{delivered} of {counted(len(record['clips']), 'clip')}" + (f" ({sides})" if sides else "")


def _excluded(record: Record) -> str:
    lost = [clip for clip in record["clips"] if clip["failure"]]
    empty = [slot["slot"] for slot in record["slots"] if not slot["filled_by"] and slot["candidates"] > 1]
    replaced = sum(bool(slot["filled_by"] and slot["instead_of"]) for slot in record["slots"])
    if not lost:
        return "no clip"
    kinds = Counter(clip["status"] for clip in lost)
    names = [f"{clip['file_name']} ({clip['failure']['reason']})" for clip in lost[:MOST_NAMES]]
    told = [
        joined([f"{count} {status}" for status, count in sorted(kinds.items())])
        + f": {'; '.join(names)}"
        + (f"; and {len(lost) - MOST_NAMES} more" if len(lost) > MOST_NAMES else ""),
        *([f"{replaced} replaced by another candidate"] if replaced else []),
        *([f"no candidate is left for {joined(empty)}"] if empty else []),
    ]
    return ". ".join(told)


def _worst(record: Record) -> str:
    """Return the widest nuisance of those told apart, else of all, and a wider one of which nothing is settled."""
    audit = record["audit"]
    if audit is None:
        return "none was looked for; no two conditions are compared"
    column = audit[last_column(audit)] or {}
    found = [
        name
        for name in widest_first(audit)
        if name != "all" and audit["cues"][name]["kind"] != "voice" and width(column.get(name) or {}) >= 0
    ]
    if not found:
        return "none could be measured"
    apart = [name for name in found if column[name].get("verdict") == TOLD_APART]
    name = (apart or found)[0]
    item = column[name]
    where = "on held-out clips" if audit["after"] else "over these clips"
    chance = f", p = {p_figure(item['p'])}" if item.get("p") is not None else ""
    others = f" (of {counted(len(apart), 'cue')} told apart)" if len(apart) > 1 else ""
    why = too_few(audit, [name])
    few = f" ({why})" if why else ""
    verdict = item.get("verdict", "descriptive only")
    told = f"{name}, {auc_words(item)} (0.5 is chance) {where}: {verdict}{chance}{others}{few}"
    if found[0] == name:
        return told
    wider = column[found[0]]
    return f"{told}; wider but {wider['verdict']}: {found[0]}, {auc_words(wider)}"


def _limits(record: Record) -> str:
    limits = record["limits"]
    if not limits:
        return "none is set (--fail-if sets one)"
    broken = [f"{limit['limit']} is broken ({limit['why']})" for limit in limits if limit["broken"]]
    return "; ".join(broken) if broken else f"all {len(limits)} hold"
