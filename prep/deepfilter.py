"""DeepFilterNet 3: takes noise off speech at 48 kHz.

Through the C interface of its own library, so that neither PyTorch nor a compiled Python module is needed. The
library streams: its answer comes late and ends early. Here nothing is late and nothing is lost.

Source: Schröter et al. (2023), "DeepFilterNet: Perceptually motivated real-time speech enhancement", Interspeech;
Rikorose/DeepFilterNet, libDF/src/capi.rs.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from functools import cache
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from prep.clip import NOT_FINITE
from prep.errors import ClipError
from prep.level import active_level, rms_dbfs
from prep.models import ModelMissingError, model_path
from prep.units import ratio_from_db

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prep.clip import Clip, Signal
    from prep.units import Decibels

MODEL = "deepfilternet3"
RATE_HZ = 48_000
# Overlap-add of windows of 960 samples is late by 480, and the network looks 2 frames of 480 ahead.
DELAY_FRAMES = 3 * 480
# The network takes the tops of a voice near full scale for noise. Speech lines are tested at this level (ITU-T P.800).
ACTIVE_LEVEL_DBOV = -26.0
MARGIN_SECONDS = 0.5  # of zeros, so that the end of a transform does not run into its beginning
NO_LIMIT_DB = 100.0  # from here on the library attenuates without a limit
_ARCHIVE = "DeepFilterNet3_onnx.tar.gz"
_LIBRARIES = ("libdeepfilter.so", "libdeepfilter.dylib", "deepfilter.dll")


def taken_away(
    clip: Clip, max_attenuation_db: Decibels = NO_LIMIT_DB, instead: str = "leave the denoiser out"
) -> Signal:
    """Return what the network takes for noise in each channel of a clip, at the clip's rate, (frames, channels).

    It hears every channel at one active level, so that a louder copy of a clip loses the same. To 48 kHz and back by
    the Fourier transform: an ordinary filter would leave the noise just below half the rate.

    Args:
        clip: at up to 48 kHz.
        max_attenuation_db: as `enhance` takes it.
        instead: what to do with a clip that is too fast, for its message.

    Raises:
        ClipError: the clip is faster than the network hears, or a sample is not finite.
        ModelMissingError: as `enhance`.
    """
    if clip.rate > RATE_HZ:
        raise ClipError(
            f"DeepFilterNet hears up to {RATE_HZ / 2000:g} kHz, and {clip.rate} Hz is more: noise above would stay "
            f"alone; bring the source at {RATE_HZ} Hz or less, or {instead}"
        )
    channels = [clip.with_samples(clip.samples[:, [channel]]) for channel in range(clip.channels)]
    return np.stack([_taken_away(channel, max_attenuation_db) for channel in channels], axis=1)


def _taken_away(channel: Clip, max_attenuation_db: Decibels) -> Signal:
    from scipy.signal import resample

    active = active_level(channel)
    loud = active.active_level_dbov if active else rms_dbfs(channel)  # a word, or nearly nothing
    if loud is None:
        return np.zeros(channel.frames)
    gain = ratio_from_db(ACTIVE_LEVEL_DBOV - loud)
    step = channel.rate // gcd(channel.rate, RATE_HZ)
    whole = -(-(channel.frames + round(MARGIN_SECONDS * channel.rate)) // step) * step
    padded = np.pad(gain * channel.mono(), (0, whole - channel.frames))
    heard = resample(padded, whole // step * (RATE_HZ * step // channel.rate))
    away: Signal = resample(heard - enhance(heard, max_attenuation_db), whole)[: channel.frames]
    return away / gain


def enhance(signal: Signal, max_attenuation_db: Decibels = NO_LIMIT_DB) -> Signal:
    """Return a signal with its noise attenuated: same length, no lag, same samples for the same signal.

    Args:
        signal: mono at 48 kHz, shape (frames,), full scale 1.
        max_attenuation_db: as much of the input is mixed in again; 0 returns the signal, 100 and more set no limit.

    Raises:
        ModelMissingError: the model was not fetched, or its library does not load here.
        ClipError: a sample is not finite.
    """
    if not np.isfinite(signal).all():
        raise ClipError(NOT_FINITE)
    if max_attenuation_db <= 0 or len(signal) == 0:
        return signal.copy()
    library = _library()
    with _state(library, max_attenuation_db) as state:
        hop = int(library.df_get_frame_length(state))
        given = np.zeros(-(-(len(signal) + DELAY_FRAMES) // hop) * hop, np.float32)
        given[: len(signal)] = signal
        taken = np.zeros_like(given)
        for first in range(0, len(given), hop):
            offset = first * given.itemsize
            library.df_process_frame(state, given.ctypes.data + offset, taken.ctypes.data + offset)
    enhanced: Signal = taken[DELAY_FRAMES : DELAY_FRAMES + len(signal)].astype(np.float64)
    return enhanced


@contextmanager
def _state(library: ctypes.CDLL, max_attenuation_db: Decibels) -> Iterator[int]:
    """Give a fresh network: what it remembers of another clip would change this one."""
    archive = str(model_path(MODEL) / _ARCHIVE).encode()
    state = library.df_create(archive, min(max_attenuation_db, NO_LIMIT_DB), None)
    try:
        yield state
    finally:
        library.df_free(state)


@cache
def _library() -> ctypes.CDLL:
    """Return the library, loaded once a process; it works in the thread that calls it."""
    folder = model_path(MODEL)
    path = next(folder / name for name in _LIBRARIES if (folder / name).is_file())
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ModelMissingError(
            f"the library of model {MODEL} does not load here: {error}; leave out what needs it, or work on a system "
            "that it was built for (manylinux 2.28, macOS 11, Windows)"
        ) from None
    library.df_create.restype = ctypes.c_void_p
    library.df_create.argtypes = [ctypes.c_char_p, ctypes.c_float, ctypes.c_char_p]
    library.df_get_frame_length.restype = ctypes.c_size_t
    library.df_get_frame_length.argtypes = [ctypes.c_void_p]
    library.df_process_frame.restype = ctypes.c_float
    library.df_process_frame.argtypes = [ctypes.c_void_p] * 3  # the state; a frame in, and one out
    library.df_free.argtypes = [ctypes.c_void_p]
    return library
