"""Specification of the cue preamble, on words put into its ear and on real openings of audio books."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from prep.audio import decode
from prep.classifiers import preamble
from prep.classifiers.preamble import Preamble
from prep.clip import Clip
from prep.errors import ClipError
from prep.models import ModelMissingError, model_path
from prep.recogniser import MODEL, Word

RATE = 16000
WORD_SECONDS = 0.3
PAUSE_SECONDS = 0.5  # each | in a text
EDGE_SECONDS = 0.02  # by which the ends of a pause move with its detection

# The pause that follows each opening, marked by hand on its waveform, spectrum and level; `reader` as it is heard.
OPENINGS = Path(__file__).with_name("preamble_pauses.csv")
NEAR_SECONDS = 0.3  # how far outside the pause a cut may lie
WANTED_SHARE = 0.95  # of openings found
FALSE_ALARMS = 0.02  # of bodies, at most
AFTER_SECONDS = 9.0  # of text that follow an opening

LONG_FORM = (
    "This is a LibriVox recording.| All LibriVox recordings are in the public domain.| For more information or to "
    "volunteer please visit LibriVox .org.|| Recording by Anna Bell.|| The Long Road by Tom Hill.||"
)
TEXT = "It was late when the two of them came home that night and nobody was there to meet them"


def clip_of(text: str, monkeypatch: pytest.MonkeyPatch, probability: float = 0.9) -> tuple[Clip, dict[str, float]]:
    """Return a clip that buzzes for each word of a text, heard as that text, and when each word starts.

    Each | after a word adds half a second of silence.
    """
    heard: list[Word] = []
    pieces = [np.zeros(RATE // 5)]
    draw = np.random.default_rng(1)
    for token in text.split():
        word = token.rstrip("|")
        start = sum(map(len, pieces)) / RATE
        heard.append(Word(word, start, start + WORD_SECONDS, probability))
        pieces += [draw.standard_normal(round(WORD_SECONDS * RATE)) * 0.1]
        pieces += [np.zeros(round(PAUSE_SECONDS * RATE * (len(token) - len(word))))]
    sound = np.concatenate([*pieces, np.zeros(RATE // 5)])
    sound += 1e-4 * draw.standard_normal(len(sound))
    monkeypatch.setattr(preamble, "opening_words", lambda *_: tuple(heard))
    return Clip(sound[:, np.newaxis], RATE), {word.text: word.start_seconds for word in reversed(heard)}


def end_of(text: str, monkeypatch: pytest.MonkeyPatch, **settings: object) -> float:
    """Return where the preamble of such a clip ends, in seconds."""
    clip, _ = clip_of(text, monkeypatch)
    return Preamble.model_validate(settings).measure(clip)["preamble_seconds"]


def assert_cut_before(word: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assert that the preamble ends in the pause before a word."""
    clip, starts = clip_of(text, monkeypatch)
    end = Preamble().measure(clip)["preamble_seconds"]
    assert starts[word] - PAUSE_SECONDS - EDGE_SECONDS <= end <= starts[word] + EDGE_SECONDS


@pytest.mark.parametrize(
    "opening",
    [
        LONG_FORM,
        "The Hills by Anna Bell read for LibriVox .org by Tom Hill.||",
        "The Hills by Anna Bell, read for lippervox .org by Tom Hill.||",
        "Section nine of Walden.| This Libra -Vox recording is in the public domain.| Read by Tom Hill.||",
        "Chapter four.||",
        "Chapter VI.| The Old House.||",
        "Welcome to the History Hour podcast.| I'm Dan.||",
        "You are listening to Radio Tales.||",
    ],
)
def test_an_opening_ends_in_the_pause_before_the_text(opening: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long form, short form, heading and podcast: the cut lies in the pause before the first word of the text."""
    assert_cut_before("It", f"{opening} {TEXT}", monkeypatch)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "In the last chapter of the book he went home.| " + TEXT,
        "He stopped in chapter six because it was late.| " + TEXT,
        "Chapter six was the longest of them all.| " + TEXT,
        "The letter was read by his mother and then burnt.| " + TEXT,
        "She made a recording by the river every day.| " + TEXT,
        "Part of the public was gone.| " + TEXT,
        "His library books were late again.| " + TEXT,
    ],
)
def test_running_text_is_no_opening(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of announcements in running text are no announcement."""
    assert end_of(text, monkeypatch) == 0.0


def test_the_first_sentence_is_not_taken_for_a_title(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short first sentence with a short rest after it stays in the text."""
    assert_cut_before("Marley", f"Chapter four.||| Marley was dead to begin with.| {TEXT}", monkeypatch)


def test_an_announcement_at_the_close_is_no_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that ends with an announcement does not open with one."""
    assert end_of("It was late.| This recording is in the public domain.", monkeypatch) == 0.0


def test_an_announcement_far_into_the_text_is_no_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    """An opening begins within the first 20 words."""
    assert end_of(f"{TEXT}, {TEXT}.| This is a LibriVox recording.| {TEXT}", monkeypatch) == 0.0


def test_nothing_but_an_announcement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clip without text after its announcement is preamble to its end."""
    clip, _ = clip_of("This is a LibriVox recording.", monkeypatch)
    assert Preamble().measure(clip)["preamble_seconds"] == clip.seconds


def test_text_without_a_pause_before_it_is_parted_at_the_quietest_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a reader makes no pause the cut lies between the two words."""
    clip, starts = clip_of(f"This is a LibriVox recording. {TEXT}", monkeypatch)
    end = Preamble().measure(clip)["preamble_seconds"]
    assert abs(end - starts["It"]) <= NEAR_SECONDS


def test_phrases_of_the_config(monkeypatch: pytest.MonkeyPatch) -> None:
    """The config's phrases take the place of the default ones."""
    opening = f"Radio Free Valley presents.|| {TEXT}"
    assert end_of(opening, monkeypatch) == 0.0
    assert end_of(opening, monkeypatch, phrases=["radio free valley ..."]) > 0.0
    assert end_of(LONG_FORM + TEXT, monkeypatch, phrases=["radio free valley ..."]) == 0.0


@pytest.mark.parametrize("phrases", [[], ["..."], ["chapter {nunber}"]])
def test_phrases_that_match_nothing_are_refused(phrases: list[str]) -> None:
    """No phrase, or one that nothing can match, is an error in the config."""
    with pytest.raises(ValidationError):
        Preamble.model_validate({"phrases": phrases})


def test_another_language_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language that the recogniser does not know is an error that says "not checked", never a pass."""
    with pytest.raises(ClipError, match="not checked"):
        end_of(TEXT, monkeypatch, language="de")
    assert end_of(TEXT, monkeypatch, language="en-GB") == 0.0


def test_what_is_not_understood_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that the recogniser only guessed are no pass."""
    clip, _ = clip_of(TEXT, monkeypatch, probability=0.2)
    with pytest.raises(ClipError, match="not checked"):
        Preamble().measure(clip)


def test_evidence_is_what_was_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The evidence quotes the announcement, how the clip goes on, and the phrases."""
    clip, _ = clip_of(f"This is a LibriVox recording.|| {TEXT}", monkeypatch)
    evidence = Preamble().evidence(clip)
    assert evidence["heard"] == "This is a LibriVox recording."
    assert evidence["then"].startswith("It was late")
    assert "... ~librivox ..." in evidence["phrases"]


def test_real_openings_are_cut_in_their_pause(shared: Path) -> None:
    """Of real LibriVox openings 95 % are found and cut in the pause, and their bodies raise no alarm."""
    try:
        model_path(MODEL)
    except ModelMissingError as error:
        pytest.skip(str(error))
    with OPENINGS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cue = Preamble()
    found, wrong, alarms, bodies = 0, [], [], 0
    for row in rows:
        path = shared / "data" / "librivox_preamble" / row["file_name"]
        start, end = float(row["pause_start_seconds"]), float(row["pause_end_seconds"])
        clip, _ = decode(path.read_bytes(), row["file_name"])
        opening = clip.with_samples(clip.samples[: round((end + AFTER_SECONDS) * clip.rate)])
        cut = cue.measure(opening)["preamble_seconds"]
        found += cut > 0
        if not start - NEAR_SECONDS <= cut <= end + NEAR_SECONDS:
            wrong.append((row["file_name"], cut))
        if row["then"]:
            body = opening.with_samples(opening.samples[round(cut * clip.rate) :])
            bodies += 1
            alarms += [row["file_name"]] if cue.measure(body)["preamble_seconds"] else []
    assert found >= WANTED_SHARE * len(rows)
    assert len(wrong) <= (1 - WANTED_SHARE) * len(rows), wrong
    assert len(alarms) <= FALSE_ALARMS * bodies, alarms
