"""Studies whose tilts are known by design: what is planted is found, and what is not planted is not."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile
import yaml

from prep.auc import auc
from prep.clip import Clip
from prep.progress import Silent
from prep.run import run_study
from prep.spectrum import filter_zero_phase, tilt_db_per_octave, tilt_fir

if TYPE_CHECKING:
    from pathlib import Path

FIT_TOLERANCE = 0.10  # dB/octave, of a fitted correction
AUC_TOLERANCE = 0.02  # no unit, of the AUC of a corpus of known tilt
CLIP_TOLERANCE = 0.02  # dB/octave, of a clip's tilt
RATE = 22050
SPEAKERS, PASSAGES = 6, 3

pytestmark = pytest.mark.usefixtures("inline")


def clip_of(tilt: float, draw: np.random.Generator) -> Clip:
    """Return a second of syllables of noise, equalised until it measures the designed tilt."""
    frames = RATE
    envelope = np.clip(np.sin(2 * np.pi * 3 * np.arange(frames) / RATE + draw.uniform(0, 6)), 0.01, 1)
    clip = Clip((0.02 * draw.standard_normal(frames) * envelope)[:, np.newaxis].astype(np.float32), RATE, "made")
    for _ in range(6):
        missing = tilt - tilt_db_per_octave(clip)
        clip = clip.with_samples(filter_zero_phase(clip.samples, tilt_fir(missing, RATE)))
    return clip.with_samples(clip.samples * (0.03 / np.sqrt(np.mean(clip.samples**2))))


def study_of(folder: Path, difference: float, cap: float = 3.0) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Run a study whose synthetic side is brighter by a difference in dB/octave; return record and designed tilts."""
    draw = np.random.default_rng(5)
    by_speaker = draw.normal(0, 0.5, (2, SPEAKERS))
    tilts = -5.5 + by_speaker[:, :, np.newaxis] + draw.normal(0, 0.3, (2, SPEAKERS, PASSAGES))
    tilts -= np.median(tilts, axis=(1, 2), keepdims=True)  # both sides around one value ...
    tilts[1] += difference  # ... but for what is planted
    tilts -= 5.5
    rows = []
    for side, condition in enumerate(("human", "synthetic")):
        for speaker in range(SPEAKERS):
            for passage in range(PASSAGES):
                name = f"{condition}{speaker}{passage}.wav"
                clip = clip_of(float(tilts[side, speaker, passage]), draw)
                soundfile.write(folder / name, clip.samples, RATE, subtype="PCM_24")
                rows.append({"file_name": name, "condition": condition, "speaker": f"{condition}{speaker}"})
    with (folder / "clips.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    tilt = {"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}, "max_db_per_octave": cap}
    config = {
        "study": "known",
        "clips": {"table": "clips.csv"},
        "compare": {"a": "human", "b": "synthetic"},
        "heldout": {"seed": 1},
        "chain": [{"tilt_eq": tilt}, {"shared_gain": {"target_lufs": -32}}, {"encode": {"codec": "flac"}}],
        "audit": {"cues": ["tilt"]},
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return run_study(folder / "study.yaml", Silent()).record, tilts[0].ravel(), tilts[1].ravel()


def shift_of(a: np.ndarray, b: np.ndarray) -> float:
    """Return the Hodges-Lehmann shift, from its definition."""
    return float(np.median(b[:, np.newaxis] - a[np.newaxis, :]))


@pytest.mark.parametrize("difference", [1.2, -0.6, 0.0])
def test_a_planted_difference_is_found_and_taken_out(tmp_path: Path, difference: float) -> None:
    """The released fit is the designed shift, the AUC is the design's, and what is delivered has no shift left."""
    record, a, b = study_of(tmp_path, difference)
    fit = record["fits"]["release"]["tilt_eq"]
    audit = record["audit"]
    held = [clip for clip in record["clips"] if clip["half"] == "held-out"]
    held_a, held_b = (
        np.array([clip["source"]["cues"]["tilt"]["tilt_db_per_octave"] for clip in held if side in clip["file_name"]])
        for side in ("human", "synthetic")
    )
    evidence = record["fits"]["evidence"]["tilt_eq"]["applied_db_per_octave"]

    assert fit["applied_db_per_octave"] == pytest.approx(shift_of(a, b), abs=FIT_TOLERANCE)
    assert not fit["capped"]
    assert audit["sources"]["tilt"]["auc"] == pytest.approx(auc(a, b), abs=AUC_TOLERANCE)
    assert audit["before"]["tilt"]["auc"] == pytest.approx(auc(held_a, held_b), abs=AUC_TOLERANCE)
    assert audit["after"]["tilt"]["auc"] == pytest.approx(auc(held_a + evidence, held_b), abs=AUC_TOLERANCE)
    assert audit["delivered"]["tilt"]["auc"] == pytest.approx(auc(a + shift_of(a, b), b), abs=AUC_TOLERANCE)


def test_beyond_the_cap_a_part_remains_and_is_said(tmp_path: Path) -> None:
    """A difference larger than the cap is corrected by the cap alone; the record and the report say what remains."""
    record, a, b = study_of(tmp_path, 4.0, cap=1.5)
    fit = record["fits"]["release"]["tilt_eq"]
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    methods = (tmp_path / "out" / "methods.md").read_text(encoding="utf-8")

    assert fit["capped"]
    assert fit["applied_db_per_octave"] == pytest.approx(1.5)
    assert fit["shift_db_per_octave"] == pytest.approx(shift_of(a, b), abs=FIT_TOLERANCE)
    assert record["audit"]["delivered"]["tilt"]["auc"] == pytest.approx(auc(a + 1.5, b), abs=AUC_TOLERANCE)
    assert "The cap bit" in report
    assert "cap of 1.5 dB/octave" in methods


def test_the_clips_measure_as_designed() -> None:
    """The maker of these studies meets its own design, so that the tests above test prep."""
    draw = np.random.default_rng(2)
    for tilt in (-8.0, -5.5, -3.0):
        assert tilt_db_per_octave(clip_of(tilt, draw)) == pytest.approx(tilt, abs=CLIP_TOLERANCE)
