"""Contrast: one cue's difference between two conditions, with what the design holds equal held equal.

    pooled   the AUC over all clips, which weigh alike
    tested   the AUC in which units weigh alike, compared inside cells and blocks only
    effect   Cohen's d of the same comparison, which knows how far apart the sides are

Were clips to weigh alike in the test, units with many clips on one side would reject a true null in
9 % of studies instead of 5 % (bench/separability_power.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from prep.auc import auc, exceeded
from prep.bootstrap import FEWEST_UNITS, Interval, percentile_interval, resampled_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prep.design import Block, Cell, Design

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

VARIANCE_FLOOR = 1e-9  # share of the sum of squares; a difference without variance around it must stay finite


@dataclass(frozen=True)
class Stratum:
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


class Contrast:
    """The defined values of one cue, with the design that the defined clips form."""

    def __init__(self, values: Floats, design: Design) -> None:
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
        """Mean over units of the AUC inside matched cells; None if there is no such cell."""
        cells = self.design.matched_cells
        if not cells:
            return None
        unit = np.array([cell.unit for cell in cells])
        return float(_mean_of_units(self._cell_aucs(cells), unit, np.unique(unit)).mean())

    @property
    def tested(self) -> float:
        """The AUC under test."""
        return 0.5 + float(self.design.observed @ self.gain)

    @cached_property
    def gain(self) -> Floats:
        """(units,) numbers with which `signs @ gain` is the tested AUC minus 0.5."""
        gain = np.zeros(len(self.design.units))
        for stratum in self.strata:
            gain[stratum.units] = stratum.share * stratum.wins
        return gain

    def effect(self, signs: Floats) -> Floats:
        """Return (rows,) Cohen's d of each arrangement (rows, units), over clips, with units weighing alike."""
        difference, variance = np.zeros(signs.shape[0]), np.zeros(signs.shape[0])
        for stratum in self.strata:
            step = stratum.difference(signs)
            difference += stratum.share * step
            variance += stratum.share * stratum.variance(step)
        # Zero over zero must be zero.
        floor = VARIANCE_FLOOR * sum(stratum.total for stratum in self.strata) or 1.0
        return np.asarray(difference / np.sqrt(variance + floor), dtype=np.float64)

    def intervals(self, seed: int) -> tuple[Interval | None, Interval | None]:
        """Return the unit-bootstrap intervals of the pooled and of the tested AUC."""
        design = self.design
        if min(design.units_a, design.units_b) < FEWEST_UNITS:
            return None, None
        times = resampled_units(design, seed)
        with np.errstate(divide="ignore", invalid="ignore"):  # a resample may have an empty side: no interval then
            return self._intervals_of(times)

    def _intervals_of(self, times: Floats) -> tuple[Interval | None, Interval | None]:
        design = self.design
        pooled = percentile_interval(self._resampled_pooled(times), design)
        if len(design.blocks) > 1:  # units of a small block cannot be resampled within it
            return pooled, None
        return pooled, percentile_interval(self._resampled_tested(times), design)

    # -- the strata

    @cached_property
    def strata(self) -> tuple[Stratum, ...]:
        """What the test compares, weighed by pairs of units."""
        return (*((self._crossed,) if self._crossed else ()), *self._blocks)

    @cached_property
    def _crossed(self) -> Stratum | None:
        crossed, cells = self.design.crossed, self.design.cells
        if not crossed.size:
            return None
        unit = np.array([cell.unit for cell in cells])
        steps = np.array([self.values[cell.b].mean() - self.values[cell.a].mean() for cell in cells])
        step = _mean_of_units(steps, unit, crossed)
        size = crossed.size
        return Stratum(
            units=crossed,
            share=size / self.design.pairs,
            wins=(_mean_of_units(self._cell_aucs(cells), unit, crossed) - 0.5) / size,
            steps=step / size,
            total=float(step @ step),
            mass=size,
            freedom=size - 1,
            within=variance_within(steps, unit),
            scale=0.5,  # a difference of two clips has twice a clip's variance
        )

    @cached_property
    def _blocks(self) -> tuple[Stratum, ...]:
        return tuple(self._of_block(block) for block in self.design.blocks)

    def _of_block(self, block: Block) -> Stratum:
        values, unit = self._block_values(block)
        level = _mean_of_units(values, unit, block.units)
        level = level - level.mean()
        size = block.units.size
        contrast = 0.5 * size / (block.n_a * block.n_b)  # sum(s * level) times this is mean(b) - mean(a)
        return Stratum(
            units=block.units,
            share=block.pairs / self.design.pairs,
            wins=contrast * (_placements(values, unit, block.units) - 0.5),
            steps=contrast * level,
            total=float(level @ level),
            mass=block.n_a * block.n_b / size,
            freedom=size - 2,
            within=variance_within(values, unit),
            scale=1.0,
        )

    def _block_values(self, block: Block) -> tuple[Floats, Ints]:
        """Return the values and units of a block's clips, passage effects taken out where they can be."""
        clips = self.design.clips_of(block.units)
        values, unit = self.values[clips], self.design.unit[clips]
        if block.linked and self.design.observations.passage is not None:
            values = values - passage_effects(values, unit, [self.design.observations.passage[i] for i in clips])
        return values, unit

    def _cell_aucs(self, cells: Sequence[Cell]) -> Floats:
        return np.array([auc(self.values[cell.a], self.values[cell.b]) for cell in cells])

    # -- the resamples, with each unit taken `times` (resamples, units) times

    def _resampled_pooled(self, times: Floats) -> Floats:
        design = self.design
        wins = self._wins(self.values, design.unit, np.arange(len(design.units)))
        return _resampled_auc(times, wins, design.clips_a, design.clips_b)

    def _resampled_tested(self, times: Floats) -> Floats:
        design = self.design
        tested = np.zeros(times.shape[0])
        if self._crossed:
            drawn = times[:, self._crossed.units]
            wins = self._crossed.wins * self._crossed.units.size + 0.5
            tested += self._crossed.share * (drawn @ wins) / drawn.sum(axis=1)
        for block, stratum in zip(design.blocks, self._blocks, strict=True):
            values, unit = self._block_values(block)
            clips_a, clips_b = design.clips_a[block.units], design.clips_b[block.units]
            wins = self._wins(values, unit, block.units) / np.outer(np.maximum(clips_a, 1), np.maximum(clips_b, 1))
            alike = np.minimum(clips_a, 1), np.minimum(clips_b, 1)
            tested += stratum.share * _resampled_auc(times[:, block.units], wins, *alike)
        return tested

    def _wins(self, values: Floats, unit: Ints, units: Ints) -> Floats:
        """Return (units, units) how often clips of condition b of one unit (column) exceed those of a of another."""
        in_b = self.design.observations.is_b[self.design.clips_of(units)]
        place = np.searchsorted(units, unit)
        wins = np.zeros((units.size, units.size))
        for row in np.unique(place[~in_b]):
            above = exceeded(np.sort(values[~in_b & (place == row)]), values[in_b])
            wins[row] = np.bincount(place[in_b], above, units.size)
        return wins


def _resampled_auc(times: Floats, wins: Floats, clips_a: Ints, clips_b: Ints) -> Floats:
    """Return (resamples,) the AUC with each unit taken `times` times."""
    won = np.einsum("ru,ru->r", times @ wins, times)
    return np.asarray(won / ((times @ clips_a) * (times @ clips_b)), dtype=np.float64)


def _mean_of_units(values: Floats, unit: Ints, units: Ints) -> Floats:
    """Return the mean of the values of each of the units, in their order."""
    place = np.searchsorted(units, unit)
    return np.asarray(np.bincount(place, values, units.size) / np.bincount(place, minlength=units.size))


def variance_within(values: Floats, unit: Ints) -> float:
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


def passage_effects(values: Floats, unit: Ints, passages: Sequence[str]) -> Floats:
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
