"""What prep.riff promises of the chunks of WAV, RF64 and AIFF files. The bytes are laid out here by hand."""

from __future__ import annotations

import struct

import pytest

from prep import riff
from prep.errors import AudioError

SAMPLES = bytes(range(1, 13))  # 6 mono frames of 16 bits


def chunk(key: bytes, body: bytes, *, order: str = "<", claimed: int | None = None) -> bytes:
    """Return a chunk, padded to an even size."""
    size = len(body) if claimed is None else claimed
    return key + struct.pack(f"{order}I", size) + body + b"\0" * (len(body) % 2)


def fmt(tag: int = 1, *, rate: int = 24000, channels: int = 1, bits: int = 16, more: bytes = b"") -> bytes:
    """Return a format chunk."""
    block = channels * ((bits + 7) // 8)
    return chunk(b"fmt ", struct.pack("<HHIIHH", tag, channels, rate, rate * block, block, bits) + more)


def form(*chunks: bytes, kind: bytes = b"RIFF", name: bytes = b"WAVE", order: str = "<") -> bytes:
    """Return a file of chunks."""
    body = name + b"".join(chunks)
    return kind + struct.pack(f"{order}I", len(body)) + body


def test_a_plain_wav_is_laid_out_as_its_header_says() -> None:
    """Rate, channels, codec and frames stand where RIFF puts them."""
    wav = riff.wav_layout(form(fmt(rate=22050, channels=2, bits=24), chunk(b"data", SAMPLES)), "a.wav")
    assert (wav.rate, wav.channels, wav.codec, wav.linear) == (22050, 2, "PCM_24", True)
    assert (wav.claimed_frames, wav.present_frames, wav.tags, wav.warnings) == (2, 2, (), ())


def test_an_extensible_header_names_its_codec_and_its_bits_further_on() -> None:
    """WAVE_FORMAT_EXTENSIBLE carries the format tag in its GUID, and the bits in use before it."""
    more = struct.pack("<HHII", 22, 20, 4, 3) + bytes.fromhex("0000 1000 8000 00aa 0038 9b71")
    wav = riff.wav_layout(form(fmt(0xFFFE, bits=32, more=more), chunk(b"data", SAMPLES)), "a.wav")
    assert (wav.codec, wav.valid_bits, wav.present_frames) == ("FLOAT", 20, 3)


def test_a_big_endian_wav_is_read_in_its_own_order() -> None:
    """RIFX holds every number the other way round."""
    head = struct.pack(">HHIIHH", 1, 1, 16000, 32000, 2, 16)
    chunks = (chunk(b"fmt ", head, order=">"), chunk(b"data", SAMPLES, order=">"))
    wav = riff.wav_layout(form(*chunks, kind=b"RIFX", order=">"), "a.wav")
    assert (wav.rate, wav.present_frames, wav.order) == (16000, 6, ">")


def test_a_coded_wav_has_the_frames_of_its_fact_chunk() -> None:
    """Where a block is no frame, only the fact chunk tells the length."""
    wav = riff.wav_layout(form(fmt(0x31), chunk(b"fact", struct.pack("<I", 5000)), chunk(b"data", SAMPLES)), "a.wav")
    assert (wav.codec, wav.linear, wav.claimed_frames) == ("GSM610", False, 5000)


@pytest.mark.parametrize(
    ("claimed", "behind", "present", "warning"),
    [
        (12, b"", 12, ""),
        (11, b"", 11, ""),  # an odd size, and the byte that pads it
        (12, chunk(b"LIST", b"INFO"), 12, ""),
        (8, b"", 8, "4 bytes after the samples belong to no chunk"),
        (0xFFFFFFFF, b"", 12, "claims 4294967295 bytes of samples and 12 are there"),
        (13, b"", 12, "claims 13 bytes of samples and 12 are there"),
        (0, b"", 12, "claims no samples; the 12 bytes behind it"),
    ],
)
def test_the_samples_are_those_that_are_there(claimed: int, behind: bytes, present: int, warning: str) -> None:
    """A wrong size is corrected by what is there, with a warning; a right one stands without."""
    data = form(fmt(), chunk(b"data", SAMPLES, claimed=claimed) + behind)
    wav = riff.wav_layout(data, "a.wav")
    assert wav.present == present
    assert bool(wav.warnings) == bool(warning)
    assert warning in "".join(wav.warnings)
    mended = riff.wav_layout(riff.with_true_size(data, wav), "a.wav")
    assert (mended.samples.size, mended.present) == (present, present)


def test_a_wav_cut_anywhere_is_laid_out_or_refused_by_name() -> None:
    """However little of a file is left, the answer is a layout or an error that names it."""
    whole = form(fmt(), chunk(b"LIST", b"INFOodd"), chunk(b"data", SAMPLES))
    header = whole.index(b"data") + 8
    for size in range(12, len(whole)):
        if size < header:
            with pytest.raises(AudioError, match=r"^a\.wav: a WAV file of \d+ bytes"):
                riff.wav_layout(whole[:size], "a.wav")
        else:
            assert riff.wav_layout(whole[:size], "a.wav").present == size - header


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (fmt(channels=0), "0 channels"),
        (fmt(rate=0), "rate of 0 Hz"),
        (fmt(bits=36), "36-bit"),
        (fmt(bits=0), "contradicts itself"),
        (fmt().replace(struct.pack("<HH", 2, 16), struct.pack("<HH", 3, 16)), "contradicts itself"),
    ],
)
def test_a_header_that_cannot_be_right_is_refused(head: bytes, reason: str) -> None:
    """Impossible numbers, and numbers that contradict each other, are a named failure."""
    with pytest.raises(AudioError, match=reason):
        riff.wav_layout(form(head, chunk(b"data", SAMPLES)), "a.wav")


def test_tags_are_the_chunks_that_hold_no_sound() -> None:
    """Chunks before and behind the samples are named; what looks like one inside the samples is not."""
    inside = chunk(b"fake", b"fake")
    data = form(chunk(b"bext", b"who"), fmt(), chunk(b"data", inside), chunk(b"LIST", b"INFO"))
    assert riff.wav_layout(data, "a.wav").tags == ("bext", "LIST")


def test_only_sound_is_left_of_a_wav() -> None:
    """Other chunks go, sizes become true, and doing it again changes nothing."""
    data = form(chunk(b"bext", b"who"), fmt(), chunk(b"LIST", b"INFO"), chunk(b"data", SAMPLES, claimed=0xFFFFFFF0))
    bare = riff.only_wav_sound(data, "a.wav")
    assert bare == form(fmt(), chunk(b"data", SAMPLES))
    assert riff.only_wav_sound(bare, "a.wav") == bare


def test_an_rf64_file_keeps_its_sizes_in_its_own_chunk() -> None:
    """The size of the samples is read from ds64 (EBU Tech 3306), and written there when the file is stripped."""

    def rf64(riff_size: int, *tags: bytes) -> bytes:
        ds64 = chunk(b"ds64", struct.pack("<QQQI", riff_size, len(SAMPLES), 6, 0))
        body = b"WAVE" + ds64 + fmt() + b"".join(tags) + chunk(b"data", SAMPLES, claimed=0xFFFFFFFF)
        return b"RF64\xff\xff\xff\xff" + body

    bare_size = len(rf64(0)) - 8
    wav = riff.wav_layout(rf64(0, chunk(b"LIST", b"INFO")), "a.wav")
    assert (wav.present, wav.claimed_frames, wav.warnings) == (12, 6, ())
    assert riff.only_wav_sound(rf64(0, chunk(b"LIST", b"INFO")), "a.wav") == rf64(bare_size)


def test_an_aiff_file_says_its_frames_and_loses_its_other_chunks() -> None:
    """COMM holds the frames, and only COMM and SSND are sound."""
    common = chunk(b"COMM", struct.pack(">HIH", 1, 6, 16) + bytes(10), order=">")
    sound = chunk(b"SSND", bytes(8) + SAMPLES, order=">")
    name = chunk(b"NAME", b"who", order=">")
    data = form(name, common, sound, kind=b"FORM", name=b"AIFF", order=">")
    assert riff.aiff_claims(data) == (6, ("NAME",))
    assert riff.only_aiff_sound(data) == form(common, sound, kind=b"FORM", name=b"AIFF", order=">")
