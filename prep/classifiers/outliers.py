"""outliers: samples that no voice and no room could have put where they are.

A glitch is one sample, or a few, far from where its neighbours point: an overflow, a lost buffer, a header read as
sound. A drop-out is a run of exact zeros in the middle of sound. Samples that are no numbers, or more than 24 dB over
full scale, never come so far: decoding refuses their file and names the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prep.clip import Clip, Signal
    from prep.stage import Notes
    from prep.units import Seconds

    Ranges = NDArray[np.intp]

# The fourth difference over 6 is how far a sample lies from the cubic through its four neighbours. A glitch stands out
# of that of the 15 ms around it, wherever the voice or a hiss does not hide it from the ear too.
BLOCK_SECONDS = 0.005
USUAL_PERCENTILE = 75.0
# Of the usual: between 36, the most in recordings without a glitch, and 63, the least in those with one.
GLITCH_RATIO = 50.0
SMALLEST_GLITCH = 0.1  # of the RMS of the clip
LOWEST_USUAL = 1e-4  # of the same: what surrounds a glitch may be digital zero

DROPOUT_SECONDS = 0.001
FEWEST_ZEROS = 4
EDGE_SECONDS = 0.002
# Below the RMS of the clip. Beside zeros that are silence the sound has faded by 60 dB.
EDGE_DB = -30.0

SPANS = 20  # in the evidence, the first ones


class Outliers(Cue):
    """Glitches and drop-outs of the worst channel of a clip."""

    NAME: ClassVar[str] = "outliers"
    KIND: ClassVar[Kind] = "nuisance"
    BATTERY: ClassVar[bool] = False
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("glitch_count", "count", "places where samples lie far outside their neighbourhood", 1.0),
        Feature("dropout_count", "count", "runs of exact zeros of 1 ms or more in the middle of sound", 1.0),
    )
    MEANING: ClassVar[str] = "damage: clicks and gaps of a broken transfer, an overflow or a streamed synthesis"
    SOURCE: ClassVar[str] = (
        "prep.classifiers.outliers: error of cubic interpolation over its 75th percentile in 15 ms (after Vaseghi, "
        "Advanced Digital Signal Processing, on impulsive noise); runs of zeros between sounds"
    )
    LIMITS: ClassVar[dict[str, float]] = {"max_glitch_count": 0.0, "max_dropout_count": 0.0}

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the number of glitches and of drop-outs in the channel that has most.

        Raises:
            ClipError: the clip is shorter than 15 ms, or has samples that are not finite.
        """
        channels = clip.once(_damage)
        return {
            "glitch_count": float(max(len(channel.glitches) for channel in channels)),
            "dropout_count": float(max(len(channel.dropouts) for channel in channels)),
        }

    def evidence(self, clip: Clip) -> Notes:
        """Return where the glitches and drop-outs are, in seconds."""
        found = sorted({span for channel in clip.once(_damage) for span in (*channel.glitches, *channel.dropouts)})
        return {"spans": [list(span) for span in found[:SPANS]]} if found else {}


class _Damage(NamedTuple):
    """Where one channel is damaged: [start, end), s."""

    glitches: list[tuple[Seconds, Seconds]]
    dropouts: list[tuple[Seconds, Seconds]]


def _damage(clip: Clip) -> list[_Damage]:
    if clip.seconds < 3 * BLOCK_SECONDS:
        raise ClipError(f"it lasts {clip.seconds:.3f} s, too short to tell a glitch from sound; replace it")
    clip.check_finite()
    return [
        _Damage(
            *(
                _in_seconds(ranges, clip.rate)
                for ranges in (_glitches(channel, clip.rate), _dropouts(channel, clip.rate))
            )
        )
        for channel in np.ascontiguousarray(clip.samples.T, dtype=np.float64)
    ]


def _glitches(signal: Signal, rate: int) -> Ranges:
    """Return the blocks with a glitch, neighbours as one, as ranges of frames, shape (glitches, 2)."""
    from scipy.ndimage import maximum_filter1d

    rms = float(np.sqrt(np.mean(np.square(signal - signal.mean()))))
    frames = max(round(BLOCK_SECONDS * rate), 8)
    blocks = len(signal) // frames
    if rms == 0 or blocks == 0:
        return np.empty((0, 2), np.intp)
    error = np.pad(np.abs(np.diff(signal, 4)) / 6, 2)[: blocks * frames].reshape(blocks, frames)
    usual = maximum_filter1d(np.percentile(error, USUAL_PERCENTILE, axis=1), 3)
    highest = error.max(axis=1)
    found = (highest > GLITCH_RATIO * np.maximum(usual, LOWEST_USUAL * rms)) & (highest > SMALLEST_GLITCH * rms)
    return _runs(found) * frames


def _dropouts(signal: Signal, rate: int) -> Ranges:
    """Return the runs of zeros with sound at both edges, as ranges of frames, shape (dropouts, 2)."""
    zeros = _runs(signal == 0)
    zeros = zeros[np.diff(zeros, axis=1)[:, 0] >= max(DROPOUT_SECONDS * rate, FEWEST_ZEROS)]
    edge = max(round(EDGE_SECONDS * rate), FEWEST_ZEROS)
    lowest = float(np.mean(np.square(signal))) * 10 ** (EDGE_DB / 10)
    sounding = [
        first > 0
        and last < len(signal)
        and np.mean(np.square(signal[max(first - edge, 0) : first])) >= lowest
        and np.mean(np.square(signal[last : last + edge])) >= lowest
        for first, last in zeros
    ]
    dropouts: Ranges = zeros[np.array(sounding, dtype=bool)]
    return dropouts


def _runs(mask: NDArray[np.bool_]) -> Ranges:
    """Return the ranges [first, last) in which a mask is true, (ranges, 2)."""
    edges: Ranges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0))
    return edges.reshape(-1, 2)


def _in_seconds(ranges: Ranges, rate: int) -> list[tuple[Seconds, Seconds]]:
    return [(round(float(first / rate), 4), round(float(last / rate), 4)) for first, last in ranges]
