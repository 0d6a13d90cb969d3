"""Faults of segmentation: pieces that overlap, soft edges cut off, ends beyond the recording."""

from __future__ import annotations

import csv
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
import soundfile

if TYPE_CHECKING:
    from pathlib import Path

Case = Any
Prep = Any

FAULTS = ("H24", "H25", "H26")
SPILL_SECONDS = 0.03  # s; how far speech found in steps of 5 ms from levels of 20 ms may reach over the burst

pytestmark = pytest.mark.usefixtures("inline")


def cut(prep: Prep, folder: Path, file_name: str, lines: list[str], padding: float) -> tuple[int, list[dict[str, Any]]]:
    """Cut a take by its pauses; return the exit code and what is told of each clip."""
    (folder / "lines.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "takes.csv").write_text(f"file_name,script\n{file_name},lines.txt\n", encoding="utf-8")
    options = ("--no-recogniser", "--head", padding, "--tail", padding, "--json")
    ran = prep("cut", folder / "takes.csv", "-o", folder / "cut", *options)
    return ran.exit_code, ran.json["clips"]


def frames_of(folder: Path, clips: list[dict[str, Any]]) -> list[int]:
    """Return how many frames each written clip has."""
    return [soundfile.info(folder / "cut" / clip["file_name"]).frames for clip in clips]


def test_h24_padding_is_clamped_to_the_neighbours(case: Case, prep: Prep) -> None:
    """H24: with more padding than half the pauses, pieces are in order, overlap nowhere and repeat no sample."""
    faulty = case("H24")
    lines = [f"burst {word}" for word in ("one", "two", "six", "ten", "red", "big")]
    padding = faulty.values["padding_ms"] / 1000
    code, clips = cut(prep, faulty.folder, "bursts.wav", lines, padding)
    positions = [(clip["start_sample"], clip["end_sample"]) for clip in clips]

    assert code == 0
    assert len(clips) == len(faulty.values["bursts_samples"])
    for (_, end), (start, _) in itertools.pairwise(positions):
        assert end <= start
    assert frames_of(faulty.folder, clips) == [end - start for start, end in positions]
    assert sum(frames_of(faulty.folder, clips)) <= faulty.values["frames"]
    for (start, end), (first, last) in zip(positions, faulty.values["bursts_samples"], strict=True):
        assert start <= first
        assert end >= last
    with (faulty.folder / "cut" / "clips.csv").open(encoding="utf-8") as file:
        told = [(int(row["start_sample"]), int(row["end_sample"])) for row in csv.DictReader(file)]
    assert told == positions


@pytest.mark.parametrize("padding", [0.0, 0.1])
def test_h25_a_soft_hiss_at_either_end_is_kept(case: Case, prep: Prep, padding: float) -> None:
    """H25: hisses 22 dB under the vowel are inside the cut, with the padding that was asked for around them."""
    faulty = case("H25")
    code, clips = cut(prep, faulty.folder, "soft_edges.wav", ["say"], padding)
    (clip,) = clips

    assert code == 0
    assert clip["start_sample"] <= faulty.values["latest_start"] - padding * clip["rate"]
    assert clip["end_sample"] >= faulty.values["earliest_end"] + padding * clip["rate"]
    spill = (padding + SPILL_SECONDS) * clip["rate"]
    assert clip["onset_sample"] >= faulty.values["latest_start"] - SPILL_SECONDS * clip["rate"]
    assert clip["end_sample"] <= faulty.values["earliest_end"] + max(spill, SPILL_SECONDS * clip["rate"] * 2)


def test_h26_an_end_is_a_sample_of_the_recording(case: Case, prep: Prep) -> None:
    """H26: padding past the end gives a clip to the last sample, its length in samples, and nothing is dropped."""
    faulty = case("H26")
    code, clips = cut(prep, faulty.folder, "odd.wav", ["an odd number of samples"], 10.0)
    (clip,) = clips

    assert code == 0
    assert (clip["start_sample"], clip["end_sample"]) == (0, faulty.values["frames"])
    assert frames_of(faulty.folder, clips) == [faulty.values["frames"]]
    whole, _ = soundfile.read(faulty.folder / "odd.wav", dtype="float32")
    piece, _ = soundfile.read(faulty.folder / "cut" / clip["file_name"], dtype="float32")
    assert (piece == whole).all()
    record = json.loads((faulty.folder / "cut" / "takes.json").read_text(encoding="utf-8"))
    assert record["takes"][0]["frames"] == faulty.values["frames"]
