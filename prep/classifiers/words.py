"""words: whether a clip says what the table says it does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from prep.cue import Feature, Kind
from prep.errors import ClipError
from prep.phrases import TENS, UNITS, sounds
from prep.recogniser import check_language, check_understood, words
from prep.word_cue import WordCue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.clip import Clip
    from prep.stage import Notes

_SPOKEN = {"mr": "mister", "mrs": "missis", "dr": "doctor", "&": "and", "%": "percent"}
_WORD = re.compile(r"\d+|[^\W\d_]+(?:'[^\W\d_]+)?|[&%]")


class Words(WordCue):
    """Words that a recogniser hears other than the text has them, against the words of the text."""

    NAME: ClassVar[str] = "words"
    VERSION: ClassVar[int] = 2
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        # One word of twenty.
        Feature("word_error_percent", "%", "words wrong, missing or added, of the words of the text", 5.0),
    )
    MEANING: ClassVar[str] = "text: a clip that says something else is another stimulus than the table claims"
    SOURCE: ClassVar[str] = (
        "word error rate: edit distance over the length of the text (NIST SCLITE); words that sound alike are the "
        "same, and so are words written apart; heard by Whisper tiny.en (Radford et al. 2023)"
    )
    LIMITS: ClassVar[dict[str, float]] = {"max_word_error_percent": 60.0}

    def measure(self, clip: Clip) -> dict[str, float]:  # noqa: ARG002 - the sound alone says nothing
        """Refuse: without its text a clip has no wrong words.

        Raises:
            ClipError: always.
        """
        raise ClipError("not checked: the table has no text for it; add a column text, or leave this check out")

    def from_text(self, clip: Clip, text: str) -> dict[str, float]:
        """Return the word error rate in percent; over 100 where the clip says much more than the text.

        Raises:
            ClipError: the language is not known, too little was understood, the text holds no word, or the clip has
                no speech.
            ModelMissingError: the model was not fetched.
        """
        check_language(self.hearer())
        wanted = spoken(text)
        if not wanted:
            raise ClipError("not checked: its text in the table holds no word; add the text, or leave this check out")
        heard = words(clip, self.hearer())
        check_understood(heard, self.hearer())
        errors = word_errors(wanted, spoken(" ".join(word.text for word in heard)))
        return {"word_error_percent": 100.0 * errors / len(wanted)}

    def evidence(self, clip: Clip) -> Notes:
        """Return the words that were heard."""
        return {"heard": " ".join(word.text for word in words(clip, self.hearer()))}


def spoken(text: str) -> list[str]:
    """Return the sounds of each word of a text, with numbers and titles as they are said."""
    said: list[str] = []
    for word in _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        said += _number(int(word)) if word.isdigit() else [_SPOKEN.get(word, word)]
    return [sound for sound in map(sounds, said) if sound]


def word_errors(wanted: Sequence[str], heard: Sequence[str]) -> int:
    """Return the smallest number of words to change, leave out or add that makes one of the other.

    Two words that together sound like one are that word.
    """
    rows = [list(range(len(heard) + 1))]
    for i, word in enumerate(wanted, start=1):
        row = [i]
        for j, other in enumerate(heard, start=1):
            best = min(rows[i - 1][j - 1] + (word != other), rows[i - 1][j] + 1, row[j - 1] + 1)
            if j > 1 and heard[j - 2] + other == word:
                best = min(best, rows[i - 1][j - 2])
            if i > 1 and wanted[i - 2] + word == other:
                best = min(best, rows[i - 2][j - 1])
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def _number(number: int) -> list[str]:
    """Return how a number below a million is said; larger ones digit by digit."""
    if number < 20:
        return [("zero", *UNITS)[number]]
    if number < 100:
        return [TENS[number // 10 - 2], *(_number(number % 10) if number % 10 else [])]
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if size <= number < 1000 * size:
            return [*_number(number // size), name, *(_number(number % size) if number % size else [])]
    return [word for digit in str(number) for word in _number(int(digit))]
