"""snr: how far the speech of a clip stands over the noise in its pauses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError
from prep.pauses import ACTIVE_MARGIN_DB, BLOCK_SECONDS, noise_floor_dbfs, parts
from prep.spectrum import SILENCE_POWER
from prep.units import db_from_power

if TYPE_CHECKING:
    from prep.clip import Clip, Signal

# Speech is seldom played above 70 dB SPL: noise 80 dB below it lies under the threshold of hearing.
# At the other end, nothing of 20 ms stands over the noise.
RANGE_DB = (-20.0, 80.0)
OVER_NOISE = 2.0  # a level of 20 ms of steady noise seldom passes its mean by 3 dB
# Speech is never as steady at its softest: twenty 20 ms levels in a row within 4 dB are noise.
STEADY_SECONDS = 0.1
STEADY_RANGE_DB = 4.0


class Snr(Cue):
    """Power of the speech over the power of the noise between, both above 80 Hz."""

    NAME: ClassVar[str] = "snr"
    VERSION: ClassVar[int] = 2
    KIND: ClassVar[Kind] = "nuisance"
    BATTERY: ClassVar[bool] = False
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("snr_db", "dB", "speech without the noise in it over the noise in the pauses; 80 is silence", 0.5),
    )
    MEANING: ClassVar[str] = "hiss and room as a listener hears them once the clips are equally loud"
    SOURCE: ClassVar[str] = (
        "prep.pauses: mean power of the active 20 ms over the noise floor; where that is less than 15.9 dB down, over "
        "the softest 100 ms if its levels stay within 4 dB"
    )
    # Noise 15 dB below the speech is heard through all of it.
    LIMITS: ClassVar[dict[str, float]] = {"min_snr_db": 15.0}

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the signal-to-noise ratio in dB, -20 to 80.

        Raises:
            ClipError: the clip is too short or silent, or no noise floor can be told.
        """
        found = parts(clip)
        try:
            noise = 10 ** (noise_floor_dbfs(clip) / 10)
        except ClipError:
            noise = _steady_power(found.frame_power)
        return {"snr_db": float(np.clip(db_from_power(_active_power(found.frame_power, noise) / noise), *RANGE_DB))}


def _active_power(frame_power: Signal, noise: float) -> float:
    """Return the mean power of the active speech without the noise in it; 0 where nothing stands over the noise.

    Active is, as in ITU-T P.56, what lies at most 15.9 dB below the mean of itself.

    Args:
        frame_power: mean power of 20 ms every 5 ms, shape (frames,).
        noise: power of the noise.
    """
    speech = np.sort(frame_power[frame_power > OVER_NOISE * noise] - noise)[::-1]
    if not len(speech):
        return 0.0
    means = np.cumsum(speech) / np.arange(1, len(speech) + 1)
    return float(means[np.flatnonzero(speech >= means * 10 ** (-ACTIVE_MARGIN_DB / 10))[-1]])


def _steady_power(frame_power: Signal) -> float:
    """Return the power of the softest stretch of a clip that is steady, as noise is.

    Args:
        frame_power: mean power of 20 ms every 5 ms, shape (frames,).

    Raises:
        ClipError: its softest stretch is not steady.
    """
    frames = math.ceil(STEADY_SECONDS / BLOCK_SECONDS)
    if len(frame_power) >= frames:
        levels_db = np.lib.stride_tricks.sliding_window_view(10 * np.log10(frame_power.clip(SILENCE_POWER)), frames)
        softest = levels_db[np.argmin(levels_db.mean(axis=1))]
        if np.ptp(softest) <= STEADY_RANGE_DB:
            return float(10 ** (softest.mean() / 10))
    raise ClipError(
        "nothing in it is quiet or steady, so no noise floor can be told (trimmed, or noise that comes and goes); "
        "listen to it, or leave snr out"
    )
