"""Sound files: the only room that opens or writes them. Everything else works on clips.

Reading: the content decides what a file is, never its name; the length is what decodes, never
what a header claims; what cannot be right is refused by name. libsndfile reads first. What it
cannot open goes to the ffmpeg that the imageio-ffmpeg wheel carries.
Writing: the same clip gives the same bytes, in every process and at every time, without tags.
"""

from __future__ import annotations

import hashlib
import io
import mmap
import os
import re
import struct
import subprocess
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from prep.clip import Clip
from prep.errors import AudioError, ClipError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Buffer = bytes | mmap.mmap

MAX_CHANNELS = 64
MAX_RATE = 768_000  # Hz, the highest rate converters are built for
MAX_MAGNITUDE = 16.0  # 24 dB over full scale: no chain renders speech there, a broken file does
OPUS_RATES = (8000, 12000, 16000, 24000, 48000)  # Hz
JUNK_BYTES = 65_536  # how far into a file the first MP3 frame is looked for
SHORT_SECONDS = 0.1  # a codec's padding is shorter, a cut that matters is not
BLOCK_SAMPLES = 1 << 20  # samples of all channels decoded at a time

Decoder = Literal["libsndfile", "ffmpeg"]


class AudioFacts(BaseModel):
    """What a sound file turned out to be. Survives JSON unchanged.

    Attributes:
        container: WAV, FLAC, MP3, OGG, M4A...; found in the content.
        codec: how the samples are coded (PCM_16, MPEG_LAYER_III, AAC...).
        rate: sampling rate in Hz.
        channels: number of channels.
        frames: decoded frames.
        claimed_frames: frames by the header; None where it makes no claim.
        bit_depth: bits of a stored sample; None for lossy codecs.
        decoder: which library decoded it.
        tags: names of tags, pictures and chunks beside the sound.
        warnings: what a reader of the file should know, one sentence each.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    container: str
    codec: str
    rate: int
    channels: int
    frames: int
    claimed_frames: int | None = None
    bit_depth: int | None = None
    decoder: Decoder = "libsndfile"
    tags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of itself: container, codec, rate in Hz, channels, and seconds if it says so."""

    container: str
    codec: str
    rate: int
    channels: int
    claimed_seconds: float | None


def library_versions() -> dict[str, str]:
    """Return the version of each library inside a package that decides what is read or written."""
    import imageio_ffmpeg
    import soundfile

    return {
        "libsndfile": soundfile.__libsndfile_version__,
        "ffmpeg": str(imageio_ffmpeg.get_ffmpeg_version()),
    }


# What a file is -----------------------------------------------------------------------------------

# The suffixes that fit a container, the one it is given first.
_SUFFIXES = {
    "WAV": (".wav", ".wave", ".bwf"),
    "RF64": (".wav", ".rf64", ".bwf"),
    "W64": (".w64",),
    "AIFF": (".aiff", ".aif", ".aifc"),
    "AU": (".au", ".snd"),
    "CAF": (".caf",),
    "FLAC": (".flac",),
    "OGG": (".ogg", ".oga", ".opus"),
    "MP3": (".mp3", ".mpga"),
    "M4A": (".m4a", ".m4b", ".mp4"),
    "MP4": (".mp4", ".m4a", ".m4b", ".mov", ".3gp"),
    "AAC": (".aac", ".adts"),
    "WEBM": (".webm", ".weba", ".mka", ".mkv"),
    "WMA": (".wma", ".asf", ".wmv"),
    "AMR": (".amr",),
    "APE": (".ape",),
    "WAVPACK": (".wv",),
    "TTA": (".tta",),
    "NIST": (".sph", ".nist", ".wav"),
}
_KNOWN_SUFFIXES = frozenset(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes)

_MAGIC = (
    (b"fLaC", "FLAC"),
    (b"OggS", "OGG"),
    (b"RF64", "RF64"),
    (b"BW64", "RF64"),
    (b"riff\x2e\x91\xcf\x11", "W64"),
    (b".snd", "AU"),
    (b"caff", "CAF"),
    (b"\x1aE\xdf\xa3", "WEBM"),
    (b"0&\xb2u\x8ef\xcf\x11", "WMA"),
    (b"#!AMR", "AMR"),
    (b"MAC ", "APE"),
    (b"wvpk", "WAVPACK"),
    (b"TTA1", "TTA"),
    (b"NIST_1A", "NIST"),
)


def _container_of(data: Buffer) -> str | None:
    """Return the container by its content, or None."""
    head = data[:16]
    if head[:4] in (b"RIFF", b"RIFX") and head[8:12] == b"WAVE":
        return "WAV"
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return "AIFF"
    if head[4:8] == b"ftyp":
        return "M4A" if head[8:11] in (b"M4A", b"M4B") else "MP4"
    at = _after_id3(data)  # FLAC, AAC and MP3 may carry one in front
    head = data[at : at + 16]
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0:
        return "AAC"
    for magic, container in _MAGIC:
        if head.startswith(magic):
            return container
    return "MP3" if _first_mpeg_frame(data) is not None else None


def _after_id3(data: Buffer) -> int:
    """Return where an ID3v2 tag at the front ends; 0 without one."""
    if data[:3] != b"ID3" or len(data) < 10:
        return 0
    size = 0
    for byte in data[6:10]:
        size = size << 7 | byte & 0x7F
    return min(10 + size, len(data))


def suffix_of(facts: AudioFacts) -> str:
    """Return the file suffix, with its dot, that fits what the file is."""
    if facts.codec == "OPUS" and facts.container == "OGG":
        return ".opus"
    return _SUFFIXES.get(facts.container, (f".{facts.container.lower()}",))[0]


def _check_format(name: str, rate: int, channels: int) -> None:
    """Refuse a rate or a number of channels that no recording has.

    Raises:
        AudioError: either is out of bounds.
    """
    if not 1 <= channels <= MAX_CHANNELS:
        raise AudioError(f"{name}: the header claims {channels} channels; 1 to {MAX_CHANNELS} are read")
    if not 1 <= rate <= MAX_RATE:
        raise AudioError(f"{name}: the header claims a rate of {rate} Hz; 1 to {MAX_RATE} Hz are read")


# WAV ----------------------------------------------------------------------------------------------

_PCM, _FLOAT, _EXTENSIBLE = 0x0001, 0x0003, 0xFFFE
_TAG_NAMES = {2: "MS_ADPCM", 6: "ALAW", 7: "ULAW", 0x11: "IMA_ADPCM", 0x31: "GSM610", 0x55: "MPEG_LAYER_III"}
_WAV_SOUND = (b"ds64", b"fmt ", b"fact", b"data")
_AIFF_SOUND = (b"FVER", b"COMM", b"SSND")


class _Chunk(NamedTuple):
    id: bytes
    at: int  # first byte of the body
    size: int  # as the header claims


class _Riff(NamedTuple):
    order: str  # "<" or ">" for struct
    tag: int
    rate: int
    channels: int
    block: int  # bytes a frame, or a coded block
    bits: int
    valid_bits: int  # of them used; 0 where the header does not say
    fact_frames: int | None
    data: _Chunk
    data_size: int  # bytes that are there and belong to the samples
    chunks: tuple[_Chunk, ...]
    warnings: tuple[str, ...]

    @property
    def linear(self) -> bool:
        """Whether a frame has a fixed number of bytes."""
        return self.tag in (_PCM, _FLOAT)

    @property
    def codec(self) -> str:
        """The codec in libsndfile's words."""
        if self.tag == _PCM:
            return f"PCM_{(self.bits + 7) // 8 * 8}" if self.bits > 8 else "PCM_U8"
        if self.tag == _FLOAT:
            return "DOUBLE" if self.bits == 64 else "FLOAT"
        return _TAG_NAMES.get(self.tag, f"WAVE_0x{self.tag:04X}")


def _chunks(data: Buffer, order: str, at: int = 12) -> Iterator[_Chunk]:
    """Yield the chunks of a RIFF, RF64 or FORM file; the last may claim more than is there."""
    data_size_64: int | None = None
    while at + 8 <= len(data):
        chunk_id, size = struct.unpack(f"{order}4sI", data[at : at + 8])
        if not all(0x20 <= byte < 0x7F for byte in chunk_id):
            return
        if chunk_id == b"ds64" and at + 24 <= len(data):
            (data_size_64,) = struct.unpack("<Q", data[at + 16 : at + 24])
        if chunk_id == b"data" and size == 0xFFFFFFFF and data_size_64 is not None:
            size = data_size_64
        yield _Chunk(chunk_id, at + 8, size)
        at += 8 + size + size % 2


def _chunks_follow(data: Buffer, order: str, at: int) -> bool:
    """Say whether the rest of a file is nothing but whole chunks."""
    for chunk in _chunks(data, order, at):
        at = chunk.at + chunk.size + chunk.size % 2
    return at in (len(data), len(data) + 1)


def _riff(data: Buffer, name: str) -> _Riff:
    """Return the layout of a WAV file, checked.

    Raises:
        AudioError: a part is missing, absurd, or contradicts another.
    """
    order = ">" if data[:4] == b"RIFX" else "<"
    chunks = tuple(_chunks(data, order))
    first = {chunk.id: chunk for chunk in reversed(chunks)}
    fmt, samples = first.get(b"fmt "), first.get(b"data")
    if fmt is None or fmt.size < 16 or fmt.at + 16 > len(data):
        raise AudioError(f"{name}: a WAV file of {len(data)} bytes that ends inside its header")
    if samples is None:
        raise AudioError(f"{name}: a WAV file of {len(data)} bytes without a data chunk, so without sound")
    tag, channels, rate, _, block, bits = struct.unpack(f"{order}HHIIHH", data[fmt.at : fmt.at + 16])
    _check_format(name, rate, channels)
    valid_bits = 0
    if tag == _EXTENSIBLE and fmt.size >= 40 and fmt.at + 40 <= len(data):
        (valid_bits,) = struct.unpack(f"{order}H", data[fmt.at + 18 : fmt.at + 20])
        tag = struct.unpack(f"{order}I", data[fmt.at + 24 : fmt.at + 28])[0] & 0xFFFF
    if tag == _PCM and bits > 32 and bits != 64:
        raise AudioError(f"{name}: {bits}-bit integer samples are not read; export the clip at 16 or 24 bits")
    if tag in (_PCM, _FLOAT) and (not bits or block != channels * ((bits + 7) // 8)):
        raise AudioError(
            f"{name}: the WAV header contradicts itself: {channels} channels of {bits} bits "
            f"in frames of {block} bytes; export the clip again"
        )
    fact = first.get(b"fact")
    fact_frames = None
    if fact is not None and fact.size >= 4 and fact.at + 4 <= len(data):
        (fact_frames,) = struct.unpack(f"{order}I", data[fact.at : fact.at + 4])
    size, notes = _size_of_samples(data, order, samples, max(block, 1))
    return _Riff(order, tag, rate, channels, block, bits, valid_bits, fact_frames, samples, size, chunks, notes)


def _size_of_samples(data: Buffer, order: str, chunk: _Chunk, block: int) -> tuple[int, tuple[str, ...]]:
    """Return how many bytes of samples are there, and what the header says wrongly about them."""
    present = len(data) - chunk.at
    if chunk.size > present:
        note = f"the header claims {chunk.size} bytes of samples and {present} are there"
        return present, (f"{note}: cut short, or written to a pipe",)
    end = chunk.at + chunk.size + chunk.size % 2
    if len(data) - end < block or _chunks_follow(data, order, end):
        return chunk.size, ()
    if chunk.size == 0:
        note = f"the header claims no samples; the {present} bytes behind it are read as an unfinished recording"
        return present, (note,)
    return chunk.size, (f"{len(data) - end} bytes after the samples belong to no chunk and are not read",)


# MP3 ----------------------------------------------------------------------------------------------

_MPEG_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
_MPEG1_KBPS = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MPEG2_KBPS = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_DECODER_DELAY = 529  # samples by which a layer III decoder is late
_INFO_TAG_BYTES = 156  # Xing header and LAME extension, after header and side information


class _MpegFrame(NamedTuple):
    version: int  # 3: MPEG-1, 2: MPEG-2, 0: MPEG-2.5
    rate: int
    kbps: int
    channels: int
    size: int  # bytes
    samples: int

    @property
    def head(self) -> int:
        """Bytes of header and side information, before the coded sound or an Info tag."""
        if self.version == 3:
            return 4 + (17 if self.channels == 1 else 32)
        return 4 + (9 if self.channels == 1 else 17)


@dataclass(frozen=True, slots=True)
class Mp3Stream:
    """The run of MPEG layer III frames in a file (ISO/IEC 11172-3, 13818-3).

    Attributes:
        start: first byte of the first frame.
        end: the byte after the last frame.
        frames: MPEG frames with sound (without the Info frame).
        samples_per_frame: audio frames in each.
        rate: sampling rate in Hz.
        channels: number of channels.
        kbps: the bitrates in use, rising.
        tagged_frames: MPEG frames by the Xing/Info tag; None without one.
        delay: encoder delay in samples, by the LAME tag; None without one.
        padding: padding at the end in samples, by the LAME tag.
        lowpass_hz: the encoder's low-pass, by the LAME tag; None without one.
    """

    start: int
    end: int
    frames: int
    samples_per_frame: int
    rate: int
    channels: int
    kbps: tuple[int, ...]
    tagged_frames: int | None
    delay: int | None
    padding: int
    lowpass_hz: int | None

    @property
    def claimed_frames(self) -> int | None:
        """Audio frames by the tag, without delay and padding; None without a tag."""
        if self.tagged_frames is None:
            return None
        return _trimmed(self.tagged_frames * self.samples_per_frame, self.delay, self.padding)


def _trimmed(frames: int, delay: int | None, padding: int) -> int:
    """Return the audio frames that are left of a stream without its encoder delay and padding."""
    if delay is None:
        return frames
    return frames - delay - _DECODER_DELAY - max(padding - _DECODER_DELAY, 0)


def _mpeg_frame(data: Buffer, at: int) -> _MpegFrame | None:
    """Return the layer III frame whose header stands at a byte, or None."""
    head = int.from_bytes(data[at : at + 4], "big")
    version, rate_index, kbps_index = head >> 19 & 3, head >> 10 & 3, head >> 12 & 15
    if head >> 21 != 0x7FF or version == 1 or head >> 17 & 3 != 1 or rate_index == 3:
        return None
    if kbps_index in (0, 15):
        return None
    rate = _MPEG_RATES[version][rate_index]
    kbps = (_MPEG1_KBPS if version == 3 else _MPEG2_KBPS)[kbps_index]
    samples = 1152 if version == 3 else 576
    size = samples // 8 * kbps * 1000 // rate + (head >> 9 & 1)
    return _MpegFrame(version, rate, kbps, 1 if head >> 6 & 3 == 3 else 2, size, samples)


def _next_mpeg_frame(data: Buffer, at: int, stop: int, like: _MpegFrame | None) -> int | None:
    """Return where the next frame starts that another one, or the end of the file, follows."""
    while (at := data.find(b"\xff", at, stop)) >= 0:
        frame = _mpeg_frame(data, at)
        if frame is not None and (like is None or frame[:2] == like[:2]):
            follower = _mpeg_frame(data, at + frame.size)
            if at + frame.size == len(data) or (follower is not None and follower[:2] == frame[:2]):
                return at
        at += 1
    return None


def _first_mpeg_frame(data: Buffer) -> int | None:
    """Return where the first MP3 frame starts, behind a tag or a little junk; None without one."""
    after = _after_id3(data)
    return _next_mpeg_frame(data, after, after + JUNK_BYTES, None)


def mp3_stream(data: Buffer) -> Mp3Stream | None:
    """Return the run of MP3 frames in a file, without what stands before and behind it; None without one."""
    start = _first_mpeg_frame(data)
    first = None if start is None else _mpeg_frame(data, start)
    if start is None or first is None:
        return None
    tagged, delay, padding, lowpass = _info_tag(data, start, first)
    count, kbps = 0, set()
    end = start
    at: int | None = start
    while at is not None and at < len(data):
        frame = _mpeg_frame(data, at)
        if frame is None or frame[:2] != first[:2]:
            at = _next_mpeg_frame(data, at + 1, len(data), first)
            continue
        kbps.add(frame.kbps)
        end = min(at + frame.size, len(data))
        count += at + frame.size <= len(data)
        at += frame.size
    return Mp3Stream(
        start=start,
        end=end,
        frames=count - (tagged is not None),
        samples_per_frame=first.samples,
        rate=first.rate,
        channels=first.channels,
        kbps=tuple(sorted(kbps)),
        tagged_frames=tagged,
        delay=delay,
        padding=padding,
        lowpass_hz=lowpass,
    )


def _info_tag(data: Buffer, start: int, first: _MpegFrame) -> tuple[int | None, int | None, int, int | None]:
    """Return frames, delay, padding and low-pass in Hz by the Xing/Info tag of the first frame."""
    at = start + first.head
    if data[at : at + 4] not in (b"Xing", b"Info"):
        return None, None, 0, None
    flags = int.from_bytes(data[at + 4 : at + 8], "big")
    frames = int.from_bytes(data[at + 8 : at + 12], "big") if flags & 1 else None
    lame = at + 8 + 4 * (flags & 1) + 4 * (flags >> 1 & 1) + 100 * (flags >> 2 & 1) + 4 * (flags >> 3 & 1)
    if not data[lame : lame + 9].strip(b"\0"):  # the encoder's name opens the LAME extension
        return frames, None, 0, None
    trim = int.from_bytes(data[lame + 21 : lame + 24], "big")
    return frames, trim >> 12, trim & 0xFFF, data[lame + 10] * 100


# Headers only -------------------------------------------------------------------------------------


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, for `decode`.

    Raises:
        AudioError: the file is missing, empty or unreadable.
    """
    with _opened(path) as file:
        return file.read()


def probe(path: Path) -> Header:
    """Return what a file says of itself, without decoding it.

    Raises:
        AudioError: the file is missing, empty, unreadable, no sound file, or claims the impossible.
    """
    name = str(path)
    with _opened(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        header = _header(data, path)
    _check_format(name, header.rate, header.channels)
    if header.claimed_seconds is not None and header.claimed_seconds <= 0:
        raise AudioError(f"{name}: the file holds no samples")
    return header


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file that is not empty.

    Raises:
        AudioError: there is none, or it cannot be read.
    """
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise AudioError(f"{path}: the file is empty")
            yield file
    except FileNotFoundError:
        raise AudioError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise AudioError(f"{path}: a folder, not a sound file") from None
    except OSError as error:
        raise AudioError(f"{path}: cannot be read: {error.strerror or error}") from None


def _header(data: mmap.mmap, path: Path) -> Header:
    name = str(path)
    container = _container_of(data)
    if container in ("WAV", "RF64"):
        riff = _riff(data, name)
        frames = riff.data_size // max(riff.block, 1) if riff.linear else riff.fact_frames
        seconds = None if frames is None else frames / riff.rate
        return Header(container, riff.codec, riff.rate, riff.channels, seconds)
    if container == "MP3" and (start := _first_mpeg_frame(data)) is not None:
        first = _mpeg_frame(data, start)
        assert first is not None  # noqa: S101 - it was just found
        tagged, delay, padding, _ = _info_tag(data, start, first)
        seconds = None if tagged is None else _trimmed(tagged * first.samples, delay, padding) / first.rate
        return Header(container, "MPEG_LAYER_III", first.rate, first.channels, seconds)
    import soundfile

    try:
        with soundfile.SoundFile(str(path)) as sound:
            unknown = sound.frames >= 1 << 62
            seconds = None if unknown else sound.frames / sound.samplerate
            return Header(
                container or _plain_format(sound.format),
                sound.subtype,
                sound.samplerate,
                sound.channels,
                seconds,
            )
    except soundfile.LibsndfileError as error:
        if container is None:
            raise _not_sound(data, name) from None
        if container in ("FLAC", "OGG", "AIFF", "AU", "W64"):
            raise AudioError(f"{name}: a damaged {container} file: {_reason(error)}") from None
    heard = _ffmpeg_header(path, name, container)
    return Header(container, heard.codec, heard.rate, heard.channels, heard.seconds)


def _not_sound(data: Buffer, name: str) -> AudioError:
    return AudioError(f"{name}: no sound file of a known kind; it begins with {bytes(data[:12])!r}")


def _plain_format(libsndfile_format: str) -> str:
    return "WAV" if libsndfile_format == "WAVEX" else libsndfile_format


def _reason(error: Any) -> str:
    """Return libsndfile's own words, as part of a sentence."""
    words = str(error.error_string).removeprefix("Error : ").rstrip(".")
    return words or "libsndfile gives no reason"


# Decoding -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Source:
    """The bytes to decode, and what the container says about them."""

    container: str
    payload: bytes
    claimed_frames: int | None = None
    exact: bool = False  # frames beyond the claim are padding of the codec
    decoder: Decoder = "libsndfile"
    valid_bits: int = 0
    md5: bytes = b""
    tags: tuple[str, ...] | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sound:
    """Decoded samples (frames, channels): float32, or int32 at 32-bit full scale."""

    samples: NDArray[Any]
    rate: int
    container: str
    codec: str
    decoder: Decoder
    warnings: tuple[str, ...] = ()


def decode(data: bytes, name: str) -> tuple[Clip, AudioFacts]:
    """Return the sound in the bytes of a file, and what the file is.

    Samples are float32 (frames, channels), unclipped; the rate is the file's own.

    Args:
        data: the whole file.
        name: for messages, the clip's id and the suffix it claims.

    Raises:
        AudioError: the bytes are no sound, damaged, empty, or hold NaN, infinite or wild samples
            (magnitude over `MAX_MAGNITUDE`).
    """
    if not data:
        raise AudioError(f"{name}: the file is empty")
    found = _container_of(data) or ""
    source = _SOURCES.get(found, _any_source)(data, found, name)
    sound = _decoded(source, name)
    _check_format(name, sound.rate, sound.samples.shape[1])
    _check_integers(sound, source, name)
    samples = _floats(sound.samples)
    container = source.container or sound.container
    notes = [*_name_warning(name, container), *source.warnings, *sound.warnings]
    decoded, claimed = len(samples), source.claimed_frames
    if claimed is not None and claimed > decoded and not source.warnings:
        notes.append(f"the header claims {claimed} frames and {decoded} decode: cut short")
    if source.exact and claimed is not None and 0 < claimed < decoded:
        samples = samples[:claimed]
        notes.append(f"{decoded} frames decode; those past {claimed} fill the last coded block and are left out")
    _check_samples(samples, name)
    facts = AudioFacts(
        container=container,
        codec=sound.codec,
        rate=sound.rate,
        channels=samples.shape[1],
        frames=len(samples),
        claimed_frames=claimed,
        bit_depth=source.valid_bits or _bit_depth(sound.codec),
        decoder=sound.decoder,
        tags=source.tags if source.tags is not None else _tag_names(data),
        warnings=tuple(notes),
    )
    return Clip(samples, sound.rate, name), facts


def _wav_source(data: bytes, container: str, name: str) -> _Source:
    riff = _riff(data, name)
    payload = data
    if riff.data_size != riff.data.size and container == "WAV":
        size = struct.pack(f"{riff.order}I", riff.data_size)
        payload = data[: riff.data.at - 4] + size + data[riff.data.at :]
    claimed = riff.data.size // riff.block if riff.linear else riff.fact_frames
    before = [chunk for chunk in riff.chunks if chunk.at <= riff.data.at]
    behind = [chunk for chunk in riff.chunks if chunk.at >= riff.data.at + riff.data_size]
    return _Source(
        container,
        payload,
        claimed_frames=claimed or None,
        exact=not riff.linear,
        valid_bits=riff.valid_bits if riff.tag == _PCM and riff.valid_bits < riff.bits else 0,
        tags=tuple(chunk.id.decode("latin-1").strip() for chunk in [*before, *behind] if chunk.id not in _WAV_SOUND),
        warnings=riff.warnings,
    )


def _mp3_source(data: bytes, container: str, name: str) -> _Source:
    stream = mp3_stream(data)
    if stream is None:
        raise _not_sound(data, name)
    # libsndfile guesses the length of a stream whose tag is missing or wrong, and stops there.
    trusted = stream.tagged_frames == stream.frames
    notes = []
    if data[_after_id3(data) : stream.start].strip(b"\0"):
        notes.append(f"the first MP3 frame stands behind {stream.start} bytes, not all of them a tag")
    if stream.tagged_frames is None:
        notes.append("no Info tag: the encoder's delay at the start is unknown and still there")
    elif not trusted:
        notes.append(f"the Info tag claims {stream.tagged_frames} MPEG frames and {stream.frames} are there")
    return _Source(
        container,
        data[stream.start : stream.end],
        claimed_frames=stream.claimed_frames,
        decoder="libsndfile" if trusted else "ffmpeg",
        tags=_around(data[: stream.start]) + _around(data[stream.end :]),
        warnings=tuple(notes),
    )


def _around(data: bytes) -> tuple[str, ...]:
    """Name what stands before or behind the frames of an MP3."""
    if not data.strip(b"\0"):
        return ()
    names = [tag for mark, tag in ((b"ID3", "ID3v2"), (b"APETAGEX", "APE"), (b"TAG", "ID3v1")) if mark in data]
    return tuple(names) or ("junk",)


def _flac_source(data: bytes, container: str, name: str) -> _Source:
    at = _after_id3(data)
    info = data[at + 8 : at + 42]  # STREAMINFO always stands first (RFC 9639, 8.2)
    if len(info) < 34 or data[at + 4] & 0x7F:
        raise AudioError(f"{name}: a FLAC file without its stream information")
    packed = int.from_bytes(info[10:18], "big")
    rate, channels, total = packed >> 44, (packed >> 41 & 7) + 1, packed & 0xFFFFFFFFF
    _check_format(name, rate, channels)
    return _Source(
        container,
        data[at:],
        claimed_frames=total or None,
        # libsndfile fails on the last block of a stream that does not tell its length.
        decoder="libsndfile" if total else "ffmpeg",
        md5=info[18:34].strip(b"\0") and info[18:34],
        valid_bits=(packed >> 36 & 31) + 1,
    )


def _aiff_source(data: bytes, container: str, name: str) -> _Source:  # noqa: ARG001
    chunks = tuple(_chunks(data, ">"))
    common = next((chunk for chunk in chunks if chunk.id == b"COMM" and chunk.at + 6 <= len(data)), None)
    claimed = None if common is None else int.from_bytes(data[common.at + 2 : common.at + 6], "big")
    tags = tuple(chunk.id.decode("latin-1").strip() for chunk in chunks if chunk.id not in _AIFF_SOUND)
    return _Source(container, data, claimed_frames=claimed, tags=tags)


def _ogg_source(data: bytes, container: str, name: str) -> _Source:  # noqa: ARG001
    at = data.rfind(b"OggS")
    lacing = data[at + 27 : at + 27 + data[at + 26]] if len(data) > at + 26 else b""
    whole = at + 27 + len(lacing) + sum(lacing) <= len(data)
    closed = whole and data[at + 5 : at + 6] >= b"\4"  # the end-of-stream flag (RFC 3533, 6)
    return _Source(container, data, warnings=() if closed else ("the stream has no end: cut short",))


def _any_source(data: bytes, container: str, name: str) -> _Source:  # noqa: ARG001
    return _Source(container, data)


_SOURCES: dict[str, Callable[[bytes, str, str], _Source]] = {
    "WAV": _wav_source,
    "RF64": _wav_source,
    "MP3": _mp3_source,
    "FLAC": _flac_source,
    "AIFF": _aiff_source,
    "OGG": _ogg_source,
}


def _decoded(source: _Source, name: str) -> _Sound:
    """Decode with libsndfile, or with ffmpeg what libsndfile cannot open."""
    sound = _with_libsndfile(source, name) if source.decoder == "libsndfile" else None
    if sound is None and not source.container:
        raise _not_sound(source.payload, name)
    return sound or _with_ffmpeg(source, name)


def _with_libsndfile(source: _Source, name: str) -> _Sound | None:
    """Return the sound, or None if libsndfile cannot open it.

    Raises:
        AudioError: it opens, and decoding stops before the end.
    """
    import soundfile

    try:
        sound = soundfile.SoundFile(io.BytesIO(source.payload))
    except soundfile.LibsndfileError:
        return None
    with sound:
        _check_format(name, sound.samplerate, sound.channels)
        dtype = "int32" if source.valid_bits else "float32"
        size = max(BLOCK_SAMPLES // sound.channels, 1)
        blocks = [np.empty((0, sound.channels), dtype=dtype)]
        try:
            while len(block := sound.read(size, dtype=dtype, always_2d=True)):
                blocks.append(block)
        except soundfile.LibsndfileError:
            raise AudioError(
                f"{name}: damaged or cut short: not all of the {sound.frames} frames that the {sound.format} file "
                "claims decode; take the clip from its source again"
            ) from None
        samples = np.concatenate(blocks)
        return _Sound(samples, sound.samplerate, _plain_format(sound.format), sound.subtype, "libsndfile")


def _check_integers(sound: _Sound, source: _Source, name: str) -> None:
    """Refuse integers that contradict the header: FLAC's own MD5, or bits outside those declared.

    Raises:
        AudioError: they do.
    """
    if sound.samples.dtype != np.int32 or not source.valid_bits:
        return
    unused = 32 - source.valid_bits
    if np.any(sound.samples & ((1 << unused) - 1)):
        raise AudioError(f"{name}: samples use bits outside the {source.valid_bits} that the header declares")
    if not source.md5:
        return
    width = (source.valid_bits + 7) // 8
    stored = (sound.samples >> unused).astype("<i4").view(np.uint8).reshape(-1, 4)[:, :width]
    digest = hashlib.md5(stored.tobytes(), usedforsecurity=False).digest()
    if digest != source.md5:
        raise AudioError(
            f"{name}: the decoded samples differ from the MD5 that the FLAC file carries: it is damaged "
            "or its header is wrong; take the clip from its source again"
        )


def _floats(samples: NDArray[Any]) -> NDArray[np.float32]:
    """Return samples as float32, full scale 1.0."""
    floats: NDArray[np.float32] = samples.astype(np.float32, copy=False)
    return floats * np.float32(2.0**-31) if samples.dtype == np.int32 else floats


def _check_samples(samples: NDArray[np.float32], name: str) -> None:
    """Refuse a clip without samples, or with samples that are no sound.

    Raises:
        AudioError: it is so.
    """
    if not len(samples):
        raise AudioError(f"{name}: the file holds no samples")
    if -MAX_MAGNITUDE <= samples.min() <= samples.max() <= MAX_MAGNITUDE:  # false with any NaN
        return
    finite = np.isfinite(samples)
    wild = np.abs(samples) > MAX_MAGNITUDE if finite.all() else ~finite
    what = f"more than {MAX_MAGNITUDE:g} times full scale" if finite.all() else "not a number or infinite"
    frame, channel = np.argwhere(wild)[0]
    raise AudioError(
        f"{name}: sample {frame} of channel {channel} is {what} ({samples[frame, channel]:g}), "
        f"{np.count_nonzero(wild)} such in all; repair or replace the file"
    )


def _bit_depth(codec: str) -> int | None:
    found = re.fullmatch(r"PCM_[SUF]?(\d+)(?:LE|BE)?", codec)
    return int(found[1]) if found else {"FLOAT": 32, "DOUBLE": 64}.get(codec)


def _name_warning(name: str, container: str) -> list[str]:
    suffix = PurePath(name).suffix.lower()
    if suffix in _KNOWN_SUFFIXES and suffix not in _SUFFIXES.get(container, ()):
        return [f"named {suffix}, but the content is {container}"]
    return []


def _tag_names(data: bytes) -> tuple[str, ...]:
    """Name the tags and pictures that mutagen finds."""
    import mutagen

    try:
        found = mutagen.File(io.BytesIO(data))
    except Exception:  # noqa: BLE001 - mutagen stumbles in many ways over tags; the sound is decoded already
        return ("unreadable tags",)
    if found is None:
        return ()
    pictures = ["picture"] * bool(getattr(found, "pictures", None))
    names = found.tags.keys() if found.tags else ()
    return (*sorted(set(map(str, names))), *pictures)


# ffmpeg -------------------------------------------------------------------------------------------


class _FfmpegHeader(NamedTuple):
    codec: str
    rate: int
    channels: int
    sample_format: str
    seconds: float | None


def _ffmpeg() -> str:
    import imageio_ffmpeg

    return str(imageio_ffmpeg.get_ffmpeg_exe())


def _run_ffmpeg(path: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    # file: keeps ffmpeg from reading a path as a protocol; -nostdin keeps it off the terminal.
    command = [_ffmpeg(), "-nostdin", "-hide_banner", "-i", f"file:{path.absolute()}", *arguments]
    return subprocess.run(command, capture_output=True, check=False)  # noqa: S603


def _ffmpeg_header(path: Path, name: str, container: str) -> _FfmpegHeader:
    """Return what ffmpeg says of a file. The wheel carries no ffprobe, so its log is read."""
    log = _run_ffmpeg(path).stderr.decode(errors="replace")
    stream = re.search(r"Stream #.*?: Audio: (\w+).*?, (\d+) Hz, ([^,\n]+), (\w+)", log)
    if stream is None or stream[1] == "none":
        raise AudioError(f"{name}: no sound can be read in this {container} file; it is damaged or cut short")
    codec, rate, layout, sample_format = stream.groups()
    channels = {"mono": 1, "stereo": 2, "quad": 4}.get(layout) or sum(
        int(number) for number in re.findall(r"\d+", layout.split("(")[0])
    )
    length = re.search(r"Duration: (\d+):(\d+):(\d+\.\d+)", log)
    seconds = None
    if length is not None:
        seconds = 3600 * int(length[1]) + 60 * int(length[2]) + float(length[3])
    codec = "MPEG_LAYER_III" if codec == "mp3" else codec.upper()
    return _FfmpegHeader(codec, int(rate), channels, sample_format, seconds)


def _with_ffmpeg(source: _Source, name: str) -> _Sound:
    """Decode what libsndfile cannot.

    Raises:
        AudioError: ffmpeg cannot either.
    """
    with tempfile.TemporaryDirectory(prefix="prep-") as folder:
        path = Path(folder) / "clip"  # no suffix: ffmpeg, too, is to look at the content
        path.write_bytes(source.payload)
        heard = _ffmpeg_header(path, name, source.container)
        _check_format(name, heard.rate, heard.channels)
        # pydub holds integers and pipes: it would clip what AAC, Opus or WMA decode beyond full
        # scale, and ffmpeg must seek in an MP4. For those the same ffmpeg writes floats directly.
        samples: NDArray[Any]
        if heard.sample_format.startswith(("flt", "dbl")) or source.container in ("M4A", "MP4"):
            samples = _ffmpeg_floats(path, heard, name)
        else:
            samples = _pydub_integers(source.payload, name)
    notes: tuple[str, ...] = ()
    seconds = len(samples) / heard.rate
    claimed = None if source.container in ("AAC", "MP3") else heard.seconds  # those two are estimates
    if claimed is not None and seconds < claimed - SHORT_SECONDS:
        notes = (f"the header claims {claimed:g} s and {seconds:.2f} s decode: cut short",)
    return _Sound(samples, heard.rate, source.container, heard.codec, "ffmpeg", notes)


def _ffmpeg_floats(path: Path, heard: _FfmpegHeader, name: str) -> NDArray[np.float32]:
    done = _run_ffmpeg(path, "-v", "error", "-map", "0:a:0", "-c:a", "pcm_f32le", "-f", "f32le", "-")
    if done.returncode:
        log = done.stderr.decode(errors="replace").strip().splitlines()
        raise AudioError(f"{name}: ffmpeg cannot decode it: {log[-1] if log else 'no reason given'}")
    return np.frombuffer(done.stdout, dtype="<f4").reshape(-1, heard.channels)


def _pydub_integers(payload: bytes, name: str) -> NDArray[np.int32]:
    """Return what pydub reads, at 32 bits: enough for every integer format."""
    with warnings.catch_warnings():
        # At import pydub looks for ffmpeg on the PATH, and Python warns of its regular expressions.
        warnings.simplefilter("ignore")
        from pydub import audio_segment
        from pydub.exceptions import CouldntDecodeError

    audio_segment.AudioSegment.converter = _ffmpeg()
    # pydub asks ffprobe for the width to read at, and falls back to 16 bits; the wheel has no ffprobe.
    audio_segment.mediainfo_json = _as_32_bit
    try:
        segment = audio_segment.AudioSegment.from_file(io.BytesIO(payload))
    except CouldntDecodeError:
        raise AudioError(f"{name}: ffmpeg cannot decode it; it is damaged or cut short") from None
    return np.frombuffer(segment.raw_data, dtype="<i4").reshape(-1, segment.channels)


def _as_32_bit(*_: Any, **__: Any) -> dict[str, list[dict[str, Any]]]:
    return {"streams": [{"codec_type": "audio", "bits_per_sample": 32}]}


# Resampling ---------------------------------------------------------------------------------------


def resample(clip: Clip, rate: int) -> Clip:
    """Return the clip at another rate: linear phase, no lag, round(frames * rate / old rate) frames.

    By soxr at very high quality. Where its own count differs from `round` (it has differed by one frame
    at most, at exact halves), the last frame is dropped or held.

    Args:
        clip: any clip; samples beyond full scale stay so.
        rate: in Hz.

    Raises:
        ClipError: the clip is too short to have a frame at that rate.
    """
    if rate == clip.rate:
        return clip
    import soxr

    wanted = round(clip.frames * rate / clip.rate)
    if wanted == 0:
        raise ClipError(f"{clip.id}: {clip.frames} frames at {clip.rate} Hz are no frame at {rate} Hz")
    samples = soxr.resample(clip.samples, clip.rate, rate, quality="VHQ")
    if len(samples) < wanted:
        samples = np.pad(samples, ((0, wanted - len(samples)), (0, 0)), mode="edge")
    return clip.with_samples(samples[:wanted], rate)


# Encoding -----------------------------------------------------------------------------------------


def encode_flac(clip: Clip, bit_depth: int) -> bytes:
    """Return the clip as FLAC of 16 or 24 bits.

    Raises:
        ClipError: the depth is impossible, or a sample is beyond full scale.
    """
    if bit_depth not in (16, 24):
        raise ClipError(f"{clip.id}: FLAC is written at 16 or 24 bits, not {bit_depth}")
    return _written(clip, _integers(clip, bit_depth), "FLAC", f"PCM_{bit_depth}")


def encode_wav(clip: Clip, bit_depth: int) -> bytes:
    """Return the clip as WAV of 16 or 24 bits, or of 32-bit floats, which may exceed full scale.

    Raises:
        ClipError: the depth is impossible, or a sample is beyond full scale.
    """
    if bit_depth not in (16, 24, 32):
        raise ClipError(f"{clip.id}: WAV is written at 16, 24 or 32 (float) bits, not {bit_depth}")
    if bit_depth == 32:
        # libsndfile stamps the time of day into the PEAK chunk of a float WAV.
        return _only_sound_chunks(_written(clip, clip.samples, "WAV", "FLOAT"), clip.id)
    return _written(clip, _integers(clip, bit_depth), "WAV", f"PCM_{bit_depth}")


def mp3_bitrates(rate: int, channels: int) -> tuple[int, ...]:
    """Return the constant bitrates in kb/s at which an MP3 of that rate and channels keeps its exact length.

    Below them a frame is too small for the Info tag that tells a player the encoder's delay.
    """
    version = next((version for version, rates in _MPEG_RATES.items() if rate in rates), None)
    if version is None or channels not in (1, 2):
        return ()
    samples, table = (1152, _MPEG1_KBPS) if version == 3 else (576, _MPEG2_KBPS)
    frames = [
        _MpegFrame(version, rate, kbps, channels, samples // 8 * kbps * 1000 // rate, samples)
        for kbps in table[1:]
        if version or kbps <= 64
    ]
    return tuple(frame.kbps for frame in frames if frame.size >= frame.head + _INFO_TAG_BYTES)


def encode_mp3(clip: Clip, bitrate_kbps: int) -> bytes:
    """Return the clip as an MP3 of constant bitrate, by LAME, with its delay in the Info tag.

    The written frames are read back: bitrate, rate and length are those asked for.

    Raises:
        ClipError: the rate, the channels or the bitrate are impossible; the message lists the possible ones.
    """
    possible = mp3_bitrates(clip.rate, clip.channels)
    if not possible:
        rates = sorted(rate for rates in _MPEG_RATES.values() for rate in rates)
        raise ClipError(
            f"{clip.id}: MP3 has no {clip.channels} channels at {clip.rate} Hz; "
            f"it takes 1 or 2 channels at {', '.join(map(str, rates))} Hz"
        )
    if bitrate_kbps not in possible:
        raise ClipError(
            f"{clip.id}: an MP3 of {clip.channels} channels at {clip.rate} Hz cannot have {bitrate_kbps} kb/s "
            f"and keep its length; possible are {', '.join(map(str, possible))}"
        )
    # libsndfile spreads the range of the MPEG version over its compression level.
    lowest, highest = (32, 320) if clip.rate >= 32000 else (8, 160) if clip.rate >= 16000 else (8, 64)
    level = (highest - bitrate_kbps) / (highest - lowest)
    data = _written(clip, clip.samples, "MP3", "MPEG_LAYER_III", level=level, mode="CONSTANT")
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
        ClipError: the rate or the quality is impossible.
    """
    if clip.rate not in OPUS_RATES:
        raise ClipError(f"{clip.id}: Opus takes {', '.join(map(str, OPUS_RATES))} Hz, not {clip.rate}")
    return _ogg(clip, "OPUS", quality)


def encode_vorbis(clip: Clip, quality: float) -> bytes:
    """Return the clip as Vorbis in Ogg, quality 0 to 1.

    Raises:
        ClipError: the rate or the quality is impossible.
    """
    return _ogg(clip, "VORBIS", quality)


def _ogg(clip: Clip, codec: str, quality: float) -> bytes:
    """Return an Ogg stream with the serial number 0, for libsndfile draws one by the time of day."""
    from mutagen.ogg import OggPage

    if not 0 <= quality <= 1:
        raise ClipError(f"{clip.id}: {codec.title()} quality goes from 0 to 1, not {quality:g}")
    data = _written(clip, clip.samples, "OGG", codec, level=1 - quality)
    file, pages = io.BytesIO(data), []
    while file.tell() < len(data):
        page = OggPage(file)  # type: ignore[no-untyped-call]
        page.serial = 0
        pages.append(page.write())  # type: ignore[no-untyped-call]
    return b"".join(pages)


def _written(
    clip: Clip,
    samples: NDArray[Any],
    container: str,
    codec: str,
    *,
    level: float | None = None,
    mode: str | None = None,
) -> bytes:
    """Return what libsndfile writes."""
    import soundfile

    if not clip.frames:
        raise ClipError(f"{clip.id}: there are no samples to write")
    file = io.BytesIO()
    try:
        soundfile.write(
            file,
            samples,
            clip.rate,
            codec,
            format=container,
            compression_level=level,
            bitrate_mode=mode,
        )
    except soundfile.LibsndfileError as error:
        raise ClipError(
            f"{clip.id}: {clip.channels} channels at {clip.rate} Hz cannot be written as {container}: {_reason(error)}"
        ) from None
    return file.getvalue()


def _integers(clip: Clip, bit_depth: int) -> NDArray[np.int16] | NDArray[np.int32]:
    """Return the samples as integers, left-justified in 16 or 32 bits so that libsndfile scales nothing.

    A clip whose samples all lie on the grid of the depth (digital silence, an untouched recording) is
    written as it is. Any other gets triangular dither of two steps' width over its whole length (Lipshitz,
    Wannamaker and Vanderkooy 1992), drawn from a generator that its samples seed. A sample may pass
    the highest or lowest step by one step, which the rail takes; the rails also take what dither adds.

    Raises:
        ClipError: a sample is further beyond full scale; the level must be set first.
    """
    scale = 2.0 ** (bit_depth - 1)
    steps = clip.samples.astype(np.float64) * scale
    over = (steps > scale) | (steps < -scale - 1)
    if over.any():
        frame, channel = np.argwhere(over)[0]
        raise ClipError(
            f"{clip.id}: sample {frame} of channel {channel} is {clip.samples[frame, channel]:g}, beyond full "
            f"scale, {np.count_nonzero(over)} such in all; lower the level before encoding"
        )
    if np.any(steps != np.rint(steps)):
        seed = hashlib.sha256(clip.samples.tobytes()).digest()
        generator = np.random.default_rng(int.from_bytes(seed, "big"))
        steps += generator.random(steps.shape) - generator.random(steps.shape)
    whole = np.clip(np.rint(steps), -scale, scale - 1).astype(np.int32)
    return whole.astype(np.int16) if bit_depth == 16 else whole << (32 - bit_depth)


# Tags ---------------------------------------------------------------------------------------------


def strip_tags(data: bytes, name: str) -> bytes:
    """Return the file without tags, pictures and text, its coded sound untouched. Idempotent.

    Both files are decoded, and must give the same samples.

    Raises:
        AudioError: the file cannot be decoded, or its container cannot be stripped without coding it anew.
    """
    clip, facts = decode(data, name)
    strip = _STRIPPERS.get(facts.container)
    if strip is None:
        raise AudioError(
            f"{name}: tags cannot be taken out of a {facts.container} file; deliver it as WAV or FLAC instead"
        )
    bare = strip(data, name)
    left, _ = decode(bare, name)
    if left.rate != clip.rate or not np.array_equal(left.samples, clip.samples):
        raise AudioError(f"{name}: taking the tags out of the {facts.container} file changes its sound")
    return bare


def _only_sound_chunks(data: bytes, name: str) -> bytes:
    """Return a WAV file of nothing but format, length and samples, its sizes right."""
    riff = _riff(data, name)
    kept = []
    for chunk in riff.chunks:
        if chunk.at > riff.data.at or chunk.id not in _WAV_SOUND:
            continue
        size = riff.data_size if chunk.id == b"data" else chunk.size
        kept.append((chunk.id, data[chunk.at : chunk.at + size]))
    if data[:4] in (b"RF64", b"BW64"):
        length = 4 + sum(8 + len(body) + len(body) % 2 for _, body in kept)
        kept = [
            (key, struct.pack("<QQ", length, riff.data_size) + body[16:] if key == b"ds64" else body)
            for key, body in kept
        ]
        return _form(data[:4], data[8:12], kept, "<", huge=True)
    return _form(data[:4], data[8:12], kept, riff.order)


def _only_aiff_sound(data: bytes, name: str) -> bytes:  # noqa: ARG001
    chunks = [chunk for chunk in _chunks(data, ">") if chunk.id in _AIFF_SOUND]
    return _form(
        data[:4],
        data[8:12],
        [(chunk.id, data[chunk.at : chunk.at + chunk.size]) for chunk in chunks],
        ">",
    )


def _form(kind: bytes, form: bytes, chunks: list[tuple[bytes, bytes]], order: str, *, huge: bool = False) -> bytes:
    """Return a RIFF or FORM file of these chunks; a huge one keeps its sizes in ds64."""
    parts = [form]
    for key, body in chunks:
        size = 0xFFFFFFFF if huge and key == b"data" else len(body)
        parts += [key, struct.pack(f"{order}I", size), body, b"\0" * (len(body) % 2)]
    body = b"".join(parts)
    return kind + struct.pack(f"{order}I", 0xFFFFFFFF if huge else len(body)) + body


def _only_mp3_frames(data: bytes, name: str) -> bytes:
    stream = mp3_stream(data)
    if stream is None:
        raise _not_sound(data, name)
    return data[stream.start : stream.end]


def _only_flac_sound(data: bytes, name: str) -> bytes:
    """Return a FLAC file with its stream information, its seek table and its frames."""
    at = _after_id3(data) + 4
    kept = []
    last = False
    while not last:
        if at + 4 > len(data):
            raise AudioError(f"{name}: a FLAC file that ends inside its header")
        last, kind = bool(data[at] & 0x80), data[at] & 0x7F
        end = at + 4 + int.from_bytes(data[at + 1 : at + 4], "big")
        if kind in (0, 3):
            kept.append((kind, data[at + 1 : end]))
        at = end
    blocks = [bytes([kind | (0x80 if i == len(kept) - 1 else 0)]) + body for i, (kind, body) in enumerate(kept)]
    return b"fLaC" + b"".join(blocks) + data[at:]


def _untagged_by_mutagen(data: bytes, name: str) -> bytes:
    import mutagen

    file = io.BytesIO(data)
    try:
        found = mutagen.File(file)
        if found is not None:
            file.seek(0)
            found.delete(file)
    except mutagen.MutagenError as error:
        raise AudioError(f"{name}: its tags cannot be read: {error}") from None
    return file.getvalue()


def _after_tag(data: bytes, name: str) -> bytes:  # noqa: ARG001
    return data[_after_id3(data) :]


_STRIPPERS: dict[str, Callable[[bytes, str], bytes]] = {
    "WAV": _only_sound_chunks,
    "RF64": _only_sound_chunks,
    "AIFF": _only_aiff_sound,
    "MP3": _only_mp3_frames,
    "FLAC": _only_flac_sound,
    "OGG": _untagged_by_mutagen,
    "M4A": _untagged_by_mutagen,
    "MP4": _untagged_by_mutagen,
    "AAC": _after_tag,
}
