"""channels: whether the channels of a clip say the same: none dead, none inverted."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError

if TYPE_CHECKING:
    from prep.clip import Clip

HIGHEST_IMBALANCE_DB = 100.0  # a channel further down holds less than the rounding noise of 16 bits


class Channels(Cue):
    """Level and likeness of the channels of a clip; one channel is like itself."""

    NAME: ClassVar[str] = "channels"
    KIND: ClassVar[Kind] = "nuisance"
    BATTERY: ClassVar[bool] = False
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("channel_imbalance_db", "dB", "loudest channel over the quietest; mono has 0, a dead one 100", 0.1),
        Feature("channel_correlation", "no unit", "lowest correlation of two channels; mono has 1, inverted -1", 0.01),
    )
    MEANING: ClassVar[str] = "recording chain: a dead or inverted channel sounds thin, one-sided, or cancels in mono"
    SOURCE: ClassVar[str] = "by definition: RMS of each channel without its DC, and Pearson's r at lag 0"
    # A voice 15 dB louder on one side is heard there alone. Below -0.5 the mean of two equal channels has lost 6 dB
    # and more; two microphones at a distance stay between -0.3 and 0.5.
    LIMITS: ClassVar[dict[str, float]] = {"max_channel_imbalance_db": 15.0, "min_channel_correlation": -0.5}

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the imbalance in dB and the lowest correlation; 0 and 1 for one channel and for silence.

        A channel that is dead correlates with nothing, so it counts by its level alone.

        Raises:
            ClipError: the clip has no samples, or samples that are not finite.
        """
        if not clip.frames:
            raise ClipError("it has no samples; replace the file")
        clip.check_finite()
        if clip.channels == 1:
            return {"channel_imbalance_db": 0.0, "channel_correlation": 1.0}
        samples = clip.samples.astype(np.float64)
        products = np.cov(samples, rowvar=False, bias=True)
        power = np.diag(products)
        alive = power > power.max() * 10 ** (-HIGHEST_IMBALANCE_DB / 10)
        if not alive.any():
            return {"channel_imbalance_db": 0.0, "channel_correlation": 1.0}
        imbalance_db = 10 * np.log10(power.max() / power.min()) if alive.all() else HIGHEST_IMBALANCE_DB
        pairs = combinations(np.flatnonzero(alive), 2)
        correlations = [products[i, j] / np.sqrt(power[i] * power[j]) for i, j in pairs]
        return {
            "channel_imbalance_db": float(imbalance_db),
            "channel_correlation": float(np.clip(min(correlations, default=1.0), -1.0, 1.0)),
        }
