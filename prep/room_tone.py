"""The noise of a clip while nobody speaks: where it is, how it sounds in third octaves, and more of it.

Where a clip is nowhere quiet for 70 ms, its quietest 70 ms stand in. Digital zero counts as quiet (its level is
nothing), but no tone is made of it. What is drawn at random is drawn from a generator that the clip's samples seed
(the mean of its channels), so the same clip gets the same noise, whatever it is called and whoever speaks.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from prep.pauses import BLOCK_SECONDS, FRAME_BLOCKS, SHORTEST_QUIET_SECONDS, Parts, parts
from prep.spectrum import FRAME_SECONDS, LOWEST_BAND_HZ, SHAPE_BAND_HZ, third_octave_levels
from prep.units import ratio_from_db

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prep.clip import Clip, Signal
    from prep.units import Hertz

    Ranges = NDArray[np.intp]

ToneSource = Literal["pauses", "quietest part", "noise"]

# The density of 24-bit rounding noise at 192 kHz: no file holds less.
LOWEST_DENSITY_DB = -200.0

# What a 16-bit file with triangular dither holds where nothing is (4.77 dB over its rounding noise).
FAINTEST_TONE_DBFS = -93.3
LONGEST_GRAIN_SECONDS = 0.1
SHORTEST_GRAIN_SECONDS = 0.01
GRAIN_STEP_SECONDS = 0.005


class Tone(NamedTuple):
    """Room tone, (frames, channels) float64, and what it was made of."""

    samples: Signal
    source: ToneSource


def generator_of(clip: Clip) -> np.random.Generator:
    """Return a random generator that the clip's samples seed; exchanged channels seed it alike."""
    seed = hashlib.sha256(clip.mono().tobytes()).digest()
    return np.random.default_rng(int.from_bytes(seed, "big"))


def quiet_ranges(clip: Clip) -> Ranges:
    """Return the quiet parts of a clip in frames, [first, last), (ranges, 2); its quietest 70 ms where it has none.

    Raises:
        ClipError: as `parts`.
    """
    return clip.once(_quiet_ranges)


def _quiet_ranges(clip: Clip) -> Ranges:
    found = parts(clip)
    quiet = found.quiet if len(found.quiet) else _quietest(found)
    frames: Ranges = np.rint(found.starts_seconds * clip.rate).astype(np.intp)[quiet]
    return frames


def _quietest(found: Parts) -> Ranges:
    """Return the range of blocks, 70 ms long, with the least power, digital zero avoided."""
    length = min(round(SHORTEST_QUIET_SECONDS / BLOCK_SECONDS), len(found.constant))
    power = np.convolve(found.frame_power, np.ones(length - FRAME_BLOCKS + 1), mode="valid")
    zeros = np.convolve(found.constant, np.ones(length), mode="valid")
    first = int(np.lexsort((power, zeros))[0])
    return np.array([[first, first + length]], dtype=np.intp)


def floor_levels_db(clip: Clip) -> tuple[Signal, Signal]:
    """Return the third-octave levels of a clip's noise: of each band the median over the frames of its quiet parts.

    Hann frames of 64 ms with half overlap, of the mean of the channels.

    Returns:
        Centres in Hz from 100 Hz, as far as the rate goes, up to 16 kHz; levels in dB, the mean power density of the
        band in 1/Hz (full scale 1.0 squared), at least -200 dB.

    Raises:
        ClipError: as `parts`.
    """
    signal, size = clip.mono(), round(FRAME_SECONDS * clip.rate)
    band = (SHAPE_BAND_HZ[0], min(SHAPE_BAND_HZ[1], highest_band_hz(clip.rate)))
    frequencies: Signal = np.fft.rfftfreq(size, 1 / clip.rate).astype(np.float64)
    levels = []
    for first, last in quiet_ranges(clip):
        length = min(size, last - first)
        window = np.hanning(length + 2)[1:-1]
        for start in range(first, last - length + 1, max(length // 2, 1)):
            frame = signal[start : start + length]
            power = np.abs(np.fft.rfft((frame - frame.mean()) * window, size)) ** 2
            centres, level = third_octave_levels(frequencies, 2 * power / (clip.rate * np.sum(window**2)), band)
            levels.append(level)
    middle: Signal = np.median(np.maximum(levels, LOWEST_DENSITY_DB), axis=0)
    return centres, middle


def highest_band_hz(rate: int) -> Hertz:
    """Return how high a third octave may reach at a rate, Hz: the lower edge of the last bin of 64 ms."""
    return max(rate / 2 - rate / max(round(FRAME_SECONDS * rate), 1) / 2, LOWEST_BAND_HZ)


def room_tone(clip: Clip, frames: int, generator: np.random.Generator) -> Tone:
    """Return more of a clip's room tone: grains of its quiet parts at random places, cross-faded at equal power.

    Of all grains the middle half by power is used: ends of words, clicks and dips are left out. A clip whose quiet
    parts are mostly digital zero (what sounds beside it are the ends of words), or fainter than 16-bit dither, gets
    white noise as faint as that, the same in every channel.

    Raises:
        ClipError: as `parts`.
    """
    pieces = _pieces(clip)
    longest = max((last - first for first, last in pieces), default=0)
    hop = min(round(LONGEST_GRAIN_SECONDS * clip.rate), longest // 2) // 2  # half, so that not all grains are the same
    enough = 2 * hop >= round(SHORTEST_GRAIN_SECONDS * clip.rate)
    starts = _middle_half(clip, pieces, 2 * hop) if enough else np.array([], dtype=np.intp)
    if len(starts) == 0:
        noise = ratio_from_db(FAINTEST_TONE_DBFS) * generator.standard_normal((frames, 1))
        return Tone(np.repeat(noise, clip.channels, axis=1), "noise")
    window = np.sin(np.pi * (np.arange(2 * hop) + 0.5) / (2 * hop))[:, np.newaxis]  # squares add to 1 at half overlap
    tone = np.zeros((frames + 3 * hop, clip.channels))
    for place in range(0, frames + hop, hop):
        start = int(starts[generator.integers(len(starts))])
        tone[place : place + 2 * hop] += window * clip.samples[start : start + 2 * hop]
    return Tone(tone[hop : hop + frames], "pauses" if len(parts(clip).quiet) else "quietest part")


def _pieces(clip: Clip) -> list[tuple[int, int]]:
    """Return the quiet parts in frames, [first, last), without what is digital zero; none where most of them is."""
    found = parts(clip)
    bounds = np.rint(found.starts_seconds * clip.rate).astype(int)
    pieces = []
    for first, last in np.searchsorted(bounds, quiet_ranges(clip)) if found.floor > 0 else ():
        sounding = np.flatnonzero(np.diff(~found.constant[first:last], prepend=False, append=False)).reshape(-1, 2)
        pieces += [(int(bounds[first + a]), int(bounds[first + b])) for a, b in sounding]
    return pieces


def _middle_half(clip: Clip, pieces: list[tuple[int, int]], grain: int) -> Ranges:
    """Return where the grains start whose power lies between the quartiles; none where they are too faint."""
    step = max(round(GRAIN_STEP_SECONDS * clip.rate), 1)
    starts = np.concatenate([np.arange(first, last - grain + 1, step) for first, last in pieces])
    energy = np.concatenate([[0.0], np.cumsum(np.mean(np.square(clip.samples, dtype=np.float64), axis=1))])
    power = (energy[starts + grain] - energy[starts]) / grain
    low, middle, high = np.percentile(power, [25, 50, 75], method="closest_observation")
    if middle < ratio_from_db(FAINTEST_TONE_DBFS) ** 2:
        return np.array([], dtype=np.intp)
    chosen: Ranges = starts[(power >= low) & (power <= high)]
    return chosen
