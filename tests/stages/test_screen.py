"""screen: what a check turns down, what takes its place, and what is cut off."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
import soundfile
import yaml
from pydantic import ValidationError
from typer.testing import CliRunner

from prep.__main__ import app
from prep.clip import Clip
from prep.cue import Cue, Feature
from prep.errors import ClipError, ConfigError, RefusedError
from prep.progress import Silent
from prep.run import Done, run_study
from prep.slots import slots_of
from prep.stages import screen as screen_module
from prep.stages import stage_classes
from prep.table import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

MakeStudy = Any
Screen = stage_classes()["screen"]
RATE = 16000
TOO_SHORT = (
    "duration: duration_seconds is 0.5 s, under the limit of 1 s: "
    "frames over sampling rate, silence at the ends included"
)


def speech(seconds: float, seed: int = 0, gain: float = 0.1) -> np.ndarray:
    """Noise in syllables, which every check takes for a clip."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(seconds * RATE)) / RATE
    return gain * rng.standard_normal(time.size) * (0.05 + np.sin(2 * np.pi * 2 * time) ** 2)


def clip(seconds: float = 1.0, gain: float = 0.1) -> Clip:
    """Return one such clip."""
    return Clip(speech(seconds, gain=gain)[:, None].astype(np.float32), RATE, "clip")


def finding_of(screen: Any, of: Clip) -> Any:
    """Return the only finding of a screen."""
    (finding,) = screen.measure(of).findings
    return finding


# --------------------------------------------------------------------------- one clip


def test_a_broken_limit_is_told_with_number_and_limit() -> None:
    """A clip beyond a limit fails, with the feature, its value, the limit and a sentence."""
    screen = Screen.model_validate({"duration": {"min_duration_seconds": 2.0, "max_duration_seconds": 9.0}})
    finding = finding_of(screen, clip(1.0))

    assert (finding.outcome, finding.feature, finding.value, finding.limit) == ("failed", "duration_seconds", 1.0, 2.0)
    assert finding.reason == (
        "duration: duration_seconds is 1 s, under the limit of 2 s: "
        "frames over sampling rate, silence at the ends included"
    )
    assert finding_of(screen, clip(3.0)).outcome == "passed"


def test_what_cannot_be_checked_is_never_a_pass() -> None:
    """A cue that is undefined for a clip is "not checked", with the reason."""
    screen = Screen.model_validate({"loudness_range": {"max_loudness_range_lu": 1.0}})
    finding = finding_of(screen, clip(1.0))

    assert finding.outcome == "not checked"
    assert finding.reason.startswith("loudness_range: ")


@pytest.mark.parametrize("name", screen_module.CHECKS)
def test_every_check_tells_a_broken_limit_in_words_with_its_unit(name: str) -> None:
    """Every number of every check is told with its unit, where it has one, and with its meaning."""
    cue = screen_module.CHECKS[name].CUE
    check = screen_module.CHECKS[name].model_validate({f"max_{cue.FEATURES[0].name}": 1.0})
    for feature in cue.FEATURES:
        told = check._told(feature.name, 2.5, 1.0)
        unit = "" if feature.unit in ("no unit", "count") else f" {feature.unit}"
        assert told == f"{feature.name} is 2.5{unit}, over the limit of 1{unit}: {feature.meaning}"


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ({}, "no check is given"),
        ({"tilt": {}}, "tilt has no limit of its own"),
        ({"duration": {"min_length": 1}}, "Extra inputs"),
        ({"duration": {"min_duration_seconds": 1, "on_fail": "cut"}}, "'replace', 'drop', 'flag' or 'stop'"),
        ({"duration": {"min_duration_seconds": 1, "on_fail": "retry"}}, "'replace', 'drop', 'flag' or 'stop'"),
        ({"duration": {"min_duration_seconds": True}}, "is no switch"),
        ({"noise": {}}, "Extra inputs"),
    ],
)
def test_a_check_that_cannot_be_meant_is_refused(checks: dict[str, Any], said: str) -> None:
    """A screen without a check, a check without a limit, and unknown words are refused."""
    with pytest.raises(ValidationError, match=said):
        Screen.model_validate(checks)


def test_a_screen_travels_to_a_worker() -> None:
    """A screen is the same after pickling, though the classes of its checks are made."""
    screen = Screen.model_validate({"duration": {"min_duration_seconds": 2.0}})

    assert pickle.loads(pickle.dumps(screen)) == screen  # noqa: S301


class Announced(Cue):
    """A stand-in for a preamble: an announcement is where the clip starts with full scale."""

    NAME: ClassVar[str] = "announced"
    FEATURES: ClassVar[tuple[Feature, ...]] = (Feature("announced_seconds", "s", "where it ends", 0.01),)
    LIMITS: ClassVar[dict[str, float]] = {"max_announced_seconds": 0.0}
    MODELS: ClassVar[tuple[str, ...]] = ("a model",)
    CUT: ClassVar[str] = "announced_seconds"

    asked: ClassVar[list[int]] = []

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the first half second for every announcement, or refuse a silent clip."""
        self.asked.append(clip.frames)
        if not clip.samples.any():
            raise ClipError("nothing is said")
        return {"announced_seconds": 0.5 * float(abs(clip.samples[0, 0]) == 1.0)}

    def evidence(self, clip: Clip) -> dict[str, Any]:
        """Return what was heard."""
        return {"heard": f"{clip.frames} frames"}

    def from_text(self, clip: Clip, text: str) -> dict[str, float] | None:  # noqa: ARG002
        """Return no announcement where the text says so."""
        return {"announced_seconds": 0.0} if text == "none" else None


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The checks of a screen with the stand-in among them."""
    check = screen_module._check_model(Announced)
    monkeypatch.setitem(screen_module.CHECKS, "announced", check)
    Announced.asked.clear()
    return screen_module.CHECKS


def with_checks(*checks: Any) -> Any:
    """Return a screen of ready checks."""
    ready = sorted(checks, key=lambda check: bool(check.CUE.MODELS))

    class Ready(screen_module._Screen):
        NAME: ClassVar[str] = "screen"
        checks: ClassVar[list[Any]] = ready

    return Ready()


def test_what_may_be_cut_is_cut_and_screened_again(announced: dict[str, Any]) -> None:
    """A start that fails is cut off as often as it fails, then the rest is screened; apply cuts to the frame."""
    sound = clip(3.0).samples.copy()
    sound[0] = sound[RATE // 2] = 1.0
    twice = Clip(sound, RATE, "clip")
    screen = with_checks(announced["announced"].model_validate({"on_fail": "cut"}))
    found = screen.measure(twice)

    assert found.cut_seconds == 1.0
    assert [item.value for item in found.cut_for] == [0.5, 0.5]
    assert [item.outcome for item in found.findings] == ["passed"]
    assert found.worst() is None
    assert found.cut_for[0].evidence == {"heard": "48000 frames"}
    treated = screen.apply(twice, screen_module.Cut(seconds=1.0)).clip
    np.testing.assert_array_equal(treated.samples, sound[RATE:])


def test_a_model_is_not_asked_about_a_clip_that_is_lost_already(announced: dict[str, Any]) -> None:
    """A check that needs a model is skipped once a cheaper one has turned the clip down, but not for a flag."""
    dear = announced["announced"].model_validate({})
    short = announced["duration"].model_validate({"min_duration_seconds": 2.0})
    flag = announced["duration"].model_validate({"min_duration_seconds": 2.0, "on_fail": "flag"})

    found = with_checks(dear, short).measure(clip(1.0))
    assert [(item.check, item.outcome) for item in found.findings] == [("duration", "failed"), ("announced", "skipped")]
    assert Announced.asked == []
    found = with_checks(dear, flag).measure(clip(1.0))
    assert [item.outcome for item in found.findings] == ["failed", "passed"]
    assert found.worst() is None


def test_the_table_s_text_reaches_a_check_that_compares_with_it(announced: dict[str, Any]) -> None:
    """A check is told the text of the table, and goes by the sound alone without one."""
    sound = clip().samples.copy()
    sound[0] = 1.0
    loud = Clip(sound, RATE, "clip")
    screen = with_checks(announced["announced"].model_validate({}))

    assert screen.measure_reading(loud, "none").findings[0].outcome == "passed"
    assert screen.measure(loud).findings[0].outcome == "failed"


# --------------------------------------------------------------------------- slots


def test_rows_are_their_own_slots_unless_a_column_says_otherwise() -> None:
    """Without a slot column each row is a slot; with one, or with `by`, rows of equal values share it, by role."""

    def row(name: str, **columns: str) -> Row:
        return Row(name, Path(name), {"file_name": name, **columns})

    plain = [row("a", speaker="s"), row("b", speaker="s")]
    assert [slot.candidates for slot in slots_of(plain)] == [(0,), (1,)]
    assert [slot.candidates for slot in slots_of(plain, ["speaker"])] == [(0, 1)]
    named = [row("a", slot="1"), row("b", slot="2"), row("c", slot="1"), row("d", slot=""), row("e", slot="")]
    assert [slot.candidates for slot in slots_of(named)] == [(0, 2), (1,), (3,), (4,)]
    roles = [row("a", slot="1"), row("b", slot="1", role="reference")]
    assert [slot.candidates for slot in slots_of(roles)] == [(0,), (1,)]


# --------------------------------------------------------------------------- a study


def study(folder: Path, rows: list[dict[str, Any]], screen: dict[str, Any], **settings: Any) -> Path:
    """Write a study: `sound` of a row is (seconds, gain)."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, row in enumerate(rows):
        seconds, gain = row.pop("sound")
        soundfile.write(folder / row["file_name"], np.clip(speech(seconds, number, gain), -1, 1), RATE, "PCM_16")
    names = list(dict.fromkeys(name for row in rows for name in row))
    with (folder / "clips.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(rows)
    config = {
        "study": "slots",
        "clips": {"table": "clips.csv"},
        "chain": [{"screen": screen}, {"shared_gain": {"target_lufs": -30}}, {"encode": {}}],
        **settings,
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return folder / "study.yaml"


def run(config: Path) -> Done:
    """Run a study in silence."""
    return run_study(config, Silent())


def three_slots(folder: Path, on_fail: str = "replace") -> Path:
    """One slot whose first candidate fails, one whose only candidate fails, one that is good and has a spare."""
    rows = [
        {"file_name": "short.wav", "slot": "1", "sound": (0.5, 0.1)},
        {"file_name": "only.wav", "slot": "2", "sound": (0.5, 0.1)},
        {"file_name": "good.wav", "slot": "3", "sound": (2.0, 0.1)},
        {"file_name": "second.wav", "slot": "1", "sound": (2.0, 0.1)},
        {"file_name": "third.wav", "slot": "1", "sound": (2.0, 0.1)},
        {"file_name": "spare.wav", "slot": "3", "sound": (0.5, 0.1)},
    ]
    return study(folder, rows, {"duration": {"min_duration_seconds": 1.0, "on_fail": on_fail}})


@pytest.mark.usefixtures("inline")
def test_the_next_candidate_takes_the_place(tmp_path: Path) -> None:
    """The next candidate that passes fills the slot; the key says whom it replaces and why; an empty slot is named."""
    config = three_slots(tmp_path)
    done = run(config)

    assert done.exit_code == 1
    status = {item["file_name"]: item["status"] for item in done.record["clips"]}
    assert status == {
        "short.wav": "rejected",
        "only.wav": "rejected",
        "good.wav": "delivered",
        "second.wav": "delivered",
        "third.wav": "spare",
        "spare.wav": "spare",
    }
    assert [slot["filled_by"] for slot in done.record["slots"]] == ["second.wav", None, "good.wav"]
    with (tmp_path / "out" / "key.csv").open(newline="", encoding="utf-8") as file:
        key = {row["file_name"]: row for row in csv.DictReader(file)}
    assert key["second.wav"]["replaces"] == f"short.wav ({TOO_SHORT})"
    assert key["good.wav"]["replaces"] == key["third.wav"]["replaces"] == ""
    assert (key["short.wav"]["failed_step"], key["short.wav"]["value"], key["short.wav"]["limit"]) == (
        "screen",
        "0.5",
        "1.0",
    )
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert f"| short.wav | rejected | screen | {TOO_SHORT} | second.wav |" in report
    assert "2 further candidates were not needed and not read." in report
    methods = (tmp_path / "out" / "methods.md").read_text(encoding="utf-8")
    assert "the source recordings were screened for duration." in methods
    assert "Of 4 source clips, 2 were excluded (2 without a condition; duration: 2)" in methods
    assert "and 1 of them was replaced by another candidate." in methods
    # A clip that nobody needs is not read: its file may as well be gone.
    assert done.record["clips"][4]["source"]["sha256"] is None


@pytest.mark.usefixtures("inline")
def test_filled_slots_are_done(tmp_path: Path) -> None:
    """Where every slot is filled, rejected candidates leave exit code 0."""
    rows = [
        {"file_name": "short.wav", "slot": "1", "sound": (0.5, 0.1)},
        {"file_name": "second.wav", "slot": "1", "sound": (2.0, 0.1)},
    ]
    done = run(study(tmp_path, rows, {"duration": {"min_duration_seconds": 1.0}}))

    assert done.exit_code == 0
    assert done.record["counts"] == {"rejected": 1, "delivered": 1}


@pytest.mark.usefixtures("inline")
def test_a_candidate_that_cannot_be_read_is_replaced_and_shows_in_the_exit_code(tmp_path: Path) -> None:
    """A broken file gives its place to the next candidate, and the exit code is 1 all the same."""
    config = three_slots(tmp_path)
    (tmp_path / "short.wav").write_bytes(b"no sound")
    done = run(config)

    assert done.record["clips"][0]["status"] == "failed"
    assert done.record["slots"][0]["filled_by"] == "second.wav"
    assert done.exit_code == 1


@pytest.mark.usefixtures("inline")
def test_a_dropped_clip_is_not_replaced_and_a_flagged_one_is_used(tmp_path: Path) -> None:
    """on_fail: drop leaves the slot empty, on_fail: flag delivers the clip and tells of it."""
    dropped = run(three_slots(tmp_path / "drop", "drop"))
    assert [slot["filled_by"] for slot in dropped.record["slots"]] == [None, None, "good.wav"]
    flagged = run(three_slots(tmp_path / "flag", "flag"))
    assert [slot["filled_by"] for slot in flagged.record["slots"]] == ["short.wav", "only.wav", "good.wav"]
    assert flagged.exit_code == 0
    report = (tmp_path / "flag" / "out" / "report.md").read_text(encoding="utf-8")
    assert f"| short.wav | duration | flagged: {TOO_SHORT} |" in report


@pytest.mark.usefixtures("inline")
def test_a_check_may_stop_the_run(tmp_path: Path) -> None:
    """on_fail: stop refuses the study, naming the clip and the number, and writes nothing."""
    with pytest.raises(RefusedError, match=r"short\.wav: screen: duration: duration_seconds is 0\.5"):
        run(three_slots(tmp_path, "stop"))
    assert not (tmp_path / "out" / "run.json").exists()


@pytest.mark.usefixtures("inline")
def test_candidates_of_two_conditions_are_a_config_error(tmp_path: Path) -> None:
    """A slot whose candidates are of several conditions is named before anything is read."""
    rows = [
        {"file_name": "a.wav", "condition": "human", "passage": "1", "sound": (1.0, 0.1)},
        {"file_name": "b.wav", "condition": "synthetic", "passage": "1", "sound": (1.0, 0.1)},
    ]
    screen = {"duration": {"min_duration_seconds": 0.2}}
    compare = {"a": "human", "b": "synthetic"}
    config = study(tmp_path, rows, screen, compare=compare, slots={"by": ["passage"]})
    with pytest.raises(ConfigError, match="slot 1 has candidates with condition human and synthetic"):
        run(config)
    rows = [row | {"sound": (1.0, 0.1)} for row in rows]
    config = study(tmp_path, rows, screen, compare=compare, slots={"by": ["passge"]})
    with pytest.raises(ConfigError, match="no column passge; did you mean passage"):
        run(config)


@pytest.mark.usefixtures("inline")
def test_a_screen_stands_before_what_is_fitted(tmp_path: Path) -> None:
    """A screen after a fitted step is refused with the line and the way out."""
    rows = [{"file_name": "a.wav", "sound": (1.0, 0.1)}]
    screen = {"screen": {"duration": {"min_duration_seconds": 0.2}}}
    tilt = {"tilt_eq": {"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}}}
    config = study(tmp_path, rows, {}, chain=[tilt, screen, {"encode": {}}])
    with pytest.raises(ConfigError, match=r"screen after tilt_eq.*move it before every step that is fitted"):
        run(config)


@pytest.mark.usefixtures("inline")
def test_a_model_that_is_not_here_stops_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check whose model was not fetched is a config problem that says which command to type."""
    monkeypatch.setenv("PREP_MODELS", str(tmp_path / "none"))
    rows = [{"file_name": "a.wav", "sound": (1.0, 0.1)}]
    config = study(tmp_path, rows, {"preamble": {}})
    result = CliRunner().invoke(app, ["check", str(config)])

    assert result.exit_code == 3
    assert "type: prep models fetch whisper-tiny-en" in result.stderr


@pytest.mark.usefixtures("inline")
def test_a_screened_run_is_the_same_twice(tmp_path: Path) -> None:
    """A second run of a screened study leaves the same record, and an interrupted one is gone on with."""
    config = three_slots(tmp_path)
    first = run(config).record
    second = run(config).record

    for record in (first, second):
        for name in ("started", "seconds", "platform"):
            record.pop(name)
    assert json.dumps(first) == json.dumps(second)
