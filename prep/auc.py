"""AUC: the probability that a value of condition b exceeds one of condition a (Mann & Whitney 1947)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prep.errors import UndefinedError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


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
    return float(exceeded(np.sort(a), b).sum() / (a.size * b.size))


def exceeded(ordered: Floats, values: Floats) -> Floats:
    """Return how many of the ordered values each value exceeds, ties half."""
    below, up_to = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return np.asarray((below + up_to) / 2.0, dtype=np.float64)
