"""What every cue must hold, whichever file it is in.

A new cue is found by itself. A cue without a working default gets its parameters in EXAMPLES; a cue
that cannot hold a clause by its nature is excused in EXEMPT, with the reason.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest
from pydantic import ValidationError

from prep.classifiers import cue_classes
from prep.clip import Clip
from prep.cue import Cue, Kind
from prep.errors import ClipError

if TYPE_CHECKING:
    from collections.abc import Callable

Values = dict[str, float]

EXAMPLES: dict[str, dict[str, Any]] = {}

# (cue, test): the reason.
_NO_DECAY = "the syllables below do not ring out, so they have no reverberation; its own tests hold the clause"
_NO_WORDS = "the noise below holds no words for a recogniser; its own tests hold the clause"
EXEMPT: dict[tuple[str, str], str] = {
    (name, test): reason
    for name, reason in (("reverb", _NO_DECAY), ("preamble", _NO_WORDS), ("words", _NO_WORDS))
    for test in (
        "test_features_are_those_declared",
        "test_input_is_untouched",
        "test_same_clip_same_numbers",
        "test_gain_moves_levels_and_nothing_else",
        "test_polarity_does_not_matter",
        "test_a_second_equal_channel_adds_loudness_only",
        "test_order_of_channels_does_not_matter",
    )
}

CLASSES: dict[str, type[Cue]] = cue_classes()
NAMES = sorted(CLASSES)

# How a unit is written at the end of a feature's name.
SUFFIXES = {
    "dB/octave": "db_per_octave",
    "dB": "db",
    "dBFS": "dbfs",
    "dBTP": "dbtp",
    "dBov": "dbov",
    "LUFS": "lufs",
    "LU": "lu",
    "Hz": "hz",
    "s": "seconds",
    "%": "percent",
    "bytes": "bytes",
    "count": "count",
    "1/s": "per_second",
    "kb/s": "kbps",
}
LEVELS = {"dBFS", "dBTP", "dBov", "LUFS"}  # units that move with the gain; no other does
UNIT = re.compile(r"(?:^|[\s(])(?:no unit|Hz|s|ms|dB|dB/octave|LUFS|LU|dBTP|dBFS|dBov|%|count)(?:$|[\s,;:.)])")

RATE = 22050
GAIN_DB = -12.0
GAIN_TOLERANCE = 0.02  # of the feature's unit: the design's tolerance of a clip's tilt
RELATIVE_TOLERANCE = 1e-3  # of the value: a tenth of a percent of a duration or a bandwidth
DUAL_MONO_LU = 10 * math.log10(2)  # BS.1770 adds the power of the channels


def of_each(names: list[str]) -> pytest.MarkDecorator:
    """Run a test once for each name."""
    return pytest.mark.parametrize("name", names)


@pytest.fixture(autouse=True)
def _exemption(request: pytest.FixtureRequest) -> None:
    """Skip what a cue is excused from."""
    callspec = getattr(request.node, "callspec", None)
    name = callspec.params.get("name") if callspec else None
    if reason := EXEMPT.get((str(name), request.node.originalname)):
        pytest.skip(reason)


def sound(seed: int, channels: int = 1) -> Clip:
    """Return four seconds of noise in syllables, falling by 6 dB/octave above 500 Hz, silent at both ends."""
    frames = 4 * RATE  # a loudness range takes three seconds
    frequencies = np.fft.rfftfreq(frames, 1 / RATE)
    white = np.random.default_rng(seed).standard_normal((frames, channels))
    noise = np.fft.irfft(np.fft.rfft(white, axis=0) / (1 + frequencies[:, np.newaxis] / 500), frames, axis=0)
    syllables = 1e-3 + np.clip(np.sin(2 * np.pi * 3 * np.arange(frames) / RATE - 1), 0, None)
    syllables[: RATE // 5] = syllables[-RATE // 5 :] = 1e-3
    return Clip(0.05 * noise / noise.std() * syllables[:, np.newaxis], RATE, f"sound {seed}")


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
        "0.2 seconds": of(noise[RATE // 2 : RATE // 2 + RATE // 5]),
        "constant": of(np.full((RATE, 1), 0.25)),
        "full scale": of(square),
        "one channel silent": of(np.hstack([noise, np.zeros_like(noise)])),
        "channels inverted": of(np.hstack([noise, -noise])),
        "not a number": of(holes),
        "infinite": of(endless),
    }


ODD = odd_clips()


def cue_of(name: str) -> Cue:
    """Return the cue with its defaults, or as in EXAMPLES."""
    return CLASSES[name].model_validate(EXAMPLES.get(name, {}))


def moved(name: str, before: Clip, after: Clip, by_unit: dict[str, float]) -> list[str]:
    """Return the features that did not move from one clip to another as their units say (0 by default)."""
    first, second = (cue_of(name).measure(clip) for clip in (before, after))
    return [
        f"{feature.name}: {first[feature.name]} became {second[feature.name]}"
        for feature in CLASSES[name].FEATURES
        if second[feature.name]
        != pytest.approx(
            first[feature.name] + by_unit.get(feature.unit, 0.0), abs=GAIN_TOLERANCE, rel=RELATIVE_TOLERANCE
        )
    ]


def says_something(message: str) -> bool:
    """Say whether a message is words for a reader, not a bare repr."""
    return len(message.split()) >= 4


def tried(call: Callable[[], Values]) -> Values | str:
    """Return what a call gives, or the words with which it turns the clip down."""
    try:
        return call()
    except ClipError as error:
        return str(error)


def test_exemptions_are_real() -> None:
    """Each exemption names a cue and a test that exist, and says why."""
    for (name, test), reason in EXEMPT.items():
        assert name in CLASSES
        assert callable(globals()[test])
        assert says_something(reason)


def test_features_belong_to_one_cue() -> None:
    """No two cues return a feature of the same name."""
    features = [feature.name for name in NAMES for feature in CLASSES[name].FEATURES]
    assert len(features) == len(set(features))


@of_each(NAMES)
def test_name_is_the_module(name: str) -> None:
    """The YAML word, the NAME of the class and the name of its module are one."""
    assert CLASSES[name].NAME == name == CLASSES[name].__module__.rpartition(".")[2]


@of_each(NAMES)
def test_cue_says_what_it_is(name: str) -> None:
    """Each cue has a docstring, a kind, a meaning and a source."""
    found = CLASSES[name]
    assert says_something(found.__doc__ or "")
    assert found.KIND in get_args(Kind)
    assert says_something(found.MEANING)
    assert says_something(found.SOURCE)


@of_each(NAMES)
def test_features_carry_their_unit(name: str) -> None:
    """Each feature has a meaning and a unit, and its name ends in that unit, unless it has none."""
    features = CLASSES[name].FEATURES
    assert features
    for feature in features:
        assert says_something(feature.meaning)
        if feature.unit != "no unit":
            assert feature.name.endswith(SUFFIXES[feature.unit])


@of_each(NAMES)
def test_fields_say_their_unit(name: str) -> None:
    """Every parameter has a description with its unit, or `no unit`."""
    fields = CLASSES[name].model_fields.items()
    assert [field for field, info in fields if not UNIT.search(info.description or "")] == []


@of_each(NAMES)
def test_parameters_survive_json(name: str) -> None:
    """A cue dumped to JSON and read again is the same cue."""
    cue = cue_of(name)
    assert CLASSES[name].model_validate(json.loads(cue.model_dump_json())) == cue
    assert json.loads(json.dumps(dict(cue.identity())))["step"] == name


@of_each(NAMES)
def test_unknown_parameters_are_refused(name: str) -> None:
    """A parameter that does not exist is refused."""
    with pytest.raises(ValidationError, match="no_such_parameter"):
        CLASSES[name].model_validate({**EXAMPLES.get(name, {}), "no_such_parameter": 1})


@of_each(NAMES)
@pytest.mark.parametrize("channels", [1, 2])
def test_features_are_those_declared(name: str, channels: int) -> None:
    """The cue returns the features that it declares, in order, as finite floats that JSON keeps."""
    values = cue_of(name).measure(sound(1, channels))
    assert list(values) == [feature.name for feature in CLASSES[name].FEATURES]
    assert all(isinstance(value, float) and math.isfinite(value) for value in values.values())
    assert json.loads(json.dumps(values, allow_nan=False)) == values


@of_each(NAMES)
def test_input_is_untouched(name: str) -> None:
    """Measuring leaves the clip as it was."""
    clip = sound(1, 2)
    before = clip.samples.tobytes()
    cue_of(name).measure(clip)
    assert clip.samples.tobytes() == before


@of_each(NAMES)
def test_same_clip_same_numbers(name: str) -> None:
    """The same clip gives the same numbers, from a fresh cue and under another name too."""
    clip = sound(2)
    renamed = Clip(clip.samples, clip.rate, "another name")
    assert cue_of(name).measure(clip) == cue_of(name).measure(renamed)


@of_each(NAMES)
def test_gain_moves_levels_and_nothing_else(name: str) -> None:
    """A copy 12 dB lower has levels 12 lower (dBFS, dBTP, dBov, LUFS) and every other feature the same."""
    clip = sound(3)
    quiet = clip.with_samples(clip.samples * 10 ** (GAIN_DB / 20))
    assert moved(name, clip, quiet, dict.fromkeys(LEVELS, GAIN_DB)) == []


@of_each(NAMES)
def test_polarity_does_not_matter(name: str) -> None:
    """An inverted clip has the same features."""
    clip = sound(3)
    assert moved(name, clip, clip.with_samples(-clip.samples), {}) == []


@of_each(NAMES)
def test_a_second_equal_channel_adds_loudness_only(name: str) -> None:
    """Two equal channels are 3.01 LU louder than one by BS.1770, and have every other feature the same."""
    clip = sound(4)
    dual = clip.with_samples(np.repeat(clip.samples, 2, axis=1))
    assert moved(name, clip, dual, {"LUFS": DUAL_MONO_LU}) == []


@of_each(NAMES)
def test_order_of_channels_does_not_matter(name: str) -> None:
    """Swapped channels have the same features."""
    clip = sound(4, 2)
    assert moved(name, clip, clip.with_samples(clip.samples[:, ::-1]), {}) == []


@of_each(NAMES)
@pytest.mark.parametrize("kind", sorted(ODD))
def test_odd_clips_are_measured_or_refused(name: str, kind: str) -> None:
    """An odd clip gives finite features, or is turned down in words; no other error, and never NaN."""
    values = tried(lambda: cue_of(name).measure(ODD[kind]))
    if isinstance(values, str):
        assert says_something(values)
        return
    assert list(values) == [feature.name for feature in CLASSES[name].FEATURES]
    assert all(isinstance(value, float) and math.isfinite(value) for value in values.values())


@pytest.mark.parametrize("name", NAMES)
def test_every_feature_states_its_resolution(name: str) -> None:
    """Each feature says below which difference two values count as one, in its own unit."""
    assert all(feature.resolution > 0 for feature in CLASSES[name].FEATURES)
