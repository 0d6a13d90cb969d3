"""spectrum: the shape of a clip's long-term spectrum, in third octaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.cue import Cue, Feature, Kind
from prep.spectrum import shape_db

if TYPE_CHECKING:
    from prep.clip import Clip

# The nominal centres of IEC 61260-1.
_CENTRES_HZ = (
    *(100, 125, 160, 200, 250, 315, 400, 500, 630, 800, 1000, 1250),
    *(1600, 2000, 2500, 3150, 4000, 5000, 6300, 8000, 10000, 12500, 16000),
)
_RESOLUTION_DB = 0.2


class Spectrum(Cue):
    """Third-octave levels of the long-term spectrum over active frames, the clip's own level taken out."""

    NAME: ClassVar[str] = "spectrum"
    VERSION: ClassVar[int] = 2
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = tuple(
        Feature(
            f"spectrum_{centre}hz_db",
            "dB",
            f"third octave at {centre} Hz over the mean of 200 Hz to 3150 Hz; -80 is empty",
            _RESOLUTION_DB,
        )
        for centre in _CENTRES_HZ
    )
    MEANING: ClassVar[str] = "timbre of the chain: microphone, room, equaliser, codec and vocoder, beside the voice"
    SOURCE: ClassVar[str] = "prep.spectrum.shape_db: long-term average spectrum; third octaves after IEC 61260-1"

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return each level in dB; -80 where the rate holds nothing.

        Raises:
            ClipError: the clip is shorter than 64 ms, silent, or of a rate below 7.2 kHz.
        """
        _, levels = shape_db(clip)
        return {feature.name: float(level) for feature, level in zip(self.FEATURES, levels, strict=True)}
