"""Specification of the cue reverb."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.signal import fftconvolve

from prep import audio
from prep.classifiers.reverb import Reverb
from prep.clip import Clip
from prep.errors import ClipError

if TYPE_CHECKING:
    from pathlib import Path

RATE = 16000
DECAY_TOLERANCE = 0.15  # share of the T60 of bursts: few decays of noise
SPEECH_TOLERANCE = 0.15  # s, mean error on real speech: its own decays and the window of 50 ms are in the estimate
GAIN_TOLERANCE = 0.01  # s: a copy differs by the rounding of float32 alone
T60S = (0.3, 0.5, 0.8)


def room(t60_seconds: float, rate: int, seed: int) -> np.ndarray:
    """Return the impulse response of an ideal diffuse room with its direct sound, (frames,)."""
    time = np.arange(round(1.2 * t60_seconds * rate)) / rate
    tail = np.random.default_rng(seed).standard_normal(len(time)) * 10 ** (-3 * time / t60_seconds)
    response = tail / np.sqrt(np.sum(tail**2))
    response[0] = 1.0
    return response


def bursts(t60_seconds: float, channels: int = 1) -> Clip:
    """Return short bursts of noise a second apart that ring out in a room."""
    draw = np.random.default_rng(1)
    dry = np.zeros((6 * RATE, channels))
    for start in range(0, len(dry), RATE):
        dry[start : start + RATE // 20] = draw.standard_normal((RATE // 20, channels))
    response = room(t60_seconds, RATE, 2)
    wet = np.stack([fftconvolve(channel, response)[: len(dry)] for channel in dry.T], axis=1)
    return Clip(0.05 * wet + 1e-6 * draw.standard_normal(wet.shape), RATE)


def t60_of(clip: Clip) -> float:
    """Return the one number of the cue."""
    return Reverb().measure(clip)["t60_seconds"]


@pytest.mark.parametrize("t60_seconds", T60S)
def test_bursts_have_the_time_of_their_room(t60_seconds: float) -> None:
    """Bursts of noise in an ideal room have the reverberation time of that room."""
    assert t60_of(bursts(t60_seconds)) == pytest.approx(t60_seconds, rel=DECAY_TOLERANCE)


def test_gain_polarity_and_channels_do_not_matter() -> None:
    """A softer, an inverted, a doubled and a swapped copy have the same reverberation time, always one and the same."""
    clip = bursts(0.5, channels=2)
    expected = t60_of(clip)
    mono = clip.with_samples(clip.samples[:, :1])
    for copy in (clip.samples * 0.25, -clip.samples, clip.samples[:, ::-1], clip.samples):
        assert t60_of(clip.with_samples(copy)) == pytest.approx(expected, abs=GAIN_TOLERANCE)
    assert t60_of(mono.with_samples(np.repeat(mono.samples, 2, axis=1))) == pytest.approx(
        t60_of(mono), abs=GAIN_TOLERANCE
    )


def test_too_few_decays_have_no_time() -> None:
    """Steady noise never rings out, and the cue says so."""
    noise = np.random.default_rng(3).standard_normal((2 * RATE, 1))
    with pytest.raises(ClipError, match="free decays"):
        t60_of(Clip(0.1 * noise, RATE))


@pytest.mark.parametrize("corpus", ["cmu_arctic", "speechbrain"])
def test_real_speech_in_known_rooms(shared: Path, corpus: str) -> None:
    """Real speech in rooms of 0.3 to 0.8 s rises from room to room in each clip, and is told to 0.15 s on average."""
    for seed, path in enumerate(sorted((shared / "data" / "speech_real" / corpus).glob("*.wav"))[:4]):
        clip, _ = audio.decode(path.read_bytes(), path.name)
        wet = [fftconvolve(clip.mono(), room(t60, clip.rate, seed))[: clip.frames] for t60 in T60S]
        found = [t60_of(Clip(0.5 * sound[:, np.newaxis], clip.rate)) for sound in wet]
        assert found == sorted(found)
        assert np.mean(np.abs(np.subtract(found, T60S))) <= SPEECH_TOLERANCE


def test_a_room_is_longer_than_its_dry_twin(shared: Path) -> None:
    """A reverberated recording has a longer time than the same recording dry."""
    wet, dry = (
        next((shared / "data" / folder).glob("libri-1088-134315-0000*"))
        for folder in ("reverb_noise/reverberant", "speech_real/lhotse")
    )
    times = [t60_of(audio.decode(path.read_bytes(), path.name)[0]) for path in (wet, dry)]
    assert times[0] > times[1]
