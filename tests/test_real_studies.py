"""The detection preset and a shared gain on two real studies, against figures published for them."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import soundfile
import yaml

from prep.errors import RefusedError
from prep.progress import Silent
from prep.run import Done, audit_study, run_study

PROJECT = Path(__file__).resolve().parents[1]

AUC_TOLERANCE = 0.005  # no unit; the definition leaves no freedom but rounding
SHIFT_TOLERANCE = 0.02  # dB/octave; tolerance of a clip's tilt
PUBLISHED = {"chains": (0.348, -0.733), "detection": (0.506, 0.017)}  # AUC, Hodges-Lehmann shift in dB/octave
LEVEL_DIFFERENCE_DB = 0.01  # dB; the promise of a shared gain


def config_of(folder: Path, shared: Path, preset: str, table: str, **changes: Any) -> Path:
    """Write a preset for a table into a folder."""
    config = yaml.safe_load((PROJECT / "configs" / f"{preset}.yaml").read_text(encoding="utf-8"))
    # The figures are over all clips of the tables; the screen has tests of its own.
    config["chain"] = [step for step in config["chain"] if "screen" not in step]
    config["clips"] = {"table": str(shared / "data" / f"{table}.csv")}
    if table == "chains":
        config["compare"]["unit"] = "corpus"
    path = folder / f"{table}.yaml"
    path.write_text(yaml.safe_dump({**config, **changes}, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=PUBLISHED)
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Done]:
    """Run the detection preset on a real study, once for all tests."""
    shared = PROJECT.parent / "shared"
    if not (shared / "data" / "chains.csv").is_file():
        pytest.skip("the folder shared/ with real recordings is not beside the project")
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, run_study(config_of(folder, shared, "detection", request.param), Silent(), workers=2)


def test_the_published_figures_are_reproduced(study: tuple[str, Done]) -> None:
    """Over all source clips the tilt AUC and the pooled shift are those of the definition."""
    name, done = study
    auc, shift = PUBLISHED[name]

    assert done.record["audit"]["sources"]["tilt"]["auc"] == pytest.approx(auc, abs=AUC_TOLERANCE)
    assert done.record["fit_intervals"]["tilt_eq"]["pooled"]["shift"] == pytest.approx(shift, abs=SHIFT_TOLERANCE)


def test_the_released_correction_leaves_no_tilt(study: tuple[str, Done]) -> None:
    """Where the pooled shift was released, the conditions' tilts have no shift left over the delivered clips."""
    name, done = study
    released = done.record["fits"]["release"]["tilt_eq"]

    assert released["method"] == {"chains": "pooled", "detection": "matched"}[name]
    assert not released["capped"]
    if released["method"] == "pooled":
        assert done.record["audit"]["delivered"]["tilt"]["separation"] < 0.02  # 0 by design but for rounding
    else:
        assert abs(done.record["audit"]["delivered"]["tilt"]["auc_matched"] - 0.5) < 0.15


def test_before_after_and_delivered_are_there(study: tuple[str, Done]) -> None:
    """The record and the report have tilt before and after on held-out speakers and as delivered."""
    _, done = study
    audit, split = done.record["audit"], done.record["split"]
    report = (done.output / "report.md").read_text(encoding="utf-8")  # type: ignore[operator]

    for column in ("before", "after", "delivered"):
        assert 0 <= audit[column]["tilt"]["auc"] <= 1
    held_out = [clip for clip in done.record["clips"] if clip["half"] == "held-out"]
    assert audit["after"]["tilt"]["clips_a"] + audit["after"]["tilt"]["clips_b"] == len(held_out)
    assert {clip["columns"]["speaker"] for clip in held_out} == {
        speaker for speaker, half in split["halves"].items() if half == "held-out"
    }
    assert "The smallest p they can give" in report
    assert "had the split been drawn otherwise" in report


def test_so_few_corpora_settle_nothing(study: tuple[str, Done]) -> None:
    """With four corpora against two no p is printed, and the verdict is not settled whatever the AUC."""
    name, done = study
    after = done.record["audit"]["after"]["tilt"]
    if name == "chains":
        assert after["smallest_p"] > 0.05
        assert after["p"] is None
        assert after["verdict"] == "not settled"
        stability = done.record["stability"]["tilt_eq"]
        assert stability["auc_p95"] - stability["auc_p5"] > 0.3  # one split shows little here
    else:
        assert after["smallest_p"] < 0.05
        assert after["p"] > 0.05


def test_every_clip_is_delivered_in_one_format(study: tuple[str, Done]) -> None:
    """Each clip is 44.1 kHz mono 16-bit FLAC of the exact length, and the manifest has no word of the table."""
    _, done = study
    output: Path = done.output  # type: ignore[assignment]
    for clip in done.record["clips"]:
        info = soundfile.info(output / clip["delivered"]["file"])
        facts = clip["source"]["facts"]
        assert (info.format, info.subtype, info.samplerate, info.channels) == ("FLAC", "PCM_16", 44100, 1)
        assert info.frames == clip["delivered"]["frames"] == round(facts["frames"] * 44100 / facts["rate"])
    visible = (output / "manifest.csv").read_text(encoding="utf-8")
    words = {value for clip in done.record["clips"] for value in clip["columns"].values()}
    assert not [word for word in words if len(word) > 2 and not word.isdigit() and word in visible]


def test_a_hot_target_is_refused_by_name(shared: Path, tmp_path: Path) -> None:
    """At -23 LUFS under a -1 dBTP ceiling one clip of the chains study stands in the way, and is named."""
    gain = {"shared_gain": {"target_lufs": -23, "ceiling_dbtp": -1}}
    config = config_of(tmp_path, shared, "shared_gain", "chains", chain=[gain, {"encode": {}}])

    with pytest.raises(RefusedError, match=r"480_127525_000006_000000_ground-truth.wav.*set target_lufs to -23\.\d\d"):
        run_study(config, Silent(), workers=2)
    assert not (tmp_path / "out" / "manifest.csv").exists()


@pytest.mark.parametrize("table", PUBLISHED)
def test_a_shared_gain_of_real_clips(shared: Path, tmp_path: Path, table: str) -> None:
    """At -26 LUFS both studies are safe, and every clip moves by the same gain to 0.01 dB."""
    chain = [{"shared_gain": {"target_lufs": -26}}, {"encode": {"codec": "wav", "bit_depth": 32}}]
    config = config_of(tmp_path, shared, "shared_gain", table, chain=chain)
    record = run_study(config, Silent(), workers=2).record
    gain_db = record["fits"]["release"]["shared_gain"]["gain_db"]
    for clip in record["clips"]:
        source, delivered = (clip[part]["cues"]["loudness"] for part in ("source", "delivered"))
        if clip["source"]["facts"]["rate"] == 44100:  # elsewhere conversion itself moves the meter a little
            change = delivered["integrated_lufs"] - source["integrated_lufs"]
            assert change == pytest.approx(gain_db, abs=LEVEL_DIFFERENCE_DB)
        assert clip["stages"]["shared_gain"] == {"gain_db": gain_db}
        assert delivered["integrated_lufs"] - source["integrated_lufs"] == pytest.approx(gain_db, abs=0.05)


def test_lab_headers_and_formats_read_alike(shared: Path, tmp_path: Path) -> None:
    """A table with a lab's own headers, in JSONL, gives the same audit as the published one."""
    with (shared / "data" / "detection.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["speaker"].startswith("vits")]
    for row in rows:
        target = tmp_path / row["file_name"]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shared / "data" / row["file_name"], target)
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    lab = [
        {"wav": row["file_name"], "sys": row["condition"], "spk": row["speaker"], "line": row["passage"]}
        for row in rows
    ]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lab), encoding="utf-8")
    headers = {"file_name": "wav", "condition": "sys", "speaker": "spk", "passage": "line"}
    audits = []
    for clips in ({"table": "a.csv"}, {"table": "b.jsonl", "columns": headers}):
        config = config_of(tmp_path, shared, "detection", "detection", clips=clips)
        audits.append(audit_study(config, Silent(), workers=1).record["audit"])

    assert audits[0] == audits[1]
