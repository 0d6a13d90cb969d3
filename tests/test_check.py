"""prep check: every problem of config, table and files before any sound is decoded, and the plan."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from prep.check import checked, plan_summary
from prep.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

MakeStudy = Any


def edited(config: Path, **settings: Any) -> Path:
    """Change settings of a config in its place."""
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    config.write_text(yaml.safe_dump({**values, **settings}, sort_keys=False), encoding="utf-8")
    return config


def problems_of(config: Path) -> list[str]:
    """Return the problems of a study as lines."""
    with pytest.raises(ConfigError) as caught:
        checked(config)
    return [str(problem) for problem in caught.value.problems]


def test_the_plan_tells_clips_speakers_and_steps(make_study: MakeStudy) -> None:
    """The plan counts clips a condition, speakers a half, rates, and lists the steps with their parameters."""
    summary = plan_summary(checked(make_study()))

    assert summary["clips_by_condition"] == {"human": 8, "synthetic": 8}
    assert summary["split"]["groups"] == {"human": {"fit": 2, "held-out": 2}, "synthetic": {"fit": 2, "held-out": 2}}
    assert summary["rates_by_condition"]["human"] == {16000: 4, 22050: 4}
    assert [name for step in summary["chain"] for name in step] == ["tilt_eq", "convert", "shared_gain", "encode"]


def test_table_and_config_problems_come_together(make_study: MakeStudy) -> None:
    """A missing file, a wrong condition and a wrong column are listed at once with file and line."""
    config = make_study()
    (config.parent / "wav" / "h1_1.wav").unlink()
    tilt = {"adjust": {"condition": "humann"}, "towards": {"system": "x"}}
    edited(
        config, chain=[{"tilt_eq": tilt}, {"encode": {}}], compare={"a": "human", "b": "synthetik", "match": ["txt"]}
    )
    problems = "\n".join(problems_of(config))

    assert "clips.csv:5" in problems
    assert "wav/h1_1.wav" in problems
    assert "no clip has condition = humann; did you mean human?" in problems
    assert "no clip has condition = synthetik; did you mean synthetic?" in problems
    assert "the clip table has no column system" in problems
    assert "the clip table has no column txt; did you mean text?" in problems


def test_the_table_is_looked_at_even_where_the_config_is_wrong(make_study: MakeStudy) -> None:
    """An unknown setting does not hide a missing file: both are told in one go."""
    config = make_study()
    (config.parent / "wav" / "h1_1.wav").unlink()
    problems = "\n".join(problems_of(edited(config, outptu="x")))

    assert "did you mean output?" in problems
    assert "wav/h1_1.wav" in problems


def test_unreadable_files_are_named_but_do_not_stop_the_plan(make_study: MakeStudy) -> None:
    """A file that is not sound is a problem of one clip: named, exit code 1, the plan still there."""
    config = make_study()
    (config.parent / "wav" / "h0_0.wav").write_bytes(b"not sound")
    plan = checked(config)

    assert plan.exit_code == 1
    assert "wav/h0_0.wav" in str(plan.clip_problems[0])


def test_a_narrow_set_must_say_its_band(make_study: MakeStudy) -> None:
    """Rates too low for the tilt band stop the study and suggest the band that fits; the band then goes through."""
    import soundfile

    config = make_study()
    samples, _ = soundfile.read(config.parent / "wav" / "h0_0.wav")
    soundfile.write(config.parent / "wav" / "h0_0.wav", samples, 8000)
    problem = problems_of(config)[0]
    band = yaml.safe_load(problem.split("set tilt_band_hz: ")[1].split(" for")[0])

    assert "wav/h0_0.wav at 8000 Hz" in problem
    assert checked(edited(config, tilt_band_hz=band)).exit_code == 0


def test_writing_over_the_sources_is_refused(make_study: MakeStudy) -> None:
    """An output folder that holds sources, and a cache in the output folder, are problems."""
    config = make_study()

    assert "lie in the output folder" in problems_of(edited(config, output="."))[0]
    assert "the cache lies in the output folder" in problems_of(edited(config, output="out", cache="out/cache"))[0]


def test_a_folder_with_a_pattern_is_a_table(make_study: MakeStudy) -> None:
    """A folder and a path pattern give the same rows as a table, whatever the working folder."""
    config = make_study()
    pattern = "{_}{speaker}_{passage}.wav"
    edited(config, clips={"folder": "wav", "pattern": pattern}, compare=None, chain=[{"encode": {}}])
    rows = checked(config).rows

    assert len(rows) == 16
    assert {row.columns["passage"] for row in rows} == {"0", "1"}


def test_a_split_may_come_from_a_column(make_study: MakeStudy) -> None:
    """A column that says fit or held-out decides the split; a speaker in both halves is refused by row."""
    config = make_study()
    table = config.parent / "clips.csv"
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    def write(half_of: Any) -> None:
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [*rows[0], "split"])
            writer.writeheader()
            writer.writerows({**row, "split": half_of(row)} for row in rows)

    write(lambda row: "fit" if row["speaker"] in ("h0", "s0") else "held-out")
    edited(config, heldout={"column": "split"})
    assert plan_summary(checked(config))["split"]["clips"]["human"] == {"fit": 2, "held-out": 6}
    write(lambda row: "fit" if row["passage"] == "p0" else "held-out")
    assert any("is in" in problem and "clips.csv:" in problem for problem in problems_of(config))
