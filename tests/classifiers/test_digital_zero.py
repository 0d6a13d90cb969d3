"""Specification of the cue digital_zero."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.digital_zero import DigitalZero
from prep.clip import Clip
from prep.errors import ClipError

RATE = 16000
PERCENT = 2.0  # points: the blocks of 5 ms at the edges of 1 s
SECONDS = 0.03  # s: the decay of speech, and 15 ms at each edge, are not quiet


def talk(head: np.ndarray, tail: np.ndarray, constant: float = 0.0) -> Clip:
    """Return a second of voice at -20 dBFS between a head and a tail, on a DC offset."""
    time = np.arange(RATE) / RATE
    buzz = 0.1 * sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20))
    return Clip((np.concatenate([head, buzz, tail]) + constant)[:, np.newaxis], RATE)


def hiss(seconds: float) -> np.ndarray:
    """Return noise at -70 dBFS, in steps of 16 bits."""
    noise = 10 ** (-70 / 20) * np.random.default_rng(1).standard_normal(round(seconds * RATE))
    return np.round(noise * 2**15) / 2**15


def zero(clip: Clip) -> tuple[float, float]:
    """Return the share in percent and the longest run in seconds."""
    values = DigitalZero().measure(clip)
    return values["digital_zero_percent"], values["digital_zero_seconds"]


def test_a_recording_has_none() -> None:
    """Pauses that hold the noise of a room have no digital zero."""
    assert zero(talk(hiss(0.5), hiss(0.5))) == (0.0, 0.0)


def test_a_gate_is_all_zero() -> None:
    """Pauses of nothing are digital zero, for their whole length."""
    percent, longest = zero(talk(np.zeros(RATE // 2), np.zeros(RATE)))
    assert percent == pytest.approx(100.0, abs=PERCENT)
    assert longest == pytest.approx(1.0, abs=SECONDS)


def test_padding_is_a_share() -> None:
    """A recording padded with as much nothing has half, and the run is the padding's length."""
    percent, longest = zero(talk(hiss(0.5), np.concatenate([hiss(0.5), np.zeros(RATE)])))
    assert percent == pytest.approx(50.0, abs=PERCENT)
    assert longest == pytest.approx(1.0, abs=SECONDS)


def test_any_constant_counts() -> None:
    """A constant other than zero is as dead as zero."""
    clip = talk(np.zeros(RATE // 2), np.zeros(RATE // 2))
    assert zero(talk(np.zeros(RATE // 2), np.zeros(RATE // 2), 0.01)) == pytest.approx(zero(clip), abs=PERCENT)


def test_dither_ends_it() -> None:
    """One step of 16 bits of dither leaves no digital zero."""
    clip = talk(np.zeros(RATE // 2), np.zeros(RATE // 2))
    dither = np.random.default_rng(1).integers(-1, 2, clip.samples.shape) / 2**15
    assert zero(clip.with_samples(clip.samples + dither)) == (0.0, 0.0)


def test_one_live_channel_is_no_zero() -> None:
    """A pause is digital zero only where every channel is."""
    still, alive = (talk(end, end).samples for end in (np.zeros(RATE // 2), hiss(0.5)))
    assert zero(Clip(np.hstack([still, alive]), RATE)) == (0.0, 0.0)


def test_without_a_pause_there_is_no_share() -> None:
    """Speech without any pause is refused."""
    with pytest.raises(ClipError, match="quiet"):
        zero(talk(hiss(0), hiss(0)))
