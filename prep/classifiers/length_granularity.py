"""length_granularity: which vocoder hop a clip's length is a multiple of."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError

if TYPE_CHECKING:
    from prep.clip import Clip

# Hops of vocoders, the first that divides wins. A multiple of 512 or 1024 counts as 256, of 480 as 240, of
# 320 as 160: half the clips of a smaller hop would pass for them. An arbitrary length meets any by 3 % chance.
HOPS = (256, 300, 240, 200, 160, 128, 100, 80, 64)


class LengthGranularity(Cue):
    """Hop of which the length in frames is a multiple, at the clip's own rate."""

    NAME: ClassVar[str] = "length_granularity"
    KIND: ClassVar[Kind] = "file"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("hop_divisor", "no unit", f"first of {', '.join(map(str, HOPS))} that divides the frames; else 1", 1.0),
    )
    MEANING: ClassVar[str] = "synthesis: a vocoder makes whole hops, so that the length of the file gives it away"
    SOURCE: ClassVar[str] = "by definition: frames modulo hop; hops as in published vocoder configurations"

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the hop that divides the clip's frames.

        Raises:
            ClipError: the clip has no samples.
        """
        if clip.frames == 0:
            raise ClipError("it has no samples, so it has no length; replace the file")
        return {"hop_divisor": float(next((hop for hop in HOPS if clip.frames % hop == 0), 1))}
