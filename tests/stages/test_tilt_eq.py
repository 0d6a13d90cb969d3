"""tilt_eq: one line for one condition, fitted to another."""

from __future__ import annotations

import csv
import math
import random
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from prep import level
from prep.clip import Clip
from prep.errors import ClipError, RefusedError
from prep.spectrum import filter_zero_phase, tilt_db_per_octave, tilt_fir
from prep.stage import Applied, Measured
from prep.stages.tilt_eq import TiltEq, TiltFit, TiltMeasure
from prep.table import Row

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
RATE = 16000

FIT_TOLERANCE = 0.10  # dB/octave: the design's tolerance of a fitted correction
EQUALISED = 0.002  # dB/octave: how near a clip is brought to its design tilt before it is used
LOUDNESS_TOLERANCE = 0.01  # dB: float32 arithmetic; a tenth of the design's 0.1 LU

STAGE = TiltEq(adjust={"condition": "human"}, towards={"condition": "synthetic"}, match=["speaker", "passage"])


def speech_like(seed: int, seconds: float = 2.5, channels: int = 1) -> Clip:
    """Return noise falling by some 6 dB/octave, in syllables and pauses, -26 dBFS at the most."""
    randoms = np.random.default_rng(seed)
    frames = round(seconds * RATE)
    frequencies = np.fft.rfftfreq(frames, 1 / RATE)
    shape = 1 / (1 + (frequencies / randoms.uniform(300, 700)) ** 1.1)
    white = randoms.standard_normal((frames, channels))
    noise = np.fft.irfft(np.fft.rfft(white, axis=0) * shape[:, np.newaxis], frames, axis=0)
    times = np.arange(frames) / RATE
    syllables = np.clip(np.sin(2 * np.pi * 4 * times + randoms.uniform(0, 6)), 0, None) ** 2
    syllables *= np.sin(2 * np.pi * 0.4 * times + randoms.uniform(0, 6)) > -0.7
    return Clip(0.05 * noise / noise.std() * (syllables[:, np.newaxis] + 1e-3), RATE, f"noise {seed}")


def equalised_to(clip: Clip, tilt: float) -> Clip:
    """Return a clip equalised until its measured tilt is the one asked for."""
    slope = 0.0
    treated = clip
    while abs(missing := tilt - tilt_db_per_octave(treated)) > EQUALISED:
        slope += missing
        treated = clip.with_samples(filter_zero_phase(clip.samples, tilt_fir(slope, clip.rate)))
    return treated


def row(condition: str, speaker: str, passage: str) -> Row:
    """Return a row of a table."""
    name = f"{condition}_{speaker}_{passage}.wav"
    return Row(name, Path(name), {"condition": condition, "speaker": speaker, "passage": passage})


def measured(*values: tuple[str, str, str, float]) -> list[Measured[TiltMeasure]]:
    """Return measured rows of (condition, speaker, passage, tilt)."""
    return [Measured(row(*labels), TiltMeasure(tilt_db_per_octave=tilt)) for *labels, tilt in values]


def fit_of(slope: float) -> TiltFit:
    """Return the fit of a corpus whose two clips are a slope apart."""
    return STAGE.fit(measured(("human", "a", "1", 0.0), ("synthetic", "a", "1", slope)))


def applied(clip: Clip, fit: TiltFit) -> Applied:
    """Return the clip treated."""
    result = STAGE.apply(clip, fit)
    assert isinstance(result, Applied)
    return result


def corpus_of(clips: list[Clip], shift: float) -> list[tuple[Row, Clip]]:
    """Return each clip as human, and as synthetic with its measured tilt moved by exactly the shift."""
    pairs: list[tuple[Row, Clip]] = []
    for index, clip in enumerate(clips):
        speaker, passage = str(index // 2), str(index)
        twin = equalised_to(clip, tilt_db_per_octave(clip) + shift)
        pairs += [(row("human", speaker, passage), clip), (row("synthetic", speaker, passage), twin)]
    return pairs


def fitted(stage: TiltEq, corpus: list[tuple[Row, Clip]]) -> TiltFit:
    """Return the fit of a corpus."""
    return stage.fit([Measured(labels, stage.measure(clip)) for labels, clip in corpus])


def shift_left(stage: TiltEq, corpus: list[tuple[Row, Clip]], fit: TiltFit) -> float:
    """Return the shift that is still there once the correction is applied to its condition."""
    after = [
        (labels, applied(clip, fit).clip if labels.selected_by(stage.applies_to()) else clip) for labels, clip in corpus
    ]
    return fitted(stage, after).shift_db_per_octave


@pytest.fixture(scope="module")
def speech() -> list[Clip]:
    """Return eight real recordings of different readers, or skip."""
    soundfile = pytest.importorskip("soundfile")
    if not (DATA / "detection.csv").exists():
        pytest.skip("the real clips are not beside the project")
    with (DATA / "detection.csv").open(encoding="utf-8", newline="") as file:
        human = [line for line in csv.DictReader(file) if line["condition"] == "human"]
    firsts = {line["speaker"]: line["file_name"] for line in human}
    names = sorted(firsts.values())[:8]
    return [Clip(*soundfile.read(DATA / name, always_2d=True, dtype="float32"), id=name) for name in names]


@pytest.mark.parametrize("match", [[], ["speaker", "passage"]])
@pytest.mark.parametrize("shift", [-2.5, -0.7, 1.5])
def test_a_known_shift_of_noise_is_found_and_removed(shift: float, match: list[str]) -> None:
    """On noise whose conditions differ by a known tilt, the fit is that tilt, and nothing is left after it."""
    stage = STAGE.model_copy(update={"match": match})
    corpus = corpus_of([speech_like(seed) for seed in range(6)], shift)
    fit = fitted(stage, corpus)
    assert fit.method == ("matched" if match else "pooled")
    assert fit.applied_db_per_octave == pytest.approx(shift, abs=FIT_TOLERANCE)
    assert shift_left(stage, corpus, fit) == pytest.approx(0, abs=FIT_TOLERANCE)


@pytest.mark.parametrize("shift", [-2.5, 1.0])
def test_a_known_shift_of_speech_is_found_and_removed(shift: float, speech: list[Clip]) -> None:
    """On real speech whose conditions differ by a known tilt, the same holds."""
    corpus = corpus_of(speech, shift)
    fit = fitted(STAGE, corpus)
    assert fit.applied_db_per_octave == pytest.approx(shift, abs=FIT_TOLERANCE)
    assert shift_left(STAGE, corpus, fit) == pytest.approx(0, abs=FIT_TOLERANCE)


def test_equal_conditions_are_left_alone() -> None:
    """Where the conditions have the same tilts the shift is 0, and samples are unchanged."""
    clips = [speech_like(seed) for seed in range(4)]
    corpus = corpus_of(clips, 0.0)
    fit = fitted(STAGE, corpus)
    assert fit.shift_db_per_octave == 0
    assert not fit.capped
    for clip in clips:
        result = applied(clip, fit)
        assert np.array_equal(result.clip.samples, clip.samples)
        assert result.notes == {"applied_db_per_octave": 0, "capped": False, "gain_restored_db": 0}


@pytest.mark.parametrize("shift", [-5.0, 5.0])
def test_a_shift_beyond_the_cap_is_capped_and_said(shift: float) -> None:
    """A shift larger than the cap is reported whole, applied up to the cap, and noted on every clip."""
    fit = fit_of(shift)
    assert fit.shift_db_per_octave == shift
    assert fit.applied_db_per_octave == math.copysign(3, shift)
    assert fit.capped
    assert fit.max_db_per_octave == 3
    assert applied(speech_like(1), fit).notes["capped"] is True


def test_a_shift_at_the_cap_is_not_capped() -> None:
    """A shift of exactly the cap is applied whole."""
    assert not fit_of(3.0).capped


def test_the_pooled_shift_is_hodges_lehmann() -> None:
    """Without matched cells the shift is the median of all differences between clips of the two sides."""
    fit = STAGE.fit(
        measured(
            ("human", "a", "1", 0.0),
            ("human", "a", "2", 1.0),
            ("human", "a", "3", 10.0),
            ("synthetic", "b", "1", 2.0),
            ("synthetic", "b", "2", 3.0),
        )
    )
    assert fit.method == "pooled"
    assert fit.shift_db_per_octave == fit.pooled_shift_db_per_octave == 1.5  # of -8, -7, 1, 2, 2, 3
    assert fit.matched_shift_db_per_octave is None
    assert (fit.adjust_clips, fit.towards_clips, fit.matched_cells) == (3, 2, 0)


def test_the_matched_shift_is_the_median_of_walsh_averages() -> None:
    """Where every clip has a partner the shift is the median of Walsh averages of the cells' differences."""
    fit = STAGE.fit(
        measured(
            ("human", "a", "1", 0.0),
            ("human", "b", "1", -10.0),
            ("human", "c", "1", 3.0),
            ("synthetic", "a", "1", 0.5),
            ("synthetic", "a", "1", 1.5),
            ("synthetic", "b", "1", -8.0),
            ("synthetic", "c", "1", 9.0),
        )
    )
    assert fit.method == "matched"
    assert fit.shift_db_per_octave == fit.matched_shift_db_per_octave == 2.75  # of 1, 1.5, 2, 3.5, 4, 6
    assert fit.matched_cells == 3


@pytest.mark.parametrize("stray", [("human", "z", "9", 4.0), ("synthetic", "", "1", 4.0)])
def test_a_clip_without_a_partner_makes_the_fit_pooled(stray: tuple[str, str, str, float]) -> None:
    """One clip outside every matched cell and the pooled shift is used; the matched one is still reported."""
    pair = [("human", "a", "1", 0.0), ("synthetic", "a", "1", 1.0)]
    fit = STAGE.fit(measured(*pair, stray))
    assert fit.method == "pooled"
    assert fit.matched_shift_db_per_octave == 1
    assert fit.shift_db_per_octave == fit.pooled_shift_db_per_octave != 1


def test_rows_of_neither_side_do_not_count() -> None:
    """A third condition changes nothing in the fit."""
    pair = [("human", "a", "1", 0.0), ("synthetic", "a", "1", 1.0)]
    assert STAGE.fit(measured(*pair, ("other", "a", "1", 9.0))) == STAGE.fit(measured(*pair))


def test_the_order_of_rows_does_not_show() -> None:
    """The fit is the same to the last digit for any order of the rows."""
    randoms = random.Random(5)  # noqa: S311 - no secret
    values = [
        (condition, str(cell), "1", randoms.gauss(0, 1))
        for condition in ("human", "synthetic")
        for cell in range(4)
        for _ in range(3)
    ]
    fits = set()
    for _ in range(10):
        randoms.shuffle(values)
        fits.add(STAGE.fit(measured(*values)).model_dump_json())
    assert len(fits) == 1


@pytest.mark.parametrize(("kept", "missing"), [("human", "towards"), ("synthetic", "adjust")])
def test_an_empty_side_is_refused(kept: str, missing: str) -> None:
    """A side without a measured clip is refused with the field that names it."""
    with pytest.raises(RefusedError, match=f"no clip is left in the rows of `{missing}`"):
        STAGE.fit(measured((kept, "a", "1", 0.0)))


def test_a_clip_on_both_sides_is_refused() -> None:
    """Selections that overlap are refused with the name of a clip in both."""
    stage = TiltEq(adjust={"condition": "human"}, towards={"speaker": "a"})
    with pytest.raises(RefusedError, match=r"human_a_1\.wav is in the rows of `adjust` and of `towards`"):
        stage.fit(measured(("human", "a", "1", 0.0), ("synthetic", "a", "1", 1.0)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"only": {"condition": "human"}},
        {"towards": {"condition": "human"}},
        {"adjust": {}},
        {"max_db_per_octave": 0},
        {"tilt_band_hz": [200, 300]},
    ],
)
def test_a_config_that_cannot_work_is_refused(wrong: dict[str, object]) -> None:
    """`only`, one condition on both sides, an empty side, a cap of 0 and a band without a line are refused."""
    with pytest.raises(ValidationError):
        TiltEq.model_validate({"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}, **wrong})


def test_only_the_adjusted_rows_are_touched() -> None:
    """The stage is applied to the rows of `adjust`, and both selections are there for the config check."""
    assert STAGE.applies_to() == {"condition": "human"}
    assert STAGE.selections() == [("adjust", {"condition": "human"}), ("towards", {"condition": "synthetic"})]


@pytest.mark.parametrize("slope", [-3.0, 3.0])
@pytest.mark.parametrize("seconds", [0.3, 2.5])
def test_loudness_is_restored(seconds: float, slope: float) -> None:
    """The treated clip has the loudness of its source: integrated, or RMS below 0.4 s."""
    clip = speech_like(3, seconds)
    result = applied(clip, fit_of(slope))
    loudness = level.rms_dbfs if seconds < 0.4 else level.integrated_lufs
    before, after = loudness(clip), loudness(result.clip)
    assert before is not None
    assert after == pytest.approx(before, abs=LOUDNESS_TOLERANCE)
    assert abs(result.notes["gain_restored_db"]) > 0.1


def test_loudness_of_speech_is_restored(speech: list[Clip]) -> None:
    """The same holds for real speech."""
    for clip in speech[:3]:
        assert level.integrated_lufs(applied(clip, fit_of(-2.0)).clip) == pytest.approx(
            level.integrated_lufs(clip), abs=LOUDNESS_TOLERANCE
        )


@pytest.mark.parametrize("slope", [-3.0, 0.4, 3.0])
def test_nothing_is_shifted_in_time(slope: float) -> None:
    """The treated clip has the frames of its source and correlates best at lag 0."""
    clip = speech_like(4)
    treated = applied(clip, fit_of(slope)).clip
    assert treated.samples.shape == clip.samples.shape
    spectra = np.fft.rfft(treated.samples[:, 0], 2 * clip.frames) * np.conj(
        np.fft.rfft(clip.samples[:, 0], 2 * clip.frames)
    )
    assert np.argmax(np.fft.irfft(spectra)) == 0


def test_channels_keep_their_balance() -> None:
    """All channels of a clip get the same filter and the same gain."""
    left = speech_like(6)
    both = left.with_samples(np.hstack([left.samples, 0.25 * left.samples]))
    treated = applied(both, fit_of(-1.5)).clip.samples
    assert treated[:, 1] == pytest.approx(0.25 * treated[:, 0], abs=1e-6)


def test_silence_stays_silent() -> None:
    """Digital silence comes out as digital silence, with no gain; it has no tilt to measure."""
    silence = Clip(np.zeros((RATE, 1), np.float32), RATE)
    result = applied(silence, fit_of(2.0))
    assert not result.clip.samples.any()
    assert result.notes["gain_restored_db"] == 0
    with pytest.raises(ClipError, match="silent"):
        STAGE.measure(silence)


def test_a_full_scale_clip_may_pass_full_scale() -> None:
    """Peaks beyond full scale are kept, not clipped: the level stage answers for them."""
    clip = speech_like(7)
    clipped = clip.with_samples(np.clip(50 * clip.samples, -1, 1))
    treated = applied(clipped, fit_of(3.0)).clip.samples
    assert np.isfinite(treated).all()
    assert np.abs(treated).max() > 1
