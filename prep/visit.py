"""Visit: everything that happens to one clip in one pass, in one worker.

A visit opens the source once and answers what it is asked: inspect it, measure it for a stage, or
render it. Every answer is kept in the store under the hash of what made it (source bytes, steps,
versions, fits), so nothing is done twice, in this run or the next.
"""

from __future__ import annotations

import platform
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prep import audio
from prep.clip import Clip
from prep.errors import AudioError, ClipError
from prep.level import true_peak_dbtp
from prep.stage import Applied, Encoded, Encoder, Notes, Rejected, Stage, Value
from prep.store import Store, digest, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prep.cue import Cue

# What turns samples into other samples: another version may give other bytes.
SOUND_LIBRARIES = (
    "imageio-ffmpeg",
    "matchering",
    "mutagen",
    "nara_wpe",
    "noisereduce",
    "numpy",
    "onnxruntime",
    "faster-whisper",
    "ctranslate2",
    "pydub",
    "pyloudnorm",
    "scipy",
    "soundfile",
    "soxr",
)

# A codec's overshoot changes a little with the level it is given: three encodings were enough on all real clips.
MAX_ENCODINGS = 5
MARGIN_STEP_DB = 0.02

CueValues = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Source:
    """A clip's file: where it is, what messages call it, and its hash once known."""

    path: str
    name: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Treatment:
    """A stage with the fit that it applies."""

    stage: Stage[Any, Any]
    fit: Value | None = None

    def identity(self) -> list[Any]:
        """Return what decides the sound of this treatment."""
        return [self.stage.identity(), None if self.fit is None else self.fit.model_dump(mode="json")]


@dataclass(frozen=True, slots=True)
class Inspect:
    """Ask what the file is and what its cues are."""

    cues: tuple[Cue, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """Ask what a stage measures after some treatments, of a clip that should speak a text."""

    treatments: tuple[Treatment, ...]
    stage: Stage[Any, Any]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """Ask for the cues after some treatments, before any encoding."""

    treatments: tuple[Treatment, ...]
    cues: tuple[Cue, ...]


@dataclass(frozen=True, slots=True)
class Render:
    """Ask for the delivered bytes after all treatments, and the cues of what they decode to."""

    treatments: tuple[Treatment, ...]
    encoder: Encoder
    cues: tuple[Cue, ...]


Ask = Inspect | Measure | Look | Render


@dataclass(frozen=True, slots=True)
class Visit:
    """One clip, by its place in the study, and what is asked of it."""

    index: int
    source: Source
    asks: tuple[Ask, ...]
    store: Store


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a clip cannot be used, and at which step."""

    step: str
    reason: str
    value: float | None = None
    limit: float | None = None
    rejected: bool = False


class _RejectedError(Exception):
    """A stage turned the clip down."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.reason)


@dataclass
class _State:
    """What one visit knows of its clip: the bytes, and the sounds made so far by key."""

    data: bytes
    sha256: str
    name: str
    store: Store
    sounds: dict[str, tuple[Clip, dict[str, Notes]]] = field(default_factory=dict)
    facts: audio.AudioFacts | None = None

    def original(self) -> Clip:
        """Return the decoded source."""
        if "" not in self.sounds:
            clip, self.facts = audio.decode(self.data, self.name)
            self.sounds[""] = (clip, {})
        return self.sounds[""][0]

    def key(self, *parts: Any) -> str:
        """Return the store's key of something made from this source."""
        return key_of(self.sha256, sound_versions(), *parts)


@cache
def sound_versions() -> dict[str, str]:
    """Return the version of each library that turns samples into other samples, and the machine's kind."""
    return {name: metadata.version(name) for name in SOUND_LIBRARIES} | {"machine": platform.machine()}


def identity(ask: Ask) -> list[Any]:
    """Return what decides the answer to a question, beside the clip: JSON-able."""
    match ask:
        case Inspect():
            return ["inspect", _identities(ask.cues)]
        case Measure():
            return ["measure", _identities(ask.treatments), ask.stage.identity(), *([ask.text] if ask.text else [])]
        case Look():
            return ["look", _identities(ask.treatments), _identities(ask.cues)]
        case Render():
            return ["render", _identities(ask.treatments), ask.encoder.identity(), _identities(ask.cues)]


def _identities(steps: Sequence[Treatment] | Sequence[Cue]) -> list[Any]:
    return [step.identity() for step in steps]


def visit(task: Visit) -> list[dict[str, Any] | Failure]:
    """Answer every question about one clip, in order. A question after a failed one is not reached.

    The answers are JSON-able; a `Failure` stands where the clip cannot be used.
    """
    try:
        state = _open(task)
    except ClipError as error:
        return [_failure(error, task)]
    answers: list[dict[str, Any] | Failure] = []
    for ask in task.asks:
        try:
            answers.append(_answer(ask, state))
        except ClipError as error:
            answers.append(_failure(error, task))
        except _RejectedError as rejected:
            answers.append(rejected.failure)
        if isinstance(answers[-1], Failure):
            break
    return answers


def _failure(error: ClipError, task: Visit) -> Failure:
    """Return why a clip cannot be used, without its name: whoever tells of it names it."""
    return Failure(error.step or "read", str(error).removeprefix(f"{task.source.name}: "))


def _open(task: Visit) -> _State:
    """Read the file and make sure it is the one that was read before."""
    try:
        data = Path(task.source.path).read_bytes()
    except OSError as error:
        raise AudioError(f"{task.source.name}: {error.strerror or error}") from None
    sha256 = digest(data)
    if task.source.sha256 not in (None, sha256):
        raise AudioError(f"{task.source.name}: changed while the run was reading it; run again")
    return _State(data, sha256, task.source.name, task.store)


def _answer(ask: Ask, state: _State) -> dict[str, Any]:
    """Answer one question, from the store where it is known."""
    # What a file's name says of its format is warned of in the facts.
    suffix = Path(state.name).suffix.lower() if isinstance(ask, Inspect) else ""
    key = state.key(*identity(ask), suffix)
    known: dict[str, Any] | None = state.store.get_json(key)
    if known is not None and (not isinstance(ask, Render) or state.store.get(known["object"]) is not None):
        return known
    match ask:
        case Inspect():
            answer = _inspected(ask, state)
        case Measure():
            answer = _measured(ask, state)
        case Look():
            clip, notes = _treated(ask.treatments, state)
            answer = {"cues": measure_cues(clip, ask.cues) | _told_by_notes(ask.cues, notes)}
        case Render():
            answer = _rendered(ask, state)
    state.store.put_json(key, answer)
    return answer


def _inspected(ask: Inspect, state: _State) -> dict[str, Any]:
    clip = state.original()
    facts = state.facts
    return {
        "sha256": state.sha256,
        "samples_sha256": digest(clip.samples.tobytes() + f"{clip.samples.shape}{clip.rate}".encode()),
        "facts": facts.model_dump(mode="json") if facts else {},
        "cues": measure_cues(clip, ask.cues) | told_by_file(ask.cues, facts, len(state.data)),
    }


def _measured(ask: Measure, state: _State) -> dict[str, Any]:
    clip, _ = _treated(ask.treatments, state)
    with _naming(ask.stage.NAME):
        value = ask.stage.measure_reading(clip, ask.text) if ask.text else ask.stage.measure(clip)
    return {"value": value.model_dump(mode="json")}


def _rendered(ask: Render, state: _State) -> dict[str, Any]:
    encoded, notes = _encoded_under_ceiling(ask, state)
    sha256 = digest(encoded.data)
    state.store.put(sha256, encoded.data)
    decoded = encoded.decoded
    return {
        "object": sha256,
        "sha256": sha256,
        "suffix": encoded.suffix,
        "bytes": len(encoded.data),
        "frames": decoded.frames,
        "rate": decoded.rate,
        "channels": decoded.channels,
        "notes": notes | {ask.encoder.NAME: encoded.notes},
        "cues": measure_cues(decoded, ask.cues)
        | told_by_file(ask.cues, encoded.facts, len(encoded.data))
        | _told_by_notes(ask.cues, notes),
    }


def _encoded_under_ceiling(ask: Render, state: _State) -> tuple[Encoded, dict[str, Notes]]:
    """Encode, and again with more margin where a level stage of its own for each clip lets a decoded peak through.

    A codec moves peaks by an amount that only encoding shows. A gain that the set shares cannot be
    changed for one clip: the runner refuses it.
    """
    treatments = list(ask.treatments)
    place = next((place for place, step in enumerate(treatments) if step.stage.LEVEL), None)
    for encodings in range(1, MAX_ENCODINGS + 1):
        clip, notes = _treated(treatments, state)
        with _naming(ask.encoder.NAME):
            encoded = ask.encoder.encode(clip, state.data)
        stage = None if place is None else treatments[place].stage
        over_db = 0.0 if stage is None else _over_ceiling_db(encoded.decoded, stage)
        wider = None if stage is None or over_db <= 0 else stage.with_margin(over_db + MARGIN_STEP_DB)
        if place is None or wider is None or encodings == MAX_ENCODINGS:
            break
        treatments[place] = Treatment(wider, treatments[place].fit)
    return replace(encoded, notes=encoded.notes | ({"encodings": encodings} if encodings > 1 else {})), notes


def _over_ceiling_db(decoded: Clip, stage: Stage[Any, Any]) -> float:
    """Return how far a decoded clip's true peak is over the ceiling of its level stage, dB."""
    peak, ceiling = true_peak_dbtp(decoded), getattr(stage, "ceiling_dbtp", None)
    return 0.0 if peak is None or ceiling is None else peak - ceiling


@contextmanager
def _naming(step: str) -> Iterator[None]:
    """Write the name of the step into a ClipError that passes."""
    try:
        yield
    except ClipError as error:
        error.step = error.step or step
        raise


def _treated(treatments: Sequence[Treatment], state: _State) -> tuple[Clip, dict[str, Notes]]:
    """Return the clip after treatments, going on from the latest sound that this visit or the store has."""
    keys = [key_of(_identities(treatments[: count + 1])) for count in range(len(treatments))]
    done, (clip, notes) = _latest(treatments, keys, state)
    for step, key in zip(treatments[done:], keys[done:], strict=True):
        with _naming(step.stage.NAME):
            result = step.stage.apply(clip, step.fit)
            if isinstance(result, Rejected):
                raise _RejectedError(Failure(step.stage.NAME, result.reason, result.value, result.limit, rejected=True))
            clip, notes = _checked(result, step, clip), notes | {step.stage.NAME: result.notes}
        state.sounds[key] = (clip, notes)
        if step.stage.EXPENSIVE:
            state.store.put_json(
                state.key("notes", key), {"rate": clip.rate, "channels": clip.channels, "notes": notes}
            )
            state.store.put(state.key("sound", key), clip.samples.tobytes())
    return clip, notes


def _checked(result: Applied, step: Treatment, before: Clip) -> Clip:
    """Return the sound of a stage, if it is one.

    Raises:
        ClipError: the stage gave samples that are not finite.
    """
    if not np.isfinite(result.clip.samples).all():
        raise ClipError(f"{before.id}: {step.stage.NAME} gave samples that are not finite")
    return result.clip


def _latest(
    treatments: Sequence[Treatment], keys: Sequence[str], state: _State
) -> tuple[int, tuple[Clip, dict[str, Notes]]]:
    """Return how many treatments are already done, and the sound after them."""
    for count in range(len(treatments), 0, -1):
        key = keys[count - 1]
        if key in state.sounds:
            return count, state.sounds[key]
        if treatments[count - 1].stage.EXPENSIVE:
            about, data = (
                state.store.get_json(state.key("notes", key)),
                state.store.get(state.key("sound", key)),
            )
            if about is not None and data is not None:
                samples = np.frombuffer(data, np.float32).reshape(-1, about["channels"])
                return count, (Clip(samples, about["rate"], state.name), about["notes"])
    return 0, (state.original(), {})


def told_by_file(cues: Sequence[Cue], facts: audio.AudioFacts | None, size_bytes: int) -> CueValues:
    """Return the features of the cues that are told by the file and not by the sound."""
    if facts is None:
        return {}
    return {cue.NAME: told for cue in cues if (told := cue.from_file(facts, size_bytes)) is not None}


def _told_by_notes(cues: Sequence[Cue], notes: dict[str, Notes]) -> CueValues:
    """Return the features of the cues that are told by the treatment and not by the sound."""
    return {cue.NAME: noted for cue in cues if (noted := cue.from_notes(notes)) is not None}


def measure_cues(clip: Clip, cues: Sequence[Cue]) -> CueValues:
    """Return the features of each cue by name; {"undefined": reason} where a cue has none for this clip."""
    values: CueValues = {}
    for cue in cues:
        try:
            values[cue.NAME] = dict(cue.measure(clip))
        except ClipError as error:
            values[cue.NAME] = {"undefined": str(error)}
    return values
