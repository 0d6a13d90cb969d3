"""Specification of the cue pauses."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.pauses import Pauses
from prep.clip import Clip

RATE = 16000
PERCENT = 1.0  # the resolution of the share
RATE_PER_SECOND = 0.02  # 1/s: the edges of the talk move by 10 ms


def talk(*seconds: float, floor_dbfs: float = -70.0) -> Clip:
    """Return silence and voice in turn, each so long, beginning with silence."""
    pieces = []
    for i, length in enumerate(seconds):
        time = np.arange(round(length * RATE)) / RATE
        buzz = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20))
        pieces.append(0.1 * buzz * (i % 2))
    sound = np.concatenate(pieces)
    sound += 10 ** (floor_dbfs / 20) * np.random.default_rng(1).standard_normal(len(sound))
    return Clip(sound[:, np.newaxis], RATE)


def pauses(clip: Clip) -> tuple[float, float]:
    """Return the pauses per second and their share in percent."""
    values = Pauses().measure(clip)
    return values["pauses_per_second"], values["pause_percent"]


def test_pauses_are_counted_in_the_talk() -> None:
    """Two pauses of 0.5 s in 4 s of talk are 0.5 a second and 25 %, whatever silence is at the ends."""
    for ends in (0.05, 1.0):
        rate, share = pauses(talk(ends, 1.0, 0.5, 1.0, 0.5, 1.0, ends))
        assert rate == pytest.approx(0.5, abs=RATE_PER_SECOND)
        assert share == pytest.approx(25.0, abs=PERCENT)


def test_articulation_is_no_pause() -> None:
    """A silence of 0.2 s inside speech is articulation, one of 0.3 s a pause."""
    assert pauses(talk(0.3, 1.0, 0.2, 1.0, 0.3)) == (0.0, 0.0)
    assert pauses(talk(0.3, 1.0, 0.3, 1.0, 0.3))[0] > 0


def test_speech_without_pauses_has_none() -> None:
    """Speech without a pause has none in a second and a share of 0, not an error."""
    assert pauses(talk(0.2, 2.0, 0.2)) == (0.0, 0.0)


def test_noise_hides_no_pause() -> None:
    """The same pauses are found in a room 30 dB under the voice and in digital silence."""
    for floor_dbfs in (-47.0, -200.0):
        assert pauses(talk(0.3, 1.0, 0.5, 1.0, 0.3, floor_dbfs=floor_dbfs))[1] == pytest.approx(20.0, abs=PERCENT)


def test_a_breath_in_a_pause_leaves_it_one() -> None:
    """A breath 25 dB under the voice in the middle of a pause of 0.9 s does not split it."""
    clip = talk(0.3, 1.0, 0.9, 1.0, 0.3)
    breathing = clip.samples.copy()
    first = round(1.6 * RATE)
    breathing[first : first + RATE // 4, 0] += 0.006 * np.random.default_rng(2).standard_normal(RATE // 4)
    assert pauses(clip.with_samples(breathing)) == pytest.approx(pauses(clip), abs=RATE_PER_SECOND)
