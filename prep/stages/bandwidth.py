"""bandwidth: every clip ends at one upper frequency, that of the narrowest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from prep.bandwidth import effective_bandwidth_hz
from prep.errors import RefusedError
from prep.level import rms_dbfs
from prep.prose import counted, sentence
from prep.spectrum import EDGE_STEP_HZ, filter_zero_phase
from prep.stage import Applied, FitsOn, Measured, Stage, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.clip import Clip, Signal
    from prep.stage import Account
    from prep.units import Hertz

TELEPHONE_HZ = 3400.0  # ITU-T G.712: narrower, and consonants are lost
TRANSITION_HZ = 2 * EDGE_STEP_HZ  # two bands of the measurement: an edge is told no finer
STOPBAND_DB = 90.0  # under the 60 dB that decide about the edge


class BandwidthMeasure(Value):
    """What fit needs of one clip."""

    bandwidth_hz: float = Field(description="effective upper edge of the clip, Hz")


class BandwidthFit(Value):
    """Where every clip ends, and what that takes away."""

    upper_hz: float = Field(description="frequency from which every clip is empty, Hz")
    narrowest_hz: float = Field(description="effective upper edge of the narrowest clip, Hz")
    narrowest_clip: str = Field(description="file name of the narrowest clip; no unit")
    widest_hz: float = Field(description="effective upper edge of the widest clip, Hz")
    clips: int = Field(description="clips measured, count")
    wider_clips: int = Field(description="clips that lose what they hold above, count")
    narrower_clips: int = Field(description="clips that end below it all the same, count")
    warning: str = Field(description="what the filter does to the evidence, in words; no unit")


class Bandwidth(Stage[BandwidthMeasure, BandwidthFit]):
    """Low-pass every clip to the narrowest effective bandwidth of the set, or to a given one.

    A linear-phase filter (Kaiser window, 90 dB) passes up to 250 Hz below that frequency and nothing from it on,
    with zero lag; every channel is filtered alike. The bandwidth of a clip is the one that the audit measures. A
    clip whose rate ends earlier is left as it is. This takes away evidence that a listener might use: what a
    synthesiser does up there is not judged.
    """

    NAME: ClassVar[str] = "bandwidth"
    VERSION: ClassVar[int] = 2
    CURES: ClassVar[tuple[str, ...]] = ("bandwidth",)
    FITS_ON: ClassVar[FitsOn] = "every clip"
    MEASURES: ClassVar[type[Value] | None] = BandwidthMeasure
    FITS: ClassVar[type[Value] | None] = BandwidthFit

    upper_hz: float | None = Field(
        default=None,
        ge=TELEPHONE_HZ,
        description="frequency from which every clip is to be empty, Hz; when not set, that of the narrowest clip",
    )
    lowest_hz: float = Field(
        default=TELEPHONE_HZ,
        gt=TRANSITION_HZ,
        description="a set whose narrowest clip ends below this is refused, not filtered, Hz",
    )

    @classmethod
    def rungs(cls, column: str, a: str, b: str) -> Sequence[dict[str, Any]]:  # noqa: ARG003
        """Return the bandwidth of the narrowest clip."""
        return [{}]

    def measure(self, clip: Clip) -> BandwidthMeasure:
        """Return the effective bandwidth of the clip.

        Raises:
            ClipError: it is shorter than 32 ms, silent, or not finite.
        """
        return BandwidthMeasure(bandwidth_hz=effective_bandwidth_hz(clip))

    def fit(self, measured: Sequence[Measured[BandwidthMeasure]]) -> BandwidthFit:
        """Return the bandwidth of the narrowest stimulus, or the given one, and how many clips it concerns.

        Raises:
            RefusedError: no stimulus is left, or the narrowest is too narrow to bring the others down to it.
        """
        stimuli = [(item.value.bandwidth_hz, item.row.file_name) for item in measured if item.row.role == "stimulus"]
        if not stimuli:
            raise RefusedError(f"{self.NAME}: no stimulus is left whose bandwidth could be measured; mend the clips")
        narrowest_hz, narrowest_clip = min(stimuli)
        upper_hz = narrowest_hz if self.upper_hz is None else self.upper_hz
        if self.upper_hz is None and narrowest_hz < self.lowest_hz:
            raise RefusedError(
                f"{self.NAME}: {narrowest_clip} ends at {narrowest_hz:.0f} Hz, below lowest_hz: {self.lowest_hz:g}, "
                "and every clip would be brought down to it; leave it out, or give upper_hz"
            )
        # The edge is told in bands: one within a band of the limit ends at it.
        narrower = sum(edge < upper_hz - TRANSITION_HZ for edge, _ in stimuli)
        wider = sum(edge > upper_hz for edge, _ in stimuli)
        return BandwidthFit(
            upper_hz=upper_hz,
            narrowest_hz=narrowest_hz,
            narrowest_clip=narrowest_clip,
            widest_hz=max(stimuli)[0],
            clips=len(stimuli),
            wider_clips=wider,
            narrower_clips=narrower,
            warning=_warning(upper_hz, wider, narrower, len(stimuli)),
        )

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return where every clip ends, whose bandwidth that is, and what it takes from the listeners."""
        fit = account.release or {}
        given = account.parameters.get("upper_hz") is not None
        whose = "a limit given beforehand" if given else "the effective bandwidth of the narrowest clip"
        return (
            f"{sentence(account.whom)} were low-pass filtered (linear phase) to end at {fit['upper_hz']:.0f} Hz, "
            f"{whose}; {fit['wider_clips']} of {counted(fit['clips'], 'clip')} held sound above it. What listeners "
            "might have heard there was removed, not corrected."
        )

    def apply(self, clip: Clip, fit: BandwidthFit) -> Applied:
        """Return the clip without what lies above the limit.

        Raises:
            ClipError: a sample is not finite.
        """
        if fit.upper_hz - TRANSITION_HZ / 2 >= clip.rate / 2:
            return Applied(clip, {"upper_hz": fit.upper_hz, "rms_change_db": 0.0, "ended_by_rate": True})
        treated = clip.with_samples(filter_zero_phase(clip.samples, low_pass_fir(fit.upper_hz, clip.rate)))
        before, after = rms_dbfs(clip), rms_dbfs(treated)
        change = None if before is None or after is None else after - before
        return Applied(treated, {"upper_hz": fit.upper_hz, "rms_change_db": change, "ended_by_rate": False})


def low_pass_fir(upper_hz: Hertz, rate: int) -> Signal:
    """Return a linear-phase low-pass that is 90 dB down from a frequency on, an odd number of taps.

    Window design with Kaiser's formulae (Oppenheim & Schafer, Discrete-Time Signal Processing, 7.5.3).
    """
    from scipy.signal import firwin, kaiser_beta

    taps = math.ceil((STOPBAND_DB - 7.95) / (2.285 * 2 * math.pi * TRANSITION_HZ / rate))
    window = ("kaiser", kaiser_beta(STOPBAND_DB))
    made: Signal = firwin(taps | 1, upper_hz - TRANSITION_HZ / 2, window=window, fs=rate)
    return made


def _warning(upper_hz: Hertz, wider: int, narrower: int, clips: int) -> str:
    """Say what the filter takes away, and what it cannot make alike."""
    taken = (
        f"{wider} of {clips} clips lose what they hold above {upper_hz:.0f} Hz: evidence that a listener might use to "
        "tell the conditions apart is removed, not corrected"
    )
    left = f"; {narrower} end below it all the same, so the clips still differ: give a lower upper_hz"
    return taken + (left if narrower else "")
