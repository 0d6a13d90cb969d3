"""prep check: every problem of config, table and files before any sound is decoded, and the plan."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from typer.testing import CliRunner

from prep.__main__ import app
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


def rewritten(config: Path, change: Any) -> Path:
    """Change every row of the table beside a config."""
    table = config.parent / "clips.csv"
    with table.open(newline="", encoding="utf-8") as file:
        rows = [change(row) for row in csv.DictReader(file)]
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return config


def notices_of(config: Path) -> str:
    """Return the notices of a plan as text."""
    return "\n".join(str(notice) for notice in checked(config).notices)


def test_a_notice_stays_one_beside_a_problem(make_study: MakeStudy) -> None:
    """A sound file that is left out is worth knowing and no problem, also where another file is missing."""
    config = make_study()
    (config.parent / "wav" / "h1_1.wav").rename(config.parent / "wav" / "renamed.wav")
    with pytest.raises(ConfigError) as caught:
        checked(config)

    assert [problem.where for problem in caught.value.problems] == ["clips.csv:5"]
    assert [str(notice) for notice in caught.value.notices] == ["wav/renamed.wav: is not in the table; it is left out"]
    lines = CliRunner().invoke(app, ["check", str(config)]).stderr.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["error", "note"]


def test_names_that_read_in_two_ways_are_the_only_problem(make_study: MakeStudy) -> None:
    """Where a pattern reads names in two ways, nothing is said of what they might have meant."""
    config = edited(make_study(), clips={"folder": "wav", "pattern": "{condition}_{passage}.wav"})
    for path in sorted((config.parent / "wav").iterdir()):
        path.rename(path.with_name(f"human_{path.name}"))
    (problem,) = problems_of(config)

    assert "human_h0_0.wav: the pattern reads it as" in problem
    assert ", and 15 more likewise; tell the parts apart, or give a regex" in problem


def test_a_missing_script_is_the_only_problem(make_study: MakeStudy) -> None:
    """A take whose script is missing keeps its labels: nothing is said that follows from the script alone."""
    config = rewritten(
        make_study(),
        lambda row: (
            row | {"script": "", "passage": row["passage"]}
            if row["condition"] == "synthetic"
            else row | {"script": "lines.txt", "passage": "", "text": ""}
        ),
    )
    problems = problems_of(edited(config, compare={"a": "human", "b": "synthetic", "match": ["passage"]}))

    assert len(problems) == 8
    assert all("the script 'lines.txt' does not exist" in problem for problem in problems)
    assert any(
        "no clip has condition = humann" in problem
        for problem in problems_of(edited(config, compare={"a": "humann", "b": "synthetic"}))
    )


@pytest.mark.parametrize(
    ("clips", "said"),
    [
        ({"folder": "wva", "pattern": "{name}.wav"}, "clips.folder: there is no such file or folder"),
        ({"table": "clip.csv"}, "clips.table: there is no such file or folder"),
    ],
)
def test_clips_that_are_not_there_are_told_by_line_and_nearest_name(
    make_study: MakeStudy, clips: dict[str, str], said: str
) -> None:
    """A table or folder that does not exist is one problem, at the config's line, with the nearest name beside it."""
    (problem,) = problems_of(edited(make_study(), clips=clips))

    assert "study.yaml:3: " + said in problem
    assert f"did you mean '{'wav' if 'folder' in clips else 'clips.csv'}'?" in problem


def test_a_file_is_named_once_and_as_the_table_names_it(make_study: MakeStudy) -> None:
    """What is wrong with a file names it once, relative to the table, wherever prep was started."""
    config = make_study()
    (config.parent / "wav" / "h0_0.wav").write_bytes(b"not sound")
    (problem,) = checked(config).clip_problems
    assert str(problem).startswith("clips.csv:2: wav/h0_0.wav: ")
    assert str(config.parent) not in str(problem)
    folder = edited(config, clips={"folder": "wav", "regex": r"(?P<condition>.)(?P<speaker>\d)_.*"})
    (problem,) = checked(edited(folder, compare={"a": "h", "b": "s"}, chain=["encode"])).clip_problems
    assert str(problem).count("h0_0.wav") == 1


def test_a_split_that_lacks_a_condition_names_one_that_does_not(make_study: MakeStudy) -> None:
    """A condition of one speaker is told with the split that works; without one, more clips are asked for."""
    config = rewritten(make_study(), lambda row: row | {"speaker": row["condition"]})
    assert "has no clip of human" in notices_of(edited(config, chain=["encode"]))
    assert "; set heldout: {by: passage}" in notices_of(config)

    mended = checked(edited(config, heldout={"by": "passage"}))
    assert mended.split is not None
    assert not mended.split.warnings
    rewritten(config, lambda row: row | {"passage": "p"})
    assert "; give each condition clips of two speakers or more" in notices_of(edited(config, heldout={}))


@pytest.mark.parametrize(
    ("emptied", "settings"),
    [(("speaker",), {"unit": "passage"}), (("speaker", "passage"), {"unit": "text"})],
)
def test_clips_without_a_unit_are_told_what_to_set(
    make_study: MakeStudy, emptied: tuple[str, ...], settings: dict[str, str]
) -> None:
    """Where nothing can be tested for want of a speaker, the notice names settings with which everything can."""
    config = rewritten(
        edited(make_study(), chain=["encode"]),
        lambda row: row | dict.fromkeys(emptied, "") | {"text": row["file_name"]},
    )
    told = notices_of(config)
    wanted = "compare.unit" if "passage" not in emptied else "compare.unit and heldout.by"
    assert f"nothing can be tested: give every clip a speaker, or set {wanted} to a column that all have" in told

    by = {} if "passage" not in emptied else {"heldout": {"by": "text"}}
    mended = checked(edited(config, compare={"a": "human", "b": "synthetic", **settings}, **by))
    assert mended.split is not None
    assert "nothing" not in "\n".join(str(notice) for notice in mended.notices)


def test_links_that_loop_are_told(make_study: MakeStudy) -> None:
    """A clip and an output folder that are links which loop are problems like any other."""
    config = edited(make_study(), output="round")
    clip = config.parent / "wav" / "h0_0.wav"
    clip.unlink()
    try:
        for path in (clip, config.parent / "round"):
            path.symlink_to(path.name)
    except OSError:
        pytest.skip("this system makes no symbolic links")
    told = "\n".join(problems_of(config))
    assert "'wav/h0_0.wav' is a link to nothing; mend the link" in told


def test_a_name_that_no_disk_takes_is_a_problem(make_study: MakeStudy) -> None:
    """A folder name of 3000 letters is named like any other wrong value, for the output as for a model."""
    long = "a" * 3000
    config = edited(make_study(), output=long)
    assert "output: is longer than a name can be on this disk; shorten it" in problems_of(config)[0]
    config = edited(config, output="out", chain=[{"screen": {"preamble": {"recogniser": long}}}, {"encode": {}}])
    assert "a holds no model; put the files of one there, or leave the setting out" in problems_of(config)[0]
