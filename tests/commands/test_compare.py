"""prep report and prep compare: earlier runs, again and side by side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from prep.__main__ import app

if TYPE_CHECKING:
    from pathlib import Path

MakeStudy = Any

pytestmark = pytest.mark.usefixtures("inline")


def call(*words: object) -> Result:
    """Call prep as a shell would, in this process."""
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def two_runs(make_study: MakeStudy) -> Path:
    """An output folder with two records: the second of another target."""
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
    assert [(item["what"], item["second"]) for item in found["config"]] == [("chain", found["config"][0]["second"])]
    assert len(found["clips"]) == 16
    assert {item["what"].split(".")[0] for item in found["fits"]} == {"shared_gain"}
    assert found["conclusions"] == found["versions"] == []
    assert call("compare", two_runs, two_runs).stdout.strip() == "the two runs are the same"


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
