"""Conversion: a stated rule for channels, soxr for rates, once."""

from __future__ import annotations

import numpy as np
import pytest

from prep.clip import Clip
from prep.convert import Convert
from prep.errors import ClipError

FLOAT_ROUNDING = 1e-6  # of full scale; float32 samples


def voice(rate: int = 48000) -> np.ndarray:
    """Return a second of a tone, (frames,)."""
    return 0.3 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate)


def clip_of(*channels: np.ndarray) -> Clip:
    """Return a clip of these channels at 48 kHz."""
    return Clip(np.stack(channels, axis=1).astype(np.float32), 48000, "clip")


def test_a_downmix_is_the_mean() -> None:
    """Two different channels are averaged."""
    applied = Convert(channels=1).apply(clip_of(voice(), 0.5 * voice()), None)

    assert np.allclose(applied.clip.samples[:, 0], 0.75 * voice(), atol=FLOAT_ROUNDING)
    assert applied.notes["downmixed_channels"] == 2


def test_equal_channels_give_exactly_one_of_them() -> None:
    """Dual mono becomes the very channel, so nothing clips."""
    clip = clip_of(voice(), voice())

    assert np.array_equal(Convert(channels=1).apply(clip, None).clip.samples[:, 0], clip.samples[:, 0])


def test_a_dead_channel_is_left_out() -> None:
    """Speech in one channel keeps its level, and the record says which channel was dead."""
    clip = clip_of(voice(), np.zeros(48000))
    applied = Convert(channels=1).apply(clip, None)

    assert np.array_equal(applied.clip.samples[:, 0], clip.samples[:, 0])
    assert applied.notes["dead_channels"] == [2]


def test_channels_that_cancel_are_refused() -> None:
    """An inverted channel never turns a clip into near-silence: the clip is refused."""
    with pytest.raises(ClipError, match="cancel each other"):
        Convert(channels=1).apply(clip_of(voice(), -0.95 * voice()), None)


def test_silence_stays_silence() -> None:
    """Channels of digital silence give digital silence, without a word of dead channels."""
    applied = Convert(channels=1).apply(clip_of(np.zeros(480), np.zeros(480)), None)

    assert not applied.clip.samples.any()
    assert "dead_channels" not in applied.notes


def test_mono_is_repeated_for_stereo_and_noted() -> None:
    """One channel becomes two equal ones where the study asks for stereo."""
    applied = Convert(channels=2).apply(clip_of(voice()), None)

    assert applied.clip.channels == 2
    assert applied.notes == {"repeated_channel": 2}


def test_the_rate_and_length_are_those_asked_for() -> None:
    """The clip has round(frames * rate / old) frames, and the change of rate is noted."""
    applied = Convert(rate=44100, channels=1).apply(clip_of(voice()), None)

    assert (applied.clip.rate, applied.clip.frames) == (44100, 44100)
    assert applied.notes == {"source_rate": 48000, "rate": 44100}


def test_nothing_asked_is_nothing_done() -> None:
    """A clip that is as the study wants it goes through untouched."""
    clip = clip_of(voice())

    assert Convert(rate=48000, channels=1).apply(clip, None).clip is clip


def test_surround_to_stereo_is_refused() -> None:
    """A mix that has no stated rule is refused."""
    with pytest.raises(ClipError, match="6 channels cannot be brought to 2"):
        Convert(channels=2).apply(clip_of(*[voice()] * 6), None)
