"""Outcome: what a run came to in five lines, for a terminal. Made from its record alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from prep.prose import counted, joined
from prep.recorded import by_condition, figure, p_figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prep.recorded import Record

MOST_NAMES = 3  # of clips in one line; the report has all
TOLD_APART = "told apart"


def outcome_lines(record: Record, output: str) -> list[str]:
    """Return five lines: what was made, what was lost, the worst remaining cue, the limits, and where to look.

    Args:
        record: run.json.
        output: the output folder, as it is to be printed.
    """
    return [
        f"made: {_made(record)}, in {output}/audio",
        f"excluded: {_excluded(record)}",
        f"worst remaining cue: {_worst(record)}",
        f"limits: {_limits(record)}",
        f"look at: {output}/report.html; for a paper: {output}/methods.md and {output}/report",
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
    """Return the nuisance that still tells the conditions apart best, with its figure and the words of its verdict."""
    audit = record["audit"]
    if audit is None:
        return "none was looked for; no two conditions are compared"
    column = audit["after"] or audit["delivered"] or audit["sources"] or {}
    found = {
        name: item
        for name, item in column.items()
        if item["auc"] is not None and name in audit["cues"] and audit["cues"][name]["kind"] != "voice"
    }
    if not found:
        return "none could be measured"
    apart = [name for name, item in found.items() if item.get("verdict") == TOLD_APART]
    name = max(
        (name for name in found if name != "all" and (not apart or name in apart)), key=_by(found), default="all"
    )
    where = "on held-out clips" if audit["after"] else "over these clips"
    item = found[name]
    pair = f" ({item['pair'][0]} and {item['pair'][1]})" if item.get("pair") else ""
    chance = f", p = {p_figure(item['p'])}" if item.get("p") is not None else ""
    others = f" (of {counted(len(apart), 'cue')} told apart)" if len(apart) > 1 else ""
    verdict = item.get("verdict", "descriptive only")
    return f"{name}, AUC {figure(item['auc'])}{pair} {where}: {verdict}{chance}{others}"


def _by(found: Mapping[str, Mapping[str, Any]]) -> Any:
    return lambda name: (found[name]["separation"], name)


def _limits(record: Record) -> str:
    limits = record["limits"]
    if not limits:
        return "none is set"
    broken = [f"{limit['limit']} is broken ({limit['why']})" for limit in limits if limit["broken"]]
    return "; ".join(broken) if broken else f"all {len(limits)} hold"
