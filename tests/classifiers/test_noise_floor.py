"""Specification of the cue noise_floor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prep.classifiers.noise_floor import NoiseFloor
from prep.clip import Clip
from prep.errors import ClipError

RATE = 22050
FLOOR_DB = 0.5  # dB: the resolution of the cue
CLOSURES_DB = 1.0  # dB: a few frames only, with the decay of the high-pass in them
BROWN_DB = 2.0  # dB: twenty milliseconds of it vary by 2 dB, and the high-pass takes some
EXACT_DB = 0.01  # dB: the same sound at another gain


def talk(floor_dbfs: float, *, ends_seconds: float = 0.4, pause_seconds: float = 0.4) -> Clip:
    """Return two seconds of voice at -20 dBFS with a pause, in a room with white noise of a level."""
    time = np.arange(RATE) / RATE
    buzz = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20))
    buzz *= 0.1 / np.std(buzz)
    end, pause = (np.zeros(round(seconds * RATE)) for seconds in (ends_seconds, pause_seconds))
    sound = np.concatenate([end, buzz, pause, buzz, end])
    sound += 10 ** (floor_dbfs / 20) * np.random.default_rng(1).standard_normal(len(sound))
    return Clip(sound[:, np.newaxis], RATE)


def floor(clip: Clip) -> float:
    """Return the one number of the cue."""
    return NoiseFloor().measure(clip)["noise_floor_dbfs"]


@pytest.mark.parametrize("level_dbfs", [-90.0, -60.0, -50.0, -45.0])
def test_the_floor_is_the_level_of_the_noise(level_dbfs: float) -> None:
    """White noise of a level is found in the pauses, down to 25 dB under the voice."""
    above_80_hz_db = 10 * math.log10(1 - 80 / (RATE / 2))
    assert floor(talk(level_dbfs)) == pytest.approx(level_dbfs + above_80_hz_db, abs=FLOOR_DB)


@pytest.mark.parametrize(("ends", "pause"), [(0.4, 0.0), (0.0, 0.4), (0.1, 0.0)])
def test_ends_and_pauses_count(ends: float, pause: float) -> None:
    """A head, a tail or a pause of 0.1 s is enough."""
    assert floor(talk(-60, ends_seconds=ends, pause_seconds=pause)) == pytest.approx(-60, abs=FLOOR_DB)


def test_breaths_and_clicks_do_not_raise_it() -> None:
    """A breath and a click in a pause leave the floor where it is."""
    clip = talk(-60)
    loud = clip.samples.copy()
    first = round(1.55 * RATE)
    loud[first : first + RATE // 10, 0] += 0.01 * np.random.default_rng(2).standard_normal(RATE // 10)
    loud[200:230] += 0.3
    assert floor(clip.with_samples(loud)) == pytest.approx(floor(clip), abs=FLOOR_DB)


def test_it_moves_with_the_gain() -> None:
    """A copy 12 dB lower has a floor 12 dB lower."""
    clip = talk(-60)
    quiet = clip.with_samples(clip.samples * 10 ** (-12 / 20))
    assert floor(quiet) == pytest.approx(floor(clip) - 12, abs=EXACT_DB)


def test_digital_silence_has_the_lowest_floor() -> None:
    """Pauses of digital silence have -120 dBFS, so that they can be compared with those of recordings."""
    assert floor(talk(-300)) == -120.0


def test_a_dc_offset_is_not_noise() -> None:
    """A DC offset of 0.05 leaves the floor where it is."""
    clip = talk(-60)
    assert floor(clip.with_samples(clip.samples + 0.05)) == pytest.approx(floor(clip), abs=FLOOR_DB)


@pytest.mark.parametrize("closure_seconds", [0.045, 0.06])
def test_closures_are_enough(closure_seconds: float) -> None:
    """Without a pause of 70 ms, the closures of four stops have the level of the noise."""
    time = np.arange(RATE // 4) / RATE
    buzz = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20))
    syllable = np.concatenate([0.1 * buzz / np.std(buzz), np.zeros(round(closure_seconds * RATE))])
    sound = np.concatenate([syllable] * 4 + [syllable[: len(time)]])
    sound += 1e-3 * np.random.default_rng(1).standard_normal(len(sound))
    assert floor(Clip(sound[:, np.newaxis], RATE)) == pytest.approx(-60, abs=CLOSURES_DB)


def test_more_noise_is_more() -> None:
    """The floor rises with added noise at every step, and by 10 dB where the noise rises by 10 dB."""
    floors = [floor(talk(level_dbfs)) for level_dbfs in range(-90, -40, 5)]
    assert np.diff(floors) == pytest.approx(5, abs=FLOOR_DB)


@pytest.mark.parametrize("exponent", [0, 2])
def test_longer_pauses_are_no_quieter(exponent: int) -> None:
    """White and brown noise have their level, whether the pauses last 0.2 s in all or 3 s."""
    for ends_seconds in (0.1, 1.5):
        clip = talk(-300, ends_seconds=ends_seconds, pause_seconds=0)
        frequencies = np.fft.rfftfreq(clip.frames, 1 / RATE)
        white = np.fft.rfft(np.random.default_rng(2).standard_normal(clip.frames))
        shape = np.where(frequencies < 100, 0, np.maximum(frequencies, 100.0) ** (-exponent / 2))
        noise = np.fft.irfft(white * shape, clip.frames)
        noisy = clip.with_samples(clip.samples + 1e-3 * (noise / noise.std())[:, np.newaxis])
        assert floor(noisy) == pytest.approx(-60, abs=BROWN_DB if exponent else FLOOR_DB)


def test_a_little_padding_is_not_the_floor() -> None:
    """Digital silence of 50 ms at the ends leaves the floor where it is; as most of the quiet it makes it -120."""
    clip = talk(-60)
    for seconds, level in ((0.05, -60.0), (2.0, -120.0)):
        padding = np.zeros((round(seconds * RATE), 1))
        padded = clip.with_samples(np.concatenate([padding, clip.samples, padding]))
        assert floor(padded) == pytest.approx(level, abs=FLOOR_DB)


def test_speech_without_pauses_has_no_floor() -> None:
    """A clip trimmed to its speech, and one as noisy as its speech, have no noise floor."""
    for clip in (talk(-60, ends_seconds=0, pause_seconds=0), talk(-20)):
        with pytest.raises(ClipError, match="quiet"):
            floor(clip)
