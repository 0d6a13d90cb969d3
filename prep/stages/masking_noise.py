"""masking_noise: one noise floor under every clip, as loud as that of the noisier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from prep.errors import ClipError, RefusedError
from prep.level import active_level, integrated_lufs, why_no_active_level
from prep.pauses import parts
from prep.prose import clips_with, counted, sentence
from prep.room_tone import floor_levels_db, generator_of
from prep.spectrum import FIR_SECONDS, SHAPE_BAND_HZ, filter_zero_phase, fir_from_gain, third_octave_centres
from prep.stage import Applied, FitsOn, Measured, Notes, Stage, Value
from prep.units import db_from_power

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.clip import Clip, Signal
    from prep.stage import Account
    from prep.units import Decibels, Hertz

Selection = dict[str, str | list[str]]
RelativeTo = Literal["full scale", "lufs", "dbov"]

LEAST_ADDED_DB = -40.0  # relative to the floor: less would change no band by a thousandth of a decibel
# The noise ends below half the lowest rate of the set, so that every clip can hold all of it.
HIGHEST_SHARE_OF_NYQUIST = 0.97
LOWEST_HZ = 50.0  # below is rumble, which high_pass takes out
BEYOND_DB = -100.0
SAME_FLOOR_DB = 3.0  # noise of equal power on top of a floor raises it by this much
AUDIBLE_SNR_DB = 30.0


class MaskingMeasure(Value):
    """What fit needs of one clip."""

    levels_db: tuple[float, ...] = Field(
        description="density of its noise in each third octave from 100 Hz, relative to the reference, dB"
    )
    rate: int = Field(description="sampling rate of the clip, Hz")
    speech_db: float = Field(description="active speech level of the clip, relative to the reference, dB")


class MaskingFit(Value):
    """The floor under every clip."""

    centres_hz: tuple[float, ...] = Field(description="centres of the third octaves, Hz")
    levels_db: tuple[float, ...] = Field(description="density of the floor in each, relative to the reference, dB")
    upper_hz: float = Field(description="frequency at which the noise ends, that every clip can hold, Hz")
    level_db: float = Field(description="level of the whole floor, relative to the reference, dB")
    reference: RelativeTo = Field(description="what levels are relative to; no unit")
    clips: int = Field(description="clips that the floor was taken from, count")
    speech_above_db: float = Field(description="median of how far their active level lies above the floor, dB")
    noisier_clips: int = Field(description="clips whose own floor stays 3 dB or more above it in some band, count")
    warning: str = Field(description="what the floor cannot do, or costs; empty where nothing; no unit")


class MaskingNoise(Stage[MaskingMeasure, MaskingFit]):
    """Put one shaped noise floor under every clip, the only honest cure where synthetic pauses are digital zero.

    The floor is a high percentile, band by band, of the clips' own noise in third octaves (of the median of the
    frames of 64 ms in their pauses; of all clips, or of the rows of `floor_of`). Each clip gets the power it lacks in
    each band and no more, so that a clip that is as noisy already is left alone; noise is never taken away. The
    noise is Gaussian, drawn from a generator that the clip's own samples seed, and the same in every channel; levels
    are those of the mean of the channels. Say `relative_to: lufs` (or `dbov`) where `clip_loudness` follows, which
    gives every clip a gain of its own. It goes before the level.
    """

    NAME: ClassVar[str] = "masking_noise"
    VERSION: ClassVar[int] = 2
    CURES: ClassVar[tuple[str, ...]] = ("noise_floor", "digital_zero")
    FITS_ON: ClassVar[FitsOn] = "every clip"
    MEASURES: ClassVar[type[Value] | None] = MaskingMeasure
    FITS: ClassVar[type[Value] | None] = MaskingFit

    floor_of: Selection | None = Field(
        default=None,
        min_length=1,
        description="take the floor from these rows, the noisier ones: {column: value or list of values}; no unit",
    )
    percentile: float = Field(
        default=90.0,
        ge=50,
        le=100,
        description="of the clips' own floors in each band that becomes the floor of all, %",
    )
    relative_to: RelativeTo = Field(
        default="full scale",
        description="what the floor keeps its distance from: full scale (one gain for the set follows), or the clip's "
        "loudness (lufs) or active level (dbov), where each clip gets a gain of its own; no unit",
    )

    def fits_on(self) -> FitsOn:
        """Return what `fit` learns from: labels where rows are named, else every clip."""
        return "labels" if self.floor_of else "every clip"

    def selections(self) -> Sequence[tuple[str, Selection]]:
        """Return `only` and `floor_of`."""
        return [*super().selections(), *([("floor_of", self.floor_of)] if self.floor_of else [])]

    @classmethod
    def rungs(cls, column: str, a: str, b: str) -> Sequence[dict[str, Any]]:  # noqa: ARG003
        """Return ever louder floors."""
        return [{"percentile": percentile} for percentile in (50.0, 75.0, 90.0, 100.0)]

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return which floor was put under whom, and what it leaves."""
        step, fit = account.parameters, account.release or {}
        relative = {"full scale": "dBFS", "lufs": "dB re the clip's loudness", "dbov": "dB re the clip's active level"}
        added = account.values("added_dbfs")
        left = (
            f" The noise of {counted(fit['noisier_clips'], 'clip')} stayed 3 dB or more above it in some band."
            if fit["noisier_clips"]
            else ""
        )
        return (
            f"{sentence(account.whom)} were given one noise floor, shaped in third octaves: the "
            f"{step['percentile']:g}th percentile of the floors of {clips_with(step.get('floor_of'))}, "
            f"{fit['level_db']:.1f} {relative[fit['reference']]} in all. Each of {counted(len(added), 'clip')} got the "
            f"noise that it lacked and no more.{left}"
        )

    def measure(self, clip: Clip) -> MaskingMeasure:
        """Return the noise of the clip.

        Raises:
            ClipError: the clip is too short, silent, without speech, or has no level to relate its noise to.
        """
        _, levels_db = floor_levels_db(clip)
        reference_db = self._reference_db(clip)
        return MaskingMeasure(
            levels_db=tuple((levels_db - reference_db).tolist()),
            rate=clip.rate,
            speech_db=db_from_power(parts(clip).active) - reference_db,
        )

    def fit(self, measured: Sequence[Measured[MaskingMeasure]]) -> MaskingFit:
        """Return the percentile of the floors, in the bands that every clip can hold.

        Raises:
            RefusedError: no stimulus is left, or none in the rows of `floor_of`.
        """
        stimuli = [item for item in measured if item.row.role == "stimulus"]
        chosen = [item.value for item in stimuli if item.row.selected_by(self.floor_of)]
        if not chosen:
            raise RefusedError(
                f"{self.NAME}: no stimulus is left {'in the rows of `floor_of`' if self.floor_of else ''}, so there is "
                "no floor to take over; see which clips were set aside, or name other rows"
            )
        bands = min(len(item.value.levels_db) for item in stimuli)
        floors = np.array(sorted(value.levels_db[:bands] for value in chosen))
        floor_db = np.percentile(floors, self.percentile, axis=0)
        centres = third_octave_centres(SHAPE_BAND_HZ)[:bands]
        level_db = _total_db(centres, floor_db)
        above_db = float(np.median([value.speech_db for value in chosen])) - level_db
        noisier = sum(max(np.array(item.value.levels_db[:bands]) - floor_db) >= SAME_FLOOR_DB for item in stimuli)
        return MaskingFit(
            centres_hz=tuple(centres.tolist()),
            levels_db=tuple(floor_db.tolist()),
            upper_hz=min(item.value.rate for item in stimuli) / 2 * HIGHEST_SHARE_OF_NYQUIST,
            level_db=level_db,
            reference=self.relative_to,
            clips=len(chosen),
            speech_above_db=above_db,
            noisier_clips=noisier,
            warning=_warning(noisier, len(stimuli), above_db),
        )

    def apply(self, clip: Clip, fit: MaskingFit) -> Applied:
        """Return the clip with the noise that it lacks.

        Raises:
            ClipError: as `measure`.
        """
        centres, own_db = (found[: len(fit.levels_db)] for found in floor_levels_db(clip))
        floor_db = np.array(fit.levels_db[: len(own_db)]) + self._reference_db(clip)
        missing = np.maximum(_power(floor_db) - _power(own_db), _power(floor_db + LEAST_ADDED_DB))
        upper_hz = min(fit.upper_hz, clip.rate / 2 * HIGHEST_SHARE_OF_NYQUIST)
        noise = _noise(clip, centres, 10 * np.log10(missing), upper_hz)
        notes: Notes = {
            "floor_before_dbfs": _total_db(centres, own_db),
            "added_dbfs": db_from_power(float(np.mean(noise**2))),
            "stays_above_db": max(float((own_db - floor_db).max()), 0.0),
        }
        if upper_hz < fit.upper_hz:
            notes["warning"] = f"its rate holds the floor up to {upper_hz:.0f} Hz only, not up to {fit.upper_hz:.0f} Hz"
        return Applied(clip.with_samples(clip.samples + noise), notes)

    def _reference_db(self, clip: Clip) -> Decibels:
        """Return what levels are relative to, dB re full scale."""
        if self.relative_to == "full scale":
            return 0.0
        if self.relative_to == "dbov":
            speech = active_level(clip)
            if speech is None:
                raise ClipError(why_no_active_level(clip))
            return speech.active_level_dbov
        lufs = integrated_lufs(clip)
        if lufs is None:
            raise ClipError("it has no integrated loudness (silent, or below 0.4 s) that its noise could relate to")
        return lufs


def _noise(clip: Clip, centres_hz: Signal, density_db: Signal, upper_hz: Hertz) -> Signal:
    """Return noise of a power density in dB at some frequencies, none below 50 Hz or above a limit, (frames, 1)."""
    nothing = density_db.max() + BEYOND_DB
    half = round(FIR_SECONDS * clip.rate / 2)
    taps = fir_from_gain(
        np.array([LOWEST_HZ / 2, LOWEST_HZ, *centres_hz, upper_hz, upper_hz / HIGHEST_SHARE_OF_NYQUIST]),
        np.array([nothing, density_db[0], *density_db, density_db[-1], nothing]),
        clip.rate,
        taps=2 * half + 1,
    )
    # White noise of power 1 has a one-sided density of 2 over the rate.
    white = generator_of(clip).standard_normal((clip.frames + 2 * half, 1)) * np.sqrt(clip.rate / 2)
    return filter_zero_phase(white, taps)[half : half + clip.frames]


def _power(level_db: Signal) -> Signal:
    power: Signal = 10 ** (level_db / 10)
    return power


def _total_db(centres_hz: Signal, density_db: Signal) -> Decibels:
    """Return the level of noise whose density is given in third octaves."""
    widths_hz = centres_hz * (2 ** (1 / 6) - 2 ** (-1 / 6))
    return db_from_power(float(widths_hz @ _power(density_db)))


def _warning(noisier: int, clips: int, above_db: Decibels) -> str:
    """Say what the floor leaves and what it costs; empty where nothing."""
    told = []
    if noisier:
        told.append(
            f"{noisier} of {clips} clips have {SAME_FLOOR_DB:g} dB or more noise of their own above the floor in some "
            "band, which still tells them apart: raise the percentile, or denoise them first"
        )
    if above_db < AUDIBLE_SNR_DB:
        told.append(f"the floor lies only {above_db:.0f} dB below speech and will be heard: lower the percentile")
    return "; ".join(told)
