"""active_level: how loud the speech in a clip is, its pauses left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.bibliography import ITU_P56, Reference
from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError
from prep.level import active_level, why_no_active_level

if TYPE_CHECKING:
    from prep.clip import Clip


class ActiveLevel(Cue):
    """Active speech level of the mean of the channels, DC removed."""

    NAME: ClassVar[str] = "active_level"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (ITU_P56,)
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("active_level_dbov", "dBov", "RMS level of the active speech; a full-scale sine has -3.01", 0.1),
    )
    MEANING: ClassVar[str] = "level of the speech alone: pauses and silence at the ends do not lower it"
    SOURCE: ClassVar[str] = "ITU-T P.56 (12/2011), method B"

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the active speech level of the clip in dBov.

        Raises:
            ClipError: the clip is below 0.2 s, silent, a click, or outside -74.4 to 9.9 dBov.
        """
        level = active_level(clip)
        if level is None:
            raise ClipError(why_no_active_level(clip))
        return {"active_level_dbov": level.active_level_dbov}
