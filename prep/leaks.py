"""Leaks: rules by which something beside the sound tells the condition of a clip. No file is opened here.

The rules are plain and decisive, for what they find can be read off without listening:

- *own*: a value of which there should be few (rate, tags, encoder...) that some condition never has.
- *one*: a value that every clip of a condition has and no clip of another, at least 3 clips a side; or that
  at least 8 of its clips have, where there are 8 other clips (1 in 128 by chance).
- *ordered*: of numbers that differ from clip to clip, all of one condition above all of another, at least 5
  clips a side (2 of 252 orders by chance), or an AUC at least 0.4 from chance, at least 8 clips a side.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from itertools import combinations, permutations
from typing import TYPE_CHECKING, TypeVar

from prep.auc import auc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

T = TypeVar("T")

FEWEST_FOR_ALL = 3
FEWEST_FOR_MANY = 8
FEWEST_FOR_RANGES = 5
FEWEST_FOR_AUC, LEAST_SEPARATION = 8, 0.4
FEWEST_TURNS = 4  # of a strict alternation: the same order of conditions so many times in a row

# What names are made of by people who mean to hide them.
HASHES = ("md5", "sha1", "sha256", "sha512")
JOINTS = ("", "_", "-", "/", ":", " ")
FEWEST_NUMBERS = 1000  # row numbers tried

_OPAQUE = re.compile(r"[0-9a-f]{16,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def own_values(values: Sequence[T], conditions: Sequence[str]) -> dict[T, tuple[list[str], list[str]]]:
    """Return each value that some condition never has, with the conditions that have it and those that do not."""
    every = sorted(set(conditions))
    seen: dict[T, set[str]] = defaultdict(set)
    for value, condition in zip(values, conditions, strict=True):
        seen[value].add(condition)
    return {
        value: (sorted(having), [name for name in every if name not in having])
        for value, having in seen.items()
        if len(having) < len(every)
    }


def values_of_one(values: Sequence[Iterable[T]], conditions: Sequence[str]) -> dict[str, list[T]]:
    """Return by condition the values that it alone has, in all its clips or in many; each clip may have several."""
    clips = Counter(conditions)
    having: dict[T, Counter[str]] = defaultdict(Counter)
    for several, condition in zip(values, conditions, strict=True):
        for value in dict.fromkeys(several):
            having[value][condition] += 1
    found: dict[str, list[T]] = defaultdict(list)
    for value, counts in having.items():
        (condition, count), *others = counts.most_common()
        fewest = min(count, len(conditions) - clips[condition])
        all_of_it = count == clips[condition] and fewest >= FEWEST_FOR_ALL
        if not others and (all_of_it or fewest >= FEWEST_FOR_MANY):
            found[condition].append(value)
    return found


def ordered(values: Sequence[float], conditions: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """Yield each pair of conditions that numbers tell apart: the lower, the higher, and the AUC."""
    by_condition: dict[str, list[float]] = defaultdict(list)
    for value, condition in zip(values, conditions, strict=True):
        by_condition[condition].append(value)
    for a, b in combinations(sorted(by_condition), 2):
        chance = auc(by_condition[a], by_condition[b])
        fewest = min(len(by_condition[a]), len(by_condition[b]))
        apart = fewest >= FEWEST_FOR_RANGES and chance in (0.0, 1.0)
        if apart or (fewest >= FEWEST_FOR_AUC and abs(chance - 0.5) >= LEAST_SEPARATION):
            yield (a, b, chance) if chance > 0.5 else (b, a, 1 - chance)


def alternates(conditions: Sequence[str]) -> bool:
    """Say whether a list repeats one order of the conditions from beginning to end."""
    period = len(set(conditions))
    turns = len(conditions) // period
    pattern = conditions[:period]
    repeated = all(name == pattern[place % period] for place, name in enumerate(conditions))
    return period > 1 and turns >= FEWEST_TURNS and len(set(pattern)) == period and repeated


# Names --------------------------------------------------------------------------------------------


def is_opaque(stem: str) -> bool:
    """Say whether a name is a long hexadecimal number: words in it are chance."""
    return bool(_OPAQUE.fullmatch(stem))


def parts_of(name: str) -> list[str]:
    """Return the parts of a name between punctuation, and between letters and digits, lower case."""
    return re.findall(r"[^\W\d_]+|\d+", name.casefold())


def holds(name: str, word: str) -> bool:
    """Say whether a name holds a word; a word of one or two characters must be a part of its own."""
    if len(word) < 3:
        return word.casefold() in parts_of(name)
    plain = _plain(word)
    return word.casefold() in name.casefold() or (len(plain) >= 3 and plain in _plain(name))


def _plain(text: str) -> str:
    """Return the letters and digits of a text, lower case."""
    return re.sub(r"[\W_]+", "", text.casefold())


def guessed_names(stems: Iterable[str], rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the names that are hashes of something guessable, with what they are the hash of.

    Args:
        stems: names of files without suffix; whole hashes, or the first 8 digits or more of one.
        rows: what is known of each clip, by word.
    """
    wanted = {stem: re.sub("-", "", stem).casefold() for stem in stems}
    wanted = {stem: digits for stem, digits in wanted.items() if re.fullmatch(r"[0-9a-f]{8,}", digits)}
    lengths = sorted({len(digits) for digits in wanted.values()})
    known = set(wanted.values())
    found: dict[str, str] = {}
    if not known:
        return found
    for text, what in _guesses(rows):
        for algorithm in HASHES:
            digits = hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()
            for length in lengths:
                if digits[:length] in known:
                    found.setdefault(digits[:length], f"the {algorithm} of its {what}")
    return {stem: found[digits] for stem, digits in wanted.items() if digits in found}


def _guesses(rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield each text that somebody might hash, once, and what it is."""
    told = set()
    for text, what in _all_guesses(rows):
        if text not in told:
            told.add(text)
            yield text, what


def _all_guesses(rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    for number in range(max(len(rows) + 1, FEWEST_NUMBERS)):
        for text in (str(number), f"{number:02d}", f"{number:03d}", f"{number:04d}"):
            yield text, "row number"
    for place, row in enumerate(rows):
        words = {word: text for word, text in row.items() if text}
        yield from ((text, word) for word, text in words.items())
        numbered = [words | {"row number": str(number)} for number in (place, place + 1)]
        for parts in numbered:
            for count in (2, 3):
                for chosen in permutations(parts, count):
                    for joint in JOINTS:
                        yield joint.join(parts[word] for word in chosen), " and ".join(chosen)
