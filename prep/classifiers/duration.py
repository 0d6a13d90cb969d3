"""duration: how long a clip lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError

if TYPE_CHECKING:
    from prep.clip import Clip


class Duration(Cue):
    """Length of the clip, with the silence at its ends."""

    NAME: ClassVar[str] = "duration"
    KIND: ClassVar[Kind] = "voice"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("duration_seconds", "s", "frames over sampling rate, silence at the ends included", 0.01),
    )
    MEANING: ClassVar[str] = "length: speaking rate and pauses, and how the clip was cut"
    SOURCE: ClassVar[str] = "by definition: frames over sampling rate"
    # Below one block of ITU-R BS.1770 a clip has no integrated loudness, and few words are so short.
    LIMITS: ClassVar[dict[str, float]] = {"min_duration_seconds": 0.4}

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the length of the clip in seconds.

        Raises:
            ClipError: the clip has no samples.
        """
        if clip.frames == 0:
            raise ClipError("it has no samples, so it has no duration; replace the file")
        return {"duration_seconds": clip.seconds}
