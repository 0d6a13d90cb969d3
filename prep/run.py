"""Run a study from its config to its output folder; or audit it alone, and write nothing."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from prep.audit import audit_columns, fit_intervals, stability
from prep.check import Plan, checked, plan_of, plan_summary, split_record
from prep.errors import ConfigError
from prep.excerpts import made_excerpts
from prep.limits import ALL, judged, parse_limit
from prep.methods import methods_md
from prep.models import digests_of
from prep.outcome import failures
from prep.passes import Branch, Entry, Runner, branches_of
from prep.publish import publish, study_secret
from prep.record import clip_record, json_bytes, key_csv, manifest_csv, slot_records, this_platform, versions
from prep.records import read_record
from prep.report import report_md
from prep.report_files import report_files
from prep.report_page import report_html
from prep.stages.reference_eq import ReferenceEq
from prep.stimuli import stimuli_csv
from prep.store import Store, digest
from prep.takes import cut_plan, failure_of, models_of
from prep.unblinding import read_unblinded
from prep.unconfigured import study_of
from prep.verify import verify_output
from prep.workers import available_cores, local_workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prep.progress import Progress
    from prep.unconfigured import Place


@dataclass(frozen=True)
class Done:
    """A finished run or audit: its record, where it is, and what its exit code is."""

    record: dict[str, Any] = field(repr=False)
    output: Path | None = None
    folder: Path | None = None

    @property
    def exit_code(self) -> int:
        """0 where every slot is filled, no clip failed and every limit holds, else 1."""
        return 1 if failures(self.record) else 0


def run_study(
    config: Path,
    progress: Progress,
    *,
    workers: int | None = None,
    secret: Path | None = None,
    fail_if: Sequence[str] = (),
) -> Done:
    """Prepare a study and write its output folder.

    Args:
        config: the study's YAML file.
        progress: what is told of the work.
        workers: processes; the config's number or the cores by default. No effect on the result.
        secret: file with the secret that keys the ids, in place of the output folder's own.
        fail_if: limits besides those of the config.

    Raises:
        ConfigError: the config or the table is wrong.
        RefusedError: the clips cannot keep what the config promises; nothing is written.
        NothingUsableError: no clip is left.
    """
    started = time.time()
    plan = checked(config)
    _check_limits(plan, fail_if)
    _tell(plan, progress)
    plan = cut_plan(plan, progress, workers)
    with _treated(plan, progress, workers) as (runner, branches):
        output = plan.loaded.path(plan.loaded.study.output)
        record = _record(plan, runner, branches, study_secret(output, secret), fail_if)
        record["own_secret"] = secret is None
        record["unblinded"] = read_unblinded(output)
        excerpts = made_excerpts(record, [entry.row.path for entry in runner.entries], runner.store)
        record["excerpts"] = excerpts.record
        manifest, key = manifest_csv(record["clips"]), key_csv(record["clips"], record["slots"])
        files = {
            "manifest.csv": manifest,
            "key.csv": key,
            "stimuli.csv": stimuli_csv(record),
            "report.html": report_html(record, excerpts.files).encode(),
            "report.md": report_md(record).encode(),
            "methods.md": methods_md(record).encode(),
            **report_files(record),
        }
        record["files"] = {name: digest(data) for name, data in files.items()}
        record |= _volatile(started)
        files["run.json"] = json_bytes(record)
        folder = publish(output, runner.store, record, files, excerpts.files)
    return Done(record, output, folder)


def audit_study(config: Path, progress: Progress, *, workers: int | None = None, fail_if: Sequence[str] = ()) -> Done:
    """Return what a run would prove, without writing an output folder.

    Raises:
        ConfigError, RefusedError, NothingUsableError: as `run_study`.
    """
    return audit_plan(checked(config), progress, workers=workers, fail_if=fail_if)


def audit_place(place: Place, progress: Progress, *, workers: int | None = None, fail_if: Sequence[str] = ()) -> Done:
    """Return the audit of clips as they lie, without a config; nothing is written.

    Raises:
        ConfigError, RefusedError, NothingUsableError: as `run_study`.
    """
    with TemporaryDirectory(prefix="prep-audit-") as scratch:
        plan = plan_of(study_of(place, Path(scratch)), place.path.parent)
        return audit_plan(plan, progress, workers=workers, fail_if=fail_if)


def audit_run(output: Path, fail_if: Sequence[str] = ()) -> Done:
    """Return what the latest run of an output folder proved, once its files are found to be as it left them.

    Raises:
        ConfigError: there is no run, or a file is not as recorded.
    """
    found = verify_output(output)
    if found.problems:
        raise ConfigError(found.problems)
    record = read_record(output)
    cues = (record["audit"] or {}).get("cues", {})
    limits = [parse_limit(text, cues) for text in (*(limit["limit"] for limit in record["limits"]), *fail_if)]
    return Done(record | {"limits": judged(limits, record["audit"])}, output)


def audit_plan(plan: Plan, progress: Progress, *, workers: int | None = None, fail_if: Sequence[str] = ()) -> Done:
    """Return the audit of a plan.

    Raises:
        ConfigError, RefusedError, NothingUsableError: as `run_study`.
    """
    _check_limits(plan, fail_if)
    _tell(plan, progress)
    plan = cut_plan(plan, progress, workers)
    with _treated(plan, progress, workers) as (runner, branches):
        return Done(_record(plan, runner, branches, b"", fail_if))


def _check_limits(plan: Plan, fail_if: Sequence[str]) -> None:
    """Refuse limits that are not well formed before any work.

    Raises:
        ConfigError: there is one.
    """
    for text in fail_if:
        parse_limit(text, [*plan.loaded.study.audited(), ALL])


@contextmanager
def _treated(plan: Plan, progress: Progress, workers: int | None) -> Iterator[tuple[Runner, Sequence[Branch]]]:
    """Inspect, fit and render every clip of a plan."""
    study = plan.loaded.study
    count = workers or study.workers or available_cores()
    entries = [Entry(row, plan.half_of(row), failure=failure_of(row)) for row in plan.rows]
    for slot in plan.slots:
        for place in slot.candidates:
            entries[place].slot = slot.name
    store = Store(plan.loaded.path(study.cache))
    with local_workers(min(count, len(entries))) as pool, threadpool_limits(1):
        runner = Runner(study, entries, pool, store, progress, slots=plan.slots)
        branches = branches_of(study, entries, plan.chain)
        runner.inspect(plan.chain, branches)
        for notice in runner.notices:
            progress.say(f"note: {notice}")
        runner.fit(plan.chain, branches)
        runner.render(plan.chain, branches)
        runner.look(plan.chain, next(branch for branch in branches if branch.name == "release"))
        progress.say("audit: comparing the conditions on every cue")
        yield runner, branches


def _record(
    plan: Plan, runner: Runner, branches: Sequence[Branch], secret: bytes, fail_if: Sequence[str]
) -> dict[str, Any]:
    """Return run.json without its volatile fields and file hashes."""
    study = plan.loaded.study
    clips = [clip_record(entry, secret) for entry in runner.entries]
    by_branch = {branch.name: branch for branch in branches}
    evidence = by_branch.get("evidence", by_branch["release"])
    fits = {
        name: {plan.chain.stages[place].NAME: fit.model_dump(mode="json") for place, fit in branch.fits.items()}
        for name, branch in (("evidence", evidence), ("release", by_branch["release"]))
    }
    audit = audit_columns(study, runner.entries, runner.cues)
    limits = [parse_limit(text, [*study.audited(), ALL]) for text in (*study.audit.fail_if, *fail_if)]
    return {
        "study": study.study,
        "config": study.resolved(),
        "seed": study.heldout.seed,
        "chain": [stage.NAME for stage in plan.chain.stages] + [plan.chain.encoder.NAME],
        "split": split_record(plan),
        "fits": fits,
        "references": _references(plan),
        "fit_intervals": fit_intervals(study, runner.entries, plan.chain),
        "stability": _stability(plan, runner, by_branch["release"]),
        "audit": audit,
        "limits": judged(limits, audit),
        "one_sided": _one_sided(plan),
        "counts": dict(Counter(clip["status"] for clip in clips)),
        "notices": [str(notice) for notice in (*plan.notices, *runner.notices)],
        "takes": plan.cut,
        "slots": slot_records(plan.slots, clips),
        "clips": clips,
        "versions": versions(),
        "models": digests_of(sorted({*study.models(), *models_of(study.takes, plan.cut)})),
    }


def _references(plan: Plan) -> dict[str, Any]:
    """Return, by stage, the spectrum that clips are matched to where it was given and is no fit."""
    return {
        stage.NAME: stage.reference(None).model_dump(mode="json")
        for stage in plan.chain.stages
        if isinstance(stage, ReferenceEq) and stage.fits_on() == "nothing"
    }


def _stability(plan: Plan, runner: Runner, release: Branch) -> dict[str, Any]:
    """Return, by stage that corrects a cue, how far the held-out AUC moves over other splits."""
    study = plan.loaded.study
    if study.compare is None or len(study.compare.sides) > 2 or plan.split is None or study.heldout.release != "all":
        return {}
    pair = study.compare.sides
    found = {}
    for place, stage in enumerate(plan.chain.stages):
        if stage.CORRECTS:
            measured = [
                item
                for item in runner.measured(plan.chain, release, place)
                if item.row.columns.get(study.compare.column) in pair
            ]
            found[stage.NAME] = stability(stage, measured, study.compare, study.heldout, plan.split_by)
    return found


def _one_sided(plan: Plan) -> list[dict[str, Any]]:
    """Return the stages that treat some of the compared clips only, and how many of each condition."""
    compare = plan.loaded.study.compare
    if compare is None:
        return []
    found = []
    for stage in plan.chain.stages:
        chosen = stage.applies_to()
        treated = Counter(
            row.columns.get(compare.column, "")
            for row in plan.rows
            if row.role == "stimulus" and row.selected_by(chosen)
        )
        if chosen is not None and stage.alters():
            found.append({"stage": stage.NAME, "rows": chosen, "treated_by_condition": dict(sorted(treated.items()))})
    return found


def _volatile(started: float) -> dict[str, Any]:
    """Return the fields that differ between runs of the same study."""
    return {
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 3),
        "platform": this_platform(),
    }


def _tell(plan: Plan, progress: Progress) -> None:
    """Say before the work what is known to be wrong, and what will be done."""
    for problem in (*plan.notices, *plan.clip_problems):
        progress.say(f"note: {problem}")
    summary = plan_summary(plan)
    conditions = ", ".join(f"{count} {name or 'unlabelled'}" for name, count in summary["clips_by_condition"].items())
    chain = ", ".join(name for step in summary["chain"] for name in step)
    progress.say(f"{summary['study']}: {summary['clips']} clips ({conditions}); {chain}")
