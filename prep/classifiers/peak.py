"""peak: how high a clip's waveform reaches, absolutely and above its RMS level."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prep.bibliography import ITU_BS1770, Reference
from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError
from prep.level import crest_db, true_peak_dbtp

if TYPE_CHECKING:
    from prep.clip import Clip


class Peak(Cue):
    """True peak and crest factor, over all channels."""

    NAME: ClassVar[str] = "peak"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (ITU_BS1770,)
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("true_peak_dbtp", "dBTP", "highest point of the waveform between and at the samples", 0.1),
        Feature("crest_db", "dB", "highest absolute sample over the RMS of the clip; a sine has 3.01", 0.1),
    )
    MEANING: ClassVar[str] = "headroom and density: limiters and compressors lower the crest factor"
    SOURCE: ClassVar[str] = "ITU-R BS.1770-5, Annex 2 (true peak); IEC 60268-1 (crest factor: peak over RMS)"

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the true peak in dBTP and the crest factor in dB.

        Raises:
            ClipError: the clip is digital silence.
        """
        true_peak, crest = true_peak_dbtp(clip), crest_db(clip)
        if true_peak is None or crest is None:
            raise ClipError("every sample is zero, so it has no peak and no crest factor; replace it")
        return {"true_peak_dbtp": true_peak, "crest_db": crest}
