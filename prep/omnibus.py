"""Omnibus: whether any of several conditions is told apart from another, asked once for all pairs.

Labels of whole units are exchanged among all conditions at once: a unit of one condition takes the label of another
such unit, a unit of several renames its own conditions, in all its cells alike. The statistic of an arrangement is the
largest one over the pairs of conditions, so a pair that chance made large is judged among all that could have been.
The statistics of a pair are those of two conditions (see `prep.permutation`): for one cue the AUC inside cells and
blocks, in units of its spread over the arrangements; for all cues together Cohen's d, scaled.

Source: Westfall & Young 1993 (maxT).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prep.auc import auc
from prep.contrast import VARIANCE_FLOOR, passage_effects, variance_within
from prep.design import linked_units
from prep.permutation import TIE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]
    Pair = tuple[int, int]

CHUNK_ROWS = 500  # arrangements held in memory at a time


class Found(NamedTuple):
    """What an omnibus test says of one cue: the pair that stands out, and how likely chance does as much."""

    pair: Pair
    p: float
    p_familywise: float
    pairs_familywise: dict[Pair, float]


@dataclass(frozen=True)
class Labels:
    """What is known of n clips of several conditions besides their scores.

    Attributes:
        condition: (n,) number of each clip's condition.
        unit: n names of the unit that is permuted as a whole.
        cell: n names of match cells, None for a clip in no cell; None altogether where nothing is matched.
        passage: n names of the text; None altogether where it is not known.
    """

    condition: Ints
    unit: tuple[str, ...]
    cell: tuple[str | None, ...] | None = None
    passage: tuple[str, ...] | None = None

    @property
    def conditions(self) -> int:
        """Number of conditions."""
        return int(self.condition.max()) + 1

    @cached_property
    def units(self) -> Ints:
        """(n,) the position of each clip's unit in alphabetical order."""
        return np.unique(np.asarray(self.unit, dtype=str), return_inverse=True)[1].astype(np.intp)

    @cached_property
    def held(self) -> list[tuple[int, ...]]:
        """The conditions of each unit."""
        return [tuple(sorted(set(self.condition[self.units == unit].tolist()))) for unit in range(self.units.max() + 1)]

    @cached_property
    def crossed(self) -> list[int]:
        """Units of several conditions."""
        return [unit for unit, held in enumerate(self.held) if len(held) > 1]

    @cached_property
    def blocks(self) -> list[Ints]:
        """Units of one condition, in groups inside which labels are exchanged: those that shared passages link.

        Groups without two conditions are one last block.
        """
        nested = [unit for unit, held in enumerate(self.held) if len(held) == 1]
        groups = linked_units(nested, self.units, self.passage)
        linked = [group for group in groups if len({self.held[unit] for unit in group.tolist()}) > 1]
        kept = {unit for group in linked for unit in group.tolist()}
        rest = np.array([unit for unit in nested if unit not in kept], dtype=np.intp)
        several = len({self.held[unit] for unit in rest.tolist()}) > 1
        return [*linked, rest] if several else linked

    @cached_property
    def linked(self) -> list[bool]:
        """Of each block, whether passage effects can be taken out of it: shared passages link all its units."""
        if self.passage is None:
            return [False] * len(self.blocks)
        return [len(linked_units(block.tolist(), self.units, self.passage)) == 1 for block in self.blocks]

    @property
    def arrangements(self) -> int:
        """Number of ways in which the labels can be exchanged."""
        count = math.prod(math.factorial(len(self.held[unit])) for unit in self.crossed)
        for block in self.blocks:
            sizes = np.unique([self.held[unit][0] for unit in block.tolist()], return_counts=True)[1]
            count *= math.factorial(block.size) // math.prod(math.factorial(size) for size in sizes.tolist())
        return count


class Arrangements(NamedTuple):
    """Exchanged labels: (rows, units) of nested units, and (rows, units, conditions) where crossed units took theirs.

    `label[r, u]` is the condition that a nested unit is called, -1 for others. `taken[r, u, c]` is the real
    condition of the clips of a crossed unit that are called c.
    """

    label: Ints
    taken: Ints


def omnibus(
    scores: Mapping[str, Mapping[Pair, Floats]], labels: Labels, *, draws: int = 9999, seed: int = 0
) -> dict[str, Found]:
    """Test for each cue whether any pair of conditions is told apart.

    Args:
        scores: by cue and pair (i, j) with i < j, (n,) one number a clip, NaN where undefined. A cue of several
            numbers has a score of its own for each pair.
        labels: of the n clips.
        draws: random arrangements where there are too many to visit all.
        seed: of the arrangements.

    Returns:
        By cue the pair with the largest statistic, p over its pairs and p over all cues and pairs.
    """
    contrasts = {
        (cue, pair): _PairContrast(values, labels, pair)
        for cue, pairs in scores.items()
        for pair, values in pairs.items()
    }
    if not contrasts:
        return {}
    chunks = [
        [contrast.statistics(arranged) for contrast in contrasts.values()]
        for arranged in _arrangements(labels, draws, seed)
    ]
    # (arrangements, cue and pair); the first arrangement is as observed.
    tested = np.concatenate([np.stack([part.won for part in chunk], axis=1) for chunk in chunks])
    effects = np.concatenate([np.stack([part.effect for part in chunk], axis=1) for chunk in chunks])
    tested, effects = np.abs(tested / _spread(tested)), np.abs(effects / np.sqrt(_spread(effects)))
    largest = effects.max(axis=1)
    found = {}
    for cue, pairs in scores.items():
        places = {pair: list(contrasts).index((cue, pair)) for pair in pairs}
        first = max(places, key=lambda pair: tested[0, places[pair]])
        alone = _reached(tested[:, list(places.values())].max(axis=1), tested[0, places[first]])
        over_all = {pair: _reached(largest, effects[0, place]) for pair, place in places.items()}
        found[cue] = Found(first, alone, max(alone, min(over_all.values())), over_all)
    return found


def _spread(statistics: Floats) -> Floats:
    """Return (columns,) the root mean square over the arrangements, 1 where all are 0."""
    rms = np.sqrt((statistics**2).mean(axis=0))
    return np.asarray(np.where(rms > 0, rms, 1.0), dtype=np.float64)


def _reached(statistics: Floats, observed: float) -> float:
    """Return how often a statistic of some arrangement is as large as the observed one."""
    return float((statistics >= observed * (1 - TIE)).mean())


class _Part(NamedTuple):
    """One stratum of some arrangements, each (rows,): its weight, AUC - 0.5, difference of means and variance."""

    weight: Floats
    won: Floats
    difference: Floats
    variance: Floats


class _Statistics(NamedTuple):
    """What is compared over arrangements, each (rows,): AUC - 0.5 and Cohen's d."""

    won: Floats
    effect: Floats


class _PairContrast:
    """One cue's difference between two of the conditions, as unit-level numbers that any arrangement can be put to."""

    def __init__(self, values: Floats, labels: Labels, pair: Pair) -> None:
        self.pair = pair
        self.crossed = _CrossedSteps.of(values, labels)
        self.blocks = [
            _NestedLevels.of(values, labels, block, linked=linked)
            for block, linked in zip(labels.blocks, labels.linked, strict=True)
        ]

    def statistics(self, arranged: Arrangements) -> _Statistics:
        """Return the AUC and Cohen's d of each arrangement, j above i; 0 where nothing can be compared."""
        parts = [self.crossed.parts(arranged, self.pair), *(block.parts(arranged, self.pair) for block in self.blocks)]
        weights = np.stack([part.weight for part in parts])
        shares = weights / np.maximum(weights.sum(axis=0), TIE)
        won, difference, variance = (
            (shares * np.stack([part[field] for part in parts])).sum(axis=0) for field in (1, 2, 3)
        )
        floor = VARIANCE_FLOOR * (self.crossed.total + sum(block.total for block in self.blocks)) or 1.0
        return _Statistics(won, difference / np.sqrt(variance + floor))


@dataclass(frozen=True)
class _CrossedSteps:
    """Units of several conditions: how far each of their conditions lies above each other inside matched cells."""

    units: Ints
    steps: Floats  # (units, conditions, conditions) difference of means, NaN where a unit has no such pair
    wins: Floats  # the same of AUC - 0.5
    within: float
    total: float

    @classmethod
    def of(cls, values: Floats, labels: Labels) -> _CrossedSteps:
        """Average the differences and the AUC of matched cells over the cells of each unit."""
        units = np.array(labels.crossed, dtype=np.intp)
        steps = np.full((units.size, labels.conditions, labels.conditions), np.nan)
        wins = steps.copy()
        found: dict[tuple[int, int, int], list[tuple[float, float]]] = {}
        for place, unit in enumerate(units.tolist()):
            for clips in _cells(labels, unit):
                held = clips[~np.isnan(values[clips])]
                sides = {c: values[held[labels.condition[held] == c]] for c in labels.held[unit]}
                for low, high in itertools.combinations(labels.held[unit], 2):
                    if sides[low].size and sides[high].size:
                        step = float(sides[high].mean() - sides[low].mean())
                        found.setdefault((place, low, high), []).append((step, auc(sides[low], sides[high]) - 0.5))
        for (place, low, high), cells in found.items():
            steps[place, low, high], wins[place, low, high] = np.mean(cells, axis=0)
            steps[place, high, low], wins[place, high, low] = -steps[place, low, high], -wins[place, low, high]
        differences = np.array([step for cells in found.values() for step, _ in cells])
        owner = np.repeat(np.arange(len(found)), [len(cells) for cells in found.values()])
        within = variance_within(differences, owner) if found else 0.0
        return cls(units, steps, wins, within, float(np.nansum(steps**2)) / 2)

    def parts(self, arranged: Arrangements, pair: Pair) -> _Part:
        """Return the stratum of each arrangement."""
        rows = len(arranged.taken)
        if not self.units.size:
            return _Part(*(np.zeros(rows) for _ in range(4)))
        low, high = (arranged.taken[:, self.units, condition] for condition in pair)
        place = np.arange(self.units.size)
        step, win = self.steps[place, low, high], self.wins[place, low, high]
        held = ~np.isnan(step) & (low >= 0) & (high >= 0)
        step, win = np.where(held, step, 0.0), np.where(held, win, 0.0)
        number = held.sum(axis=1)
        mean = step.sum(axis=1) / np.maximum(number, 1)
        between = np.maximum((step**2).sum(axis=1) - number * mean**2, 0.0) / np.maximum(number - 1, 1)
        # A difference of two clips has twice a clip's variance.
        won = win.sum(axis=1) / np.maximum(number, 1)
        return _Part(number.astype(np.float64), won, mean, 0.5 * (between + self.within))


@dataclass(frozen=True)
class _NestedLevels:
    """Units of one condition: their mean values, passage effects taken out where they can be."""

    units: Ints
    level: Floats  # NaN for a unit without a value
    wins: Floats  # (units, units) how often clips of one (column) exceed those of another, less a half
    within: float
    total: float

    @classmethod
    def of(cls, values: Floats, labels: Labels, block: Ints, *, linked: bool) -> _NestedLevels:
        """Average the values of each unit."""
        clips = np.flatnonzero(np.isin(labels.units, block) & ~np.isnan(values))
        held, unit = values[clips], labels.units[clips]
        if linked and labels.passage is not None and clips.size:
            held = held - passage_effects(held, unit, [labels.passage[clip] for clip in clips])
        level = np.array([_mean(held[unit == one]) for one in block.tolist()])
        level = level - (np.nanmean(level) if not np.isnan(level).all() else 0.0)
        within = variance_within(held, unit) if clips.size else 0.0
        sides = [held[unit == one] for one in block.tolist()]
        wins = np.array([[auc(a, b) - 0.5 if a.size and b.size else 0.0 for b in sides] for a in sides])
        return cls(block, level, wins, within, float(np.nansum(level**2)))

    def parts(self, arranged: Arrangements, pair: Pair) -> _Part:
        """Return the stratum of each arrangement."""
        label = np.where(np.isnan(self.level), -1, arranged.label[:, self.units])
        level = np.nan_to_num(self.level)
        sides = [label == condition for condition in pair]
        n_a, n_b = (side.sum(axis=1).astype(np.float64) for side in sides)
        sums = [side @ level for side in sides]
        mean_a, mean_b = (total / np.maximum(count, 1) for total, count in zip(sums, (n_a, n_b), strict=True))
        squares = (sides[0] | sides[1]) @ level**2 - n_a * mean_a**2 - n_b * mean_b**2
        between = np.maximum(squares, 0.0) / np.maximum(n_a + n_b - 2, 1)
        both = n_a * n_b > 0
        weight = np.where(both, 2 * n_a * n_b / np.maximum(n_a + n_b, 1), 0.0)
        won = np.einsum("ru,ru->r", sides[0] @ self.wins, sides[1]) / np.maximum(n_a * n_b, 1)
        return _Part(weight, won, np.where(both, mean_b - mean_a, 0.0), between + self.within)


def _mean(values: Floats) -> float:
    """Return the mean of the defined values, NaN where there is none."""
    held = values[~np.isnan(values)]
    return float(held.mean()) if held.size else float("nan")


def _cells(labels: Labels, unit: int) -> list[Ints]:
    """Return the clips of each matched cell of a crossed unit; all its clips where no cell has two conditions."""
    clips = np.flatnonzero(labels.units == unit)
    cells: dict[str, list[int]] = {}
    for clip in clips.tolist():
        name = labels.cell[clip] if labels.cell is not None else None
        if name is not None:
            cells.setdefault(name, []).append(clip)
    matched = [np.array(held) for held in cells.values() if len(set(labels.condition[held].tolist())) > 1]
    return matched or [clips]


# --------------------------------------------------------------------------- arrangements


def _arrangements(labels: Labels, draws: int, seed: int) -> Iterable[Arrangements]:
    """Yield arrangements in chunks, the observed one first: all where there are at most `draws`."""
    if labels.arrangements <= draws:
        every = sorted(_every(labels), key=lambda arranged: not _is_observed(arranged, labels))
        yield from (_stacked(every[start : start + CHUNK_ROWS]) for start in range(0, len(every), CHUNK_ROWS))
        return
    yield _stacked([_observed(labels)])
    rng = np.random.default_rng([seed, 1])
    for start in range(0, draws, CHUNK_ROWS):
        yield _drawn(labels, min(CHUNK_ROWS, draws - start), rng)


def _observed(labels: Labels) -> Arrangements:
    """Return the labels as they are, without an axis of rows."""
    label = np.array([held[0] if len(held) == 1 else -1 for held in labels.held], dtype=np.intp)
    taken = np.full((len(labels.held), labels.conditions), -1, dtype=np.intp)
    for unit in labels.crossed:
        taken[unit, list(labels.held[unit])] = labels.held[unit]
    return Arrangements(label, taken)


def _is_observed(arranged: Arrangements, labels: Labels) -> bool:
    real = _observed(labels)
    return bool((arranged.label == real.label).all() and (arranged.taken == real.taken).all())


def _stacked(rows: Sequence[Arrangements]) -> Arrangements:
    return Arrangements(np.stack([row.label for row in rows]), np.stack([row.taken for row in rows]))


def _drawn(labels: Labels, rows: int, rng: np.random.Generator) -> Arrangements:
    """Return random arrangements."""
    real = _observed(labels)
    label = np.tile(real.label, (rows, 1))
    taken = np.tile(real.taken, (rows, 1, 1))
    for block in labels.blocks:
        label[:, block] = rng.permuted(label[:, block], axis=1)
    for unit in labels.crossed:
        held = list(labels.held[unit])
        taken[:, unit, held] = rng.permuted(taken[:, unit, held], axis=1)
    return Arrangements(label, taken)


def _every(labels: Labels) -> Iterable[Arrangements]:
    """Yield every arrangement, without an axis of rows."""
    real = _observed(labels)
    of_blocks = [sorted(_distinct(real.label[block].tolist())) for block in labels.blocks]
    of_units = [list(itertools.permutations(labels.held[unit])) for unit in labels.crossed]
    for choice in itertools.product(*of_blocks, *of_units):
        label, taken = real.label.copy(), real.taken.copy()
        for block, given in zip(labels.blocks, choice, strict=False):
            label[block] = given
        for unit, order in zip(labels.crossed, choice[len(of_blocks) :], strict=True):
            taken[unit, list(labels.held[unit])] = order
        yield Arrangements(label, taken)


def _distinct(values: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """Yield each distinct order of some numbers once."""
    if not values:
        yield ()
    for first in sorted(set(values)):
        rest = list(values)
        rest.remove(first)
        yield from ((first, *order) for order in _distinct(rest))
