"""Records read back, and what is written of them: a record that lacks something is named, no other file is touched."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from prep.__main__ import app
from prep.blind_page import blind_html
from prep.comparison import compare_records
from prep.errors import ConfigError
from prep.publish import PAGE_HEAD_BYTES, PAGE_MARK, PRIVATE_FOLDER, write_report
from prep.records import read_record, shape_fault
from prep.report import report_tables
from prep.report_page import report_html
from prep.stimuli import stimuli_tex

RENDERED = 6  # damaged records that are made into pages: 0.3 s each


@pytest.fixture(scope="module")
def record(eventful: Path) -> dict[str, Any]:
    """Return the record of a run in which much happened."""
    found: dict[str, Any] = json.loads((eventful / "run.json").read_bytes())
    return found


def call(*words: object) -> Result:
    """Call prep as a shell would, in this process."""
    return CliRunner().invoke(app, [str(word) for word in words])


def places_of(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the place of every value in a record, of lists the first item only."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    return [place, *(below for name, item in items for below in places_of(item, (*place, name)))]


def without(record: Any, place: tuple[Any, ...]) -> Any:
    """Return a record that lacks one thing; what it has is shared with the whole one."""
    changed = copy.copy(record)
    if len(place) == 1:
        del changed[place[0]]
    else:
        changed[place[0]] = without(record[place[0]], place[1:])
    return changed


@pytest.mark.parametrize("text", ["", "[]", '{"clips": []}', '{"clips": 5}', "[" * 200_000, '{"study": NaN}', "\udcff"])
@pytest.mark.parametrize("words", [("report", "r"), ("report", "r", "--blind"), ("report", "r", "--files", "d")])
def test_what_is_no_record_is_one_line(
    text: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run.json that is none, or of another shape, is named with what is wrong; exit code 3, nothing is written."""
    monkeypatch.chdir(tmp_path)
    Path("r").mkdir()
    Path("r/run.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    result = call(*words)

    assert result.exit_code == 3
    assert result.stderr.startswith("error: r/run.json: is not a record this version reads: ")
    assert len(result.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["r", "run.json"]


def test_the_version_that_wrote_it_is_named(record: dict[str, Any], tmp_path: Path) -> None:
    """What an older record lacks is named by its place, with the version that can read it; in a comparison too."""
    older = without(record, ("clips", 2, "screen"))
    older["versions"] = record["versions"] | {"listening-prep": "0.0.1"}
    (tmp_path / "run.json").write_text(json.dumps(older), encoding="utf-8")

    with pytest.raises(ConfigError, match=r"clips\.2\.screen is missing; run .* that wrote it \(0\.0\.1\)$"):
        read_record(tmp_path)
    assert call("compare", tmp_path, tmp_path).exit_code == 3


def test_every_field_of_a_record_is_needed(record: dict[str, Any]) -> None:
    """Each field that docs/record.md lists is asked for, and so are the outlines of excerpts, which must be whole."""
    assert shape_fault(record) == ""
    later = {"own_secret"}  # needed by no reader
    for name in record.keys() - later:
        assert shape_fault(without(record, (name,))) == f"{name} is missing"
    damaged = copy.deepcopy(record)
    part = damaged["excerpts"]["clips"][0]["source"]
    part["outline"] = part["outline"][:-1]
    assert shape_fault(damaged).startswith("excerpts.clips.0.source.outline: ")


def test_a_reference_that_is_gone_is_no_fault(record: dict[str, Any]) -> None:
    """A record is read where the files that its config names are not; a reference of its own clips needs its fit."""
    for settings, fault in (
        ({"profile": "voice.json", "files": []}, ""),
        ({"files": ["refs/a.wav"]}, ""),
        ({"files": []}, "fits.release.reference_eq: input should be a valid dictionary"),
    ):
        matched = without(without(record, ("fits", "release", "reference_eq")), ("fits", "evidence", "reference_eq"))
        settings |= {"max_boost_db": 12.0, "max_cut_db": 12.0, "max_crest_change_db": 3.0}
        chain = [{"reference_eq": settings} if "reference_eq" in step else step for step in record["config"]["chain"]]
        matched["config"] = record["config"] | {"chain": chain}
        assert shape_fault(matched) == fault


def test_what_passes_can_be_read(record: dict[str, Any]) -> None:
    """Whatever a record lacks, it is either named as such or every page, table and comparison can do without it."""
    places = [place for place in places_of(record) if place and not isinstance(place[-1], int)]
    passing = [damaged for damaged in (without(record, place) for place in places) if not shape_fault(damaged)]
    assert 100 < len(passing) < len(places) - 100
    for number in np.random.default_rng(0).choice(len(passing), RENDERED, replace=False):
        damaged = passing[number]
        report_html(damaged)
        blind_html(damaged)
        report_tables(damaged)
        stimuli_tex(damaged)
        compare_records(damaged, record)


def test_a_page_is_written_over_a_page_alone(eventful: Path, tmp_path: Path) -> None:
    """A page takes the place of an earlier one of prep's; a file of another kind stays as it is, and is named."""
    sound, page = tmp_path / "a.wav", tmp_path / "page.html"
    sound.write_bytes(b"RIFF")
    for words in (("--page", page), ("--page", page), ("--blind", "--page", page)):
        assert call("report", eventful, *words).exit_code == 0
        assert PAGE_MARK in page.read_bytes()[:PAGE_HEAD_BYTES]
    for place in (sound, tmp_path):
        result = call("report", eventful, "--page", place)
        assert result.exit_code == 3
        assert f"{place}: is there already, and is no page of prep" in result.stderr
    assert sound.read_bytes() == b"RIFF"


def test_what_cannot_be_written_is_one_line(eventful: Path, tmp_path: Path) -> None:
    """A page or a folder in a place that is none is named with the reason and what to do."""
    table = tmp_path / "takes.csv"
    table.write_bytes(b"file_name\n")
    for words in (("--page", table / "r.html"), ("--page", tmp_path / "p.html", "--files", table)):
        result = call("report", eventful, *words)
        assert result.exit_code == 3
        assert result.stderr.startswith(f"error: {words[-1]}: ")
        assert result.stderr.endswith("; make room or name another output, and run again\n")
        assert len(result.stderr.splitlines()) == 1
    assert table.read_bytes() == b"file_name\n"


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    """Files go into a new, an empty or a report's own folder; one that holds others keeps its files and its mode."""
    files = {"report/cues.csv": b"cue\n", "methods.md": b"methods\n"}
    new, theirs = tmp_path / "new", tmp_path / "theirs"
    for _ in range(2):
        write_report(new, files)
    assert new.stat().st_mode & 0o777 == PRIVATE_FOLDER
    (new / "notes.txt").write_bytes(b"")
    theirs.mkdir(mode=0o755)
    (theirs / "cues.csv").write_bytes(b"mine")

    for folder, name in ((new, "notes.txt"), (theirs, "cues.csv")):
        with pytest.raises(ConfigError, match=f"holds {name}, which is no file of this report; name a new folder"):
            write_report(folder, files)
    assert (theirs / "cues.csv").read_bytes() == b"mine"
    assert theirs.stat().st_mode & 0o777 == 0o755
