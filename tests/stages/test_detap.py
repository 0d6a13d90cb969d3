"""detap: taps and clicks out, and every other sample as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile

from prep.clip import Clip
from prep.errors import ClipError
from prep.pauses import parts
from prep.stage import Applied
from prep.stages.detap import Detap

if TYPE_CHECKING:
    from pathlib import Path

RATE = 16000
STAGE = Detap()

TAKEN = 15.0  # dB: the least that a repair takes of the energy of what was planted
NEAR = 0.02  # s: how close the record comes to where a tap was planted
SHORT_OF_SPEECH = -20.0  # dB: a click of the mouth, below the peaks of speech
TAKEN_IN_REAL_SPEECH = 10.0  # dB: of a bump in a word, where a low voice shares its band
REAL = ("vctk_16k/p225_003.wav", "vctk_16k/p226_003.wav")  # a woman and a man


def applied(clip: Clip, stage: Detap = STAGE) -> Applied:
    """Return what the stage makes of a clip."""
    result = stage.apply(clip, None)
    assert isinstance(result, Applied)
    return result


def words(seconds: float = 3.0, channels: int = 1) -> Clip:
    """Return buzzes at 120 Hz under a gentle envelope, 0.4 s each, over a faint floor, with 0.35 s of quiet between."""
    times = np.arange(round(seconds * RATE)) / RATE
    buzz = sum(np.cos(2 * np.pi * 120 * k * times + k * k) * k / (1 + k * k / 10) for k in range(1, 30))
    envelope = np.where(times % 0.75 < 0.4, np.sin(np.pi * (times % 0.75) / 0.4), 0)
    noise = np.random.default_rng(1).standard_normal((len(times), channels))
    return Clip(0.03 * (buzz * envelope)[:, np.newaxis] + 2e-4 * noise, RATE, "words")


def bump(hertz: float, decay: float = 0.03, rate: int = RATE) -> np.ndarray:
    """Return a damped oscillation, (frames,), peak 1."""
    times = np.arange(rate // 2) / rate
    sound: np.ndarray = np.sin(2 * np.pi * hertz * times) * np.exp(-times / decay)
    return sound / np.abs(sound).max()


def click(decay: float = 0.001, rate: int = RATE) -> np.ndarray:
    """Return a burst of noise that decays, (frames,), peak 1."""
    times = np.arange(round(0.03 * rate)) / rate
    sound: np.ndarray = np.random.default_rng(2).standard_normal(len(times)) * np.exp(-times / decay)
    return sound / np.abs(sound).max()


def planted(clip: Clip, sound: np.ndarray, seconds: float, level_db: float = 0.0) -> Clip:
    """Return the clip with a sound added at a time in every channel, its peak relative to that of the clip."""
    at = round(seconds * clip.rate)
    samples = clip.samples.astype(np.float64)
    sound = sound[: clip.frames - at, np.newaxis]
    samples[at : at + len(sound)] += sound * np.abs(clip.samples).max() * 10 ** (level_db / 20)
    return clip.with_samples(samples)


def taken_db(clean: Clip, dirty: Clip, mended: Clip) -> float:
    """Return by how much less the mended clip differs from the clean one than the dirty one does."""
    before, after = (
        np.sum(np.square(clip.samples.astype(np.float64) - clean.samples.astype(np.float64)))
        for clip in (dirty, mended)
    )
    return float(10 * np.log10(before / max(after, 1e-20)))


def repaired(result: Applied) -> list[dict[str, Any]]:
    """Return the repairs in the record."""
    found: list[dict[str, Any]] = result.notes["repaired"]
    assert result.notes["repairs"] == len(found)
    return found


@pytest.mark.parametrize("seconds", [0.55, 0.85])
@pytest.mark.parametrize("hertz", [30.0, 60.0])
def test_a_bump_is_taken_out(hertz: float, seconds: float) -> None:
    """A bump as high as the clip, in a pause and in a word, goes down by 15 dB, and the record tells it once."""
    dirty = planted(words(), bump(hertz), seconds)
    result = applied(dirty)
    assert taken_db(words(), dirty, result.clip) >= TAKEN
    assert [repair["kind"] for repair in repaired(result)] == ["bump"]
    assert repaired(result)[0]["start_seconds"] == pytest.approx(seconds, abs=NEAR)
    assert repaired(result)[0]["taken_db"] > 0


@pytest.mark.parametrize("length", [0.06, 0.15, 0.24])
def test_a_thump_is_taken_out_wherever_it_is(length: float) -> None:
    """Half a sine of 60 to 240 ms in a word, and one that the end of the clip cuts off, go down by 15 dB."""
    thump = np.sin(np.pi * np.arange(round(length * RATE)) / (length * RATE))
    for seconds in (0.85, 3.0 - length / 2):
        dirty = planted(words(), thump, seconds)
        assert taken_db(words(), dirty, applied(dirty).clip) >= TAKEN


def test_a_double_tap_is_taken_out() -> None:
    """Two bumps 0.12 s apart, nearer than what is looked at around one, go down by 15 dB."""
    dirty = planted(planted(words(), bump(60), 0.5), bump(60), 0.62, -2)
    assert taken_db(words(), dirty, applied(dirty).clip) >= TAKEN


def test_a_click_in_a_pause_is_taken_out() -> None:
    """A click as high as the clip goes down by 15 dB, and the record tells it once."""
    dirty = planted(words(), click(), 0.57)
    result = applied(dirty)
    assert taken_db(words(), dirty, result.clip) >= TAKEN
    assert [repair["kind"] for repair in repaired(result)] == ["click in a pause"]
    assert repaired(result)[0]["start_seconds"] == pytest.approx(0.57, abs=NEAR)


def test_a_click_in_speech_is_bridged() -> None:
    """A click of 0.5 ms in a word, half as high again as the clip, is bridged, and leaves less than it was."""
    dirty = planted(words(), np.ones(8), 0.95, level_db=3.5)
    result = applied(dirty)
    assert [repair["kind"] for repair in repaired(result)] == ["click in speech"]
    assert taken_db(words(), dirty, result.clip) > 0


def test_clicks_of_the_mouth_stay_unless_asked() -> None:
    """A click in a pause 20 dB below the clip stays bit by bit, and goes with `mouth_clicks`."""
    dirty = planted(words(), click(), 0.57, SHORT_OF_SPEECH)
    assert np.array_equal(applied(dirty).clip.samples, dirty.samples)
    asked = applied(dirty, Detap(mouth_clicks=True))
    assert [repair["kind"] for repair in repaired(asked)] == ["click in a pause"]
    assert taken_db(words(), dirty, asked.clip) > 0


def test_samples_outside_of_the_repairs_are_untouched() -> None:
    """In a clip with a bump and a click, every sample outside of the spans in the record is bit by bit as it was."""
    dirty = planted(planted(words(), bump(45), 0.9), click(), 2.1)
    result = applied(dirty)
    outside = np.ones(dirty.frames, bool)
    for repair in repaired(result):
        outside[round(repair["start_seconds"] * RATE) : round(repair["end_seconds"] * RATE)] = False
    assert len(repaired(result)) == 2
    assert outside.mean() > 0.5
    assert np.array_equal(result.clip.samples[outside], dirty.samples[outside])
    assert result.clip.frames == dirty.frames


def test_clean_words_stay() -> None:
    """Words with a fundamental of 120 Hz and no tap come out bit by bit, and the record says so."""
    result = applied(words())
    assert np.array_equal(result.clip.samples, words().samples)
    assert result.notes == {"repairs": 0, "repaired": []}


def test_channels_are_repaired_in_the_same_spans() -> None:
    """A tap in one channel of two is found, and the channels change places with their repairs."""
    clean = words(channels=2)
    samples = clean.samples.copy()
    samples[:, 0] = planted(clean, bump(50), 0.55).samples[:, 0]
    result, swapped = (applied(clean.with_samples(samples[:, order])) for order in ([0, 1], [1, 0]))
    assert [repair["kind"] for repair in repaired(result)] == ["bump"]
    assert repaired(result) == repaired(swapped)
    assert np.allclose(result.clip.samples[:, ::-1], swapped.clip.samples, rtol=0, atol=1e-6)


@pytest.mark.parametrize("frames", [1, 2, 80, 960])
def test_length_is_kept(frames: int) -> None:
    """A clip of any length, 60 ms too, comes out with it, and finite."""
    clip = words()
    out = applied(clip.with_samples(clip.samples[2000 : 2000 + frames])).clip.samples
    assert out.shape == (frames, 1)
    assert np.isfinite(out).all()


def test_digital_silence_stays_so() -> None:
    """Silence comes out as silence, without a repair."""
    result = applied(Clip(np.zeros((RATE, 2), np.float32), RATE))
    assert not result.clip.samples.any()
    assert repaired(result) == []


def test_what_cannot_be_treated_is_refused() -> None:
    """A sample that is not finite, and a rate that holds no speech, are refused in words."""
    with pytest.raises(ClipError, match="not finite"):
        STAGE.apply(Clip(np.full((RATE, 1), np.nan, np.float32), RATE), None)
    with pytest.raises(ClipError, match="holds no speech"):
        STAGE.apply(Clip(np.zeros((100, 1), np.float32), 1000), None)


@pytest.mark.parametrize("name", REAL)
def test_taps_in_real_speech(shared: Path, name: str) -> None:
    """Real speech stays bit by bit; a bump in a word and a click in its longest pause go down by 10 and 15 dB."""
    clean = Clip(*soundfile.read(shared / "data" / "speech_real" / name, always_2d=True, dtype="float32"), id=name)
    assert np.array_equal(applied(clean).clip.samples, clean.samples)
    found = parts(clean)
    word = found.starts_seconds[found.speech[0].mean().astype(int)]
    for sound, seconds, least in (
        (bump(45, rate=clean.rate), float(word), TAKEN_IN_REAL_SPEECH),
        (click(rate=clean.rate), quietest(clean), TAKEN),
    ):
        dirty = planted(clean, sound, seconds)
        assert taken_db(clean, dirty, applied(dirty).clip) >= least


def quietest(clip: Clip) -> float:
    """Return the middle of the longest quiet part of a clip, s."""
    found = parts(clip)
    first, last = max(found.quiet, key=lambda span: span[1] - span[0])
    return float(found.starts_seconds[first] + found.starts_seconds[last]) / 2
