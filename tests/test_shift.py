"""Shifts between two conditions, on differences counted by hand, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from prep.design import Observations
from prep.errors import UndefinedError
from prep.shift import hodges_lehmann, matched_differences, shift_interval, walsh_median


def test_hodges_lehmann_is_the_median_difference() -> None:
    """The shift of two samples is the median of all differences b - a."""
    # differences: 4-0 4-1 4-5 6-0 6-1 6-5 = 4 3 -1 6 5 1 -> median 3.5
    assert hodges_lehmann([0, 1, 5], [4, 6]) == 3.5


def test_walsh_median_is_the_median_of_pair_means() -> None:
    """The shift of matched differences is the median of the means of all pairs, each with itself included."""
    # averages of 0, 2, 10: 0 1 5 2 6 10 -> median 3.5
    assert walsh_median([0, 2, 10]) == 3.5


def test_a_shift_of_nothing_is_undefined() -> None:
    """Without values there is no shift."""
    with pytest.raises(UndefinedError):
        hodges_lehmann([], [1.0])
    with pytest.raises(UndefinedError):
        walsh_median([])


def test_matched_differences_are_taken_inside_cells() -> None:
    """Each cell of one unit gives one difference; clips in no cell and cells of one condition give none."""
    is_b = np.array([False, False, True, True, False, True])
    observations = Observations(is_b, tuple("sssstt"), cell=("1", "1", "2", None, "3", "3"))
    differences, units = matched_differences([1, 3, 10, 99, 5, 6], observations)
    assert differences.tolist() == [1.0]
    assert units == ("t",)


def test_the_shift_interval_holds_the_shift_and_needs_five_units_a_side() -> None:
    """The unit bootstrap of a shift surrounds its estimate; with four units a side there is none."""
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(12), 3)
    observations = Observations(unit >= 6, tuple(f"s{number}" for number in unit))
    values = rng.standard_normal(12)[unit] + 0.8 * rng.standard_normal(36) + 5.0 * observations.is_b
    interval = shift_interval(values, observations, matched=False)
    assert interval is not None
    assert interval[0] < hodges_lehmann(values[~observations.is_b], values[observations.is_b]) < interval[1]
    few = np.flatnonzero(np.isin(unit, [0, 1, 2, 3, 6, 7, 8, 9]))
    assert shift_interval(values[few], observations.take(few), matched=False) is None


def test_the_matched_shift_interval_resamples_units() -> None:
    """With the same difference in each cell of a unit, more cells a unit do not narrow the interval."""
    steps = np.random.default_rng(1).standard_normal(8)
    widths = []
    for cells in (1, 6):
        unit = np.repeat(np.arange(8), 2 * cells)
        is_b = np.tile([False, True], 8 * cells)
        cell = tuple(f"c{i // 2}" for i in range(unit.size))
        interval = shift_interval(
            steps[unit] * is_b, Observations(is_b, tuple(f"s{u}" for u in unit), cell), matched=True
        )
        assert interval is not None
        widths.append(interval[1] - interval[0])
    assert widths[1] > 0.7 * widths[0]
