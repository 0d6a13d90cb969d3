"""digital_zero: how much of the pauses is not even noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.cue import Cue, Feature, Kind
from prep.pauses import constant_quiet

if TYPE_CHECKING:
    from prep.clip import Clip


class DigitalZero(Cue):
    """Share of the pauses, the head and the tail whose samples are all the same."""

    NAME: ClassVar[str] = "digital_zero"
    VERSION: ClassVar[int] = 3
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("digital_zero_percent", "%", "share of the quiet time that is constant", 0.5),
        Feature("digital_zero_seconds", "s", "longest constant run in the quiet parts", 0.005),
    )
    MEANING: ClassVar[str] = "gates, padding and synthesis: no recording is ever wholly silent"
    SOURCE: ClassVar[str] = "prep.pauses: blocks of 5 ms without a step of 24 bits, in quiet parts of 70 ms or more"

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the share in percent and the longest run in seconds.

        Raises:
            ClipError: the clip is too short, silent, or nowhere quiet for 70 ms.
        """
        percent, longest = constant_quiet(clip)
        return {"digital_zero_percent": percent, "digital_zero_seconds": longest}
