"""Specification of the cue music. Its weights were chosen on other speakers and other music than is heard here."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile

from prep import audio, deepfilter
from prep.classifiers.music import SHORTEST_SECONDS, Music
from prep.clip import Clip
from prep.errors import ClipError
from prep.models import ModelMissingError, check_models

if TYPE_CHECKING:
    from pathlib import Path

    from prep.clip import Signal

RATE = 24000
SECONDS = 3
LIMIT = Music.LIMITS["max_music_probability"]
SPEECH = (
    "speech_real/vctk_16k/p226_003.wav",
    "human_vs_tts/fastspeech2_libritts/480_127525_000006_000000_ground-truth.wav",
)
MUSIC = ("music_bed/fillets/rybky03.ogg", "music_bed/lugaru/Music1Snow.ogg")
READING = "librivox_preamble/dickinson/01-soul_selects_dickinson_64kb.mp3"


@pytest.fixture(autouse=True)
def _fetched() -> None:
    """Skip where a model was not fetched."""
    try:
        check_models(Music.MODELS)
    except ModelMissingError as error:
        pytest.skip(str(error))


def sound(path: Path, start_seconds: float = 0.5) -> Signal:
    """Return three seconds of a file at an RMS of 0.05."""
    clip, _ = audio.decode(path.read_bytes(), path.name)
    signal = audio.resample(clip, RATE).mono()[round(start_seconds * RATE) :][: SECONDS * RATE]
    return 0.05 * signal / signal.std()


def clip_of(signal: Signal) -> Clip:
    """Return a mono clip."""
    return Clip(signal[:, np.newaxis], RATE, "clip")


def probability(signal: Signal) -> float:
    """Return the one number of the cue."""
    return Music().measure(clip_of(signal))["music_probability"]


def test_a_bed_far_below_the_voice_is_heard(shared: Path) -> None:
    """Of four beds 20 dB below the voice at least three are over the limit, and of those 10 dB below all."""
    beds = [sound(shared / "data" / path, start_seconds=20) for path in MUSIC]  # a piece may fade in
    voices = [sound(shared / "data" / path) for path in SPEECH]
    far, near = (
        sum(probability(voice + ratio * bed) > LIMIT for voice in voices for bed in beds)
        for ratio in (10 ** (-20 / 20), 10 ** (-10 / 20))
    )

    assert far >= 3
    assert near == 4


@pytest.mark.parametrize("speech", SPEECH)
def test_clean_speech_has_none(speech: str, shared: Path) -> None:
    """Speech alone is under the limit."""
    assert probability(sound(shared / "data" / speech)) < LIMIT


def test_a_coded_reading_has_none(shared: Path) -> None:
    """A LibriVox reading at 64 kb/s is under the limit, and so is speech that was coded that way."""
    buffer = io.BytesIO()
    soundfile.write(buffer, sound(shared / "data" / SPEECH[0]), RATE, format="MP3")

    assert probability(sound(shared / "data" / READING)) < LIMIT
    assert Music().measure(audio.decode(buffer.getvalue(), "speech.mp3")[0])["music_probability"] < LIMIT


def test_noise_and_a_second_talker_are_no_music(shared: Path) -> None:
    """White noise and another voice, 10 dB below the first, are under the limit."""
    voice, other = (sound(shared / "data" / path) for path in SPEECH)
    noise = 0.05 * np.random.default_rng(1).standard_normal(len(voice))

    assert probability(voice + 0.3 * noise) < LIMIT
    assert probability(voice + 0.3 * other) < LIMIT


def test_music_alone_is_music(shared: Path) -> None:
    """Music without a voice is as good as certain at any level, the same again, and the evidence says when."""
    music = sound(shared / "data" / MUSIC[0], start_seconds=20)
    clip = clip_of(0.01 * music)
    quiet, evidence = Music().measure(clip), Music().evidence(clip)

    assert min(probability(music), quiet["music_probability"]) > 0.95
    assert Music().measure(clip_of(0.01 * music)) == quiet
    assert 0 <= evidence["heard_best_at_seconds"] < SECONDS


def test_no_time_is_spent_where_nothing_is_heard(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Speech without a trace of music is not denoised."""

    def not_asked(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(deepfilter, "enhance", not_asked)
    assert probability(sound(shared / "data" / SPEECH[0])) < LIMIT


def test_what_cannot_be_heard_is_said() -> None:
    """A clip that is too short, silent or not finite is turned down: it was not checked, which is no pass."""
    short = np.ones(round(SHORTEST_SECONDS * RATE) - 1)
    for signal, why in ((short, "0.96 s"), (np.zeros(RATE), "silent"), (np.full(RATE, np.nan), "not finite")):
        with pytest.raises(ClipError, match=why):
            probability(signal)
