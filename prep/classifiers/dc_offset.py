"""dc_offset: how far a clip's waveform stands off zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError

if TYPE_CHECKING:
    from prep.clip import Clip


class DcOffset(Cue):
    """Mean of the waveform, as a share of its RMS."""

    NAME: ClassVar[str] = "dc_offset"
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        # Cutting to 16 bits instead of rounding leaves half a step: 0.03 % of a clip at -26 dBFS, which is no chain.
        Feature("dc_percent", "%", "magnitude of the mean sample over the RMS of the clip, channels by power", 0.1),
    )
    MEANING: ClassVar[str] = "recording chain: sound cards add an offset, heard as a click where the clip begins"
    SOURCE: ClassVar[str] = "by definition: 100 * sqrt(mean over channels of the squared mean / mean square)"
    # The click where the clip begins is then 6 dB under its speech. Recordings of some care stay below 1 %, and
    # high_pass cures what lies between.
    LIMITS: ClassVar[dict[str, float]] = {"max_dc_percent": 50.0}

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the offset of the clip in percent of its RMS.

        Raises:
            ClipError: the clip is digital silence, or a sample is not finite.
        """
        clip.check_finite()
        samples = clip.samples.astype(np.float64)
        power = float(np.square(samples).mean()) if samples.size else 0.0
        if power == 0.0:
            raise ClipError("every sample is zero, so there is nothing to compare an offset with; replace it")
        offset = float(np.square(samples.mean(axis=0)).mean())
        return {"dc_percent": 100.0 * (offset / power) ** 0.5}
