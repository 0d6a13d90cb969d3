"""Excerpts: what a report lets hear is chosen from the record, made once, private, and checked."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from prep import audio
from prep.__main__ import app
from prep.clip import Clip
from prep.encoding import encode_wav
from prep.errors import ClipError
from prep.excerpts import LEAST_DB, MOST_CLIPS, SECONDS, made_excerpts, parts_of, read_excerpts, wanted_clips
from prep.progress import Silent
from prep.publish import EXCERPTS
from prep.report_page import report_html
from prep.run import run_study
from prep.store import Store, digest
from prep.verify import verify_output

MakeStudy = Any

WITHIN_SECONDS = 0.05  # an MP3 of 24 kHz has frames of 24 ms


@pytest.fixture
def record(eventful: Path) -> dict[str, Any]:
    """Return the record of the eventful run."""
    found: dict[str, Any] = json.loads((eventful / "run.json").read_text(encoding="utf-8"))
    return found


def test_the_record_names_what_is_there(eventful: Path, record: dict[str, Any]) -> None:
    """Each excerpt lies in the record's folder alone, for its owner alone, under the hash of its bytes, and decodes."""
    folder = eventful / "runs" / "0001"
    parts = list(parts_of(record))

    assert {path.stem for path in (folder / EXCERPTS).iterdir()} == {part["sha256"] for part in parts}
    assert not (eventful / EXCERPTS).exists()
    for part in parts:
        path = folder / part["file"]
        assert digest(path.read_bytes()) == part["sha256"]
        assert path.stat().st_mode & 0o077 == 0
        clip, _ = audio.decode(path.read_bytes(), "excerpt")
        assert clip.seconds == pytest.approx(part["seconds"], abs=WITHIN_SECONDS)
        assert clip.channels == 1


def test_what_went_wrong_is_heard(record: dict[str, Any]) -> None:
    """Rejected clips are heard with what stands in their place, limited and capped ones before and after."""
    heard = {clip["file_name"]: clip for clip in record["excerpts"]["clips"]}

    assert heard["clipped.wav"]["kinds"] == ["rejected"]
    assert set(heard["clipped.wav"]) == {"file_name", "kinds", "source", "in_its_place"}
    assert heard["clipped.wav"]["source"]["spans"]
    assert set(heard["alone.wav"]) == {"file_name", "kinds", "source"}
    assert "nothing.wav" not in heard
    for clip in record["clips"]:
        limited = any(note.get("limited_db", 0) > LEAST_DB for note in clip["stages"].values())
        capped = any(note.get("capped_percent") for note in clip["stages"].values())
        kinds = heard.get(clip["file_name"], {"kinds": []})["kinds"]
        assert (limited, capped) == ("limited" in kinds, "capped" in kinds)
        if limited or capped:
            assert "sha256" in heard[clip["file_name"]]["delivered"]


def test_the_most_telling_come_first_and_no_kind_crowds_out_another(record: dict[str, Any]) -> None:
    """Of many the places are dealt round the kinds, the worst of each first, and the rest are counted."""
    model = next(clip for clip in record["clips"] if clip["status"] == "delivered")
    rejected = next(clip for clip in record["clips"] if clip["file_name"] == "clipped.wav")
    clips = [copy.deepcopy(rejected) for _ in range(100)]
    for place in range(200):
        clip = copy.deepcopy(model)
        clip["stages"] = {"clip_loudness": {"limited_db": float(place % 50)}}
        clips.append(clip)
    wanted, left_out = wanted_clips({"clips": clips})

    assert len(wanted) == MOST_CLIPS
    # Of the limited ones four have 0 dB, which is none.
    assert left_out == 100 + 196 - MOST_CLIPS
    assert [item.kinds[0] for item in wanted] == ["rejected"] * (MOST_CLIPS // 2) + ["limited"] * (MOST_CLIPS // 2)
    amounts = [clips[item.place]["stages"]["clip_loudness"]["limited_db"] for item in wanted[MOST_CLIPS // 2 :]]
    assert amounts == [value for value in (49.0, 48.0, 47.0, 46.0, 45.0) for _ in range(4)]


def test_an_excerpt_starts_before_what_was_found(record: dict[str, Any], tmp_path: Path) -> None:
    """A span late in a long clip is heard, and the part delivered moves with what was cut off the start."""
    seconds = 12.0
    sound = np.zeros((int(seconds * 16000), 1), np.float32)
    sound[::100] = 0.1
    data = encode_wav(Clip(sound, 16000, "long"), 16)
    (tmp_path / "long.wav").write_bytes(data)
    store = Store(tmp_path / "store")
    store.put(digest(data), data)
    clip = copy.deepcopy(next(clip for clip in record["clips"] if clip["status"] == "delivered"))
    clip["source"]["sha256"] = clip["delivered"]["sha256"] = digest(data)
    finding = {"outcome": "failed", "on_fail": "flag", "reason": "", "evidence": {"spans": [[6.0, 6.1], [9.0, 9.2]]}}
    clip["screen"] = {"findings": [finding], "cut_for": [], "cut_seconds": 2.0}
    found = made_excerpts({"clips": [clip], "slots": []}, [tmp_path / "long.wav"], store)
    source, delivered = (found.record["clips"][0][name] for name in ("source", "delivered"))

    assert source["start_seconds"] == 5.5
    assert delivered["start_seconds"] == 3.5
    assert source["seconds"] == SECONDS
    assert source["clip_seconds"] == seconds


def test_a_source_that_changed_is_not_heard(record: dict[str, Any], tmp_path: Path) -> None:
    """A file that is gone, or no longer the one that was read, gives no excerpt, and the record says so."""
    clip = next(clip for clip in record["clips"] if clip["file_name"] == "clipped.wav")
    (tmp_path / "other.wav").write_bytes(b"RIFF")
    for name in ("other.wav", "gone.wav"):
        found = made_excerpts({"clips": [clip], "slots": []}, [tmp_path / name], Store(tmp_path))
        assert "not there any more" in found.record["clips"][0]["source"]["missing"]
        assert not found.files


def test_a_codec_that_refuses_stops_nothing(
    record: dict[str, Any], eventful: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where an excerpt cannot be written the record says why, and the others go on."""

    def refuse(*_: Any) -> bytes:
        raise ClipError("excerpt: no encoder")

    monkeypatch.setattr("prep.encoding.encode_mp3", refuse)
    sources = [eventful.parent / clip["file_name"] for clip in record["clips"]]
    found = made_excerpts(record, sources, Store(eventful.parent / ".prep-cache"))

    assert found.record["clips"][0]["source"] == {"missing": "no encoder"}
    assert not found.files


def test_excerpts_are_the_same_every_time(record: dict[str, Any], eventful: Path) -> None:
    """Made again from the record, the sources and the store, they are the same to the byte."""
    sources = [eventful.parent / clip["file_name"] for clip in record["clips"]]
    found = made_excerpts(record, sources, Store(eventful.parent / ".prep-cache"))

    assert found.record == record["excerpts"]
    assert found.files == read_excerpts(eventful, record)


def test_a_page_without_its_excerpts_says_so(record: dict[str, Any], eventful: Path, tmp_path: Path) -> None:
    """Lost or changed excerpts are named on the page and by verify; the rest of the page stands."""
    output = tmp_path / "out"
    shutil.copytree(eventful, output)
    first, second, *_ = sorted((output / "runs" / "0001" / EXCERPTS).iterdir())
    assert not verify_output(output).problems
    first.unlink()
    second.write_bytes(b"other")
    second.chmod(0o644)
    page = report_html(record, read_excerpts(output, record))

    assert "2 excerpts are not beside the record any more" in page
    assert page.count("<audio") == report_html(record, read_excerpts(eventful, record)).count("<audio") - 2
    done = CliRunner().invoke(app, ["report", str(output), "--page", str(tmp_path / "page.html")])
    assert done.exit_code == 0
    assert "note: 2 of " in done.output
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    told = " ".join(str(problem) for problem in verify_output(output).problems)
    assert f"{first.name}: is missing" in told
    assert f"{second.name}: its bytes are not those of its name" in told
    assert f"{second.name}: can be read by others" in told


@pytest.mark.usefixtures("inline")
def test_a_second_run_writes_no_second_record(make_study: MakeStudy) -> None:
    """The same study run twice leaves one record; excerpts that were taken away make the next run write a new one."""
    config = make_study(
        speakers=2,
        passages=1,
        chain=[{"clip_loudness": {"target_lufs": -20, "on_over": "limit"}}, {"encode": {}}],
        audit={"cues": ["loudness"]},
    )
    folders = [run_study(config, Silent()).folder for _ in range(2)]
    runs = Path(config.parent / "out" / "runs")

    assert folders == [runs / "0001"] * 2
    shutil.rmtree(runs / "0001" / EXCERPTS)
    assert run_study(config, Silent()).folder == runs / "0002"
    assert not (runs / "0001" / EXCERPTS).exists()
    assert any((runs / "0002" / EXCERPTS).iterdir())


def test_what_was_cut_off_and_flagged_is_marked(record: dict[str, Any]) -> None:
    """A clip that lost its start is heard for it, with what was cut marked; a flag is heard too, with its spans."""
    clip = copy.deepcopy(next(clip for clip in record["clips"] if clip["status"] == "delivered"))
    clip["stages"] = {}
    cut = {"check": "preamble", "value": 2.0, "reason": "read for", "evidence": {}}
    flag = {"outcome": "failed", "on_fail": "flag", "reason": "", "evidence": {"spans": [[3.0, 3.5]]}}
    clip["screen"] = {"findings": [flag], "cut_for": [cut], "cut_seconds": 2.0}
    wanted, left_out = wanted_clips({"clips": [clip]})

    assert left_out == 0
    assert wanted == [(0, ("cut", "flagged"), ((3.0, 3.5), (0.0, 2.0)))]
