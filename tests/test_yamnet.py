"""YAMNet: the front end it was trained with, and what it hears in plain sounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep import audio
from prep.models import ModelMissingError, model_path
from prep.yamnet import CLASSES, MODEL, RATE_HZ, class_logits, class_number, log_mel_patches

if TYPE_CHECKING:
    from pathlib import Path

    from prep.clip import Signal

SPEECH = "speech_real/vctk_16k/p225_003.wav"
MUSIC = "music_bed/fillets/kan-klavir-music.ogg"
RMS = 0.07  # -23 dBFS
SURE = 1.0  # logit: a probability of 0.73


@pytest.fixture
def _fetched() -> None:
    """Skip where the model was not fetched."""
    try:
        model_path(MODEL)
    except ModelMissingError as error:
        pytest.skip(str(error))


def sound(path: Path) -> Signal:
    """Return three seconds of a file at 16 kHz and -23 dBFS."""
    clip, _ = audio.decode(path.read_bytes(), path.name)
    signal = audio.resample(clip, RATE_HZ).mono()[RATE_HZ : 4 * RATE_HZ]
    return signal * RMS / signal.std()


@pytest.mark.parametrize(("frames", "patches"), [(1, 1), (15600, 1), (15601, 2), (23280, 2), (23281, 3)])
def test_patches_cover_the_signal(frames: int, patches: int) -> None:
    """A patch is 96 windows of 25 ms, 10 ms apart; the next begins 0.48 s later; the last is filled with silence."""
    found = log_mel_patches(np.ones(frames))

    assert found.shape == (patches, 96, 64)


def test_silence_is_the_log_of_the_offset() -> None:
    """Silence has the logarithm of 0.001 in each band."""
    assert np.allclose(log_mel_patches(np.zeros(RATE_HZ)), np.log(0.001))


@pytest.mark.parametrize("hertz", [250.0, 1000.0, 4000.0])
def test_a_tone_is_in_its_mel_band(hertz: float) -> None:
    """A tone is loudest in the band whose centre, even on the mel scale of HTK from 125 to 7500 Hz, is nearest."""
    tone = np.sin(2 * np.pi * hertz * np.arange(RATE_HZ) / RATE_HZ)
    edges = np.linspace(1127 * np.log1p(125 / 700), 1127 * np.log1p(7500 / 700), 66)
    nearest = int(np.argmin(np.abs(edges[1:-1] - 1127 * np.log1p(hertz / 700))))

    assert abs(int(log_mel_patches(tone)[0].mean(axis=0).argmax()) - nearest) <= 1  # a band is as wide as two bins


@pytest.mark.usefixtures("_fetched")
def test_it_tells_speech_and_music(shared: Path) -> None:
    """Speech is heard as speech and no music, a piano as music and no speech, and digital silence as silence."""
    speech, music = (class_logits(sound(shared / "data" / path)).mean(axis=0) for path in (SPEECH, MUSIC))
    names = ("Speech", "Music", "Silence")
    of_speech, of_music, of_silence = (class_number(name) for name in names)

    assert speech.shape == (CLASSES,)
    assert speech[of_speech] > SURE > -SURE > speech[of_music]
    assert music[of_music] > SURE > -SURE > music[of_speech]
    assert class_logits(np.zeros(RATE_HZ)).mean(axis=0).argmax() == of_silence


@pytest.mark.usefixtures("_fetched")
def test_its_answers_are_fine(shared: Path) -> None:
    """Logits come in steps of 0.1 and not of 0.76, and the same signal gives the same ones."""
    signal = sound(shared / "data" / SPEECH)
    logits = class_logits(signal)

    assert len(np.unique(np.round(logits, 3))) > 50
    assert np.array_equal(class_logits(signal), logits)


@pytest.mark.usefixtures("_fetched")
def test_an_unknown_class_is_an_error() -> None:
    """A class that AudioSet does not have is named."""
    with pytest.raises(LookupError, match="no class 'Muzak'"):
        class_number("Muzak")
