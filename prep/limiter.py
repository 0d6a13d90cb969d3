"""Limiter: hold true peaks under a ceiling by a short, smooth dip of the gain, with speech in mind.

The gain is designed for the whole clip at once, so it knows each peak before it comes and needs no
delay. Seen in dB of reduction: what each peak needs is held for `HOLD_SECONDS`, then let go
exponentially, then smoothed by a raised cosine. The maximum is taken over at least as much as the
smoothing spreads, so the smoothed reduction is nowhere less than a peak needs (the construction of
Hämäläinen, "Smoothing of the control signal without clipped output in digital peak limiters", DAFx 2002).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prep.level import frame_peaks, true_peak_dbtp

if TYPE_CHECKING:
    from prep.clip import Clip, Signal
    from prep.units import Decibels

ATTACK_SECONDS = 0.005  # the gain starts to fall this long before a peak
HOLD_SECONDS = 0.012  # a period of a low voice (83 Hz), so that the gain does not follow single periods
RELEASE_SECONDS = 0.08  # time constant of the reduction in dB
REDUCED_DB = 0.5  # a clip counts as reduced where it is by more; less is hard to hear

_TOLERANCE_DB = 0.005  # how far the peak of the limited clip may pass the ceiling
_ROUNDS = 8  # one is enough for speech, two for noise that fills the band
_TINY = 1e-12  # full scale; keeps the logarithm of silence finite
_NOTHING_DB = 1e-3  # the release ends here, and the samples are again those that came


@dataclass(frozen=True, slots=True)
class Limited:
    """A limited clip, and how much was taken from it.

    Attributes:
        clip: the clip, of the same length and at the same time.
        largest_reduction_db: the largest reduction of any frame, dB; 0 where nothing was to be done.
        reduced_share: share of the frames that are reduced by more than `REDUCED_DB`, 0 to 1.
    """

    clip: Clip
    largest_reduction_db: Decibels = 0.0
    reduced_share: float = 0.0


def limit(clip: Clip, ceiling_dbtp: Decibels) -> Limited:
    """Return the clip with its true peaks (ITU-R BS.1770-5 Annex 2) at or under a ceiling in dBTP.

    All channels get the same gain. Where nothing is over the ceiling, the samples are those that came.

    Raises:
        ClipError: a sample is not finite.
    """
    # Silence around the clip lets the peaks of its first and last frames be seen whole.
    margin = _frames(ATTACK_SECONDS, clip)
    around = clip.with_samples(np.pad(clip.samples, ((margin, margin), (0, 0))))
    peaks_db = 20.0 * np.log10(np.maximum(frame_peaks(around), _TINY))
    if peaks_db.max() <= ceiling_dbtp and _passed_db(clip, ceiling_dbtp) <= 0:
        return Limited(clip)
    aim_dbtp = ceiling_dbtp
    for _ in range(_ROUNDS):
        reduction_db = _reduction_db(np.maximum(peaks_db - aim_dbtp, 0.0), clip)[margin:-margin]
        gain = 10.0 ** (-reduction_db / 20.0)
        limited = clip.with_samples(clip.samples * gain[:, np.newaxis])
        # The gain is designed at the frames; between them the product may still pass by a little.
        passed_db = _passed_db(limited, ceiling_dbtp)
        if passed_db <= _TOLERANCE_DB:
            break
        aim_dbtp -= passed_db
    return Limited(limited, float(reduction_db.max()), float(np.mean(reduction_db > REDUCED_DB)))


def _passed_db(clip: Clip, ceiling_dbtp: Decibels) -> Decibels:
    """Return by how much the true peak of a clip passes a ceiling, dB; minus infinity for silence."""
    peak_dbtp = true_peak_dbtp(clip)
    return -math.inf if peak_dbtp is None else peak_dbtp - ceiling_dbtp


def _reduction_db(needed_db: Signal, clip: Clip) -> Signal:
    """Return a smooth reduction in dB (frames,) that is nowhere less than the one needed."""
    from scipy.ndimage import maximum_filter1d
    from scipy.signal import oaconvolve

    reach = _frames(ATTACK_SECONDS / 2, clip)
    hold = _frames(HOLD_SECONDS, clip)
    width = 2 * reach + 1
    # From `reach` before a peak to `reach + hold` after it.
    held = maximum_filter1d(needed_db, width + hold, origin=hold // 2, mode="constant")
    window = np.hanning(width + 2)[1:-1]
    smooth: Signal = oaconvolve(_released(held, clip), window / window.sum(), mode="same")
    return smooth


def _released(held_db: Signal, clip: Clip) -> Signal:
    """Return the reduction with an exponential fall after each maximum, in dB (frames,)."""
    fall = np.arange(len(held_db)) / (RELEASE_SECONDS * clip.rate)
    with np.errstate(divide="ignore"):
        logarithm = np.log(held_db)
    released: Signal = np.exp(np.maximum.accumulate(logarithm + fall) - fall)
    return np.where(released < _NOTHING_DB, held_db, np.maximum(released, held_db))


def _frames(seconds: float, clip: Clip) -> int:
    return max(1, round(seconds * clip.rate))
