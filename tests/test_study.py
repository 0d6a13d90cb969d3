"""The config: every problem at once, with file, line and a way out."""

from pathlib import Path

import pytest
import yaml

from prep.errors import ConfigError
from prep.study import load_study, study_schema

GOOD = """\
study: s
clips: {table: clips.csv}
compare: {a: human, b: synthetic, match: [speaker, passage]}
chain:
  - tilt_eq: {adjust: {condition: human}, towards: {condition: synthetic}}
  - shared_gain: {target_lufs: -26}
  - encode: {codec: flac}
"""


def problems_of(tmp_path: Path, text: str) -> list[str]:
    """Return the problems of a config as lines, with the folder taken out."""
    path = tmp_path / "study.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_study(path)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def test_a_good_config_is_read(tmp_path: Path) -> None:
    """Steps come in order with defaults filled in, and the study hands its settings down."""
    (tmp_path / "study.yaml").write_text(GOOD, encoding="utf-8")
    study = load_study(tmp_path / "study.yaml").study

    assert [step.NAME for step in study.chain] == ["tilt_eq", "shared_gain", "encode"]
    assert study.chain[0].model_dump()["match"] == ["speaker", "passage"]
    assert study.resolved()["chain"][2]["encode"] == {"codec": "flac", "rate": 44100, "channels": 1, "bit_depth": 16}


def test_what_changes_no_result_is_not_recorded(tmp_path: Path) -> None:
    """Workers and cache stay out of the recorded config."""
    (tmp_path / "study.yaml").write_text(GOOD + "workers: 3\ncache: elsewhere\n", encoding="utf-8")

    assert not {"workers", "cache"} & set(load_study(tmp_path / "study.yaml").study.resolved())


def test_every_problem_is_listed_with_its_line(tmp_path: Path) -> None:
    """Unknown keys, unknown steps and wrong values are all named at once, with a suggestion."""
    text = """\
study: s
clips: {table: clips.csv, patern: x}
chain:
  - tilt_q: {}
  - shared_gain: {target_luf: -26}
  - encode: {codec: flac, bit_depth: 17}
outptu: out
"""
    assert problems_of(tmp_path, text) == [
        "study.yaml:2: clips.patern: no such setting; did you mean pattern?",
        "study.yaml:4: chain.0.tilt_q: no such step; did you mean tilt_eq?",
        "study.yaml:5: chain.1.shared_gain.target_luf: no such setting; did you mean target_lufs?",
        "study.yaml:6: chain.2.encode.bit_depth: input should be 16, 24 or 32 (given: 17)",
        "study.yaml:7: outptu: no such setting; did you mean output?",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD + "study: t\n", "study is given twice (first on line 1)"),
        (GOOD.replace("  - encode: {codec: flac}\n", ""), "no encode step"),
        (GOOD + "  - shared_gain\n", "encode is not the last step"),
        (GOOD.replace("  - encode", "  - clip_loudness\n  - encode"), "the level is set once"),
        (
            GOOD.replace("  - shared_gain: {target_lufs: -26}\n", "").replace(
                "  - tilt_eq", "  - shared_gain\n  - tilt_eq"
            ),
            "would move the level again",
        ),
        (GOOD.replace("codec: flac", "codec: copy"), "copy serves the source's bytes"),
        (GOOD.replace("codec: flac", "codec: flac, bitrate_kbps: 128"), "flac has no bitrate_kbps"),
        (GOOD.replace("table: clips.csv", "folder: clips"), "folder needs a pattern or a regex"),
        (GOOD.replace("table: clips.csv", "columns: {speaker: spk}"), "give either table or folder"),
        (GOOD + "audit: {cues: [tiltt]}\n", "tiltt: no such cue; did you mean tilt?"),
        (GOOD + "tilt_band_hz: [200, 300]\n", "holds 3 third octaves"),
        (GOOD.replace("b: synthetic", "b: human"), "a condition is compared with itself"),
        (
            GOOD.replace("{target_lufs: -26}", "{target_lufs: -26, only: {condition: human}}"),
            "one gain for the whole set",
        ),
        (GOOD + "output: $NOT_SET_ANYWHERE/out\n", "the environment variable NOT_SET_ANYWHERE is not set"),
        (GOOD + "heldout: {seed: true}\n", "is no switch"),
        (GOOD.replace("a: human", "a: yes"), "put yes, no, on or off in quotes"),
        (GOOD + "x: &a [1]\ny: *a\n", "*a stands for another part"),
        ("a: &a [*a]\n", "*a stands for another part"),
        ("[" * 20000 + "]" * 20000, "nested too deeply"),
        (GOOD + 'output: "a\\0b"\n', "no NUL character"),
        ("!!set {a, b}\n", "holds no settings"),
        ("- a\n", "holds no settings"),
        ("a: [1\n", "not YAML"),
        (GOOD + "? [a, b]\n: 1\n", "study.yaml:8: not YAML: found unhashable key; mend"),
        (GOOD + "x: !foo x\n", "study.yaml:8: not YAML: could not determine a constructor for the tag '!foo'; mend"),
        (GOOD + "x: a\0b\n", "study.yaml:8: not YAML: special characters are not allowed; save"),
        ("", "holds no settings"),
    ],
)
def test_what_breaks_a_promise_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """A chain or setting that would break the study's promise is a problem before any sound is read."""
    assert any(said in problem for problem in problems_of(tmp_path, text)), problems_of(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("{condition: human}", "human"), "(given: 'human'); write adjust: {condition: human}"),
        (GOOD.replace("{condition: human}", "[human, other]"), "write adjust: {condition: [human, other]}"),
        (
            GOOD.replace("{condition: human}", "human").replace("compare: {", "compare: {column: system, "),
            "write adjust: {system: human}",
        ),
        (GOOD + "slots: {by: condition}\n", "write by: [condition]"),
        (GOOD.replace("codec: flac", "codec: flac, rate: 44.1"), "(given: 44.1); in Hz: 44100"),
        (GOOD.replace("codec: flac", "codec: wave"), "(given: 'wave'); did you mean wav?"),
        (GOOD + "heldout: {release: fit}\n", "(given: 'fit'); did you mean fit split?"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_with_the_one_that_was_meant(tmp_path: Path, text: str, said: str) -> None:
    """Rows named by a bare value, a rate in kHz, and words near a known one are told with what to write."""
    (problem,) = problems_of(tmp_path, text)
    assert problem.endswith(said)


@pytest.mark.parametrize(
    "text", [GOOD.replace("codec: flac", "codec: xyz"), GOOD.replace("{table: clips.csv}", "{table: c, columns: x}")]
)
def test_nothing_is_guessed_where_nothing_is_near(tmp_path: Path, text: str) -> None:
    """A word like no other, and a bare value where no rows are meant, have no suggestion."""
    (problem,) = problems_of(tmp_path, text)
    assert problem.endswith(")")


def test_a_band_set_for_one_step_only_is_refused(tmp_path: Path) -> None:
    """Tilt is measured in one band before and after, so a step may not have its own."""
    text = GOOD.replace("towards: {condition: synthetic}", "towards: {condition: synthetic}, tilt_band_hz: [200, 4000]")

    assert any("differs from the study's tilt_band_hz" in problem for problem in problems_of(tmp_path, text))


def test_a_missing_config_is_said(tmp_path: Path) -> None:
    """A config that is not there is a problem, not a crash."""
    with pytest.raises(ConfigError, match="No such file"):
        load_study(tmp_path / "none.yaml")


def test_home_is_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ~ stands for the home folder and never for a folder of that name."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "study.yaml").write_text(GOOD + "output: ~/out\n", encoding="utf-8")
    loaded = load_study(tmp_path / "study.yaml")

    assert loaded.path(loaded.study.output) == tmp_path / "home" / "out"


def test_the_schema_names_every_stage_and_parameter() -> None:
    """The JSON Schema lets an editor complete step names and parameters."""
    text = yaml.safe_dump(study_schema())

    assert "max_db_per_octave" in text
    assert "target_lufs" in text
    assert "equivalence_auc" in text
