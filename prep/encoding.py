"""Writing: the same clip gives the same bytes, in every process and at every time, without tags."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING

import numpy as np

from prep.audio import libsndfile_reason
from prep.errors import ClipError
from prep.mpeg import MP3_RATES, mp3_bitrates, mp3_stream
from prep.riff import only_wav_sound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prep.clip import Clip

OPUS_RATES = (8000, 12000, 16000, 24000, 48000)  # Hz


def encode_flac(clip: Clip, bit_depth: int) -> bytes:
    """Return the clip as FLAC of 16 or 24 bits.

    Raises:
        ClipError: the depth is impossible, or a sample is no number or beyond full scale.
    """
    if bit_depth not in (16, 24):
        raise ClipError(f"{clip.id}: FLAC is written at 16 or 24 bits, not {bit_depth}")
    return _written(clip, "FLAC", f"PCM_{bit_depth}", bit_depth=bit_depth)


def encode_wav(clip: Clip, bit_depth: int) -> bytes:
    """Return the clip as WAV of 16 or 24 bits, or of 32-bit floats, which may exceed full scale.

    Raises:
        ClipError: the depth is impossible, or a sample is no number or beyond full scale.
    """
    if bit_depth not in (16, 24, 32):
        raise ClipError(f"{clip.id}: WAV is written at 16, 24 or 32 (float) bits, not {bit_depth}")
    if bit_depth == 32:
        # libsndfile stamps the time of day into the PEAK chunk of a float WAV.
        return only_wav_sound(_written(clip, "WAV", "FLOAT"), clip.id)
    return _written(clip, "WAV", f"PCM_{bit_depth}", bit_depth=bit_depth)


def why_no_mp3(rate: int, channels: int, bitrate_kbps: int) -> str:
    """Return why there is no such MP3, and what is possible; empty where there is one.

    Args:
        rate: in Hz.
        channels: of the clip.
        bitrate_kbps: constant, in kb/s.
    """
    possible = mp3_bitrates(rate, channels)
    if not possible:
        return (
            f"MP3 has no {channels} channels at {rate} Hz; "
            f"it takes 1 or 2 channels at {', '.join(map(str, MP3_RATES))} Hz"
        )
    if bitrate_kbps not in possible:
        return (
            f"an MP3 of {channels} channels at {rate} Hz cannot have {bitrate_kbps} kb/s "
            f"and keep its length; possible are {', '.join(map(str, possible))}"
        )
    return ""


def encode_mp3(clip: Clip, bitrate_kbps: int) -> bytes:
    """Return the clip as an MP3 of constant bitrate, by LAME, with its delay in the Info tag.

    The written frames are read back: bitrate, rate and length are those asked for.

    Raises:
        ClipError: the rate, the channels or the bitrate are impossible, and the message lists the possible
            ones; or a sample is no number.
    """
    if reason := why_no_mp3(clip.rate, clip.channels, bitrate_kbps):
        raise ClipError(f"{clip.id}: {reason}")
    # libsndfile spreads the range of the MPEG version over its compression level.
    lowest, highest = (32, 320) if clip.rate >= 32000 else (8, 160) if clip.rate >= 16000 else (8, 64)
    level = (highest - bitrate_kbps) / (highest - lowest)
    data = _written(clip, "MP3", "MPEG_LAYER_III", level=level, mode="CONSTANT")
    stream = mp3_stream(data)
    if (
        stream is None
        or stream.kbps != (bitrate_kbps,)
        or stream.rate != clip.rate
        or stream.claimed_frames != clip.frames
    ):
        raise ClipError(f"{clip.id}: LAME wrote {stream}, not {bitrate_kbps} kb/s of {clip.frames} frames")
    return data


def encode_opus(clip: Clip, quality: float) -> bytes:
    """Return the clip as Opus in Ogg; quality 0 to 1 is 6 to 256 kb/s a channel, variable.

    Raises:
        ClipError: the rate or the quality is impossible, or a sample is no number.
    """
    if clip.rate not in OPUS_RATES:
        raise ClipError(f"{clip.id}: Opus takes {', '.join(map(str, OPUS_RATES))} Hz, not {clip.rate}")
    return _ogg(clip, "OPUS", quality)


def encode_vorbis(clip: Clip, quality: float) -> bytes:
    """Return the clip as Vorbis in Ogg, quality 0 to 1.

    Raises:
        ClipError: the rate or the quality is impossible, or a sample is no number.
    """
    return _ogg(clip, "VORBIS", quality)


def _ogg(clip: Clip, codec: str, quality: float) -> bytes:
    """Return an Ogg stream with the serial number 0, for libsndfile draws one by the time of day."""
    from mutagen.ogg import OggPage

    if not 0 <= quality <= 1:
        raise ClipError(f"{clip.id}: {codec.title()} quality goes from 0 to 1, not {quality:g}")
    data = _written(clip, "OGG", codec, level=1 - quality)
    file, pages = io.BytesIO(data), []
    while file.tell() < len(data):
        page = OggPage(file)  # type: ignore[no-untyped-call]
        page.serial = 0
        pages.append(page.write())  # type: ignore[no-untyped-call]
    return b"".join(pages)


def _written(
    clip: Clip,
    container: str,
    codec: str,
    *,
    bit_depth: int | None = None,
    level: float | None = None,
    mode: str | None = None,
) -> bytes:
    """Return what libsndfile writes of the clip's floats, or of integers of a bit depth.

    Raises:
        ClipError: there is no sample, one is no number or too large for integers, or libsndfile refuses.
    """
    import soundfile

    if not clip.frames:
        raise ClipError(f"{clip.id}: there are no samples to write")
    _refuse(clip, ~np.isfinite(clip.samples), "no number that can be written", "mend the stage that made it")
    samples = clip.samples if bit_depth is None else _integers(clip, bit_depth)
    file = io.BytesIO()
    try:
        soundfile.write(file, samples, clip.rate, codec, format=container, compression_level=level, bitrate_mode=mode)
    except soundfile.LibsndfileError as error:
        raise ClipError(
            f"{clip.id}: {clip.channels} channels at {clip.rate} Hz cannot be written as {container}: "
            f"{libsndfile_reason(error)}"
        ) from None
    return file.getvalue()


def _refuse(clip: Clip, wrong: NDArray[np.bool_], what: str, todo: str) -> None:
    """Refuse a clip with wrong samples, a mask of the samples' shape, and name the first.

    Raises:
        ClipError: there is one.
    """
    if wrong.any():
        frame, channel = np.argwhere(wrong)[0]
        raise ClipError(
            f"{clip.id}: sample {frame} of channel {channel} is {clip.samples[frame, channel]:g}, {what}, "
            f"{np.count_nonzero(wrong)} such in all; {todo}"
        )


def _integers(clip: Clip, bit_depth: int) -> NDArray[np.int16] | NDArray[np.int32]:
    """Return the samples as integers, left-justified in 16 or 32 bits so that libsndfile scales nothing.

    A clip whose samples all lie on the grid of the depth (digital silence, an untouched recording) is
    written as it is. Any other gets triangular dither of two steps' width over its whole length (Lipshitz,
    Wannamaker and Vanderkooy 1992), drawn from a generator that its samples seed. A sample may pass
    the highest or lowest step by one step, which the rail takes; the rails also take what dither adds.

    Raises:
        ClipError: a sample is further beyond full scale.
    """
    scale = 2.0 ** (bit_depth - 1)
    steps = clip.samples.astype(np.float64) * scale
    over = (steps > scale) | (steps < -scale - 1)
    _refuse(clip, over, "beyond full scale", "lower the level before encoding")
    if np.any(steps != np.rint(steps)):
        seed = hashlib.sha256(clip.samples.tobytes()).digest()
        generator = np.random.default_rng(int.from_bytes(seed, "big"))
        steps += generator.random(steps.shape) - generator.random(steps.shape)
    whole = np.clip(np.rint(steps), -scale, scale - 1).astype(np.int32)
    return whole.astype(np.int16) if bit_depth == 16 else whole << (32 - bit_depth)
