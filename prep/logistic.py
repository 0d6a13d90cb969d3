"""Logistic: one number for a cue of several features, by logistic regression, and how it fares on unseen units."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict

from prep.auc import auc
from prep.design import Design, Observations
from prep.errors import UndefinedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

CONSTANT = 1e-9  # share of its mean below which the deviation of a feature is rounding


class Classifier(BaseModel):
    """A trained linear score for a cue of several features: higher where a clip looks more like b.

    Attributes:
        centre, scale: (k,) of the standardisation.
        weights, intercept: of the logistic regression, in standardised features.
        components: label-blind principal components that the regression saw.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    centre: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float
    components: int

    def score(self, features: ArrayLike) -> Floats:
        """Return (n,) log-odds of condition b for features (n, k); NaN where a feature is."""
        standardised = (np.asarray(features, dtype=np.float64) - np.array(self.centre)) / np.array(self.scale)
        return np.asarray(standardised @ np.array(self.weights) + self.intercept, dtype=np.float64)


def train(features: ArrayLike, is_b: ArrayLike, unit: Sequence[str]) -> Classifier:
    """Train a standardised logistic regression on at most one principal component for every three units.

    Conditions weigh alike. Clips with a NaN are left out. The order of the rows changes nothing.

    Args:
        features: (n, k).
        is_b: (n,) True for condition b.
        unit: n names of units.

    Raises:
        UndefinedError: the clips with all features hold one condition only.
    """
    from sklearn.linear_model import LogisticRegression

    features, is_b = np.asarray(features, dtype=np.float64), np.asarray(is_b, dtype=bool)
    order = np.lexsort((is_b, *features.T))
    order = order[~np.isnan(features[order]).any(axis=1)]
    known, target = features[order], is_b[order]
    if target.all() or not target.any():
        raise UndefinedError("training needs clips of both conditions with all features; one side is empty")
    centre, scale = known.mean(axis=0), known.std(axis=0)
    # A constant feature deviates from its mean by rounding at most; such noise must not be blown up.
    scale = np.where(scale > CONSTANT * np.maximum(np.abs(centre), 1.0), scale, np.inf)
    standardised = (known - centre) / scale
    scale = np.where(np.isinf(scale), 1.0, scale)
    components = max(1, min(known.shape[1], len({unit[i] for i in order}) // 3))
    axes = np.linalg.svd(standardised, full_matrices=False)[2][:components]
    regression = LogisticRegression(class_weight="balanced").fit(standardised @ axes.T, target)
    return Classifier(
        centre=tuple(centre.tolist()),
        scale=tuple(scale.tolist()),
        weights=tuple((regression.coef_[0] @ axes).tolist()),
        intercept=float(regression.intercept_[0]),
        components=int(axes.shape[0]),
    )


@dataclass(frozen=True)
class FoldAucs:
    """AUCs of folds.

    Attributes:
        aucs: of each fold; None where a side is empty.
        mean: over the defined folds; None if there is none.
        coverage: "2 of 3 folds", and why a fold is undefined.
    """

    aucs: tuple[float | None, ...]
    mean: float | None
    coverage: str


def fold_aucs(scores: ArrayLike, is_b: ArrayLike, fold: ArrayLike) -> FoldAucs:
    """Return the AUC inside each fold, in the folds' order, and its mean over the folds where it exists.

    Args:
        scores: (n,) NaN where undefined.
        is_b: (n,) True for condition b.
        fold: (n,) whole numbers.
    """
    scores, is_b, fold = np.asarray(scores, dtype=np.float64), np.asarray(is_b, dtype=bool), np.asarray(fold)
    aucs: list[float | None] = []
    for number in np.unique(fold):
        inside = (fold == number) & ~np.isnan(scores)
        try:
            aucs.append(auc(scores[inside & ~is_b], scores[inside & is_b]))
        except UndefinedError:
            aucs.append(None)
    defined = [value for value in aucs if value is not None]
    coverage = f"{len(defined)} of {len(aucs)} folds"
    if len(defined) < len(aucs):
        coverage += "; the others lack a condition and are left out"
    return FoldAucs(tuple(aucs), float(np.mean(defined)) if defined else None, coverage)


@dataclass(frozen=True)
class CrossValidated:
    """Scores of clips by classifiers that never saw their units.

    Attributes:
        scores: (n,) NaN where undefined; comparable inside a fold only.
        fold: (n,) number of the clip's fold; -1 where there are no folds.
        folds: AUCs of the folds.
        warnings: fewer folds than asked for, or none.
    """

    scores: Floats = field(repr=False)
    fold: Ints = field(repr=False)
    folds: FoldAucs
    warnings: tuple[str, ...]


def crossvalidated_scores(
    features: ArrayLike, is_b: ArrayLike, unit: Sequence[str], *, folds: int = 5, seed: int = 0
) -> CrossValidated:
    """Score each clip by a classifier trained on the other folds; a unit is never in two folds.

    Every fold holds both conditions; where the units do not allow the folds asked for, there are fewer.

    Args:
        features: (n, k), NaN where undefined.
        is_b: (n,) True for condition b.
        unit: n names of units.
        folds: folds wanted.
        seed: of the drawing of folds.
    """
    features, is_b = np.asarray(features, dtype=np.float64), np.asarray(is_b, dtype=bool)
    defined = np.flatnonzero(~np.isnan(features).any(axis=1))
    design = Design(Observations(is_b, tuple(unit)).take(defined))
    scores, fold = np.full(is_b.size, np.nan), np.full(is_b.size, -1, dtype=np.intp)
    used = min(folds, design.crossed.size + min(side.size for side in design.sides))
    if used < 2:
        undefined = FoldAucs((), None, "no folds")
        return CrossValidated(scores, fold, undefined, ("no two folds can hold both conditions: not measurable",))
    fold[defined] = _folds_of_units(design, used, seed)[design.unit]
    for number in range(used):
        training = np.flatnonzero((fold >= 0) & (fold != number))
        classifier = train(features[training], is_b[training], [unit[i] for i in training.tolist()])
        scores[fold == number] = classifier.score(features[fold == number])
    warnings = (f"{used} folds instead of {folds}: more cannot each hold both conditions",) if used < folds else ()
    return CrossValidated(scores, fold, fold_aucs(scores[defined], is_b[defined], fold[defined]), warnings)


def _folds_of_units(design: Design, folds: int, seed: int) -> Ints:
    """Return (units,) the fold of each unit, drawn so that every fold holds both conditions."""
    rng = np.random.default_rng([seed, 2])
    fold = np.empty(len(design.units), dtype=np.intp)
    # The crossed units fill the first folds; each side's nested units go on from there, so that both reach the rest.
    crossed = design.crossed.size
    fold[rng.permutation(design.crossed)] = np.arange(crossed) % folds
    for side in design.sides:
        fold[rng.permutation(side)] = (crossed + np.arange(side.size)) % folds
    return fold
