"""Specification of the stage shared_gain."""

from __future__ import annotations

import csv
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from prep.clip import Clip
from prep.errors import ClipError, RefusedError
from prep.level import gain, integrated_lufs, set_loudness, true_peak_dbtp
from prep.stage import Applied, Measured, Rejected
from prep.stages.shared_gain import GainFit, GainMeasure, SharedGain
from prep.table import Row

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"

RATE = 44100
DIFFERENCE_TOLERANCE_DB = 0.01  # one gain: what may move between two clips is float32 rounding
TARGET_TOLERANCE_LU = 0.01  # the set is brought to its target exactly
ROUNDING_DB = 1e-4  # float32 samples
TARGET_STEP_LU = 0.01  # the steps of the largest safe target


def voice(lufs: float, *, seconds: float = 2.0, seed: int = 0) -> Clip:
    """Return syllables of noise at a loudness in LUFS."""
    frames = round(seconds * RATE)
    noise = np.random.default_rng(seed).standard_normal(frames)
    syllables = 0.6 + 0.4 * np.sin(2 * np.pi * 4.0 * np.arange(frames) / RATE)
    clip = Clip((0.05 * noise * syllables)[:, None].astype(np.float32), RATE)
    loudness = integrated_lufs(clip)
    assert loudness is not None
    return gain(clip, lufs - loudness)


def with_peak(clip: Clip, dbtp: float) -> Clip:
    """Return the clip with one short burst that has a true peak in dBTP."""
    time = np.arange(-60, 61)
    samples = np.array(clip.samples)
    samples[5000:5121, 0] = 10 ** (dbtp / 20) * np.exp(-((time / 15.0) ** 2)) * np.cos(time / 2.0)
    return clip.with_samples(samples)


def measured(stage: SharedGain, clips: dict[str, Clip]) -> list[Measured[GainMeasure]]:
    """Return the clips' measures under their file names."""
    return [Measured(Row(name, Path(name)), stage.measure(clip)) for name, clip in clips.items()]


def applied(stage: SharedGain, clip: Clip, fit: GainFit) -> Clip:
    """Return the treated clip."""
    result = stage.apply(clip, fit)
    assert isinstance(result, Applied)
    assert result.notes == {"gain_db": fit.gain_db}
    return result.clip


@pytest.fixture(scope="module")
def field() -> dict[str, Clip]:
    """Five clips from -34 to -22 LUFS, of which the softest has a true peak of -1.5 dBTP."""
    clips = {f"{lufs}.wav": voice(lufs, seed=-lufs) for lufs in (-31, -28, -25, -22)}
    return {"hot.wav": with_peak(voice(-34), -1.5), **clips}


def test_one_gain_brings_the_set_to_its_target(field: dict[str, Clip]) -> None:
    """The pooled loudness of the treated set is the target, and the fit says what it was and is."""
    stage = SharedGain(target_lufs=-30)
    fit = stage.fit(measured(stage, field))
    after = measured(stage, {name: applied(stage, clip, fit) for name, clip in field.items()})
    reached = set_loudness([np.array(clip.value.block_powers) for clip in after])
    assert reached == pytest.approx(-30, abs=TARGET_TOLERANCE_LU)
    assert fit.achieved_lufs == pytest.approx(-30, abs=TARGET_TOLERANCE_LU)
    assert fit.set_lufs + fit.gain_db == pytest.approx(-30, abs=TARGET_TOLERANCE_LU)
    assert (fit.target_lufs, fit.lowered_by_db, fit.limiting_clip) == (-30, 0, None)


def test_differences_between_clips_are_unchanged(field: dict[str, Clip]) -> None:
    """The loudness differences of every two clips are the same after as before."""
    stage = SharedGain(target_lufs=-30)
    fit = stage.fit(measured(stage, field))
    before = [integrated_lufs(clip) for clip in field.values()]
    after = [integrated_lufs(applied(stage, clip, fit)) for clip in field.values()]
    for first, second in itertools.combinations(range(len(field)), 2):
        assert after[first] - after[second] == pytest.approx(
            before[first] - before[second], abs=DIFFERENCE_TOLERANCE_DB
        )


def test_apply_is_one_multiplication(field: dict[str, Clip]) -> None:
    """Every sample of every clip is multiplied by one and the same factor."""
    stage = SharedGain(target_lufs=-30)
    fit = stage.fit(measured(stage, field))
    factor = np.float32(10 ** (fit.gain_db / 20))
    for clip in field.values():
        np.testing.assert_array_equal(applied(stage, clip, fit).samples, clip.samples * factor)


def test_stop_names_the_clip_and_a_target_that_is_safe(field: dict[str, Clip]) -> None:
    """Over the ceiling the set is refused, naming the clip, its peak and the largest target that is safe."""
    stage = SharedGain(target_lufs=-16)
    with pytest.raises(RefusedError, match=r"hot\.wav \(-1\.50 dBTP\) would reach") as refusal:
        stage.fit(measured(stage, field))
    stated = re.search(r"set target_lufs to (-\d+\.\d\d) or lower", str(refusal.value))
    assert stated is not None
    safe = SharedGain(target_lufs=float(stated[1]))
    fit = safe.fit(measured(safe, field))
    assert true_peak_dbtp(applied(safe, field["hot.wav"], fit)) <= -1.2 + ROUNDING_DB
    louder = SharedGain(target_lufs=safe.target_lufs + 2 * TARGET_STEP_LU)
    with pytest.raises(RefusedError):
        louder.fit(measured(louder, field))


def test_lower_lowers_the_target_of_all_and_says_so(field: dict[str, Clip]) -> None:
    """With on_over: lower the hottest clip lands at the ceiling less the margin, and the fit tells the loss."""
    stage = SharedGain(target_lufs=-16, on_over="lower")
    fit = stage.fit(measured(stage, field))
    assert true_peak_dbtp(applied(stage, field["hot.wav"], fit)) == pytest.approx(-1.2, abs=ROUNDING_DB)
    assert fit.limiting_clip == "hot.wav"
    assert fit.highest_true_peak_dbtp == pytest.approx(-1.5, abs=0.01)
    assert fit.target_lufs == -16
    assert fit.achieved_lufs == pytest.approx(-16 - fit.lowered_by_db, abs=TARGET_TOLERANCE_LU)


def test_without_codec_margin_the_ceiling_itself_holds(field: dict[str, Clip]) -> None:
    """With no codec margin the hottest clip may reach the ceiling itself."""
    stage = SharedGain(target_lufs=-16, on_over="lower", codec_margin_db=0)
    fit = stage.fit(measured(stage, field))
    assert true_peak_dbtp(applied(stage, field["hot.wav"], fit)) == pytest.approx(-1.0, abs=ROUNDING_DB)


def test_a_clip_outside_the_fit_may_not_pass_the_ceiling(field: dict[str, Clip]) -> None:
    """A clip that the fit has not seen and whose peak would pass the ceiling is rejected with both numbers."""
    stage = SharedGain(target_lufs=-16, on_over="lower")
    fit = stage.fit(measured(stage, field))
    rejected = stage.apply(with_peak(voice(-30), 0.0), fit)
    assert isinstance(rejected, Rejected)
    assert rejected.value == pytest.approx(fit.gain_db, abs=0.01)
    assert rejected.limit == pytest.approx(-1.2)


def test_fit_is_blind_to_order_and_survives_json(field: dict[str, Clip]) -> None:
    """The same clips in another order give the very same fit, and it comes back from JSON unchanged."""
    stage = SharedGain(target_lufs=-16, on_over="lower")
    clips = measured(stage, field)
    fit = stage.fit(clips)
    assert stage.fit(clips[::-1]) == fit
    assert GainFit.model_validate_json(fit.model_dump_json()) == fit
    value = clips[0].value
    assert GainMeasure.model_validate_json(value.model_dump_json()) == value


@pytest.mark.parametrize("seconds", [0.28, 0.399, 0.4, 0.401, 1.0])
def test_short_clips_get_the_gain_of_the_set(seconds: float) -> None:
    """A clip below 0.4 s is measured by one shortened block and gets the same gain as the others."""
    stage = SharedGain(target_lufs=-30)
    whole = voice(-25)
    short = whole.with_samples(whole.samples[: round(seconds * RATE)])
    assert len(stage.measure(short).block_powers) == max(1, round(seconds * 10 - 3.01))
    fit = stage.fit(measured(stage, {"whole.wav": whole, "short.wav": short}))
    np.testing.assert_array_equal(
        applied(stage, short, fit).samples, applied(stage, whole, fit).samples[: short.frames]
    )


@pytest.mark.parametrize("kind", ["digital silence", "dither"])
def test_a_silent_clip_is_set_aside(kind: str) -> None:
    """Digital silence and 1-LSB dither are reported as silent and get no gain."""
    lsb = 0 if kind == "digital silence" else 1
    steps = np.random.default_rng(1).integers(-lsb, lsb + 1, (RATE, 1))
    with pytest.raises(ClipError, match="silent"):
        SharedGain().measure(Clip((steps / 32768).astype(np.float32), RATE))


def test_silence_has_no_gain() -> None:
    """A silent clip outside the fit is set aside and not passed through."""
    stage = SharedGain()
    fit = stage.fit(measured(stage, {"a.wav": voice(-30)}))
    with pytest.raises(ClipError, match="silent"):
        stage.apply(Clip(np.zeros((RATE, 1), np.float32), RATE), fit)


def test_no_clip_is_refused() -> None:
    """A set of no clips has no gain."""
    with pytest.raises(RefusedError, match="shared_gain: every clip was set aside"):
        SharedGain().fit([])


@pytest.mark.parametrize("on_over", ["stop", "lower"])
def test_a_clip_that_no_target_suits_is_named(on_over: str) -> None:
    """Where one clip's peak leaves no target that can be heard, the set is refused and that clip is named."""
    stage = SharedGain.model_validate({"on_over": on_over})
    soft = GainMeasure(block_powers=(1e-5,), true_peak_dbtp=60.0)
    with pytest.raises(RefusedError, match=r"wild\.wav \(60\.00 dBTP\).* replace that clip, for no target"):
        stage.fit([Measured(Row("wild.wav", Path("wild.wav")), soft)])


def real_clips(table: str) -> dict[str, Clip]:
    """Return the clips of a table of real speech as the runner brings them to this stage: 44.1 kHz, mono."""
    path = DATA / table
    if not path.exists():
        pytest.skip("the folder shared/data is not here")
    with path.open(newline="", encoding="utf-8") as file:
        names = [row["file_name"] for row in csv.DictReader(file)]
    clips = {}
    for name in names:
        samples, rate = soundfile.read(DATA / name, dtype="float32", always_2d=True)
        mono = samples.mean(axis=1, keepdims=True, dtype=np.float64)
        clips[name] = Clip(soxr.resample(mono, rate, RATE).astype(np.float32), RATE)
    return clips


def test_real_sets_and_the_ceiling() -> None:
    """Both real sets can be brought to -26 LUFS below -1 dBTP; at -23 LUFS one is refused, naming its clip."""
    for table in ("detection.csv", "chains.csv"):
        clips = measured(SharedGain(), real_clips(table))
        fit = SharedGain(target_lufs=-26).fit(clips)
        assert fit.highest_true_peak_dbtp + fit.gain_db < -1.2
    with pytest.raises(RefusedError, match=r"480_127525_000006_000000_ground-truth\.wav .* would reach -0\.\d\d"):
        SharedGain(target_lufs=-23).fit(clips)
