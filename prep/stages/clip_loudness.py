"""clip_loudness: each clip to one level, by a gain of its own, and a limiter where a peak is in the way."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from prep.bibliography import ITU_BS1770, ITU_P56, PYLOUDNORM, Reference, cite
from prep.errors import ClipError, RefusedError
from prep.level import (
    ABSOLUTE_GATE_LUFS,
    BLOCK_SECONDS,
    active_level,
    gain,
    integrated_lufs,
    rms_dbfs,
    true_peak_dbtp,
    why_no_active_level,
)
from prep.limiter import Limited, limit
from prep.prose import clips_with, counted, middle_and_most, sentence
from prep.stage import Applied, FitsOn, Measured, Notes, Rejected, Stage, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prep.clip import Clip
    from prep.stage import Account
    from prep.units import Decibels

Selection = dict[str, str | list[str]]
By = Literal["lufs", "dbov"]

DEFAULT_TARGET_LUFS = -26.0
LOWEST_TARGET = -60.0  # LUFS or dBov
WARNED_REDUCTION_DB = 3.0  # a larger reduction may be heard

_TOLERANCE_DB = 0.005  # of the level reached; the 0.1 LU that a delivered clip may miss it by are the codec's
_ROUNDS = 24  # three or four are common with a limiter; more only where blocks cross a gate
_LEAST_SLOPE = 0.1  # of level over gain; with less the next step would be a leap
_ROUNDING_DB = 1e-6  # a peak that is brought to the limit may pass it by the rounding of a sum
_SILENT = "it is silent (nothing above -70 LUFS, or -70 dBFS RMS below 0.4 s); leave it out or replace it"


class LevelMeasure(Value):
    """What one clip brings into the median."""

    level: float = Field(description="level in the measure that `by` names: LUFS (RMS in dBFS below 0.4 s), or dBov")


class LevelFit(Value):
    """The level that every clip is brought to."""

    target_lufs: float | None = Field(description="median level of the rows, LUFS; none where it is in dBov")
    target_dbov: float | None = Field(description="median active level of the rows, dBov; none where it is in LUFS")
    clips: int = Field(description="clips that the median is taken over, count")


class _Meter(NamedTuple):
    """How the level of a clip is told."""

    name: Literal["integrated", "rms", "active"]
    read: Callable[[Clip], Decibels | None]


class _Target(NamedTuple):
    """A level and its measure."""

    level: Decibels
    by: By

    def __str__(self) -> str:
        return f"{self.level:.4g} {'LUFS' if self.by == 'lufs' else 'dBov'}"


class ClipLoudness(Stage[LevelMeasure, LevelFit | None]):
    """Bring each clip to a loudness (integrated, ITU-R BS.1770-5) by a gain of its own.

    Or to an active speech level (ITU-T P.56, `target_dbov`), or to the median level of some rows
    (`median_of`). A clip below 0.4 s has no integrated loudness: its RMS in dBFS is brought to the same
    number, and the notes say so. With `on_over: limit` a limiter holds the peaks that would pass the
    ceiling, and the gain makes up for what it takes.
    """

    NAME: ClassVar[str] = "clip_loudness"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (ITU_BS1770, ITU_P56, PYLOUDNORM)
    MEASURES: ClassVar[type[Value] | None] = LevelMeasure
    FITS: ClassVar[type[Value] | None] = LevelFit
    CURES: ClassVar[tuple[str, ...]] = ("loudness",)
    LEVEL: ClassVar[bool] = True

    target_lufs: float | None = Field(
        default=None,
        ge=LOWEST_TARGET,
        le=0,
        description="integrated loudness of each clip, and RMS in dBFS below 0.4 s, LUFS; "
        f"{DEFAULT_TARGET_LUFS:g} where no target is given",
    )
    target_dbov: float | None = Field(
        default=None, ge=LOWEST_TARGET, le=0, description="active speech level of each clip by ITU-T P.56, dBov"
    )
    median_of: Selection | None = Field(
        default=None,
        min_length=1,
        description="bring each clip to the median level of these rows: {column: value or list of values}; no unit",
    )
    by: By = Field(default="lufs", description="measure of the level that the median is taken over; no unit")
    ceiling_dbtp: float = Field(default=-1.0, le=0, description="true peak that no delivered clip may pass, dBTP")
    on_over: Literal["stop", "limit", "lower"] = Field(
        default="stop",
        description="where a clip would pass the ceiling: reject it, limit its peaks, or lower its gain; no unit",
    )
    max_limit_db: float = Field(
        default=12.0, gt=0, description="a clip that the limiter would have to reduce by more is rejected, dB"
    )
    codec_margin_db: float = Field(
        default=0.2, ge=0, description="room kept below the ceiling for what a codec adds to a peak, dB"
    )

    @model_validator(mode="before")
    @classmethod
    def _has_a_target(cls, given: Any) -> Any:
        """Write the default target where none is given, so that the record says it."""
        targets = ("target_lufs", "target_dbov", "median_of")
        if isinstance(given, dict) and all(given.get(name) is None for name in targets):
            return {**given, "target_lufs": DEFAULT_TARGET_LUFS}
        return given

    @model_validator(mode="after")
    def _has_one_target(self) -> Self:
        """Refuse several targets, and a measure of a median without a median."""
        targets = {"target_lufs": self.target_lufs, "target_dbov": self.target_dbov, "median_of": self.median_of}
        given = [name for name, value in targets.items() if value is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are all targets; keep one of them")
        if self.by == "dbov" and self.median_of is None:
            raise ValueError("`by` says how the level of `median_of` is measured; for a number give target_dbov")
        return self

    def fits_on(self) -> FitsOn:
        """Return what `fit` learns from: every clip where the target is a median, else nothing."""
        return "labels" if self.median_of and self.only else "every clip" if self.median_of else "nothing"

    def selections(self) -> Sequence[tuple[str, Selection]]:
        """Return `only` and `median_of`."""
        return [*super().selections(), *([("median_of", self.median_of)] if self.median_of else [])]

    def with_margin(self, more_db: Decibels) -> Self:
        """Return the stage with more room below its ceiling, dB."""
        return self.model_copy(update={"codec_margin_db": self.codec_margin_db + more_db})

    @classmethod
    def rungs(cls, column: str, a: str, b: str) -> Sequence[dict[str, Any]]:  # noqa: ARG003
        """Return a gain for each clip, to a level that hardly any peak must be limited for."""
        return [{"target_lufs": -26.0, "on_over": "limit"}]

    def measure(self, clip: Clip) -> LevelMeasure:
        """Return the level of the clip.

        Raises:
            ClipError: the clip is silent.
        """
        return LevelMeasure(level=_level(clip, _meter(clip, self.by)))

    def fit(self, measured: Sequence[Measured[LevelMeasure]]) -> LevelFit:
        """Return the median level of the stimuli among the rows of `median_of`.

        Raises:
            RefusedError: no such clip is left.
        """
        levels = sorted(
            item.value.level
            for item in measured
            if item.row.role == "stimulus" and item.row.selected_by(self.median_of)
        )
        if not levels:
            raise RefusedError(
                f"{self.NAME}: no stimulus is left in the rows of `median_of`, so there is no level to bring clips to; "
                "see which clips were set aside, or name other rows"
            )
        middle = median(levels)
        lufs, dbov = (middle, None) if self.by == "lufs" else (None, middle)
        return LevelFit(target_lufs=lufs, target_dbov=dbov, clips=len(levels))

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return the level that each clip was brought to, how often a peak was in the way, and what was done then."""
        step, fit = account.parameters, account.release or account.parameters
        lufs = fit.get("target_lufs")
        level = (
            f"an integrated loudness of {lufs:.4g} LUFS {cite(ITU_BS1770, PYLOUDNORM)}"
            if lufs is not None
            else f"an active speech level of {fit['target_dbov']:.4g} dBov {cite(ITU_P56)}"
        )
        whose = f", the median of {clips_with(step.get('median_of'))}," if step.get("median_of") else ""
        told = [f"{sentence(account.whom)} were brought to {level}{whose or ','} each by a gain of its own"]
        if limited := [value for value in account.values("limited_db") if value > 0]:
            told.append(
                f"a look-ahead limiter held the peaks of {len(limited)} of {counted(len(account.notes), 'clip')} "
                f"under {step['ceiling_dbtp']:g} dBTP, by {middle_and_most(limited, 'dB')}"
            )
        if lowered := [value for value in account.values("lowered_by_db") if value > 0]:
            told.append(
                f"{counted(len(lowered), 'clip')} stayed below it, by {max(lowered):.1f} dB at most, for the ceiling "
                f"of {step['ceiling_dbtp']:g} dBTP"
            )
        return "; ".join(told) + "."

    def apply(self, clip: Clip, fit: LevelFit | None) -> Applied | Rejected:
        """Return the clip at the target, or at the ceiling where that is past it and `on_over` is `lower`.

        Raises:
            ClipError: the clip is silent.
        """
        target = self._target(fit)
        meter = _meter(clip, target.by)
        found = self._made_up(clip, target, meter)
        if isinstance(found, Rejected):
            return found
        gain_db, limited = found
        over_db = 0.0 if self.on_over == "limit" else _true_peak_dbtp(limited.clip) - self._limit_dbtp
        over_db = over_db if over_db > _ROUNDING_DB else 0.0
        if over_db and self.on_over == "stop":
            reason = f"at {target} its true peak passes {self._ceiling}; {self._remedy(target, over_db)}"
            return Rejected(reason, value=self._limit_dbtp + over_db, limit=self._limit_dbtp)
        if over_db:
            gain_db -= over_db
            limited = Limited(gain(clip, gain_db))
        notes: Notes = {
            "gain_db": gain_db,
            "limited_db": limited.largest_reduction_db,
            "limited_percent": 100.0 * limited.reduced_share,
            "lowered_by_db": over_db,
            "measured_by": meter.name,
        }
        return Applied(limited.clip, notes | _warning(limited))

    def _remedy(self, target: _Target, over_db: Decibels) -> str:
        """Return what keeps a clip under the ceiling that would pass it by so much."""
        safe = math.floor(10.0 * (target.level - over_db)) / 10.0
        if safe < LOWEST_TARGET:
            return "set on_over: limit or lower, for no target is safe with it"
        instead = " in place of median_of" if self.median_of else ""
        return f"set target_{target.by} to {safe:g} or lower{instead}, or on_over: limit or lower"

    def _target(self, fit: LevelFit | None) -> _Target:
        """Return the level that clips are brought to: the fitted one where the target is a median."""
        lufs, dbov = (self.target_lufs, self.target_dbov) if fit is None else (fit.target_lufs, fit.target_dbov)
        if lufs is not None:
            return _Target(lufs, "lufs")
        if dbov is not None:
            return _Target(dbov, "dbov")
        raise TypeError(f"{self.NAME}: a median was not fitted")

    def _made_up(self, clip: Clip, target: _Target, meter: _Meter) -> tuple[Decibels, Limited] | Rejected:
        """Return the gain in dB that brings a clip to the target, limiter included, and what it makes of the clip.

        The level rises with the gain, and by ever less of it where a limiter works, so that secants come
        from below and find the least gain that will do. The largest reduction rises with the gain dB by dB,
        so the gain at which it is `max_limit_db` is known beforehand.
        """
        limiting = self.on_over == "limit"
        most_db = self._limit_dbtp + self.max_limit_db - _true_peak_dbtp(clip) if limiting else math.inf
        reached, gain_db = _level(clip, meter), 0.0
        step_db = target.level - reached
        for _ in range(_ROUNDS):
            gain_db = min(gain_db + step_db, most_db)
            limited = self._limited(gain(clip, gain_db))
            before, reached = reached, _level(limited.clip, meter)
            missing_db = target.level - reached
            if abs(missing_db) <= _TOLERANCE_DB:
                return gain_db, limited
            if missing_db > 0 and gain_db == most_db:
                needed_db = self.max_limit_db + missing_db  # or more: no dB of gain gives more than one of level
                reason = (
                    f"to reach {target} under {self._ceiling}, {needed_db:.1f} dB or more must be taken from its peaks"
                    "; lower the target, or raise max_limit_db"
                )
                return Rejected(reason, value=needed_db, limit=self.max_limit_db)
            step_db = missing_db / _slope(reached - before, step_db)
        return Rejected(f"no gain brings it to {target} under {self._ceiling}", value=reached, limit=target.level)

    def _limited(self, clip: Clip) -> Limited:
        """Return the clip with its peaks under the ceiling, where that is what the config asks for."""
        return limit(clip, self._limit_dbtp) if self.on_over == "limit" else Limited(clip)

    @property
    def _limit_dbtp(self) -> Decibels:
        return self.ceiling_dbtp - self.codec_margin_db

    @property
    def _ceiling(self) -> str:
        return f"the ceiling of {self.ceiling_dbtp:g} dBTP less {self.codec_margin_db:.3g} dB codec margin"


def _slope(rise_db: Decibels, step_db: Decibels) -> float:
    """Return how much of a further gain will show in the level, `_LEAST_SLOPE` to 1."""
    # A level falls with more gain where a quiet block passes the relative gate; the next step tells no more.
    return 1.0 if rise_db * step_db <= 0 else min(max(rise_db / step_db, _LEAST_SLOPE), 1.0)


def _warning(limited: Limited) -> Notes:
    if limited.largest_reduction_db <= WARNED_REDUCTION_DB:
        return {}
    taken = f"the limiter takes up to {limited.largest_reduction_db:.1f} dB from its peaks"
    return {"warning": f"{taken}; listen to it, or lower the target"}


def _meter(clip: Clip, by: By) -> _Meter:
    """Return the meter for a clip."""
    if by == "dbov":
        return _Meter("active", _active_level_dbov)
    if clip.seconds < BLOCK_SECONDS:
        return _Meter("rms", _audible_rms_dbfs)
    return _Meter("integrated", integrated_lufs)


def _level(clip: Clip, meter: _Meter) -> Decibels:
    level = meter.read(clip)
    if level is None:
        raise ClipError(why_no_active_level(clip) if meter.name == "active" else _SILENT)
    return level


def _audible_rms_dbfs(clip: Clip) -> Decibels | None:
    level_dbfs = rms_dbfs(clip)
    return None if level_dbfs is None or level_dbfs <= ABSOLUTE_GATE_LUFS else level_dbfs


def _active_level_dbov(clip: Clip) -> Decibels | None:
    speech = active_level(clip)
    return None if speech is None else speech.active_level_dbov


def _true_peak_dbtp(clip: Clip) -> Decibels:
    peak_dbtp = true_peak_dbtp(clip)
    if peak_dbtp is None:
        raise ClipError(_SILENT)
    return peak_dbtp
