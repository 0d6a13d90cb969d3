"""Comparison: what changed between two runs, and whether a conclusion did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FIGURE = 1e-9  # two figures closer than this are the same but for rounding


class Change(NamedTuple):
    """One thing that differs: what it is, in the first run, in the second; None where it is not there."""

    what: str
    first: Any
    second: Any


@dataclass(frozen=True)
class Comparison:
    """What differs between two records, by part; `conclusions` are verdicts that changed."""

    config: list[Change] = field(default_factory=list)
    versions: list[Change] = field(default_factory=list)
    clips: list[Change] = field(default_factory=list)
    fits: list[Change] = field(default_factory=list)
    figures: list[Change] = field(default_factory=list)
    conclusions: list[Change] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 where a conclusion changed, else 0."""
        return 1 if self.conclusions else 0


def compare_records(first: Mapping[str, Any], second: Mapping[str, Any]) -> Comparison:
    """Return what changed from one run to another.

    Args:
        first: run.json of the earlier run.
        second: of the later one.
    """
    clips = [
        Change(name, *(_clip_state(_clip_of(record, name)) for record in (first, second)))
        for name in sorted({clip["file_name"] for record in (first, second) for clip in record["clips"]})
    ]
    return Comparison(
        config=list(_changes(first["config"], second["config"])),
        versions=list(_changes(first["versions"], second["versions"])),
        clips=[change for change in clips if change.first != change.second],
        fits=list(_changes(first["fits"]["release"], second["fits"]["release"])),
        figures=list(_figures(first["audit"], second["audit"], ("auc", "p", "p_familywise"))),
        conclusions=list(_figures(first["audit"], second["audit"], ("verdict",))),
    )


def _clip_of(record: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    return next((clip for clip in record["clips"] if clip["file_name"] == name), None)


def _clip_state(clip: Mapping[str, Any] | None) -> str | None:
    """Return what became of a clip, with the hash of what was delivered."""
    if clip is None:
        return None
    return f"{clip['status']} {clip['delivered']['sha256'][:12]}" if clip["delivered"] else str(clip["status"])


def _figures(first: Any, second: Any, names: tuple[str, ...]) -> Iterator[Change]:
    """Yield the figures of every cue that differ, by column; of several conditions, those over all pairs."""
    for column in ("before", "after", "delivered"):
        sides = [(audit or {}).get(column) or {} for audit in (first, second)]
        for cue in dict.fromkeys([*sides[0], *sides[1]]):
            for name in names:
                values = [side.get(cue, {}).get(name) for side in sides]
                if not _same(*values):
                    yield Change(f"{cue}.{column}.{name}", *values)


def _changes(first: Any, second: Any, place: str = "") -> Iterator[Change]:
    """Yield the leaves in which two nested values differ, by their place in them."""
    if isinstance(first, dict) and isinstance(second, dict):
        for name in dict.fromkeys([*first, *second]):
            yield from _changes(first.get(name), second.get(name), f"{place}.{name}" if place else str(name))
    elif not _same(first, second):
        yield Change(place, first, second)


def _same(first: Any, second: Any) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (first, second))
    return bool(abs(first - second) <= FIGURE) if numbers else bool(first == second)
