"""loudness_range: how much the loudness of a clip varies over seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.bibliography import Reference
from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError
from prep.level import RANGE_SECONDS, loudness_range_lu

if TYPE_CHECKING:
    from prep.clip import Clip


EBU_TECH_3342 = Reference(
    "ebu3342",
    "techreport",
    {
        "author": "{European Broadcasting Union}",
        "title": "Loudness Range: A measure to supplement {EBU} {R} 128 loudness normalisation",
        "number": "EBU Tech 3342",
        "institution": "European Broadcasting Union",
    },
)


class LoudnessRange(Cue):
    """Loudness range of the clip, from windows of 3 s, one a second.

    The windows are libebur128's, so that the figure is the one that other tools give; EBU Tech 3342 asks for
    ten a second since 2016. Below 4 s there is one window, and the range is 0.
    """

    NAME: ClassVar[str] = "loudness_range"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (EBU_TECH_3342,)
    VERSION: ClassVar[int] = 2
    KIND: ClassVar[Kind] = "voice"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        # A start up to 50 ms away, as a codec's delay makes it, moves the range of 95 % of real clips by up to 0.5 LU.
        Feature("loudness_range_lu", "LU", "10th to 95th percentile of the loudness of 3 s windows", 0.5),
    )
    MEANING: ClassVar[str] = "variation of loudness: emphasis, and compression; in clips of a few seconds also length"
    SOURCE: ClassVar[str] = "EBU Tech 3342, one window a second and no silence after the clip, as libebur128"

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the loudness range of the clip in LU.

        Raises:
            ClipError: the clip is shorter than one 3 s window, or silent.
        """
        range_lu = loudness_range_lu(clip)
        if range_lu is not None:
            return {"loudness_range_lu": range_lu}
        if clip.seconds < RANGE_SECONDS:
            raise ClipError(
                f"it lasts {clip.seconds:.3f} s, and a loudness range needs {RANGE_SECONDS:g} s; use a longer clip, "
                "or leave loudness_range out of audit.cues"
            )
        raise ClipError("it is silent (no 3 s window above -70 LUFS), so it has no loudness range; replace it")
