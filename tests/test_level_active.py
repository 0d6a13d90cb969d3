"""Specification of the active speech level in prep.level: ITU-T P.56, method B."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
import soundfile

from prep import level
from prep.clip import Clip
from prep.errors import ClipError

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"

LEVEL_TOLERANCE_DB = 0.1  # the design's, against ITU's sv56, which itself stops interpolating at 0.5 dB of margin
ACTIVITY_TOLERANCE_POINTS = 1.0  # the design's, against the same
SAME_DB = 1e-6  # one computation written twice, or of the same samples times a power of two
SAME_POINTS = 1e-6
ROUNDING_DB = 1e-3  # float32 samples, upon an offset of 0.1 or as a mean of two
DOUBLING_DB = 20 * math.log10(2)


def syllables(seconds: float, rate: int = 8000, seed: int = 1) -> Clip:
    """Return a mono clip of noise in syllables, with pauses between them that are longer than the hangover."""
    time = np.arange(round(seconds * rate)) / rate
    loud = np.clip(np.sin(2 * np.pi * 0.8 * time), 0, None) * (1 + 0.5 * np.sin(2 * np.pi * 3 * time))
    noise = np.random.default_rng(seed).standard_normal(len(time))
    return Clip((0.05 * (loud + 1e-3) * noise)[:, np.newaxis], rate)


def by_the_letter(clip: Clip) -> tuple[float, float]:
    """Return active level and activity of a mono clip by P.56, 8.2, frame after frame as it is written there."""
    samples = clip.samples[:, 0].astype(np.float64)
    samples = samples - samples.mean()
    smoothing, hangover = math.exp(-1 / (clip.rate * 0.03)), math.ceil(0.2 * clip.rate)
    thresholds = [2.0**-power for power in range(15, 0, -1)]
    active, rest = [0] * 15, [hangover] * 15
    first = second = 0.0
    for sample in samples:
        first = smoothing * first + (1 - smoothing) * abs(sample)
        second = smoothing * second + (1 - smoothing) * first
        for index, threshold in enumerate(thresholds):
            if second >= threshold:
                active[index] += 1
                rest[index] = 0
            elif rest[index] < hangover:
                active[index] += 1
                rest[index] += 1
    energy = sum(samples**2)
    lower = None
    for threshold, count in zip(thresholds, active, strict=True):
        loud = 10 * math.log10(energy / count)
        margin = loud - 20 * math.log10(threshold)
        if lower and margin <= 15.9:
            share = (lower[1] - 15.9) / (lower[1] - margin)
            found = lower[0] + share * (loud - lower[0])
            return found, 100 * 10 ** ((10 * math.log10(energy / len(samples)) - found) / 10)
        lower = (loud, margin)
    raise AssertionError("no threshold lies 15.9 dB under the level")


def reference_clips() -> list[tuple[str, Clip, float, float]]:
    """Return name, clip, active level and activity of the clips that ITU's own meter has measured."""
    table = SHARED / "data" / "p56.csv"
    if not table.is_file():
        pytest.skip("the folder shared/data is not here")
    found = []
    with table.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            samples, rate = soundfile.read(table.parent / row["file_name"], dtype="float32", always_2d=True)
            reference = float(row["active_level_dbov"]), float(row["activity_percent"])
            found.append((row["file_name"], Clip(samples, rate), *reference))
    return found


def test_real_clips_against_sv56() -> None:
    """On every clip that ITU's sv56 has measured, the level agrees to 0.1 dB and the activity to 1 point."""
    apart = []
    for name, clip, level_dbov, activity_percent in reference_clips():
        found = level.active_level(clip)
        if (
            abs(found.active_level_dbov - level_dbov) > LEVEL_TOLERANCE_DB
            or abs(found.activity_percent - activity_percent) > ACTIVITY_TOLERANCE_POINTS
        ):
            apart.append((name, found, level_dbov, activity_percent))
    assert not apart


def test_very_quiet_real_clips() -> None:
    """A real clip halved until it lies under -60 dBov keeps its activity, and its level falls by the halvings."""
    for _, clip, _, _ in reference_clips():
        loud = level.active_level(clip)
        halvings = math.ceil((60 + loud.active_level_dbov) / DOUBLING_DB)
        quiet = level.active_level(clip.with_samples(clip.samples * 2.0**-halvings))
        assert -60 - DOUBLING_DB < quiet.active_level_dbov <= -60
        expected_dbov = loud.active_level_dbov - halvings * DOUBLING_DB
        assert quiet.active_level_dbov == pytest.approx(expected_dbov, abs=SAME_DB)
        assert quiet.activity_percent == pytest.approx(loud.activity_percent, abs=SAME_POINTS)


@pytest.mark.parametrize("gain_db", [0.0, -2.5, -30.0])
@pytest.mark.parametrize("rate", [8000, 11025])
def test_the_meter_is_the_recommendation_by_the_letter(rate: int, gain_db: float) -> None:
    """Level and activity are those of the Recommendation carried out frame after frame."""
    clip = level.gain(syllables(1.9, rate), gain_db)
    found = level.active_level(clip)
    expected_dbov, expected_percent = by_the_letter(clip)
    assert found.active_level_dbov == pytest.approx(expected_dbov, abs=SAME_DB)
    assert found.activity_percent == pytest.approx(expected_percent, abs=SAME_POINTS)
    assert found.activity_percent < 95.0  # the hangover was at work


@pytest.mark.parametrize(("peak", "rms_dbov"), [(1.0, -3.0103), (0.01, -43.0103)])
def test_level_of_a_sine(peak: float, rms_dbov: float) -> None:
    """A full-scale sine has -3.01 dBov, and is active all the time."""
    wave = peak * np.sin(2 * np.pi * 1000 * np.arange(160_000) / 16_000)
    found = level.active_level(Clip(wave[:, np.newaxis], 16_000))
    assert found.active_level_dbov == pytest.approx(rms_dbov, abs=LEVEL_TOLERANCE_DB)
    assert found.activity_percent == pytest.approx(100.0, abs=ACTIVITY_TOLERANCE_POINTS)


def test_level_of_a_square_wave() -> None:
    """A full-scale square wave has 0 dBov, above the highest threshold."""
    wave = np.sign(np.sin(2 * np.pi * 100 * np.arange(80_000) / 16_000 + 0.1))
    found = level.active_level(Clip(wave[:, np.newaxis], 16_000))
    assert found.active_level_dbov == pytest.approx(0.0, abs=LEVEL_TOLERANCE_DB)


def test_dc_is_taken_out() -> None:
    """An offset changes neither the level nor the activity."""
    clip = syllables(4.0)
    plain, offset = level.active_level(clip), level.active_level(clip.with_samples(clip.samples + 0.1))
    assert offset.active_level_dbov == pytest.approx(plain.active_level_dbov, abs=ROUNDING_DB)
    assert offset.activity_percent == pytest.approx(plain.activity_percent, abs=ROUNDING_DB)


def test_the_mean_of_the_channels_is_measured() -> None:
    """A clip of several channels has the active level of their mean."""
    left, right = syllables(4.0, seed=1).samples, syllables(4.0, seed=2).samples
    both = level.active_level(Clip(np.hstack([left, right]), 8000))
    mean = level.active_level(Clip((left + right) / 2, 8000))
    assert both.active_level_dbov == pytest.approx(mean.active_level_dbov, abs=ROUNDING_DB)
    assert both.activity_percent == pytest.approx(mean.activity_percent, abs=ROUNDING_DB)


@pytest.mark.parametrize(
    "samples",
    [
        np.zeros((0, 1)),
        np.zeros((16_000, 1)),
        np.full((16_000, 1), 0.1),
        np.hstack([syllables(2.0).samples, -syllables(2.0).samples]),
        np.random.default_rng(1).integers(-1, 2, (16_000, 1)) / 32768,
        np.eye(16_000, 1, -8_000),
        syllables(2.0).samples[: round(0.2 * 8000) - 1],
    ],
    ids=["no samples", "silence", "constant", "opposite channels", "dither", "click", "under 0.2 s"],
)
def test_what_has_no_active_level(samples: np.ndarray) -> None:
    """Silence, DC, dither, a click and less than 0.2 s have no active level, and the reason can be told."""
    clip = Clip(samples, 8000)
    assert level.active_level(clip) is None
    assert ("0.2 s" if clip.seconds < 0.2 else "silent") in level.why_no_active_level(clip)


@pytest.mark.parametrize(("level_dbov", "measured"), [(-74.6, False), (-74.2, True), (9.7, True), (10.1, False)])
def test_active_levels_end_with_the_thresholds(level_dbov: float, measured: bool) -> None:
    """A level from -74.4 to 9.9 dBov is measured: 15.9 dB over the lowest threshold and the highest."""
    clip = syllables(4.0)
    moved = level.gain(clip, level_dbov - level.active_level(clip).active_level_dbov)
    assert (level.active_level(moved) is not None) == measured


def test_active_levels_begin_at_the_hangover() -> None:
    """From 0.2 s on a steady sound has an active level."""
    wave = 0.1 * np.sin(2 * np.pi * 1000 * np.arange(1600) / 8000)
    assert level.active_level(Clip(wave[:, np.newaxis], 8000)) is not None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_sample_that_is_no_number_is_named(bad: float) -> None:
    """A clip with a NaN or infinite sample is refused, naming the first such frame."""
    samples = syllables(2.0).samples.copy()
    samples[123] = bad
    with pytest.raises(ClipError, match="frame 123"):
        level.active_level(Clip(samples, 8000))
