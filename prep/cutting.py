"""Cutting: where a take may be cut, so that no word is touched and no two pieces overlap.

A recogniser tells which words were said and, to two tenths of a second, when. The cut is found in the sound: between
two stretches of speech (`prep.pauses`) lies a *gap*. A piece begins in the gap before its first word and ends in
the one after its last, as far from them as its head and tail ask, and never nearer to a word than the margin.
Where two pieces share a gap that is too short for both, they part at its quietest place. A cut halves no breath and
no click. Everything is in frames of the take.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prep.pauses import BLOCK_SECONDS, FRAME_BLOCKS, LONGEST_CLOSURE_SECONDS, parts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from prep.clip import Clip, Signal
    from prep.units import Seconds

    Frames = NDArray[np.intp]
    Mask = NDArray[np.bool_]

# Every 20 ms that hold some of a sound may begin or end this much before it or after it.
SPILL_BLOCKS = FRAME_BLOCKS - 1
FARTHEST_SECONDS = 3.0  # between a word's time and the stretch of speech that it is in
# A word without length was put anywhere, and one of thrice its usual length lies over a pause.
NO_TIME_SECONDS, STRETCHED, LONG_WORD_SECONDS = 0.05, 2.5, 0.4
SURE_WEIGHT, UNSURE_WEIGHT = 2.5, 0.3  # of a second between a word and its stretch
FILL = 0.4  # of a second by which a stretch is too long or too short
EDGE_SECONDS = 0.3  # of cost that a line's begin or end in a pause makes up for
# No larger margin fits to either side into a gap that is just longer than the closure of a stop.
CLOSURE_MARGIN_SECONDS = LONGEST_CLOSURE_SECONDS / 2 - SPILL_BLOCKS * BLOCK_SECONDS
SHORTEST_BREATH_SECONDS = 0.1  # as `edges` has it; a click or a smack of the lips is shorter
NEAR_QUIETEST_DB = 3.0  # steady noise varies as much from 20 ms to the next


class Span(NamedTuple):
    """A piece before its ends are set: the gaps before and after it, and where its speech begins and ends."""

    before: int
    after: int
    onset: int
    offset: int


class Piece(NamedTuple):
    """A piece of a take in frames: [start, end), and its speech, [onset, offset)."""

    start: int
    onset: int
    offset: int
    end: int


class TakeSound(NamedTuple):
    """What is known of a take's sound.

    Attributes:
        rate: in Hz.
        bounds: the first frame of each block of 5 ms, and the end, (blocks + 1,).
        speech: stretches of speech [first, last) in blocks, in order, each parted from the next by a gap, (n, 2).
        sounding: which blocks hold sound above the threshold, (blocks,).
        level: power at each block, (blocks,).
        margin: least distance between a cut and a word, in blocks.
    """

    rate: int
    bounds: Frames
    speech: Frames
    sounding: Mask
    level: Signal
    margin: int

    def gap(self, number: int) -> tuple[int, int]:
        """Return a gap [first, last) in blocks: 0 is before all speech, n after it."""
        first = self.speech[number - 1, 1] if number else 0
        last = self.speech[number, 0] if number < len(self.speech) else len(self.bounds) - 1
        return int(first), int(last)

    def span(self, before: int, after: int) -> Span:
        """Return the span between two gaps."""
        onset, offset = self.bounds[[self.speech[before, 0], self.speech[after - 1, 1]]]
        return Span(before, after, int(onset), int(offset))


def sound_of(clip: Clip, margin_seconds: Seconds, *, closures: bool = True) -> TakeSound:
    """Return what can be known of where a take may be cut.

    Args:
        clip: the take.
        margin_seconds: least distance between a cut and a word.
        closures: whether a gap may be as short as the closure of a stop. Where only a recogniser's times tell which gap
            is between two words, it may not: the closure is then as likely inside one of them.

    Raises:
        ClipError: as `prep.pauses.parts`.
    """
    found = parts(clip)
    blocks = len(found.starts_seconds) - 1
    margin = int(np.ceil(margin_seconds / BLOCK_SECONDS))
    wide = np.clip(found.speech + np.array([-SPILL_BLOCKS, SPILL_BLOCKS]), 0, blocks)
    closure = 0 if closures else round(LONGEST_CLOSURE_SECONDS / BLOCK_SECONDS) - 2 * SPILL_BLOCKS
    apart = np.flatnonzero(wide[1:, 0] - wide[:-1, 1] >= max(2 * margin, closure))
    speech = np.stack([wide[np.append(0, apart + 1), 0], wide[np.append(apart, len(wide) - 1), 1]], axis=1)
    sounding = np.convolve(found.frame_power >= found.threshold, np.ones(FRAME_BLOCKS)) > 0
    centred = np.pad(found.frame_power, (FRAME_BLOCKS // 2, FRAME_BLOCKS - 1 - FRAME_BLOCKS // 2), mode="edge")
    bounds = np.rint(found.starts_seconds * clip.rate).astype(np.intp)
    return TakeSound(clip.rate, bounds, speech, sounding, centred, margin)


def gaps_at(
    take: TakeSound, words: Signal, sounds: Sequence[int], edges: Collection[int] = ()
) -> tuple[list[int | None], list[int | None]]:
    """Return, for each place between words, the gap that ends what is before, and the one before what follows.

    They are one gap, unless something sounds between that is no word. None where no gap parts the words.

    Args:
        take: where there are gaps.
        words: (start, end) of each word in seconds, (n, 2).
        sounds: how many sounds each has.
        edges: places where a line begins or ends, and a pause is likely.

    Returns:
        Two lists of n + 1: at place k the gap after word k - 1, and the gap before word k.
    """
    held = _stretches_of(take, words, sounds, edges)
    inner = list(itertools.pairwise(held))
    after = [held[0], *(None if one == other else one + 1 for one, other in inner), held[-1] + 1]
    before = [held[0], *(None if one == other else other for one, other in inner), held[-1] + 1]
    return after, before


def _stretches_of(take: TakeSound, words: Signal, sounds: Sequence[int], edges: Collection[int]) -> list[int]:
    """Return the stretch of speech that each word is in; the arguments are those of `gaps_at`, with n > 0.

    A recogniser puts single words half a second beside their place, stretches them over a pause, or gives them no time
    at all. So words are dealt out in order at the least cost: the seconds between a word and its stretch, and a
    share of the seconds by which a stretch is too long or too short for the sounds of its words, less a bonus where it
    begins or ends with a line. A stretch may have no word.
    """
    times = take.bounds[take.speech] / take.rate
    lengths = times[:, 1] - times[:, 0]
    counted = np.concatenate([[0.0], np.cumsum(sounds)])
    expected = counted * float(lengths.sum()) / max(float(counted[-1]), 1.0)
    seconds = words[:, 1] - words[:, 0]
    sure = (seconds >= NO_TIME_SECONDS) & (seconds <= np.maximum(STRETCHED * np.diff(expected), LONG_WORD_SECONDS))
    weights = np.where(sure, SURE_WEIGHT, UNSURE_WEIGHT)
    bonus = np.isin(np.arange(len(words) + 1), list(edges)) * EDGE_SECONDS
    centres = _near_speech(words.mean(axis=1), times)
    costs = np.append(0.0, np.full(len(words), np.inf))
    came: list[tuple[int, Frames]] = []
    for (start, end), length in zip(times, lengths, strict=True):
        first = int(np.searchsorted(centres, start - FARTHEST_SECONDS))
        last = int(np.searchsorted(centres, end + FARTHEST_SECONDS, side="right"))
        away = np.maximum(np.maximum(start - centres, centres - end), 0.0)[first:last] * weights[first:last]
        total = np.concatenate([[0.0], np.cumsum(away)])
        held = expected[first : last + 1]
        # The words [i, j) are in this stretch.
        cost = total - total[:, np.newaxis] + FILL * np.abs(held - held[:, np.newaxis] - length)
        line = bonus[first : last + 1] + bonus[first : last + 1, np.newaxis]
        cost = np.where(np.triu(np.ones_like(cost), 1) > 0, cost - line, np.where(np.eye(len(cost)) > 0, cost, np.inf))
        cost += costs[first : last + 1, np.newaxis]
        came.append((first, np.argmin(cost, axis=0)))
        costs = costs + FILL * length
        costs[first : last + 1] = np.min(cost, axis=0)
    found = np.zeros(len(words), dtype=np.intp)
    place = len(words)
    for stretch in reversed(range(len(times))):
        first, choice = came[stretch]
        if first <= place < first + len(choice):
            begin = first + int(choice[place - first])
            found[begin:place] = stretch
            place = begin
    return [int(stretch) for stretch in found]


def _near_speech(times: Signal, edges: Signal) -> Signal:
    """Return times in order, those that are far from all speech brought nearer."""
    times = np.maximum.accumulate(times)
    after = np.searchsorted(edges[:, 0], times, side="right")
    ended = np.append(-np.inf, edges[:, 1])[after] + 0.9 * FARTHEST_SECONDS
    begins = np.append(edges[:, 0], np.inf)[after] - 0.9 * FARTHEST_SECONDS
    low, high = np.minimum(ended, begins), np.maximum(ended, begins)
    between = np.where(times <= ended, times, np.where(times >= begins, times, np.where(low == ended, ended, high)))
    near: Signal = np.maximum.accumulate(between)
    return near


def pieces(take: TakeSound, spans: Sequence[Span], head_seconds: Seconds, tail_seconds: Seconds) -> list[Piece]:
    """Return the pieces of spans, with a head and a tail that stay inside the take and overlap nothing.

    Args:
        take: that is cut.
        spans: in order, none overlapping another.
        head_seconds: wanted before the first word of each; less where there is no room, never less than the margin.
        tail_seconds: wanted after the last word.
    """
    begun = {span.before for span in spans}
    margin = int(take.bounds[min(take.margin, len(take.bounds) - 1)])
    head, tail = (max(round(seconds * take.rate), margin) for seconds in (head_seconds, tail_seconds))
    found: list[Piece] = []
    for span in spans:
        low, high = _limits(take, span.before)[0], _limits(take, span.after)[1]
        if found:
            low = max(low, found[-1].end)
        if span.after in begun:
            high = min(high, _latest_end(take, span.after, head, tail))
        start = _outside_sounds(take, span.before, max(span.onset - head, low), low, rising=True)
        end = _outside_sounds(take, span.after, min(span.offset + tail, high), high, rising=False)
        found.append(Piece(start, span.onset, span.offset, end))
    return found


def _limits(take: TakeSound, gap: int) -> tuple[int, int]:
    """Return the first and the last frame of a gap at which a cut is far enough from the words beside it."""
    first, last = take.gap(gap)
    return (
        int(take.bounds[min(first + take.margin, last)]) if gap else 0,
        int(take.bounds[max(last - take.margin, first)]) if gap < len(take.speech) else int(take.bounds[-1]),
    )


def _latest_end(take: TakeSound, gap: int, head: int, tail: int) -> int:
    """Return where the piece before a gap ends at the latest, if another begins in the gap."""
    first, last = take.gap(gap)
    offset, onset = int(take.bounds[first]), int(take.bounds[last])
    return onset - head if offset + tail <= onset - head else cut_mark(take, gap)


def cut_mark(take: TakeSound, gap: int) -> int:
    """Return the frame at which a gap is quietest, as near to its middle as the level allows, away from the words."""
    first, last = take.gap(gap)
    low = first + (take.margin if gap else 0)
    high = max(last - (take.margin if gap < len(take.speech) else 0), low)
    level = take.level[low : high + 1]
    quiet = np.flatnonzero(level <= level.min(initial=np.inf) * 10 ** (NEAR_QUIETEST_DB / 10))
    if not len(quiet):
        return int(take.bounds[low])
    middle = (first + last) / 2 - low
    return int(take.bounds[low + quiet[np.argmin(np.abs(quiet - middle))]])


def _outside_sounds(take: TakeSound, gap: int, cut: int, limit: int, *, rising: bool) -> int:
    """Return a cut in a gap that halves no breath and no click.

    A breath before the words is kept whole, where the limit allows. Any other sound is left out, unless that brings
    the cut nearer to the words than the margin; then it is kept, up to the limit.

    Args:
        take: that is cut.
        gap: that the cut is in.
        cut: in frames.
        limit: the frame that it may not pass outwards.
        rising: whether the words of the piece come after the cut.
    """
    first, last = take.gap(gap)
    sounding = take.sounding[first:last]
    edges = np.flatnonzero(np.diff(sounding, prepend=False, append=False)).reshape(-1, 2) + first
    for begin, end in edges:
        low, high = int(take.bounds[begin]), int(take.bounds[end])
        if not low < cut < high:
            continue
        if rising:
            whole = int(take.bounds[max(begin - take.margin, first)])
            breath = (end - begin) * BLOCK_SECONDS >= SHORTEST_BREATH_SECONDS and whole >= limit
            return high if end + take.margin <= last and not breath else max(whole, limit)
        return low if begin - take.margin >= first else min(high, limit)
    return cut
