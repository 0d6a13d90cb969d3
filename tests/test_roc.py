"""The ROC curve: its area is the AUC, and the band is where exchanged labels draw it."""

from __future__ import annotations

import numpy as np
import pytest

from prep.contrast import Contrast
from prep.design import Design, Observations, canonical
from prep.roc import matched_band, matched_roc, pooled_band, pooled_roc

AREA = 1e-7  # a curve is read a billionth beside each of its jumps


def compared(*, crossed: bool, effect: float, seed: int = 0) -> tuple[np.ndarray, Design]:
    """Return values with ties, and a design: six speakers a side or of both, two passages, cells of 1 and 1 or 2."""
    draw = np.random.default_rng(seed)
    clips = [
        (speaker, passage, side)
        for speaker in range(6)
        for passage in range(2)
        for side in (0, 1)
        for _ in range(1 + (side and speaker % 2))
    ]
    observations = Observations(
        is_b=np.array([side == 1 for *_, side in clips]),
        unit=tuple(f"s{speaker}{'' if crossed else side}" for speaker, _, side in clips),
        cell=tuple(f"{speaker}|{passage}" for speaker, passage, _ in clips),
    )
    values = np.round(draw.standard_normal(len(clips)) + effect * observations.is_b, 1)
    held, defined = canonical(values, observations)
    return held, Design(defined)


@pytest.mark.parametrize("crossed", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_the_area_is_the_auc(crossed: bool, seed: int) -> None:
    """The area under the pooled and under the matched curve is the pooled and the matched AUC."""
    values, design = compared(crossed=crossed, effect=0.7, seed=seed)
    contrast = Contrast(values, design)
    pooled, matched = pooled_roc(values, design.observations.is_b), matched_roc(values, design)

    assert pooled is not None
    assert pooled.area == pytest.approx(contrast.pooled, abs=AREA)
    assert (matched is None) == (contrast.matched is None) == (not crossed)
    if matched is not None:
        assert matched.area == pytest.approx(contrast.matched, abs=AREA)


def test_a_curve_rises_from_corner_to_corner() -> None:
    """Curves start at (0, 0), end at (1, 1) and never fall."""
    values, design = compared(crossed=True, effect=0.7)
    for curve in (pooled_roc(values, design.observations.is_b), matched_roc(values, design)):
        assert curve is not None
        assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0, 0, 1, 1)
        assert (np.diff(curve.x) >= 0).all()
        assert (np.diff(curve.y) >= -AREA).all()


@pytest.mark.parametrize("crossed", [True, False])
def test_the_band_holds_chance_and_leaves_out_what_is_told_apart(crossed: bool) -> None:
    """The band lies about chance whatever the labels say; a curve of conditions that are far apart leaves it."""
    values, design = compared(crossed=crossed, effect=9.0)
    band = pooled_band(values, design, seed=0)
    curve = pooled_roc(values, design.observations.is_b)

    assert band is not None
    assert curve is not None
    assert (band.low <= band.high).all()
    assert band.low.mean() < 0.5 < band.high.mean()
    assert np.mean(np.interp(band.x, curve.x, curve.y) > band.high) > 0.3


def test_the_matched_band_swaps_whole_units() -> None:
    """With one clip a side and cell, the matched curve under exchange is flat at a share of the units."""
    values = np.arange(12.0)
    observations = Observations(
        is_b=np.arange(12) % 2 == 1,
        unit=tuple(f"s{place // 2}" for place in range(12)),
        cell=tuple("p" for _ in range(12)),
    )
    held, defined = canonical(values, observations)
    band = matched_band(held, Design(defined), seed=0)
    found = matched_roc(held, Design(defined))

    assert found is not None
    assert found.area == pytest.approx(1.0, abs=AREA)
    assert band is not None
    # Of six units, five or six keep their labels in 7 of 64 arrangements, so that the 95th percentile is five of six.
    assert band.high == pytest.approx(5 / 6)
    assert band.low == pytest.approx(1 / 6)


def test_one_side_alone_has_no_curve() -> None:
    """Where a side is empty, or nothing may be exchanged, there is no curve and no band."""
    values, design = compared(crossed=False, effect=0.0)

    assert pooled_roc(values, np.ones(values.size, dtype=bool)) is None
    assert matched_band(values, design, seed=0) is None
    alone = Design(Observations(is_b=np.array([False, True]), unit=("s", "t")).take(np.array([0])))
    assert pooled_band(np.zeros(1), alone, seed=0) is None
