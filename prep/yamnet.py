"""YAMNet: which of the 521 sounds of AudioSet is heard in each second of a signal.

A MobileNet on log-mel patches, trained by Google on AudioSet. Only the sound's shape counts if the signal is
brought to a level first: the network was trained on videos at the levels that people upload.

Source: YAMNet in tensorflow/models (research/audioset/yamnet: params.py, features.py); Gemmeke et al. (2017), ICASSP,
776. The weights are the 8-bit ONNX export that `prep.models` pins.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prep.models import model_path

if TYPE_CHECKING:
    from prep.clip import Signal

MODEL = "yamnet"
CLASSES = 521
# The front end, as the network was trained: changed, it hears something else.
RATE_HZ = 16_000
WINDOW_FRAMES, HOP_FRAMES, FFT_FRAMES = 400, 160, 512  # 25 ms Hann windows, every 10 ms
MEL_BANDS, MEL_BAND_HZ = 64, (125.0, 7500.0)
LOG_OFFSET = 0.001
PATCH_WINDOWS, PATCH_HOP_WINDOWS = 96, 48  # 0.96 s, every 0.48 s
PATCH_HOP_SECONDS = PATCH_HOP_WINDOWS * HOP_FRAMES / RATE_HZ

# Of the export: what its 8-bit input stands for. Its 8-bit output has steps of 0.76, too coarse for a threshold,
# so the last quantiser is given finer ones: from -20 to 5.5, in which the logistic goes from 0 to 0.996.
_INPUT_SCALE, _INPUT_ZERO = 0.047937885, 144
_OUTPUT_SCALE, _OUTPUT_ZERO = 0.1, 200


def class_logits(signal: Signal) -> Signal:
    """Return the logit of each class in each patch of a signal, shape (patches, 521), from -20 to 5.5 in steps of 0.1.

    Args:
        signal: mono at 16 kHz, shape (frames,), full scale 1. It is filled up with silence to whole patches.

    Raises:
        ModelMissingError: the model was not fetched.
    """
    session = _session()
    given = np.clip(np.round(log_mel_patches(signal) / _INPUT_SCALE + _INPUT_ZERO), 0, 255).astype(np.uint8)
    # One patch at a time: the export has no batches.
    raw = [session.network.run(None, {session.input_name: patch[np.newaxis, np.newaxis]})[0] for patch in given]
    return (np.concatenate(raw).astype(np.float64) - _OUTPUT_ZERO) * _OUTPUT_SCALE


@cache
def class_number(name: str) -> int:
    """Return the place of a class among the logits, by its AudioSet display name.

    Raises:
        ModelMissingError: the model was not fetched.
        LookupError: there is no such class.
    """
    import csv

    with (model_path(MODEL) / "yamnet_class_map.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["display_name"] == name:
                return int(row["index"])
    raise LookupError(f"YAMNet knows no class {name!r}")


def log_mel_patches(signal: Signal) -> Signal:
    """Return log-mel patches of a signal at 16 kHz, shape (patches, 96, 64): 0.96 s each, one every 0.48 s.

    features.py of YAMNet: `pad_waveform` and `waveform_to_log_mel_spectrogram_patches`. At least one patch.
    """
    first = (PATCH_WINDOWS - 1) * HOP_FRAMES + WINDOW_FRAMES
    hop = PATCH_HOP_WINDOWS * HOP_FRAMES
    more = -(-max(len(signal) - first, 0) // hop)
    padded = np.zeros(first + more * hop)
    padded[: len(signal)] = signal
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW_FRAMES)[::HOP_FRAMES]
    hann = np.hanning(WINDOW_FRAMES + 1)[:-1]
    mel = np.log(np.abs(np.fft.rfft(frames * hann, FFT_FRAMES)) @ _mel_weights() + LOG_OFFSET)
    starts = range(0, len(mel) - PATCH_WINDOWS + 1, PATCH_HOP_WINDOWS)
    return np.stack([mel[start : start + PATCH_WINDOWS] for start in starts])


@cache
def _mel_weights() -> Signal:
    """Return the triangles from FFT bins to mel bands, shape (257, 64): tf.signal.linear_to_mel_weight_matrix."""
    lowest, highest = (float(edge) for edge in _mel(np.array(MEL_BAND_HZ)))
    edges = np.linspace(lowest, highest, MEL_BANDS + 2)
    bins = _mel(np.arange(FFT_FRAMES // 2 + 1, dtype=np.float64) * RATE_HZ / FFT_FRAMES)[:, np.newaxis]
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    weights: Signal = np.maximum(0.0, np.minimum(rising, falling))
    weights[0] = 0.0  # no DC
    return weights


def _mel(hertz: Signal) -> Signal:
    """Return frequencies in mel, by the formula of HTK."""
    mel: Signal = 1127.0 * np.log1p(hertz / 700.0)
    return mel


class _Session(NamedTuple):
    """The network, the name of its input, and the values that it borrows: it would read freed memory without them."""

    network: Any
    input_name: str
    borrowed: tuple[Any, ...]


@cache
def _session() -> _Session:
    """Return the network, loaded once a process, with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # 8-bit kernels saturate on processors without the newer instructions, and would give other scores there.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    scale = onnxruntime.OrtValue.ortvalue_from_numpy(np.array(_OUTPUT_SCALE, np.float32))
    zero = onnxruntime.OrtValue.ortvalue_from_numpy(np.array(_OUTPUT_ZERO, np.uint8))
    options.add_initializer("class_scores_scale", scale)
    options.add_initializer("class_scores_zero_point", zero)
    path = str(model_path(MODEL) / "model.onnx")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return _Session(session, session.get_inputs()[0].name, (scale, zero))
