"""Specification of the cue outliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep import audio
from prep.classifiers.outliers import Outliers
from prep.clip import Clip
from prep.errors import ClipError

if TYPE_CHECKING:
    from pathlib import Path

RATE = 16000
SPAN_SECONDS = 0.01  # a glitch is placed to the block of 5 ms, or two
FOUND = 0.6  # at least, of spikes as high as the highest sample at any place: hiss hides the others, from the ear too


def voiced(seconds: float = 2.0) -> np.ndarray:
    """Return harmonics of 120 Hz in syllables with a little noise, (frames,)."""
    time = np.arange(round(seconds * RATE)) / RATE
    tone = sum(np.sin(2 * np.pi * 120 * k * time + k) / k for k in range(1, 12))
    loud = 0.02 + np.clip(np.sin(2 * np.pi * 3 * time), 0, None)
    return 0.1 * tone * loud + 0.001 * np.random.default_rng(1).standard_normal(len(time))


def counts_of(*channels: np.ndarray, rate: int = RATE) -> tuple[float, float]:
    """Return the glitches and drop-outs of a clip of some channels (frames,)."""
    values = Outliers().measure(Clip(np.stack(channels, axis=1), rate))
    return values["glitch_count"], values["dropout_count"]


def test_undamaged_sound_has_none() -> None:
    """A voice has no glitch and no drop-out, with digital silence around it neither."""
    faded = voiced() * np.hanning(2 * RATE)
    assert counts_of(voiced()) == (0.0, 0.0)
    assert counts_of(np.concatenate([np.zeros(RATE), faded, np.zeros(RATE), faded])) == (0.0, 0.0)


def test_wild_samples_are_counted_and_placed() -> None:
    """A spike, a sample that overflowed and a jump between buffers are three glitches, each at its place."""
    signal = voiced()
    signal[4000] += 0.5
    signal[10000] = -signal[10000] - 1.0
    signal[20000:] = np.roll(signal[20000:], 150)
    signal[20000:20200] += 0.3
    glitches, dropouts = counts_of(signal)
    assert dropouts == 0.0
    assert glitches >= 3
    spans = Outliers().evidence(Clip(signal[:, np.newaxis], RATE))["spans"]
    for place in (4000, 10000, 20000):
        assert any(abs(start - place / RATE) <= SPAN_SECONDS for start, _ in spans)


@pytest.mark.parametrize("seconds", [0.002, 0.02, 0.2])
def test_gaps_in_sound_are_counted(seconds: float) -> None:
    """A run of zeros in the middle of a vowel is a drop-out, and lies where the evidence says."""
    signal = voiced()
    first, last = 1000, 1000 + round(seconds * RATE)
    signal[first:last] = 0.0
    assert counts_of(signal)[1] == 1.0
    assert [first / RATE, last / RATE] in Outliers().evidence(Clip(signal[:, np.newaxis], RATE))["spans"]


def test_worst_channel_counts() -> None:
    """A channel with a spike beside a whole one has its one glitch."""
    signal = voiced()
    signal[4000] += 0.5
    assert counts_of(voiced(), signal) == (1.0, 0.0)


def test_too_short_to_tell() -> None:
    """A clip below 15 ms is turned down."""
    with pytest.raises(ClipError, match="too short"):
        counts_of(np.ones(100))


def test_clipping_is_no_glitch(shared: Path) -> None:
    """Real recordings have no outliers, clipped at half of their peak neither, and most spikes in them are found."""
    paths = sorted((shared / "data" / "speech_real" / "vctk_16k").glob("*.wav"))
    paths += sorted((shared / "data" / "speech_real" / "ljspeech").glob("*.wav"))
    draw, found = np.random.default_rng(5), []
    for path in paths:
        clip, _ = audio.decode(path.read_bytes(), path.name)
        signal, peak = clip.mono(), np.abs(clip.mono()).max()
        assert counts_of(signal, rate=clip.rate) == (0.0, 0.0)
        assert counts_of(np.clip(signal, -peak / 2, peak / 2), rate=clip.rate) == (0.0, 0.0)
        spoilt = signal.copy()
        spoilt[draw.integers(100, len(signal) - 100)] += peak
        found.append(counts_of(spoilt, rate=clip.rate)[0] == 1)
    assert np.mean(found) >= FOUND
