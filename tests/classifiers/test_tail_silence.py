"""Specification of the cue tail_silence."""

from __future__ import annotations

import csv
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.auc import auc
from prep.audio import decode
from prep.classifiers.tail_silence import TailSilence
from prep.clip import Clip

if TYPE_CHECKING:
    from pathlib import Path

RATE = 24000
EDGE_SECONDS = 0.0101  # s: two blocks of the measurement


def noise(seconds: float, rms_dbfs: float, seed: int = 1) -> np.ndarray:
    """Return white noise of a level."""
    return 10 ** (rms_dbfs / 20) * np.random.default_rng(seed).standard_normal(round(seconds * RATE))


def voice(seconds: float) -> np.ndarray:
    """Return a buzz at 120 Hz with harmonics, -18 dBFS."""
    time = np.arange(round(seconds * RATE)) / RATE
    buzz = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20))
    return 10 ** (-18 / 20) * buzz / np.std(buzz)


def clip_of(*parts: np.ndarray, floor_dbfs: float = -75.0) -> Clip:
    """Return a clip of parts in a row, in a room with a steady noise."""
    sound = np.concatenate(parts)
    return Clip((sound + noise(len(sound) / RATE, floor_dbfs, 9))[:, np.newaxis], RATE)


def silence(seconds: float) -> np.ndarray:
    """Return nothing, for some time."""
    return np.zeros(round(seconds * RATE))


def tail(clip: Clip) -> float:
    """Return the one number of the cue."""
    return TailSilence().measure(clip)["tail_seconds"]


@pytest.mark.parametrize("seconds", [0.0, 0.08, 0.3, 2.0])
@pytest.mark.parametrize("floor_dbfs", [-45.0, -75.0, -200.0])
def test_the_tail_is_the_time_after_speech(seconds: float, floor_dbfs: float) -> None:
    """The tail is what was put after the voice, in a noisy room, a quiet one and in digital silence."""
    clip = clip_of(silence(0.5), voice(1), silence(seconds), floor_dbfs=floor_dbfs)
    assert tail(clip) == pytest.approx(seconds, abs=EDGE_SECONDS)


def test_a_soft_end_is_speech() -> None:
    """A weak last "s", 22 dB under the vowel, begins no tail silence before it ends."""
    clip = clip_of(silence(0.6), voice(0.5), noise(0.12, -40, 3), silence(0.6), floor_dbfs=-100)
    assert tail(clip) == pytest.approx(0.6, abs=EDGE_SECONDS)


def test_the_release_of_a_stop_is_speech() -> None:
    """The burst of a last "t", 25 ms long after 90 ms of closure, belongs to speech."""
    clip = clip_of(silence(0.3), voice(0.5), silence(0.09), noise(0.025, -38, 3), silence(0.4))
    assert tail(clip) == pytest.approx(0.4, abs=EDGE_SECONDS)


def test_a_click_in_the_tail_does_not_shorten_it() -> None:
    """The click of a mouse, 0.3 s after the last word, is part of the tail."""
    clip = clip_of(silence(0.3), voice(1), silence(0.5))
    clicked = clip.samples.copy()
    clicked[round(1.6 * RATE) :][:48] += 0.5
    assert tail(clip.with_samples(clicked)) == pytest.approx(0.5, abs=EDGE_SECONDS)


def test_a_reversed_clip_has_its_head_as_its_tail() -> None:
    """Time reversed, a clip's head is its tail."""
    clip = clip_of(silence(0.2), voice(1), silence(0.6))
    assert tail(clip.with_samples(clip.samples[::-1])) == pytest.approx(0.2, abs=EDGE_SECONDS)


def test_pairs_show_what_the_pool_hides(shared: Path) -> None:
    """In a real study with other corpora on each side, tails separate strongly in pairs and barely pooled."""
    with (shared / "data" / "chains.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    sides: dict[str, list[float]] = defaultdict(list)
    cells: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in rows:
        clip, _ = decode((shared / "data" / row["file_name"]).read_bytes(), row["file_name"])
        sides[row["condition"]].append(tail(clip))
        cells[row["speaker"], row["passage"]][row["condition"]] = sides[row["condition"]][-1]
    pairs = [cell for cell in cells.values() if len(cell) == 2]
    assert len(pairs) == 10
    matched = np.mean([np.sign(cell["synthetic"] - cell["human"]) / 2 + 0.5 for cell in pairs])
    pooled = auc(np.array(sides["human"]), np.array(sides["synthetic"]))
    assert matched <= 0.1
    assert abs(pooled - 0.5) < 0.15
