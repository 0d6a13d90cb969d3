"""Specification of the cue snr."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep import audio
from prep.classifiers.snr import RANGE_DB, Snr
from prep.clip import Clip
from prep.errors import ClipError

if TYPE_CHECKING:
    from pathlib import Path

RATE = 16000
# dB: the floor is a mean over the softest frames of the noise, which lie a little under its mean, and 20 ms of white
# noise at 16 kHz vary by 0.5 dB.
TOLERANCE_DB = 1.5
CLEAN_DB = 25.0  # real recordings with pauses have more


def syllables(seconds: float = 4.0) -> np.ndarray:
    """Return noise bursts of 0.2 s with pauses of 0.2 s between, at an RMS of 0.1 in the bursts, (frames,)."""
    frames = round(seconds * RATE)
    on = np.sin(2 * np.pi * 2.5 * np.arange(frames) / RATE) > 0
    return 0.1 * on * np.random.default_rng(1).standard_normal(frames)


def snr_of(signal: np.ndarray, rate: int = RATE) -> float:
    """Return the one number of the cue for a signal (frames,)."""
    return Snr().measure(Clip(signal[:, np.newaxis], rate))["snr_db"]


@pytest.mark.parametrize("snr_db", [5, 10, 15, 20, 30, 50])
def test_ratio_is_measured(snr_db: float) -> None:
    """Noise added at a known ratio is measured, also where it leaves no pause that is quiet."""
    noise = 0.1 * 10 ** (-snr_db / 20) * np.random.default_rng(2).standard_normal(4 * RATE)
    assert snr_of(syllables() + noise) == pytest.approx(snr_db, abs=TOLERANCE_DB)


def test_digital_silence_is_as_good_as_it_gets() -> None:
    """Pauses of digital zero have the highest ratio, so that a limit lets them through."""
    assert snr_of(syllables()) == RANGE_DB[1]


def test_noise_alone_has_the_lowest() -> None:
    """Where nothing stands over the noise, the ratio is the lowest, so that a limit turns it down."""
    assert snr_of(np.random.default_rng(2).standard_normal(4 * RATE)) == RANGE_DB[0]


def test_no_floor_has_no_ratio() -> None:
    """Sound that never rests and is never steady is turned down, and so is silence."""
    time = np.arange(4 * RATE) / RATE
    restless = np.random.default_rng(3).standard_normal(len(time)) * (0.03 + np.abs(np.sin(2 * np.pi * 5 * time)) / 10)
    with pytest.raises(ClipError, match="no noise floor can be told"):
        snr_of(restless)
    with pytest.raises(ClipError, match="silent"):
        snr_of(np.zeros(RATE))


def test_real_recordings_pass_and_noisy_ones_do_not(shared: Path) -> None:
    """Clean recordings stay over the limit; with white noise 5 dB under its own limit each of them falls below."""
    limit = Snr.LIMITS["min_snr_db"]
    for path in sorted((shared / "data" / "speech_real" / "vctk_16k").glob("*.wav")):
        signal = audio.decode(path.read_bytes(), path.name)[0].mono()
        assert snr_of(signal) >= CLEAN_DB > limit
        loud = signal[np.abs(signal) > np.abs(signal).max() / 10]
        noise = np.random.default_rng(4).standard_normal(len(signal)) * loud.std() * 10 ** (-(limit - 5) / 20)
        assert snr_of(signal + noise) < limit
