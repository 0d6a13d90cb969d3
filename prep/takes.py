"""Takes: long recordings with scripts become clips, one for each reading of a line, before the chain begins.

Cutting changes the table, not a clip. The rows of the lines are known from the scripts alone (`prep.scripts`), and
the split is drawn from these. Here each becomes as many rows as readings of its line were found: candidates of one
slot, the best first. A line without a reading keeps its row, with the reason, and is never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from prep.attempts import Task, clip_path, cut_take, rank_key, why_by_pauses
from prep.errors import ClipError, Problem, RefusedError
from prep.recogniser import PINNED
from prep.scripts import Take, attempt_name, is_take
from prep.slots import slots_of
from prep.stages.edges import Edges, EdgesMeasure
from prep.store import Store
from prep.visit import Failure, Measure, Source, Visit, visit
from prep.workers import available_cores, local_workers, work

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prep.check import Plan
    from prep.progress import Progress
    from prep.study import Takes
    from prep.table import Row
    from prep.units import Seconds
    from prep.workers import Workers

STEP = "takes"  # that the failure of a line without a clip names
DOUBTFUL_PERCENT = 20.0  # of the words of a line
DEFAULT_EDGE_SECONDS = 0.25  # of a head and a tail that nothing says

_Line = tuple[int, str]  # the number of its slot, and its passage


@dataclass(frozen=True)
class Padding:
    """How long heads and tails are wanted, in seconds, and of how many clips these are medians; 0: they are given."""

    head_seconds: Seconds
    tail_seconds: Seconds
    clips: int = 0


@dataclass(frozen=True)
class CutTakes:
    """What became of takes.

    Attributes:
        rows: the table with the clips in place of the lines.
        takes: what the record tells of each take.
        notices: what a researcher should know of it.
    """

    rows: list[Row] = field(repr=False)
    takes: list[dict[str, Any]]
    notices: list[Problem]


def cut_plan(plan: Plan, progress: Progress, workers: int | None = None) -> Plan:
    """Return a plan whose takes are cut: rows, slots, notices and what the record tells of the takes.

    Args:
        plan: of a study; without takes it is returned as it is.
        progress: what is told of the work.
        workers: processes.

    Raises:
        RefusedError: no clip is left to take lengths from, or the cache cannot be written.
    """
    if not plan.takes:
        return plan
    study = plan.loaded.study
    store = Store(plan.loaded.path(study.cache))
    count = min(workers or study.workers or available_cores(), len(plan.rows))
    with local_workers(count) as pool:
        padding = padding_of(study.takes, plan.rows, pool, store, progress)
        by = study.slots.by
        cut = cut_takes(plan.takes, plan.rows, study.takes, padding, by, pool=pool, store=store, progress=progress)
    slots = slots_of(cut.rows, by)
    return replace(plan, rows=cut.rows, slots=slots, takes=[], cut=cut.takes, notices=[*plan.notices, *cut.notices])


def cut_takes(
    takes: Sequence[Take],
    rows: Sequence[Row],
    settings: Takes,
    padding: Padding,
    slots_by: Sequence[str] = (),
    *,
    pool: Workers,
    store: Store,
    progress: Progress,
) -> CutTakes:
    """Return the table of some takes' clips.

    Args:
        takes: with their lines.
        rows: of the table, a row a line.
        settings: how they are cut.
        padding: heads and tails.
        slots_by: columns that name the slots, as `slots_of` takes them.
        pool: of workers.
        store: of what is known already; clips are written to its folder `takes`.
        progress: what is told of the work.

    Raises:
        RefusedError: a clip cannot be written.
    """
    folder = store.folder / "takes"
    why = why_by_pauses(settings.listener())
    tasks = [
        Task(
            index,
            str(take.row.path),
            take.row.file_name,
            tuple((line.number, line.text) for line in take.lines),
            why,
            settings.listener() or PINNED,
            settings.margin_seconds,
            padding.head_seconds,
            padding.tail_seconds,
            store,
            folder,
        )
        for index, take in enumerate(takes)
    ]
    known: dict[int, dict[str, Any]] = {}
    progress.begin("cut takes", len(tasks))
    for outcome in work(pool, cut_take, tasks):
        if isinstance(outcome.error, OSError):
            raise RefusedError(f"{folder}: {outcome.error}; make room or name another cache, and run again")
        known[outcome.task.index] = outcome.value or {"why": _why(outcome.error)}
        progress.advance()
    progress.end()
    answers = [known[index] for index in range(len(tasks))]
    told = [_told(take, answer, why, padding) for take, answer in zip(takes, answers, strict=True)]
    clips = _clips_by_line(takes, answers, folder, why)
    lost = {line["file_name"]: line["why"] for take in told for line in take["missing"]}
    order = {take.row.file_name: place for place, take in enumerate(takes)}
    lined = _attempts_at(rows, slots_by)
    table = list(_with_clips(lined, clips, lost, order))
    held = {line for row, line in lined if row.file_name in clips}
    elsewhere = {row.file_name for row, line in lined if row.file_name in lost and line in held}
    notices = [notice for take in told for notice in _notices(take, elsewhere)]
    return CutTakes(table, told, [*notices, *_doubtful(table)])


def _why(error: BaseException | None) -> str:
    """Return why a take could not be cut."""
    if isinstance(error, ClipError):
        return str(error)
    return f"{type(error).__name__}: {error} (this is a defect of prep)"


def failure_of(row: Row) -> Failure | None:
    """Return why a row stands for a line without a clip; None of any other row."""
    if row.take is None or "missing" not in row.take:
        return None
    return Failure(STEP, str(row.take["missing"]))


def models_of(settings: Takes, cut: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names in `prep.models` of what takes were cut by."""
    return [(settings.listener() or PINNED).model] if any(take["cut_by"] == "words" for take in cut) else []


def padding_of(settings: Takes, rows: Sequence[Row], pool: Workers, store: Store, progress: Progress) -> Padding:
    """Return the heads and tails that are given, or the medians of some clips that are no takes.

    Raises:
        RefusedError: none of these clips can be read.
    """
    if settings.lengths_of is None:
        return _given_padding(settings)
    stage = Edges()
    # Lines of takes have no length yet.
    chosen = [row for row in rows if not is_take(row) and row.selected_by(settings.lengths_of)]
    visits = [
        Visit(index, Source(str(row.path), row.file_name), (Measure((), stage),), store)
        for index, row in enumerate(chosen)
    ]
    progress.begin("measure heads and tails", len(visits))
    values: list[EdgesMeasure] = []
    for outcome in work(pool, visit, visits):
        answer = outcome.value[0] if outcome.value else None
        if isinstance(answer, dict):
            values.append(EdgesMeasure.model_validate(answer["value"]))
        progress.advance()
    progress.end()
    if not values:
        raise RefusedError(
            f"{STEP}: none of the clips of lengths_of can be measured, so there is no length to take; see what is "
            "wrong with them, or give head_seconds and tail_seconds"
        )
    head, tail = median(value.head_seconds for value in values), median(value.tail_seconds for value in values)
    return Padding(
        head if settings.head_seconds is None else settings.head_seconds,
        tail if settings.tail_seconds is None else settings.tail_seconds,
        len(values),
    )


def _given_padding(settings: Takes) -> Padding:
    """Return the heads and tails that settings give, or what they are where nothing is said."""
    head, tail = settings.head_seconds, settings.tail_seconds
    return Padding(DEFAULT_EDGE_SECONDS if head is None else head, DEFAULT_EDGE_SECONDS if tail is None else tail)


def _told(take: Take, answer: dict[str, Any], why: str, padding: Padding) -> dict[str, Any]:
    """Return what the record tells of a take."""
    names = {line.number: line.row.file_name for line in take.lines}
    missing = answer.get("missing")
    if missing is None:  # the take could not be read
        missing = [{"line": line.number, "text": line.text, "why": answer["why"]} for line in take.lines]
    return {
        "file_name": take.row.file_name,
        "sha256": answer.get("sha256"),
        "script": take.script,
        "rate": answer.get("rate"),
        "frames": answer.get("frames"),
        "cut_by": "pauses" if why else "words",
        "why_by_pauses": why or None,
        "head_seconds": padding.head_seconds,
        "tail_seconds": padding.tail_seconds,
        "lengths_of_clips": padding.clips,
        "lines": len(take.lines),
        "clips": len(answer.get("attempts", [])),
        "missing": [{**line, "file_name": names[line["line"]]} for line in missing],
        "left_over": answer.get("left_over", []),
    }


def _clips_by_line(
    takes: Sequence[Take], answers: Sequence[dict[str, Any]], folder: Path, why: str
) -> dict[str, list[Row]]:
    """Return the clips of each line, by the file name that the line's row has."""
    found: dict[str, list[Row]] = {}
    for take, answer in zip(takes, answers, strict=True):
        lines = {line.number: line for line in take.lines}
        for attempt in answer.get("attempts", []):
            line = lines[attempt["line"]]
            name = attempt_name(line.row.file_name, attempt["attempt"])
            about = {
                "file_name": take.row.file_name,
                "sha256": answer["sha256"],
                "script": take.script,
                "rate": answer["rate"],
                "cut_by": "pauses" if why else "words",
                **{name: value for name, value in attempt.items() if name != "clip_sha256"},
            }
            row = replace(
                line.row,
                file_name=name,
                path=clip_path(folder, attempt["clip_sha256"]),
                columns={**line.row.columns, "file_name": name},
                take=about,
            )
            found.setdefault(line.row.file_name, []).append(row)
    return found


def _with_clips(
    rows: Sequence[tuple[Row, _Line]], clips: dict[str, list[Row]], lost: dict[str, str], order: dict[str, int]
) -> Iterator[Row]:
    """Yield the table with the clips in place of the lines.

    The attempts at a line stand together where its first row stood, also those of another take, the best first. A
    line that no take holds keeps its row.

    Args:
        rows: of the table, each with the line that it is an attempt at.
        clips: of each line, by the file name of its row.
        lost: why a line has no clip, by the same.
        order: places of the takes, by their file names.
    """
    lines = {row.file_name for row, _ in rows if row.file_name in clips or row.file_name in lost}
    held: dict[_Line, list[Row]] = {}
    for row, key in rows:
        if row.file_name in lines:
            held.setdefault(key, []).append(row)
    done = set()
    for row, key in rows:
        if row.file_name not in lines:
            yield row
            continue
        if key in done:
            continue
        done.add(key)
        attempts = [clip for line in held[key] for clip in clips.get(line.file_name, [])]
        attempts.sort(key=lambda clip: rank_key(dict(clip.take or {}), order[(clip.take or {})["file_name"]]))
        for rank, clip in enumerate(attempts, 1):
            yield replace(clip, take={**(clip.take or {}), "rank": rank, "attempts": len(attempts)})
        if not attempts:
            yield from (replace(line, take={"missing": lost[line.file_name]}) for line in held[key][:1])


def _attempts_at(rows: Sequence[Row], slots_by: Sequence[str]) -> list[tuple[Row, _Line]]:
    """Return each row with what the attempts at one line have in common: the slot, by its number, and the passage."""
    slot_at = {place: number for number, slot in enumerate(slots_of(rows, slots_by)) for place in slot.candidates}
    return [(row, (slot_at[place], row.columns.get("passage", ""))) for place, row in enumerate(rows)]


def _doubtful(rows: Sequence[Row]) -> Iterator[Problem]:
    """Yield the lines whose best reading fails a check, or was heard to say something else."""
    for row in rows:
        if row.take is None or row.take.get("rank") != 1:
            continue
        figures = row.take["figures"]
        if figures["failed"]:
            what = f"the best reading of {row.columns['passage']} fails {' and '.join(figures['failed'])}"
            yield Problem(row.file_name, what, "listen to it")
        if figures.get("word_error_percent", 0.0) > DOUBTFUL_PERCENT:
            what = (
                f"{figures['word_error_percent']:.0f} % of the words of {row.columns['passage']} were heard otherwise, "
                f"as {row.take['heard']!r}"
            )
            yield Problem(row.file_name, what, "listen to it: the reading may be another, or the recogniser wrong")


def _notices(take: dict[str, Any], elsewhere: set[str]) -> Iterator[Problem]:
    """Yield what a researcher should know of a take.

    Args:
        take: what the record tells of it.
        elsewhere: the rows of lines that another take has a clip of.
    """
    where = take["file_name"]
    if take["cut_by"] == "pauses":
        what = (
            f"cut by its pauses and the length of its lines alone ({take['why_by_pauses']}): nobody checked the words"
        )
        yield Problem(where, what, "listen to its clips")
    for line in take["missing"]:
        of = "no clip of this take, and one of another" if line["file_name"] in elsewhere else "no clip"
        yield Problem(where, f"line {line['line']}, {line['text']!r}, has {of}: {line['why']}")
    if take["lengths_of_clips"]:
        what = (
            f"its clips have heads of {take['head_seconds']:.3f} s and tails of {take['tail_seconds']:.3f} s, the "
            f"medians of {take['lengths_of_clips']} clips, held-out ones among them"
        )
        yield Problem(where, what)
    if take["left_over"]:
        first = take["left_over"][0]["heard"]
        yield Problem(where, f"{len(take['left_over'])} stretches of speech are in no clip, as {first!r}")
