"""Recogniser: the words of a clip, when each was said, and how sure that is.

Whisper tiny.en, in 8 bits and on one thread, without sampling, so that a machine gives one answer. It knows English
and nothing else. It sometimes jumps over speech, and most gladly over a spoken introduction. So the clip is handed
over in pieces that end in pauses, and speech for which it wrote nothing is handed over once more, alone.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prep.errors import ClipError
from prep.models import ModelMissingError, model_path
from prep.pauses import parts
from prep.units import ratio_from_db

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from prep.clip import Clip, Signal
    from prep.units import Seconds

    Sound = NDArray[np.float32]  # (frames,) at 16 kHz

MODEL = "whisper-tiny-en"
LANGUAGES = ("en",)
MOST_NAMED = 8  # languages in a message
RATE = 16000  # Hz, the model's
LEVEL_DB = -26.0  # active level over full scale, as ITU-T P.800 plays speech

OPENING_SECONDS = 60.0  # the longest spoken introduction seen takes half of it
LONGEST_PIECE_SECONDS = 28.0  # the model hears 30 s at a time; the rest is for silence at both ends
PIECE_MARGIN_SECONDS = 0.25
# Speech without words that is handed over again: four or five words of a fast reader.
MISSED_SECONDS = 1.5
FILLED = 0.3  # of a stretch by its words; their times are some tenths of a second off
LONGEST_SPARSE_SECONDS = 6.0  # that a piece of mere noise is not handed over in ever smaller parts
# Probability of the last two words; below, they are the "Thank you." that the model likes to hear in silence.
CLOSING = 0.1
MOST_PACKING = 2.4  # by zlib; Whisper's own limit (Radford et al. 2023, section 4.5)
# Mean probability of the words, chosen for the pinned tiny.en alone: other languages gave it 0.26 to 0.43, English 0.62
# and more but for 1 %. No other model was tried.
SURE = 0.5


class Word(NamedTuple):
    """A word as it was written, with its punctuation, its times in the clip and its probability."""

    text: str
    start_seconds: Seconds
    end_seconds: Seconds
    probability: float


@dataclass(frozen=True, slots=True)
class Recogniser:
    """A recogniser of one language.

    Attributes:
        language: of the speech, ISO 639-1.
        folder: `prep.models.OwnFolder` of a CTranslate2 Whisper model in place of the pinned one; "" for that.
    """

    language: str = LANGUAGES[0]
    folder: str = ""

    @property
    def model(self) -> str:
        """The model's name in `prep.models`, or its folder."""
        return self.folder or MODEL

    @property
    def code(self) -> str:
        """The language without its country, as the model names it."""
        return self.language.partition("-")[0].lower()


PINNED = Recogniser()


def words(clip: Clip, recogniser: Recogniser = PINNED) -> tuple[Word, ...]:
    """Return all words of a clip.

    Raises:
        ClipError: the clip is silent, too short or not finite.
        ModelMissingError: the model was not fetched.
    """
    short = clip.seconds <= OPENING_SECONDS
    return opening_words(clip, recogniser) if short else clip.once(_Hearing(recogniser, math.inf))


def opening_words(clip: Clip, recogniser: Recogniser = PINNED) -> tuple[Word, ...]:
    """Return the words of the first 60 s of a clip.

    Raises:
        ClipError: as `words`.
        ModelMissingError: the model was not fetched.
    """
    return clip.once(_Hearing(recogniser, OPENING_SECONDS))


def languages(recogniser: Recogniser) -> Sequence[str]:
    """Return the codes of the languages that the model knows.

    Raises:
        ModelMissingError: the folder holds no model.
    """
    return tuple(_loaded(recogniser.folder).supported_languages) if recogniser.folder else LANGUAGES


def listed(codes: Sequence[str]) -> str:
    """Return languages in words: a few by name, a hundred by number."""
    return ", ".join(codes) if len(codes) <= MOST_NAMED else f"{len(codes)} languages"


def check_folder(folder: str) -> None:
    """Load the model in a folder of the user's own, so that what is wrong with it is told before any work.

    Raises:
        ModelMissingError: it holds none that can be loaded.
    """
    _loaded(folder)


def check_language(recogniser: Recogniser) -> None:
    """Refuse a language that the model does not know.

    Raises:
        ClipError: it does not.
        ModelMissingError: the folder holds no model.
    """
    known = languages(recogniser)
    if recogniser.code not in known:
        raise ClipError(
            f"not checked: the recogniser knows {listed(known)} and not {recogniser.language!r}; listen to the clip, "
            "or name the folder of a model that knows it"
        )


def check_understood(heard: Sequence[Word], recogniser: Recogniser = PINNED) -> None:
    """Refuse words that the model guessed: another language than the recogniser's, or speech that noise covers.

    Raises:
        ClipError: there are none, or their mean probability is too low.
    """
    sure = float(np.mean([word.probability for word in heard])) if heard else 0.0
    if sure < SURE:
        raise ClipError(
            f"not checked: the recogniser understood too little of it (mean word probability {sure:.2f}, at least "
            f"{SURE:g} wanted); listen to the clip, and see that it is {recogniser.code}"
        )


@dataclass(frozen=True, slots=True)
class _Hearing:
    """What a recogniser hears in the start of a clip, for `Clip.once`: equal ones have one answer."""

    recogniser: Recogniser
    until_seconds: Seconds

    def __call__(self, clip: Clip) -> tuple[Word, ...]:
        from prep.audio import resample

        found = parts(clip)
        speech = found.starts_seconds[found.speech]
        speech = speech[speech[:, 0] < self.until_seconds]
        speech[-1, 1] = min(speech[-1, 1], self.until_seconds)
        # The channels are mixed, so that one that is silent hides nothing, and brought to one level, so that no gain
        # changes what is heard.
        mono = clip.mono() * (ratio_from_db(LEVEL_DB) / math.sqrt(found.active))
        sound = resample(clip.with_samples(mono[:, np.newaxis]), RATE).samples[:, 0]
        return tuple(word for piece in _pieces(speech) for word in self._heard(sound, piece))

    def _heard(self, sound: Sound, speech: Signal) -> list[Word]:
        """Return the words of some stretches of speech, (stretches, 2) in seconds, in order.

        What the model jumped over it hears again, alone. Where it jumped over most, or fell to repeating itself, its
        times are no help: it hears each half alone.
        """
        first = max(float(speech[0, 0]) - PIECE_MARGIN_SECONDS, 0.0)
        last = float(speech[-1, 1]) + PIECE_MARGIN_SECONDS
        heard = _transcribed(self.recogniser, sound, first, last)
        lost = _repeats(heard)
        sparse = _filled(speech, heard).sum() < FILLED * np.sum(speech[:, 1] - speech[:, 0])
        if len(speech) > 1 and (lost or (sparse and last - first > LONGEST_SPARSE_SECONDS)):
            half = int(np.argmax(speech[1:, 0] - speech[:-1, 1])) + 1
            return self._heard(sound, speech[:half]) + self._heard(sound, speech[half:])
        heard = [] if lost else heard
        for missed in _missed(speech, heard):
            if len(missed) < len(speech):
                heard += self._heard(sound, missed)
        return sorted(heard, key=lambda word: word.start_seconds)


def _repeats(heard: Sequence[Word]) -> bool:
    """Say whether words are the same few again and again: what packs so well was not said."""
    text = " ".join(word.text for word in heard).encode()
    return len(text) > MOST_PACKING * len(zlib.compress(text))


def _missed(speech: Signal, heard: Sequence[Word]) -> Iterator[Signal]:
    """Yield the runs of stretches of speech that no words fill, where they make up 1.5 s."""
    lengths = speech[:, 1] - speech[:, 0]
    edges = np.flatnonzero(np.diff([False, *(_filled(speech, heard) < FILLED * lengths), False])).reshape(-1, 2)
    for first, last in edges:
        if float(np.sum(lengths[first:last])) >= MISSED_SECONDS:
            yield speech[first:last]


def _filled(speech: Signal, heard: Sequence[Word]) -> Signal:
    """Return how many seconds of each stretch of speech words fill."""
    times = np.array([(word.start_seconds, word.end_seconds) for word in heard]).reshape(-1, 2)
    shared = np.minimum(times[:, 1], speech[:, 1:]) - np.maximum(times[:, 0], speech[:, :1])
    filled: Signal = shared.clip(min=0).sum(axis=1)
    return filled


def _pieces(speech: Signal) -> list[Signal]:
    """Return the stretches of speech in runs that the model hears at once, parted at the longest pauses near."""
    speech = np.concatenate([_cut_up(start, end) for start, end in speech])
    pieces = []
    while len(speech):
        fits = int(np.sum(speech[:, 1] - speech[0, 0] <= LONGEST_PIECE_SECONDS))
        if fits < len(speech):
            late = np.flatnonzero(speech[:fits, 1] - speech[0, 0] > LONGEST_PIECE_SECONDS / 2)
            pauses = speech[late + 1, 0] - speech[late, 1]
            fits = int(late[np.argmax(pauses)]) + 1
        pieces.append(speech[:fits])
        speech = speech[fits:]
    return pieces


def _cut_up(start: Seconds, end: Seconds) -> Signal:
    """Return a stretch without pauses in parts of equal length that the model hears at once."""
    edges = np.linspace(start, end, math.ceil((end - start) / LONGEST_PIECE_SECONDS) + 1)
    return np.stack([edges[:-1], edges[1:]], axis=1)


def _transcribed(recogniser: Recogniser, sound: Sound, first_seconds: Seconds, last_seconds: Seconds) -> list[Word]:
    segments, _ = _loaded(recogniser.model).transcribe(
        sound[round(first_seconds * RATE) : round(last_seconds * RATE)],
        language=recogniser.code,
        beam_size=1,
        temperature=0.0,
        condition_on_previous_text=False,
        word_timestamps=True,
    )
    heard = [
        Word(
            word.word.strip(),
            first_seconds + float(word.start),
            first_seconds + float(word.end),
            float(word.probability),
        )
        for segment in segments
        for word in segment.words or ()
    ]
    while any(word.probability < CLOSING for word in heard[-2:]):
        heard.pop()
    return heard


def _loaded(model: str) -> Any:
    return _in_memory(model_path(model))


@cache
def _in_memory(folder: Path) -> Any:
    """Return the model in a folder, loaded once a process. The folder is a path, so nothing asks a hub for it.

    Raises:
        ModelMissingError: it holds no such model.
    """
    from faster_whisper import WhisperModel

    try:
        return WhisperModel(
            str(folder), device="cpu", compute_type="int8", cpu_threads=1, num_workers=1, local_files_only=True
        )
    except Exception as error:  # noqa: BLE001 - its parts raise what they like at files that are no model
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelMissingError(
            f"{folder} holds no Whisper model that faster-whisper can load ({said}); put a CTranslate2 model there, "
            "with model.bin, config.json and tokenizer.json"
        ) from None
