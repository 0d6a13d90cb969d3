"""A run from config to output folder: what it leaves, what it proves, and what it refuses."""

from __future__ import annotations

import csv
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
import soundfile
import yaml

from prep.errors import ClipError, ConfigError, NothingUsableError, RefusedError
from prep.passes import Runner
from prep.progress import Silent
from prep.publish import PUBLISHED_TIME, study_secret
from prep.record import VOLATILE
from prep.run import Done, audit_study, run_study
from prep.stage import Applied, Stage
from prep.store import digest
from prep.verify import verify_output
from prep.visit import Look, Treatment

if TYPE_CHECKING:
    from prep.clip import Clip

MakeStudy = Any

LEVEL_DIFFERENCE_DB = 0.01  # dB; the published promise of a shared gain
FLOAT_ROUNDING_DB = 1e-4  # dB; float32 samples


def run(config: Path, **options: Any) -> Done:
    """Run a study without words."""
    return run_study(config, Silent(), **options)


def edited(config: Path, **settings: Any) -> Path:
    """Change settings of a config in its place."""
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    config.write_text(yaml.safe_dump({**values, **settings}, sort_keys=False), encoding="utf-8")
    return config


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def left_by(output: Path) -> dict[str, bytes]:
    """Return every file of an output folder that must be the same every time, without volatile fields."""
    found = {}
    for path in sorted(output.rglob("*")):
        if path.is_file() and path.name != "secret":
            data = path.read_bytes()
            if path.name == "run.json":
                record = json.loads(data)
                data = json.dumps({name: value for name, value in record.items() if name not in VOLATILE}).encode()
            found[str(path.relative_to(output))] = data
    return found


@pytest.mark.usefixtures("inline")
def test_a_run_leaves_a_blinded_content_addressed_set(make_study: MakeStudy) -> None:
    """Each clip is 44.1 kHz mono 16-bit FLAC named by its hash; the manifest says nothing of conditions."""
    config = make_study()
    done = run(config)
    output = config.parent / "out"
    manifest = rows_of(output / "manifest.csv")

    assert done.exit_code == 0
    assert len(manifest) == 16
    for row in manifest:
        path = output / row["file"]
        info = soundfile.info(path)
        assert path.name == f"{digest(path.read_bytes())}.flac"
        assert (info.format, info.subtype, info.samplerate, info.channels) == ("FLAC", "PCM_16", 44100, 1)
        assert info.frames == int(row["frames"]) == round(0.8 * 44100)
        assert path.stat().st_mtime == PUBLISHED_TIME
    visible = (output / "manifest.csv").read_text() + "".join(path.name for path in (output / "audio").iterdir())
    assert not any(word in visible for word in ("human", "synthetic", "wav/", "h0", "s0", "p1", "text"))
    assert [row["id"] for row in manifest] == sorted(row["id"] for row in manifest)


@pytest.mark.usefixtures("inline")
def test_the_key_is_private_and_whole(make_study: MakeStudy) -> None:
    """The key names every row with its source, and it and the record are for the owner alone."""
    config = make_study()
    run(config)
    output = config.parent / "out"
    key = {row["id"]: row for row in rows_of(output / "key.csv")}

    for row in rows_of(output / "manifest.csv"):
        entry = key[row["id"]]
        assert entry["source_sha256"] == digest((config.parent / entry["file_name"]).read_bytes())
        assert entry["sha256"] == row["sha256"]
        assert entry["text_sha256"] == digest(entry["text"].encode())
    for name in ("key.csv", "run.json", "report.md", "methods.md", "stimuli.csv", "secret"):
        assert (output / name).stat().st_mode & 0o777 == 0o600, name


@pytest.mark.usefixtures("inline")
def test_no_table_column_is_lost(make_study: MakeStudy) -> None:
    """A table column that is called as one of the key's own is kept beside it."""
    config = make_study(speakers=2, passages=1, chain=[{"encode": {}}])
    table = config.parent / "clips.csv"
    table.write_text(table.read_text().replace("text", "id", 1), encoding="utf-8")
    run(config)
    row = rows_of(config.parent / "out" / "key.csv")[0]

    assert row["table.id"] == "text 0"
    assert len(row["id"]) == 16


@pytest.mark.usefixtures("inline")
def test_the_record_proves_the_tilt(make_study: MakeStudy) -> None:
    """The record has both fits and the tilt AUC before, after and delivered; released tilts are not told apart."""
    done = run(make_study())
    record = json.loads((done.folder / "run.json").read_bytes())  # type: ignore[operator]

    assert record["audit"]["sources"]["tilt"]["auc"] < 0.2
    assert abs(record["audit"]["delivered"]["tilt"]["auc"] - 0.5) < 0.15
    assert record["audit"]["before"]["tilt"]["clips_a"] == record["audit"]["after"]["tilt"]["clips_a"] == 4
    assert set(record["fits"]["evidence"]) == set(record["fits"]["release"]) == {"tilt_eq", "shared_gain"}
    assert record["fits"]["evidence"]["tilt_eq"] != record["fits"]["release"]["tilt_eq"]
    assert record["one_sided"] == [
        {"stage": "tilt_eq", "rows": {"condition": "human"}, "treated_by_condition": {"human": 8}}
    ]
    for word in ("AUC", "smallest p", "No clip was excluded", "dB/octave"):
        assert word in (done.folder / "report.md").read_text()  # type: ignore[operator]


@pytest.mark.usefixtures("inline")
def test_held_out_clips_are_rendered_through_the_evidence_fit(make_study: MakeStudy) -> None:
    """Evidence clips are held-out clips of the adjusted side through the fit of the other half, and only those."""
    record = run(make_study()).record
    moved = {}
    for clip in record["clips"]:
        assert (clip["evidence"] is not None) == (clip["half"] == "held-out")
        if clip["evidence"]:
            before = clip["source"]["cues"]["tilt"]["tilt_db_per_octave"]
            change = clip["evidence"]["cues"]["tilt"]["tilt_db_per_octave"] - before
            moved.setdefault(clip["columns"]["condition"], []).append(change)
    applied = record["fits"]["evidence"]["tilt_eq"]["applied_db_per_octave"]

    assert np.median(moved["human"]) == pytest.approx(applied, abs=0.05)  # dB/octave; the designed slope
    assert np.median(moved["synthetic"]) == pytest.approx(0, abs=0.05)


@pytest.mark.usefixtures("inline")
def test_a_shared_gain_keeps_the_differences_between_clips(make_study: MakeStudy) -> None:
    """Level differences between clips before encoding are unchanged to 0.01 dB."""
    config = make_study(chain=[{"shared_gain": {"target_lufs": -30}}, {"encode": {"codec": "wav", "bit_depth": 32}}])
    record = run(config).record
    changes = [
        clip["delivered"]["cues"]["loudness"]["integrated_lufs"] - clip["source"]["cues"]["loudness"]["integrated_lufs"]
        for clip in record["clips"]
    ]

    assert max(changes) - min(changes) < LEVEL_DIFFERENCE_DB


@pytest.mark.usefixtures("inline")
def test_the_same_study_gives_the_same_bytes(make_study: MakeStudy) -> None:
    """A second run changes no byte and writes no new record; so does one without the cache."""
    config = make_study()
    run(config)
    before = left_by(config.parent / "out")
    run(config)
    again = left_by(config.parent / "out")
    shutil.rmtree(config.parent / ".prep-cache")
    run(config)

    assert before == again == left_by(config.parent / "out")


def test_the_number_of_workers_changes_no_byte(make_study: MakeStudy) -> None:
    """One worker and two, each from an empty cache, under one secret, leave the same bytes."""
    config = make_study(speakers=3)
    (config.parent / "secret").write_bytes(b"0123456789abcdef0123456789abcdef")
    left = []
    for count in (1, 2):
        settings = edited(config, output=f"out{count}", cache=f".cache{count}")
        run(settings, workers=count, secret=config.parent / "secret")
        found = left_by(config.parent / f"out{count}")
        left.append({name: data.replace(f"out{count}".encode(), b"out") for name, data in found.items()})

    assert left[0] == left[1]


def test_a_killed_run_goes_on_to_the_same_bytes(make_study: MakeStudy) -> None:
    """A run killed without warning half-way leaves nothing half-written, and the next ends as if it had not been."""
    config = make_study(speakers=3)
    secret = config.parent / "secret"
    secret.write_bytes(b"0123456789abcdef0123456789abcdef")
    run(edited(config, output="out-at-once", cache=".whole"), secret=secret, workers=1)
    edited(config, output="out-killed", cache=".killed")
    command = [sys.executable, "-m", "prep", "run", str(config), "--workers", "1", "--secret", str(secret)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cache, deadline = config.parent / ".killed", time.monotonic() + 60
    while len([path for path in cache.rglob("*") if path.is_file()]) < 20 and time.monotonic() < deadline:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    held = list((config.parent / "out-killed").rglob("*.flac"))
    run(config, secret=secret, workers=1)
    whole = {name: data.replace(b"out-at-once", b"") for name, data in left_by(config.parent / "out-at-once").items()}
    killed = {name: data.replace(b"out-killed", b"") for name, data in left_by(config.parent / "out-killed").items()}

    assert not held
    assert whole == killed


@pytest.mark.usefixtures("inline")
def test_one_bad_clip_stops_no_other(make_study: MakeStudy) -> None:
    """Unreadable, empty, silent and non-finite clips are named with a reason, and the rest is delivered."""
    config = make_study()
    wav = config.parent / "wav"
    (wav / "h0_0.wav").write_bytes(b"")
    (wav / "s1_1.wav").write_text("this is not sound")
    soundfile.write(wav / "h1_0.wav", np.zeros(16000), 16000)
    soundfile.write(wav / "s2_0.wav", np.full(16000, np.nan), 16000, subtype="FLOAT")
    done = run(config)
    failed = {clip["file_name"]: clip["failure"] for clip in done.record["clips"] if clip["failure"]}
    key = {row["file_name"]: row for row in rows_of(config.parent / "out" / "key.csv")}

    assert done.exit_code == 1
    assert set(failed) == {"wav/h0_0.wav", "wav/s1_1.wav", "wav/h1_0.wav", "wav/s2_0.wav"}
    assert all(failure["reason"] for failure in failed.values())
    assert len(rows_of(config.parent / "out" / "manifest.csv")) == 12
    assert key["wav/h0_0.wav"]["status"] == "failed"
    assert "silent" in key["wav/h1_0.wav"]["reason"]
    assert "Of 16 source clips, 4 were excluded" in (config.parent / "out" / "methods.md").read_text()


@pytest.mark.usefixtures("inline")
def test_nothing_usable_is_said(make_study: MakeStudy) -> None:
    """Where no clip can be read, nothing is written and every reason is named."""
    config = make_study(speakers=1, passages=1)
    for path in (config.parent / "wav").iterdir():
        path.write_bytes(b"")

    with pytest.raises(NothingUsableError, match=r"wav/h0_0.wav"):
        run(config)
    assert not (config.parent / "out" / "audio").exists()


@pytest.mark.usefixtures("inline")
def test_one_reason_for_all_clips_is_one_line_with_a_way_out(make_study: MakeStudy) -> None:
    """Where one reason loses every clip the worst is told and the others counted, and its advice saves them all."""
    chain = [{"clip_loudness": {"target_lufs": -1}}, {"encode": {}}]
    config = make_study(speakers=1, chain=chain, audit={"cues": ["duration"]})
    with pytest.raises(NothingUsableError) as caught:
        run(config)
    first, *lines = str(caught.value).splitlines()
    assert first.endswith("no clip is left to work with:")
    assert len(lines) == 1
    assert " and 3 more: at -1 LUFS its true peak passes" in lines[0]

    safe = float(lines[0].split("set target_lufs to ")[1].split()[0])
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("target_lufs: -1", f"target_lufs: {safe}"), encoding="utf-8")
    assert run(config).record["counts"] == {"delivered": 4}


@pytest.mark.usefixtures("inline")
def test_a_reason_does_not_repeat_the_name_of_its_clip(make_study: MakeStudy) -> None:
    """Why a file cannot be read is kept without its name, for whoever tells of it names the clip."""
    config = make_study(speakers=1, chain=["encode"], audit={"cues": ["duration"]})
    (config.parent / "wav" / "h0_0.wav").write_bytes(b"RIFF")
    reasons = [clip["failure"]["reason"] for clip in run(config).record["clips"] if clip["failure"]]

    assert len(reasons) == 1
    assert reasons[0]
    assert "h0_0" not in reasons[0]


@pytest.mark.usefixtures("inline")
def test_an_unsafe_target_is_refused(make_study: MakeStudy) -> None:
    """A shared gain that would pass the ceiling stops, names clip and safe target, and writes nothing."""
    config = make_study(chain=[{"shared_gain": {"target_lufs": -5}}, {"encode": {}}])

    with pytest.raises(RefusedError, match=r"wav/.*\.wav.*set target_lufs to -\d+\.\d\d or lower"):
        run(config)
    assert not (config.parent / "out" / "manifest.csv").exists()


@pytest.mark.usefixtures("inline")
def test_contradicting_labels_stop_the_run(make_study: MakeStudy) -> None:
    """Equal bytes under two conditions, or equal samples in two containers, are named and stop the run."""
    config = make_study()
    wav = config.parent / "wav"
    shutil.copy(wav / "h0_0.wav", wav / "s0_0.wav")

    with pytest.raises(ConfigError, match=r"same bytes differ in condition"):
        run(config)
    samples, rate = soundfile.read(wav / "h0_0.wav", dtype="int16")
    soundfile.write(wav / "s0_0.wav", samples, rate, format="FLAC")
    with pytest.raises(ConfigError, match=r"same samples differ in condition"):
        run(config)


@pytest.mark.usefixtures("inline")
def test_earlier_records_stay(make_study: MakeStudy) -> None:
    """A changed study adds a record; the earlier one, and the audio that only it lists, stay readable."""
    config = make_study()
    run(config)
    first = (config.parent / "out" / "runs" / "0001" / "run.json").read_bytes()
    before = {path.name for path in (config.parent / "out" / "audio").iterdir()}
    edited(config, chain=[{"shared_gain": {"target_lufs": -28}}, {"encode": {"codec": "flac"}}])
    run(config)
    output = config.parent / "out"

    assert sorted(path.name for path in (output / "runs").iterdir()) == ["0001", "0002"]
    assert (output / "runs" / "0001" / "run.json").read_bytes() == first
    assert {path.name for path in (output / "runs" / "0001" / "audio").iterdir()} == before
    listed = {row["file"] for row in rows_of(output / "manifest.csv")}
    assert {f"audio/{path.name}" for path in (output / "audio").iterdir()} == listed


@pytest.mark.usefixtures("inline")
def test_one_changed_clip_is_redone_alone(make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached by content: touching or moving changes nothing, and one changed clip is rendered alone."""
    chain = [{"clip_loudness": {"target_lufs": -30}}, {"encode": {"codec": "flac"}}]
    config = make_study(chain=chain)
    run(config)
    moved = shutil.move(config.parent, config.parent.with_name("moved")) / config.name
    os.utime(moved.parent / "wav" / "h0_0.wav", (0, 0))
    rendered: list[str] = []
    encode = type(__import__("prep.stages.encode", fromlist=["Encode"]).Encode()).encode

    def counted(self: Any, clip: Any, source: bytes) -> Any:
        rendered.append(clip.id)
        return encode(self, clip, source)

    monkeypatch.setattr("prep.stages.encode.Encode.encode", counted)
    run(moved)
    after_moving = list(rendered)
    samples, rate = soundfile.read(moved.parent / "wav" / "h1_1.wav")
    soundfile.write(moved.parent / "wav" / "h1_1.wav", samples * 0.5, rate)
    run(moved)

    assert after_moving == []
    assert rendered == ["wav/h1_1.wav"]


@pytest.mark.usefixtures("inline")
def test_roles_are_treated_alike_but_not_fitted(make_study: MakeStudy) -> None:
    """A reference goes through the same chain and is delivered, and no fit and no audit counts it."""
    config = make_study()
    table = config.parent / "clips.csv"
    rows = rows_of(table)
    for row in rows:
        row["role"] = "reference" if row["file_name"] == "wav/h0_0.wav" else ""
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    record = run(config).record
    reference = next(clip for clip in record["clips"] if clip["file_name"] == "wav/h0_0.wav")

    assert reference["half"] is None
    assert reference["delivered"]
    assert "tilt_eq" in reference["stages"]
    assert record["fits"]["release"]["tilt_eq"]["adjust_clips"] == 7
    assert record["audit"]["sources"]["tilt"]["clips_a"] == 7


@pytest.mark.usefixtures("inline")
def test_equal_audio_has_unlinkable_ids(make_study: MakeStudy) -> None:
    """Two rows with equal audio have different ids, and another secret gives other ids for all."""
    config = make_study()
    wav = config.parent / "wav"
    shutil.copy(wav / "h0_0.wav", wav / "h0_1.wav")
    ids = []
    for number in (1, 2):
        secret = config.parent / f"secret{number}"
        secret.write_bytes(f"{number}".encode() * 32)
        run(edited(config, output=f"out{number}"), secret=secret)
        ids.append([row["id"] for row in rows_of(config.parent / f"out{number}" / "key.csv")])

    assert len(set(ids[0])) == 16
    assert not set(ids[0]) & set(ids[1])


@pytest.mark.usefixtures("inline")
def test_an_audit_writes_nothing(make_study: MakeStudy) -> None:
    """The proof alone has the same figures as the run and leaves no output folder."""
    config = make_study()
    audited = audit_study(config, Silent())

    assert not (config.parent / "out").exists()
    assert audited.record["audit"] == run(config).record["audit"]


@pytest.mark.usefixtures("inline")
def test_without_speakers_the_audit_is_descriptive(make_study: MakeStudy) -> None:
    """A table without speakers and passages gives figures but no test and no held-out claim."""
    config = make_study()
    edited(config, clips={"table": "clips.csv", "columns": {"voice": "speaker", "line": "passage"}})
    record = run(config).record

    assert record["split"] is None
    assert record["audit"]["before"] is None
    assert record["audit"]["delivered"]["tilt"]["auc"] is not None
    assert "descriptive" in (config.parent / "out" / "report.md").read_text()


@pytest.mark.usefixtures("inline")
def test_the_report_says_that_the_cap_bit(make_study: MakeStudy) -> None:
    """Beyond the cap the rest of the difference remains, and the report says so."""
    tilt = {"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}, "max_db_per_octave": 0.25}
    config = make_study(chain=[{"tilt_eq": tilt}, {"encode": {}}])
    record = run(config).record

    assert record["fits"]["release"]["tilt_eq"]["capped"]
    assert record["fits"]["release"]["tilt_eq"]["applied_db_per_octave"] == pytest.approx(-0.25)
    assert "The cap bit" in (config.parent / "out" / "report.md").read_text()


@pytest.mark.usefixtures("inline")
def test_as_produced_serves_the_source_bytes(make_study: MakeStudy) -> None:
    """`copy` delivers the very samples of the source in the source's format, without tags."""
    config = make_study(chain=[{"encode": {"codec": "copy"}}])
    wav = config.parent / "wav" / "h0_0.wav"
    samples, rate = soundfile.read(wav, dtype="int16")
    with soundfile.SoundFile(wav, "w", rate, 1, "PCM_16") as file:
        file.title, file.comment = "VENDOR-MARK", "VENDOR-MARK"
        file.write(samples)
    run(config)
    row = next(row for row in rows_of(config.parent / "out" / "key.csv") if row["file_name"] == "wav/h0_0.wav")
    delivered = config.parent / "out" / "audio" / f"{row['sha256']}.wav"

    assert np.array_equal(soundfile.read(delivered, dtype="int16")[0], samples)
    assert b"VENDOR-MARK" not in delivered.read_bytes()


@pytest.mark.usefixtures("inline")
def test_equal_clips_are_told(make_study: MakeStudy) -> None:
    """Two rows of one condition with equal bytes are delivered, and the record and the report say so."""
    config = make_study(speakers=2, passages=2, chain=[{"encode": {}}])
    wav = config.parent / "wav"
    shutil.copy(wav / "h0_0.wav", wav / "h0_1.wav")
    done = run(config)

    assert done.exit_code == 0
    assert any("h0_0.wav has the same bytes as wav/h0_1.wav" in notice for notice in done.record["notices"])
    assert "same bytes" in (config.parent / "out" / "report.md").read_text()


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("content", [b"", b"short"])
def test_a_weak_secret_is_refused(make_study: MakeStudy, content: bytes) -> None:
    """An output folder whose secret is empty or short is refused, for anyone could recompute the ids."""
    config = make_study(speakers=1, passages=1, chain=[{"encode": {}}])
    (config.parent / "out").mkdir()
    (config.parent / "out" / "secret").write_bytes(content)

    with pytest.raises(ConfigError, match="too short to keep the ids secret"):
        run(config)


@pytest.mark.usefixtures("inline")
def test_private_files_become_private_again(make_study: MakeStudy) -> None:
    """A private file that others can read is closed by the next run."""
    config = make_study(speakers=1, passages=1, chain=[{"encode": {}}])
    run(config)
    for name in ("secret", "key.csv", "run.json"):
        (config.parent / "out" / name).chmod(0o666)
    run(config)

    for name in ("secret", "key.csv", "run.json"):
        assert (config.parent / "out" / name).stat().st_mode & 0o777 == 0o600, name


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("content", [b"[]", b'{"clips": []', b"null"])
def test_a_damaged_record_does_not_stop_a_run(make_study: MakeStudy, content: bytes) -> None:
    """A record that is not one any more is left where it is, and a new one is written."""
    config = make_study(speakers=1, passages=1, chain=[{"encode": {}}])
    done = run(config)
    (done.folder / "run.json").write_bytes(content)  # type: ignore[operator]

    assert run(config).folder.name == "0002"  # type: ignore[union-attr]


@pytest.mark.usefixtures("inline")
def test_names_cannot_write_the_report(make_study: MakeStudy) -> None:
    """Markup, bars and control codes in names stay text in the report."""
    config = make_study(speakers=2, passages=1, chain=[{"encode": {}}], study="x\n# Injected <script>\x1b[31m")
    table = config.parent / "clips.csv"
    table.write_text(table.read_text().replace(",human,", ",<b>hu|man,"), encoding="utf-8")
    run(edited(config, compare={"a": "<b>hu|man", "b": "synthetic"}))
    report = (config.parent / "out" / "report.md").read_text()

    assert "\n# Injected" not in report
    assert "<script>" not in report
    assert "<b>" not in report
    assert "\x1b" not in report


@pytest.mark.usefixtures("inline")
def test_a_lowered_level_is_in_the_report(make_study: MakeStudy) -> None:
    """A clip that stays under its target because of the ceiling is listed as not achieved."""
    loud = {"clip_loudness": {"target_lufs": -5, "on_over": "lower"}}
    config = make_study(speakers=1, passages=1, chain=[loud, "encode"])
    run(config)
    report = (config.parent / "out" / "report.md").read_text()

    assert "## Not achieved" in report
    assert "dB under its target, for the ceiling" in report


@pytest.mark.usefixtures("inline")
def test_a_failed_clip_keeps_its_source_hash(make_study: MakeStudy) -> None:
    """A clip that is set aside after it was read is in the key with the hash of its file."""
    config = make_study()
    path = config.parent / "wav" / "h1_0.wav"
    soundfile.write(path, np.zeros(16000), 16000)
    run(config)
    row = next(row for row in rows_of(config.parent / "out" / "key.csv") if row["file_name"] == "wav/h1_0.wav")

    assert row["status"] == "failed"
    assert row["source_sha256"] == digest(path.read_bytes())


@pytest.mark.usefixtures("inline")
def test_one_speaker_a_side_is_prepared_and_described(make_study: MakeStudy) -> None:
    """Where no half can hold both conditions the correction is released and the audit descriptive, with a notice."""
    record = run(make_study(speakers=1)).record

    assert record["split"] is None
    assert record["counts"] == {"delivered": 4}
    assert any("nothing is held out" in notice for notice in record["notices"])


@pytest.mark.usefixtures("inline")
def test_a_condition_that_is_lost_whole_is_told(make_study: MakeStudy) -> None:
    """Where every clip of one condition is turned down the others are delivered, and the report says what is not."""
    screen = {"screen": {"duration": {"min_duration_seconds": 0.5}}}
    config = make_study(speakers=2, passages=1, chain=[screen, "encode"])
    for row in rows_of(config.parent / "clips.csv"):
        if row["condition"] == "human":
            soundfile.write(config.parent / row["file_name"], np.zeros(1), 16000)  # no page may divide by its length
    done = run(config)
    report = (config.parent / "out" / "report.md").read_text()

    assert done.exit_code == 1
    assert done.record["counts"]["delivered"] == 2
    assert "one condition has no clip left" in report
    assert (config.parent / "out" / "report.html").is_file()


def test_two_runs_at_once_have_one_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two first runs at once the one makes the secret of the folder, and the other waits and takes it."""
    drawn = iter(("a" * 64, "b" * 64))

    def token_hex(_: int) -> str:
        time.sleep(0.3)  # in which the other looks whether there is one
        return next(drawn)

    monkeypatch.setattr(secrets, "token_hex", token_hex)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: study_secret(tmp_path / "out", None), range(2)))

    assert found == [b"a" * 64] * 2


def test_two_runs_into_one_folder_both_end_well(make_study: MakeStudy) -> None:
    """Two runs at once into one output folder do not disturb each other, and what they leave verifies."""
    config = make_study(speakers=2, passages=1)
    command = [sys.executable, "-m", "prep", "run", str(config), "--workers", "1"]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
    said = [process.communicate()[1] for process in processes]

    assert [process.returncode for process in processes] == [0, 0], said
    assert verify_output(config.parent / "out").exit_code == 0


@pytest.mark.usefixtures("inline")
def test_the_report_names_where_a_cue_comes_from(make_study: MakeStudy) -> None:
    """Measured after each stage, the stage that takes tilt out is named; the null pass and the format alone keep it."""
    config = make_study(
        audit={"after_each_stage": True, "null_pass": True, "baseline": "format_only", "cues": ["tilt"]}
    )
    record = run(config).record
    looks = record["audit"]["looks"]
    sources = record["audit"]["sources"]["tilt"]["separation"]

    assert list(looks) == [
        "after tilt_eq",
        "null pass tilt_eq",
        "after convert",
        "after shared_gain",
        "format only",
    ]
    assert sources > 0.3
    assert looks["after tilt_eq"]["tilt"]["separation"] < 0.15
    assert looks["null pass tilt_eq"]["tilt"]["separation"] > 0.3
    assert looks["format only"]["tilt"]["separation"] > 0.3
    assert "tilt_eq removed or weakened tilt" in (config.parent / "out" / "report.md").read_text()


@pytest.mark.usefixtures("inline")
def test_held_out_clips_teach_no_score(make_study: MakeStudy) -> None:
    """Where every clip is held out, a score of several numbers has nothing to learn from and is not measurable."""
    config = make_study(audit={"cues": ["peak", "loudness"]}, chain=[{"encode": {}}])
    table = config.parent / "clips.csv"
    rows = rows_of(table)
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0], "half"])
        writer.writeheader()
        writer.writerows({**row, "half": "held-out"} for row in rows)
    audit = run(edited(config, heldout={"column": "half"})).record["audit"]

    assert audit["before"]["peak"]["verdict"] == "not measurable"
    assert audit["before"]["all"]["auc"] is None
    assert audit["before"]["loudness"]["auc"] is not None


@pytest.mark.usefixtures("inline")
def test_files_that_no_run_wrote_are_left_alone(make_study: MakeStudy) -> None:
    """What a person put into the audio folder stays, whether at the first run or a later one, and verify names it."""
    config = make_study(speakers=1, passages=1, chain=[{"encode": {}}])
    mine = config.parent / "out" / "audio" / "master.wav"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")
    run(config)
    run(edited(config, chain=[{"encode": {"bit_depth": 24}}]))

    assert mine.read_bytes() == b"mine"
    assert "master.wav" in "".join(str(problem) for problem in verify_output(config.parent / "out").problems)


class Refusing(Stage[None, None]):
    """A stage that no clip gets through."""

    NAME: ClassVar[str] = "refusing"

    def apply(self, clip: Clip, fit: None) -> Applied:  # noqa: ARG002
        """Refuse the clip."""
        raise ClipError(f"{clip.id}: refused")


@pytest.mark.usefixtures("inline")
def test_looking_for_the_proof_sets_no_clip_aside(make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clip that cannot be treated for comparison is delivered all the same, and a notice says what was not seen."""

    def refused(self: Runner, *_: Any) -> Look:
        return Look((Treatment(Refusing()),), self.cues)

    monkeypatch.setattr(Runner, "_after", refused)
    done = run(make_study(audit={"after_each_stage": True, "cues": ["tilt"]}))

    assert done.exit_code == 0
    assert done.record["counts"] == {"delivered": 16}
    assert any("look between the stages: refusing" in notice for notice in done.record["notices"])


@pytest.mark.usefixtures("inline")
def test_evidence_that_cannot_be_fitted_stops_no_delivery(make_study: MakeStudy) -> None:
    """Where the fit split cannot keep the promise that all clips keep, clips are delivered and nothing is claimed."""
    tilt = {"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}}
    config = make_study(chain=[{"tilt_eq": tilt}, {"shared_gain": {"target_lufs": -30}}, {"encode": {}}])
    fits = run(config).record["fits"]
    highest = {name: fits[name]["shared_gain"]["highest_true_peak_dbtp"] for name in fits}
    gains = {name: fits[name]["shared_gain"]["gain_db"] for name in fits}
    reached = {name: highest[name] + gains[name] for name in fits}
    if reached["evidence"] <= reached["release"]:
        pytest.skip("these clips do not tell the two fits apart")
    ceiling = (reached["evidence"] + reached["release"]) / 2 + 0.2
    gain = {"shared_gain": {"target_lufs": -30, "ceiling_dbtp": ceiling}}
    record = run(edited(config, chain=[{"tilt_eq": tilt}, gain, {"encode": {}}])).record

    assert record["counts"] == {"delivered": 16}
    assert record["audit"]["after"] is None
    assert any("no held-out evidence" in notice for notice in record["notices"])


@pytest.mark.usefixtures("inline")
def test_the_record_does_not_depend_on_where_prep_is_started(
    make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A study run from another folder leaves the same record, so no new one is written."""
    config = make_study(speakers=1)  # one speaker a side: the record has notices with places in the config
    run(config)
    monkeypatch.chdir(config.parent)
    run(Path(config.name))

    assert [path.name for path in (config.parent / "out" / "runs").iterdir()] == ["0001"]
