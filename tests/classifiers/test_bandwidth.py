"""Specification of the cue bandwidth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.signal import butter, sosfilt

from prep.audio import decode, resample
from prep.classifiers.bandwidth import Bandwidth
from prep.clip import Clip
from prep.encoding import encode_mp3
from prep.errors import ClipError

if TYPE_CHECKING:
    from pathlib import Path

EDGE = 0.05  # of the edge: the transition band of resamplers and encoders
BAND_HZ = 125.0  # Hz: the resolution of the cue
RATE = 44100


def speech(rate: int, seconds: float = 2.0, seed: int = 1) -> Clip:
    """Return noise in syllables that falls by 6 dB/octave above 500 Hz, a fifth of them hisses; rms about 0.05."""
    frames = round(seconds * rate)
    draw = np.random.default_rng(seed)
    white = draw.standard_normal(frames)
    spectrum = np.fft.rfft(white) / (1 + np.fft.rfftfreq(frames, 1 / rate) / 500) ** 2
    time = np.arange(frames) / rate
    hiss = (time % 0.5 < 0.1) * white * 0.05
    vowels = np.fft.irfft(spectrum, frames)
    sound = vowels / vowels.std() * (time % 0.5 >= 0.1) + hiss
    return Clip(0.05 * sound[:, np.newaxis], rate)


def edge(clip: Clip) -> float:
    """Return the one number of the cue."""
    return Bandwidth().measure(clip)["bandwidth_hz"]


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 24000, 44100, 48000])
def test_a_full_spectrum_ends_at_half_the_rate(rate: int) -> None:
    """Sound that fills its rate has half of it as its bandwidth, less what a converter takes of a low rate."""
    assert edge(speech(rate)) == pytest.approx(rate / 2, rel=EDGE if rate < RATE else 0)


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 24000, 32000])
def test_conversion_leaves_the_edge_where_it_is(rate: int) -> None:
    """A clip and its copy at 44.1 kHz are on one scale: their edges are equal, and at 48 kHz within a band."""
    clip = speech(rate)
    assert edge(resample(clip, RATE)) == edge(clip)
    assert edge(resample(clip, 48000)) == pytest.approx(edge(clip), abs=BAND_HZ)


@pytest.mark.parametrize("history", [8000, 16000, 22050, 24000, 48000])
def test_an_earlier_rate_shows(history: int) -> None:
    """A clip brought from another rate to 44.1 kHz keeps the edge of the lower of the two, within 5 %."""
    assert edge(resample(speech(history), RATE)) == pytest.approx(min(history, RATE) / 2, rel=EDGE)


@pytest.mark.parametrize("seconds", [0.2, 0.5])
def test_short_clips_have_an_edge(seconds: float) -> None:
    """A clip of 0.2 s with a hiss in it shows its earlier rate too."""
    assert edge(resample(speech(16000, seconds), RATE)) == pytest.approx(8000, rel=EDGE)


@pytest.mark.parametrize("bits", [16, 24])
def test_rounding_is_not_bandwidth(bits: int) -> None:
    """The white rounding noise of a file does not fill the band above the edge, in a clip of -46 dBFS either."""
    clip = resample(speech(16000), RATE)
    quiet = clip.samples * 0.1
    rounded = np.round(quiet * 2 ** (bits - 1)) / 2 ** (bits - 1)
    assert edge(clip.with_samples(rounded)) == pytest.approx(8000, rel=EDGE)


def test_an_mp3_history_shows() -> None:
    """MP3 ends at the low-pass that LAME sets: 17 kHz for one channel at 64 kb/s."""
    clip = speech(RATE)
    assert edge(clip) == RATE / 2
    decoded, _ = decode(encode_mp3(clip, 64), "history.mp3")
    assert edge(decoded) == pytest.approx(17000, rel=EDGE)


def test_a_gentle_low_pass_narrows() -> None:
    """A low-pass at 8 kHz of 24 dB/octave moves the edge by a tenth at least, a steep one to near 8 kHz."""
    clip = speech(RATE)
    for order, highest in ((4, 0.9 * RATE / 2), (16, 8000 * 4 / 3)):
        low = sosfilt(butter(order, 8000, fs=RATE, output="sos"), clip.samples, axis=0)
        assert edge(clip.with_samples(low)) < highest


def test_gain_and_silence_around_do_not_matter() -> None:
    """A copy 40 dB lower, with as much silence around it, has the same edge."""
    clip = resample(speech(16000), RATE)
    padded = np.pad(clip.samples / 100, ((RATE, RATE), (0, 0)))
    assert edge(clip.with_samples(padded)) == edge(clip)


def test_a_click_is_not_bandwidth() -> None:
    """One click in two seconds does not widen a clip."""
    clip = resample(speech(16000), RATE)
    clicked = clip.samples.copy()
    clicked[RATE] += 0.5
    assert edge(clip.with_samples(clicked)) == edge(clip)


def test_silence_has_no_edge() -> None:
    """Digital silence and a clip below 32 ms are refused."""
    with pytest.raises(ClipError, match="silent"):
        edge(Clip(np.zeros((RATE, 1)), RATE))
    with pytest.raises(ClipError, match="too short"):
        edge(Clip(speech(RATE).samples[:1000], RATE))


@pytest.mark.parametrize(
    "pattern",
    [
        "speech_real/vctk_16k/*.wav",
        "speech_real/ljspeech/*.wav",
        "speech_real/asterisk_en/*.wav",
        "human_vs_tts/speko_vendors/*__alibaba-tts.wav",
        "human_vs_tts/speko_vendors/*__cartesia.wav",
    ],
)
def test_real_clips_keep_their_edge(shared: Path, pattern: str) -> None:
    """Real clips of 8, 16, 22.05 and 24 kHz have the same edge at 44.1 kHz."""
    paths = sorted((shared / "data").glob(pattern))
    assert paths
    for path in paths[:8]:
        clip, _ = decode(path.read_bytes(), path.name)
        assert edge(resample(clip, RATE)) == edge(clip), path.name
