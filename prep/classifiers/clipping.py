"""clipping: how much of a clip was cut off at a level, wherever that level is now.

Clipping does two things to a waveform. It gathers peaks at one height, where an honest waveform has fewer the
higher they are; and it flattens them. A limiter gathers peaks and leaves them round; a soft knee flattens them and
gathers few. So both are asked for, in two ways: of tops that are still flat to the sample, and of tops on which a
codec or a resampler has laid ripples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from prep.bandwidth import at_common_rate
from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError
from prep.units import db_from_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prep.clip import Clip, Samples, Signal
    from prep.stage import Notes
    from prep.units import Seconds

# Flat to the sample: how near to the extreme counts as cut off there. Rounding keeps a flat top within half a step
# of its integers, dither spreads it over one to three.
EXACT = 1e-4
STEPS = (0.5, 1.01, 2.01, 3.01)
WIDEST = 0.04  # of a clip of 75 steps; in a softer one nothing can be told
WIDER = 8  # what lies within so many tolerances says how much to expect within one
LARGEST_P = 1e-3  # that the peaks of an honest waveform crowd so at its extreme
# Samples at the extreme beyond the first of each 2 ms, in which no limiter has let go: a round top has at most 0.36
# of those in reach of it there (the root of 1 / WIDER), and a limiter brings one sample a top to its ceiling.
TOP_SECONDS = 0.002
FEWEST_MORE, MORE_A_TOP = 2, 0.2
ROUND_SHARE, LARGEST_ROUND_P = 0.4, 0.3

# With ripples: a heap of peaks about a level below the extreme, and tops that stay near it longer than the clip's
# own lower tops stay near theirs.
HEAP = 0.03  # half width of the heap, share of the level
LOWEST_LEVEL = 0.4  # of the extreme: ripples overshoot by less than 8 dB
FEWEST_PEAKS = 8  # in a heap
MOST_ABOVE = 1.5  # peaks above the heap for each one in it
LARGEST_HEAP_P = 1e-4  # it is looked for at many levels, so it must be the more unlikely at each
LOWER = (0.85, 0.75, 0.65)  # levels of the tops to compare with, shares of the level
# Near the top, and where a top begins, as shares of its level; and the share of the time between that a round top
# stays near its own: that of a tone, for a clip that has no lower tops.
BASES = ((0.95, 0.8, 0.6), (0.9, 0.7, 0.65))
HIGHEST_TOP = 1.1
# Of the logarithm of how many times longer: at least, and times the root of the number of peaks. Both, with all the
# figures above, were chosen on one half of the speakers and tried on the other.
FLATTER, FLATTER_FOR_SURE = 0.08, 1.2
MOST_PEAKS = 400
LOWEST_HEIGHT = LOWEST_LEVEL * (1 - 3 * HEAP)  # of the extreme, of a peak that any of this looks at

SPANS = 20  # in the evidence, the longest ones
SPAN_GAP_SECONDS = 0.02  # flat tops of one vowel are one span


class Clipping(Cue):
    """Samples at the level at which the waveform was cut off, on either side of any channel."""

    NAME: ClassVar[str] = "clipping"
    VERSION: ClassVar[int] = 3
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("clipped_percent", "%", "samples that are cut off, at whatever level that happened", 0.01),
    )
    MEANING: ClassVar[str] = "distortion: a recording that was too loud crackles, however soft it is played"
    SOURCE: ClassVar[str] = (
        "prep.classifiers.clipping: binomial test of the peaks at a clip's own extremes against the falling density "
        "of peak heights below, as amplitude histograms show it (Aleinik and Matveev 2014; Laguna and Lerch 2016), "
        "and tops that are flatter than round ones"
    )
    # A few tops in a sentence, which go unheard; 0.1 % in one of two channels is over it.
    LIMITS: ClassVar[dict[str, float]] = {"max_clipped_percent": 0.03}

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the share of the clip's samples that are cut off, in percent; 0 where nothing is.

        Raises:
            ClipError: the clip has no samples, or samples that are not finite.
        """
        cut = sum(int(np.count_nonzero(side)) for _, side in clip.once(_cut_off))
        return {"clipped_percent": 100.0 * cut / clip.samples.size}

    def evidence(self, clip: Clip) -> Notes:
        """Return where the clip is cut off, in seconds, and the lowest level at which it is, dBFS."""
        sides = clip.once(_cut_off)
        levels = [level for level, side in sides if side.any()]
        if not levels:
            return {}
        cut = np.any([side for _, side in sides], axis=0)
        return {"spans": _spans(cut, clip.rate), "clipped_from_dbfs": round(db_from_ratio(min(levels)), 2)}


def _cut_off(clip: Clip) -> list[tuple[float, NDArray[np.bool_]]]:
    """Return the level, full scale 1, and the frames that are cut off there, of each side of each channel.

    Raises:
        ClipError: as `Clipping.measure`.
    """
    if not clip.samples.size:
        raise ClipError("it has no samples; replace the file")
    clip.check_finite()
    # A rate at which a flat top and a round one of the highest formant differ.
    fine = at_common_rate(clip)
    found = []
    for channel, fine_channel in zip(*(np.ascontiguousarray(sound.samples.T) for sound in (clip, fine)), strict=True):
        step = _step(channel)
        for sign in (1, -1):
            side = sign * channel
            level = _flat_level(side, step, clip.rate)
            level = level or _rippled_level(side if fine is clip else sign * fine_channel) or np.inf
            found.append((level, side >= np.float64(level)))
    return found


def _flat_level(signal: Samples, step: float, rate: int) -> float | None:
    """Return the level at which tops are flat to the sample, at the extreme; None if none are.

    At most an eighth of the peaks near the extreme are expected in the upper eighth of their range. The extreme
    is there by definition, so it is no evidence.

    Args:
        signal: one channel, shape (frames,); its upper side is looked at.
        step: the smallest difference between two of its values.
        rate: sampling rate in Hz.
    """
    from scipy.stats import binom

    extreme = float(signal.max())
    if extreme <= 0:
        return None
    heights, step = peak_heights(signal), step / extreme
    widths = np.unique(np.maximum(np.multiply(STEPS, step), EXACT))
    widths = widths[widths <= WIDEST][::-1]  # the widest that is flat says how much
    top, near = (np.array([np.count_nonzero(heights >= 1 - width) for width in by * widths]) for by in (1, WIDER))
    # On a grid of integers a width holds its whole steps, and the extreme itself.
    share = (widths // step + 1) / (WIDER * widths // step + 1) if step else 1 / WIDER
    chance = binom.sf(top - 2, np.maximum(near - 1, 0), share)
    flat = (float(width) for width in widths[chance <= LARGEST_P] if _are_flat(signal, float(width), rate))
    return next((extreme * (1 - width) for width in flat), None)


def _are_flat(signal: Samples, width: float, rate: int) -> bool:
    """Say whether the tops within a width of the extreme (a share of it) hold more samples than round ones."""
    from scipy.stats import binom

    extreme = float(signal.max())
    near = np.flatnonzero(signal >= np.float64(extreme * (1 - WIDER * width)))
    top = near[signal[near] >= np.float64(extreme * (1 - width))]
    reach = TOP_SECONDS * rate
    tops = 1 + int(np.count_nonzero(np.diff(top) > reach))
    more = len(top) - tops
    if more < FEWEST_MORE or more < MORE_A_TOP * tops:
        return False
    after = np.searchsorted(top, near)
    neighbours = (top[np.maximum(after - 1, 0)], top[np.minimum(after, len(top) - 1)])
    away = np.minimum(*(np.abs(near - neighbour) for neighbour in neighbours))
    within = int(np.count_nonzero(away <= reach)) - tops
    return bool(binom.sf(more - 1, within, ROUND_SHARE) <= LARGEST_ROUND_P)


def _rippled_level(signal: Samples) -> float | None:
    """Return the level above which tops heap up and are flatter than those at lower levels; None if none do.

    Args:
        signal: one channel at a high rate, shape (frames,); its upper side is looked at.
    """
    from scipy.stats import binom

    if signal.max() <= 0:
        return None
    heights = np.sort(peak_heights(signal))
    levels = np.arange(LOWEST_LEVEL, 1.0, HEAP / 4)
    below, low, high = (np.searchsorted(heights, levels * (1 + HEAP * reach)) for reach in (-3, -1, 1))
    beneath, heap, above = low - below, high - low, len(heights) - high
    likely = (heap >= FEWEST_PEAKS) & (above <= MOST_ABOVE * heap)
    if not likely.any():
        return None
    # An honest waveform has no more peaks in a range of heights than in as wide a one just beneath.
    chance = np.where(likely, binom.logsf(heap - 1, heap + beneath, 0.5), 0.0)
    least = int(np.argmin(chance))
    if chance[least] > np.log(LARGEST_HEAP_P):
        return None
    level = float(signal.max() * levels[least])
    flatter = _flatter(signal, level)
    if flatter < FLATTER or flatter * np.sqrt(min(heap[least], MOST_PEAKS)) < FLATTER_FOR_SURE:
        return None
    return level * (1 - HEAP)


def _flatter(signal: Samples, level: float) -> float:
    """Return how much longer the tops at a level stay near it than lower tops near theirs, as a logarithm."""
    longer = []
    for near, base, round_share in BASES:
        close, whole = _time_near(signal, level, near, base)
        lower_close, lower_whole = np.sum([_time_near(signal, share * level, near, base) for share in LOWER], axis=0)
        usual = lower_close / lower_whole if lower_whole else round_share
        longer.append(np.log(close / whole / usual) if close else -np.inf)
    return float(np.mean(longer))


def _time_near(signal: Samples, level: float, near: float, base: float) -> tuple[int, int]:
    """Return the samples near a level, and all those, of the tops that reach near it and not far above it.

    A top is what stays above a base. Near and base are shares of the level.
    """
    above = signal >= np.float32(base * level)
    edges = np.flatnonzero(above[1:] != above[:-1]) + 1
    edges = edges[int(above[0]) :]
    edges = edges[: len(edges) // 2 * 2]
    if not len(edges):
        return 0, 0
    highest = np.maximum.reduceat(signal, edges)[::2]
    close = np.add.reduceat((signal >= np.float32(near * level)).astype(np.int64), edges)[::2]
    lengths = np.diff(edges)[::2]
    ours = (highest >= near * level) & (highest <= HIGHEST_TOP * level)
    return int(close[ours].sum()), int(lengths[ours].sum())


def peak_heights(signal: Samples) -> Signal:
    """Return the height of each high local maximum of a signal, as a share of its extreme; a flat top is one.

    High is `LOWEST_HEIGHT` of the extreme: few samples of speech are, so that most need no second look.
    """
    extreme = float(signal.max())
    high = np.flatnonzero(signal >= np.float64(LOWEST_HEIGHT * extreme))
    # Between two stretches of high samples lies a low one: it stands for those left out. The clip's ends are no peaks.
    first, last = high[0] == 0, high[-1] == len(signal) - 1
    gaps = np.flatnonzero(np.diff(high) > 1) + 1
    heard = np.concatenate([[extreme if first else 0.0], np.insert(signal[high], gaps, 0), [extreme if last else 0.0]])
    turning = heard[np.concatenate([[True], heard[1:] != heard[:-1]])]
    rising = turning[1:] > turning[:-1]
    heights: Signal = turning[1:-1][rising[:-1] & ~rising[1:]].astype(np.float64) / extreme
    return heights


def _step(signal: Samples) -> float:
    """Return the smallest difference between two values of a signal: the step of its integers, if it had any."""
    integers = signal * np.float32(1 << 15)
    if (np.abs(integers) <= 1 << 15).all() and (integers == np.rint(integers)).all():  # 16 bits: no need to sort
        values = np.flatnonzero(np.bincount(integers.astype(np.int32) + (1 << 15))) / (1 << 15)
    else:
        values = np.unique(signal).astype(np.float64)
    return float(np.diff(values).min(initial=np.inf)) if len(values) > 1 else 0.0


def _spans(cut: NDArray[np.bool_], rate: int) -> list[list[Seconds]]:
    """Return the longest spans [start, end] in which frames are cut off, s, in order."""
    frames = np.flatnonzero(cut)
    gaps = np.flatnonzero(np.diff(frames) > SPAN_GAP_SECONDS * rate)
    starts, ends = frames[np.concatenate([[0], gaps + 1])], frames[np.concatenate([gaps, [-1]])] + 1
    longest = np.sort(np.argsort(starts - ends, kind="stable")[:SPANS])
    return [[round(float(starts[i] / rate), 6), round(float(ends[i] / rate), 6)] for i in longest]
