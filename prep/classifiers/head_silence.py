"""head_silence: how long a clip is silent before the speech."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.cue import Cue, Feature, Kind
from prep.pauses import head_seconds

if TYPE_CHECKING:
    from prep.clip import Clip


class HeadSilence(Cue):
    """Time before the first speech sound."""

    NAME: ClassVar[str] = "head_silence"
    VERSION: ClassVar[int] = 3
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        # Blocks of 5 ms, on both sides of a soft edge.
        Feature("head_seconds", "s", "time before the first speech sound", 0.01),
    )
    MEANING: ClassVar[str] = (
        "editing: cutters and synthesisers leave their own lengths of silence, and a listener hears the wait"
    )
    SOURCE: ClassVar[str] = (
        "prep.pauses: threshold by the clip's own active level and floor; clicks and soft onsets allowed for"
    )

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the time in seconds.

        Raises:
            ClipError: the clip is too short, silent, or without any sound of 40 ms.
        """
        return {"head_seconds": head_seconds(clip)}
