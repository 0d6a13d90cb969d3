"""denoise: less noise under the voice, by at most so many decibels, and nothing else.

What the denoiser takes away is brought back to the clip's own rate and subtracted from the clip. What is weaker than
speech loses as much at every frequency, so that the noise of pauses keeps its colour. A sound that stands out of this
noise, a breath, a lip, a swallow, is part of a voice: it loses no more than 2 dB, whatever the denoiser makes of it.
What the voice itself loses is given back as one gain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from prep import deepfilter, level
from prep.bibliography import DEEPFILTERNET, Reference, cite
from prep.errors import ClipError, RefusedError
from prep.pauses import (
    ACTIVE_MARGIN_DB,
    BLOCK_SECONDS,
    FRAME_BLOCKS,
    HIGH_PASS_HZ,
    SHORTEST_QUIET_SECONDS,
    active_power,
    digital_zeros,
    noise_floor_dbfs,
    parts,
    runs,
)
from prep.prose import clips_with, sentence
from prep.stage import Applied, FitsOn, Measured, Rejected, Stage, Value
from prep.units import db_from_ratio, ratio_from_db

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prep.clip import Clip, Signal
    from prep.stage import Account
    from prep.units import Decibels, Hertz

NOISEREDUCE = Reference(
    "sainburg2020noisereduce",
    "article",
    {
        "author": "Sainburg, Tim and Thielk, Marvin and Gentner, Timothy Q.",
        "title": "Finding, visualizing, and quantifying latent structure across diverse animal vocal repertoires",
        "journal": "{PLoS} Computational Biology",
        "volume": "16",
        "number": "10",
        "pages": "e1008228",
        "year": "2020",
        "doi": "10.1371/journal.pcbi.1008228",
    },
)

Selection = dict[str, str | list[str]]

FRAME_SECONDS = 0.02  # of what is taken away more or less: no click, and shorter than a breath
# A breath is told where it is loud and rooms are not, and by its length; the mean of steady noise over 60 ms stays
# within 2 dB.
BREATH_HZ, STEADY_SECONDS, LASTING_DB = 1000.0, 0.06, 2.0
BREATH_SECONDS, BREATH_AND_EDGES_SECONDS = 0.12, 0.27  # as long it lasts at least; so wide it is spared
STANDS_OUT_DB = 6.0  # over the floor of the clip; 20 ms of most steady noise stay below
SPECTRAL_GATE_SECONDS = 0.032  # a window of the gate
GATE_SMOOTHING_HZ = 500.0  # as noisereduce has it
SHORTEST_PROFILE_SECONDS = 0.1  # of quiet that the gate learns the noise from
# 16 bits with dither have -93 dBFS: what is there is the file's, and another sample type has another.
NO_NOISE_DBFS = -90.0
SMALLEST_GAIN = 1e-3  # of a voice: what is quieter than 60 dB below itself is gone


class FloorMeasure(Value):
    """What fit needs of one clip."""

    floor_db: float | None = Field(description="floor of the pauses over the active level, dB; none without a pause")


class FloorFit(Value):
    """The floor below which no pause is pushed."""

    floor_db: float = Field(description="median floor of the rows of `floor_towards` over the active level, dB")
    clips: int = Field(description="clips that the median is taken over, count")


class Denoise(Stage[FloorMeasure, FloorFit | None]):
    """Take noise off the voice, by at most so many decibels; breaths and the band of the clip stay.

    DeepFilterNet 3 (Schröter et al. 2023), or a spectral gate (noisereduce; Sainburg et al. 2020) that learns the
    noise from the clip's own pauses. Channels are treated one by one; the gain that gives the voice its level back is
    one for all.
    """

    NAME: ClassVar[str] = "denoise"
    VERSION: ClassVar[int] = 3
    REFERENCES: ClassVar[tuple[Reference, ...]] = (DEEPFILTERNET, NOISEREDUCE)
    MEASURES: ClassVar[type[Value] | None] = FloorMeasure
    FITS: ClassVar[type[Value] | None] = FloorFit
    EXPENSIVE: ClassVar[bool] = True
    MOVES: ClassVar[tuple[str, ...]] = ("tilt", "noise_floor", "head_silence", "tail_silence")

    method: Literal["deepfilter", "spectral_gate"] = Field(default="deepfilter", description="which denoiser; no unit")
    max_attenuation_db: float = Field(default=18.0, gt=0, le=60, description="most that noise is lowered, dB")
    breath_loss_db: float = Field(
        default=2.0,
        ge=0,
        description="most that a sound weaker than speech loses, 2 dB over the noise or more above 1 kHz, dB",
    )
    max_level_loss_db: float = Field(
        default=3.0, gt=0, description="loss of level of the voice beyond which a clip is rejected, dB"
    )
    floor_towards: Selection | None = Field(
        default=None,
        description="rows whose median noise floor, relative to their speech, no clip is pushed below: "
        "{column: value or list of values}; no unit",
    )

    def fits_on(self) -> FitsOn:
        """Return "labels" where a condition's floor is the bound."""
        return "labels" if self.floor_towards else "nothing"

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return which denoiser took how much noise off whom, and what bounded it."""
        step, fit = account.parameters, account.release
        how = {
            "deepfilter": f"DeepFilterNet 3 {cite(DEEPFILTERNET)}",
            "spectral_gate": f"a spectral gate that learns the noise from the clip's own pauses {cite(NOISEREDUCE)}",
        }[step["method"]]
        bound = (
            f" No pause was to be pushed below {fit['floor_db']:.1f} dB relative to the clip's speech, the median "
            f"noise floor of {clips_with(step.get('floor_towards'))}."
            if fit and step.get("floor_towards")
            else ""
        )
        return (
            f"{sentence(account.whom)} were denoised by {how}, which lowered noise by at most "
            f"{step['max_attenuation_db']:g} dB; sounds weaker than speech, breaths among them, were to lose no more "
            f"than {step['breath_loss_db']:g} dB, and the level of the voice was restored.{bound}"
        )

    def models(self) -> Sequence[str]:
        """Return DeepFilterNet where it is used."""
        return (deepfilter.MODEL,) if self.method == "deepfilter" else ()

    def selections(self) -> Sequence[tuple[str, Selection]]:
        """Return `only` and `floor_towards`."""
        given = (("only", self.only), ("floor_towards", self.floor_towards))
        return [(name, chosen) for name, chosen in given if chosen]

    def measure(self, clip: Clip) -> FloorMeasure:
        """Return the clip's noise floor relative to its speech; none where it has no pause."""
        return FloorMeasure(floor_db=_floor_db(clip))

    def fit(self, measured: Sequence[Measured[FloorMeasure]]) -> FloorFit:
        """Return the median floor of the rows of `floor_towards`.

        Raises:
            RefusedError: none of them has one.
        """
        floors = [
            item.value.floor_db
            for item in measured
            if item.row.selected_by(self.floor_towards) and item.value.floor_db is not None
        ]
        if not floors:
            raise RefusedError(
                "denoise: no clip of `floor_towards` has a pause whose noise could be measured; name other rows"
            )
        return FloorFit(floor_db=float(np.median(floors)), clips=len(floors))

    def apply(self, clip: Clip, fit: FloorFit | None) -> Applied | Rejected:
        """Return the clip with its noise attenuated; the notes say by how much it was asked and what it lost.

        Raises:
            ClipError: it is not finite, its band is wider than the denoiser's, or it has no noise to learn from.
        """
        clip.check_finite()
        floor = _floor_db(clip)
        most_db = self._attenuation_db(clip, floor, fit)
        notes: dict[str, Any] = {"max_attenuation_db": most_db, "floor_before_db": floor}
        if not clip.samples.any():
            return Applied(clip, notes | {"warning": "it is silent and was left as it is"})
        if most_db <= 0:
            return Applied(clip, notes)
        channels = [clip.with_samples(clip.samples[:, [channel]]) for channel in range(clip.channels)]
        removed = np.stack([self._removed(channel, most_db) for channel in channels], axis=1)
        # Where the source is digital zero, nothing is made up.
        treated = clip.with_samples(np.where(digital_zeros(clip), 0.0, clip.samples - removed))
        lost_db = _lost_db(clip, treated)
        if lost_db > self.max_level_loss_db:
            reason = (
                f"denoising takes {lost_db:.2f} dB off its voice: it takes voice for noise; lower "
                "max_attenuation_db, or leave the clip out"
            )
            return Rejected(reason, lost_db, self.max_level_loss_db)
        treated = level.gain(treated, max(lost_db, 0.0))
        return Applied(treated, notes | {"floor_after_db": _floor_db(treated), "gain_restored_db": max(lost_db, 0.0)})

    def _attenuation_db(self, clip: Clip, floor: Decibels | None, fit: FloorFit | None) -> Decibels:
        """Return the most that this clip's noise may be lowered."""
        if fit is None:
            return self.max_attenuation_db
        if floor is None:
            # Nothing in it is that far below its speech; where even this cannot be said, it is left alone.
            floor = -ACTIVE_MARGIN_DB if _has_parts(clip) else fit.floor_db
        return float(np.clip(floor - fit.floor_db, 0.0, self.max_attenuation_db))

    def _removed(self, channel: Clip, most_db: Decibels) -> Signal:
        """Return what goes of a channel, (frames,)."""
        if not channel.samples.any():
            return np.zeros(channel.frames)
        if self.method == "spectral_gate":
            found = _gated_away(channel, most_db)
        else:
            found = deepfilter.taken_away(channel, most_db, "use method: spectral_gate")[:, 0]
        return _alike(channel, found, most_db, min(self.breath_loss_db, most_db))


def _has_parts(clip: Clip) -> bool:
    """Say whether speech can be told from quiet."""
    try:
        return bool(parts(clip))
    except ClipError:
        return False


def _floor_db(clip: Clip) -> Decibels | None:
    """Return the floor of a clip's pauses over its active level; None where either is not defined."""
    active = level.active_level(clip)
    try:
        return None if active is None else noise_floor_dbfs(clip) - active.active_level_dbov
    except ClipError:
        return None


def _gated_away(channel: Clip, most_db: Decibels) -> Signal:
    """Return what a spectral gate takes away from a channel, the noise learned from its own quiet; nothing of dither.

    Raises:
        ClipError: it has too little.
    """
    from noisereduce import reduce_noise

    signal, quiet = channel.mono(), _quiet(channel)
    if len(quiet) < SHORTEST_PROFILE_SECONDS * channel.rate:
        raise ClipError(
            f"denoise: {len(quiet) / channel.rate:.3f} s of it are quiet, and the gate learns the noise from "
            f"{SHORTEST_PROFILE_SECONDS:g} s or more; use method: deepfilter"
        )
    if np.mean(np.square(quiet)) < 10 ** (NO_NOISE_DBFS / 10):
        return np.zeros(len(signal))
    window = 2 ** round(np.log2(SPECTRAL_GATE_SECONDS * channel.rate))
    gated = reduce_noise(
        y=signal,
        sr=channel.rate,
        y_noise=quiet,
        stationary=True,
        prop_decrease=1 - ratio_from_db(-most_db),
        n_fft=window,
        freq_mask_smooth_hz=GATE_SMOOTHING_HZ,
        # Longer than the clip, so that it is never treated in pieces.
        chunk_size=len(signal) + 1,
        padding=window,
    )
    # Its mask is smoothed as if it were 0 below 0 Hz and above the band: up to 6 dB are lost there, pitch too.
    spectrum = np.fft.rfft(np.asarray(gated, dtype=np.float64)[: len(signal)])
    covered = _covered(window, channel.rate)
    places = np.linspace(0, len(covered) - 1, len(spectrum))
    away: Signal = signal - np.fft.irfft(spectrum / np.interp(places, np.arange(len(covered)), covered), len(signal))
    return away


def _covered(window: int, rate: int) -> Signal:
    """Return the share of noisereduce's smoothing of a mask that lies inside the band, at each bin of a window."""
    bins = int(GATE_SMOOTHING_HZ / (rate / (window / 2)))
    triangle = np.concatenate([np.arange(bins + 1), np.arange(bins + 1, -1, -1)])[1:-1] / (bins + 1)
    share: Signal = np.convolve(np.ones(window // 2 + 1), triangle / triangle.sum(), mode="same")
    return share


def _quiet(channel: Clip) -> Signal:
    """Return the samples of a channel's quiet parts, one after the other; noise as loud as weak speech counts too.

    Raises:
        ClipError: speech and quiet cannot be told apart.
    """
    found = parts(channel)
    below = found.frame_power < max(found.threshold, found.floor * 10 ** (STANDS_OUT_DB / 10))
    quiet = runs(below)
    quiet[:, 0] += FRAME_BLOCKS - 1  # what only quiet frames contain
    quiet = quiet[(quiet[:, 1] - quiet[:, 0]) * BLOCK_SECONDS >= SHORTEST_QUIET_SECONDS]
    edges = np.rint(found.starts_seconds * channel.rate).astype(np.intp)
    return np.concatenate([np.empty(0), *(channel.mono()[edges[first] : edges[last]] for first, last in quiet)])


def _alike(channel: Clip, removed: Signal, most_db: Decibels, breath_db: Decibels) -> Signal:
    """Return (frames,) what goes when sounds weaker than speech lose as much at every frequency.

    So the noise in pauses keeps its colour, and a sound that stands out of it loses no more than `breath_db`.
    """
    try:
        found = parts(channel)
    except ClipError:
        return removed
    signal = channel.mono()
    frame, breath = (max(round(seconds * channel.rate), 1) for seconds in (FRAME_SECONDS, BREATH_AND_EDGES_SECONDS))
    power, left = (
        np.maximum(_smooth(np.square(_high_passed(sound, HIGH_PASS_HZ, channel.rate)), frame), 1e-20)
        for sound in (signal, signal - removed)
    )
    weak = power < found.active * 10 ** (-ACTIVE_MARGIN_DB / 10)
    stands_out = weak & (power > found.floor * 10 ** (STANDS_OUT_DB / 10))
    spared = np.maximum(_spread(stands_out, frame, frame), _spread(_lasting(channel, weak), breath, frame))
    least, most = ratio_from_db(-most_db), ratio_from_db(-breath_db)
    gain = np.clip(np.sqrt(left / power), least + spared * (most - least), 1)
    away: Signal = removed + _spread(weak, frame, frame) * ((1 - gain) * signal - removed)
    return away


def _lasting(channel: Clip, weak: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the middles, (frames,), of sounds among what is weak that last as a breath does, told above 1 kHz."""
    from scipy.ndimage import minimum_filter1d

    airy = channel.with_samples(_high_passed(channel.mono(), BREATH_HZ, channel.rate)[:, np.newaxis])
    try:
        floor = parts(airy).floor
    except ClipError:
        return np.zeros_like(weak)
    steady, breath = (max(round(seconds * channel.rate), 1) for seconds in (STEADY_SECONDS, BREATH_SECONDS))
    # Only of what is weak, so that no speech reaches into the pause beside it.
    air = _smooth(np.square(airy.mono()) * weak, steady) / np.maximum(_smooth(weak, steady), 1 / steady)
    lasting: NDArray[np.bool_] = minimum_filter1d(weak & (air > floor * 10 ** (LASTING_DB / 10)), breath)
    return lasting


def _high_passed(signal: Signal, hz: Hertz, rate: int) -> Signal:
    """Return a signal, (frames, ...), without what is below some frequency; as it is where its rate holds no more."""
    from scipy.signal import butter, sosfilt

    if 2 * hz >= rate:
        return signal
    passed: Signal = sosfilt(butter(2, hz, "highpass", fs=rate, output="sos"), signal, axis=0)
    return passed


def _spread(mask: NDArray[np.bool_], width: int, frames: int) -> Signal:
    """Return 1 about where a mask is true, fading over some frames: it is 0.5 at half a width from there."""
    from scipy.ndimage import maximum_filter1d

    return _smooth(maximum_filter1d(mask.astype(np.float64), width), frames)


def _smooth(values: Signal | NDArray[np.bool_], frames: int) -> Signal:
    """Return a moving mean over some frames, of the same length."""
    from scipy.ndimage import uniform_filter1d

    smooth: Signal = uniform_filter1d(np.asarray(values, dtype=np.float64), frames, mode="nearest")
    return smooth


def _lost_db(before: Clip, after: Clip) -> Decibels:
    """Return by how much the voice became quieter.

    Where what is left is as loud as active speech it is nearly all voice: of x = v + n it is y = g v, so that
    <y, y> / <x, y> is g. Active level itself would not do: it falls with the noise under the voice.
    """
    frame = min(max(round(FRAME_SECONDS * before.rate), 1), before.frames)
    whole = before.frames // frame * frame
    x, y = (
        _high_passed(clip.samples.astype(np.float64), HIGH_PASS_HZ, clip.rate)[:whole].reshape(
            -1, frame * clip.channels
        )
        for clip in (before, after)
    )
    power = np.square(y).sum(axis=1)
    loud = power >= active_power(power)
    shared = max(float(np.vdot(x[loud], y[loud])), 1e-20)
    return -db_from_ratio(max(float(power[loud].sum()) / shared, SMALLEST_GAIN))
