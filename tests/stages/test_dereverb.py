"""dereverb: less of the room, all of the voice, and nothing made of nothing."""

from __future__ import annotations

import json
import runpy
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from scipy.signal import fftconvolve

from prep import audio, deepfilter, level
from prep.clip import Clip
from prep.errors import ClipError
from prep.models import ModelMissingError, model_path
from prep.stage import Applied
from prep.stages.dereverb import LEAST_REMOVED, Dereverb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RATE = 16_000
STAGE = Dereverb()

C50_GAIN_DB = 0.5  # at least, in rooms of 0.3 to 0.6 s
LEVEL_TOLERANCE_DB = 0.3  # of speech, for any stage
GAP_TOLERANCE_DB = 3.0  # of speech after a gap
SAME_DB = -50.0  # of the band that another sampling rate adds: nothing is there


def room(t60: float, seed: int = 0) -> np.ndarray:
    """Return a room: the direct sound, and noise that falls by 60 dB in `t60` s from as much energy."""
    frames = round(1.2 * t60 * RATE)
    tail = np.random.default_rng(seed).standard_normal(frames) * 10 ** (-3 * np.arange(frames) / RATE / t60)
    tail[: round(0.002 * RATE)] = 0
    response: np.ndarray = tail / np.sqrt(np.sum(tail**2))
    response[0] = 1
    return response


def words(seed: int = 0, seconds: float = 5.0) -> np.ndarray:
    """Return noise in words of 0.1 to 0.3 s, each with its own spectrum, cut off at once, and pauses between."""
    draw = np.random.default_rng(seed)
    pieces: list[np.ndarray] = []
    while sum(map(len, pieces)) < seconds * RATE:
        frames = round(draw.uniform(0.1, 0.3) * RATE)
        frequencies = np.fft.rfftfreq(frames, 1 / RATE)
        formant = 1 / (1 + ((frequencies - draw.uniform(300, 2500)) / 400) ** 2) + 0.02
        sound = np.fft.irfft(np.fft.rfft(draw.standard_normal(frames)) * formant, frames)
        sound *= np.minimum(1, np.minimum(np.arange(frames), np.arange(frames)[::-1]) / (0.01 * RATE))
        pieces += [sound / sound.std(), np.zeros(round(draw.uniform(0.05, 0.25) * RATE))]
    return np.concatenate(pieces)[: round(seconds * RATE)]


def heard_in(response: np.ndarray, dry: np.ndarray) -> Clip:
    """Return a sound in a room."""
    sound = fftconvolve(dry, response)[: len(dry)]
    return Clip((0.05 * sound / sound.std())[:, np.newaxis], RATE, "heard")


def treated(clip: Clip, stage: Dereverb = STAGE) -> Applied:
    """Return what the stage makes of a clip."""
    result = stage.apply(clip, None)
    assert isinstance(result, Applied)
    return result


def c50_db(dry: np.ndarray, wet: Clip) -> float:
    """Return the clarity of the response that turns one sound into the other: 50 ms of it over the next 400 ms."""
    size = 2 ** int(np.ceil(np.log2(2 * len(dry))))
    source = np.fft.rfft(dry, size)
    power = np.abs(source) ** 2
    smooth = np.convolve(power, np.ones(201) / 201, "same")
    response = np.fft.irfft(np.fft.rfft(wet.mono(), size) * np.conj(source) / (power + 0.01 * smooth), size)
    floor = float(np.mean(response[-RATE // 2 : -RATE // 10] ** 2))
    early, late = round(0.05 * RATE), round(0.45 * RATE)
    energies = [float(np.sum(part**2)) - floor * len(part) for part in (response[:early], response[early:late])]
    return 10 * float(np.log10(energies[0] / max(energies[1], 1e-12)))


def rms_db(samples: np.ndarray) -> float:
    """Return the level of samples, dB."""
    return float(10 * np.log10(np.mean(np.square(samples, dtype=float))))


def quietest_db(clip: Clip) -> float:
    """Return the level of the quietest fifth of frames of 20 ms, over that of the clip."""
    frame = round(0.02 * clip.rate)
    powers = np.square(clip.mono()[: clip.frames // frame * frame].reshape(-1, frame)).mean(axis=1)
    return float(10 * np.log10(np.sort(powers)[: len(powers) // 5].mean() / powers.mean()))


@pytest.mark.parametrize("t60", [0.4, 0.5, 0.6])
def test_there_is_less_of_the_room(t60: float) -> None:
    """Late reverberation falls, the time and the length stay, and so does the level to 0.3 dB."""
    dry = words()
    clip = heard_in(room(t60), dry)
    out = treated(clip)
    assert out.notes["taps"] > 0
    assert c50_db(dry, out.clip) - c50_db(dry, clip) > C50_GAIN_DB
    assert out.clip.samples.shape == clip.samples.shape
    size = 2 * clip.frames
    lag = np.argmax(np.fft.irfft(np.fft.rfft(out.clip.mono(), size) * np.conj(np.fft.rfft(clip.mono(), size))))
    assert lag == 0
    levels = [level.active_level(sound) for sound in (clip, out.clip)]
    assert levels[0] is not None
    assert levels[1] is not None
    assert levels[1].active_level_dbov == pytest.approx(levels[0].active_level_dbov, abs=LEVEL_TOLERANCE_DB)


def test_the_filter_is_as_long_as_the_decay_asks() -> None:
    """A longer decay gets more taps, the notes say both, and `taps` in the config goes before."""
    notes = [treated(heard_in(room(t60), words())).notes for t60 in (0.35, 0.6)]
    assert notes[0]["t60_before_seconds"] < notes[1]["t60_before_seconds"]
    assert notes[0]["taps"] < notes[1]["taps"]
    assert notes[0]["c50_before_db"] > notes[1]["c50_before_db"]
    assert treated(heard_in(room(0.6), words()), Dereverb(taps=5)).notes["taps"] == 5


def test_dry_speech_is_passed_through() -> None:
    """A clip that rings no longer than dry speech is left as it is, and the notes say so."""
    clip = heard_in(room(0.15), words())
    out = treated(clip)
    assert out.clip is clip
    assert out.notes["taps"] == 0
    assert "no longer than dry speech" in out.notes["warning"]


def fading(seconds: float = 5.0, t60: float = 0.5) -> np.ndarray:
    """Return dry sounds that fade as if in a room: noise that falls by 60 dB in `t60` s, anew every 0.4 s."""
    frames = round(seconds * RATE)
    time = np.arange(frames) % round(0.4 * RATE) / RATE
    sound: np.ndarray = np.random.default_rng(3).standard_normal(frames) * 10 ** (-3 * time / t60)
    return 0.05 * sound / sound.std()


def test_a_voice_that_fades_slowly_is_no_room() -> None:
    """A long decay of which the filter takes next to nothing is the voice's: the clip is left as it is, and why told.

    Where `taps` is set, the filter is used all the same.
    """
    clip = Clip(fading()[:, np.newaxis].astype(np.float32), RATE, "fading")
    out = treated(clip)
    assert out.notes["t60_before_seconds"] == pytest.approx(0.5, abs=0.1)
    assert out.clip is clip
    assert out.notes["taps"] == 0
    assert out.notes["removed_share"] < LEAST_REMOVED
    assert "too little" in out.notes["warning"]
    assert treated(clip, Dereverb(taps=5)).notes["taps"] == 5


def test_a_room_is_found_where_the_decay_is_not_told() -> None:
    """A clip of one sound tells no decay: in a room it is treated, and dry it is left as it is."""
    draw = np.random.default_rng(5)
    dry = np.concatenate([draw.standard_normal(round(0.3 * RATE)), np.zeros(RATE)])
    dry += 1e-3 * draw.standard_normal(len(dry))
    wet, alone = (treated(heard_in(response, dry)) for response in (room(0.5), np.ones(1)))
    assert wet.notes["t60_before_seconds"] is None
    assert alone.notes["t60_before_seconds"] is None
    assert wet.notes["taps"] > 0
    assert alone.notes["taps"] == 0


def test_real_speech_is_treated_in_a_room_alone(shared: Path) -> None:
    """A dry recording comes out as it was, and the same in a small room of 0.3 s with less of the room."""
    path = shared / "data" / "speech_real" / "speechbrain" / "spk1_snt4.wav"
    clip, _ = audio.decode(path.read_bytes(), path.name)
    assert treated(clip).clip is clip
    wet = heard_in(room(0.3), clip.mono())
    assert c50_db(clip.mono(), treated(wet).clip) - c50_db(clip.mono(), wet) > C50_GAIN_DB


def test_a_clip_that_would_be_eaten_is_passed_through() -> None:
    """A steady tone is all that its past foretells: the filter would take it, so it stays."""
    sine = 0.1 * np.sin(2 * np.pi * 440 * np.arange(4 * RATE) / RATE)
    tone = Clip(sine[:, np.newaxis].astype(np.float32), RATE, "tone")
    out = treated(tone, Dereverb(taps=10))
    assert out.clip is tone
    assert "would have taken the voice" in out.notes["warning"]


@pytest.mark.parametrize("seconds", [0.0001, 0.06, 0.35])
def test_short_clips_are_passed_through(seconds: float) -> None:
    """A clip too short for a filter is left as it is, and the notes say so."""
    dry = words()
    clip = heard_in(room(0.5), dry)
    short = clip.with_samples(clip.samples[RATE : RATE + max(round(seconds * RATE), 1)])
    out = treated(short)
    assert out.clip is short
    assert "too short" in out.notes["warning"]


def test_silence_passes_and_what_is_no_number_does_not() -> None:
    """Digital silence is left as it is, with a warning; a sample that is not finite is refused."""
    silence = Clip(np.zeros((RATE, 2), np.float32), RATE, "silence")
    out = treated(silence)
    assert out.clip is silence
    assert "silent" in out.notes["warning"]
    with pytest.raises(ClipError, match="not finite"):
        STAGE.apply(Clip(np.full((RATE, 1), np.inf, np.float32), RATE, "odd"), None)


def test_gaps_stay_silent_and_what_is_around_them_is_treated() -> None:
    """A gap of exact zeros stays so; the sound on either side of it comes out as it would alone."""
    clip = heard_in(room(0.5), words(seconds=8.0))
    samples = clip.samples.copy()
    gap = slice(4 * RATE, round(4.7 * RATE))
    samples[gap] = 0
    out = treated(clip.with_samples(samples), Dereverb(taps=10)).clip.samples
    assert not out[gap].any()
    alone = treated(clip.with_samples(samples[: gap.start]), Dereverb(taps=10)).clip.samples
    assert np.corrcoef(out[: gap.start - RATE // 10, 0], alone[: -RATE // 10, 0])[0, 1] > 0.9999


def test_a_silent_channel_stays_silent() -> None:
    """Channels are treated one by one: an empty one stays empty, the other comes out as alone up to a gain."""
    clip = heard_in(room(0.5), words())
    both = clip.with_samples(np.hstack([clip.samples, np.zeros_like(clip.samples)]))
    out = treated(both, Dereverb(taps=10)).clip.samples
    assert not out[:, 1].any()
    assert np.corrcoef(out[:, 0], treated(clip, Dereverb(taps=10)).clip.samples[:, 0])[0, 1] > 0.9999


@pytest.mark.parametrize("rate", [22_050, 48_000])
def test_another_rate_gives_the_same_answer(rate: int) -> None:
    """The filter works in seconds: a sound at another rate is treated alike, and nothing grows above its band."""
    dry = words()
    clip = heard_in(room(0.5), dry)
    out = treated(audio.resample(clip, rate), Dereverb(taps=12)).clip
    assert c50_db(dry, audio.resample(out, RATE)) - c50_db(dry, clip) > C50_GAIN_DB
    spectrum = np.abs(np.fft.rfft(out.mono())) ** 2
    above = np.fft.rfftfreq(out.frames, 1 / rate) > 1.02 * RATE / 2
    assert 10 * np.log10(spectrum[above].sum() / spectrum.sum()) < SAME_DB


def test_the_denoiser_may_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `then_denoise_db` DeepFilterNet gets what the filter leaves and that cap; faster clips are refused."""
    asked = []

    def enhance(signal: np.ndarray, cap: float) -> np.ndarray:
        asked.append(cap)
        return signal

    monkeypatch.setattr(deepfilter, "enhance", enhance)
    clip = heard_in(room(0.5), words())
    stage = Dereverb(then_denoise_db=9)
    assert stage.models() == (deepfilter.MODEL,)
    assert STAGE.models() == ()
    out = treated(clip, stage).clip.samples
    assert asked == [9]
    assert np.allclose(out, treated(clip).clip.samples, atol=1e-4)
    with pytest.raises(ClipError, match="leave then_denoise_db out"):
        stage.apply(audio.resample(clip, 96_000), None)


def test_a_denoiser_that_takes_the_voice_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what follows would take the voice too, the filter's answer stays, and the notes say so."""
    monkeypatch.setattr(deepfilter, "enhance", lambda signal, _: 0.1 * signal)
    clip = heard_in(room(0.5), words())
    out = treated(clip, Dereverb(then_denoise_db=30))
    assert np.array_equal(out.clip.samples, treated(clip).clip.samples)
    assert "not denoised" in out.notes["warning"]


@pytest.fixture
def network() -> None:
    """Skip where the network was not fetched."""
    try:
        model_path(deepfilter.MODEL)
    except ModelMissingError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("network")
def test_the_denoiser_takes_what_is_left(shared: Path) -> None:
    """With DeepFilterNet after it, the quiet of a clip is quieter than with the filter alone, by no more than asked."""
    path = shared / "data" / "speech_real" / "vctk_16k" / "p226_003.wav"
    clip = heard_in(room(0.5), audio.decode(path.read_bytes(), path.name)[0].mono())
    alone, followed = (quietest_db(treated(clip, Dereverb(then_denoise_db=more)).clip) for more in (None, 9.0))
    assert -9 - LEVEL_TOLERANCE_DB < followed - alone < -1


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("rate", [16_000, 44_100])
def test_digital_zero_stays_through_the_denoiser(shared: Path, rate: int) -> None:
    """Where a clip is digital zero it stays so, whatever the filter and the denoiser after it would ring."""
    name = "speech_real/vctk_16k/p226_003.wav"
    speech = audio.resample(audio.decode((shared / "data" / name).read_bytes(), name)[0], rate)
    clip = speech.with_samples(np.pad(speech.samples, ((rate, rate), (0, 0))))
    out = Dereverb(taps=5, then_denoise_db=12).apply(clip, None)
    assert out.notes["taps"] == 5
    assert not out.clip.samples[:rate].any()
    assert not out.clip.samples[-rate:].any()
    assert out.clip.samples[rate:-rate].any()


def test_sound_between_digital_zeros_is_not_said_to_be_changed() -> None:
    """A clip that digital zero parts into pieces too short for the filter is passed through, and told as such."""
    clip = heard_in(room(0.5), words())
    samples = clip.samples.copy()
    for start in range(0, clip.frames, RATE // 2):
        samples[start : start + RATE // 10] = 0
    clip = clip.with_samples(samples)
    out = treated(clip, Dereverb(taps=10))
    assert out.notes["taps"] == 0
    assert "digital zero parts its sound" in out.notes["warning"]
    assert out.clip is clip


# Faults ---------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """The clips of a fault, the values expected of them, and what made them."""

    clips: list[Clip]
    values: dict[str, Any]
    maker: dict[str, Any]


@pytest.fixture
def case(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Case]:
    """Return a fault by its number."""

    def made(number: str) -> Case:
        script = shared / "cases" / "make_cases.py"
        monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path), "--only", number])
        maker = runpy.run_path(str(script))
        maker["main"]()
        expected = json.loads((tmp_path / "expectations.json").read_text(encoding="utf-8"))[number]
        clips = [audio.decode((tmp_path / name).read_bytes(), name)[0] for name in expected["files"]]
        return Case(sorted(clips, key=lambda clip: clip.frames), expected["values"], maker)

    return made


@pytest.mark.parametrize("stage", [STAGE, Dereverb(taps=10)])
def test_h21_a_gap_of_zeros_ends_nothing(case: Callable[[str], Case], stage: Dereverb) -> None:
    """H21: speech after a gap of exact zeros is finite and within 3 dB of its level, and the gap is still silent."""
    (clip,), values, _ = case("H21")
    out = treated(clip, stage).clip.samples[:, 0]
    after = values["second_part_from"]
    assert np.isfinite(out).all()
    assert rms_db(out[after:]) == pytest.approx(values["second_part_rms_db"], abs=GAP_TOLERANCE_DB)
    assert not out[round(after - 0.69 * RATE) : after].any()


@pytest.mark.parametrize("stage", [STAGE, Dereverb(taps=10)])
def test_h22_a_short_clip_is_not_eaten(case: Callable[[str], Case], stage: Dereverb) -> None:
    """H22: the short clip is passed through and said to be, and of the long one less late energy is left."""
    (short, long), values, maker = case("H22")
    out = treated(short, stage)
    assert out.clip is short
    assert "passed through" in out.notes["warning"]
    out = treated(long, stage)
    assert out.notes["taps"] > 0
    assert rms_db(out.clip.samples) > rms_db(long.samples) - values["max_drop_db"]
    dry = maker["speech"](2.5, RATE, 63)
    assert c50_db(dry, out.clip) > c50_db(dry, long)
