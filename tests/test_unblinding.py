"""prep unblind: an opening is logged, cited, and never forgotten; no record is touched."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from prep.__main__ import app
from prep.errors import ConfigError
from prep.progress import Silent
from prep.run import run_study
from prep.unblinding import LOG, output_of, read_unblinded, unblind
from prep.verify import verify_output

MakeStudy = Any


@pytest.fixture
def output(eventful: Path, tmp_path: Path) -> Path:
    """Return a copy of the eventful run's output folder."""
    return Path(shutil.copytree(eventful, tmp_path / "out"))


def test_an_opening_is_logged_and_the_records_stay(output: Path) -> None:
    """Each opening adds a line of time, user, record, hash and reason to a private file; nothing else changes."""
    before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    first, second = unblind(output, "answers are in"), unblind(output / "runs" / "0001", "again")

    assert read_unblinded(output) == [first, second]
    assert (first["record"], first["reason"], second["reason"]) == ("0001", "answers are in", "again")
    assert first["run_sha256"] == second["run_sha256"]
    assert (output / LOG).stat().st_mode & 0o077 == 0
    after = {path: path.read_bytes() for path in output.rglob("*") if path.is_file() and path.name != LOG}
    assert after == before
    assert not verify_output(output).problems


def test_reports_say_it_from_then_on(output: Path, tmp_path: Path) -> None:
    """The ordinary report of any record names every opening; the blind one is the same as before."""
    runner, blind, full = CliRunner(), tmp_path / "blind.html", tmp_path / "full.html"
    assert runner.invoke(app, ["report", str(output), "--blind", "--page", str(blind)]).exit_code == 0
    before = blind.read_bytes()
    done = runner.invoke(app, ["unblind", str(output), "--reason", "<b>answers\u202e are in</b>"])
    assert done.exit_code == 0
    assert "unblinded: " in done.output
    for place in (output, output / "runs" / "0001", output / "run.json"):
        assert runner.invoke(app, ["report", str(place), "--page", str(full)]).exit_code == 0
        page = full.read_text(encoding="utf-8")
        assert "at record 0001: &lt;b&gt;answers\\u202e are in&lt;/b&gt;." in page
    assert runner.invoke(app, ["report", str(output), "--blind", "--page", str(blind)]).exit_code == 0

    assert blind.read_bytes() == before


@pytest.mark.usefixtures("inline")
def test_later_records_cite_it(make_study: MakeStudy) -> None:
    """A run after an opening holds it in its record and on its page, and is a new record, once."""
    config = make_study(speakers=2, passages=1, chain=[{"encode": {}}], audit={"cues": ["loudness"]})
    assert run_study(config, Silent()).record["unblinded"] == []
    entry = unblind(config.parent / "out", "answers are in")
    done = run_study(config, Silent())

    assert done.record["unblinded"] == [entry]
    assert done.folder == config.parent / "out" / "runs" / "0002"
    assert f"Unblinded on {entry['time']}" in (config.parent / "out" / "report.html").read_text(encoding="utf-8")
    assert run_study(config, Silent()).folder == done.folder


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "{}", json.dumps({"time": 1, "user": "u", "record": "", "run_sha256": "", "reason": ""}), "\udc80"],
)
def test_a_damaged_log_is_not_passed_over(output: Path, line: str) -> None:
    """A line that unblind never wrote is named with its number, and nothing is added behind it."""
    unblind(output, "first")
    with (output / LOG).open("ab") as file:
        file.write(line.encode("utf-8", "surrogateescape") + b"\n")
    held = (output / LOG).read_bytes()

    with pytest.raises(ConfigError, match=r"unblinded\.jsonl(:2)?: "):
        unblind(output, "second")
    assert (output / LOG).read_bytes() == held


def test_only_a_run_can_be_opened(tmp_path: Path, output: Path) -> None:
    """Where there is no run nothing is logged; a folder of runs/ leads to its output folder."""
    with pytest.raises(ConfigError, match="holds no run"):
        unblind(tmp_path / "elsewhere", "why")
    assert not (tmp_path / "elsewhere").exists()
    assert output_of(output / "runs" / "0001") == output_of(output / "run.json") == output_of(output) == output


def test_the_record_that_was_opened_is_named(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output folder means its latest record; a record, or its run.json, means itself, from wherever it is named."""
    shutil.copytree(output / "runs" / "0001", output / "runs" / "0002")
    monkeypatch.chdir(output / "runs" / "0001")
    places = [output, output / "runs" / "0001", output / "runs" / "0001" / "run.json", Path("run.json"), Path()]

    assert [unblind(place, "why")["record"] for place in places[:3]] == ["0002", "0001", "0001"]
    assert unblind(places[3], "why")["run_sha256"] == unblind(places[4], "why")["run_sha256"]
    assert len(read_unblinded(output)) == len(places)


def test_an_opening_needs_a_reason(output: Path) -> None:
    """Without a reason, or with an empty one, nothing is logged: the log keeps for good what it is given."""
    without = CliRunner().invoke(app, ["unblind", str(output)])
    blank = CliRunner().invoke(app, ["unblind", str(output), "--reason", "  "])

    assert (without.exit_code, blank.exit_code) == (2, 3)
    assert "--reason" in blank.output
    assert not (output / LOG).exists()


def test_the_report_that_does_not_say_it_yet_is_named(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an opening the report is named with the command that makes it again, after which verify finds all right."""
    monkeypatch.chdir(output.parent)
    runner = CliRunner()
    told = runner.invoke(app, ["unblind", "out", "--reason", "answers are in"]).stdout.splitlines()[-1]

    assert told == "out/report.html does not say so yet: prep report out makes it again"
    assert runner.invoke(app, ["report", "out"]).exit_code == 0
    assert "Unblinded on" in (output / "report.html").read_text(encoding="utf-8")
    assert not verify_output(output).problems
    (output / "report.html").write_bytes(b"another page")
    assert [problem.what for problem in verify_output(output).problems] == ["differs from runs/0001"]


def test_a_page_is_written_beside_what_it_is_about(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --page a report lies in its output folder, that of a numbered record under its number; none here."""
    (output.parent / "here").mkdir()
    monkeypatch.chdir(output.parent / "here")
    record = {path: path.read_bytes() for path in (output / "runs").rglob("*") if path.is_file()}
    for words in (["../out"], ["../out", "--blind"], ["../out/runs/0001"], ["../out/runs/0001/run.json", "--blind"]):
        assert CliRunner().invoke(app, ["report", *words]).exit_code == 0

    assert not list(Path().iterdir())
    assert {path.name for path in output.glob("*.html")} == {
        *("report.html", "blind.html", "report-0001.html", "blind-0001.html")
    }
    assert (output / "report-0001.html").stat().st_mode & 0o077 == 0
    assert {path: path.read_bytes() for path in record} == record
    assert not verify_output(output).problems


@pytest.mark.parametrize("reason", ["a\u2028b", "a\u0085b", "a\nb\x1cc", "ä☃"])
def test_any_reason_can_be_read_again(output: Path, reason: str) -> None:
    """Signs that end a line elsewhere end none of the log: what was logged is read again, and more can be added."""
    entries = [unblind(output, reason), unblind(output, "again")]

    assert read_unblinded(output) == entries
    assert entries[0]["reason"] == reason


def test_bytes_that_are_no_text(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reason that is not UTF-8 is refused by name; a user's name that is not is written out."""
    with pytest.raises(ConfigError, match="--reason: is not UTF-8 text"):
        unblind(output, "\udcff")
    monkeypatch.setenv("LOGNAME", "\udcff")

    assert unblind(output, "why")["user"] == "\\udcff"
    assert len(read_unblinded(output)) == 1


def test_a_full_disk_leaves_the_log_as_it_was(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is written in part is taken back, and it is said that nothing was logged."""
    unblind(output, "first")
    held, write = (output / LOG).read_bytes(), os.write
    monkeypatch.setattr("prep.unblinding.os.write", lambda handle, line: write(handle, line[: len(line) // 2]))
    with pytest.raises(ConfigError, match=r"unblinded\.jsonl: nothing was logged: No space left on device; make room"):
        unblind(output, "second")
    monkeypatch.undo()

    assert (output / LOG).read_bytes() == held
    unblind(output, "third")
    assert [entry["reason"] for entry in read_unblinded(output)] == ["first", "third"]


def test_a_link_leads_to_the_one_log(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a link, or from inside, a record is named by its own name, and its study's log holds the opening."""
    link, page = output.parent / "link", output.parent / "run.json"
    link.symlink_to(output / "runs" / "0001")
    page.symlink_to(output / "runs" / "0001" / "run.json")
    entries = [unblind(place, "why") for place in (link, page, link / "run.json")]
    monkeypatch.chdir(output / "runs" / "0001")
    entries.append(unblind(Path(), "why"))
    monkeypatch.chdir(output)
    entries.append(unblind(Path(), "why"))

    assert {entry["record"] for entry in entries} == {"0001"}
    assert read_unblinded(output) == entries
    assert list(output.parent.rglob(LOG)) == [output / LOG]
