"""Audit: for every cue, how far it tells the conditions apart, in four columns.

    sources    all source clips (descriptive)
    before     source clips of the held-out half
    after      the same clips through the corrections fitted on the fit split, decoded as delivered
    delivered  all delivered clips (descriptive: what these listeners could exploit)

A one-number cue is scored by itself. A cue of several numbers is scored by a classifier that is
trained on the uncorrected fit split and frozen; beside it stands one that is trained anew on the
held-out clips and judged by folds of whole units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from prep.auc import auc
from prep.design import Observations
from prep.errors import RefusedError, UndefinedError
from prep.limits import ALL
from prep.logistic import crossvalidated_scores
from prep.score import Scorer, correlations, features_of, trained_scorer
from prep.separability import compare, describe
from prep.shift import hodges_lehmann, matched_differences, shift_interval, walsh_median
from prep.split import draw_split
from prep.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prep.chain import Chain
    from prep.cue import Cue
    from prep.passes import Entry
    from prep.stage import Measured
    from prep.study import Compare, Heldout, Study
    from prep.visit import CueValues

    Features = NDArray[np.float64]

STABILITY_SPLITS = 200
_ALL = {
    "kind": "nuisance",
    "meaning": "all nuisance cues together: what an attentive listener could use at once",
    "source": "a classifier over the features of every nuisance cue, undefined ones taken as the fit split's median",
}

Rendering = Literal["source", "evidence", "release"]


def audit_columns(study: Study, entries: Sequence[Entry], cues: Sequence[Cue]) -> dict[str, Any] | None:
    """Return the audit of a study's compared clips; None where it compares nothing.

    Args:
        study: its `compare` and `audit` say what is compared and how.
        entries: inspected and perhaps rendered clips; those set aside are left out.
        cues: the cues that were measured; the audited ones are picked from them.
    """
    if study.compare is None:
        return None
    compared = compared_entries(study.compare, entries)
    if not compared:
        return None
    audited = [cue for cue in cues if study.audit.cues == "all" or cue.NAME in study.audit.cues]
    audit: dict[str, Any] = {
        "column": study.compare.column,
        "a": study.compare.a,
        "b": study.compare.b,
        "positive": study.compare.b,
        "unit": study.compare.unit,
        "cues": {cue.NAME: _definition(cue) for cue in audited},
        **dict.fromkeys(("sources", "before", "after", "after_retrained", "delivered")),
    }
    # With a split, a score may learn from its fit half alone: held-out clips that taught it would prove nothing.
    split = any(entry.half is not None for entry in compared)
    learning = [entry for entry in compared if entry.half == "fit"] if split else compared
    parts: dict[str, tuple[Cue, ...]] = {cue.NAME: (cue,) for cue in audited}
    nuisance = tuple(cue for cue in audited if cue.KIND == "nuisance")
    if len(nuisance) > 1:
        parts[ALL] = nuisance
        audit["cues"][ALL] = {**_ALL, "features": [{"name": cue.NAME} for cue in nuisance]}
    observations = observations_of(study.compare, learning)
    scorers = {
        name: trained_scorer(cues, [_values(entry, "source") for entry in learning], observations)
        for name, cues in parts.items()
    }
    audit["features"] = _feature_aucs(study.compare, compared, audited)
    audit["sources"] = _described(study.compare, compared, "source", scorers)
    if any("release" in entry.rendered for entry in compared):
        audit["delivered"] = _described(study.compare, compared, "release", scorers)
    heldout = [entry for entry in compared if entry.half == "held-out"]
    if heldout:
        audit["before"] = _tested(study, heldout, "source", scorers)
        # What was fitted on labels proves nothing on the clips it was fitted on.
        learned = any(isinstance(step, Stage) and step.fits_on() == "labels" for step in study.chain)
        after: Rendering = "evidence" if learned else "release"
        if any(after in entry.rendered for entry in heldout):
            audit["after"] = _tested(study, heldout, after, scorers)
            audit["after_retrained"] = _retrained(study, heldout, after, scorers)
    audit["looks"] = _looks(study.compare, compared, scorers)
    is_b = observations_of(study.compare, compared).is_b
    audit["correlation"] = correlations(_scores(compared, "source", scorers), is_b)
    return audit


def compared_entries(compare_: Compare, entries: Sequence[Entry]) -> list[Entry]:
    """Return the stimuli of the two conditions that have not been set aside."""
    return [
        entry
        for entry in entries
        if entry.failure is None
        and entry.stimulus
        and entry.row.columns.get(compare_.column) in (compare_.a, compare_.b)
    ]


def observations_of(compare_: Compare, entries: Sequence[Entry]) -> Observations:
    """Return what the statistics must know of compared clips besides their scores.

    Where the table has no column of units, every clip is its own unit and only descriptions are made.
    """
    columns = [entry.row.columns for entry in entries]
    match = compare_.match
    cells = [tuple(row.get(name, "") for name in match) for row in columns]
    passages = [row.get("passage", "") for row in columns]
    return Observations(
        is_b=np.array([row.get(compare_.column) == compare_.b for row in columns]),
        unit=tuple(
            row.get(compare_.unit) or f"(clip {entry.row.file_name})"
            for row, entry in zip(columns, entries, strict=True)
        ),
        cell=tuple("|".join(cell) if all(cell) else None for cell in cells) if match else None,
        passage=tuple(passages) if all(passages) else None,
        names=(compare_.a, compare_.b),
        unit_name="speaker" if compare_.unit == "speaker" else f"{compare_.unit} unit",
    )


def fit_intervals(study: Study, entries: Sequence[Entry], chain: Chain) -> dict[str, Any]:
    """Return, by stage that corrects a one-number cue, the cue's shift b - a in the sources with its interval.

    The interval over units says what a correction fitted on these clips may have left.
    """
    if study.compare is None:
        return {}
    compared = compared_entries(study.compare, entries)
    cues = {cue.NAME: cue for cue in study.cues() if len(cue.FEATURES) == 1}
    found: dict[str, Any] = {}
    for stage in chain.stages:
        cue = cues.get(stage.CORRECTS)
        if cue is not None and compared:
            values = features_of((cue,), [_values(entry, "source") for entry in compared])[:, 0]
            found[stage.NAME] = _shift(values, observations_of(study.compare, compared), study.audit.seed)
    return found


def stability(
    stage: Stage[Any, Any], measured: Sequence[Measured[Any]], compare_: Compare, heldout: Heldout, by: str
) -> dict[str, Any] | None:
    """Return how far the held-out AUC of a corrected cue moves when the split is drawn anew.

    Foreseen from measurements, before encoding; it says how much one split can show, and replaces none.

    Args:
        stage: one that corrects a cue.
        measured: its measurements of all compared clips.
        compare_: which conditions are compared.
        heldout: how the split is drawn.
        by: the column that the split keeps whole.
    """
    clips = [(item.row.columns[by], item.row.columns[compare_.column]) for item in measured]
    is_b = np.array([condition == compare_.b for _, condition in clips])
    aucs = []
    for seed in range(STABILITY_SPLITS):
        halves = draw_split(clips, share=1 - heldout.share, seed=seed, group_name=by).halves
        learns = [item for item, (group, _) in zip(measured, clips, strict=True) if halves[group] == "fit"]
        judged = np.array([halves[group] == "held-out" for group, _ in clips])
        try:
            fit = stage.fit(learns)
            values = np.array([stage.foresee(item, fit) for item in measured])
            aucs.append(auc(values[judged & ~is_b], values[judged & is_b]))
        except (UndefinedError, RefusedError):
            continue
    if not aucs:
        return None
    low, median, high = (float(value) for value in np.percentile(aucs, [5, 50, 95]))
    return {
        "cue": stage.CORRECTS,
        "splits": len(aucs),
        "auc_p5": low,
        "auc_median": median,
        "auc_p95": high,
        "auc_min": min(aucs),
        "auc_max": max(aucs),
    }


def _shift(values: Features, observations: Observations, seed: int) -> dict[str, Any]:
    """Return the pooled and the matched shift b - a with their 90 % intervals over units."""
    held = ~np.isnan(values)
    shift: dict[str, Any] = {}
    for name, matched in (("pooled", False), ("matched", True)):
        try:
            if matched:
                value = walsh_median(matched_differences(values, observations)[0])
            else:
                value = hodges_lehmann(values[held & ~observations.is_b], values[held & observations.is_b])
        except UndefinedError:
            continue
        interval = shift_interval(values, observations, matched=matched, seed=seed)
        low, high = interval or (None, None)
        shift[name] = {"shift": value, "low": low, "high": high}
    return shift


def _definition(cue: Cue) -> dict[str, Any]:
    """Return what a reader must know of a cue."""
    return {
        "kind": cue.KIND,
        "meaning": cue.MEANING,
        "source": cue.SOURCE,
        "features": [feature._asdict() for feature in cue.FEATURES],
    }


def _values(entry: Entry, rendering: Rendering) -> CueValues:
    """Return the cues of one rendering of a clip; nothing where there is no such rendering."""
    answer = entry.inspection if rendering == "source" else entry.rendered.get(rendering, {})
    cues: CueValues = answer.get("cues", {})
    return cues


def _scores(entries: Sequence[Entry], rendering: Rendering, scorers: dict[str, Scorer]) -> dict[str, Features]:
    values = [_values(entry, rendering) for entry in entries]
    return {name: scorer.scores(values) for name, scorer in scorers.items()}


def _described(
    compare_: Compare, entries: Sequence[Entry], rendering: Rendering, scorers: dict[str, Scorer]
) -> dict[str, Any]:
    scores = _scores(entries, rendering, scorers)
    described = describe(scores, observations_of(compare_, entries))
    return {name: description.model_dump(mode="json") for name, description in described.items()}


def _tested(study: Study, entries: Sequence[Entry], rendering: Rendering, scorers: dict[str, Scorer]) -> dict[str, Any]:
    if study.compare is None or not all(entry.row.columns.get(study.compare.unit) for entry in entries):
        return {}
    scores = _scores(entries, rendering, scorers)
    tested = compare(
        scores,
        observations_of(study.compare, entries),
        equivalence_auc=study.audit.equivalence_auc,
        draws=study.audit.draws,
        seed=study.audit.seed,
    )
    return {name: separation.model_dump(mode="json") for name, separation in tested.items()}


def _feature_aucs(compare_: Compare, entries: Sequence[Entry], cues: Sequence[Cue]) -> dict[str, dict[str, Any]]:
    """Return, for each cue of several numbers, the AUC of each number over the delivered clips (else the sources)."""
    rendering: Rendering = "release" if any("release" in entry.rendered for entry in entries) else "source"
    observations = observations_of(compare_, entries)
    found = {}
    for cue in cues:
        if len(cue.FEATURES) > 1:
            features = features_of((cue,), [_values(entry, rendering) for entry in entries])
            columns = {feature.name: features[:, place] for place, feature in enumerate(cue.FEATURES)}
            found[cue.NAME] = {name: described.auc for name, described in describe(columns, observations).items()}
    return found


def _looks(compare_: Compare, entries: Sequence[Entry], scorers: dict[str, Scorer]) -> dict[str, dict[str, Any]]:
    """Return, by place of the chain that was looked at, how the conditions lie there on every cue (descriptive)."""
    observations = observations_of(compare_, entries)
    found = {}
    for view in dict.fromkeys(name for entry in entries for name in entry.looks):
        values = [entry.looks.get(view, {}).get("cues", {}) for entry in entries]
        unencoded = view != "format only"
        scores = {
            name: scorer.scores(values)
            for name, scorer in scorers.items()
            if not (unencoded and scorer.cues[0].KIND == "file")
        }
        found[view] = {name: item.model_dump(mode="json") for name, item in describe(scores, observations).items()}
    return found


def _retrained(
    study: Study, entries: Sequence[Entry], rendering: Rendering, scorers: dict[str, Scorer]
) -> dict[str, Any]:
    """Return, for each score of several numbers, the AUC of a classifier trained anew on the held-out clips."""
    found: dict[str, Any] = {}
    if study.compare is None:
        return found
    observations = observations_of(study.compare, entries)
    values = [_values(entry, rendering) for entry in entries]
    for name, scorer in scorers.items():
        features = scorer.features(values)
        if features.shape[1] > 1:
            judged = crossvalidated_scores(features, observations.is_b, observations.unit)
            found[name] = {
                "auc": judged.folds.mean,
                "coverage": judged.folds.coverage,
                "warnings": list(judged.warnings),
            }
    return found
