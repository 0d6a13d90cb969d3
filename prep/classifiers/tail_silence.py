"""tail_silence: how long a clip is silent after the speech."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.cue import Cue, Feature, Kind
from prep.pauses import tail_seconds

if TYPE_CHECKING:
    from prep.clip import Clip


class TailSilence(Cue):
    """Time after the last speech sound."""

    NAME: ClassVar[str] = "tail_silence"
    VERSION: ClassVar[int] = 3
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        # Blocks of 5 ms, on both sides of a soft edge.
        Feature("tail_seconds", "s", "time after the last speech sound", 0.01),
    )
    MEANING: ClassVar[str] = (
        "editing: cutters and synthesisers leave their own lengths of silence, which shift what follows"
    )
    SOURCE: ClassVar[str] = (
        "prep.pauses: threshold by the clip's own active level and floor; clicks and soft onsets allowed for"
    )

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the time in seconds.

        Raises:
            ClipError: the clip is too short, silent, or without any sound of 40 ms.
        """
        return {"tail_seconds": tail_seconds(clip)}
