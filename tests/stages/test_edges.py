"""edges: one head and one tail, of room tone, without cutting speech."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import soundfile
from pydantic import ValidationError

from prep.clip import Clip
from prep.errors import ClipError, RefusedError
from prep.pauses import head_seconds, parts, tail_seconds
from prep.stage import Applied, Measured
from prep.stages.edges import Edges, EdgesMeasure
from prep.table import Row

RATE = 16000
STAGE = Edges(head_seconds=0.2, tail_seconds=0.3)

SPEECH = 0.05  # full scale: RMS of the vowels
FLOOR = 1e-4  # full scale: RMS of the room, -80 dBFS
BREATH = 1.5e-3  # full scale: RMS of a breath, 30 dB under the vowels

BLOCKS = 0.0101  # s: two blocks of 5 ms, the resolution of the cue
FLOOR_TOLERANCE = 2.0  # dB: of the level of 0.1 s of room tone
EXACT = 1e-9  # s: lengths in the notes are whole frames


def sound(*segments: tuple[float, float], seed: int = 0, hum: bool = False) -> Clip:
    """Return noise in segments (seconds, RMS), with the room's noise under those that are not 0."""
    randoms = np.random.default_rng(seed)
    pieces = []
    for seconds, level in segments:
        frames = round(seconds * RATE)
        tone = (
            np.sqrt(2) * np.sin(2 * np.pi * 150 * np.arange(frames) / RATE) if hum else randoms.standard_normal(frames)
        )
        pieces.append(level * tone + (FLOOR * randoms.standard_normal(frames) if level else 0))
    return Clip(np.concatenate(pieces)[:, np.newaxis], RATE, "made")


def speech(head: float = 0.5, tail: float = 0.5, seed: int = 0) -> Clip:
    """Return two words and a pause, with a head and a tail of room tone."""
    return sound((head, FLOOR), (0.4, SPEECH), (0.3, FLOOR), (0.4, SPEECH), (tail, FLOOR), seed=seed)


def treated(clip: Clip, stage: Edges = STAGE) -> Applied:
    """Return what the stage makes of a clip."""
    result = stage.apply(clip, None)
    assert isinstance(result, Applied)
    return result


def rms_db(samples: np.ndarray) -> float:
    """Return the level of samples, dB."""
    return float(10 * np.log10(np.mean(np.square(samples, dtype=float))))


def longest_zeros(clip: Clip) -> float:
    """Return the longest run of digital zero, s."""
    constant = np.concatenate([[False], np.all(clip.samples == 0, axis=1), [False]])
    runs = np.flatnonzero(np.diff(constant)).reshape(-1, 2)
    return float(np.diff(runs).max(initial=0)) / clip.rate


@pytest.mark.parametrize("head", [0.0, 0.04, 0.2, 1.0])
@pytest.mark.parametrize("tail", [0.0, 0.3, 1.0])
def test_every_clip_gets_the_lengths(head: float, tail: float) -> None:
    """Whatever head and tail a clip comes with, it leaves with those that are asked for, to the cue's resolution."""
    out = treated(speech(head, tail))
    assert head_seconds(out.clip) == pytest.approx(0.2, abs=BLOCKS)
    assert tail_seconds(out.clip) == pytest.approx(0.3, abs=BLOCKS)
    assert out.notes["head_seconds"] == pytest.approx(0.2, abs=EXACT)
    assert out.notes["tail_seconds"] == pytest.approx(0.3, abs=EXACT)


@pytest.mark.parametrize(("head", "tail"), [(0.05, 0.05), (1.0, 1.0)])
def test_the_notes_say_the_change_of_length_to_the_frame(head: float, tail: float) -> None:
    """The clip is longer or shorter by exactly what the notes say, and correlates best at exactly the cut."""
    clip = speech(head, tail)
    out = treated(clip)
    change = out.notes["head_change_seconds"] + out.notes["tail_change_seconds"]
    assert out.clip.frames - clip.frames == pytest.approx(change * RATE, abs=1e-6)
    size = 2 * max(clip.frames, out.clip.frames)
    spectra = np.fft.rfft(out.clip.mono(), size) * np.conj(np.fft.rfft(clip.mono(), size))
    lag = int(np.argmax(np.fft.irfft(spectra)))
    assert (lag + size // 2) % size - size // 2 == round(out.notes["head_change_seconds"] * RATE)


def test_no_sample_of_speech_is_touched() -> None:
    """From the first sound of speech to the last, samples are bit for bit those of the source."""
    clip = speech(0.03, 0.9)
    out = treated(clip)
    found = parts(clip)
    first, last = np.rint(found.starts_seconds[[found.speech[0, 0], found.speech[-1, 1]]] * RATE).astype(int)
    moved = round(out.notes["head_change_seconds"] * RATE)
    assert np.array_equal(out.clip.samples[first + moved : last + moved], clip.samples[first:last])


@pytest.mark.parametrize("stage", [Edges(head_seconds=0.05, tail_seconds=0.05), STAGE])
def test_a_weak_consonant_is_not_cut(stage: Edges) -> None:
    """A first "s" and a last one, 30 dB under the vowels, are kept whole at the shortest edges too."""
    hiss = 0.12
    clip = sound((0.5, FLOOR), (hiss, BREATH), (0.4, SPEECH), (0.3, FLOOR), (0.4, SPEECH), (hiss, BREATH), (0.5, FLOOR))
    samples = treated(clip, stage).clip.samples
    for start in (0.5, 0.5 + hiss + 1.1):
        piece = clip.samples[round(start * RATE) : round((start + hiss) * RATE)].tobytes()
        assert piece in samples.tobytes()


def test_room_tone_is_that_of_the_clip() -> None:
    """What is added is as loud as the clip's own pauses, without a hole and without a repetition."""
    out = treated(speech(0.0, 0.0), Edges(head_seconds=1.0, tail_seconds=1.0))
    made = out.clip.samples[: round(0.97 * RATE), 0].astype(float)
    assert out.notes["room_tone_seconds"] == pytest.approx(2.0, abs=2 * BLOCKS)
    assert out.notes["room_tone_from"] == "pauses"
    for start in range(0, len(made) - RATE // 10, RATE // 10):
        piece = made[start : start + RATE // 10]
        assert rms_db(piece) == pytest.approx(rms_db(np.array([np.sqrt(2) * FLOOR])), abs=FLOOR_TOLERANCE)
    spectrum = np.abs(np.fft.rfft(made, 2 * len(made))) ** 2
    correlation = np.fft.irfft(spectrum)[: len(made)]
    assert np.abs(correlation[round(0.06 * RATE) :]).max() < 0.5 * correlation[0]


def test_digital_zero_at_the_ends_is_filled() -> None:
    """A head and a tail of digital zero become room tone, whether they are too long or too short."""
    for edge in (0.1, 1.0):
        clip = sound((edge, 0), (0.4, SPEECH), (0.3, FLOOR), (0.4, SPEECH), (edge, 0))
        out = treated(clip)
        assert longest_zeros(out.clip) < 0.001
        assert rms_db(out.clip.samples[: RATE // 10]) == pytest.approx(-77, abs=FLOOR_TOLERANCE)


def test_weak_ends_of_words_are_no_room_tone() -> None:
    """Where the pauses are digital zero, the ends of words fill no head: the cue finds the lengths under dither too."""
    weak = SPEECH * 10 ** (-17 / 20)
    words = [(0.02, 0), (0.4, SPEECH), (0.1, weak), (0.3, 0), (0.1, weak), (0.4, SPEECH), (0.1, weak), (0.4, 0)]
    out = treated(sound(*words))
    assert out.notes["room_tone_from"] == "noise"
    randoms = np.random.default_rng(1)
    steps = out.clip.samples * 2**15 + randoms.random(out.clip.samples.shape) - randoms.random(out.clip.samples.shape)
    dithered = out.clip.with_samples(np.rint(steps) / 2**15)
    assert head_seconds(dithered) == pytest.approx(0.2, abs=2 * BLOCKS)
    assert tail_seconds(dithered) == pytest.approx(0.3, abs=2 * BLOCKS)


def test_a_clip_without_room_tone_gets_noise_as_faint_as_dither() -> None:
    """Where every pause is digital zero, heads and tails are filled at -93 dBFS, and a warning says what helps."""
    out = treated(sound((0.1, 0), (0.4, SPEECH), (0.3, 0), (0.4, SPEECH), (0.5, 0)))
    assert out.notes["room_tone_from"] == "noise"
    assert "masking_noise" in out.notes["warning"]
    assert rms_db(out.clip.samples[: RATE // 10]) == pytest.approx(-93.3, abs=1)
    assert longest_zeros(out.clip) == pytest.approx(0.3, abs=0.001)  # a pause is no edge


def test_a_clip_without_pauses_says_so() -> None:
    """A clip that is nowhere quiet gets tone of its quietest 70 ms, and a warning."""
    out = treated(sound((0.3, SPEECH), (0.04, FLOOR), (0.3, SPEECH)))
    assert out.notes["room_tone_from"] == "quietest part"
    assert "nowhere quiet" in out.notes["warning"]


def breathing(gap: float = 0.25) -> Clip:
    """Return a breath of 0.3 s before speech."""
    return sound((0.6, FLOOR), (0.3, BREATH), (gap, FLOOR), (0.4, SPEECH), (0.3, FLOOR), (0.4, SPEECH), (0.5, FLOOR))


def test_a_breath_is_kept_whole() -> None:
    """A breath before speech stays, with 50 ms of room tone before it, and a warning says how long the head is."""
    clip = breathing()
    out = treated(clip)
    assert clip.samples[round(0.6 * RATE) : round(0.9 * RATE)].tobytes() in out.clip.samples.tobytes()
    assert out.notes["breath"] == "kept"
    assert out.notes["head_seconds"] == pytest.approx(0.25 + 0.3 + 0.05, abs=2 * BLOCKS)
    assert "`breaths: trim` takes it out" in out.notes["warning"]


def test_a_breath_that_fits_changes_nothing() -> None:
    """A head long enough for the breath has the length that is asked for."""
    out = treated(breathing(), Edges(head_seconds=0.8, tail_seconds=0.3))
    assert out.notes["breath"] == "kept"
    assert out.notes["head_seconds"] == pytest.approx(0.8, abs=EXACT)
    assert "warning" not in out.notes


@pytest.mark.parametrize("gap", [0.08, 0.25])
def test_a_breath_is_trimmed_if_asked(gap: float) -> None:
    """With `breaths: trim` there is room tone in place of the breath, near to speech or not."""
    out = treated(breathing(gap), Edges(head_seconds=0.5, tail_seconds=0.3, breaths="trim"))
    assert out.notes["breath"] == "trimmed"
    assert out.notes["head_seconds"] == pytest.approx(0.5, abs=EXACT)
    assert rms_db(out.clip.samples[: round(0.45 * RATE)]) == pytest.approx(-77, abs=FLOOR_TOLERANCE)
    assert head_seconds(out.clip) == pytest.approx(0.5, abs=BLOCKS)


@pytest.mark.parametrize(
    "first",
    [
        sound((0.5, FLOOR), (0.12, BREATH), (0.06, FLOOR)),  # an "s" before the closure of a "t"
        sound((0.5, FLOOR), (0.3, BREATH), (0.06, FLOOR), hum=True),  # a soft vowel
        sound((0.5, FLOOR), (0.3, SPEECH / 2), (0.06, FLOOR)),  # loud: no breath
    ],
)
def test_trimming_breaths_spares_speech(first: Clip) -> None:
    """A short hiss, a soft voice and a loud sound before the first word are no breaths."""
    clip = first.with_samples(np.concatenate([first.samples, speech(0, 0.5).samples]))
    out = treated(clip, Edges(head_seconds=0.2, tail_seconds=0.3, breaths="trim"))
    assert out.notes["breath"] is None
    assert first.samples[round(0.5 * RATE) : round(0.6 * RATE)].tobytes() in out.clip.samples.tobytes()


def test_no_click_is_cut_in_two() -> None:
    """Where the cut would fall into a click, room tone takes its place."""
    clip = sound((0.48, FLOOR), (0.03, BREATH), (0.19, FLOOR), (0.4, SPEECH), (0.3, FLOOR), (0.4, SPEECH), (0.5, FLOOR))
    out = treated(clip)  # the click lies 0.22 to 0.19 s before speech, and the head is 0.2 s
    assert out.notes["head_seconds"] == pytest.approx(0.2, abs=EXACT)
    assert rms_db(out.clip.samples[: RATE // 50]) == pytest.approx(-77, abs=2 * FLOOR_TOLERANCE)


def measured(*lengths: tuple[str, float, float], role: str = "stimulus") -> list[Measured[EdgesMeasure]]:
    """Return what fit gets of clips (condition, head, tail)."""
    return [
        Measured(
            Row(f"{place}.wav", Path(), {"condition": condition, "role": role}),
            EdgesMeasure(head_seconds=head, tail_seconds=tail),
        )
        for place, (condition, head, tail) in enumerate(lengths)
    ]


SET = measured(("human", 0.3, 0.5), ("human", 0.5, 0.7), ("synthetic", 0.1, 0.02), ("synthetic", 0.2, 0.01))


def test_lengths_are_the_medians() -> None:
    """Without numbers the lengths are the medians of all stimuli; a reference does not count."""
    fit = Edges().fit([*SET, *measured(("human", 9.0, 9.0), role="reference")])
    assert (fit.head_seconds, fit.tail_seconds, fit.clips) == (pytest.approx(0.25), pytest.approx(0.26), 4)
    assert Edges().fits_on() == "every clip"


def test_lengths_are_taken_from_a_condition() -> None:
    """With `lengths_of` they are the medians of those rows, but at least 0.05 s."""
    stage = Edges(lengths_of={"condition": "synthetic"})
    fit = stage.fit(SET)
    assert (fit.head_seconds, fit.tail_seconds) == (pytest.approx(0.15), 0.05)
    assert fit.median_tail_seconds == pytest.approx(0.015)
    assert stage.fits_on() == "labels"
    assert stage.selections() == [("lengths_of", {"condition": "synthetic"})]
    out = stage.apply(speech(), fit)
    assert isinstance(out, Applied)
    assert head_seconds(out.clip) == pytest.approx(0.15, abs=BLOCKS)


def test_a_given_length_goes_before_the_median() -> None:
    """One length given and one not: the given one is kept to."""
    fit = Edges(head_seconds=0.4).fit(SET)
    assert (fit.head_seconds, fit.tail_seconds) == (0.4, pytest.approx(0.26))
    assert STAGE.fits_on() == "nothing"


def test_what_cannot_work_is_refused() -> None:
    """Rows without a stimulus, lengths said twice, and edges that would cut consonants are refused."""
    with pytest.raises(RefusedError, match="no stimulus is left in the rows of `lengths_of`"):
        Edges(lengths_of={"condition": "other"}).fit(SET)
    with pytest.raises(ValidationError, match="leave lengths_of out"):
        Edges(head_seconds=0.1, tail_seconds=0.1, lengths_of={"condition": "human"})
    with pytest.raises(ValidationError, match="head_seconds"):
        Edges(head_seconds=0.02)


def test_thresholds_are_relative() -> None:
    """A clip 24 dB quieter is cut at the same frames."""
    clip = speech(0.8, 0.8)
    quiet = clip.with_samples(clip.samples / 16)
    assert treated(quiet).notes["head_change_seconds"] == treated(clip).notes["head_change_seconds"]
    assert treated(quiet).clip.frames == treated(clip).clip.frames


def test_tone_is_seeded_by_the_content() -> None:
    """The same sound under another name gets the same tone; another sound gets another."""
    clip = speech(0.0, 0.0)
    again = Clip(clip.samples, clip.rate, "another name")
    assert treated(again).clip.samples.tobytes() == treated(clip).clip.samples.tobytes()
    assert not np.array_equal(treated(speech(0.0, 0.0, seed=1)).clip.samples[:1000], treated(clip).clip.samples[:1000])


def test_channels_are_cut_alike() -> None:
    """Both channels are cut at one place, and their tone is each one's own, from the same moments."""
    clip = speech(0.0, 0.9)
    both = clip.with_samples(np.hstack([clip.samples, clip.samples / 2]))
    samples = treated(both).clip.samples
    assert samples[:, 1] == pytest.approx(samples[:, 0] / 2, abs=1e-7)


def test_short_clips_and_silence() -> None:
    """Sixty milliseconds of sound get their edges, finite; digital silence has no speech to find."""
    out = treated(sound((0.06, SPEECH)))
    assert np.isfinite(out.clip.samples).all()
    assert out.clip.seconds == pytest.approx(0.56, abs=BLOCKS)
    with pytest.raises(ClipError, match="silent"):
        STAGE.apply(Clip(np.zeros((RATE, 1), np.float32), RATE), None)


def test_real_clips_get_one_length(shared: Path) -> None:
    """Nine in ten real clips read the length that is asked for, to 10 ms, and no speech of any is touched."""
    with (shared / "data" / "chains.csv").open(encoding="utf-8", newline="") as file:
        names = sorted(line["file_name"] for line in csv.DictReader(file))[::3]
    within = []
    for name in names:
        clip = Clip(*soundfile.read(shared / "data" / name, always_2d=True, dtype="float32"), id=name)
        out = treated(clip)
        found = parts(clip)
        first, last = np.rint(found.starts_seconds[[found.speech[0, 0], found.speech[-1, 1]]] * clip.rate).astype(int)
        moved = round(out.notes["head_change_seconds"] * clip.rate)
        assert np.array_equal(out.clip.samples[first + moved : last + moved], clip.samples[first:last])
        within += [abs(head_seconds(out.clip) - out.notes["head_seconds"]) <= BLOCKS]
        within += [abs(tail_seconds(out.clip) - out.notes["tail_seconds"]) <= BLOCKS]
    assert np.mean(within) >= 0.9
