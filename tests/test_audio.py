"""What prep.audio promises of sound files."""

from __future__ import annotations

import hashlib
import io
import json
import runpy
import struct
import subprocess
import sys
import tracemalloc
import wave
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import soundfile

from prep import audio, encoding, mpeg
from prep.clip import Clip
from prep.errors import AudioError, ClipError

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT / ".." / "shared"
BROKEN = SHARED / "data" / "broken"
SPEECH = SHARED / "data" / "speech_real"
MAKE_CASES = SHARED / "cases" / "make_cases.py"
CASES = ("H01", "H02", "H03", "H04", "H05", "H06", "H09", "H10", "H14", "H29", "H30", "H32", "H37", "H48", "H49", "H54")

RATES = (8000, 16000, 22050, 24000, 44100, 48000)
STEP_24 = 2.0**-23  # one step of 24 bits, of full scale
MP3_FRAMES = 2  # H03 allows two MP3 frames on the length
IMAGE_DB = -55.0  # H10: energy above the old Nyquist, against the voice band
TONE_DB = 0.5  # H06: a tone at 15 kHz after 48 to 44.1 kHz
LOWPASS_DB = 3.0  # H30: tones up to 10 kHz in an MP3 of 64 kb/s
PEAK_MEMORY = 32 << 20  # bytes; a block is 4 MiB of samples, the claims under test are gigabytes

rng = np.random.default_rng


@cache
def voice(frames: int, rate: int, channels: int = 1, peak: float = 0.5) -> Clip:
    """Noise in bursts, in the band of speech, with another phase in each channel."""
    noise = rng(7).standard_normal((frames, channels))
    spectrum = np.fft.rfft(noise, axis=0)
    spectrum[np.fft.rfftfreq(frames, 1 / rate) > 0.35 * rate] = 0
    bursts = 0.55 + 0.45 * np.sin(2 * np.pi * 3 * np.arange(frames) / rate)[:, None]
    sound = np.fft.irfft(spectrum, frames, axis=0) * bursts
    return Clip((peak * sound / np.abs(sound).max()).astype(np.float32), rate, "voice")


def lag(a: Clip, b: Clip) -> int:
    """By how many frames b is late against a, in the first channel."""
    size = 1 << (a.frames + b.frames).bit_length()
    x, y = (np.fft.rfft(clip.samples[:, 0], size) for clip in (a, b))
    peak = int(np.argmax(np.fft.irfft(y * x.conj(), size)))
    return peak if peak < size // 2 else peak - size


def decoded(data: bytes, name: str = "clip") -> Clip:
    """Return the sound of a file."""
    return audio.decode(data, name)[0]


def facts(data: bytes, name: str = "clip") -> audio.AudioFacts:
    """Return the facts of a file."""
    return audio.decode(data, name)[1]


def wav_bytes(
    samples: bytes, *, claimed: int | None = None, rate: int = 24000, channels: int = 1, bits: int = 16
) -> bytes:
    """A PCM WAV with whatever header is asked for."""
    block = channels * bits // 8
    fmt = struct.pack("<HHIIHH", 1, channels & 0xFFFF, rate, rate * block & 0xFFFFFFFF, block & 0xFFFF, bits)
    size = len(samples) if claimed is None else claimed
    body = b"WAVEfmt " + struct.pack("<I", 16) + fmt + b"data" + struct.pack("<I", size & 0xFFFFFFFF) + samples
    return b"RIFF" + struct.pack("<I", min(len(body), 0xFFFFFFFF)) + body


def tone_db(clip: Clip, hertz: float) -> float:
    """Return the peak level of a tone in dBFS."""
    window = np.hanning(clip.frames)
    wave_ = np.exp(-2j * np.pi * hertz / clip.rate * np.arange(clip.frames))
    return float(20 * np.log10(2 * abs(np.sum(clip.samples[:, 0] * window * wave_)) / window.sum()))


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, object]]]:
    """The made inputs of the faults that concern sound files, and what is right for each."""
    if not MAKE_CASES.is_file():
        pytest.skip("the cases beside the project are not here")
    folder = tmp_path_factory.mktemp("cases")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(MAKE_CASES), str(folder), "--only", *CASES])
        runpy.run_path(str(MAKE_CASES))["main"]()
    return folder, json.loads((folder / "expectations.json").read_text(encoding="utf-8"))


# Broken and odd files -----------------------------------------------------------------------------

# Every generated file is made of one recording; its length is read here by Python's own `wave`.
TOLERANCES = {  # frames by which a format may rightly miss the recording's length, and why
    "aac.m4a": 22,  # its edit list counts in milliseconds
    "webm.webm": 960,  # an Opus frame: the end is not trimmed
    "vbr_noxing.mp3": 3 * 576,  # without an Info tag delay and padding stay
    "ima_adpcm.wav": 2 * 1017,  # blocks are filled up, and the header counts them whole
    "w64.w64": 4,  # chunks are multiples of 8 bytes, and the header counts them whole
}
LENGTHS = {  # frames of the files that do not hold the whole recording
    "data_size_odd_short.wav": 41384,
    "silence_3s.wav": 66150,
    "ten_samples.wav": 10,
    "truncated.mp3": 20783,
    "truncated_60pct.wav": 25122,
    "empty_vorbis_comment.flac": 100,
    "non_subset.flac": 4096,
    "pop.flac": 100,
    "repeated_vorbis_comment.flac": 100,
    "short.flac": 4,
    "wasted_bits.flac": 4410,
    "nonstandard-01.wav": 1,
    "nonstandard-02.wav": 2,
    "pcmwaveformat-16bit-44100Hz-mono-extra.wav": 4,
    "pcmwaveformat-16bit-44100Hz-mono.wav": 4,
    "pcmwaveformat-8bit-44100Hz-mono.wav": 4,
    "pop.wav": 100,
    "waveformatex-16bit-44100Hz-mono-extra.wav": 4,
    "waveformatex-16bit-44100Hz-mono.wav": 4,
    "waveformatex-16bit-44100Hz-stereo.wav": 4,
    "waveformatex-8bit-11025Hz-mono.wav": 4,
    "waveformatextensible-24bit-192kHz-mono.wav": 4,
    "waveformatextensible-32bit-48kHz-stereo.wav": 2,
    "test-1234Hz-le-1ch-10S-20bit-extra.wav": 10,
    "test-44100Hz-2ch-32bit-float-be.wav": 441,
    "test-44100Hz-2ch-32bit-float-le.wav": 441,
    "test-44100Hz-be-1ch-4bytes.wav": 4410,
    "test-44100Hz-le-1ch-4bytes-early-eof.wav": 236,
    "test-44100Hz-le-1ch-4bytes-rf64.wav": 4410,
    "test-44100Hz-le-1ch-4bytes.wav": 4410,
    "test-48000Hz-2ch-64bit-float-le-wavex.wav": 480,
    "test-8000Hz-be-3ch-5S-24bit.wav": 5,
    "test-8000Hz-le-1ch-1byte-ulaw.wav": 9,
    "test-8000Hz-le-2ch-1byteu.wav": 800,
    "test-8000Hz-le-3ch-5S-24bit-rf64.wav": 5,
    "test-8000Hz-le-3ch-5S-24bit.wav": 5,
    "test-8000Hz-le-3ch-5S-64bit.wav": 5,
    "test-8000Hz-le-4ch-9S-12bit.wav": 9,
    "test-8000Hz-le-5ch-9S-5bit.wav": 9,
    # One reading of 396679 frames in several containers; MP3, ADTS and WebM keep codec padding.
    "p001.aac": 388 * 1024,
    "p001.mp3": 397487,
    "p001.mp4": 396679,
    "p001.ogg": 396679,
    "p001.webm": 397504,
}
REFUSED = {  # what the message must say of each file that cannot be right
    "fuzz__": "",
    "mono.empty.wav": "empty",
    "mono.invalid.wav": "ends inside its header",
    "mono.zero.wav": "no samples",
    "p001.empty": "empty",
    "p001.flac": "damaged",
    "large_vendor_string.flac": "stream information",
    "large_vorbis_comment_block.flac": "stream information",
    "03 - wrong bit depth.flac": "MD5",
    "04 - wrong number of channels.flac": "damaged",
    "06 - missing streaminfo metadata block.flac": "stream information",
    "header_only.wav": "no samples",
    "nan_inf.wav": "sample 100 of channel 0 is not a number or infinite",
    "riff12.wav": "ends inside its header",
    "text_named.wav": "no sound file",
    "zero_bytes.wav": "empty",
    "pcmwaveformat-24bit-4byte-48kHz-stereo.wav": "contradicts itself",
    "waveformatextensible-24bit-4byte-48kHz-stereo.wav": "bits outside the 24",
    "waveformatex-ieeefloat-44100Hz-mono.wav": "16 times full scale",
    "waveformatextensible-ieeefloat-44100Hz-mono.wav": "16 times full scale",
    "test-44100Hz-le-1ch-4bytes-early-eof-no-data.wav": "without a data chunk",
    "test-44100Hz-le-1ch-4bytes-incomplete-chunk.wav": "ends inside its header",
    "test-8000Hz-le-3ch-5S-24bit-inconsistent.wav": "contradicts itself",
    "test-8000Hz-le-3ch-5S-36bit.wav": "36-bit",
    "test-8000Hz-le-3ch-5S-45bit.wav": "45-bit",
    "test-8000Hz-le-3ch-5S-53bit.wav": "53-bit",
}
broken_files = sorted(path for path in BROKEN.rglob("*") if path.is_file()) if BROKEN.is_dir() else []


def _refusal(name: str) -> str | None:
    return REFUSED.get("fuzz__" if name.startswith("fuzz__") else name)


@pytest.mark.skipif(not broken_files, reason="the broken files beside the project are not here")
@pytest.mark.parametrize("path", broken_files, ids=lambda path: path.name)
def test_a_broken_file_is_read_rightly_or_fails_by_name(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A file gives a clip of the right length, and probing says the same, or both errors name it; stderr is quiet."""
    reason = _refusal(path.name)
    header = _probed(path)
    if reason is not None:
        with pytest.raises(AudioError) as caught:
            audio.decode(audio.read_bytes(path), str(path))
        assert str(caught.value).startswith(str(path))
        assert reason in str(caught.value)
    else:
        clip, found = audio.decode(audio.read_bytes(path), path.name)
        frames, rate = _recording()
        rounded_up = -(-frames * clip.rate // rate)  # as the resampler did that made the files of other rates
        expected = LENGTHS.get(path.name, rounded_up)
        assert abs(clip.frames - expected) <= TOLERANCES.get(path.name, 0)
        assert found.frames == clip.frames
        assert audio.AudioFacts.model_validate_json(found.model_dump_json()) == found
        assert header is not None
        assert (header.container, header.rate, header.channels) == (found.container, clip.rate, clip.channels)
    assert capfd.readouterr().err == ""


@cache
def _recording() -> tuple[int, int]:
    """Return frames and rate in Hz of the recording that the broken files were made of."""
    with wave.open(str(SPEECH / "ljspeech" / "LJ001-0002.wav")) as recording:
        return recording.getnframes(), recording.getframerate()


def _probed(path: Path) -> audio.Header | None:
    """Return the header of a file, or None if the error names the file."""
    try:
        return audio.probe(path)
    except AudioError as error:
        if str(error).startswith(str(path)):
            return None
        raise


@pytest.mark.skipif(not broken_files, reason="the broken files beside the project are not here")
@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("truncated_60pct.wav", "cut short"),
        ("truncated.mp3", "Info tag claims"),
        ("claims_2_4GB.wav", "claims 2415919104 bytes"),
        ("ffmpeg_pipe_ffffffff.wav", "pipe"),
        ("data_size_zero.wav", "claims no samples"),
        ("data_size_odd_short.wav", "belong to no chunk"),
        ("garbage_prefix.mp3", "behind"),
        ("mp3_named.wav", "content is MP3"),
        ("wav_named.mp3", "content is WAV"),
        ("vbr_noxing.mp3", "no Info tag"),
        ("g722.wav", "fill the last coded block"),
    ],
)
def test_what_a_file_claims_wrongly_is_written_down(name: str, word: str) -> None:
    """A header that does not fit what decodes leaves a warning in the facts."""
    path = BROKEN / "generated" / name
    assert any(word in warning for warning in facts(path.read_bytes(), name).warnings)


@pytest.mark.skipif(not broken_files, reason="the broken files beside the project are not here")
def test_claims_of_gigabytes_cost_no_memory() -> None:
    """Memory follows the samples that are there, not the frames that a header claims."""
    names = ("generated/claims_2_4GB.wav", "claxon/fuzz__64a18b4b38239295b0c2c9f8df778df3edddebbd.flac")
    for name in names:
        data = (BROKEN / name).read_bytes()
        tracemalloc.start()
        try:
            audio.decode(data, name)
        except AudioError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < PEAK_MEMORY


def test_a_place_without_a_sound_file_is_named(tmp_path: Path) -> None:
    """A missing file, a folder and an empty file each fail with their path and a reason of their own."""
    empty = tmp_path / "empty.wav"
    empty.touch()
    for path, reason in ((tmp_path / "none.wav", "no such file"), (tmp_path, "a folder"), (empty, "empty")):
        for read in (audio.probe, audio.read_bytes):
            with pytest.raises(AudioError, match=reason) as caught:
                read(path)
            assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"channels": 65535}, "65535 channels"),
        ({"channels": 0}, "0 channels"),
        ({"rate": 0}, "rate of 0 Hz"),
        ({"rate": 4294967295}, "rate of 4294967295 Hz"),
    ],
)
def test_an_absurd_header_is_a_named_failure(tmp_path: Path, header: dict[str, int], reason: str) -> None:
    """No recording has 65535 channels or 0 Hz: probing and decoding say so."""
    path = tmp_path / "bomb.wav"
    path.write_bytes(wav_bytes(bytes(9600), **header))
    with pytest.raises(AudioError, match=reason):
        audio.probe(path)
    with pytest.raises(AudioError, match=reason):
        decoded(path.read_bytes(), "bomb.wav")


@pytest.mark.parametrize("claimed", [0xFFFFFFFF, 0x7FFFF000, 0])
def test_a_recording_that_was_not_closed_gives_its_true_frames(claimed: int) -> None:
    """Whatever length a pipe left in the header, the samples that follow are all read."""
    samples = (np.arange(2400) * 13 % 3001 - 1500).astype("<i2")
    clip = decoded(wav_bytes(samples.tobytes(), claimed=claimed))
    assert np.array_equal(clip.samples[:, 0] * 32768, samples)


def test_an_empty_data_chunk_before_another_chunk_is_empty() -> None:
    """A WAV that rightly says it holds no samples is refused, and its tags are not read as sound."""
    with pytest.raises(AudioError, match="no samples"):
        decoded(wav_bytes(b"LIST" + struct.pack("<I", 8) + b"INFOname", claimed=0))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 10000.0, -16.5])
def test_a_sample_that_is_no_sound_refuses_the_clip_and_is_named(value: float) -> None:
    """NaN, infinity and magnitudes over 16 are refused with the first index and the count."""
    samples = voice(2000, 24000).samples.copy()
    samples[[777, 900]] = value
    file = io.BytesIO()
    soundfile.write(file, samples, 24000, "FLOAT", format="WAV")
    with pytest.raises(AudioError, match=r"spike\.wav: sample 777 of channel 0 .* 2 such in all"):
        decoded(file.getvalue(), "spike.wav")


def test_a_float_over_full_scale_is_kept() -> None:
    """A float recording that peaks 18 dB over full scale keeps every sample."""
    clip = voice(3000, 48000, 2, peak=8.0)
    assert np.array_equal(decoded(encoding.encode_wav(clip, 32)).samples, clip.samples)


def test_flac_that_fails_its_own_checksum_is_refused() -> None:
    """FLAC whose samples decode but differ from the MD5 in its header is damaged, by name."""
    data = bytearray(encoding.encode_flac(voice(5000, 16000), 16))
    data[26] ^= 1  # the first byte of the MD5
    with pytest.raises(AudioError, match="MD5"):
        decoded(bytes(data))


def test_flac_of_unknown_length_is_read_to_its_end() -> None:
    """FLAC written to a pipe claims no length; all its samples are read."""
    clip = voice(5000, 16000)
    data = bytearray(encoding.encode_flac(clip, 24))
    data[21] &= 0xF0
    data[22:26] = bytes(4)
    assert np.array_equal(decoded(bytes(data)).samples, decoded(encoding.encode_flac(clip, 24)).samples)


def test_frames_that_fill_a_coded_block_are_left_out_and_said() -> None:
    """GSM decodes in blocks of 320 frames; the header's count decides where the clip ends."""
    file = io.BytesIO()
    soundfile.write(file, voice(5000, 8000).samples, 8000, "GSM610", format="WAV")
    found = facts(file.getvalue())
    assert found.frames == 5000
    assert any("5120 frames decode" in warning for warning in found.warnings)


# What libsndfile cannot open ----------------------------------------------------------------------


def ffmpeg_made(clip: Clip, suffix: str, folder: Path, *arguments: str) -> bytes:
    """Return the clip in a container that ffmpeg writes."""
    import imageio_ffmpeg

    source, made = folder / "in.wav", folder / f"out{suffix}"
    source.write_bytes(encoding.encode_wav(clip, 32))
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-nostdin", "-y", "-i", source, *arguments, made]
    subprocess.run(command, check=True, capture_output=True)
    return made.read_bytes()


@pytest.mark.parametrize(
    ("suffix", "arguments", "container"),
    [
        (".m4a", ("-c:a", "alac", "-sample_fmt", "s32p"), "M4A"),
        (".wv", ("-c:a", "wavpack", "-sample_fmt", "s32p"), "WAVPACK"),
        (".mkv", ("-c:a", "pcm_s24le"), "WEBM"),
    ],
)
def test_24_bits_survive_where_ffmpeg_decodes(
    tmp_path: Path, suffix: str, arguments: tuple[str, ...], container: str
) -> None:
    """A lossless 24-bit clip in a container that libsndfile does not know keeps all its bits."""
    clip = voice(4000, 44100, 2, peak=0.01)
    found, known = audio.decode(ffmpeg_made(clip, suffix, tmp_path, *arguments), f"clip{suffix}")
    assert (known.container, known.decoder, known.warnings) == (container, "ffmpeg", ())
    assert found.frames == clip.frames
    assert np.abs(found.samples - clip.samples).max() <= STEP_24


def test_aac_over_full_scale_is_not_clipped(tmp_path: Path) -> None:
    """What AAC decodes beyond full scale is kept, for the level stage to bring down."""
    data = ffmpeg_made(voice(20000, 44100, peak=1.9), ".m4a", tmp_path, "-c:a", "aac", "-b:a", "192k")
    assert np.abs(decoded(data).samples).max() > 1


def test_a_cut_m4a_is_noticed(tmp_path: Path) -> None:
    """Half of an M4A whose header stands in front decodes to half, with a warning."""
    data = ffmpeg_made(voice(44100, 44100), ".m4a", tmp_path, "-c:a", "aac", "-movflags", "+faststart")
    assert any("cut short" in warning for warning in facts(data[: len(data) // 2]).warnings)


# What ffmpeg writes of a file, and when its own limit of computing time is up.
HEADER_ONLY = "echo 'Stream #0:0: Audio: wavpack, 44100 Hz, mono, s32p' >&2; exit 1"
STOPPED_ITSELF = "echo 'Exiting normally, received signal 24.' >&2; exit 255"


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for ffmpeg is a shell script")
@pytest.mark.parametrize(
    ("seconds", "script"),
    [
        (0.1, "exec sleep 60"),  # stopped from outside
        (600, f'case "$*" in *"-timelimit 600"*) {STOPPED_ITSELF};; *) {HEADER_ONLY};; esac'),  # stopped by itself
    ],
)
def test_an_ffmpeg_that_does_not_end_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, script: str
) -> None:
    """A file that keeps ffmpeg busy past the limit fails by its name, however ffmpeg was started."""
    stand_in = tmp_path / "ffmpeg"
    stand_in.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    stand_in.chmod(0o755)
    monkeypatch.setattr(audio, "_ffmpeg", lambda: str(stand_in))
    monkeypatch.setattr(audio, "FFMPEG_SECONDS", seconds)
    with pytest.raises(AudioError, match=r"endless\.wv: ffmpeg was stopped after"):
        decoded(b"wvpk" + bytes(2000), "endless.wv")


# Resampling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", RATES)
def test_resampling_keeps_time_and_gives_the_exact_length(rate: int, channels: int) -> None:
    """Any rate to any other: no lag there and back, round(frames * rate / old) frames."""
    clip = voice(20011, rate, channels)
    for other in RATES:
        there = audio.resample(clip, other)
        back = audio.resample(there, rate)
        assert there.frames == round(clip.frames * other / rate)
        assert lag(clip, back) == 0


def test_the_same_rate_is_the_same_clip() -> None:
    """Resampling to the clip's own rate changes nothing."""
    clip = voice(100, 16000)
    assert audio.resample(clip, 16000) is clip


def test_halves_round_as_the_specification_says() -> None:
    """Odd lengths brought to half the rate end where `round` says."""
    lengths = {n: audio.resample(voice(n, 48000), 24000).frames for n in (3, 5, 1001, 1003)}
    assert lengths == {n: round(n / 2) for n in lengths}


def test_a_clip_too_short_for_a_rate_is_refused() -> None:
    """A clip that would have no frame at the new rate is a named failure."""
    with pytest.raises(ClipError, match="voice: 1 frames at 48000 Hz are no frame"):
        audio.resample(voice(1, 48000), 8000)


def test_resampling_does_not_clip() -> None:
    """Samples over full scale stay over full scale."""
    assert np.abs(audio.resample(voice(4000, 44100, peak=4.0), 48000).samples).max() > 3


# Tags ---------------------------------------------------------------------------------------------


def tagged(name: str, folder: Path) -> bytes:
    """A clip with a title, in a container."""
    arguments = {
        "wav": (),
        "rf64.wav": ("-rf64", "always"),
        "mp3": ("-c:a", "libmp3lame"),
        "flac": (),
        "ogg": ("-c:a", "libvorbis"),
        "opus": ("-c:a", "libopus"),
        "m4a": ("-c:a", "aac"),
        "aiff": ("-write_id3v2", "1"),
    }[name]
    return ffmpeg_made(voice(9600, 48000), f".{name}", folder, "-metadata", "title=VENDOR-MARK", *arguments)


@pytest.mark.parametrize("name", ["wav", "rf64.wav", "mp3", "flac", "ogg", "opus", "m4a", "aiff"])
def test_tags_go_and_the_sound_stays(tmp_path: Path, name: str) -> None:
    """Stripped of its tags a file decodes to the same samples, and stripping it again changes nothing."""
    data = tagged(name, tmp_path)
    bare = audio.strip_tags(data, name)
    assert b"VENDOR-MARK" in data
    assert facts(data).tags
    assert b"VENDOR-MARK" not in bare
    assert facts(bare).tags == ()
    assert np.array_equal(decoded(bare).samples, decoded(data).samples)
    assert audio.strip_tags(bare, name) == bare


def test_a_container_that_cannot_be_stripped_is_refused(tmp_path: Path) -> None:
    """Tags that only a new encoding would remove are not silently delivered."""
    with pytest.raises(AudioError, match="deliver it as WAV or FLAC"):
        audio.strip_tags(ffmpeg_made(voice(9600, 48000), ".webm", tmp_path), "clip.webm")


def test_suffixes_follow_the_content(tmp_path: Path) -> None:
    """The suffix of a delivered file is that of what it is."""
    clip = voice(4800, 48000)
    made = {
        ".flac": encoding.encode_flac(clip, 16),
        ".wav": encoding.encode_wav(clip, 16),
        ".mp3": encoding.encode_mp3(clip, 128),
        ".opus": encoding.encode_opus(clip, 0.5),
        ".ogg": encoding.encode_vorbis(clip, 0.5),
        ".m4a": tagged("m4a", tmp_path),
    }
    assert {suffix: audio.suffix_of(facts(data, "clip.xyz")) for suffix, data in made.items()} == {s: s for s in made}


def test_importing_loads_no_sound_library() -> None:
    """`prep --help` does not pay for libraries it does not use."""
    heavy = {"soundfile", "soxr", "pydub", "mutagen", "imageio_ffmpeg", "scipy"}
    script = "import sys, prep.audio, prep.encoding; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT)
    assert not heavy & set(done.stdout.split())


# The made cases -----------------------------------------------------------------------------------


def test_made_cases_decode_to_what_is_right(cases: tuple[Path, dict[str, dict[str, object]]]) -> None:
    """H01, H02, H03, H05, H06, H48, H49: true frames, rates and peaks, whatever name and header say."""
    folder, expected = cases
    for name in ("stream_7ffff000", "stream_ffffffff", "stream_zero"):
        assert decoded((folder / "H01" / f"{name}.wav").read_bytes()).frames == 28800
    for name in ("H02/really_mp3.wav", "H02/really_wav.mp3", "H03/art_and_tail.mp3"):
        clip = decoded((folder / name).read_bytes(), name)
        assert abs(clip.frames - 1.5 * clip.rate) <= MP3_FRAMES * 1152
    over = decoded((folder / "H05" / "over.wav").read_bytes())
    assert np.abs(over.samples).max() == pytest.approx(expected["H05"]["values"]["peak"])  # type: ignore[index]
    assert facts((folder / "H05" / "quiet24.wav").read_bytes()).bit_depth == 24
    assert decoded((folder / "H06" / "with_15k.wav").read_bytes()).rate == 48000
    for path in [*folder.glob("H48/*/*"), *folder.glob("H49/*.wav")]:
        assert audio.probe(path).claimed_seconds == pytest.approx(0.8)


def test_made_cases_that_cannot_be_right_fail_by_name(cases: tuple[Path, dict[str, dict[str, object]]]) -> None:
    """H04, H14, H37: each broken file is refused, each good one beside it is read."""
    folder, expected = cases
    values = expected["H37"]["values"]
    bad = [*(f"H04/{name}" for name in expected["H04"]["values"]["failed"]), "H14/spike.wav"]  # type: ignore[index]
    bad += [f"H37/{name}" for name in values["bad"] if name != "bomb_size.wav"]  # type: ignore[index]
    for name in bad:
        with pytest.raises(AudioError, match=Path(name).name):
            audio.decode((folder / name).read_bytes(), name)
    assert decoded((folder / "H37" / "bomb_size.wav").read_bytes()).frames == values["present_frames"]  # type: ignore[index]
    assert all(audio.probe(path).rate == 24000 for path in folder.glob("H37/ok*.wav"))


def test_made_cases_resample_without_images_and_with_exact_lengths(
    cases: tuple[Path, dict[str, dict[str, object]]],
) -> None:
    """H06, H09, H10: the tone stays, the length is exact, nothing appears above the old Nyquist."""
    folder, expected = cases
    source = decoded((folder / "H06" / "with_15k.wav").read_bytes())
    assert abs(tone_db(audio.resample(source, 44100), 15000) - tone_db(source, 15000)) < TONE_DB
    for name, frames in expected["H09"]["values"]["frames_at_44100"].items():  # type: ignore[index]
        assert audio.resample(decoded((folder / "H09" / name).read_bytes()), 44100).frames == frames
    clip = audio.resample(decoded((folder / "H10" / "telephone_8k.wav").read_bytes()), 44100)
    power = np.abs(np.fft.rfft(clip.samples[:, 0] * np.hanning(clip.frames))) ** 2
    hertz = np.fft.rfftfreq(clip.frames, 1 / clip.rate)
    image, band = (power[(hertz >= low) & (hertz <= high)].sum() for low, high in ((4600, 20000), (300, 3400)))
    assert 10 * np.log10(image / band) < IMAGE_DB


def test_made_cases_encode_as_configured(cases: tuple[Path, dict[str, dict[str, object]]]) -> None:
    """H29, H30, H32: pips stay where they are, the band is kept, the low-pass is known, the bytes repeat."""
    folder, expected = cases
    pips = decoded((folder / "H29" / "pips.wav").read_bytes())
    data = encoding.encode_mp3(pips, 128)
    back = decoded(data)
    stream = mpeg.mp3_stream(data)
    assert stream is not None
    assert stream.tag.delay > 0
    assert back.frames == pips.frames
    for start in expected["H29"]["values"]["pip_starts"]:  # type: ignore[index]
        cut = slice(start - 400, start + 1600)
        assert abs(lag(pips.with_samples(pips.samples[cut]), back.with_samples(back.samples[cut]))) <= 2
    tones = decoded((folder / "H30" / "tones.wav").read_bytes())
    data = encoding.encode_mp3(tones, 64)
    for hertz in (1000, 4000, 7000, 9000):
        assert abs(tone_db(decoded(data), hertz) - tone_db(tones, hertz)) < LOWPASS_DB
    stream = mpeg.mp3_stream(data)
    assert stream is not None
    assert stream.tag.lowpass_hz == 12000
    any_clip = decoded((folder / "H32" / "any.wav").read_bytes())
    assert (
        hashlib.sha256(encoding.encode_mp3(any_clip, 128)).digest()
        == hashlib.sha256(
            encoding.encode_mp3(decoded((folder / "H32" / "any.wav").read_bytes(), "other"), 128)
        ).digest()
    )


def test_made_cases_lose_their_tags(cases: tuple[Path, dict[str, dict[str, object]]]) -> None:
    """H54: the mark of the vendor is gone from the bytes."""
    folder, _ = cases
    for name in ("tagged.wav", "tagged.mp3"):
        data = (folder / "H54" / name).read_bytes()
        assert b"VENDOR-MARK" in data
        assert b"VENDOR-MARK" not in audio.strip_tags(data, name)


@pytest.mark.skipif(not SPEECH.is_dir(), reason="the speech beside the project is not here")
@pytest.mark.parametrize("folder", ["asterisk_en", "cmu_arctic", "lhotse", "ljspeech", "pocketsphinx"])
def test_real_speech_goes_through_flac_unchanged(folder: str) -> None:
    """A recording nothing was done to is delivered bit by bit."""
    path = min((SPEECH / folder).glob("*.wav"))
    clip, found = audio.decode(path.read_bytes(), path.name)
    with wave.open(str(path)) as source:
        assert (clip.rate, clip.frames) == (source.getframerate(), source.getnframes())
    assert np.array_equal(decoded(encoding.encode_flac(clip, found.bit_depth or 16)).samples, clip.samples)
