"""Pairs: what the comparisons of several conditions, two by two, say together of one cue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prep.verdict import NOT_MEASURABLE, NOT_SETTLED, SIGNIFICANT, TOLD_APART

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prep.omnibus import Found

_LOW, _HIGH = ("auc_low", "auc_tested_low"), ("auc_high", "auc_tested_high")


def widest(audits: Sequence[Mapping[str, Any]], column: str, cue: str) -> dict[str, Any]:
    """Return the pair of conditions that a cue tells apart best in a column, with its description.

    Args:
        audits: of every pair.
        column: of the audit, as "delivered".
        cue: its name.
    """
    found = list(_of_pairs(audits, column, cue))
    measured = [(pair, item) for pair, item in found if item["separation"] is not None]
    if not measured:
        return {"pair": None, "auc": None, "separation": None, "auc_matched": None, "spread": None}
    pair, item = max(measured, key=lambda entry: entry[1]["separation"])
    spreads = [entry["spread"] for _, entry in measured if entry["spread"] is not None]
    return {
        "pair": list(pair),
        **{name: item[name] for name in ("auc", "separation", "auc_matched", "numbers") if name in item},
        "spread": max(spreads) if spreads else None,
    }


def smallest_over_pairs(audits: Sequence[Mapping[str, Any]], column: str, cue: str) -> float | None:
    """Return a p that the omnibus test can reach: the sum of the smallest p of the pairs; None without any.

    Some pair is fully told apart by chance in at most that share of the arrangements (Bonferroni's inequality).
    """
    found = [item["smallest_p"] for _, item in _of_pairs(audits, column, cue) if item["smallest_p"] is not None]
    return min(1.0, sum(found)) if found else None


def over_pairs(
    audits: Sequence[Mapping[str, Any]], column: str, cue: str, found: Found | None, smallest_p: float | None
) -> dict[str, Any]:
    """Return what all pairs say together of a cue in a tested column.

    The conditions cannot be told apart where no pair can (an intersection-union test keeps its level); they are told
    apart where the omnibus p says so.

    Args:
        audits: of every pair.
        column: of the audit, as "after".
        cue: its name.
        found: the omnibus test; None where no p at or below 0.05 can be reached.
        smallest_p: the smallest omnibus p that the units are sure to allow.
    """
    tested = [item for _, item in _of_pairs(audits, column, cue)]
    verdicts = {item["verdict"] for item in tested}
    ends = {name: [item[name] for item in tested] for name in (*_LOW, *_HIGH)}
    whole = {name: values for name, values in ends.items() if values and None not in values}
    joined = {
        **dict.fromkeys((*_LOW, *_HIGH)),
        **{name: min(whole[name]) for name in _LOW if name in whole},
        **{name: max(whole[name]) for name in _HIGH if name in whole},
    }
    best = widest(audits, column, cue)
    needed = [item["units_needed"] for item in tested if item["units_needed"] is not None]
    return {
        **best,
        **joined,
        "p": found.p if found else None,
        "p_familywise": found.p_familywise if found else None,
        "smallest_p": smallest_p,
        "verdict": _verdict(verdicts, found),
        "units_needed": max(needed) if needed else None,
    }


def _verdict(verdicts: set[str], found: Found | None) -> str:
    if verdicts <= {NOT_MEASURABLE}:
        return NOT_MEASURABLE
    if found is not None and found.p <= SIGNIFICANT:
        return TOLD_APART
    equal = len(verdicts) == 1 and not verdicts & {TOLD_APART, NOT_SETTLED, NOT_MEASURABLE}
    return verdicts.pop() if equal else NOT_SETTLED


def _of_pairs(
    audits: Sequence[Mapping[str, Any]], column: str, cue: str
) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    """Yield each pair that has a figure of a cue in a column, with it."""
    for audit in audits:
        item = (audit[column] or {}).get(cue)
        if item is not None:
            yield (audit["a"], audit["b"]), item
