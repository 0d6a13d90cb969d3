"""tilt: the cue that the tilt EQ corrects."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pydantic import ValidationError

from prep.classifiers.tilt import Tilt
from prep.clip import Clip
from prep.errors import ClipError

RATE = 22050
NOISE_TOLERANCE = 0.1  # dB/octave: ten seconds of noise have this much chance in their lowest bands
GAIN_TOLERANCE = 0.02  # dB/octave: the design's tolerance of a clip's tilt


def noise(exponent: float, rate: int = RATE, seed: int = 1) -> Clip:
    """Return ten seconds of noise whose power falls with the frequency to this exponent, RMS 0.1."""
    frequencies = np.fft.rfftfreq(10 * rate, 1 / rate)
    frequencies[0] = frequencies[1]
    phase = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(frequencies))
    signal = np.fft.irfft(frequencies ** (-exponent / 2) * np.exp(1j * phase), 10 * rate)
    return Clip(0.1 * signal[:, np.newaxis] / signal.std(), rate)


def tilt_of(clip: Clip) -> float:
    """Return the one number of the cue."""
    return Tilt().measure(clip)["tilt_db_per_octave"]


@pytest.mark.parametrize("exponent", [0, 1, 2])
def test_coloured_noise_has_its_slope(exponent: int) -> None:
    """White, pink and brown noise have 0, -3.01 and -6.02 dB/octave."""
    assert tilt_of(noise(exponent)) == pytest.approx(-10 * exponent * math.log10(2), abs=NOISE_TOLERANCE)


def test_rate_does_not_matter() -> None:
    """The same colour of noise has the same tilt at another rate."""
    assert tilt_of(noise(1, 48000)) == pytest.approx(tilt_of(noise(1, 16000)), abs=NOISE_TOLERANCE)


def test_gain_does_not_matter() -> None:
    """A copy 40 dB lower has the same tilt."""
    clip = noise(1)
    assert tilt_of(clip.with_samples(clip.samples / 100)) == pytest.approx(tilt_of(clip), abs=GAIN_TOLERANCE)


def test_a_brighter_clip_has_a_higher_tilt() -> None:
    """The sign says it: a differentiated clip is brighter by nearly 6 dB/octave."""
    clip = noise(2, 48000)
    brighter = clip.with_samples(np.diff(clip.samples, axis=0, prepend=0))
    assert 5.5 < tilt_of(brighter) - tilt_of(clip) < 6.1


def test_the_band_is_a_parameter() -> None:
    """A clip at 8 kHz has a tilt in a narrower band only, and a band without a line is refused."""
    narrow = noise(1, 8000)
    with pytest.raises(ClipError, match="too low"):
        Tilt().measure(narrow)
    assert Tilt(tilt_band_hz=(200, 3600)).measure(narrow)["tilt_db_per_octave"] == pytest.approx(
        -10 * math.log10(2), abs=NOISE_TOLERANCE
    )
    with pytest.raises(ValidationError):
        Tilt(tilt_band_hz=(200, 250))
