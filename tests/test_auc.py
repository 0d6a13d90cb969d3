"""The AUC, on pairs counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prep.auc import auc
from prep.errors import UndefinedError


def test_auc_counts_pairs_and_ties_half() -> None:
    """The AUC is the share of pairs in which b exceeds a, a tie counting half."""
    # pairs (a, b): 1<2 1<3 2=2 2<3 3>2 3=3 -> 3 + 2 halves of 6
    assert auc([1, 2, 3], [2, 3]) == pytest.approx(4 / 6)
    assert auc([1, 1], [1, 1, 1]) == 0.5


def test_auc_is_never_folded() -> None:
    """Values that are lower in b give an AUC below 0.5."""
    assert auc([3, 4], [1, 2]) == 0.0
    assert auc([1, 2], [3, 4]) == 1.0


@pytest.mark.parametrize(("a", "b"), [([], [1.0]), ([1.0], []), ([], []), ([math.nan], [1.0])])
def test_auc_of_an_empty_side_is_undefined(a: list[float], b: list[float]) -> None:
    """An AUC that does not exist is an error, not a number."""
    with pytest.raises(UndefinedError):
        auc(a, b)


def test_tied_scores_do_not_depend_on_the_order_of_rows() -> None:
    """A constant score gives 0.5 exactly and a coarse one its own value, in any row order."""
    rng = np.random.default_rng(144)
    is_b = np.arange(24) < 12
    coarse = np.round(np.where(is_b, 0.6, 0.0) + rng.standard_normal(24))
    value = auc(coarse[~is_b], coarse[is_b])
    by_pairs = np.mean(np.sign(np.subtract.outer(coarse[is_b], coarse[~is_b])) / 2 + 0.5)
    assert value == pytest.approx(by_pairs)
    assert auc(coarse[~is_b][::-1], coarse[is_b][::-1]) == value
    assert auc(np.ones(12), np.ones(12)) == 0.5
