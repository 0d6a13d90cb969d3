"""Cutting alone: the takes of a table or a study become a folder of clips, with a table and a page, without a chain."""

from __future__ import annotations

import csv
import io
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from prep.check import checked
from prep.cut_page import cut_page
from prep.errors import ConfigError, NothingUsableError, Problem
from prep.record import json_bytes
from prep.rows import check_rows
from prep.scripts import SCRIPT_COLUMN, with_lines
from prep.store import Store, write_whole
from prep.table import read_table
from prep.takes import cut_takes, padding_of
from prep.workers import available_cores, local_workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prep.progress import Progress
    from prep.scripts import Take
    from prep.study import Takes
    from prep.table import Row
    from prep.takes import CutTakes

CONFIG_SUFFIXES = (".yaml", ".yml")
TABLE, PAGE, RECORD = "clips.csv", "review.html", "takes.json"
# What the table tells of a clip, beside the columns of its take.
TOLD = ("line", "attempt", "rank", "attempts", "start_sample", "onset_sample", "offset_sample", "end_sample", "cut_by")


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
    """What is cut: the takes, the whole table with a row a line, and where results are kept."""

    takes: Sequence[Take]
    rows: Sequence[Row]
    settings: Takes
    notices: Sequence[Problem]
    cache: Path


def cut_place(place: Path, output: Path, settings: Takes, progress: Progress, *, workers: int | None = None) -> Cut:
    """Cut the takes of a table or of a study, and write clips, table, page and record into a folder.

    Args:
        place: a clip table with a `script` column, or a study's config.
        output: a folder; what an earlier cut wrote there is written anew.
        settings: how the takes of a table are cut; a study has its own.
        progress: what is told of the work.
        workers: processes.

    Raises:
        ConfigError: the table, a script or the config is wrong, or there is no take.
        RefusedError: no clip is left to take lengths from, or a clip cannot be written.
        NothingUsableError: no line was found.
    """
    with _source(place, settings) as source:
        if not source.takes:
            what = "no row has a script"
            raise ConfigError([Problem(str(place), what, "name the file of its lines in a column script")])
        for notice in source.notices:
            progress.say(f"note: {notice}")
        store = Store(source.cache)
        with local_workers(min(workers or available_cores(), len(source.rows))) as pool:
            padding = padding_of(source.settings, source.rows, pool, store, progress)
            result = cut_takes(
                source.takes, source.rows, source.settings, padding, pool=pool, store=store, progress=progress
            )
        for notice in result.notices:
            progress.say(f"note: {notice}")
        _write(source, result, output)
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
        yield _Source(plan.takes, plan.rows, study.takes, plan.notices, plan.loaded.path(study.cache))
        return
    reading, takes = with_lines(check_rows(read_table(place)))
    if reading.problems:
        raise ConfigError(reading.problems)
    with TemporaryDirectory(prefix="prep-cut-") as scratch:
        yield _Source(takes, reading.rows, settings, reading.notices, Path(scratch))


def _write(source: _Source, result: CutTakes, output: Path) -> None:
    """Write the clips, then what names them.

    Raises:
        ConfigError: a clip would be written over a source.
        NothingUsableError: there is no clip.
    """
    clips = [row for row in result.rows if row.take is not None and "line" in row.take]
    if not clips:
        reasons = "\n".join(
            f"  {take['file_name']}: {line['why']}" for take in result.takes for line in take["missing"]
        )
        raise NothingUsableError(f"no line was found in any take:\n{reasons}")
    sources = {row.path.resolve() for row in source.rows}
    for row in clips:
        if (output / row.file_name).resolve() in sources:
            what = f"the clip {row.file_name} would be written over a source"
            raise ConfigError([Problem(str(output), what, "name another folder")])
    for row in clips:
        write_whole(output / row.file_name, row.path.read_bytes())
    write_whole(output / RECORD, json_bytes({"takes": result.takes, "clips": Cut(output, result).as_dict()["clips"]}))
    write_whole(output / TABLE, _table(result.rows, output))
    write_whole(output / PAGE, cut_page(source.takes, result).encode())


def _table(rows: Sequence[Row], output: Path) -> bytes:
    """Return the table of the clips, the best reading of each line first; rows without a take name their own files."""
    columns = list(dict.fromkeys(name for row in rows for name in row.columns if name != SCRIPT_COLUMN))
    told = [name for name in TOLD if name not in columns]
    text = io.StringIO()
    writer = csv.DictWriter(text, [*columns, "take", *told], restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        about = dict(row.take or {})
        if "missing" in about:
            continue
        name = row.file_name if about else os.path.relpath(row.path, output)
        figures = {name: about[name] for name in told if name in about}
        writer.writerow({**row.columns, "file_name": name, "take": about.get("file_name", ""), **figures})
    return text.getvalue().encode()
