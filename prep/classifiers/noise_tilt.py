"""noise_tilt: the colour of the noise while nobody speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.cue import Cue, Feature, Kind
from prep.pauses import noise_tilt_db_per_octave

if TYPE_CHECKING:
    from prep.clip import Clip


class NoiseTilt(Cue):
    """Slope of the spectrum in the pauses, the head and the tail."""

    NAME: ClassVar[str] = "noise_tilt"
    VERSION: ClassVar[int] = 4
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        # The slope of white noise in half a second varies by some tenths.
        Feature("noise_tilt_db_per_octave", "dB/octave", "slope of the noise in the pauses; white noise has 0", 0.1),
    )
    MEANING: ClassVar[str] = (
        "hiss or rumble: the noise of rooms falls with frequency, that of converters and dither does not"
    )
    SOURCE: ClassVar[str] = (
        "prep.pauses (quiet parts) and prep.spectrum (third-octave levels and their line, 200-7000 Hz)"
    )

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the slope in dB/octave.

        Raises:
            ClipError: as for digital_zero; the pauses are digital silence, or the rate is too low for 7 kHz.
        """
        return {"noise_tilt_db_per_octave": noise_tilt_db_per_octave(clip)}
