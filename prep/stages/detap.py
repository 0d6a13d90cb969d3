"""detap: taps on the microphone or the table and clicks of handling taken out, and nothing else touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from prep.bibliography import Reference, cite
from prep.bump_model import BumpModel
from prep.errors import ClipError
from prep.prose import counted, sentence
from prep.room_tone import generator_of, room_tone
from prep.stage import Applied, Notes, Stage
from prep.taps import (
    CLICK_CONTRAST_DB,
    bumps,
    clicks_in_pauses,
    clicks_in_speech,
    high_band,
    low_band,
    speech_peak,
)
from prep.units import db_from_ratio, ratio_from_db

if TYPE_CHECKING:
    from prep.clip import Clip, Signal
    from prep.stage import Account
    from prep.units import Decibels

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

LOWEST_RATE_HZ = 2000
LEAST_RATIO = 1e-5  # so that the decibels of a full repair stay finite

PASSES = 3  # a weaker tap may hide in the first

LEAST_TAKEN_DB = 3.0  # of the energy below 140 Hz; a second tap may be left for the next pass

MOUTH_CLICK_DB = -30.0  # clicks of lips and tongue lie 20 to 30 dB below the peaks of speech
LONGEST_GAP_SECONDS = 0.006  # over which a prediction holds; a longer gap gets room tone
CLICK_FADE_SECONDS = 0.001

SPEECH_CLICK_PEAK_DB = 0.0  # what is taken away, relative to the peaks of speech
LEAST_SUNK_DB = 3.0  # of the highest value: an edge of speech is foretold as high as it is

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

    A bump comes near the peaks of the clip's speech and stands 6 dB over what is before and after it: below 140 Hz, so
    that a low voice is none, or below 40 Hz, where there is no voice. A model of bumps (damped oscillations from one
    onset, and anything below the voice) is fitted together with the usual spectrum of the clip's own speech, and what
    it takes is subtracted. A click in a pause comes near the peaks of speech and has fallen by 15 dB within 18 ms;
    autoregressive interpolation (Janssen, Veldhuis and Vries, IEEE Trans. ASSP 34, 1986) bridges up to 6 ms, the clip's
    own room tone is put in place of more. A click in speech is an isolated error of linear prediction, and is bridged.
    `mouth_clicks` takes out weaker clicks in pauses too. All channels are repaired in the same spans, each by itself;
    outside of these the samples stay as they are.
    """

    NAME: ClassVar[str] = "detap"
    VERSION: ClassVar[int] = 2
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
            speech = speech_peak(high_band(samples, rate), rate)
            places = bumps(samples, rate, speech * ratio_from_db(self.bump_level_db))
            if not places:
                break
            model = BumpModel(samples - samples.mean(axis=0), rate)
            found = [repair for place in places if (repair := _without_bump(samples, place, model))]
            if not found:
                break
            repairs += found
        return repairs

    def _without_pause_clicks(self, samples: Signal, clip: Clip) -> list[_Repair]:
        high = high_band(samples, clip.rate)
        speech = speech_peak(high, clip.rate)
        level = min(self.click_level_db, MOUTH_CLICK_DB) if self.mouth_clicks else self.click_level_db
        lowest, ceiling = speech * ratio_from_db(level), speech * ratio_from_db(-CLICK_CONTRAST_DB)
        repairs = []
        for first, last in clicks_in_pauses(np.abs(high).max(axis=1), clip.rate, lowest, ceiling):
            bridged = last - first <= LONGEST_GAP_SECONDS * clip.rate
            new = _bridge(samples, clip.rate, first, last) if bridged else _room_tone(samples, clip, first, last)
            repairs.append(_repaired("click in a pause", samples, first, last, new))
        return repairs

    def _without_speech_clicks(self, samples: Signal, rate: int) -> list[_Repair]:
        high = high_band(samples, rate)
        least = speech_peak(high, rate) * ratio_from_db(SPEECH_CLICK_PEAK_DB)
        repairs = []
        for first, last in clicks_in_speech(high, rate, ratio_from_db(self.speech_click_db)):
            new = _bridge(samples, rate, first, last)
            old, taken, left = (
                float(np.abs(part).max()) for part in (samples[first:last], samples[first:last] - new, new)
            )
            if taken >= least and left <= old * ratio_from_db(-LEAST_SUNK_DB):
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


def _without_bump(samples: Signal, place: int, model: BumpModel) -> _Repair | None:
    """Subtract the bump at a place from the samples; None where the model takes next to nothing."""
    found = model.bump(samples, place)
    if found is None:
        return None
    first, bump = found
    last, margin = first + len(bump), model.rate // 4
    around = slice(max(first - margin, 0), last + margin)
    inside = slice(first - around.start, last - around.start)
    mended = samples[around].copy()
    mended[inside] -= bump
    lows = [low_band(part, model.rate)[inside] for part in (samples[around], mended)]
    energy_before, energy_after = (float(np.sum(np.square(low))) for low in lows)
    if energy_after > energy_before * 10 ** (-LEAST_TAKEN_DB / 10):
        return None
    before, after = (float(np.abs(low).max()) for low in lows)
    samples[around] = mended
    return _Repair("bump", first, last, db_from_ratio(before / max(after, before * LEAST_RATIO)))


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
