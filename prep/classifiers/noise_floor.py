"""noise_floor: how loud it is while nobody speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.cue import Cue, Feature, Kind
from prep.pauses import noise_floor_dbfs

if TYPE_CHECKING:
    from prep.clip import Clip


class NoiseFloor(Cue):
    """Level in the pauses, the head and the tail."""

    NAME: ClassVar[str] = "noise_floor"
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        # Twenty milliseconds of low noise vary by some decibels; their median over a pause by a few tenths.
        Feature("noise_floor_dbfs", "dBFS", "median level in the pauses above 80 Hz; -120 is silence", 0.5),
    )
    MEANING: ClassVar[str] = "hiss and room: recordings carry the noise of their place, synthesis often none"
    SOURCE: ClassVar[str] = "prep.pauses: quiet parts of 70 ms or more, by the clip's own active level and floor"

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the level of the pauses in dBFS.

        Raises:
            ClipError: the clip is too short, silent, or nowhere quiet for 70 ms.
        """
        return {"noise_floor_dbfs": noise_floor_dbfs(clip)}
