"""prep suggest: the mildest chain that is enough, found on the fit split alone."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile
import yaml
from typer.testing import CliRunner, Result

from prep.__main__ import app
from prep.check import checked
from prep.commands.show import show_suggestion
from prep.progress import Lines, Silent
from prep.stages import stage_classes
from prep.suggest import Suggestion, Tried, _Search, suggest_chain

if TYPE_CHECKING:
    from pathlib import Path

MakeStudy = Any

pytestmark = pytest.mark.usefixtures("inline")


@pytest.fixture
def planted(make_study: MakeStudy) -> Path:
    """A study of 2 x 8 speakers whose conditions differ by 2.5 dB/octave and by nothing else on purpose."""
    config: Path = make_study(
        speakers=8,
        passages=1,
        chain=[{"encode": {"codec": "flac", "bit_depth": 16, "rate": 22050, "channels": 1}}],
        audit={"cues": ["tilt", "loudness", "spectrum"], "draws": 999},
    )
    for number, path in enumerate(sorted((config.parent / "wav").iterdir())):
        slope = -4.0 - 2.5 * path.name.startswith("s") + 0.6 * np.random.default_rng(number).standard_normal()
        soundfile.write(path, syllables(number, slope), 22050, subtype="PCM_16")
    return config


def syllables(seed: int, slope_db_per_octave: float) -> np.ndarray:
    """Return 0.8 s of noise in syllables with a straight spectrum."""
    frames = 17640
    octaves = np.log2(np.maximum(np.fft.rfftfreq(frames, 1 / 22050), 50) / 1000)
    white = np.fft.rfft(np.random.default_rng(seed).standard_normal(frames))
    noise = np.fft.irfft(white * 10 ** (slope_db_per_octave * octaves / 20), frames)
    noise *= 0.02 + np.sin(2 * np.pi * 2.5 * np.arange(frames) / 22050) ** 2
    return 0.05 * noise / noise.std()


def suggest(*words: object) -> Result:
    """Call prep suggest as a shell would, in this process."""
    return CliRunner().invoke(app, ["suggest", *(str(word) for word in words)])


def test_the_mildest_setting_that_is_enough_is_chosen(planted: Path) -> None:
    """The first rung within the margin is chosen, milder ones were tried and were not enough, and the chain is run."""
    done = suggest_chain(planted, Silent(), margin=0.3)

    tilts = [item for item in done.tried if "tilt" in item.separation]
    assert tilts[0].rung is None
    assert (tilts[0].separation["tilt"] or 0) > 0.3
    *milder, chosen = tilts[1:]
    assert chosen.chosen
    assert (chosen.separation["tilt"] or 0) <= 0.3
    assert all((item.separation["tilt"] or 0) > 0.3 for item in milder)
    assert done.chain[0] == {"tilt_eq": chosen.rung.parameters if chosen.rung else None}
    assert [next(iter(step)) for step in done.chain[1:]] in (["shared_gain", "encode"], ["clip_loudness", "encode"])
    assert chosen.spectral_change_db is not None
    assert chosen.spectral_change_db > 0.1
    assert done.record["audit"]["after"]["tilt"]["separation"] < done.record["audit"]["before"]["tilt"]["separation"]


def test_the_search_does_not_hear_the_held_out_half(planted: Path) -> None:
    """Other sound in every held-out clip changes nothing that was tried, and no choice."""
    first = suggest_chain(planted, Silent(), margin=0.3)
    plan = checked(planted)
    rng = np.random.default_rng(0)
    for row in plan.rows:
        if plan.half_of(row) == "held-out":
            frames, rate = soundfile.info(row.path).frames, soundfile.info(row.path).samplerate
            soundfile.write(row.path, 0.1 * rng.standard_normal(frames), rate, subtype="PCM_16")
    second = suggest_chain(planted, Silent(), margin=0.3)

    assert second.tried == first.tried
    assert second.chain == first.chain
    assert second.record["audit"]["before"] != first.record["audit"]["before"]


def test_what_nothing_reaches_is_said(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cue that no setting brings within the margin is said, with exit code 1; the best that helps is suggested."""
    mild = [{"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}, "max_db_per_octave": 2.2}]
    monkeypatch.setattr(stage_classes()["tilt_eq"], "rungs", lambda *_: mild)
    monkeypatch.setenv("COLUMNS", "200")  # so that no cell wraps
    result = suggest(planted, "--margin", "0.1")

    assert result.exit_code == 1
    assert "not enough, but the best" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith("# exit code 1: nothing brings tilt")
    assert "within 0.1; the fit split has 4 human and 4 synthetic speakers" in last


def test_the_printed_chain_is_ready_to_use(planted: Path) -> None:
    """What is printed last is YAML that a study takes for its chain, whatever is said below it."""
    result = suggest(planted, "--margin", "0.3")
    assert result.stdout.splitlines()[-1].startswith("# exit code 1: ")
    text = result.stdout[result.stdout.index("chain:\n") :]
    values = yaml.safe_load(planted.read_text(encoding="utf-8")) | yaml.safe_load(text)
    planted.write_text(yaml.safe_dump(values), encoding="utf-8")

    assert checked(planted).chain.stages
    assert "the held-out half, opened once:" in result.stdout


@pytest.fixture
def own_chain(make_study: MakeStudy) -> Path:
    """A study of few clips with a screen, a filter, a correction and a level of its own."""
    config: Path = make_study(
        speakers=4,
        passages=1,
        chain=[
            {"screen": {"clipping": {}}},
            {"high_pass": {"cutoff_hz": 60}},
            {"tilt_eq": {"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}}},
            {"shared_gain": {"target_lufs": -30}},
            {"encode": {"codec": "flac", "bit_depth": 16, "rate": 16000, "channels": 1}},
        ],
        audit={"cues": ["tilt", "loudness"], "draws": 199},
    )
    spoilt = config.parent / "wav" / "h0_0.wav"
    samples, rate = soundfile.read(spoilt)
    soundfile.write(spoilt, np.clip(30 * samples, -0.9, 0.9), rate, subtype="PCM_16")
    return config


def test_steps_that_are_no_cure_stay(
    own_chain: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Own steps that are not tried stay, and work; of each that was replaced it is said why; progress is one line."""
    monkeypatch.setenv("COLUMNS", "200")
    done = suggest_chain(own_chain, Lines(), margin=0.5)
    told = capsys.readouterr().err.splitlines()
    show_suggestion(done, as_json=False)
    shown = capsys.readouterr().out.splitlines()

    assert done.chain[:2] == [{"screen": {"clipping": {}}}, {"high_pass": {"cutoff_hz": 60.0}}]
    assert [next(iter(step)) for step in done.chain[2:]] == ["shared_gain", "encode"]
    assert [clip["file_name"] for clip in done.record["clips"] if clip["failure"]] == ["wav/h0_0.wav"]
    last = shown[shown.index("chain:") :]
    assert any(line.startswith("# tilt_eq left out: already within the margin without it: tilt (0.") for line in last)
    assert "# shared_gain: with the settings found here in place of the study's own" in last
    assert {line.split()[0] for line in shown if line.split()[1:2] in (["none"], ["shared_gain"])} == {
        "tilt",
        "loudness",
    }
    assert len([line for line in told if line.startswith("search: ") and " settings, " in line]) == 1
    assert not any(line.startswith("look") for line in told)


def test_sources_that_are_served_as_they_are_are_refused(make_study: MakeStudy) -> None:
    """With the encoder `copy` no step can take effect: that is said at its line, before any work."""
    config = make_study(chain=[{"encode": {"codec": "copy"}}])
    result = suggest(config)

    assert result.exit_code == 3
    assert "copy serves the source's bytes, so no step that is suggested could take effect" in result.stderr
    assert "inspect" not in result.stderr


def test_what_a_study_may_not_have_is_not_suggested(own_chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting whose chain a study would refuse is a failed trial, with the reason; the next one is chosen."""
    monkeypatch.setattr(
        stage_classes()["shared_gain"], "rungs", lambda *_: [{"target_lufs": -30, "only": {"condition": "human"}}]
    )
    monkeypatch.setattr(stage_classes()["clip_loudness"], "rungs", lambda *_: [{"target_lufs": -30}])
    done = suggest_chain(own_chain, Silent(), margin=0.5)
    (failed,) = [item for item in done.tried if not item.legal]

    assert failed.rung is not None
    assert failed.rung.step == "shared_gain"
    assert failed.why.startswith("shared_gain is one gain for the whole set")
    assert not failed.chosen
    assert [next(iter(step)) for step in done.chain[-2:]] == ["clip_loudness", "encode"]


def test_spares_are_not_judged(planted: Path) -> None:
    """Only the clip that fills a slot is fitted and judged: a spare of other sound changes nothing that was tried."""
    table = planted.parent / "clips.csv"
    with table.open(newline="", encoding="utf-8") as file:
        rows = [{**row, "slot": row["speaker"]} for row in csv.DictReader(file)]
    for number, row in enumerate(list(rows)):
        spare = f"wav/spare{number}.wav"
        slope = -20.0 if row["condition"] == "human" else 0.0
        soundfile.write(planted.parent / spare, syllables(99 + number, slope), 22050, subtype="PCM_16")
        rows.append({**row, "file_name": spare})
    alone = suggest_chain(planted, Silent(), margin=0.3)
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    beside = suggest_chain(planted, Silent(), margin=0.3)

    assert beside.record["counts"] == {"delivered": 16, "spare": 16}
    assert beside.tried == alone.tried


def test_too_few_speakers_are_said(make_study: MakeStudy) -> None:
    """With four speakers a side the suggestion says that its fit split is too small to tell, with exit code 1."""
    config = make_study(audit={"cues": ["tilt", "spectrum"]})
    result = suggest(config, "--json")

    assert result.exit_code == 1
    assert (
        "the fit split has 2 human and 2 synthetic speakers, fewer than 5 a side"
        in json.loads(result.stdout)["too_small"]
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"compare": {"conditions": ["human", "synthetic"], "column": "condition", "unit": "speaker"}}, ""),
        ({"compare": {"column": "passage", "conditions": ["p0", "p1", "h0"]}}, "no clip has passage = h0"),
        ({"compare": None}, "no two conditions are compared"),
    ],
)
def test_a_study_that_cannot_be_searched_is_refused(make_study: MakeStudy, settings: dict[str, Any], said: str) -> None:
    """A study without two conditions is refused; a list of two is two."""
    config = make_study(audit={"cues": ["tilt", "spectrum"]}, **settings)
    result = suggest(config)

    assert (result.exit_code == 3) == bool(said)
    assert said in result.stderr


def test_what_cannot_be_measured_is_not_within_the_margin(own_chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cue without a separation is told as not measurable where its step is left out, and never as one of 0."""
    separations = _Search._separations

    def undefined(*given: Any) -> dict[str, float | None]:
        return separations(*given) | {"spectrum": None}

    monkeypatch.setattr(_Search, "_separations", undefined)
    done = suggest_chain(own_chain, Silent(), margin=0.5)

    (told,) = [line for line in done.left_out if line.startswith("tilt_eq left out: already within")]
    assert "spectrum (not measurable)" in told
    assert "tilt (0." in told
    assert "(0.000)" not in told


def test_cues_that_could_not_be_judged_are_named() -> None:
    """The conclusion names what no trial could measure, and claims the margin for the other cues alone."""
    tried = [Tried(None, {"tilt": 0.05, "reverb": None}, None), Tried(None, {"tilt": None, "reverb": None}, None)]
    some, every = (Suggestion(0.1, [], found, [], [], "", {}) for found in (tried, [Tried(None, {"tilt": 0.0}, None)]))

    assert some.conclusion == (
        "exit code 0: every cue that a step can take out and that could be judged is within 0.1 on unseen units of the "
        "fit split; reverb could not be judged"
    )
    assert every.conclusion == (
        "exit code 0: every cue that a step can take out is within 0.1 on unseen units of the fit split"
    )


def test_a_step_whose_settings_did_not_help_is_told_for_the_settings_tried(
    own_chain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing tried was better than nothing, that is said of what was tried: the study's own setting was not."""
    rungs = [{"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}, "max_db_per_octave": 0.01}]
    monkeypatch.setattr(stage_classes()["tilt_eq"], "rungs", lambda *_: rungs)
    monkeypatch.setattr(_Search, "_separations", lambda *_: {"tilt": 0.4})
    done = suggest_chain(own_chain, Silent(), margin=0.1)

    assert "tilt_eq left out: none of the settings tried here helped" in done.left_out
