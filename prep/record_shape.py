"""Record shape: what every page, table and comparison takes for granted of a run.json, checked in one place.

docs/record.md describes the fields. Here stand those without which a reader would fail; a record may hold more.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from annotated_types import Len
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from prep.stages import stage_classes

Mapping = dict[str, Any]
Span = Annotated[list[float], Len(2, 2)]

# Of two kinds of a part the one that has a certain field; these tags tell which, and are left out of messages.
TAGS = _WITH, _WITHOUT = "<with>", "<without>"


def _has(field: str) -> Discriminator:
    return Discriminator(lambda part: _WITH if isinstance(part, dict) and field in part else _WITHOUT)


def _is_outline(text: str) -> str:
    if bytes.fromhex(text) and len(text) % 4 == 0:
        return text
    raise ValueError("should be two hexadecimal bytes a column")


class Shape(BaseModel):
    """A part of a record."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, allow_inf_nan=False)


class _Finding(Shape):
    check: str
    outcome: str
    on_fail: str
    reason: str
    value: float | None
    evidence: Mapping


class _Screen(Shape):
    findings: list[_Finding]
    cut_seconds: float
    cut_for: list[_Finding]


class _Failure(Shape):
    step: str
    reason: str
    value: Any
    limit: Any


class _Undefined(Shape):
    undefined: str


_Features = Annotated[Annotated[_Undefined, Tag(_WITH)] | Annotated[dict[str, float], Tag(_WITHOUT)], _has("undefined")]
_Cues = dict[str, _Features]


class _Facts(Shape):
    warnings: list[str]


class _Source(Shape):
    sha256: str | None
    facts: _Facts | None
    cues: _Cues | None


class _Delivered(Shape):
    file: str
    sha256: str
    bytes: int
    frames: int
    rate: int
    channels: int
    cues: _Cues


class _Evidence(Shape):
    sha256: str
    cues: _Cues


_EQUALISER = {"mean_correction_db", "largest_boost_db", "largest_cut_db", "wanted_boost_db", "wanted_cut_db"}


class _Note(Shape):
    """What a step noted of a clip; of the figures that pages name, those that it has."""

    limited_db: float | None = None
    lowered_by_db: float = 0.0
    capped_percent: float = 0.0
    applied_percent: float = 100.0
    head_change_seconds: float | None = None
    mean_correction_db: float = 0.0
    largest_boost_db: float = 0.0
    largest_cut_db: float = 0.0
    wanted_boost_db: float = 0.0
    wanted_cut_db: float = 0.0

    @model_validator(mode="after")
    def _figures_of_an_equaliser_come_together(self) -> Self:
        if 0 < len(self.model_fields_set & _EQUALISER) < len(_EQUALISER):
            raise ValueError(f"lacks {', '.join(sorted(_EQUALISER - self.model_fields_set))}")
        return self


class _Clip(Shape):
    id: str
    file_name: str
    columns: dict[str, str]
    role: str
    half: str | None
    slot: str
    take: Mapping | None
    status: str
    failure: _Failure | None
    source: _Source
    screen: _Screen | None
    stages: dict[str, _Note]
    delivered: _Delivered | None
    evidence: _Evidence | None

    @model_validator(mode="after")
    def _what_is_delivered_was_measured(self) -> Self:
        if self.delivered and (self.source.cues is None or self.source.facts is None):
            raise ValueError("is delivered, and its source has no cues or no facts")
        return self


class _Lost(Shape):
    file_name: str
    reason: str


class _Slot(Shape):
    slot: str
    candidates: int
    filled_by: str | None
    instead_of: list[_Lost]


class _Compare(Shape):
    column: str
    unit: str
    match: list[str]


class _Audited(Shape):
    equivalence_auc: float
    seed: int


class _Config(Shape):
    compare: _Compare | None
    audit: _Audited
    chain: list[dict[str, Mapping]]


class _Split(Shape):
    by: str
    halves: dict[str, str]
    warnings: list[str]


class _Fits(Shape):
    evidence: dict[str, Mapping]
    release: dict[str, Mapping]


class _Shift(Shape):
    shift: float
    low: float | None
    high: float | None

    @model_validator(mode="after")
    def _an_interval_has_two_ends(self) -> Self:
        if (self.low is None) != (self.high is None):
            raise ValueError("one end of its interval is missing")
        return self


class _Stability(Shape):
    cue: str
    splits: int
    auc_p5: float
    auc_p95: float


class _Feature(Shape):
    name: str
    resolution: float | None = None  # of a score, which has no steps


class _Cue(Shape):
    features: list[_Feature]


class _Figures(Shape):
    auc: float | None
    separation: float | None
    auc_matched: float | None
    numbers: dict[str, float | None] | None = None


class _Tested(_Figures):
    auc_low: float | None
    auc_high: float | None
    p: float | None
    p_familywise: float | None
    smallest_p: float | None
    verdict: str
    verdict_text: str
    units_a: int | None
    units_b: int | None
    units_needed: int | None
    warnings: list[str]


class _Correlation(Shape):
    cues: list[str]
    spearman: list[list[float | None]]

    @model_validator(mode="after")
    def _is_a_square(self) -> Self:
        if [len(row) for row in self.spearman] != [len(self.cues)] * len(self.cues):
            raise ValueError("should have a row and a column a cue")
        return self


class _Pair(Shape):
    a: str
    b: str
    column: str
    unit: str
    cues: dict[str, _Cue]
    sources: dict[str, _Figures]
    before: dict[str, _Tested] | None
    after: dict[str, _Tested] | None
    delivered: dict[str, _Figures] | None
    looks: dict[str, dict[str, _Figures]] | None
    correlation: _Correlation

    @model_validator(mode="after")
    def _what_is_tested_is_described(self) -> Self:
        tested = (self.after or {}).keys()
        for column, held, wanted in (
            ("sources", self.sources, self.cues.keys()),
            ("before", self.before, tested),
            ("delivered", self.delivered, tested),
        ):
            if lost := wanted - (held or {}).keys():
                raise ValueError(f"{column} lacks {min(lost)}")
        return self


class _Widest(Shape):
    """Of one cue of several conditions: the pair that stands out."""

    auc: float | None
    pair: Annotated[list[str], Len(2, 2)] | None


class _TestedWidest(_Widest):
    p: float | None
    p_familywise: float | None
    smallest_p: float | None
    verdict: str


class _Omnibus(Shape):
    conditions: list[str]
    reference: str | None
    unit: str
    cues: dict[str, _Cue]
    sources: dict[str, _Widest]
    before: dict[str, _TestedWidest] | None
    after: dict[str, _TestedWidest] | None
    delivered: dict[str, _Widest] | None
    pairs: list[_Pair]


_Audit = Annotated[Annotated[_Omnibus, Tag(_WITH)] | Annotated[_Pair, Tag(_WITHOUT)], _has("pairs")]


class _Limit(Shape):
    limit: str
    broken: bool
    why: str


class _OneSided(Shape):
    stage: str
    rows: dict[str, str | list[str]]
    treated_by_condition: dict[str, int]


class _Take(Shape):
    cut_by: str
    lines: int
    clips: int
    missing: list[Any]


class _Model(Shape):
    sha256: dict[str, str]


class _Silent(Shape):
    missing: str


class _Heard(Shape):
    file: str
    sha256: str
    start_seconds: float
    seconds: float
    clip_seconds: float
    peak_dbfs: float | None
    spans: list[Span]
    outline: Annotated[str, AfterValidator(_is_outline)]


_Part = Annotated[Annotated[_Silent, Tag(_WITH)] | Annotated[_Heard, Tag(_WITHOUT)], _has("missing")]


class _HeardClip(Shape):
    file_name: str
    kinds: list[str]
    source: _Part
    delivered: _Part | None = None
    in_its_place: _Part | None = None

    @model_validator(mode="after")
    def _a_part_that_is_named_is_there(self) -> Self:
        if lost := sorted(name for name in self.model_fields_set if getattr(self, name) is None):
            raise ValueError(f"{lost[0]} is empty")
        return self


class _Excerpts(Shape):
    left_out_clips: int
    clips: list[_HeardClip]


class _Opening(Shape):
    time: str
    user: str
    record: str
    run_sha256: str
    reason: str


class _Versions(Shape):
    __pydantic_extra__: dict[str, str]

    own: str = Field(alias="listening-prep")


class RecordShape(Shape):
    """A run.json."""

    study: str
    config: _Config
    seed: int
    chain: list[str]
    split: _Split | None
    fits: _Fits
    references: dict[str, Mapping]
    fit_intervals: dict[str, dict[str, _Shift]]
    stability: dict[str, _Stability | None]
    audit: _Audit | None
    limits: list[_Limit]
    one_sided: list[_OneSided]
    counts: dict[str, int]
    notices: list[str]
    takes: list[_Take]
    slots: list[_Slot]
    clips: list[_Clip]
    versions: _Versions
    models: dict[str, _Model]
    unblinded: list[_Opening]
    excerpts: _Excerpts
    files: dict[str, str]
    started: str
    seconds: float
    platform: dict[str, str]

    @model_validator(mode="after")
    def _its_parts_speak_of_one_run(self) -> Self:
        if self.audit and not self.config.compare:
            raise ValueError("has an audit, and its config compares nothing")
        if lost := {clip.file_name for clip in self.excerpts.clips} - {clip.file_name for clip in self.clips}:
            raise ValueError(f"excerpts are of {min(lost)}, which is none of the clips")
        steps = {name for step in self.config.chain for name in step}
        if lost := {name for name in self.chain if name in stage_classes()} - steps:
            raise ValueError(f"config.chain lacks {min(lost)}, which was carried out")
        return self
