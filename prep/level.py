"""Level: loudness and peaks of a clip by ITU-R BS.1770-5, RMS, and gain.

Loudness is always measured at 48 kHz, the rate of the standard's own filter coefficients, so that it
does not depend on the rate a clip happens to have. A level that does not exist is None, never minus
infinity: silence has no level, and below 0.4 s there is no integrated loudness (RMS is the fallback).

Powers are mean squares of samples of full scale 1.0, K-weighted, summed over channels by the
standard's weights. RMS is taken over frames and channels: a full-scale sine has -3.01 dBFS.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from prep.errors import ClipError
from prep.units import db_from_power, db_from_ratio, ratio_from_db

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.clip import Clip, Signal
    from prep.units import Decibels, Lufs

BLOCK_SECONDS = 0.4
ABSOLUTE_GATE_LUFS = -70.0
RELATIVE_GATE_LU = -10.0

_RATE_HZ = 48_000
_HOP_FRAMES = 4_800  # a quarter of a block: 75 % overlap
_HOPS_PER_BLOCK = 4
_OFFSET_DB = -0.691  # BS.1770-5 Annex 1, equation 2
_TRUE_PEAK_FACTOR = 4  # BS.1770-5 Annex 2
_TRUE_PEAK_RATE_HZ = 192_000
_GAIN_ROUNDS = 8  # the absolute gate does not move with the gain; without it one round is exact

# BS.1770-5 Annex 1, Table 3 (channel weights), in the channel order of WAVE files.
_WEIGHTS = {
    1: (1.0,),
    2: (1.0, 1.0),
    3: (1.0, 1.0, 1.0),
    4: (1.0, 1.0, 1.41, 1.41),
    5: (1.0, 1.0, 1.0, 1.41, 1.41),
    6: (1.0, 1.0, 1.0, 0.0, 1.41, 1.41),
}


def block_powers(clip: Clip) -> Signal:
    """Return the K-weighted power of each whole 400 ms block, 75 % overlap, shape (blocks,).

    Empty below 0.4 s. BS.1770-5 Annex 1, equations 1 and 3; the partial block at the end is left out.

    Raises:
        ClipError: a sample is not finite, or there are more channels than the standard's 5.1.
    """
    weighted = _k_weighted(clip)
    count = len(weighted) // _HOP_FRAMES
    if count < _HOPS_PER_BLOCK:
        return np.empty(0)
    hops = weighted[: count * _HOP_FRAMES].reshape(count, _HOP_FRAMES, clip.channels)
    power = np.square(hops).mean(axis=1) @ _WEIGHTS[clip.channels]
    blocks: Signal = np.lib.stride_tricks.sliding_window_view(power, _HOPS_PER_BLOCK).mean(axis=1)
    return blocks


def pooling_powers(clip: Clip) -> Signal:
    """Return the block powers that a clip brings into a set, shape (blocks,).

    Below 0.4 s this is one block, shortened to the clip, so that every clip counts.

    Raises:
        ClipError: as `block_powers`.
    """
    blocks = block_powers(clip)
    if len(blocks) == 0 and clip.frames > 0:
        blocks = np.array([np.square(_k_weighted(clip)).mean(axis=0) @ _WEIGHTS[clip.channels]])
    return blocks


def gated_lufs(powers: Signal) -> Lufs | None:
    """Return the gated loudness of block powers (blocks,); None where no block passes the gates.

    BS.1770-5 Annex 1, equations 4 to 7: absolute gate -70 LUFS, then relative gate -10 LU.
    """
    audible = powers[powers > _power_from_lufs(ABSOLUTE_GATE_LUFS)]
    if len(audible) == 0:
        return None
    kept = audible[audible > audible.mean() * 10.0 ** (RELATIVE_GATE_LU / 10.0)]
    return _OFFSET_DB + db_from_power(float(kept.mean()))


def integrated_lufs(clip: Clip) -> Lufs | None:
    """Return the integrated loudness; None below 0.4 s and for silence (no block above -70 LUFS).

    Raises:
        ClipError: as `block_powers`.
    """
    return gated_lufs(block_powers(clip))


def set_loudness(powers: Sequence[Signal]) -> Lufs | None:
    """Return the loudness of a set of clips: their own blocks (none across clips) under one gating.

    Args:
        powers: `pooling_powers` of each clip, in any order.
    """
    # Sorted, so that the order of the clips cannot move the last digit.
    return gated_lufs(np.sort(np.concatenate(powers))) if len(powers) else None


def gain_to(target_lufs: Lufs, powers: Sequence[Signal]) -> Decibels | None:
    """Return the gain in dB that brings a set (or one clip alone) to a loudness; None for silence.

    It is found in rounds, because blocks may pass or fall below the absolute gate as the gain moves.
    """
    gain_db = 0.0
    for _ in range(_GAIN_ROUNDS):
        reached = set_loudness(amplified(powers, gain_db))
        if reached is None:
            return None
        gain_db += target_lufs - reached
    return gain_db


def amplified(powers: Sequence[Signal], gain_db: Decibels) -> list[Signal]:
    """Return the block powers of the same clips after a gain."""
    return [clip_powers * ratio_from_db(gain_db) ** 2 for clip_powers in powers]


def rms_dbfs(clip: Clip) -> Decibels | None:
    """Return the RMS level over frames and channels; None for silence.

    Raises:
        ClipError: a sample is not finite.
    """
    samples = _finite_samples(clip)
    return _level(math.sqrt(np.square(samples).mean())) if samples.size else None


def sample_peak_dbfs(clip: Clip) -> Decibels | None:
    """Return the highest absolute sample over all channels; None for silence.

    Raises:
        ClipError: a sample is not finite.
    """
    return _level(_peak(_finite_samples(clip)))


def true_peak_dbtp(clip: Clip) -> Decibels | None:
    """Return the highest true peak over all channels; None for silence.

    Oversampled by 4 or more, to at least 192 kHz (BS.1770-5 Annex 2), and never below the sample peak.

    Raises:
        ClipError: a sample is not finite.
    """
    import soxr

    samples = _finite_samples(clip)
    if samples.size == 0:
        return None
    # Even, so that the point halfway between two samples, where the most is hidden, is one of the points.
    factor = max(_TRUE_PEAK_FACTOR, 2 * math.ceil(_TRUE_PEAK_RATE_HZ / clip.rate / 2))
    return _level(max(_peak(samples), _peak(soxr.resample(samples, clip.rate, clip.rate * factor))))


def gain(clip: Clip, gain_db: Decibels) -> Clip:
    """Return the clip times one factor."""
    return clip.with_samples(clip.samples * np.float32(ratio_from_db(gain_db)))


def _k_weighted(clip: Clip) -> Signal:
    """Return the K-weighted samples at 48 kHz, shape (frames, channels)."""
    import soxr
    from scipy.signal import sosfilt

    samples = _finite_samples(clip)
    if clip.channels not in _WEIGHTS:
        raise ClipError(
            f"it has {clip.channels} channels; loudness is defined for 1 to {max(_WEIGHTS)}: mix it down first"
        )
    if clip.frames == 0:
        return samples
    # The resampler rounds its length; cut to whole frames, so that no clip under 0.4 s makes a block.
    at_48k = soxr.resample(samples, clip.rate, _RATE_HZ)[: clip.frames * _RATE_HZ // clip.rate]
    weighted: Signal = sosfilt(_k_weighting(), at_48k, axis=0)
    return weighted


@cache
def _k_weighting() -> Signal:
    """Return the two filters of BS.1770-5 Annex 1, Tables 1 and 2, as second-order sections (2, 6).

    The parameters are De Man's ("Evaluation of implementations of the EBU R128 loudness measurement",
    AES 145, 2018), which give the tables' coefficients at 48 kHz; pyloudnorm's default ones do not.
    """
    from pyloudnorm import IIRfilter

    shelf = IIRfilter(3.99984385397, 0.7071752369554193, 1681.9744509555319, _RATE_HZ, "high_shelf_DeMan")
    high_pass = IIRfilter(0.0, 0.5003270373253953, 38.13547087613982, _RATE_HZ, "high_pass_DeMan")
    return np.array([[*shelf.b, *shelf.a], [*high_pass.b, *high_pass.a]])


def _finite_samples(clip: Clip) -> Signal:
    """Return the samples as float64 (frames, channels), where every one of them is a number."""
    finite = np.isfinite(clip.samples)
    if not finite.all():
        frame = int(np.argmin(finite.all(axis=1)))
        raise ClipError(f"its frame {frame} is not a finite number; replace the file")
    return clip.samples.astype(np.float64)


def _power_from_lufs(lufs: Lufs) -> float:
    return float(10.0 ** ((lufs - _OFFSET_DB) / 10.0))


def _peak(samples: Signal) -> float:
    return float(np.abs(samples).max(initial=0.0))


def _level(ratio: float) -> Decibels | None:
    return db_from_ratio(ratio) if ratio > 0 else None
