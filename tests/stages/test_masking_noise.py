"""masking_noise: one floor under every clip, and no more noise than it lacks."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import soundfile

from prep.clip import Clip
from prep.errors import ClipError, RefusedError
from prep.level import active_level
from prep.pauses import noise_floor_dbfs
from prep.room_tone import floor_levels_db
from prep.stage import Applied, Measured
from prep.stages.masking_noise import MaskingFit, MaskingMeasure, MaskingNoise
from prep.table import Row

RATE = 22050
STAGE = MaskingNoise()

BAND_TOLERANCE = 2.0  # dB: of the median of some twenty frames in the narrowest band
MEAN_TOLERANCE = 0.5  # dB: of the mean over the bands
SPEECH_TOLERANCE = 0.3  # dB: how far a stage may move the level of speech
NOTHING = 1e-4  # power, no unit: 40 dB under noise that is itself under the floor of every other clip
LEFT_ALONE = -39.0  # dB: what a clip at the floor gets, relative to the floor


def coloured(frames: int, slope: float, seed: int, rate: int = RATE) -> np.ndarray:
    """Return noise of RMS 1 with a slope in dB/octave."""
    frequencies = np.maximum(np.fft.rfftfreq(frames, 1 / rate), 50)
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(frames))
    noise = np.fft.irfft(spectrum * (frequencies / 1000) ** (slope / 20 / np.log10(2)), frames)
    return noise / noise.std()


def clip_of(floor_dbfs: float | None, slope: float = 0.0, seed: int = 0, rate: int = RATE) -> Clip:
    """Return words of 0.4 s at about -26 dBFS in pauses of 0.4 s, over a noise floor, or over digital zero."""
    frames = 4 * rate
    spoken = (np.arange(frames) / rate) % 0.8 >= 0.4
    sound = 0.05 * coloured(frames, -6, 1000 + seed, rate) * spoken
    if floor_dbfs is not None:
        sound = sound + 10 ** (floor_dbfs / 20) * coloured(frames, slope, 2000 + seed, rate)
    return Clip(sound[:, np.newaxis], rate, f"clip {seed}")


def measured(*clips: Clip, stage: MaskingNoise = STAGE, conditions: str = "") -> list[Measured[MaskingMeasure]]:
    """Return what the stage measures on clips, each under a condition of one letter."""
    return [
        Measured(Row(f"{place}.wav", Path(), {"condition": conditions[place : place + 1]}), stage.measure(clip))
        for place, clip in enumerate(clips)
    ]


def treated(clip: Clip, fit: MaskingFit, stage: MaskingNoise = STAGE) -> Applied:
    """Return what the stage makes of a clip."""
    result = stage.apply(clip, fit)
    assert isinstance(result, Applied)
    return result


ROOM = clip_of(-60, slope=-3, seed=1)
HISS = clip_of(-70, slope=3, seed=2)
DEAD = clip_of(None, seed=3)


def fit_of_room() -> MaskingFit:
    """Return the fit whose floor is that of the room, up to 7 kHz."""
    return MaskingNoise(floor_of={"condition": "r"}).fit(measured(ROOM, DEAD, conditions="rd"))


@pytest.mark.parametrize("clip", [DEAD, clip_of(-65, slope=-3, seed=4), clip_of(-90, slope=3, seed=5)])
def test_every_floor_comes_up_to_the_one(clip: Clip) -> None:
    """A clip over digital zero and clips with less noise, of whatever colour, end with the floor in every band."""
    fit = fit_of_room()
    _, levels = floor_levels_db(treated(clip, fit).clip)
    off = levels[: len(fit.levels_db)] - np.array(fit.levels_db)
    assert np.abs(off).max() < BAND_TOLERANCE
    assert abs(off.mean()) < MEAN_TOLERANCE


def test_only_what_is_missing_is_added() -> None:
    """A clip at the floor gets next to nothing; a clip 3 dB under it gets half the floor's power."""
    fit = fit_of_room()
    assert treated(ROOM, fit).notes["added_dbfs"] < fit.level_db + LEFT_ALONE
    half = clip_of(-63, slope=-3, seed=1)
    assert treated(half, fit).notes["added_dbfs"] == pytest.approx(fit.level_db - 3, abs=2 * MEAN_TOLERANCE)


def test_noise_is_never_taken_away() -> None:
    """A clip with more noise keeps it, and its notes and the fit say how far it stays above."""
    noisy = clip_of(-50, slope=-3, seed=6)
    stage = MaskingNoise(percentile=50)
    fit = stage.fit(measured(ROOM, clip_of(-60, slope=-3, seed=7), noisy))
    out = treated(noisy, fit, stage)
    assert out.notes["stays_above_db"] == pytest.approx(10, abs=BAND_TOLERANCE)
    assert np.abs(out.clip.samples - noisy.samples).max() < 10 ** (-60 / 20)
    assert fit.noisier_clips == 1
    assert fit.warning.startswith("1 of 3 clips have 3 dB or more noise of their own above the floor")


def test_the_cue_goes() -> None:
    """Floors that lie 50 dB apart are read within 1 dB of each other by the cue."""
    fit = fit_of_room()
    before = [noise_floor_dbfs(clip) for clip in (ROOM, clip_of(-110, seed=8))]
    after = [noise_floor_dbfs(treated(clip, fit).clip) for clip in (ROOM, clip_of(-110, seed=8), DEAD)]
    assert max(before) - min(before) > 45
    assert max(after) - min(after) < 1


def test_the_floor_is_a_percentile() -> None:
    """In each band the floor is the percentile over the clips: at 100 % that of the noisiest."""
    stage = MaskingNoise(percentile=100)
    fit = stage.fit(measured(ROOM, HISS, DEAD))
    levels = [floor_levels_db(clip)[1] for clip in (ROOM, HISS, DEAD)]
    assert fit.levels_db == pytest.approx(np.max(levels, axis=0))
    assert fit.noisier_clips == 0
    assert fit.warning == ""


def test_a_floor_that_will_be_heard_is_warned_of() -> None:
    """A floor 20 dB under speech is told as such."""
    fit = STAGE.fit(measured(clip_of(-46, seed=9)))
    assert "dB below speech and will be heard" in fit.warning


def test_rows_of_the_floor() -> None:
    """`floor_of` takes the floor from its rows alone, and makes the stage learn from labels."""
    stage = MaskingNoise(floor_of={"condition": "r"})
    items = measured(ROOM, HISS, DEAD, conditions="rhd")
    assert stage.fit(items).levels_db == stage.fit(items[:1]).levels_db
    assert (stage.fits_on(), STAGE.fits_on()) == ("labels", "every clip")
    assert stage.selections() == [("floor_of", {"condition": "r"})]
    with pytest.raises(RefusedError, match="no stimulus is left in the rows of `floor_of`"):
        stage.fit(items[1:])


@pytest.mark.parametrize("relative_to", ["lufs", "dbov"])
def test_a_relative_floor_follows_the_clip(relative_to: str) -> None:
    """Relative to speech, a clip 12 dB quieter gets a floor 12 dB lower; relative to full scale, the same floor."""
    quiet = DEAD.with_samples(DEAD.samples / 4)
    stage = MaskingNoise.model_validate({"relative_to": relative_to})
    for step, wanted in ((stage, 12.04), (STAGE, 0.0)):
        fit = step.fit(measured(ROOM, HISS, stage=step))
        added = [treated(clip, fit, step).notes["added_dbfs"] for clip in (DEAD, quiet)]
        assert added[0] - added[1] == pytest.approx(wanted, abs=0.2)


def test_the_noise_ends_where_the_lowest_rate_ends() -> None:
    """Clips of 16 and 48 kHz get noise up to just below 8 kHz, both, so that no rate shows in the floor."""
    low, high = clip_of(-60, seed=10, rate=16000), clip_of(None, seed=11, rate=48000)
    fit = MaskingNoise(percentile=100).fit(measured(low, high))
    assert fit.upper_hz == pytest.approx(7760)
    added = treated(high, fit).clip.mono() - high.mono()
    spectrum = np.abs(np.fft.rfft(added)) ** 2
    frequencies = np.fft.rfftfreq(high.frames, 1 / 48000)
    inside, outside = (frequencies > 6000) & (frequencies < 7700), frequencies > 8050
    assert spectrum[outside].mean() < NOTHING * spectrum[inside].mean()


def test_a_clip_of_a_lower_rate_is_told() -> None:
    """A clip whose rate cannot hold the whole floor gets what it holds, and a warning."""
    out = treated(clip_of(-80, seed=12, rate=8000), fit_of_room())
    assert out.notes["warning"].startswith("its rate holds the floor up to 3880 Hz only")


def test_noise_is_seeded_by_the_content_alone() -> None:
    """The same sound gets the same noise whatever it is called, and two sounds get different noise."""
    fit = fit_of_room()
    again = treated(Clip(DEAD.samples, RATE, "synthetic 7"), fit).clip
    assert again.samples.tobytes() == treated(DEAD, fit).clip.samples.tobytes()
    other = clip_of(None, seed=13)
    noises = [treated(clip, fit).clip.mono() - clip.mono() for clip in (DEAD, other)]
    assert abs(np.corrcoef(*noises)[0, 1]) < 0.05


def test_all_channels_get_the_same_noise() -> None:
    """In stereo one noise is added to both channels, as much as their mean lacks."""
    both = DEAD.with_samples(np.hstack([DEAD.samples, DEAD.samples[::-1]]))
    added = treated(both, fit_of_room()).clip.samples - both.samples
    assert added[:, 0] == pytest.approx(added[:, 1], abs=1e-7)


def test_speech_keeps_its_level_and_its_place() -> None:
    """A floor 34 dB under speech moves its active level by less than 0.3 dB, and nothing in time."""
    out = treated(DEAD, fit_of_room()).clip
    before, after = active_level(DEAD), active_level(out)
    assert before is not None
    assert after is not None
    assert after.active_level_dbov == pytest.approx(before.active_level_dbov, abs=SPEECH_TOLERANCE)
    spectra = np.fft.rfft(out.mono(), 2 * out.frames) * np.conj(np.fft.rfft(DEAD.mono(), 2 * DEAD.frames))
    assert out.frames == DEAD.frames
    assert np.argmax(np.fft.irfft(spectra)) == 0


def test_short_clips_and_silence() -> None:
    """Sixty milliseconds of sound are treated, finite; digital silence has no pauses to measure."""
    short = DEAD.with_samples(DEAD.samples[round(0.5 * RATE) : round(0.56 * RATE)])
    out = treated(short, fit_of_room()).clip
    assert out.frames == short.frames
    assert np.isfinite(out.samples).all()
    with pytest.raises(ClipError, match="silent"):
        STAGE.apply(Clip(np.zeros((RATE, 1), np.float32), RATE), fit_of_room())


def test_real_floors_come_together(shared: Path) -> None:
    """Real clips' floors, 40 dB or more apart, are within 6 dB afterwards at the 100th percentile; speech stays."""
    with (shared / "data" / "chains.csv").open(encoding="utf-8", newline="") as file:
        names = {line["speaker"]: line["file_name"] for line in csv.DictReader(file)}
    paths = [shared / "data" / name for _, name in sorted(names.items())][::2]
    clips = [Clip(*soundfile.read(path, always_2d=True, dtype="float32"), id=path.name) for path in paths]
    stage = MaskingNoise(percentile=100)
    fit = stage.fit(measured(*clips, stage=stage))
    outs = [treated(clip, fit, stage).clip for clip in clips]
    before, after = ([noise_floor_dbfs(clip) for clip in some] for some in (clips, outs))
    assert max(before) - min(before) > 40
    assert max(after) - min(after) < 6
    levels = [[level.active_level_dbov for clip in some if (level := active_level(clip))] for some in (clips, outs)]
    assert np.abs(np.subtract(*levels)).max() < SPEECH_TOLERANCE
