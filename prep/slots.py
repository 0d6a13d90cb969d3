"""Slots: the places that clips fill, each with its candidates in table order.

A row is its own slot, unless a `slot` column, or the columns of `slots: {by: [...]}`, say that several rows are
candidates for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prep.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prep.table import Row

SLOT_COLUMN = "slot"


@dataclass(frozen=True)
class Slot:
    """A place that one of its candidates fills: rows by their position in the table, in order."""

    name: str
    candidates: tuple[int, ...]


def slots_of(rows: Sequence[Row], by: Sequence[str] = ()) -> list[Slot]:
    """Return the slots of a table in the order of their first candidates.

    Args:
        rows: of the table.
        by: columns whose values together name the slot; the `slot` column where none are given. A row that fills
            none of them is its own slot.
    """
    columns = tuple(by) or (SLOT_COLUMN,)
    held: dict[tuple[str, ...], list[int]] = {}
    for place, row in enumerate(rows):
        values = tuple(row.columns.get(column, "") for column in columns)
        # Roles stand apart: a reference never takes the place of a stimulus.
        key = (row.role, *values) if any(values) else ("", row.file_name)
        held.setdefault(key, []).append(place)
    return [Slot(" ".join(part for part in key[1:] if part), tuple(candidates)) for key, candidates in held.items()]


def slot_problems(rows: Sequence[Row], slots: Sequence[Slot], column: str | None, where: str) -> Iterator[Problem]:
    """Yield each slot whose candidates are of several conditions: one would stand in for the other.

    Args:
        rows: of the table.
        slots: its slots.
        column: that holds the condition; None where nothing is compared.
        where: what messages call the place to mend.
    """
    if column is None:
        return
    for slot in slots:
        conditions = list(dict.fromkeys(rows[place].columns.get(column, "") for place in slot.candidates))
        if len(conditions) > 1:
            what = f"slot {slot.name} has candidates with {column} {' and '.join(conditions)}"
            yield Problem(where, what, f"give them slots of their own, as slots: {{by: [{column}, ...]}}")
