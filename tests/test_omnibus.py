"""The omnibus test over the pairs of several conditions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from prep.design import Observations
from prep.omnibus import Labels, omnibus
from prep.separability import compare

SEED = 7


def study(kind: str, conditions: int, units: int, seed: int, shift: float = 0.0) -> tuple[np.ndarray, Labels]:
    """Clips of units with a common part; the last condition lies `shift` higher."""
    rng = np.random.default_rng(seed)
    rows = [
        (condition, f"s{unit:02d}", f"p{reading}")
        for unit in range(units)
        for condition in range(conditions)
        for reading in range(2)
        if kind == "paired" or unit % conditions == condition
    ]
    condition = np.array([row[0] for row in rows])
    unit = np.unique([row[1] for row in rows], return_inverse=True)[1]
    values = rng.standard_normal(units)[unit] + rng.standard_normal(len(rows)) + shift * (condition == conditions - 1)
    cell = tuple(row[2] for row in rows) if kind == "paired" else None
    return values, Labels(condition, tuple(row[1] for row in rows), cell)


def scores_of(values: np.ndarray, conditions: int) -> dict[tuple[int, int], np.ndarray]:
    """One score for every pair of conditions."""
    return dict.fromkeys(itertools.combinations(range(conditions), 2), values)


@pytest.mark.simulation
@pytest.mark.parametrize("kind", ["nested", "paired"])
def test_a_true_null_is_rejected_in_about_one_study_of_twenty(kind: str) -> None:
    """With three conditions that do not differ, p is at or below 0.05 in 5 % of studies."""
    studies = 300
    p = [
        omnibus({"cue": scores_of(values, 3)}, labels, draws=199, seed=1)["cue"].p
        for values, labels in (study(kind, 3, 12, seed) for seed in range(studies))
    ]

    # Four standard errors of 5 % over 300 studies.
    assert 0.0 < np.mean(np.array(p) <= 0.05) <= 0.10


@pytest.mark.parametrize("kind", ["nested", "paired"])
def test_two_conditions_give_the_two_sided_p(kind: str) -> None:
    """Of two conditions with as many units each, the omnibus p are the p of the comparison of two, to the digit."""
    values, labels = study(kind, 2, 10, SEED, shift=0.8)
    observations = Observations(labels.condition == 1, labels.unit, labels.cell)
    other = np.random.default_rng(SEED).standard_normal(values.size)
    found = omnibus({"cue": scores_of(values, 2), "other": scores_of(other, 2)}, labels)
    pair = compare({"cue": values, "other": other}, observations)

    assert labels.arrangements in (252, 1024)  # few enough to visit all
    for name in ("cue", "other"):
        assert found[name].p == pytest.approx(pair[name].p)
        assert found[name].p_familywise == pytest.approx(pair[name].p_familywise)


@pytest.mark.parametrize("kind", ["nested", "paired"])
def test_the_condition_that_differs_is_found(kind: str) -> None:
    """Of four conditions the pair that stands out holds the one that lies four standard deviations higher."""
    values, labels = study(kind, 4, 16, SEED, shift=4.0)
    rng = np.random.default_rng(1)
    cues = {"planted": scores_of(values, 4)}
    cues |= {f"other{i}": scores_of(rng.standard_normal(values.size), 4) for i in range(5)}
    found = omnibus(cues, labels, draws=999, seed=1)

    assert found["planted"].pair[1] == 3
    assert found["planted"].p_familywise <= 0.05
    assert all(found["planted"].pairs_familywise[pair] > 0.05 for pair in ((0, 1), (0, 2), (1, 2)))
    assert all(found[name].p_familywise > 0.05 for name in cues if name != "planted")


def test_units_of_some_conditions_only_and_missing_values_are_used() -> None:
    """A unit that lacks a condition, and clips without a value, leave a p, and a planted difference is still found."""
    values, labels = study("paired", 3, 12, SEED, shift=4.0)
    kept = ~((labels.condition == 0) & np.isin(labels.units, [0, 1, 2]))
    kept &= ~((labels.condition != 1) & (labels.units == 5))
    values = np.where(np.arange(values.size) % 7 == 0, np.nan, values)[kept]
    index = np.flatnonzero(kept)
    part = Labels(
        labels.condition[kept], tuple(labels.unit[i] for i in index), tuple((labels.cell or ())[i] for i in index)
    )
    found = omnibus({"cue": scores_of(values, 3)}, part, draws=999, seed=1)["cue"]

    assert found.pair[1] == 2
    assert found.p <= 0.05


def test_one_condition_nowhere_crossed_and_texts_that_differ_are_left_out() -> None:
    """Units that no shared passage links to another condition are not exchanged with those that are linked."""
    labels = Labels(np.array([0, 1, 0, 1, 2]), ("a", "b", "c", "d", "e"), passage=("x", "x", "y", "y", "z"))

    assert [block.tolist() for block in labels.blocks] == [[0, 1], [2, 3]]
    assert labels.arrangements == 4
