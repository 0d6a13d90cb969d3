"""Specification of the cue length_granularity."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep import audio
from prep.auc import auc
from prep.classifiers.length_granularity import HOPS, LengthGranularity
from prep.clip import Clip
from prep.errors import ClipError

if TYPE_CHECKING:
    from pathlib import Path

CHANCE = 0.06  # share of arbitrary lengths that some hop divides: 1 - product of (1 - 1/hop), 5.6 % at most
SEPARATION = 0.4  # of AUC from chance: plain to see


def hop_of(frames: int) -> float:
    """Return the one number of the cue for a clip of so many frames."""
    return LengthGranularity().measure(Clip(np.zeros((frames, 1)), 22050))["hop_divisor"]


@pytest.mark.parametrize("hop", HOPS)
def test_whole_hops_are_told(hop: int) -> None:
    """A length of a whole, prime number of hops has that hop, and one frame more has none of it."""
    assert hop_of(hop * 131) == hop
    assert hop_of(hop * 131 + 1) != hop


def test_larger_hops_count_as_the_one_they_hold() -> None:
    """Multiples of 512 and 1024 count as 256, so that each of its clips gives a vocoder the same value."""
    assert {hop_of(256 * hops) for hops in range(80, 120)} == {256.0}


def test_arbitrary_lengths_have_none() -> None:
    """Of arbitrary lengths at most 6 % are a multiple of any hop."""
    draw = np.random.default_rng(1).integers(20000, 200000, 500)
    assert np.mean([hop_of(int(frames)) > 1 for frames in draw]) <= CHANCE + 3 * (CHANCE / len(draw)) ** 0.5


def test_an_empty_clip_has_no_length() -> None:
    """A clip without samples is turned down."""
    with pytest.raises(ClipError, match="no samples"):
        hop_of(0)


def test_a_public_set_gives_itself_away(shared: Path) -> None:
    """In one public set every synthetic length is a multiple of 256, and hardly a human one."""
    data = shared / "data"
    found: dict[str, list[float]] = {"human": [], "synthetic": []}
    for row in csv.DictReader((data / "detection.csv").read_text(encoding="utf-8").splitlines()):
        clip, _ = audio.decode((data / row["file_name"]).read_bytes(), row["file_name"])
        found[row["condition"]].append(LengthGranularity().measure(clip)["hop_divisor"])
    assert set(found["synthetic"]) == {256.0}
    assert auc(found["human"], found["synthetic"]) >= 0.5 + SEPARATION
