"""What the tool may say of two conditions, on cases counted by hand and on simulated studies of known truth."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.separability import (
    NOT_MEASURABLE,
    NOT_SETTLED,
    TOLD_APART,
    Classifier,
    Observations,
    Separation,
    UndefinedError,
    auc,
    compare,
    crossvalidated_scores,
    describe,
    fold_aucs,
    hodges_lehmann,
    matched_differences,
    shift_interval,
    train,
    walsh_median,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"

ROUNDING = 1e-9  # no unit; sums of a few hundred float64 numbers
NOMINAL = 0.05  # share of true nulls that a test at 0.05 may reject; the tool promises at most 0.07
LEAST_NULL_REJECTIONS = 0.03  # share of studies, where the attainable p allow it
LEAST_POWER = 0.45  # share of studies; the tool's promise for a cue planted among 20
SIMULATION_SD = 2.5  # standard errors of a simulated rate that a true rate at its limit stays within


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


# --------------------------------------------------------------------------- figures


def test_auc_counts_pairs_and_ties_half() -> None:
    """The AUC is the share of pairs in which b exceeds a, a tie counting half."""
    # pairs (a, b): 1<2 1<3 2=2 2<3 3>2 3=3 -> 3 + 2 halves of 6
    assert auc([1, 2, 3], [2, 3]) == pytest.approx(4 / 6)
    assert auc([1, 1], [1, 1, 1]) == 0.5


def test_auc_is_never_folded() -> None:
    """Values that are lower in b give an AUC below 0.5."""
    assert auc([3, 4], [1, 2]) == 0.0
    assert auc([1, 2], [3, 4]) == 1.0


@pytest.mark.parametrize(("a", "b"), [([], [1.0]), ([1.0], []), ([], []), ([math.nan], [1.0])])
def test_auc_of_an_empty_side_is_undefined(a: list[float], b: list[float]) -> None:
    """An AUC that does not exist is an error, not a number."""
    with pytest.raises(UndefinedError):
        auc(a, b)


def test_tied_scores_do_not_depend_on_the_order_of_rows() -> None:
    """A constant score gives 0.5 exactly and a coarse one its own value, in any row order."""
    rng = np.random.default_rng(144)
    is_b = np.arange(24) < 12
    coarse = np.round(np.where(is_b, 0.6, 0.0) + rng.standard_normal(24))
    value = auc(coarse[~is_b], coarse[is_b])
    by_pairs = np.mean(np.sign(np.subtract.outer(coarse[is_b], coarse[~is_b])) / 2 + 0.5)
    assert value == pytest.approx(by_pairs)
    assert auc(coarse[~is_b][::-1], coarse[is_b][::-1]) == value
    assert auc(np.ones(12), np.ones(12)) == 0.5


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


def test_hodges_lehmann_is_the_median_difference() -> None:
    """The shift of two samples is the median of all differences b - a."""
    # differences: 4-0 4-1 4-5 6-0 6-1 6-5 = 4 3 -1 6 5 1 -> median 3.5
    assert hodges_lehmann([0, 1, 5], [4, 6]) == 3.5


def test_walsh_median_is_the_median_of_pair_means() -> None:
    """The shift of matched differences is the median of the means of all pairs, each with itself included."""
    # averages of 0, 2, 10: 0 1 5 2 6 10 -> median 3.5
    assert walsh_median([0, 2, 10]) == 3.5


def test_a_shift_of_nothing_is_undefined() -> None:
    """Without values there is no shift."""
    with pytest.raises(UndefinedError):
        hodges_lehmann([], [1.0])
    with pytest.raises(UndefinedError):
        walsh_median([])


def test_matched_differences_are_taken_inside_cells() -> None:
    """Each cell of one unit gives one difference; clips in no cell and cells of one condition give none."""
    observations = observed("aabbab", "sssstt", "112-33")
    differences, units = matched_differences([1, 3, 10, 99, 5, 6], observations)
    assert differences.tolist() == [1.0]
    assert units == ("t",)


def test_the_shift_interval_holds_the_shift_and_needs_five_units_a_side() -> None:
    """The unit bootstrap of a shift surrounds its estimate; with four units a side there is none."""
    rng = np.random.default_rng(0)
    scores, observations = nested_study(rng, (6, 6), 3, 1, 0.6)
    values = scores["cue0"] + 5.0 * observations.is_b
    interval = shift_interval(values, observations, matched=False)
    assert interval is not None
    assert interval[0] < hodges_lehmann(values[~observations.is_b], values[observations.is_b]) < interval[1]
    few = np.flatnonzero([int(unit[1:]) in {0, 1, 2, 3, 6, 7, 8, 9} for unit in observations.unit])
    assert shift_interval(values[few], observations.take(few), matched=False) is None


def test_the_matched_shift_interval_resamples_units() -> None:
    """With the same difference in each cell of a unit, more cells a unit do not narrow the interval."""
    steps = np.random.default_rng(1).standard_normal(8)
    widths = []
    for cells in (1, 6):
        unit = np.repeat(np.arange(8), 2 * cells)
        is_b = np.tile([False, True], 8 * cells)
        cell = tuple(f"c{i // 2}" for i in range(unit.size))
        interval = shift_interval(
            steps[unit] * is_b, Observations(is_b, tuple(f"s{u}" for u in unit), cell), matched=True
        )
        assert interval is not None
        widths.append(interval[1] - interval[0])
    assert widths[1] > 0.7 * widths[0]


# --------------------------------------------------------------------------- permutations counted by hand


def test_nested_p_counts_all_arrangements() -> None:
    """4 + 4 speakers, fully separated: 2 of the 70 arrangements are as extreme."""
    found = only([1, 2, 3, 4, 5, 6, 7, 8], observed("aaaabbbb", "stuvwxyz"))
    assert found.design == "nested"
    assert found.auc == 1.0
    assert found.p == pytest.approx(2 / 70)
    assert found.smallest_p == pytest.approx(2 / 70)
    assert found.verdict == TOLD_APART


def test_nested_p_of_an_inner_arrangement() -> None:
    """4 + 4 speakers with one neighbouring pair exchanged: 4 of the 70 arrangements are as extreme."""
    found = only([1, 2, 3, 5, 4, 6, 7, 8], observed("aaaabbbb", "stuvwxyz"))
    assert found.auc == 15 / 16
    assert found.p == pytest.approx(4 / 70)
    assert found.verdict == NOT_SETTLED


def test_lower_values_are_told_apart_as_well() -> None:
    """The test is two-sided: a cue that is lower in b has the same p as one that is higher."""
    found = only([8, 7, 6, 5, 4, 3, 2, 1], observed("aaaabbbb", "stuvwxyz"))
    assert found.auc == 0.0
    assert found.separation == 0.5
    assert found.p == pytest.approx(2 / 70)


def test_paired_p_swaps_whole_speakers() -> None:
    """6 speakers, each with b above a in its cells: 2 of the 64 swaps are as extreme, though speakers overlap."""
    base = np.repeat(np.arange(6) * 10.0, 2)
    found = only(base + np.tile([0, 1], 6), observed("ab" * 6, "ssttuuvvwwxx", "112233445566"))
    assert found.design == "paired"
    assert found.auc_matched == found.auc_tested == 1.0
    assert found.auc == pytest.approx(21 / 36)
    assert found.p == pytest.approx(2 / 64)
    assert found.smallest_p == pytest.approx(2 / 64)


def test_paired_p_with_a_speaker_against() -> None:
    """7 speakers, one of them against: 16 of the 128 swaps are as extreme (none or one against, on either side)."""
    steps = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0])
    found = only(steps, observed("ab" * 7, "ssttuuvvwwxxyy", "11223344556677"))
    assert found.auc_matched == pytest.approx(6 / 7)
    assert found.p == pytest.approx(16 / 128)


def test_one_human_to_three_synthetic_inside_a_cell() -> None:
    """The AUC inside a cell of 1 and 3 clips is a mean over three pairs, and the cells of a speaker weigh alike."""
    labels, units, cells = "abbbab" + "ab", "ssssss" + "tt", "111122" + "33"
    found = only([2, 1, 3, 3, 0, 1, 5, 4], observed(labels, units, cells))
    assert found.auc_matched == pytest.approx(((2 / 3 + 1) / 2 + 0) / 2)


def test_mixed_p_swaps_crossed_speakers_and_permutes_the_rest() -> None:
    """2 crossed speakers and 3 + 3 others, all separated: 2 of the 4 x 20 arrangements are as extreme."""
    labels, units = "abab" + "aaabbb", "sstt" + "uvwxyz"
    found = only([1, 9, 1, 9, 1, 2, 3, 7, 8, 9], observed(labels, units))
    assert found.design == "mixed"
    assert found.auc_tested == 1.0
    assert found.smallest_p == found.p == pytest.approx(2 / 80)


def test_the_mixed_auc_weighs_strata_by_pairs_of_speakers() -> None:
    """2 crossed speakers with b above a, and 3 + 3 others with b below: (2 * 1 + 3 * 0) / 5."""
    found = only([1, 9, 1, 9, 7, 8, 9, 1, 2, 3], observed("abab" + "aaabbb", "sstt" + "uvwxyz"))
    assert found.auc_tested == pytest.approx(2 / 5)


@pytest.mark.parametrize(("side", "smallest"), [(2, 1 / 3), (3, 1 / 10), (4, 1 / 35)])
def test_smallest_p_of_nested_speakers(side: int, smallest: float) -> None:
    """The smallest p is 2 over the number of arrangements: 0.33, 0.10 and 0.029 for 2, 3 and 4 speakers a side."""
    found = only(np.arange(2.0 * side), observed("a" * side + "b" * side, "stuvwxyz"[: 2 * side]))
    assert found.smallest_p == pytest.approx(smallest)


def test_few_speakers_cannot_settle_anything() -> None:
    """Where no p at or below 0.05 exists, none is printed, and the verdict says how many speakers there are."""
    found = only(np.arange(6.0), observed("aaabbb", "stuvwx"))
    assert found.p is None
    assert found.p_familywise is None
    assert found.verdict == NOT_SETTLED
    assert "cannot be settled with 6 speakers" in found.verdict_text


def test_unequal_sides_have_two_extreme_arrangements_too() -> None:
    """2 + 3 speakers: b above all and b below all are both extreme, so no p is below 2 / 10."""
    found = only(np.arange(5.0), observed("aabbb", "stuvw"))
    assert found.smallest_p == pytest.approx(2 / 10)


@pytest.mark.parametrize("labels", ["aabbbbbb", "aaaaaabb"])
def test_no_p_is_below_the_smallest(labels: str) -> None:
    """With unequal sides and several clips a speaker p never falls below the smallest p that was announced."""
    units = np.repeat(list("stuvwxyz"), 3)
    is_b = np.repeat(np.array(list(labels)) == "b", 3)
    rng = np.random.default_rng(2)
    for _ in range(20):
        found = only(10.0 * is_b + rng.standard_normal(24), Observations(is_b, tuple(units)))
        assert found.smallest_p == pytest.approx(2 / 28)
        assert found.p is None


def test_drawn_arrangements_count_the_observed_one() -> None:
    """With more arrangements than draws p is (1 + hits) / (1 + draws) for each tail, never 0."""
    scores, observations = nested_study(np.random.default_rng(3), (9, 9), 1, 1, 1.0)
    found = only(scores["cue0"] + 100.0 * observations.is_b, observations, draws=199)
    assert found.smallest_p == pytest.approx(2 / 200)
    assert found.p == pytest.approx(2 / 200)


def test_drawn_and_exhaustive_p_agree() -> None:
    """Random arrangements give the p of all arrangements within their simulation error."""
    scores, observations = nested_study(np.random.default_rng(4), (6, 6), 3, 1, 0.5)
    values = scores["cue0"] + 1.2 * observations.is_b
    exact, drawn = only(values, observations).p, only(values, observations, draws=900).p
    assert exact is not None
    assert drawn is not None
    assert drawn == pytest.approx(exact, abs=SIMULATION_SD * 2 * math.sqrt(exact / 2 / 900))


def test_speakers_weigh_alike_in_the_test() -> None:
    """A speaker with many clips moves the pooled AUC, not the tested one."""
    observations = observed("a" * 11 + "bb", "s" * 10 + "t" + "uv")
    found = only([9.0] * 10 + [0.0, 5.0, 5.0], observations)
    assert found.auc == pytest.approx(1 / 11)
    assert found.auc_tested == pytest.approx(1 / 2)


# --------------------------------------------------------------------------- passages and cells


def test_passage_means_are_taken_out_where_all_read_all() -> None:
    """A text effect much larger than the difference of conditions does not hide it where passages cross."""
    text = np.tile([0.0, 100.0, 200.0], 8)
    values = text + np.repeat([0, 1, 2, 3, 4, 5, 6, 7], 3)
    found = only(values, observed("a" * 12 + "b" * 12, np.repeat(list("stuvwxyz"), 3).tolist(), passages="123" * 8))
    assert found.auc is not None
    assert found.auc < 0.7
    assert found.auc_tested == pytest.approx(1.0, abs=ROUNDING)
    assert found.warnings == ()


def test_passages_of_one_condition_are_said_to_confound() -> None:
    """Where no passage occurs in both conditions, the report warns that text is confounded with condition."""
    found = only(np.arange(8.0), observed("aaaabbbb", "stuvwxyz", passages="11112222"))
    assert any("text is confounded with condition" in warning for warning in found.warnings)
    assert found.p == pytest.approx(2 / 70)


def test_speakers_of_different_texts_are_not_exchanged() -> None:
    """Where each text is read by one speaker a side, labels are exchanged inside such pairs only: 2 of 2^6."""
    values = np.concatenate([np.arange(6) * 10.0, np.arange(6) * 10.0 + 1])
    found = only(values, observed("a" * 6 + "b" * 6, "stuvwxmnopqr", passages="123456" * 2))
    assert found.design == "nested"
    assert found.auc_tested == 1.0
    assert found.p == pytest.approx(2 / 64)


def test_crossed_speakers_without_matched_cells_are_compared_across_texts() -> None:
    """A speaker of both conditions whose cells do not match is compared as one cell, with a warning."""
    found = only([0, 1, 0, 1, 3, 2], observed("ababab", "ssttuu", cells="113456"))
    assert found.design == "paired"
    assert found.auc_matched == 1.0
    assert found.auc_tested == pytest.approx(2 / 3)
    assert any("2 speakers of both conditions without a matched cell" in warning for warning in found.warnings)


def test_speakers_without_a_counterpart_are_left_out_of_the_test() -> None:
    """In a paired study a speaker of one condition counts in the pooled AUC, not in p, and is named."""
    observations = observed("ab" * 6 + "a", "ssttuuvvwwxxy", "112233445566-")
    found = only([*([0, 1] * 6), 5], observations)
    assert found.design == "paired"
    assert found.auc == pytest.approx(36 / 42)
    assert found.p == pytest.approx(2 / 64)
    assert any("1 speaker without a counterpart" in warning for warning in found.warnings)


# --------------------------------------------------------------------------- verdicts


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


def test_no_interval_under_five_units_a_side() -> None:
    """Four speakers a side have a p, and no interval."""
    found = only([1, 5, 2, 6, 3, 7, 4, 8], observed("aabbaabb", "stuvwxyz"))
    assert found.p is not None
    assert found.auc_low is None
    assert found.auc_tested_high is None


@pytest.mark.parametrize(("clips", "least", "most"), [(4, 38, 50), (8, 36, 46)])
def test_the_planning_figure_is_about_forty_speakers(clips: int, least: int, most: int) -> None:
    """A claim within 0.15 needs about 40 speakers a side, whatever the scores are."""
    scores, observations = nested_study(np.random.default_rng(5), (5, 5), clips, 2, 0.6)
    found = compare(scores, observations)
    assert found["cue0"].units_needed is not None
    assert least <= found["cue0"].units_needed <= most
    assert found["cue1"].units_needed == found["cue0"].units_needed


def test_a_constant_cue_does_not_tell_conditions_apart() -> None:
    """A constant cue has AUC 0.5 and p 1, alone and among others."""
    scores, observations = nested_study(np.random.default_rng(6), (5, 5), 2, 2, 0.6)
    found = compare({**scores, "constant": np.ones(20)}, observations)["constant"]
    assert found.auc == 0.5
    assert found.p == found.p_familywise == 1.0


def test_digital_silence_counts_as_the_lowest_level() -> None:
    """A level of minus infinity is below every other one, and nothing in the result is infinite."""
    values = np.array([-60, -61, -62, -63, *[-math.inf] * 4])
    found = only(values, observed("aaaabbbb", "stuvwxyz"))
    assert found.auc == 0.0
    assert found.verdict == TOLD_APART
    assert found.spread is None
    json.dumps(found.model_dump(), allow_nan=False)


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


def test_columns_of_unlike_length_are_refused() -> None:
    """A column or a cue with too few entries is an error that gives both numbers."""
    with pytest.raises(ValueError, match="unit has 2 entries for 3 clips"):
        observed("aab", "st")
    with pytest.raises(ValueError, match=r"shape \(2,\), not \(3,\)"):
        only([1, 2], observed("aab", "stu"))
    with pytest.raises(ValueError, match="clip 1 has no speaker"):
        observed("aab", ["s", "", "u"])


# --------------------------------------------------------------------------- invariance


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


# --------------------------------------------------------------------------- cues of several features


def grouped_features(seed: int = 12) -> tuple[NDArray[np.float64], NDArray[np.bool_], tuple[str, ...]]:
    """Return features that name the speaker, and say nothing of the condition."""
    rng = np.random.default_rng(seed)
    features = np.repeat(rng.normal(0, 3, (10, 6)), 8, axis=0) + 0.3 * rng.standard_normal((80, 6))
    speaker = np.repeat(np.arange(10), 8)
    return features, speaker < 5, tuple(f"s{number}" for number in speaker)


def test_the_classifier_finds_a_difference_and_keeps_its_direction() -> None:
    """The score is higher where a clip looks more like b."""
    rng = np.random.default_rng(11)
    is_b = np.arange(60) >= 30
    features = rng.standard_normal((60, 4)) + 3.0 * np.outer(is_b, [1, -1, 0, 0])
    unit = tuple(f"s{i // 3}" for i in range(60))
    score = train(features, is_b, unit).score(features)
    assert auc(score[~is_b], score[is_b]) > 0.9


@pytest.mark.parametrize(("units", "components"), [(2, 1), (5, 1), (6, 2), (9, 3), (40, 4)])
def test_one_component_for_every_three_units(units: int, components: int) -> None:
    """The regression sees at most one component for every three units, at least one, at most all features."""
    rng = np.random.default_rng(13)
    unit = tuple(f"s{i % units}" for i in range(80))
    classifier = train(rng.standard_normal((80, 4)), np.array([int(u[1:]) % 2 == 0 for u in unit]), unit)
    assert classifier.components == components


def test_the_classifier_is_blind_to_row_order_and_survives_json() -> None:
    """The same clips in another order train the same classifier, and it reads back from JSON."""
    features, is_b, unit = grouped_features()
    order = np.random.default_rng(14).permutation(80)
    classifier = train(features, is_b, unit)
    assert train(features[order], is_b[order], [unit[i] for i in order]) == classifier
    assert Classifier.model_validate_json(classifier.model_dump_json()) == classifier


def test_an_undefined_feature_gives_no_score() -> None:
    """A clip without a feature is left out of training and has no score; a constant feature does no harm."""
    features, is_b, unit = grouped_features()
    features[:, 5] = 0.1
    features[3, 0] = np.nan
    score = train(features, is_b, unit).score(features)
    assert np.flatnonzero(np.isnan(score)).tolist() == [3]


def test_training_on_one_condition_is_undefined() -> None:
    """A classifier cannot be trained on clips of one condition."""
    with pytest.raises(UndefinedError):
        train(np.zeros((4, 2)), np.zeros(4, dtype=bool), ["s", "t", "u", "v"])


def test_a_fold_of_one_condition_is_left_out_of_the_mean() -> None:
    """A fold that lacks a condition has no AUC; the mean is over the others and says how many they are."""
    rng = np.random.default_rng(140)
    is_b = np.array(([False] * 6 + [True] * 6) * 2 + [False] * 6)
    fold = np.repeat([1, 2, 3], [12, 12, 6])
    scores = rng.standard_normal(30) + 1.2 * is_b
    found = fold_aucs(scores, is_b, fold)
    expected = [auc(scores[(fold == k) & ~is_b], scores[(fold == k) & is_b]) for k in (1, 2)]
    assert found.aucs == (*expected, None)
    assert found.mean == pytest.approx(np.mean(expected))
    assert found.coverage.startswith("2 of 3 folds")


def test_no_defined_fold_has_no_mean() -> None:
    """Where no fold has both conditions the mean does not exist."""
    assert fold_aucs([1.0, 2.0], [False, True], [1, 2]).mean is None


def test_a_speaker_is_never_in_two_folds() -> None:
    """Features that name the speaker and not the condition give an AUC near chance by speaker folds."""
    means = []
    for seed in range(12):
        features, is_b, unit = grouped_features(seed)
        found = crossvalidated_scores(features, is_b, unit, seed=seed)
        for name in set(unit):
            assert len({int(found.fold[i]) for i in range(80) if unit[i] == name}) == 1
        assert found.folds.mean is not None
        means.append(found.folds.mean)
    # 12 studies of 5 folds of 1 + 1 speakers: an AUC of one pair of speakers is 0 or 1, its deviation 0.5
    assert abs(float(np.mean(means)) - 0.5) < SIMULATION_SD * 0.5 / math.sqrt(60)


def test_folds_are_reduced_to_what_the_speakers_allow() -> None:
    """3 + 2 speakers allow 2 folds with both conditions: 5 are asked for, 2 are used, and it is said."""
    rng = np.random.default_rng(143)
    unit = np.repeat(["h1", "h2", "h3", "t1", "t2"], 4)
    is_b = np.char.startswith(unit, "t")
    found = crossvalidated_scores(rng.standard_normal((20, 1)) + is_b[:, None], is_b, tuple(unit), folds=5)
    assert len(found.folds.aucs) == 2
    assert None not in found.folds.aucs
    assert not np.isnan(found.scores).any()
    assert found.warnings == ("2 folds instead of 5: more cannot each hold both conditions",)


@pytest.mark.parametrize("crossed", [1, 2, 3, 7])
@pytest.mark.parametrize("sides", [(0, 0), (2, 5), (4, 4), (0, 3)])
def test_every_fold_holds_both_conditions(crossed: int, sides: tuple[int, int]) -> None:
    """Crossed and nested speakers are dealt so that each fold has both conditions, or there are no folds."""
    rows = [(f"c{i}", side) for i in range(crossed) for side in (False, True)]
    rows += [(f"a{i}", False) for i in range(sides[0])] + [(f"b{i}", True) for i in range(sides[1])]
    unit, is_b = zip(*rows, strict=True)
    found = crossvalidated_scores(np.random.default_rng(15).standard_normal((len(rows), 2)), is_b, unit)
    assert len(found.folds.aucs) == (0 if crossed + min(sides) < 2 else min(5, crossed + min(sides)))
    assert None not in found.folds.aucs


def test_no_fold_is_invented_where_speakers_do_not_suffice() -> None:
    """With one speaker on a side nothing can be held out: no score, no mean, and the reason."""
    found = crossvalidated_scores(np.ones((4, 2)), [False, False, False, True], ["s", "t", "u", "v"])
    assert np.isnan(found.scores).all()
    assert found.folds.mean is None
    assert found.warnings


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


# --------------------------------------------------------------------------- real tables


def real_observations(name: str) -> Observations:
    """Return what a real table says of its clips; skip where the table is not at hand."""
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"needs the table shared/data/{name} beside the project")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return Observations(
        np.array([row["condition"] == "synthetic" for row in rows]),
        tuple(row["speaker"] for row in rows),
        tuple(f"{row['speaker']}|{row['passage']}" for row in rows),
        tuple(row["passage"] for row in rows),
        ("human", "synthetic"),
    )


def test_the_design_of_a_paired_table_is_seen() -> None:
    """A table of 20 speakers with both conditions is a paired study whose matched cells are all used."""
    observations = real_observations("detection.csv")
    found = only(np.random.default_rng(19).standard_normal(observations.is_b.size), observations, draws=199)
    assert found.design == "paired"
    assert (found.units_a, found.units_b) == (20, 20)
    assert found.auc_matched == pytest.approx(found.auc_tested)
    assert found.warnings == ()


def test_the_design_of_a_mixed_table_is_seen() -> None:
    """A table of 10 crossed and 14 one-condition speakers is a mixed study, and its lone passages are named."""
    observations = real_observations("chains.csv")
    found = only(np.random.default_rng(20).standard_normal(observations.is_b.size), observations, draws=199)
    assert found.design == "mixed"
    assert any("occur in one condition only" in warning for warning in found.warnings)
