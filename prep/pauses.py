"""Where a clip is speech and where it is quiet: its head, its tail and its pauses.

The clip is mixed to mono, its DC taken out, and high-passed at 80 Hz, under the lowest voice, so that rumble
fills no pause. Its level is the mean power of 20 ms every 5 ms. Two levels of the clip itself set the threshold,
so no gain moves it:

- the active level: the mean power of the frames at most 15.9 dB below it (the margin of ITU-T P.56);
- the floor: the mean power of the frames at most 6 dB above the lowest 50 ms in all (a tenth of a clip under
  0.5 s), without what is digital zero. It needs no pause: the closures of a few stops are enough. As those 6 dB
  take in nearly all of a steady noise, it does not sink with the length of the pauses, as a minimum would. Where most
  of what is quiet is digital zero, and the rest as loud as weak consonants, the floor is nothing.

The threshold lies 10 dB above the floor, at least 15.9 dB and at most 40 dB below the active level. Speech is
what stays above it for 40 ms and reaches the 15.9 dB somewhere. A weaker or shorter sound (a first "s", the
release of a last "t") is speech too if no more than the closure of a stop, 150 ms, parts it from speech; before
speech it must last 40 ms, so that a click is none. Quiet is what stays below the threshold for 70 ms; clicks and
breaths above it are neither.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prep.errors import ClipError
from prep.spectrum import FRAME_SECONDS, SILENCE_POWER, TILT_BAND_HZ, check_tilt_rate, slope_db_per_octave
from prep.units import db_from_power

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prep.clip import Clip, Signal
    from prep.units import DbPerOctave, Decibels, Seconds

    Blocks = NDArray[np.intp]

HIGH_PASS_HZ = 80.0  # second order: a steeper one rings on for 20 ms after speech
BLOCK_SECONDS = 0.005
FRAME_BLOCKS = 4

# The same margin as ITU-T P.56: what it counts as active.
ACTIVE_MARGIN_DB = 15.9
# The weakest consonant of English has 28 dB less power than the strongest vowel (Fletcher, Speech and Hearing
# in Communication, 1953); its onset and the end of a vowel lie lower still.
WEAKEST_DB = 28.0
LOWEST_MARGIN_DB = 40.0
# The level of 20 ms of steady noise, brown noise above 80 Hz too, stays within 10 dB of its mean, and most of it
# within 6 dB of its lowest values.
ABOVE_FLOOR_DB = 10.0
FLOOR_SECONDS = 0.05
FLOOR_SHARE = 0.1
FLOOR_RANGE_DB = 6.0

SHORTEST_SOUND_SECONDS = 0.04
LONGEST_CLOSURE_SECONDS = 0.15
SHORTEST_QUIET_SECONDS = 0.07  # holds a frame of the noise spectrum
# Goldman-Eisler, Psycholinguistics (1968): shorter silences belong to articulation.
SHORTEST_PAUSE_SECONDS = 0.25
SHORTEST_ZEROS_SECONDS = 0.005  # a single sample of zero is chance

# A step that no 24-bit file could hold.
CONSTANT_RANGE = 2.0**-24
# Far below the rounding noise of 16 bits (-101 dBFS) and below hearing at any listening level.
LOWEST_FLOOR_DBFS = -120.0


class Parts(NamedTuple):
    """The parts of a clip, in blocks of 5 ms; each range is [first, last), shape (ranges, 2).

    Attributes:
        starts_seconds: where each block starts, and the end of the clip, (blocks + 1,).
        frame_power: mean power of the 20 ms that start with each block, (blocks - 3,).
        constant: whether every sample of a block is the same, in every channel, (blocks,).
        active: the active level, as power.
        floor: the floor, as power; 0 where there is none but digital zero.
        threshold: the power that parts speech from quiet.
        speech: ranges of speech, in order.
        quiet: ranges of at least 70 ms below the threshold, in order.
    """

    starts_seconds: Signal
    frame_power: Signal
    constant: NDArray[np.bool_]
    active: float
    floor: float
    threshold: float
    speech: Blocks
    quiet: Blocks


def parts(clip: Clip) -> Parts:
    """Return where a clip is speech and where it is quiet.

    Raises:
        ClipError: a sample is not finite, the rate is too low, or the clip is too short, silent, or without
            any sound of 40 ms.
    """
    return clip.once(_parts)


def _parts(clip: Clip) -> Parts:
    starts = _block_starts(clip)
    power = _block_power(clip, starts)
    frame_power = np.convolve(power, np.full(FRAME_BLOCKS, 1 / FRAME_BLOCKS), mode="valid").clip(min=0)
    constant = _constant_blocks(clip, starts)
    active = active_power(frame_power)
    if active < SILENCE_POWER:
        raise ClipError("with its channels mixed and its DC out it is silent: no speech and no pauses; replace it")
    floor = _floor_power(frame_power[~_digital_frames(constant)])
    # Where the pauses between sounds are digital zero, a floor as loud as weak consonants is the ends of words.
    loud = floor > active * 10 ** (-WEAKEST_DB / 10)
    if loud and _mostly_digital_inside(frame_power < _threshold(floor, active), constant):
        floor = 0.0
    threshold = _threshold(floor, active)
    speech = _speech(frame_power, threshold, active)
    if len(speech) == 0:
        raise ClipError(
            f"no sound in it lasts {SHORTEST_SOUND_SECONDS:g} s, so it has no speech that silence could surround; "
            "replace it"
        )
    quiet = _inside(runs(frame_power < threshold), len(frame_power))
    quiet = quiet[_lengths(quiet) >= _blocks(SHORTEST_QUIET_SECONDS)]
    return Parts(starts / clip.rate, frame_power, constant, active, floor, threshold, speech, quiet)


def head_seconds(clip: Clip) -> Seconds:
    """Return the time before the first speech sound, 0 where the clip starts with it.

    Raises:
        ClipError: as `parts`.
    """
    found = parts(clip)
    return float(found.starts_seconds[found.speech[0, 0]])


def tail_seconds(clip: Clip) -> Seconds:
    """Return the time after the last speech sound, 0 where the clip ends with it.

    Raises:
        ClipError: as `parts`.
    """
    found = parts(clip)
    return float(found.starts_seconds[-1] - found.starts_seconds[found.speech[-1, 1]])


def inner_pauses(clip: Clip) -> tuple[Signal, Seconds]:
    """Return the length of each pause of 0.25 s or more, and the time from the first speech sound to the last.

    Raises:
        ClipError: as `parts`.
    """
    found = parts(clip)
    times = found.starts_seconds[found.speech]
    gaps = times[1:, 0] - times[:-1, 1]
    return gaps[gaps >= SHORTEST_PAUSE_SECONDS], float(times[-1, 1] - times[0, 0])


def noise_floor_dbfs(clip: Clip) -> Decibels:
    """Return the level of the floor, above 80 Hz; -120 dBFS where it is lower, or most of the quiet is digital zero.

    Raises:
        ClipError: as `parts`, or nothing in the clip is as quiet as 15.9 dB below its active level.
    """
    found = parts(clip)
    if found.floor == 0 or _mostly_digital(found.frame_power < found.threshold, found.constant):
        return LOWEST_FLOOR_DBFS
    if found.floor > found.active * 10 ** (-ACTIVE_MARGIN_DB / 10):
        raise ClipError(
            f"nothing in it is quiet, {ACTIVE_MARGIN_DB:g} dB below its speech (trimmed, or as noisy as its speech), "
            "so it has no noise floor; leave the clip out of this cue, or keep some silence around the speech"
        )
    return max(db_from_power(found.floor), LOWEST_FLOOR_DBFS)


def noise_tilt_db_per_octave(clip: Clip) -> DbPerOctave:
    """Return the slope of the spectrum of the quiet parts, measured like the tilt of speech, 200-7000 Hz.

    Raises:
        ClipError: as `constant_quiet`, the floor is below -120 dBFS, or the rate is too low.
    """
    from scipy.fft import rfft

    check_tilt_rate(clip.rate, TILT_BAND_HZ)
    quiet = _with_quiet(clip).quiet
    if noise_floor_dbfs(clip) == LOWEST_FLOOR_DBFS:
        raise ClipError("its pauses are digital silence, so their noise has no tilt; see digital_zero")
    signal, frame = clip.mono(), round(FRAME_SECONDS * clip.rate)
    window = np.hanning(frame + 1)[:-1]
    ranges = np.rint(parts(clip).starts_seconds * clip.rate).astype(int)[quiet]
    frames = np.concatenate(
        [np.lib.stride_tricks.sliding_window_view(signal[first:last], frame)[:: frame // 2] for first, last in ranges]
    )
    density: Signal = np.square(np.abs(rfft((frames - frames.mean(axis=1, keepdims=True)) * window))).mean(axis=0)
    frequencies: Signal = np.fft.rfftfreq(frame, 1 / clip.rate).astype(np.float64)
    return slope_db_per_octave(frequencies, density, TILT_BAND_HZ)


def constant_quiet(clip: Clip) -> tuple[float, Seconds]:
    """Return which percentage of the quiet parts is constant (digital zero), and the longest such run.

    Counted in whole blocks of 5 ms.

    Raises:
        ClipError: as `parts`, or the clip has no quiet part.
    """
    found = _with_quiet(clip)
    pieces = [found.constant[first:last] for first, last in found.quiet]
    longest = max(int(_lengths(runs(piece)).max(initial=0)) for piece in pieces)
    return 100.0 * float(np.concatenate(pieces).mean()), longest * BLOCK_SECONDS


def _with_quiet(clip: Clip) -> Parts:
    found = parts(clip)
    if len(found.quiet) == 0:
        raise ClipError(
            f"nothing in it stays quiet for {SHORTEST_QUIET_SECONDS:g} s (trimmed, or as noisy as its speech), "
            "so it has no pauses to look into; leave the clip out of this cue, or keep some silence around the speech"
        )
    return found


def _blocks(seconds: Seconds) -> int:
    return round(seconds / BLOCK_SECONDS)


def _block_starts(clip: Clip) -> Blocks:
    """Return the first frame of each block, and the end; the last block holds what is left."""
    if clip.rate <= 2 * HIGH_PASS_HZ:
        raise ClipError(f"its rate of {clip.rate} Hz holds no speech; replace it")
    count = int(clip.seconds / BLOCK_SECONDS)
    if count <= FRAME_BLOCKS:
        raise ClipError(f"too short to tell speech from silence: {clip.seconds:.3f} s; use a longer clip")
    starts: Blocks = np.rint(np.arange(count + 1) * BLOCK_SECONDS * clip.rate).astype(np.intp)
    starts[-1] = clip.frames
    return starts


def _block_power(clip: Clip, starts: Blocks) -> Signal:
    """Return the mean power of each block of the high-passed mono sound."""
    from scipy.signal import sosfilt

    clip.check_finite()
    signal = clip.mono()
    passed = sosfilt(_high_pass(clip.rate), signal - signal.mean())
    power: Signal = np.add.reduceat(np.square(passed), starts[:-1]) / np.diff(starts)
    return power


@cache
def _high_pass(rate: int) -> Signal:
    from scipy.signal import butter

    sections: Signal = butter(2, HIGH_PASS_HZ, "highpass", fs=rate, output="sos")
    return sections


def _constant_blocks(clip: Clip, starts: Blocks) -> NDArray[np.bool_]:
    high = np.maximum.reduceat(clip.samples, starts[:-1])
    low = np.minimum.reduceat(clip.samples, starts[:-1])
    return np.asarray((high - low <= CONSTANT_RANGE).all(axis=1))


def active_power(frame_power: Signal) -> float:
    """Return the mean power of the loudest frames, (frames,): as many as lie within the margin of their own mean.

    However many quiet frames there are beside them, it is the same.
    """
    falling = np.sort(frame_power)[::-1]
    means = np.cumsum(falling) / np.arange(1, len(falling) + 1)
    within = np.flatnonzero(falling >= means * 10 ** (-ACTIVE_MARGIN_DB / 10))
    return float(means[within[-1]])


def digital_zeros(clip: Clip) -> NDArray[np.bool_]:
    """Return which samples are part of a run of exact zeros of 5 ms or more, (frames, channels)."""
    zeros = np.zeros(clip.samples.shape, dtype=bool)
    for channel in range(clip.channels):
        for first, last in runs(clip.samples[:, channel] == 0):
            zeros[first:last, channel] = last - first >= SHORTEST_ZEROS_SECONDS * clip.rate
    return zeros


def _digital_frames(constant: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which frames hold a block of digital zero."""
    return np.asarray(np.convolve(constant, np.ones(FRAME_BLOCKS), mode="valid") > 0)


def _mostly_digital(quiet: NDArray[np.bool_], constant: NDArray[np.bool_]) -> bool:
    """Say whether most of the quiet frames hold digital zero."""
    digital = _digital_frames(constant)
    return bool(np.count_nonzero(quiet & digital) > np.count_nonzero(quiet & ~digital))


def _mostly_digital_inside(quiet: NDArray[np.bool_], constant: NDArray[np.bool_]) -> bool:
    """Say so of the frames from the first block that sounds to the last: padding says nothing of a clip's pauses."""
    sounding = np.flatnonzero(~constant)
    first, last = (sounding[0], sounding[-1] + 1) if len(sounding) else (0, 0)
    frames = last - first - FRAME_BLOCKS + 1
    return frames > 0 and _mostly_digital(quiet[first : first + frames], constant[first:last])


def _floor_power(frame_power: Signal) -> float:
    """Return the mean power of the frames within 6 dB of the lowest 50 ms; 0 for no frames."""
    if len(frame_power) == 0:
        return 0.0
    rising = np.sort(frame_power)
    kept = max(min(_blocks(FLOOR_SECONDS), round(FLOOR_SHARE * len(rising))), 1)
    lowest = rising[:kept].mean()
    within = np.searchsorted(rising, lowest * 10 ** (FLOOR_RANGE_DB / 10), side="right")
    return float(rising[: max(within, kept)].mean())


def _threshold(floor: float, active: float) -> float:
    """Return the power that parts speech from quiet."""
    return float(
        np.clip(
            floor * 10 ** (ABOVE_FLOOR_DB / 10),
            active * 10 ** (-LOWEST_MARGIN_DB / 10),
            active * 10 ** (-ACTIVE_MARGIN_DB / 10),
        )
    )


def _speech(frame_power: Signal, threshold: float, active: float) -> Blocks:
    """Return the ranges of speech in blocks."""
    above = runs(frame_power >= threshold)
    loud = np.array([frame_power[first:last].max() for first, last in above]) >= active * 10 ** (-ACTIVE_MARGIN_DB / 10)
    sounds = _inside(above, len(frame_power))
    # A transient shorter than a frame fills no block in every frame that sees it.
    loud, sounds = loud[_lengths(sounds) > 0], sounds[_lengths(sounds) > 0]
    lasting = _lengths(sounds) >= _blocks(SHORTEST_SOUND_SECONDS)
    near = sounds[1:, 0] - sounds[:-1, 1] <= _blocks(LONGEST_CLOSURE_SECONDS)
    kept = loud & lasting
    for i in range(1, len(sounds)):
        kept[i] |= kept[i - 1] and near[i - 1]
    for i in range(len(sounds) - 2, -1, -1):
        kept[i] |= kept[i + 1] and near[i] and lasting[i]
    return sounds[kept]


def runs(mask: NDArray[np.bool_]) -> Blocks:
    """Return the ranges [first, last) in which a mask is true, (ranges, 2)."""
    edges: Blocks = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0))
    return edges.reshape(-1, 2)


def _inside(found: Blocks, frames: int) -> Blocks:
    """Return the blocks that only frames of a run contain, for each run of frames; it may be empty."""
    first, last = found[:, 0], found[:, 1]
    spill = FRAME_BLOCKS - 1
    return np.stack([np.where(first > 0, first + spill, 0), np.where(last < frames, last, frames + spill)], axis=1)


def _lengths(ranges: Blocks) -> Blocks:
    lengths: Blocks = ranges[:, 1] - ranges[:, 0]
    return lengths
