"""Where taps and clicks are: bumps below 140 Hz, clicks in pauses, clicks in speech."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prep.units import ratio_from_db

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prep.clip import Signal
    from prep.units import Hertz, Seconds

    Span = tuple[int, int]

LOW_PASS_HZ = 140.0  # fourth order, twice: parts bumps from all of a high voice and most of a low one
FRAME_SECONDS = 0.02
# Frames this far below the loud ones are no speech; few peaks of the others lie above this percentile.
ACTIVE_RANGE_DB = 25.0
REFERENCE_PERCENT = 95.0

# A tap stands over what is before and after it. The low partials of a voice go on; below the lowest voice a tap may
# last longer, and only rumble goes on.
BUMP_BLOCK_SECONDS = 0.005
BUMP_BANDS = (  # Hz, and from where to where before and after the highest point is looked, s
    (40.0, (0.3, 1.0), (0.3, 1.0)),
    (LOW_PASS_HZ, (0.04, 0.15), (0.15, 0.3)),
)
AROUND_PERCENT = 25.0  # of the blocks on one side: a second tap may lie there
BUMP_CONTRAST_DB = 6.0
BETWEEN_BUMPS_SECONDS = 0.4

CLICK_BLOCK_SECONDS = 0.001
BEFORE_CLICK_SECONDS = (0.005, 0.025)
AFTER_CLICK_SECONDS = (0.018, 0.038)
CLICK_CONTRAST_DB = 15.0
CLICK_ATTACK_SECONDS = 0.006
LONGEST_CLICK_SECONDS = 0.04
BETWEEN_CLICKS_SECONDS = 0.02
CLICK_RUN_SECONDS = 0.0005
FLOOR_MARGIN_DB = 9.0

# In speech a click is what no prediction foretells; the edges of glottal pulses come again within 12 ms.
PREDICTOR_SECONDS = 0.001
USUAL_PERCENT = 99.0
ISOLATION_SECONDS = (0.003, 0.012)
ISOLATION_DB = 14.0
CLICK_EDGE = 1.5  # over the largest error around
LEAST_LEVEL = 1e-4  # of a click's peak
LONGEST_SPEECH_CLICK_SECONDS = 0.006


def low_band(samples: Signal, rate: int, highest_hz: Hertz = LOW_PASS_HZ) -> Signal:
    """Return what lies below a frequency (140 Hz), without delay and without DC, (frames, channels)."""
    from scipy.signal import butter, sosfiltfilt

    sections = butter(4, highest_hz, "lowpass", fs=rate, output="sos")
    padding = min(round(0.05 * rate), len(samples) - 1)
    low: Signal = sosfiltfilt(sections, samples - samples.mean(axis=0), axis=0, padlen=padding)
    return low


def high_band(samples: Signal, rate: int) -> Signal:
    """Return what lies above 140 Hz, (frames, channels)."""
    high: Signal = samples - samples.mean(axis=0) - low_band(samples, rate)
    return high


def _peaks(magnitude: Signal, size: int) -> Signal:
    """Return the highest value of each block."""
    peaks: Signal = np.maximum.reduceat(magnitude, np.arange(0, len(magnitude), size))
    return peaks


def speech_peak(high: Signal, rate: int) -> float:
    """Return the level that few peaks of speech pass: a percentile over the louder frames, above 140 Hz."""
    size = round(FRAME_SECONDS * rate)
    starts = np.arange(0, len(high), size)
    power = (np.add.reduceat(np.square(high), starts) / np.diff(starts, append=len(high))[:, np.newaxis]).max(axis=1)
    # The loudest frame may hold a click.
    loud = np.percentile(power, REFERENCE_PERCENT, method="lower")
    active = power >= loud * 10 ** (-ACTIVE_RANGE_DB / 10)
    return float(np.percentile(_peaks(np.abs(high).max(axis=1), size)[active], REFERENCE_PERCENT))


def _falling(peaks: Signal, lowest: float) -> Iterator[int]:
    """Give the blocks that reach a level, the highest first."""
    for block in np.argsort(-peaks, kind="stable"):
        if peaks[block] < lowest or peaks[block] == 0:
            return
        yield int(block)


def _sides(
    peaks: Signal, block: int, seconds: Seconds, before: tuple[Seconds, Seconds], after: tuple[Seconds, Seconds]
) -> list[Signal]:
    """Return the blocks before and after one, (nearest, farthest) from it, where the clip has any."""
    near, far = (round(edge / seconds) for edge in before)
    left = peaks[max(block - far, 0) : max(block - near, 0)]
    near, far = (round(edge / seconds) for edge in after)
    return [side for side in (left, peaks[block + near : block + far]) if len(side)]


def _highest_in(magnitude: Signal, block: int, size: int) -> int:
    return block * size + int(np.argmax(magnitude[block * size : (block + 1) * size]))


def bumps(samples: Signal, rate: int, lowest: float) -> list[int]:
    """Return where the bumps that reach `lowest` are highest, in frames, in order."""
    size = round(BUMP_BLOCK_SECONDS * rate)
    places: list[int] = []
    for highest_hz, before, after in BUMP_BANDS:
        magnitude = np.abs(low_band(samples, rate, highest_hz)).max(axis=1)
        peaks = _peaks(magnitude, size)
        for block in _falling(peaks, lowest):
            if any(abs(block * size - place) < BETWEEN_BUMPS_SECONDS * rate for place in places):
                continue
            sides = _sides(peaks, block, size / rate, before, after)
            around = max((float(np.percentile(side, AROUND_PERCENT)) for side in sides), default=0.0)
            if peaks[block] >= around * ratio_from_db(BUMP_CONTRAST_DB):
                places.append(_highest_in(magnitude, block, size))
    return sorted(places)


def clicks_in_pauses(magnitude: Signal, rate: int, lowest: float, ceiling: float) -> list[Span]:
    """Return the spans of clicks that reach `lowest`, with less than `ceiling` before and after them, in order."""
    size = max(round(CLICK_BLOCK_SECONDS * rate), 1)
    peaks = _peaks(magnitude, size)
    found: list[Span] = []
    for block in _falling(peaks, lowest):
        if any(first - BETWEEN_CLICKS_SECONDS * rate <= block * size < last for first, last in found):
            continue
        sides = _sides(peaks, block, size / rate, BEFORE_CLICK_SECONDS, AFTER_CLICK_SECONDS)
        if not sides:
            continue
        if max(side.max() for side in sides) > min(peaks[block] * ratio_from_db(-CLICK_CONTRAST_DB), ceiling):
            continue
        floor = max(*(float(np.median(side)) for side in sides), LEAST_LEVEL * float(peaks[block]))
        place = _highest_in(magnitude, block, size)
        span = _extent(magnitude, place, floor * ratio_from_db(FLOOR_MARGIN_DB), rate)
        if not any(first < span[1] and span[0] < last for first, last in found):
            found.append(span)
    return sorted(found)


def _extent(magnitude: Signal, place: int, quiet: float, rate: int) -> Span:
    """Return how far a click reaches: to where 0.5 ms on end are quiet."""
    run = max(round(CLICK_RUN_SECONDS * rate), 2)
    start = max(place - round(CLICK_ATTACK_SECONDS * rate), 0)
    piece = magnitude[start : place + round(LONGEST_CLICK_SECONDS * rate)]
    loud = np.union1d(np.flatnonzero(piece > quiet) + start, [place])
    at = int(np.searchsorted(loud, place))
    parted = np.flatnonzero(np.diff(loud) > run)
    before, after = parted[parted < at], parted[parted >= at]
    first = loud[before[-1] + 1] if len(before) else loud[0]
    last = loud[after[0]] if len(after) else loud[-1]
    return max(int(first) - 2, 0), min(int(last) + 3, len(magnitude))


def clicks_in_speech(high: Signal, rate: int, over: float) -> list[Span]:
    """Return the spans in which linear prediction fails by far more than at the edges of speech, in order."""
    if not high.any():
        return []
    error = _prediction_error(high, rate)
    size = max(round(CLICK_BLOCK_SECONDS * rate), 1)
    peaks = _peaks(error, size)
    most = round(LONGEST_SPEECH_CLICK_SECONDS * rate)
    near, far = ISOLATION_SECONDS
    found: list[Span] = []
    for block in _falling(peaks, over * float(np.percentile(peaks, USUAL_PERCENT))):
        if any(first - far * rate <= block * size < last + far * rate for first, last in found):
            continue
        sides = _sides(peaks, block, size / rate, (near - CLICK_BLOCK_SECONDS, far), (2 * near, near + far))
        around = max((float(side.max()) for side in sides), default=0.0)
        if around > peaks[block] * ratio_from_db(-ISOLATION_DB):
            continue
        place = _highest_in(error, block, size)
        start = max(place - most, 0)
        above = np.flatnonzero(error[start : place + most] > CLICK_EDGE * around) + start
        found.append((max(int(above[0]) - 2, 1), min(int(above[-1]) + 5, len(high) - 1)))
    return sorted(found)


def _prediction_error(high: Signal, rate: int) -> Signal:
    """Return the magnitude of the error of one linear predictor for the whole clip, the largest of all channels."""
    from scipy.linalg import solve_toeplitz
    from scipy.signal import lfilter

    order = round(PREDICTOR_SECONDS * rate)
    spectrum = np.square(np.abs(np.fft.rfft(high, 2 * len(high), axis=0))).sum(axis=1)
    correlation = np.fft.irfft(spectrum)[: order + 1]
    correlation[0] *= 1 + 1e-5
    predictor = solve_toeplitz(correlation[:-1], correlation[1:])
    error: Signal = np.abs(lfilter(np.concatenate([[1.0], -predictor]), [1.0], high, axis=0)).max(axis=1)
    return error
