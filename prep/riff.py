"""WAV, RF64 and AIFF files as chunks: what the bytes say, checked against themselves.

Sources: IBM and Microsoft, Multimedia Programming Interface and Data Specifications 1.0 (RIFF, WAVE);
EBU Tech 3306 (RF64); Apple, Audio Interchange File Format 1.3 (AIFF).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from prep.errors import AudioError
from prep.facts import check_format

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prep.facts import Buffer

PCM, _FLOAT, _EXTENSIBLE = 0x0001, 0x0003, 0xFFFE
_CODECS = {2: "MS_ADPCM", 6: "ALAW", 7: "ULAW", 0x11: "IMA_ADPCM", 0x31: "GSM610", 0x55: "MPEG_LAYER_III"}
_WAV_SOUND = (b"ds64", b"fmt ", b"fact", b"data")
_AIFF_SOUND = (b"FVER", b"COMM", b"SSND")
_ELSEWHERE = 0xFFFFFFFF  # a 32-bit size that says: look into ds64


class Chunk(NamedTuple):
    """One chunk: its four letters, the first byte of its body, and the bytes that its header claims."""

    id: bytes
    at: int
    size: int

    @property
    def end(self) -> int:
        """The byte where the next chunk starts; bodies are padded to even sizes."""
        return self.at + self.size + self.size % 2


class Wav(NamedTuple):
    """The layout of a WAV or RF64 file, checked.

    Attributes:
        order: "<" or ">", for struct.
        tag: the format tag, looked up where the header is extensible.
        rate: sampling rate in Hz.
        channels: number of channels.
        block: bytes of a frame, or of a coded block.
        bits: bits of a stored sample.
        valid_bits: those of them in use; 0 where the header does not say.
        fact_frames: frames by the fact chunk; None without one.
        samples: the data chunk.
        present: bytes that are there and belong to the samples.
        chunks: all chunks, in the order of the file.
        warnings: what the header says wrongly, one sentence each.
    """

    order: str
    tag: int
    rate: int
    channels: int
    block: int
    bits: int
    valid_bits: int
    fact_frames: int | None
    samples: Chunk
    present: int
    chunks: tuple[Chunk, ...]
    warnings: tuple[str, ...]

    @property
    def linear(self) -> bool:
        """Whether a frame has a fixed number of bytes."""
        return self.tag in (PCM, _FLOAT)

    @property
    def codec(self) -> str:
        """The codec, in libsndfile's words."""
        if self.tag == PCM:
            return f"PCM_{(self.bits + 7) // 8 * 8}" if self.bits > 8 else "PCM_U8"
        if self.tag == _FLOAT:
            return "DOUBLE" if self.bits == 64 else "FLOAT"
        return _CODECS.get(self.tag, f"WAVE_0x{self.tag:04X}")

    @property
    def claimed_frames(self) -> int | None:
        """Frames by the header; None where it makes no claim."""
        return self.samples.size // self.block if self.linear else self.fact_frames

    @property
    def present_frames(self) -> int | None:
        """Frames that are there; for a codec with blocks, those that the header claims."""
        return self.present // max(self.block, 1) if self.linear else self.fact_frames

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the chunks that hold no sound."""
        inside = range(self.samples.at + 1, self.samples.at + self.present)
        return _names(chunk for chunk in self.chunks if chunk.at not in inside and chunk.id not in _WAV_SOUND)


def _names(chunks: Iterable[Chunk]) -> tuple[str, ...]:
    return tuple(chunk.id.decode("latin-1").strip() for chunk in chunks)


def _chunks(data: Buffer, order: str, at: int = 12) -> Iterator[Chunk]:
    """Yield the chunks of a RIFF, RF64 or FORM file; the last may claim more than is there."""
    data_size_64: int | None = None
    while at + 8 <= len(data):
        chunk_id, size = struct.unpack(f"{order}4sI", data[at : at + 8])
        if not all(0x20 <= byte < 0x7F for byte in chunk_id):
            return
        if chunk_id == b"ds64" and at + 24 <= len(data):
            (data_size_64,) = struct.unpack("<Q", data[at + 16 : at + 24])
        if chunk_id == b"data" and size == _ELSEWHERE and data_size_64 is not None:
            size = data_size_64
        chunk = Chunk(chunk_id, at + 8, size)
        yield chunk
        at = chunk.end


def wav_layout(data: Buffer, name: str) -> Wav:
    """Return the layout of a WAV or RF64 file, checked.

    Raises:
        AudioError: a part is missing, absurd, or contradicts another.
    """
    order = ">" if data[:4] == b"RIFX" else "<"
    chunks = tuple(_chunks(data, order))
    first = {chunk.id: chunk for chunk in reversed(chunks)}
    fmt, samples, fact = (first.get(key) for key in (b"fmt ", b"data", b"fact"))
    if fmt is None or fmt.size < 16 or fmt.at + 16 > len(data):
        raise AudioError(f"{name}: a WAV file of {len(data)} bytes that ends inside its header")
    if samples is None:
        raise AudioError(f"{name}: a WAV file of {len(data)} bytes without a data chunk, so without sound")
    tag, channels, rate, _, block, bits = struct.unpack(f"{order}HHIIHH", data[fmt.at : fmt.at + 16])
    check_format(name, rate, channels)
    valid_bits = 0
    if tag == _EXTENSIBLE and fmt.size >= 40 and fmt.at + 40 <= len(data):
        (valid_bits,) = struct.unpack(f"{order}H", data[fmt.at + 18 : fmt.at + 20])
        tag = struct.unpack(f"{order}I", data[fmt.at + 24 : fmt.at + 28])[0] & 0xFFFF
    if tag == PCM and bits > 32 and bits != 64:
        raise AudioError(f"{name}: {bits}-bit integer samples are not read; export the clip at 16 or 24 bits")
    if tag in (PCM, _FLOAT) and (not bits or block != channels * ((bits + 7) // 8)):
        raise AudioError(
            f"{name}: the WAV header contradicts itself: {channels} channels of {bits} bits "
            f"in frames of {block} bytes; export the clip again"
        )
    fact_frames = None
    if fact is not None and fact.size >= 4 and fact.at + 4 <= len(data):
        (fact_frames,) = struct.unpack(f"{order}I", data[fact.at : fact.at + 4])
    present, notes = _bytes_of_samples(data, order, samples, max(block, 1))
    return Wav(order, tag, rate, channels, block, bits, valid_bits, fact_frames, samples, present, chunks, notes)


def _bytes_of_samples(data: Buffer, order: str, chunk: Chunk, block: int) -> tuple[int, tuple[str, ...]]:
    """Return how many bytes of samples are there, and what the header says wrongly about them."""
    there = len(data) - chunk.at
    if chunk.size > there:
        note = f"the header claims {chunk.size} bytes of samples and {there} are there"
        return there, (f"{note}: cut short, or written to a pipe",)
    behind = len(data) - chunk.end
    if behind < block or _chunks_follow(data, order, chunk.end):
        return chunk.size, ()
    if chunk.size == 0:
        note = f"the header claims no samples; the {there} bytes behind it are read as an unfinished recording"
        return there, (note,)
    return chunk.size, (f"{behind} bytes after the samples belong to no chunk and are not read",)


def _chunks_follow(data: Buffer, order: str, at: int) -> bool:
    """Say whether the rest of a file is nothing but whole chunks."""
    for chunk in _chunks(data, order, at):
        at = chunk.end
    return at in (len(data), len(data) + 1)


def with_true_size(data: bytes, wav: Wav) -> bytes:
    """Return a WAV file whose data chunk claims the bytes that are there, for readers that trust it."""
    if wav.present == wav.samples.size or data[:4] in (b"RF64", b"BW64"):
        return data
    size = struct.pack(f"{wav.order}I", wav.present)
    return data[: wav.samples.at - 4] + size + data[wav.samples.at :]


def aiff_claims(data: Buffer) -> tuple[int | None, tuple[str, ...]]:
    """Return the frames that an AIFF file claims, None without a claim, and the names of its other chunks."""
    chunks = tuple(_chunks(data, ">"))
    common = next((chunk for chunk in chunks if chunk.id == b"COMM" and chunk.at + 6 <= len(data)), None)
    frames = None if common is None else int.from_bytes(data[common.at + 2 : common.at + 6], "big")
    return frames, _names(chunk for chunk in chunks if chunk.id not in _AIFF_SOUND)


def only_wav_sound(data: bytes, name: str) -> bytes:
    """Return a WAV or RF64 file of nothing but format, length and samples, its sizes right.

    Raises:
        AudioError: the layout is wrong.
    """
    wav = wav_layout(data, name)
    huge = data[:4] in (b"RF64", b"BW64")
    kept = []
    for chunk in wav.chunks:
        if chunk.at <= wav.samples.at and chunk.id in _WAV_SOUND:
            size = wav.present if chunk.id == b"data" else chunk.size
            kept.append((chunk.id, data[chunk.at : chunk.at + size]))
    if huge:
        length = 4 + sum(8 + len(body) + len(body) % 2 for _, body in kept)
        sizes = struct.pack("<QQ", length, wav.present)
        kept = [(key, sizes + body[16:] if key == b"ds64" else body) for key, body in kept]
    return _form(data[:4], data[8:12], kept, wav.order, huge=huge)


def only_aiff_sound(data: bytes) -> bytes:
    """Return an AIFF file of nothing but format and samples."""
    chunks = [chunk for chunk in _chunks(data, ">") if chunk.id in _AIFF_SOUND]
    kept = [(chunk.id, data[chunk.at : chunk.at + chunk.size]) for chunk in chunks]
    return _form(data[:4], data[8:12], kept, ">")


def _form(kind: bytes, form: bytes, chunks: list[tuple[bytes, bytes]], order: str, *, huge: bool = False) -> bytes:
    """Return a RIFF or FORM file of these chunks; a huge one keeps its sizes in ds64."""
    parts = [form]
    for key, body in chunks:
        size = _ELSEWHERE if huge and key == b"data" else len(body)
        parts += [key, struct.pack(f"{order}I", size), body, b"\0" * (len(body) % 2)]
    body = b"".join(parts)
    return kind + struct.pack(f"{order}I", _ELSEWHERE if huge else len(body)) + body
