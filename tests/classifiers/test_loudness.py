"""Specification of the cue loudness."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.loudness import Loudness
from prep.clip import Clip
from prep.errors import ClipError

RATE = 48000
STANDARD_TOLERANCE_LU = 0.1  # EBU Tech 3341


def sine(seconds: float, *, peak: float = 0.1) -> Clip:
    """Return a mono 1 kHz sine."""
    wave = peak * np.sin(2 * np.pi * 1000 * np.arange(round(seconds * RATE)) / RATE)
    return Clip(wave[:, None].astype(np.float32), RATE)


def test_loudness_of_a_sine() -> None:
    """A mono 1 kHz sine of -20 dBFS has an integrated loudness of -23.0 LUFS."""
    values = Loudness().measure(sine(2.0))
    assert list(values) == [feature.name for feature in Loudness.FEATURES]
    assert values["integrated_lufs"] == pytest.approx(-23.0, abs=STANDARD_TOLERANCE_LU)


@pytest.mark.parametrize(("seconds", "peak", "reason"), [(0.399, 0.1, "0.399 s"), (1.0, 0.0, "silent")])
def test_undefined_loudness_says_why(seconds: float, peak: float, reason: str) -> None:
    """A clip below 0.4 s and a silent one have no loudness, and each is told its own reason."""
    with pytest.raises(ClipError, match=reason):
        Loudness().measure(sine(seconds, peak=peak))
