"""silence: for how long a clip sounds, and whether it comes and goes as speech does."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError

if TYPE_CHECKING:
    from prep.clip import Clip, Signal
    from prep.units import Decibels, Seconds

FRAME_SECONDS = 0.02
LOUD_PERCENTILE, SOFT_PERCENTILE = 95.0, 20.0
# Below the loud frames: the range of a voice from its vowels to its weak consonants.
ACTIVE_RANGE_DB = 30.0
# Dither at 16 bits has -93 dBFS, and speech at -85 would be lost in its rounding noise.
LOWEST_ACTIVE_DBFS = -85.0
HIGHEST_RANGE_DB = 60.0


class Silence(Cue):
    """Time in which a clip sounds, and the range of its levels."""

    NAME: ClassVar[str] = "silence"
    KIND: ClassVar[Kind] = "voice"
    BATTERY: ClassVar[bool] = False
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("active_seconds", "s", "time within 30 dB of the loudest frames and above -85 dBFS", 0.02),
        Feature(
            "level_range_db", "dB", "loud over soft frames of 20 ms; steady noise, hum and silence have 0 to 3", 1.0
        ),
    )
    MEANING: ClassVar[str] = "nobody speaks: silence, room noise or a tone in place of a voice"
    SOURCE: ClassVar[str] = (
        "by definition: frames of 20 ms of the loudest channel, each without its DC; 95th over 20th percentile, at "
        "most 60 dB"
    )
    # A syllable lasts 0.1 s. Syllables come and go by 10 dB and more, also in noise as loud as they are.
    LIMITS: ClassVar[dict[str, float]] = {"min_active_seconds": 0.1, "min_level_range_db": 3.0}

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the active time in seconds and the range of levels in dB; both 0 for silence.

        Raises:
            ClipError: the clip has no samples, or samples that are not finite.
        """
        active, range_db = clip.once(_activity)
        return {"active_seconds": active, "level_range_db": range_db}


class _Activity(NamedTuple):
    active: Seconds
    range_db: Decibels


def _activity(clip: Clip) -> _Activity:
    if not clip.frames:
        raise ClipError("it has no samples; replace the file")
    clip.check_finite()
    return max(_channel_activity(channel, clip.rate) for channel in clip.samples.T.astype(np.float64))


def _channel_activity(signal: Signal, rate: int) -> _Activity:
    """Return the active time and the range of levels of one channel."""
    starts = np.rint(np.arange(0, len(signal), FRAME_SECONDS * rate)).astype(np.intp)
    starts = starts[starts < len(signal)]
    lengths = np.diff(starts, append=len(signal))
    mean, square = (np.add.reduceat(values, starts) / lengths for values in (signal, np.square(signal)))
    power = (square - np.square(mean)).clip(min=0)
    loud, soft = np.percentile(power, (LOUD_PERCENTILE, SOFT_PERCENTILE))
    lowest = max(loud * 10 ** (-ACTIVE_RANGE_DB / 10), 10 ** (LOWEST_ACTIVE_DBFS / 10))
    active = float(lengths[power >= lowest].sum()) / rate
    if not active:
        return _Activity(0.0, 0.0)
    softest = max(soft, loud * 10 ** (-HIGHEST_RANGE_DB / 10))
    return _Activity(active, float(10 * np.log10(loud / softest)))
