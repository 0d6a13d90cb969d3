"""Suggest: the mildest treatment under which held-out speakers of the fit split can hardly be told apart.

The fit split alone is searched: each setting is fitted on some of its units and judged on the others, in folds. The
held-out half is opened once, for the chain that was found. A setting is milder than the next of its stage's rungs;
stages are tried in the order in which they belong into a chain. Steps of the study's own chain that are no cure, as
its screen, stay where they are, and every setting is tried behind them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prep.audit import observations_of
from prep.bootstrap import FEWEST_UNITS
from prep.chain import Chain, order_problems
from prep.check import checked
from prep.classifiers import cue_classes
from prep.errors import ConfigError, Problem
from prep.passes import Branch, Entry, Runner
from prep.progress import Silent
from prep.prose import joined
from prep.run import audit_plan
from prep.score import features_of
from prep.separability import describe
from prep.slots import Slot
from prep.stage import Stage
from prep.stages import stage_classes
from prep.store import Store
from prep.takes import cut_plan, failure_of
from prep.visit import Look
from prep.workers import available_cores, local_workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prep.check import Plan
    from prep.cue import Cue
    from prep.progress import Progress
    from prep.stage import Step
    from prep.study import Compare
    from prep.visit import CueValues

FOLDS = 5
LEVEL_STEPS = ("shared_gain", "clip_loudness")
ORDER = ("high_pass", "bandwidth", "edges", "masking_noise", "reference_eq", "tilt_eq", LEVEL_STEPS)
SPECTRUM = "spectrum"  # the cue whose bands tell how much a setting changed


class Rung(NamedTuple):
    """One setting: the step's name and its parameters."""

    step: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Tried:
    """What one setting did on the fit split, or what was there without it.

    Attributes:
        rung: the setting; None for the chain so far.
        separation: by cue, abs(AUC - 0.5), the larger of pooled and matched; None where it is not defined.
        spectral_change_db: median over clips of the RMS change of the third-octave spectrum, level removed.
        chosen: whether it is part of the suggestion.
        why: what came of it, in words.
        legal: whether a study may have such a chain.
    """

    rung: Rung | None
    separation: dict[str, float | None]
    spectral_change_db: float | None
    chosen: bool = False
    why: str = ""
    legal: bool = True


@dataclass(frozen=True)
class Suggestion:
    """A chain, how it was found, and what the held-out half says of it.

    Attributes:
        margin: the separation that each cue had to come down to.
        chain: steps as YAML has them.
        tried: every setting that was tried, in order.
        unreached: cues that no setting brought within the margin.
        left_out: what became of each step of the study's own chain that the search replaced.
        too_small: why so few units can tell nothing; empty where they can.
        record: of the audit of the chain, held-out half included.
    """

    margin: float
    chain: list[dict[str, dict[str, Any]]]
    tried: list[Tried]
    unreached: list[str]
    left_out: list[str]
    too_small: str
    record: dict[str, Any] = field(repr=False)

    @property
    def exit_code(self) -> int:
        """0 where every cue was brought within the margin on enough units, else 1."""
        return 1 if self.unreached or self.too_small else 0

    @property
    def conclusion(self) -> str:
        """What the search came to in a line, which is why the exit code is what it is."""
        missed = f"nothing brings {joined(self.unreached)} within {self.margin:g}" if self.unreached else ""
        why = "; ".join(part for part in (missed, self.too_small) if part)
        which = "every cue that a step can take out" + (" and that could be judged" if self.unjudged else "")
        within = f"{which} is within {self.margin:g} on unseen units of the fit split"
        open_ones = f"; {joined(self.unjudged)} could not be judged" if self.unjudged else ""
        return f"exit code {self.exit_code}: {why or within}{open_ones}"

    @property
    def unjudged(self) -> list[str]:
        """Cues that no trial could measure."""
        asked = dict.fromkeys(cue for item in self.tried for cue in item.separation)
        return [cue for cue in asked if all(item.separation.get(cue) is None for item in self.tried)]


def suggest_chain(
    config: Path, progress: Progress, *, margin: float | None = None, workers: int | None = None
) -> Suggestion:
    """Return the mildest chain that brings the cues it can cure within the margin, and the proof of it.

    Args:
        config: a study; of its own chain the steps that are no cure stay, and the encoder.
        progress: what is told of the work.
        margin: largest separation; the study's equivalence margin by default.
        workers: processes.

    Raises:
        ConfigError: the config is wrong, compares no two conditions with a split, or serves the sources' own bytes.
        RefusedError, NothingUsableError: as `prep.run.audit_study`.
    """
    plan = checked(config)
    compare = plan.loaded.study.compare
    where = plan.loaded.document.where(("compare",))
    if compare is None or len(compare.sides) != 2:
        raise ConfigError([Problem(where, "no two conditions are compared", "give compare: {a: ..., b: ...}")])
    if plan.split is None:
        raise ConfigError(
            [Problem(where, "nothing can be held out", "fill a speaker column, so that there is a split")]
        )
    if plan.chain.encoder.model_dump().get("codec") == "copy":
        where = plan.loaded.document.where(("chain", len(plan.loaded.study.chain) - 1, plan.chain.encoder.NAME))
        what = "copy serves the source's bytes, so no step that is suggested could take effect"
        raise ConfigError([Problem(where, what, "choose another codec")])
    plan = cut_plan(plan, progress, workers)
    bound = plan.loaded.study.audit.equivalence_auc if margin is None else margin
    count = workers or plan.loaded.study.workers or available_cores()
    with local_workers(min(count, len(plan.rows))) as pool:
        places = [place for place, row in enumerate(plan.rows) if plan.half_of(row) == "fit" and not failure_of(row)]
        entries = [Entry(plan.rows[place], "fit") for place in places]
        slots = _slots_among(plan.slots, places)
        store = Store(plan.loaded.path(plan.loaded.study.cache))
        runner = Runner(plan.loaded.study, entries, pool, store, progress, slots=slots)
        search = _Search(plan, compare, runner, bound)
        search.climb()
    study = plan.loaded.study.model_copy(update={"chain": tuple(search.steps(search.chosen))})
    final = replace(plan, loaded=replace(plan.loaded, study=study), chain=Chain.of(study.chain))
    done = audit_plan(final, progress, workers=workers)
    found = {rung.step: rung.parameters for rung in search.chosen}
    chain = [{step.NAME: found.get(step.NAME, _as_given(step))} for step in study.chain]
    return Suggestion(bound, chain, search.tried, search.unreached, search.left_out, _too_small(plan), done.record)


def _slots_among(slots: Sequence[Slot], places: Sequence[int]) -> list[Slot]:
    """Return the slots that have candidates among some rows, by these rows' own order.

    Args:
        slots: of a table.
        places: of some of its rows, in order.
    """
    found = {place: index for index, place in enumerate(places)}
    inside = [Slot(slot.name, tuple(found[place] for place in slot.candidates if place in found)) for slot in slots]
    return [slot for slot in inside if slot.candidates]


def _as_given(step: Step) -> dict[str, Any]:
    """Return the parameters of a step as YAML may have them, without those that are their defaults."""
    return step.model_dump(mode="json", exclude_none=True, exclude_unset=True)


def _too_small(plan: Plan) -> str:
    """Return why the fit split can tell nothing, if it cannot."""
    if plan.split is None:
        return "there is no split"
    counts = {name: halves["fit"] for name, halves in plan.split.groups.items()}
    if min(counts.values()) >= FEWEST_UNITS:
        return ""
    told = " and ".join(f"{count} {name}" for name, count in counts.items())
    return (
        f"the fit split has {told} {plan.split_by}s, fewer than {FEWEST_UNITS} a side: too few to tell what these "
        "settings do to others"
    )


class _Search:
    """The way up the rungs, over the clips of the fit split."""

    def __init__(self, plan: Plan, compare: Compare, runner: Runner, margin: float) -> None:
        self.plan = plan
        self.compare = compare
        self.runner = runner
        self.margin = margin
        self.chosen: list[Rung] = []
        self.tried: list[Tried] = []
        self.unreached: list[str] = []
        self.left_out: list[str] = []
        self.spectrum = cue_classes()[SPECTRUM]()
        self.cues = {cue.NAME: cue for cue in plan.loaded.study.cues()} | {SPECTRUM: self.spectrum}
        names = [entry.row.columns[plan.split_by] for entry in runner.entries]
        units = sorted(set(names))
        random.Random(plan.loaded.study.audit.seed).shuffle(units)  # noqa: S311 - a draw, no secret
        self.folds = [frozenset(units[start::FOLDS]) for start in range(min(FOLDS, len(units)))]
        self.groups = list(self._groups())
        tried = {name for names, *_ in self.groups for name in names}
        self.own = {step.NAME: step for step in plan.chain.stages if step.NAME in tried}
        stages = [step for step in plan.loaded.study.chain if isinstance(step, Stage) and step.NAME not in tried]
        self.before = [step for step in stages if not step.LEVEL]
        self.level = [step for step in stages if step.LEVEL]

    def _groups(self) -> Iterator[tuple[tuple[str, ...], list[Rung], list[Cue]]]:
        """Yield the steps that are tried for one another, their settings, and the cues that they may take out."""
        for group in ORDER:
            names = (group,) if isinstance(group, str) else group
            rungs = _rungs(names, self.compare)
            cues = [self.cues[name] for name in _cures(names) if name in self.cues]
            if rungs and cues:
                yield names, rungs, cues

    def steps(self, rungs: Sequence[Rung]) -> list[Step]:
        """Return a whole chain: the study's own steps that are no cure, some settings, and its encoder.

        Raises:
            ValueError: a setting is none of its step.
        """
        found = [stage_classes()[item.step].model_validate(item.parameters) for item in rungs]
        return [*self.before, *found, *self.level, self.plan.chain.encoder]

    def climb(self) -> None:
        """Choose a rung of every group that is needed, the mildest that is enough."""
        kept = Chain.of(self.steps(()))
        self.runner.inspect(kept, [Branch("evidence", frozenset({"fit"}))])
        progress, self.runner.progress = self.runner.progress, Silent()
        progress.begin("search", sum(1 + len(rungs) for _, rungs, _ in self.groups), "settings")
        self.progress = progress
        for names, rungs, cues in self.groups:
            start = self._look(None, cues)
            self.tried.append(start)
            chosen = None
            needless = self._enough(start) and names != LEVEL_STEPS
            if not needless:
                chosen = self._choose(rungs, cues, start)
            self.left_out += self._replaced(names, start if needless else None, chosen)
        progress.end()

    def _replaced(self, names: Sequence[str], enough: Tried | None, chosen: Rung | None) -> Iterator[str]:
        """Say what became of the study's own steps of one group, and why."""
        for name, step in self.own.items():
            if name not in names or (chosen and (chosen.step, chosen.parameters) == (name, _as_given(step))):
                continue
            if enough is not None:
                within = joined([f"{cue} ({_apart_words(apart)})" for cue, apart in enough.separation.items()])
                yield f"{name} left out: already within the margin without it: {within}"
            elif chosen is None:
                yield f"{name} left out: none of the settings tried here helped"
            elif chosen.step == name:
                yield f"{name}: with the settings found here in place of the study's own"
            else:
                yield f"{name} left out: {chosen.step} is in its place"

    def _choose(self, rungs: Sequence[Rung], cues: Sequence[Cue], start: Tried) -> Rung | None:
        """Try rungs until one is enough; keep and return it, or the best one that helps at all."""
        best: Tried | None = None
        for rung in rungs:
            found = self._look(rung, cues)
            if self._enough(found):
                self.tried.append(replace(found, chosen=True, why="the mildest that is enough"))
                self.chosen.append(rung)
                return rung
            self.tried.append(found)
            if found.legal and (best is None or _widest(found) < _widest(best)):
                best = found
        self.unreached += [name for name, apart in (best or start).separation.items() if (apart or 0) > self.margin]
        level = rungs[0].step in LEVEL_STEPS
        if best is not None and best.rung is not None and (level or _widest(best) < _widest(start)):
            kept = replace(best, chosen=True, why="not enough, but the best")
            self.tried[self.tried.index(best)] = kept
            self.chosen.append(best.rung)
            return best.rung
        return None

    def _enough(self, found: Tried) -> bool:
        return _widest(found) <= self.margin

    def _look(self, rung: Rung | None, cues: Sequence[Cue]) -> Tried:
        """Return what the chosen chain with one more setting leaves of some cues, in folds of units."""
        rungs = [*self.chosen, *([rung] if rung else [])]
        self.progress.advance()
        try:
            steps = self.steps(rungs)
        except ValueError as error:
            return Tried(rung, {cue.NAME: None for cue in cues}, None, why=str(error), legal=False)
        if wrong := order_problems(steps):
            return Tried(rung, {cue.NAME: None for cue in cues}, None, why=wrong[0][1], legal=False)
        chain = Chain.of(steps)
        asked = tuple({cue.NAME: cue for cue in (*cues, self.spectrum)}.values())
        values: dict[int, CueValues] = {}
        why = ""
        for fold in self.folds:
            branch = Branch(
                "evidence", frozenset({"fit"}), learners=frozenset(self._units() - fold), by=self.plan.split_by
            )
            self.runner.fit(chain, [branch])
            why = why or branch.void
            if branch.void:
                continue
            judged = [entry for entry in self.runner.live() if entry.row.columns[self.plan.split_by] in fold]
            found = self.runner.looked(judged, partial(_asked, chain, branch, asked))
            values |= {id(entry): answer["cues"] for entry, answer in found}
        return Tried(rung, self._separations(cues, values), self._change(values), why=why)

    def _units(self) -> set[str]:
        return {entry.row.columns[self.plan.split_by] for entry in self.runner.live()}

    def _separations(self, cues: Sequence[Cue], values: dict[int, CueValues]) -> dict[str, float | None]:
        """Return how far each cue tells the conditions apart: the worst number of it, pooled or matched."""
        entries = self.runner.live()
        observations = observations_of(self.compare, entries)
        found: dict[str, float | None] = {}
        for cue in cues:
            features = features_of((cue,), [values.get(id(entry), {}) for entry in entries])
            described = describe({str(i): features[:, i] for i in range(features.shape[1])}, observations)
            apart = [
                abs(auc - 0.5) for item in described.values() for auc in (item.auc, item.auc_matched) if auc is not None
            ]
            found[cue.NAME] = max(apart) if apart else None
        return found

    def _change(self, values: dict[int, CueValues]) -> float | None:
        """Return the median over clips of the RMS change of the spectrum's bands, dB."""
        changes = []
        for entry in self.runner.live():
            pair = [entry.inspection["cues"].get(SPECTRUM, {}), values.get(id(entry), {}).get(SPECTRUM, {})]
            bands = [feature.name for feature in self.spectrum.FEATURES if all(feature.name in found for found in pair)]
            if bands:
                changes.append(float(np.sqrt(np.mean([(pair[1][name] - pair[0][name]) ** 2 for name in bands]))))
        return float(np.median(changes)) if changes else None


def _apart_words(apart: float | None) -> str:
    return "not measurable" if apart is None else f"{apart:.3f}"


def _asked(chain: Chain, branch: Branch, cues: tuple[Cue, ...], entry: Entry) -> Look:
    return Look(branch.treatments(chain, entry, len(chain.stages)), cues)


def _rungs(names: Sequence[str], compare: Compare) -> list[Rung]:
    """Return the settings of some steps, the mildest first."""
    return list(_every_rung(names, compare))


def _every_rung(names: Sequence[str], compare: Compare) -> Iterator[Rung]:
    for name in names:
        step = stage_classes().get(name)
        if step is not None and issubclass(step, Stage):
            for parameters in step.rungs(compare.column, *compare.sides[:2]):
                yield Rung(name, dict(parameters))


def _cures(names: Sequence[str]) -> list[str]:
    """Return the cues that some steps may take out."""
    classes = [step for name in names if (step := stage_classes().get(name)) is not None and issubclass(step, Stage)]
    return list(dict.fromkeys(cue for step in classes for cue in step.CURES))


def _widest(found: Tried) -> float:
    """Return the largest separation of a trial; beyond all where none is defined."""
    defined = [apart for apart in found.separation.values() if apart is not None]
    return max(defined) if defined else np.inf
