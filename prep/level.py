"""Level: loudness, its range, active speech level, RMS and peaks of a clip, and gain.

Loudness and true peak follow ITU-R BS.1770-5, the loudness range EBU Tech 3342, the active speech level ITU-T P.56.
Loudness is always measured at 48 kHz, the rate of the standard's own filter coefficients, so that it
does not depend on the rate a clip happens to have. A level that does not exist is None, never minus
infinity: silence has no level, and below 0.4 s there is no integrated loudness (RMS is the fallback).

Powers are mean squares of samples of full scale 1.0, K-weighted, summed over channels by the
standard's weights. RMS is taken over frames and channels: a full-scale sine has -3.01 dBFS.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prep.errors import ClipError
from prep.units import db_from_power, db_from_ratio, ratio_from_db

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prep.clip import Clip, Signal
    from prep.units import Decibels, Lufs

BLOCK_SECONDS = 0.4
ABSOLUTE_GATE_LUFS = -70.0
RELATIVE_GATE_LU = -10.0

RANGE_SECONDS = 3.0
RANGE_GATE_LU = -20.0
RANGE_PERCENTILES = (10.0, 95.0)

# ITU-T P.56, 8.3; the thresholds are those of its 16-bit meter.
ENVELOPE_SECONDS = 0.03
HANGOVER_SECONDS = 0.2
MARGIN_DB = 15.9
_THRESHOLDS_DBOV = db_from_ratio(2.0) * np.arange(-15, 0)
LOWEST_ACTIVE_LEVEL_DBOV, HIGHEST_ACTIVE_LEVEL_DBOV = _THRESHOLDS_DBOV[[0, -1]] + MARGIN_DB

_RATE_HZ = 48_000
_HOP_FRAMES = 4_800  # a quarter of a block: 75 % overlap
_HOPS_PER_BLOCK = 4
_HOPS_PER_RANGE_WINDOW = 30
_HOPS_BETWEEN_RANGE_WINDOWS = 10  # one window a second: 2 s overlap
_OFFSET_DB = -0.691  # BS.1770-5 Annex 1, equation 2
_TRUE_PEAK_FACTOR = 4  # BS.1770-5 Annex 2
_TRUE_PEAK_RATE_HZ = 192_000
_FRAMES_AT_ONCE = 4_096
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
    return _window_powers(clip, _HOPS_PER_BLOCK)


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
    kept = _gated(powers, RELATIVE_GATE_LU)
    return _OFFSET_DB + db_from_power(float(kept.mean())) if len(kept) else None


def integrated_lufs(clip: Clip) -> Lufs | None:
    """Return the integrated loudness; None below 0.4 s and for silence (no block above -70 LUFS).

    Raises:
        ClipError: as `block_powers`.
    """
    return gated_lufs(block_powers(clip))


def loudness_range_lu(clip: Clip) -> Decibels | None:
    """Return the loudness range; None below 3 s and for silence (no 3 s window above -70 LUFS).

    EBU Tech 3342, 3.1, as libebur128 does it: from the 10th to the 95th percentile of the loudness of 3 s windows,
    one a second from the start of the clip, under an absolute gate of -70 LUFS and a relative one of -20 LU. A
    percentile is the loudness of the window nearest in rank (of two as near, the louder). Only whole windows count.

    The document (since 2016) asks for ten windows a second, and its MATLAB code for 1.5 s of silence after the file.
    Neither is done here, so that the figure is that of the meter in common use: with ten a second, 21 of 142 real
    clips came out more than 1 LU from libebur128, one by 2.4. The document's own cases hold either way.

    A short clip has few windows: below 4 s one, and so a range of 0; up to some 12 s the range depends on the length.
    One window a second is also coarse: a start some tenths of a second later can move the range by over 1 LU.

    Raises:
        ClipError: as `block_powers`.
    """
    windows = _window_powers(clip, _HOPS_PER_RANGE_WINDOW)[::_HOPS_BETWEEN_RANGE_WINDOWS]
    kept = np.sort(_gated(windows, RANGE_GATE_LU))
    if len(kept) == 0:
        return None
    # Half a rank goes up, as in libebur128; NumPy's nearest rank would go to the even one.
    low, high = (kept[int((len(kept) - 1) * (percent / 100.0) + 0.5)] for percent in RANGE_PERCENTILES)
    return db_from_power(float(high / low))


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


class ActiveLevel(NamedTuple):
    """Level of the speech in a clip, its pauses left out, and the share of the time that is speech.

    0 dBov is the RMS of a full-scale square wave; a full-scale sine has -3.01 dBov.
    """

    active_level_dbov: Decibels
    activity_percent: float


def active_level(clip: Clip) -> ActiveLevel | None:
    """Return the active speech level and the activity of the mean of the channels, its DC taken out.

    ITU-T P.56 (12/2011), method B. A frame is active where the envelope reached a threshold within the last
    200 ms; the threshold sought lies 15.9 dB under the RMS level of the active frames. It is interpolated in
    dB between two of 15 thresholds, a factor of two apart, from 2^-15 to 2^-1 of full scale. The figures
    therefore move a little with the gain: on 156 real clips by 0.02 dB and 0.3 points (median), 0.15 dB and 3
    points (95th percentile), and not at all over a whole factor of two.

    Returns:
        None below 0.2 s, which holds no pause that the meter could see; below -74.4 dBov and above 9.9 dBov,
        where the threshold sought lies outside the 15; and for a click, whose envelope stays under it.

    Raises:
        ClipError: a sample is not finite.
    """
    return clip.once(_active_level)


def _active_level(clip: Clip) -> ActiveLevel | None:
    _finite_samples(clip)
    if clip.seconds < HANGOVER_SECONDS:
        return None
    signal = clip.mono() - clip.mono().mean()
    energy = float(np.square(signal).sum())
    held = _held_envelope(signal, clip.rate)
    active = [np.count_nonzero(held >= ratio_from_db(threshold)) for threshold in _THRESHOLDS_DBOV]
    levels_dbov = np.array([db_from_power(energy / frames) if frames else math.inf for frames in active])
    margins_db = levels_dbov - _THRESHOLDS_DBOV
    above = int(np.argmax(margins_db <= MARGIN_DB))
    if above == 0:  # the first of all, or none
        return None
    around = [above, above - 1]
    level_dbov = float(np.interp(MARGIN_DB, margins_db[around], levels_dbov[around]))
    return ActiveLevel(level_dbov, 100.0 * energy / clip.frames / ratio_from_db(level_dbov) ** 2)


def why_no_active_level(clip: Clip) -> str:
    """Return in words why a clip has no active level, and what to do."""
    if clip.seconds < HANGOVER_SECONDS:
        return f"it lasts {clip.seconds:.3f} s, and an active level needs {HANGOVER_SECONDS:g} s; use a longer clip"
    return (
        f"with its channels mixed and its DC out it is silent, a click, or outside {LOWEST_ACTIVE_LEVEL_DBOV:.1f} "
        f"to {HIGHEST_ACTIVE_LEVEL_DBOV:.1f} dBov, so it has no active level; replace it"
    )


def rms_dbfs(clip: Clip) -> Decibels | None:
    """Return the RMS level over frames and channels; None for silence.

    Raises:
        ClipError: a sample is not finite.
    """
    samples = _finite_samples(clip)
    flat = samples.ravel()
    return _level(math.sqrt(float(flat @ flat) / flat.size)) if flat.size else None


def sample_peak_dbfs(clip: Clip) -> Decibels | None:
    """Return the highest absolute sample over all channels; None for silence.

    Raises:
        ClipError: a sample is not finite.
    """
    _finite_samples(clip)
    return _level(_peak(clip.samples))


def crest_db(clip: Clip) -> Decibels | None:
    """Return the crest factor over all channels: sample peak over RMS (IEC 60268-1), dB; None for silence.

    Raises:
        ClipError: a sample is not finite.
    """
    peak, rms = sample_peak_dbfs(clip), rms_dbfs(clip)
    return None if peak is None or rms is None else peak - rms


def true_peak_dbtp(clip: Clip) -> Decibels | None:
    """Return the highest true peak over all channels; None for silence.

    Oversampled by 4 or more, to at least 192 kHz (BS.1770-5 Annex 2), and never below the sample peak.

    Raises:
        ClipError: a sample is not finite.
    """
    return clip.once(_true_peak_dbtp)


def _true_peak_dbtp(clip: Clip) -> Decibels | None:
    samples = _finite_samples(clip)
    return _level(max(_peak(samples), _oversampled_peak(samples, clip.rate))) if samples.size else None


def frame_peaks(clip: Clip) -> Signal:
    """Return the highest true peak, over all channels, less than a sample away from each frame, (frames,).

    Full scale is 1. A peak between two frames counts for both. Oversampled as in `true_peak_dbtp`.

    Raises:
        ClipError: a sample is not finite.
    """
    samples = _finite_samples(clip)
    points = np.abs(_oversampled(samples, clip.rate)).max(axis=1).reshape(clip.frames, -1)
    after = np.maximum(points.max(axis=1), np.abs(samples).max(axis=1))
    before = np.concatenate([after[:1], after[:-1]])
    peaks: Signal = np.maximum(before, after)
    return peaks


def gain(clip: Clip, gain_db: Decibels) -> Clip:
    """Return the clip times one factor."""
    return clip.with_samples(clip.samples * np.float32(ratio_from_db(gain_db)))


def _window_powers(clip: Clip, hops_per_window: int) -> Signal:
    """Return the K-weighted power of each whole window of so many 100 ms, one every 100 ms, shape (windows,)."""
    power = clip.once(_hop_powers)
    if len(power) < hops_per_window:
        return np.empty(0)
    windows: Signal = np.lib.stride_tricks.sliding_window_view(power, hops_per_window).mean(axis=1)
    return windows


def _hop_powers(clip: Clip) -> Signal:
    """Return the K-weighted power of each whole 100 ms, summed over channels with their weights, shape (hops,)."""
    weighted = _k_weighted(clip)
    count = len(weighted) // _HOP_FRAMES
    hops = weighted[: count * _HOP_FRAMES].reshape(count, _HOP_FRAMES, clip.channels)
    powers: Signal = np.square(hops).mean(axis=1) @ _WEIGHTS[clip.channels]
    return powers


def _gated(powers: Signal, relative_gate_lu: Decibels) -> Signal:
    """Return the powers that pass the absolute gate, and then a gate relative to their mean."""
    audible = powers[powers > _power_from_lufs(ABSOLUTE_GATE_LUFS)]
    if len(audible) == 0:
        return audible
    kept: Signal = audible[audible > audible.mean() * 10.0 ** (relative_gate_lu / 10.0)]
    return kept


def _held_envelope(signal: Signal, rate: int) -> Signal:
    """Return the envelope of a signal (frames,) by P.56, 8.2, each value held for the hangover, shape (frames,)."""
    from scipy.ndimage import maximum_filter1d
    from scipy.signal import sosfilt

    pole = math.exp(-1.0 / (rate * ENVELOPE_SECONDS))
    smoothing = [1.0 - pole, 0.0, 0.0, 1.0, -pole, 0.0]
    envelope = sosfilt([smoothing, smoothing], np.abs(signal))
    # The hangover counts a frame as active where the envelope was over the threshold in the 200 ms before it.
    frames = math.ceil(HANGOVER_SECONDS * rate) + 1
    held: Signal = maximum_filter1d(envelope, frames, mode="constant", origin=(frames - 1) // 2)
    return held


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
    """Return the samples as float64 (frames, channels), read-only, where every one of them is a number."""
    return clip.once(_as_float64)


def _as_float64(clip: Clip) -> Signal:
    finite = np.isfinite(clip.samples)
    if not finite.all():
        frame = int(np.argmin(finite.all(axis=1)))
        raise ClipError(f"its frame {frame} is not a finite number; replace the file")
    samples = clip.mono()[:, np.newaxis] if clip.channels == 1 else clip.samples.astype(np.float64)
    samples.setflags(write=False)
    return samples


def _oversampled(samples: Signal, rate: int) -> Signal:
    """Return samples (frames, channels) at `factor` times their rate, (frames * factor, channels)."""
    import soxr

    oversampled: Signal = soxr.resample(samples, rate, rate * _oversampling(rate))
    return oversampled


def _oversampled_peak(samples: Signal, rate: int) -> float:
    """Return the peak of `_oversampled`, some frames at a time: memory for a whole clip costs more."""
    import soxr

    stream = soxr.ResampleStream(rate, rate * _oversampling(rate), samples.shape[1], dtype=samples.dtype)
    firsts = range(0, len(samples), _FRAMES_AT_ONCE)
    return max(
        _peak(stream.resample_chunk(samples[first : first + _FRAMES_AT_ONCE], last=first == firsts[-1]))
        for first in firsts
    )


def _oversampling(rate: int) -> int:
    """Return by how much a true peak is oversampled."""
    # Even, so that the point halfway between two samples, where the most is hidden, is one of the points.
    return max(_TRUE_PEAK_FACTOR, 2 * math.ceil(_TRUE_PEAK_RATE_HZ / rate / 2))


def _power_from_lufs(lufs: Lufs) -> float:
    return float(10.0 ** ((lufs - _OFFSET_DB) / 10.0))


def _peak(samples: NDArray[Any]) -> float:
    return float(max(samples.max(initial=0.0), -samples.min(initial=0.0)))


def _level(ratio: float) -> Decibels | None:
    return db_from_ratio(ratio) if ratio > 0 else None
