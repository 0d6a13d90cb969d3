"""What is compared under a design: cells, units, passages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.design import Observations
from prep.separability import Separation, compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ROUNDING = 1e-9  # no unit; sums of a few hundred float64 numbers


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


def test_one_human_to_three_synthetic_inside_a_cell() -> None:
    """The AUC inside a cell of 1 and 3 clips is a mean over three pairs, and the cells of a speaker weigh alike."""
    labels, units, cells = "abbbab" + "ab", "ssssss" + "tt", "111122" + "33"
    found = only([2, 1, 3, 3, 0, 1, 5, 4], observed(labels, units, cells))
    assert found.auc_matched == pytest.approx(((2 / 3 + 1) / 2 + 0) / 2)


def test_the_mixed_auc_weighs_strata_by_pairs_of_speakers() -> None:
    """2 crossed speakers with b above a, and 3 + 3 others with b below: (2 * 1 + 3 * 0) / 5."""
    found = only([1, 9, 1, 9, 7, 8, 9, 1, 2, 3], observed("abab" + "aaabbb", "sstt" + "uvwxyz"))
    assert found.auc_tested == pytest.approx(2 / 5)


def test_speakers_weigh_alike_in_the_test() -> None:
    """A speaker with many clips moves the pooled AUC, not the tested one."""
    observations = observed("a" * 11 + "bb", "s" * 10 + "t" + "uv")
    found = only([9.0] * 10 + [0.0, 5.0, 5.0], observations)
    assert found.auc == pytest.approx(1 / 11)
    assert found.auc_tested == pytest.approx(1 / 2)


def test_passage_means_are_taken_out_where_all_read_all() -> None:
    """A text effect much larger than the difference of conditions does not hide it where passages cross."""
    text = np.tile([0.0, 100.0, 200.0], 8)
    values = text + np.repeat([0, 1, 2, 3, 4, 5, 6, 7], 3)
    found = only(values, observed("a" * 12 + "b" * 12, np.repeat(list("stuvwxyz"), 3).tolist(), passages="123" * 8))
    assert found.auc is not None
    assert found.auc < 0.7
    assert found.auc_tested == pytest.approx(1.0, abs=ROUNDING)
    assert found.warnings == ()


def test_no_interval_under_five_units_a_side() -> None:
    """Four speakers a side have a p, and no interval."""
    found = only([1, 5, 2, 6, 3, 7, 4, 8], observed("aabbaabb", "stuvwxyz"))
    assert found.p is not None
    assert found.auc_low is None
    assert found.auc_tested_high is None
