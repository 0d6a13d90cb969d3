"""Study: the config as frozen models, read from YAML with every problem found at once.

The words are those of the YAML file. Relative paths are relative to the file that names them.
"""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from prep.chain import order_problems
from prep.classifiers import cue_classes
from prep.document import Document, Place, did_you_mean, read_document
from prep.errors import ConfigError, Problem
from prep.limits import ALL, parse_limit
from prep.models import ModelFolder
from prep.recogniser import Recogniser
from prep.spectrum import TILT_BAND_HZ, checked_tilt_band
from prep.stage import Stage, Step, refuse_truth_values
from prep.stages import stage_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic.fields import FieldInfo

    from prep.cue import Cue


class Section(BaseModel):
    """A part of the config: frozen, and refusing what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _no_truth_values(cls, given: Any) -> Any:
        return refuse_truth_values(cls, given)


def _expanded(value: object) -> object:
    """Return a path with ~ and environment variables filled in.

    Raises:
        ValueError: an environment variable is not set.
    """
    if not isinstance(value, str):
        return value
    if "\0" in value:
        raise ValueError("a path has no NUL character; take it out")
    full = os.path.expandvars(os.path.expanduser(value))  # noqa: PTH111
    if full.startswith("~"):
        raise ValueError(f"{value}: there is no such home folder; write the path in full")
    unset = re.search(r"\$\{?(\w+)\}?", full)
    if unset:
        raise ValueError(f"{value}: the environment variable {unset[1]} is not set; set it or write the path in full")
    return full


PathText = Annotated[str, BeforeValidator(_expanded), Field(min_length=1)]


class Clips(Section):
    """Where the clips are: a table, or a folder with a pattern."""

    table: PathText | None = Field(default=None, description="CSV, TSV, JSONL or Parquet with a file_name column")
    columns: dict[str, str] = Field(default={}, description="our column names to the table's headers")
    folder: PathText | None = Field(default=None, description="folder of clips, in place of a table")
    pattern: str | None = Field(default=None, description='path pattern, as "{condition}/{speaker}_{passage}.wav"')
    regex: str | None = Field(default=None, description="regular expression with named groups, in place of a pattern")


class Compare(Section):
    """Which conditions the study compares, and what pairs and groups their clips: `a` and `b`, or `conditions`."""

    column: str = Field(default="condition", description="column that holds the condition")
    a: str | None = Field(default=None, description="the first condition; the AUC is the chance that b is above a")
    b: str | None = Field(default=None, description="the second condition")
    conditions: list[str] = Field(
        default=[], description="several conditions, in place of a and b: every pair of them is compared"
    )
    reference: str | None = Field(
        default=None, description="the one of the conditions that the others are held against; it is a of its pairs"
    )
    match: list[str] = Field(default=[], description="columns that pair clips of a and b, as [speaker, passage]")
    unit: str = Field(default="speaker", description="coarsest column within which the recording chain is constant")

    @model_validator(mode="after")
    def _sides(self) -> Self:
        """Refuse what names no two conditions.

        Raises:
            ValueError: a and b, or conditions, are missing, doubled or the same.
        """
        if bool(self.conditions) == (self.a is not None or self.b is not None):
            raise ValueError("names no two conditions; give a and b, or a list of conditions, and not both")
        if not self.conditions and (self.a is None or self.b is None):
            raise ValueError(f"{'b' if self.b is None else 'a'} is missing; give both a and b, or a list of conditions")
        if len(self.sides) < 2 or len(set(self.sides)) < len(self.sides):
            raise ValueError("a condition is compared with itself; name two or more that differ")
        if self.reference is not None and self.reference not in self.sides:
            raise ValueError(f"the reference {self.reference} is none of the conditions; name one of them")
        return self

    @property
    def sides(self) -> tuple[str, ...]:
        """The conditions, the reference first."""
        if not self.conditions:
            return (self.a or "", self.b or "")
        return tuple(sorted(self.conditions, key=lambda name: name != self.reference))

    def pairs(self) -> list[tuple[str, str]]:
        """Return every pair (a, b) of the conditions."""
        return list(itertools.combinations(self.sides, 2))

    def of_pair(self, a: str, b: str) -> Compare:
        """Return the comparison of two of the conditions alone."""
        return Compare(column=self.column, a=a, b=b, match=self.match, unit=self.unit)


class Slots(Section):
    """Which rows are candidates for one place; only the first that can be used is delivered."""

    by: list[str] = Field(
        default=[], description="columns whose values together name the slot; a `slot` column does it without"
    )


class Takes(Section):
    """How takes, the rows with a `script`, are cut into a clip a line."""

    recogniser: bool | ModelFolder = Field(
        default=True,
        description="whether words are heard; off: pauses and the length of the lines alone part them; or the folder "
        "of a CTranslate2 Whisper model in place of the pinned one, relative to the config",
    )
    language: str = Field(
        default="en", description="language of the scripts, ISO 639-1; one that the recogniser does not know: as off"
    )
    margin_seconds: float = Field(
        default=0.02, ge=0.005, le=0.5, description="least distance between a cut and a word, s"
    )
    head_seconds: float | None = Field(
        default=None, ge=0, le=10, description="time before the first word, s, where the pause has room; else 0.25"
    )
    tail_seconds: float | None = Field(
        default=None, ge=0, le=10, description="time after the last word, s, where the pause has room; else 0.25"
    )
    lengths_of: dict[str, str | list[str]] | None = Field(
        default=None,
        min_length=1,
        description="take head and tail from the medians of these rows: {column: value or list of values}",
    )

    @model_validator(mode="after")
    def _lengths_are_said_once(self) -> Self:
        """Refuse rows to take lengths from where both lengths are given.

        Raises:
            ValueError: all three are given.
        """
        if self.lengths_of and self.head_seconds is not None and self.tail_seconds is not None:
            raise ValueError("head_seconds and tail_seconds are given, so no rows are needed; leave lengths_of out")
        return self

    def listener(self) -> Recogniser | None:
        """Return who hears the words; None where the config wants nobody to."""
        folder = self.recogniser if isinstance(self.recogniser, str) else ""
        return Recogniser(self.language, folder) if self.recogniser else None


class Heldout(Section):
    """Which clips a correction may learn from, and which it is judged on."""

    by: str = Field(default="speaker", description="column kept whole in the split")
    share: float = Field(default=0.5, gt=0, lt=1, description="share of the groups held out, no unit")
    seed: int = Field(default=0, ge=0, description="seed of the draw, no unit")
    release: Literal["all", "fit split"] = Field(
        default="all", description="clips that released corrections learn from"
    )
    column: str | None = Field(default=None, description="column that says fit or held-out, in place of a draw")


class Audit(Section):
    """Which cues are audited, and how."""

    cues: Literal["all"] | list[str] = Field(
        default="all", description="all (the battery, without models and defects), or the names of cues"
    )
    equivalence_auc: float = Field(
        default=0.15,
        gt=0,
        lt=0.5,
        description="margin around 0.5 within which an AUC counts as chance, no unit",
    )
    draws: int = Field(default=9999, ge=199, description="permutations where they cannot all be listed, no unit")
    seed: int = Field(default=0, ge=0, description="seed of permutations and bootstrap, no unit")
    after_each_stage: bool = Field(
        default=False, description="whether every cue is measured after every stage, to see which removes or creates it"
    )
    null_pass: bool = Field(
        default=False,
        description="whether clips that a one-sided stage passes by go through it, for comparison only",
    )
    baseline: Literal["format_only"] | None = Field(
        default=None, description="format_only: measure also what conversion, level and codec alone would deliver"
    )
    fail_if: list[str] = Field(
        default=[], description='what may not be found, as ["tilt.after.separation>0.15"]; exit code 1 where it is'
    )


class Study(Section):
    """One listening study: its config, whole and checked."""

    study: str = Field(min_length=1, description="the study's name")
    clips: Clips
    slots: Slots = Slots()
    takes: Takes = Takes()
    compare: Compare | None = None
    heldout: Heldout = Heldout()
    tilt_band_hz: Annotated[tuple[float, float], AfterValidator(checked_tilt_band)] = Field(
        default=TILT_BAND_HZ,
        description="band that spectral tilt is measured in, Hz, the same before and after",
    )
    chain: tuple[Step, ...] = Field(description="steps in order, each {name: {parameter: value}}")
    audit: Audit = Audit()
    output: PathText = Field(default="out", description="folder that the run writes; it may hold no sources")
    workers: int | None = Field(
        default=None, ge=1, description="processes; as many as cores by default; no effect on results"
    )
    cache: PathText = Field(default=".prep-cache", description="folder of kept results; no effect on results")

    def audited(self) -> list[str]:
        """Return the names of the audited cues: all are the battery, without what needs a model."""
        battery = [name for name, cue in cue_classes().items() if cue.BATTERY and not cue.MODELS]
        return battery if self.audit.cues == "all" else self.audit.cues

    def cues(self) -> tuple[Cue, ...]:
        """Return the audited cues, set up for this study."""
        classes = {name: cue_classes()[name] for name in self.audited()}
        return tuple(cue.model_validate(_handed_down(cue, {}, self._study_wide())) for cue in classes.values())

    def models(self) -> list[str]:
        """Return the names in `prep.models` of what the chain and the audited cues need."""
        of_steps = {name for step in self.chain if isinstance(step, Stage) for name in step.models()}
        return sorted(of_steps | {name for cue in self.audited() for name in cue_classes()[cue].MODELS})

    def _study_wide(self) -> dict[str, Any]:
        return {"tilt_band_hz": self.tilt_band_hz}

    def resolved(self) -> dict[str, Any]:
        """Return the config with every default filled in, but for what has no effect on results."""
        settings = self.model_dump(mode="json", exclude={"chain", "workers", "cache"})
        settings["chain"] = [{step.NAME: step.model_dump(mode="json", exclude_none=True)} for step in self.chain]
        return settings


@dataclass(frozen=True, slots=True)
class LoadedStudy:
    """A study with the document it came from, so that later problems can name its lines."""

    study: Study
    document: Document
    folder: Path

    def path(self, text: str) -> Path:
        """Return a path of the config, relative to the config's folder."""
        return self.folder / text


def load_study(path: Path) -> LoadedStudy:
    """Read a study's config.

    Raises:
        ConfigError: every problem of the config, with file and line.
    """
    return study_from(read_document(path), path.parent)


def study_from(document: Document, folder: Path) -> LoadedStudy:
    """Return the study of a document.

    Args:
        document: the config's values.
        folder: that the config's paths are relative to.

    Raises:
        ConfigError: every problem of the config, with file and line.
    """
    problems: list[Problem] = []
    values = dict(document.values)
    study_wide = _study_wide_of(values)
    study_wide["path_of"] = lambda text: folder / str(_expanded(text))  # for a step that reads a file
    steps = tuple(_steps(values.pop("chain", None), document, study_wide, problems))
    try:
        study = Study.model_validate({**values, "chain": steps}, context=study_wide)
    except ValidationError as error:
        problems += _problems_of(error, (), Study, document)
        raise ConfigError(_in_line_order(problems)) from None
    problems += _clips_problems(study, document)
    problems += _cue_problems(study, document)
    problems += _limit_problems(study, document)
    if problems:
        raise ConfigError(_in_line_order(problems))
    return LoadedStudy(study, document, folder)


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of a study's config, with every stage and its parameters."""
    schema = Study.model_json_schema()
    definitions = schema.setdefault("$defs", {})
    forms: list[dict[str, Any]] = []
    for name, step in stage_classes().items():
        part = step.model_json_schema()
        definitions.update(part.pop("$defs", {}))
        forms.append({"type": "object", "properties": {name: part}, "required": [name], "additionalProperties": False})
        if not part.get("required"):
            forms.append({"const": name})
    definitions.pop("Step", None)
    schema["properties"]["chain"] = {
        "type": "array",
        "items": {"anyOf": forms},
        "description": "steps in order",
    }
    schema["properties"]["audit"]["description"] = "which cues are audited: all, or of " + ", ".join(cue_classes())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _study_wide_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that every step with a field of the same name gets, if it gives none."""
    compare = values.get("compare")
    handed = {"tilt_band_hz": values.get("tilt_band_hz")}
    handed["match"] = compare.get("match") if isinstance(compare, dict) else None
    return {name: value for name, value in handed.items() if value is not None}


def _handed_down(step: type[Step], given: Mapping[str, Any], study_wide: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step's parameters, with the study-wide ones where it has such a field and gives none."""
    return {**{name: value for name, value in study_wide.items() if name in step.model_fields}, **given}


def _steps(chain: object, document: Document, study_wide: Mapping[str, Any], problems: list[Problem]) -> Iterator[Step]:
    """Yield the steps that can be read, and note what is wrong with the others and with their order."""
    if not isinstance(chain, list) or not chain:
        todo = "list the steps, as chain: [encode: {}]"
        problems.append(Problem(document.where(("chain",)), "chain is not a list of steps", todo))
        return
    steps: list[Step] = []
    places: list[int] = []
    for index, entry in enumerate(chain):
        step = _step(entry, ("chain", index), document, study_wide, problems)
        if step is not None:
            steps.append(step)
            places.append(index)
    if len(steps) == len(chain):
        for at, what, todo in order_problems(steps):
            place: Place = ("chain",) if at is None else ("chain", places[at], steps[at].NAME)
            problems.append(Problem(document.where(place), what, todo))
    yield from steps


def _step(
    entry: object, place: Place, document: Document, study_wide: Mapping[str, Any], problems: list[Problem]
) -> Step | None:
    """Return the step of one entry of the chain, or None with its problems noted."""
    if isinstance(entry, str):
        entry = {entry: {}}
    if not isinstance(entry, dict) or len(entry) != 1:
        problems.append(Problem(document.where(place), "not one step", "write each step as - name: {parameter: value}"))
        return None
    name, parameters = next(iter(entry.items()))
    classes = stage_classes()
    if name not in classes:
        problems.append(Problem(document.where((*place, str(name))), "no such step", did_you_mean(str(name), classes)))
        return None
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, dict):
        what = "its parameters are not name: value pairs"
        problems.append(Problem(document.where((*place, name)), what, f"see prep stages {name}"))
        return None
    step = classes[name]
    given = {str(key): value for key, value in parameters.items()}
    try:
        made = step.model_validate(_handed_down(step, given, study_wide), context=dict(study_wide))
    except ValidationError as error:
        problems += _problems_of(error, (*place, name), step, document)
        return None
    for shared in ("tilt_band_hz",):
        wanted = study_wide.get(shared, list(TILT_BAND_HZ))
        if shared in given and list(given[shared]) != list(wanted):
            what = f"{given[shared]} differs from the study's {shared}, {list(wanted)}"
            todo = f"set {shared} once, at the top of the study"
            problems.append(Problem(document.where((*place, name, shared)), what, todo))
    return made


def _problems_of(error: ValidationError, place: Place, model: type[BaseModel], document: Document) -> Iterator[Problem]:
    """Yield a validation error's parts as problems with a line and a way out."""
    for part in error.errors():
        at = tuple(piece for piece in part["loc"] if not (isinstance(piece, str) and "[" in piece))
        full = (*place, *at)
        if part["type"] == "extra_forbidden":
            yield Problem(document.where(full), "no such setting", _meant(str(at[-1]), _fields_at(model, at[:-1])))
        elif part["type"] == "missing":
            yield Problem(document.where(full), "missing", f"give {at[-1]}")
        else:
            message = part["msg"].removeprefix("Value error, ")
            given = part.get("input")
            shown = f" (given: {given!r})" if isinstance(given, str | int | float | bool) else ""
            todo = _way_out(part["type"], given, at, model, document) if at else ""
            yield Problem(document.where(full), message[:1].lower() + message[1:] + shown, todo)


def _way_out(kind: str, given: object, place: Place, model: type[BaseModel], document: Document) -> str:
    """Return what was probably meant by a value of the wrong kind; empty where nothing is likely."""
    name = str(place[-1])
    field = _fields_at(model, place[:-1]).get(name)
    if field is None:
        return ""
    if kind == "dict_type" and isinstance(given, str | list) and "list[str]" in str(field.annotation):
        compare = document.values.get("compare")
        column = compare.get("column", "condition") if isinstance(compare, dict) else "condition"
        return f"write {name}: {{{column}: {_as_yaml(given)}}}"
    if kind == "list_type" and isinstance(given, str):
        return f"write {name}: [{given}]"
    if kind == "int_from_float" and isinstance(given, float) and "Hz" in (field.description or ""):
        return f"in Hz: {1000 * given:g}"
    if kind == "literal_error" and isinstance(given, str):
        near = did_you_mean(given, [str(choice) for choice in _choices(field.annotation)])
        return near if near.startswith("did you mean") else ""
    return ""


def _as_yaml(value: str | list[Any]) -> str:
    return value if isinstance(value, str) else f"[{', '.join(map(str, value))}]"


def _choices(annotation: Any) -> Iterator[Any]:
    """Yield the values of an annotation's literals."""
    for part in get_args(annotation):
        yield from _choices(part) if get_args(part) else [part]


def _meant(name: str, here: Iterable[str]) -> str:
    """Return where a setting of this name belongs, if that is elsewhere, or the nearest one here."""
    elsewhere = ["the study itself"] if name in Study.model_fields else []
    elsewhere += [section for section in Study.model_fields if name in _fields_at(Study, (section,))]
    elsewhere += [step for step, kind in stage_classes().items() if name in kind.model_fields]
    return f"it is a setting of {' or '.join(elsewhere)}" if elsewhere else did_you_mean(name, here)


def _fields_at(model: type[BaseModel], place: Place) -> dict[str, FieldInfo]:
    """Return the fields of the model at a place inside a model, by name."""
    for piece in place:
        field = model.model_fields.get(str(piece))
        candidates = [field.annotation, *getattr(field.annotation, "__args__", ())] if field else []
        inner = [item for item in candidates if isinstance(item, type) and issubclass(item, BaseModel)]
        if not inner:
            return {}
        model = inner[0]
    return model.model_fields


def _clips_problems(study: Study, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with the way the clips are named."""
    clips, at = study.clips, document.where(("clips",))
    if (clips.table is None) == (clips.folder is None):
        yield Problem(at, "give either table or folder", "table: clips.csv, or folder: clips/ with a pattern")
    elif clips.folder is not None and (clips.pattern is None) == (clips.regex is None):
        yield Problem(at, "folder needs a pattern or a regex", 'as pattern: "{condition}/{speaker}_{passage}.wav"')
    elif clips.table is not None and (clips.pattern or clips.regex):
        yield Problem(at, "pattern and regex go with folder, not with table", "take them out")
    if clips.folder is not None and clips.columns:
        yield Problem(document.where(("clips", "columns")), "columns goes with table", "name the fields in the pattern")


def _cue_problems(study: Study, document: Document) -> Iterator[Problem]:
    """Yield each audited cue that does not exist."""
    if study.audit.cues == "all":
        return
    for index, name in enumerate(study.audit.cues):
        if name not in cue_classes():
            where = document.where(("audit", "cues", index))
            yield Problem(where, f"{name}: no such cue", did_you_mean(name, cue_classes()))


def _limit_problems(study: Study, document: Document) -> Iterator[Problem]:
    """Yield each limit that is not well formed."""
    for index, text in enumerate(study.audit.fail_if):
        try:
            parse_limit(text, [*study.audited(), ALL], document.where(("audit", "fail_if", index)))
        except ConfigError as error:
            yield from error.problems


def _in_line_order(problems: Sequence[Problem]) -> list[Problem]:
    """Return problems by the line they stand on."""

    def line(problem: Problem) -> int:
        found = re.search(r":(\d+)", problem.where)
        return int(found[1]) if found else 0

    return sorted(problems, key=line)
