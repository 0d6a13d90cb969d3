"""Screens: the checks of a screen alone, over a folder or a table, without a study."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from prep.cue import Cue
from prep.document import did_you_mean
from prep.errors import ConfigError, Problem
from prep.models import check_models
from prep.names import SOUND_SUFFIXES, exists, is_utf8
from prep.rows import check_rows
from prep.screening import Findings
from prep.stages.screen import CHECKS, Screen
from prep.store import Store
from prep.table import TABLE_SUFFIXES
from prep.unconfigured import read_place
from prep.visit import Failure, Measure, Source, Visit, visit
from prep.workers import available_cores, local_workers, work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prep.progress import Progress
    from prep.table import Row


@dataclass(frozen=True)
class Screened:
    """What the checks found in each clip, in the order of the table; `error` where a clip cannot be read."""

    place: str
    checks: list[str]
    rows: list[Row] = field(repr=False)
    findings: list[Findings | None]
    errors: list[str]

    @property
    def exit_code(self) -> int:
        """0 where every clip passes every check; 1 where one does not, or was not checked; 4 where none can be read."""
        if all(self.errors):
            return 4
        return 0 if all(found is not None and found.passed for found in self.findings) else 1

    def as_dict(self) -> dict[str, Any]:
        """Return it for a machine."""
        clips = [
            {"file_name": row.file_name, "error": error}
            if error
            else {"file_name": row.file_name, **(found.model_dump(mode="json") if found else {})}
            for row, found, error in zip(self.rows, self.findings, self.errors, strict=True)
        ]
        return {"place": self.place, "checks": self.checks, "clips": clips}


def default_checks() -> list[str]:
    """Return the names of the cues that have limits of their own, without those that compare with a text."""
    return [name for name, check in CHECKS.items() if check.CUE.LIMITS and check.CUE.from_text is Cue.from_text]


def screen_place(
    place: Path,
    progress: Progress,
    *,
    pattern: str | None = None,
    checks: Sequence[str] = (),
    workers: int | None = None,
) -> Screened:
    """Return what the checks find in the clips of a table or a folder.

    Args:
        place: a clip table, or a folder that is searched for sound files.
        progress: what is told of the work.
        pattern: of a folder's paths; every sound file without one.
        checks: names of cues, with their own limits; by default all that have some and need no text.
        workers: processes.

    Raises:
        ConfigError: the clips cannot be listed, or a check does not exist.
        ModelMissingError: a check needs a model that is not here.
    """
    names = list(checks) or default_checks()
    unknown = [
        Problem("--check", f"{name}: no such check", did_you_mean(name, CHECKS)) for name in names if name not in CHECKS
    ]
    limitless = [
        Problem("--check", f"{name} has no limit of its own", "write a study with a screen step")
        for name in names
        if name in CHECKS and not CHECKS[name].CUE.LIMITS
    ]
    if unknown or limitless:
        raise ConfigError([*unknown, *limitless])
    screen = Screen.model_validate({name: {} for name in names})
    check_models(screen.models())
    reading = check_rows(read_place(place, pattern, _any_sound(place) if pattern is None else None))
    rows = list(reading.rows)
    why = {problem.where: "; ".join(filter(None, (problem.what, problem.todo))) for problem in reading.problems}
    # A table is mended; what lies in a folder is as it is, and the rest can be screened.
    errors = [why.get(row.where, "") if not row.line and not _is_clip(row) else "" for row in rows]
    lost = {row.where for row, error in zip(rows, errors, strict=True) if error}
    problems = [problem for problem in reading.problems if problem.where not in lost]
    if problems:
        raise ConfigError(problems, reading.notices)
    for notice in reading.notices:
        progress.say(f"note: {notice}")
    found: list[Findings | None] = [None] * len(rows)
    with TemporaryDirectory(prefix="prep-screen-") as scratch, threadpool_limits(1):
        store = Store(Path(scratch))
        visits = [
            Visit(
                index, Source(str(row.path), row.file_name), (Measure((), screen, row.columns.get("text", "")),), store
            )
            for index, row in enumerate(rows)
            if not errors[index]
        ]
        progress.begin("screen", len(visits))
        with local_workers(min(workers or available_cores(), max(len(visits), 1))) as pool:
            for outcome in work(pool, visit, visits):
                answer = outcome.value[0] if outcome.value else None
                if isinstance(answer, dict):
                    found[outcome.task.index] = Findings.model_validate(answer["value"])
                else:
                    errors[outcome.task.index] = answer.reason if isinstance(answer, Failure) else str(outcome.error)
                progress.advance()
        progress.end()
    return Screened(str(place), names, rows, found, errors)


def _any_sound(place: Path) -> str | None:
    """Return an expression for every sound file of a folder; None for a table, or a folder that holds one."""
    if not place.is_dir() or any(exists(place / f"metadata{suffix}") for suffix in TABLE_SUFFIXES):
        return None
    suffixes = "|".join(re.escape(suffix) for suffix in sorted(SOUND_SUFFIXES))
    return f"(?P<name>(?s:.*))(?i:{suffixes})"


def _is_clip(row: Row) -> bool:
    """Say whether the file of a row can be looked at."""
    return is_utf8(row.file_name) and exists(row.path) and row.path.is_file()
