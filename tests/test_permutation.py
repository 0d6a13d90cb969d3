"""Permutation p, on arrangements counted by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.design import Observations
from prep.separability import Separation, compare
from prep.verdict import NOT_SETTLED, TOLD_APART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SIMULATION_SD = 2.5  # standard errors of a simulated p that it may be off


def observed(
    labels: str, units: str | Sequence[str], cells: str | None = None, passages: str | None = None
) -> Observations:
    """Return observations from a letter a clip: condition a or b, unit, cell ('-' for none), passage."""
    return Observations(
        np.array([label == "b" for label in labels]),
        tuple(units),
        None if cells is None else tuple(None if cell == "-" else cell for cell in cells),
        None if passages is None else tuple(passages),
    )


def only(values: Sequence[float] | NDArray[np.float64], observations: Observations, **options: int) -> Separation:
    """Return the comparison on a single cue."""
    return compare({"cue": np.asarray(values, dtype=float)}, observations, **options)["cue"]


def test_nested_p_counts_all_arrangements() -> None:
    """4 + 4 speakers, fully separated: 2 of the 70 arrangements are as extreme."""
    found = only([1, 2, 3, 4, 5, 6, 7, 8], observed("aaaabbbb", "stuvwxyz"))
    assert found.design == "nested"
    assert found.auc == 1.0
    assert found.p == pytest.approx(2 / 70)
    assert found.smallest_p == pytest.approx(2 / 70)
    assert found.verdict == TOLD_APART


def test_nested_p_of_an_inner_arrangement() -> None:
    """4 + 4 speakers with one neighbouring pair exchanged: 4 of the 70 arrangements are as extreme."""
    found = only([1, 2, 3, 5, 4, 6, 7, 8], observed("aaaabbbb", "stuvwxyz"))
    assert found.auc == 15 / 16
    assert found.p == pytest.approx(4 / 70)
    assert found.verdict == NOT_SETTLED


def test_lower_values_are_told_apart_as_well() -> None:
    """The test is two-sided: a cue that is lower in b has the same p as one that is higher."""
    found = only([8, 7, 6, 5, 4, 3, 2, 1], observed("aaaabbbb", "stuvwxyz"))
    assert found.auc == 0.0
    assert found.separation == 0.5
    assert found.p == pytest.approx(2 / 70)


def test_paired_p_swaps_whole_speakers() -> None:
    """6 speakers, each with b above a in its cells: 2 of the 64 swaps are as extreme, though speakers overlap."""
    base = np.repeat(np.arange(6) * 10.0, 2)
    found = only(base + np.tile([0, 1], 6), observed("ab" * 6, "ssttuuvvwwxx", "112233445566"))
    assert found.design == "paired"
    assert found.auc_matched == found.auc_tested == 1.0
    assert found.auc == pytest.approx(21 / 36)
    assert found.p == pytest.approx(2 / 64)
    assert found.smallest_p == pytest.approx(2 / 64)


def test_paired_p_with_a_speaker_against() -> None:
    """7 speakers, one of them against: 16 of the 128 swaps are as extreme (none or one against, on either side)."""
    steps = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0])
    found = only(steps, observed("ab" * 7, "ssttuuvvwwxxyy", "11223344556677"))
    assert found.auc_matched == pytest.approx(6 / 7)
    assert found.p == pytest.approx(16 / 128)


def test_mixed_p_swaps_crossed_speakers_and_permutes_the_rest() -> None:
    """2 crossed speakers and 3 + 3 others, all separated: 2 of the 4 x 20 arrangements are as extreme."""
    labels, units = "abab" + "aaabbb", "sstt" + "uvwxyz"
    found = only([1, 9, 1, 9, 1, 2, 3, 7, 8, 9], observed(labels, units))
    assert found.design == "mixed"
    assert found.auc_tested == 1.0
    assert found.smallest_p == found.p == pytest.approx(2 / 80)


@pytest.mark.parametrize(("side", "smallest"), [(2, 1 / 3), (3, 1 / 10), (4, 1 / 35)])
def test_smallest_p_of_nested_speakers(side: int, smallest: float) -> None:
    """The smallest p is 2 over the number of arrangements: 0.33, 0.10 and 0.029 for 2, 3 and 4 speakers a side."""
    found = only(np.arange(2.0 * side), observed("a" * side + "b" * side, "stuvwxyz"[: 2 * side]))
    assert found.smallest_p == pytest.approx(smallest)


def test_few_speakers_cannot_settle_anything() -> None:
    """Where no p at or below 0.05 exists, none is printed, and the verdict says how many speakers there are."""
    found = only(np.arange(6.0), observed("aaabbb", "stuvwx"))
    assert found.p is None
    assert found.p_familywise is None
    assert found.verdict == NOT_SETTLED
    assert "cannot be settled with 6 speakers" in found.verdict_text


def test_unequal_sides_have_two_extreme_arrangements_too() -> None:
    """2 + 3 speakers: b above all and b below all are both extreme, so no p is below 2 / 10."""
    found = only(np.arange(5.0), observed("aabbb", "stuvw"))
    assert found.smallest_p == pytest.approx(2 / 10)


@pytest.mark.parametrize("labels", ["aabbbbbb", "aaaaaabb"])
def test_no_p_is_below_the_smallest(labels: str) -> None:
    """With unequal sides and several clips a speaker p never falls below the smallest p that was announced."""
    units = np.repeat(list("stuvwxyz"), 3)
    is_b = np.repeat(np.array(list(labels)) == "b", 3)
    rng = np.random.default_rng(2)
    for _ in range(20):
        found = only(10.0 * is_b + rng.standard_normal(24), Observations(is_b, tuple(units)))
        assert found.smallest_p == pytest.approx(2 / 28)
        assert found.p is None


def test_drawn_arrangements_count_the_observed_one() -> None:
    """With more arrangements than draws p is (1 + hits) / (1 + draws) for each tail, never 0."""
    is_b = np.arange(18) >= 9
    values = np.random.default_rng(3).standard_normal(18) + 100.0 * is_b
    found = only(values, Observations(is_b, tuple(f"s{number}" for number in range(18))), draws=199)
    assert found.smallest_p == pytest.approx(2 / 200)
    assert found.p == pytest.approx(2 / 200)


def test_drawn_and_exhaustive_p_agree() -> None:
    """Random arrangements give the p of all arrangements within their simulation error."""
    rng = np.random.default_rng(4)
    unit = np.repeat(np.arange(12), 3)
    observations = Observations(unit >= 6, tuple(f"s{number:02d}" for number in unit))
    values = rng.standard_normal(12)[unit] + rng.standard_normal(36) + 1.2 * observations.is_b
    exact, drawn = only(values, observations).p, only(values, observations, draws=900).p
    assert exact is not None
    assert drawn is not None
    assert drawn == pytest.approx(exact, abs=SIMULATION_SD * 2 * math.sqrt(exact / 2 / 900))
