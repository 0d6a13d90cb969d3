"""high_pass: rumble out, speech as it was."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

from prep.clip import Clip
from prep.errors import ClipError
from prep.level import active_level
from prep.stage import Applied
from prep.stages.high_pass import HighPass

if TYPE_CHECKING:
    from pathlib import Path

RATE = 16000
STAGE = HighPass()

CORNER_TOLERANCE = 0.05  # dB: -3.01 dB at the corner, by design
PASSED = 0.3  # dB: at 70 Hz, under the lowest voice
STOPPED = -40.0  # dB: an octave below the corner
STEP = 1e-4  # full scale: what a DC of 0.25 may leave at the ends of a clip
LEVEL_TOLERANCE = 0.1  # dB: the design's tolerance of an active level
SPEECH_TOLERANCE = 0.3  # dB: how far a stage may move the level of speech


def treated(clip: Clip, stage: HighPass = STAGE) -> Clip:
    """Return the clip treated."""
    result = stage.apply(clip, None)
    assert isinstance(result, Applied)
    return result.clip


def sine(hertz: float, seconds: float = 4.0, level: float = 0.1) -> Clip:
    """Return a sine."""
    times = np.arange(round(seconds * RATE)) / RATE
    return Clip(level * np.sin(2 * np.pi * hertz * times)[:, np.newaxis], RATE, f"{hertz} Hz")


def gain_db(hertz: float, stage: HighPass = STAGE) -> float:
    """Return the gain for a sine, away from its ends."""
    inside = slice(RATE, -RATE)
    before, after = sine(hertz).samples[inside], treated(sine(hertz), stage).samples[inside]
    return float(10 * np.log10(np.mean(after.astype(float) ** 2) / np.mean(before.astype(float) ** 2)))


def words(seed: int = 0, level: float = 0.05) -> Clip:
    """Return noise above 200 Hz in bursts of 0.3 s, each followed by 0.2 s of quiet."""
    frames = 4 * RATE
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(frames))
    spectrum[np.fft.rfftfreq(frames, 1 / RATE) < 200] = 0
    noise = np.fft.irfft(spectrum, frames) * ((np.arange(frames) / RATE) % 0.5 < 0.3)
    return Clip(level * noise[:, np.newaxis] / noise.std(), RATE, "words")


@pytest.mark.parametrize("cutoff", [50.0, 80.0])
def test_the_corner_is_where_it_is_said(cutoff: float) -> None:
    """The gain is -3 dB at the corner, -40 dB an octave below, and next to nothing at 1.4 times the corner."""
    stage = HighPass(cutoff_hz=cutoff)
    assert gain_db(cutoff, stage) == pytest.approx(-3.01, abs=CORNER_TOLERANCE)
    assert gain_db(cutoff / 2, stage) < STOPPED
    assert abs(gain_db(1.4 * cutoff, stage)) < PASSED


def test_phase_is_zero() -> None:
    """A sine near the corner keeps its zero crossings: it correlates with itself, and not with its quadrature."""
    before = sine(60).samples[RATE:-RATE, 0].astype(float)
    after = treated(sine(60)).samples[RATE:-RATE, 0].astype(float)
    quadrature = np.cos(2 * np.pi * 60 * np.arange(4 * RATE) / RATE)[RATE:-RATE]
    assert np.corrcoef(before, after)[0, 1] == pytest.approx(1, abs=1e-6)
    assert abs(np.corrcoef(quadrature, after)[0, 1]) < 1e-3


def test_dc_leaves_no_step() -> None:
    """A constant goes to nothing at the very first and the very last sample too."""
    constant = Clip(np.full((RATE, 1), 0.25, np.float32), RATE)
    assert np.abs(treated(constant).samples).max() < STEP


def test_rumble_no_longer_inflates_the_active_level() -> None:
    """With rumble at 20 Hz as loud as the words, the active level comes back to that of the words."""
    clean = words()
    rumble = clean.with_samples(clean.samples + sine(20, level=0.1).samples)
    level, inflated, mended = (active_level(clip) for clip in (clean, rumble, treated(rumble)))
    assert level is not None
    assert inflated is not None
    assert mended is not None
    assert inflated.active_level_dbov > level.active_level_dbov + 1
    assert mended.active_level_dbov == pytest.approx(level.active_level_dbov, abs=LEVEL_TOLERANCE)


@pytest.mark.parametrize("frames", [1, 2, 960, 30_001])
def test_length_is_kept(frames: int) -> None:
    """Any number of frames goes in and out, finite, a clip of 60 ms and one frame too."""
    out = treated(words().with_samples(words().samples[:frames])).samples
    assert out.shape == (frames, 1)
    assert np.isfinite(out).all()


def test_digital_silence_stays_so() -> None:
    """Silence comes out as silence, and no level is made up for it."""
    result = STAGE.apply(Clip(np.zeros((RATE, 2), np.float32), RATE), None)
    assert isinstance(result, Applied)
    assert not result.clip.samples.any()
    assert result.notes == {"rms_change_db": None}


def test_what_cannot_be_filtered_is_refused() -> None:
    """A sample that is not finite, and a rate that holds no speech, are refused in words."""
    with pytest.raises(ClipError, match="not finite"):
        STAGE.apply(Clip(np.full((RATE, 1), np.nan, np.float32), RATE), None)
    with pytest.raises(ClipError, match="too low for a high-pass at 50 Hz"):
        STAGE.apply(Clip(np.zeros((100, 1), np.float32), 200), None)


def test_the_level_of_real_speech_stays(shared: Path) -> None:
    """The active level of real speech, men's and women's, moves by 0.3 dB at the most."""
    with (shared / "data" / "chains.csv").open(encoding="utf-8", newline="") as file:
        names = {line["speaker"]: line["file_name"] for line in csv.DictReader(file)}
    for name in sorted(names.values())[:12]:
        clip = Clip(*soundfile.read(shared / "data" / name, always_2d=True, dtype="float32"), id=name)
        before, after = active_level(clip), active_level(treated(clip))
        assert before is not None
        assert after is not None
        assert after.active_level_dbov == pytest.approx(before.active_level_dbov, abs=SPEECH_TOLERANCE)
