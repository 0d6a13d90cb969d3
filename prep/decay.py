"""Decay: how long a room rings, told blindly from the decays of the speech itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prep.errors import ClipError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from prep.clip import Clip, Signal
    from prep.units import Seconds

# Octave bands: speech has energy in each, and a hall rings in each.
BANDS_HZ = (500.0, 1000.0, 2000.0, 4000.0)
SKIRTS = 2**1.5  # of a band: 33 dB down on either side of its middle
WINDOW_SECONDS = 0.05
HOP_SECONDS = 0.01
BLOCKS = 4  # in a hop: the power is averaged over blocks first, which is as good and quicker

# A free decay: from 5 dB under its start (ISO 3382-2, 6), falling for at least 80 ms and 7 dB, on a straight
# line, from the louder part of the clip down to 3 dB over its floor. Noise carried by a decay makes single
# steps rise by about 1 dB.
START_DB = 5.0
LARGEST_RISE_DB = 1.5
SHORTEST_DECAY_SECONDS = 0.08
SMALLEST_DROP_DB = 7.0
FLOOR_PERCENTILE, FLOOR_MARGIN_DB = 5.0, 3.0
LOUD_PERCENTILE, LOUD_RANGE_DB = 95.0, 25.0
SMALLEST_R_SQUARED = 0.8

# The room bounds decays from below: the voice can fall more slowly than the room, and no faster.
QUANTILE = 0.3
FEWEST_DECAYS = 5
# Rounding of 16 bits has -98 dBFS; what is 120 dB below the loudest frame is nothing.
EMPTY_DB = 120.0


class Decay(NamedTuple):
    """One free decay: the reverberation time by its slope, and how long it lasts, both in seconds."""

    t60_seconds: float
    seconds: float


def t60_seconds(clip: Clip) -> Seconds:
    """Return the reverberation time of a clip: a low quantile of its free decays, weighed by how long they last.

    Raises:
        ClipError: the clip has fewer than 5 free decays, or samples that are not finite.

    Source: after Ratnam et al. (2003), J. Acoust. Soc. Am. 114, 2877, and Wen, Habets and Naylor (2008), ICASSP, 329.
    """
    clip.check_finite()
    decays = [decay for levels in clip.once(_band_levels) for decay in free_decays(levels)]
    if len(decays) < FEWEST_DECAYS:
        raise ClipError(
            f"it has {len(decays)} free decays, and a reverberation time needs {FEWEST_DECAYS}; use a longer clip, "
            "or leave reverb out of audit.cues"
        )
    decays.sort()
    lasted = np.cumsum([decay.seconds for decay in decays])
    return decays[int(np.searchsorted(lasted, QUANTILE * lasted[-1]))].t60_seconds


def _band_levels(clip: Clip) -> list[Signal]:
    """Return the level in dB of each octave band that the rate can hold, smoothed over 50 ms, one value every 10 ms.

    The bands of all channels are added by power. A clip shorter than a window has none.
    """
    from scipy.fft import next_fast_len, rfft

    window = np.hanning(round(WINDOW_SECONDS / HOP_SECONDS * BLOCKS) + 2)[1:-1]
    block_seconds = HOP_SECONDS / BLOCKS
    blocks = int(clip.seconds / block_seconds)
    if blocks <= len(window):
        return []
    # One spectrum for all bands; the zeros at its end keep what rings there from the start of the clip.
    size = next_fast_len(clip.frames + round(WINDOW_SECONDS * clip.rate), real=True)
    spectrum = rfft(clip.samples.T, size)
    found = []
    for centre in (band for band in BANDS_HZ if band * 2**0.5 < 0.495 * clip.rate):
        power, rate = _octave_power(spectrum, clip.rate / size, centre)
        starts = np.rint(np.arange(blocks + 1) * block_seconds * rate).astype(np.intp)
        mean = np.add.reduceat(power[: starts[-1]], starts[:-1]) / np.diff(starts)
        smooth = np.convolve(mean, window, "valid")[::BLOCKS]
        loudest = smooth.max()
        if loudest > 0:
            found.append(10 * np.log10(np.maximum(smooth, loudest * 10 ** (-EMPTY_DB / 10))))
    return found


def _octave_power(spectrum: NDArray[np.complex64], bin_hz: float, centre_hz: float) -> tuple[Signal, float]:
    """Return the power of an octave band over time, and its rate in Hz: the square of the analytic signal.

    The band has the gain of a third-order Butterworth filter and no phase.

    Args:
        spectrum: (channels, bins) from 0 Hz.
        bin_hz: the width of a bin.
        centre_hz: middle of the octave.
    """
    from scipy.fft import ifft, next_fast_len

    first, last = (int(centre_hz * reach / bin_hz) for reach in (1 / SKIRTS, SKIRTS))
    band = spectrum[:, first:last]
    ratio = np.arange(first, first + band.shape[1], dtype=np.float32) * np.float32(bin_hz / centre_hz)
    detuning = 2 * np.square(ratio - 1 / ratio)
    frames = next_fast_len(band.shape[1])
    analytic = ifft(band / np.sqrt(1 + detuning * detuning * detuning), frames)
    power: Signal = (np.square(analytic.real) + np.square(analytic.imag)).sum(axis=0, dtype=np.float64)
    return power, frames * bin_hz


def free_decays(levels_db: Signal) -> Iterator[Decay]:
    """Yield the free decays of one band.

    Args:
        levels_db: its level every 10 ms, shape (frames,).
    """
    floor_db, loud_db = np.percentile(levels_db, (FLOOR_PERCENTILE, LOUD_PERCENTILE))
    floor_db, loud_db = floor_db + FLOOR_MARGIN_DB, loud_db - LOUD_RANGE_DB
    falling = (np.diff(levels_db) < LARGEST_RISE_DB) & (levels_db[1:] > floor_db)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], falling, [False]]).astype(int))).reshape(-1, 2)
    lasting = (edges[:, 1] + 1 - edges[:, 0]) * HOP_SECONDS >= SHORTEST_DECAY_SECONDS
    for first, last in edges[lasting & (levels_db[edges[:, 0]] > loud_db)]:
        whole = levels_db[first : last + 1]
        decay = whole[np.argmax(whole <= whole[0] - START_DB) :]
        seconds = len(decay) * HOP_SECONDS
        if seconds < SHORTEST_DECAY_SECONDS or decay[0] - decay[-1] < SMALLEST_DROP_DB:
            continue
        # Least squares by hand, for there are hundreds of decays in a clip.
        frames = len(decay)
        fall = decay - decay.sum() / frames
        time = HOP_SECONDS * (np.arange(frames) - (frames - 1) / 2)
        both, of_time, of_fall = float(time @ fall), float(time @ time), float(fall @ fall)
        if both < 0 and both * both >= SMALLEST_R_SQUARED * of_time * of_fall:
            yield Decay(-60 * of_time / both, seconds)
