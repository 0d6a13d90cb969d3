"""Specification of the cue peak."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.peak import Peak
from prep.clip import Clip
from prep.errors import ClipError

RATE = 48000
TOLERANCE_DB = 0.05  # true peak of a sine by oversampling


def sine(peak: float) -> Clip:
    """Return one second of a sine at a quarter of the rate that is sampled 45 degrees off its peaks."""
    angle = np.pi / 2 * np.arange(RATE) + np.pi / 4
    fade = np.minimum(1.0, np.minimum(np.arange(RATE), np.arange(RATE)[::-1]) / 480)
    return Clip((peak * fade * np.sin(angle))[:, None].astype(np.float32), RATE)


def test_true_peak_between_the_samples() -> None:
    """A sine of 0.5 sampled off its peaks has a true peak of -6.02 dBTP, 3.01 dB above its samples."""
    values = Peak().measure(sine(0.5))
    assert list(values) == [feature.name for feature in Peak.FEATURES]
    assert values["true_peak_dbtp"] == pytest.approx(-6.02, abs=TOLERANCE_DB)


@pytest.mark.parametrize("gain", [0.01, 1.0])
def test_crest_factor_does_not_depend_on_the_level(gain: float) -> None:
    """A sine has a crest factor of 3.01 dB, and a square wave of 0 dB, at any level."""
    angle = 2 * np.pi * 480 * (np.arange(RATE) + 0.5) / RATE
    for wave, crest_db in ((np.sin(angle), 3.01), (np.sign(np.sin(angle)), 0.0)):
        clip = Clip((gain * wave)[:, None].astype(np.float32), RATE)
        assert Peak().measure(clip)["crest_db"] == pytest.approx(crest_db, abs=TOLERANCE_DB)


def test_silence_has_no_peak() -> None:
    """A clip of zeros has no peak, and says so."""
    with pytest.raises(ClipError, match="every sample is zero"):
        Peak().measure(sine(0.0))
