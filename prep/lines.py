"""Lines: where the lines of a script were read, in any order and any number of times, by what was heard.

A line is compared with every stretch of the words heard, by their sounds (`prep.phrases`): the edit distance over the
weight of the line's sounds is its *error*. Word order counts, spelling does not, and one wrong word of eight does no
harm. Of all stretches that are near enough to a line those are taken that overlap nowhere and explain the most.
What belongs to no line, a false start or chatter, is left over.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prep.phrases import change, loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Costs = NDArray[np.float64]
    Places = NDArray[np.intp]

# Of the weight of a line. 236 lines of verse by two readers were missed by 0.24 at most; of 4158 comparisons of a line
# of SHORT_SOUNDS with a reading of another poem, one came nearer than 0.30: the same words but one.
MOST_ERROR = 0.28
# A match costs a little, so that one line explains a stretch rather than two parts of it.
EACH = 0.5
# Sounds of a line that may stand in the middle of other speech by chance; it must be parted from it by pauses.
SHORT_SOUNDS = 10
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_FAR = 1e6


class Match(NamedTuple):
    """A line, by its place in the script, that was read in the words [first, last), and how far it was missed."""

    line: int
    first: int
    last: int
    error: float


def matches(lines: Sequence[str], heard: Sequence[str], parted: Sequence[bool]) -> tuple[list[Match], list[Match]]:
    """Return where lines were read, in the order of time, and for each line what comes nearest to it.

    Args:
        lines: the sounds of each line (`prep.phrases.sounds`).
        heard: the sounds of each word that was heard; "" where it has none.
        parted: whether a pause parts the words before each place from those after it, (len(heard) + 1,).

    Returns:
        Matches that overlap nowhere; and a match a line, in their order, whose error says how near the nearest
        stretch is (1 and no words where nothing was heard).
    """
    track = _track(heard)
    near: list[Match] = []
    nearest: list[Match] = []
    for place, line in enumerate(lines):
        found = list(_ends(place, line, track)) if line and track.codes.size else []
        nearest.append(min(found, key=lambda match: match.error, default=Match(place, 0, 0, 1.0)))
        near += [
            match
            for match in found
            if match.error <= MOST_ERROR and (len(line) >= SHORT_SOUNDS or (parted[match.first] and parted[match.last]))
        ]
    return _best(near, [weight_of(line) for line in lines]), nearest


def weight_of(line: str) -> float:
    """Return what it would cost to miss all sounds of a line."""
    return sum(loss(sound) for sound in line)


class _Track(NamedTuple):
    """The sounds heard: which each is, the word it is of, and what it costs to skip all up to each place."""

    codes: Places
    words: Places
    skipped: Costs
    starts: NDArray[np.bool_]
    ends: NDArray[np.bool_]


def _track(heard: Sequence[str]) -> _Track:
    codes = np.array([_ALPHABET.index(sound) for word in heard for sound in word], dtype=np.intp)
    words = np.repeat(np.arange(len(heard)), [len(word) for word in heard])
    skipped = np.concatenate([[0.0], np.cumsum(_losses()[codes])])
    new = np.diff(words, prepend=-1, append=-1) != 0
    return _Track(codes, words, skipped, np.append(new[:-1], False), np.append(False, new[1:]))


def _ends(place: int, line: str, track: _Track) -> Iterator[Match]:
    """Yield the best match of a line for each word that it may end with: an edit distance, a row a sound."""
    here = np.arange(track.codes.size + 1)
    # A match begins with a word.
    row, start = np.where(track.starts, 0.0, _FAR), here
    for sound in line:
        changed = np.append(_FAR, row[:-1] + _changes()[_ALPHABET.index(sound)][track.codes])
        missed = row + loss(sound)
        start = np.where(changed <= missed, np.append(0, start[:-1]), start)
        # Sounds that the line has not are skipped: the cheapest place before, and the way from there.
        cost = np.minimum(changed, missed) - track.skipped
        cheapest = np.minimum.accumulate(cost)
        start = start[np.maximum.accumulate(np.where(cost <= cheapest, here, 0))]
        row = cheapest + track.skipped
    weight = weight_of(line)
    for end in np.flatnonzero(track.ends):
        if start[end] < end:
            first, last = int(track.words[start[end]]), int(track.words[end - 1]) + 1
            yield Match(place, first, last, float(row[end]) / weight)


def _best(near: Sequence[Match], weights: Sequence[float]) -> list[Match]:
    """Return the matches that overlap nowhere and together explain the most: the classic interval schedule."""
    ordered = sorted(near, key=lambda match: (match.last, match.first, match.line))
    lasts = [match.last for match in ordered]
    totals = [0.0]
    taken: list[bool] = []
    for index, match in enumerate(ordered):
        before = bisect_right(lasts, match.first, hi=index)
        with_it = totals[before] + weights[match.line] * (MOST_ERROR - match.error) - EACH * MOST_ERROR
        taken.append(with_it > totals[index])
        totals.append(max(with_it, totals[index]))
    found: list[Match] = []
    index = len(ordered)
    while index:
        index -= 1
        if taken[index]:
            found.append(ordered[index])
            index = bisect_right(lasts, ordered[index].first, hi=index)
    return found[::-1]


@cache
def _changes() -> Costs:
    return np.array([[change(one, other) for other in _ALPHABET] for one in _ALPHABET])


@cache
def _losses() -> Costs:
    return np.array([loss(sound) for sound in _ALPHABET])
