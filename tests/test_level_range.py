"""Specification of the loudness range in prep.level: EBU Tech 3342."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from pyebur128 import MeasurementMode, R128State, get_loudness_range, get_loudness_range_multiple

from prep import level
from prep.clip import Clip
from prep.errors import ClipError

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"

EBU_TOLERANCE_LU = 1.0  # EBU Tech 3342, table 1
METER_TOLERANCE_LU = 1.0  # the design's, against libebur128
STEADY_LU = 0.1  # the onset of the K-weighting filters
ROUNDING_LU = 1e-4  # float32 samples

WINDOW_FRAMES, HOP_FRAMES = 144_000, 4_800  # 3 s and 0.1 s at 48 kHz
LONGEST_SECONDS = 60.0  # of one programme of clips: enough to settle, and quick


def tones(*segments: tuple[float, float], rate: int = 48_000, channels: int = 2) -> Clip:
    """Return 1 kHz sines of some peak levels in dBFS and lengths in seconds, alike in each channel."""
    waves = [
        10 ** (peak_dbfs / 20) * np.sin(2 * np.pi * 1000 * np.arange(round(seconds * rate)) / rate)
        for peak_dbfs, seconds in segments
    ]
    return Clip(np.tile(np.concatenate(waves)[:, np.newaxis], (1, channels)), rate)


def meter_of(at_48k: np.ndarray) -> R128State:
    """Return libebur128 after a signal (frames, channels) at 48 kHz."""
    meter = R128State(at_48k.shape[1], 48_000, MeasurementMode.MODE_LRA)
    meter.add_frames(np.ascontiguousarray(at_48k).ravel(), len(at_48k))
    return meter


def real_clips() -> list[tuple[str, Clip]]:
    """Return the folder and the first channel of the real clips of speech."""
    files = sorted(
        path
        for folder in ("human_vs_tts", "speech_real")
        for path in (SHARED / "data" / folder).rglob("*")
        if path.suffix in {".wav", ".mp3"}
    )
    if not files:
        pytest.skip("the folder shared/data is not here")
    clips = []
    for path in files:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        clips.append((str(path.parent), Clip(samples[:, :1], rate, path.name)))
    return clips


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


def test_real_clips_against_libebur128() -> None:
    """On every real clip from 3 s to 10 s the range agrees to 1 LU with libebur128 ten times a second.

    libebur128 takes a window a second, where the document asks for ten: in a clip of four seconds it has
    two. Ten of its meters, each started 0.1 s after the one before, have all the windows between them.
    """
    apart = []
    for _, clip in real_clips():
        if not 3.0 <= clip.seconds <= 10.0:
            continue
        at_48k = soxr.resample(clip.samples, clip.rate, 48_000)
        starts = range(0, min(10 * HOP_FRAMES, len(at_48k) - WINDOW_FRAMES + 1), HOP_FRAMES)
        expected_lu = get_loudness_range_multiple([meter_of(at_48k[start:]) for start in starts])
        if abs(level.loudness_range_lu(clip) - expected_lu) > METER_TOLERANCE_LU:
            apart.append((clip.id, level.loudness_range_lu(clip), expected_lu))
    assert not apart


def test_real_programmes_against_libebur128() -> None:
    """On the clips of one folder, played one after another, the range agrees to 1 LU with libebur128 as it is."""
    apart = []
    for (folder, rate), group in groupby(real_clips(), key=lambda found: (found[0], found[1].rate)):
        samples = np.concatenate([clip.samples for _, clip in group])[: round(LONGEST_SECONDS * rate)]
        if len(samples) < 20 * rate:
            continue
        found_lu = level.loudness_range_lu(Clip(samples, rate))
        expected_lu = get_loudness_range(meter_of(soxr.resample(samples, rate, 48_000)))
        if abs(found_lu - expected_lu) > METER_TOLERANCE_LU:
            apart.append((folder, found_lu, expected_lu))
    assert not apart
