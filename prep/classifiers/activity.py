"""activity: how much of a clip is speech."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.bibliography import ITU_P56, Reference
from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError
from prep.level import active_level, why_no_active_level

if TYPE_CHECKING:
    from prep.clip import Clip


class Activity(Cue):
    """Share of the clip that is active speech, pauses under about 0.2 s included."""

    NAME: ClassVar[str] = "activity"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (ITU_P56,)
    KIND: ClassVar[Kind] = "voice"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("activity_percent", "%", "share of the time at which speech is active", 1.0),
    )
    MEANING: ClassVar[str] = "pauses: how often and how long the voice rests, and the silence at the ends"
    SOURCE: ClassVar[str] = "ITU-T P.56 (12/2011), method B"

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the activity of the clip in percent of its length.

        Raises:
            ClipError: the clip is below 0.2 s, silent, a click, or outside -74.4 to 9.9 dBov.
        """
        level = active_level(clip)
        if level is None:
            raise ClipError(why_no_active_level(clip))
        return {"activity_percent": level.activity_percent}
