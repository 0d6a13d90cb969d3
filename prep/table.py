"""The clip table: which clips a study has, and what is known of each.

Bad content is never an exception: everything wrong is listed, and the caller decides. A *problem*
stops the study; a *notice* is only told. `prep.folder` reads a folder in place of a table, and
`prep.rows` looks at the files that the rows name.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from prep.document import did_you_mean
from prep.errors import Problem
from prep.names import exists, is_utf8, listing_of, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

OWN_COLUMNS = ("file_name", "condition", "speaker", "passage", "text", "role", "slot", "script")  # with a meaning
MAX_NOTICES = 20  # of one kind; the rest are counted


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the clip table.

    Attributes:
        file_name: as the table gives it (relative to the table's folder), without a leading `./`.
        path: the file itself.
        columns: every column as text, by name, in table order; empty cells are "".
        line: line of the table (1 is the first line of the file), for messages; 0 from a folder.
            Of a Parquet table: the row, from 1.
        where: the table's name and line, for messages ("clips.csv:14"); the file_name from a folder.
        take: of a clip that was cut from a take, what `prep.takes` tells of it; None of any other.
    """

    file_name: str
    path: Path
    columns: dict[str, str] = field(default_factory=dict)
    line: int = 0
    where: str = ""
    take: Mapping[str, Any] | None = None

    @property
    def role(self) -> str:
        """What the clip is for: stimulus (the default), reference, example, trap or anchor."""
        return self.columns.get("role") or "stimulus"

    def selected_by(self, selection: dict[str, str | list[str]] | None) -> bool:
        """Say whether the row is in a selection: columns AND, values OR; None selects every row."""
        return all(
            self.columns.get(column, "") in ([wanted] if isinstance(wanted, str) else wanted)
            for column, wanted in (selection or {}).items()
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read: the rows in order, what must be mended, and what is worth knowing.

    Attributes:
        folder: the absolute folder that file names are relative to.
        name: the table or folder, for messages.
        rows: in table order; by file name from a folder.
        problems: the study cannot go on with these.
        notices: it can with these.
    """

    folder: Path
    name: str
    rows: tuple[Row, ...] = ()
    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()

    def plus(self, problems: Iterable[Problem] = (), notices: Iterable[Problem] = ()) -> Reading:
        """Return the reading with further problems and notices."""
        return replace(self, problems=(*self.problems, *problems), notices=(*self.notices, *notices))


class _Sheet(NamedTuple):
    """A table as it stands in its file: header, (line, cells as wide as the header), problems."""

    header: list[str]
    records: list[tuple[int, list[str]]]
    problems: list[Problem]


def read_table(path: str | Path, columns: Mapping[str, str] | None = None) -> Reading:
    """Read a clip table by the audiofolder convention: a `file_name` column, relative to the table.

    CSV, TSV, JSONL and Parquet are read, text in UTF-8 with or without BOM. Cells are text as written: of
    JSONL, numbers stay as the file writes them, true and false are "true" and "false", null and absent
    keys are ""; Parquet values are text as Arrow casts them.

    Args:
        path: the table, or a folder that holds it as metadata.csv, .tsv, .jsonl or .parquet.
        columns: our name -> the table's own header, where they differ. Other columns keep their names.

    Returns:
        The rows, and every problem of the table's form. The files are looked at by `check_rows`.

    Source: https://huggingface.co/docs/datasets/audio_dataset#audiofolder
    """
    table = Path(path).absolute()
    if table.is_dir():
        found = [table / f"metadata{suffix}" for suffix in _READERS if exists(table / f"metadata{suffix}")]
        if len(found) != 1:
            what = f"the folder holds {' and '.join(f.name for f in found) or 'no metadata.csv'}"
            problem = Problem(str(path), what, "name the table's file, or the pattern of the folder's files")
            return Reading(table, str(path), problems=(problem,))
        table = found[0]
    reader = _READERS.get(table.suffix.lower())
    if not exists(table):
        return Reading(table.parent, table.name, problems=(not_there(path),))
    if reader is None:
        problem = Problem(table.name, "not a kind of table that is read", f"save it as {', '.join(_READERS)}")
        return Reading(table.parent, table.name, problems=(problem,))
    try:
        sheet = reader(table)
    except OSError as error:
        problem = Problem(str(path), f"cannot be read: {error.strerror or error}", "name a table that can be read")
        return Reading(table.parent, table.name, problems=(problem,))
    return _rows_of(sheet, table, columns or {})


def not_there(path: str | Path, where: str = "") -> Problem:
    """Return the problem of a table or folder that does not exist, with the nearest name beside it.

    Args:
        path: that was named.
        where: what names it; the path itself where nothing else does.
    """
    full = Path(path).absolute()
    hint = nearest(full.name, listing_of(full.parent).values()) or "correct the path"
    what = "there is no such file or folder"
    return Problem(where or str(path), f"{what} as {path}" if where else what, hint)


def _rows_of(sheet: _Sheet, table: Path, columns: Mapping[str, str]) -> Reading:
    """Name the columns as we do, and make a row of each record."""
    swapped = _swapped(sheet.header, columns)
    columns = {name: own for name, own in columns.items() if name not in swapped.values()} | swapped
    # One header may serve two of our names: condition and system may both be `sys`.
    named = [
        (name, i)
        for i, own in enumerate(sheet.header)
        for name in [ours for ours, theirs in columns.items() if theirs == own] or [own]
    ]
    problems = [*sheet.problems, *_header_problems(sheet.header, [name for name, _ in named], table, columns)]
    if swapped:
        written = ", ".join(f"{name}: {own}" for name, own in swapped.items())
        what = "columns is `our name: the table's header`, and here it is the other way round"
        problems.append(Problem(f"{table.name}:1", what, f"write {{{written}}}"))
    rows = []
    for line, cells in sheet.records:
        values = {name: cells[i] for name, i in named}
        where = f"{table.name}:{line}"
        if any("\0" in cell for cell in cells):
            problems.append(Problem(where, "a cell holds a NUL character", "take it out, or save the table as UTF-8"))
            continue
        if values.get("file_name"):
            file_name = re.sub(r"^(\./+)+", "", values["file_name"])
            rows.append(Row(file_name, table.parent / file_name, values, line, where))
        elif "file_name" in values:
            problems.append(Problem(where, "file_name is empty", "name the file, or remove the row"))
    if not sheet.records and not problems:
        problems.append(Problem(table.name, "the table is empty", "write a row for each clip"))
    return Reading(table.parent, table.name, tuple(rows), tuple(problems))


def _swapped(header: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of `columns` that only make sense the other way round, turned to the right one."""
    return {
        theirs: ours
        for ours, theirs in columns.items()
        if theirs in OWN_COLUMNS and ours in header and ours not in OWN_COLUMNS and theirs not in header
    }


def _header_problems(header: list[str], names: list[str], table: Path, columns: Mapping[str, str]) -> Iterator[Problem]:
    """Find what is wrong with a header, given its names and ours."""
    where = f"{table.name}:1"
    wanted = {"file_name": "file_name", **columns} if header else {}
    mark = next((mark for mark in (";", "\t") if len(header) == 1 and mark in header[0]), None)
    if mark is not None:
        named = "semicolons" if mark == ";" else "tabs"
        todo = "save it with commas" if mark == ";" else "name it .tsv, or save it with commas"
        yield Problem(where, f"its columns are separated by {named}, not by commas", todo)
        return
    for name, own in wanted.items():
        if own not in header:
            hint = did_you_mean(own, header)
            if name == own:
                hint += "; headers of your own go under `clips: {columns: {file_name: ...}}` of a config"
            yield Problem(where, f"there is no column {own!r}", hint)
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem(where, f"{count} columns are named {name!r}", "keep one, or rename the others")
        if not name or name != name.strip() or "\0" in name:
            what = f"a column's name is empty, begins or ends with a space, or holds a NUL character: {name!r}"
            yield Problem(where, what, "mend it")


def _read_csv(path: Path) -> _Sheet:
    """Read comma- or tab-separated text; the first line is the header."""
    text, problems = read_text(path)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    records = []
    line = 1
    try:
        for cells in reader:
            where = f"{path.name}:{line}"
            if not header:
                header = cells
            elif cells and len(cells) != len(header):
                what = f"{len(cells)} cells where the header has {len(header)}"
                problems.append(Problem(where, what, "put cells that hold a comma, tab or quote in quotes"))
            elif cells:
                records.append((line, cells))
            if any("\n" in cell or "\r" in cell for cell in cells):
                problems.append(Problem(where, "a cell holds a line break", "close its quotes, or join its lines"))
            line = reader.line_num + 1
    except csv.Error as error:
        problems.append(Problem(f"{path.name}:{line}", f"not {path.suffix[1:]} text: {error}", "mend the quotes"))
    return _Sheet(header, records, problems)


def _read_jsonl(path: Path) -> _Sheet:
    """Read a JSON object a line; the header is every key, in order of first appearance."""
    text, problems = read_text(path)
    objects: list[tuple[int, dict[str, str]]] = []
    for line, source in enumerate(text.split("\n"), 1):  # not splitlines: U+2028 may stand inside JSON text
        where = f"{path.name}:{line}"
        if not source.strip():
            continue
        try:
            # Numbers stay as they are written: 0.10 is not 0.1, and an id of 20 digits keeps them.
            value = json.loads(
                source, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_unrepeated
            )
        except (ValueError, RecursionError) as error:
            problems.append(Problem(where, f"not JSON: {error}", "write one JSON object a line"))
            continue
        if not isinstance(value, dict):
            problems.append(Problem(where, "not a JSON object", 'write {"file_name": "...", ...}'))
            continue
        for key, cell in value.items():
            if isinstance(cell, (list, dict)) or not is_utf8(key + _text(cell)):
                problems.append(Problem(where, f"{key!r} holds no plain text", "write text, or remove it"))
        objects.append((line, {key: _text(cell) for key, cell in value.items()}))
    header = list(dict.fromkeys(key for _, cells in objects for key in cells))
    return _Sheet(header, [(line, [cells.get(k, "") for k in header]) for line, cells in objects], problems)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object, unless a key stands in it twice."""
    repeated = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if repeated:
        raise ValueError(f"the key {repeated[0]!r} is repeated")
    return dict(pairs)


def _text(value: str | bool | list[Any] | dict[str, Any] | None) -> str:
    """Write a JSON value as the text of a cell; numbers are text already."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else ""


def _read_parquet(path: Path) -> _Sheet:
    """Read a Parquet file; its lines are its rows, from 1."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    problems = []
    cells: list[list[str]] = []
    try:
        with pq.ParquetFile(path) as file:
            data = file.read()
    except pa.ArrowException as error:
        problem = Problem(path.name, f"not a Parquet file: {error}", "save the table again")
        return _Sheet([], [], [problem])
    for name, column in zip(data.column_names, data.columns, strict=True):
        try:
            cells.append([value or "" for value in column.cast(pa.string()).to_pylist()])
        except pa.ArrowException:
            cells.append([""] * len(column))
            what = f"the column {name!r} holds {column.type}, not text"
            problems.append(Problem(path.name, what, "convert or remove it"))
    return _Sheet(
        list(data.column_names),
        [(i, list(row)) for i, row in enumerate(zip(*cells, strict=True), 1)],
        problems,
    )


_READERS = {".csv": _read_csv, ".tsv": _read_csv, ".jsonl": _read_jsonl, ".parquet": _read_parquet}
TABLE_SUFFIXES = tuple(_READERS)


def read_text(path: Path) -> tuple[str, list[Problem]]:
    """Read a file as UTF-8, a BOM taken off; "" and a problem where it is something else."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"not UTF-8 text (byte 0x{data[error.start]:02x})"
        return "", [Problem(f"{path.name}:{line}", what, "save it again as UTF-8")]


def likewise(more: int) -> str:
    """Return how many more things are as the one that was told; nothing where there are none."""
    return f", and {more} more likewise" if more else ""


def some_of(notices: list[Problem], where: str) -> list[Problem]:
    """Return the first notices of a kind, and how many more there are."""
    more = len(notices) - MAX_NOTICES
    rest = [Problem(where, f"{more} more sound files are left out, {len(notices)} in all")] if more > 0 else []
    return notices[:MAX_NOTICES] + rest
