"""Specification of the stage clip_loudness."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from prep.clip import Clip
from prep.errors import ClipError
from prep.level import gain, integrated_lufs, rms_dbfs, true_peak_dbtp
from prep.stage import Applied, Rejected
from prep.stages.clip_loudness import ClipLoudness

RATE = 44100
TARGET_TOLERANCE_LU = 0.01  # pure gain is exact
ROUNDING_DB = 1e-4  # float32 samples
LSB = 1 / 32768  # one step of 16 bits


def voice(seconds: float = 2.0, *, level: float = 0.05, channels: int = 1) -> Clip:
    """Return syllables of noise, equal in every channel."""
    frames = round(seconds * RATE)
    noise = np.random.default_rng(3).standard_normal(frames)
    syllables = 0.6 + 0.4 * np.sin(2 * np.pi * 4.0 * np.arange(frames) / RATE)
    samples = np.repeat((level * noise * syllables)[:, None], channels, axis=1)
    return Clip(samples.astype(np.float32), RATE)


def applied(stage: ClipLoudness, clip: Clip) -> Applied:
    """Return the treated clip and its notes."""
    result = stage.apply(clip, None)
    assert isinstance(result, Applied)
    return result


@pytest.mark.parametrize("level", [0.0005, 0.05, 5.0])
def test_every_clip_lands_on_the_target(level: float) -> None:
    """A clip of any level, also above 0 LUFS, is brought to the target by one gain that is noted."""
    clip = voice(level=level)
    result = applied(ClipLoudness(target_lufs=-26), clip)
    assert integrated_lufs(result.clip) == pytest.approx(-26, abs=TARGET_TOLERANCE_LU)
    assert result.notes["gain_db"] == pytest.approx(-26 - integrated_lufs(clip), abs=TARGET_TOLERANCE_LU)
    assert (result.notes["lowered_by_db"], result.notes["measured_by"]) == (0, "integrated")
    np.testing.assert_array_equal(result.clip.samples, gain(clip, result.notes["gain_db"]).samples)


def test_a_square_wave_above_0_lufs_is_brought_down() -> None:
    """A full-scale square wave in stereo, louder than 0 LUFS, lands on the target with a negative gain."""
    square = np.repeat(np.sign(np.sin(2 * np.pi * 441 * (np.arange(RATE) + 0.5) / RATE))[:, None], 2, axis=1)
    clip = Clip(square.astype(np.float32), RATE)
    assert integrated_lufs(clip) > 0
    result = applied(ClipLoudness(target_lufs=-23), clip)
    assert integrated_lufs(result.clip) == pytest.approx(-23, abs=TARGET_TOLERANCE_LU)
    assert result.notes["gain_db"] < -23


@pytest.mark.parametrize(
    ("seconds", "measured_by"),
    [(0.28, "rms"), (0.399, "rms"), (0.4, "integrated"), (0.401, "integrated"), (1.0, "integrated")],
)
def test_short_clips_are_levelled_by_rms(seconds: float, measured_by: str) -> None:
    """Below 0.4 s a clip's RMS in dBFS is brought to the same number; from 0.4 s on, its loudness."""
    result = applied(ClipLoudness(target_lufs=-26), voice(seconds))
    assert result.notes["measured_by"] == measured_by
    level = {"rms": rms_dbfs, "integrated": integrated_lufs}[measured_by](result.clip)
    assert level == pytest.approx(-26, abs=TARGET_TOLERANCE_LU)


@pytest.mark.parametrize("seconds", [0.2, 1.0])
@pytest.mark.parametrize("lsb", [0, 1])
def test_a_silent_clip_is_set_aside(seconds: float, lsb: int) -> None:
    """Digital silence and 1-LSB dither, long or short, are reported as silent and get no gain."""
    steps = np.random.default_rng(1).integers(-lsb, lsb + 1, (round(seconds * RATE), 1))
    with pytest.raises(ClipError, match="silent"):
        ClipLoudness().apply(Clip((steps * LSB).astype(np.float32), RATE), None)


def test_speech_followed_by_long_silence() -> None:
    """A clip that ends in a minute of digital silence lands on the target with finite samples."""
    speech = voice(5.0)
    padded = speech.with_samples(np.concatenate([speech.samples, np.zeros((60 * RATE, 1), np.float32)]))
    result = applied(ClipLoudness(target_lufs=-26), padded)
    assert integrated_lufs(result.clip) == pytest.approx(-26, abs=TARGET_TOLERANCE_LU)
    assert np.isfinite(result.clip.samples).all()


def test_mono_and_dual_mono_end_the_same() -> None:
    """One clip as mono and as two equal channels, once both are mono, ends within one step of 16 bits."""
    mono, dual = voice(), voice(channels=2)
    mixed = dual.with_samples(dual.mono()[:, None])
    stage = ClipLoudness(target_lufs=-26)
    first, second = applied(stage, mono).clip, applied(stage, mixed).clip
    assert np.abs(first.samples - second.samples).max() < LSB
    assert integrated_lufs(second) == pytest.approx(-26, abs=TARGET_TOLERANCE_LU)


def test_lower_holds_the_ceiling_and_notes_the_shortfall() -> None:
    """With on_over: lower a peaky clip ends at the ceiling less the margin, and the loss is noted."""
    clip = voice()
    result = applied(ClipLoudness(target_lufs=-9, on_over="lower"), clip)
    assert true_peak_dbtp(result.clip) == pytest.approx(-1.2, abs=ROUNDING_DB)
    assert result.notes["lowered_by_db"] > 1
    assert integrated_lufs(result.clip) == pytest.approx(-9 - result.notes["lowered_by_db"], abs=TARGET_TOLERANCE_LU)
    assert (np.sign(result.clip.samples) == np.sign(clip.samples)).all()


def test_stop_rejects_the_clip_with_both_numbers() -> None:
    """With on_over: stop a clip that would pass the ceiling is rejected with its peak and the limit."""
    clip = voice()
    rejected = ClipLoudness(target_lufs=-9).apply(clip, None)
    assert isinstance(rejected, Rejected)
    expected = true_peak_dbtp(clip) - 9 - integrated_lufs(clip)
    assert rejected.value == pytest.approx(expected, abs=TARGET_TOLERANCE_LU)
    assert rejected.limit == pytest.approx(-1.2)
    assert "ceiling of -1 dBTP" in rejected.reason


@pytest.mark.parametrize(
    "parameters", [{"target_lufs": 3}, {"target_lufs": -80}, {"ceiling_dbtp": 1}, {"on_over": "clip"}]
)
def test_parameters_out_of_range(parameters: dict[str, object]) -> None:
    """A target above 0 or below -60 LUFS, a ceiling above full scale and an unknown rule are refused."""
    with pytest.raises(ValidationError):
        ClipLoudness.model_validate(parameters)
