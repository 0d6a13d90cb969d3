"""Cutting alone: the takes of a table or a study become a folder of clips, with a table and a page, without a chain."""

from __future__ import annotations

import csv
import io
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from prep.check import checked
from prep.cut_page import cut_page
from prep.destinations import check_destination, file_in_the_way, writing_to
from prep.document import CONFIG_SUFFIXES
from prep.errors import ConfigError, NothingUsableError, Problem
from prep.names import exists
from prep.prose import joined
from prep.record import json_bytes
from prep.rows import check_rows
from prep.scripts import SCRIPT_COLUMN, attempt_name, planned_name, with_lines
from prep.store import Store, write_whole
from prep.table import likewise, read_table
from prep.takes import cut_takes, padding_of
from prep.workers import available_cores, local_workers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from prep.progress import Progress
    from prep.scripts import Take
    from prep.study import Takes
    from prep.table import Row
    from prep.takes import CutTakes

TABLE, PAGE, RECORD = "clips.csv", "review.html", "takes.json"
# What the table tells of a clip, beside the columns of its take.
TOLD = (
    "take",
    "line",
    "attempt",
    "rank",
    "attempts",
    "start_sample",
    "onset_sample",
    "offset_sample",
    "end_sample",
    "cut_by",
)


@dataclass(frozen=True)
class Cut:
    """Takes that were cut into a folder."""

    output: Path
    result: CutTakes = field(repr=False)

    @property
    def exit_code(self) -> int:
        """0 where every line has a clip, else 1."""
        return 1 if any(row.take and "missing" in row.take for row in self.result.rows) else 0

    def as_dict(self) -> dict[str, Any]:
        """Return it for a machine."""
        clips = [
            {**row.take, "take": row.take["file_name"], "file_name": row.file_name}
            for row in self.result.rows
            if row.take and "line" in row.take
        ]
        return {"output": str(self.output), "takes": self.result.takes, "clips": clips}


@dataclass(frozen=True)
class _Source:
    """What is cut: takes, the whole table with a row a line, real paths of all that is read, and where results go."""

    takes: Sequence[Take]
    rows: Sequence[Row]
    files: Collection[str]
    settings: Takes
    notices: Sequence[Problem]
    cache: Path
    slots_by: Sequence[str] = ()


def cut_place(place: Path, output: Path, settings: Takes, progress: Progress, *, workers: int | None = None) -> Cut:
    """Cut the takes of a table or of a study, and write clips, table, page and record into a folder.

    Args:
        place: a clip table with a `script` column, or a study's config.
        output: a folder; what an earlier cut wrote there is written anew, or removed.
        settings: how the takes of a table are cut; a study has its own.
        progress: what is told of the work.
        workers: processes.

    Raises:
        ConfigError: the table, a script or the config is wrong, there is no take, or what no cut wrote is in the way.
        RefusedError: no clip is left to take lengths from, or the folder cannot be written.
        NothingUsableError: no line was found; nothing of an earlier cut is left.
    """
    with _source(place, settings) as source:
        if not source.takes:
            what = "no row has a script"
            raise ConfigError([Problem(str(place), what, "name the file of its lines in a column script")])
        former = _former(output)
        lines = [line.row.file_name for take in source.takes for line in take.lines]
        _refuse_others(source, output, [TABLE, PAGE, RECORD, *(attempt_name(name, 1) for name in lines)], former)
        check_destination(output)
        for folder in {(output / name).parent for name in lines}:
            if folder.is_dir():
                check_destination(folder)
        renamed = {name: ours for name, ours in _told_names(source.rows).items() if name != ours}
        if renamed:
            what = f"the table has columns of its own named {joined([*renamed])}"
            note = Problem(str(place), what, f"{TABLE} tells those of the cut as {joined([*renamed.values()])}")
            progress.say(f"note: {note}")
        for notice in source.notices:
            progress.say(f"note: {notice}")
        store = Store(source.cache)
        with local_workers(min(workers or available_cores(), len(source.rows))) as pool:
            padding = padding_of(source.settings, source.rows, pool, store, progress)
            result = cut_takes(
                source.takes,
                source.rows,
                source.settings,
                padding,
                source.slots_by,
                pool=pool,
                store=store,
                progress=progress,
            )
        for notice in result.notices:
            progress.say(f"note: {notice}")
        _write(source, result, output, former)
    return Cut(output, result)


@contextmanager
def _source(place: Path, settings: Takes) -> Iterator[_Source]:
    """Give what is cut; what a table's takes leave behind goes into a folder that is thrown away.

    Raises:
        ConfigError: the table, a script or the config is wrong.
    """
    if place.suffix.lower() in CONFIG_SUFFIXES:
        plan = checked(place)
        study = plan.loaded.study
        table = plan.loaded.path(study.clips.table or study.clips.folder or "")
        files = _files(place, table, plan.takes, plan.rows)
        cache = plan.loaded.path(study.cache)
        yield _Source(plan.takes, plan.rows, files, study.takes, plan.notices, cache, study.slots.by)
        return
    reading, takes = with_lines(check_rows(read_table(place)))
    if reading.problems:
        raise ConfigError(reading.problems, reading.notices)
    with TemporaryDirectory(prefix="prep-cut-") as scratch:
        files = _files(place, reading.folder / reading.name, takes, reading.rows)
        yield _Source(takes, reading.rows, files, settings, reading.notices, Path(scratch))


def _files(place: Path, table: Path, takes: Iterable[Take], rows: Iterable[Row]) -> set[str]:
    """Return the real paths of what a cut reads: the config, the table, the scripts, the takes and the other clips."""
    folder = table if table.is_dir() else table.parent
    scripts = [folder / take.script for take in takes]
    return {os.path.realpath(path) for path in (place, table, *scripts, *(row.path for row in rows))}


def _former(output: Path) -> set[str]:
    """Return the names of what an earlier cut wrote into a folder, as its record tells; none where there is none."""
    try:
        clips = json.loads((output / RECORD).read_bytes())["clips"]
        names = [PurePath(clip["file_name"]) for clip in clips]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()
    inside = [name for name in names if not name.is_absolute() and ".." not in name.parts]
    return {TABLE, PAGE, RECORD, *(name.as_posix() for name in inside if planned_name(name.as_posix()))}


def _refuse_others(source: _Source, output: Path, names: Iterable[str], former: Collection[str]) -> None:
    """Refuse to write over what the cut reads, and over what no earlier cut wrote; of each kind the first is named.

    Raises:
        ConfigError: files of these names would be written over such.
    """
    places: dict[tuple[str, str], set[str]] = {}
    for name in names:
        problem = _in_the_way(output / name, source, ours=name in former)
        if problem is not None:
            places.setdefault((problem.what, problem.todo), set()).add(problem.where)
    if places:
        kinds = places.items()
        raise ConfigError([Problem(min(told), what + likewise(len(told) - 1), todo) for (what, todo), told in kinds])


def _in_the_way(path: Path, source: _Source, *, ours: bool) -> Problem | None:
    """Return why a file may not be written; `ours` says that an earlier cut wrote it."""
    if problem := file_in_the_way(path.parent):
        return problem
    if os.path.realpath(path) in source.files:
        return Problem(str(path), "is read by this cut, which would write over it", "name another folder")
    if path.is_dir():
        return Problem(str(path), "is a folder, and a file is to be there", "name another folder")
    if exists(path) and not ours:
        what = "is there already, and no earlier cut wrote it"
        return Problem(str(path), what, "name another folder, or move it away")
    return None


def _write(source: _Source, result: CutTakes, output: Path, former: Collection[str]) -> None:
    """Clear what an earlier cut wrote, then write the record, the clips that it names, and their table and page.

    Raises:
        ConfigError: a clip would be written over what no cut wrote.
        RefusedError: the folder cannot be written.
        NothingUsableError: there is no clip.
    """
    clips = [row for row in result.rows if row.take is not None and "line" in row.take]
    names = [row.file_name for row in clips]
    _refuse_others(source, output, names, former)
    with writing_to(output):
        for path in sorted(output / name for name in {*former} - {*names}):
            if path.is_file() and os.path.realpath(path) not in source.files:
                path.unlink()
    if not clips:
        cleared = f"; what an earlier cut wrote into {output} is removed" if former else ""
        whys = [f"  {take['file_name']}: {line['why']}" for take in result.takes for line in take["missing"]]
        reasons = "\n".join(dict.fromkeys(whys))
        raise NothingUsableError(f"no line was found in any take{cleared}:\n{reasons}")
    record = {"takes": result.takes, "clips": Cut(output, result).as_dict()["clips"]}
    page = cut_page(source.takes, result).encode()
    with writing_to(output):
        # First, so that of a cut that was killed the next one knows what is there.
        write_whole(output / RECORD, json_bytes(record))
        for row in clips:
            write_whole(output / row.file_name, row.path.read_bytes())
        write_whole(output / TABLE, _table(result.rows, output))
        write_whole(output / PAGE, page)


def _told_names(rows: Iterable[Row]) -> dict[str, str]:
    """Return under which names the table tells of clips: a name that a column of its own has is not taken."""
    columns = {name for row in rows for name in row.columns}
    names = {}
    for name in TOLD:
        names[name] = name
        while names[name] in columns:
            names[name] = f"cut.{names[name]}"
    return names


def _table(rows: Sequence[Row], output: Path) -> bytes:
    """Return the table of the clips, the best reading of each line first; rows without a take name their own files."""
    columns = list(dict.fromkeys(name for row in rows for name in row.columns if name != SCRIPT_COLUMN))
    told = _told_names(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, [*columns, *told.values()], restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        about = dict(row.take or {})
        if "missing" in about:
            continue
        about["take"] = about.get("file_name", "")
        name = row.file_name if row.take else os.path.relpath(row.path, output)
        figures = {ours: about[name] for name, ours in told.items() if name in about}
        writer.writerow({**row.columns, "file_name": name, **figures})
    return text.getvalue().encode()
