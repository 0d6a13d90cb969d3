"""Specification of the cue channels."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.channels import HIGHEST_IMBALANCE_DB, Channels
from prep.clip import Clip
from prep.errors import ClipError

RATE = 16000
TOLERANCE_DB = 0.01
CORRELATION_TOLERANCE = 0.03  # of two seconds of noise
LOWEST, HIGHEST = Channels.LIMITS["min_channel_correlation"], Channels.LIMITS["max_channel_imbalance_db"]


def noise(seed: int) -> np.ndarray:
    """Return two seconds of white noise at an RMS of 0.1, (frames,)."""
    return 0.1 * np.random.default_rng(seed).standard_normal(2 * RATE)


def values_of(*channels: np.ndarray) -> tuple[float, float]:
    """Return imbalance and correlation of a clip of some channels (frames,)."""
    values = Channels().measure(Clip(np.stack(channels, axis=1), RATE))
    return values["channel_imbalance_db"], values["channel_correlation"]


def test_one_channel_is_like_itself() -> None:
    """Mono, two equal channels, and silence have no imbalance and full correlation, so that a limit lets them be."""
    assert values_of(noise(1)) == (0.0, 1.0)
    assert values_of(noise(1), noise(1)) == pytest.approx((0.0, 1.0))
    assert values_of(np.zeros(RATE), np.zeros(RATE)) == (0.0, 1.0)


def test_inverted_channel_is_named() -> None:
    """A channel turned round has correlation -1, with noise of its own too little more, and falls below the limit."""
    assert values_of(noise(1), -noise(1)) == pytest.approx((0.0, -1.0))
    _, correlation = values_of(noise(1), -noise(1) + 0.3 * noise(2))
    assert correlation == pytest.approx(-1 / np.sqrt(1.09), abs=CORRELATION_TOLERANCE)
    assert correlation < LOWEST


def test_dead_channel_is_named() -> None:
    """A channel of zeros, of an offset or of faint hiss is over the limit, and speaks against no other's polarity."""
    assert values_of(noise(1), np.zeros(2 * RATE)) == (HIGHEST_IMBALANCE_DB, 1.0)
    assert values_of(noise(1), np.full(2 * RATE, 0.25)) == (HIGHEST_IMBALANCE_DB, 1.0)
    imbalance_db, _ = values_of(noise(1), 0.001 * noise(2))
    assert imbalance_db == pytest.approx(60.0, abs=0.1)
    assert imbalance_db > HIGHEST


def test_stereo_is_let_be() -> None:
    """Two microphones that hear the same from two sides, one 6 dB lower, stay inside the limits."""
    room = 0.5 * noise(3)
    imbalance_db, correlation = values_of(noise(1) + room, 0.5 * noise(1) + 0.5 * np.roll(room, 30))
    assert imbalance_db == pytest.approx(6.02, abs=0.2)
    assert LOWEST < correlation < 1


def test_worst_of_several_channels_counts() -> None:
    """Of three channels the widest imbalance and the lowest correlation count."""
    imbalance_db, correlation = values_of(noise(1), 0.5 * noise(1), -noise(1))
    assert imbalance_db == pytest.approx(6.02, abs=TOLERANCE_DB)
    assert correlation == pytest.approx(-1.0)


def test_no_samples_have_no_channels() -> None:
    """A clip of no samples is turned down."""
    with pytest.raises(ClipError, match="no samples"):
        Channels().measure(Clip(np.zeros((0, 2)), RATE))
