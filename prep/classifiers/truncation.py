"""truncation: whether a clip starts or ends in the middle of a sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from prep.cue import Cue, Feature, Kind
from prep.pauses import HIGH_PASS_HZ, parts
from prep.units import db_from_power

if TYPE_CHECKING:
    from prep.clip import Clip, Signal
    from prep.units import Decibels

# Speech that was trimmed tightly still rises within the first 10 ms; after a click the next 30 ms are quiet.
EDGE_SECONDS = 0.01
NEXT_SECONDS = 0.03
LOWEST_DB = -120.0  # of an edge that is digital zero


class Truncation(Cue):
    """Level at a clip's edges over its active level: a whole word rises and dies away.

    The weaker of the first 10 ms and the 30 ms after them counts, and the same at the end. What was cut in the
    closure of a stop, or was faded, or had silence added, is not told from whole.
    """

    NAME: ClassVar[str] = "truncation"
    VERSION: ClassVar[int] = 2
    KIND: ClassVar[Kind] = "nuisance"
    BATTERY: ClassVar[bool] = False
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("head_cut_db", "dB", "level at the start over the active level; a whole clip starts below -20", 3.0),
        Feature("tail_cut_db", "dB", "level at the end over the active level; a whole clip ends below -20", 3.0),
    )
    MEANING: ClassVar[str] = "editing: the first or the last word is cut off"
    SOURCE: ClassVar[str] = "prep.classifiers.truncation: the weaker of 10 ms at an edge and the 30 ms beside them"
    # Between clips as they were published and the same clips cut in the middle of words.
    LIMITS: ClassVar[dict[str, float]] = {"max_head_cut_db": -20.0, "max_tail_cut_db": -20.0}

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the level of the start and of the end over the active level, dB.

        Raises:
            ClipError: the clip is too short, silent, not finite, or without any sound of 40 ms.
        """
        from scipy.signal import butter, sosfilt

        active = parts(clip).active
        signal = clip.mono()
        # From either end inwards, so that the filter has not yet heard the rest; rumble is no speech.
        high_pass = butter(2, HIGH_PASS_HZ, "highpass", fs=clip.rate, output="sos")
        reach = round((EDGE_SECONDS + NEXT_SECONDS) * clip.rate)
        ends = ((signal - signal.mean())[:reach], (signal - signal.mean())[::-1][:reach])
        head, tail = (_edge_db(sosfilt(high_pass, end), round(EDGE_SECONDS * clip.rate), active) for end in ends)
        return {"head_cut_db": head, "tail_cut_db": tail}


def _edge_db(inwards: Signal, edge: int, active: float) -> Decibels:
    """Return the level of the weaker part of an edge, read inwards, over the active power."""
    weaker = min(float(np.mean(np.square(part))) for part in (inwards[:edge], inwards[edge:]) if len(part))
    return max(db_from_power(weaker / active), LOWEST_DB)
