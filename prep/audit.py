"""Audit: for every cue, how far it tells the conditions apart, in four columns.

    sources    all source clips (descriptive)
    before     source clips of the held-out half
    after      the same clips through the corrections fitted on the fit split, decoded as delivered
    delivered  all delivered clips (descriptive: what these listeners could exploit)

A one-number cue is scored by itself. A cue of several numbers is scored by a classifier that is
trained on the uncorrected fit split and frozen; beside it stands one that is trained anew on the
held-out clips and judged by folds of whole units. Such a score can miss what one of its numbers shows:
the AUC of each number over the same clips stands in every column, as `numbers`, and is no test.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from prep.auc import auc
from prep.design import Observations
from prep.errors import RefusedError, UndefinedError
from prep.limits import ALL
from prep.logistic import crossvalidated_scores
from prep.omnibus import Labels, omnibus
from prep.pairs import over_pairs, smallest_over_pairs, widest
from prep.score import Scorer, correlations, features_of, trained_scorer
from prep.separability import compare, describe
from prep.shift import hodges_lehmann, matched_differences, shift_interval, walsh_median
from prep.split import draw_split
from prep.stage import Stage
from prep.verdict import SIGNIFICANT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from prep.chain import Chain
    from prep.cue import Cue
    from prep.passes import Entry
    from prep.separability import Description
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

    With several conditions every column holds, by cue, the pair that stands out with the omnibus test over all
    pairs, and `pairs` the audit of each.

    Args:
        study: its `compare` and `audit` say what is compared and how.
        entries: inspected and perhaps rendered clips; those set aside are left out.
        cues: the cues that were measured; the audited ones are picked from them.
    """
    if study.compare is None or not compared_entries(study.compare, entries):
        return None
    pairs = [
        PairAudit(study.model_copy(update={"compare": study.compare.of_pair(a, b)}), entries, cues)
        for a, b in study.compare.pairs()
    ]
    if len(pairs) == 1:
        return pairs[0].audit
    return _several(study.compare, entries, pairs)


class PairAudit:
    """The audit of two conditions: what each cue's score is, and how far it tells them apart in every column."""

    def __init__(self, study: Study, entries: Sequence[Entry], cues: Sequence[Cue]) -> None:
        if study.compare is None:
            raise TypeError("a study that compares nothing has no audit")
        self.study = study
        self.compare = study.compare
        self.compared = compared_entries(study.compare, entries)
        self.cues = [cue for cue in cues if cue.NAME in study.audited()]
        self.heldout = [entry for entry in self.compared if entry.half == "held-out"]
        # What was fitted on labels proves nothing on the clips it was fitted on.
        learned = any(isinstance(step, Stage) and step.fits_on() == "labels" for step in study.chain)
        self.after: Rendering = "evidence" if learned else "release"

    @cached_property
    def parts(self) -> dict[str, tuple[Cue, ...]]:
        """The cues behind each score: each cue, and all nuisance cues together."""
        nuisance = tuple(cue for cue in self.cues if cue.KIND == "nuisance")
        return {cue.NAME: (cue,) for cue in self.cues} | ({ALL: nuisance} if len(nuisance) > 1 else {})

    @cached_property
    def scorers(self) -> dict[str, Scorer]:
        """What turns each clip into one number a cue.

        With a split, a score may learn from its fit half alone: held-out clips that taught it would prove nothing.
        """
        split = any(entry.half is not None for entry in self.compared)
        learning = [entry for entry in self.compared if entry.half == "fit"] if split else self.compared
        values = [_values(entry, "source") for entry in learning]
        observations = observations_of(self.compare, learning)
        return {name: trained_scorer(cues, values, observations) for name, cues in self.parts.items()}

    def definitions(self) -> dict[str, Any]:
        """Return what a reader must know of each cue."""
        found = {cue.NAME: _definition(cue) for cue in self.cues}
        if ALL in self.parts:
            found[ALL] = {**_ALL, "features": [{"name": cue.NAME} for cue in self.parts[ALL]]}
        return found

    @cached_property
    def audit(self) -> dict[str, Any]:
        """Every column of the audit."""
        audit: dict[str, Any] = {
            "column": self.compare.column,
            "a": self.compare.a,
            "b": self.compare.b,
            "positive": self.compare.b,
            "unit": self.compare.unit,
            "cues": self.definitions(),
            **dict.fromkeys(("sources", "before", "after", "after_retrained", "delivered")),
        }
        if not self.compared:
            return audit
        audit["sources"] = self._described(self.compared, "source")
        if any("release" in entry.rendered for entry in self.compared):
            audit["delivered"] = self._described(self.compared, "release")
        if self.heldout:
            audit["before"] = self._tested(self.heldout, "source")
            if any(self.after in entry.rendered for entry in self.heldout):
                audit["after"] = self._tested(self.heldout, self.after)
                audit["after_retrained"] = _retrained(self.study, self.heldout, self.after, self.scorers)
        audit["looks"] = _looks(self.compare, self.compared, self.scorers)
        is_b = observations_of(self.compare, self.compared).is_b
        audit["correlation"] = correlations(_scores(self.compared, "source", self.scorers), is_b)
        return audit

    def _described(self, entries: Sequence[Entry], rendering: Rendering) -> dict[str, Any]:
        """Return how the conditions lie on every cue, without a test."""
        described = describe(_scores(entries, rendering, self.scorers), observations_of(self.compare, entries))
        return self._with_numbers(described, entries, rendering)

    def _tested(self, entries: Sequence[Entry], rendering: Rendering) -> dict[str, Any]:
        """Return how far every cue tells the conditions apart, and what that settles; nothing without units."""
        if not all(entry.row.columns.get(self.compare.unit) for entry in entries):
            return {}
        settings = self.study.audit
        tested = compare(
            _scores(entries, rendering, self.scorers),
            observations_of(self.compare, entries),
            equivalence_auc=settings.equivalence_auc,
            draws=settings.draws,
            seed=settings.seed,
        )
        return self._with_numbers(tested, entries, rendering)

    def _with_numbers(
        self, column: Mapping[str, Description], entries: Sequence[Entry], rendering: Rendering
    ) -> dict[str, Any]:
        """Return a column of the audit with the AUC of each number of a cue of several, over the same clips."""
        found = {name: item.model_dump(mode="json") for name, item in column.items()}
        values = [_values(entry, rendering) for entry in entries]
        for cue in self.cues:
            if len(cue.FEATURES) > 1:
                features = features_of((cue,), values)
                numbers = {feature.name: features[:, place] for place, feature in enumerate(cue.FEATURES)}
                aucs = describe(numbers, observations_of(self.compare, entries))
                found[cue.NAME]["numbers"] = {name: item.auc for name, item in aucs.items()}
        return found


def _several(compare_: Compare, entries: Sequence[Entry], pairs: Sequence[PairAudit]) -> dict[str, Any]:
    """Return the audit of several conditions: the omnibus of every column, and the audit of each pair."""
    audits = [pair.audit for pair in pairs]
    audit: dict[str, Any] = {
        "column": compare_.column,
        "conditions": list(compare_.sides),
        "reference": compare_.reference,
        "unit": compare_.unit,
        "cues": pairs[0].definitions(),
        "pairs": audits,
    }
    for column in ("sources", "delivered"):
        audit[column] = {name: widest(audits, column, name) for name in audit["cues"]} if audits[0][column] else None
    held = [entry for entry in compared_entries(compare_, entries) if entry.half == "held-out"]
    renderings: dict[str, Rendering] = {"before": "source", "after": pairs[0].after}
    for column, rendering in renderings.items():
        there = held and any(found[column] for found in audits)
        audit[column] = _omnibus_column(compare_, held, pairs, column, rendering) if there else None
    return audit


def _omnibus_column(
    compare_: Compare, held: Sequence[Entry], pairs: Sequence[PairAudit], column: str, rendering: Rendering
) -> dict[str, Any]:
    """Return by cue the pair that stands out, the omnibus test over all pairs, and what it settles.

    Each pair's own audit is told the p of its cues over all cues and pairs, as `p_over_pairs`.
    """
    places = {name: place for place, name in enumerate(compare_.sides)}
    keys = [(places[pair.compare.sides[0]], places[pair.compare.sides[1]]) for pair in pairs]
    known = observations_of(pairs[0].compare, held)
    condition = np.array([places[entry.row.columns[compare_.column]] for entry in held], dtype=np.intp)
    labels = Labels(condition, known.unit, known.cell, known.passage)
    scores: dict[str, dict[tuple[int, int], Features]] = {}
    for key, pair in zip(keys, pairs, strict=True):
        for name, values in _scores(held, rendering, pair.scorers).items():
            scores.setdefault(name, {})[key] = values
    audits = [pair.audit for pair in pairs]
    smallest = {name: smallest_over_pairs(audits, column, name) for name in scores}
    settleable = {name: scores[name] for name, least in smallest.items() if least is not None and least <= SIGNIFICANT}
    settings = pairs[0].study.audit
    tested = omnibus(settleable, labels, draws=settings.draws, seed=settings.seed)
    for name, found in tested.items():
        for key, audit in zip(keys, audits, strict=True):
            if (audit[column] or {}).get(name):
                audit[column][name]["p_over_pairs"] = found.pairs_familywise[key]
    return {name: over_pairs(audits, column, name, tested.get(name), smallest[name]) for name in scores}


def compared_entries(compare_: Compare, entries: Sequence[Entry]) -> list[Entry]:
    """Return the stimuli of the two conditions that have not been set aside."""
    return [
        entry
        for entry in entries
        if entry.failure is None and entry.stimulus and entry.row.columns.get(compare_.column) in compare_.sides
    ]


def observations_of(compare_: Compare, entries: Sequence[Entry]) -> Observations:
    """Return what the statistics must know of the clips of two conditions besides their scores.

    Where the table has no column of units, every clip is its own unit and only descriptions are made.
    """
    columns = [entry.row.columns for entry in entries]
    match = compare_.match
    cells = [tuple(row.get(name, "") for name in match) for row in columns]
    passages = [row.get("passage", "") for row in columns]
    return Observations(
        is_b=np.array([row.get(compare_.column) == compare_.sides[1] for row in columns]),
        unit=tuple(
            row.get(compare_.unit) or f"(clip {entry.row.file_name})"
            for row, entry in zip(columns, entries, strict=True)
        ),
        cell=tuple("|".join(cell) if all(cell) else None for cell in cells) if match else None,
        passage=tuple(passages) if all(passages) else None,
        names=(compare_.sides[0], compare_.sides[1]),
        unit_name="speaker" if compare_.unit == "speaker" else f"{compare_.unit} unit",
    )


def fit_intervals(study: Study, entries: Sequence[Entry], chain: Chain) -> dict[str, Any]:
    """Return, by stage that corrects a one-number cue, the cue's shift b - a in the sources with its interval.

    The interval over units says what a correction fitted on these clips may have left.
    """
    if study.compare is None or len(study.compare.sides) > 2:
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
    is_b = np.array([condition == compare_.sides[1] for _, condition in clips])
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
