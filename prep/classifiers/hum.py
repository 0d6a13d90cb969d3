"""hum: how far the mains stands out of a clip's spectrum."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from prep.cue import Cue, Feature, Kind
from prep.errors import ClipError
from prep.spectrum import decimated

if TYPE_CHECKING:
    from prep.clip import Clip, Signal

MAINS_HZ = (50.0, 60.0)
HARMONICS = 8  # up to 400 or 480 Hz
LOW_RATE_HZ = 1500  # at least, to which a clip is decimated: all lines and their neighbourhood lie below 500 Hz
STRONGEST = 3  # a transformer hums at even, a light dimmer at odd harmonics: seldom at all
WINDOW_SECONDS = 0.5
HOP_SECONDS = 0.125
FEWEST_WINDOWS = 5
WINDOWS_AT_ONCE = 16

# A voice crosses a line and leaves it; hum is there in each window. A low percentile keeps what stays.
PERCENTILE = 20.0
LINE_HZ = 1.0  # half width of a line: the mains keep 0.2 Hz, a recorder's clock is far better
NEAR_HZ, FAR_HZ = 5.0, 20.0  # where the neighbourhood of a line begins (beyond the window's lobe) and ends


class Hum(Cue):
    """Lines of the 50 or 60 Hz mains over their neighbourhood, in the sound that stays."""

    NAME: ClassVar[str] = "hum"
    VERSION: ClassVar[int] = 2
    KIND: ClassVar[Kind] = "nuisance"
    FEATURES: ClassVar[tuple[Feature, ...]] = (
        Feature("hum_db", "dB", "mean of the 3 strongest mains lines over the noise beside; without hum 2 to 9", 1.0),
    )
    MEANING: ClassVar[str] = "recording chain: a cable near the mains hums under real recordings, never in synthesis"
    SOURCE: ClassVar[str] = (
        "prep.classifiers.hum: 20th percentile over Hann windows of 0.5 s of the spectrum; first 8 harmonics of 50 "
        "and 60 Hz over the median 5 to 20 Hz beside each; the stronger comb"
    )
    # Speech without hum has 14 at most, a recording that hums through its pauses 20 and more.
    LIMITS: ClassVar[dict[str, float]] = {"max_hum_db": 18.0}

    def measure(self, clip: Clip) -> dict[str, float]:
        """Return the hum of the clip in dB.

        Raises:
            ClipError: the clip is shorter than 1 s, silent but for less than that, or not finite.
        """
        clip.check_finite()
        frequencies, power = _lasting_spectrum(clip)
        return {"hum_db": max(_comb_db(frequencies, power, mains) for mains in MAINS_HZ)}


def _lasting_spectrum(clip: Clip) -> tuple[Signal, Signal]:
    """Return frequencies in Hz, up to 500 Hz, and the power that all but a fifth of the windows exceed.

    Windows of digital silence are left out: where a gate was open, hum is heard with the voice.
    """
    from scipy.fft import next_fast_len, rfft

    every = max(int(clip.rate // LOW_RATE_HZ), 1)
    rate = clip.rate / every
    frames, hop = round(WINDOW_SECONDS * rate), max(round(HOP_SECONDS * rate), 1)
    starts = range(0, clip.frames // every - frames + 1, hop)
    sounding = [first for first in starts if clip.samples[first * every : (first + frames) * every].any()]
    if len(sounding) < FEWEST_WINDOWS:
        raise ClipError("less than 1 s of it is sound, and hum needs 1 s; use a longer clip, or leave hum out")
    samples = decimated(clip.samples.astype(np.float64), every).astype(np.float32)
    window = np.hanning(frames + 1)[:-1].astype(np.float32)
    padded = next_fast_len(4 * frames, real=True)  # bins of 0.5 Hz: a line between two bins loses little
    frequencies: Signal = np.fft.rfftfreq(padded, 1 / rate).astype(np.float64)
    low = frequencies <= MAINS_HZ[-1] * HARMONICS + FAR_HZ
    windows = np.lib.stride_tricks.sliding_window_view(samples, frames, axis=0)
    powers = [
        np.square(np.abs(rfft(windows[some] * window, padded)[..., low])).mean(axis=1)
        for some in (sounding[first : first + WINDOWS_AT_ONCE] for first in range(0, len(sounding), WINDOWS_AT_ONCE))
    ]
    lasting: Signal = np.percentile(np.concatenate(powers).T, PERCENTILE, axis=1)
    return frequencies[low], lasting


def _comb_db(frequencies: Signal, power: Signal, mains_hz: float) -> float:
    """Return the mean of the strongest lines of a comb over their neighbourhoods, dB."""
    lines = []
    for line_hz in mains_hz * np.arange(1, HARMONICS + 1):
        away = np.abs(frequencies - line_hz)
        beside = statistics.median(power[(away >= NEAR_HZ) & (away <= FAR_HZ)].tolist())  # np.median is slow on few
        line = float(power[away <= LINE_HZ].max(initial=0.0))
        if beside > 0 and line > 0:
            lines.append(10 * np.log10(line / beside))
    return float(np.mean(sorted(lines)[-STRONGEST:])) if lines else 0.0
