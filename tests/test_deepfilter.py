"""DeepFilterNet 3: noise goes, speech stays where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep import audio
from prep.deepfilter import MODEL, RATE_HZ, enhance
from prep.errors import ClipError
from prep.models import ModelMissingError, model_path

if TYPE_CHECKING:
    from pathlib import Path

    from prep.clip import Signal

SPEECH = "speech_real/vctk_16k/p225_003.wav"
# The library adds this share of the input again; a thousandth of a decibel less than that is float32 rounding.
TINY_DB = 0.01
TINY_ERROR_DB = -60.0  # 0.01 dB changes a signal by -59 dB where all of it is taken for noise
NOISE_DOWN_DB = 20.0  # at least, of steady white noise: far less than the network does
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
