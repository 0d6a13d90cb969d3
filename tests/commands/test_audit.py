"""prep audit: of a study, of a run, and of clips as they lie."""

from __future__ import annotations

import csv
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from prep.__main__ import app

if TYPE_CHECKING:
    from pathlib import Path

MakeStudy = Any

pytestmark = pytest.mark.usefixtures("inline")


def audit(*words: object) -> Result:
    """Call prep audit as a shell would, in this process."""
    return CliRunner().invoke(app, ["audit", *(str(word) for word in words)])


def as_they_lie(config: Path) -> Path:
    """Return a folder whose paths say what the clips of a study are."""
    folder = config.parent / "lying"
    with (config.parent / "clips.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            place = folder / row["condition"] / f"{row['speaker']}_{row['passage']}.wav"
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(config.parent / row["file_name"], place)
    return folder


def test_a_table_and_a_folder_with_a_pattern_are_audited_without_a_config(make_study: MakeStudy) -> None:
    """A clip table and a folder of the same clips give the same figures, and nothing is written beside them."""
    config = make_study()
    folder = as_they_lie(config)
    before = sorted(config.parent.rglob("*"))
    by_table = audit(config.parent / "clips.csv", "--json")
    by_folder = audit(folder, "--pattern", "{condition}/{speaker}_{passage}.wav", "--json")

    assert by_table.exit_code == by_folder.exit_code == 0, by_table.stderr + by_folder.stderr
    figures = [json.loads(result.stdout)["audit"] for result in (by_table, by_folder)]
    assert figures[0]["sources"] == figures[1]["sources"]
    assert figures[0]["before"] == figures[1]["before"]
    assert (figures[0]["a"], figures[0]["b"]) == ("human", "synthetic")
    assert sorted(config.parent.rglob("*")) == before


def test_a_limit_fails_an_audit_without_a_config(make_study: MakeStudy) -> None:
    """A broken limit is named with its figure, and the exit code is 1."""
    config = make_study()
    result = audit(config.parent / "clips.csv", "--fail-if", "tilt.delivered.separation>0.1")

    assert result.exit_code == 1
    assert "limit tilt.delivered.separation>0.1: broken, separation is 0." in result.stdout


def test_a_run_is_audited_from_its_record(make_study: MakeStudy) -> None:
    """The audit of an output folder is that of its run, with further limits; it needs no source."""
    config = make_study()
    assert CliRunner().invoke(app, ["run", str(config)]).exit_code == 0
    shutil.rmtree(config.parent / "wav")
    record = json.loads((config.parent / "out" / "run.json").read_text(encoding="utf-8"))
    result = audit(config.parent / "out", "--json", "--fail-if", "tilt.before.separation>0.01")

    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["audit"] == record["audit"]
    assert [limit["limit"] for limit in found["limits"]] == ["tilt.before.separation>0.01"]


def test_a_run_whose_files_were_changed_is_not_audited(make_study: MakeStudy) -> None:
    """A delivered file that is not as recorded is named, and the exit code is 3."""
    config = make_study()
    assert CliRunner().invoke(app, ["run", str(config)]).exit_code == 0
    clip = next((config.parent / "out" / "audio").iterdir())
    clip.chmod(0o644)
    clip.write_bytes(clip.read_bytes()[:-1])
    result = audit(config.parent / "out")

    assert result.exit_code == 3
    assert clip.name in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--column", "system"], "there is no column system"),
        (["--column", "text"], "cannot be"),
        (["--compare", "human"], "a condition is compared with itself"),
        (["--compare", "human,vocoder"], "no clip has condition = vocoder"),
        (["--reference", "vocoder"], "the reference vocoder is none of the conditions"),
        (["--match", "sentence"], "has no column sentence"),
        (["--pattern", "{condition}.wav"], "a pattern goes with a folder"),
    ],
)
def test_what_cannot_be_audited_is_named(make_study: MakeStudy, words: list[str], said: str) -> None:
    """What the options name and the table does not have is a problem with exit code 3."""
    config = make_study()
    table = config.parent / "clips.csv"
    if said == "cannot be":
        lines = table.read_text(encoding="utf-8").splitlines()
        texts = [line.rsplit(",", 1)[0] + f",text {number}" for number, line in enumerate(lines[1:])]
        table.write_text("\n".join([lines[0], *texts]) + "\n", encoding="utf-8")
        said = "column text holds 16 conditions"
    result = audit(table, *words)

    assert result.exit_code == 3
    assert said in result.stderr


@pytest.mark.parametrize(
    ("column", "said"),
    [("speaker", "clips are held out, but not every one has a speaker"), ("speaker,passage", "no clip is held out")],
)
def test_why_nothing_is_tested_is_said(make_study: MakeStudy, column: str, said: str) -> None:
    """Where no cue is tested, whether clips were held out and lack a unit, or none were, stands in the last line."""
    config = make_study(chain=["encode"], audit={"cues": ["duration"]})
    table = config.parent / "clips.csv"
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace(column, column.upper()), encoding="utf-8")

    assert f"nothing is tested: {said}" in audit(config).stdout


@pytest.mark.parametrize("words", [[], ["--pattern", "{speaker}_{passage}.wav"]])
def test_a_path_where_nothing_is_is_told_with_the_nearest_name(make_study: MakeStudy, words: list[str]) -> None:
    """A folder that is not there is called that, with the name that was meant."""
    result = audit(make_study().parent / "wva", *words)

    assert result.exit_code == 3
    assert "there is no such file or folder; did you mean 'wav'?" in result.stderr


def test_several_conditions_are_compared_in_every_pair(make_study: MakeStudy) -> None:
    """Three conditions with a reference give three pairs, the reference first, and one omnibus figure a cue."""
    config = make_study(speakers=6)
    table = config.parent / "clips.csv"
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    for row in rows:
        if row["condition"] == "synthetic" and int(row["speaker"][1]) % 2:
            row["condition"] = "vocoder"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    values["compare"] = {"conditions": ["vocoder", "synthetic", "human"], "reference": "human"}
    config.write_text(yaml.safe_dump(values), encoding="utf-8")
    result = audit(config, "--json", "--fail-if", "tilt.after.separation>0.4")

    found = json.loads(result.stdout)["audit"]
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [
        ("human", "vocoder"),
        ("human", "synthetic"),
        ("vocoder", "synthetic"),
    ]
    for column in ("sources", "before", "after", "delivered"):
        for name, figure in found[column].items():
            apart = [pair[column][name]["separation"] for pair in found["pairs"]]
            assert figure["separation"] == max((item for item in apart if item is not None), default=None)
    # Three, two and one held-out speakers cannot settle anything, and a limit that is not shown to hold is broken.
    assert {item["verdict"] for item in found["after"].values()} <= {"not settled", "not measurable"}
    assert {item["p"] for item in found["after"].values()} == {None}
    assert result.exit_code == 1
    plain = audit(config)
    assert "for the pair of conditions that it tells apart best" in plain.stdout


def test_a_report_of_several_conditions_names_every_pair(make_study: MakeStudy) -> None:
    """The report of three conditions has the omnibus table, and a table for each pair."""
    config = make_study(compare={"column": "speaker", "conditions": ["h0", "h1", "s0"], "unit": "passage"})
    result = CliRunner().invoke(app, ["run", str(config)])

    assert result.exit_code == 0, result.stderr
    report = (config.parent / "out" / "report.md").read_text(encoding="utf-8")
    assert "3 conditions (h0, h1, s0) make 3 pairs." in report
    for title in ("### h0 and h1", "### h0 and s0", "### h1 and s0"):
        assert title in report
