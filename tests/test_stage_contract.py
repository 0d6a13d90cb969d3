"""What every stage and every encoder must hold, whichever file it is in.

A new stage is found by itself. A stage without a working default gets its parameters in EXAMPLES; a
stage that cannot hold a clause by its nature is excused in EXEMPT, with the reason.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from prep.clip import Clip
from prep.errors import ClipError, RefusedError
from prep.stage import Applied, Encoder, Measured, Rejected, Stage, Step
from prep.stages import stage_classes
from prep.table import Row

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
AnyStage = Stage[Any, Any]

EXAMPLES: dict[str, dict[str, Any]] = {
    "denoise": {"method": "spectral_gate", "floor_towards": {"condition": "synthetic"}, "max_level_loss_db": 60},
    "screen": {"duration": {"min_duration_seconds": 0.01}},
    "clip_loudness": {"median_of": {"condition": "synthetic"}, "on_over": "limit", "ceiling_dbtp": -9},
    "tilt_eq": {"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}},
}

# (stage, test): the reason.
EXEMPT: dict[tuple[str, str], str] = {
    ("reference_eq", "test_channels_are_not_mixed"): (
        "its one filter follows from the mean of the channels, so one channel alone gets another; its own tests hold "
        "that no channel reaches another"
    ),
    ("screen", "test_no_fit_is_declared"): "what it measures decides about the clip itself, and nothing is learned",
    ("edges", "test_rate_channels_and_length_are_kept"): "its purpose is another length; its own tests say which",
    ("edges", "test_nothing_is_shifted_in_time"): "a cut head comes earlier, by exactly what its own tests say",
    ("edges", "test_channels_are_not_mixed"): "channels are cut at one place, found in their mean, so none is as alone",
}

CLASSES: dict[str, type[Step]] = stage_classes()
STAGES = sorted(name for name, found in CLASSES.items() if issubclass(found, Stage))
ENCODERS = sorted(name for name, found in CLASSES.items() if issubclass(found, Encoder))

UNITS = "no unit|Hz|kHz|s|ms|dB|dB/octave|LUFS|LU|dBTP|dBFS|dBov|kb/s|bits|count|percent|%"
UNIT = re.compile(rf"(?:^|[\s(])(?:{UNITS})(?:$|[\s,;:.)])")

RATE = 22050
ALIKE = 0.999  # correlation, no unit: the same sound up to a gain and rounding
SAME_SAMPLES = 1e-6  # full scale: float32 rounding


def of_each(names: list[str]) -> pytest.MarkDecorator:
    """Run a test once for each name."""
    return pytest.mark.parametrize("name", names)


@pytest.fixture(autouse=True)
def _exemption(request: pytest.FixtureRequest) -> None:
    """Skip what a stage is excused from."""
    callspec = getattr(request.node, "callspec", None)
    name = callspec.params.get("name") if callspec else None
    if reason := EXEMPT.get((str(name), request.node.originalname)):
        pytest.skip(reason)


def sound(seed: int, seconds: float = 1.5, channels: int = 1, level: float = 0.05) -> Clip:
    """Return noise in syllables, falling by 6 dB/octave above 500 Hz, each channel its own."""
    frames = round(seconds * RATE)
    frequencies = np.fft.rfftfreq(frames, 1 / RATE)
    white = np.random.default_rng(seed).standard_normal((frames, channels))
    noise = np.fft.irfft(np.fft.rfft(white, axis=0) / (1 + frequencies[:, np.newaxis] / 500), frames, axis=0)
    syllables = 1e-3 + np.clip(np.sin(2 * np.pi * 3 * np.arange(frames) / RATE + seed), 0, None)
    return Clip(level * noise / noise.std() * syllables[:, np.newaxis], RATE, f"sound {seed}")


def of(samples: np.ndarray) -> Clip:
    """Return a clip of some samples (frames, channels)."""
    return Clip(samples, RATE, "odd")


def odd_clips() -> dict[str, Clip]:
    """Return the clips that break careless arithmetic."""
    noise = sound(9).samples
    holes = noise.copy()
    holes[1000] = np.nan
    endless = noise.copy()
    endless[1000] = np.inf
    square = np.sign(np.sin(2 * np.pi * 200 * np.arange(RATE) / RATE + 0.1))[:, np.newaxis]
    return {
        "silence": of(np.zeros((RATE, 1))),
        "stereo silence": of(np.zeros((RATE, 2))),
        "one frame": of(np.full((1, 1), 0.5)),
        "one silent frame": of(np.zeros((1, 1))),
        "0.2 seconds": of(noise[: RATE // 5]),
        "constant": of(np.full((RATE, 1), 0.25)),
        "full scale": of(square),
        "one channel silent": of(np.hstack([noise, np.zeros_like(noise)])),
        "channels inverted": of(np.hstack([noise, -noise])),
        "not a number": of(holes),
        "infinite": of(endless),
    }


ODD = odd_clips()


def step_of(name: str) -> Any:
    """Return the stage or encoder with its defaults, or as in EXAMPLES."""
    return CLASSES[name].model_validate(EXAMPLES.get(name, {}))


def measured_set(stage: AnyStage) -> list[Measured[Any]]:
    """Return what a stage measures on a small set of two conditions, three speakers each."""
    rows = [
        Row(f"{condition}_{speaker}.wav", Path(), {"condition": condition, "speaker": speaker, "passage": "1"})
        for condition in ("human", "synthetic")
        for speaker in ("a", "b", "c")
    ]
    return [Measured(row, stage.measure(sound(seed)) if stage.MEASURES else None) for seed, row in enumerate(rows)]


LEARNERS = [name for name in STAGES if step_of(name).fits_on() != "nothing"]


@cache
def fit_of(name: str) -> Any:
    """Return the stage's fit of the small set, or None where it does not learn."""
    stage = step_of(name)
    return stage.fit(measured_set(stage)) if name in LEARNERS else None


def treated(name: str, clip: Clip) -> Clip:
    """Return the clip treated by the stage, with the fit of the small set."""
    result = step_of(name).apply(clip, fit_of(name))
    assert isinstance(result, Applied), result
    return result.clip


def says_something(message: str) -> bool:
    """Say whether a message is words for a reader, not a bare repr."""
    return len(message.split()) >= 4


def tried(call: Callable[[], T]) -> T | str:
    """Return what a call gives, or the words with which it turns the clip down."""
    try:
        return call()
    except ClipError as error:
        return str(error)


def test_exemptions_are_real() -> None:
    """Each exemption names a stage and a test that exist, and says why."""
    for (name, test), reason in EXEMPT.items():
        assert name in CLASSES
        assert callable(globals()[test])
        assert says_something(reason)


@of_each(sorted(CLASSES))
def test_name_is_the_module(name: str) -> None:
    """The YAML word, the NAME of the class and the name of its module are one."""
    assert CLASSES[name].NAME == name == CLASSES[name].__module__.rpartition(".")[2]


@of_each(sorted(CLASSES))
def test_class_has_a_docstring(name: str) -> None:
    """Each class says in its docstring what it does."""
    assert says_something(CLASSES[name].__doc__ or "")


@of_each(sorted(CLASSES))
def test_fields_say_their_unit(name: str) -> None:
    """Every parameter, measure and fitted value has a description with its unit, or `no unit`."""
    found = CLASSES[name]
    models: list[type[BaseModel] | None] = [found]
    if issubclass(found, Stage):
        models += [found.MEASURES, found.FITS]
    silent = [
        f"{model.__name__}.{field}: {info.description}"
        for model in models
        if model is not None
        for field, info in model.model_fields.items()
        if not UNIT.search(info.description or "")
    ]
    assert silent == []


@of_each(sorted(CLASSES))
def test_parameters_survive_json(name: str) -> None:
    """A stage dumped to JSON and read again is the same stage."""
    step = step_of(name)
    assert CLASSES[name].model_validate(json.loads(step.model_dump_json())) == step
    assert json.loads(json.dumps(dict(step.identity())))["step"] == name


@of_each(sorted(CLASSES))
def test_unknown_parameters_are_refused(name: str) -> None:
    """A parameter that does not exist is refused."""
    with pytest.raises(ValidationError, match="no_such_parameter"):
        CLASSES[name].model_validate({**EXAMPLES.get(name, {}), "no_such_parameter": 1})


@of_each(sorted(CLASSES))
def test_parameters_are_frozen(name: str) -> None:
    """A parameter cannot be changed after the config was checked."""
    step = step_of(name)
    for field in type(step).model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(step, field, getattr(step, field))


@of_each(STAGES)
def test_input_is_untouched(name: str) -> None:
    """Measuring and applying leave the clip as it was."""
    clip = sound(1, channels=2)
    before = clip.samples.tobytes()
    if name in LEARNERS:
        step_of(name).measure(clip)
    treated(name, clip)
    assert clip.samples.tobytes() == before


@of_each(STAGES)
def test_output_is_a_finite_float32_sound(name: str) -> None:
    """What comes out is float32 and finite."""
    samples = treated(name, sound(1)).samples
    assert samples.dtype == np.float32
    assert np.isfinite(samples).all()
    assert samples.any()


@of_each(STAGES)
@pytest.mark.parametrize("channels", [1, 2])
def test_rate_channels_and_length_are_kept(name: str, channels: int) -> None:
    """What comes out has the rate, the channels and the frames of what went in."""
    clip = sound(1, channels=channels)
    out = treated(name, clip)
    assert (out.rate, out.channels, out.frames) == (clip.rate, clip.channels, clip.frames)


@of_each(STAGES)
def test_nothing_is_shifted_in_time(name: str) -> None:
    """What comes out correlates best with what went in at lag 0."""
    clip = sound(1)
    size = 2 * clip.frames
    spectrum = np.fft.rfft(treated(name, clip).mono(), size) * np.conj(np.fft.rfft(clip.mono(), size))
    assert np.argmax(np.fft.irfft(spectrum)) == 0


@of_each(STAGES)
def test_same_clip_same_samples(name: str) -> None:
    """The same clip and fit give the same samples, notes and measures, from a fresh stage too."""
    first, second = (step_of(name).apply(sound(2), fit_of(name)) for _ in range(2))
    assert isinstance(first, Applied)
    assert isinstance(second, Applied)
    assert first.clip.samples.tobytes() == second.clip.samples.tobytes()
    assert first.notes == second.notes
    if name in LEARNERS and step_of(name).MEASURES:
        assert step_of(name).measure(sound(2)) == step_of(name).measure(sound(2))


@of_each(STAGES)
def test_notes_survive_json(name: str) -> None:
    """The notes of a clip are plain values that JSON keeps as they are."""
    result = step_of(name).apply(sound(2), fit_of(name))
    assert isinstance(result, Applied)
    assert json.loads(json.dumps(result.notes, allow_nan=False)) == result.notes


@of_each(STAGES)
@pytest.mark.parametrize("kind", sorted(ODD))
def test_odd_clips_are_treated_or_refused(name: str, kind: str) -> None:
    """An odd clip gives finite samples, or is turned down in words; no other error, and never NaN."""
    result = tried(lambda: step_of(name).apply(ODD[kind], fit_of(name)))
    if isinstance(result, str | Rejected):
        assert says_something(result if isinstance(result, str) else result.reason)
        return
    assert result.clip.samples.dtype == np.float32
    assert np.isfinite(result.clip.samples).all()
    json.dumps(result.notes, allow_nan=False)


@of_each(STAGES)
def test_equal_channels_stay_equal(name: str) -> None:
    """Two equal channels come out equal."""
    mono = sound(3).samples
    out = treated(name, of(np.hstack([mono, mono]))).samples
    assert np.array_equal(out[:, 0], out[:, 1])


@of_each(STAGES)
def test_channels_are_treated_alike(name: str) -> None:
    """Swapping the channels that go in swaps those that come out, and nothing else."""
    clip = sound(3, channels=2)
    swapped = clip.with_samples(clip.samples[:, ::-1])
    assert np.allclose(treated(name, clip).samples[:, ::-1], treated(name, swapped).samples, rtol=0, atol=SAME_SAMPLES)


@of_each(STAGES)
def test_channels_are_not_mixed(name: str) -> None:
    """Each channel comes out as it would alone, up to a gain that the channels share."""
    clip = sound(3, channels=2)
    both = treated(name, clip).samples
    for channel in range(2):
        alone = treated(name, clip.with_samples(clip.samples[:, [channel]])).samples[:, 0]
        assert np.corrcoef(both[:, channel], alone)[0, 1] > ALIKE


@of_each(LEARNERS)
def test_fit_is_declared(name: str) -> None:
    """A stage that learns says what it measures and fits, and gives values of those types."""
    stage = step_of(name)
    assert isinstance(fit_of(name), stage.FITS)
    assert all(isinstance(item.value, stage.MEASURES or type(None)) for item in measured_set(stage))


@of_each(sorted(set(STAGES) - set(LEARNERS)))
def test_no_fit_is_declared(name: str) -> None:
    """A stage that does not learn declares nothing that it measures or fits."""
    assert CLASSES[name].MEASURES is CLASSES[name].FITS is None  # type: ignore[attr-defined]


@of_each(LEARNERS)
def test_fit_and_measures_survive_json(name: str) -> None:
    """A measure and a fit dumped to JSON and read again are equal."""
    stage = step_of(name)
    values = [fit_of(name), *(item.value for item in measured_set(stage) if item.value is not None)]
    for value in values:
        assert type(value).model_validate_json(value.model_dump_json()) == value


@of_each(LEARNERS)
def test_a_replayed_fit_gives_the_same_samples(name: str) -> None:
    """A fit that went through JSON treats a clip to the same samples."""
    fit = type(fit_of(name)).model_validate_json(fit_of(name).model_dump_json())
    result = step_of(name).apply(sound(4), fit)
    assert isinstance(result, Applied)
    assert result.clip.samples.tobytes() == treated(name, sound(4)).samples.tobytes()


@of_each(LEARNERS)
def test_fit_ignores_the_order_of_rows(name: str) -> None:
    """The order of the rows changes no digit of the fit."""
    stage = step_of(name)
    items = measured_set(stage)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(items))
        assert stage.fit([items[place] for place in order]) == fit_of(name)


@of_each(LEARNERS)
def test_fit_of_nothing_is_refused(name: str) -> None:
    """A set in which no clip is left is refused in words."""
    with pytest.raises(RefusedError) as refusal:
        step_of(name).fit([])
    assert says_something(str(refusal.value))


@of_each(LEARNERS)
@pytest.mark.parametrize("kind", sorted(ODD))
def test_odd_clips_are_measured_or_refused(name: str, kind: str) -> None:
    """An odd clip gives a finite measure that JSON keeps, or is turned down in words."""
    stage = step_of(name)
    if stage.MEASURES is None:
        return
    value = tried(lambda: stage.measure(ODD[kind]))
    if isinstance(value, str):
        assert says_something(value)
        return
    json.dumps(value.model_dump(mode="json"), allow_nan=False)
    assert stage.MEASURES.model_validate_json(value.model_dump_json()) == value


@of_each(LEARNERS)
@pytest.mark.parametrize("kind", ["not a number", "infinite"])
def test_a_clip_that_is_not_finite_is_not_learned_from(name: str, kind: str) -> None:
    """A clip with a sample that is not finite is refused before it reaches the fit."""
    stage = step_of(name)
    if stage.MEASURES is not None:
        with pytest.raises(ClipError):
            stage.measure(ODD[kind])


def delivered(encoder: Encoder, clip: Clip) -> Clip:
    """Return the clip with the encoder's rate and channels, as the runner converts it."""
    rate, channels = encoder.target()
    samples = clip.samples if channels is None else np.repeat(clip.samples[:, :1], channels, axis=1)
    return clip.with_samples(samples, rate)


@of_each(ENCODERS)
def test_encoding_is_the_same_every_time(name: str) -> None:
    """The same clip gives the same bytes, whatever it is called."""
    encoder = step_of(name)
    clip = delivered(encoder, sound(5))
    first = encoder.encode(clip, b"")
    second = step_of(name).encode(Clip(clip.samples, clip.rate, "another name"), b"")
    assert first.data == second.data
    assert first.suffix == second.suffix
    assert first.suffix.startswith(".")


@of_each(ENCODERS)
def test_different_clips_differ_when_encoded(name: str) -> None:
    """Another clip gives other bytes."""
    encoder = step_of(name)
    assert (
        encoder.encode(delivered(encoder, sound(5)), b"").data != encoder.encode(delivered(encoder, sound(6)), b"").data
    )


@of_each(ENCODERS)
@pytest.mark.parametrize("frames", [1, 2, 1151, 1153, 30000])
def test_decoded_length_is_exact(name: str, frames: int) -> None:
    """What is decoded has the rate, the channels and the frames of what was encoded."""
    encoder = step_of(name)
    clip = delivered(encoder, of(sound(5).samples[:frames]))
    decoded = encoder.encode(clip, b"").decoded
    assert (decoded.rate, decoded.channels, decoded.frames) == (clip.rate, clip.channels, clip.frames)
    assert np.isfinite(decoded.samples).all()


@of_each(ENCODERS)
def test_decoded_sound_is_in_time(name: str) -> None:
    """What is decoded correlates best with what was encoded at lag 0."""
    encoder = step_of(name)
    clip = delivered(encoder, sound(5))
    size = 2 * clip.frames
    spectrum = np.fft.rfft(encoder.encode(clip, b"").decoded.mono(), size) * np.conj(np.fft.rfft(clip.mono(), size))
    assert np.argmax(np.fft.irfft(spectrum)) == 0


@of_each(ENCODERS)
@pytest.mark.parametrize("kind", sorted(ODD))
def test_odd_clips_are_encoded_or_refused(name: str, kind: str) -> None:
    """An odd clip is encoded to a finite sound, or turned down in words; no other error, and never NaN."""
    encoder = step_of(name)
    encoded = tried(lambda: encoder.encode(delivered(encoder, ODD[kind]), b""))
    if isinstance(encoded, str):
        assert says_something(encoded)
        return
    assert encoded.decoded.frames == ODD[kind].frames
    assert np.isfinite(encoded.decoded.samples).all()
    json.dumps(encoded.notes, allow_nan=False)


@of_each(ENCODERS)
def test_silence_and_full_scale_are_encoded(name: str) -> None:
    """Silence and a clip that touches full scale are ordinary clips: both are encoded, one quieter."""
    encoder = step_of(name)
    peaks = [
        np.abs(encoder.encode(delivered(encoder, ODD[kind]), b"").decoded.samples).max()
        for kind in ("silence", "full scale")
    ]
    assert peaks[0] < 0.001
    assert 0.9 < peaks[1] <= 1.0
