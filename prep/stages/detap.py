"""detap: taps on the microphone or the table and clicks of handling taken out, and nothing else touched."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from prep.bibliography import Reference, cite
from prep.errors import ClipError
from prep.prose import counted, sentence
from prep.room_tone import generator_of, room_tone
from prep.stage import Applied, Notes, Stage
from prep.units import db_from_ratio, ratio_from_db

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from prep.clip import Clip, Signal
    from prep.stage import Account
    from prep.units import Decibels, Hertz, Seconds

    Bins = NDArray[np.bool_]
    Span = tuple[int, int]
    Spectra = NDArray[np.complex128]

JANSSEN = Reference(
    "janssen1986interpolation",
    "article",
    {
        "author": "Janssen, A. J. E. M. and Veldhuis, R. N. J. and Vries, L. B.",
        "title": "Adaptive interpolation of discrete-time signals that can be modeled as autoregressive processes",
        "journal": "{IEEE} Transactions on Acoustics, Speech, and Signal Processing",
        "volume": "34",
        "number": "2",
        "pages": "317--330",
        "year": "1986",
        "doi": "10.1109/TASSP.1986.1164824",
    },
)

Kind = Literal["bump", "click in a pause", "click in speech"]

LOW_PASS_HZ = 140.0  # fourth order, twice: parts bumps from all of a high voice and most of a low one
LOWEST_RATE_HZ = 2000
FRAME_SECONDS = 0.02
# Frames this far below the loud ones are no speech; few peaks of the others lie above this percentile.
ACTIVE_RANGE_DB = 25.0
REFERENCE_PERCENT = 95.0
LEAST_RATIO = 1e-5  # so that the decibels of a full repair stay finite

# A tap stands over what is before and after it; the low partials of a voice go on.
BUMP_BLOCK_SECONDS = 0.005
BUMP_BANDS = (
    (40.0, (0.3, 1.0), (0.3, 1.0)),
    (LOW_PASS_HZ, (0.04, 0.15), (0.15, 0.3)),
)
AROUND_PERCENT = 25.0  # of the blocks on one side: a second tap may lie there
BUMP_CONTRAST_DB = 6.0
BETWEEN_BUMPS_SECONDS = 0.4
PASSES = 3  # a weaker tap may hide in the first

# The model of a bump: damped oscillations from one onset, or bursts under a Hann window; at 1 kHz, in windows of 1 s.
WINDOW_SECONDS = 1  # a whole number, so that any rate has bins of 1 Hz
SLOW_RATE = 1000
MODEL_HZ = SLOW_RATE // 2
ATOM_RATE = 4000  # at which the spectra of atoms are taken: nothing above folds back to 500 Hz
LEAD_SECONDS = 0.25  # of the window before the highest point
SEEN_SECONDS = (0.05, 0.6)  # of the window: the context that the fit sees
PARTIALS_HZ = (0.0, 15.0, 22.0, 30.0, 39.0, 49.0, 60.0, 72.0, 85.0, 99.0, 114.0, 130.0)
DECAYS_SECONDS = (0.008, 0.016, 0.032, 0.064)
LONGEST_ATOM_SECONDS = 0.6
ATTACKS_SECONDS = (0.0, 0.006)
BURSTS_SECONDS = (0.03, 0.06, 0.1, 0.16, 0.25)
ONSETS_SECONDS = (-0.03, 0.004, 0.003)  # of oscillations, from the highest point: first, last, step
BURST_ONSETS_SECONDS = (-0.15, 0.0, 0.005)
FINER_SECONDS = (0.0015, 0.00075, 0.0005)
WEIGHT_RATIO = 2.0  # of an atom to the peak of the window: more, and the fit takes the low partials of a voice
ROUNDS = 2  # in the second, the level of speech is taken without the bump
# What the model leaves of a bump is taken as slow noise under the bump's own envelope.
REST_RATIO = 0.7
REST_HZ = 160.0
REST_SMOOTHING = 21  # samples at 1 kHz
REPAIR_ENDS = 1e-3  # of the bump's peak
FADE_SECONDS = 0.01
LEAST_TAKEN_DB = 6.0  # what takes less of the low band has not found a bump

# The model of speech below 500 Hz: its usual spectrum, as loud as the band is that no bump reaches.
BEYOND_BUMPS_HZ = (150.0, 480.0)
PIECE = 100  # samples at 1 kHz
SPEECH_RANGE_DB = 20.0
LEVEL_SMOOTHING = 30  # samples at 1 kHz
LEAST_SHARE = 0.02
WHITE_POWER = 1e-3
LEAST_LEVEL = 1e-4  # of the window's peak

CLICK_BLOCK_SECONDS = 0.001
BEFORE_CLICK_SECONDS = (0.005, 0.025)
AFTER_CLICK_SECONDS = (0.018, 0.038)
CLICK_CONTRAST_DB = 15.0
MOUTH_CLICK_DB = -30.0  # clicks of lips and tongue lie 20 to 30 dB below the peaks of speech
CLICK_ATTACK_SECONDS = 0.006
LONGEST_CLICK_SECONDS = 0.04
BETWEEN_CLICKS_SECONDS = 0.02
CLICK_RUN_SECONDS = 0.0005
FLOOR_MARGIN_DB = 9.0
LONGEST_GAP_SECONDS = 0.006  # over which a prediction holds; a longer gap gets room tone
CLICK_FADE_SECONDS = 0.001

# In speech a click is what no prediction foretells; the edges of glottal pulses come again within 12 ms.
PREDICTOR_SECONDS = 0.001
USUAL_PERCENT = 99.0
ISOLATION_SECONDS = (0.003, 0.012)
ISOLATION_DB = 14.0
CLICK_EDGE = 1.5  # over the largest error around
SPEECH_CLICK_PEAK_DB = 0.0  # what is taken away, relative to the peaks of speech

CONTEXT_SECONDS = 0.02
BRIDGE_ORDER_SECONDS = 0.0025
BRIDGE_ROUNDS = 3
SHORTEST_SECONDS = 0.05  # a shorter clip has nothing around a tap


class _Repair(NamedTuple):
    """A repaired span, in frames [first, last), and by how much its highest value sank."""

    kind: Kind
    first: int
    last: int
    taken_db: Decibels


class Detap(Stage[None, None]):
    """Take out taps on the microphone or the table and clicks of handling; breaths and lip noise stay.

    A bump is a burst below 140 Hz that comes near the peaks of the clip's speech and stands 6 dB over what is before
    and after it, so that a low voice is none. A model of bumps (damped oscillations from one onset) is fitted together
    with the usual spectrum of the clip's own speech, and what the model takes is subtracted. A click in a pause comes
    near the peaks of speech and has fallen by 15 dB within 18 ms; autoregressive interpolation (Janssen, Veldhuis and
    Vries, IEEE Trans. ASSP 34, 1986) bridges up to 6 ms, the clip's own room tone is put in place of more. A click in
    speech is an isolated error of linear prediction, and is bridged. `mouth_clicks` takes out weaker clicks in pauses
    too. All channels are repaired in the same spans, each by itself; outside of these the samples stay as they are.
    """

    NAME: ClassVar[str] = "detap"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (JANSSEN,)

    bump_level_db: float = Field(
        default=-6.0,
        ge=-20,
        le=20,
        description="lowest peak of a bump below 140 Hz, relative to the peaks of the clip's speech, dB",
    )
    click_level_db: float = Field(
        default=-6.0,
        ge=-20,
        le=20,
        description="lowest peak of a click in a pause, relative to the peaks of the clip's speech, dB",
    )
    speech_click_db: float = Field(
        default=6.0,
        ge=3,
        le=60,
        description="how far a click in speech stands over the strongest edges of the speech (99th percentile), dB",
    )
    mouth_clicks: bool = Field(
        default=False, description="take out clicks in pauses down to 30 dB below the peaks of speech too; no unit"
    )

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return what was looked for, how much was found, and that nothing else was touched."""
        repairs = [int(value) for value in account.values("repairs")]
        repaired = sum(value > 0 for value in repairs)
        found = (
            f"{counted(sum(repairs), 'place')} in {repaired} of {counted(len(repairs), 'clip')} were repaired, bumps "
            f"by subtracting a fitted model and clicks by autoregressive interpolation {cite(JANSSEN)} or room tone, "
            "and the samples outside these places were left as they were"
            if repaired
            else f"none was detected in {counted(len(repairs), 'clip')}, and no sample was changed"
        )
        return (
            f"{sentence(account.whom)} were searched for taps on the microphone or the table and clicks of handling: "
            f"{found}."
        )

    def apply(self, clip: Clip, fit: None) -> Applied:  # noqa: ARG002
        """Return the clip without its taps and clicks.

        Raises:
            ClipError: a sample is not finite, or the rate is too low.
        """
        clip.check_finite()
        if clip.rate < LOWEST_RATE_HZ:
            raise ClipError(f"its rate of {clip.rate} Hz holds no speech; replace it")
        samples = clip.samples.astype(np.float64)
        repairs: list[_Repair] = []
        if samples.any() and clip.seconds >= SHORTEST_SECONDS:
            repairs += self._without_bumps(samples, clip.rate)
            repairs += self._without_pause_clicks(samples, clip)
            repairs += self._without_speech_clicks(samples, clip.rate)
        return Applied(clip.with_samples(samples) if repairs else clip, _notes(repairs, clip.rate))

    def _without_bumps(self, samples: Signal, rate: int) -> list[_Repair]:
        repairs: list[_Repair] = []
        for _ in range(PASSES):
            speech = _speech_peak(_high(samples, _low(samples, rate)), rate)
            places = _bumps(samples, rate, speech * ratio_from_db(self.bump_level_db))
            if not places:
                break
            model = _BumpModel(samples - samples.mean(axis=0), rate)
            found = [repair for place in places if (repair := _without_bump(samples, place, model))]
            if not found:
                break
            repairs += found
        return repairs

    def _without_pause_clicks(self, samples: Signal, clip: Clip) -> list[_Repair]:
        high = _high(samples, _low(samples, clip.rate))
        level = min(self.click_level_db, MOUTH_CLICK_DB) if self.mouth_clicks else self.click_level_db
        lowest = _speech_peak(high, clip.rate) * ratio_from_db(level)
        ceiling = _speech_peak(high, clip.rate) * ratio_from_db(-CLICK_CONTRAST_DB)
        repairs = []
        for first, last in _clicks_in_pauses(np.abs(high).max(axis=1), clip.rate, lowest, ceiling):
            bridged = last - first <= LONGEST_GAP_SECONDS * clip.rate
            new = _bridge(samples, clip.rate, first, last) if bridged else _room_tone(samples, clip, first, last)
            repairs.append(_repaired("click in a pause", samples, first, last, new))
        return repairs

    def _without_speech_clicks(self, samples: Signal, rate: int) -> list[_Repair]:
        high = _high(samples, _low(samples, rate))
        least = _speech_peak(high, rate) * ratio_from_db(SPEECH_CLICK_PEAK_DB)
        repairs = []
        for first, last in _clicks_in_speech(high, rate, ratio_from_db(self.speech_click_db)):
            new = _bridge(samples, rate, first, last)
            if np.abs(samples[first:last] - new).max() >= least:
                repairs.append(_repaired("click in speech", samples, first, last, new))
        return repairs


def _notes(repairs: list[_Repair], rate: int) -> Notes:
    ordered = sorted(repairs, key=lambda repair: (repair.first, repair.last))
    spans = [
        {
            "kind": repair.kind,
            "start_seconds": float(repair.first / rate),
            "end_seconds": float(repair.last / rate),
            "taken_db": float(repair.taken_db),
        }
        for repair in ordered
    ]
    return {"repairs": len(spans), "repaired": spans}


def _repaired(kind: Kind, samples: Signal, first: int, last: int, new: Signal) -> _Repair:
    """Put a repair into the samples, and say what it was."""
    before, after = (float(np.abs(part).max()) for part in (samples[first:last], new))
    samples[first:last] = new
    return _Repair(kind, first, last, db_from_ratio(before / max(after, before * LEAST_RATIO)) if before else 0.0)


def _low(samples: Signal, rate: int, highest_hz: Hertz = LOW_PASS_HZ) -> Signal:
    """Return what lies below 140 Hz, without delay and without DC."""
    from scipy.signal import butter, sosfiltfilt

    sections = butter(4, highest_hz, "lowpass", fs=rate, output="sos")
    padding = min(round(0.05 * rate), len(samples) - 1)
    low: Signal = sosfiltfilt(sections, samples - samples.mean(axis=0), axis=0, padlen=padding)
    return low


def _high(samples: Signal, low: Signal) -> Signal:
    high: Signal = samples - samples.mean(axis=0) - low
    return high


def _peaks(magnitude: Signal, size: int) -> Signal:
    """Return the highest value of each block."""
    peaks: Signal = np.maximum.reduceat(magnitude, np.arange(0, len(magnitude), size))
    return peaks


def _speech_peak(high: Signal, rate: int) -> float:
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


def _bumps(samples: Signal, rate: int, lowest: float) -> list[int]:
    """Return where bumps are highest, in frames, in order."""
    size = round(BUMP_BLOCK_SECONDS * rate)
    places: list[int] = []
    for hertz, before, after in BUMP_BANDS:
        magnitude = np.abs(_low(samples, rate, hertz)).max(axis=1)
        peaks = _peaks(magnitude, size)
        for block in _falling(peaks, lowest):
            if any(abs(block * size - place) < BETWEEN_BUMPS_SECONDS * rate for place in places):
                continue
            sides = _sides(peaks, block, size / rate, before, after)
            around = max((float(np.percentile(side, AROUND_PERCENT)) for side in sides), default=0.0)
            if peaks[block] >= around * ratio_from_db(BUMP_CONTRAST_DB):
                places.append(_highest_in(magnitude, block, size))
    return sorted(places)


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


class _BumpModel:
    """Bumps and speech below 500 Hz, for the windows of one clip.

    A Gaussian model: a bump is a weighted sum of the atoms of one family, shifted to one onset; speech is noise with
    the usual spectrum of the clip. The family and the onset are those of the greatest evidence (Rasmussen and
    Williams, Gaussian Processes for Machine Learning, 2006, section 2.7).
    """

    def __init__(self, centred: Signal, rate: int) -> None:
        """Take the samples of the clip without DC."""
        self.rate = rate
        self.spectra = _spectra()
        self.correlation = self._correlation(centred)
        self.share = self._share()

    def window(self, samples: Signal, place: int) -> Signal:
        """Return the window around a place, with zeros where the clip has ended."""
        start = place - round(LEAD_SECONDS * self.rate)
        window = np.zeros((WINDOW_SECONDS * self.rate, samples.shape[1]))
        first, last = max(start, 0), min(start + len(window), len(samples))
        window[first - start : last - start] = samples[first:last]
        return window

    def fitted(self, window: Signal, first: int, last: int) -> tuple[_Fit, Signal]:
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
        factor = cholesky(self._speech(slow - taken, peak, first, last), lower=True)
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
        prior = toeplitz(np.exp(-0.5 * (np.pi * REST_HZ * lags) ** 2)) * envelope[:, np.newaxis] * envelope
        both = prior + self._speech(left, np.abs(left + taken).max(), first, last)
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
            slow = _slowed(self.window(centred, start + round(LEAD_SECONDS * self.rate)))
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


def _without_bump(samples: Signal, place: int, model: _BumpModel) -> _Repair | None:
    """Subtract the bump at a place from the samples; None where the model takes next to nothing."""
    rate = model.rate
    start = place - round(LEAD_SECONDS * rate)
    first = max(round(SEEN_SECONDS[0] * SLOW_RATE), -(start * SLOW_RATE // rate))
    last = min(round(SEEN_SECONDS[1] * SLOW_RATE), (len(samples) - start) * SLOW_RATE // rate)
    fit, rest = model.fitted(model.window(samples - samples.mean(axis=0), place), first, last)
    bump = _quickened(rest, WINDOW_SECONDS * rate)
    onset = round(fit.onset * rate)
    bump[onset:] += (_atoms(fit.family, rate) @ fit.weights)[: len(bump) - onset]

    loud = np.flatnonzero(np.abs(bump).max(axis=1) > REPAIR_ENDS * np.abs(bump).max())
    fade = round(FADE_SECONDS * rate)
    begin, end = max(int(loud[0]), onset - fade), min(int(loud[-1]) + 1, last * rate // SLOW_RATE)
    if min(end, len(samples) - start) <= max(begin, -start):
        return None  # at the very end of a clip the best model may lie outside of it
    ramp = 0.5 + 0.5 * np.cos(np.pi * (np.arange(fade) + 0.5) / fade)
    if begin < onset:
        bump[begin:onset] *= ramp[::-1][fade - (onset - begin) :, np.newaxis]
    fade = min(fade, end - begin)
    bump[end - fade : end] *= ramp[len(ramp) - fade :, np.newaxis]

    begin, end = max(begin, -start), min(end, len(samples) - start)
    around = slice(max(start + begin - rate // 4, 0), start + end + rate // 4)
    inside = slice(start + begin - around.start, start + end - around.start)
    mended = samples[around].copy()
    mended[inside] -= bump[begin:end]
    before, after = (float(np.abs(_low(part, rate)[inside]).max()) for part in (samples[around], mended))
    if after > before * ratio_from_db(-LEAST_TAKEN_DB):
        return None
    samples[around] = mended
    return _Repair("bump", start + begin, start + end, db_from_ratio(before / max(after, before * LEAST_RATIO)))


def _clicks_in_pauses(magnitude: Signal, rate: int, lowest: float, ceiling: float) -> list[Span]:
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


def _room_tone(samples: Signal, clip: Clip, first: int, last: int) -> Signal:
    """Return the clip's room tone for a span, cross-faded at equal power; silence where it has none."""
    fade = min(round(CLICK_FADE_SECONDS * clip.rate), (last - first) // 2)
    seed = int(generator_of(clip).integers(2**32))
    try:
        # Seeded by the place too, so that no two clicks leave the same noise.
        tone = room_tone(clip, last - first, np.random.default_rng([seed, first])).samples
    except ClipError:
        tone = np.zeros((last - first, clip.channels))
    rising = np.sin((np.arange(fade) + 0.5) / max(fade, 1) * np.pi / 2)
    weight = np.concatenate([rising, np.ones(last - first - 2 * fade), rising[::-1]])[:, np.newaxis]
    faded: Signal = weight * tone + np.sqrt(1 - weight**2) * samples[first:last]
    return faded


def _clicks_in_speech(high: Signal, rate: int, over: float) -> list[Span]:
    """Return the spans in which linear prediction fails by far more than at the edges of speech, in order."""
    if not high.any():
        return []
    error = _prediction_error(high, rate)
    size = max(round(CLICK_BLOCK_SECONDS * rate), 1)
    peaks = _peaks(error, size)
    most = round(LONGEST_GAP_SECONDS * rate)
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


def _bridge(samples: Signal, rate: int, first: int, last: int) -> Signal:
    """Return a span interpolated from what is around it, each channel by itself."""
    reach = round(CONTEXT_SECONDS * rate)
    start, end = max(first - reach, 0), min(last + reach, len(samples))
    order = round(BRIDGE_ORDER_SECONDS * rate)
    channels = [
        _interpolated(samples[start:end, channel], slice(first - start, last - start), order)
        for channel in range(samples.shape[1])
    ]
    return np.stack(channels, axis=1)


def _interpolated(signal: Signal, gap: slice, order: int) -> Signal:
    """Return the gap of a signal by least-squares autoregressive interpolation (Janssen et al. 1986)."""
    from scipy.linalg import convolution_matrix, solve_toeplitz

    piece, places = signal.copy(), np.arange(len(signal))
    known = np.ones(len(signal), bool)
    known[gap] = False
    piece[gap] = np.interp(places[gap], places[known], signal[known])
    order = min(order, len(signal) // 4)
    window = np.hanning(len(signal) + 2)[1:-1]
    for _ in range(BRIDGE_ROUNDS):
        windowed = piece * window
        correlation = np.correlate(windowed, windowed, "full")[len(signal) - 1 :][: order + 1]
        if order == 0 or correlation[0] <= 0:
            break
        correlation[0] *= 1 + 1e-6
        predictor = np.concatenate([[1.0], -solve_toeplitz(correlation[:-1], correlation[1:])])
        errors = convolution_matrix(predictor, len(signal), "full")[order : len(signal)]
        piece[gap] = np.linalg.lstsq(errors[:, gap], -errors[:, known] @ piece[known], rcond=None)[0]
    filled: Signal = piece[gap]
    return filled
