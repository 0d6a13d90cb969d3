"""pauses: how often and how long the voice rests inside a clip."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.cue import Cue, Feature, Kind
from prep.pauses import inner_pauses

if TYPE_CHECKING:
    from prep.clip import Clip


class Pauses(Cue):
    """Rate and share of the pauses between the first and the last speech sound."""

    NAME: ClassVar[str] = "pauses"
    VERSION: ClassVar[int] = 3
    KIND: ClassVar[Kind] = "voice"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        # One pause more or less in ten seconds; 10 ms of pause in a second.
        Feature("pauses_per_second", "1/s", "pauses of 0.25 s or more for each second of talk", 0.1),
        Feature("pause_percent", "%", "share of the talk that is such pauses", 1.0),
    )
    MEANING: ClassVar[str] = "pace: readers, talkers and synthesisers rest at other places and for other times"
    SOURCE: ClassVar[str] = "pauses of 0.25 s or more after Goldman-Eisler (1968); prep.pauses for where they are"

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the pauses per second and their share in percent; both 0 without any.

        Raises:
            ClipError: the clip is too short, silent, or without any sound of 40 ms.
        """
        pauses, talk_seconds = inner_pauses(clip)
        return {
            "pauses_per_second": len(pauses) / talk_seconds,
            "pause_percent": 100.0 * float(pauses.sum()) / talk_seconds,
        }
