"""reference_eq: the spectrum of one reference for every clip, and nothing else of it."""

from __future__ import annotations

import csv
import logging
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile
from pydantic import ValidationError

from prep import audio, level, matching
from prep.clip import Clip
from prep.errors import ClipError, ConfigError, RefusedError
from prep.matching import BIN_HZ
from prep.profile import Profile, mean_profile, profile_of, store_profile
from prep.progress import Silent
from prep.run import run_study
from prep.spectrum import clip_ltas, ltas, third_octave_levels
from prep.stage import Applied, Measured
from prep.stages.reference_eq import ReferenceEq
from prep.study import load_study
from prep.table import Row

if TYPE_CHECKING:
    from collections.abc import Callable

    MakeStudy = Callable[..., Path]

RATE = 44100

MATCHERING_DB = 0.5  # dB, of the correction in third octaves from 100 Hz to 10 kHz
SAME_DB = 0.1  # dB, for a reference of another level
CREST_DB = 3.0  # dB, by which a correction of the spectrum may move the crest factor
EMPTY_DB = 1.0  # dB, by which an empty band may rise
LOUDNESS_DB = 0.5  # dB; the gating of BS.1770 is by blocks of 0.4 s, that of the filter by frames of 93 ms
FALL = 0.7  # no unit, of the distance to the profile, on average
POWER_FALL = 0.5  # no unit, as much of the power spectrum, which is not what is matched
COMPARED_HZ = (89.0, 11300.0)  # the edges of the third octaves at 100 Hz and 10 kHz
UNCAPPED = {"max_boost_db": 60.0, "max_cut_db": 60.0}


def noise(seed: int, seconds: float = 3, rate: int = RATE, power: float = 0.8, channels: int = 1) -> Clip:
    """Return noise in syllables that falls above 500 Hz, the channels alike."""
    draw = np.random.default_rng(seed)
    frames = round(seconds * rate)
    shape = 1 / (1 + np.fft.rfftfreq(frames, 1 / rate) / 500) ** power
    sound = np.fft.irfft(np.fft.rfft(draw.standard_normal(frames)) * shape, frames)
    sound *= np.clip(np.sin(2 * np.pi * 3 * np.arange(frames) / rate + seed), 1e-3, None)
    return Clip(
        np.tile((0.05 * sound / sound.std())[:, np.newaxis], channels).astype(np.float32), rate, f"noise {seed}"
    )


def applied(clip: Clip, fit: Profile | None, **settings: Any) -> Applied:
    """Return the clip treated."""
    result = ReferenceEq(**settings).apply(clip, fit)
    assert isinstance(result, Applied)
    return result


def measured(*labels: tuple[str, str]) -> list[Measured[Profile]]:
    """Return measured rows of (condition, speaker)."""
    return [
        Measured(Row(f"{a}{b}", Path(), {"condition": a, "speaker": b}), profile_of(noise(seed, 1)))
        for seed, (a, b) in enumerate(labels)
    ]


def levels(samples: np.ndarray, rate: int = RATE, band_hz: tuple[float, float] = COMPARED_HZ) -> np.ndarray:
    """Return third-octave levels of one channel in dB."""
    return third_octave_levels(*ltas(samples.astype(np.float64), rate), band_hz)[1]


def band_db(samples: np.ndarray, low_hz: float, high_hz: float, rate: int = RATE) -> float:
    """Return the power in a band in dB."""
    powers = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2
    frequencies = np.fft.rfftfreq(len(samples), 1 / rate)
    return float(10 * np.log10(powers[(frequencies >= low_hz) & (frequencies < high_hz)].sum()))


def crest_db(clip: Clip) -> float:
    """Return the crest factor in dB."""
    return float(20 * np.log10(np.abs(clip.samples).max() / np.sqrt(np.mean(clip.samples**2))))


def matcherings(target: np.ndarray, reference: np.ndarray, folder: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """Return what Matchering's public process makes of a target, its limiter and normalisation off."""
    matchering = matching._matchering()
    monkeypatch.setattr(logging.root, "disabled", True)
    for name, samples in (("target", target), ("reference", reference)):
        soundfile.write(folder / f"{name}.wav", samples, RATE, subtype="FLOAT")
    result = matchering.Result(str(folder / "result.wav"), "FLOAT", use_limiter=False, normalize=False)
    matchering.process(str(folder / "target.wav"), str(folder / "reference.wav"), [result])
    made: np.ndarray = soundfile.read(folder / "result.wav")[0][:, 0]
    return made


def assert_as_matchering(
    target: np.ndarray, reference: np.ndarray, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare the corrections, level removed."""
    theirs = matcherings(target, reference, folder, monkeypatch)
    profile = profile_of(Clip(reference[:, np.newaxis].astype(np.float32), RATE))
    ours = applied(Clip(target[:, np.newaxis].astype(np.float32), RATE), profile, **UNCAPPED)
    difference = levels(theirs) - levels(ours.clip.samples[:, 0])
    assert np.ptp(levels(theirs) - levels(target)) > 3  # there is something to correct
    assert np.abs(difference - difference.mean()).max() < MATCHERING_DB


def test_the_correction_of_noise_is_matcherings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On full-band noise the correction is that of Matchering's public process."""
    target, reference = (noise(seed, 4, power=power).mono() for seed, power in ((1, 0.6), (2, 1.2)))
    assert_as_matchering(target, reference, tmp_path, monkeypatch)


def test_the_correction_of_speech_is_matcherings(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On full-band speech of two synthesisers it is too."""
    folder = shared / "data" / "human_vs_tts" / "speko_vendors"
    names = ("en-general-01__gradium.wav", "en-general-02__hume-tts.wav")
    sounds = [audio.resample(audio.decode((folder / name).read_bytes(), name)[0], RATE).mono() for name in names]
    assert_as_matchering(*sounds, tmp_path, monkeypatch)


def test_clips_come_near_the_profile(shared: Path) -> None:
    """On real clips of many chains, the distance to their mean spectrum falls by 70 % or more on average.

    The distance of their power spectra falls too, though nothing aims at it, and no crest factor moves by over 3 dB.
    """
    with (shared / "data" / "chains.csv").open(newline="", encoding="utf-8") as file:
        paths = [shared / "data" / row["file_name"] for row in csv.DictReader(file)]
    clips = [audio.decode(path.read_bytes(), path.name)[0] for path in paths]
    profiles = [profile_of(clip) for clip in clips]
    mean = mean_profile(profiles)

    def distance(profile: Profile) -> float:
        """Return the RMS of third-octave differences in 200-7000 Hz, their mean removed."""
        both = [
            third_octave_levels(np.arange(len(item.levels_db)) * BIN_HZ, item.spectrum().amplitudes ** 2)[1]
            for item in (profile, mean)
        ]
        return float(np.std(both[0] - both[1]))

    def power_distance(clip: Clip) -> float:
        """Return the same of the long-term average power over active frames."""
        return float(np.std(third_octave_levels(*clip_ltas(clip))[1] - averaged))

    averaged = third_octave_levels(np.arange(len(mean.levels_db)) * BIN_HZ, mean.spectrum().amplitudes ** 2)[1]
    treated = [applied(clip, mean).clip for clip in clips]
    falls = [
        1 - distance(profile_of(after)) / distance(before) for after, before in zip(treated, profiles, strict=True)
    ]
    assert np.mean(falls) >= FALL
    assert min(falls) > 0
    power_falls = [
        1 - power_distance(after) / power_distance(before) for after, before in zip(treated, clips, strict=True)
    ]
    assert np.mean(power_falls) >= POWER_FALL
    assert min(power_falls) > 0
    moved = [abs(crest_db(after) - crest_db(before)) for after, before in zip(treated, clips, strict=True)]
    assert max(moved) <= CREST_DB


@pytest.mark.parametrize("scale", [0.1, 0.001])
def test_the_level_of_the_reference_does_not_count(scale: float) -> None:
    """A reference at a tenth and at a thousandth of its level gives the same samples within 0.1 dB."""
    clip, reference = noise(3), noise(4, power=1.5)
    quiet = reference.with_samples(reference.samples * scale)
    one, other = (applied(clip, profile_of(item)).clip.samples for item in (reference, quiet))
    assert np.abs(one - other).max() < (10 ** (SAME_DB / 20) - 1) * np.sqrt(np.mean(one**2))


@pytest.mark.parametrize("power", [0.3, 1.6])
def test_level_and_crest_factor_stay(power: float) -> None:
    """The clip keeps its loudness, and its crest factor within 3 dB."""
    clip = noise(5)
    result = applied(clip, profile_of(noise(6, power=power)))
    assert result.notes["mean_correction_db"] > 1
    assert level.integrated_lufs(result.clip) == pytest.approx(level.integrated_lufs(clip), abs=LOUDNESS_DB)
    assert crest_db(result.clip) == pytest.approx(crest_db(clip), abs=CREST_DB)


def test_a_correction_that_moves_the_crest_factor_is_scaled_down() -> None:
    """Where the correction would move the crest factor too far, by a click that it lifts, less is applied, and told."""
    clip = noise(5, power=1.6)
    samples = clip.samples.copy()
    samples[RATE, 0] += 0.3  # a click is all treble
    clip = clip.with_samples(samples)
    bright = profile_of(noise(6, power=0.2))
    whole = applied(clip, bright, max_crest_change_db=60)
    assert abs(crest_db(whole.clip) - crest_db(clip)) > 2 * CREST_DB
    assert whole.notes["applied_percent"] == 100
    result = applied(clip, bright)
    assert CREST_DB / 2 < abs(crest_db(result.clip) - crest_db(clip)) <= CREST_DB
    assert result.notes["crest_change_db"] == pytest.approx(crest_db(result.clip) - crest_db(clip), abs=0.01)
    assert 10 < result.notes["applied_percent"] < 90
    assert level.integrated_lufs(result.clip) == pytest.approx(level.integrated_lufs(clip), abs=LOUDNESS_DB)
    assert result.notes["largest_boost_db"] < whole.notes["largest_boost_db"]


def test_an_empty_band_is_not_lifted() -> None:
    """A 16 kHz clip brought to 44.1 kHz gets nothing above 8 kHz from a reference that has much there."""
    narrow = audio.resample(noise(7, rate=16000), RATE)
    draw = np.random.default_rng(8)
    floor = 1e-5 * draw.standard_normal(narrow.samples.shape)  # a band is empty, but not of what a file rounds
    clip = narrow.with_samples(narrow.samples + floor)
    result = applied(clip, profile_of(noise(9, power=0.1)))
    before, after = (band_db(item.samples[:, 0], 8500, 22000) for item in (clip, result.clip))
    assert result.notes["largest_boost_db"] > 3
    assert after - before < EMPTY_DB


def test_nothing_is_boosted_below_a_high_pass() -> None:
    """A clip without anything below 250 Hz gets nothing there from a reference that has much."""
    clip = noise(10)
    spectrum = np.fft.rfft(clip.samples, axis=0)
    spectrum[: round(250 * clip.seconds)] *= 1e-4
    clip = clip.with_samples(np.fft.irfft(spectrum, clip.frames, axis=0))
    result = applied(clip, profile_of(noise(11, power=2.0)))
    before, after = (band_db(item.samples[:, 0], 20, 200) for item in (clip, result.clip))
    assert result.notes["largest_boost_db"] > 1
    assert after - before < EMPTY_DB


def test_the_caps_are_kept_and_told() -> None:
    """No frequency is boosted or cut by more than the caps, and the notes tell what was wanted and how often."""
    clip, profile = noise(12), profile_of(noise(13, power=3.0))
    result = applied(clip, profile, max_boost_db=2, max_cut_db=4)
    assert result.notes["capped"] is True
    assert (result.notes["largest_boost_db"], result.notes["largest_cut_db"]) == (2, 4)
    assert result.notes["wanted_boost_db"] > 2
    assert result.notes["wanted_cut_db"] > 4
    assert 0 < result.notes["capped_percent"] <= 100
    change = levels(result.clip.samples[:, 0]) - levels(clip.samples[:, 0])
    assert change.max() < 2 + SAME_DB
    assert change.min() > -4 - SAME_DB
    free = applied(clip, profile_of(noise(14)))
    assert (free.notes["capped"], free.notes["capped_percent"]) == (False, 0)


def test_a_clip_like_the_reference_stays_as_it_is() -> None:
    """A clip matched to itself gets no correction."""
    clip = noise(15)
    result = applied(clip, profile_of(clip))
    assert result.notes["mean_correction_db"] < SAME_DB
    assert np.abs(levels(result.clip.samples[:, 0]) - levels(clip.samples[:, 0])).max() < SAME_DB


@pytest.mark.parametrize("channels", [1, 2])
def test_silence_passes_unchanged(channels: int) -> None:
    """Digital silence is the same digital silence, and noted."""
    silence = Clip(np.zeros((4000, channels), np.float32), 16000)
    result = applied(silence, profile_of(noise(16)))
    assert result.clip is silence
    assert result.notes == {"silent": True}


@pytest.mark.parametrize("seconds", [0.06, 0.09, 0.1, 0.15, 0.3, 1.0])
@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
def test_short_clips_are_treated(seconds: float, rate: int) -> None:
    """A clip of 60 ms or more comes out with its frames, in time, and brighter where the reference is."""
    word = np.hanning(round(seconds * rate))[:, np.newaxis]  # a word comes and goes; it is not cut off
    clip = Clip(word * noise(17, 2, rate, power=1.5).samples[: len(word)], rate)
    result = applied(clip, profile_of(noise(18, power=0.5))).clip
    assert result.samples.shape == clip.samples.shape
    spectra = np.fft.rfft(result.mono(), 2 * clip.frames) * np.conj(np.fft.rfft(clip.mono(), 2 * clip.frames))
    assert np.argmax(np.fft.irfft(spectra)) == 0
    tilt = [band_db(item.mono(), 2000, 3500, rate) - band_db(item.mono(), 300, 800, rate) for item in (clip, result)]
    assert tilt[1] > tilt[0]


def test_shorter_clips_are_refused() -> None:
    """A clip below 60 ms has no spectrum to match, and is turned down with its length."""
    with pytest.raises(ClipError, match=r"too short for a spectrum: 0\.059 s"):
        applied(noise(19, 0.059), profile_of(noise(20)))


def test_no_channel_reaches_another() -> None:
    """All channels get one filter: a silent one stays silent, and a balance stays as it is."""
    left = noise(21)
    stereo = left.with_samples(np.hstack([left.samples, np.zeros_like(left.samples), 0.25 * left.samples]))
    treated = applied(stereo, profile_of(noise(22, power=1.5))).clip.samples
    assert not treated[:, 1].any()
    assert treated[:, 2] == pytest.approx(0.25 * treated[:, 0], abs=1e-7)


# The reference ------------------------------------------------------------------------------------


def test_what_is_learned_from_depends_on_the_reference(tmp_path: Path) -> None:
    """The mean of all clips learns no label, some rows or some treated ones do, and a file teaches nothing."""
    soundfile.write(tmp_path / "a.wav", noise(1).samples, RATE)
    assert ReferenceEq().fits_on() == "every clip"
    assert ReferenceEq(towards={"condition": "human"}).fits_on() == "labels"
    assert ReferenceEq(only={"condition": "human"}).fits_on() == "labels"
    assert ReferenceEq(files=[str(tmp_path / "a.wav")]).fits_on() == "nothing"
    assert ReferenceEq(towards={"condition": "human"}).selections() == [("towards", {"condition": "human"})]


def test_the_fit_is_the_mean_of_its_rows() -> None:
    """The profile is the mean of all rows, or of those in `towards`."""
    items = measured(("human", "a"), ("human", "b"), ("synthetic", "c"))
    assert ReferenceEq().fit(items) == mean_profile([item.value for item in items])
    assert ReferenceEq(towards={"condition": "human"}).fit(items) == mean_profile([item.value for item in items[:2]])


def test_a_reference_without_clips_is_refused() -> None:
    """Rows of which no clip is left are refused with the field that names them."""
    with pytest.raises(RefusedError, match="no clip is left in the rows of `towards`"):
        ReferenceEq(towards={"condition": "synthetic"}).fit(measured(("human", "a")))


def test_two_references_are_refused() -> None:
    """More than one kind of reference is refused, and both are named."""
    with pytest.raises(ValidationError, match="profile and towards are all references"):
        ReferenceEq(profile="p.json", towards={"condition": "human"})


def test_files_and_their_stored_profile_are_one_reference(tmp_path: Path) -> None:
    """Files, and the profile stored of them, give the same samples and the same identity; other files another."""
    for name, seed in (("a", 1), ("b", 2), ("c", 3)):
        soundfile.write(tmp_path / f"{name}.wav", noise(seed, power=1.2).samples, RATE, subtype="FLOAT")
    two = [str(tmp_path / "a.wav"), str(tmp_path / "b.wav")]
    store_profile(ReferenceEq(files=two).reference(None), tmp_path / "p.json")
    stages = [
        ReferenceEq(files=two),
        ReferenceEq(profile=str(tmp_path / "p.json")),
        ReferenceEq(files=[str(tmp_path / "c.wav")]),
    ]
    clip = noise(23)
    sounds = [stage.apply(clip, None).clip.samples.tobytes() for stage in stages]  # type: ignore[union-attr]
    assert sounds[0] == sounds[1] != sounds[2]
    identities = [stage.identity() for stage in stages]
    assert identities[0] == identities[1] != identities[2]
    assert "a.wav" not in str(identities[0])


def test_a_measured_reference_goes_to_the_workers(tmp_path: Path) -> None:
    """A stage that was sent to another process needs its file no more."""
    soundfile.write(tmp_path / "a.wav", noise(1).samples, RATE)
    stage = ReferenceEq(files=[str(tmp_path / "a.wav")])
    (tmp_path / "a.wav").unlink()
    sent = pickle.loads(pickle.dumps(stage))  # noqa: S301 - our own
    assert sent.apply(noise(24), None).clip.samples.any()
    assert sent.identity() == stage.identity()


def study_text(step: str) -> str:
    """Return a config with the stage on its line 4."""
    return f"study: s\nclips: {{table: clips.csv}}\nchain:\n  - reference_eq: {step}\n  - encode: {{codec: flac}}\n"


def test_files_are_relative_to_the_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference is found beside the config wherever prep is started, and stands in the record as written."""
    (tmp_path / "refs").mkdir()
    soundfile.write(tmp_path / "refs" / "a.wav", noise(1).samples, RATE)
    (tmp_path / "study.yaml").write_text(study_text("{files: [refs/a.wav]}"), encoding="utf-8")
    monkeypatch.chdir(tmp_path.parent)
    loaded = load_study(tmp_path / "study.yaml")
    (step, _) = loaded.study.chain
    assert isinstance(step, ReferenceEq)
    assert step.reference(None).sources[0].name == "a.wav"
    assert loaded.study.resolved()["chain"][0]["reference_eq"]["files"] == ["refs/a.wav"]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{files: [none.wav]}", "none.wav: there is no such file"),
        ("{profile: none.json}", "none.json: No such file"),
        ("{profile: study.yaml}", "no profile"),
        ("{files: [$NOT_SET_ANYWHERE/a.wav]}", "NOT_SET_ANYWHERE is not set"),
    ],
)
def test_a_reference_that_is_not_there_is_a_problem_of_the_config(step: str, said: str, tmp_path: Path) -> None:
    """A file that cannot be the reference is told with the config's line, before any clip is read."""
    (tmp_path / "study.yaml").write_text(study_text(step), encoding="utf-8")
    with pytest.raises(ConfigError) as refusal:
        load_study(tmp_path / "study.yaml")
    assert "study.yaml:4: chain.0.reference_eq: " in str(refusal.value)
    assert said in str(refusal.value)


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("towards", [None, {"condition": "synthetic"}])
def test_a_study_fits_what_it_may(make_study: MakeStudy, towards: dict[str, str] | None) -> None:
    """A run matches every clip; towards a condition, the evidence is fitted on the fit split alone."""
    step = {"towards": towards} if towards else {}
    chain = [{"reference_eq": step}, {"shared_gain": {"target_lufs": -30}}, {"encode": {"codec": "flac"}}]
    record = run_study(make_study(chain=chain, audit={"cues": ["tilt"]}), progress=Silent()).record
    assert record["counts"] == {"delivered": 16}
    fits = {branch: held.get("reference_eq", {}).get("clips") for branch, held in record["fits"].items()}
    assert fits["release"] == (8 if towards else 16)
    if towards:
        assert 0 < fits["evidence"] < 8
    assert all(clip["stages"]["reference_eq"]["mean_correction_db"] > 0 for clip in record["clips"])


def test_a_chain_without_it_does_not_import_matchering(tmp_path: Path) -> None:
    """Naming the stages and loading a study that matches to its own clips imports nothing of Matchering."""
    (tmp_path / "study.yaml").write_text(study_text("{}"), encoding="utf-8")
    program = (
        "import sys; from pathlib import Path; from prep.study import load_study; "
        "load_study(Path(sys.argv[1])); "
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'matchering', 'statsmodels', 'pandas', 'numba'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "study.yaml")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
