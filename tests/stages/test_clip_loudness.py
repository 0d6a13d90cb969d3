"""Specification of the stage clip_loudness."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import ValidationError

from prep import audio
from prep.chain import order_problems
from prep.clip import Clip
from prep.convert import Convert
from prep.errors import ClipError, RefusedError
from prep.level import active_level, gain, integrated_lufs, rms_dbfs, true_peak_dbtp
from prep.progress import Silent
from prep.run import run_study
from prep.stage import Applied, Measured, Rejected
from prep.stages.clip_loudness import ClipLoudness, LevelFit
from prep.stages.encode import Encode
from prep.table import Row

if TYPE_CHECKING:
    from collections.abc import Callable

RATE = 44100
TARGET_TOLERANCE_LU = 0.01  # pure gain is exact
ROUNDING_DB = 1e-4  # float32 samples
LSB = 1 / 32768  # one step of 16 bits
MADE_UP_LU = 0.05  # of the limited clip; the rest of the 0.1 LU of the delivered one is the codec's
DELIVERED_LU = 0.1  # of the decoded clip
ACTIVE_TOLERANCE_DB = 0.05  # of an active level
PASSED_DB = 0.05  # what a limited true peak may pass the limit by; well under the codec margin
LIMIT_DBTP = -1.2  # the default ceiling less the codec margin
EVERY = 16  # the real clips that are tried: one in so many


def voice(seconds: float = 2.0, *, level: float = 0.05, channels: int = 1) -> Clip:
    """Return syllables of noise, equal in every channel."""
    frames = round(seconds * RATE)
    noise = np.random.default_rng(3).standard_normal(frames)
    syllables = 0.6 + 0.4 * np.sin(2 * np.pi * 4.0 * np.arange(frames) / RATE)
    samples = np.repeat((level * noise * syllables)[:, None], channels, axis=1)
    return Clip(samples.astype(np.float32), RATE)


def peaky() -> Clip:
    """Return 3 s of a voiced sound at -30 LUFS, with ten short peaks that rise 10 dB out of it."""
    frames = 3 * RATE
    sound = np.sin(2 * np.pi * 200 * np.arange(frames) / RATE)
    for start in range(RATE // 8, frames - RATE // 8, frames // 10):
        sound[start : start + 882] *= 1 + 2.2 * np.hanning(882)
    clip = Clip((0.01 * sound[:, None]).astype(np.float32), RATE)
    return gain(clip, -30 - integrated_lufs(clip))


def applied(stage: ClipLoudness, clip: Clip) -> Applied:
    """Return the treated clip and its notes."""
    result = stage.apply(clip, None)
    assert isinstance(result, Applied)
    return result


@pytest.mark.parametrize("level", [0.0005, 0.05, 5.0])
def test_every_clip_lands_on_the_target(level: float) -> None:
    """A clip of any level, also above 0 LUFS, is brought to the target by one gain that is noted."""
    clip = voice(level=level)
    result = applied(ClipLoudness(target_lufs=-26), clip)
    assert integrated_lufs(result.clip) == pytest.approx(-26, abs=TARGET_TOLERANCE_LU)
    assert result.notes["gain_db"] == pytest.approx(-26 - integrated_lufs(clip), abs=TARGET_TOLERANCE_LU)
    assert (result.notes["lowered_by_db"], result.notes["measured_by"]) == (0, "integrated")
    np.testing.assert_array_equal(result.clip.samples, gain(clip, result.notes["gain_db"]).samples)


def test_a_square_wave_above_0_lufs_is_brought_down() -> None:
    """A full-scale square wave in stereo, louder than 0 LUFS, lands on the target with a negative gain."""
    square = np.repeat(np.sign(np.sin(2 * np.pi * 441 * (np.arange(RATE) + 0.5) / RATE))[:, None], 2, axis=1)
    clip = Clip(square.astype(np.float32), RATE)
    assert integrated_lufs(clip) > 0
    result = applied(ClipLoudness(target_lufs=-23), clip)
    assert integrated_lufs(result.clip) == pytest.approx(-23, abs=TARGET_TOLERANCE_LU)
    assert result.notes["gain_db"] < -23


@pytest.mark.parametrize(
    ("seconds", "measured_by"),
    [(0.28, "rms"), (0.399, "rms"), (0.4, "integrated"), (0.401, "integrated"), (1.0, "integrated")],
)
def test_short_clips_are_levelled_by_rms(seconds: float, measured_by: str) -> None:
    """Below 0.4 s a clip's RMS in dBFS is brought to the same number; from 0.4 s on, its loudness."""
    result = applied(ClipLoudness(target_lufs=-26), voice(seconds))
    assert result.notes["measured_by"] == measured_by
    level = {"rms": rms_dbfs, "integrated": integrated_lufs}[measured_by](result.clip)
    assert level == pytest.approx(-26, abs=TARGET_TOLERANCE_LU)


@pytest.mark.parametrize("seconds", [0.2, 1.0])
@pytest.mark.parametrize("lsb", [0, 1])
def test_a_silent_clip_is_set_aside(seconds: float, lsb: int) -> None:
    """Digital silence and 1-LSB dither, long or short, are reported as silent and get no gain."""
    steps = np.random.default_rng(1).integers(-lsb, lsb + 1, (round(seconds * RATE), 1))
    with pytest.raises(ClipError, match="silent"):
        ClipLoudness().apply(Clip((steps * LSB).astype(np.float32), RATE), None)


def test_speech_followed_by_long_silence() -> None:
    """A clip that ends in a minute of digital silence lands on the target with finite samples."""
    speech = voice(5.0)
    padded = speech.with_samples(np.concatenate([speech.samples, np.zeros((60 * RATE, 1), np.float32)]))
    result = applied(ClipLoudness(target_lufs=-26), padded)
    assert integrated_lufs(result.clip) == pytest.approx(-26, abs=TARGET_TOLERANCE_LU)
    assert np.isfinite(result.clip.samples).all()


def test_mono_and_dual_mono_end_the_same() -> None:
    """One clip as mono and as two equal channels, once both are mono, ends within one step of 16 bits."""
    mono, dual = voice(), voice(channels=2)
    mixed = dual.with_samples(dual.mono()[:, None])
    stage = ClipLoudness(target_lufs=-26)
    first, second = applied(stage, mono).clip, applied(stage, mixed).clip
    assert np.abs(first.samples - second.samples).max() < LSB
    assert integrated_lufs(second) == pytest.approx(-26, abs=TARGET_TOLERANCE_LU)


def test_lower_holds_the_ceiling_and_notes_the_shortfall() -> None:
    """With on_over: lower a peaky clip ends at the ceiling less the margin, and the loss is noted."""
    clip = voice()
    result = applied(ClipLoudness(target_lufs=-9, on_over="lower"), clip)
    assert true_peak_dbtp(result.clip) == pytest.approx(-1.2, abs=ROUNDING_DB)
    assert result.notes["lowered_by_db"] > 1
    assert integrated_lufs(result.clip) == pytest.approx(-9 - result.notes["lowered_by_db"], abs=TARGET_TOLERANCE_LU)
    assert (np.sign(result.clip.samples) == np.sign(clip.samples)).all()


def test_limit_makes_up_for_what_it_takes() -> None:
    """With on_over: limit a peaky clip is raised from -30 to -9 LUFS under the ceiling, and the reduction is noted."""
    clip = peaky()
    result = applied(ClipLoudness(target_lufs=-9, on_over="limit"), clip)
    assert integrated_lufs(result.clip) == pytest.approx(-9, abs=MADE_UP_LU)
    assert true_peak_dbtp(result.clip) <= LIMIT_DBTP + PASSED_DB
    assert (np.sign(result.clip.samples) == np.sign(clip.samples)).all()
    assert result.notes["gain_db"] > 21
    needed_db = true_peak_dbtp(clip) + result.notes["gain_db"] - LIMIT_DBTP
    assert result.notes["limited_db"] == pytest.approx(needed_db, abs=PASSED_DB)
    assert 0 < result.notes["limited_percent"] <= 100
    assert result.notes["lowered_by_db"] == 0
    assert f"up to {result.notes['limited_db']:.1f} dB" in result.notes["warning"]


def test_limit_leaves_a_clip_with_headroom_to_a_plain_gain() -> None:
    """With on_over: limit a clip that stays under the ceiling gets the very samples that a plain gain gives."""
    clip = voice()
    limited, plain = (applied(ClipLoudness(target_lufs=-26, on_over=rule), clip) for rule in ("limit", "stop"))
    assert limited.clip.samples.tobytes() == plain.clip.samples.tobytes()
    assert limited.notes == plain.notes
    assert (limited.notes["limited_db"], limited.notes["limited_percent"]) == (0, 0)
    assert "warning" not in limited.notes


def test_a_small_reduction_is_not_warned_of() -> None:
    """A reduction of no more than 3 dB is noted without a warning."""
    clip = voice()
    headroom_db = LIMIT_DBTP - true_peak_dbtp(clip)
    stage = ClipLoudness(target_lufs=integrated_lufs(clip) + headroom_db + 1, on_over="limit")
    result = applied(stage, clip)
    assert 1 < result.notes["limited_db"] < 3
    assert "warning" not in result.notes


def test_a_clip_that_needs_too_much_limiting_is_rejected() -> None:
    """A clip that would have to be limited by more than max_limit_db is rejected with what it needs and the limit."""
    click = voice()
    samples = click.samples.copy()
    samples[RATE] = 40 * np.abs(samples).max()
    rejected = ClipLoudness(target_lufs=-12, on_over="limit", max_limit_db=12).apply(click.with_samples(samples), None)
    assert isinstance(rejected, Rejected)
    assert rejected.limit == 12
    assert rejected.value > 12
    assert "ceiling of -1 dBTP" in rejected.reason

    allowed = applied(ClipLoudness(target_lufs=-12, on_over="limit", max_limit_db=60), click.with_samples(samples))
    assert allowed.notes["limited_db"] > rejected.value


def test_a_clip_that_cannot_reach_the_target_is_rejected() -> None:
    """A square wave, which has no peaks to take from, is rejected where it lies under the target at the ceiling."""
    square = np.sign(np.sin(2 * np.pi * 100 * (np.arange(RATE) + 0.5) / RATE))[:, None]
    clip = Clip((0.5 * square).astype(np.float32), RATE)
    rejected = ClipLoudness(target_lufs=0, on_over="limit").apply(clip, None)
    assert isinstance(rejected, Rejected)
    assert rejected.value > rejected.limit == 12


def test_short_clips_are_limited_to_their_rms() -> None:
    """A clip below 0.4 s is limited until its RMS in dBFS is at the target."""
    result = applied(ClipLoudness(target_lufs=-16, on_over="limit"), voice(0.3))
    assert rms_dbfs(result.clip) == pytest.approx(-16, abs=MADE_UP_LU)
    assert result.notes["limited_db"] > 0
    assert result.notes["measured_by"] == "rms"


def test_more_margin_lowers_the_peak() -> None:
    """Asked for more room below the ceiling, the stage keeps it, and reaches the same loudness."""
    stage = ClipLoudness(target_lufs=-12, on_over="limit")
    wider = stage.with_margin(0.3)
    assert wider.codec_margin_db == pytest.approx(stage.codec_margin_db + 0.3)
    result = applied(wider, voice())
    assert true_peak_dbtp(result.clip) == pytest.approx(LIMIT_DBTP - 0.3, abs=PASSED_DB)
    assert integrated_lufs(result.clip) == pytest.approx(-12, abs=MADE_UP_LU)


def real_clips(shared: Path) -> list[Clip]:
    """Return some clips of two real studies as 44.1 kHz mono, and one that begins with a click."""
    names = {
        row["file_name"]
        for table in ("chains", "detection")
        for row in csv.DictReader(io.StringIO((shared / "data" / f"{table}.csv").read_text(encoding="utf-8")))
    }
    clicking = [name for name in sorted(names) if "alibaba" in name][:1]
    chosen = [*sorted(names)[::EVERY], *clicking]
    decoded = [audio.decode((shared / "data" / name).read_bytes(), name)[0] for name in chosen]
    return [Convert(rate=44100, channels=1).apply(clip, None).clip for clip in decoded]


def test_real_speech_at_minus_16_lufs(shared: Path) -> None:
    """Real clips at -16 LUFS, limited at -1 dBTP, are on the target under the ceiling, in place and whole."""
    stage = ClipLoudness(target_lufs=-16, on_over="limit")
    reductions = []
    for clip in real_clips(shared):
        result = applied(stage, clip)
        assert integrated_lufs(result.clip) == pytest.approx(-16, abs=MADE_UP_LU)
        assert true_peak_dbtp(result.clip) <= LIMIT_DBTP + PASSED_DB
        assert result.clip.frames == clip.frames
        # Each sample is the one that came, times a gain: nothing is moved in time.
        assert (result.clip.samples * clip.samples >= 0).all()
        assert (np.abs(result.clip.samples) <= np.abs(gain(clip, result.notes["gain_db"]).samples)).all()
        reductions.append(result.notes["limited_db"])
    assert np.mean(np.array(reductions) > 0) > 0.8
    assert 1 < median(reductions) < 6


@pytest.mark.parametrize("on_over", ["stop", "limit"])
def test_an_active_level_can_be_the_target(on_over: str) -> None:
    """With target_dbov a clip is brought to that active speech level (P.56), with a limiter too."""
    target = {"stop": -26, "limit": -16}[on_over]
    stage = ClipLoudness.model_validate({"target_dbov": target, "on_over": on_over})
    result = applied(stage, voice())
    assert active_level(result.clip).active_level_dbov == pytest.approx(target, abs=ACTIVE_TOLERANCE_DB)
    assert result.notes["measured_by"] == "active"
    assert (result.notes["limited_db"] > 0) == (on_over == "limit")
    with pytest.raises(ClipError, match="silent"):
        stage.apply(Clip(np.zeros((RATE, 1), np.float32), RATE), None)


def measured(stage: ClipLoudness, *clips: tuple[str, str, float]) -> list[Measured[Any]]:
    """Return what a stage measures on voices, each of a condition, a role and a level."""
    return [
        Measured(Row(f"{place}.wav", Path(), {"condition": condition, "role": role}), stage.measure(voice(level=level)))
        for place, (condition, role, level) in enumerate(clips)
    ]


def test_the_median_of_some_rows_can_be_the_target() -> None:
    """With median_of every clip is brought to the median loudness of the stimuli in those rows."""
    stage = ClipLoudness(median_of={"condition": "synthetic"})
    levels = [0.02, 0.03, 0.09]
    clips = [("synthetic", "stimulus", level) for level in levels]
    others = [("human", "stimulus", 0.001), ("synthetic", "reference", 0.001), ("synthetic", "trap", 0.001)]
    fit = stage.fit(measured(stage, *clips, *others))
    assert fit.target_lufs == pytest.approx(integrated_lufs(voice(level=0.03)), abs=TARGET_TOLERANCE_LU)
    assert (fit.target_dbov, fit.clips) == (None, 3)
    result = stage.apply(voice(level=0.005), fit)
    assert isinstance(result, Applied)
    assert integrated_lufs(result.clip) == pytest.approx(fit.target_lufs, abs=TARGET_TOLERANCE_LU)


def test_the_median_can_be_of_the_active_level() -> None:
    """With by: dbov the median is that of the active levels, and clips are brought to it."""
    stage = ClipLoudness(median_of={"condition": "a"}, by="dbov")
    fit = stage.fit(measured(stage, ("a", "stimulus", 0.03)))
    assert fit.target_lufs is None
    assert fit.target_dbov == pytest.approx(active_level(voice(level=0.03)).active_level_dbov, abs=ACTIVE_TOLERANCE_DB)
    result = stage.apply(voice(level=0.005), fit)
    assert isinstance(result, Applied)
    assert active_level(result.clip).active_level_dbov == pytest.approx(fit.target_dbov, abs=ACTIVE_TOLERANCE_DB)


@pytest.mark.usefixtures("inline")
def test_a_limited_clip_is_delivered_on_the_target_under_the_ceiling(make_study: Callable[..., Path]) -> None:
    """A limited MP3 decodes to the target within 0.1 LU and to no more than the ceiling; the report says so."""
    chain = [
        {"clip_loudness": {"target_lufs": -18, "on_over": "limit"}},
        {"encode": {"codec": "mp3", "rate": 44100, "bitrate_kbps": 128, "channels": 1}},
    ]
    done = run_study(make_study(chain=chain, speakers=2, passages=1), Silent())
    assert done.record["counts"] == {"delivered": 4}
    for clip in done.record["clips"]:
        assert clip["stages"]["clip_loudness"]["limited_db"] > 0
        assert clip["delivered"]["cues"]["loudness"]["integrated_lufs"] == pytest.approx(-18, abs=DELIVERED_LU)
        assert clip["delivered"]["cues"]["peak"]["true_peak_dbtp"] <= -1
    methods = (done.output / "methods.md").read_text(encoding="utf-8")
    assert "All clips were brought to an integrated loudness of -18 LUFS" in methods
    assert "each by a gain of its own; a look-ahead limiter held the peaks of 4 of 4 clips under -1 dBTP" in methods


@pytest.mark.usefixtures("inline")
def test_a_run_brings_one_condition_to_the_level_of_the_other(make_study: Callable[..., Path]) -> None:
    """In a run the human clips are brought to the median of the synthetic ones, which stay as they are."""
    stage = {"median_of": {"condition": "synthetic"}, "only": {"condition": "human"}, "by": "dbov"}
    chain = [{"clip_loudness": stage}, {"encode": {"codec": "flac"}}]
    done = run_study(make_study(chain=chain, speakers=2, passages=1), Silent())
    fit = done.record["fits"]["release"]["clip_loudness"]
    treated = ["clip_loudness" in clip["stages"] for clip in done.record["clips"]]
    assert treated == [True, True, False, False]
    assert fit["clips"] == 2
    methods = (done.output / "methods.md").read_text(encoding="utf-8")
    assert f"were brought to an active speech level of {fit['target_dbov']:.4g} dBov" in methods
    assert ", the median of the clips with condition" in methods


def test_a_median_of_no_clips_is_refused() -> None:
    """A median whose rows have no stimulus left is refused, naming the field."""
    stage = ClipLoudness(median_of={"condition": "synthetic"})
    with pytest.raises(RefusedError, match="median_of"):
        stage.fit(measured(stage, ("human", "stimulus", 0.03), ("synthetic", "reference", 0.03)))


def test_it_learns_only_where_the_target_is_a_median() -> None:
    """The stage fits on every clip with median_of, on labels where it is also for one side, and else on nothing."""
    fixed, fitted = ClipLoudness(), ClipLoudness(median_of={"speaker": "a"}, only={"condition": "human"})
    assert (fixed.fits_on(), fitted.fits_on()) == ("nothing", "labels")
    assert ClipLoudness(median_of={"speaker": "a"}).fits_on() == "every clip"
    assert fixed.selections() == []
    assert dict(fitted.selections()) == {"only": {"condition": "human"}, "median_of": {"speaker": "a"}}


def test_one_condition_can_be_brought_to_the_median_of_another() -> None:
    """A chain that levels some rows only is in order, for each clip has a gain of its own."""
    stage = ClipLoudness(median_of={"condition": "synthetic"}, only={"condition": "human"})
    assert order_problems([stage, Encode(codec="flac")]) == []


def test_the_default_target_is_written_down() -> None:
    """Without a target the stage has -26 LUFS, and says so in its parameters."""
    assert ClipLoudness().target_lufs == -26
    assert ClipLoudness().identity() == ClipLoudness(target_lufs=-26).identity()
    assert ClipLoudness(target_dbov=-26).target_lufs is None


def test_stop_rejects_the_clip_with_both_numbers() -> None:
    """With on_over: stop a clip that would pass the ceiling is rejected with its peak and the limit."""
    clip = voice()
    rejected = ClipLoudness(target_lufs=-9).apply(clip, None)
    assert isinstance(rejected, Rejected)
    expected = true_peak_dbtp(clip) - 9 - integrated_lufs(clip)
    assert rejected.value == pytest.approx(expected, abs=TARGET_TOLERANCE_LU)
    assert rejected.limit == pytest.approx(-1.2)
    assert "ceiling of -1 dBTP" in rejected.reason


@pytest.mark.parametrize("target", ["target_lufs", "target_dbov"])
def test_stop_names_the_largest_safe_target(target: str) -> None:
    """The target that a rejection names is safe, in steps of 0.1, and the next is not; the other ways out are named."""
    rejected = ClipLoudness(**{target: -9}).apply(voice(), None)
    assert isinstance(rejected, Rejected)
    assert rejected.reason.endswith("or lower, or on_over: limit or lower")
    safe = float(rejected.reason.split(f"set {target} to ")[1].split()[0])

    assert isinstance(ClipLoudness(**{target: safe}).apply(voice(), None), Applied)
    assert isinstance(ClipLoudness(**{target: safe + 0.1}).apply(voice(), None), Rejected)


def test_a_median_is_left_for_a_target_or_for_another_way() -> None:
    """Where the target is a median, the target that a rejection names stands in its place; where none is safe, none."""
    fit = LevelFit(target_lufs=-9.0, target_dbov=None, clips=1)
    rejected = ClipLoudness(median_of={"condition": "human"}).apply(voice(), fit)
    assert isinstance(rejected, Rejected)
    assert "or lower in place of median_of, or on_over: limit or lower" in rejected.reason

    hopeless = ClipLoudness(target_lufs=-20, ceiling_dbtp=-55).apply(voice(), None)
    assert isinstance(hopeless, Rejected)
    assert hopeless.reason.endswith("set on_over: limit or lower, for no target is safe with it")


@pytest.mark.parametrize(
    "parameters",
    [
        {"target_lufs": 3},
        {"target_lufs": -80},
        {"target_dbov": 3},
        {"ceiling_dbtp": 1},
        {"on_over": "clip"},
        {"max_limit_db": 0},
        {"median_of": {}},
        {"target_lufs": -26, "target_dbov": -26},
        {"target_lufs": -26, "median_of": {"condition": "human"}},
        {"target_dbov": -26, "by": "dbov"},
    ],
)
def test_parameters_out_of_range(parameters: dict[str, object]) -> None:
    """Targets out of range, two targets, a ceiling above full scale and an unknown rule are refused."""
    with pytest.raises(ValidationError):
        ClipLoudness.model_validate(parameters)
