"""prep verify: what a run left is hashed and decoded again."""

from __future__ import annotations

import csv
import errno
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prep.errors import ConfigError
from prep.progress import Silent
from prep.run import run_study
from prep.spreadsheet import csv_cell
from prep.unblinding import LOG, unblind
from prep.verify import verify_output

if TYPE_CHECKING:
    from collections.abc import Iterator

MakeStudy = Any

pytestmark = pytest.mark.usefixtures("inline")


RUN: dict[str, Path] = {}


@pytest.fixture
def output(make_study: MakeStudy, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output folder of a finished run, beside its study, a copy for each test; the study is run once."""
    if "study" not in RUN:
        config = make_study(speakers=2, passages=1, chain=[{"shared_gain": {"target_lufs": -30}}, {"encode": {}}])
        run_study(config, Silent())
        RUN["study"] = Path(shutil.copytree(config.parent, tmp_path_factory.mktemp("verify") / "study"))
    return Path(shutil.copytree(RUN["study"], tmp_path / "copy")) / "out"


def test_a_finished_run_is_as_recorded(output: Path) -> None:
    """An untouched output folder verifies, by its path and by its config."""
    assert verify_output(output).exit_code == 0
    assert verify_output(output.parent / "study.yaml").exit_code == 0
    assert verify_output(output).clips == 4


def test_one_flipped_bit_is_found(output: Path) -> None:
    """A clip changed in place is named, and a further run writes it anew."""
    path = next((output / "audio").iterdir())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    done = verify_output(output)

    assert done.exit_code == 1
    assert path.name in str(done.problems[0])
    run_study(output.parent / "study.yaml", Silent())
    assert verify_output(output).exit_code == 0


@pytest.mark.parametrize("content", [b"", b"{}", b"[]"])
def test_a_record_that_is_none_is_found(output: Path, content: bytes) -> None:
    """An emptied or foreign run.json is named, in an older record too."""
    (output / "runs" / "0001" / "run.json").write_bytes(content)

    assert any("is not a record" in str(problem) for problem in verify_output(output).problems)


def test_loose_permissions_are_found(output: Path) -> None:
    """A secret or a key that others can read is named."""
    for name in ("secret", "key.csv"):
        (output / name).chmod(0o644)
    found = "\n".join(str(problem) for problem in verify_output(output).problems)

    assert "secret: can be read by others" in found
    assert "key.csv: can be read by others" in found


@pytest.mark.parametrize(
    "name", ["manifest.csv", "key.csv", "report.md", "runs/0001/manifest.csv", "runs/0001/report.md"]
)
def test_a_changed_record_is_found(output: Path, name: str) -> None:
    """A record file that is not what was written is named."""
    path = output / name
    path.write_bytes(path.read_bytes() + b"x")

    assert any(name.rsplit("/", maxsplit=1)[-1] in str(problem) for problem in verify_output(output).problems)


def test_missing_and_foreign_clips_are_found(output: Path) -> None:
    """A clip that is gone, and a file that no run wrote, are named."""
    path = next((output / "audio").iterdir())
    path.rename(path.with_name("intruder.flac"))
    found = "\n".join(str(problem) for problem in verify_output(output).problems)

    assert path.name in found
    assert "intruder.flac" in found


def test_there_must_be_a_run(tmp_path: Path) -> None:
    """A folder without a run is a usage problem, not a clean bill."""
    with pytest.raises(ConfigError, match="holds no run"):
        verify_output(tmp_path)


def found_in(output: Path) -> list[str]:
    """Return what verify finds, as lines, without the folder's own path."""
    return [str(problem).replace(f"{output}/", "") for problem in verify_output(output).problems]


def test_the_log_of_openings_is_verified(output: Path) -> None:
    """A line that is none, a log that others can read, and one without the openings that a record cites are named."""
    unblind(output, "answers are in")
    run_study(output.parent / "study.yaml", Silent())
    log = output / LOG
    held = log.read_bytes()
    assert found_in(output) == []
    log.write_bytes(held + b"junk\n")
    assert found_in(output) == [f"{LOG}:2: is no line of this log; restore it from a copy"]
    log.write_bytes(b"")
    assert found_in(output) == [f"{LOG}: does not begin with the openings that runs/0002 cites; restore it from a copy"]
    log.unlink()
    assert len(found_in(output)) == 1
    log.write_bytes(held)
    log.chmod(0o644)
    assert found_in(output) == [f"{LOG}: can be read by others; chmod 600 {LOG}"]


def test_an_opening_of_a_record_that_is_gone_is_named(output: Path) -> None:
    """A line of the log that names no record of the study is named, with the record and the time."""
    unblind(output, "answers are in")
    log = output / LOG
    log.write_text(log.read_text(encoding="utf-8").replace("0001", "0007"), encoding="utf-8")
    (told,) = found_in(output)

    assert told.startswith(f"{LOG}: names runs/0007, opened on ")
    assert told.endswith(", which is not there; restore it from a copy")


def test_a_record_is_what_was_opened(output: Path) -> None:
    """A run.json that is not the one whose hash an opening states is named."""
    unblind(output, "answers are in")
    for place in (output, output / "runs" / "0001"):
        (place / "run.json").write_bytes((place / "run.json").read_bytes() + b"\n")

    assert any("run.json: is not what it was when the study was opened on " in line for line in found_in(output))


def test_the_secret_must_key_the_ids(output: Path, tmp_path: Path) -> None:
    """A secret that is gone, or from which other ids come, is named; where one was given, none is looked for."""
    secret = output / "secret"
    secret.write_bytes(b"0123456789abcdef\n")
    assert found_in(output) == ["secret: is not what keyed the ids of runs/0001; restore it from a copy"]
    secret.unlink()
    assert found_in(output) == ["secret: No such file or directory; restore it from a copy"]
    given = tmp_path / "given"
    given.write_bytes(b"0123456789abcdef\n")
    shutil.rmtree(output)
    run_study(output.parent / "study.yaml", Silent(), secret=given)
    assert found_in(output) == []


@pytest.mark.parametrize("name", ["key.csv", "run.json", "report/captions.csv"])
def test_a_record_is_private_too(output: Path, name: str) -> None:
    """A private file that others can read is named in a record as at the top."""
    (output / "runs" / "0001" / name).chmod(0o644)

    assert found_in(output) == [f"runs/0001/{name}: can be read by others; chmod 600 {Path(name).name}"]


def test_labels_exchanged_in_the_record_alone_are_found(output: Path) -> None:
    """Where run.json says otherwise than the key, or states no hashes of the files beside it, that is named."""
    other = {"human": "synthetic", "synthetic": "human"}
    for place in (output, output / "runs" / "0001"):
        record = json.loads((place / "run.json").read_bytes())
        for clip in record["clips"]:
            clip["columns"]["condition"] = other[clip["columns"]["condition"]]
        (place / "run.json").write_text(json.dumps(record | {"files": {}}), encoding="utf-8")
    found = found_in(output)

    assert "runs/0001/key.csv: does not agree with run.json: condition of row 1; restore it from a copy" in found
    assert "runs/0001/key.csv: is none of the files that run.json states; take it out" in found


def test_a_foreign_file_in_the_report_is_found(output: Path) -> None:
    """A file in report/ that the latest record does not have is named."""
    (output / "report" / "notes.txt").write_bytes(b"")

    assert found_in(output) == ["report/notes.txt: is no file of runs/0001; take it out"]


def test_odd_files_are_named(output: Path) -> None:
    """Folders and links to nothing in the place of sounds, a row without a file and a cell beyond measure are named."""
    record = output / "runs" / "0001"
    for name in ("audio", "excerpts"):
        (record / name / "folder").mkdir(parents=True)
        (record / name / "link").symlink_to("nowhere")
    found = found_in(output)
    for name in ("audio", "excerpts"):
        assert f"runs/0001/{name}/folder: is no file; take it out" in found
        assert f"runs/0001/{name}/link: No such file or directory; restore it from a copy" in found
    manifest = (output / "manifest.csv").read_text(encoding="utf-8").splitlines()
    cells = manifest[1].split(",")
    (output / "manifest.csv").write_text("\n".join([manifest[0], ",".join([*cells[:2], "", *cells[3:]])]), "utf-8")
    assert "manifest.csv:2: names no file of audio/; run again" in found_in(output)
    (output / "manifest.csv").write_text("\n".join([manifest[0], "x" * 200_000]), "utf-8")
    assert "manifest.csv: is no table: field larger than field limit (131072); run again" in found_in(output)


@pytest.mark.parametrize("name", ["runs", "runs/0001", "runs/0001/report", "audio"])
def test_a_folder_that_cannot_be_read_is_named(output: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is closed to who verifies is named with what to do; it is no bug."""
    listed = Path.iterdir

    def closed(path: Path) -> Iterator[Path]:
        if path == output / name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", closed)
    try:
        told = found_in(output)
    except ConfigError as error:
        told = [str(error).replace(f"{output}/", "")]

    assert f"{name}: cannot be read: Permission denied; make it yours to read" in told


def test_spreadsheets_find_no_formula_in_the_key(make_study: MakeStudy) -> None:
    """In key.csv a text that would be run gets an apostrophe and NUL is written out; run.json has both as they were."""
    config = make_study(speakers=2, passages=1, chain=[{"encode": {}}], compare=None)
    table = config.parent / "clips.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("text 0", "=1+1"), encoding="utf-8")
    done = run_study(config, Silent())
    with (config.parent / "out" / "key.csv").open(encoding="utf-8", newline="") as file:
        texts = {row["text"] for row in csv.DictReader(file)}

    assert texts == {"'=1+1"}
    assert {clip["columns"]["text"] for clip in done.record["clips"]} == {"=1+1"}
    assert csv_cell("a\0b") == "a\\0b"
    assert csv_cell(-1.5) == "-1.5"
    assert found_in(config.parent / "out") == []
