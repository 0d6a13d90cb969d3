"""What can be known of a sound file, in words: its facts, its header, its suffix, and what no file can be.

Nothing here opens a file or a sound library; `audio` finds the facts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from mmap import mmap
from pathlib import PurePath
from typing import Literal

from pydantic import BaseModel, ConfigDict

from prep.errors import AudioError

MAX_CHANNELS = 64
MAX_RATE = 768_000  # Hz, the highest rate converters are built for

Buffer = bytes | mmap
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


def check_format(name: str, rate: int, channels: int) -> None:
    """Refuse a rate or a number of channels that no recording has.

    Args:
        name: of the file, for the message.
        rate: in Hz.
        channels: by the header.

    Raises:
        AudioError: either is out of bounds.
    """
    if not 1 <= channels <= MAX_CHANNELS:
        raise AudioError(f"{name}: the header claims {channels} channels; 1 to {MAX_CHANNELS} are read")
    if not 1 <= rate <= MAX_RATE:
        raise AudioError(f"{name}: the header claims a rate of {rate} Hz; 1 to {MAX_RATE} Hz are read")


def not_sound(data: Buffer, name: str) -> AudioError:
    """Return the error of a file that is no sound file."""
    return AudioError(f"{name}: no sound file of a known kind; it begins with {bytes(data[:12])!r}")


def bit_depth_of(codec: str) -> int | None:
    """Return the bits of a stored sample by the name of its codec; None for lossy codecs."""
    found = re.fullmatch(r"PCM_[SUF]?(\d+)(?:LE|BE)?", codec)
    return int(found[1]) if found else {"FLOAT": 32, "DOUBLE": 64}.get(codec)


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


def suffix_of(facts: AudioFacts) -> str:
    """Return the file suffix, with its dot, that fits what the file is."""
    if facts.codec == "OPUS" and facts.container == "OGG":
        return ".opus"
    return _SUFFIXES.get(facts.container, (f".{facts.container.lower()}",))[0]


def name_warnings(name: str, container: str) -> tuple[str, ...]:
    """Return a warning where the suffix of a name belongs to another container; nothing else."""
    suffix = PurePath(name).suffix.lower()
    if suffix in _KNOWN_SUFFIXES and suffix not in _SUFFIXES.get(container, ()):
        return (f"named {suffix}, but the content is {container}",)
    return ()
