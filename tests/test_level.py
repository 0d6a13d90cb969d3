"""Specification of prep.level: loudness, peaks and gain of a clip."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from pyebur128 import MeasurementMode, R128State, get_loudness_global, get_true_peak

from prep import level
from prep.clip import Clip
from prep.errors import ClipError

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"

EBU_TOLERANCE_LU = 0.1  # EBU Tech 3341, table 1
EBU_PEAK_OVER_DB, EBU_PEAK_UNDER_DB = 0.2, 0.4  # EBU Tech 3341, table 1, true peak
METER_TOLERANCE_LU = 0.1  # what two meters of the standard may differ by
COEFFICIENT_TOLERANCE = 1e-11  # the tables of the standard print 14 decimals
RATE_TOLERANCE_LU = 0.001  # one sound at two rates: the pass band of the resampler is flat to less
ROUNDING_DB = 1e-5  # float32 samples
GATE_EDGE_DB = 1e-6  # gain found in rounds, against the target

RATES_HZ = (8000, 11025, 16000, 22050, 24000, 44100, 48000, 96000, 192000)


def sine(
    peak_dbfs: float, seconds: float, *, frequency_hz: float = 1000.0, rate: int = 48000, phase_degrees: float = 0.0
) -> np.ndarray:
    """Return a sine (frames,) whose peak has a level in dBFS."""
    angle = 2 * np.pi * frequency_hz * np.arange(round(seconds * rate)) / rate + math.radians(phase_degrees)
    return 10 ** (peak_dbfs / 20) * np.sin(angle)


def clip_of(*channels: np.ndarray, rate: int = 48000) -> Clip:
    """Return a clip of channels (frames,)."""
    return Clip(np.stack(channels, axis=1).astype(np.float32), rate)


def tone(seconds: float, rate: int = 48000, peak_dbfs: float = -20.0) -> Clip:
    """Return a mono 1 kHz sine whose length is cut down to whole frames."""
    frames = math.floor(seconds * rate + 1e-9)
    return clip_of(sine(peak_dbfs, frames / rate, rate=rate), rate=rate)


def test_k_weighting_has_the_coefficients_of_the_standard() -> None:
    """The K-weighting filters are those of BS.1770-5, Annex 1, Tables 1 and 2."""
    shelf = [1.53512485958697, -2.69169618940638, 1.19839281085285, 1.0, -1.69065929318241, 0.73248077421585]
    high_pass = [1.0, -2.0, 1.0, 1.0, -1.99004745483398, 0.99007225036621]
    np.testing.assert_allclose(level._k_weighting(), [shelf, high_pass], rtol=0, atol=COEFFICIENT_TOLERANCE)


@pytest.mark.parametrize(
    ("segments", "expected_lufs"),
    [
        ([(-23.0, 20.0)], -23.0),
        ([(-33.0, 20.0)], -33.0),
        ([(-36.0, 10.0), (-23.0, 60.0), (-36.0, 10.0)], -23.0),
        ([(-72.0, 10.0), (-36.0, 10.0), (-23.0, 60.0), (-36.0, 10.0), (-72.0, 10.0)], -23.0),
        ([(-26.0, 20.0), (-20.0, 20.1), (-26.0, 20.0)], -23.0),
    ],
    ids=["case 1", "case 2", "case 3", "case 4", "case 5"],
)
def test_ebu_stereo_cases(segments: list[tuple[float, float]], expected_lufs: float) -> None:
    """Integrated loudness of the stereo sines of EBU Tech 3341, cases 1 to 5, is right to 0.1 LU."""
    channel = np.concatenate([sine(peak_dbfs, seconds) for peak_dbfs, seconds in segments])
    assert level.integrated_lufs(clip_of(channel, channel)) == pytest.approx(expected_lufs, abs=EBU_TOLERANCE_LU)


def test_ebu_surround_case() -> None:
    """Integrated loudness of the 5.0 sines of EBU Tech 3341, case 6, is right to 0.1 LU."""
    clip = clip_of(*(sine(peak_dbfs, 20.0) for peak_dbfs in (-28.0, -28.0, -24.0, -30.0, -30.0)))
    assert level.integrated_lufs(clip) == pytest.approx(-23.0, abs=EBU_TOLERANCE_LU)


def test_lfe_is_left_out() -> None:
    """The LFE channel of a 5.1 clip does not change its loudness."""
    channels = [sine(peak_dbfs, 2.0) for peak_dbfs in (-28.0, -28.0, -24.0, -30.0, -30.0)]
    with_lfe = [*channels[:3], sine(-3.0, 2.0), *channels[3:]]
    assert level.integrated_lufs(clip_of(*with_lfe)) == pytest.approx(
        level.integrated_lufs(clip_of(*channels)), abs=ROUNDING_DB
    )


def test_more_channels_than_the_standard_has() -> None:
    """A clip of more than six channels is refused, for its weights are unknown."""
    with pytest.raises(ClipError, match="7 channels"):
        level.integrated_lufs(clip_of(*[sine(-20.0, 1.0)] * 7))


@pytest.mark.parametrize("rate", RATES_HZ)
def test_loudness_begins_at_400_ms(rate: int) -> None:
    """Below 0.4 s a clip has no integrated loudness, and from 0.4 s on it has one, at any rate."""
    assert level.integrated_lufs(tone(0.28, rate)) is None
    assert level.integrated_lufs(tone(0.399, rate)) is None
    whole = tone(0.4, rate)
    assert level.integrated_lufs(whole) is not None
    assert level.integrated_lufs(whole.with_samples(whole.samples[:-1])) is None
    assert level.integrated_lufs(tone(0.401, rate)) is not None


def test_blocks_are_whole_and_overlap_by_three_quarters() -> None:
    """One second holds the seven whole 400 ms blocks that begin every 100 ms, and so does 1.099 s."""
    assert level.block_powers(tone(1.0)).shape == (7,)
    assert level.block_powers(tone(1.099)).shape == (7,)


@pytest.mark.parametrize("rate", RATES_HZ)
def test_loudness_does_not_depend_on_the_rate(rate: int) -> None:
    """One sound has one loudness, whatever the rate it is stored at."""
    at_48k = level.integrated_lufs(clip_of(sine(-20.0, 3.0, frequency_hz=3000.0)))
    stored = clip_of(sine(-20.0, 3.0, frequency_hz=3000.0, rate=rate), rate=rate)
    assert level.integrated_lufs(stored) == pytest.approx(at_48k, abs=RATE_TOLERANCE_LU)


def test_silence_has_no_level() -> None:
    """Digital silence and a clip of no samples have no loudness, no RMS and no peak, and no minus infinity."""
    for silent in (Clip(np.zeros((48000, 1), np.float32), 48000), Clip(np.zeros((0, 1), np.float32), 48000)):
        measures = (level.integrated_lufs, level.rms_dbfs, level.sample_peak_dbfs, level.true_peak_dbtp)
        assert [measure(silent) for measure in measures] == [None] * 4


def test_dither_alone_is_silent() -> None:
    """A clip of 1-LSB dither lies under the absolute gate, and has an RMS but no loudness."""
    dither = np.random.default_rng(1).integers(-1, 2, 48000) / 32768
    assert level.integrated_lufs(clip_of(dither)) is None
    assert level.rms_dbfs(clip_of(dither)) == pytest.approx(20 * math.log10(math.sqrt(2 / 3) / 32768), abs=0.1)


def test_long_silence_after_speech_is_gated() -> None:
    """A minute of digital silence after a sound moves its loudness by no more than its last blocks do."""
    sound = sine(-20.0, 10.0)
    padded = np.concatenate([sound, np.zeros(60 * 48000)])
    # Of 100 blocks, three straddle the end and are kept with a quarter to three quarters of the power.
    assert level.integrated_lufs(clip_of(padded)) == pytest.approx(level.integrated_lufs(clip_of(sound)), abs=0.1)


def test_loudness_above_full_scale() -> None:
    """A full-scale square wave in stereo has a loudness above 0 LUFS, and it is told."""
    square = np.sign(sine(0.0, 2.0, frequency_hz=997.0, phase_degrees=0.1))
    loudness = level.integrated_lufs(clip_of(square, square))
    assert loudness is not None
    assert 0.0 < loudness < 10.0


def test_dual_mono_is_3_db_louder_than_mono() -> None:
    """Two equal channels read 3.01 LU more than one, and their mean reads as much as one."""
    voice = sine(-20.0, 2.0, frequency_hz=500.0)
    mono, dual = clip_of(voice), clip_of(voice, voice)
    assert level.integrated_lufs(dual) == pytest.approx(level.integrated_lufs(mono) + 3.0103, abs=ROUNDING_DB)
    assert level.integrated_lufs(clip_of(dual.mono())) == pytest.approx(level.integrated_lufs(mono), abs=ROUNDING_DB)


def test_gates() -> None:
    """Blocks at or under -70 LUFS, and then those 10 LU or more under the mean of the rest, are left out."""
    power = {lufs: 10 ** ((lufs + 0.691) / 10) for lufs in (-20.0, -32.5, -33.0, -69.9, -70.1)}
    # Two blocks of -20 and about -33 LUFS have a mean of -22.8: the relative gate is at -32.8 LUFS.
    assert level.gated_lufs(np.array([power[-20.0], power[-33.0], power[-70.1]])) == pytest.approx(-20.0)
    both = 10 * math.log10((10**-2.0 + 10**-3.25) / 2)
    assert level.gated_lufs(np.array([power[-20.0], power[-32.5], power[-70.1]])) == pytest.approx(both)
    assert level.gated_lufs(np.array([power[-69.9]])) == pytest.approx(-69.9)
    assert level.gated_lufs(np.array([power[-70.1]])) is None
    assert level.gated_lufs(np.empty(0)) is None


def test_set_loudness_pools_the_blocks_of_the_clips() -> None:
    """A set's loudness gates the clips' own blocks together, and none lies across two clips."""
    clips = [tone(2.0, peak_dbfs=-20.0), tone(0.95, peak_dbfs=-26.0), tone(3.0, peak_dbfs=-50.0)]
    powers = [level.pooling_powers(clip) for clip in clips]
    loud, soft = powers[0], powers[1]
    assert len(loud) + len(soft) == 17 + 6
    mean_power = (loud.sum() + soft.sum()) / (len(loud) + len(soft))
    assert level.set_loudness(powers) == pytest.approx(-0.691 + 10 * math.log10(mean_power))
    assert level.set_loudness([]) is None


def test_set_loudness_is_blind_to_order() -> None:
    """A set's loudness is the very same number for the clips in any order, to the last digit."""
    generator = np.random.default_rng(5)
    powers = [generator.uniform(0.001, 0.01, 7) for _ in range(40)]
    orders = [generator.permutation(len(powers)) for _ in range(20)]
    assert len({level.set_loudness([powers[index] for index in order]) for order in orders}) == 1


def test_a_short_clip_brings_one_shortened_block() -> None:
    """A clip under 0.4 s brings one block into its set: its own mean power."""
    short = tone(0.2, peak_dbfs=-20.0)
    assert level.block_powers(short).shape == (0,)
    assert level.pooling_powers(short).shape == (1,)
    # A 1 kHz sine of -20 dBFS has -23.01 LUFS; its onset through the filters costs a little.
    assert level.set_loudness([level.pooling_powers(short)]) == pytest.approx(-23.0, abs=EBU_TOLERANCE_LU)
    assert level.pooling_powers(Clip(np.zeros((0, 1), np.float32), 48000)).shape == (0,)


def test_gain_to_counts_blocks_that_pass_the_absolute_gate() -> None:
    """The gain to a target is right also where it lifts blocks over the absolute gate."""
    # Raised by 30 dB, the twelve faint blocks pass the absolute gate, draw the relative one down and let
    # the four middle ones in.
    powers = [10 ** ((np.array([-60.0] * 4 + [-69.0] * 4 + [-75.0] * 12) + 0.691) / 10)]
    gain_db = level.gain_to(-30.0, powers)
    assert gain_db is not None
    assert abs(-30.0 - level.set_loudness(powers) - gain_db) > 0.5  # the case is one that one round misses
    assert level.set_loudness(level.amplified(powers, gain_db)) == pytest.approx(-30.0, abs=GATE_EDGE_DB)
    assert level.gain_to(-30.0, [np.zeros(5)]) is None


@pytest.mark.parametrize("rate", [44100, 48000])
@pytest.mark.parametrize(
    ("divisor", "phase_degrees", "peak", "expected_dbtp"),
    [
        (4, 0.0, 0.50, -6.0),
        (4, 45.0, 0.50, -6.0),
        (6, 60.0, 0.50, -6.0),
        (8, 67.5, 0.50, -6.0),
        (4, 45.0, 1.41, 3.0),
    ],
    ids=["case 15", "case 16", "case 17", "case 18", "case 19"],
)
def test_ebu_true_peak_cases(divisor: int, phase_degrees: float, peak: float, expected_dbtp: float, rate: int) -> None:
    """True peak of the sines of EBU Tech 3341, cases 15 to 19, is right to +0.2/-0.4 dB."""
    wave = sine(20 * math.log10(peak), 1.0, frequency_hz=rate / divisor, rate=rate, phase_degrees=phase_degrees)
    # The signals begin and end softly, as a band-limited signal must.
    fade = np.minimum(1.0, np.minimum(np.arange(len(wave)), np.arange(len(wave))[::-1]) / (0.01 * rate))
    measured = level.true_peak_dbtp(clip_of(wave * fade, rate=rate))
    assert expected_dbtp - EBU_PEAK_UNDER_DB <= measured <= expected_dbtp + EBU_PEAK_OVER_DB


@pytest.mark.parametrize("rate", RATES_HZ)
@pytest.mark.parametrize("offset_samples", [0.0, 0.125, 0.25, 0.5, 0.7])
def test_true_peak_between_samples(rate: int, offset_samples: float) -> None:
    """The full-scale peak of one burst is found wherever it lies between two samples."""
    time = np.arange(-400, 401) - offset_samples
    burst = np.exp(-((time / 40.0) ** 2)) * np.cos(2 * np.pi * time / 3.0)
    measured = level.true_peak_dbtp(clip_of(np.zeros_like(burst), burst, rate=rate))
    assert -EBU_PEAK_UNDER_DB <= measured <= EBU_PEAK_OVER_DB


def test_true_peak_is_never_under_the_sample_peak() -> None:
    """A click whose top lies at the Nyquist frequency has a true peak of at least its sample peak."""
    click = np.zeros(2000)
    click[1000:1002] = 0.5, -0.5
    clip = clip_of(click)
    assert level.true_peak_dbtp(clip) >= level.sample_peak_dbfs(clip)
    assert level.sample_peak_dbfs(clip) == pytest.approx(-6.0206, abs=ROUNDING_DB * 10)


def test_rms_of_a_sine() -> None:
    """RMS is taken against a sample of 1.0, so that a full-scale sine has -3.01 dBFS, in one channel or two."""
    wave = sine(0.0, 1.0)
    assert level.rms_dbfs(clip_of(wave)) == pytest.approx(-3.0103, abs=ROUNDING_DB * 10)
    assert level.rms_dbfs(clip_of(wave, wave)) == pytest.approx(-3.0103, abs=ROUNDING_DB * 10)


def test_gain_is_one_multiplication() -> None:
    """A gain multiplies every sample by one factor and changes nothing else."""
    clip = tone(0.5)
    louder = level.gain(clip, -6.5)
    np.testing.assert_array_equal(louder.samples, clip.samples * np.float32(10 ** (-6.5 / 20)))
    assert (louder.rate, louder.id, louder.samples.dtype) == (clip.rate, clip.id, np.float32)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_sample_that_is_no_number_is_named(bad: float) -> None:
    """A clip with a NaN or infinite sample is refused by every measure, naming the first such frame."""
    samples = np.zeros((30000, 2), np.float32)
    samples[123, 1] = bad
    for measure in (level.integrated_lufs, level.rms_dbfs, level.sample_peak_dbfs, level.true_peak_dbtp):
        with pytest.raises(ClipError, match="frame 123"):
            measure(Clip(samples, 48000))


def test_real_clips_against_libebur128() -> None:
    """On every real clip loudness and true peak agree with libebur128, which is given the sound at 48 kHz."""
    data = SHARED / "data"
    files = sorted(
        path
        for folder in ("human_vs_tts", "speech_real")
        for path in (data / folder).rglob("*")
        if path.suffix in {".wav", ".mp3"}
    )
    if not files:
        pytest.skip("the folder shared/data is not here")
    apart = []
    for path in files:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        at_48k = soxr.resample(samples, rate, 48000)
        meter = R128State(at_48k.shape[1], 48000, MeasurementMode.MODE_I | MeasurementMode.MODE_TRUE_PEAK)
        meter.add_frames(np.ascontiguousarray(at_48k).ravel(), len(at_48k))
        clip = Clip(samples, rate)
        over_lu = level.integrated_lufs(clip) - get_loudness_global(meter)
        peak = max(get_true_peak(meter, channel) for channel in range(clip.channels))
        over_db = level.true_peak_dbtp(clip) - 20 * math.log10(peak)
        if abs(over_lu) > METER_TOLERANCE_LU or not -EBU_PEAK_UNDER_DB <= over_db <= EBU_PEAK_OVER_DB:
            apart.append((path.name, over_lu, over_db))
    assert not apart
