"""MP3 files as frames: rate, bitrates, true length, and what the encoder wrote into its Info tag.

Sources: ISO/IEC 11172-3, 2.4 and 13818-3, 2.4 (frames of layer III); the Xing header and the LAME tag
specification, revision 1 (Info tag: frames, delay, padding, low-pass); id3.org, ID3v2.4, 3.1 (tag size).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prep.facts import Buffer

JUNK_BYTES = 65_536  # how far into a file the first MP3 frame is looked for

_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}  # Hz by MPEG version
MP3_RATES = tuple(sorted(rate for rates in _RATES.values() for rate in rates))  # Hz
_MPEG1_KBPS = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MPEG2_KBPS = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_DECODER_DELAY = 529  # samples by which a layer III decoder is late
_INFO_TAG_BYTES = 156  # Xing header and LAME extension, after header and side information


class Frame(NamedTuple):
    """One layer III frame by its header.

    Attributes:
        version: 3 is MPEG-1, 2 is MPEG-2, 0 is MPEG-2.5.
        rate: sampling rate in Hz.
        kbps: its bitrate in kb/s.
        channels: 1 or 2.
        padded: whether it is one byte longer.
    """

    version: int
    rate: int
    kbps: int
    channels: int
    padded: bool = False

    @property
    def samples(self) -> int:
        """Audio frames that it decodes to."""
        return 1152 if self.version == 3 else 576

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return self.samples // 8 * self.kbps * 1000 // self.rate + self.padded

    @property
    def head(self) -> int:
        """Bytes of header and side information, before the coded sound or an Info tag."""
        if self.version == 3:
            return 4 + (17 if self.channels == 1 else 32)
        return 4 + (9 if self.channels == 1 else 17)

    def fits(self, other: Frame) -> bool:
        """Say whether both can stand in one stream: version and rate are the same."""
        return self[:2] == other[:2]


class InfoTag(NamedTuple):
    """The Xing/Info tag in the first frame, and its LAME extension.

    Attributes:
        frames: MPEG frames behind it; None without a tag.
        delay: encoder delay in samples; None without the extension.
        padding: padding at the end, in samples.
        lowpass_hz: the encoder's low-pass; None without the extension.
    """

    frames: int | None = None
    delay: int | None = None
    padding: int = 0
    lowpass_hz: int | None = None

    def claimed_frames(self, samples_per_frame: int) -> int | None:
        """Return the audio frames without delay and padding; None without a tag."""
        if self.frames is None or self.delay is None:
            return None if self.frames is None else self.frames * samples_per_frame
        late = self.delay + _DECODER_DELAY
        return self.frames * samples_per_frame - late - max(self.padding - _DECODER_DELAY, 0)


@dataclass(frozen=True, slots=True)
class Mp3Stream:
    """The run of MPEG layer III frames in a file.

    Attributes:
        start: first byte of the first frame.
        end: the byte after the last frame.
        frames: MPEG frames with sound (without the Info frame).
        samples_per_frame: audio frames in each.
        rate: sampling rate in Hz.
        channels: number of channels.
        kbps: the bitrates in use, rising.
        tag: what the Info tag says.
    """

    start: int
    end: int
    frames: int
    samples_per_frame: int
    rate: int
    channels: int
    kbps: tuple[int, ...]
    tag: InfoTag

    @property
    def claimed_frames(self) -> int | None:
        """Audio frames by the tag, without delay and padding; None without a tag."""
        return self.tag.claimed_frames(self.samples_per_frame)


def after_id3(data: Buffer) -> int:
    """Return the byte where an ID3v2 tag at the front ends; 0 without one."""
    if data[:3] != b"ID3" or len(data) < 10:
        return 0
    size = 0
    for byte in data[6:10]:
        size = size << 7 | byte & 0x7F
    return min(10 + size, len(data))


def _frame(data: Buffer, at: int) -> Frame | None:
    """Return the frame whose header stands at a byte, or None."""
    head = int.from_bytes(data[at : at + 4], "big")
    version, rate_index, kbps_index = head >> 19 & 3, head >> 10 & 3, head >> 12 & 15
    if head >> 21 != 0x7FF or version == 1 or head >> 17 & 3 != 1 or rate_index == 3:
        return None
    if kbps_index in (0, 15):
        return None
    kbps = (_MPEG1_KBPS if version == 3 else _MPEG2_KBPS)[kbps_index]
    return Frame(version, _RATES[version][rate_index], kbps, 1 if head >> 6 & 3 == 3 else 2, bool(head >> 9 & 1))


def _next_frame(data: Buffer, at: int, stop: int, like: Frame | None = None) -> tuple[int, Frame] | None:
    """Return the next frame, and where it starts, that another one, or the end of the file, follows."""
    while (at := data.find(b"\xff", at, stop)) >= 0:
        frame = _frame(data, at)
        if frame is not None and (like is None or frame.fits(like)):
            follower = _frame(data, at + frame.size)
            if at + frame.size == len(data) or (follower is not None and follower.fits(frame)):
                return at, frame
        at += 1
    return None


def first_frame(data: Buffer) -> tuple[int, Frame] | None:
    """Return where the first frame starts, behind a tag or a little junk, and the frame; None without one."""
    after = after_id3(data)
    return _next_frame(data, after, after + JUNK_BYTES)


def info_tag(data: Buffer, start: int, first: Frame) -> InfoTag:
    """Return the Xing/Info tag of the first frame."""
    at = start + first.head
    if data[at : at + 4] not in (b"Xing", b"Info"):
        return InfoTag()
    flags = int.from_bytes(data[at + 4 : at + 8], "big")
    frames = int.from_bytes(data[at + 8 : at + 12], "big") if flags & 1 else None
    at += 8 + 4 * (flags & 1) + 4 * (flags >> 1 & 1) + 100 * (flags >> 2 & 1) + 4 * (flags >> 3 & 1)
    lame = data[at : at + 24]
    if len(lame) < 24 or not lame[:9].strip(b"\0"):  # the encoder's name opens the extension
        return InfoTag(frames)
    trim = int.from_bytes(lame[21:], "big")
    return InfoTag(frames, trim >> 12, trim & 0xFFF, lame[10] * 100)


def mp3_stream(data: Buffer) -> Mp3Stream | None:
    """Return the run of MP3 frames in a file, without what stands before and behind it; None without one."""
    found = first_frame(data)
    if found is None:
        return None
    start, first = found
    tag = info_tag(data, start, first)
    count, kbps = 0, set()
    at = end = start
    while at < len(data):
        frame = _frame(data, at)
        if frame is None or not frame.fits(first):
            behind_damage = _next_frame(data, at + 1, len(data), first)
            if behind_damage is None:
                break
            at, frame = behind_damage
        kbps.add(frame.kbps)
        count += at + frame.size <= len(data)
        at += frame.size
        end = min(at, len(data))
    return Mp3Stream(
        start=start,
        end=end,
        frames=count - (tag.frames is not None),
        samples_per_frame=first.samples,
        rate=first.rate,
        channels=first.channels,
        kbps=tuple(sorted(kbps)),
        tag=tag,
    )


def mp3_bitrates(rate: int, channels: int) -> tuple[int, ...]:
    """Return the constant bitrates in kb/s at which an MP3 of that rate and channels keeps its exact length.

    Below them a frame is too small for the Info tag that tells a player the encoder's delay. MPEG-2.5
    ends at 64 kb/s in LAME.

    Args:
        rate: in Hz.
        channels: of the clip.
    """
    version = next((version for version, rates in _RATES.items() if rate in rates), None)
    if version is None or channels not in (1, 2):
        return ()
    table = _MPEG1_KBPS if version == 3 else _MPEG2_KBPS
    frames = [Frame(version, rate, kbps, channels) for kbps in table[1:] if version or kbps <= 64]
    return tuple(frame.kbps for frame in frames if frame.size >= frame.head + _INFO_TAG_BYTES)
