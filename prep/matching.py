"""Matchering's frequency matching, as values: its averaged spectrum, its smoothing, its filter.

Matchering (https://github.com/sergree/matchering) compares the mean magnitude of plain frames of 93 ms, smooths the
ratio by LOWESS over a logarithmic axis and makes a filter of it. Only that is used, and made fit for speech: at the
clip's own rate, without level, in no empty band, within caps, and with no shift in time.
"""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prep.clip import NOT_FINITE
from prep.errors import ClipError
from prep.spectrum import (
    ACTIVE_PERCENTILE,
    ACTIVE_RANGE_DB,
    EDGE_PERCENTILE,
    EDGE_RANGE_DB,
    EDGE_STEP_HZ,
    SILENCE_POWER,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from prep.clip import Signal
    from prep.units import Decibels, Hertz

# Matchering's own: 4096 samples at 44.1 kHz. At another rate a frame is as long in time, so the bins are the same.
GRID_RATE = 44100
GRID_SIZE = 4096
BIN_HZ = GRID_RATE / GRID_SIZE
BINS = GRID_SIZE // 2 + 1
LOWEST_BIN = 2  # where its logarithmic axis begins

SPEECH_BAND_HZ = (200.0, 7000.0)
SHORTEST_SECONDS = 0.06
LOWEST_RATE = 800  # Hz

# Speech falls by 40 to 50 dB towards its upper edge, but its fundamental is among its strongest parts: what lies
# 40 dB below the strongest bin, under the voice, is rumble.
LOWER_RANGE_DB = 40.0
LOWER_EDGE_BELOW_HZ = 500.0
LOUDNESS_GATE_DB = -10.0  # of ITU-R BS.1770-5, relative to the mean of all frames

K_WEIGHTING_RATE = 48000
K_WEIGHTING = (
    ((1.53512485958697, -2.69169618940638, 1.19839281085285), (1.0, -1.69065929318241, 0.73248077421585)),
    ((1.0, -2.0, 1.0), (1.0, -1.99004745483398, 0.99007225036621)),
)

# Beyond the band that clip and reference share, the ratio is held at its mean over so much of the band's end.
HELD_OCTAVES = 1 / 6
NARROWEST_OCTAVES = 1.0
_SMALLEST = 1e-9  # of an amplitude and of a ratio: -180 dB
_VANISHING = 1e-10  # weight of a bin in a smoothed ratio
_OPERATOR_ERROR = 1e-3  # of a smoothed ratio, relative: 0.01 dB


class Spectrum(NamedTuple):
    """An averaged spectrum on Matchering's bins, and the band that it fills.

    Attributes:
        amplitudes: mean magnitude of bin k at k * 10.77 Hz, up to half the rate, (at most 2049,).
        from_hz: lower edge of what the sound fills.
        to_hz: upper edge.
    """

    amplitudes: Signal
    from_hz: Hertz
    to_hz: Hertz


class Sound(NamedTuple):
    """What a correction needs of a clip: its spectrum, and the loudness that each bin brings, (bins,), no unit."""

    spectrum: Spectrum
    loudness: Signal


class Correction(NamedTuple):
    """What a clip gets.

    Attributes:
        gain_db: at each of Matchering's bins, (2049,); beyond the last it stays as there.
        wanted_db: as `gain_db`, before the caps.
        from_hz: lower edge of the band in which the clip is matched.
        to_hz: upper edge.
    """

    gain_db: Signal
    wanted_db: Signal
    from_hz: Hertz
    to_hz: Hertz


@cache
def _matchering(module: str = "") -> Any:
    """Return Matchering, or a module of it. It takes seconds to import: only here."""
    with warnings.catch_warnings():
        # Its limiter, which is not used, imports scipy.ndimage.filters.
        warnings.simplefilter("ignore", DeprecationWarning)
        return importlib.import_module(f"matchering{module}")


def heard(signal: Signal, rate: int) -> Sound:
    """Return the averaged spectrum of a signal, as Matchering measures it, the band that it fills and its loudness.

    Of a signal beyond 15 s, the pieces as loud as the whole or louder are measured. The last frame is filled with
    zeros, which Matchering would leave out: so a clip may be shorter than a frame.

    Args:
        signal: mono, (frames,), float64.
        rate: in Hz.

    Raises:
        ClipError: the signal is shorter than 60 ms, silent, or not finite, or its rate holds no speech.
    """
    from scipy.fft import rfft

    if not np.isfinite(signal).all():
        raise ClipError(NOT_FINITE)
    if rate < LOWEST_RATE:
        raise ClipError(f"its rate of {rate} Hz holds less than an octave of speech; leave the clip out")
    if len(signal) < SHORTEST_SECONDS * rate:
        raise ClipError(
            f"too short for a spectrum: {len(signal) / rate:.3f} s; it takes at least {SHORTEST_SECONDS:g} s"
        )
    signal = signal - signal.mean()
    if float(signal @ signal) / len(signal) < SILENCE_POWER:
        raise ClipError(
            "is silent, or nearly so, or its channels cancel each other: no spectrum; leave it out or replace it"
        )
    frames, rest = _frames(signal, rate)
    plain = rfft(frames.astype(np.float32), axis=1)  # half the time, and exact to -140 dB
    magnitudes = np.abs(plain).sum(axis=0, dtype=np.float64)
    if len(rest):
        magnitudes += np.abs(rfft(rest, _frame(rate)))
    amplitudes = _on_grid(magnitudes / (len(frames) + bool(len(rest))) / _frame(rate), rate)
    powers = _hann_powers(plain) if len(frames) else _short_powers(rest, _frame(rate))
    active = _active(frames) if len(frames) else slice(None)
    low, high = _edges_hz(powers[active], rate / _frame(rate))
    return Sound(Spectrum(amplitudes, low, min(high, rate / 2, GRID_RATE / 2)), _loudness(powers[active], rate))


def _frames(signal: Signal, rate: int) -> tuple[Signal, Signal]:
    """Return the frames that Matchering measures, side by side, (frames, samples), and what is left of the signal."""
    config, frame = _matchering().Config(internal_sample_rate=rate), _frame(rate)
    if len(signal) < config.max_piece_size:
        whole = len(signal) // frame * frame
        return signal[:whole].reshape(-1, frame), signal[whole:]
    levels = _matchering(".stage_helpers.match_levels")
    pieces = levels.analyze_levels(np.column_stack([signal, signal]), "reference", config)[2]
    return pieces[:, : pieces.shape[1] // frame * frame].reshape(-1, frame), signal[:0]


def _hann_powers(plain: NDArray[Any]) -> Signal:
    """Return the power of each bin under a Hann window, from the transform without one, (frames, bins).

    A Hann window is three bins wide: half of each, less a quarter of its neighbours (Harris 1978, Proc. IEEE 66, 51).
    """
    windowed = 0.5 * plain
    windowed[:, 1:-1] -= 0.25 * (plain[:, :-2] + plain[:, 2:])
    windowed[:, [0, -1]] -= 0.5 * plain[:, [1, -2]].real
    powers: Signal = windowed.real**2 + windowed.imag**2
    return powers


def _short_powers(signal: Signal, frame: int) -> Signal:
    """Return the power of each bin of a signal shorter than a frame, under a Hann window as long as it, (1, bins)."""
    from scipy.fft import rfft

    powers: Signal = np.abs(rfft(signal * np.hanning(len(signal) + 2)[1:-1], frame)) ** 2
    return powers[np.newaxis]


def _active(frames: Signal) -> NDArray[np.bool_]:
    """Say which frames are active: their power is near that of the clip's loud ones."""
    energy = np.einsum("fs,fs->f", frames, frames)
    active: NDArray[np.bool_] = energy >= np.percentile(energy, ACTIVE_PERCENTILE) * 10 ** (-ACTIVE_RANGE_DB / 10)
    return active


def _on_grid(values: Signal, rate: int) -> Signal:
    """Return values at the bins of a rate's own frame as values at Matchering's bins."""
    bin_hz = rate / _frame(rate)
    if bin_hz != BIN_HZ:
        values = np.interp(np.arange(0, rate / 2, BIN_HZ), np.arange(len(values)) * bin_hz, values)
    return values[:BINS]


def _frame(rate: int) -> int:
    """Return the samples of a frame of 93 ms, or a little more where that is quicker to transform."""
    from scipy.fft import next_fast_len

    return int(next_fast_len(round(GRID_SIZE * rate / GRID_RATE), real=True))


def _loudness(powers: Signal, rate: int) -> Signal:
    """Return the loudness that each of Matchering's bins brings, from the power of each bin in the active frames."""
    bin_hz = rate / _frame(rate)
    weights = np.interp(np.arange(powers.shape[1]) * bin_hz, np.arange(BINS) * BIN_HZ, _loudness_weights())
    of_frames = powers @ weights
    loud = of_frames >= of_frames.mean() * 10 ** (LOUDNESS_GATE_DB / 10)
    return _on_grid(powers[loud].mean(axis=0) * weights, rate)


def _edges_hz(powers: Signal, bin_hz: Hertz) -> tuple[Hertz, Hertz]:
    """Return the lowest and the highest frequency that a sound fills, from the power of each bin in its active frames.

    Of the power that a twentieth of the frames exceeds, the upper edge is the top of the highest band of 125 Hz within
    60 dB of the strongest, as the bandwidth cue has it; the lower edge is the lowest bin within 40 dB of the strongest.
    """
    each = max(round(EDGE_STEP_HZ / bin_hz), 1)
    firsts = np.arange(0, powers.shape[1], each)
    bands = np.percentile(np.add.reduceat(powers, firsts, axis=1), EDGE_PERCENTILE, axis=0)
    highest = np.flatnonzero(bands >= bands.max() * 10 ** (-EDGE_RANGE_DB / 10))[-1]
    first = firsts[np.argmax(bands)]
    strongest = np.percentile(powers[:, first : first + each], EDGE_PERCENTILE, axis=0).max()
    low = np.percentile(powers[:, : round(LOWER_EDGE_BELOW_HZ / bin_hz)], EDGE_PERCENTILE, axis=0)
    filled = low >= strongest * 10 ** (-LOWER_RANGE_DB / 10)
    lowest = np.argmax(filled) if filled.any() else len(low)
    return float(lowest * bin_hz), float((firsts[highest] + each - 0.5) * bin_hz)


@cache
def _loudness_weights() -> Signal:
    """Return the K-weighting of ITU-R BS.1770-5, Annex 1, Tables 1 and 2, as a power at each bin, (2049,)."""
    turns = np.exp(-2j * np.pi * np.arange(BINS) * BIN_HZ / K_WEIGHTING_RATE)
    shares = [np.polyval(over[::-1], turns) / np.polyval(under[::-1], turns) for over, under in K_WEIGHTING]
    weights: Signal = np.abs(np.prod(shares, axis=0)) ** 2
    return weights


class _Smoothing(NamedTuple):
    """Matchering's smoothing as a matrix: LOWESS without iterations is linear, and its axis is always the same.

    Attributes:
        matrix: from the ratio at the bins to the smoothed ratio at the anchors.
        anchors: the bins of the anchors; between them the smoothed ratio is a straight line over log frequency.
    """

    matrix: csr_array
    anchors: Signal


@cache
def _smoothing() -> _Smoothing:
    """Return the smoothing, once it is found to be Matchering's own.

    Raises:
        RuntimeError: this version of Matchering smooths in another way.
    """
    from scipy.interpolate import BSpline, make_interp_spline
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import splu

    config = _matchering().Config()
    bins = np.arange(BINS, dtype=float)
    points = (BINS - 1) * config.lin_log_oversampling + 1
    log_bins = np.clip((BINS - 1) * np.logspace(np.log10(LOWEST_BIN / (BINS - 1)), 0, points), 0, BINS - 1)
    # A cubic spline through the bins, read at the points of the logarithmic axis; its far weights vanish.
    knots = make_interp_spline(bins, bins, k=3).t
    anchors, lines = _local_lines(points, config.lowess_frac, config.lowess_delta)
    from_spline = lines @ BSpline.design_matrix(log_bins, knots, 3)
    matrix = splu(BSpline.design_matrix(bins, knots, 3).T.tocsc()).solve(from_spline.T.toarray()).T
    matrix[np.abs(matrix) < _VANISHING] = 0
    smoothing = _Smoothing(csr_array(matrix), log_bins[anchors])
    trial = 1 + 0.5 * np.cos(np.arange(BINS) ** 2 / 3)
    own = _matchering(".stage_helpers.match_frequencies").__dict__["__smooth_exponentially"](trial, config)
    if not np.allclose(_smoothed(trial, smoothing)[2:], own[2:], rtol=_OPERATOR_ERROR, atol=0):
        raise RuntimeError("Matchering smooths in another way than prep.matching expects; install matchering 2.0.6")
    return smoothing


def _local_lines(points: int, share: float, delta: float) -> tuple[NDArray[np.int_], csr_array]:
    """Return the anchors of a LOWESS on equal steps from 0 to 1, and the weight of each point at each anchor.

    At each anchor, a straight line through the nearest points, weighted by the tricube of their distance
    (Cleveland 1979, Journal of the American Statistical Association 74, 829).
    """
    from scipy.sparse import csr_array

    axis = np.linspace(0, 1, points)
    near = int(share * points + 1e-10)
    anchors = np.arange(0, points, int(delta * (points - 1) + 1e-9))
    firsts = np.clip(anchors - (near - 1) // 2, 0, points - near)
    columns = firsts[:, np.newaxis] + np.arange(near)
    distance = np.abs(axis[columns] - axis[anchors, np.newaxis])
    weights = (1 - (distance / distance.max(axis=1, keepdims=True)) ** 3) ** 3
    weights /= weights.sum(axis=1, keepdims=True)
    centre = np.sum(weights * axis[columns], axis=1, keepdims=True)
    offset = axis[columns] - centre
    spread = np.sum(weights * offset**2, axis=1, keepdims=True)
    weights *= 1 + (axis[anchors, np.newaxis] - centre) * offset / spread
    ends = np.arange(0, weights.size + 1, near)
    return anchors, csr_array((weights.ravel(), columns.ravel(), ends), shape=(len(anchors), points))


def smoothed(ratio: Signal) -> Signal:
    """Return a ratio at Matchering's bins, (2049,), as Matchering smooths it; below bin 2 it is held."""
    return _smoothed(ratio, _smoothing())


def _smoothed(ratio: Signal, smoothing: _Smoothing) -> Signal:
    # The anchors lie so close that straight lines over bins are those over log bins.
    at_bins: Signal = np.interp(np.arange(BINS), smoothing.anchors, smoothing.matrix @ ratio)
    return at_bins


def correction(
    sound: Sound,
    reference: Spectrum,
    max_boost_db: Decibels = np.inf,
    max_cut_db: Decibels = np.inf,
    share: float = 1.0,
) -> Correction:
    """Return the gain that gives a clip the spectrum of a reference, whatever the level of either.

    Matchering's smoothed ratio in the band that both fill; beyond it the gain is held, and where the clip itself is
    empty it is not above 0 dB. With the caps, an offset makes the mean gain 1 where the clip's loudness comes from.

    Args:
        sound: the clip.
        reference: what it is matched to.
        max_boost_db: most that any bin is raised.
        max_cut_db: most that any bin is lowered.
        share: of the ratio in dB, from 0 to 1; less than 1 goes part of the way.

    Raises:
        ClipError: clip and reference share less than an octave of the speech band.
    """
    clip, bins = sound.spectrum, np.arange(BINS) * BIN_HZ
    low, high = max(clip.from_hz, reference.from_hz, LOWEST_BIN * BIN_HZ), min(clip.to_hz, reference.to_hz)
    speech_low, speech_high = max(low, SPEECH_BAND_HZ[0]), min(high, SPEECH_BAND_HZ[1])
    if speech_high < speech_low * 2**NARROWEST_OCTAVES:
        raise ClipError(
            f"fills {clip.from_hz:.0f}-{clip.to_hz:.0f} Hz and the reference {reference.from_hz:.0f}-"
            f"{reference.to_hz:.0f} Hz: less than an octave of speech in common; leave the clip out"
        )
    shared = _bins_of(low, high)
    wanted, given = (_levelled(item, speech_low, speech_high)[shared] for item in (reference, clip))
    ratio = np.empty(BINS)
    ratio[shared] = wanted / given
    ratio[: shared.start] = ratio[_bins_of(low, low * 2**HELD_OCTAVES)].mean()
    ratio[shared.stop :] = ratio[_bins_of(high * 2**-HELD_OCTAVES, high)].mean()
    wanted_db = share * 20 * np.log10(np.maximum(smoothed(ratio), _SMALLEST))
    filled = _bins_of(clip.from_hz, clip.to_hz)
    loudness = sound.loudness[filled]
    wanted_db += _offset_db(wanted_db[filled][: len(loudness)], loudness, max_boost_db, max_cut_db)
    gain_db = np.clip(wanted_db, -max_cut_db, max_boost_db)
    empty = (bins < clip.from_hz) | (bins > clip.to_hz)
    return Correction(np.where(empty, np.minimum(gain_db, 0), gain_db), wanted_db, low, high)


def _bins_of(low_hz: Hertz, high_hz: Hertz) -> slice:
    """Return the bins inside a band, one at least."""
    first = int(np.ceil(low_hz / BIN_HZ))
    return slice(first, max(int(high_hz / BIN_HZ), first) + 1)


def _levelled(spectrum: Spectrum, low_hz: Hertz, high_hz: Hertz) -> Signal:
    """Return the amplitudes with a power of 1 in a band."""
    amplitudes = spectrum.amplitudes
    levelled: Signal = amplitudes / np.sqrt(np.sum(amplitudes[_bins_of(low_hz, high_hz)] ** 2))
    return np.maximum(levelled, _SMALLEST)


def _offset_db(gain_db: Signal, power: Signal, max_boost_db: Decibels, max_cut_db: Decibels) -> Decibels:
    """Return what to add to a gain so that, capped, it leaves the power of a band as it is."""
    from scipy.optimize import brentq

    def change(offset_db: float) -> float:
        capped = np.clip(gain_db + offset_db, -max_cut_db, max_boost_db)
        return float(power @ 10 ** (capped / 10) / power.sum()) - 1

    lowest, highest = -float(gain_db.max()), -float(gain_db.min())
    if change(lowest) >= 0:  # the gain is even where the power is
        return lowest
    return highest if change(highest) <= 0 else float(brentq(change, lowest, highest, xtol=1e-6))


def matching_fir(gain_db: Signal, rate: int) -> Signal:
    """Return a linear-phase FIR filter with a gain at Matchering's bins: its own, made symmetric.

    Matchering's filter is even and its window half a sample off, which shifts a clip by a sample.

    Args:
        gain_db: at Matchering's bins, (2049,).
        rate: in Hz.

    Returns:
        The filter, an odd number of taps, 93 ms, symmetric about its middle.
    """
    size = _frame(rate) // 2 * 2
    at_bins = np.interp(np.fft.rfftfreq(size, 1 / rate), np.arange(BINS) * BIN_HZ, gain_db)
    response = np.roll(np.fft.irfft(10 ** (at_bins / 20), size), size // 2)[1:]
    taps: Signal = response * np.hanning(size + 1)[1:-1]
    return taps
