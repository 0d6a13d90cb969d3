"""reverb: how long the room rings after the voice stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.bibliography import Reference
from prep.cue import Cue, Feature, Kind
from prep.decay import t60_seconds

if TYPE_CHECKING:
    from prep.clip import Clip


RATNAM = Reference(
    "ratnam2003blind",
    "article",
    {
        "author": "Ratnam, Rama and Jones, Douglas L. and Wheeler, Bruce C. and O'Brien, Jr., William D. and Lansing, "
        "Charissa R. and Feng, Albert S.",
        "title": "Blind estimation of reverberation time",
        "journal": "The Journal of the Acoustical Society of America",
        "volume": "114",
        "pages": "2877--2892",
        "year": "2003",
        "doi": "10.1121/1.1616578",
    },
)


class Reverb(Cue):
    """Reverberation time, blindly from the decays of the speech itself."""

    NAME: ClassVar[str] = "reverb"
    VERSION: ClassVar[int] = 2
    REFERENCES: ClassVar[tuple[Reference, ...]] = (RATNAM,)
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("t60_seconds", "s", "time in which sound falls by 60 dB; dry speech itself falls in about 0.2 s", 0.05),
    )
    MEANING: ClassVar[str] = "room: a studio, a living room and no room at all sound different after each word"
    SOURCE: ClassVar[str] = (
        "after Ratnam et al. (2003), J. Acoust. Soc. Am. 114, 2877, and Wen, Habets and Naylor (2008), ICASSP, 329: "
        "low quantile of the distribution of decay rates; straight lines fitted in octave bands"
    )

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the reverberation time of the clip in seconds.

        Raises:
            ClipError: the clip has fewer than 5 free decays, or samples that are not finite.
        """
        return {"t60_seconds": t60_seconds(clip)}
