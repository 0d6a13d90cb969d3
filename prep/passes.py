"""Passes: inspect every clip, fit what is fitted, render every clip. The only loop over clips.

Two branches share every pass. *Release* is what listeners get. *Evidence* fits the stages that learn
from labels on the fit split alone, and renders the held-out clips through them, for the audit. Where
both would do the same work, it is done once.

A clip that fails is set aside with its reason; the others go on.
"""

from __future__ import annotations

import re
import traceback
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from prep.classifiers import cue_classes
from prep.convert import Convert
from prep.errors import ConfigError, NothingUsableError, Problem, RefusedError
from prep.rows import duplicates
from prep.screening import Cut, Findings
from prep.stage import Measured, Stage
from prep.store import key_of
from prep.visit import Ask, Failure, Inspect, Look, Measure, Render, Source, Treatment, Visit, identity, visit
from prep.workers import WorkerDiedError, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from prep.chain import Chain
    from prep.cue import Cue
    from prep.progress import Progress
    from prep.slots import Slot
    from prep.stage import Value
    from prep.store import Store
    from prep.study import Study
    from prep.table import Row
    from prep.workers import Outcome, Workers

Half = Literal["fit", "held-out"]
BranchName = Literal["evidence", "release"]
Answer = dict[str, Any]

# Measured on every clip whatever is audited: the manifest and the ceiling need them.
ALWAYS_MEASURED = ("loudness", "peak", "duration")


@dataclass
class Entry:
    """One row on its way through a run.

    Attributes:
        row: the table's row.
        half: the half of the split it is in; None outside the comparison.
        inspection: hash, facts and cues of the source, once read.
        rendered: the delivered bytes' answer by branch, once rendered.
        looks: the cues at other places of the chain, by what is looked at ("after tilt_eq", "format only").
        known: every answer so far, by the key of its question.
        slot: the name of the place that it is a candidate for.
        waiting: whether an earlier candidate of its slot still stands, so that it is not read.
        findings: what the screen found in it, once asked.
        failure: why the clip was set aside.
        trace: the traceback where the failure is not one that the clip explains.
    """

    row: Row
    half: Half | None = None
    inspection: Answer = field(default_factory=dict)
    rendered: dict[BranchName, Answer] = field(default_factory=dict)
    looks: dict[str, Answer] = field(default_factory=dict)
    known: dict[str, Answer] = field(default_factory=dict, repr=False)
    slot: str = ""
    waiting: bool = False
    findings: Findings | None = None
    failure: Failure | None = None
    trace: str | None = None

    @property
    def stimulus(self) -> bool:
        """Say whether the clip is fitted and audited; other roles are only treated alike."""
        return self.row.role == "stimulus"

    @property
    def source(self) -> Source:
        """Return the clip's file, with its hash once it is known."""
        return Source(str(self.row.path), self.row.file_name, self.inspection.get("sha256"))

    @property
    def cut(self) -> Cut | None:
        """What the screen cuts off the clip's start, if anything."""
        return Cut(seconds=self.findings.cut_seconds) if self.findings and self.findings.cut_seconds else None


@dataclass
class Branch:
    """One of the lines of fits, by the place of the stage in the chain.

    Where `learners` are given, stages that learn from labels learn from these values of the column `by` alone.
    """

    name: BranchName
    label_halves: frozenset[Half | None]
    learners: frozenset[str] | None = None
    by: str = ""
    fits: dict[int, Value] = field(default_factory=dict)
    void: str = ""  # why the evidence could not be fitted; nothing more is asked of it then

    def learns(self, stage: Stage[Any, Any], entry: Entry) -> bool:
        """Say whether a stage may learn from a clip in this branch."""
        if self.void:
            return False
        if stage.fits_on() == "every clip":
            return True
        chosen = self.learners is None or entry.row.columns.get(self.by) in self.learners
        return chosen and entry.stimulus and entry.half in self.label_halves

    def treatments(self, chain: Chain, entry: Entry, count: int) -> tuple[Treatment, ...]:
        """Return the first `count` stages that treat a clip, with their fits."""
        found = []
        for place, stage in enumerate(chain.stages[:count]):
            fit = entry.cut if stage.SCREENS else self.fits.get(place)
            # A screen changes nothing but where it cuts.
            if entry.row.selected_by(stage.applies_to()) and not (stage.SCREENS and fit is None):
                found.append(Treatment(stage, fit))
        return tuple(found)


@dataclass
class Runner:
    """Passes over the clips of one study."""

    study: Study
    entries: list[Entry]
    workers: Workers
    store: Store
    progress: Progress
    cues: tuple[Cue, ...] = ()
    slots: Sequence[Slot] = ()
    notices: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Add the cues that are always measured to those that are audited.

        Raises:
            RefusedError: two rows have one name, so that they would have one id.
        """
        for name, count in Counter(entry.row.file_name for entry in self.entries).items():
            if count > 1:
                raise RefusedError(f"{name}: {count} rows have this name, and would have one id; name them apart")
        audited = self.study.cues()
        names = {cue.NAME for cue in audited}
        self.cues = (*audited, *(cue_classes()[name]() for name in ALWAYS_MEASURED if name not in names))

    def live(self) -> list[Entry]:
        """Return the clips that are neither set aside nor waiting for their slot to be free."""
        return [entry for entry in self.entries if entry.failure is None and not entry.waiting]

    def inspect(self, chain: Chain | None = None, branches: Sequence[Branch] = ()) -> None:
        """Read a candidate of every slot, and the next one where it cannot be used, until each is filled or exhausted.

        What a clip is, what its cues are, what the screen finds in it and what the first stage that fits must know
        is asked in one pass where nothing else must come first.

        Raises:
            ConfigError: equal bytes stand under different conditions.
            RefusedError: a check whose failure stops the run has failed.
            NothingUsableError: no clip can be read.
        """
        place = _screen_place(chain)
        for slot in self.slots:
            for later in slot.candidates[1:]:
                self.entries[later].waiting = True
        while True:
            self._inspect_live(chain, branches, screened=place is not None)
            if place is not None and chain is not None:
                self._screen(chain, branches[-1], place)
            if not self._next_candidates():
                break
        self._nobody_left("screen" if place is not None else "inspect")
        self._refuse_contradictions()

    def _inspect_live(self, chain: Chain | None, branches: Sequence[Branch], *, screened: bool) -> None:
        """Inspect every clip that is in, and measure it for the first fitted stage if no screen stands before it."""
        first = _fitted_places(chain)[:1] if chain and not screened else []

        def asks(entry: Entry) -> list[Ask]:
            measures = self._measures(chain, branches, first[0], entry) if chain and first else []
            return [Inspect(self.cues), *measures]

        self._pass("inspect", asks, may_empty=True)

    def _screen(self, chain: Chain, branch: Branch, place: int) -> None:
        """Ask the screen about every clip that it has not seen, and set aside those that fail.

        Raises:
            RefusedError: a check whose failure stops the run has failed.
        """
        stage = chain.stages[place]

        def asks(entry: Entry) -> list[Ask]:
            if not entry.row.selected_by(stage.applies_to()):
                return []
            text = entry.row.columns.get("text", "") if stage.READS_TEXT else ""
            return [Measure(branch.treatments(chain, entry, place), stage, text)]

        self._pass("screen", asks, may_empty=True)
        for entry in self.live():
            for ask in asks(entry):
                entry.findings = Findings.model_validate(entry.known[_key(ask)]["value"])
                worst = entry.findings.worst()
                if worst is not None and worst.on_fail == "stop":
                    raise RefusedError(f"{entry.row.file_name}: screen: {worst.reason}; the config says on_fail: stop")
                if worst is not None:
                    entry.failure = Failure(stage.NAME, worst.reason, worst.value, worst.limit, rejected=True)

    def _next_candidates(self) -> bool:
        """Let the next candidate of each slot that lost its own step in; say whether there was one."""
        found = False
        for slot in self.slots:
            candidates = [self.entries[place] for place in slot.candidates]
            tried = [entry for entry in candidates if not entry.waiting]
            waiting = [entry for entry in candidates if entry.waiting]
            if waiting and all(entry.failure is not None and not _dropped(entry) for entry in tried):
                waiting[0].waiting = False
                found = True
        return found

    def fit(self, chain: Chain, branches: Sequence[Branch]) -> None:
        """Fit every stage that fits, in order, in each branch.

        Raises:
            RefusedError: a stage cannot treat this set as the config asks.
        """
        for place in _fitted_places(chain):
            stage = chain.stages[place]

            def asks(entry: Entry, place: int = place) -> list[Ask]:
                return self._measures(chain, branches, place, entry)

            self._pass(f"measure for {stage.NAME}", asks)
            for branch in branches:
                self._fit_branch(chain, branch, place)

    def _fit_branch(self, chain: Chain, branch: Branch, place: int) -> None:
        """Fit one stage in one branch. What cannot be proven may still be delivered: evidence is given up alone."""
        if branch.void:
            return
        stage = chain.stages[place]
        try:
            branch.fits[place] = stage.fit(self.measured(chain, branch, place))
        except RefusedError as error:
            if branch.name == "release":
                raise
            branch.void = f"there is no held-out evidence: on the fit split {error}"
            self.notices.append(Problem(stage.NAME, branch.void))

    def render(self, chain: Chain, branches: Sequence[Branch]) -> None:
        """Make the bytes that are delivered, and the held-out ones that prove them.

        Raises:
            RefusedError: a decoded clip passes the ceiling of a gain that is shared.
        """

        def ask_of(branch: Branch, entry: Entry) -> Ask | None:
            if branch.name == "evidence" and (branch.void or not (entry.stimulus and entry.half == "held-out")):
                return None
            treatments = branch.treatments(chain, entry, len(chain.stages))
            return Render(treatments, chain.encoder, self.cues)

        for branch in sorted(branches, key=lambda branch: branch.name, reverse=True):  # release, then evidence
            evidence = branch.name == "evidence"
            title = "render the evidence" if evidence else "render"
            self._pass(title, partial(_listed, ask_of, branch), optional=evidence)
            for entry in self.live():
                ask = ask_of(branch, entry)
                if ask and _key(ask) in entry.known:
                    entry.rendered[branch.name] = entry.known[_key(ask)]
        self._hold_ceiling(chain)

    def look(self, chain: Chain, release: Branch) -> None:
        """Measure the cues after every stage, through a null pass, and of the format alone, as the config asks.

        Nothing of it is delivered, and only compared stimuli are looked at.
        """
        views = list(self._views(chain, release))
        if not views:
            return

        def asks(entry: Entry) -> dict[str, Ask]:
            return {name: ask for name, ask_of in views if entry.stimulus and (ask := ask_of(entry))}

        self._pass("look between the stages", lambda entry: list(asks(entry).values()), optional=True)
        for entry in self.live():
            keys = {name: _key(ask) for name, ask in asks(entry).items()}
            entry.looks = {name: entry.known[key] for name, key in keys.items() if key in entry.known}

    def looked(self, entries: Sequence[Entry], ask_of: Callable[[Entry], Look]) -> list[tuple[Entry, Answer]]:
        """Return the answers to one question each about some clips; those that have none are left out."""
        asks = {id(entry): ask_of(entry) for entry in entries}
        self._pass("look", lambda entry: [asks[id(entry)]] if id(entry) in asks else [], optional=True)
        found = [(entry, entry.known.get(_key(asks[id(entry)]))) for entry in entries]
        return [(entry, answer) for entry, answer in found if answer is not None]

    def _views(self, chain: Chain, release: Branch) -> Iterator[tuple[str, Callable[[Entry], Ask | None]]]:
        """Yield what is looked at: a name, and the question of a clip."""
        audit = self.study.audit
        for place, stage in enumerate(chain.stages):
            if audit.after_each_stage:
                yield f"after {stage.NAME}", partial(self._after, chain, release, place)
            if audit.null_pass and stage.applies_to() is not None and not stage.SCREENS:
                yield f"null pass {stage.NAME}", partial(self._null_pass, chain, release, place)
        if audit.baseline == "format_only":
            yield "format only", partial(self._format_only, chain, release)

    def _after(self, chain: Chain, release: Branch, place: int, entry: Entry) -> Ask:
        return Look(release.treatments(chain, entry, place + 1), self.cues)

    def _null_pass(self, chain: Chain, release: Branch, place: int, entry: Entry) -> Ask:
        treatment = Treatment(chain.stages[place], release.fits.get(place))
        return Look((*release.treatments(chain, entry, place), treatment), self.cues)

    def _format_only(self, chain: Chain, release: Branch, entry: Entry) -> Ask:
        kept = {stage.NAME for stage in chain.stages if stage.LEVEL or isinstance(stage, Convert)}
        treatments = release.treatments(chain, entry, len(chain.stages))
        return Render(tuple(step for step in treatments if step.stage.NAME in kept), chain.encoder, self.cues)

    def _measures(self, chain: Chain, branches: Sequence[Branch], place: int, entry: Entry) -> list[Ask]:
        """Return what a stage must be told of a clip, a question a branch."""
        stage = chain.stages[place]
        return [
            Measure(branch.treatments(chain, entry, place), stage) for branch in branches if branch.learns(stage, entry)
        ]

    def measured(self, chain: Chain, branch: Branch, place: int) -> list[Measured[Any]]:
        """Return what a stage measured on the clips it learns from, in the order of the table."""
        stage = chain.stages[place]
        if stage.MEASURES is None:
            raise TypeError(f"{stage.NAME} fits, but does not say what it measures")
        measured = []
        for entry in self.live():
            for ask in self._measures(chain, [branch], place, entry):
                value = stage.MEASURES.model_validate(entry.known[_key(ask)]["value"])
                measured.append(Measured(entry.row, value))
        return measured

    def _pass(
        self,
        title: str,
        asks_of: Callable[[Entry], list[Ask]],
        *,
        optional: bool = False,
        may_empty: bool = False,
    ) -> None:
        """Have every question answered for every clip that is still in; set aside those that fail.

        A clip stays in whatever becomes of an optional question: it is asked for the proof, not for the delivery.

        Raises:
            NothingUsableError: none is left, and none may follow.
        """
        live = self.live()
        visits = []
        for index, entry in enumerate(live):
            asks = {_key(ask): ask for ask in asks_of(entry)}
            unknown = tuple(ask for key, ask in asks.items() if key not in entry.known)
            if unknown:
                visits.append(Visit(index, entry.source, unknown, self.store))
        if visits:
            self.progress.begin(title, len(visits))
            for outcome in work(self.workers, visit, visits):
                self._take(title, live[outcome.task.index], outcome, optional=optional)
                self.progress.advance()
            self.progress.end()
        if not may_empty:
            self._nobody_left(title)

    def _nobody_left(self, title: str) -> None:
        """Refuse to go on without a clip.

        Raises:
            NothingUsableError: none is left.
        """
        if not self.live():
            lost = {entry.row.file_name: entry.failure for entry in self.entries if entry.failure}
            reasons = "\n".join(f"  {line}" for line in folded_reasons(lost))
            raise NothingUsableError(f"{title}: no clip is left to work with:\n{reasons}")

    def _take(
        self, title: str, entry: Entry, outcome: Outcome[Visit, list[Answer | Failure]], *, optional: bool
    ) -> None:
        """Keep the answers of a visit, or the reason why there are none.

        Raises:
            RefusedError: the cache cannot be written, which is no clip's fault.
        """
        if isinstance(outcome.error, OSError):
            raise RefusedError(f"{self.study.cache}: {outcome.error}; make room or name another cache, and run again")
        if outcome.error is not None:
            failure, trace = _unexplained(title, outcome.error)
            if optional:
                self.notices.append(Problem(entry.row.file_name, f"{title}: {failure.reason}"))
            else:
                entry.failure, entry.trace = failure, trace
            return
        for ask, answer in zip(outcome.task.asks, outcome.value or [], strict=False):
            if not isinstance(answer, Failure):
                entry.known[_key(ask)] = answer
                if isinstance(ask, Inspect):
                    entry.inspection = answer
            elif optional:
                self.notices.append(Problem(entry.row.file_name, f"{title}: {answer.step}: {answer.reason}"))
            else:
                entry.failure = answer

    def _refuse_contradictions(self) -> None:
        """Say which clips are the same file twice, and stop where their conditions contradict each other."""
        column = self.study.compare.column if self.study.compare else "condition"
        rows = [entry.row for entry in self.live()]
        files = {entry.row.file_name: entry.inspection["sha256"] for entry in self.live()}
        sounds = {entry.row.file_name: entry.inspection["samples_sha256"] for entry in self.live()}
        files_of = Counter(sound for _, sound in {(files[name], sound) for name, sound in sounds.items()})
        # Copies of one file are told as such; what holds the same sound in several files is told besides.
        recoded = {name: sound for name, sound in sounds.items() if files_of[sound] > 1}
        problems: list[Problem] = []
        for hashes, same in ((files, "bytes"), (recoded, "samples")):
            found, notices = duplicates(hashes, rows, column, same)
            self.notices += notices
            problems += found
        if problems:
            raise ConfigError(problems)

    def _hold_ceiling(self, chain: Chain) -> None:
        """Set aside, or refuse, what decodes to more than the ceiling."""
        level = next((stage for stage in chain.stages if stage.LEVEL), None)
        ceiling = getattr(level, "ceiling_dbtp", None)
        if level is None or ceiling is None:
            return
        peaks = {
            entry.row.file_name: entry.rendered["release"]["cues"]["peak"].get("true_peak_dbtp")
            for entry in self.live()
        }
        over = {name: peak for name, peak in peaks.items() if peak is not None and peak > ceiling}
        if over and level.with_margin(0.0) is None:
            worst = max(over, key=lambda name: (over[name], name))
            others = f" ({len(over) - 1} more clips pass it too)" if len(over) > 1 else ""
            raise RefusedError(
                f"{worst}: {level.NAME}: reaches {over[worst]:.2f} dBTP once encoded, over the ceiling of "
                f"{ceiling:g}{others}; lower target_lufs by {over[worst] - ceiling + 0.01:.2f}, or raise "
                "codec_margin_db by as much, and run again: what a codec adds to a peak changes with its level"
            )
        for entry in self.live():
            if entry.row.file_name in over:
                reason = "passes the ceiling once encoded; lower the target or the ceiling"
                peak = over[entry.row.file_name]
                entry.failure = Failure(level.NAME, reason, peak, ceiling, rejected=True)


def branches_of(study: Study, entries: Iterable[Entry], chain: Chain) -> list[Branch]:
    """Return the branches that a run needs: evidence only where a split and a stage that learns from labels are."""
    halves: frozenset[Half | None] = frozenset({"fit", "held-out", None})
    fit_only: frozenset[Half | None] = frozenset({"fit"})
    split = any(entry.half is not None for entry in entries)
    learns = any(stage.fits_on() == "labels" for stage in chain.stages)
    release = Branch("release", fit_only if split and study.heldout.release == "fit split" else halves)
    return [Branch("evidence", fit_only), release] if split and learns else [release]


def _screen_place(chain: Chain | None) -> int | None:
    """Return where the screen stands in a chain."""
    return next((place for place, stage in enumerate(chain.stages) if stage.SCREENS), None) if chain else None


def _dropped(entry: Entry) -> bool:
    """Say whether a clip was turned down by a check that wants no replacement."""
    worst = entry.findings.worst() if entry.findings else None
    return worst is not None and worst.on_fail == "drop"


def _fitted_places(chain: Chain) -> list[int]:
    return [place for place, stage in enumerate(chain.stages) if stage.fits_on() != "nothing"]


def _listed(ask_of: Callable[[Branch, Entry], Ask | None], branch: Branch, entry: Entry) -> list[Ask]:
    ask = ask_of(branch, entry)
    return [ask] if ask else []


def _key(ask: Ask) -> str:
    return key_of(identity(ask))


def folded_reasons(lost: Mapping[str, Failure]) -> Iterator[str]:
    """Yield a line for each kind of reason, told of the clip that is furthest past its limit; figures make no kind.

    Args:
        lost: why each clip cannot be used, by its name.
    """
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, failure in lost.items():
        kinds[failure.step, re.sub(r"\d[\d.]*", "0", failure.reason)].append(name)
    for names in kinds.values():
        worst = max(names, key=lambda name: abs((lost[name].value or 0.0) - (lost[name].limit or 0.0)))
        more = f" and {len(names) - 1} more" if names[1:] else ""
        yield f"{worst}{more}: {lost[worst].reason}"


def _unexplained(step: str, error: BaseException) -> tuple[Failure, str]:
    """Return the failure of an error that no step foresaw, and its traceback for the record."""
    if isinstance(error, WorkerDiedError):
        reason = f"{error}; it may need more memory than there is, or break a library: look at the file"
        return Failure(step, reason), ""
    trace = "".join(traceback.format_exception(error))
    return Failure(step, f"{type(error).__name__}: {error} (this is a defect of prep; the record has its trace)"), trace
