"""Phrases: where some words were said, though a recogniser spelt them by ear.

A phrase is written as it is said, lower case. `...` stands for any words, `{number}` for a number ("six", "VI",
"6", "sixth"), `{name}` for one to four capitalised words and `{title}` for one to four words. Without `...` at an
end the phrase begins or ends where a sentence does: at a full stop, or at a pause of 0.25 s. `~` marks a word that
no dictionary has: a recogniser writes something like it.

Words are compared by their sounds: spelling is reduced to letters that sound alike, and an edit distance says how
far apart two are, in which vowels and related consonants differ by less. So "libra vox", "Libervox" and "lippervox"
are "~librivox", and "library books" is not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Of the sounds of a phrase, with and without a word that no dictionary has.
TOLERANCE, EXACT_TOLERANCE = 0.16, 0.05
SHORTEST_FUZZY = 8  # sounds; shorter ones have none to spare
MOST_NAME_WORDS = 4
SLOTS = ("{number}", "{name}", "{title}")
MOST_WORDS_BETWEEN = 6  # for which "..." stands inside a phrase

OTHER, RELATED, VOWEL_CHANGED, VOWEL_LOST = 1.0, 0.5, 0.25, 0.4
VOWELS = frozenset("aeiou")
# Consonants that are made at one place, and the liquids.
_FAMILIES = ("pbfvwm", "tdszjn", "kg", "lr")
_FAMILY = {letter: family for family in _FAMILIES for letter in family}

# Spelling to sound, in this order; enough to tell words of one alphabet apart, not to read aloud.
_SPELLING = (
    (r"[^a-z]", ""),
    (r"ph", "f"),
    (r"gh(?=t)", ""),
    (r"tch", "ch"),
    (r"ch|sh", "j"),
    (r"th", "t"),
    (r"ck", "k"),
    (r"c(?=[eiy])", "s"),
    (r"[cq]", "k"),
    (r"x", "ks"),
    (r"y", "i"),
    (r"h", ""),
    (r"ea|ee", "e"),
    (r"oo|ou|ow", "o"),
    (r"(.)\1+", r"\1"),
)

_UNITS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
UNITS = (*_UNITS.split(), "eighteen", "nineteen")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_FIRST = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth last"
_ORDINALS = (*_FIRST.split(), *(unit + "th" for unit in UNITS[12:]), "twentieth", "thirtieth", "fortieth", "fiftieth")
_NUMBER_WORDS = frozenset([*UNITS, *TENS, "hundred", *_ORDINALS])
_ROMAN = re.compile(r"[IVXLC]+")


class Said(NamedTuple):
    """One word as the recogniser wrote it, and the pause after it in seconds (0 without one)."""

    text: str
    pause_seconds: float


class Found(NamedTuple):
    """A phrase, and the words [first, last) in which it was found."""

    phrase: str
    first: int
    last: int


def found_at(phrases: Sequence[str], said: Sequence[Said], first: int) -> list[Found]:
    """Return the phrases that start with a word."""
    return [Found(phrase, first, last) for phrase in phrases if (last := _end(phrase, said, first)) is not None]


def check(phrase: str) -> None:
    """Refuse a phrase that nothing can match.

    Raises:
        ValueError: it has no word, an unknown {slot}, or a slot or dots where they mean nothing.
    """
    parts = phrase.split()
    if not any(sounds(part) for part in parts if part != "..." and not part.startswith("{")):
        raise ValueError(f"{phrase!r} has no word to listen for; write the words as they are said")
    for part in parts:
        if ("{" in part or "}" in part) and part not in SLOTS:
            raise ValueError(f"{phrase!r} has {part!r}; the slots are {', '.join(SLOTS)}")


def ends_sentence(word: Said) -> bool:
    """Say whether a sentence ends with this word: by its punctuation, or by a pause after it."""
    return word.pause_seconds > 0 or word.text[-1:] in tuple(".?!")


def is_number(text: str) -> bool:
    """Say whether a word is a number: digits, a word, an ordinal, or a Roman numeral in capitals."""
    plain = text.strip(".,:;!?-\"'")
    pieces = plain.lower().split("-")
    return bool(
        re.fullmatch(r"\d+(?:st|nd|rd|th)?", plain.lower())
        or _ROMAN.fullmatch(plain)
        or all(piece in _NUMBER_WORDS for piece in pieces)
    )


def is_name(text: str) -> bool:
    """Say whether a word is written like a name."""
    return text.strip("-\"'(")[:1].isupper()


def credit_length(said: Sequence[Said], first: int) -> int:
    """Return how many words a credit has that starts at a word and ends its sentence: title, "by", a name; or 0.

    A title has at most ten words. "edited by Andrew Lang" is one too.
    """
    for by in range(first, min(first + 11, len(said))):
        if said[by].text.lower() == "by":
            for last in _name_ends(said, by + 1):
                if ends_sentence(said[last - 1]) or said[last - 1].text.endswith(","):
                    return last - first
        if said[by].text[-1:] in tuple(".?!"):
            return 0
    return 0


@lru_cache(maxsize=4096)
def sounds(text: str) -> str:
    """Return the letters of some words by their sound."""
    spelt = text.lower()
    for pattern, sound in _SPELLING:
        spelt = re.sub(pattern, sound, spelt)
    return spelt


@lru_cache(maxsize=65536)
def distance(one: str, other: str, most: float) -> float:
    """Return how far two strings of sounds are apart, or infinity where it is more than `most`."""
    above = [0.0]
    for sound in other:
        above.append(above[-1] + loss(sound))
    for wanted in one:
        row = [above[0] + loss(wanted)]
        for i, sound in enumerate(other):
            row.append(min(above[i] + change(wanted, sound), above[i + 1] + loss(wanted), row[i] + loss(sound)))
        if min(row) > most:
            return float("inf")
        above = row
    return above[-1] if above[-1] <= most else float("inf")


def loss(sound: str) -> float:
    """Return what it costs to leave a sound out, or to add it."""
    return VOWEL_LOST if sound in VOWELS else OTHER


def change(wanted: str, sound: str) -> float:
    """Return what it costs to take one sound for another."""
    if wanted == sound:
        return 0.0
    if wanted in VOWELS and sound in VOWELS:
        return VOWEL_CHANGED
    return RELATED if sound in _FAMILY.get(wanted, ()) else OTHER


def _end(phrase: str, said: Sequence[Said], first: int) -> int | None:
    """Return where a phrase ends that starts at a word; None if it is not said there."""
    parts = phrase.split()
    anchored, ends = parts[0] != "...", parts[-1] != "..."
    if anchored and first and not ends_sentence(said[first - 1]):
        return None
    for last in _ends(tuple(parts[not anchored : len(parts) - (not ends)]), said, first):
        if not ends or last == len(said) or ends_sentence(said[last - 1]):
            return last
    return None


def _ends(parts: tuple[str, ...], said: Sequence[Said], first: int) -> Iterator[int]:
    """Yield where parts of a phrase that start at a word may end."""
    if not parts:
        yield first
        return
    slots = [i for i, part in enumerate(parts) if part == "..." or part.startswith("{")]
    words = slots[0] if slots else len(parts)
    if words:
        nexts = _spelt_ends(" ".join(parts[:words]), words, said, first)
        rest = parts[words:]
    else:
        rest = parts[1:]
        if parts[0] == "{number}":
            nexts = _number_ends(said, first)
        elif parts[0] == "{name}":
            nexts = _name_ends(said, first)
        elif parts[0] == "{title}":
            nexts = iter(range(first + 1, min(first + MOST_NAME_WORDS, len(said)) + 1))
        else:
            nexts = iter(range(first, min(first + MOST_WORDS_BETWEEN, len(said)) + 1))
    for last in nexts:
        yield from _ends(rest, said, last)


def _spelt_ends(wanted: str, count: int, said: Sequence[Said], first: int) -> Iterator[int]:
    """Yield the ends of runs of words that sound like some words."""
    sound = sounds(wanted)
    share = TOLERANCE if "~" in wanted else EXACT_TOLERANCE
    most = share * len(sound) if len(sound) >= SHORTEST_FUZZY else 0.0
    heard = ""
    for last in range(first + 1, min(first + 2 * count + 2, len(said)) + 1):
        heard += said[last - 1].text
        length = len(sounds(heard))
        if (length - len(sound)) * VOWEL_LOST > most:
            return
        if (len(sound) - length) * VOWEL_LOST <= most and distance(sound, sounds(heard), most) <= most:
            yield last


def _number_ends(said: Sequence[Said], first: int) -> Iterator[int]:
    last = first
    while last < len(said) and is_number(said[last].text):
        last += 1
        yield last


def _name_ends(said: Sequence[Said], first: int) -> Iterator[int]:
    for last in range(first + 1, min(first + MOST_NAME_WORDS, len(said)) + 1):
        if not is_name(said[last - 1].text):
            return
        yield last
