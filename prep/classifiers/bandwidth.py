"""bandwidth: up to which frequency a clip holds sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.bandwidth import effective_bandwidth_hz
from prep.cue import Cue, Feature, Kind

if TYPE_CHECKING:
    from prep.clip import Clip


class Bandwidth(Cue):
    """Effective upper edge of the spectrum, whatever rate the file has."""

    NAME: ClassVar[str] = "bandwidth"
    VERSION: ClassVar[int] = 3
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        # One band of the measurement.
        Feature("bandwidth_hz", "Hz", "highest frequency within 60 dB of the strongest band", 125.0),
    )
    MEANING: ClassVar[str] = (
        "muffling and history: an earlier rate, a telephone, an MP3 or a synthesiser ends the spectrum early"
    )
    SOURCE: ClassVar[str] = (
        "prep.spectrum.bandwidth_hz: 95th percentile over the active frames, in bands of 125 Hz, at 44.1 kHz or "
        "the clip's own rate if that is higher"
    )

    # Clean telephone speech ends at 3.4 kHz and reads 3.9.
    LIMITS: ClassVar[dict[str, float]] = {"min_bandwidth_hz": 3000.0}

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the upper edge in Hz.

        Raises:
            ClipError: the clip is shorter than 32 ms, or silent.
        """
        return {"bandwidth_hz": effective_bandwidth_hz(clip)}
