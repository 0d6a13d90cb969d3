"""Convert: bring a clip to the study's rate and channels, once, directly before its level is set.

The rule for fewer channels, in this order (every departure from the mean is noted):

1. a channel 60 dB or more below the loudest is dead and is left out;
2. the rest are averaged, and equal ones give exactly one of them;
3. channels that cancel each other in that mean by 10 dB or more make the clip unusable.

One channel becomes several by repetition. Rates are converted by soxr (prep.audio.resample).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from prep import audio
from prep.errors import ClipError
from prep.stage import Applied, Notes, Stage

if TYPE_CHECKING:
    from prep.clip import Clip

DEAD_CHANNEL_DB = -60.0
CANCELLING_DB = -10.0


class Convert(Stage[None, None]):
    """Bring a clip to one rate and one number of channels."""

    NAME: ClassVar[str] = "convert"

    rate: int | None = Field(default=None, gt=0, description="sampling rate, Hz; none keeps the clip's own")
    channels: int | None = Field(default=None, gt=0, description="channels, no unit; none keeps the clip's own")

    def apply(self, clip: Clip, fit: None) -> Applied:  # noqa: ARG002
        """Return the clip at the rate and channels.

        Raises:
            ClipError: its channels cancel each other, or cannot be brought to the number asked for.
        """
        mixed, notes = _with_channels(clip, self.channels)
        if self.rate is not None and self.rate != mixed.rate:
            notes |= {"source_rate": mixed.rate, "rate": self.rate}
            mixed = audio.resample(mixed, self.rate)
        return Applied(mixed, notes)


def _with_channels(clip: Clip, channels: int | None) -> tuple[Clip, Notes]:
    """Return the clip with a number of channels, and what was done to get there."""
    if channels is None or channels == clip.channels:
        return clip, {}
    if clip.channels == 1:
        return clip.with_samples(np.repeat(clip.samples, channels, axis=1)), {"repeated_channel": channels}
    if channels != 1:
        raise ClipError(
            f"{clip.channels} channels cannot be brought to {channels}; deliver mono (channels: 1) or mix it yourself"
        )
    return _downmixed(clip)


def _downmixed(clip: Clip) -> tuple[Clip, Notes]:
    """Return the mean of the living channels."""
    power = np.mean(np.square(clip.samples, dtype=np.float64), axis=0)
    alive = power > power.max() * 10 ** (DEAD_CHANNEL_DB / 10)
    notes: Notes = {"downmixed_channels": clip.channels}
    if not power.any():
        alive[:] = True
    elif np.array_equal(clip.samples, np.broadcast_to(clip.samples[:, :1], clip.samples.shape)):
        notes["equal_channels"] = True
    elif not alive.all():
        notes["dead_channels"] = [int(channel) + 1 for channel in np.flatnonzero(~alive)]
    mean = clip.samples[:, alive].mean(axis=1, dtype=np.float64)
    if np.mean(mean**2) < power[alive].mean() * 10 ** (CANCELLING_DB / 10):
        raise ClipError(
            "its channels cancel each other in the downmix (one is probably inverted); "
            "deliver one channel of the source, or turn one round"
        )
    return clip.with_samples(mean[:, np.newaxis]), notes
