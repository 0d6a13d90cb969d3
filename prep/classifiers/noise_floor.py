"""noise_floor: how loud it is while nobody speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.bibliography import Reference
from prep.cue import Cue, Feature, Kind
from prep.pauses import noise_floor_dbfs

if TYPE_CHECKING:
    from prep.clip import Clip


MARTIN = Reference(
    "martin2001noise",
    "article",
    {
        "author": "Martin, Rainer",
        "title": "Noise Power Spectral Density Estimation Based on Optimal Smoothing and Minimum Statistics",
        "journal": "{IEEE} Transactions on Speech and Audio Processing",
        "volume": "9",
        "number": "5",
        "pages": "504--512",
        "year": "2001",
    },
)


class NoiseFloor(Cue):
    """Level of the quietest parts: pauses, ends, and the closures of stops."""

    NAME: ClassVar[str] = "noise_floor"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (MARTIN,)
    VERSION: ClassVar[int] = 3
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        # Twenty milliseconds of low noise vary by some decibels; their mean over a pause by a few tenths.
        Feature("noise_floor_dbfs", "dBFS", "level of the quietest parts above 80 Hz; -120 is silence", 0.5),
    )
    MEANING: ClassVar[str] = "hiss and room: recordings carry the noise of their place, synthesis often none"
    SOURCE: ClassVar[str] = (
        "prep.pauses: mean power of the 20 ms within 6 dB of the lowest 50 ms in all (a low-percentile variant of "
        "minimum statistics, Martin 2001)"
    )

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the level of the floor in dBFS.

        Raises:
            ClipError: the clip is too short, silent, or nowhere 15.9 dB below its speech.
        """
        return {"noise_floor_dbfs": noise_floor_dbfs(clip)}
