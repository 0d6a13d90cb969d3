"""high_pass: what lies below speech taken out of every clip alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from prep.errors import ClipError
from prep.level import rms_dbfs
from prep.prose import sentence
from prep.stage import Applied, Stage

if TYPE_CHECKING:
    from prep.clip import Clip, Signal
    from prep.stage import Account

ORDER = 4  # of each of the two passes: 40 dB an octave below the corner, a quarter of a dB at 70 Hz (corner 50 Hz)
SETTLING_PERIODS = 10  # of the corner frequency, after which the filter has forgotten how the clip began


class HighPass(Stage[None, None]):
    """Take out rumble and DC below 50 Hz, which no voice needs, from all clips alike.

    Rumble is hardly heard, but it raises the active speech level and fills pauses. A Butterworth filter of fourth
    order, run forwards and backwards (zero phase, zero lag): -3 dB at the corner, -40 dB an octave below. Every
    channel is filtered alike. At its ends the clip is continued by its own point reflection, so that DC and rumble
    leave no step there. Digital zero next to sound is digital zero no longer.
    """

    NAME: ClassVar[str] = "high_pass"

    cutoff_hz: float = Field(default=50.0, gt=0, le=200, description="corner frequency (-3 dB), Hz")

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return the corner and the kind of the filter."""
        return (
            f"{sentence(account.whom)} were high-pass filtered at {account.parameters['cutoff_hz']:g} Hz (Butterworth, "
            "zero phase), against rumble."
        )

    def apply(self, clip: Clip, fit: None) -> Applied:  # noqa: ARG002
        """Return the clip without what lies below the corner.

        Raises:
            ClipError: a sample is not finite, or the rate is too low for the corner.
        """
        clip.check_finite()
        if clip.rate <= 4 * self.cutoff_hz:
            raise ClipError(
                f"its rate of {clip.rate} Hz is too low for a high-pass at {self.cutoff_hz:g} Hz; leave it out"
            )
        treated = clip.with_samples(self._passed(clip))
        before, after = rms_dbfs(clip), rms_dbfs(treated)
        change = None if before is None or after is None else after - before
        return Applied(treated, {"rms_change_db": change})

    def _passed(self, clip: Clip) -> Signal:
        from scipy.signal import butter, sosfiltfilt

        if not clip.samples.any():
            return clip.samples.astype(np.float64)
        # Each of the two passes takes half of the 3 dB.
        corner = self.cutoff_hz * (math.sqrt(2) - 1) ** (1 / (2 * ORDER))
        sections = butter(ORDER, corner, "highpass", fs=clip.rate, output="sos")
        settling = min(round(SETTLING_PERIODS / self.cutoff_hz * clip.rate), clip.frames - 1)
        passed: Signal = sosfiltfilt(sections, clip.samples.astype(np.float64), axis=0, padtype="odd", padlen=settling)
        return passed
