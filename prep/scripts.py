"""Scripts: the lines of the takes, and the rows that they will be, known from text alone before any sound is read.

A row of the clip table with a `script` column is a take: the column names a UTF-8 file, a line a clip. Empty lines
are passed over; the others keep their numbers, so that passage = `<stem of the script>:<number>`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from prep.errors import Problem
from prep.names import exists, listing_of, nearest
from prep.slots import SLOT_COLUMN
from prep.table import Reading, Row, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SCRIPT_COLUMN = "script"
NAMED_BY_SCRIPT = ("passage", "text")  # columns that the lines fill
_LABELS = ("speaker",)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a script: its number in the file, from 1, its text, and the row that it will be."""

    number: int
    text: str
    row: Row


@dataclass(frozen=True, slots=True)
class Take:
    """A long recording with its script: its row of the table, and its lines in order."""

    row: Row
    lines: tuple[Line, ...]

    @property
    def script(self) -> str:
        """The script as the table names it."""
        return self.row.columns[SCRIPT_COLUMN]


def is_take(row: Row) -> bool:
    """Say whether a row is a take."""
    return bool(row.columns.get(SCRIPT_COLUMN, "").strip())


def with_lines(reading: Reading, column: str = "condition", slots_by: Sequence[str] = ()) -> tuple[Reading, list[Take]]:
    """Return the reading with a row a line in place of each take, and the takes.

    The rows of a line carry the columns of their take, the line as `text`, its name as `passage`, and a `slot`
    that all attempts at the line share, also those of other takes by the same speaker.

    Args:
        reading: of a table whose files were looked for.
        column: that holds the condition.
        slots_by: columns that name the slots; where there are some, no `slot` is made.
    """
    takes: list[Take] = []
    rows: list[Row] = []
    problems: list[Problem] = []
    for row in reading.rows:
        if not is_take(row):
            rows.append(row)
            continue
        script = reading.folder / row.columns[SCRIPT_COLUMN]
        texts, wrong = read_script(script, row)
        problems += [*wrong, *_filled(row)]
        labels = [] if slots_by else [row.columns.get(name, "") for name in (column, *_LABELS)]
        width = len(str(max((number for number, _ in texts), default=1)))
        lines = tuple(
            Line(number, text, _row_of(row, script.stem, number, text, width=width, labels=labels))
            for number, text in texts
        )
        takes.append(Take(row, lines))
        rows += [line.row for line in lines]
    problems += _clashes(rows, takes, reading.folder)
    # Two takes of one script would tell of it twice.
    return replace(reading, rows=tuple(rows)).plus(dict.fromkeys(problems)), takes


def read_script(path: Path, row: Row) -> tuple[list[tuple[int, str]], list[Problem]]:
    """Return the lines of a script with their numbers, and everything that is wrong with it.

    Args:
        path: of the script.
        row: that names it, for messages.
    """
    name = row.columns[SCRIPT_COLUMN]
    if not exists(path) or not path.is_file():
        hint = nearest(path.name, listing_of(path.parent).values()) or "name a text file, a line a clip"
        return [], [
            Problem(row.where, f"the script {name!r} {'is no file' if exists(path) else 'does not exist'}", hint)
        ]
    try:
        text, problems = read_text(path)
    except OSError as error:
        what = f"the script {name!r} cannot be read: {error.strerror or error}"
        return [], [Problem(row.where, what, "name a file that can be read")]
    if problems:
        return [], problems
    lines = [(number, line.strip()) for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1) if line.strip()]
    if not lines:
        return [], [Problem(row.where, f"the script {name!r} is empty", "write a line for each clip")]
    return lines, list(_line_problems(path.name, lines))


def _line_problems(name: str, lines: Sequence[tuple[int, str]]) -> Iterator[Problem]:
    """Yield the lines that no reading could be told by: without a word, or said twice."""
    first: dict[str, int] = {}
    for number, text in lines:
        said = " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
        if "\0" in text:
            yield Problem(f"{name}:{number}", f"{text!r} holds a NUL character", "take it out, or save it as UTF-8")
        elif not said:
            yield Problem(f"{name}:{number}", f"{text!r} has no word", "write what is read, or take the line out")
        elif first.setdefault(said, number) != number:
            what = f"{text!r} is line {first[said]} again"
            yield Problem(f"{name}:{number}", what, "keep one; attempts at a line are found without it")


def _filled(row: Row) -> Iterator[Problem]:
    """Yield the columns of a take that its script fills."""
    for name in NAMED_BY_SCRIPT:
        if row.columns.get(name, "").strip():
            what = f"{name} of the take {row.file_name} is {row.columns[name]!r}, and its script names its lines"
            yield Problem(row.where, what, "leave it empty")


def _row_of(take: Row, stem: str, number: int, text: str, *, width: int, labels: Sequence[str]) -> Row:
    """Return the row that a line will be; its file is the take until it is cut."""
    name = f"{folder_of(take.file_name)}/{stem}_{number:0{width}d}.wav"
    passage = f"{stem}:{number}"
    columns = {**take.columns, "file_name": name, "passage": passage, "text": text}
    own = take.columns.get(SLOT_COLUMN, "")
    if labels:
        told = [own] if own else [label for label in labels if label] if labels[-1] else [take.file_name]
        columns[SLOT_COLUMN] = " ".join([*told, passage])
    return replace(take, file_name=name, columns=columns)


def folder_of(file_name: str) -> str:
    """Return where the clips of a take lie: its name without suffix, and never outside of their folder."""
    path = PurePath(file_name)
    parts = (path.with_suffix("") if path.name else path).parts
    return "/".join(part for part in parts if part not in ("/", "\\", ".", "..")) or "take"


def attempt_name(planned: str, attempt: int) -> str:
    """Return the file name of an attempt at a line, from 1 in the order of time, by that of the line."""
    return f"{planned.removesuffix('.wav')}_{attempt}.wav"


def planned_name(file_name: str) -> str:
    """Return the name of the line that a file name would be an attempt at, as `attempt_name` gives it; "" of none."""
    stem, mark, attempt = file_name.removesuffix(".wav").rpartition("_")
    named = mark and file_name.endswith(".wav") and re.fullmatch("[1-9][0-9]*", attempt)
    return f"{stem}.wav" if named else ""


def _clashes(rows: Sequence[Row], takes: Sequence[Take], folder: Path) -> Iterator[Problem]:
    """Yield names that would stand for two things: clips of one name, and scripts of one stem."""
    counts = Counter(row.file_name for row in rows)
    attempts = {planned_name(name): name for name in counts}
    for take in takes:
        names = [line.row.file_name for line in take.lines]
        twice = [attempts.get(name, name) for name in names if counts[name] > 1 or name in attempts]
        if twice:
            what = f"the clips of the take {take.row.file_name} would have names of others, as {twice[0]}"
            yield Problem(take.row.where, what, "rename the take or the others")
    yield from _same_stems(takes, folder)


def _same_stems(takes: Iterable[Take], folder: Path) -> Iterator[Problem]:
    first: dict[str, Path] = {}
    for take in takes:
        if not take.lines:  # its script has been told of, and may be a link that loops
            continue
        path = (folder / take.script).resolve()
        if first.setdefault(path.stem, path) != path:
            what = f"the scripts {first[path.stem].name} and {take.script} would give passages of one name"
            yield Problem(take.row.where, what, "rename one of them")
