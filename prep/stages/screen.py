"""screen: turn down what no treatment can mend, or cut it off, before anything is fitted.

A check is a cue with limits (`prep.cue`). Every cue can be one; its limits are `max_` or `min_` before the name of a
feature, and those of the class where the config gives none. What a check cannot be asked of is "not checked", and
never counts as passed.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    create_model,
    model_serializer,
    model_validator,
)

from prep.bibliography import cite
from prep.cue import Cue
from prep.discovery import classes_in
from prep.errors import ClipError
from prep.prose import counted, joined
from prep.screening import Cut, Finding, Findings
from prep.stage import Applied, Stage, Value, refuse_truth_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prep.clip import Clip
    from prep.stage import Account

MOST_CUTS = 3  # a preamble may hide another; what still fails then is turned down


class Check(BaseModel):
    """One check of a screen: limits, the cue's own parameters, and what happens where it fails."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    CUE: ClassVar[type[Cue]]

    @model_validator(mode="before")
    @classmethod
    def _no_truth_values(cls, given: Any) -> Any:
        return refuse_truth_values(cls, given)

    @model_validator(mode="after")
    def _has_a_limit(self) -> Check:
        """Refuse a check that nothing can fail.

        Raises:
            ValueError: no limit is given, and the cue has none of its own.
        """
        if not self.limits:
            names = ", ".join(f"max_{feature.name}" for feature in self.CUE.FEATURES[:3])
            raise ValueError(f"{self.CUE.NAME} has no limit of its own; give one, as {names}")
        return self

    def __reduce__(self) -> Any:
        """Travel to a worker by the cue's name: the class is made, and has no name to import."""
        return _check_of, (self.CUE.NAME, self.model_dump())

    @cached_property
    def limits(self) -> list[tuple[str, Literal["max", "min"], float]]:
        """(feature, which end, limit) of each limit."""
        found: list[tuple[str, Literal["max", "min"], float]] = []
        for feature in self.CUE.FEATURES:
            for end in cast("tuple[Literal['max', 'min'], ...]", ("max", "min")):
                value = getattr(self, f"{end}_{feature.name}")
                if value is not None:
                    found.append((feature.name, end, value))
        return found

    @cached_property
    def cue(self) -> Cue:
        """The cue, with its own parameters."""
        return self.CUE.model_validate({name: getattr(self, name) for name in self.CUE.model_fields})

    def look(self, clip: Clip, text: str) -> Iterator[Finding]:
        """Yield a finding for every broken limit of a clip, or one that says that none is, or why that is not known."""
        name, on_fail = self.CUE.NAME, getattr(self, "on_fail")  # noqa: B009 - made below, with the cue's choices
        try:
            values = (self.cue.from_text(clip, text) if text else None) or self.cue.measure(clip)
            broken = list(self._broken(values))
            evidence = dict(self.cue.evidence(clip)) if broken else {}
        except ClipError as error:
            yield Finding(check=name, outcome="not checked", on_fail=on_fail, reason=f"{name}: {error}")
            return
        for feature, value, limit in broken:
            reason = f"{name}: {self._told(feature, value, limit)}"
            yield Finding(
                check=name,
                outcome="failed",
                on_fail=on_fail,
                reason=reason,
                feature=feature,
                value=value,
                limit=limit,
                values=values,
                evidence=evidence,
            )
        if not broken:
            yield Finding(check=name, outcome="passed", on_fail=on_fail, values=values)

    def _told(self, name: str, value: float, limit: float) -> str:
        """Return a broken limit in words: the number and the limit in the feature's unit, and what it is."""
        feature = next(feature for feature in self.CUE.FEATURES if feature.name == name)
        unit = "" if feature.unit in ("no unit", "count") else f" {feature.unit}"
        side = "over" if value > limit else "under"
        return f"{name} is {value:.4g}{unit}, {side} the limit of {limit:g}{unit}: {feature.meaning}"

    def _broken(self, values: dict[str, float]) -> Iterator[tuple[str, float, float]]:
        for feature, end, limit in self.limits:
            value = values[feature]
            if value > limit if end == "max" else value < limit:
                yield feature, value, limit


class _Screen(Stage[Findings, Cut | None]):
    """Turn down clips that fail a check, so that another candidate of the slot takes their place."""

    VERSION: ClassVar[int] = 2
    MEASURES: ClassVar[type[Value]] = Findings
    SCREENS: ClassVar[bool] = True
    READS_TEXT: ClassVar[bool] = True

    @model_validator(mode="before")
    @classmethod
    def _bare_checks(cls, given: Any) -> Any:
        """Take a check without parameters, `music:`, as one with its defaults."""
        if not isinstance(given, dict):
            return given
        names = CHECKS.keys()
        return {name: {} if value is None and name in names else value for name, value in given.items()}

    @model_validator(mode="after")
    def _has_a_check(self) -> _Screen:
        """Refuse a screen that looks for nothing.

        Raises:
            ValueError: no check is given.
        """
        if not self.checks:
            raise ValueError("no check is given; name some, as screen: {clipping: {}, duration: {}}")
        return self

    @model_serializer(mode="wrap")
    def _given_checks(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the checks that are not asked for: one that is there, even empty, is asked."""
        return {name: value for name, value in plain(self).items() if value is not None or name not in CHECKS}

    @classmethod
    def methods(cls, account: Account) -> str:
        """Return what the sources were screened for, and how many lost a part of their start."""
        names = [name for name in account.parameters if name in CHECKS]
        told = [
            name.replace("_", " ") + (f" {cite(*CHECKS[name].CUE.REFERENCES)}" if CHECKS[name].CUE.REFERENCES else "")
            for name in names
        ]
        cut = [value for value in account.values("cut_seconds") if value > 0]
        lost = f" {counted(len(cut), 'clip')} lost a part of the start for it, {max(cut):.1f} s at most." if cut else ""
        if not told:
            return f"No check of the source recordings could be made.{lost}"
        return f"Before anything was fitted, the source recordings were screened for {joined(told)}.{lost}"

    @cached_property
    def checks(self) -> list[Check]:
        """The checks: those without a model first, for a clip that they turn down needs no dear one."""
        given: list[Check] = [check for name in CHECKS if (check := getattr(self, name)) is not None]
        return sorted(given, key=lambda check: bool(check.CUE.MODELS))

    def identity(self) -> Mapping[str, Any]:
        """Return what decides what is found: the checks that are asked, with the versions of their cues."""
        checks = [[check.cue.identity(), check.model_dump(mode="json")] for check in self.checks]
        return {"step": self.NAME, "version": self.VERSION, "checks": checks}

    def models(self) -> Sequence[str]:
        """Return the models of the checks."""
        return sorted({name for check in self.checks for name in check.cue.models()})

    def alters(self) -> bool:
        """Say whether a check cuts."""
        return any(getattr(check, "on_fail") == "cut" for check in self.checks)  # noqa: B009

    def measure(self, clip: Clip) -> Findings:
        """Return what the checks find in a clip whose text is not known."""
        return self.measure_reading(clip, "")

    def measure_reading(self, clip: Clip, text: str) -> Findings:
        """Return what the checks find in a clip, after cutting off what may be cut.

        Args:
            clip: any clip.
            text: that it should speak, for checks that compare the two; "" where it is not known.
        """
        cut_seconds = 0.0
        cut_for: list[Finding] = []
        for _ in range(MOST_CUTS + 1):
            findings = Findings(findings=tuple(self._look(clip, text)), cut_seconds=cut_seconds, cut_for=tuple(cut_for))
            worst = findings.worst()
            if worst is None or worst.on_fail != "cut" or worst.value is None or len(cut_for) == MOST_CUTS:
                break
            kept = _without_start(clip, worst.value)
            if not 0 < kept.frames < clip.frames:
                break
            clip, cut_seconds = kept, cut_seconds + worst.value
            cut_for.append(worst)
        return findings

    def _look(self, clip: Clip, text: str) -> Iterator[Finding]:
        """Yield what every check finds; a model is not asked about a clip that is turned down already."""
        lost = False
        for check in self.checks:
            on_fail = getattr(check, "on_fail")  # noqa: B009
            if lost and check.CUE.MODELS:
                yield Finding(check=check.CUE.NAME, outcome="skipped", on_fail=on_fail)
                continue
            for finding in check.look(clip, text):
                lost = lost or (finding.outcome == "failed" and finding.on_fail not in ("flag", "cut"))
                yield finding

    def apply(self, clip: Clip, fit: Cut | None) -> Applied:
        """Return the clip without what is cut off its start, if anything; the notes say how much.

        Raises:
            ClipError: a sample is not finite.
        """
        clip.check_finite()
        if fit is None:
            return Applied(clip)
        kept = _without_start(clip, fit.seconds)
        return Applied(kept, {"cut_seconds": (clip.frames - kept.frames) / clip.rate})


def _check_of(name: str, values: dict[str, Any]) -> Check:
    return CHECKS[name].model_validate(values)


def _without_start(clip: Clip, seconds: float) -> Clip:
    """Return a clip without its first seconds, to the frame."""
    return clip.with_samples(clip.samples[round(seconds * clip.rate) :])


def _check_model(cue: type[Cue]) -> type[Check]:
    """Return the model of one cue's check: a field for either end of every feature, and the cue's own fields."""
    choices = (
        Literal["replace", "drop", "flag", "stop", "cut"] if cue.CUT else Literal["replace", "drop", "flag", "stop"]
    )
    fields: dict[str, Any] = {
        "on_fail": (
            choices,
            Field(
                default="replace",
                description="what becomes of a clip that fails: replace by the slot's next candidate, drop it, flag it "
                "and use it, or stop the run" + ("; cut: without its start" if cue.CUT else ""),
            ),
        )
    }
    for feature in cue.FEATURES:
        for end, word in (("max", "most"), ("min", "least")):
            name = f"{end}_{feature.name}"
            described = Field(default=cue.LIMITS.get(name), description=f"the {word} {feature.meaning}, {feature.unit}")
            fields[name] = (float | None, described)
    fields |= {name: (field.annotation, field) for name, field in cue.model_fields.items()}
    made = create_model(f"{cue.__name__}Check", __base__=Check, **fields)
    made.CUE = cue
    return made


# Found by name, so that no stage imports a cue.
CHECKS = {name: _check_model(cue) for name, cue in classes_in("prep.classifiers", Cue).items() if cue.KIND != "file"}
_FIELDS: dict[str, Any] = {
    name: (check | None, Field(default=None, description=f"check by the cue {name}; no unit"))
    for name, check in CHECKS.items()
}
Screen: type[_Screen] = create_model(
    "Screen",
    __base__=_Screen,
    __module__=__name__,
    __doc__=_Screen.__doc__,
    **_FIELDS,
)
Screen.NAME = "screen"
