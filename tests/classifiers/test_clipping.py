"""Specification of the cue clipping.

The figures of the cue were chosen on other speakers than those of HELD_OUT.
"""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile
import soxr

from prep import audio
from prep.classifiers.clipping import Clipping
from prep.clip import Clip
from prep.errors import ClipError
from prep.limiter import limit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Made = Callable[[np.ndarray, int], np.ndarray]

FOUND = 0.99  # share of clips to find at 0.1 % clipped samples: the design's number
FOUND_CODED = 0.95  # share of clips to find at 1 % after MP3 or resampling: the design's number
FALSE_ALARMS = 0.03  # share of unclipped clips that may be found: the design's number
SHARE_TOLERANCE = 0.5  # of the share of clipped samples
CODED_SHARE = (0.3, 2.0)  # % that may be measured of 1 %: ripples leave the level, and others come near it
GAINS = (1.0, 0.1, 0.01)
RATE = 16000
LONGEST_SECONDS = 3
HELD_OUT = (
    "speech_real/cmu_arctic/*_aew_*",
    "speech_real/cmu_arctic/arctic_a0010.wav",
    "speech_real/ljspeech/*.wav",
    "speech_real/vctk_16k/p225_*",
    "speech_real/speechbrain/spk1_*",
    "speech_real/pocketsphinx/sense_*",
    *(f"human_vs_tts/fastspeech2_libritts/{speaker}_*" for speaker in (207, 3615, 480, 6098, 968)),
    *(f"human_vs_tts/speko_vendors/*__{system}.wav" for system in ("cartesia", "deepgram-tts", "gradium")),
)


def clipped(signal: np.ndarray, share: float, sides: int = 2) -> np.ndarray:
    """Return a signal of which a share of the samples is cut off, on both sides or on the upper one."""
    level = np.sort(np.abs(signal) if sides == 2 else signal)[-max(round(share * len(signal)), 1)]
    return np.clip(signal, -level if sides == 2 else None, level)


def in_16_bits(signal: np.ndarray, gain: float) -> np.ndarray:
    """Return a signal at a peak of `gain`, rounded to 16 bits with dither of two steps' width."""
    draw = np.random.default_rng(1)
    dither = draw.random(len(signal)) - draw.random(len(signal))
    return np.round(signal / np.abs(signal).max() * gain * 32767 + dither) / 32768


def through_mp3(signal: np.ndarray, rate: int, kbps: int) -> np.ndarray:
    """Return a signal at a peak of 0.8 through LAME."""
    low, high = (32, 320) if rate >= 32000 else (8, 160)
    file = io.BytesIO()
    level = (high - kbps) / (high - low)
    peak = np.abs(signal).max()
    soundfile.write(file, 0.8 * signal / peak, rate, format="MP3", bitrate_mode="CONSTANT", compression_level=level)
    file.seek(0)
    return soundfile.read(file)[0]


def limited(signal: np.ndarray, rate: int, gain_db: float = 6.0) -> np.ndarray:
    """Return a signal whose peaks a limiter brought down from `gain_db` over full scale, (frames,)."""
    loud = signal / np.abs(signal).max() * 10 ** (gain_db / 20)
    return limit(Clip(loud[:, np.newaxis], rate), -1.0).clip.samples[:, 0].astype(float)


def percent_of(signal: np.ndarray, rate: int = RATE) -> float:
    """Return the one number of the cue for a signal (frames,)."""
    return Clipping().measure(Clip(signal[:, np.newaxis], rate))["clipped_percent"]


def rejected(signal: np.ndarray, rate: int) -> bool:
    """Say whether the cue turns a signal down as a screen."""
    return percent_of(signal, rate) > Clipping.LIMITS["max_clipped_percent"]


def voiced(seed: int, rate: int = RATE) -> np.ndarray:
    """Return four seconds of harmonics in syllables with a wandering pitch, as a voice has, (frames,)."""
    draw = np.random.default_rng(seed)
    time = np.arange(4 * rate) / rate
    pitch = 120 + 20 * np.interp(time, np.arange(5), draw.standard_normal(5))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    tone = sum(np.sin(k * phase + draw.uniform(0, 6)) / k for k in range(1, 12))
    loud = np.interp(time, np.arange(0, 4.1, 0.1), draw.uniform(0.1, 1, 41))
    return tone * loud + 0.02 * draw.standard_normal(len(time))


@cache
def held_out(data: Path) -> list[tuple[np.ndarray, int]]:
    """Return the signals of HELD_OUT at a peak of 1, none of which is clipped, with their rates."""
    paths = [path for pattern in HELD_OUT for path in sorted(data.glob(pattern))]
    clips = [audio.decode(path.read_bytes(), path.name)[0] for path in paths]
    signals = [clip.mono()[: LONGEST_SECONDS * clip.rate] for clip in clips]
    return [(signal / np.abs(signal).max(), clip.rate) for signal, clip in zip(signals, clips, strict=True)]


@pytest.fixture
def speech(shared: Path) -> list[tuple[np.ndarray, int]]:
    """Return recordings and renderings of speakers and systems that taught the cue nothing."""
    return held_out(shared / "data")


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("sides", [1, 2])
def test_clipping_is_found_at_any_level(gain: float, sides: int) -> None:
    """0.1 % of clipped samples, on one side or both, is found and measured at any attenuation; without it, nothing."""
    for sign in (1, -1):
        signal = sign * clipped(voiced(1), 0.001, sides)
        assert percent_of(in_16_bits(signal, gain)) == pytest.approx(0.1, rel=SHARE_TOLERANCE)
        assert percent_of(in_16_bits(sign * voiced(1), gain)) == 0.0


@pytest.mark.parametrize("kbps", [64, 128])
def test_clipping_is_found_under_ripples(kbps: int) -> None:
    """1 % of clipped samples is found after MP3 and after resampling, and measured roughly."""
    cut = clipped(voiced(1), 0.01)
    for coded, rate in ((through_mp3(cut, RATE, kbps), RATE), (soxr.resample(cut, RATE, 44100), 44100)):
        assert CODED_SHARE[0] <= percent_of(coded, rate) <= CODED_SHARE[1]


@pytest.mark.parametrize("tone_hz", [100, 200, 997])
def test_round_tops_are_not_clipping(tone_hz: float) -> None:
    """A pure tone has all its peaks at one height, and none is flat."""
    tone = np.sin(2 * np.pi * tone_hz * np.arange(48000) / 48000)
    assert percent_of(tone, 48000) == 0.0
    assert percent_of(in_16_bits(tone, 0.1), 48000) == 0.0


@pytest.mark.parametrize("seed", [1, 2])
def test_soft_knees_are_not_clipping(seed: int) -> None:
    """A voice through a soft knee has flatter peaks, and they do not gather at one height."""
    voice = voiced(seed)
    assert percent_of(np.tanh(2 * voice / np.abs(voice).max())) == 0.0


def test_one_clipped_channel_counts_half() -> None:
    """The share is over the samples of all channels."""
    one, clean = clipped(voiced(1), 0.01), voiced(2)
    both = Clip(np.stack([one, clean], axis=1), RATE)
    assert Clipping().measure(both)["clipped_percent"] == pytest.approx(percent_of(one) / 2)


def test_evidence_says_where_and_how_high() -> None:
    """Each span of the evidence starts and ends on a sample that is cut off, and the level is where that happened."""
    cut = 0.5 * clipped(voiced(1) / np.abs(voiced(1)).max(), 0.001)
    evidence = Clipping().evidence(Clip(cut[:, np.newaxis], RATE))
    flat = np.abs(cut) >= np.abs(cut).max()
    for start, end in evidence["spans"]:
        assert flat[round(start * RATE)]
        assert flat[round(end * RATE) - 1]
    assert evidence["clipped_from_dbfs"] == pytest.approx(20 * np.log10(np.abs(cut).max()), abs=0.01)
    assert Clipping().evidence(Clip(voiced(1)[:, np.newaxis], RATE)) == {}


def test_nothing_has_no_share() -> None:
    """A clip without samples is turned down; silence has none clipped."""
    with pytest.raises(ClipError, match="no samples"):
        Clipping().measure(Clip(np.zeros((0, 1)), RATE))
    assert percent_of(np.zeros(RATE)) == 0.0


def test_real_speech_is_rarely_accused(speech: list[tuple[np.ndarray, int]]) -> None:
    """At most 3 % are turned down of clean, peak-normalised, turned down, soft-limited and MP3-coded recordings."""
    made: list[Made] = [
        lambda signal, _: in_16_bits(signal, 1.0),
        lambda signal, _: in_16_bits(signal, 0.03),
        limited,
        lambda signal, _: np.tanh(2 * signal),
        lambda signal, rate: through_mp3(signal, rate, 64),
        lambda signal, rate: through_mp3(signal, rate, 128),
    ]
    found = [rejected(make(signal, rate), rate) for make in made for signal, rate in speech]
    assert np.mean(found) <= FALSE_ALARMS


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("sides", [1, 2])
def test_real_speech_is_found_when_clipped(speech: list[tuple[np.ndarray, int]], gain: float, sides: int) -> None:
    """99 % of recordings with 0.1 % clipped samples are turned down, attenuated by up to 40 dB, on either side."""
    found = [
        rejected(in_16_bits(clipped(sign * signal, 0.001, sides), gain), rate)
        for signal, rate in speech
        for sign in ((1, -1) if sides == 1 else (1,))
    ]
    assert np.mean(found) >= FOUND


@pytest.mark.parametrize("kbps", [64, 128])
def test_real_speech_is_found_after_mp3(speech: list[tuple[np.ndarray, int]], kbps: int) -> None:
    """95 % of recordings with 1 % clipped samples are turned down after MP3."""
    found = [rejected(through_mp3(clipped(signal, 0.01), rate, kbps), rate) for signal, rate in speech]
    assert np.mean(found) >= FOUND_CODED


@pytest.mark.parametrize("new", [16000, 44100])
def test_real_speech_is_found_after_resampling(speech: list[tuple[np.ndarray, int]], new: int) -> None:
    """95 % of recordings with 1 % clipped samples are turned down after resampling."""
    found = [rejected(soxr.resample(0.5 * clipped(signal, 0.01), rate, new), new) for signal, rate in speech]
    assert np.mean(found) >= FOUND_CODED
