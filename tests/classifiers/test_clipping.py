"""Specification of the cue clipping."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import soxr

from prep import audio
from prep.classifiers.clipping import Clipping
from prep.clip import Clip
from prep.errors import ClipError

if TYPE_CHECKING:
    from pathlib import Path

FOUND = 0.99  # share of clips to find at 0.1 % clipped samples: the design's number
FOUND_RESAMPLED = 0.95  # share of clips to find at 1 % after resampling: the design's number
FALSE_ALARMS = 0.03  # share of unclipped clips that may be found: the design's number
SHARE_TOLERANCE = 0.5  # of the share of clipped samples
GAINS = (1.0, 0.1, 0.01)
CORPORA = ("vctk_16k", "cmu_arctic", "ljspeech", "speechbrain")  # none of their clips reaches full scale
RATE = 16000


def clipped(signal: np.ndarray, share: float, sides: int = 2) -> np.ndarray:
    """Return a signal of which a share of the samples is cut off, on both sides or on the upper one."""
    level = np.sort(np.abs(signal) if sides == 2 else signal)[-max(round(share * len(signal)), 1) - 1]
    return np.clip(signal, -level if sides == 2 else None, level)


def in_16_bits(signal: np.ndarray, gain: float) -> np.ndarray:
    """Return a signal at a peak of `gain`, rounded to 16 bits with dither of two steps' width."""
    draw = np.random.default_rng(1)
    dither = draw.random(len(signal)) - draw.random(len(signal))
    return np.round(signal / np.abs(signal).max() * gain * 32767 + dither) / 32768


def percent_of(signal: np.ndarray, rate: int = RATE) -> float:
    """Return the one number of the cue for a signal (frames,)."""
    return Clipping().measure(Clip(signal[:, np.newaxis], rate))["clipped_percent"]


def voiced(seed: int) -> np.ndarray:
    """Return four seconds of harmonics in syllables with a wandering pitch, as a voice has, (frames,)."""
    draw = np.random.default_rng(seed)
    time = np.arange(4 * RATE) / RATE
    pitch = 120 + 20 * np.interp(time, np.arange(5), draw.standard_normal(5))
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    tone = sum(np.sin(k * phase + draw.uniform(0, 6)) / k for k in range(1, 12))
    loud = np.interp(time, np.arange(0, 4.1, 0.1), draw.uniform(0.1, 1, 41))
    return tone * loud + 0.02 * draw.standard_normal(len(time))


@pytest.fixture
def speech(shared: Path) -> list[tuple[np.ndarray, int]]:
    """Return real clips whose sources are not clipped, with their rates."""
    paths = [path for name in CORPORA for path in sorted((shared / "data" / "speech_real" / name).glob("*.wav"))]
    clips = [audio.decode(path.read_bytes(), path.name)[0] for path in paths]
    return [(clip.mono(), clip.rate) for clip in clips]


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("sides", [1, 2])
def test_clipping_is_found_at_any_level(gain: float, sides: int) -> None:
    """0.1 % of clipped samples, on one side or both, is found and measured at any attenuation; without it, nothing."""
    for sign in (1, -1):
        signal = sign * clipped(voiced(1), 0.001, sides)
        assert percent_of(in_16_bits(signal, gain)) == pytest.approx(0.1, rel=SHARE_TOLERANCE)
        assert percent_of(in_16_bits(sign * voiced(1), gain)) == 0.0


def test_one_clipped_channel_counts_half() -> None:
    """The share is over the samples of all channels."""
    one, clean = clipped(voiced(1), 0.01), voiced(2)
    both = Clip(np.stack([one, clean], axis=1), RATE)
    assert Clipping().measure(both)["clipped_percent"] == pytest.approx(percent_of(one) / 2)


def test_nothing_has_no_share() -> None:
    """A clip without samples is turned down; silence has none clipped."""
    with pytest.raises(ClipError, match="no samples"):
        Clipping().measure(Clip(np.zeros((0, 1)), RATE))
    assert percent_of(np.zeros(RATE)) == 0.0


def test_real_speech_is_rarely_accused(speech: list[tuple[np.ndarray, int]]) -> None:
    """At most 3 % of unclipped recordings are found clipped, at their own level and turned down."""
    found = [percent_of(in_16_bits(signal, gain), rate) > 0 for signal, rate in speech for gain in (0.9, 0.03)]
    assert np.mean(found) <= FALSE_ALARMS


@pytest.mark.parametrize("gain", GAINS)
def test_real_speech_is_found_when_clipped(speech: list[tuple[np.ndarray, int]], gain: float) -> None:
    """99 % of recordings with 0.1 % clipped samples are found, turned down by up to 40 dB."""
    found = [percent_of(in_16_bits(clipped(signal, 0.001), gain), rate) > 0 for signal, rate in speech]
    assert np.mean(found) >= FOUND


def test_real_speech_is_found_after_resampling(speech: list[tuple[np.ndarray, int]]) -> None:
    """95 % of recordings with 1 % clipped samples are found after resampling."""
    found = [percent_of(soxr.resample(0.5 * clipped(signal, 0.01), rate, 44100), 44100) > 0 for signal, rate in speech]
    assert np.mean(found) >= FOUND_RESAMPLED
