"""What prep.mpeg promises of MP3 frames. The frames are made here bit by bit after ISO/IEC 11172-3."""

from __future__ import annotations

import pytest

from prep import mpeg

VERSION, LAYER_III, MONO = 3, 1, 3  # MPEG-1
RATE_44100, KBPS_64, KBPS_128 = 0, 5, 9  # their indices in the header
SIZE_64, SIZE_128 = 208, 417  # bytes of such frames: 144 * bitrate / rate


def frame(kbps: int = KBPS_128, *, padding: int = 0, body: bytes = b"", size: int = SIZE_128) -> bytes:
    """Return an MPEG-1 layer III frame, mono at 44.1 kHz."""
    bits = 0x7FF << 21 | VERSION << 19 | LAYER_III << 17 | 1 << 16
    bits |= kbps << 12 | RATE_44100 << 10 | padding << 9 | MONO << 6
    return (bits.to_bytes(4, "big") + body).ljust(size + padding, b"\0")


def info(frames: int, *, delay: int = 576, padding: int = 1000, lowpass: int = 160) -> bytes:
    """Return the frame with the Info tag and the LAME extension (LAME tag specification, revision 1)."""
    xing = b"Info" + (1).to_bytes(4, "big") + frames.to_bytes(4, "big")
    lame = b"LAME3.100" + bytes([0, lowpass]) + bytes(10) + (delay << 12 | padding).to_bytes(3, "big")
    return frame(body=bytes(17) + xing + lame)


def test_a_stream_starts_and_ends_with_its_frames() -> None:
    """Tags before and behind are outside; frames, rate, channels and bitrates are those of the frames."""
    front = b"ID3\4\0\0\0\0\1\2" + bytes(130)  # 7 bits a byte: 1 and 2 are 130 bytes
    data = front + 3 * frame() + frame(padding=1) + frame(KBPS_64, size=SIZE_64) + b"TAG" + bytes(125)
    stream = mpeg.mp3_stream(data)
    assert stream is not None
    assert (stream.start, stream.end) == (140, len(data) - 128)
    assert (stream.frames, stream.samples_per_frame) == (5, 1152)
    assert (stream.rate, stream.channels, stream.kbps) == (44100, 1, (64, 128))
    assert (stream.tag, stream.claimed_frames) == (mpeg.InfoTag(), None)


def test_the_info_tag_gives_the_true_length_and_the_low_pass() -> None:
    """Encoder delay, decoder delay of 529 samples and padding are taken off the frames it counts."""
    stream = mpeg.mp3_stream(info(10) + 10 * frame())
    assert stream is not None
    assert stream.frames == 10
    assert stream.tag == mpeg.InfoTag(10, 576, 1000, 16000)
    assert stream.claimed_frames == 10 * 1152 - 576 - 1000


def test_a_tag_without_an_encoder_leaves_delay_and_padding() -> None:
    """A Xing tag without the LAME extension counts frames and trims nothing."""
    plain = frame(body=bytes(17) + b"Xing" + (1).to_bytes(4, "big") + (4).to_bytes(4, "big"))
    stream = mpeg.mp3_stream(plain + 4 * frame())
    assert stream is not None
    assert stream.tag == mpeg.InfoTag(4)
    assert stream.claimed_frames == 4 * 1152


def test_a_file_that_ends_inside_its_info_tag_is_no_crash() -> None:
    """What is cut off of a tag is not there, and the rest is read."""
    head = bytes([0xFF, 0xF3, 0x14, 0xC0])  # MPEG-2, 8 kb/s at 24 kHz, mono: 24 bytes
    stream = mpeg.mp3_stream(head + bytes(9) + b"Info" + bytes(4) + b"LAM")
    assert stream is not None
    assert stream.tag == mpeg.InfoTag()


def test_frames_behind_damage_are_found_again() -> None:
    """Bytes that are no frame end nothing: the stream goes on where two frames follow each other."""
    stream = mpeg.mp3_stream(2 * frame() + b"\xff\xfb junk \xff" + 3 * frame())
    assert stream is not None
    assert stream.frames == 5


def test_a_frame_that_is_cut_is_not_counted() -> None:
    """The last frame counts only if all of it is there."""
    data = 3 * frame() + frame()[:200]
    stream = mpeg.mp3_stream(data)
    assert stream is not None
    assert (stream.frames, stream.end) == (3, len(data))


def test_chance_is_not_taken_for_a_stream() -> None:
    """A frame counts only where another follows or the file ends, and within 64 KiB of the start."""
    assert mpeg.mp3_stream(frame() + b"no frame follows") is None
    assert mpeg.mp3_stream(bytes(mpeg.JUNK_BYTES) + 2 * frame()) is None
    assert mpeg.mp3_stream(b"") is None


@pytest.mark.parametrize(
    ("rate", "channels", "lowest", "highest"),
    [
        # The Info tag needs 4 bytes of header, 9 to 32 of side information and 156 of its own.
        (44100, 1, 56, 320),
        (44100, 2, 64, 320),
        (24000, 1, 64, 160),
        (8000, 1, 24, 64),
        (8000, 2, 24, 64),
    ],
)
def test_a_bitrate_is_possible_where_a_frame_holds_the_info_tag(
    rate: int, channels: int, lowest: int, highest: int
) -> None:
    """Below the lowest bitrate there is no room for the tag, and above the highest there is no frame."""
    bitrates = mpeg.mp3_bitrates(rate, channels)
    assert (bitrates[0], bitrates[-1]) == (lowest, highest)
    assert list(bitrates) == sorted(set(bitrates))


@pytest.mark.parametrize(("rate", "channels"), [(96000, 1), (11000, 1), (44100, 3), (44100, 0)])
def test_what_mp3_has_not_has_no_bitrate(rate: int, channels: int) -> None:
    """Rates and channels outside the standard have no possible bitrate."""
    assert mpeg.mp3_bitrates(rate, channels) == ()
