"""denoise: less noise under the voice, by at most so many decibels, and nothing else.

What the denoiser takes away is brought back to the clip's own rate and subtracted from the clip, so that what the
denoiser cannot hear (above its band) stays as it was. A sound that stands out of the noise of its pause, a breath, a
lip, a swallow, is part of a voice: it loses no more than 2 dB, whatever the denoiser makes of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from prep import audio, deepfilter, level
from prep.errors import ClipError, RefusedError
from prep.pauses import noise_floor_dbfs, parts
from prep.stage import Applied, FitsOn, Measured, Rejected, Stage, Value
from prep.units import ratio_from_db

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.clip import Clip, Signal
    from prep.units import Decibels

Selection = dict[str, str | list[str]]

SMOOTHING_SECONDS = 0.02  # of what is taken away more or less: no click, and shorter than a breath
STANDS_OUT_DB = 6.0  # over the floor of the pauses; 20 ms of steady noise stay below
SPECTRAL_GATE_SECONDS = 0.032  # a window of the gate
SHORTEST_PROFILE_SECONDS = 0.1  # of quiet that the gate learns the noise from


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
    noise from the clip's own pauses. Channels are treated one by one.
    """

    NAME: ClassVar[str] = "denoise"
    MEASURES: ClassVar[type[Value] | None] = FloorMeasure
    FITS: ClassVar[type[Value] | None] = FloorFit
    EXPENSIVE: ClassVar[bool] = True

    method: Literal["deepfilter", "spectral_gate"] = Field(default="deepfilter", description="which denoiser; no unit")
    max_attenuation_db: float = Field(default=12.0, gt=0, le=60, description="most that noise is lowered, dB")
    breath_loss_db: float = Field(
        default=2.0, ge=0, description="most that a sound loses which stands 6 dB over the noise of its pause, dB"
    )
    max_level_loss_db: float = Field(
        default=1.0,
        gt=0,
        description="loss of active level (RMS where it has none) beyond which a clip is rejected, dB",
    )
    floor_towards: Selection | None = Field(
        default=None,
        description="rows whose median noise floor, relative to their speech, no clip is pushed below: "
        "{column: value or list of values}; no unit",
    )

    def fits_on(self) -> FitsOn:
        """Return "labels" where a condition's floor is the bound."""
        return "labels" if self.floor_towards else "nothing"

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
        if not np.isfinite(clip.samples).all():
            raise ClipError("has samples that are not finite; export the source again")
        floor = _floor_db(clip)
        most_db = self._attenuation_db(floor, fit)
        notes: dict[str, Any] = {"max_attenuation_db": most_db, "floor_before_db": floor}
        if most_db <= 0 or not clip.samples.any():
            return Applied(
                clip, notes | {"warning": "" if clip.samples.any() else "it is silent and was left as it is"}
            )
        removed = np.stack([self._removed(clip, channel, most_db) for channel in range(clip.channels)], axis=1)
        kept = clip.samples - removed * _share(clip, removed, self.breath_loss_db)[:, np.newaxis]
        # Where the source is digital zero, nothing is made up.
        treated = clip.with_samples(np.where(clip.samples == 0, 0.0, kept))
        lost_db = _lost_db(clip, treated)
        if lost_db is not None and lost_db > self.max_level_loss_db:
            reason = f"denoising takes {lost_db:.2f} dB of its active level: it takes voice for noise"
            return Rejected(reason, lost_db, self.max_level_loss_db)
        return Applied(treated, notes | {"floor_after_db": _floor_db(treated), "active_level_lost_db": lost_db})

    def _attenuation_db(self, floor: Decibels | None, fit: FloorFit | None) -> Decibels:
        """Return the most that this clip's noise may be lowered."""
        if fit is None or floor is None:
            return self.max_attenuation_db
        return float(np.clip(floor - fit.floor_db, 0.0, self.max_attenuation_db))

    def _removed(self, clip: Clip, channel: int, most_db: Decibels) -> Signal:
        """Return what the denoiser takes away from a channel, at the clip's rate."""
        signal = clip.samples[:, channel].astype(np.float64)
        if self.method == "spectral_gate":
            return _gated_away(clip, signal, most_db)
        if clip.rate > deepfilter.RATE_HZ:
            raise ClipError(
                f"denoise: DeepFilterNet hears up to {deepfilter.RATE_HZ / 2000:g} kHz, and {clip.rate} Hz is more: "
                "noise above would stay alone; bring the source at 48000 Hz or less, or use method: spectral_gate"
            )
        whole = audio.resample(clip.with_samples(signal[:, np.newaxis]), deepfilter.RATE_HZ)
        heard = whole.mono()
        away = whole.with_samples((heard - deepfilter.enhance(heard, most_db))[:, np.newaxis])
        back = np.zeros(clip.frames)
        found = audio.resample(away, clip.rate).mono()[: clip.frames]
        back[: len(found)] = found
        return back


def _floor_db(clip: Clip) -> Decibels | None:
    """Return the floor of a clip's pauses over its active level; None where either is not defined."""
    active = level.active_level(clip)
    try:
        return None if active is None else noise_floor_dbfs(clip) - active.active_level_dbov
    except ClipError:
        return None


def _gated_away(clip: Clip, signal: Signal, most_db: Decibels) -> Signal:
    """Return what a spectral gate takes away, its noise learned from the clip's pauses.

    Raises:
        ClipError: there are no pauses.
    """
    from noisereduce import reduce_noise

    edges = np.rint(parts(clip).starts_seconds * clip.rate).astype(np.intp)
    pieces = [signal[edges[first] : edges[last]] for first, last in parts(clip).quiet]
    quiet = np.concatenate([np.empty(0), *pieces])
    if len(quiet) < SHORTEST_PROFILE_SECONDS * clip.rate:
        raise ClipError(
            f"denoise: it has {len(quiet) / clip.rate:.2f} s of pauses, and the gate learns the noise from "
            f"{SHORTEST_PROFILE_SECONDS:g} s or more; use method: deepfilter"
        )
    window = 2 ** round(np.log2(SPECTRAL_GATE_SECONDS * clip.rate))
    gated = reduce_noise(
        y=signal,
        sr=clip.rate,
        y_noise=quiet,
        stationary=True,
        prop_decrease=1 - ratio_from_db(-most_db),
        n_fft=window,
        # Longer than the clip, so that it is never treated in pieces.
        chunk_size=len(signal) + 1,
        padding=window,
    )
    away: Signal = signal - np.asarray(gated, dtype=np.float64)[: len(signal)]
    return away


def _share(clip: Clip, removed: Signal, most_loss_db: Decibels) -> Signal:
    """Return (frames,) the share of what is removed that really goes: less where a sound would lose too much."""
    frame = max(round(SMOOTHING_SECONDS * clip.rate), 1)
    before, after = (
        _smooth(np.square(samples).mean(axis=1), frame) for samples in (clip.samples, clip.samples - removed)
    )
    try:
        floor = 10 ** (noise_floor_dbfs(clip) / 10)
    except ClipError:
        floor = 0.0
    stands_out = before > floor * 10 ** (STANDS_OUT_DB / 10)
    kept = np.sqrt(np.maximum(after, 0) / np.maximum(before, 1e-20))
    least = ratio_from_db(-most_loss_db)
    # An amplitude of 1 - share * (1 - kept) is left: as much as the least that a sound may keep.
    wanted = np.where(stands_out & (kept < least), (1 - least) / np.maximum(1 - kept, 1e-9), 1.0)
    return _smooth(np.minimum(wanted, 1.0), frame)


def _smooth(values: Signal, frames: int) -> Signal:
    """Return a moving mean over some frames, of the same length."""
    from scipy.ndimage import uniform_filter1d

    smooth: Signal = uniform_filter1d(np.asarray(values, dtype=np.float64), frames, mode="nearest")
    return smooth


def _lost_db(before: Clip, after: Clip) -> Decibels | None:
    """Return by how much the speech became quieter: its active level, or its RMS where it has none."""
    levels = [level.active_level(clip) for clip in (before, after)]
    if levels[0] is not None and levels[1] is not None:
        return levels[0].active_level_dbov - levels[1].active_level_dbov
    rms = [level.rms_dbfs(clip) for clip in (before, after)]
    return None if rms[0] is None or rms[1] is None else rms[0] - rms[1]
