"""Verdict: what a comparison settles, as a word and a sentence, and what a reader must know besides."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from prep.bootstrap import COVERAGE, FEWEST_UNITS, Interval
from prep.permutation import PValues, smallest_p
from prep.prose import counted, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from prep.contrast import Contrast
    from prep.design import Design, Observations

    Floats = NDArray[np.float64]

SIGNIFICANT = 0.05  # p at or below which two conditions are told apart
PLANNED_POWER = 0.80
PLANNED_UNIT_CORRELATION = 0.6  # of the ranks of two clips of one unit: assumed, for planning only

TOLD_APART = "told apart"
NOT_SETTLED = "not settled"
NOT_MEASURABLE = "not measurable"


def unmeasurable(design: Design) -> str:
    """Return why two conditions cannot be compared at all; empty where they can."""
    observations = design.observations
    for name, units in zip(observations.names, (design.units_a, design.units_b), strict=True):
        if not units:
            return f"no clip of {name} has a value"
    if len(design.units) == 1:
        return f"all clips belong to one {observations.unit_name}"
    return ""


def units_needed(design: Design, margin: float) -> int:
    """Return the pairs of units that claim equivalence with 80 % power where the AUC is 0.5.

    The 90 % interval stays inside the margin in 80 % of studies when 2.93 standard errors fit into it. The
    variance of a unit's mean rank is 1/12 for one clip, and that of an AUC of n_a and n_b clips
    (n_a + n_b + 1) / (12 n_a n_b); what a unit's clips have in common does not average out.
    """
    normal = NormalDist()
    errors = normal.inv_cdf((1.0 + COVERAGE) / 2.0) + normal.inv_cdf((1.0 + PLANNED_POWER) / 2.0)

    def averaged(of_one: float, numbers: Floats) -> float:
        common = PLANNED_UNIT_CORRELATION
        return of_one * (common + (1.0 - common) * float((1.0 / numbers).mean()))

    variance = 0.0
    if design.crossed.size:
        sizes = np.array([(cell.a.size, cell.b.size) for cell in design.cells], dtype=np.float64)
        of_cell = float(((sizes.sum(axis=1) + 1.0) / (12.0 * sizes.prod(axis=1))).mean())
        _, cells = np.unique([cell.unit for cell in design.cells], return_counts=True)
        variance += design.crossed.size * averaged(of_cell, cells.astype(np.float64))
    for block in design.blocks:
        clips = (design.clips_a + design.clips_b)[block.units].astype(np.float64)
        variance += block.pairs * 2.0 * averaged(1.0 / 12.0, clips)
    return math.ceil(variance / design.pairs * (errors / margin) ** 2)


def verdict(
    contrast: Contrast,
    p: PValues | None,
    intervals: tuple[Interval | None, Interval | None],
    *,
    margin: float,
    draws: int,
    cues: int,
) -> tuple[str, str]:
    """Return the verdict on a cue that can be measured, and the reason for it.

    The claim "cannot be told apart" is about what a listener could use, so it needs both intervals, of the
    pooled and of the tested AUC, inside the margin, and values that are not spread unequally by more than it.

    Args:
        contrast: of the cue.
        p: None where the units allow none at or below 0.05.
        intervals: of the pooled and of the tested AUC.
        margin: m of the claim "cannot be told apart within ±m", in AUC.
        draws: random arrangements that `p` may rest on.
        cues: number of cues with a p.
    """
    design = contrast.design
    claim = f"cannot be told apart within ±{margin:g}"
    name_a, name_b = design.observations.names
    one = design.observations.unit_name
    needed = f"the claim '{claim}' needs about {units_needed(design, margin)} {plural(one)} a side"
    figure = f"{name_b} exceeds {name_a} with probability {contrast.pooled:.2f}"
    if abs(contrast.tested - contrast.pooled) >= 0.005:
        figure += f" ({contrast.tested:.2f} with every {one} weighing the same and like compared with like)"
    if p is None:
        who = f"{counted(len(design.units), one)} ({design.units_a} {name_a}, {design.units_b} {name_b})"
        least = f"allow no p below {smallest_p(design, draws):.2g}"
        return NOT_SETTLED, f"cannot be settled with {who}, which {least}; {figure}; {needed}"
    chance = f"p = {p.alone:.2g}" + (f", p = {p.familywise:.2g} over {cues} cues" if cues > 1 else "")
    if p.alone <= SIGNIFICANT:
        return TOLD_APART, f"{figure}; {chance}"
    pooled, tested = intervals
    if pooled is None or tested is None:
        few = min(design.units_a, design.units_b) < FEWEST_UNITS
        why = f"fewer than {FEWEST_UNITS} {plural(one)} a side" if few else "all resamples agree, or few share texts"
        return NOT_SETTLED, f"{figure}; {chance}; no interval ({why}); {needed}"
    low, high = min(pooled[0], tested[0]), max(pooled[1], tested[1])
    reach = f"the {COVERAGE:.0%} interval is {low:.2f} to {high:.2f}"
    if not (0.5 - margin <= low and high <= 0.5 + margin):
        return NOT_SETTLED, f"{figure}; {chance}; {reach}; {needed}"
    if abs(contrast.distance_from_median - 0.5) > margin:
        return NOT_SETTLED, f"{figure}, but one condition's values are spread wider; {chance}; {reach}"
    return claim, f"{figure}; {reach}"


def warnings(contrast: Contrast, raw: Floats, observations: Observations, margin: float) -> Iterator[str]:
    """Yield what a reader must know besides the verdict.

    Args:
        contrast: of the cue.
        raw: (n,) its values, NaN where undefined.
        observations: of the n clips, those without a value among them.
        margin: in AUC, by which the spreads may differ unsaid.
    """
    undefined = np.isnan(raw)
    if undefined.any():
        counts = [int((undefined & (observations.is_b == side)).sum()) for side in (False, True)]
        sides = ", ".join(f"{count} {name}" for count, name in zip(counts, observations.names, strict=True))
        yield f"{counted(int(undefined.sum()), 'clip')} without a value left out ({sides})"
    if unmeasurable(contrast.design):
        return
    yield from _text_warnings(contrast.design)
    yield from _unit_warnings(contrast.design)
    distance = contrast.distance_from_median
    if abs(distance - 0.5) > margin:
        wider = observations.names[distance > 0.5]
        yield f"{wider} is spread wider (AUC of the distance from the pooled median {distance:.2f})"


def _text_warnings(design: Design) -> Iterator[str]:
    if design.observations.passage is None:
        return
    passages = np.asarray(design.observations.passage, dtype=str)
    of_a, of_b = (set(passages[design.observations.is_b == side].tolist()) for side in (False, True))
    if not of_a & of_b:
        yield "no passage occurs in both conditions: text is confounded with condition"
    elif of_a != of_b:
        alone = len(of_a ^ of_b)
        yield f"{alone} of {len(of_a | of_b)} passages occur in one condition only: there text is confounded with it"


def _unit_warnings(design: Design) -> Iterator[str]:
    one = design.observations.unit_name
    left_out = design.nested.size - sum(block.units.size for block in design.blocks)
    if left_out:
        yield f"{counted(left_out, one)} without a counterpart in the other condition left out of the test"
    if design.observations.cell is None:
        return
    cross = design.crossed.size - len({cell.unit for cell in design.matched_cells})
    if cross:
        yield f"{counted(cross, one)} of both conditions without a matched cell: compared across texts"
    inside = sum(cell.a.size + cell.b.size for cell in design.cells)
    outside = int(design.clips_a[design.crossed].sum() + design.clips_b[design.crossed].sum()) - inside
    if outside:
        yield f"{counted(outside, 'clip')} outside matched cells left out of the test"
