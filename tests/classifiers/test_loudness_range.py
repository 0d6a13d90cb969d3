"""Specification of the cue loudness_range."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.loudness_range import LoudnessRange
from prep.clip import Clip
from prep.errors import ClipError

RATE = 16000
STANDARD_TOLERANCE_LU = 1.0  # EBU Tech 3342, table 1
STEADY_LU = 0.1  # the onset of the K-weighting filters


def tones(*segments: tuple[float, float]) -> Clip:
    """Return mono 1 kHz sines of some peaks and lengths in seconds, one after another."""
    waves = [peak * np.sin(2 * np.pi * 1000 * np.arange(round(seconds * RATE)) / RATE) for peak, seconds in segments]
    return Clip(np.concatenate(waves)[:, np.newaxis], RATE)


def test_loudness_range_of_two_levels() -> None:
    """Two sines of 20 s, 10 dB apart, have a loudness range of 10 LU."""
    values = LoudnessRange().measure(tones((0.1, 20.0), (0.1 / 10**0.5, 20.0)))
    assert list(values) == [feature.name for feature in LoudnessRange.FEATURES]
    assert values["loudness_range_lu"] == pytest.approx(10.0, abs=STANDARD_TOLERANCE_LU)


@pytest.mark.parametrize("seconds", [3.0, 4.0, 12.0])
def test_a_steady_sound_has_no_range(seconds: float) -> None:
    """A steady sine has a loudness range of 0 LU, however short: its end is not taken for a change of loudness."""
    assert LoudnessRange().measure(tones((0.1, seconds)))["loudness_range_lu"] == pytest.approx(0.0, abs=STEADY_LU)


@pytest.mark.parametrize(("seconds", "peak", "reason"), [(2.999, 0.1, "2.999 s"), (4.0, 0.0, "silent")])
def test_undefined_range_says_why(seconds: float, peak: float, reason: str) -> None:
    """A clip below 3 s and a silent one have no loudness range, and each is told its own reason."""
    with pytest.raises(ClipError, match=reason):
        LoudnessRange().measure(tones((peak, seconds)))
