"""Specification of takes in a study: lines become clips before the chain, each with its place, and none in silence."""

from __future__ import annotations

import csv
import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile
import yaml
from typer.testing import CliRunner, Result

from prep import attempts
from prep.__main__ import app
from prep.attempts import Task, cut_take, rank_key
from prep.methods import methods_md
from prep.recogniser import Word
from prep.recorded import lines_of_takes
from prep.workers import Outcome, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("inline")

RATE = 16000
LINES = ("One line that somebody reads", "And a second one, longer than it was", "Then a third that is short")
# Noise stands for speech: seconds a sound, as pauses alone must tell the lines apart by.
SECONDS_A_SOUND = 0.06


def seconds_of(line: str) -> float:
    """Return how long a line takes at the usual pace."""
    return SECONDS_A_SOUND * (sum(sign.isalpha() for sign in line) + 3)


def noise(seconds: float, level_db: float, seed: int) -> np.ndarray:
    """Return noise of a level over full scale."""
    return np.random.default_rng(seed).standard_normal(round(seconds * RATE)) * 10 ** (level_db / 20)


def sound_of(lines: tuple[str, ...], seed: int = 1, pause: float = 0.8) -> np.ndarray:
    """Return a take of lines with pauses around."""
    parts = [noise(pause, -75, seed)]
    for place, line in enumerate(lines):
        parts += [noise(seconds_of(line), -20, seed + 10 * place), noise(pause, -75, seed + place + 100)]
    return np.concatenate(parts)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a study of two human takes, and synthetic clips with heads of 0.15 s and tails of 0.35 s."""
    rows = []
    for place, speaker in enumerate(("x", "y")):
        soundfile.write(tmp_path / f"{speaker}.wav", sound_of(LINES, 10 + place), RATE, subtype="PCM_24")
        rows.append({"file_name": f"{speaker}.wav", "script": "lines.txt", "condition": "human", "speaker": speaker})
        for line, text in enumerate(LINES, 1):
            sound = np.concatenate([noise(0.15, -75, 1), noise(seconds_of(text), -20, line), noise(0.35, -75, 2)])
            name = f"{speaker}{line}.wav"
            soundfile.write(tmp_path / name, sound, RATE, subtype="PCM_16")
            row = {"file_name": name, "condition": "synthetic", "speaker": f"s{speaker}", "passage": f"lines:{line}"}
            rows.append(row)
    (tmp_path / "lines.txt").write_text("\n".join(LINES), encoding="utf-8")
    with (tmp_path / "clips.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ("file_name", "script", "condition", "speaker", "passage"))
        writer.writeheader()
        writer.writerows(rows)
    configure(tmp_path)
    return tmp_path / "study.yaml"


def configure(folder: Path, **settings: Any) -> None:
    """Write the config, with settings in place of its own."""
    config = {
        "study": "takes",
        "clips": {"table": "clips.csv"},
        "takes": {"recogniser": False},
        "compare": {"a": "human", "b": "synthetic"},
        "audit": {"cues": ["loudness"]},
        "chain": [{"shared_gain": {"target_lufs": -30}}, {"encode": {"codec": "flac", "bit_depth": 24}}],
        **settings,
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


def call(*words: object) -> Result:
    """Call prep as a shell would, in this process."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def record_of(study: Path, code: int = 0) -> dict[str, Any]:
    """Run a study and return its record."""
    result = call("run", study, "--json")
    assert result.exit_code == code, result.stderr
    record: dict[str, Any] = json.loads(result.stdout)
    return record


def cut_clips(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the record's clips that were cut from takes."""
    return [clip for clip in record["clips"] if clip["take"]]


def test_a_run_cuts_takes_before_its_chain(study: Path) -> None:
    """Each line is a delivered clip of its speaker, and record and key say which samples of which take it is."""
    record = record_of(study)
    clips = cut_clips(record)

    assert record["counts"] == {"delivered": 12}
    assert [clip["file_name"] for clip in clips[:3]] == [f"x/lines_{line}_1.wav" for line in (1, 2, 3)]
    assert clips[3]["columns"] | {"file_name": ""} == {
        "file_name": "",
        "script": "lines.txt",
        "condition": "human",
        "speaker": "y",
        "passage": "lines:1",
        "text": LINES[0],
        "slot": "human y lines:1",
    }
    for clip in clips:
        take = clip["take"]
        assert (take["attempt"], take["rank"], take["attempts"], take["cut_by"]) == (1, 1, 1, "pauses")
        assert 0 <= take["start_sample"] < take["onset_sample"] < take["offset_sample"] < take["end_sample"]
        assert clip["source"]["facts"]["frames"] == take["end_sample"] - take["start_sample"]
        assert clip["source"]["facts"]["bit_depth"] == 24
        assert take["figures"]["failed"] == []
    with (study.parent / "out" / "key.csv").open(encoding="utf-8") as file:
        told = [json.loads(row["take"]) for row in csv.DictReader(file) if row["take"]]
    assert told == [clip["take"] for clip in clips]


def test_a_clip_is_the_samples_of_its_take(study: Path) -> None:
    """A clip that is handed on as it is holds, to the bit, the samples of the take that the record names."""
    configure(study.parent, chain=[{"encode": {"codec": "copy"}}])
    for clip in cut_clips(record_of(study)):
        take = clip["take"]
        whole = soundfile.read(study.parent / take["file_name"], dtype="int32")[0]
        piece = soundfile.read(study.parent / "out" / clip["delivered"]["file"], dtype="int32")[0]

        np.testing.assert_array_equal(piece, whole[take["start_sample"] : take["end_sample"]])


def test_the_split_is_that_of_the_lines(study: Path) -> None:
    """The split is drawn from the rows of the lines, and no reading changes it."""
    plan = json.loads(call("check", study, "--json").stdout)

    assert plan["clips"] == 12
    assert plan["split"] == record_of(study)["split"]
    assert sum(plan["split"]["clips"]["human"].values()) == 6


def test_that_nobody_checked_the_words_is_said(study: Path) -> None:
    """Without a recogniser, check, run, record and table say that pauses alone told the lines apart, and why."""
    said = "cut by"
    told = call("check", study).stdout
    assert "by their pauses" in told
    record = record_of(study)
    assert any(said in notice and "nobody checked the words" in notice for notice in record["notices"])
    assert all(take["why_by_pauses"] == "the config says recogniser: off" for take in record["takes"])
    assert "words unchecked: the config says recogniser: off" in call("run", study).stdout
    configure(study.parent, takes={"language": "de"})
    assert "not 'de'" in record_of(study)["takes"][0]["why_by_pauses"]


def test_a_missing_model_is_said_and_its_absence_costs_no_run(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the recogniser's model is not here, takes are cut by pauses; the reason names the command that gets it."""
    monkeypatch.setenv("PREP_MODELS", str(study.parent / "nothing"))
    configure(study.parent, takes={})

    why = record_of(study)["takes"][0]["why_by_pauses"]
    assert why.endswith("is not here; type: prep models fetch whisper-tiny-en")


def test_lines_that_are_not_there_are_named(study: Path) -> None:
    """A take without one of its lines fills none of its slots by guess; each is named, and the exit code says so."""
    soundfile.write(study.parent / "y.wav", sound_of(LINES[:2]), RATE)
    record = record_of(study, 1)
    lost = [clip for clip in record["clips"] if clip["status"] == "failed"]

    assert [clip["file_name"] for clip in lost] == [f"y/lines_{line}.wav" for line in (1, 2, 3)]
    assert all("2 stretches of speech for 3 lines" in clip["failure"]["reason"] for clip in lost)
    assert [slot["slot"] for slot in record["slots"] if not slot["filled_by"]] == [
        f"human y lines:{line}" for line in (1, 2, 3)
    ]
    assert [(line["line"], line["text"]) for line in record["takes"][1]["missing"]] == list(enumerate(LINES, 1))
    assert lines_of_takes(record) == (6, 3)
    assert "3 clips for 6 lines of script were cut from 2 long recordings by pauses; 3 lines had no clip." in (
        methods_md(record)
    )
    assert "No clip was excluded." in methods_md(record)


def test_a_take_that_cannot_be_read_stops_no_other(study: Path) -> None:
    """The lines of a broken take are named with the reason, and the other take is cut."""
    (study.parent / "y.wav").write_bytes(b"no sound")
    record = record_of(study, 1)

    assert record["counts"] == {"delivered": 9, "failed": 3}
    assert len([notice for notice in record["notices"] if "has no clip" in notice]) == 3


def test_a_second_take_fills_what_the_first_lacks(study: Path) -> None:
    """Takes of one speaker share slots: what one take lacks is filled by the other, and its lines are a notice only."""
    table = study.parent / "clips.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("human,y", "human,x"), encoding="utf-8")
    soundfile.write(study.parent / "y.wav", sound_of(LINES[:2]), RATE)
    record = record_of(study)

    assert {clip["take"]["file_name"] for clip in cut_clips(record)} == {"x.wav"}
    assert len(record["takes"][1]["missing"]) == 3
    told = [notice for notice in record["notices"] if notice.startswith("y.wav: line")]
    assert len(told) == 3
    assert all("has no clip of this take, and one of another: " in notice for notice in told)
    assert lines_of_takes(record) == (3, 0)
    assert "3 clips for 3 lines of script were cut from 2 long recordings by pauses." in methods_md(record)
    soundfile.write(study.parent / "y.wav", sound_of(LINES, 77), RATE)
    both = record_of(study)
    assert both["counts"] == {"delivered": 9, "spare": 3}
    assert [(clip["slot"], clip["take"]["rank"]) for clip in cut_clips(both)] == [
        (f"human x lines:{line}", rank) for line in (1, 2, 3) for rank in (1, 2)
    ]


def test_equal_readings_of_two_takes_rank_by_their_order(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equals the one of the later take comes first, whatever its number there, by a `slot` column or `slots.by`."""
    table = study.parent / "clips.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("human,y", "human,x"), encoding="utf-8")
    soundfile.write(study.parent / "y.wav", sound_of(LINES, 77), RATE)

    def read_thrice_in_the_first(task: Task) -> dict[str, Any]:
        known = cut_take(task)
        same: dict[str, Any] = {"failed": [], "snr_db": 40.0}
        numbers = 3 if task.name == "x.wav" else 1
        for attempt in known["attempts"]:
            attempt |= {"attempt": numbers, "figures": same}
        return known

    monkeypatch.setattr("prep.takes.cut_take", read_thrice_in_the_first)
    for slots in ({}, {"slots": {"by": ["condition", "speaker", "passage"]}}):
        configure(study.parent, **slots)
        clips = cut_clips(record_of(study))
        assert [(clip["take"]["file_name"], clip["take"]["rank"], clip["status"]) for clip in clips] == [
            ("y.wav", 1, "delivered"),
            ("x.wav", 2, "spare"),
        ] * len(LINES)


def test_heads_and_tails_are_taken_from_the_other_condition(study: Path) -> None:
    """With `lengths_of`, clips are cut with the median head and tail of those rows, and the report is told of it."""
    configure(study.parent, takes={"recogniser": False, "lengths_of": {"condition": "synthetic"}})
    record = record_of(study)
    told = record["takes"][0]

    assert told["lengths_of_clips"] == 6
    assert told["head_seconds"] == pytest.approx(0.15, abs=0.02)
    assert told["tail_seconds"] == pytest.approx(0.35, abs=0.02)
    for clip in cut_clips(record):
        take = clip["take"]
        assert take["onset_sample"] - take["start_sample"] == round(told["head_seconds"] * RATE)
        assert take["end_sample"] - take["offset_sample"] == round(told["tail_seconds"] * RATE)
    assert any("medians of 6 clips, held-out ones among them" in notice for notice in record["notices"])


def test_what_is_wrong_comes_at_once_before_any_sound(study: Path) -> None:
    """A script, a setting's rows and a column are found wrong together."""
    (study.parent / "lines.txt").write_text("one\none\n", encoding="utf-8")
    configure(study.parent, takes={"lengths_of": {"condition": "synthetc"}}, heldout={"by": "speakr"})
    result = call("check", study)

    assert result.exit_code == 3
    assert "lines.txt:2: 'one' is line 1 again" in result.stderr
    assert "synthetc" in result.stderr
    assert "speakr" in result.stderr
    configure(study.parent, takes={"lengths_of": {"condition": "human"}, "margin": 1})
    assert "no such setting" in call("check", study).stderr


def test_rows_that_are_takes_have_no_lengths(study: Path) -> None:
    """`lengths_of` must name clips, and settings without any take are noticed."""
    configure(study.parent, takes={"lengths_of": {"condition": "human"}})
    assert "its rows are takes" in call("check", study).stderr
    table = study.parent / "clips.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("lines.txt", ""), encoding="utf-8")
    configure(study.parent)
    assert "nothing is cut" in call("check", study).stdout


def test_nothing_is_cut_twice(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run takes the clips from the cache; a damaged one is made again; the bytes are the same."""
    first = record_of(study)
    cuts = []
    pieces = attempts.pieces
    monkeypatch.setattr(attempts, "pieces", lambda *given: cuts.append(1) or pieces(*given))
    assert record_of(study)["clips"] == first["clips"]
    assert cuts == []
    damaged = next((study.parent / ".prep-cache" / "takes").iterdir())
    damaged.write_bytes(b"")
    assert record_of(study)["clips"] == first["clips"]
    assert cuts == [1]


def test_workers_change_nothing(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes that are cut at once, and end in another order, give the clips that one after the other gives."""
    one = record_of(study)
    shutil.rmtree(study.parent / ".prep-cache")
    shutil.rmtree(study.parent / "out" / "audio")
    done: list[int] = []

    def backwards(_: Workers, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Outcome[Any, Any]]:
        for task in reversed(tasks):
            done.append(task.index)
            yield Outcome(task, function(task))

    monkeypatch.setattr("prep.takes.work", backwards)
    other = record_of(study)

    assert done == [1, 0]
    assert (other["clips"], other["takes"], other["notices"]) == (one["clips"], one["takes"], one["notices"])


def test_figures_rank_attempts() -> None:
    """Failed checks count before wrong words, these before noise, and of equals the later is the better."""

    def attempt(number: int, failed: int = 0, wrong: float = 0.0, snr: float = 40.0) -> dict[str, Any]:
        figures = {"failed": ["x"] * failed, "word_error_percent": wrong, "snr_db": snr}
        return {"attempt": number, "figures": figures}

    best_first = [
        attempt(3),
        attempt(1, snr=40.4),
        attempt(4, snr=30.0),
        attempt(5, wrong=10.0, snr=60.0),
        attempt(6, failed=1),
    ]
    assert sorted((best_first[i] for i in (3, 1, 4, 0, 2)), key=rank_key) == best_first


def test_attempts_by_words_are_candidates_in_the_order_of_their_rank(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line read twice has two candidates, the better first; what was said besides is in the record, in no clip."""
    read = (LINES[0], LINES[1], "What was that, let me see", LINES[1], LINES[2])
    words, now = [], 0.8
    for place, line in enumerate(read):
        said = line.split()
        each = seconds_of(line) / len(said)
        text = said if place != 1 else ["And", "a", "sekond", "nun,", "longer", "then", "it", "is"]
        words += [Word(word, now + each * i, now + each * (i + 1), 0.9) for i, word in enumerate(text)]
        now += seconds_of(line) + 0.8
    monkeypatch.setattr("prep.attempts.words", lambda *_: tuple(words))
    monkeypatch.setattr("prep.attempts.why_by_pauses", lambda *_, **__: "")
    monkeypatch.setattr("prep.takes.why_by_pauses", lambda *_, **__: "")
    for speaker in ("x", "y"):
        soundfile.write(study.parent / f"{speaker}.wav", sound_of(read), RATE)
    record = record_of(study)
    second = [clip for clip in cut_clips(record) if clip["slot"] == "human x lines:2"]

    assert [(clip["take"]["attempt"], clip["take"]["rank"], clip["status"]) for clip in second] == [
        (2, 1, "delivered"),
        (1, 2, "spare"),
    ]
    assert not any("were heard otherwise" in notice for notice in record["notices"])
    assert second[1]["take"]["heard"] == "And a sekond nun, longer then it is"
    assert second[1]["take"]["figures"]["word_error_percent"] > second[0]["take"]["figures"]["word_error_percent"]
    assert [run["heard"] for run in record["takes"][0]["left_over"]] == ["What was that, let me see"]
    assert record["takes"][0]["missing"] == []


def whys_of_a_breath(
    study: Path, monkeypatch: pytest.MonkeyPatch, read: Sequence[str], pause: float, margin: float = 0.02
) -> dict[int, str]:
    """Return why lines have no clip, where the first two of what is read are parted by nothing but a pause."""
    words, parts, now = [], [noise(0.8, -75, 1)], 0.8
    for place, line in enumerate(read):
        said = line.split()
        each = seconds_of(line) / len(said)
        words += [Word(word, now + each * i, now + each * (i + 1), 0.9) for i, word in enumerate(said)]
        after = 0.8 if place else pause
        parts += [noise(seconds_of(line), -20, 10 + place), noise(after, -75, 20 + place)]
        now += seconds_of(line) + after
    monkeypatch.setattr("prep.attempts.words", lambda *_: tuple(words))
    monkeypatch.setattr("prep.attempts.why_by_pauses", lambda *_, **__: "")
    monkeypatch.setattr("prep.takes.why_by_pauses", lambda *_, **__: "")
    for speaker in ("x", "y"):
        soundfile.write(study.parent / f"{speaker}.wav", np.concatenate(parts), RATE)
    configure(study.parent, takes={"margin_seconds": margin})
    return {line["line"]: line["why"] for line in record_of(study, 1)["takes"][0]["missing"]}


def test_lines_of_one_breath_are_told_together(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that no pause parts have no clip, and each says which lines they are and what would give them one."""
    whys = whys_of_a_breath(study, monkeypatch, LINES, 0.0)

    assert sorted(whys) == [1, 2]
    assert whys[1] == whys[2]
    assert whys[1].startswith("lines 1 and 2 are read in one breath from 0.8 s on, without a pause longer than")
    assert whys[1].endswith("; make one line of them in the script, or record them again with pauses between")


def test_lines_of_one_breath_that_are_no_neighbours_are_read_again(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that follow each other in the take alone, or run on into other words, can but be recorded again."""
    whys = whys_of_a_breath(study, monkeypatch, (LINES[2], LINES[0], LINES[1]), 0.0)
    assert sorted(whys) == [1, 3]
    assert whys[1].startswith("lines 3 and 1 are read in one breath")
    assert whys[1].endswith("; record them again with pauses between")
    assert "make one line" not in whys[1]
    whys = whys_of_a_breath(study, monkeypatch, ("What was that, let me see", *LINES), 0.0)
    assert sorted(whys) == [1]
    assert whys[1].endswith("; record it again")


def test_a_margin_that_would_do_is_named(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a pause has no room for the margin on either side, the margin that fits is named; else none is."""
    assert "set margin_seconds to 0.06" in whys_of_a_breath(study, monkeypatch, LINES, 0.25, margin=0.2)[1]
    assert "margin_seconds" not in whys_of_a_breath(study, monkeypatch, LINES, 0.1, margin=0.2)[1]


def test_a_recogniser_of_ones_own_must_be_there(study: Path) -> None:
    """A folder that the config names and that holds no model is refused, and takes are not cut by pauses instead."""
    (study.parent / "larger").mkdir()
    configure(study.parent, takes={"recogniser": "larger"})
    told = call("check", study)
    assert told.exit_code == 3
    assert f"{study.parent / 'larger'} holds no model" in told.stderr


def test_two_clips_never_have_one_id(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clip named as a reading is refused by check; were it not, a run would stop before it gave one id twice."""
    folder = study.parent
    (folder / "x").mkdir()
    shutil.copy(folder / "x1.wav", folder / "x" / "lines_1_1.wav")
    with (folder / "clips.csv").open("a", encoding="utf-8") as file:
        file.write("x/lines_1_1.wav,,synthetic,z,p\n")
    checked = call("check", study)
    assert checked.exit_code == 3
    assert "the clips of the take x.wav would have names of others, as x/lines_1_1.wav" in checked.stderr
    monkeypatch.setattr("prep.scripts._clashes", lambda *_: ())
    ran = call("run", study)
    assert ran.exit_code == 3
    assert "x/lines_1_1.wav: 2 rows have this name, and would have one id; name them apart" in ran.stderr
    assert not (folder / "out" / "run.json").exists()
