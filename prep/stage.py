"""Stage: one step of the treatment, cut into measure, fit and apply. Encoder: the last step.

measure and apply see one clip and no label; fit sees labels and small values, never sound.
The runner (prep.passes) does all looping, caching and failing; a stage does the arithmetic of its step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from prep.bibliography import Reference
from prep.models import digests_of
from prep.prose import clips_with, sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prep.clip import Clip
    from prep.facts import AudioFacts
    from prep.table import Row

FitsOn = Literal["nothing", "every clip", "labels"]
Notes = dict[str, Any]


class Value(BaseModel):
    """A small frozen value that survives JSON unchanged: a measurement, or a fit."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


M = TypeVar("M", bound=Value | None)
F = TypeVar("F", bound=Value | None)


class Measured(NamedTuple, Generic[M]):
    """A row of the clip table with what a stage measured on its clip."""

    row: Row
    value: M


@dataclass(frozen=True, slots=True)
class Applied:
    """A treated clip, and what is worth writing down about the treatment."""

    clip: Clip
    notes: Notes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A clip that may not be delivered: the reason, the number and the limit it broke."""

    reason: str
    value: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """What a record says of one step: all that a methods paragraph may draw on.

    Attributes:
        parameters: of the step, with every default filled in.
        release: its fit as released; None where it learned nothing.
        evidence: its fit on the fit split; None where it learned nothing, or nothing was held out.
        notes: what it noted of each delivered clip that it treated.
    """

    parameters: Mapping[str, Any]
    release: Mapping[str, Any] | None = None
    evidence: Mapping[str, Any] | None = None
    notes: Sequence[Mapping[str, Any]] = ()

    @property
    def whom(self) -> str:
        """The clips that it is for, in words."""
        return clips_with(self.parameters.get("only"))

    def values(self, name: str) -> list[float]:
        """Return a number of the notes, of each clip that has it."""
        return [note[name] for note in self.notes if isinstance(note.get(name), int | float)]


def refuse_truth_values(model: type[BaseModel], given: Any) -> Any:
    """Refuse true and false where no switch is meant: YAML makes them of yes and no, and they would pass for 1 and 0.

    Raises:
        ValueError: a value, or one of a list or mapping in it, is a truth value, and the setting is not one.
    """
    for name, value in given.items() if isinstance(given, dict) else ():
        field = model.model_fields.get(name)
        kinds = (field.annotation, *get_args(field.annotation)) if field else ()
        if any(kind is bool or (isinstance(kind, type) and issubclass(kind, BaseModel)) for kind in kinds):
            continue  # a switch, or a part that looks after itself
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if any(isinstance(item, bool) for item in inner):
            raise ValueError(f"{name} holds true or false, and is no switch; put yes, no, on or off in quotes")
    return given


class Step(BaseModel):
    """What stages and encoders share: a name, a version and checked parameters.

    NAME is the YAML word and the module's name. VERSION is raised when the sound changes,
    so that no older result is taken from the cache. REFERENCES are the papers, standards and programs it rests on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    NAME: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1
    REFERENCES: ClassVar[tuple[Reference, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _no_truth_values(cls, given: Any) -> Any:
        return refuse_truth_values(cls, given)

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return what a paper says of it: whole sentences, with its references cited where they belong.

        Args:
            account: what the record says of this step; its texts are escaped for Markdown already.
        """
        return f"{sentence(account.whom)} went through the step {cls.NAME}."

    def models(self) -> Sequence[str]:
        """Return the names in `prep.models` of what it needs."""
        return ()

    def identity(self) -> Mapping[str, Any]:
        """Return what decides the sound of this step: name, version, parameters and models."""
        parameters = self.model_dump(mode="json", exclude={"only"})
        models = {"models": digests_of(self.models())} if self.models() else {}
        return {"step": self.NAME, "version": self.VERSION, "parameters": parameters, **models}


class Stage(Step, Generic[M, F]):
    """One step of the treatment. Subclasses write `apply`, and `measure` and `fit` where they learn.

    FITS_ON says what fit may learn from; MEASURES and FITS are the types that the cache and the
    record restore; EXPENSIVE asks the runner to keep the result; CORRECTS names the cue whose
    difference between the conditions it takes out; LEVEL marks the stage that sets
    the level, directly before which the clip is brought to the study's rate and channels;
    CURES names the cues that it may take out, for `prep suggest` and what a report advises; MOVES those
    that it shifts by the way, so that a stage which takes one out should come after it;
    SCREENS marks the stage whose measurement decides whether a clip is used at all, READS_TEXT one
    that must be told the text.
    """

    FITS_ON: ClassVar[FitsOn] = "nothing"
    MEASURES: ClassVar[type[Value] | None] = None
    FITS: ClassVar[type[Value] | None] = None
    EXPENSIVE: ClassVar[bool] = False
    CORRECTS: ClassVar[str] = ""
    CURES: ClassVar[tuple[str, ...]] = ()
    MOVES: ClassVar[tuple[str, ...]] = ()
    LEVEL: ClassVar[bool] = False
    SCREENS: ClassVar[bool] = False
    READS_TEXT: ClassVar[bool] = False

    only: dict[str, str | list[str]] | None = Field(
        default=None,
        description="apply to these rows only: {column: value or list of values}; columns AND, values OR; no unit",
    )

    def applies_to(self) -> dict[str, str | list[str]] | None:
        """Return which rows `apply` is for: `only`, unless a stage derives it from another field."""
        return self.only

    @classmethod
    def rungs(cls, column: str, a: str, b: str) -> Sequence[dict[str, Any]]:  # noqa: ARG003
        """Return settings to try against the cues of CURES between two conditions of a column, the mildest first."""
        return ()

    def alters(self) -> bool:
        """Say whether it may change a clip that it lets through."""
        return True

    def fits_on(self) -> FitsOn:
        """Return what `fit` learns from: FITS_ON, unless the parameters decide it."""
        return self.FITS_ON

    def selections(self) -> Sequence[tuple[str, dict[str, str | list[str]]]]:
        """Return (field name, selection) of each field that names rows, for the config check."""
        return [("only", self.only)] if self.only else []

    def measure(self, clip: Clip) -> M:
        """Return what fit needs of one clip. Pure.

        Raises:
            ClipError: the clip cannot be measured; it is set aside.
        """
        raise NotImplementedError

    def measure_reading(self, clip: Clip, text: str) -> M:  # noqa: ARG002
        """Return what `measure` does, of a clip that should speak this text; only for stages with READS_TEXT."""
        return self.measure(clip)

    def fit(self, measured: Sequence[Measured[M]]) -> F:
        """Reduce the measurements of the set to one value. Pure, and blind to their order.

        Raises:
            RefusedError: the set cannot be treated as the config asks.
        """
        raise NotImplementedError

    def apply(self, clip: Clip, fit: F) -> Applied | Rejected:
        """Return the treated clip. Pure: same clip and fit, same samples.

        Raises:
            ClipError: the clip cannot be treated; it is set aside.
        """
        raise NotImplementedError

    def with_margin(self, more_db: float) -> Self | None:  # noqa: ARG002
        """Return this level stage with more room below its ceiling, dB; None where no clip can have its own."""
        return None

    def foresee(self, measured: Measured[M], fit: F) -> float:
        """Return what the cue that the stage corrects will be on a clip, from its measurement alone.

        Only for a stage with CORRECTS: it lets the audit try many splits without rendering any.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Encoded:
    """What a listener gets: the bytes, the suffix with its dot, the sound they decode to and what the file is."""

    data: bytes = field(repr=False)
    suffix: str
    decoded: Clip
    facts: AudioFacts
    notes: Notes = field(default_factory=dict)


class Encoder(Step):
    """The last step: a clip becomes the bytes that a listener gets."""

    def target(self) -> tuple[int | None, int | None]:
        """Return the rate in Hz and the channels this encoder delivers; None keeps the clip's own."""
        raise NotImplementedError

    def encode(self, clip: Clip, source: bytes) -> Encoded:
        """Return the delivered bytes and what they decode to. `source` is the file as it came.

        Raises:
            ClipError: the clip cannot be encoded; it is set aside.
        """
        raise NotImplementedError
