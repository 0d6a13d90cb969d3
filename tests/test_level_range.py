"""Specification of the loudness range in prep.level: EBU Tech 3342, with the windows of libebur128."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import soxr
from pyebur128 import MeasurementMode, R128State, get_loudness_range

from prep import level
from prep.audio import decode
from prep.clip import Clip
from prep.errors import AudioError, ClipError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EBU_TOLERANCE_LU = 1.0  # EBU Tech 3342, table 1
METER_TOLERANCE_LU = 1.0  # the design's, against libebur128
STEADY_LU = 0.1  # the onset of the K-weighting filters
ROUNDING_LU = 1e-4  # float32 samples

SAME_METER_LU = 1e-3  # the same windows of the same samples; only the filters' rounding is left
FEWEST_CLIPS = 130  # of the real recordings, as far as they have a range


def tones(*segments: tuple[float, float], rate: int = 48_000, channels: int = 2) -> Clip:
    """Return 1 kHz sines of some peak levels in dBFS and lengths in seconds, alike in each channel."""
    waves = [
        10 ** (peak_dbfs / 20) * np.sin(2 * np.pi * 1000 * np.arange(round(seconds * rate)) / rate)
        for peak_dbfs, seconds in segments
    ]
    return Clip(np.tile(np.concatenate(waves)[:, np.newaxis], (1, channels)), rate)


def libebur128_lu(samples: np.ndarray, rate: int) -> float:
    """Return what libebur128, as it is, says of samples (frames, channels)."""
    meter = R128State(samples.shape[1], rate, MeasurementMode.MODE_LRA)
    meter.add_frames(np.ascontiguousarray(samples).ravel(), len(samples))
    return get_loudness_range(meter)


def real_clips(data: Path) -> Iterator[Clip]:
    """Yield every real clip that has a loudness range: all that decodes, is 3 s or longer and is not silent."""
    for path in sorted(path for path in data.rglob("*") if path.is_file()):
        try:
            clip, _ = decode(path.read_bytes(), str(path.relative_to(data)))
        except AudioError:
            continue
        if clip.seconds >= level.RANGE_SECONDS and level.loudness_range_lu(clip) is not None:
            yield clip


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    ("peaks_dbfs", "expected_lu"),
    [
        ((-20.0, -30.0), 10.0),
        ((-20.0, -15.0), 5.0),
        ((-40.0, -20.0), 20.0),
        ((-50.0, -35.0, -20.0, -35.0, -50.0), 15.0),
    ],
    ids=["case 1", "case 2", "case 3", "case 4"],
)
def test_ebu_cases(peaks_dbfs: tuple[float, ...], expected_lu: float, times: int) -> None:
    """The range of the stereo sines of EBU Tech 3342, cases 1 to 4, is right to 1 LU, repeated or not."""
    clip = tones(*[(peak_dbfs, 20.0) for peak_dbfs in peaks_dbfs] * times)
    assert level.loudness_range_lu(clip) == pytest.approx(expected_lu, abs=EBU_TOLERANCE_LU)


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050, 44100, 48000, 96000])
def test_range_begins_at_3_s(rate: int) -> None:
    """Below 3 s a clip has no loudness range, and from 3 s on it has one, at any rate."""
    whole = tones((-20.0, 3.0), rate=rate, channels=1)
    assert level.loudness_range_lu(whole.with_samples(whole.samples[:-1])) is None
    assert level.loudness_range_lu(whole) == 0.0


def test_one_window_has_no_spread() -> None:
    """Below 4 s there is one window, and so a range of 0; at 4 s there are two."""
    clip = tones((-20.0, 2.0), (-40.0, 2.0))
    assert level.loudness_range_lu(clip.with_samples(clip.samples[:-1])) == 0.0
    assert level.loudness_range_lu(clip) == pytest.approx(10 * np.log10(2.01 / 1.02), abs=STEADY_LU)


def test_silence_has_no_range() -> None:
    """Silence, dither and a clip of no samples have no loudness range."""
    dither = np.random.default_rng(1).integers(-1, 2, (240_000, 1)) / 32768
    for samples in (np.zeros((240_000, 1)), dither, np.zeros((0, 1))):
        assert level.loudness_range_lu(Clip(samples, 48_000)) is None


def test_the_end_of_a_clip_is_no_change_of_loudness() -> None:
    """A steady sound of four seconds has a range of 0 LU: no silence is put after it."""
    assert level.loudness_range_lu(tones((-20.0, 4.0))) == pytest.approx(0.0, abs=STEADY_LU)


def test_range_does_not_depend_on_level() -> None:
    """A gain leaves the range as it is, as long as all lies over the absolute gate."""
    clip = tones((-20.0, 5.0), (-26.0, 2.0), (-23.0, 4.0))
    expected_lu = level.loudness_range_lu(clip)
    assert expected_lu > 1.0
    assert level.loudness_range_lu(level.gain(clip, -30.0)) == pytest.approx(expected_lu, abs=ROUNDING_LU)


def test_more_channels_than_the_standard_has() -> None:
    """A clip of more than six channels is refused, for its weights are unknown."""
    with pytest.raises(ClipError, match="7 channels"):
        level.loudness_range_lu(tones((-20.0, 3.0), channels=7))


@pytest.mark.parametrize("seconds", [3.0, 3.95, 4.0, 7.5, 8.0, 12.5, 13.0, 23.2, 65.0])
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_noise_against_libebur128(seconds: float, channels: int) -> None:
    """On noise that goes through both gates, whatever its length and channels, the range is that of libebur128."""
    draw = np.random.default_rng(round(100 * seconds) + channels)
    frames = round(seconds * 48_000)
    steps_db = np.repeat(draw.uniform(-90.0, -20.0, 94), 33_600)[:frames]
    clip = Clip(draw.standard_normal((frames, channels)) * 10 ** (steps_db[:, np.newaxis] / 20), 48_000)
    assert level.loudness_range_lu(clip) == pytest.approx(libebur128_lu(clip.samples, 48_000), abs=SAME_METER_LU)


def test_real_clips_against_libebur128(shared: Path) -> None:
    """On every real clip the range agrees to 1 LU with libebur128 at the clip's rate, and at 48 kHz is the same."""
    compared, apart = 0, []
    for clip in real_clips(shared / "data"):
        found_lu = level.loudness_range_lu(clip)
        at_its_rate_lu = libebur128_lu(clip.samples, clip.rate)
        at_48k = soxr.resample(clip.samples.astype(np.float64), clip.rate, 48_000)
        at_48k_lu = libebur128_lu(at_48k[: clip.frames * 48_000 // clip.rate], 48_000)
        compared += 1
        if abs(found_lu - at_its_rate_lu) > METER_TOLERANCE_LU or abs(found_lu - at_48k_lu) > SAME_METER_LU:
            apart.append((clip.id, found_lu, at_its_rate_lu, at_48k_lu))
    assert not apart
    assert compared >= FEWEST_CLIPS
