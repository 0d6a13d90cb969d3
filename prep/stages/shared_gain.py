"""shared_gain: one gain for the whole set, so that differences between clips stay as they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from prep.bibliography import ITU_BS1770, PYLOUDNORM, Reference, cite
from prep.errors import ClipError, RefusedError
from prep.level import amplified, gain, gain_to, gated_lufs, pooling_powers, set_loudness, true_peak_dbtp
from prep.stage import Applied, FitsOn, Measured, Rejected, Stage, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.clip import Clip, Signal
    from prep.stage import Account
    from prep.units import Decibels, Lufs

_ROUNDING_DB = 1e-6  # a peak that is brought to the limit may pass it by the rounding of a sum
_LOWEST_TARGET_LUFS = -60.0  # lower, and speech would sink under the absolute gate
_SILENT = "it is silent (no 400 ms block above -70 LUFS); leave it out or replace it"


class GainMeasure(Value):
    """What one clip brings into the set."""

    block_powers: tuple[float, ...] = Field(description="K-weighted power of each 400 ms block, full scale 1; no unit")
    true_peak_dbtp: float = Field(description="true peak of the clip, dBTP")


class GainFit(Value):
    """The one gain, and how it came about."""

    gain_db: float = Field(description="the gain that every clip gets, dB")
    set_lufs: float = Field(description="loudness of the set as it came, LUFS")
    target_lufs: float = Field(description="the loudness that was asked for, LUFS")
    achieved_lufs: float = Field(description="loudness of the set after the gain, LUFS")
    lowered_by_db: float = Field(description="how far the ceiling lowered the gain, dB")
    highest_true_peak_dbtp: float = Field(description="highest true peak of the set as it came, dBTP")
    limiting_clip: str | None = Field(
        description="file name of the clip that lowered the gain; none where it was not lowered; no unit"
    )


class SharedGain(Stage[GainMeasure, GainFit]):
    """Bring the set to a loudness by one gain, and change nothing between the clips.

    The set's loudness pools the clips' own 400 ms blocks under the gates of ITU-R BS.1770-5; a clip
    below 0.4 s brings one block of its own length.
    """

    NAME: ClassVar[str] = "shared_gain"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (ITU_BS1770, PYLOUDNORM)
    FITS_ON: ClassVar[FitsOn] = "every clip"
    MEASURES: ClassVar[type[Value] | None] = GainMeasure
    FITS: ClassVar[type[Value] | None] = GainFit
    LEVEL: ClassVar[bool] = True

    target_lufs: float = Field(
        default=-26.0, ge=_LOWEST_TARGET_LUFS, le=0, description="loudness of the whole set, LUFS"
    )
    ceiling_dbtp: float = Field(default=-1.0, le=0, description="true peak that no delivered clip may pass, dBTP")
    on_over: Literal["stop", "lower"] = Field(
        default="stop",
        description="where a clip would pass the ceiling: stop, or lower the target for all clips; no unit",
    )
    codec_margin_db: float = Field(
        default=0.2, ge=0, description="room kept below the ceiling for what a codec adds to a peak, dB"
    )

    @classmethod
    def rungs(cls, column: str, a: str, b: str) -> Sequence[dict[str, Any]]:  # noqa: ARG003
        """Return one gain for all: it leaves every difference as it is."""
        return [{"on_over": "lower"}]

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return the one gain, the loudness it leads to, and that differences between clips stayed."""
        fit = account.release or {}
        lowered = (
            f", {fit['lowered_by_db']:.2f} dB below the {fit['target_lufs']:g} LUFS asked for, to keep the ceiling of "
            f"{account.parameters['ceiling_dbtp']:g} dBTP"
            if fit["lowered_by_db"]
            else ""
        )
        return (
            f"One gain of {fit['gain_db']:+.2f} dB for {account.whom} brought the set to an integrated loudness of "
            f"{fit['achieved_lufs']:.1f} LUFS {cite(ITU_BS1770, PYLOUDNORM)}{lowered}; level differences between clips "
            "were left as they were."
        )

    def measure(self, clip: Clip) -> GainMeasure:
        """Return the clip's block powers and its true peak.

        Raises:
            ClipError: the clip is silent, so no gain means anything for it.
        """
        powers = pooling_powers(clip)
        if gated_lufs(powers) is None:
            raise ClipError(_SILENT)
        return GainMeasure(block_powers=tuple(powers.tolist()), true_peak_dbtp=_true_peak_dbtp(clip))

    def fit(self, measured: Sequence[Measured[GainMeasure]]) -> GainFit:
        """Return the gain that brings the stimuli to the target, with every clip below the ceiling.

        Raises:
            RefusedError: there is no clip, or a clip would pass the ceiling; the message names it and
                the largest safe target.
        """
        stimuli = [clip for clip in measured if clip.row.role == "stimulus"]
        powers = [np.array(clip.value.block_powers) for clip in stimuli]
        set_lufs, gain_db = set_loudness(powers), gain_to(self.target_lufs, powers)
        if set_lufs is None or gain_db is None:
            raise RefusedError(f"{self.NAME}: every clip was set aside; mend the clips, there is no gain to set")
        highest = max(measured, key=lambda clip: (clip.value.true_peak_dbtp, clip.row.file_name))
        excess_db = highest.value.true_peak_dbtp + gain_db - self._limit_dbtp
        over = excess_db > _ROUNDING_DB
        if over:
            gain_db -= excess_db
        achieved_lufs = set_loudness(amplified(powers, gain_db))
        if achieved_lufs is None or (over and (self.on_over == "stop" or achieved_lufs < _LOWEST_TARGET_LUFS)):
            raise RefusedError(self._refusal(highest, excess_db, powers))
        return GainFit(
            gain_db=gain_db,
            set_lufs=set_lufs,
            target_lufs=self.target_lufs,
            achieved_lufs=achieved_lufs,
            lowered_by_db=excess_db if over else 0.0,
            highest_true_peak_dbtp=highest.value.true_peak_dbtp,
            limiting_clip=highest.row.file_name if over else None,
        )

    def apply(self, clip: Clip, fit: GainFit) -> Applied | Rejected:
        """Return the clip times the set's gain.

        A clip outside the fit (a reference, a later clip) that would pass the ceiling is rejected,
        for it may get no other gain.

        Raises:
            ClipError: the clip is silent.
        """
        reached_dbtp = _true_peak_dbtp(clip) + fit.gain_db
        if reached_dbtp > self._limit_dbtp + _ROUNDING_DB:
            reason = f"with the set's gain of {fit.gain_db:+.2f} dB its true peak passes {self._ceiling}"
            return Rejected(reason, value=reached_dbtp, limit=self._limit_dbtp)
        return Applied(gain(clip, fit.gain_db), {"gain_db": fit.gain_db})

    @property
    def _limit_dbtp(self) -> Decibels:
        return self.ceiling_dbtp - self.codec_margin_db

    @property
    def _ceiling(self) -> str:
        return f"the ceiling of {self.ceiling_dbtp:g} dBTP less {self.codec_margin_db:g} dB codec margin"

    def _refusal(self, highest: Measured[GainMeasure], excess_db: Decibels, powers: Sequence[Signal]) -> str:
        peak_dbtp = highest.value.true_peak_dbtp
        safe_lufs = self._largest_safe_target(peak_dbtp, powers)
        remedy = (
            "replace that clip, for no target is safe with it"
            if safe_lufs is None
            else f"set target_lufs to {safe_lufs:.2f} or lower, or set on_over: lower, or replace that clip"
        )
        return (
            f"{self.NAME}: at target_lufs {self.target_lufs:g} the true peak of {highest.row.file_name}"
            f" ({peak_dbtp:.2f} dBTP) would reach {self._limit_dbtp + excess_db:.2f} dBTP,"
            f" past {self._ceiling}; {remedy}"
        )

    def _largest_safe_target(self, peak_dbtp: Decibels, powers: Sequence[Signal]) -> Lufs | None:
        """Return the largest target, in steps of 0.01 LU, whose gain keeps a peak below the ceiling."""
        allowed_db = self._limit_dbtp - peak_dbtp
        start_lufs = set_loudness(amplified(powers, allowed_db))
        if start_lufs is None:
            return None
        # The first step is safe but where blocks cross the absolute gate as the gain changes.
        for hundredths in range(math.floor(start_lufs * 100), int(_LOWEST_TARGET_LUFS * 100) - 1, -1):
            gain_db = gain_to(hundredths / 100, powers)
            if gain_db is not None and gain_db <= allowed_db:
                return hundredths / 100
        return None


def _true_peak_dbtp(clip: Clip) -> Decibels:
    peak_dbtp = true_peak_dbtp(clip)
    if peak_dbtp is None:
        raise ClipError(_SILENT)
    return peak_dbtp
