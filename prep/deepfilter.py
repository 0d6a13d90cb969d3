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
from typing import TYPE_CHECKING

import numpy as np

from prep.clip import NOT_FINITE
from prep.errors import ClipError
from prep.models import ModelMissingError, model_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prep.clip import Signal
    from prep.units import Decibels

MODEL = "deepfilternet3"
RATE_HZ = 48_000
# Overlap-add of windows of 960 samples is late by 480, and the network looks 2 frames of 480 ahead.
DELAY_FRAMES = 3 * 480
NO_LIMIT_DB = 100.0  # from here on the library attenuates without a limit
_ARCHIVE = "DeepFilterNet3_onnx.tar.gz"
_LIBRARIES = ("libdeepfilter.so", "libdeepfilter.dylib", "deepfilter.dll")


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
