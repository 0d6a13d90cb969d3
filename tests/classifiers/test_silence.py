"""Specification of the cue silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep import audio
from prep.classifiers.silence import HIGHEST_RANGE_DB, Silence
from prep.clip import Clip
from prep.errors import ClipError

if TYPE_CHECKING:
    from pathlib import Path

RATE = 16000
FRAME_SECONDS = 0.02
TONE_DB = 0.2  # the whole frames of a tone differ by where its periods fall


def values_of(signal: np.ndarray, rate: int = RATE) -> tuple[float, float]:
    """Return active time and range of a signal (frames,)."""
    values = Silence().measure(Clip(signal[:, np.newaxis], rate))
    return values["active_seconds"], values["level_range_db"]


def rejected(signal: np.ndarray, rate: int = RATE) -> bool:
    """Say whether the cue turns a signal down as a screen."""
    active, range_db = values_of(signal, rate)
    return active < Silence.LIMITS["min_active_seconds"] or range_db < Silence.LIMITS["min_level_range_db"]


def bursts(seconds: float) -> np.ndarray:
    """Return two seconds, so many of which are noise, (frames,)."""
    signal = 0.1 * np.random.default_rng(1).standard_normal(2 * RATE)
    signal[round(seconds * RATE) :] = 0.0
    return signal


def test_silence_is_defined_and_rejected() -> None:
    """Digital silence, an offset and the dither of 16 bits have no active time, and no range."""
    draw = np.random.default_rng(2)
    dither = np.round(draw.random(RATE) - draw.random(RATE)) / 32768
    for nothing in (np.zeros(RATE), np.full(RATE, 0.25), dither, np.zeros(1)):
        assert values_of(nothing) == (0.0, 0.0)
        assert rejected(nothing)


def test_active_time_is_measured() -> None:
    """Half a second of sound in two is half a second, at any level, with the widest range beside digital silence."""
    for gain in (1.0, 0.001):
        active, range_db = values_of(gain * bursts(0.5))
        assert active == pytest.approx(0.5, abs=FRAME_SECONDS)
        assert range_db == HIGHEST_RANGE_DB


def test_steady_sound_is_no_speech() -> None:
    """A tone and steady noise sound all the time and are rejected, since they never come and go."""
    tone = 0.1 * np.sin(2 * np.pi * 440 * np.arange(2 * RATE) / RATE)
    assert values_of(tone) == pytest.approx((2.0, 0.0), abs=TONE_DB)
    assert rejected(tone)
    assert rejected(bursts(2.0))


def test_loudest_channel_counts() -> None:
    """Speech in one channel is speech."""
    one = Clip(np.stack([bursts(0.5), np.zeros(2 * RATE)], axis=1), RATE)
    assert Silence().measure(one)["active_seconds"] == pytest.approx(0.5, abs=FRAME_SECONDS)


def test_no_samples_are_turned_down() -> None:
    """A clip of no samples is turned down."""
    with pytest.raises(ClipError, match="no samples"):
        values_of(np.zeros(0))


def test_real_speech_is_never_silence(shared: Path) -> None:
    """No recording of speech is rejected, 40 dB lower neither."""
    for path in sorted((shared / "data" / "speech_real").glob("*/*.wav")):
        clip, _ = audio.decode(path.read_bytes(), path.name)
        assert not rejected(clip.mono(), clip.rate)
        assert not rejected(0.01 * clip.mono(), clip.rate)
