"""Which container the bytes of a file are, and what it says of the sound inside.

The content decides, never the name. Nothing here opens a sound library.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prep.errors import AudioError
from prep.facts import Header, check_format, not_sound
from prep.mpeg import after_id3, first_frame, info_tag, mp3_stream
from prep.riff import PCM, aiff_claims, wav_layout, with_true_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from prep.facts import Buffer, Decoder

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


def container_of(data: Buffer) -> str:
    """Return the container by its content; empty where none is known."""
    head = data[:16]
    if head[:4] in (b"RIFF", b"RIFX") and head[8:12] == b"WAVE":
        return "WAV"
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return "AIFF"
    if head[4:8] == b"ftyp":
        return "M4A" if head[8:11] in (b"M4A", b"M4B") else "MP4"
    at = after_id3(data)  # FLAC, AAC and MP3 may carry one in front
    head = data[at : at + 16]
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0:
        return "AAC"
    for magic, container in _MAGIC:
        if head.startswith(magic):
            return container
    return "MP3" if first_frame(data) is not None else ""


def header_of(data: Buffer, container: str, name: str) -> Header | None:
    """Return what a WAV, RF64 or MP3 file says of itself; None for another container.

    Raises:
        AudioError: the header is cut or contradicts itself.
    """
    if container in ("WAV", "RF64"):
        wav = wav_layout(data, name)
        frames = wav.present_frames
        return Header(container, wav.codec, wav.rate, wav.channels, None if frames is None else frames / wav.rate)
    if container == "MP3" and (found := first_frame(data)) is not None:
        start, first = found
        frames = info_tag(data, start, first).claimed_frames(first.samples)
        seconds = None if frames is None else frames / first.rate
        return Header(container, "MPEG_LAYER_III", first.rate, first.channels, seconds)
    return None


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes to decode, and what the container says about them.

    Attributes:
        container: as `container_of` names it.
        payload: the bytes for the decoder.
        claimed_frames: frames by the header; None where it makes no claim.
        exact: frames beyond the claim are padding of the codec.
        decoder: the library that reads such a file rightly.
        valid_bits: bits of an integer sample, where the header declares them; else 0.
        md5: digest of the samples that a FLAC file carries; else empty.
        tags: names of what stands beside the sound; None where only a tag reader can tell.
        warnings: what the header says wrongly, one sentence each.
    """

    container: str
    payload: bytes
    claimed_frames: int | None = None
    exact: bool = False
    decoder: Decoder = "libsndfile"
    valid_bits: int = 0
    md5: bytes = b""
    tags: tuple[str, ...] | None = None
    warnings: tuple[str, ...] = ()

    def check_integers(self, samples: NDArray[Any], name: str) -> None:
        """Refuse integers that contradict the header: FLAC's own MD5, or bits outside those declared.

        Args:
            samples: as decoded, (frames, channels); only int32 at 32-bit full scale is checked.
            name: of the file, for the message.

        Raises:
            AudioError: they contradict it.
        """
        if samples.dtype != np.int32 or not self.valid_bits:
            return
        unused = 32 - self.valid_bits
        if np.any(samples & ((1 << unused) - 1)):
            raise AudioError(f"{name}: samples use bits outside the {self.valid_bits} that the header declares")
        if not self.md5:
            return
        width = (self.valid_bits + 7) // 8
        stored = (samples >> unused).astype("<i4").view(np.uint8).reshape(-1, 4)[:, :width]
        if hashlib.md5(stored.tobytes(), usedforsecurity=False).digest() != self.md5:
            raise AudioError(
                f"{name}: the decoded samples differ from the MD5 that the FLAC file carries: it is damaged "
                "or its header is wrong; take the clip from its source again"
            )


def source_of(data: bytes, name: str) -> Source:
    """Return what a decoder needs to read a file rightly.

    Raises:
        AudioError: the header is cut or contradicts itself.
    """
    container = container_of(data)
    read = _SOURCES.get(container)
    return read(data, container, name) if read else Source(container, data)


def _wav_source(data: bytes, container: str, name: str) -> Source:
    wav = wav_layout(data, name)
    return Source(
        container,
        with_true_size(data, wav),
        claimed_frames=wav.claimed_frames or None,
        exact=not wav.linear,
        valid_bits=wav.valid_bits if wav.tag == PCM and wav.valid_bits < wav.bits else 0,
        tags=wav.tags,
        warnings=wav.warnings,
    )


def _mp3_source(data: bytes, container: str, name: str) -> Source:
    stream = mp3_stream(data)
    if stream is None:
        raise not_sound(data, name)
    # libsndfile guesses the length of a stream whose tag is missing or wrong, and stops there.
    trusted = stream.tag.frames == stream.frames
    notes = []
    if data[after_id3(data) : stream.start].strip(b"\0"):
        notes.append(f"the first MP3 frame stands behind {stream.start} bytes, not all of them a tag")
    if stream.tag.frames is None:
        notes.append("no Info tag: the encoder's delay at the start is unknown and still there")
    elif not trusted:
        notes.append(f"the Info tag claims {stream.tag.frames} MPEG frames and {stream.frames} are there")
    return Source(
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


def _flac_source(data: bytes, container: str, name: str) -> Source:
    at = after_id3(data)
    info = data[at + 8 : at + 42]  # STREAMINFO always stands first (RFC 9639, 8.2)
    if len(info) < 34 or data[at + 4] & 0x7F:
        raise AudioError(f"{name}: a FLAC file without its stream information")
    packed = int.from_bytes(info[10:18], "big")
    rate, channels, total = packed >> 44, (packed >> 41 & 7) + 1, packed & 0xFFFFFFFFF
    check_format(name, rate, channels)
    return Source(
        container,
        data[at:],
        claimed_frames=total or None,
        # libsndfile fails on the last block of a stream that does not tell its length.
        decoder="libsndfile" if total else "ffmpeg",
        md5=info[18:34] if any(info[18:34]) else b"",
        valid_bits=(packed >> 36 & 31) + 1,
    )


def _aiff_source(data: bytes, container: str, name: str) -> Source:  # noqa: ARG001
    frames, tags = aiff_claims(data)
    return Source(container, data, claimed_frames=frames, tags=tags)


def _ogg_source(data: bytes, container: str, name: str) -> Source:  # noqa: ARG001
    at = data.rfind(b"OggS")
    lacing = data[at + 27 : at + 27 + data[at + 26]] if len(data) > at + 26 else b""
    whole = at + 27 + len(lacing) + sum(lacing) <= len(data)
    closed = whole and data[at + 5 : at + 6] >= b"\4"  # the end-of-stream flag (RFC 3533, 6)
    return Source(container, data, warnings=() if closed else ("the stream has no end: cut short",))


_SOURCES: dict[str, Callable[[bytes, str, str], Source]] = {
    "WAV": _wav_source,
    "RF64": _wav_source,
    "MP3": _mp3_source,
    "FLAC": _flac_source,
    "AIFF": _aiff_source,
    "OGG": _ogg_source,
}
