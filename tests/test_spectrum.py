"""The spectrum, its tilt, and the filters that change it."""

from __future__ import annotations

import csv
import math
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.clip import Clip
from prep.errors import ClipError
from prep.spectrum import (
    TILT_BAND_HZ,
    checked_tilt_band,
    filter_zero_phase,
    fir_from_gain,
    ltas,
    third_octave_centres,
    third_octave_levels,
    tilt_db_per_octave,
    tilt_fir,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"

NOISE_TOLERANCE = 0.1  # dB/octave: ten seconds of noise have this much chance in their lowest bands
GAIN_TOLERANCE = 0.02  # dB/octave: the design's tolerance of a clip's tilt
DENSITY_TOLERANCE_DB = 0.1  # dB: the same chance, averaged over every band
FIR_TOLERANCE_DB = 0.01  # dB inside 100 Hz to 7 kHz: a hundredth of what a tilt may be off
CLAMP_TOLERANCE_DB = 0.25  # dB: a 128 ms filter rounds the corner at 50 Hz
SLOPE_MEDIAN, SLOPE_WORST = 0.05, 0.2  # dB/octave: the design's tolerance of the tilt EQ on speech
PUBLISHED_AUC = {"chains.csv": 0.348, "detection.csv": 0.506}
PUBLISHED_SHIFT = {"chains.csv": -0.733, "detection.csv": 0.017}  # dB/octave
PUBLISHED_TOLERANCE = 0.0006  # the published figures have three decimals
SAME_SAMPLES = 1e-6  # full scale: float32 rounding
MEMORY_LIMIT_BYTES = 60e6  # two and a half copies of the signal; all frames at once would take four

WHITE, PINK, BROWN = 0.0, -10 * math.log10(2), -20 * math.log10(2)  # dB/octave


def straight_line_noise(slope: float, rate: int, seconds: float = 10, seed: int = 1) -> NDArray[np.float64]:
    """Return noise whose magnitude spectrum is exactly one line in dB/octave, RMS 0.1."""
    frames = round(seconds * rate)
    frequencies = np.fft.rfftfreq(frames, 1 / rate)
    frequencies[0] = frequencies[1]
    phase = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(frequencies))
    noise = np.fft.irfft((frequencies / 1000) ** (slope / (20 * math.log10(2))) * np.exp(1j * phase), frames)
    return 0.1 * noise / np.sqrt(np.mean(noise**2))


def clip_of(signal: NDArray[np.float64], rate: int) -> Clip:
    """Return a mono clip."""
    return Clip(signal[:, np.newaxis], rate)


def rows_of(table: str) -> list[dict[str, str]]:
    """Return the rows of a table of real clips, or skip."""
    if not (DATA / table).exists():
        pytest.skip("the real clips are not beside the project")
    with (DATA / table).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def real() -> dict[str, tuple[Clip, float]]:
    """Return each real clip with its tilt in dB/octave, by its file name."""
    soundfile = pytest.importorskip("soundfile")
    names = {row["file_name"] for table in PUBLISHED_AUC for row in rows_of(table)}
    clips = {name: Clip(*soundfile.read(DATA / name, always_2d=True, dtype="float32")) for name in names}
    return {name: (clip, tilt_db_per_octave(clip)) for name, clip in clips.items()}


@pytest.mark.parametrize("rate", [16000, 22050, 48000])
@pytest.mark.parametrize("slope", [WHITE, PINK, BROWN])
def test_noise_has_its_own_slope(slope: float, rate: int) -> None:
    """Noise with a straight-line spectrum has the tilt of that line, at any rate."""
    assert tilt_db_per_octave(clip_of(straight_line_noise(slope, rate), rate)) == pytest.approx(
        slope, abs=NOISE_TOLERANCE
    )


@pytest.mark.parametrize("slope", [WHITE, PINK, BROWN])
def test_tilt_does_not_depend_on_gain(slope: float) -> None:
    """A copy 40 dB lower, or 20 dB higher, has the same tilt."""
    noise = straight_line_noise(slope, 22050)
    tilts = [tilt_db_per_octave(clip_of(noise * gain, 22050)) for gain in (1, 0.01, 10)]
    assert tilts[1:] == pytest.approx([tilts[0]] * 2, abs=GAIN_TOLERANCE)


def test_tilt_does_not_depend_on_pauses() -> None:
    """Pauses of digital silence or of quiet white noise leave the tilt as it was."""
    noise = straight_line_noise(PINK, 16000)
    pause = 1e-5 * np.random.default_rng(2).standard_normal(80000)
    tilt = tilt_db_per_octave(clip_of(noise, 16000))
    for silence in (np.zeros(80000), pause):
        assert tilt_db_per_octave(clip_of(np.r_[noise, silence], 16000)) == pytest.approx(tilt, abs=0.05)


def test_tilt_does_not_depend_on_dc() -> None:
    """A constant added to a clip leaves its tilt as it was."""
    noise = straight_line_noise(PINK, 16000)
    assert tilt_db_per_octave(clip_of(noise + 0.3, 16000)) == pytest.approx(
        tilt_db_per_octave(clip_of(noise, 16000)), abs=GAIN_TOLERANCE
    )


def test_ltas_is_a_power_density() -> None:
    """White noise of power 0.01 has the density 0.01 / (rate / 2) at every frequency."""
    noise = straight_line_noise(WHITE, 16000)
    frequencies, density = ltas(noise, 16000)
    assert frequencies[[0, -1]] == pytest.approx([0, 8000])
    inner = density[2:-2]
    assert 10 * np.log10(inner.mean() / (0.01 / 8000)) == pytest.approx(0, abs=DENSITY_TOLERANCE_DB)


def test_ltas_leaves_out_quiet_frames() -> None:
    """A frame more than 30 dB below the 95th percentile does not count, one less than 30 dB below does."""
    noise = straight_line_noise(WHITE, 16000)
    loud = ltas(noise, 16000)[1][5:-5].mean()
    for quieter_db, kept in ((29.0, True), (31.0, False)):
        both = np.r_[noise, noise * 10 ** (-quieter_db / 20)]
        change_db = 10 * np.log10(ltas(both, 16000)[1][5:-5].mean() / loud)
        assert bool(change_db < -2) is kept


def test_ltas_needs_little_memory() -> None:
    """The spectrum of a long clip takes a few copies of its samples, not one copy for each frame overlap."""
    signal = np.random.default_rng(0).standard_normal(3_000_000)
    tracemalloc.start()
    ltas(signal, 10000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MEMORY_LIMIT_BYTES


def test_third_octaves_lie_inside_the_band() -> None:
    """The bands of 200-7000 Hz are the fourteen from 250 to 5040 Hz, whose edges lie inside."""
    centres = third_octave_centres(TILT_BAND_HZ)
    assert len(centres) == 14
    assert centres[[0, -1]] == pytest.approx([250, 5039.7], rel=1e-4)


def test_third_octave_levels_weight_bins_by_overlap() -> None:
    """A bin that lies half inside a third octave counts half."""
    frequencies = np.arange(0, 4001, 100.0)
    density = np.ones(len(frequencies))
    density[9] = 11.0  # 850-950 Hz, of which 890.9-950 lies inside the third octave at 1000 Hz
    centres, levels = third_octave_levels(frequencies, density, (800, 1200))
    inside = 950 - 1000 * 2 ** (-1 / 6)
    width = 1000 * (2 ** (1 / 6) - 2 ** (-1 / 6))
    assert centres == pytest.approx([1000])
    assert levels == pytest.approx([10 * math.log10(1 + 10 * inside / width)])


@pytest.mark.parametrize("frames", [0, 1, 1023])
def test_too_short_is_refused_with_the_length_needed(frames: int) -> None:
    """A clip shorter than one frame is refused, and the message says how long it must be."""
    with pytest.raises(ClipError, match=r"at least 0\.064 s"):
        tilt_db_per_octave(clip_of(np.ones(frames), 16000))


def test_one_frame_is_enough() -> None:
    """A clip of exactly one frame has a tilt."""
    assert math.isfinite(tilt_db_per_octave(clip_of(straight_line_noise(WHITE, 16000)[:1024], 16000)))


@pytest.mark.parametrize("constant", [0.0, 0.25, 1.0])
def test_silence_is_refused(constant: float) -> None:
    """Silence, with or without DC, has no tilt."""
    with pytest.raises(ClipError, match="silent"):
        tilt_db_per_octave(clip_of(np.full(16000, constant), 16000))


def test_a_click_in_silence_is_refused() -> None:
    """A clip that is silent in 95 % of its frames has no tilt."""
    click = np.zeros(160000)
    click[80000:80002] = 1.0, -1.0
    with pytest.raises(ClipError, match="silent"):
        tilt_db_per_octave(clip_of(click, 16000))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_sample_that_is_not_finite_is_refused(bad: float) -> None:
    """One sample that is not finite is refused, not spread."""
    noise = straight_line_noise(WHITE, 16000)
    noise[100] = bad
    with pytest.raises(ClipError, match="not finite"):
        tilt_db_per_octave(clip_of(noise, 16000))
    with pytest.raises(ClipError, match="not finite"):
        filter_zero_phase(noise[:, np.newaxis], tilt_fir(1, 16000))


@pytest.mark.parametrize("rate", [8000, 11025, 12000])
def test_a_low_rate_is_refused_with_the_band_that_it_allows(rate: int) -> None:
    """A rate too low for the band is refused; the band that the message names works."""
    clip = clip_of(straight_line_noise(PINK, rate), rate)
    with pytest.raises(ClipError, match=rf"rate of {rate} Hz .*200-7000 Hz; set tilt_band_hz: \[200, \d+\]") as said:
        tilt_db_per_octave(clip)
    highest = float(str(said.value).split("[200, ")[1].split("]")[0])
    assert tilt_db_per_octave(clip, (200, highest)) == pytest.approx(PINK, abs=NOISE_TOLERANCE)


def test_a_rate_that_allows_no_band_says_so() -> None:
    """A rate under which no band is left is not answered with a band that cannot work."""
    with pytest.raises(ClipError, match="leave the clip out"):
        tilt_db_per_octave(clip_of(straight_line_noise(WHITE, 600), 600))


def test_an_upsampled_clip_is_refused_with_the_frequency() -> None:
    """An upsampled clip, whose upper bands are empty, is refused with the frequency it is empty from."""
    soxr = pytest.importorskip("soxr")
    upsampled = soxr.resample(straight_line_noise(PINK, 8000), 8000, 48000, quality="VHQ")
    with pytest.raises(ClipError, match=r"empty from 4490 Hz"):
        tilt_db_per_octave(clip_of(upsampled, 48000))


@pytest.mark.parametrize("level_db", [0.0, -40.0])
def test_a_dither_floor_is_not_empty(level_db: float) -> None:
    """The rounding noise of 16 bits under a narrow-band clip is sound, however loud the clip."""
    soxr = pytest.importorskip("soxr")
    narrow = soxr.resample(straight_line_noise(BROWN, 8000), 8000, 48000, quality="VHQ")
    narrow *= 10 ** (level_db / 20) * 0.99 / np.abs(narrow).max()
    random = np.random.default_rng(3)
    dithered = np.round(narrow * 32767 + random.uniform(-1, 1, len(narrow)) / 2) / 32768
    assert math.isfinite(tilt_db_per_octave(clip_of(dithered, 48000)))


@pytest.mark.parametrize("band", [(0, 7000), (10, 7000), (200, 300), (7000, 200)])
def test_a_band_without_a_line_is_refused(band: tuple[float, float]) -> None:
    """A band that starts below 20 Hz or holds fewer than three third octaves is refused."""
    with pytest.raises(ValueError, match="a tilt needs a band"):
        checked_tilt_band(band)
    assert checked_tilt_band(TILT_BAND_HZ) == TILT_BAND_HZ


@pytest.mark.parametrize("rate", [8000, 16000, 44100, 96000])
@pytest.mark.parametrize("slope", [-3.0, 0.5, 3.0])
def test_tilt_filter_is_a_straight_line_with_clamped_ends(slope: float, rate: int) -> None:
    """The filter's gain is the line through 0 dB at 1 kHz, and constant below 50 Hz and above 16 kHz."""
    taps = tilt_fir(slope, rate)
    response = np.fft.rfft(taps, 1 << 18)
    frequencies = np.fft.rfftfreq(1 << 18, 1 / rate)
    error = 20 * np.log10(np.abs(response)) - slope * np.log2(np.clip(frequencies, 50, 16000) / 1000)
    line = (frequencies >= 100) & (frequencies <= min(7000, rate / 2))
    assert np.abs(error[line]).max() < FIR_TOLERANCE_DB
    assert np.abs(error).max() < CLAMP_TOLERANCE_DB


@pytest.mark.parametrize("rate", [8000, 22050, 48000])
def test_tilt_filter_has_linear_phase(rate: int) -> None:
    """The filter has an odd number of taps and is its own mirror image."""
    taps = tilt_fir(-2, rate)
    assert len(taps) % 2 == 1
    assert np.abs(taps - taps[::-1]).max() < 1e-15 * len(taps)


def test_filter_from_gain_follows_its_points() -> None:
    """A filter made from points of gain has that gain at each point, and an even length is refused."""
    frequencies, gain_db = np.array([200.0, 1000, 4000]), np.array([-6.0, 3, 0])
    taps = fir_from_gain(frequencies, gain_db, 16000, 2049)
    phase = 2j * np.pi * np.outer(frequencies, np.arange(len(taps))) / 16000
    assert 20 * np.log10(np.abs(np.exp(-phase) @ taps)) == pytest.approx(gain_db, abs=0.1)
    with pytest.raises(ValueError, match="odd"):
        fir_from_gain(frequencies, gain_db, 16000, 2048)


@pytest.mark.parametrize("frames", [0, 1, 100, 2049, 9000])
def test_filtering_keeps_the_length_and_the_time(frames: int) -> None:
    """A filtered clip has as many frames as before and no lag, even if it is shorter than the filter."""
    samples = np.random.default_rng(4).standard_normal((frames, 2))
    taps = tilt_fir(2, 16000)
    filtered = filter_zero_phase(samples, taps)
    assert filtered.shape == samples.shape
    direct = np.array([np.convolve(channel, taps)[1024 : 1024 + frames] for channel in samples.T if frames])
    if frames:
        assert filtered == pytest.approx(direct.T, abs=SAME_SAMPLES)
        assert np.argmax(np.correlate(filtered[:, 0], samples[:, 0], "full")) == frames - 1


def test_an_impulse_stays_where_it_is() -> None:
    """An impulse through the filter is the filter, centred on the impulse."""
    impulse = np.zeros((8001, 1))
    impulse[4000] = 1.0
    taps = tilt_fir(1.5, 16000)
    filtered = filter_zero_phase(impulse, taps)[:, 0]
    assert np.argmax(np.abs(filtered)) == 4000
    assert filtered[4000 - 1024 : 4000 + 1025] == pytest.approx(taps, abs=1e-12)


@pytest.mark.parametrize("table", ["chains.csv", "detection.csv"])
def test_published_figures_are_reproduced(table: str, real: dict[str, tuple[Clip, float]]) -> None:
    """On real clips the AUC and the shift of tilt between the conditions are the published ones."""
    sides: dict[str, list[float]] = {"human": [], "synthetic": []}
    for row in rows_of(table):
        sides[row["condition"]].append(real[row["file_name"]][1])
    differences = np.subtract.outer(sides["synthetic"], sides["human"])
    auc = np.mean(differences > 0) + np.mean(differences == 0) / 2
    assert auc == pytest.approx(PUBLISHED_AUC[table], abs=PUBLISHED_TOLERANCE)
    assert np.median(differences) == pytest.approx(PUBLISHED_SHIFT[table], abs=PUBLISHED_TOLERANCE)


@pytest.mark.parametrize("slope", [-3.0, -1.0, 3.0])
def test_designed_slope_is_met_on_speech(slope: float, real: dict[str, tuple[Clip, float]]) -> None:
    """On real clips the measured tilt moves by the designed slope, though the active frames may change."""
    errors = []
    for clip, tilt in real.values():
        tilted = clip.with_samples(filter_zero_phase(clip.samples, tilt_fir(slope, clip.rate)))
        errors.append(abs(tilt_db_per_octave(tilted) - tilt - slope))
    assert np.median(errors) <= SLOPE_MEDIAN
    assert max(errors) <= SLOPE_WORST
