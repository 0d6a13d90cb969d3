"""Specification of the cue hum."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.hum import Hum
from prep.clip import Clip
from prep.errors import ClipError

RATE = 16000
# At least, of a comb 20 dB under the noise: in a window of 3 Hz each of its lines stands 9.5 dB over the mean of the
# noise, whose 20th percentile lies 6.5 dB lower; 4 dB for what the noise does to the line.
HUM_DB = 12.0
NONE_DB = 8.0  # at most, without hum: the largest of five bins and three of eight lines, by chance


def noise(seconds: float = 5.0) -> np.ndarray:
    """Return white noise at an RMS of 0.1, (frames,)."""
    return 0.1 * np.random.default_rng(1).standard_normal(round(seconds * RATE))


def comb(mains_hz: float, frames: int) -> np.ndarray:
    """Return the mains and two harmonics at an RMS of 0.01, (frames,)."""
    time = np.arange(frames) / RATE
    lines = sum(np.sin(2 * np.pi * mains_hz * k * time + k) for k in (1, 2, 3))
    return 0.01 * lines / lines.std()


def db_of(signal: np.ndarray) -> float:
    """Return the one number of the cue for a signal (frames,)."""
    return Hum().measure(Clip(signal[:, np.newaxis], RATE))["hum_db"]


@pytest.mark.parametrize("mains_hz", [50.0, 60.0, 49.8, 60.1])
def test_mains_are_found(mains_hz: float) -> None:
    """Hum of 50 and of 60 Hz is found, where the mains drift too, and noise alone has none."""
    assert db_of(noise() + comb(mains_hz, 5 * RATE)) >= HUM_DB
    assert db_of(noise()) <= NONE_DB


def test_other_lines_are_no_hum() -> None:
    """Lines of 71 Hz and its harmonics are no mains."""
    assert db_of(noise() + comb(71.0, 5 * RATE)) <= NONE_DB


def test_a_passing_tone_is_no_hum() -> None:
    """A tone of 150 Hz in half of the clip, as a voice has, is no hum; through all of it, it is."""
    tone = 0.1 * np.sin(2 * np.pi * 150 * np.arange(5 * RATE) / RATE)
    passing = tone * (np.arange(5 * RATE) < 2.5 * RATE)
    assert db_of(noise() + passing) <= NONE_DB < db_of(noise() + tone)


def test_digital_silence_does_not_hide_it() -> None:
    """A clip whose other half is digital silence hums as its sounding half does."""
    humming = noise(3.0) + comb(50.0, 3 * RATE)
    assert db_of(np.concatenate([humming, np.zeros(3 * RATE)])) >= HUM_DB


def test_short_clips_have_none() -> None:
    """A clip shorter than a second is turned down."""
    with pytest.raises(ClipError, match="hum needs 1 s"):
        db_of(noise(0.9))


def test_limit_lies_between_noise_and_hum() -> None:
    """As a screen it turns down hum as loud as the noise around it, and neither noise alone nor hum 20 dB lower."""
    limit = Hum.LIMITS["max_hum_db"]
    assert db_of(noise() + comb(50.0, 5 * RATE)) < limit < db_of(noise() + 10 * comb(50.0, 5 * RATE))
