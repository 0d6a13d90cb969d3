"""Specification of the cue spectrum."""

from __future__ import annotations

import numpy as np
import pytest

from prep.audio import resample
from prep.classifiers.spectrum import Spectrum
from prep.clip import Clip
from prep.errors import ClipError

RATE = 22050
NOISE_DB = 1.0  # ten seconds of noise in a third octave at 100 Hz, 23 Hz wide
EXACT_DB = 0.05  # the same sound, measured again
RESAMPLING_DB = 0.3  # the frames of another rate begin elsewhere
EMPTY_DB = -80.0


def noise(rate: int = RATE, exponent: float = 0.0, seconds: float = 10.0) -> Clip:
    """Return noise whose power falls with the frequency to this exponent, RMS 0.1."""
    frames = round(seconds * rate)
    frequencies = np.maximum(np.fft.rfftfreq(frames, 1 / rate), 20)
    spectrum = np.fft.rfft(np.random.default_rng(1).standard_normal(frames)) * frequencies ** (-exponent / 2)
    signal = np.fft.irfft(spectrum, frames)
    return Clip(0.1 * signal[:, np.newaxis] / signal.std(), rate)


def levels(clip: Clip) -> dict[int, float]:
    """Return the levels in dB by nominal centre in Hz."""
    return {int(name.split("_")[1].removesuffix("hz")): value for name, value in Spectrum().measure(clip).items()}


def test_white_noise_is_flat() -> None:
    """White noise has 0 dB in every third octave."""
    measured = levels(noise(44100))
    assert len(measured) == 23
    assert list(measured.values()) == pytest.approx([0.0] * 23, abs=NOISE_DB)


def test_pink_noise_falls() -> None:
    """Pink noise falls by 3.01 dB an octave."""
    measured = levels(noise(44100, exponent=1))
    assert measured[1000] - measured[8000] == pytest.approx(9.03, abs=NOISE_DB)


def test_level_is_taken_out() -> None:
    """A copy 40 dB lower has the same shape."""
    clip = noise()
    quiet = clip.with_samples(clip.samples / 100)
    assert list(levels(quiet).values()) == pytest.approx(list(levels(clip).values()), abs=EXACT_DB)


@pytest.mark.parametrize(("rate", "first_empty"), [(8000, 5000), (16000, 10000), (22050, 12500), (24000, 16000)])
def test_what_the_rate_cannot_hold_is_empty(rate: int, first_empty: int) -> None:
    """Bands above half the rate read -80 dB, those below do not."""
    measured = levels(noise(rate))
    assert {centre for centre, level in measured.items() if level == EMPTY_DB} == {
        centre for centre in measured if centre >= first_empty
    }


def test_an_upsampled_copy_has_the_shape_of_its_original() -> None:
    """A clip at 16 kHz and its copy at 44.1 kHz have the same levels below the edge of the resampler, 7.3 kHz."""
    clip = noise(16000, exponent=1)
    before, after = levels(clip), levels(resample(clip, 44100))
    below = [centre for centre in before if centre <= 6300]
    assert [after[centre] for centre in below] == pytest.approx([before[centre] for centre in below], abs=RESAMPLING_DB)
    assert after[12500] == before[12500] == EMPTY_DB


def test_an_equaliser_shows_in_its_band() -> None:
    """A gap around 4 kHz lowers the band there and leaves the others where they are."""
    clip = noise()
    spectrum = np.fft.rfft(clip.samples[:, 0])
    frequencies = np.fft.rfftfreq(clip.frames, 1 / RATE)
    spectrum[(frequencies > 3564) & (frequencies < 4490)] *= 0.1
    before, after = levels(clip), levels(clip.with_samples(np.fft.irfft(spectrum, clip.frames)[:, np.newaxis]))
    assert before[4000] - after[4000] > 15
    assert after[2500] == pytest.approx(before[2500], abs=EXACT_DB)
    assert after[8000] == pytest.approx(before[8000], abs=EXACT_DB)


@pytest.mark.parametrize(("clip", "reason"), [(noise(6000), "6000 Hz"), (noise(seconds=0.05), "too short")])
def test_what_has_no_shape_is_told_why(clip: Clip, reason: str) -> None:
    """A rate too low for 3150 Hz and a clip below 64 ms are refused, each with its reason."""
    with pytest.raises(ClipError, match=reason):
        Spectrum().measure(clip)
