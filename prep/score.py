"""Score: one number a clip for every cue, made the same way in every column of the audit.

A cue of one number is its own score. A cue of several, and all nuisance cues together (`all`), is scored by a
classifier trained once on the uncorrected fit split. How the scores go together over clips says which cues are one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from prep.errors import UndefinedError
from prep.logistic import Classifier, train

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from prep.cue import Cue
    from prep.design import Observations
    from prep.visit import CueValues

    Floats = NDArray[np.float64]

FEWEST_CLIPS = 5  # a condition, for a correlation of two cues


def features_of(cues: Sequence[Cue], clips: Sequence[CueValues]) -> Floats:
    """Return (clips, features) of some cues, in steps of each feature's resolution, NaN where undefined."""
    features = [(cue.NAME, feature) for cue in cues for feature in cue.FEATURES]
    rows = [[clip.get(name, {}).get(feature.name, np.nan) for name, feature in features] for clip in clips]
    values = np.array(rows, dtype=np.float64).reshape(len(clips), len(features))
    steps = np.array([feature.resolution for _, feature in features])
    return np.asarray(np.round(values / steps) * steps, dtype=np.float64)


@dataclass(frozen=True)
class Scorer:
    """Turns the features of one or several cues into one number a clip.

    Attributes:
        cues: whose features are scored.
        classifier: of several features; None where there was nothing to train on.
        typical: (features,) what an undefined feature counts as, so that one cue without a value does not take
            the clip out of `all`; empty where an undefined feature leaves the clip without a score.
    """

    cues: tuple[Cue, ...]
    classifier: Classifier | None = None
    typical: Floats = field(default_factory=lambda: np.empty(0))

    def scores(self, clips: Sequence[CueValues]) -> Floats:
        """Return (clips,) scores, NaN where there is none."""
        features = self.features(clips)
        if features.shape[1] == 1:
            return features[:, 0]
        scores = np.full(len(features), np.nan)
        held = ~np.isnan(features).any(axis=1)
        if self.classifier is not None and held.any():
            scores[held] = self.classifier.score(features[held])
        return scores

    def features(self, clips: Sequence[CueValues]) -> Floats:
        """Return (clips, features), undefined ones as `typical` where there is such."""
        features = features_of(self.cues, clips)
        return np.where(np.isnan(features), self.typical, features) if self.typical.size else features


def trained_scorer(cues: tuple[Cue, ...], clips: Sequence[CueValues], observations: Observations) -> Scorer:
    """Return the scorer of one cue, or of several together, trained on these clips where it needs to be."""
    features = features_of(cues, clips)
    if features.shape[1] == 1:
        return Scorer(cues)
    typical = np.empty(0)
    if len(cues) > 1:
        middle = [np.median(column[~np.isnan(column)]) if (~np.isnan(column)).any() else 0.0 for column in features.T]
        typical = np.array(middle, dtype=np.float64)
        features = np.where(np.isnan(features), typical, features)
    try:
        return Scorer(cues, train(features, observations.is_b, observations.unit), typical)
    except UndefinedError:
        return Scorer(cues, None, typical)


def correlations(scores: Mapping[str, Floats], is_b: NDArray[np.bool_]) -> dict[str, Any]:
    """Return Spearman's rank correlation of every two cues inside the conditions, averaged over the two.

    Inside, because two cues that both differ between the conditions would otherwise look like one.

    Args:
        scores: by cue, (n,), NaN where undefined.
        is_b: (n,) True for condition b.

    Returns:
        "cues": names; "spearman": rows of numbers, None where too few clips have both or one is constant.
    """
    names = list(scores)
    table = [[_spearman(scores[one], scores[other], is_b) for other in names] for one in names]
    return {"cues": names, "spearman": table}


def _spearman(one: Floats, other: Floats, is_b: NDArray[np.bool_]) -> float | None:
    from scipy.stats import rankdata

    found, weights = [], []
    for side in (False, True):
        held = (is_b == side) & ~np.isnan(one) & ~np.isnan(other)
        ranks = [rankdata(values[held]) for values in (one, other)]
        if held.sum() < FEWEST_CLIPS or any(np.ptp(values) == 0 for values in ranks):
            return None
        found.append(float(np.corrcoef(ranks[0], ranks[1])[0, 1]))
        weights.append(int(held.sum()))
    return float(np.average(found, weights=weights))
