"""The linear score of cues of several features, and folds of whole units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.auc import auc
from prep.errors import UndefinedError
from prep.logistic import Classifier, crossvalidated_scores, fold_aucs, train

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIMULATION_SD = 2.5  # standard errors of a simulated mean that a true mean stays within


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
