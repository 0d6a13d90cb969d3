"""What prep.encoding promises of the files it writes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep import audio, encoding, mpeg
from prep.clip import Clip
from prep.errors import ClipError

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]

RATES = (8000, 16000, 22050, 24000, 44100, 48000)
LOSSY_LAG = 1  # frames; the peak of a lossy codec's cross-correlation is broad at 24 kHz
TONE_DB = 0.5  # a tone under one step, against dither: its level has a standard error of 0.1 dB
STAMP_SECONDS = 1.05  # libsndfile's time stamps count seconds

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


def decoded(data: bytes) -> Clip:
    """Return the sound of a file."""
    return audio.decode(data, "clip")[0]


def amplitude(clip: Clip, hertz: float) -> float:
    """Return the amplitude of a tone."""
    turns = np.exp(-2j * np.pi * hertz / clip.rate * np.arange(clip.frames))
    return float(2 * abs(np.mean(clip.samples[:, 0] * turns)))


LOSSLESS = {
    "flac 16": lambda clip: encoding.encode_flac(clip, 16),
    "flac 24": lambda clip: encoding.encode_flac(clip, 24),
    "wav 16": lambda clip: encoding.encode_wav(clip, 16),
    "wav 24": lambda clip: encoding.encode_wav(clip, 24),
    "wav 32": lambda clip: encoding.encode_wav(clip, 32),
}
LOSSY = {
    "mp3": lambda clip: encoding.encode_mp3(clip, 64),
    "opus": lambda clip: encoding.encode_opus(clip, 0.4),
    "vorbis": lambda clip: encoding.encode_vorbis(clip, 0.6),
}
ENCODERS: dict[str, Callable[[Clip], bytes]] = {**LOSSLESS, **LOSSY}


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", ENCODERS)
def test_a_written_clip_comes_back_with_its_length_and_no_lag(name: str, rate: int, channels: int) -> None:
    """Every encoder keeps rate, channels and frames exactly, and delays nothing."""
    if name == "opus" and rate not in encoding.OPUS_RATES:
        pytest.skip("Opus has no such rate")
    clip = voice(14001, rate, channels)
    data = ENCODERS[name](clip)
    back, facts = audio.decode(data, "clip")
    assert (back.rate, back.channels, back.frames) == (rate, channels, clip.frames)
    assert abs(lag(clip, back)) <= (LOSSY_LAG if name in LOSSY else 0)
    assert facts.warnings == ()
    assert data == ENCODERS[name](clip)


@pytest.mark.parametrize("frames", [1, 2, 30, 1151])
@pytest.mark.parametrize("name", ENCODERS)
def test_the_shortest_clips_keep_their_length(name: str, frames: int) -> None:
    """A clip shorter than a codec's frame comes back with its own length."""
    clip = voice(1152, 48000)
    clip = clip.with_samples(clip.samples[:frames])
    assert decoded(ENCODERS[name](clip)).frames == frames


def written_hashes() -> list[str]:
    """Return the hash of one clip's bytes by each encoder; another process runs this, too."""
    clip = Clip((rng(1).standard_normal((9000, 2)) * 0.1).astype(np.float32), 48000)
    return [hashlib.sha256(encode(clip)).hexdigest() for encode in ENCODERS.values()]


def test_the_same_clip_gives_the_same_bytes_at_another_time_in_another_process() -> None:
    """Bytes do not depend on the process, the hash seed or the time of day."""
    hashes = written_hashes()
    later = time.time() + STAMP_SECONDS
    script = (
        f"import runpy, time; here = runpy.run_path({__file__!r}); "
        f"time.sleep(max(0, {later} - time.time())); print(*here['written_hashes']())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONHASHSEED": "2"},
    )
    assert done.stdout.split() == hashes
    assert len(set(hashes)) == len(ENCODERS)


def test_dither_is_triangular_and_within_two_steps() -> None:
    """16-bit dither: the error has the variance of rounding and two uniform dithers, a quarter step squared in all."""
    clip = voice(60000, 44100)
    error = (decoded(encoding.encode_flac(clip, 16)).samples.astype(np.float64) - clip.samples) * 32768
    expected = 1 / 12 + 2 / 12  # steps squared
    standard_error = 0.01  # of the variance of 60000 errors with that kurtosis, four times over
    assert np.abs(error).max() <= 1.5
    assert abs(error.var() - expected) < standard_error
    assert abs(error.mean()) < standard_error


def test_dither_frees_the_error_of_the_signal() -> None:
    """A tone under one step of 16 bits is still there after dither; truncation would erase it."""
    time_ = np.arange(60000) / 44100
    clip = Clip((0.4 / 32768 * np.sin(2 * np.pi * 1000 * time_)).astype(np.float32)[:, None], 44100)
    found = decoded(encoding.encode_flac(clip, 16))
    assert abs(20 * np.log10(amplitude(found, 1000) / amplitude(clip, 1000))) < TONE_DB


@pytest.mark.parametrize("bit_depth", [16, 24])
def test_samples_on_the_grid_are_written_as_they_are(bit_depth: int) -> None:
    """Digital silence stays exact, and an untouched integer recording is copied bit by bit."""
    silence = Clip(np.zeros((500, 2), np.float32), 16000)
    whole = Clip((rng(2).integers(-32768, 32768, (500, 2)) / 32768).astype(np.float32), 16000)
    for clip in (silence, whole):
        for encode in (encoding.encode_flac, encoding.encode_wav):
            assert np.array_equal(decoded(encode(clip, bit_depth)).samples, clip.samples)


@pytest.mark.parametrize("bit_depth", [16, 24])
def test_a_sample_beyond_full_scale_stops_the_encoder(bit_depth: int) -> None:
    """Integers never wrap: full scale itself goes to the rail, a little more is refused by name."""
    for value in (1.0, -1.0):
        samples = voice(100, 16000).samples.copy()
        samples[40] = value
        rail = decoded(encoding.encode_flac(Clip(samples, 16000), bit_depth)).samples[40, 0]
        assert np.sign(rail) == np.sign(value)
        assert abs(rail) > 1 - 3 * 2.0 ** (1 - bit_depth)
        samples[40] = value * 1.001
        for encode in (encoding.encode_flac, encoding.encode_wav):
            with pytest.raises(ClipError, match="loud: sample 40 of channel 0"):
                encode(Clip(samples, 16000, "loud"), bit_depth)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ENCODERS)
def test_a_sample_that_is_no_number_stops_every_encoder(name: str, value: float) -> None:
    """NaN and infinity are refused with the first index and the count, before a codec sees them."""
    samples = voice(1200, 48000, 2).samples.copy()
    samples[[77, 90], 1] = value
    with pytest.raises(ClipError, match=r"lost: sample 77 of channel 1 is -?(nan|inf), .* 2 such in all"):
        ENCODERS[name](Clip(samples, 48000, "lost"))


def test_an_mp3_has_the_bitrate_asked_for_in_every_frame() -> None:
    """Each possible bitrate of each rate is written in every frame header, and nothing else."""
    for rate in (8000, 24000, 44100):
        for channels in (1, 2):
            possible = mpeg.mp3_bitrates(rate, channels)
            for kbps in (possible[0], possible[len(possible) // 2], possible[-1]):
                stream = mpeg.mp3_stream(encoding.encode_mp3(voice(6000, rate, channels), kbps))
                assert stream is not None
                assert (stream.kbps, stream.rate, stream.channels) == ((kbps,), rate, channels)


@pytest.mark.parametrize(("rate", "kbps"), [(44100, 100), (44100, 32), (24000, 320), (8000, 128)])
def test_an_impossible_bitrate_is_refused_with_the_possible_ones(rate: int, kbps: int) -> None:
    """A bitrate that MP3 has not, or that leaves no room for the Info tag, is refused with a list."""
    with pytest.raises(ClipError, match=r"possible are .*64") as caught:
        encoding.encode_mp3(voice(2000, rate), kbps)
    assert str(mpeg.mp3_bitrates(rate, 1)[-1]) in str(caught.value)


@pytest.mark.parametrize(
    ("encode", "reason"),
    [
        (lambda: encoding.encode_mp3(voice(2000, 96000), 128), "1 or 2 channels at 8000"),
        (lambda: encoding.encode_mp3(voice(2000, 44100, 3), 128), "no 3 channels"),
        (lambda: encoding.encode_flac(voice(2000, 44100), 32), "16 or 24"),
        (lambda: encoding.encode_flac(voice(2000, 44100, 9), 16), "cannot be written as FLAC"),
        (lambda: encoding.encode_wav(voice(2000, 44100), 8), "16, 24 or 32"),
        (lambda: encoding.encode_opus(voice(2000, 44100), 0.5), "48000 Hz, not 44100"),
        (lambda: encoding.encode_vorbis(voice(2000, 44100), 1.5), "from 0 to 1"),
        (lambda: encoding.encode_wav(Clip(np.zeros((0, 1), np.float32), 8000), 16), "no samples"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(encode: object, reason: str) -> None:
    """What cannot be written is refused with what can."""
    with pytest.raises(ClipError, match=reason):
        encode()  # type: ignore[operator]


def test_a_float_wav_holds_no_time_of_day() -> None:
    """A written WAV has no chunk but format, length and samples."""
    for bit_depth in (16, 24, 32):
        assert audio.decode(encoding.encode_wav(voice(100, 16000), bit_depth), "clip")[1].tags == ()
