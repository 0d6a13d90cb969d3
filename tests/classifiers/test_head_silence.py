"""Specification of the cue head_silence."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.head_silence import HeadSilence
from prep.clip import Clip
from prep.errors import ClipError

RATE = 24000
EDGE_SECONDS = 0.0101  # s: two blocks of the measurement


def noise(seconds: float, rms_dbfs: float, seed: int = 1, rate: int = RATE) -> np.ndarray:
    """Return white noise of a level."""
    return 10 ** (rms_dbfs / 20) * np.random.default_rng(seed).standard_normal(round(seconds * rate))


def voice(seconds: float, rms_dbfs: float = -18.0, rate: int = RATE) -> np.ndarray:
    """Return a buzz at 120 Hz with harmonics, as a vowel has."""
    time = np.arange(round(seconds * rate)) / rate
    buzz = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20))
    return 10 ** (rms_dbfs / 20) * buzz / np.std(buzz)


def clip_of(*parts: np.ndarray, floor_dbfs: float = -75.0, rate: int = RATE) -> Clip:
    """Return a clip of parts in a row, in a room with a steady noise."""
    sound = np.concatenate(parts)
    return Clip((sound + noise(len(sound) / rate, floor_dbfs, 9, rate)[: len(sound)])[:, np.newaxis], rate)


def silence(seconds: float, rate: int = RATE) -> np.ndarray:
    """Return nothing, for some time."""
    return np.zeros(round(seconds * rate))


def head(clip: Clip) -> float:
    """Return the one number of the cue."""
    return HeadSilence().measure(clip)["head_seconds"]


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.08, 0.3, 2.0])
@pytest.mark.parametrize("floor_dbfs", [-45.0, -60.0, -75.0, -200.0])
def test_the_head_is_the_time_before_speech(seconds: float, floor_dbfs: float) -> None:
    """The head is what was put before the voice, in a noisy room, a quiet one and in digital silence."""
    clip = clip_of(silence(seconds), voice(1), silence(0.5), floor_dbfs=floor_dbfs)
    assert head(clip) == pytest.approx(seconds, abs=EDGE_SECONDS)


@pytest.mark.parametrize("gain_db", [-40.0, -20.0, 20.0])
def test_no_gain_moves_it(gain_db: float) -> None:
    """The threshold is the clip's own: no gain moves the head, where a threshold in dBFS would."""
    clip = clip_of(silence(0.4), voice(1), silence(0.4), floor_dbfs=-55)
    assert head(clip.with_samples(clip.samples * 10 ** (gain_db / 20))) == head(clip)


def test_a_soft_onset_is_speech() -> None:
    """A weak "s" at -40 dBFS before a vowel at -18 dBFS ends the head silence, not the vowel."""
    clip = clip_of(silence(0.6), noise(0.12, -40, 2), voice(0.5), noise(0.12, -40, 3), silence(0.6), floor_dbfs=-100)
    assert head(clip) == pytest.approx(0.6, abs=EDGE_SECONDS)


def test_a_soft_onset_before_a_closure_is_speech() -> None:
    """The "s" of "stop" belongs to speech though 80 ms of closure part it from the vowel."""
    clip = clip_of(silence(0.5), noise(0.1, -38, 2), silence(0.08), voice(0.5), silence(0.5))
    assert head(clip) == pytest.approx(0.5, abs=EDGE_SECONDS)


@pytest.mark.parametrize("at_seconds", [0.0, 0.1, 0.3])
def test_a_click_does_not_end_the_head(at_seconds: float) -> None:
    """A click of 2 ms at sample 0, or later in the head, is not the start of speech."""
    clip = clip_of(silence(0.5), voice(1), silence(0.5))
    clicked = clip.samples.copy()
    first = round(at_seconds * RATE)
    clicked[first : first + 48] += 0.5
    assert head(clip.with_samples(clicked)) == pytest.approx(0.5, abs=EDGE_SECONDS)


def test_a_breath_far_from_speech_does_not_end_the_head() -> None:
    """A breath 30 dB under the voice, 0.3 s before it, is part of the head."""
    clip = clip_of(silence(0.3), noise(0.3, -48, 2), silence(0.3), voice(1), silence(0.3))
    assert head(clip) == pytest.approx(0.9, abs=EDGE_SECONDS)


@pytest.mark.parametrize("snr_db", [20.0, 26.0])
def test_padding_around_a_noisy_clip_does_not_make_its_noise_speech(snr_db: float) -> None:
    """Digital zero around a noisy recording leaves its pauses pauses: the head ends where the voice begins."""
    pieces = [silence(2.0), noise(0.4, -18 - snr_db)]
    for word in range(6):
        pieces += [noise(0.25, -18, seed=10 + word), noise(0.4, -18 - snr_db, seed=20 + word)]
    samples = np.concatenate([*pieces, silence(2.0)])
    assert head(Clip(samples[:, np.newaxis], RATE)) == pytest.approx(2.4, abs=EDGE_SECONDS)


def test_rumble_and_dc_do_not_fill_the_head() -> None:
    """Rumble at 20 Hz as loud as -30 dBFS and a DC of 0.1 leave the head silent."""
    clip = clip_of(silence(0.5), voice(1), silence(0.5))
    time = np.arange(clip.frames)[:, np.newaxis] / RATE
    rumbling = clip.samples + 0.045 * np.sin(2 * np.pi * 20 * time) + 0.1
    assert head(clip.with_samples(rumbling)) == pytest.approx(0.5, abs=EDGE_SECONDS)


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 44100, 48000])
def test_the_rate_does_not_matter(rate: int) -> None:
    """The head is a time, at any rate."""
    clip = clip_of(silence(0.25, rate), voice(1, rate=rate), silence(0.25, rate), rate=rate)
    assert head(clip) == pytest.approx(0.25, abs=EDGE_SECONDS)


def test_a_word_of_a_fifth_of_a_second_has_a_head() -> None:
    """A clip of 0.2 s is measured."""
    assert head(clip_of(silence(0.05), voice(0.1), silence(0.05))) == pytest.approx(0.05, abs=EDGE_SECONDS)


def test_steady_noise_has_no_head() -> None:
    """Full-scale noise starts at once."""
    assert head(Clip(noise(1, -3)[:, np.newaxis], RATE)) == 0.0


@pytest.mark.parametrize(
    ("samples", "reason"),
    [(silence(1), "silent"), (voice(0.015), "too short"), (np.eye(1, RATE, RATE // 2)[0], "no sound in it lasts")],
)
def test_what_holds_no_speech_is_told_why(samples: np.ndarray, reason: str) -> None:
    """Silence, 15 ms of sound and a lone click have no head silence, each for its own reason."""
    with pytest.raises(ClipError, match=reason):
        head(Clip(samples[:, np.newaxis], RATE))
