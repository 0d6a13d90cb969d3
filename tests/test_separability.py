"""What the tool may say of two conditions: the same in any order, and right in simulated studies of known truth."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.auc import auc
from prep.design import Observations
from prep.separability import Separation, compare, describe
from prep.verdict import TOLD_APART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ROUNDING = 1e-9  # no unit; sums of a few hundred float64 numbers
NOMINAL = 0.05  # share of true nulls that a test at 0.05 may reject; the tool promises at most 0.07
LEAST_NULL_REJECTIONS = 0.03  # share of studies, where the attainable p allow it
LEAST_POWER = 0.45  # share of studies; the tool's promise for a cue planted among 20
SIMULATION_SD = 2.5  # standard errors of a simulated rate that a true rate at its limit stays within


def only(values: Sequence[float] | NDArray[np.float64], observations: Observations, **options: int) -> Separation:
    """Return the comparison on a single cue."""
    return compare({"cue": np.asarray(values, dtype=float)}, observations, **options)["cue"]


def nested_study(
    rng: np.random.Generator, sides: tuple[int, int], clips: int, cues: int, icc: float
) -> tuple[dict[str, NDArray[np.float64]], Observations]:
    """Return cues without a difference: speakers of variance 1 and one condition each, clips correlated by `icc`."""
    unit = np.repeat(np.arange(sum(sides)), clips)
    noise = math.sqrt(1 / icc - 1)
    scores = {
        f"cue{i}": rng.standard_normal(sum(sides))[unit] + noise * rng.standard_normal(unit.size) for i in range(cues)
    }
    return scores, Observations(unit >= sides[0], tuple(f"s{number:02d}" for number in unit))


def test_renaming_and_reordering_labels_leaves_the_value() -> None:
    """The direction is declared, so what the conditions are called and which comes first changes nothing."""
    rng = np.random.default_rng(141)
    is_b = np.arange(24) >= 14
    values = rng.standard_normal(24) + 0.9 * is_b
    observations = Observations(is_b, tuple(f"s{i}" for i in range(24)), names=("human", "synthetic"))
    found = only(values, observations)
    renamed = only(values[::-1], replace(observations.take(np.arange(24)[::-1]), names=("z_real", "a_tts")))
    assert found.auc == renamed.auc == auc(values[~is_b], values[is_b])
    assert found.p == renamed.p
    assert (found.condition_a, found.condition_b) == ("human", "synthetic")
    assert "synthetic exceeds human" in found.verdict_text


def test_a_constant_cue_does_not_tell_conditions_apart() -> None:
    """A constant cue has AUC 0.5 and p 1, alone and among others."""
    scores, observations = nested_study(np.random.default_rng(6), (5, 5), 2, 2, 0.6)
    found = compare({**scores, "constant": np.ones(20)}, observations)["constant"]
    assert found.auc == 0.5
    assert found.p == found.p_familywise == 1.0


def test_the_result_survives_json() -> None:
    """A separation read back from JSON is the same."""
    scores, observations = nested_study(np.random.default_rng(7), (5, 6), 2, 1, 0.6)
    found = only(scores["cue0"], observations)
    assert Separation.model_validate_json(found.model_dump_json()) == found


def test_describe_gives_figures_and_no_p() -> None:
    """The descriptive column gives AUC, separation and spread, and has no p."""
    found = describe({"cue": np.arange(101.0)}, Observations(np.arange(101) >= 50, ("s",) * 101))["cue"]
    assert found.auc == 1.0
    assert found.separation == 0.5
    assert found.spread == pytest.approx(90.0)
    assert not hasattr(found, "p")


def mixed_study() -> tuple[dict[str, NDArray[np.float64]], Observations]:
    """Return a mixed study of two cues, one of which lacks a speaker and two clips."""
    rng = np.random.default_rng(8)
    rows = [(f"c{s}", f"p{p}", side) for s in range(6) for p in range(3) for side in (False, True)]
    rows += [(f"n{s}", f"p{p}", s % 3 == 0) for s in range(11) for p in range(s % 3 + 1)]
    units, passages, is_b = zip(*rows, strict=True)
    first, second = rng.standard_normal((2, len(rows)))
    second[[0, 7]] = np.nan
    second[[unit == "n3" for unit in units]] = np.nan
    return {"first": first, "second": second}, Observations(np.array(is_b), units, passages, passages)


def test_the_order_of_rows_and_cues_changes_nothing() -> None:
    """The same clips in another order give the same record, number for number."""
    scores, observations = mixed_study()
    order = np.random.default_rng(9).permutation(observations.is_b.size)
    found = compare(scores, observations, draws=500)
    shuffled = {name: scores[name][order] for name in reversed(scores)}
    assert compare(shuffled, observations.take(order), draws=500) == found


def test_calling_the_conditions_the_other_way_round_mirrors_the_auc() -> None:
    """With a and b exchanged every AUC is 1 minus itself, and every p is the same."""
    scores, observations = mixed_study()
    found = compare(scores, observations, draws=500)
    other = compare(scores, replace(observations, is_b=~observations.is_b), draws=500)
    for name, mirrored in other.items():
        there = found[name]
        assert (mirrored.p, mirrored.p_familywise) == (there.p, there.p_familywise)
        assert mirrored.auc_tested == pytest.approx(1 - (there.auc_tested or math.nan), abs=ROUNDING)
        assert mirrored.auc_low == pytest.approx(1 - (there.auc_high or math.nan), abs=ROUNDING)
        assert mirrored.auc_tested_high == pytest.approx(1 - (there.auc_tested_low or math.nan), abs=ROUNDING)


def test_a_clip_without_a_value_leaves_other_cues_alone() -> None:
    """What is undefined for one cue changes no other cue's AUC, p or interval."""
    scores, observations = mixed_study()
    together, alone = compare(scores, observations, draws=500)["first"], only(scores["first"], observations, draws=500)
    assert (together.p, together.auc_tested, together.auc_low) == (alone.p, alone.auc_tested, alone.auc_low)


def test_the_familywise_p_is_never_below_the_p() -> None:
    """A cue is no more convincing among others than alone."""
    scores, observations = nested_study(np.random.default_rng(10), (5, 5), 4, 12, 0.6)
    for found in compare(scores, observations).values():
        assert found.p is not None
        assert found.p_familywise is not None
        assert found.p_familywise >= found.p


# --------------------------------------------------------------------------- simulated studies


def simulation_error(rate: float, studies: int) -> float:
    """Return how far a simulated rate may lie from the true one."""
    return SIMULATION_SD * math.sqrt(rate * (1 - rate) / studies)


def null_rejections(sides: tuple[int, int], icc: float, studies: int, *, unequal: bool = False) -> float:
    """Return the share of nested studies without a difference that are told apart."""
    rng = np.random.default_rng(16)
    rejected = 0
    for seed in range(studies):
        scores, observations = nested_study(rng, sides, 6, 1, icc)
        kept = np.flatnonzero((rng.random(observations.is_b.size) < 0.5) | (np.arange(observations.is_b.size) % 6 == 0))
        kept = kept if unequal else np.arange(observations.is_b.size)
        found = only(scores["cue0"][kept], observations.take(kept), draws=199, seed=seed)
        rejected += found.verdict == TOLD_APART
    return rejected / studies


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("sides", "icc", "unequal"), [((4, 4), 0.5, True), ((5, 5), 0.9, False), ((3, 9), 0.7, True), ((10, 10), 0.5, True)]
)
def test_a_true_null_is_rejected_in_at_most_seven_per_cent(
    sides: tuple[int, int], icc: float, *, unequal: bool
) -> None:
    """Nested speakers with correlated, unequally many clips: between 3 (grid allowing) and 7 % rejections at 0.05."""
    studies = 200
    rate = null_rejections(sides, icc, studies, unequal=unequal)
    arrangements = min(math.comb(sum(sides), sides[0]), 200)
    attainable = 2 * math.floor(0.05 * arrangements / 2) / arrangements
    assert rate <= NOMINAL + simulation_error(NOMINAL, studies)
    assert rate >= min(LEAST_NULL_REJECTIONS, attainable) - simulation_error(LEAST_NULL_REJECTIONS, studies)


@pytest.mark.simulation
@pytest.mark.parametrize("synthetic", [1, 3])
def test_a_true_null_of_paired_speakers_is_kept(synthetic: int) -> None:
    """Paired speakers with 1 human to 1 or 3 synthetic clips a passage reject a true null in at most 7 %."""
    rng = np.random.default_rng(17)
    studies, rejected = 200, 0
    rows = [(s, p, side) for s in range(8) for p in range(3) for side in [0] + [1] * synthetic]
    speaker, passage, side = (np.array(column) for column in zip(*rows, strict=True))
    names = tuple(f"p{number}" for number in passage)
    observations = Observations(side == 1, tuple(f"s{number}" for number in speaker), names, names)
    for seed in range(studies):
        session = rng.standard_normal((8, 2))[speaker, side]
        values = 3 * rng.standard_normal(8)[speaker] + session + 0.5 * rng.standard_normal(speaker.size)
        rejected += only(values, observations, draws=255, seed=seed).verdict == TOLD_APART
    assert rejected / studies <= NOMINAL + simulation_error(NOMINAL, studies)


@pytest.mark.simulation
def test_a_planted_cue_is_found_among_twenty() -> None:
    """5 + 5 speakers: a shift of 2.5 speaker deviations in one of 20 cues is found in 45 % or more, by Holm never."""
    rng = np.random.default_rng(18)
    studies, found, holm, false = 60, 0, 0, 0
    for seed in range(studies):
        scores, observations = nested_study(rng, (5, 5), 8, 20, 0.7)
        scores["cue0"] = scores["cue0"] + 2.5 * observations.is_b
        results = compare(scores, observations, seed=seed)
        found += (results["cue0"].p_familywise or 1.0) <= 0.05
        holm += 20 * (results["cue0"].p or 1.0) <= 0.05
        false += any((results[f"cue{i}"].p_familywise or 1.0) <= 0.05 for i in range(1, 20))
    assert found / studies >= LEAST_POWER - simulation_error(LEAST_POWER, studies)
    assert holm == 0
    assert false / studies <= NOMINAL + simulation_error(NOMINAL, studies)
