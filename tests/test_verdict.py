"""What a comparison settles, and what it says besides."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.design import Observations
from prep.separability import Separation, compare
from prep.verdict import NOT_MEASURABLE, NOT_SETTLED, TOLD_APART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def observed(
    labels: str, units: str | Sequence[str], cells: str | None = None, passages: str | None = None
) -> Observations:
    """Return observations from a letter a clip: condition a or b, unit, cell ('-' for none), passage."""
    return Observations(
        np.array([label == "b" for label in labels]),
        tuple(units),
        None if cells is None else tuple(None if cell == "-" else cell for cell in cells),
        None if passages is None else tuple(passages),
    )


def only(values: Sequence[float] | NDArray[np.float64], observations: Observations, **options: int) -> Separation:
    """Return the comparison on a single cue."""
    return compare({"cue": np.asarray(values, dtype=float)}, observations, **options)["cue"]


@pytest.mark.parametrize(
    ("labels", "units", "reason"),
    [
        ("aaaa", "stuv", "no clip of b"),
        ("bbbb", "stuv", "no clip of a"),
        ("aabb", "ssss", "all clips belong to one speaker"),
    ],
)
def test_what_cannot_be_measured_is_said(labels: str, units: str, reason: str) -> None:
    """One condition, or one speaker, is not measurable: no p, no verdict by default."""
    found = only([1, 2, 3, 4], observed(labels, units))
    assert found.verdict == NOT_MEASURABLE
    assert reason in found.verdict_text
    assert found.p is None
    assert found.auc is None or len(set(labels)) == 2


def test_a_cue_undefined_on_one_side_is_not_measurable() -> None:
    """A cue without any value in one condition has no AUC, and the clips left out are counted by condition."""
    found = only([1, 2, 3, math.nan, math.nan, math.nan], observed("aaabbb", "stuvwx"))
    assert found.verdict == NOT_MEASURABLE
    assert found.auc is None
    assert found.separation is None
    assert found.undefined_clips == 3
    assert found.warnings == ("3 clips without a value left out (0 a, 3 b)",)


def test_no_clips_at_all_are_not_measurable() -> None:
    """An empty comparison is not measurable."""
    assert only([], observed("", "")).verdict == NOT_MEASURABLE


def test_close_conditions_cannot_be_told_apart() -> None:
    """With many speakers and equal values the interval lies inside the margin, and the verdict names it."""
    values = np.tile(np.linspace(-1, 1, 40), 2)
    found = only(values, Observations(np.arange(80) >= 40, tuple(f"s{i}" for i in range(80))))
    assert found.verdict == "cannot be told apart within ±0.15"
    assert found.auc_low is not None
    assert found.auc_high is not None
    assert 0.35 <= found.auc_low < 0.5 < found.auc_high <= 0.65


def test_a_high_p_is_no_evidence_of_equality() -> None:
    """With 6 + 6 speakers and equal values p is 1, yet nothing is settled, and the planning figure is given."""
    values = np.tile(np.linspace(-1, 1, 6), 2)
    found = only(values, Observations(np.arange(12) >= 6, tuple(f"s{i}" for i in range(12))))
    assert found.p == 1.0
    assert found.verdict == NOT_SETTLED
    assert f"about {found.units_needed} speakers a side" in found.verdict_text


def test_unequal_spread_is_not_called_equal() -> None:
    """Conditions with one median and unlike spread have an AUC of 0.5, and are not called indistinguishable."""
    values = np.concatenate([np.linspace(-1, 1, 40), 10 * np.linspace(-1, 1, 40)])
    found = only(values, Observations(np.arange(80) >= 40, tuple(f"s{i}" for i in range(80))))
    assert found.auc == pytest.approx(0.5)
    assert found.auc_distance_from_median is not None
    assert found.auc_distance_from_median > 0.9
    assert found.verdict == NOT_SETTLED
    assert any("b is spread wider" in warning for warning in found.warnings)


@pytest.mark.parametrize(("clips", "least", "most"), [(4, 38, 50), (8, 36, 46)])
def test_the_planning_figure_is_about_forty_speakers(clips: int, least: int, most: int) -> None:
    """A claim within 0.15 needs about 40 speakers a side, whatever the scores are."""
    unit = np.repeat(np.arange(10), clips)
    first, second = np.random.default_rng(5).standard_normal((2, unit.size))
    observations = Observations(unit >= 5, tuple(f"s{number}" for number in unit))
    found = compare({"cue0": first, "cue1": second}, observations)
    assert found["cue0"].units_needed is not None
    assert least <= found["cue0"].units_needed <= most
    assert found["cue1"].units_needed == found["cue0"].units_needed


def test_passages_of_one_condition_are_said_to_confound() -> None:
    """Where no passage occurs in both conditions, the report warns that text is confounded with condition."""
    found = only(np.arange(8.0), observed("aaaabbbb", "stuvwxyz", passages="11112222"))
    assert any("text is confounded with condition" in warning for warning in found.warnings)
    assert found.p == pytest.approx(2 / 70)


def test_digital_silence_counts_as_the_lowest_level() -> None:
    """A level of minus infinity is below every other one, and nothing in the result is infinite."""
    values = np.array([-60, -61, -62, -63, *[-math.inf] * 4])
    found = only(values, observed("aaaabbbb", "stuvwxyz"))
    assert found.auc == 0.0
    assert found.verdict == TOLD_APART
    assert found.spread is None
    json.dumps(found.model_dump(), allow_nan=False)
