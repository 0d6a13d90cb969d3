"""Specification of the recogniser: words and their times, the same every time, and from no network."""

from __future__ import annotations

import pickle
import socket
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from prep import recogniser
from prep.__main__ import app
from prep.audio import decode
from prep.classifiers.preamble import Preamble
from prep.classifiers.words import Words
from prep.clip import Clip
from prep.errors import ClipError
from prep.models import ModelMissingError, OwnFolder, check_models, digests_of, model_path
from prep.recogniser import (
    MODEL,
    OPENING_SECONDS,
    Recogniser,
    Word,
    check_language,
    check_understood,
    opening_words,
    words,
)
from prep.stages.screen import Screen
from prep.study import load_study

if TYPE_CHECKING:
    from pathlib import Path

    from prep.recogniser import Sound

RATE = 16000
SENTENCE = "speech_real/ljspeech/LJ001-0002.wav"
SAID = "in being comparatively modern."
STEP_SECONDS = 0.05  # by which the rounding of samples moves a word: the model counts time in steps of 20 ms
SECONDS = 0.3  # how far a word's time may be off


@pytest.fixture
def _fetched() -> None:
    """Skip where the model was not fetched."""
    try:
        model_path(MODEL)
    except ModelMissingError as error:
        pytest.skip(str(error))


@pytest.fixture
def sentence(shared: Path) -> Clip:
    """Return a sentence that one reader says."""
    path = shared / "data" / SENTENCE
    return decode(path.read_bytes(), path.name)[0]


def bursts(*seconds: float) -> Clip:
    """Return noise and silence in turn, each so long, beginning with noise."""
    draw = np.random.default_rng(1)
    pieces = [draw.standard_normal(round(length * RATE)) * (1e-4, 0.1)[i % 2 == 0] for i, length in enumerate(seconds)]
    return Clip(np.concatenate(pieces)[:, np.newaxis], RATE)


def hear(monkeypatch: pytest.MonkeyPatch, *answers: list[Word]) -> list[tuple[float, float]]:
    """Have the model answer so in turn, then with a long word; return the list of the stretches it is asked for."""
    asked: list[tuple[float, float]] = []

    def transcribed(_: Recogniser, __: Sound, first: float, last: float) -> list[Word]:
        asked.append((first, last))
        return answers[len(asked) - 1] if len(asked) <= len(answers) else [Word("So", first, last, 0.9)]

    monkeypatch.setattr(recogniser, "_transcribed", transcribed)
    return asked


@pytest.mark.usefixtures("_fetched")
def test_words_have_times(sentence: Clip) -> None:
    """A sentence gives its words, in order, inside the clip and inside its speech."""
    heard = words(sentence)
    assert " ".join(word.text for word in heard).lower() == SAID
    times = [second for word in heard for second in (word.start_seconds, word.end_seconds)]
    assert times == sorted(times)
    assert -SECONDS <= times[0] <= times[-1] <= sentence.seconds + SECONDS
    assert all(0 < word.probability <= 1 for word in heard)


@pytest.mark.usefixtures("_fetched")
def test_times_are_of_the_clip(sentence: Clip) -> None:
    """A second of silence before the sentence makes each word a second later."""
    silence = np.zeros((sentence.rate, 1), dtype=np.float32)
    later = words(sentence.with_samples(np.concatenate([silence, sentence.samples])))
    moved = [after.end_seconds - before.end_seconds for before, after in zip(words(sentence), later, strict=True)]
    assert moved == pytest.approx([1.0] * len(moved), abs=SECONDS)


@pytest.mark.usefixtures("_fetched")
def test_same_clip_same_words(sentence: Clip) -> None:
    """The same samples give the same words, times and probabilities again."""
    assert words(Clip(sentence.samples, sentence.rate, "a copy")) == words(sentence)


@pytest.mark.usefixtures("_fetched")
def test_a_silent_channel_hides_nothing(sentence: Clip) -> None:
    """A sentence in one of two channels is heard as in one alone."""
    stereo = sentence.with_samples(np.hstack([sentence.samples, np.zeros_like(sentence.samples)]))
    assert [word.text for word in words(stereo)] == [word.text for word in words(sentence)]


@pytest.mark.usefixtures("_fetched")
@pytest.mark.parametrize("gain", [0.1, -1.0])
def test_gain_and_polarity_change_nothing(sentence: Clip, gain: float) -> None:
    """A sentence 20 dB lower, or inverted, is heard as the same words at the same times."""
    heard, before = words(sentence.with_samples(sentence.samples * gain)), words(sentence)
    assert [word.text for word in heard] == [word.text for word in before]
    assert [word.end_seconds for word in heard] == pytest.approx(
        [word.end_seconds for word in before], abs=STEP_SECONDS
    )


@pytest.mark.usefixtures("_fetched")
def test_no_network(sentence: Clip, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the model and listening open no connection."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    recogniser._in_memory.cache_clear()
    assert words(Clip(sentence.samples, sentence.rate))


def test_cues_share_what_was_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cues preamble and words ask the model once for one clip."""
    asked = hear(monkeypatch, [Word("Good", 0.1, 1.0, 0.9), Word("night.", 1.0, 2.0, 0.9)])
    clip = bursts(2.0)
    assert Preamble().measure(clip) == {"preamble_seconds": 0.0}
    assert Words().from_text(clip, "Good night!") == {"word_error_percent": 0.0}
    assert len(asked) == 1


def test_a_missing_model_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the model the error names the command that fetches it."""
    monkeypatch.setenv("PREP_MODELS", str(tmp_path))
    with pytest.raises(ModelMissingError, match="prep models fetch whisper-tiny-en"):
        words(bursts(2.0))


def test_the_opening_is_the_first_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long clip the opening is heard, and no more; of all words the rest is heard too."""
    asked = hear(monkeypatch)
    clip = bursts(*[2.0, 0.5] * 40)
    opening_words(clip)
    assert max(last for _, last in asked) <= OPENING_SECONDS + 1
    words(clip)
    assert max(last for _, last in asked) >= clip.seconds - 1


def test_pieces_end_in_the_longest_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clip is handed over in pieces under 30 s that are parted in its longest pauses, and without a pause too."""
    asked = hear(monkeypatch)
    words(bursts(9.0, 0.3, 9.0, 1.0, 9.0, 0.3, 9.0))
    assert asked[0] == pytest.approx((0.0, 18.3), abs=SECONDS)
    assert asked[1] == pytest.approx((19.3, 37.6), abs=SECONDS)
    asked = hear(monkeypatch)
    words(bursts(50.0))
    assert all(last - first <= 30.0 for first, last in asked)


def test_speech_that_was_jumped_over_is_heard_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speech of 1.5 s or more without words is handed over once more, alone; a shorter one is not."""
    first = [Word("late.", 6.1, 8.0, 0.9)]
    asked = hear(monkeypatch, first, [Word("Early", 0.1, 2.0, 0.9)])
    heard = words(bursts(2.0, 0.5, 1.0, 2.5, 2.0))
    assert [word.text for word in heard] == ["Early", "late."]
    assert asked[1] == pytest.approx((0.0, 3.75), abs=SECONDS)
    asked = hear(monkeypatch, first)
    words(bursts(1.0, 5.0, 2.0))
    assert len(asked) == 1


def test_a_piece_that_was_mostly_jumped_over_is_heard_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where few words stand for a long piece their times are no help, and each half is handed over alone."""
    asked = hear(monkeypatch, [Word("Six.", 4.0, 5.0, 0.9)])
    assert [word.text for word in words(bursts(4.0, 0.3, 4.0, 1.0, 4.0))] == ["So", "So"]
    assert asked[1] == pytest.approx((0.0, 8.55), abs=SECONDS)
    assert asked[2] == pytest.approx((9.05, 13.55), abs=SECONDS)


def test_a_loop_is_heard_again_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the model writes one word again and again, each half of the piece is handed over alone."""
    loop = [Word("eight", 0.05 * i, 0.05 * i + 0.05, 0.9) for i in range(80)]
    asked = hear(monkeypatch, loop, [Word("Good", 0.1, 2.0, 0.9)], [Word("night.", 3.1, 5.0, 0.9)])
    assert [word.text for word in words(bursts(2.0, 1.0, 2.0))] == ["Good", "night."]
    assert asked[1] == pytest.approx((0.0, 2.25), abs=SECONDS)
    assert asked[2] == pytest.approx((2.75, 5.25), abs=SECONDS)
    hear(monkeypatch, loop)
    assert words(bursts(2.0)) == ()


@pytest.mark.parametrize("language", ["de", "xx", ""])
def test_other_languages_are_not_checked(language: str) -> None:
    """What the model does not know is refused with "not checked"."""
    with pytest.raises(ClipError, match="not checked"):
        check_language(Recogniser(language))


def test_guesses_are_not_understood() -> None:
    """No words, or improbable ones, are refused, with the language that was listened for; probable ones pass."""
    check_understood([Word("Yes.", 0.0, 1.0, 0.9)])
    for heard in ([], [Word("Yes.", 0.0, 1.0, 0.1)]):
        with pytest.raises(ClipError, match=r"not checked.* see that it is en$"):
            check_understood(heard)
        with pytest.raises(ClipError, match=r"see that it is pt$"):
            check_understood(heard, Recogniser("pt-BR", "larger"))


@pytest.mark.usefixtures("_fetched")
def test_a_folder_of_the_users_own_stands_in(tmp_path: Path, sentence: Clip) -> None:
    """A config names the folder of another model: it is heard with that, and its digests and its name are kept."""
    own = tmp_path / "larger"
    own.mkdir()
    for file in model_path(MODEL).iterdir():
        (own / file.name).symlink_to(file)
    step = {"preamble": {"recogniser": "larger"}}
    screen = Screen.model_validate(step, context={"path_of": lambda text: tmp_path / text})
    assert screen.models() == ["larger"]
    assert {finding.outcome for finding in screen.measure(sentence).findings} == {"passed"}
    assert digests_of(screen.models())["larger"]["sha256"] == digests_of([MODEL])[MODEL]["sha256"]
    assert words(sentence, Recogniser("en", OwnFolder("larger", own))) == words(sentence)
    with pytest.raises(ClipError, match="knows en and not 'de'"):
        check_language(Recogniser("de", OwnFolder("larger", own)))


def test_a_moved_study_has_the_same_record_and_keys(tmp_path: Path) -> None:
    """The folder of a model stands as written in config and keys; where it lies goes to the workers alone."""
    studies = []
    for place in (tmp_path / "here", tmp_path / "there"):
        (place / "larger").mkdir(parents=True)
        (place / "larger" / "model.bin").write_bytes(b"weights")
        chain = "chain:\n  - screen: {words: {recogniser: larger}}\n  - encode: {codec: flac}\n"
        text = f"study: s\nclips: {{table: clips.csv}}\ntakes: {{recogniser: larger}}\n{chain}"
        (place / "study.yaml").write_text(text, encoding="utf-8")
        studies.append(load_study(place / "study.yaml").study)
    here, there = studies
    screen = there.chain[0]
    sent = pickle.loads(pickle.dumps(screen))  # noqa: S301 - our own

    assert here.resolved() == there.resolved()
    assert str(tmp_path) not in str(here.resolved())
    assert here.chain[0].identity() == screen.identity() == sent.identity()
    for name in (*screen.models(), *sent.checks[0].cue.models(), there.takes.listener().model):  # type: ignore[union-attr]
        assert model_path(name) == tmp_path / "there" / "larger"


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    """A folder that is empty, or holds something else, is refused by name before and while it is used."""
    with pytest.raises(ModelMissingError, match=f"{tmp_path} holds no model"):
        check_models([OwnFolder("own", tmp_path)])
    (tmp_path / "model.bin").write_bytes(b"no model")
    with pytest.raises(ModelMissingError, match=f"{tmp_path} holds no Whisper model"):
        words(bursts(2.0), Recogniser("en", OwnFolder("own", tmp_path)))


@pytest.mark.usefixtures("_fetched")
@pytest.mark.parametrize("broken", ["model.bin", "config.json", "tokenizer.json"])
def test_a_damaged_model_is_told_before_any_work(broken: str, tmp_path: Path) -> None:
    """`prep check` loads a model of one's own, and names its folder and the step where a file of it is damaged."""
    own = tmp_path / "larger"
    own.mkdir()
    for file in model_path(MODEL).iterdir():
        (own / file.name).symlink_to(file)
    (own / broken).unlink()
    (own / broken).write_bytes(b"{ no model")
    soundfile.write(tmp_path / "a.wav", bursts(2.0).samples, RATE)
    (tmp_path / "clips.csv").write_text("file_name\na.wav\n", encoding="utf-8")
    chain = "chain:\n  - screen: {preamble: {recogniser: larger}}\n  - encode: {codec: flac}\n"
    (tmp_path / "study.yaml").write_text(f"study: s\nclips: {{table: clips.csv}}\n{chain}", encoding="utf-8")
    done = CliRunner().invoke(app, ["check", str(tmp_path / "study.yaml")])
    assert done.exit_code == 3
    assert "study.yaml:4: chain.0.screen: " in done.stderr
    assert f"{own} holds no Whisper model" in done.stderr
