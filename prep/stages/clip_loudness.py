"""clip_loudness: each clip to one loudness, by a gain of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from prep.errors import ClipError
from prep.level import (
    ABSOLUTE_GATE_LUFS,
    BLOCK_SECONDS,
    block_powers,
    gain,
    gain_to,
    rms_dbfs,
    true_peak_dbtp,
)
from prep.stage import Applied, Rejected, Stage

if TYPE_CHECKING:
    from prep.clip import Clip
    from prep.units import Decibels

_SILENT = "it is silent (nothing above -70 LUFS, or -70 dBFS RMS below 0.4 s); leave it out or replace it"


class ClipLoudness(Stage[None, None]):
    """Bring each clip to a loudness (integrated, ITU-R BS.1770-5) by a gain of its own.

    A clip below 0.4 s has no integrated loudness: its RMS in dBFS is brought to the same number, and
    the notes say so.
    """

    NAME: ClassVar[str] = "clip_loudness"
    LEVEL: ClassVar[bool] = True

    target_lufs: float = Field(
        default=-26.0,
        ge=-60,
        le=0,
        description="integrated loudness of each clip, and RMS in dBFS below 0.4 s, LUFS",
    )
    ceiling_dbtp: float = Field(default=-1.0, le=0, description="true peak that no delivered clip may pass, dBTP")
    on_over: Literal["stop", "lower"] = Field(
        default="stop",
        description="where a clip would pass the ceiling: reject it, or lower its gain; no unit",
    )
    codec_margin_db: float = Field(
        default=0.2, ge=0, description="room kept below the ceiling for what a codec adds to a peak, dB"
    )

    def apply(self, clip: Clip, fit: None) -> Applied | Rejected:  # noqa: ARG002
        """Return the clip at the target, or at the ceiling where the target is past it.

        Raises:
            ClipError: the clip is silent.
        """
        short = clip.seconds < BLOCK_SECONDS
        gain_db = self._rms_gain_db(clip) if short else gain_to(self.target_lufs, [block_powers(clip)])
        peak_dbtp = true_peak_dbtp(clip)
        if gain_db is None or peak_dbtp is None:
            raise ClipError(_SILENT)
        limit_dbtp = self.ceiling_dbtp - self.codec_margin_db
        lowered_by_db = max(0.0, peak_dbtp + gain_db - limit_dbtp)
        if lowered_by_db > 0 and self.on_over == "stop":
            reason = (
                f"at {self.target_lufs:g} LUFS its true peak passes the ceiling of {self.ceiling_dbtp:g} dBTP"
                f" less {self.codec_margin_db:g} dB codec margin"
            )
            return Rejected(reason, value=peak_dbtp + gain_db, limit=limit_dbtp)
        gain_db -= lowered_by_db
        notes = {
            "gain_db": gain_db,
            "lowered_by_db": lowered_by_db,
            "measured_by": "rms" if short else "integrated",
        }
        return Applied(gain(clip, gain_db), notes)

    def _rms_gain_db(self, clip: Clip) -> Decibels | None:
        level_dbfs = rms_dbfs(clip)
        if level_dbfs is None or level_dbfs <= ABSOLUTE_GATE_LUFS:
            return None
        return self.target_lufs - level_dbfs
