"""DeepFilterNet 3: noise goes, speech stays where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep import audio
from prep.clip import Clip
from prep.deepfilter import MODEL, RATE_HZ, enhance, taken_away
from prep.errors import ClipError
from prep.models import ModelMissingError, model_path

if TYPE_CHECKING:
    from pathlib import Path

    from prep.clip import Signal

SPEECH = "speech_real/vctk_16k/p225_003.wav"
LOUD_SPEECH = "speech_real/vctk_16k/p225_016.wav"  # of which 3.7 dB went as it was
# The library adds this share of the input again; a thousandth of a decibel less than that is float32 rounding.
TINY_DB = 0.01
TINY_ERROR_DB = -60.0  # 0.01 dB changes a signal by -59 dB where all of it is taken for noise
NOISE_DOWN_DB = 20.0  # at least, of steady white noise: far less than the network does
SAME_DB = -60.0  # of the difference; samples are float32, and the level of a copy is told within 0.001 dB
CLEAN_LOSS_DB = -25.0  # of what goes of clean speech; -8.4 where the network hears it as loud as it is
NEARLY_DB = 3.0  # of what goes, where the voice is heard 1 dB louder or quieter
EVEN_DB = 1.5  # of steady noise, between bands
CAP_TOLERANCE_DB = 0.5  # noise is not attenuated alike in all bins, so the cap is met in most


@pytest.fixture(autouse=True)
def _fetched() -> None:
    """Skip where the model was not fetched."""
    try:
        model_path(MODEL)
    except ModelMissingError as error:
        pytest.skip(str(error))


@pytest.fixture
def speech(shared: Path) -> Signal:
    """Return two seconds of real speech at 48 kHz, and an odd number of frames."""
    path = shared / "data" / SPEECH
    clip, _ = audio.decode(path.read_bytes(), path.name)
    return audio.resample(clip, RATE_HZ).mono()[RATE_HZ // 2 : RATE_HZ * 5 // 2 + 77]


def noise(frames: int) -> Signal:
    """Return white noise at an RMS of 0.05."""
    return 0.05 * np.random.default_rng(1).standard_normal(frames)


def db(ratio: float) -> float:
    """Return a ratio of RMS values in dB."""
    return 20 * float(np.log10(ratio))


def test_it_is_neither_late_nor_short(speech: Signal) -> None:
    """With hardly any attenuation allowed the answer is the input, sample for sample, up to its last frame."""
    enhanced = enhance(speech, TINY_DB)
    tail = slice(-1440, None)

    assert enhanced.shape == speech.shape
    assert db((enhanced - speech).std() / speech.std()) < TINY_ERROR_DB
    assert db((enhanced - speech)[tail].std() / speech[tail].std()) < TINY_ERROR_DB


def test_speech_stays_and_has_no_lag(speech: Signal) -> None:
    """Unlimited, the answer correlates best with the input at no lag, and keeps most of its power."""
    enhanced = enhance(speech)
    lags = range(-2000, 2001, 1)
    spectrum = np.fft.rfft(enhanced, 2**18) * np.conj(np.fft.rfft(speech, 2**18))
    correlation = np.fft.irfft(spectrum)

    assert max(lags, key=lambda lag: correlation[lag]) == 0
    assert abs(db(enhanced.std() / speech.std())) < 1.0


def test_noise_goes(speech: Signal) -> None:
    """White noise falls by 20 dB and more, with a cap by no more than the cap, and under speech it falls too."""
    alone = noise(RATE_HZ * 2)
    steady = slice(RATE_HZ, None)  # a second later the network knows it
    mixed = speech + noise(len(speech))

    assert db(enhance(alone)[steady].std() / alone[steady].std()) < -NOISE_DOWN_DB
    assert db(enhance(alone, 12.0)[steady].std() / alone[steady].std()) == pytest.approx(-12.0, abs=CAP_TOLERANCE_DB)
    assert (enhance(mixed) - speech).std() < 0.5 * (mixed - speech).std()


def test_the_same_again_whatever_came_between(speech: Signal) -> None:
    """The answer does not depend on what this process did before."""
    first = enhance(speech)
    enhance(noise(RATE_HZ))

    assert np.array_equal(enhance(speech), first)


def test_nothing_to_do() -> None:
    """No attenuation gives the same samples, silence stays silence, and an empty signal stays empty."""
    signal = noise(1000)

    assert np.array_equal(enhance(signal, 0.0), signal)
    assert not enhance(np.zeros(5000)).any()
    assert enhance(np.empty(0)).shape == (0,)


def test_what_is_no_number_is_refused() -> None:
    """A sample that is not finite is refused before the library sees it."""
    with pytest.raises(ClipError, match="not finite"):
        enhance(np.array([0.0, np.nan]))


# What it takes away from a clip -------------------------------------------------------------------


@pytest.mark.parametrize("gain", [0.02, 0.3])
def test_a_quieter_copy_loses_the_same(shared: Path, gain: float) -> None:
    """What is taken away from a quieter copy of a clip is the quieter copy of what is taken away from it."""
    clip, _ = audio.decode((shared / "data" / SPEECH).read_bytes(), SPEECH)
    loud, quiet = (taken_away(item, 18.0) for item in (clip, clip.with_samples(gain * clip.samples)))

    assert db(np.std(quiet / gain - loud) / np.std(loud)) < SAME_DB


def test_a_copy_that_has_no_active_level_loses_nearly_the_same(shared: Path) -> None:
    """A copy 120 dB lower, of which no active level can be told, is heard by its RMS, and loses nearly as much."""
    clip, _ = audio.decode((shared / "data" / SPEECH).read_bytes(), SPEECH)
    loud, quiet = (taken_away(item, 18.0) for item in (clip, clip.with_samples(1e-6 * clip.samples)))

    assert db(np.std(quiet / 1e-6) / np.std(loud)) == pytest.approx(0, abs=NEARLY_DB)


def test_a_voice_near_full_scale_is_not_taken_for_noise(shared: Path) -> None:
    """Clean speech near full scale, which the network takes for noise in part, is left alone when heard quieter."""
    clip, _ = audio.decode((shared / "data" / LOUD_SPEECH).read_bytes(), LOUD_SPEECH)
    away = taken_away(clip, 18.0)

    assert away.shape == clip.samples.shape
    assert db(np.std(away) / np.std(clip.samples)) < CLEAN_LOSS_DB


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050, 44100, 48000])
def test_noise_goes_up_to_half_the_rate(rate: int) -> None:
    """Of steady noise as much goes just below half the rate as further down, at any rate, in time with the clip."""
    clip = Clip(noise(2 * rate)[:, np.newaxis].astype(np.float32), rate)
    left = clip.mono() - taken_away(clip, 12.0)[:, 0]
    before, after = (np.abs(np.fft.rfft(signal[rate // 2 :])) ** 2 for signal in (clip.mono(), left))
    top, below = slice(int(0.95 * len(before)), None), slice(int(0.3 * len(before)), int(0.6 * len(before)))
    lost = [10 * np.log10(after[part].sum() / before[part].sum()) for part in (top, below)]

    assert lost[0] == pytest.approx(lost[1], abs=EVEN_DB)
    assert lost[1] == pytest.approx(-12.0, abs=EVEN_DB)


def test_each_channel_is_heard_alone() -> None:
    """A silent channel beside a noisy one stays silent, and both keep their length."""
    one = noise(RATE_HZ)
    clip = Clip(np.stack([one, np.zeros_like(one)], axis=1).astype(np.float32), RATE_HZ)
    away = taken_away(clip)

    assert away.shape == clip.samples.shape
    assert not away[:, 1].any()
    assert np.std(away[:, 0]) > 0.5 * np.std(one)


def test_a_faster_clip_is_refused() -> None:
    """A clip beyond 48 kHz is refused with its rate, for what lies above the network's band would stay alone."""
    with pytest.raises(ClipError, match="up to 24 kHz, and 96000 Hz is more"):
        taken_away(Clip(np.ones((960, 1), np.float32), 96000))
