"""Design: how units lie to conditions, cells and passages, and so what may be exchanged.

The word *unit* stands for what is exchanged and resampled as a whole: the speaker, or the coarsest
column within which the recording chain is constant. A unit is *crossed* when it has clips of both
conditions, else *nested*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]
    Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Observations:
    """What is known of n clips besides their scores.

    Attributes:
        is_b: (n,) True for clips of condition b, False for condition a.
        unit: n names of the unit that is permuted and resampled as a whole.
        cell: n names of match cells: inside a cell of one unit clips differ in the condition only
            (one speaker, one passage). None for a clip in no cell. None altogether: a crossed unit
            is compared as one cell.
        passage: n names of the text. None altogether where it is not known.
        names: what a and b are called in sentences.
        unit_name: what a unit is called in sentences.
    """

    is_b: Bools
    unit: tuple[str, ...]
    cell: tuple[str | None, ...] | None = None
    passage: tuple[str, ...] | None = None
    names: tuple[str, str] = ("a", "b")
    unit_name: str = "speaker"

    def __post_init__(self) -> None:
        """Check that every column has one entry a clip.

        Raises:
            ValueError: a column is shorter or longer than `is_b`, or a unit has no name.
        """
        object.__setattr__(self, "is_b", np.asarray(self.is_b, dtype=bool))
        for name in ("unit", "cell", "passage"):
            column = getattr(self, name)
            if column is not None and len(column) != self.is_b.size:
                raise ValueError(f"{name} has {len(column)} entries for {self.is_b.size} clips; give one a clip")
        if "" in self.unit:
            raise ValueError(f"clip {self.unit.index('')} has no {self.unit_name}; name one, or leave the clip out")

    def take(self, index: Ints) -> Observations:
        """Return the observations of the clips at these positions, in this order."""
        return replace(
            self,
            is_b=self.is_b[index],
            unit=tuple(self.unit[i] for i in index),
            cell=None if self.cell is None else tuple(self.cell[i] for i in index),
            passage=None if self.passage is None else tuple(self.passage[i] for i in index),
        )

    def sort_keys(self) -> tuple[Ints, ...]:
        """Return integer columns that sort clips by unit, cell, passage and condition, least first."""
        columns: list[Sequence[str]] = [self.unit]
        if self.cell is not None:
            columns.append([cell or "" for cell in self.cell])
        if self.passage is not None:
            columns.append(self.passage)
        codes = [np.unique(np.asarray(column, dtype=str), return_inverse=True)[1] for column in columns]
        return (self.is_b.astype(np.intp), *reversed(codes))


def canonical(values: ArrayLike, observations: Observations) -> tuple[Floats, Observations]:
    """Return the defined values and their observations in an order that the order of the rows cannot change.

    An infinite value (the level of digital silence) is moved one range beyond the finite ones:
    ranks stay, and means exist.

    Raises:
        ValueError: there is not one value a clip.
    """
    raw = np.asarray(values, dtype=np.float64)
    if raw.shape != observations.is_b.shape:
        raise ValueError(f"scores have shape {raw.shape}, not ({observations.is_b.size},); give one a clip")
    order = np.lexsort((raw, *observations.sort_keys()))
    order = order[~np.isnan(raw[order])]
    held = raw[order]
    finite = held[np.isfinite(held)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    beyond = high - low or 1.0
    return np.clip(held, low - beyond, high + beyond), observations.take(order)


@dataclass(frozen=True)
class Cell:
    """Clips of one unit that differ in the condition only: positions of those of a and of b."""

    unit: int
    a: Ints
    b: Ints


@dataclass(frozen=True)
class Block:
    """Nested units that are exchangeable: their positions, sizes, and whether passage effects can be taken out."""

    units: Ints
    n_a: int
    n_b: int
    linked: bool

    @property
    def pairs(self) -> float:
        """Number of pairs of units: the harmonic mean of the two sides."""
        return 2.0 * self.n_a * self.n_b / (self.n_a + self.n_b)


class Design:
    """What may be exchanged, and what is compared.

    The comparison is a weighted mean over strata, each weighing by its number of pairs of units:

    *Crossed units* form one stratum: the AUC inside each matched cell, averaged over the cells of a unit,
    then over units. Under the null hypothesis each unit's labels may be swapped as a whole, which turns its AUC into
    1 - AUC. With unequal numbers inside a cell (1 human, 3 synthetic) this holds too: the AUC of
    exchangeable clips is symmetric about 0.5. A crossed unit without any matched cell is compared as one
    cell: still a valid test of "no difference", but a difference of its texts would count as one of
    conditions, so a warning says so. Clips of a crossed unit outside its matched cells stay out of the test.

    *Nested units* form blocks; labels are permuted among the units of a block. All nested units are one
    block where no passage crosses conditions (text is then confounded with condition, and a warning says so)
    or none is known. Where passages cross, the additive passage effects are taken out (the passage means, where
    all units read all passages), and units that no chain of shared passages links are never exchanged: they differ in
    text. Taking plain passage means out and permuting freely rejects a true null in 16 % of studies
    when each of seven texts is read by one unit a side. Units linked to none of the other side form one last block.

    Attributes:
        observations: of the n clips that are compared.
        units: names of the units, in alphabetical order; elsewhere a unit is its position here.
        unit: (n,) the unit of each clip.
        clips_a, clips_b: (units,) clips of the condition.
        crossed, nested: units of both conditions, and of one.
        units_a, units_b: number of units with a clip of the condition; a crossed unit counts on both sides.
        observed: (units,) signs as observed: -1 for a nested unit of a, else +1.
    """

    def __init__(self, observations: Observations) -> None:
        self.observations = observations
        names, unit = np.unique(np.asarray(observations.unit, dtype=str), return_inverse=True)
        self.units: tuple[str, ...] = tuple(str(name) for name in names)
        self.unit: Ints = unit.astype(np.intp)
        size = len(self.units)
        self.clips_a: Ints = np.bincount(self.unit[~observations.is_b], minlength=size)
        self.clips_b: Ints = np.bincount(self.unit[observations.is_b], minlength=size)
        self.crossed: Ints = np.flatnonzero((self.clips_a > 0) & (self.clips_b > 0))
        self.nested: Ints = np.flatnonzero((self.clips_a == 0) | (self.clips_b == 0))
        self.units_a = int((self.clips_a > 0).sum())
        self.units_b = int((self.clips_b > 0).sum())
        self.observed: Floats = np.where((self.clips_a > 0) & (self.clips_b == 0), -1.0, 1.0)

    @property
    def signature(self) -> tuple[object, ...]:
        """What decides the arrangements: two designs with one signature share them."""
        blocks = tuple((tuple(block.units.tolist()), block.n_a, block.n_b) for block in self.blocks)
        return self.units, tuple(self.crossed.tolist()), blocks, tuple(self.observed.tolist())

    @property
    def kind(self) -> Literal["nested", "paired", "mixed"]:
        """The word for the design of the test."""
        if not self.crossed.size:
            return "nested"
        return "mixed" if self.blocks else "paired"

    @property
    def pairs(self) -> float:
        """Number of pairs of units over all strata."""
        return float(self.crossed.size + sum(block.pairs for block in self.blocks))

    @property
    def arrangements(self) -> int:
        """Number of ways in which the labels can be exchanged."""
        return int(2**self.crossed.size * math.prod(math.comb(block.units.size, block.n_b) for block in self.blocks))

    @property
    def sides(self) -> list[Ints]:
        """The nested units of each condition, the first-named unit's side first: blind to which is called b."""
        sides = [self.nested[self.observed[self.nested] == sign] for sign in (-1.0, 1.0)]
        return sorted(sides, key=lambda units: units.min(initial=len(self.units)))

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Cells of the crossed units: the matched ones, or the whole unit where it has none."""
        matched = {cell.unit for cell in self.matched_cells}
        rest = [unit for unit in self.crossed.tolist() if unit not in matched]
        return self.matched_cells + tuple(self._cell(unit, self.clips_of([unit])) for unit in rest)

    @cached_property
    def matched_cells(self) -> tuple[Cell, ...]:
        """Declared cells in which one unit has clips of both conditions."""
        members: dict[tuple[int, str], list[int]] = {}
        for clip, cell in enumerate(self.observations.cell or ()):
            if cell is not None:
                members.setdefault((int(self.unit[clip]), cell), []).append(clip)
        cells = (self._cell(unit, np.array(clips)) for (unit, _), clips in sorted(members.items()))
        return tuple(cell for cell in cells if cell.a.size and cell.b.size)

    def _cell(self, unit: int, clips: Ints) -> Cell:
        is_b = self.observations.is_b[clips]
        return Cell(unit, clips[~is_b], clips[is_b])

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Blocks of exchangeable nested units that hold both conditions."""
        groups = [self._block(units, linked=True) for units in self._linked()]
        linked = [block for block in groups if block.n_a and block.n_b]
        others = [unit for block in groups if not (block.n_a and block.n_b) for unit in block.units.tolist()]
        last = self._block(np.array(sorted(others), dtype=np.intp), linked=False)
        return (*linked, last) if last.n_a and last.n_b else tuple(linked)

    def _block(self, units: Ints, *, linked: bool) -> Block:
        n_b = int((self.clips_b[units] > 0).sum())
        return Block(units, units.size - n_b, n_b, linked)

    def _linked(self) -> list[Ints]:
        return linked_units(self.nested.tolist(), self.unit, self.observations.passage)

    def clips_of(self, units: ArrayLike) -> Ints:
        """Return the positions of the clips of these units."""
        return np.flatnonzero(np.isin(self.unit, units))


def linked_units(units: Sequence[int], unit: Ints, passage: Sequence[str] | None) -> list[Ints]:
    """Return units in groups that shared passages link; each alone where no passage is known.

    Args:
        units: those that are grouped.
        unit: (n,) the unit of each clip.
        passage: n names of the text; None where it is not known.
    """
    group = {one: {one} for one in units}
    readers: dict[str, int] = {}
    for one, text in zip(unit.tolist(), passage or (), strict=False):
        if one in group:
            joined = group[one] | group[readers.setdefault(text, one)]
            group.update(dict.fromkeys(joined, joined))
    return [np.array(sorted(held)) for held in {min(held): held for held in group.values()}.values()]
