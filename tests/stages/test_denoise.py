"""denoise: noise goes by no more than the cap, and the voice, its breaths and its level stay."""

from __future__ import annotations

import csv
import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import butter, sosfilt, sosfiltfilt

from prep import audio, deepfilter, level
from prep.clip import Clip
from prep.errors import ClipError, RefusedError
from prep.models import ModelMissingError, model_path
from prep.pauses import noise_floor_dbfs, noise_tilt_db_per_octave
from prep.stage import Applied, Measured, Rejected
from prep.stages.denoise import Denoise, FloorFit, FloorMeasure
from prep.table import Row

RATE = 48_000
GATE = Denoise(method="spectral_gate")

FLOOR, SPEECH, BREATH = 5e-4, 0.05, 5e-3  # full scale: RMS of the room, of the words, of a breath
BREATH_TOLERANCE_DB = 0.1  # the rule holds in frames of 20 ms, and is measured over more
CAP_TOLERANCE_DB = 0.2  # in 50 ms: a denoiser's noise of its own
FLOOR_TOLERANCE_DB = 0.5  # of a floor measured again
LEVEL_TOLERANCE_DB = 0.3  # of speech, for any stage
EXACT_DB = 0.01  # the same gain everywhere can be told exactly
CLEAN_SI_SDR_DB, CLEAN_LEVEL_DB, SAME_DB = 15.0, 1.0, -60.0  # what a clean clip may lose; how alike its copies stay
EDGE_TOLERANCE_DB = 1.0  # of the lowest 200 Hz, of which the gate's library alone takes 2 to 3 dB
HIGHEST_TOLERANCE_DB = 1.0  # a transform that keeps the whole band rings there before a word
TILT_TOLERANCE = 0.3  # dB/octave: of the same noise, heard in other frames
VOICE_TOLERANCE_DB = 0.1  # of a voice whose noise went: what is left of it counts a little
CONTEXT_SECONDS = 3.0  # before and after an annotated breath
LESS_NOISE_DB = 3.0  # at least, at 10 dB SNR: far less than the network does


def noise(seconds: float, rms: float, seed: int = 0, rate: int = RATE) -> np.ndarray:
    """Return noise of one level, falling by 6 dB/octave above 500 Hz."""
    frames = round(seconds * rate)
    frequencies = np.fft.rfftfreq(frames, 1 / rate)
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(frames)) / (1 + frequencies / 500)
    spectrum[frequencies < 100] = 0
    sound = np.fft.irfft(spectrum, frames)
    scaled: np.ndarray = rms * sound / sound.std()
    return scaled


def takes(floor: float = FLOOR, breath: float = BREATH, seed: int = 0, rate: int = RATE) -> Clip:
    """Return words at 0.5-1.5 s and 2.5-3.5 s, a breath at 1.8-2.1 s, and a room under all 4 s."""
    pieces = [(0.5, 0.0), (1.0, SPEECH), (0.3, 0.0), (0.3, breath), (0.4, 0.0), (1.0, SPEECH), (0.5, 0.0)]
    sound = np.concatenate([noise(seconds, rms, seed + i, rate) for i, (seconds, rms) in enumerate(pieces)])
    return Clip((sound + noise(4.0, floor, seed + 99, rate))[:, np.newaxis], rate, "takes")


def treated(clip: Clip, stage: Denoise, fit: FloorFit | None = None) -> Applied:
    """Return what the stage makes of a clip."""
    result = stage.apply(clip, fit)
    assert isinstance(result, Applied), result
    return result


def lost_db(before: Clip, after: Clip, first: float, last: float) -> float:
    """Return by how much a stretch of a clip became quieter."""
    span = slice(round(first * before.rate), round(last * before.rate))
    powers = [float(np.mean(np.square(clip.samples[span], dtype=float))) for clip in (before, after)]
    return 10 * float(np.log10(powers[0] / powers[1]))


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a denoiser in place of DeepFilterNet that takes all but the words: breaths too."""

    def enhance(signal: np.ndarray, max_attenuation_db: float) -> np.ndarray:
        seconds = np.arange(len(signal)) / RATE
        words = ((seconds > 0.5) & (seconds < 1.5)) | ((seconds > 2.5) & (seconds < 3.5))
        return signal * np.where(words, 1.0, 10 ** (-max_attenuation_db / 20))

    monkeypatch.setattr(deepfilter, "enhance", enhance)


def keeping(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Put a denoiser in place of DeepFilterNet that keeps the same share of everything."""
    monkeypatch.setattr(deepfilter, "enhance", lambda signal, _: share * signal)


@pytest.fixture
def network() -> None:
    """Skip where DeepFilterNet was not fetched."""
    try:
        model_path(deepfilter.MODEL)
    except ModelMissingError as error:
        pytest.skip(str(error))


@pytest.fixture
def voice(shared: Path) -> Clip:
    """Return a real utterance."""
    path = shared / "data" / "speech_real" / "vctk_16k" / "p226_003.wav"
    return audio.decode(path.read_bytes(), path.name)[0]


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("breath", [0.002, BREATH, 0.007])
def test_a_breath_loses_little_and_the_noise_all_that_it_may(breath: float) -> None:
    """A sound in a pause loses 2 dB at most, the noise 0.15 s away from it as much as the cap says."""
    clip = takes(breath=breath)
    out = treated(clip, Denoise(max_attenuation_db=12)).clip
    assert 0 < lost_db(clip, out, 1.8, 2.1) <= 2 + BREATH_TOLERANCE_DB
    assert lost_db(clip, out, 0.1, 0.4) == pytest.approx(12, abs=CAP_TOLERANCE_DB)
    assert lost_db(clip, out, 2.25, 2.4) == pytest.approx(12, abs=CAP_TOLERANCE_DB)


@pytest.mark.usefixtures("eager")
def test_the_loss_of_a_breath_is_a_setting() -> None:
    """With `breath_loss_db: 0` a breath loses nothing, with a high one as much as the denoiser takes."""
    clip = takes()
    assert lost_db(clip, treated(clip, Denoise(breath_loss_db=0)).clip, 1.85, 2.05) == pytest.approx(0, abs=0.01)
    assert lost_db(clip, treated(clip, Denoise(breath_loss_db=60)).clip, 1.85, 2.05) > 15


def test_noise_in_pauses_keeps_its_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """A denoiser that takes only the low half of the noise leaves pauses as quiet, in the colour that they had."""
    low = butter(4, 1500, "lowpass", fs=RATE, output="sos")
    words = slice(round(0.5 * RATE), round(3.5 * RATE))

    def enhance(signal: np.ndarray, _: float) -> np.ndarray:
        left = signal - 0.9 * sosfiltfilt(low, signal)
        left[words] = signal[words]
        return left

    monkeypatch.setattr(deepfilter, "enhance", enhance)
    clip = takes(breath=0)
    out = treated(clip, Denoise()).clip
    assert lost_db(clip, out, 0.1, 0.4) > LESS_NOISE_DB
    assert noise_tilt_db_per_octave(out) == pytest.approx(noise_tilt_db_per_octave(clip), abs=TILT_TOLERANCE)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("rate", [16_000, 22_050, 44_100])
def test_noise_falls_up_to_the_end_of_the_band(rate: int) -> None:
    """Noise in the last 2% below half the rate falls as much as the rest."""
    clip = takes(breath=0, rate=rate)
    out = treated(clip, Denoise()).clip
    highest = butter(4, 0.98, "highpass", output="sos")
    before, after = (sound.with_samples(sosfiltfilt(highest, sound.samples, axis=0)) for sound in (clip, out))
    assert lost_db(before, after, 0.1, 0.4) == pytest.approx(18, abs=HIGHEST_TOLERANCE_DB)


@pytest.mark.usefixtures("eager")
def test_noise_nearly_as_loud_as_speech_is_no_breath() -> None:
    """Where noise lies 10 dB below the words, it loses as much as the cap says."""
    clip = takes(floor=SPEECH * 10**-0.5, breath=0)
    assert lost_db(clip, treated(clip, Denoise()).clip, 0.1, 0.4) == pytest.approx(18, abs=CAP_TOLERANCE_DB)


@pytest.mark.parametrize("method", ["deepfilter", "spectral_gate"])
@pytest.mark.usefixtures("eager")
def test_digital_zero_stays_digital_zero(method: str) -> None:
    """Where the source is exactly zero for 5 ms and more, so is what comes out; single zeros are sound."""
    clip = takes()
    samples = clip.samples.copy()
    samples[round(0.1 * RATE) : round(0.2 * RATE)] = 0
    samples[round(0.3 * RATE) : round(0.35 * RATE) : 2] = 0
    out = treated(clip.with_samples(samples), Denoise.model_validate({"method": method})).clip.samples
    assert not out[round(0.1 * RATE) : round(0.2 * RATE)].any()
    assert np.count_nonzero(out[round(0.305 * RATE) : round(0.345 * RATE)]) >= 0.5 * 0.04 * RATE


def test_the_voice_gets_its_level_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A denoiser that takes 1 dB off everything changes nothing, and the notes say what was given back."""
    keeping(monkeypatch, 10 ** (-1 / 20))
    clip = takes()
    out = treated(clip, Denoise(breath_loss_db=60))
    assert out.notes["gain_restored_db"] == pytest.approx(1, abs=EXACT_DB)
    assert np.allclose(out.clip.samples, clip.samples, atol=1e-5)


@pytest.mark.parametrize("cap_db", [6.0, 12.0, 18.0])
@pytest.mark.parametrize("pause_seconds", [0.0, 10.0])
def test_noise_that_went_is_no_loss_of_the_voice(
    monkeypatch: pytest.MonkeyPatch, pause_seconds: float, cap_db: float
) -> None:
    """Where noise goes and the voice stays, nothing is given back, however long the pauses and small the cap."""
    clip = takes(floor=SPEECH * 10**-0.5, breath=0)
    pause = SPEECH * 10**-0.5 * np.random.default_rng(5).standard_normal((round(pause_seconds * RATE), 1))
    clip = clip.with_samples(np.concatenate([clip.samples, pause]))
    words = round(0.5 * RATE), round(3.5 * RATE)

    def taken_away(given: Clip, most_db: float, _: str) -> np.ndarray:
        away = (1 - 10 ** (-most_db / 20)) * given.samples.astype(np.float64)
        away[slice(*words)] = 0
        return away

    monkeypatch.setattr(deepfilter, "taken_away", taken_away)
    out = treated(clip, Denoise(max_attenuation_db=cap_db))
    assert out.notes["gain_restored_db"] == pytest.approx(0, abs=VOICE_TOLERANCE_DB)


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("cap_db", [6.0, 18.0])
def test_a_real_voice_keeps_its_level_between_long_pauses(shared: Path, cap_db: float) -> None:
    """Real speech with noise 10 dB below it, and 16 s of the noise about it, comes out at its own level."""
    name = "speech_real/vctk_16k/p226_003.wav"
    speech, _ = audio.decode((shared / "data" / name).read_bytes(), name)
    voice = np.pad(speech.mono(), 8 * speech.rate)
    noise = np.random.default_rng(6).standard_normal(len(voice))
    noise *= 10 ** ((level.active_level(speech).active_level_dbov - 10) / 20)  # type: ignore[union-attr]
    clip = speech.with_samples((voice + noise)[:, np.newaxis])
    out = treated(clip, Denoise(max_attenuation_db=cap_db)).clip.mono()
    assert 20 * np.log10(out @ voice / (voice @ voice)) == pytest.approx(0, abs=LEVEL_TOLERANCE_DB)


def test_a_denoiser_that_takes_the_voice_fails_the_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clip whose voice loses more than the limit is rejected with the number and the limit."""
    keeping(monkeypatch, 10 ** (-4 / 20))
    result = Denoise().apply(takes(), None)
    assert isinstance(result, Rejected)
    assert result.value == pytest.approx(4, abs=EXACT_DB)
    assert result.limit == 3
    assert isinstance(Denoise(max_level_loss_db=5).apply(takes(), None), Applied)


def measured(*floors: tuple[str, float | None]) -> list[Measured[FloorMeasure]]:
    """Return what fit gets of clips (condition, floor)."""
    return [
        Measured(Row(f"{place}.wav", Path(), {"condition": condition}), FloorMeasure(floor_db=floor))
        for place, (condition, floor) in enumerate(floors)
    ]


TOWARDS = Denoise(floor_towards={"condition": "synthetic"})


def test_the_floor_is_the_median_of_the_named_rows() -> None:
    """Only rows of `floor_towards` count, and only those with a floor; without any the set is refused."""
    fit = TOWARDS.fit(measured(("human", -20), ("synthetic", -50), ("synthetic", None), ("synthetic", -40)))
    assert (fit.floor_db, fit.clips) == (-45, 2)
    assert TOWARDS.fits_on() == "labels"
    assert Denoise().fits_on() == "nothing"
    assert TOWARDS.selections() == [("floor_towards", {"condition": "synthetic"})]
    with pytest.raises(RefusedError, match="name other rows"):
        TOWARDS.fit(measured(("human", -20), ("synthetic", None)))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("wanted", [-30.0, -44.0, -50.0, -90.0])
def test_no_pause_is_pushed_below_the_floor(wanted: float) -> None:
    """The floor of a clip, 40 dB under its speech, falls to the one it is bound by and not below, nor past the cap."""
    clip = takes(breath=0)
    before = TOWARDS.measure(clip).floor_db
    assert before is not None
    out = treated(clip, TOWARDS, FloorFit(floor_db=wanted, clips=3))
    after = TOWARDS.measure(out.clip).floor_db
    assert after is not None
    assert after >= min(wanted, before) - FLOOR_TOLERANCE_DB
    assert after == pytest.approx(np.clip(wanted, before - 18, before), abs=FLOOR_TOLERANCE_DB)
    if wanted > before:
        assert out.clip is clip


@pytest.mark.usefixtures("eager")
def test_a_clip_without_a_floor_is_bound_too() -> None:
    """A noisy clip has no floor that could be told: it is taken for 15.9 dB under its speech, and a tiny one left."""
    noisy = takes(floor=SPEECH * 10**-0.5, breath=0)
    assert TOWARDS.measure(noisy).floor_db is None
    fit = FloorFit(floor_db=-20, clips=3)
    assert treated(noisy, TOWARDS, fit).notes["max_attenuation_db"] == pytest.approx(4.1)
    tiny = Clip(noise(0.02, SPEECH)[:, np.newaxis].astype(np.float32), RATE, "tiny")
    assert treated(tiny, TOWARDS, fit).clip is tiny


def test_fast_clips_are_for_the_gate() -> None:
    """A clip at 96 kHz is refused by DeepFilterNet, which hears no noise above 24 kHz; the gate takes it."""
    clip = takes(rate=96_000)
    with pytest.raises(ClipError, match="method: spectral_gate"):
        Denoise().apply(clip, None)
    assert lost_db(clip, treated(clip, GATE).clip, 0.1, 0.4) > LESS_NOISE_DB


@pytest.mark.parametrize("rate", [16_000, 22_050, 48_000])
@pytest.mark.parametrize("floor", [FLOOR, SPEECH / 10])
def test_the_gate_keeps_to_the_cap_and_to_the_band(rate: int, floor: float) -> None:
    """The gate takes no more than the cap off the pauses, and spares the lowest and the highest 200 Hz of the words."""
    clip = takes(floor=floor, breath=0, rate=rate)
    out = treated(clip, Denoise(method="spectral_gate", max_attenuation_db=12)).clip
    pauses = [lost_db(clip, out, first, first + 0.05) for first in np.arange(0.05, 0.4, 0.05)]
    assert 8 < min(pauses) <= max(pauses) <= 12 + CAP_TOLERANCE_DB
    words = slice(round(0.5 * rate), round(1.5 * rate))
    spectra = [np.abs(np.fft.rfft(sound.samples[words, 0])) ** 2 for sound in (clip, out)]
    if floor == FLOOR:
        lowest = 10 * np.log10(spectra[0][100:300].sum() / spectra[1][100:300].sum())
        assert abs(lowest) < EDGE_TOLERANCE_DB


def test_the_gate_needs_quiet() -> None:
    """A clip that is nowhere quiet long enough is refused by the gate, with the way out."""
    swell = 10 ** (np.sin(2 * np.pi * 12 * np.arange(RATE) / RATE) - 1)
    words = Clip((noise(1.0, SPEECH) * swell)[:, np.newaxis].astype(np.float32), RATE, "words")
    with pytest.raises(ClipError, match="use method: deepfilter"):
        GATE.apply(words, None)


def test_silence_passes_and_what_is_no_number_does_not() -> None:
    """Digital silence is left as it is, with a warning; a sample that is not finite is refused."""
    silence = Clip(np.zeros((RATE, 2), np.float32), RATE, "silence")
    out = treated(silence, GATE)
    assert out.clip is silence
    assert "silent" in out.notes["warning"]
    with pytest.raises(ClipError, match="not finite"):
        GATE.apply(Clip(np.full((RATE, 1), np.nan, np.float32), RATE, "odd"), None)


# What the network holds ---------------------------------------------------------------------------


@pytest.mark.usefixtures("network")
def test_a_clean_voice_stays(voice: Clip) -> None:
    """A clean recording keeps its length, its time, its level to 0.3 dB and its waveform to 15 dB SI-SDR."""
    out = treated(voice, Denoise()).clip
    assert out.samples.shape == voice.samples.shape
    size = 2 * voice.frames
    assert np.argmax(np.fft.irfft(np.fft.rfft(out.mono(), size) * np.conj(np.fft.rfft(voice.mono(), size)))) == 0
    assert abs(level_change_db(voice, out)) < LEVEL_TOLERANCE_DB
    assert si_sdr_db(voice.mono(), out.mono()) > CLEAN_SI_SDR_DB


@pytest.mark.usefixtures("network")
def test_noise_under_a_voice_falls_and_the_voice_does_not(voice: Clip) -> None:
    """At 10 dB SNR there is less noise afterwards, in the voice's own level, and pauses lose no more than the cap."""
    pause = np.zeros(round(0.8 * voice.rate))
    clean = np.concatenate([pause, voice.mono(), pause])
    loud = 0.3 * float(np.sqrt(np.mean(np.square(voice.mono()))))
    noisy = Clip((clean + noise(len(clean) / voice.rate, loud, 3, voice.rate))[:, np.newaxis], voice.rate, "noisy")
    out = treated(noisy, Denoise(max_attenuation_db=12)).clip
    assert si_sdr_db(clean, out.mono()) - si_sdr_db(clean, noisy.mono()) > LESS_NOISE_DB
    kept = 20 * np.log10(np.dot(out.mono(), clean) / np.dot(noisy.mono(), clean))
    assert abs(kept) < LEVEL_TOLERANCE_DB
    for first in np.arange(0.3, 0.75, 0.05):
        assert 6 < lost_db(noisy, out, first, first + 0.05) < 12 + CAP_TOLERANCE_DB


# tests/breaths.csv was annotated by eye, from spectrograms of pauses: intakes of breath of people of several corpora.
BREATHS = list(csv.DictReader((Path(__file__).parents[1] / "breaths.csv").read_text(encoding="utf-8").splitlines()))


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("method", ["deepfilter", "spectral_gate"])
@pytest.mark.parametrize("name", list(dict.fromkeys(row["file_name"] for row in BREATHS)))
def test_a_real_breath_loses_little(shared: Path, name: str, method: str) -> None:
    """An annotated breath loses 2 dB at most, wherever the clip can be treated."""
    stage = Denoise.model_validate({"method": method})
    whole, _ = audio.decode((shared / "data" / name).read_bytes(), name)
    for row in (row for row in BREATHS if row["file_name"] == name):
        first, last = float(row["start_seconds"]), float(row["end_seconds"])
        begin = max(first - CONTEXT_SECONDS, 0)
        samples = whole.samples[round(begin * whole.rate) : round((last + CONTEXT_SECONDS) * whole.rate)]
        clip = whole.with_samples(samples)
        try:
            result = stage.apply(clip, None)
        except ClipError as error:
            assert method == "spectral_gate"
            assert "the gate learns the noise from" in str(error)  # noqa: PT017
            continue
        assert isinstance(result, Applied), row
        loss = lost_db(above_rumble(clip), above_rumble(result.clip), first - begin, last - begin)
        assert loss <= 2, row


def above_rumble(clip: Clip) -> Clip:
    """Return a clip without what is below 80 Hz, which is no breath."""
    return clip.with_samples(sosfilt(butter(2, 80, "highpass", fs=clip.rate, output="sos"), clip.samples, axis=0))


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("seconds", [0.02, 0.06, 0.3])
def test_short_clips_are_finite(voice: Clip, seconds: float) -> None:
    """A clip of 20 ms and more comes out finite and as long as it was."""
    short = voice.with_samples(voice.samples[voice.rate : voice.rate + round(seconds * voice.rate)])
    result = Denoise(max_level_loss_db=60).apply(short, None)
    assert isinstance(result, Applied)
    assert result.clip.samples.shape == short.samples.shape
    assert np.isfinite(result.clip.samples).all()


def level_change_db(before: Clip, after: Clip) -> float:
    """Return the change of the active level."""
    levels = [level.active_level(clip) for clip in (before, after)]
    assert levels[0] is not None
    assert levels[1] is not None
    return levels[1].active_level_dbov - levels[0].active_level_dbov


def si_sdr_db(reference: np.ndarray, heard: np.ndarray) -> float:
    """Return the scale-invariant ratio of a sound to what is wrong in another, dB."""
    scaled = reference * np.dot(reference, heard) / np.dot(reference, reference)
    return 10 * float(np.log10(np.sum(scaled**2) / max(float(np.sum((heard - scaled) ** 2)), 1e-20)))


@pytest.fixture
def clean_copies(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Clip]:
    """Return one clean clip as PCM16, PCM24 and float."""
    script = shared / "cases" / "make_cases.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path), "--only", "H23"])
    runpy.run_path(str(script))["main"]()
    files = json.loads((tmp_path / "expectations.json").read_text(encoding="utf-8"))["H23"]["files"]
    return [audio.decode((tmp_path / name).read_bytes(), name)[0] for name in files]


@pytest.mark.parametrize("method", ["deepfilter", "spectral_gate"])
def test_h23_clean_in_clean_out(clean_copies: list[Clip], method: str, request: pytest.FixtureRequest) -> None:
    """H23: a clean clip stays so, and its copies of three sample types come out alike."""
    if method == "deepfilter":
        request.getfixturevalue("network")
    stage = Denoise.model_validate({"method": method})
    outs = [treated(clip, stage).clip for clip in clean_copies]
    for clip, out in zip(clean_copies, outs, strict=True):
        assert out.frames == clip.frames
        assert si_sdr_db(clip.mono(), out.mono()) > CLEAN_SI_SDR_DB
        assert abs(level_change_db(clip, out)) < CLEAN_LEVEL_DB
    for out in outs[1:]:
        apart = float(np.mean((out.mono() - outs[0].mono()) ** 2) / np.mean(outs[0].mono() ** 2))
        assert 10 * np.log10(max(apart, 1e-30)) < SAME_DB


def test_a_measured_floor_is_that_of_the_cue() -> None:
    """The floor is that of the pauses over the active level, and none for a clip that is nowhere quiet."""
    clip = takes()
    active = level.active_level(clip)
    assert active is not None
    assert Denoise().measure(clip).floor_db == noise_floor_dbfs(clip) - active.active_level_dbov
