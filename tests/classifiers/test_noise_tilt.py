"""Specification of the cue noise_tilt."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prep.classifiers.noise_tilt import NoiseTilt
from prep.clip import Clip
from prep.errors import ClipError

RATE = 22050
SLOPE = 0.3  # dB/octave: 0.8 s of noise, in 250 ms at a time
EXACT = 0.02  # dB/octave: the design's tolerance of a tilt


def talk(exponent: float, rate: int = RATE, level: float = 1e-3) -> Clip:
    """Return a voice between silences, in noise whose power falls with the frequency to an exponent."""
    time = np.arange(rate) / rate
    buzz = 0.1 * sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20))
    sound = np.pad(buzz, (rate // 2, rate // 2))
    frequencies = np.maximum(np.fft.rfftfreq(len(sound), 1 / rate), 50)
    noise = np.fft.irfft(
        np.fft.rfft(np.random.default_rng(1).standard_normal(len(sound))) * frequencies ** (-exponent / 2), len(sound)
    )
    return Clip((sound + level * noise / noise.std())[:, np.newaxis], rate)


def slope(clip: Clip) -> float:
    """Return the one number of the cue."""
    return NoiseTilt().measure(clip)["noise_tilt_db_per_octave"]


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_the_noise_has_its_slope(exponent: float) -> None:
    """White, pink and brown noise under a voice have 0, -3.01 and -6.02 dB/octave, whatever the voice has."""
    assert slope(talk(exponent)) == pytest.approx(-10 * exponent * math.log10(2), abs=SLOPE)


def test_gain_does_not_matter() -> None:
    """A copy 20 dB lower has the same colour of noise."""
    clip = talk(1.0)
    assert slope(clip.with_samples(clip.samples / 10)) == pytest.approx(slope(clip), abs=EXACT)


def test_no_noise_has_no_colour() -> None:
    """Pauses of digital silence have a noise floor but no noise, and a rate of 8 kHz has no 7 kHz."""
    with pytest.raises(ClipError, match="digital silence"):
        slope(talk(0.0, level=0.0))
    with pytest.raises(ClipError, match="8000 Hz"):
        slope(talk(0.0, rate=8000))
