"""clipping: how much of a clip was cut off at a level, wherever that level is now."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError

if TYPE_CHECKING:
    from prep.clip import Clip, Signal

# How near to the extreme a peak counts as cut off there: exact tops, then tops with the rounding and dither of
# a clip turned down by 30 and by 45 dB at 16 bits. Wider, a loud vowel passes for clipping.
TOLERANCES = (3e-4, 2e-3, 1e-2)
WIDER = 8  # the peaks within so many tolerances say how many to expect within one

# A codec or a resampler makes ripples of flat tops: a heap of peaks about the level, with some over it.
HEAP = 0.03  # half width of the heap, share of the level
LOWEST_LEVEL = 0.5  # of the extreme: ripples overshoot by less than 6 dB
FEWEST_PEAKS = 8  # in a heap; two thirds or more of the peaks that high must be in it

# The chance that an honest waveform does it: three tolerances and two sides make 0.6 % of false alarms at most.
# A heap is looked for at many levels, so it must be the more unlikely at each.
LARGEST_P, LARGEST_HEAP_P = 1e-3, 1e-4


class Tops(NamedTuple):
    """What was cut off on one side of a channel: samples, and peaks of one or more samples."""

    samples: int = 0
    peaks: int = 0


class Clipping(Cue):
    """Samples at the level at which the waveform was cut off, on either side of any channel."""

    NAME: ClassVar[str] = "clipping"
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("clipped_percent", "%", "samples that are cut off, at whatever level that happened", 0.01),
    )
    MEANING: ClassVar[str] = "distortion: a recording that was too loud crackles, however soft it is played"
    SOURCE: ClassVar[str] = (
        "prep.classifiers.clipping: binomial test of the peaks at a clip's own extremes against the falling density "
        "of peak heights below, as amplitude histograms show it (Aleinik and Matveev 2014; Laguna and Lerch 2016)"
    )

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the share of the clip's samples that are cut off, in percent; 0 where nothing is.

        Raises:
            ClipError: the clip has no samples, or samples that are not finite.
        """
        if not clip.samples.size:
            raise ClipError("it has no samples; replace the file")
        if not np.isfinite(clip.samples).all():
            raise ClipError("has samples that are not finite; export the source again")
        cut = 0
        for channel in clip.samples.T.astype(np.float64):
            step = _step(channel)
            cut += sum(tops_of(side, step).samples for side in (channel, -channel))
        return {"clipped_percent": 100.0 * cut / clip.samples.size}


def tops_of(signal: Signal, step: float) -> Tops:
    """Return what is cut off on the upper side of a signal.

    Of an honest waveform fewer peaks reach a height the higher it is. Clipping gathers them at one height: at
    the extreme itself or, after a codec or a resampler, about a level somewhat below.

    Args:
        signal: one channel, shape (frames,).
        step: the smallest difference between two of its values.
    """
    extreme = float(signal.max())
    if extreme <= 0:
        return Tops()
    heights = np.sort(peak_heights(signal)) / extreme
    floor, peaks = _flat_tops(heights, step / extreme) or _heap(heights) or (np.inf, 0)
    return Tops(int(np.sum(signal >= extreme * floor)), peaks)


def _flat_tops(heights: Signal, step: float) -> tuple[float, int] | None:
    """Return how low the peaks at the extreme reach, as a share of it, and how many there are; None if by chance.

    At most an eighth of the peaks near the extreme are expected in the upper eighth of their range. The extreme
    is there by definition, so it is no evidence.

    Args:
        heights: of the peaks, rising, as shares of the extreme.
        step: between two values that a sample can have, as a share of the extreme.
    """
    from scipy.stats import binom

    found = []
    for tolerance in TOLERANCES:
        top, near = (_between(heights, 1 - width, np.inf) for width in (tolerance, WIDER * tolerance))
        # On a grid of integers a width holds its whole steps, and the extreme itself.
        share = (tolerance // step + 1) / (WIDER * tolerance // step + 1) if step else 1 / WIDER
        found.append((float(binom.sf(top - 2, max(near - 1, 0), share)), 1 - tolerance, top))
    p, floor, top = min(found)
    return (floor, top) if p <= LARGEST_P else None


def _heap(heights: Signal) -> tuple[float, int] | None:
    """Return the same for a heap of peaks below the extreme: more than in as wide a range just beneath it."""
    from scipy.stats import binom

    found = []
    for level in np.arange(LOWEST_LEVEL, 1.0, HEAP / 4):
        low, high = level * (1 - HEAP), level * (1 + HEAP)
        heap, above = _between(heights, low, high), _between(heights, high, np.inf)
        if heap >= FEWEST_PEAKS and above <= heap / 2:
            beneath = _between(heights, level * (1 - 3 * HEAP), low)
            found.append((float(binom.sf(heap - 1, heap + beneath, 0.5)), float(low), heap + above))
    p, low, peaks = min(found, default=(1.0, 0.0, 0))
    return (low, peaks) if p <= LARGEST_HEAP_P else None


def _between(heights: Signal, low: float, high: float) -> int:
    """Return how many of the rising heights are at least low and below high."""
    first, last = np.searchsorted(heights, (low, high))
    return int(last - first)


def peak_heights(signal: Signal) -> Signal:
    """Return the height of each local maximum of a signal; a flat top is one."""
    turning = signal[np.concatenate([[True], np.diff(signal) != 0])]
    middle = turning[1:-1]
    heights: Signal = middle[(middle > turning[:-2]) & (middle > turning[2:])]
    return heights


def _step(signal: Signal) -> float:
    """Return the smallest difference between two values of a signal: the step of its integers, if it had any."""
    values = np.unique(signal)
    return float(np.diff(values).min()) if len(values) > 1 else 0.0
