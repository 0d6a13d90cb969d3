"""HEAD"""


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


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", [*LOSSLESS, *LOSSY])
def test_a_written_clip_comes_back_with_its_length_and_no_lag(name: str, rate: int, channels: int) -> None:
    """Every encoder keeps rate, channels and frames exactly, and delays nothing."""
    if name == "opus" and rate not in encoding.OPUS_RATES:
        pytest.skip("Opus has no such rate")
    clip = voice(14001, rate, channels)
    data = {**LOSSLESS, **LOSSY}[name](clip)
    back = decoded(data)
    assert (back.rate, back.channels, back.frames) == (rate, channels, clip.frames)
    assert abs(lag(clip, back)) <= (LOSSY_LAG if name in LOSSY else 0)
    assert facts(data).warnings == ()
    assert data == {**LOSSLESS, **LOSSY}[name](clip)


@pytest.mark.parametrize("frames", [1, 2, 30, 1151])
@pytest.mark.parametrize("name", [*LOSSLESS, *LOSSY])
def test_the_shortest_clips_keep_their_length(name: str, frames: int) -> None:
    """A clip shorter than a codec's frame comes back with its own length."""
    clip = voice(1152, 48000)
    clip = clip.with_samples(clip.samples[:frames])
    assert decoded({**LOSSLESS, **LOSSY}[name](clip)).frames == frames


def test_the_same_clip_gives_the_same_bytes_at_another_time_in_another_process() -> None:
    """Bytes do not depend on the process, the hash seed or the time of day."""
    script = """
import hashlib, numpy as np
from prep import audio
from prep.clip import Clip
clip = Clip((np.random.default_rng(1).standard_normal((9000, 2)) * 0.1).astype("float32"), 48000)
for data in (encoding.encode_flac(clip, 16), encoding.encode_wav(clip, 24), encoding.encode_wav(clip, 32),
             encoding.encode_mp3(clip, 128), encoding.encode_opus(clip, 0.5), encoding.encode_vorbis(clip, 0.5)):
    print(hashlib.sha256(data).hexdigest())
"""
    outputs = []
    for seed, wait_seconds in (("1", 0), ("2", 1.05)):  # a second: the resolution of libsndfile's time stamps
        time.sleep(wait_seconds)
        done = subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, cwd=ROOT, env={"PYTHONHASHSEED": seed}
        )
        outputs.append(done.stdout.split())
    assert outputs[0] == outputs[1]
    assert len(set(outputs[0])) == 6


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
    assert abs(tone_db(found, 1000) - tone_db(clip, 1000)) < 0.5


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
        (lambda: audio.resample(voice(1, 48000), 8000), "no frame"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(encode: object, reason: str) -> None:
    """What cannot be written is refused with what can."""
    with pytest.raises(ClipError, match=reason):
        encode()  # type: ignore[operator]


def test_a_float_wav_holds_no_time_of_day() -> None:
    """A written WAV has no chunk but format, length and samples."""
    for bit_depth in (16, 24, 32):
        assert facts(encoding.encode_wav(voice(100, 16000), bit_depth)).tags == ()


