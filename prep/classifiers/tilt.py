"""tilt: how bright or dark a clip is, as one straight line through its spectrum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AfterValidator, Field

from prep.cue import Cue, Feature, Kind
from prep.spectrum import TILT_BAND_HZ, checked_tilt_band, tilt_db_per_octave

if TYPE_CHECKING:
    from prep.clip import Clip


class Tilt(Cue):
    """Spectral tilt: the slope of a clip's long-term spectrum over its active frames."""

    NAME: ClassVar[str] = "tilt"
    VERSION: ClassVar[int] = 2
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature(
            "tilt_db_per_octave", "dB/octave", "slope of the spectrum; white noise has 0, brighter is higher", 0.01
        ),
    )
    MEANING: ClassVar[str] = "brightness: microphone, distance, equaliser and vocoder tilt the spectrum"
    SOURCE: ClassVar[str] = (
        "prep.spectrum: least-squares line through third-octave levels of the long-term average spectrum; "
        "third octaves after IEC 61260-1"
    )

    tilt_band_hz: Annotated[tuple[float, float], AfterValidator(checked_tilt_band)] = Field(
        default=TILT_BAND_HZ, description="lower and upper limit of the band in which tilt is measured, Hz"
    )

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the tilt of the clip in dB/octave.

        Raises:
            ClipError: the clip has no tilt in the band: too short, silent, or its band is narrower.
        """
        return {"tilt_db_per_octave": tilt_db_per_octave(clip, self.tilt_band_hz)}
