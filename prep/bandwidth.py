"""Bandwidth: up to which frequency a clip holds sound, on one scale for every rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prep.audio import resample
from prep.spectrum import bandwidth_hz

if TYPE_CHECKING:
    from prep.clip import Clip
    from prep.units import Hertz

# The rate of a listener's device. A converter takes the top few percent of a lower rate away, so that a clip and
# its converted copy are on one scale only after the same conversion.
COMMON_RATE = 44_100  # Hz


def effective_bandwidth_hz(clip: Clip) -> Hertz:
    """Return the upper edge of a clip's sound at 44.1 kHz, or at its own rate where that is higher.

    Raises:
        ClipError: the clip is shorter than 32 ms, silent or not finite.
    """
    return clip.once(_effective_bandwidth_hz)


def _effective_bandwidth_hz(clip: Clip) -> Hertz:
    return bandwidth_hz(at_common_rate(clip))


def at_common_rate(clip: Clip) -> Clip:
    """Return a clip at 44.1 kHz, or as it is where its rate is higher, made once: several cues look at it."""
    return clip if clip.rate >= COMMON_RATE else clip.once(_at_common_rate)


def _at_common_rate(clip: Clip) -> Clip:
    return resample(clip, COMMON_RATE)
