"""Shift: how far condition b lies above condition a, in the unit of the values.

Sources: Hodges & Lehmann 1963; Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3.2 and 4.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prep.bootstrap import FEWEST_UNITS, Interval, percentile_interval, resampled_units
from prep.design import Design, Observations, canonical
from prep.errors import UndefinedError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]


# Of more pairs than this, evenly ranked ones stand for all: their median is closer than the bootstrap is sure.
MOST_PAIRS = 100_000


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
    values, observations = canonical(values, observations)
    design = Design(observations)
    differences, unit = _matched_differences(values, design)
    return differences, tuple(design.units[position] for position in unit)


def _matched_differences(values: Floats, design: Design) -> tuple[Floats, Ints]:
    cells = design.matched_cells
    differences = [hodges_lehmann(values[cell.a], values[cell.b]) for cell in cells]
    return np.array(differences), np.array([cell.unit for cell in cells], dtype=np.intp)


def shift_interval(values: ArrayLike, observations: Observations, *, matched: bool, seed: int = 0) -> Interval | None:
    """Return the 90 % unit-bootstrap interval of a shift b - a, or None under 5 units a side.

    Args:
        values: (n,) one value a clip, NaN where undefined.
        observations: what is known of the clips.
        matched: the shift is `walsh_median` of the matched differences, else `hodges_lehmann` of all clips.
        seed: of the resampling.
    """
    values, observations = canonical(values, observations)
    design = Design(observations)
    if matched:
        differences, unit = _matched_differences(values, design)
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
    order = order[:: -(-order.size // MOST_PAIRS)]
    pairs, first, second, same = pairs[order], first[order], second[order], same[order]
    times = resampled_units(design, seed)
    shifts = np.empty(len(times))
    for row, drawn in enumerate(times):
        # A value drawn c times makes c (c + 1) / 2 Walsh averages with itself, and c d with another drawn d times.
        weight = drawn[first] * (drawn[second] + same) / (1.0 + same)
        shifts[row] = _weighted_median(pairs, weight)
    return percentile_interval(shifts, design)


def _weighted_median(ordered: Floats, weight: Floats) -> float:
    """Return the median of ordered values that each occur `weight` times (whole numbers)."""
    reached = np.cumsum(weight)
    half = reached[-1] / 2.0
    low, high = np.searchsorted(reached, half, "left"), np.searchsorted(reached, half, "right")
    return float((ordered[low] + ordered[high]) / 2.0)
