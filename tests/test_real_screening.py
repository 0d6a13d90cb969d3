"""A study of real speech whose candidates hold a real music bed and real clipping, through the command line."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile
import yaml
from typer.testing import CliRunner

from prep.__main__ import app
from prep.audio import decode, resample
from prep.models import ModelMissingError, check_models

if TYPE_CHECKING:
    from pathlib import Path

    from prep.clip import Clip

pytestmark = pytest.mark.usefixtures("inline")

RATE = 16000
BED_DB = -10.0  # of the bed under the speech, by RMS
CLIPPED_SHARE = 0.01  # of the samples


def sound(path: Path) -> Clip:
    """Return a file's first channel at 16 kHz."""
    clip, _ = decode(path.read_bytes(), path.name)
    return resample(clip.with_samples(clip.samples[:, :1]), RATE)


@pytest.fixture
def study(tmp_path: Path, shared: Path) -> Path:
    """Three slots: a bed under the first candidate and a clean second; one clipped without a second; one clean."""
    try:
        check_models(["yamnet", "deepfilternet3", "whisper-tiny-en"])
    except ModelMissingError as error:
        pytest.skip(str(error))
    arctic = shared / "data" / "speech_real" / "cmu_arctic"
    # The first is taken for music by itself (0.54), a known false alarm.
    voices = [sound(path).samples[:, 0] for path in sorted(arctic.glob("cmu_arctic_us_*.wav"))[1:4]]
    if len(voices) < 3:
        pytest.skip("fewer than three recordings of cmu_arctic are beside the project")
    bed = sound(shared / "data" / "music_bed" / "wesnoth_30s" / "knolls_30s.ogg").samples[RATE:, 0]
    under = bed[: len(voices[0])] / bed[: len(voices[0])].std() * voices[0].std() * 10 ** (BED_DB / 20)
    level = np.sort(np.abs(voices[1]))[-round(CLIPPED_SHARE * len(voices[1]))]
    sounds = {
        "bed.wav": voices[0] + under,
        "clean.wav": voices[0],
        "clipped.wav": np.clip(voices[1], -level, level),
        "good.wav": voices[2],
    }
    for name, samples in sounds.items():
        soundfile.write(tmp_path / name, 0.9 * samples / np.abs(samples).max(), RATE, subtype="PCM_16")
    with (tmp_path / "clips.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [("file_name", "slot"), ("bed.wav", "1"), ("clean.wav", "1"), ("clipped.wav", "2"), ("good.wav", "3")]
        )
    config = {
        "study": "slots",
        "clips": {"table": "clips.csv"},
        "chain": [{"screen": {"clipping": {}, "music": {}, "preamble": {}}}, {"encode": {"codec": "flac"}}],
        "audit": {"cues": ["loudness"]},
    }
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def test_the_right_clips_come_out(study: Path) -> None:
    """The clean second takes the place of the bed, the clipped slot stays empty; key, report and exit code say so."""
    result = CliRunner().invoke(app, ["run", str(study), "--json"])
    assert result.exit_code == 1
    record = json.loads(result.stdout)
    assert [slot["filled_by"] for slot in record["slots"]] == ["clean.wav", None, "good.wav"]
    with (study.parent / "out" / "key.csv").open(newline="", encoding="utf-8") as file:
        key = {row["file_name"]: row for row in csv.DictReader(file)}
    assert {name: row["status"] for name, row in key.items()} == {
        "bed.wav": "rejected",
        "clean.wav": "delivered",
        "clipped.wav": "rejected",
        "good.wav": "delivered",
    }
    assert key["clean.wav"]["replaces"].startswith("bed.wav (music: music_probability is ")
    assert key["clipped.wav"]["reason"].startswith("clipping: clipped_percent is ")
    report = (study.parent / "out" / "report.md").read_text(encoding="utf-8")
    assert "| bed.wav | rejected | screen | music: music_probability is " in report
    assert len(list((study.parent / "out" / "audio").iterdir())) == 2
