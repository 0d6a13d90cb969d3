"""Separability: how far a cue tells two conditions apart, and what the clips at hand can settle.

Four principles:

    Undefined is undefined. An AUC that does not exist is None or an exception, never 0.0 or 0.5.
    Direction is declared. The AUC is the probability that b exceeds a, ties half, never folded.
    Units weigh alike in the test (see `prep.contrast`).
    The test sees what the design holds equal, and exchanges labels only where the null hypothesis says
        that they are exchangeable (see `prep.design`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from prep.contrast import Contrast
from prep.design import Design, Observations, canonical
from prep.permutation import PValues, p_values, smallest_p
from prep.verdict import NOT_MEASURABLE, SIGNIFICANT, units_needed, unmeasurable, verdict, warnings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Description(BaseModel):
    """How two conditions lie on one cue, without a test.

    Attributes:
        auc: probability that a clip of b has a higher value than a clip of a, ties half; None if a side is empty.
        separation: abs(auc - 0.5).
        auc_distance_from_median: AUC of abs(value - pooled median); above 0.5 where b is spread wider.
        auc_matched: mean over units of the AUC inside matched cells; None if there is no such cell.
        spread: 95th minus 5th percentile over all clips, in the cue's unit.
        clips_a, clips_b: clips with a value.
        undefined_clips: clips without one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    auc: float | None
    separation: float | None
    auc_distance_from_median: float | None
    auc_matched: float | None
    spread: float | None
    clips_a: int
    clips_b: int
    undefined_clips: int


class Separation(Description):
    """How two conditions lie on one cue, and what that settles.

    Attributes:
        condition_a, condition_b: their names; the AUC is above 0.5 where b has the higher values.
        auc_low, auc_high: 90 % unit-bootstrap interval of `auc`; None under 5 units a side.
        auc_tested: the AUC that `p` belongs to: units weigh alike, and what the design holds equal is equal.
        auc_tested_low, auc_tested_high: its 90 % interval.
        p: two-sided permutation p of `auc_tested`; None where no p at or below 0.05 can be reached.
        p_familywise: p over all cues compared together; None where `p` is.
        smallest_p: the smallest p these units allow.
        design: how units lie to the conditions in the test.
        verdict: "told apart", "cannot be told apart within ±m", "not settled" or "not measurable".
        verdict_text: the verdict as a sentence.
        units_a, units_b: units with a valued clip of the condition; a crossed unit counts on both sides.
        units_needed: units a side for a claim of "cannot be told apart" with 80 % power.
        warnings: what a reader must know besides.
    """

    condition_a: str
    condition_b: str
    auc_low: float | None
    auc_high: float | None
    auc_tested: float | None
    auc_tested_low: float | None
    auc_tested_high: float | None
    p: float | None
    p_familywise: float | None
    smallest_p: float | None
    design: Literal["nested", "paired", "mixed"] | None
    verdict: str
    verdict_text: str
    units_a: int
    units_b: int
    units_needed: int | None
    warnings: tuple[str, ...]


def describe(scores: Mapping[str, ArrayLike], observations: Observations) -> dict[str, Description]:
    """Describe how two conditions lie on each cue, without a test.

    Args:
        scores: by cue, (n,) one number a clip, NaN where undefined.
        observations: what is known of the n clips.
    """
    described = {}
    for name, raw in scores.items():
        values, defined = canonical(raw, observations)
        described[name] = Description(**_figures(Contrast(values, Design(defined)), np.asarray(raw, dtype=np.float64)))
    return described


def compare(
    scores: Mapping[str, ArrayLike],
    observations: Observations,
    *,
    equivalence_auc: float = 0.15,
    draws: int = 9999,
    seed: int = 0,
) -> dict[str, Separation]:
    """Compare two conditions on every cue: how far apart, and what that settles.

    p is by permutation of units (see `Design` for what is exchanged), two-sided as twice the smaller
    tail, over every arrangement where there are at most `draws`, else (1 + hits) / (1 + draws). So no p can
    be below 2 / arrangements. The order of the rows, the order of the cues, and which condition is called
    b change no p.

    Args:
        scores: by cue, (n,) one number a clip, NaN where undefined.
        observations: what is known of the n clips.
        equivalence_auc: m of the claim "cannot be told apart within ±m".
        draws: random arrangements where there are too many to visit all.
        seed: of the arrangements and the resamples.

    Returns:
        A `Separation` for each cue.
    """
    contrasts = _contrasts(scores, observations)
    settleable = {
        name: contrast
        for name, contrast in sorted(contrasts.items())
        if not unmeasurable(contrast.design) and smallest_p(contrast.design, draws) <= SIGNIFICANT
    }
    units = np.unique(np.asarray(observations.unit, dtype=str)).tolist()
    p = p_values(settleable, units, draws, seed)
    return {
        name: _separation(
            contrast,
            np.asarray(scores[name], dtype=np.float64),
            observations,
            p.get(name),
            equivalence_auc=equivalence_auc,
            draws=draws,
            seed=seed,
            cues=len(settleable),
        )
        for name, contrast in contrasts.items()
    }


def _contrasts(scores: Mapping[str, ArrayLike], observations: Observations) -> dict[str, Contrast]:
    """Return each cue's contrast; cues with values for the same clips share one design."""
    designs: dict[object, Design] = {}
    contrasts = {}
    for name, raw in scores.items():
        values, defined = canonical(raw, observations)
        known = (defined.is_b.tobytes(), defined.unit, defined.cell, defined.passage)
        if known not in designs:
            designs[known] = Design(defined)
        contrasts[name] = Contrast(values, designs[known])
    return contrasts


def _figures(contrast: Contrast, raw: Floats) -> dict[str, float | int | None]:
    """Return the fields of a `Description`."""
    is_b = contrast.design.observations.is_b
    two_sided = 0 < int(is_b.sum()) < is_b.size
    held = raw[~np.isnan(raw)]
    spread = float(np.subtract(*np.percentile(held, [95, 5]))) if np.isfinite(held).all() and held.size else None
    return {
        "auc": contrast.pooled if two_sided else None,
        "separation": abs(contrast.pooled - 0.5) if two_sided else None,
        "auc_distance_from_median": contrast.distance_from_median if two_sided else None,
        "auc_matched": contrast.matched if two_sided else None,
        "spread": spread,
        "clips_a": int((~is_b).sum()),
        "clips_b": int(is_b.sum()),
        "undefined_clips": int(np.isnan(raw).sum()),
    }


def _separation(
    contrast: Contrast,
    raw: Floats,
    observations: Observations,
    p: PValues | None,
    *,
    equivalence_auc: float,
    draws: int,
    seed: int,
    cues: int,
) -> Separation:
    design = contrast.design
    reason = unmeasurable(design)
    pooled, tested = (None, None) if reason else contrast.intervals(seed)
    auc_low, auc_high = pooled or (None, None)
    auc_tested_low, auc_tested_high = tested or (None, None)
    if reason:
        word, text = NOT_MEASURABLE, reason
    else:
        word, text = verdict(contrast, p, (pooled, tested), margin=equivalence_auc, draws=draws, cues=cues)
    return Separation(
        **_figures(contrast, raw),
        condition_a=observations.names[0],
        condition_b=observations.names[1],
        auc_low=auc_low,
        auc_high=auc_high,
        auc_tested=None if reason else contrast.tested,
        auc_tested_low=auc_tested_low,
        auc_tested_high=auc_tested_high,
        p=p.alone if p else None,
        p_familywise=p.familywise if p else None,
        smallest_p=None if reason else smallest_p(design, draws),
        design=None if reason else design.kind,
        verdict=word,
        verdict_text=f"{word}: {text}",
        units_a=design.units_a,
        units_b=design.units_b,
        units_needed=None if reason else units_needed(design, equivalence_auc),
        warnings=tuple(warnings(contrast, raw, observations, equivalence_auc)),
    )
