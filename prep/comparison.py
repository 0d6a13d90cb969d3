"""Comparison: what changed between two runs, and whether a conclusion did. Of two studies, only what both have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NOT_THERE = "not there"
FIGURE = 1e-9  # two figures closer than this are the same but for rounding


class Change(NamedTuple):
    """One thing that differs: what it is, in the first run, in the second; None where it is not there."""

    what: str
    first: Any
    second: Any


@dataclass(frozen=True)
class Comparison:
    """What differs between two records, by part; `conclusions` are verdicts that changed.

    Attributes:
        studies: the names of the studies; where they differ, the parts hold only what both records have.
        delivered: clips that both records delivered.
    """

    studies: tuple[str, str]
    delivered: int
    config: list[Change] = field(default_factory=list)
    versions: list[Change] = field(default_factory=list)
    clips: list[Change] = field(default_factory=list)
    fits: list[Change] = field(default_factory=list)
    figures: list[Change] = field(default_factory=list)
    conclusions: list[Change] = field(default_factory=list)

    @property
    def parts(self) -> dict[str, list[Change]]:
        """What differs, by part."""
        names = ("config", "versions", "clips", "fits", "figures", "conclusions")
        return {name: getattr(self, name) for name in names}

    @property
    def clips_by_change(self) -> dict[tuple[str, str], list[str]]:
        """The clips that differ, by what each was and is: of those delivered twice only the bytes do."""
        found: dict[tuple[str, str], list[str]] = {}
        for name, *states in self.clips:
            first, second = (state.split()[0] if state else NOT_THERE for state in states)
            found.setdefault((first, second), []).append(name)
        return found

    @property
    def figures_by_cue(self) -> dict[str, list[Change]]:
        """The figures that differ, by cue and column, each called by its own name alone."""
        found: dict[str, list[Change]] = {}
        for change in self.figures:
            cue, _, figure = change.what.rpartition(".")
            found.setdefault(cue, []).append(change._replace(what=figure))
        return found

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
    records = (first, second)
    states = [{clip["file_name"]: _clip_state(clip) for clip in record["clips"]} for record in records]
    names = sorted({*states[0], *states[1]})
    parts = {
        "config": _changes(first["config"], second["config"]),
        "versions": _changes(first["versions"], second["versions"]),
        "clips": (Change(name, *found) for name in names if len(set(found := [held.get(name) for held in states])) > 1),
        "fits": _changes(first["fits"]["release"], second["fits"]["release"]),
        "figures": _figures(first["audit"], second["audit"], ("auc", "p", "p_familywise")),
        "conclusions": _figures(first["audit"], second["audit"], ("verdict",)),
    }
    studies = (first["study"], second["study"])
    same = studies[0] == studies[1]
    return Comparison(
        studies=studies,
        delivered=sum(all(_is_delivered(held.get(name)) for held in states) for name in names),
        **{part: [change for change in changes if same or None not in change[1:]] for part, changes in parts.items()},
    )


def _clip_state(clip: Mapping[str, Any]) -> str:
    """Return what became of a clip, with the hash of what was delivered."""
    return f"{clip['status']} {clip['delivered']['sha256'][:12]}" if clip["delivered"] else str(clip["status"])


def _is_delivered(state: str | None) -> bool:
    return state is not None and state.startswith("delivered ")


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
    elif _are_steps(first) and _are_steps(second):
        yield from _step_changes(first, second, place)
    elif not _same(first, second):
        yield Change(place, first, second)


def _are_steps(value: Any) -> bool:
    """Say whether a value is a chain: a list of mappings from one name each, none of them twice."""
    if not isinstance(value, list) or not all(isinstance(item, dict) and len(item) == 1 for item in value):
        return False
    return len({name for item in value for name in item}) == len(value)


def _step_changes(first: Sequence[Any], second: Sequence[Any], place: str) -> Iterator[Change]:
    """Yield the changes of two chains, step by step: each by its number, from 0, in the later chain that has it."""
    chains = [
        {name: (number, values) for number, step in enumerate(chain) for name, values in step.items()}
        for chain in (first, second)
    ]
    orders = [[name for name in chain if name in other] for chain, other in (chains, reversed(chains))]
    if orders[0] != orders[1]:
        yield Change(f"{place}.order", *orders)
    for name in dict.fromkeys([*chains[0], *chains[1]]):
        found = [chain.get(name) for chain in chains]
        number = next(item[0] for item in reversed(found) if item)
        values = [item[1] if item else None for item in found]
        yield from _changes(values[0], values[1], f"{place}.{number}.{name}")


def _same(first: Any, second: Any) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (first, second))
    return bool(abs(first - second) <= FIGURE) if numbers else bool(first == second)
