"""Specification of the cue dc_offset."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.dc_offset import DcOffset
from prep.clip import Clip
from prep.errors import ClipError

RATE = 16000
TOLERANCE = 0.01  # %: float32


def percent_of(*channels: np.ndarray) -> float:
    """Return the one number of the cue for channels (frames,)."""
    return DcOffset().measure(Clip(np.stack(channels, axis=1), RATE))["dc_percent"]


@pytest.mark.parametrize("gain", [1.0, 0.001])
def test_offset_is_a_share_of_the_rms(gain: float) -> None:
    """A sine of RMS 0.4 on an offset of 0.3 has 60 %, at any level; without the offset it has none."""
    sine = 0.4 * 2**0.5 * np.sin(2 * np.pi * 100 * np.arange(RATE) / RATE)
    assert percent_of(gain * (sine + 0.3)) == pytest.approx(60.0, abs=TOLERANCE)
    assert percent_of(gain * sine) == pytest.approx(0.0, abs=TOLERANCE)


def test_opposite_offsets_do_not_cancel() -> None:
    """Two channels with opposite offsets have the offset of each."""
    sine = 0.4 * 2**0.5 * np.sin(2 * np.pi * 100 * np.arange(RATE) / RATE)
    assert percent_of(sine + 0.3, sine - 0.3) == pytest.approx(60.0, abs=TOLERANCE)


def test_silence_has_no_share() -> None:
    """Digital silence is turned down."""
    with pytest.raises(ClipError, match="every sample is zero"):
        percent_of(np.zeros(RATE))


def test_limit_is_half_of_the_rms() -> None:
    """As a screen it turns down an offset of 0.3 under a sine of RMS 0.4, and not one of 0.1."""
    sine = 0.4 * 2**0.5 * np.sin(2 * np.pi * 100 * np.arange(RATE) / RATE)
    assert percent_of(sine + 0.1) < DcOffset.LIMITS["max_dc_percent"] < percent_of(sine + 0.3)
