"""Sound files: the room that opens them. Everything else works on clips; `encoding` writes them.

The content decides what a file is, never its name; the length is what decodes, never what a header
claims; what cannot be right is refused by name. libsndfile reads first. What it cannot open goes to
the ffmpeg that the imageio-ffmpeg wheel carries.
"""

from __future__ import annotations

import io
import mmap
import os
import re
import subprocess
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from prep.clip import Clip
from prep.containers import container_of, header_of, source_of
from prep.errors import AudioError, ClipError
from prep.facts import AudioFacts, Header, bit_depth_of, check_format, name_warnings, not_sound, suffix_of
from prep.tags import tag_names, without_tags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from prep.containers import Source
    from prep.facts import Decoder

__all__ = [
    "AudioFacts",
    "Header",
    "decode",
    "library_versions",
    "libsndfile_reason",
    "probe",
    "read_bytes",
    "resample",
    "strip_tags",
    "suffix_of",
]

MAX_MAGNITUDE = 16.0  # 24 dB over full scale: no chain renders speech there, a broken file does
SHORT_SECONDS = 0.1  # a codec's padding is shorter, a cut that matters is not
BLOCK_SAMPLES = 1 << 20  # samples of all channels decoded at a time
FFMPEG_SECONDS = 600  # ffmpeg decodes an hour of sound in about 8 s; only a broken file holds it this long
_UNKNOWN_FRAMES = 1 << 62  # libsndfile claims as many or more for a stream of unknown length


def library_versions() -> dict[str, str]:
    """Return the version of each library inside a package that decides what is read or written."""
    import imageio_ffmpeg
    import soundfile

    return {
        "libsndfile": soundfile.__libsndfile_version__,
        "ffmpeg": str(imageio_ffmpeg.get_ffmpeg_version()),
    }


def libsndfile_reason(error: Any) -> str:
    """Return libsndfile's own words for a `LibsndfileError`, as part of a sentence."""
    words = str(error.error_string).removeprefix("Error : ").rstrip(".")
    return words or "libsndfile gives no reason"


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
    check_format(name, header.rate, header.channels)
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
    container = container_of(data)
    header = header_of(data, container, name) or _libsndfile_header(data, path, container)
    if header is None:
        heard = _ffmpeg_header(path, name, container)
        header = Header(container, heard.codec, heard.rate, heard.channels, heard.seconds)
    return header


def _libsndfile_header(data: mmap.mmap, path: Path, container: str) -> Header | None:
    """Return what libsndfile says of a file; None if it cannot open it and ffmpeg may.

    Raises:
        AudioError: nothing else can read such a file.
    """
    import soundfile

    try:
        with soundfile.SoundFile(str(path)) as sound:
            seconds = None if sound.frames >= _UNKNOWN_FRAMES else sound.frames / sound.samplerate
            kind = container or _plain_format(sound.format)
            return Header(kind, sound.subtype, sound.samplerate, sound.channels, seconds)
    except soundfile.LibsndfileError as error:
        if not container:
            raise not_sound(data, str(path)) from None
        if container in ("FLAC", "OGG", "AIFF", "AU", "W64"):
            raise AudioError(f"{path}: a damaged {container} file: {libsndfile_reason(error)}") from None
    return None


def _plain_format(libsndfile_format: str) -> str:
    return "WAV" if libsndfile_format == "WAVEX" else libsndfile_format


# Decoding -----------------------------------------------------------------------------------------


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
    source = source_of(data, name)
    sound = _decoded(source, name)
    check_format(name, sound.rate, sound.samples.shape[1])
    source.check_integers(sound.samples, name)
    samples, notes = _as_claimed(_floats(sound.samples), source)
    _check_samples(samples, name)
    container = source.container or sound.container
    facts = AudioFacts(
        container=container,
        codec=sound.codec,
        rate=sound.rate,
        channels=samples.shape[1],
        frames=len(samples),
        claimed_frames=source.claimed_frames,
        bit_depth=source.valid_bits or bit_depth_of(sound.codec),
        decoder=sound.decoder,
        tags=tag_names(data) if source.tags is None else source.tags,
        warnings=(*name_warnings(name, container), *source.warnings, *sound.warnings, *notes),
    )
    return Clip(samples, sound.rate, name), facts


def _as_claimed(samples: NDArray[np.float32], source: Source) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """Return the samples without the padding of a coded block, and where decoding and header differ."""
    decoded, claimed = len(samples), source.claimed_frames
    if claimed is not None and claimed > decoded and not source.warnings:
        return samples, (f"the header claims {claimed} frames and {decoded} decode: cut short",)
    if source.exact and claimed is not None and 0 < claimed < decoded:
        note = f"{decoded} frames decode; those past {claimed} fill the last coded block and are left out"
        return samples[:claimed], (note,)
    return samples, ()


def _decoded(source: Source, name: str) -> _Sound:
    """Decode with libsndfile, or with ffmpeg what libsndfile cannot open."""
    sound = _with_libsndfile(source, name) if source.decoder == "libsndfile" else None
    if sound is None and not source.container:
        raise not_sound(source.payload, name)
    return sound or _with_ffmpeg(source, name)


def _with_libsndfile(source: Source, name: str) -> _Sound | None:
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
        check_format(name, sound.samplerate, sound.channels)
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


def _run_ffmpeg(path: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run ffmpeg on a file.

    Raises:
        AudioError: it does not come to an end.
    """
    # file: keeps ffmpeg from reading a path as a protocol; -nostdin keeps it off the terminal.
    command = [_ffmpeg(), "-nostdin", "-hide_banner", "-i", f"file:{path.absolute()}", *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=FFMPEG_SECONDS)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise _endless(name) from None


def _endless(name: str) -> AudioError:
    return AudioError(
        f"{name}: ffmpeg was stopped after {FFMPEG_SECONDS} s without an end; the file is damaged or far too long: "
        "take it from its source again, or cut it"
    )


def _ffmpeg_header(path: Path, name: str, container: str) -> _FfmpegHeader:
    """Return what ffmpeg says of a file. The wheel carries no ffprobe, so its log is read."""
    log = _run_ffmpeg(path, name).stderr.decode(errors="replace")
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


def _with_ffmpeg(source: Source, name: str) -> _Sound:
    """Decode what libsndfile cannot.

    Raises:
        AudioError: ffmpeg cannot either.
    """
    with tempfile.TemporaryDirectory(prefix="prep-") as folder:
        path = Path(folder) / "clip"  # no suffix: ffmpeg, too, is to look at the content
        path.write_bytes(source.payload)
        heard = _ffmpeg_header(path, name, source.container)
        check_format(name, heard.rate, heard.channels)
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
    done = _run_ffmpeg(path, name, "-v", "error", "-map", "0:a:0", "-c:a", "pcm_f32le", "-f", "f32le", "-")
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
        # pydub cannot stop ffmpeg, so ffmpeg stops itself. Fed by pipes, only its own computing can last.
        segment = audio_segment.AudioSegment.from_file(
            io.BytesIO(payload), parameters=["-timelimit", str(FFMPEG_SECONDS)]
        )
    except CouldntDecodeError as error:
        if "received signal" in str(error):
            raise _endless(name) from None
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


# Tags ---------------------------------------------------------------------------------------------


def strip_tags(data: bytes, name: str) -> bytes:
    """Return the file without tags, pictures and text, its coded sound untouched. Idempotent.

    Both files are decoded, and must give the same samples.

    Raises:
        AudioError: the file cannot be decoded, or its container cannot be stripped without coding it anew.
    """
    clip, facts = decode(data, name)
    bare = without_tags(data, facts.container, name)
    left, _ = decode(bare, name)
    if left.rate != clip.rate or not np.array_equal(left.samples, clip.samples):
        raise AudioError(f"{name}: taking the tags out of the {facts.container} file changes its sound")
    return bare
