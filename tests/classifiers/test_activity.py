"""Specification of the cue activity."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.activity import Activity
from prep.clip import Clip
from prep.errors import ClipError

RATE = 16000
ONSET_PERCENT = 0.5  # of 5 s: the envelope takes some 20 ms to rise
POINT = 1.0  # the design's tolerance of activity


def tone(seconds: float, rest_seconds: float = 0.0, *, peak: float = 0.1) -> Clip:
    """Return a mono 1 kHz sine, and digital silence after it."""
    wave = peak * np.sin(2 * np.pi * 1000 * np.arange(round(seconds * RATE)) / RATE)
    return Clip(np.concatenate([wave, np.zeros(round(rest_seconds * RATE))])[:, np.newaxis], RATE)


def test_a_tone_is_active_all_the_time() -> None:
    """A steady tone is active from its onset to its end."""
    values = Activity().measure(tone(5.0))
    assert list(values) == [feature.name for feature in Activity.FEATURES]
    assert 100.0 - ONSET_PERCENT <= values["activity_percent"] <= 100.0


def test_silence_is_not_active() -> None:
    """A tone of 5 s with 5 s of silence after it is active for half the time and 0.3 s more."""
    # 0.2 s of hangover, 0.11 s in which the envelope falls to the threshold, 0.02 s in which it rose.
    assert Activity().measure(tone(5.0, 5.0))["activity_percent"] == pytest.approx(53.0, abs=POINT)


@pytest.mark.parametrize(("seconds", "peak", "reason"), [(0.199, 0.1, "0.199 s"), (1.0, 0.0, "silent")])
def test_undefined_activity_says_why(seconds: float, peak: float, reason: str) -> None:
    """A clip below 0.2 s and a silent one have no activity, and each is told its own reason."""
    with pytest.raises(ClipError, match=reason):
        Activity().measure(tone(seconds, peak=peak))
