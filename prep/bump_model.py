"""A model of bumps and speech below 500 Hz, which parts a tap on the microphone from the voice over it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prep.clip import Signal
    from prep.units import Seconds

    Bins = NDArray[np.bool_]
    Spectra = NDArray[np.complex128]

# The model of a bump: damped oscillations from one onset, or bursts under a Hann window; at 1 kHz, in windows of 1 s.
WINDOW_SECONDS = 1  # a whole number, so that any rate has bins of 1 Hz
SLOW_RATE = 1000
MODEL_HZ = SLOW_RATE // 2
ATOM_RATE = 4000  # at which the spectra of atoms are taken: nothing above folds back to 500 Hz
LEAD_SECONDS = 0.25  # of the window before the highest point
SEEN_SECONDS = (0.1, 0.55)  # of the window: the context that the fit sees
PARTIALS_HZ = (0.0, 15.0, 22.0, 30.0, 39.0, 49.0, 60.0, 72.0, 85.0, 99.0, 114.0, 130.0)
DECAYS_SECONDS = (0.008, 0.016, 0.032, 0.064)
LONGEST_ATOM_SECONDS = 0.6
ATTACKS_SECONDS = (0.0, 0.006)
BURSTS_SECONDS = (0.03, 0.06, 0.1, 0.16)
ONSETS_SECONDS = (-0.03, 0.004, 0.004)  # of oscillations, from the highest point: first, last, step
BURST_ONSETS_SECONDS = (-0.1, 0.0, 0.01)
FINER_SECONDS = (0.004, 0.002, 0.001, 0.0005)
WEIGHT_RATIO = 2.0  # of an atom to the peak of the window: more, and the fit takes the low partials of a voice
ROUNDS = 2  # in the second, the level of speech is taken without the bump
# What the atoms leave of a bump is taken as noise below every voice, and as slow noise under the bump's own envelope.
REST_RATIO = 0.7
REST_HZ = 160.0
THUMP_RATIO = 0.5  # to the peak of the window
THUMP_HZ = 40.0  # where its power has fallen by 9 dB
REST_SMOOTHING = 21  # samples at 1 kHz
REPAIR_ENDS = 1e-2  # of the bump's peak
FADE_SECONDS = 0.01

# The model of speech below 500 Hz: its usual spectrum, as loud as the band is that no bump reaches.
BEYOND_BUMPS_HZ = (150.0, 480.0)
PIECE = 100  # samples at 1 kHz
SPEECH_RANGE_DB = 20.0
LEVEL_SMOOTHING = 30  # samples at 1 kHz
LEAST_SHARE = 0.02
WHITE_POWER = 1e-3
LEAST_LEVEL = 1e-4  # of the window's peak


class _Fit(NamedTuple):
    """The best model of a bump: family of atoms, onset in the window in s, weights (atoms, channels), at 1 kHz."""

    evidence: float
    family: int
    onset: Seconds
    weights: Signal
    slow: Signal


class _Seen(NamedTuple):
    """The part of a window that a fit sees, at 1 kHz from `first` on: whitened by a factor of speech's covariance."""

    factor: Signal
    white: Signal
    peak: float
    first: int


class BumpModel:
    """Bumps and speech below 500 Hz, for the windows of one clip.

    A Gaussian model: a bump is a weighted sum of the atoms of one family, shifted to one onset, and noise below every
    voice, which a thump of any shape is made of; speech is noise with the usual spectrum of the clip. The family and
    the onset are those of the greatest evidence (Rasmussen and Williams, Gaussian Processes for Machine Learning,
    2006, section 2.7).
    """

    def __init__(self, centred: Signal, rate: int) -> None:
        """Take the samples of the clip without DC."""
        self.rate = rate
        self.spectra = _spectra()
        self.correlation = self._correlation(centred)
        self.share = self._share()

    def bump(self, samples: Signal, place: int) -> tuple[int, Signal] | None:
        """Return the bump that is highest about a place: its first frame, and its samples, (frames, channels).

        None where the best model lies outside of the clip, as it may at its very end.
        """
        rate = self.rate
        start = place - round(LEAD_SECONDS * rate)
        first = max(round(SEEN_SECONDS[0] * SLOW_RATE), -(start * SLOW_RATE // rate))
        left = len(samples) - start
        last = min(round(SEEN_SECONDS[1] * SLOW_RATE), -(-left * SLOW_RATE // rate))
        fit, rest = self._fitted(self._window(samples - samples.mean(axis=0), place), first, last)
        bump = _quickened(rest, WINDOW_SECONDS * rate)
        onset = round(fit.onset * rate)
        bump[onset:] += (_atoms(fit.family, rate) @ fit.weights)[: len(bump) - onset]

        loud = np.flatnonzero(np.abs(bump).max(axis=1) > REPAIR_ENDS * np.abs(bump).max())
        margin = round(FADE_SECONDS * rate)
        begin = max(int(loud[0]) - margin, -start, 0)
        end = min(int(loud[-1]) + 1 + margin, last * rate // SLOW_RATE, left)
        if end <= begin:
            return None
        fade = min(margin, (end - begin) // 2)
        ramp = (0.5 - 0.5 * np.cos(np.pi * (np.arange(fade) + 0.5) / max(fade, 1)))[:, np.newaxis]
        if begin > -start:
            bump[begin : begin + fade] *= ramp
        if end < left:
            bump[end - fade : end] *= ramp[::-1]
        return start + begin, bump[begin:end]

    def _window(self, samples: Signal, place: int) -> Signal:
        """Return the window around a place, its ends held where the clip has none: a step there would ring."""
        start = place - round(LEAD_SECONDS * self.rate)
        frames = np.arange(start, start + WINDOW_SECONDS * self.rate)
        window: Signal = samples[frames.clip(0, len(samples) - 1)]
        return window

    def _fitted(self, window: Signal, first: int, last: int) -> tuple[_Fit, Signal]:
        """Return the model of the bump in a window that holds sound in [first, last) at 1 kHz, and what it leaves."""
        slow = _slowed(window)
        taken, best = np.zeros_like(slow), None
        for _ in range(ROUNDS):
            best = self._best(slow, taken, first, last, best)
            taken = best.slow
        if best is None:
            raise TypeError("no round")
        return best, self._rest(slow - taken, taken, first, last)

    def _best(self, slow: Signal, taken: Signal, first: int, last: int, known: _Fit | None) -> _Fit:
        from scipy.linalg import cholesky, solve_triangular

        peak = float(np.abs(slow).max())
        covariance = self._speech(slow - taken, peak, first, last) + _thump(peak, first, last)
        factor = cholesky(covariance, lower=True)
        seen = _Seen(factor, solve_triangular(factor, slow[first:last], lower=True), peak, first)

        def tried(family: int, onset: Seconds) -> _Fit:
            return self._tried(family, onset, seen)

        best = known and tried(known.family, known.onset)
        if best is None:
            families = range(len(self.spectra) - 1)
            options = [(family, onset) for family in families for onset in LEAD_SECONDS + np.arange(*ONSETS_SECONDS)]
            options += [(len(families), onset) for onset in LEAD_SECONDS + np.arange(*BURST_ONSETS_SECONDS)]
            best = max((tried(*option) for option in options), key=lambda fit: fit.evidence)
        for step in FINER_SECONDS:
            near = [tried(best.family, best.onset + side * step) for side in (-1, 1)]
            best = max([best, *near], key=lambda fit: fit.evidence)
        return best

    def _tried(self, family: int, onset: Seconds, seen: _Seen) -> _Fit:
        from scipy.linalg import cho_factor, cho_solve, solve_triangular

        shift = np.exp(-2j * np.pi * np.arange(MODEL_HZ + 1) * onset)[:, np.newaxis]
        atoms = np.fft.irfft(self.spectra[family] * shift, SLOW_RATE, axis=0)
        whitened = solve_triangular(seen.factor, atoms[seen.first : seen.first + len(seen.white)], lower=True)
        count = atoms.shape[1]
        system = cho_factor(whitened.T @ whitened + np.eye(count) / (WEIGHT_RATIO * seen.peak) ** 2)
        projected = whitened.T @ seen.white
        weights = cho_solve(system, projected)
        volume = 2 * float(np.log(np.diag(system[0])).sum()) + 2 * count * float(np.log(WEIGHT_RATIO * seen.peak))
        evidence = float((projected * weights).sum()) - seen.white.shape[1] * volume
        return _Fit(evidence, family, onset, weights, atoms @ weights)

    def _rest(self, left: Signal, taken: Signal, first: int, last: int) -> Signal:
        """Return what of the rest is slow noise under the bump's envelope, at 1 kHz: a Wiener estimate."""
        from scipy.linalg import cho_factor, cho_solve, toeplitz

        envelope = (
            np.sqrt(_smoothed(np.square(taken).mean(axis=1), REST_SMOOTHING).clip(min=0))[first:last] * REST_RATIO
        )
        lags = np.arange(last - first) / SLOW_RATE
        peak = float(np.abs(left + taken).max())
        prior = toeplitz(np.exp(-0.5 * (np.pi * REST_HZ * lags) ** 2)) * envelope[:, np.newaxis] * envelope
        prior += _thump(peak, first, last)
        both = prior + self._speech(left, peak, first, last)
        rest = np.zeros_like(left)
        rest[first:last] = prior @ cho_solve(cho_factor(both, lower=True), left[first:last])
        return rest

    def _speech(self, slow: Signal, peak: float, first: int, last: int) -> Signal:
        """Return the covariance of speech in [first, last), as loud as it is there beyond the reach of bumps."""
        from scipy.linalg import toeplitz

        beyond = np.fft.rfft(slow, axis=0) * _beyond_bumps(MODEL_HZ + 1)[:, np.newaxis]
        power = _smoothed(np.square(np.fft.irfft(beyond, SLOW_RATE, axis=0)).mean(axis=1), LEVEL_SMOOTHING)
        level = (np.sqrt(power.clip(min=0) / self.share) + LEAST_LEVEL * peak)[first:last]
        shape = toeplitz(self.correlation[: last - first]) + WHITE_POWER * np.eye(last - first)
        covariance: Signal = shape * level[:, np.newaxis] * level
        return covariance

    def _correlation(self, centred: Signal) -> Signal:
        """Return the autocorrelation of the clip's speech below 500 Hz, at 1 kHz, 1 at lag 0.

        Of its pieces of 0.1 s, each brought to one level in the band that no bump reaches, the median: a few taps
        leave it as it is.
        """
        taper = np.hanning(PIECE + 2)[1:-1, np.newaxis]
        spectra = []
        for start in range(0, len(centred), WINDOW_SECONDS * self.rate):
            slow = _slowed(self._window(centred, start + round(LEAD_SECONDS * self.rate)))
            pieces = np.split(slow, SLOW_RATE // PIECE)
            spectra += [np.mean(np.abs(np.fft.rfft(piece * taper, 2 * PIECE, axis=0)) ** 2, axis=1) for piece in pieces]
        found = np.array(spectra)
        power = found[:, _beyond_bumps(PIECE + 1)].sum(axis=1)
        kept = power >= np.percentile(power, 90) * 10 ** (-SPEECH_RANGE_DB / 10)
        usual = np.median(found[kept] / np.maximum(power[kept, np.newaxis], np.finfo(float).tiny), axis=0)
        lags = np.fft.irfft(usual)[:PIECE] * (1 - np.arange(PIECE) / PIECE)
        correlation = np.zeros(SLOW_RATE)
        correlation[:PIECE] = lags / max(lags[0], np.finfo(float).tiny)
        return correlation

    def _share(self) -> float:
        """Return which share of the power of speech below 500 Hz lies beyond the reach of bumps."""
        both = self.correlation.copy()
        both[1:] += both[:0:-1]
        spectrum = np.fft.rfft(both).real.clip(min=0)
        return max(float(spectrum[_beyond_bumps(len(spectrum))].sum() / max(spectrum.sum(), 1e-12)), LEAST_SHARE)


def _thump(peak: float, first: int, last: int) -> Signal:
    """Return the covariance of what lies below every voice in [first, last), at 1 kHz, fading with what is seen."""
    from scipy.linalg import toeplitz

    lags = np.arange(last - first) / SLOW_RATE
    begin, end = SEEN_SECONDS
    envelope = THUMP_RATIO * peak * np.sin(np.pi * ((np.arange(first, last) + 0.5) / SLOW_RATE - begin) / (end - begin))
    covariance: Signal = toeplitz(np.exp(-0.5 * (np.pi * THUMP_HZ * lags) ** 2)) * envelope[:, np.newaxis] * envelope
    return covariance


@cache
def _spectra() -> list[Spectra]:
    """Return the spectra of the atoms of each family, at 1 kHz, in bins of 1 Hz up to 500 Hz, (501, atoms)."""
    families = range(len(ATTACKS_SECONDS) + 1)
    atoms = (_atoms(family, ATOM_RATE) for family in families)
    return [np.fft.rfft(found, axis=0)[: MODEL_HZ + 1] * (SLOW_RATE / ATOM_RATE) for found in atoms]


def _atoms(family: int, rate: int) -> Signal:
    """Return the oscillations of a family from frame 0 on, with envelopes up to 1, (frames, atoms).

    The last family is bursts under Hann windows; each of the others has damped oscillations with one attack.
    """
    times = np.arange(WINDOW_SECONDS * rate) / rate
    if family == len(ATTACKS_SECONDS):
        envelopes = [np.where(times < s, 0.5 - 0.5 * np.cos(2 * np.pi * times / s), 0) for s in BURSTS_SECONDS]
    else:
        seconds = ATTACKS_SECONDS[family]
        attack = 0.5 - 0.5 * np.cos(np.pi * np.minimum(times / seconds, 1)) if seconds else 1.0
        envelopes = [attack * (times < LONGEST_ATOM_SECONDS) * np.exp(-times / decay) for decay in DECAYS_SECONDS]
    turns = [2 * np.pi * hertz * times for hertz in PARTIALS_HZ]
    waves = [np.cos(turn) for turn in turns] + [np.sin(turn) for turn in turns[1:]]
    return np.stack([envelope * wave for envelope in envelopes for wave in waves], axis=1)


def _beyond_bumps(bins: int) -> Bins:
    """Return which of the bins from 0 to 500 Hz no bump reaches."""
    frequencies = np.linspace(0, MODEL_HZ, bins)
    return np.asarray((frequencies > BEYOND_BUMPS_HZ[0]) & (frequencies < BEYOND_BUMPS_HZ[1]))


def _smoothed(power: Signal, width: int) -> Signal:
    window = np.hanning(width + 2)[1:-1]
    smooth: Signal = np.convolve(power, window / window.sum(), mode="same")
    return smooth


def _slowed(window: Signal) -> Signal:
    """Return a window of 1 s at 1 kHz, without what lies above 500 Hz."""
    spectrum = np.fft.rfft(window, axis=0)[: MODEL_HZ + 1] * (SLOW_RATE / len(window))
    slow: Signal = np.fft.irfft(spectrum, SLOW_RATE, axis=0)
    return slow


def _quickened(slow: Signal, frames: int) -> Signal:
    """Return a window of 1 s at 1 kHz at another rate."""
    spectrum = np.zeros((frames // 2 + 1, slow.shape[1]), complex)
    spectrum[: MODEL_HZ + 1] = np.fft.rfft(slow, axis=0)
    window: Signal = np.fft.irfft(spectrum, frames, axis=0) * (frames / SLOW_RATE)
    return window
