"""What the commands print: tables for people, JSON for machines. The result goes to stdout."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from prep.comparison import NOT_THERE
from prep.names import shown
from prep.prose import counted, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from prep.check import Plan
    from prep.comparison import Change, Comparison
    from prep.cut_place import Cut
    from prep.lint import Lint
    from prep.measure import Measures
    from prep.run import Done
    from prep.screens import Screened
    from prep.suggest import Suggestion
    from prep.verify import Verification

PLAIN_WIDTH = 160
MOST_NAMES = 3  # of clips in one line
MOST_VALUES = 8  # of a list


def show_json(value: Any) -> None:
    """Print a value as JSON, in ASCII: no encoding of a pipe can spoil it."""
    print(json.dumps(value, indent=2, allow_nan=False))  # noqa: T201


def show_run(done: Done, *, as_json: bool) -> None:
    """Print what a run came to: its record as JSON, or five lines."""
    from prep.outcome import outcome_lines

    if as_json:
        show_json(done.record)
        return
    _show_takes(done.record.get("takes", []))
    for line in outcome_lines(done.record, os.path.relpath(done.output) if done.output else ""):
        _print(line)


def show_audit(done: Done, *, as_json: bool) -> None:
    """Print the audit: as JSON, or as a table of cues."""
    if as_json:
        show_json(
            {
                name: done.record[name]
                for name in ("study", "split", "fits", "fit_intervals", "stability", "audit", "limits")
            }
        )
        return
    _show_set_aside(done.record)
    _show_cues(done.record)


def show_suggestion(done: Suggestion, *, as_json: bool) -> None:
    """Print what was tried and what it cost, what the held-out half says, and the chain as YAML with a conclusion.

    What follows the chain are comments, so that all from `chain:` on can go into a config as it is.
    """
    import yaml

    if as_json:
        tried = [{**asdict(item), "rung": item.rung._asdict() if item.rung else None} for item in done.tried]
        names = ("study", "split", "fits", "audit")
        found = {name: done.record[name] for name in names}
        about = {"margin": done.margin, "unreached": done.unreached, "too_small": done.too_small}
        about |= {"left_out": done.left_out, "conclusion": done.conclusion}
        show_json({**about, "chain": done.chain, "tried": tried, **found})
        return
    rows = [
        (
            ", ".join(item.separation),
            f"{item.rung.step} {_parameters(item.rung.parameters, '')}".strip() if item.rung else "none",
            ", ".join(_number(apart) for apart in item.separation.values()),
            _number(item.spectral_change_db),
            item.why or ("" if item.rung else "before any setting for these cues"),
        )
        for item in done.tried
    ]
    _print(f"separation on unseen speakers of the fit split, by folds; wanted: at most {done.margin:g}")
    _table(("cues", "setting", "separation", "spectral change (dB)", ""), rows)
    _print("the held-out half, opened once:")
    _show_cues(done.record)
    for line in yaml.safe_dump({"chain": done.chain}, sort_keys=False, allow_unicode=True).splitlines():
        _print(line)
    for line in (*done.left_out, done.conclusion):
        _print(f"# {line}")


def show_comparison(done: Comparison, *, as_json: bool) -> None:
    """Print what changed between two runs, conclusions first."""
    if as_json:
        parts = {name: [change._asdict() for change in changes] for name, changes in done.parts.items()}
        show_json({"studies": done.studies, "delivered": done.delivered, **parts})
        return
    for line in _comparison_lines(done):
        _print(line)


def _comparison_lines(done: Comparison) -> Iterator[str]:
    """Yield what changed, conclusions first; of clips and figures a line for what belongs together."""
    one_study = done.studies[0] == done.studies[1]
    if not one_study:
        yield f"these are records of different studies ({', '.join(done.studies)}): only what both have is compared"
    for change in done.conclusions:
        yield f"a conclusion changed: {change.what} was {_leaf(change.first)}, is {_leaf(change.second)}"
    for part in ("config", "versions", "fits"):
        yield from (f"{part}: {change.what}: {_from_to(change)}" for change in done.parts[part])
    for (first, second), names in done.clips_by_change.items():
        more = [f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
        yield (
            f"clips: {len(names)} of {counted(done.delivered, 'clip')} differ in bytes"
            if first == second
            else f"clips: {len(names)} {first} -> {second}: {joined([*names[:MOST_NAMES], *more])}"
        )
    for cue, changes in done.figures_by_cue.items():
        yield f"figures: {cue}: {', '.join(f'{change.what} {_from_to(change)}' for change in changes)}"
    if not any(done.parts.values()):
        yield "the two runs are the same" if one_study else "what both have is the same"
    elif not done.conclusions:
        yield "no conclusion changed"


def _from_to(change: Change) -> str:
    return f"{_leaf(change.first)} -> {_leaf(change.second)}"


def _leaf(value: Any) -> str:
    """Return a value of a record; None is what is not there. Of a long list only the length is told."""
    if isinstance(value, list) and len(value) > MOST_VALUES:
        return f"[{len(value)} values]"
    return NOT_THERE if value is None else _number(value) if isinstance(value, float) else _plain(value)


def show_plan(plan: Plan, *, as_json: bool) -> None:
    """Print the plan of a study, and what is already known to be wrong with some files."""
    from prep.check import plan_summary

    summary = plan_summary(plan)
    if as_json:
        show_json(summary)
        return
    _print(f"{summary['study']}: {summary['clips']} clips")
    _table(("condition", "clips"), [(name or "(none)", count) for name, count in summary["clips_by_condition"].items()])
    if summary["split"]:
        split = summary["split"]
        rows = [
            (half, condition, split["groups"][condition][half], clips)
            for condition, halves in split["clips"].items()
            for half, clips in halves.items()
        ]
        _table(("half", "condition", f"{split['by']}s", "clips"), rows)
    rates = [
        (condition or "(none)", rate, count)
        for condition, held in summary["rates_by_condition"].items()
        for rate, count in held.items()
    ]
    _table(("condition", "source rate (Hz)", "clips"), rates)
    _table(
        ("step", "parameters"),
        [(name, _parameters(parameters)) for step in summary["chain"] for name, parameters in step.items()],
    )
    for line in (*summary["notices"], *summary["clip_problems"]):
        _print(f"note: {line}")


def show_measures(measures: Measures, *, as_json: bool) -> None:
    """Print the measures of files."""
    if as_json:
        show_json(measures.files)
        return
    for file in measures.files:
        _print(file["file"])
        if "error" in file:
            _print(f"  {file['error']}")
            continue
        rows = [(name, _number(value)) for name, value in file["measures"].items()]
        facts = {name: file["facts"][name] for name in ("container", "codec", "rate", "channels", "frames")}
        _table(("measure", "value"), [*((name, str(value)) for name, value in facts.items()), *rows])
        for cue, reason in file["undefined"].items():
            _print(f"  {cue}: {reason}")


def show_screened(done: Screened, page: Path | None, *, as_json: bool) -> None:
    """Print what the checks found: clips that fail, are cut, flagged or not checked, and a count of the rest."""
    if as_json:
        show_json(done.as_dict())
        return
    rows = []
    for row, found, error in zip(done.rows, done.findings, done.errors, strict=True):
        if error or found is None:
            rows.append((row.file_name, "unreadable", error))
            continue
        told = [item for item in found.findings if item.outcome not in ("passed", "skipped")]
        rows += [(row.file_name, item.outcome, item.reason) for item in told]
        if skipped := [item.check for item in found.findings if item.outcome == "skipped"]:
            rows.append((row.file_name, "skipped", f"{', '.join(skipped)}: it is turned down already"))
    if rows:
        _table(("clip", "outcome", "what"), rows)
    passed = sum(found is not None and found.passed for found in done.findings)
    _print(f"{done.place}: {passed} of {len(done.rows)} clips pass every check ({', '.join(done.checks)})")
    if page is not None:
        _print(f"page: {page}")


def show_cut(done: Cut, *, as_json: bool) -> None:
    """Print what became of takes: lines without a clip, what was cut by pauses alone, and where the clips are."""
    if as_json:
        show_json(done.as_dict())
        return
    rows = [
        (take["file_name"], line["line"], line["text"], line["why"])
        for take in done.result.takes
        for line in take["missing"]
    ]
    if rows:
        _table(("take", "line", "text", "no clip, because"), rows)
    _show_takes(done.result.takes)
    output = os.path.relpath(done.output)
    _print(f"table: {output}/clips.csv")
    _print(f"page: {output}/review.html")


def show_verification(done: Verification, *, as_json: bool) -> None:
    """Print what is not as recorded."""
    if as_json:
        problems = [{"where": item.where, "what": item.what, "todo": item.todo} for item in done.problems]
        show_json({"output": str(done.output), "clips": done.clips, "records": done.records, "problems": problems})
        return
    for problem in done.problems:
        _print(f"{problem}")
    state = "all as recorded" if not done.problems else f"{len(done.problems)} not as recorded"
    _print(f"{done.output}: {done.clips} clips and {done.records} record{'s' * (done.records != 1)}: {state}")


def show_lint(done: Lint, *, as_json: bool) -> None:
    """Print what tells the conditions apart, and what is only worth knowing."""
    if as_json:
        show_json({**asdict(done), "folder": str(done.folder)})
        return
    for leak in done.leaks:
        _print(f"leak: {leak}")
    for note in done.notes:
        _print(f"note: {note}")
    conditions = ", ".join(f"{count} {name}" for name, count in done.conditions.items())
    state = f"{len(done.leaks)} leak{'s' * (len(done.leaks) != 1)}" if done.leaks else "nothing tells them apart"
    _print(f"{done.folder}: {done.clips} clips ({conditions}): {state}")


def show_stages(stages: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Print stages, with the parameters where there is only one."""
    if as_json:
        show_json(stages)
        return
    _table(("stage", "fits on", "purpose"), [(stage["name"], stage["fits_on"], stage["purpose"]) for stage in stages])
    if len(stages) == 1:
        rows = [
            (item["name"], "required" if item["required"] else _plain(item["default"]), item["description"])
            for item in stages[0]["parameters"]
        ]
        _table(("parameter", "default", "meaning and unit"), rows)


def _show_takes(takes: Iterable[Mapping[str, Any]]) -> None:
    """Print how many lines of each take were found, and how it was cut."""
    for take in takes:
        found = take["lines"] - len(take["missing"])
        why = take["why_by_pauses"]
        how = f"by its pauses alone, words unchecked: {why}" if why else "by its words"
        _print(f"{take['file_name']}: {found} of {take['lines']} lines, {take['clips']} clips, cut {how}")


def _show_set_aside(record: Mapping[str, Any]) -> None:
    """Print each clip that is not delivered, and why."""
    rows = [
        (clip["file_name"], clip["failure"]["step"], clip["failure"]["reason"])
        for clip in record["clips"]
        if clip["failure"]
    ]
    if rows:
        _table(("not delivered", "step", "reason"), rows)
    for slot in record["slots"]:
        if slot["candidates"] > 1 and slot["instead_of"]:
            lost = ", ".join(item["file_name"] for item in slot["instead_of"])
            filled = f"filled by {slot['filled_by']} instead of" if slot["filled_by"] else "empty, after"
            _print(f"slot {slot['slot']}: {filled} {lost}")


def _show_cues(record: Mapping[str, Any]) -> None:
    """Print each cue with its AUC by column, and the verdict on held-out clips after the treatment; widest first."""
    from prep.recorded import alone_figure, fullest, last_column, thin_sentence, widest_first

    audit = record["audit"]
    for limit in record["limits"]:
        _print(f"limit {limit['limit']}: " + (f"broken, {limit['why']}" if limit["broken"] else "holds"))
    if audit is None:
        return
    rows = []
    for name in widest_first(audit):
        found = [(audit[column] or {}).get(name, {}) for column in ("before", "after", "delivered")]
        alone = alone_figure((audit[last_column(audit)] or {}).get(name, {}))
        after = found[1]
        figures = [_number(column.get("auc")) + _pair_of(column) for column in found]
        p, verdict = _number(after.get("p_familywise")), after.get("verdict", "descriptive only")
        rows.append((name, *figures, alone, p, verdict))
    what = (
        f"AUC of each cue, {audit['b']} above {audit['a']} (0.5 is chance)"
        if "pairs" not in audit
        else "AUC of each cue for the pair of conditions that it tells apart best, the second above the first"
    )
    _print(f"{what}; before and after are on held-out clips")
    _table(("cue", "before", "after", "delivered", "widest number", "p familywise", "verdict"), rows)
    most = fullest(audit)
    if most:
        held = f"{most['units_a']} and {most['units_b']} units" if "units_a" in most else "whole units"
        _print(
            f"held out: {held} ({audit['unit']}); "
            f"the smallest p they can give is {most['smallest_p']:.3g}"
            + ("" if most["smallest_p"] <= 0.05 else ", too few to settle anything")
            + (f".{thin_sentence(audit)}" if thin_sentence(audit) else "")
        )
    else:
        _print(f"nothing is tested: {_why_untested(record)}")


def _why_untested(record: Mapping[str, Any]) -> str:
    audit = record["audit"]
    if not record["split"]:
        return "no clip is held out"
    return "see the verdicts" if audit["after"] else f"clips are held out, but not every one has a {audit['unit']}"


def _pair_of(found: Mapping[str, Any]) -> str:
    """Return the pair of conditions that a figure is for, where there are several."""
    return f" {found['pair'][0]}/{found['pair'][1]}" if found.get("pair") else ""


def _parameters(parameters: Mapping[str, Any], nothing: str = "-") -> str:
    return ", ".join(f"{name}: {_plain(value)}" for name, value in parameters.items()) or nothing


def _plain(value: Any) -> str:
    """Return a value as YAML would have it."""
    if isinstance(value, dict):
        return "{" + _parameters(value) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_plain(item) for item in value) + "]"
    return "none" if value is None else str(value)


def _number(value: float | str | None) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.3f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table that wraps on a terminal and keeps whole lines elsewhere."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*head, box=box.SIMPLE, pad_edge=False)
    for row in rows:
        table.add_row(*(shown(str(cell), sys.stdout.encoding) for cell in row))
    columns = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or PLAIN_WIDTH)
    console = Console(width=columns)
    console.print(table, markup=False, highlight=False)


def _print(text: str) -> None:
    print(shown(text, sys.stdout.encoding))  # noqa: T201
