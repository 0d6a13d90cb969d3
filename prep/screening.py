"""Screening: what checks found in a clip, and what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from prep.stage import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

OnFail = Literal["replace", "drop", "flag", "stop", "cut"]
Outcome = Literal["passed", "failed", "not checked", "skipped"]


class Finding(Value):
    """What one check found in one clip."""

    check: str = Field(description="the cue's name; no unit")
    outcome: Outcome = Field(description="skipped: a cheaper check had already turned the clip down; no unit")
    on_fail: OnFail = Field(description="what the config asks for where it fails; no unit")
    reason: str = Field(default="", description="why it failed or could not be checked; no unit")
    feature: str | None = Field(default=None, description="the number that broke its limit; no unit")
    value: float | None = Field(default=None, description="it, in the feature's unit or no unit")
    limit: float | None = Field(default=None, description="the limit, in the feature's unit or no unit")
    values: dict[str, float] = Field(default={}, description="every number of the check, each in its feature's unit")
    evidence: dict[str, Any] = Field(default={}, description="what to look at, as the words heard; no unit")


class Cut(Value):
    """How much of one clip's start is cut off."""

    seconds: float = Field(description="length, s")


class Findings(Value):
    """What all checks found in one clip, and how much of its start is cut off."""

    findings: tuple[Finding, ...] = Field(description="of every check, in the order they were asked; no unit")
    cut_seconds: float = Field(default=0.0, description="cut off the start, s")
    cut_for: tuple[Finding, ...] = Field(default=(), description="the findings for which it was cut; no unit")

    @property
    def passed(self) -> bool:
        """Whether every check was asked and passed."""
        return not self.cut_for and all(item.outcome == "passed" for item in self.findings)

    def worst(self) -> Finding | None:
        """Return the failed check that decides what becomes of the clip; None where it is used."""
        failed = [item for item in self.findings if item.outcome == "failed" and item.on_fail != "flag"]
        order: Sequence[OnFail] = ("stop", "drop", "replace", "cut")
        return min(failed, key=lambda item: order.index(item.on_fail), default=None)
