"""Specification of the cue codec_history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.audio import decode, resample
from prep.classifiers.codec_history import CodecHistory
from prep.clip import Clip
from prep.encoding import encode_mp3
from prep.errors import ClipError

if TYPE_CHECKING:
    from pathlib import Path

RATE = 22050
NEVER_PERCENT = 0.03  # %: chance, one cell in some three thousand
SPEECH_PERCENT = 0.25  # %: the most that speech which was never coded showed on the speakers it was set on
PAST_PERCENT = 0.1


def talk(rate: int = RATE, seconds: float = 3.0) -> Clip:
    """Return vowels and hisses in turn, in a room 60 dB quieter."""
    frames = round(seconds * rate)
    draw = np.random.default_rng(1)
    time = np.arange(frames) / rate
    phase = 2 * np.pi * np.cumsum(120 + 20 * np.sin(2 * np.pi * 2 * time)) / rate
    vowel = sum(np.sin(k * phase + k * k) / k**1.5 for k in range(1, int(min(rate / 2, 20000) / 150)))
    hiss = np.diff(draw.standard_normal(frames + 2), n=2)
    beat = time % 0.35
    sound = 0.1 * vowel / np.std(vowel) * (beat < 0.2) * np.sin(np.pi * beat / 0.2)
    sound += 0.03 * hiss / hiss.std() * ((beat > 0.22) & (beat < 0.3)) + 1e-4 * draw.standard_normal(frames)
    return Clip(sound[:, np.newaxis], rate)


def mp3(clip: Clip, kbps: int = 64) -> Clip:
    """Return a clip through MP3, as long as before."""
    return decode(encode_mp3(clip, kbps), "history.mp3")[0]


def holes(clip: Clip) -> float:
    """Return the one number of the cue."""
    return CodecHistory().measure(clip)["codec_holes_percent"]


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 24000, 44100, 48000])
def test_what_was_never_coded_has_no_holes(rate: int) -> None:
    """Vowels, hisses and a room have next to none, at any rate."""
    assert holes(talk(rate)) <= NEVER_PERCENT


@pytest.mark.parametrize(("rate", "kbps"), [(16000, 40), (22050, 64), (24000, 64), (44100, 64)])
def test_an_mp3_past_shows(rate: int, kbps: int) -> None:
    """An MP3 of 64 kb/s leaves holes at 22.05, 24 and 44.1 kHz, and one of 40 kb/s at 16 kHz."""
    assert holes(mp3(talk(rate), kbps)) >= PAST_PERCENT


def test_lower_bitrates_leave_more() -> None:
    """At 64 kb/s there are more holes than at 80, and at 160 next to none."""
    clip = talk()
    assert holes(mp3(clip, 64)) > holes(mp3(clip, 80)) > NEVER_PERCENT >= holes(mp3(clip, 160))


def test_later_formats_do_not_hide_it() -> None:
    """Another rate, 16 bits, other gain and a cut leave the past visible."""
    past = mp3(talk())
    rounded = past.with_samples(np.round(past.samples * 2.0**15) / 2.0**15)
    for later in (
        resample(past, 44100),
        rounded,
        past.with_samples(past.samples / 10),
        past.with_samples(past.samples[777:]),
    ):
        assert holes(later) >= PAST_PERCENT


def test_gates_and_low_passes_are_no_past() -> None:
    """Digital silence between sounds and an earlier rate leave no holes: whole frames and bands are empty there."""
    clip = talk()
    gated = clip.samples.copy()
    gated[np.arange(clip.frames) / RATE % 0.5 < 0.2] = 0
    assert holes(clip.with_samples(gated)) <= NEVER_PERCENT
    assert holes(resample(resample(clip, 12000), 44100)) <= NEVER_PERCENT


@pytest.mark.parametrize("pattern", ["hifigan_ms/*GT.wav", "vits/*gt.wav", "vits_vc/vc_0[1-5]_0[1-5].wav"])
def test_recordings_that_were_never_coded(shared: Path, pattern: str) -> None:
    """Recordings of a lossless corpus are under the limit that others set, and over it and themselves as MP3."""
    paths = sorted((shared / "data" / "human_vs_tts").glob(pattern))
    if "vc_" in pattern:  # the source utterances, on the diagonal; the others are conversions
        paths = [path for path in paths if path.stem[-5:-3] == path.stem[-2:]]
    assert len(paths) == 5
    for path in paths:
        clip, _ = decode(path.read_bytes(), path.name)
        half = clip.with_samples(clip.samples / 2)
        assert holes(half) <= SPEECH_PERCENT, path.name
        assert holes(mp3(half)) > holes(half) + PAST_PERCENT, path.name


def test_what_holds_nothing_is_told_why() -> None:
    """Silence, 0.1 s and a clip without anything above 2 kHz are refused, each for its own reason."""
    low = np.sin(2 * np.pi * 300 * np.arange(RATE) / RATE)
    for samples, reason in ((np.zeros(RATE), "silent"), (low[:2205], "too short"), (low, "above 2000 Hz")):
        with pytest.raises(ClipError, match=reason):
            holes(Clip(samples[:, np.newaxis], RATE))
