"""The long-term spectrum of a clip, its tilt in dB/octave, and the linear-phase filters that change it.

The tilt is defined once, here: the clip as mono without its DC, at its own rate; Hann frames of 64 ms with
half overlap and no padding; only frames whose power is within 30 dB of the clip's own 95th percentile;
mean power density over those frames; third-octave levels inside a band; an unweighted straight line
through dB over log2 frequency. White noise has 0 dB/octave.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from prep.clip import NOT_FINITE
from prep.errors import ClipError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from prep.clip import Clip, Signal
    from prep.units import DbPerOctave, Hertz

    Spectrum = tuple[Signal, Signal]

TILT_BAND_HZ = (200.0, 7000.0)
FRAME_SECONDS = 0.064
ACTIVE_RANGE_DB = 30.0
ACTIVE_PERCENTILE = 95.0

# Below the rounding noise of 24 bits (-147 dBFS) there is nothing that a file could have held.
SILENCE_POWER = 1e-17
SILENT = "is silent, or nearly so: no spectrum; remove it from the clip table or replace it"

# The rounding noise of 16 bits lies about 100 dB below the strongest third octave of speech, that of 24 bits
# and the stopband of a good resampler about 140 dB below it: between the two a band is empty.
EMPTY_BAND_DB = -120.0

# Below 20 Hz a third octave is a fraction of one bin of a 64 ms frame.
LOWEST_BAND_HZ = 20.0
FEWEST_BANDS = 3

# Edges of the third octaves at 100 Hz and 16 kHz, and at 200 Hz and 3150 Hz, a little wider.
SHAPE_BAND_HZ = (88.0, 18000.0)
SHAPE_REFERENCE_HZ = (175.0, 3570.0)
SHAPE_FLOOR_DB = -80.0

# Speech at 65 dB SPL has some 5 dB SPL left 60 dB below its strongest band: about the threshold of hearing.
EDGE_RANGE_DB = 60.0
EDGE_PERCENTILE = 95.0
SHORT_FRAME_SECONDS = 0.032
EDGE_STEP_HZ = 125.0

TILT_PIVOT_HZ = 1000.0
TILT_CLAMP_HZ = (50.0, 16000.0)
FIR_SECONDS = 0.128
DECIMATION_REACH = 10

_FRAMES_AT_ONCE = 32  # what fits into a processor's cache is quickest


def ltas(signal: Signal, rate: int) -> Spectrum:
    """Return the long-term average spectrum of a signal over its active frames.

    Args:
        signal: mono, shape (frames,), float64.
        rate: sampling rate in Hz.

    Returns:
        Frequencies in Hz and one-sided power density in 1/Hz (full scale 1.0 squared), each of shape
        (round(0.064 * rate) // 2 + 1,).

    Raises:
        ClipError: the signal is shorter than one frame, silent, or not finite.
    """
    frame = round(FRAME_SECONDS * rate)
    window = np.hanning(frame + 1)[:-1]
    total, count = np.zeros(frame // 2 + 1), 0
    for powers in _active_spectra(signal, rate, window):
        total += np.sum(powers, axis=0, dtype=np.float64)
        count += len(powers)
    density: Signal = total / (count * rate * np.sum(window**2))
    # One-sided: every bin but DC and Nyquist stands for two.
    density[1 : (frame + 1) // 2] *= 2
    frequencies: Signal = np.fft.rfftfreq(frame, 1 / rate).astype(np.float64)
    return frequencies, density


def clip_ltas(clip: Clip) -> Spectrum:
    """Return `ltas` of the mean of a clip's channels, computed once a clip.

    Raises:
        ClipError: as `ltas`.
    """
    return clip.once(_clip_ltas)


def _clip_ltas(clip: Clip) -> Spectrum:
    return ltas(clip.mono(), clip.rate)


def _active_spectra(signal: Signal, rate: int, window: Signal) -> Iterator[Signal]:
    """Yield the power of each bin in the active frames of a signal, DC out, some frames at a time, (frames, bins).

    In single precision, which takes half the time: a bin's rounding lies some 155 dB below the strongest.

    Raises:
        ClipError: the signal is shorter than one frame, silent, or not finite.
    """
    from scipy.fft import rfft

    _check_length(signal, rate, len(window))
    if not np.isfinite(signal).all():
        raise ClipError(NOT_FINITE)
    signal, window = (signal - signal.mean()).astype(np.float32), window.astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(signal, len(window))[:: len(window) // 2]
    power = np.einsum("fs,fs,s->f", frames, frames, np.square(window)) / len(window)
    loud = float(np.percentile(power, ACTIVE_PERCENTILE))
    if loud < SILENCE_POWER:
        raise ClipError(SILENT)
    active = np.flatnonzero(power >= loud * 10 ** (-ACTIVE_RANGE_DB / 10))
    for first in range(0, len(active), _FRAMES_AT_ONCE):
        bins = rfft(frames[active[first : first + _FRAMES_AT_ONCE]] * window, axis=1)
        yield np.square(bins.real) + np.square(bins.imag)


def _check_length(signal: Signal, rate: int, frame: int) -> None:
    if len(signal) < frame or frame < 2:
        raise ClipError(f"too short for a spectrum: {len(signal) / rate:.3f} s; it takes at least {frame / rate:.3f} s")


def third_octave_centres(band_hz: tuple[Hertz, Hertz] = TILT_BAND_HZ) -> Signal:
    """Return the centres in Hz, 1000 * 2^(k/3), of the third octaves that lie wholly inside a band."""
    low, high = band_hz
    centres = TILT_PIVOT_HZ * 2.0 ** (np.arange(-30, 31) / 3)
    half = 2 ** (1 / 6)
    return centres[(centres / half >= low) & (centres * half <= high)]


def checked_tilt_band(band_hz: tuple[Hertz, Hertz]) -> tuple[Hertz, Hertz]:
    """Return the band if a tilt can be measured in it.

    Raises:
        ValueError: it starts below 20 Hz or holds fewer than three third octaves.
    """
    if band_hz[0] < LOWEST_BAND_HZ or len(third_octave_centres(band_hz)) < FEWEST_BANDS:
        raise ValueError(
            f"a tilt needs a band above {LOWEST_BAND_HZ:.0f} Hz that holds {FEWEST_BANDS} third octaves, "
            f"such as {list(TILT_BAND_HZ)}"
        )
    return band_hz


def third_octave_levels(
    frequencies_hz: Signal, density: Signal, band_hz: tuple[Hertz, Hertz] = TILT_BAND_HZ
) -> Spectrum:
    """Return the third-octave levels of a spectrum, for the bands whose edges lie inside a band.

    A level is the mean density of the bins, each weighted by the part of its width inside the third octave.

    Args:
        frequencies_hz: evenly spaced bin centres in Hz, as `ltas` returns them.
        density: power density of each bin, same shape.
        band_hz: lower and upper limit in Hz; the upper one must lie below the last bin's lower edge.

    Returns:
        Centres in Hz and levels in dB, minus infinity where there is nothing.
    """
    centres = third_octave_centres(band_hz)
    half_bin = frequencies_hz[1] / 2
    low = np.maximum(frequencies_hz - half_bin, (centres * 2 ** (-1 / 6))[:, np.newaxis])
    high = np.minimum(frequencies_hz + half_bin, (centres * 2 ** (1 / 6))[:, np.newaxis])
    overlap = np.clip(high - low, 0, None)
    mean = overlap @ density / overlap.sum(axis=1)
    with np.errstate(divide="ignore"):
        return centres, 10 * np.log10(mean)


def tilt_db_per_octave(clip: Clip, band_hz: tuple[Hertz, Hertz] = TILT_BAND_HZ) -> DbPerOctave:
    """Return the spectral tilt of a clip: the slope of its third-octave levels over log2 frequency.

    Args:
        clip: any number of channels; their mean is measured.
        band_hz: lower and upper limit in Hz of the third octaves used.

    Raises:
        ClipError: its rate is too low for the band, part of the band is empty, or it is too short or silent.
    """
    check_tilt_rate(clip.rate, band_hz)
    return slope_db_per_octave(*clip_ltas(clip), band_hz)


def slope_db_per_octave(frequencies_hz: Signal, density: Signal, band_hz: tuple[Hertz, Hertz]) -> DbPerOctave:
    """Return the slope of a spectrum's third-octave levels over log2 frequency; the arguments as there.

    Raises:
        ClipError: part of the band is empty.
    """
    centres, levels = third_octave_levels(frequencies_hz, density, band_hz)
    empty = levels < levels.max() + EMPTY_BAND_DB
    if empty.any():
        edge = centres[np.argmax(empty)] * 2 ** (-1 / 6)
        raise ClipError(
            f"its spectrum is empty from {edge:.0f} Hz ({-EMPTY_BAND_DB:.0f} dB below its strongest part), "
            f"so it has no tilt in {band_hz[0]:g}-{band_hz[1]:g} Hz; it was probably upsampled: set tilt_band_hz "
            "to a band that every source of the study fills, or replace the clip"
        )
    return float(np.polyfit(np.log2(centres), levels, 1)[0])


def highest_tilt_band_hz(rate: int) -> Hertz:
    """Return the highest upper limit in Hz, in tens, of a tilt band that a rate can hold."""
    return (rate / 2 - rate / max(round(FRAME_SECONDS * rate), 1) / 2) // 10 * 10


def check_tilt_rate(rate: int, band_hz: tuple[Hertz, Hertz]) -> None:
    """Refuse a rate whose spectrum ends inside the band. The last bin is half a bin wide: it is not used.

    Raises:
        ClipError: it does.
    """
    low, high = band_hz
    widest = highest_tilt_band_hz(rate)
    if high > widest:
        enough = len(third_octave_centres((low, widest))) >= FEWEST_BANDS
        todo = f"set tilt_band_hz: [{low:g}, {widest:g}] for the whole study" if enough else "leave the clip out"
        raise ClipError(f"its rate of {rate} Hz is too low for a tilt in {low:g}-{high:g} Hz; {todo}")


def shape_db(clip: Clip) -> Spectrum:
    """Return the third-octave levels of a clip, its own level taken out, 100 Hz to 16 kHz.

    The levels are those of `ltas`, relative to their mean over the bands of 200 Hz to 3150 Hz, which every rate
    of speech holds, and at least -80 dB: so low reads a band that a rate, a codec or an earlier rate left empty.
    Beyond half the rate there is nothing, so that an upsampled copy has the levels of its original.

    Returns:
        Centres in Hz, 1000 * 2^(k/3), and levels in dB, each of shape (23,).

    Raises:
        ClipError: as `ltas`, or its rate is too low for the band at 3150 Hz.
    """
    frequencies, density = clip_ltas(clip)
    if frequencies[-1] < SHAPE_REFERENCE_HZ[1]:
        raise ClipError(
            f"its rate of {clip.rate} Hz is too low for third octaves up to {SHAPE_REFERENCE_HZ[1]:.0f} Hz; "
            "leave the clip out"
        )
    bin_hz = frequencies[1]
    beyond = np.arange(frequencies[-1] + bin_hz, SHAPE_BAND_HZ[1] + bin_hz, bin_hz)
    centres, levels = third_octave_levels(
        np.concatenate([frequencies, beyond]), np.concatenate([density, np.zeros(len(beyond))]), SHAPE_BAND_HZ
    )
    _, reference = third_octave_levels(frequencies, density, SHAPE_REFERENCE_HZ)
    relative: Signal = np.maximum(levels - np.maximum(reference, levels.max() + EMPTY_BAND_DB).mean(), SHAPE_FLOOR_DB)
    return centres, relative


def bandwidth_hz(clip: Clip) -> Hertz:
    """Return the effective upper edge of a clip: the highest frequency that its speech reaches.

    In each band of 125 Hz, the level that a twentieth of the active frames exceeds (Hann frames of 32 ms: the
    hiss of an "s" fills few of them); the edge is the top of the highest band within 60 dB of the strongest.

    Raises:
        ClipError: it is shorter than one frame, silent, or not finite.
    """
    power, bin_hz = clip.once(short_time_power)
    energy = power.sum(axis=1)
    active = energy >= np.percentile(energy, ACTIVE_PERCENTILE) * 10 ** (-ACTIVE_RANGE_DB / 10)
    bins_each = max(round(EDGE_STEP_HZ / bin_hz), 1)
    firsts = np.arange(0, power.shape[1], bins_each)
    often = np.percentile(np.add.reduceat(power, firsts, axis=1)[active], EDGE_PERCENTILE, axis=0)
    highest = int(np.flatnonzero(often >= often.max() * 10 ** (-EDGE_RANGE_DB / 10))[-1])
    return min(float(firsts[highest] + bins_each - 0.5) * bin_hz, clip.rate / 2)


def short_time_power(clip: Clip) -> tuple[NDArray[np.float32], Hertz]:
    """Return the power of each bin in each frame, DC out: Hann frames of about 32 ms with half overlap, no padding.

    In single precision: a bin's rounding lies some 155 dB below the strongest of its frame. Full scale 1.0 squared
    is a power of 1, all bins of a frame added.

    Returns:
        (frames, bins) from 0 Hz, and the width of a bin in Hz.

    Raises:
        ClipError: the clip is shorter than one frame, silent, or not finite.
    """
    from scipy.fft import next_fast_len, rfft

    frame = next_fast_len(max(round(SHORT_FRAME_SECONDS * clip.rate), 2), real=True)
    signal, window = clip.mono(), np.hanning(frame + 1)[:-1]
    _check_length(signal, clip.rate, frame)
    clip.check_finite()
    signal = (signal - signal.mean()).astype(np.float32)
    scaled = (window * np.sqrt(2 / (frame * np.sum(np.square(window))))).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(signal, frame)[:: frame // 2]
    power = np.empty((len(frames), frame // 2 + 1), np.float32)
    for first in range(0, len(frames), _FRAMES_AT_ONCE):
        bins = rfft(frames[first : first + _FRAMES_AT_ONCE] * scaled, axis=1)
        np.square(bins.real, out=power[first : first + _FRAMES_AT_ONCE])
        power[first : first + _FRAMES_AT_ONCE] += np.square(bins.imag)
    if float(np.percentile(power.sum(axis=1), ACTIVE_PERCENTILE)) < SILENCE_POWER:
        raise ClipError(SILENT)
    return power, clip.rate / frame


def fir_from_gain(frequencies_hz: Signal, gain_db: Signal, rate: int, taps: int) -> Signal:
    """Return a linear-phase FIR filter with a given gain: straight lines in dB over log2 frequency.

    Frequency sampling on a grid eight times as fine as the filter resolves, then a Hann window
    (Oppenheim & Schafer, Discrete-Time Signal Processing, 7.5).

    Args:
        frequencies_hz: rising, above zero, shape (n,); beyond the first and the last the gain is constant.
        gain_db: gain at each, shape (n,).
        rate: sampling rate in Hz.
        taps: length of the filter, odd, so that its delay is a whole number of frames.

    Returns:
        The filter, shape (taps,), symmetric about its middle.

    Raises:
        ValueError: the number of taps is even.
    """
    if taps % 2 == 0:
        raise ValueError(f"{taps} taps have no middle; use an odd number")
    size = 8 * (taps + 1)
    grid = np.fft.rfftfreq(size, 1 / rate)
    grid[0] = grid[1]  # log2 of zero; DC takes the gain of its neighbour
    gain = np.interp(np.log2(grid), np.log2(frequencies_hz), gain_db)
    response = np.fft.irfft(10 ** (gain / 20), size)
    middle = taps // 2
    filter_taps: Signal = np.roll(response, middle)[:taps] * np.hanning(taps + 2)[1:-1]
    return filter_taps


def tilt_fir(slope_db_per_octave: DbPerOctave, rate: int) -> Signal:
    """Return a linear-phase FIR filter whose gain is one straight line in dB/octave, 0 dB at 1 kHz.

    The line ends at 50 Hz and 16 kHz (or half the rate, if lower); beyond, the gain is constant.

    Args:
        slope_db_per_octave: slope of the gain; positive makes the sound brighter.
        rate: sampling rate in Hz; the filter is 128 ms long at any rate.

    Returns:
        The filter, an odd number of taps, symmetric about its middle.
    """
    ends = np.array(TILT_CLAMP_HZ)
    gain_db = slope_db_per_octave * np.log2(ends / TILT_PIVOT_HZ)
    return fir_from_gain(ends, gain_db, rate, taps=2 * round(FIR_SECONDS * rate / 2) + 1)


def decimated(samples: Signal, every: int) -> Signal:
    """Return every so many frames of samples, low-passed to half the new rate; no delay.

    A linear-phase FIR with 10 frames of the new rate on either side (Hamming window, -6 dB at half the new rate), as
    `scipy.signal.decimate` has it, but as one matrix product: a tenth of the time.

    Args:
        samples: (frames, channels) float64.
        every: 1 leaves the samples as they are.

    Returns:
        (frames / every, rounded up, channels) float64.
    """
    if every == 1:
        return samples
    frames, channels = -(-len(samples) // every), samples.shape[1]
    # Row r of the product is the filter's r-th piece over each group of `every` frames: the diagonals are the sums.
    taps = _decimation_taps(every)
    pieces = len(taps)
    slow = np.empty((frames, channels))
    for channel in range(channels):
        padded = np.zeros((frames + pieces - 1) * every)
        padded[DECIMATION_REACH * every :][: len(samples)] = samples[:, channel]
        products = taps @ padded.reshape(-1, every).T
        slow[:, channel] = sum(products[piece, piece : piece + frames] for piece in range(pieces))
    return slow


@cache
def _decimation_taps(every: int) -> Signal:
    """Return the filter of `decimated` in pieces of `every` taps, (pieces, every), zeros after its end."""
    from scipy.signal import firwin

    length = 2 * DECIMATION_REACH * every + 1
    taps: Signal = np.zeros((2 * DECIMATION_REACH + 1, every))
    taps.flat[:length] = firwin(length, 1 / every)
    return taps


def filter_zero_phase(samples: NDArray[Any], taps: Signal) -> Signal:
    """Return samples through a linear-phase filter with its delay taken out: zero lag, same length.

    Args:
        samples: (frames, channels); each channel is filtered alike. May be shorter than the filter.
        taps: the filter, an odd number of taps, symmetric about its middle.

    Returns:
        (frames, channels) float64.

    Raises:
        ClipError: a sample is not finite; convolution would spread it over the clip.
    """
    from scipy.signal import oaconvolve

    if not np.isfinite(samples).all():
        raise ClipError(NOT_FINITE)
    if len(samples) == 0:
        return np.zeros(samples.shape)
    full = oaconvolve(samples.astype(np.float64), taps[:, np.newaxis], axes=0)
    delay = len(taps) // 2
    filtered: Signal = full[delay : delay + len(samples)]
    return filtered
