"""prep report and prep compare: earlier runs, again and side by side."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from prep.__main__ import app

MakeStudy = Any

pytestmark = pytest.mark.usefixtures("inline")


def call(*words: object) -> Result:
    """Call prep as a shell would, in this process."""
    return CliRunner().invoke(app, [str(word) for word in words])


RUNS: dict[str, Path] = {}


@pytest.fixture
def two_runs(make_study: MakeStudy, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder with two records, the second of another target: a copy for each test; they are run once."""
    if "out" not in RUNS:
        RUNS["out"] = tmp_path_factory.mktemp("runs") / "out"
        shutil.copytree(run_twice(make_study), RUNS["out"])
    return Path(shutil.copytree(RUNS["out"], tmp_path / "copy" / "out"))


def run_twice(make_study: MakeStudy) -> Path:
    """Return the output folder of two runs."""
    config = make_study(audit={"cues": ["tilt", "loudness"]})
    assert call("run", config).exit_code == 0
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    next(step for step in values["chain"] if "shared_gain" in step)["shared_gain"]["target_lufs"] = -31
    config.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    assert call("run", config).exit_code == 0
    output: Path = config.parent / "out"
    return output


def test_an_earlier_report_is_written_again_to_the_byte(two_runs: Path, tmp_path: Path) -> None:
    """The page of the first record is the one that its run left, though a second has followed."""
    page = tmp_path / "again.html"
    result = call("report", two_runs / "runs" / "0001", "--page", page)

    assert result.exit_code == 0, result.stderr
    assert page.read_bytes() == (two_runs / "runs" / "0001" / "report.html").read_bytes()
    assert page.read_bytes() != (two_runs / "report.html").read_bytes()
    assert page.stat().st_mode & 0o077 == 0


def test_what_changed_between_two_runs_is_told(two_runs: Path) -> None:
    """Config, clips and fits that differ are told, and equal ones are not; no conclusion changed."""
    result = call("compare", two_runs / "runs" / "0001", two_runs, "--json")

    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["config"] == [{"what": "chain.1.shared_gain.target_lufs", "first": -30.0, "second": -31.0}]
    assert len(found["clips"]) == 16
    assert {item["what"].split(".")[0] for item in found["fits"]} == {"shared_gain"}
    assert found["conclusions"] == found["versions"] == []
    assert call("compare", two_runs, two_runs).stdout.strip() == "the two runs are the same"


def test_what_changed_is_told_in_lines(two_runs: Path) -> None:
    """A setting stands with its place, clips that only differ in bytes are counted, unchanged verdicts are said."""
    lines = call("compare", two_runs / "runs" / "0001", two_runs).stdout.splitlines()

    assert "config: chain.1.shared_gain.target_lufs: -30.000 -> -31.000" in lines
    assert "clips: 16 of 16 clips differ in bytes" in lines
    assert lines[-1] == "no conclusion changed"
    assert not any("None" in line for line in lines)


def changed(output: Path, change: Any) -> Path:
    """Return a copy of the second record of an output folder in which something is changed."""
    record = json.loads((output / "runs" / "0002" / "run.json").read_text(encoding="utf-8"))
    change(record)
    path = output.parent / "changed" / "run.json"
    path.parent.mkdir()
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def test_what_is_not_there_is_called_so(two_runs: Path) -> None:
    """A step, a cue and a clip that one of two runs of a study lacks are told as not there, never as None."""

    def lose(record: Any) -> None:
        record["config"]["chain"] = record["config"]["chain"][1:]
        record["chain"].remove("tilt_eq")
        del record["audit"]["after"]["tilt"]
        del record["clips"][0]

    lines = call("compare", two_runs / "runs" / "0002", changed(two_runs, lose)).stdout.splitlines()

    assert lines[0] == "a conclusion changed: tilt.after.verdict was not settled, is not there"
    assert any(line.startswith("config: chain.0.tilt_eq: {") and line.endswith("-> not there") for line in lines)
    assert "clips: 1 delivered -> not there: wav/h0_0.wav" in lines
    assert not any("None" in line or "chain.0.shared_gain" in line for line in lines)


def test_of_two_studies_only_what_both_have_is_compared(two_runs: Path) -> None:
    """Records of different studies are called so first, and what one of them lacks is no change."""

    def other(record: Any) -> None:
        record["study"] = "other"
        record["audit"]["after"] = {}
        record["config"]["chain"][1:2] = []
        record["chain"].remove("shared_gain")

    result = call("compare", two_runs / "runs" / "0002", changed(two_runs, other))
    lines = result.stdout.splitlines()

    assert result.exit_code == 0
    assert lines[0] == "these are records of different studies (study, other): only what both have is compared"
    assert lines[1:] == ["what both have is the same"]


def test_a_changed_conclusion_is_a_warning(two_runs: Path) -> None:
    """A verdict that differs is told first, and the exit code is 1."""
    path = two_runs / "runs" / "0002" / "run.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["audit"]["after"]["tilt"]["verdict"] = "told apart"
    path.chmod(0o600)
    path.write_text(json.dumps(record), encoding="utf-8")
    result = call("compare", two_runs / "runs" / "0001", two_runs / "runs" / "0002")

    assert result.exit_code == 1
    assert result.stdout.startswith("a conclusion changed: tilt.after.verdict was not settled, is told apart")


@pytest.mark.parametrize("name", ["nothing", "file.txt"])
def test_what_is_no_run_is_named(tmp_path: Path, name: str) -> None:
    """A place without a record, and a file that is none, are problems with exit code 3."""
    (tmp_path / "file.txt").write_text("{}", encoding="utf-8")
    result = call("report", tmp_path / name)

    assert result.exit_code == 3
    assert name in result.stderr
