"""Limits: what an audit may not find, so that a build can fail on a leaking cue.

    <cue>.<before|after|delivered>.<separation|p|spread> <operator> <number>

A limit names what is *not* allowed: `tilt.after.separation>0.15` fails where the AUC of tilt after the
treatment is more than 0.15 from chance. In the columns that are tested (before, after) it holds only where
the clips can show it: for a separation both intervals of the AUC must lie inside the limit, for a p the
verdict must be that the conditions cannot be told apart. "Not settled" is no pass.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from prep.document import did_you_mean
from prep.errors import ConfigError, Problem
from prep.verdict import NOT_MEASURABLE, NOT_SETTLED, TOLD_APART

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ALL = "all"  # the score of all nuisance cues together
COLUMNS = ("before", "after", "delivered")
FIGURES = ("separation", "p", "spread")
OPERATORS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_FORM = re.compile(r"\s*([\w]+)\.(\w+)\.(\w+)\s*(>=|<=|>|<)\s*([-+.\deE]+)\s*")


class Limit(BaseModel):
    """One thing that an audit may not find."""

    model_config = ConfigDict(frozen=True)

    text: str
    cue: str
    column: str
    figure: str
    sign: str
    value: float


def parse_limit(text: str, cues: Iterable[str], where: str = "--fail-if") -> Limit:
    """Return a limit from its text.

    Args:
        text: as "tilt.after.separation>0.15".
        cues: the cues that are audited.
        where: what messages call the place it stands in.

    Raises:
        ConfigError: it is not well formed, or names what there is not.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        todo = "write it as tilt.after.separation>0.15"
        raise ConfigError([Problem(where, f"{text!r} is not a limit", todo)])
    cue, column, figure, sign, number = match.groups()
    for name, known in ((cue, list(cues)), (column, COLUMNS), (figure, FIGURES)):
        if name not in known:
            raise ConfigError([Problem(where, f"{text!r}: there is no {name}", did_you_mean(name, known))])
    try:
        value = float(number)
    except ValueError:
        raise ConfigError([Problem(where, f"{text!r}: {number} is not a number", "write it as 0.15")]) from None
    if (figure == "p") != sign.startswith("<"):
        todo = "write p<=0.05" if figure == "p" else f"write {figure}>{number}"
        raise ConfigError([Problem(where, f"{text!r} forbids what is good", todo)])
    return Limit(text=text.strip(), cue=cue, column=column, figure=figure, sign=sign, value=value)


def judged(limits: Iterable[Limit], audit: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return each limit with its figure, whether it is broken, and why, JSON-able."""
    return [_judged(limit, ((audit or {}).get(limit.column) or {}).get(limit.cue) or {}) for limit in limits]


def _judged(limit: Limit, found: Mapping[str, Any]) -> dict[str, Any]:
    figure, verdict = found.get(limit.figure), found.get("verdict")
    if figure is not None and OPERATORS[limit.sign](figure, limit.value):
        why = f"{limit.figure} is {figure:.3g}"
    elif limit.figure != "spread" and verdict is not None and not _shown(limit, found):
        why = f"{verdict}: these clips cannot show that it holds"
    elif figure is None:
        why = "there is no such figure: nothing was measured or held out"
    else:
        why = ""
    return {"limit": limit.text, "figure": figure, "verdict": verdict, "broken": bool(why), "why": why}


def _shown(limit: Limit, found: Mapping[str, Any]) -> bool:
    """Say whether a tested column shows that a limit holds: by its intervals, or by its verdict for a p."""
    if limit.figure == "p":
        return found["verdict"] not in (TOLD_APART, NOT_SETTLED, NOT_MEASURABLE)
    ends = [found[name] for name in ("auc_low", "auc_high", "auc_tested_low", "auc_tested_high")]
    return None not in ends and all(abs(end - 0.5) <= limit.value for end in ends)
