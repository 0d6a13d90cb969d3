"""Separability: how far a cue tells two conditions apart, and what the clips at hand can settle.

The word *unit* stands for what is exchanged and resampled as a whole: the speaker, or the coarsest
column within which the recording chain is constant. A unit is *crossed* when it has clips of both
conditions, else *nested*. Four principles:

    Undefined is undefined. An AUC that does not exist is None or an exception, never 0.0 or 0.5.
    Direction is declared. The AUC is the probability that b exceeds a, ties half, never folded.
    Units weigh alike in the test. Were clips to weigh alike, units with many clips on one side would
        reject a true null in 9 % of studies instead of 5 % (bench/separability_power.py).
    The test sees what the design holds equal. It is a sum over strata (see `_Design`), and exchanges
        labels only where the null hypothesis says that they are exchangeable.

Sources: Mann & Whitney 1947 (AUC); Pitman 1937 (permutation); Hodges & Lehmann 1963 (shift);
Westfall & Young 1993 (maxT); Hesterberg 2015, The American Statistician 69 (expanded percentiles).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]
    Bools = NDArray[np.bool_]

SIGNIFICANT = 0.05  # p at or below which two conditions are told apart
INTERVAL = 0.90  # coverage of every interval; its two sides are two tests at 0.05 of the equivalence claim
FEWEST_UNITS = 5  # units a side below which a bootstrap interval is not worth printing
RESAMPLES = 2000  # bootstrap resamples; the simulation error of a 95 % quantile is then about 0.5 %
PLANNED_POWER = 0.80
PLANNED_UNIT_CORRELATION = 0.6  # of the ranks of two clips of one unit: assumed, for planning only
TIE = 1e-9  # two statistics closer than this are the same number up to rounding
CHUNK_ROWS = 2000  # arrangements held in memory at a time

TOLD_APART = "told apart"
NOT_SETTLED = "not settled"
NOT_MEASURABLE = "not measurable"


class UndefinedError(ValueError):
    """A figure does not exist for these clips; the message says why."""


# --------------------------------------------------------------------------- what is observed


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

    def take(self, index: NDArray[np.intp]) -> Observations:
        """Return the observations of the clips at these positions, in this order."""
        return Observations(
            self.is_b[index],
            tuple(self.unit[i] for i in index),
            None if self.cell is None else tuple(self.cell[i] for i in index),
            None if self.passage is None else tuple(self.passage[i] for i in index),
            self.names,
            self.unit_name,
        )

    def keys(self) -> tuple[Ints, ...]:
        """Return integer columns that sort clips by unit, cell, passage and condition, least first."""
        columns: list[Sequence[str]] = [self.unit]
        columns += [["" if c is None else c for c in self.cell]] if self.cell is not None else []
        columns += [self.passage] if self.passage is not None else []
        codes = [np.unique(np.asarray(column, dtype=str), return_inverse=True)[1] for column in columns]
        return (self.is_b.astype(np.intp), *reversed(codes))


class Description(BaseModel):
    """How two conditions lie on one cue, without a test.

    Attributes:
        auc: probability that a clip of b has a higher value than a clip of a, ties half; None if a side is empty.
        separation: abs(auc - 0.5).
        auc_distance_from_median: AUC of abs(value - pooled median); above 0.5 where b is spread wider.
        auc_matched: mean over units of the AUC inside matched cells; None if there is no such cell.
        spread: 95th minus 5th percentile over all clips, in the cue's unit.
        clips_a, clips_b: clips with a value.
        undefined_clips: clips without one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    auc: float | None
    separation: float | None
    auc_distance_from_median: float | None
    auc_matched: float | None
    spread: float | None
    clips_a: int
    clips_b: int
    undefined_clips: int


class Separation(Description):
    """How two conditions lie on one cue, and what that settles.

    Attributes:
        condition_a, condition_b: their names; the AUC is above 0.5 where b has the higher values.
        auc_low, auc_high: 90 % unit-bootstrap interval of `auc`; None under 5 units a side.
        auc_tested: the AUC that `p` belongs to: units weigh alike, and what the design holds equal is equal.
        auc_tested_low, auc_tested_high: its 90 % interval.
        p: two-sided permutation p of `auc_tested`; None where no p at or below 0.05 can be reached.
        p_familywise: p over all cues compared together; None where `p` is.
        smallest_p: the smallest p these units allow.
        design: how units lie to the conditions in the test.
        verdict: "told apart", "cannot be told apart within ±m", "not settled" or "not measurable".
        verdict_text: the verdict as a sentence.
        units_a, units_b: units with a valued clip of the condition; a crossed unit counts on both sides.
        units_needed: units a side for a claim of "cannot be told apart" with 80 % power.
        warnings: what a reader must know besides.
    """

    condition_a: str
    condition_b: str
    auc_low: float | None
    auc_high: float | None
    auc_tested: float | None
    auc_tested_low: float | None
    auc_tested_high: float | None
    p: float | None
    p_familywise: float | None
    smallest_p: float | None
    design: Literal["nested", "paired", "mixed"] | None
    verdict: str
    verdict_text: str
    units_a: int
    units_b: int
    units_needed: int | None
    warnings: tuple[str, ...]


# --------------------------------------------------------------------------- single figures


def auc(a: ArrayLike, b: ArrayLike) -> float:
    """Return the probability that a value of b exceeds a value of a, ties counting half; never folded.

    Args:
        a: (n_a,) values of condition a, without NaN.
        b: (n_b,) values of condition b, without NaN.

    Raises:
        UndefinedError: a side is empty, or holds a NaN.
    """
    a, b = np.asarray(a, dtype=np.float64).ravel(), np.asarray(b, dtype=np.float64).ravel()
    if a.size == 0 or b.size == 0:
        raise UndefinedError("the AUC needs values on both sides; one side is empty")
    if np.isnan(a).any() or np.isnan(b).any():
        raise UndefinedError("the AUC needs values; leave clips without one out")
    return float(_exceeded(np.sort(a), b).sum() / (a.size * b.size))


def _exceeded(ordered: Floats, values: Floats) -> Floats:
    """Return how many of the ordered values each value exceeds, ties half."""
    below, up_to = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return np.asarray((below + up_to) / 2.0, dtype=np.float64)


def hodges_lehmann(a: ArrayLike, b: ArrayLike) -> float:
    """Return the Hodges-Lehmann shift: the median of all differences b - a, in the values' unit.

    Raises:
        UndefinedError: a side is empty.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.size == 0 or b.size == 0:
        raise UndefinedError("a shift needs values on both sides; one side is empty")
    return float(np.median(np.subtract.outer(b, a)))


def walsh_median(differences: ArrayLike) -> float:
    """Return the median of the Walsh averages (d_i + d_j) / 2, i <= j, in the differences' unit.

    Raises:
        UndefinedError: there is no difference.
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.size == 0:
        raise UndefinedError("a shift needs matched differences; there is none")
    i, j = np.triu_indices(d.size)
    return float(np.median((d[i] + d[j]) / 2.0))


def matched_differences(values: ArrayLike, observations: Observations) -> tuple[Floats, tuple[str, ...]]:
    """Return one difference b - a for each matched cell, and the unit of each.

    A cell of several clips gives the median of all its differences. Clips without a value are left out.
    """
    values, observations = _canonical(values, observations)
    design = _Design(observations)
    differences = [hodges_lehmann(values[cell.a], values[cell.b]) for cell in design.matched_cells]
    return np.array(differences), tuple(design.units[cell.unit] for cell in design.matched_cells)


def shift_interval(
    values: ArrayLike, observations: Observations, *, matched: bool, seed: int = 0
) -> tuple[float, float] | None:
    """Return the 90 % unit-bootstrap interval of a shift b - a, or None under 5 units a side.

    Args:
        values: (n,) one value a clip, NaN where undefined.
        observations: what is known of the clips.
        matched: the shift is `walsh_median` of the matched differences, else `hodges_lehmann` of all clips.
        seed: of the resampling.
    """
    values, observations = _canonical(values, observations)
    design = _Design(observations)
    if matched:
        differences, names = matched_differences(values, observations)
        unit = np.array([design.units.index(name) for name in names], dtype=np.intp)
        if np.unique(unit).size < FEWEST_UNITS:
            return None
        i, j = np.triu_indices(differences.size)
        pairs, first, second, same = (differences[i] + differences[j]) / 2.0, unit[i], unit[j], i == j
    else:
        if min(design.units_a, design.units_b) < FEWEST_UNITS:
            return None
        in_a, in_b = np.flatnonzero(~observations.is_b), np.flatnonzero(observations.is_b)
        pairs = np.subtract.outer(values[in_b], values[in_a]).ravel()
        first, second = np.repeat(design.unit[in_b], in_a.size), np.tile(design.unit[in_a], in_b.size)
        same = np.zeros(pairs.size, dtype=bool)
    order = np.argsort(pairs, kind="stable")
    pairs, first, second, same = pairs[order], first[order], second[order], same[order]
    shifts = np.empty(RESAMPLES)
    for row, times in enumerate(design.resampled(seed)):
        # A value drawn c times makes c (c + 1) / 2 Walsh averages with itself, and c d with another drawn d times.
        weight = times[first] * (times[second] + same) / (1.0 + same)
        shifts[row] = _weighted_median(pairs, weight)
    return _expanded(shifts, design)


def _weighted_median(ordered: Floats, weight: Floats) -> float:
    """Return the median of ordered values that each occur `weight` times (whole numbers)."""
    reached = np.cumsum(weight)
    half = reached[-1] / 2.0
    low, high = np.searchsorted(reached, half, "left"), np.searchsorted(reached, half, "right")
    return float((ordered[low] + ordered[high]) / 2.0)


# --------------------------------------------------------------------------- the design of a comparison


@dataclass(frozen=True)
class _Cell:
    """Clips of one unit that differ in the condition only: positions of those of a and of b."""

    unit: int
    a: Ints
    b: Ints


@dataclass(frozen=True)
class _Block:
    """Nested units that are exchangeable: their positions, sizes, and whether passage effects can be taken out."""

    units: Ints
    n_a: int
    n_b: int
    linked: bool

    @property
    def pairs(self) -> float:
        """Number of pairs of units: the harmonic mean of the two sides."""
        return 2.0 * self.n_a * self.n_b / (self.n_a + self.n_b)

    @property
    def contrast(self) -> float:
        """Factor that turns a sum of sign * (value - mean) over the units into mean(b) - mean(a)."""
        return 0.5 * (self.n_a + self.n_b) / (self.n_a * self.n_b)


class _Design:
    """How units lie to conditions, cells and passages: what may be exchanged, and what is compared.

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
        self._resampled: dict[int, Floats] = {}  # shared by all cues of the design
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

    @cached_property
    def cells(self) -> tuple[_Cell, ...]:
        """Cells of the crossed units: the matched ones, or the whole unit where it has none."""
        matched = {cell.unit for cell in self.matched_cells}
        rest = [unit for unit in self.crossed.tolist() if unit not in matched]
        return self.matched_cells + tuple(self._cell(unit, self.clips_of([unit])) for unit in rest)

    @cached_property
    def matched_cells(self) -> tuple[_Cell, ...]:
        """Declared cells in which one unit has clips of both conditions."""
        members: dict[tuple[int, str], list[int]] = {}
        for clip, cell in enumerate(self.observations.cell or ()):
            if cell is not None:
                members.setdefault((int(self.unit[clip]), cell), []).append(clip)
        cells = (self._cell(unit, np.array(clips)) for (unit, _), clips in sorted(members.items()))
        return tuple(cell for cell in cells if cell.a.size and cell.b.size)

    def _cell(self, unit: int, clips: Ints) -> _Cell:
        is_b = self.observations.is_b[clips]
        return _Cell(unit, clips[~is_b], clips[is_b])

    @cached_property
    def blocks(self) -> tuple[_Block, ...]:
        """Blocks of exchangeable nested units that hold both conditions."""
        groups = [self._block(units, linked=True) for units in self._linked_units()]
        linked = [block for block in groups if block.n_a and block.n_b]
        others = [unit for block in groups if not (block.n_a and block.n_b) for unit in block.units.tolist()]
        last = self._block(np.array(sorted(others), dtype=np.intp), linked=False)
        return (*linked, last) if last.n_a and last.n_b else tuple(linked)

    def _block(self, units: Ints, *, linked: bool) -> _Block:
        n_b = int((self.clips_b[units] > 0).sum())
        return _Block(units, units.size - n_b, n_b, linked)

    def _linked_units(self) -> list[Ints]:
        """Return the nested units in groups that shared passages link; each alone where none is known."""
        group = {unit: {unit} for unit in self.nested.tolist()}
        readers: dict[str, int] = {}
        for unit, passage in zip(self.unit.tolist(), self.observations.passage or (), strict=False):
            if unit in group:
                joined = group[unit] | group[readers.setdefault(passage, unit)]
                group.update(dict.fromkeys(joined, joined))
        return [np.array(sorted(units)) for units in {min(units): units for units in group.values()}.values()]

    def clips_of(self, units: ArrayLike) -> Ints:
        """Return the positions of the clips of these units."""
        return np.flatnonzero(np.isin(self.unit, units))

    def signs(self, draws: int, seed: int, columns: Ints, size: int) -> Iterator[Floats]:
        """Yield the arrangements in chunks (rows, units), the observed one among them.

        A sign is +1 where a nested unit is called b and where a crossed unit keeps its labels. All
        arrangements where there are at most `draws`; else the observed one and `draws` random ones.
        `columns` are the places of this design's units among `size` units that share one stream of random
        numbers, so that designs that differ in a few undefined clips are still permuted together.
        """
        if self.arrangements <= draws:
            yield self._every_arrangement()
            return
        yield self.observed[None, :]
        yield from self.drawn(draws, seed, columns, size)

    def drawn(self, draws: int, seed: int, columns: Ints, size: int) -> Iterator[Floats]:
        """Yield `draws` random arrangements in chunks (rows, units)."""
        rng = np.random.default_rng([seed, 0])
        for start in range(0, draws, CHUNK_ROWS):
            key = rng.random((min(CHUNK_ROWS, draws - start), size))[:, columns]
            signs = np.ones(key.shape) * self.observed
            signs[:, self.crossed] = np.where(key[:, self.crossed] < 0.5, -1.0, 1.0)
            for block in self.blocks:
                few, sign = self._first_side(block)
                chosen = np.argpartition(key[:, block.units], few - 1, axis=1)[:, :few]
                inside = np.full((key.shape[0], block.units.size), -sign)
                np.put_along_axis(inside, chosen, sign, axis=1)
                signs[:, block.units] = inside
            yield signs

    def _first_side(self, block: _Block) -> tuple[int, float]:
        """Return size and sign of the side that is drawn first: a choice blind to which side is called b."""
        first = float(self.observed[block.units[0]])
        sign = first if block.n_a == block.n_b else (1.0 if block.n_b < block.n_a else -1.0)
        return (block.n_b if sign > 0 else block.n_a), sign

    def _every_arrangement(self) -> Floats:
        choices: list[list[tuple[Ints, Floats]]] = [
            [(np.array([unit]), np.array([sign])) for sign in (1.0, -1.0)] for unit in self.crossed.tolist()
        ]
        for block in self.blocks:
            few, sign = self._first_side(block)
            arranged = []
            for chosen in itertools.combinations(range(block.units.size), few):
                inside = np.full(block.units.size, -sign)
                inside[list(chosen)] = sign
                arranged.append((block.units, inside))
            choices.append(arranged)
        signs = np.tile(self.observed, (self.arrangements, 1))
        for row, choice in zip(signs, itertools.product(*choices), strict=True):
            for units, inside in choice:
                row[units] = inside
        return signs

    def resampled(self, seed: int) -> Floats:
        """Return (resamples, units) how often each unit is drawn: with replacement, within its kind and side."""
        if seed not in self._resampled:
            rng = np.random.default_rng([seed, 1])
            times = np.zeros((RESAMPLES, len(self.units)))
            for units in self._kinds():
                times[:, units] = rng.multinomial(units.size, np.full(units.size, 1.0 / units.size), RESAMPLES)
            self._resampled[seed] = times
        return self._resampled[seed]

    def _kinds(self) -> list[Ints]:
        """Return the units of each kind that occurs: crossed, then each side, the first-named unit's side first."""
        sides = [self.nested[self.observed[self.nested] == sign] for sign in (-1.0, 1.0)]
        kinds = [self.crossed, *sorted(sides, key=lambda units: units.min(initial=len(self.units)))]
        return [units for units in kinds if units.size]


def _expanded(resamples: Floats, design: _Design) -> tuple[float, float]:
    """Return the expanded percentile interval: the bootstrap is too narrow by sqrt(n / (n - kinds)) and by t for z."""
    from scipy.special import stdtrit

    units, kinds = len(design.units), len(design._kinds())  # noqa: SLF001
    freedom = units - kinds
    reach = math.sqrt(units / freedom) * float(stdtrit(freedom, (1.0 + INTERVAL) / 2.0))
    tail = NormalDist().cdf(-reach)
    low, high = np.quantile(resamples, [tail, 1.0 - tail])
    return float(low), float(high)


# --------------------------------------------------------------------------- one cue under a design


@dataclass(frozen=True)
class _Stratum:
    """One stratum of a cue as unit-level numbers, so that every arrangement is a matrix product.

    With signs s of the stratum's units, `s @ wins` is its AUC minus 0.5, and `s @ steps` its difference
    of means, mean(b) - mean(a).
    """

    units: Ints
    share: float  # weight of the stratum
    wins: Floats
    steps: Floats
    total: float  # sum of squares between units
    mass: float  # the squared difference times this is the part of `total` that it explains
    freedom: int  # units less the means estimated
    within: float  # variance inside units
    scale: float  # variances of the stratum times this are variances of clips

    def difference(self, signs: Floats) -> Floats:
        """Return (rows,) mean(b) - mean(a) of each arrangement."""
        return np.asarray(signs[:, self.units] @ self.steps, dtype=np.float64)

    def variance(self, difference: Floats) -> Floats:
        """Return (rows,) the variance of clips within sides: between the units plus inside them."""
        between = np.maximum(self.total - self.mass * difference**2, 0.0) / max(self.freedom, 1)
        return np.asarray(self.scale * (between + self.within), dtype=np.float64)


class _Cue:
    """The defined values of one cue, with the design that the defined clips form."""

    def __init__(self, values: Floats, design: _Design) -> None:
        self.values = values
        self.design = design

    @cached_property
    def pooled(self) -> float:
        """AUC over all clips."""
        is_b = self.design.observations.is_b
        return auc(self.values[~is_b], self.values[is_b])

    @cached_property
    def distance_from_median(self) -> float:
        """AUC of the distance from the pooled median."""
        is_b = self.design.observations.is_b
        distance = np.abs(self.values - np.median(self.values))
        return auc(distance[~is_b], distance[is_b])

    @cached_property
    def matched(self) -> float | None:
        """Mean over units of the AUC inside matched cells."""
        cells = self.design.matched_cells
        if not cells:
            return None
        unit = np.array([cell.unit for cell in cells])
        return float(_mean_of_units(self._cell_aucs(cells), unit, np.unique(unit)).mean())

    def _cell_aucs(self, cells: Sequence[_Cell]) -> Floats:
        return np.array([auc(self.values[cell.a], self.values[cell.b]) for cell in cells])

    @cached_property
    def strata(self) -> tuple[_Stratum, ...]:
        """What the test compares, weighed by pairs of units."""
        crossed = (self._crossed(),) if self.design.crossed.size else ()
        return (*crossed, *(self._nested(block) for block in self.design.blocks))

    def _crossed(self) -> _Stratum:
        crossed, cells = self.design.crossed, self.design.cells
        unit = np.array([cell.unit for cell in cells])
        steps = np.array([self.values[cell.b].mean() - self.values[cell.a].mean() for cell in cells])
        step = _mean_of_units(steps, unit, crossed)
        size = crossed.size
        return _Stratum(
            units=crossed,
            share=size / self.design.pairs,
            wins=(_mean_of_units(self._cell_aucs(cells), unit, crossed) - 0.5) / size,
            steps=step / size,
            total=float(step @ step),
            mass=size,
            freedom=size - 1,
            within=_variance_within(steps, unit),
            scale=0.5,  # a difference of two clips has twice a clip's variance
        )

    def _nested(self, block: _Block) -> _Stratum:
        values, unit = self.block_values(block)
        level = _mean_of_units(values, unit, block.units)
        level = level - level.mean()
        size = block.units.size
        contrast = 0.5 * size / (block.n_a * block.n_b)  # sum(s * level) times this is mean(b) - mean(a)
        return _Stratum(
            units=block.units,
            share=block.pairs / self.design.pairs,
            wins=contrast * (_placements(values, unit, block.units) - 0.5),
            steps=contrast * level,
            total=float(level @ level),
            mass=block.n_a * block.n_b / size,
            freedom=size - 2,
            within=_variance_within(values, unit),
            scale=1.0,
        )

    def block_values(self, block: _Block) -> tuple[Floats, Ints]:
        """Return the values and units of a block's clips, passage effects taken out where they can be."""
        clips = self.design.clips_of(block.units)
        values, unit = self.values[clips], self.design.unit[clips]
        if block.linked and self.design.observations.passage is not None:
            values = values - _passage_effects(values, unit, [self.design.observations.passage[i] for i in clips])
        return values, unit

    @cached_property
    def gain(self) -> Floats:
        """(units,) numbers with which `signs @ gain` is the tested AUC minus 0.5."""
        gain = np.zeros(len(self.design.units))
        for stratum in self.strata:
            gain[stratum.units] = stratum.share * stratum.wins
        return gain

    @property
    def tested(self) -> float:
        """The AUC under test."""
        return 0.5 + float(self.design.observed @ self.gain)

    def effect(self, signs: Floats) -> Floats:
        """Return (rows,) Cohen's d of each arrangement, over clips, with units weighing alike."""
        difference, variance = np.zeros(signs.shape[0]), np.zeros(signs.shape[0])
        for stratum in self.strata:
            step = stratum.difference(signs)
            difference += stratum.share * step
            variance += stratum.share * stratum.variance(step)
        # A difference without any variance around it must stay finite, and zero over zero be zero.
        floor = TIE * sum(stratum.total for stratum in self.strata) or 1.0
        return np.asarray(difference / np.sqrt(variance + floor), dtype=np.float64)

    def intervals(self, seed: int) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
        """Return the unit-bootstrap intervals of the pooled and of the tested AUC."""
        design = self.design
        if min(design.units_a, design.units_b) < FEWEST_UNITS:
            return None, None
        times = design.resampled(seed)
        every = np.arange(len(design.units))
        pooled = _resampled_auc(times, self._wins(self.values, design.unit, every), design.clips_a, design.clips_b)
        if len(design.blocks) > 1:  # units of a small block cannot be resampled within it
            return _expanded(pooled, design), None
        tested = np.zeros(times.shape[0])
        for stratum in self.strata[: design.crossed.size > 0]:
            drawn = times[:, stratum.units]
            wins = stratum.wins * stratum.units.size + 0.5
            tested += stratum.share * (drawn @ wins) / drawn.sum(axis=1)
        for block, stratum in zip(design.blocks, self.strata[design.crossed.size > 0 :], strict=True):
            values, unit = self.block_values(block)
            clips_a, clips_b = design.clips_a[block.units], design.clips_b[block.units]
            wins = self._wins(values, unit, block.units) / np.outer(np.maximum(clips_a, 1), np.maximum(clips_b, 1))
            alike = np.minimum(clips_a, 1), np.minimum(clips_b, 1)
            tested += stratum.share * _resampled_auc(times[:, block.units], wins, *alike)
        return _expanded(pooled, design), _expanded(tested, design)

    def _wins(self, values: Floats, unit: Ints, units: Ints) -> Floats:
        """Return (units, units) how often clips of condition b of one unit (column) exceed those of a of another."""
        in_b = self.design.observations.is_b[self.design.clips_of(units)]
        place = np.searchsorted(units, unit)
        wins = np.zeros((units.size, units.size))
        for row in np.unique(place[~in_b]):
            exceeded = _exceeded(np.sort(values[~in_b & (place == row)]), values[in_b])
            wins[row] = np.bincount(place[in_b], exceeded, units.size)
        return wins


def _mean_of_units(values: Floats, unit: Ints, units: Ints) -> Floats:
    """Return the mean of the values of each of the units, in their order."""
    place = np.searchsorted(units, unit)
    return np.asarray(np.bincount(place, values, units.size) / np.bincount(place, minlength=units.size))


def _variance_within(values: Floats, unit: Ints) -> float:
    """Return the pooled variance of values inside units; 0 where every unit has one."""
    _, place = np.unique(unit, return_inverse=True)
    counts = np.bincount(place)
    freedom = int((counts - 1).sum())
    deviation = values - (np.bincount(place, values) / counts)[place]
    return float(deviation @ deviation) / freedom if freedom else 0.0


def _placements(values: Floats, unit: Ints, units: Ints) -> Floats:
    """Return each unit's mean probability to exceed a clip of a unit (itself included), units weighing alike."""
    place = np.searchsorted(units, unit)
    counts = np.bincount(place, minlength=units.size)
    order = np.argsort(values, kind="stable")
    reached = np.concatenate([[0.0], np.cumsum(1.0 / counts[place[order]])]) / units.size
    ordered = values[order]
    below = reached[np.searchsorted(ordered, values, "left")]
    up_to = reached[np.searchsorted(ordered, values, "right")]
    return _mean_of_units((below + up_to) / 2.0, unit, units)


def _passage_effects(values: Floats, unit: Ints, passages: Sequence[str]) -> Floats:
    """Return the effect of each value's passage in the least-squares fit value = unit + passage.

    Where all units read all passages these are the passage means, up to a constant. Blind to conditions.
    """
    _, row = np.unique(unit, return_inverse=True)
    _, column = np.unique(np.asarray(passages, dtype=str), return_inverse=True)
    counts = np.zeros((row.max() + 1, column.max() + 1))
    np.add.at(counts, (row, column), 1.0)
    readings = counts.sum(axis=0)
    passage_mean = np.bincount(column, values) / readings
    # The passages are eliminated from the normal equations; what is left is singular by the common constant.
    normal = np.diag(counts.sum(axis=1)) - (counts / readings) @ counts.T
    level = np.linalg.pinv(normal, hermitian=True) @ (np.bincount(row, values) - counts @ passage_mean)
    return np.asarray((passage_mean - level @ counts / readings)[column], dtype=np.float64)


def _resampled_auc(times: Floats, wins: Floats, clips_a: Ints, clips_b: Ints) -> Floats:
    """Return (resamples,) the AUC with each unit taken `times` times."""
    exceeded = np.einsum("ru,ru->r", times @ wins, times)
    return np.asarray(exceeded / ((times @ clips_a) * (times @ clips_b)), dtype=np.float64)


def _canonical(values: ArrayLike, observations: Observations) -> tuple[Floats, Observations]:
    """Return the defined values and their observations in an order that the order of the rows cannot change.

    An infinite value (the level of digital silence) is moved one range beyond the finite ones:
    ranks stay, and means exist.
    """
    raw = np.asarray(values, dtype=np.float64)
    if raw.shape != observations.is_b.shape:
        raise ValueError(f"scores have shape {raw.shape}, not ({observations.is_b.size},); give one a clip")
    order = np.lexsort((raw, *observations.keys()))
    order = order[~np.isnan(raw[order])]
    held = raw[order]
    finite = held[np.isfinite(held)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    beyond = high - low or 1.0
    return np.clip(held, low - beyond, high + beyond), observations.take(order)


# --------------------------------------------------------------------------- permutation


def _two_sided(statistics: Floats, observed: Floats) -> Floats:
    """Return p of each column: twice the smaller tail, the observed arrangement counted among them."""
    above = (statistics >= observed - TIE).mean(axis=0)
    below = (statistics <= observed + TIE).mean(axis=0)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(above, below)), dtype=np.float64)


def _familywise(effects: Floats, observed: Floats) -> Floats:
    """Return the familywise p of each cue from the largest statistic over cues of each arrangement (maxT).

    With few units the AUC is useless here: 5 + 5 speakers separate fully by chance in one of 126 arrangements,
    so among 20 cues one does in 15 % of all, and nothing could ever reach 0.05. Cohen's d knows how far apart
    the sides are. The statistic is abs(d) / sqrt(rms of d over the arrangements). It lies halfway between d
    itself, under which cues that hardly vary inside units would drown the others, and d in units of its own null
    distribution, which a real effect inflates. It is a function of the arrangements alone, so the test stays exact.

    Args:
        effects: (arrangements, cues) Cohen's d.
        observed: (cues,) Cohen's d as observed.
    """
    rms = np.sqrt((effects**2).mean(axis=0))
    scale = np.sqrt(np.where(rms > 0.0, rms, 1.0))
    largest = np.abs(effects / scale).max(axis=1)
    reached = np.abs(observed / scale) * (1.0 - TIE)
    return np.asarray((largest[:, None] >= reached[None, :]).mean(axis=0), dtype=np.float64)


class _Family:
    """The cues of one comparison that can be settled, permuted together."""

    def __init__(self, cues: Mapping[str, _Cue], units: Sequence[str], draws: int, seed: int) -> None:
        self.cues = cues
        self.units = units
        self.draws = draws
        self.seed = seed

    def p_values(self) -> dict[str, tuple[float, float]]:
        """Return by cue (p, p_familywise)."""
        groups: dict[object, list[str]] = {}
        for name, cue in self.cues.items():
            groups.setdefault(cue.design.signature, []).append(name)
        alone: dict[str, float] = {}
        effects: dict[str, Floats] = {}
        for names in groups.values():
            design = self.cues[names[0]].design
            gains = np.stack([self.cues[name].gain for name in names], axis=1)
            tested, effect = [], []
            for signs in design.signs(self.draws, self.seed, self._columns(design), len(self.units)):
                tested.append(signs @ gains)
                effect.append(self._effects(names, signs))
            alone |= zip(names, _two_sided(np.concatenate(tested), design.observed @ gains).tolist(), strict=True)
            effects |= zip(names, np.concatenate(effect).T, strict=True)
        if len(self.cues) < 2:
            return {name: (p, p) for name, p in alone.items()}
        if len(groups) > 1:  # undefined clips: the designs differ, so only drawn arrangements are common to all
            effects = {name: self._drawn_effects(cue) for name, cue in self.cues.items()}
        observed = np.array([self._observed_effect(cue) for cue in self.cues.values()])
        together = _familywise(np.stack([effects[name] for name in self.cues], axis=1), observed)
        return {name: (alone[name], max(alone[name], float(p))) for name, p in zip(self.cues, together, strict=True)}

    def _columns(self, design: _Design) -> Ints:
        return np.searchsorted(np.asarray(self.units, dtype=str), np.asarray(design.units, dtype=str))

    def _effects(self, names: Sequence[str], signs: Floats) -> Floats:
        return np.stack([self.cues[name].effect(signs) for name in names], axis=1)

    def _drawn_effects(self, cue: _Cue) -> Floats:
        columns = self._columns(cue.design)
        drawn = cue.design.drawn(self.draws, self.seed, columns, len(self.units))
        return np.concatenate([cue.effect(signs) for signs in itertools.chain([cue.design.observed[None, :]], drawn)])

    @staticmethod
    def _observed_effect(cue: _Cue) -> float:
        return float(cue.effect(cue.design.observed[None, :])[0])


# --------------------------------------------------------------------------- the two questions


def describe(scores: Mapping[str, ArrayLike], observations: Observations) -> dict[str, Description]:
    """Describe how two conditions lie on each cue, without a test.

    Args:
        scores: by cue, (n,) one number a clip, NaN where undefined.
        observations: what is known of the n clips.
    """
    described = {}
    for name, raw in scores.items():
        values, defined = _canonical(raw, observations)
        described[name] = Description(**_description(_Cue(values, _Design(defined)), np.asarray(raw, dtype=np.float64)))
    return described


def _description(cue: _Cue, raw: Floats) -> dict[str, float | int | None]:
    is_b = cue.design.observations.is_b
    two_sided = 0 < int(is_b.sum()) < is_b.size
    held = raw[~np.isnan(raw)]
    spread = float(np.subtract(*np.percentile(held, [95, 5]))) if np.isfinite(held).all() and held.size else None
    return {
        "auc": cue.pooled if two_sided else None,
        "separation": abs(cue.pooled - 0.5) if two_sided else None,
        "auc_distance_from_median": cue.distance_from_median if two_sided else None,
        "auc_matched": cue.matched if two_sided else None,
        "spread": spread,
        "clips_a": int((~is_b).sum()),
        "clips_b": int(is_b.sum()),
        "undefined_clips": int(np.isnan(raw).sum()),
    }


def compare(
    scores: Mapping[str, ArrayLike],
    observations: Observations,
    *,
    equivalence_auc: float = 0.15,
    draws: int = 9999,
    seed: int = 0,
) -> dict[str, Separation]:
    """Compare two conditions on every cue: how far apart, and what that settles.

    p is by permutation of units (see `_Design` for what is exchanged), two-sided as twice the smaller
    tail, over every arrangement where there are at most `draws`, else (1 + hits) / (1 + draws). So no p can
    be below 2 / arrangements. The order of the rows, the order of the cues, and which condition is called
    b change no p.

    Args:
        scores: by cue, (n,) one number a clip, NaN where undefined.
        observations: what is known of the n clips.
        equivalence_auc: m of the claim "cannot be told apart within ±m".
        draws: random arrangements where there are too many to visit all.
        seed: of the arrangements and the resamples.

    Returns:
        A `Separation` for each cue.
    """
    units = np.unique(np.asarray(observations.unit, dtype=str)).tolist()
    designs: dict[object, _Design] = {}
    cues = {}
    for name, raw in scores.items():
        values, defined = _canonical(raw, observations)
        known = (defined.is_b.tobytes(), defined.unit, defined.cell, defined.passage)
        if known not in designs:
            designs[known] = _Design(defined)
        cues[name] = _Cue(values, designs[known])
    settleable = {
        name: cue
        for name, cue in sorted(cues.items())
        if not _unmeasurable(cue.design) and _smallest_p(cue.design, draws) <= SIGNIFICANT
    }
    p_values = _Family(settleable, units, draws, seed).p_values()
    return {
        name: _separation(
            cue,
            np.asarray(scores[name], dtype=np.float64),
            observations,
            p_values.get(name),
            _Terms(equivalence_auc, draws, seed, len(settleable)),
        )
        for name, cue in cues.items()
    }


@dataclass(frozen=True)
class _Terms:
    """What holds for every cue of a comparison."""

    equivalence_auc: float
    draws: int
    seed: int
    cues: int


def _unmeasurable(design: _Design) -> str:
    """Return why two conditions cannot be compared at all; empty where they can."""
    observations = design.observations
    for name, units in zip(observations.names, (design.units_a, design.units_b), strict=True):
        if not units:
            return f"no clip of {name} has a value"
    if len(design.units) == 1:
        return f"all clips belong to one {observations.unit_name}"
    return ""


def _smallest_p(design: _Design, draws: int) -> float:
    """Return the smallest p that can be reached: each tail holds at least the observed arrangement."""
    count = design.arrangements
    return min(1.0, 2.0 / (count if count <= draws else 1 + draws))


def _units_needed(design: _Design, margin: float) -> int:
    """Return the pairs of units that claim equivalence with 80 % power where the AUC is 0.5.

    The 90 % interval stays inside the margin in 80 % of studies when 2.93 standard errors fit into it. The
    variance of a unit's mean rank is 1/12 for one clip, and that of an AUC of n_a and n_b clips
    (n_a + n_b + 1) / (12 n_a n_b); what a unit's clips have in common does not average out.
    """
    normal = NormalDist()
    errors = normal.inv_cdf((1.0 + INTERVAL) / 2.0) + normal.inv_cdf((1.0 + PLANNED_POWER) / 2.0)

    def averaged(of_one: float, numbers: Floats) -> float:
        common = PLANNED_UNIT_CORRELATION
        return of_one * (common + (1.0 - common) * float((1.0 / numbers).mean()))

    variance = 0.0
    if design.crossed.size:
        sizes = np.array([(cell.a.size, cell.b.size) for cell in design.cells], dtype=np.float64)
        of_cell = float(((sizes.sum(axis=1) + 1.0) / (12.0 * sizes.prod(axis=1))).mean())
        _, cells = np.unique([cell.unit for cell in design.cells], return_counts=True)
        variance += design.crossed.size * averaged(of_cell, cells.astype(np.float64))
    for block in design.blocks:
        clips = (design.clips_a + design.clips_b)[block.units].astype(np.float64)
        variance += block.pairs * 2.0 * averaged(1.0 / 12.0, clips)
    return math.ceil(variance / design.pairs * (errors / margin) ** 2)


def _separation(
    cue: _Cue, raw: Floats, observations: Observations, p: tuple[float, float] | None, terms: _Terms
) -> Separation:
    design = cue.design
    reason = _unmeasurable(design)
    pooled, tested = (None, None) if reason else cue.intervals(terms.seed)
    verdict, text = (NOT_MEASURABLE, reason) if reason else _verdict(cue, p, (pooled, tested), terms)
    return Separation(
        **_description(cue, raw),
        condition_a=observations.names[0],
        condition_b=observations.names[1],
        auc_low=pooled[0] if pooled else None,
        auc_high=pooled[1] if pooled else None,
        auc_tested=None if reason else cue.tested,
        auc_tested_low=tested[0] if tested else None,
        auc_tested_high=tested[1] if tested else None,
        p=p[0] if p else None,
        p_familywise=p[1] if p else None,
        smallest_p=None if reason else _smallest_p(design, terms.draws),
        design=None if reason else design.kind,
        verdict=verdict,
        verdict_text=f"{verdict}: {text}",
        units_a=design.units_a,
        units_b=design.units_b,
        units_needed=None if reason else _units_needed(design, terms.equivalence_auc),
        warnings=_warnings(cue, raw, observations, terms),
    )


Interval = tuple[float, float] | None


def _verdict(
    cue: _Cue, p: tuple[float, float] | None, intervals: tuple[Interval, Interval], terms: _Terms
) -> tuple[str, str]:
    """Return the verdict and the reason for it.

    The claim "cannot be told apart" is about what a listener could use, so it needs both intervals, of the
    pooled and of the tested AUC, inside the margin, and values that are not spread unequally by more than it.
    """
    design, margin = cue.design, terms.equivalence_auc
    claim = f"cannot be told apart within ±{margin:g}"
    name_a, name_b = design.observations.names
    one = design.observations.unit_name
    who = f"{_count(len(design.units), one)} ({design.units_a} {name_a}, {design.units_b} {name_b})"
    needed = f"the claim '{claim}' needs about {_units_needed(design, margin)} {one}s a side"
    figure = f"{name_b} exceeds {name_a} with probability {cue.pooled:.2f}"
    if abs(cue.tested - cue.pooled) >= 0.005:
        figure += f" ({cue.tested:.2f} with {one}s alike and all else equal)"
    if p is None:
        return NOT_SETTLED, (
            f"cannot be settled with {who}, which allow no p below {_smallest_p(design, terms.draws):.2g}; "
            f"{figure}; {needed}"
        )
    family = f", {_p(p[1])} over {terms.cues} cues" if terms.cues > 1 else ""
    if p[0] <= SIGNIFICANT:
        return TOLD_APART, f"{figure}; {_p(p[0])}{family}"
    pooled, tested = intervals
    if pooled is None or tested is None:
        why = f"fewer than {FEWEST_UNITS} {one}s a side" if pooled is None else "texts shared by a few only"
        return NOT_SETTLED, f"{figure}; {_p(p[0])}{family}; no interval ({why}); {needed}"
    low, high = min(pooled[0], tested[0]), max(pooled[1], tested[1])
    reach = f"the {INTERVAL:.0%} interval is {low:.2f} to {high:.2f}"
    if not (0.5 - margin <= low and high <= 0.5 + margin):
        return NOT_SETTLED, f"{figure}; {_p(p[0])}{family}; {reach}; {needed}"
    if abs(cue.distance_from_median - 0.5) > margin:
        return NOT_SETTLED, f"{figure}, but one condition's values are spread wider; {_p(p[0])}{family}; {reach}"
    return claim, f"{figure}; {reach}"


def _p(p: float) -> str:
    return f"p = {p:.2g}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _warnings(cue: _Cue, raw: Floats, observations: Observations, terms: _Terms) -> tuple[str, ...]:
    """Return what a reader must know besides the verdict."""
    design = cue.design
    found = []
    undefined = np.isnan(raw)
    if undefined.any():
        counts = [int((undefined & (observations.is_b == side)).sum()) for side in (False, True)]
        sides = ", ".join(f"{count} {name}" for count, name in zip(counts, observations.names, strict=True))
        found.append(f"{_count(int(undefined.sum()), 'clip')} without a value left out ({sides})")
    if not _unmeasurable(design):
        found += [*_text_warnings(design), *_unit_warnings(design)]
        distance = cue.distance_from_median
        if abs(distance - 0.5) > terms.equivalence_auc:
            wider = observations.names[distance > 0.5]
            found.append(f"{wider} is spread wider (AUC of the distance from the pooled median {distance:.2f})")
    return tuple(found)


def _text_warnings(design: _Design) -> Iterator[str]:
    if design.observations.passage is None:
        return
    passages = np.asarray(design.observations.passage, dtype=str)
    of_a, of_b = (set(passages[design.observations.is_b == side].tolist()) for side in (False, True))
    if not of_a & of_b:
        yield "no passage occurs in both conditions: text is confounded with condition"
    elif of_a != of_b:
        alone = len(of_a ^ of_b)
        yield f"{alone} of {len(of_a | of_b)} passages occur in one condition only: there text is confounded with it"


def _unit_warnings(design: _Design) -> Iterator[str]:
    one = design.observations.unit_name
    tested = {unit for block in design.blocks for unit in block.units.tolist()}
    left_out = design.nested.size - len(tested)
    if left_out:
        yield f"{_count(left_out, one)} without a counterpart in the other condition left out of the test"
    if design.observations.cell is None:
        return
    cross = design.crossed.size - len({cell.unit for cell in design.matched_cells})
    if cross:
        yield f"{_count(cross, one)} of both conditions without a matched cell: compared across texts"
    inside = sum(cell.a.size + cell.b.size for cell in design.cells)
    outside = int(design.clips_a[design.crossed].sum() + design.clips_b[design.crossed].sum()) - inside
    if outside:
        yield f"{_count(outside, 'clip')} outside matched cells left out of the test"


# --------------------------------------------------------------------------- cues of several features


class Classifier(BaseModel):
    """A trained linear score for a cue of several features: higher where a clip looks more like b.

    Attributes:
        centre, scale: (k,) of the standardisation.
        weights, intercept: of the logistic regression, in standardised features.
        components: label-blind principal components that the regression saw.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    centre: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float
    components: int

    def score(self, features: ArrayLike) -> Floats:
        """Return (n,) log-odds of condition b for features (n, k); NaN where a feature is."""
        standardised = (np.asarray(features, dtype=np.float64) - np.array(self.centre)) / np.array(self.scale)
        return np.asarray(standardised @ np.array(self.weights) + self.intercept, dtype=np.float64)


def train(features: ArrayLike, is_b: ArrayLike, unit: Sequence[str]) -> Classifier:
    """Train a standardised logistic regression on at most one principal component for every three units.

    Conditions weigh alike. Clips with a NaN are left out. The order of the rows changes nothing.

    Args:
        features: (n, k).
        is_b: (n,) True for condition b.
        unit: n names of units.

    Raises:
        UndefinedError: the clips with all features hold one condition only.
    """
    from sklearn.linear_model import LogisticRegression

    features, is_b = np.asarray(features, dtype=np.float64), np.asarray(is_b, dtype=bool)
    order = np.lexsort((is_b, *features.T))
    order = order[~np.isnan(features[order]).any(axis=1)]
    known, target = features[order], is_b[order]
    if target.all() or not target.any():
        raise UndefinedError("training needs clips of both conditions with all features; one side is empty")
    centre, scale = known.mean(axis=0), known.std(axis=0)
    # A constant feature deviates from its mean by rounding at most; such noise must not be blown up.
    scale = np.where(scale > TIE * np.maximum(np.abs(centre), 1.0), scale, np.inf)
    standardised = (known - centre) / scale
    scale = np.where(np.isinf(scale), 1.0, scale)
    components = max(1, min(known.shape[1], len({unit[i] for i in order}) // 3))
    axes = np.linalg.svd(standardised, full_matrices=False)[2][:components]
    regression = LogisticRegression(class_weight="balanced").fit(standardised @ axes.T, target)
    return Classifier(
        centre=tuple(centre.tolist()),
        scale=tuple(scale.tolist()),
        weights=tuple((regression.coef_[0] @ axes).tolist()),
        intercept=float(regression.intercept_[0]),
        components=int(axes.shape[0]),
    )


@dataclass(frozen=True)
class FoldAucs:
    """AUCs of folds.

    Attributes:
        aucs: of each fold; None where a side is empty.
        mean: over the defined folds; None if there is none.
        coverage: "2 of 3 folds", and why a fold is undefined.
    """

    aucs: tuple[float | None, ...]
    mean: float | None
    coverage: str


def fold_aucs(scores: ArrayLike, is_b: ArrayLike, fold: ArrayLike) -> FoldAucs:
    """Return the AUC inside each fold, in the folds' order, and its mean over the folds where it exists.

    Args:
        scores: (n,) NaN where undefined.
        is_b: (n,) True for condition b.
        fold: (n,) whole numbers.
    """
    scores, is_b, fold = np.asarray(scores, dtype=np.float64), np.asarray(is_b, dtype=bool), np.asarray(fold)
    aucs: list[float | None] = []
    for number in np.unique(fold):
        inside = (fold == number) & ~np.isnan(scores)
        try:
            aucs.append(auc(scores[inside & ~is_b], scores[inside & is_b]))
        except UndefinedError:
            aucs.append(None)
    defined = [value for value in aucs if value is not None]
    coverage = f"{len(defined)} of {len(aucs)} folds"
    if len(defined) < len(aucs):
        coverage += "; the others lack a condition and are left out"
    return FoldAucs(tuple(aucs), float(np.mean(defined)) if defined else None, coverage)


@dataclass(frozen=True)
class CrossValidated:
    """Scores of clips by classifiers that never saw their units.

    Attributes:
        scores: (n,) NaN where undefined; comparable inside a fold only.
        fold: (n,) number of the clip's fold; -1 where there are no folds.
        folds: AUCs of the folds.
        warnings: fewer folds than asked for, or none.
    """

    scores: Floats = field(repr=False)
    fold: Ints = field(repr=False)
    folds: FoldAucs
    warnings: tuple[str, ...]


def crossvalidated_scores(
    features: ArrayLike, is_b: ArrayLike, unit: Sequence[str], *, folds: int = 5, seed: int = 0
) -> CrossValidated:
    """Score each clip by a classifier trained on the other folds; a unit is never in two folds.

    Every fold holds both conditions; where the units do not allow the folds asked for, there are fewer.

    Args:
        features: (n, k), NaN where undefined.
        is_b: (n,) True for condition b.
        unit: n names of units.
        folds: folds wanted.
        seed: of the drawing of folds.
    """
    features, is_b = np.asarray(features, dtype=np.float64), np.asarray(is_b, dtype=bool)
    defined = np.flatnonzero(~np.isnan(features).any(axis=1))
    design = _Design(Observations(is_b, tuple(unit)).take(defined))
    a_only, b_only = (design.nested[design.observed[design.nested] == sign] for sign in (-1.0, 1.0))
    possible = design.crossed.size + min(a_only.size, b_only.size)
    scores, fold = np.full(is_b.size, np.nan), np.full(is_b.size, -1, dtype=np.intp)
    used = min(folds, possible)
    if used < 2:
        undefined = FoldAucs((), None, "no folds")
        return CrossValidated(scores, fold, undefined, ("no two folds can hold both conditions: not measurable",))
    rng = np.random.default_rng([seed, 2])
    fold_of_unit = np.empty(len(design.units), dtype=np.intp)
    # The crossed units fill the first folds; each side's nested units go on from there, so that both reach the rest.
    crossed = rng.permutation(design.crossed)
    fold_of_unit[crossed] = np.arange(crossed.size) % used
    for side in sorted((a_only, b_only), key=lambda units: units.min(initial=len(design.units))):
        fold_of_unit[rng.permutation(side)] = (crossed.size + np.arange(side.size)) % used
    fold[defined] = fold_of_unit[design.unit]
    names = [unit[i] for i in range(is_b.size)]
    for number in range(used):
        training = np.flatnonzero((fold >= 0) & (fold != number))
        classifier = train(features[training], is_b[training], [names[i] for i in training])
        scores[fold == number] = classifier.score(features[fold == number])
    warnings = (f"{used} folds instead of {folds}: more cannot each hold both conditions",) if used < folds else ()
    return CrossValidated(scores, fold, fold_aucs(scores[defined], is_b[defined], fold[defined]), warnings)
