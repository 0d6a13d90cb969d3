"""preamble: whether a clip opens with an announcement, and where that ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, field_validator

from prep import phrases as phrasing
from prep.cue import Feature, Kind
from prep.pauses import FRAME_BLOCKS, SHORTEST_PAUSE_SECONDS, parts
from prep.phrases import Said
from prep.recogniser import (
    OPENING_SECONDS,
    check_language,
    check_understood,
    opening_words,
)
from prep.units import Seconds
from prep.word_cue import WordCue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.clip import Clip
    from prep.phrases import Found
    from prep.recogniser import Word
    from prep.stage import Notes

PHRASES = (
    "... ~librivox ...",
    "... ~librivox recording ...",
    "... read for ~librivox ...",
    "... ~librivox dot org ...",
    "... ~librivox org ...",
    "... read for ... org ...",
    "... please visit ... org ...",
    "... in the public domain ...",
    "... more information or to volunteer ...",
    "this is ... recording",
    "recording by {name}",
    "recorded by {name}",
    "recorded by {name} in ...",
    "this reading by {name}",
    "read by {name}",
    "read by the author",
    "narrated by {name}",
    "narrated by the author",
    "this is audible",
    "audible presents ...",
    "chapter {number}",
    "chapter {number} {title}",
    "section {number}",
    "part {number}",
    "book {number}",
    "book {number} chapter {number}",
    "part {number} chapter {number}",
    "volume {number}",
    "act {number}",
    "canto {number}",
    "welcome to ... podcast ...",
    "welcome back to ... podcast ...",
    "welcome to ... show",
    "this is ... podcast ...",
    "you are listening to ...",
    "you're listening to ...",
    "thank you for listening ...",
    "thanks for listening ...",
    "this audiobook ...",
    "... brought to you by ...",
    "... all rights reserved ...",
)

LEAD_WORDS = 20  # that may stand before the first phrase: "<title> by <author>, read for ..."
LINK_WORDS = 15  # that may stand between two: "<title>, edited by <name>"
TITLE_WORDS = 8  # the longest title that is told from text by its pauses alone
# Before text a reader rests longest. A few words alone between two pauses are rather a title than a sentence: one of
# six words takes as long a pause after it as before it.
WORDS_OF_EQUAL_PAUSES = 6
SHORTEST_TITLE_REST = 0.6  # of the pause before it, however few words it has
SHORTEST_REST_SECONDS = 0.5  # before text; a shorter pause, or none, parts the pieces of an announcement
LONGEST_REST_SECONDS = 0.5  # of the pause that stays before the text
NEAR_SECONDS = 1.0  # how far from a pause the two words about it may end and start, in sum
SPREAD_SECONDS = 0.25  # by which a recogniser's word times are off

Pause = tuple[Seconds, Seconds]  # its start and its end


class Ending(NamedTuple):
    """Where an announcement ends: its words [0, last), the moment to cut at, and the phrases found in it."""

    words: int
    seconds: Seconds
    found: tuple[Found, ...]


class Preamble(WordCue):
    """A spoken announcement before the text, found by its phrases in what a recogniser hears."""

    NAME: ClassVar[str] = "preamble"
    VERSION: ClassVar[int] = 2
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature(
            "preamble_seconds", "s", "where an announcement before the text ends, in the pause; 0 without one", 0.1
        ),
    )
    MEANING: ClassVar[str] = "the source gives itself away: an audio book says what it is, and who reads it"
    SOURCE: ClassVar[str] = (
        "prep.classifiers.preamble: words and times by Whisper tiny.en (Radford et al. 2023), phrases by weighted "
        "edit distance of their sounds, the end by the pauses of prep.pauses"
    )
    LIMITS: ClassVar[dict[str, float]] = {"max_preamble_seconds": 0.0}
    CUT: ClassVar[str] = "preamble_seconds"

    phrases: tuple[str, ...] = Field(
        default=PHRASES,
        min_length=1,
        description="what announcements say; ... any words, {number}, {name}, {title}, ~ a made-up word; no unit",
    )

    @field_validator("phrases")
    @classmethod
    def _phrases_can_be_heard(cls, phrases: tuple[str, ...]) -> tuple[str, ...]:
        for phrase in phrases:
            phrasing.check(phrase)
        return phrases

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return where the announcement ends, in seconds from the start; 0 without one.

        Where no text follows it is the length of the clip.

        Raises:
            ClipError: the language is not known, too little was understood, or the clip has no speech.
            ModelMissingError: the model was not fetched.
        """
        ending = self._ending(clip)
        return {"preamble_seconds": ending.seconds if ending else 0.0}

    def evidence(self, clip: Clip) -> Notes:
        """Return the words of the announcement, the words after it, and the phrases found."""
        heard = opening_words(clip, self.hearer())
        ending = self._ending(clip)
        if ending is None:
            return {"heard": _text(heard[:LEAD_WORDS])}
        return {
            "heard": _text(heard[: ending.words]),
            "then": _text(heard[ending.words : ending.words + LEAD_WORDS]),
            "phrases": list(dict.fromkeys(found.phrase for found in ending.found)),
        }

    def _ending(self, clip: Clip) -> Ending | None:
        check_language(self.hearer())
        heard = opening_words(clip, self.hearer())
        check_understood(heard, self.hearer())
        pauses = _pauses(heard, clip)
        said = [
            Said(word.text, pause[1] - pause[0] if pause else 0.0) for word, pause in zip(heard, pauses, strict=True)
        ]
        announced = _announced(self.phrases, said)
        if not announced:
            return None
        last = _last_word(said, announced)
        if last == len(said):
            return Ending(last, min(clip.seconds, OPENING_SECONDS), announced)
        return Ending(last, _cut_seconds(clip, heard[last - 1], heard[last], pauses[last - 1]), announced)


def _text(heard: Sequence[Word]) -> str:
    return " ".join(word.text for word in heard)


def _pauses(heard: Sequence[Word], clip: Clip) -> list[Pause | None]:
    """Return the pause after each word; None without one.

    A recogniser's times are some tenths of a second off, so each pause goes to the words that lie best about it.
    """
    found = parts(clip)
    times = found.starts_seconds[found.speech]
    after: list[Pause | None] = [None] * len(heard)
    ends = np.array([word.end_seconds for word in heard])
    starts = np.array([word.start_seconds for word in heard[1:]] + [clip.seconds])
    for start, end in zip(times[:, 1].tolist(), [*times[1:, 0].tolist(), clip.seconds], strict=True):
        away = np.abs(ends - start) + np.abs(starts - end)
        best = int(np.argmin(away))
        if end - start >= SHORTEST_PAUSE_SECONDS and away[best] <= end - start + NEAR_SECONDS:
            after[best] = max(after[best] or (0.0, 0.0), (start, end), key=lambda pause: pause[1] - pause[0])
    return after


def _announced(phrases: Sequence[str], said: Sequence[Said]) -> tuple[Found, ...]:
    """Return the phrases that open the clip: near its start, and each near the one before."""
    chain: list[Found] = []
    first = reach = 0
    while first < len(said) and first - reach <= (LINK_WORDS if chain else LEAD_WORDS):
        for place in phrasing.found_at(phrases, said, first):
            if not _closes(said, reach, place):
                chain.append(place)
                reach = max(reach, _sentence_end(said, place.last))
        first += 1
    return tuple(chain)


def _closes(said: Sequence[Said], reach: int, place: Found) -> bool:
    """Say whether a phrase closes the clip: it stands in its last sentence, and text stands before that."""
    start = _sentence_start(said, place.first)
    return start > reach and _sentence_end(said, place.last) == len(said) and not phrasing.credit_length(said, reach)


def _sentence_start(said: Sequence[Said], word: int) -> int:
    while word and not phrasing.ends_sentence(said[word - 1]):
        word -= 1
    return word


def _sentence_end(said: Sequence[Said], last: int) -> int:
    """Return the end of the sentence that holds the word before `last`: a full stop, or a pause."""
    while last < len(said) and not phrasing.ends_sentence(said[last - 1]):
        last += 1
    return last


def _last_word(said: Sequence[Said], announced: Sequence[Found]) -> int:
    """Return how many words belong to the announcement, with the credits and titles after its last phrase."""
    last = _with_credits(said, max(_sentence_end(said, found.last) for found in announced))
    for shortest_rest in (SHORTEST_TITLE_REST, 1.0):
        last = _with_credits(said, _with_title(said, last, shortest_rest))
    return last


def _with_credits(said: Sequence[Said], last: int) -> int:
    while credit := phrasing.credit_length(said, last):
        last += credit
    return last


def _with_title(said: Sequence[Said], last: int, shortest_rest: float) -> int:
    """Return the end of the next sentence if it is short and its pauses say that it is no text; or `last`.

    Args:
        said: the words.
        last: of them belong to the announcement.
        shortest_rest: how long a rest a title takes after it at least, as a share of the one before it.
    """
    if last == len(said):
        return last
    before = max(said[last - 1].pause_seconds, SHORTEST_REST_SECONDS)
    end = _sentence_end(said, last + 1)
    rest = max(shortest_rest, (end - last) / WORDS_OF_EQUAL_PAUSES)
    return end if end - last <= TITLE_WORDS and said[end - 1].pause_seconds >= rest * before else last


def _cut_seconds(clip: Clip, before: Word, after: Word, pause: Pause | None) -> Seconds:
    """Return when to cut between two words: late in the pause, or at the quietest moment where there is none."""
    if pause:
        start, end = pause
        return max((start + end) / 2, end - LONGEST_REST_SECONDS)
    found = parts(clip)
    times = found.starts_seconds[: len(found.frame_power)]
    middle = min((before.end_seconds + after.start_seconds) / 2, float(times[-1]))
    reach = max(after.start_seconds - before.end_seconds, 0.0) / 2 + SPREAD_SECONDS
    near = np.flatnonzero(np.abs(times - middle) <= reach)
    quietest = near[np.argmin(found.frame_power[near])]
    return float(found.starts_seconds[quietest + FRAME_BLOCKS // 2])
