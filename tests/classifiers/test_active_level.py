"""Specification of the cue active_level."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.active_level import ActiveLevel
from prep.clip import Clip
from prep.errors import ClipError

RATE = 16000
LEVEL_TOLERANCE_DB = 0.1  # the design's, against ITU's own meter
HANGOVER_DB = 0.3  # a pause after 5 s of sound counts 0.3 s as active: 10 lg 5.3/5


def sine(seconds: float, *, peak: float = 0.1, rest_seconds: float = 0.0) -> Clip:
    """Return a mono 1 kHz sine, and digital silence after it."""
    wave = peak * np.sin(2 * np.pi * 1000 * np.arange(round(seconds * RATE)) / RATE)
    return Clip(np.concatenate([wave, np.zeros(round(rest_seconds * RATE))])[:, np.newaxis], RATE)


def test_active_level_of_a_sine() -> None:
    """A 1 kHz sine of -20 dBFS peak has an active level of -23.0 dBov."""
    values = ActiveLevel().measure(sine(5.0))
    assert list(values) == [feature.name for feature in ActiveLevel.FEATURES]
    assert values["active_level_dbov"] == pytest.approx(-23.0, abs=LEVEL_TOLERANCE_DB)


def test_silence_at_the_end_does_not_lower_it() -> None:
    """A clip that is silent for four fifths of its time keeps its active level, but for the hangover."""
    level = ActiveLevel().measure(sine(5.0, rest_seconds=20.0))["active_level_dbov"]
    assert level == pytest.approx(-23.0, abs=HANGOVER_DB)


@pytest.mark.parametrize(("seconds", "peak", "reason"), [(0.199, 0.1, "0.199 s"), (1.0, 0.0, "silent")])
def test_undefined_level_says_why(seconds: float, peak: float, reason: str) -> None:
    """A clip below 0.2 s and a silent one have no active level, and each is told its own reason."""
    with pytest.raises(ClipError, match=reason):
        ActiveLevel().measure(sine(seconds, peak=peak))
