"""Room tone: where a clip is quiet, how its noise sounds, and more of it."""

from __future__ import annotations

import numpy as np
import pytest

from prep.clip import Clip
from prep.errors import ClipError
from prep.room_tone import LOWEST_DENSITY_DB, floor_levels_db, generator_of, quiet_ranges, room_tone

RATE = 16000
FLOOR = 1e-3  # full scale: RMS of the noise, -60 dBFS

LEVEL_TOLERANCE = 0.5  # dB: of the mean over bands of the median of some thirty frames
NARROW_TOLERANCE = 2.5  # dB: of one band of one and a half bins
TONE_TOLERANCE = 1.0  # dB: of the level of two seconds of grains


def noisy(*, zeros: bool = False) -> Clip:
    """Return 0.5 s of white noise, 0.5 s of speech-like noise and 1 s of white noise, or digital zero in its place."""
    noise = np.random.default_rng(0).standard_normal(2 * RATE)
    spoken = (np.arange(2 * RATE) >= RATE // 2) & (np.arange(2 * RATE) < RATE)
    return Clip((noise * np.where(spoken, 0.1, 0 if zeros else FLOOR))[:, np.newaxis], RATE, "noisy")


def test_the_floor_of_white_noise_is_its_density() -> None:
    """White noise of power P has the density 2 P / rate in every third octave, up to half the rate."""
    centres, levels = floor_levels_db(noisy())
    wanted = 10 * np.log10(2 * FLOOR**2 / RATE)
    assert centres[0] == pytest.approx(99, abs=1)
    assert centres[-1] == pytest.approx(6350, abs=1)
    assert levels == pytest.approx(wanted, abs=NARROW_TOLERANCE)
    assert levels[6:].mean() == pytest.approx(wanted, abs=LEVEL_TOLERANCE)


def test_digital_zero_has_no_floor() -> None:
    """Pauses of digital zero have the lowest level that is told, in every band."""
    _, levels = floor_levels_db(noisy(zeros=True))
    assert (levels == LOWEST_DENSITY_DB).all()


def test_the_quietest_part_stands_in() -> None:
    """A clip without a pause gives its quietest 70 ms."""
    clip = noisy()
    spoken = clip.samples[RATE // 2 : RATE].copy()
    spoken[3000:4200] /= 10
    ((first, last),) = quiet_ranges(clip.with_samples(spoken))
    assert last - first == round(0.07 * RATE)
    assert 3000 <= first <= last <= 4200


@pytest.mark.parametrize("frames", [0, 1, 500, 2 * RATE])
def test_tone_is_as_long_and_as_loud_as_asked(frames: int) -> None:
    """Any number of frames is made, of the level of the pauses."""
    tone = room_tone(noisy(), frames, generator_of(noisy()))
    assert tone.samples.shape == (frames, 1)
    assert tone.source == "pauses"
    if frames > RATE:
        assert 10 * np.log10(np.mean(tone.samples**2)) == pytest.approx(-60, abs=TONE_TOLERANCE)


def test_tone_has_the_colour_of_the_pauses() -> None:
    """Tone of a hum is a hum: its power stays where it was."""
    clip = noisy()
    hum = clip.samples + 0.01 * np.sin(2 * np.pi * 440 * np.arange(clip.frames) / RATE)[:, np.newaxis]
    tone = room_tone(clip.with_samples(hum), 2 * RATE, generator_of(clip)).samples[:, 0]
    power = np.abs(np.fft.rfft(tone)) ** 2
    near = np.abs(np.fft.rfftfreq(2 * RATE, 1 / RATE) - 440) < 40
    assert power[near].sum() > 0.9 * power.sum()


def test_no_tone_is_made_of_digital_zero() -> None:
    """Where pauses are digital zero the tone is noise at -93.3 dBFS, equal in every channel."""
    clip = noisy(zeros=True)
    stereo = clip.with_samples(np.repeat(clip.samples, 2, axis=1))
    tone = room_tone(stereo, 2 * RATE, generator_of(stereo))
    assert tone.source == "noise"
    assert 10 * np.log10(np.mean(tone.samples**2)) == pytest.approx(-93.3, abs=TONE_TOLERANCE)
    assert np.array_equal(tone.samples[:, 0], tone.samples[:, 1])


def test_the_seed_is_the_content() -> None:
    """Equal samples give equal generators whatever the clip is called; exchanged channels too; others do not."""
    clip = noisy()
    stereo = clip.with_samples(np.hstack([clip.samples, clip.samples[::-1]]))
    draws = [
        generator_of(some).standard_normal()
        for some in (clip, Clip(clip.samples, RATE, "other"), stereo, stereo.with_samples(stereo.samples[:, ::-1]))
    ]
    assert draws[0] == draws[1] != draws[2] == draws[3]


def test_silence_has_no_quiet() -> None:
    """Digital silence is refused: what is quiet is told against speech."""
    with pytest.raises(ClipError, match="silent"):
        quiet_ranges(Clip(np.zeros((RATE, 1), np.float32), RATE))
