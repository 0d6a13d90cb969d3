"""Bootstrap: what a figure would be in other studies, by drawing units with replacement.

Source: Hesterberg 2015, The American Statistician 69 (expanded percentiles).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prep.design import Design

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

Interval = tuple[float, float]

COVERAGE = 0.90  # of every interval; its two sides are two tests at 0.05 of the equivalence claim
FEWEST_UNITS = 5  # units a side below which a bootstrap interval is not worth printing
RESAMPLES = 2000  # the simulation error of a 95 % quantile is then about 0.5 %


@lru_cache(maxsize=4)  # the cues of a design share its resamples
def resampled_units(design: Design, seed: int) -> Floats:
    """Return (resamples, units) how often each unit is drawn: with replacement, within its kind and side."""
    rng = np.random.default_rng([seed, 1])
    times = np.zeros((RESAMPLES, len(design.units)))
    for units in _kinds(design):
        times[:, units] = rng.multinomial(units.size, np.full(units.size, 1.0 / units.size), RESAMPLES)
    times.flags.writeable = False
    return times


def percentile_interval(resamples: Floats, design: Design) -> Interval | None:
    """Return the expanded percentile interval: the bootstrap is too narrow by sqrt(n / (n - kinds)) and by t for z.

    None where a resample has no figure (a side of it is empty), and where all resamples agree: conditions
    that these units separate wholly are no proof that all others would be.
    """
    from scipy.special import stdtrit

    if not np.isfinite(resamples).all() or np.ptp(resamples) == 0:
        return None
    units, kinds = len(design.units), len(_kinds(design))
    freedom = units - kinds
    reach = math.sqrt(units / freedom) * float(stdtrit(freedom, (1.0 + COVERAGE) / 2.0))
    tail = NormalDist().cdf(-reach)
    low, high = np.quantile(resamples, [tail, 1.0 - tail])
    return float(low), float(high)


def _kinds(design: Design) -> list[Ints]:
    """Return the units of each kind that occurs: crossed, then each side."""
    return [units for units in (design.crossed, *design.sides) if units.size]
