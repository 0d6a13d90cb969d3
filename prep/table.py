"""The clip table: which clips a study has, and what is known of each.

    read_table, read_folder    make a Reading: rows, problems and notices
    check_rows                 returns it with what the files and cells show
    duplicates                 compares the clips by hash

Bad content is never an exception: everything wrong is listed, and the caller decides. A *problem*
stops the study; a *notice* is only told.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from prep.document import did_you_mean
from prep.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    _Listing = Callable[[Path], dict[str, str]]

ROLES = ("stimulus", "reference", "example", "trap", "anchor")
# fmt: off
SOUND_SUFFIXES = frozenset({
    ".aac", ".aif", ".aifc", ".aiff", ".amr", ".au", ".caf", ".flac", ".m4a", ".mka", ".mp3", ".mp4",
    ".oga", ".ogg", ".opus", ".rf64", ".snd", ".sph", ".w64", ".wav", ".wave", ".webm", ".wma",
})
# fmt: on
MAX_NOTICES = 20  # of one kind; the rest are counted
_MAX_COMPARED = 20_000  # names looked through for hints: about a second, where a whole table is amiss
_SYSTEM_FILES = frozenset({"thumbs.db", "desktop.ini"})


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
    """

    file_name: str
    path: Path
    columns: dict[str, str] = field(default_factory=dict)
    line: int = 0
    where: str = ""

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


# --- a table ---------------------------------------------------------------------------------------


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
        found = [table / f"metadata{suffix}" for suffix in _READERS if _exists(table / f"metadata{suffix}")]
        if len(found) != 1:
            what = f"the folder holds {' and '.join(f.name for f in found) or 'no metadata.csv'}"
            problem = Problem(str(path), what, "name the table's file, or the pattern of the folder's files")
            return Reading(table, str(path), problems=(problem,))
        table = found[0]
    reader = _READERS.get(table.suffix.lower())
    if reader is None:
        problem = Problem(table.name, "not a kind of table that is read", f"save it as {', '.join(_READERS)}")
        return Reading(table.parent, table.name, problems=(problem,))
    try:
        sheet = reader(table)
    except OSError as error:
        hint = _nearest(table.name, _listing(table.parent).values())
        problem = Problem(str(path), f"cannot be read: {error.strerror or error}", hint)
        return Reading(table.parent, table.name, problems=(problem,))
    return _rows_of(sheet, table, columns or {})


def _rows_of(sheet: _Sheet, table: Path, columns: Mapping[str, str]) -> Reading:
    """Name the columns as we do, and make a row of each record."""
    # One header may serve two of our names: condition and system may both be `sys`.
    named = [
        (name, i)
        for i, own in enumerate(sheet.header)
        for name in [ours for ours, theirs in columns.items() if theirs == own] or [own]
    ]
    problems = [*sheet.problems, *_header_problems(sheet.header, [name for name, _ in named], table, columns)]
    rows = []
    for line, cells in sheet.records:
        values = {name: cells[i] for name, i in named}
        where = f"{table.name}:{line}"
        if values.get("file_name"):
            file_name = re.sub(r"^(\./+)+", "", values["file_name"])
            rows.append(Row(file_name, table.parent / file_name, values, line, where))
        elif "file_name" in values:
            problems.append(Problem(where, "file_name is empty", "name the file, or remove the row"))
    if not sheet.records and not problems:
        problems.append(Problem(table.name, "the table is empty", "write a row for each clip"))
    return Reading(table.parent, table.name, tuple(rows), tuple(problems))


def _header_problems(header: list[str], names: list[str], table: Path, columns: Mapping[str, str]) -> Iterator[Problem]:
    """Find what is wrong with a header, given its names and ours."""
    where = f"{table.name}:1"
    wanted = {"file_name": "file_name", **columns} if header else {}
    for name, own in wanted.items():
        if own not in header:
            hint = did_you_mean(own, header)
            if name == own:
                hint += "; headers of your own go under `columns: {file_name: ...}`"
            yield Problem(where, f"there is no column {own!r}", hint)
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem(where, f"{count} columns are named {name!r}", "keep one, or rename the others")
        if not name or name != name.strip():
            yield Problem(where, f"a column's name is empty or begins or ends with a space: {name!r}", "mend it")


def _read_csv(path: Path) -> _Sheet:
    """Read comma- or tab-separated text; the first line is the header."""
    text, problems = _read_text(path)
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
    text, problems = _read_text(path)
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
            if isinstance(cell, (list, dict)) or not _is_utf8(key + _text(cell)):
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


def _read_text(path: Path) -> tuple[str, list[Problem]]:
    """Read a file as UTF-8, a BOM taken off; "" and a problem where it is something else."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"not UTF-8 text (byte 0x{data[error.start]:02x})"
        return "", [Problem(f"{path.name}:{line}", what, "save it again as UTF-8")]


# --- a folder --------------------------------------------------------------------------------------


def read_folder(folder: str | Path, pattern: str | None = None, regex: str | None = None) -> Reading:
    """Read a folder whose paths say what its clips are.

    Args:
        folder: it and its subfolders are searched; hidden and system files and folders are passed over.
        pattern: the path below the folder, as "{condition}/{speaker}_{passage}.wav". A {name} stands for
            one or more characters without "/", and for the same text wherever it stands again; {_} is
            not kept. A suffix at the end matches in upper and lower case.
        regex: instead of a pattern, a regular expression with named groups. It must match the whole path.

    Returns:
        A row for each path that matches, sorted; `file_name` is the path below the folder, and names are
        matched in composed Unicode form. A path that the pattern reads in two ways is a problem; a sound
        file that does not match is a notice.
    """
    top, name = Path(folder).absolute(), str(folder)
    try:
        lazy, greedy = _expressions(pattern, regex)
    except ValueError as error:
        return Reading(top, name, problems=(Problem(f"{name}: {pattern or regex!r}", str(error)),))
    problems: list[Problem] = []
    rows, unmatched = [], []
    for path in _walk(top, problems):
        file_name = path.relative_to(top).as_posix()
        composed = unicodedata.normalize("NFC", file_name)
        match = lazy.fullmatch(composed)
        if match is None:
            if path.suffix.lower() in SOUND_SUFFIXES:
                unmatched.append(Problem(file_name, "does not match the pattern", "it is left out"))
            continue
        values = match.groupdict(default="")
        other = greedy.fullmatch(composed)
        if other and other.groupdict(default="") != values:
            what = f"the pattern reads it as {values} or {other.groupdict()}"
            problems.append(Problem(file_name, what, "tell the parts apart, or write a regex"))
        rows.append(Row(file_name, path, {"file_name": file_name, **values}, where=file_name))
    if not rows and not problems:
        problems.append(Problem(name, f"no file matches {pattern or regex!r}", "see the files left out"))
    return Reading(top, name, tuple(rows), tuple(problems), tuple(_some(unmatched, name)))


def _expressions(pattern: str | None, regex: str | None) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return two expressions, in which the early names of a pattern take as little or as much as they can.

    Raises:
        ValueError: neither or both are given, or they are not well formed.
    """
    if (pattern is None) == (regex is None):
        raise ValueError("give either a pattern or a regex")
    try:
        lazy, greedy = (re.compile(regex or _translated(pattern or "", some)) for some in ("[^/]+?", "[^/]+"))
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    if not lazy.groupindex or "file_name" in lazy.groupindex:
        raise ValueError("name columns, but not file_name, as in {condition}/{speaker}_{passage}.wav")
    return lazy, greedy


def _translated(pattern: str, some: str) -> str:
    """Translate a pattern; `some` is the expression that a {name} stands for."""
    suffix = re.search(r"(\.\w+)?$", pattern)
    end = suffix.start() if suffix else len(pattern)
    expression = ""
    seen = set()
    for literal, name in re.findall(r"([^{}]+)|\{(\w+)\}|[{}]", unicodedata.normalize("NFC", pattern[:end])):
        if literal:
            expression += re.escape(literal)
        elif not name.isidentifier():
            raise ValueError("a brace has no partner, or a name other characters than letters, digits and _")
        elif name == "_":
            expression += some
        else:
            expression += f"(?P={name})" if name in seen else f"(?P<{name}>{some})"
            seen.add(name)
    return expression + f"(?i:{re.escape(pattern[end:])})"


def _walk(top: Path, problems: list[Problem]) -> list[Path]:
    """Return the files below a folder that a person put there, each real folder once, in sorted order."""

    def unreadable(error: OSError) -> None:
        problems.append(Problem(str(error.filename), f"cannot be read: {error.strerror}", "mend it or remove it"))

    paths = []
    seen = set()
    for root, folders, files in os.walk(top, onerror=unreadable, followlinks=True):
        real = os.path.realpath(root)
        # Links may loop. A folder reached a second time is not entered again.
        folders[:] = [] if real in seen else sorted(name for name in folders if not name.startswith("."))
        paths += [Path(root, name) for name in files if real not in seen and not _is_system_file(name)]
        seen.add(real)
    return sorted(paths)


# --- what the rows say, and whether it is so -------------------------------------------------------


def check_rows(reading: Reading, needed: Sequence[str] = ()) -> Reading:
    """Look for the files of the rows and for cells that cannot be meant.

    Args:
        reading: of a table or a folder.
        needed: columns that every stimulus must fill, such as those that a study compares and splits by.

    Returns:
        The reading, each path pointing to the file as the disk spells it (composed and decomposed Unicode
        names find each other). Problems: missing files, folders and other non-files, `~`, a file in two rows,
        an empty cell of a needed column, an unknown role, labels that differ only by case, spaces or Unicode
        form, no stimulus. Notices: sound files that lie beside the listed ones and are not listed.
    """
    listing = cache(_listing)
    rows = tuple(replace(row, path=_locate(row.path, listing)) for row in reading.rows)
    problems = [
        *_file_problems(rows, reading.folder, listing),
        *_repeats(rows),
        *_cell_problems(rows, needed, reading.name),
        *_near_labels(rows, dict.fromkeys(("condition", "speaker", *needed))),
    ]
    from_table = any(row.line for row in rows)  # from a folder, what is left out has been told already
    notices = _unlisted(rows, reading.folder, listing) if from_table else []
    return replace(reading, rows=rows).plus(problems, notices)


def duplicates(
    hashes: Mapping[str, str], rows: Iterable[Row], column: str, same: str = "bytes"
) -> tuple[list[Problem], list[Problem]]:
    """Find clips that are equal under several names.

    Args:
        hashes: file_name -> hash of what is compared, the file (SHA-256) or its decoded samples.
        rows: checked rows; those without a hash are passed over.
        column: the label that equal stimuli must agree in, such as the compared one; empty cells agree.
        same: what the hashes are of, for messages: "bytes" or "samples".

    Returns:
        Problems, one for each group of equal clips whose labels disagree; notices, one for each group.
    """
    groups = defaultdict(list)
    for row in rows:
        if row.file_name in hashes:
            groups[hashes[row.file_name]].append(row)
    problems, notices = [], []
    for first, *others in groups.values():
        if others:
            names = ", ".join(row.file_name for row in others)
            notices.append(Problem(first.where, f"{first.file_name} has the same {same} as {names}"))
        stimuli = [row for row in (first, *others) if row.role == "stimulus" and row.columns.get(column)]
        if len({row.columns[column] for row in stimuli}) > 1:
            labels = ", ".join(f"{row.file_name} ({row.columns[column]})" for row in stimuli)
            what = f"clips of the same {same} differ in {column}: {labels}"
            problems.append(Problem(first.where, what, "correct the labels, or remove all but one"))
    return problems, notices


def _file_problems(rows: Sequence[Row], folder: Path, listing: _Listing) -> Iterator[Problem]:
    """Find the rows that name no file."""
    compared = 0
    for row in rows:
        if not _is_utf8(row.file_name):
            yield Problem(row.where, f"the name {row.file_name!r} is not UTF-8", "rename the file")
        elif re.match(r"~[^/]*/", row.file_name):
            todo = "write the whole path, or one relative to the table"
            yield Problem(row.where, f"{row.file_name}: ~ does not stand for your home folder here", todo)
        elif not _exists(row.path):
            compared += len(listing(row.path.parent)) or 1
            hint = _nearest_file(row, folder, listing) if compared <= _MAX_COMPARED else ""
            yield Problem(row.where, f"{row.file_name!r} does not exist", hint or "correct the name or add the file")
        elif not row.path.is_file():
            kind = "a folder" if row.path.is_dir() else "no regular file"
            yield Problem(row.where, f"{row.file_name!r} is {kind}", "name a sound file")


def _nearest_file(row: Row, folder: Path, listing: _Listing) -> str:
    """Return a did-you-mean for a missing file: other spaces or slashes, else the nearest name beside it."""
    for variant in (row.file_name.strip(), row.file_name.replace("\\", "/")):
        if variant and _exists(_locate(folder / variant, listing)):
            return f"did you mean {variant!r}?"
    if not _exists(row.path.parent):
        return f"there is no folder {Path(row.file_name).parent.as_posix()!r}"
    if re.search(r"[$%]\w", row.file_name):
        return "variables are not filled in here: write the path itself"
    return _nearest(row.path.name, listing(row.path.parent).values())


def _repeats(rows: Sequence[Row]) -> Iterator[Problem]:
    """Find the rows whose file an earlier row has, however both spell it."""
    first: dict[str, Row] = {}
    for row in rows:
        # Lexically: two links to one stored file are two names, and `duplicates` tells of them.
        earlier = first.setdefault(os.path.normpath(row.path), row)
        if earlier is not row:
            yield Problem(row.where, f"{row.file_name!r} is listed already at {earlier.where}", "keep one row")


def _cell_problems(rows: Sequence[Row], needed: Sequence[str], name: str) -> Iterator[Problem]:
    """Find columns and cells that are missing or that nothing can be made of."""
    known = dict.fromkeys(column for row in rows for column in row.columns)
    absent = [column for column in needed if column not in known] if rows else []
    for column in absent:
        yield Problem(name, f"there is no column {column!r}", did_you_mean(column, known))
    for row in rows:
        if row.role not in ROLES:
            yield Problem(row.where, f"the role {row.role!r} is unknown", did_you_mean(row.role, ROLES))
        for column in needed:
            if row.role == "stimulus" and column not in absent and not row.columns.get(column, "").strip():
                yield Problem(row.where, f"{column} of {row.file_name} is empty", "fill it in")
    if rows and not any(row.role == "stimulus" for row in rows):
        yield Problem(name, "no row is a stimulus", "a study needs clips to judge")


def _near_labels(rows: Sequence[Row], columns: Iterable[str]) -> Iterator[Problem]:
    """Find labels that differ from a more frequent one only by case, spaces or Unicode form."""
    for column in columns:
        counts = Counter(row.columns[column] for row in rows if row.columns.get(column, "").strip())
        usual: dict[str, str] = {}
        for label, _ in counts.most_common():
            usual.setdefault(_fold(label), label)
        told = set()
        for row in rows:
            label = row.columns.get(column, "")
            wanted = usual.get(_fold(label), label)
            if label != wanted and label not in told:
                told.add(label)
                what = f"the {column} {label!r} ({counts[label]} rows) is written {wanted!r} in {counts[wanted]}"
                yield Problem(row.where, what, "write both alike, or name them apart")


def _unlisted(rows: Sequence[Row], folder: Path, listing: _Listing) -> list[Problem]:
    """Find the sound files that lie in the folders of the table and its clips, and are not listed."""
    listed = {os.path.normpath(row.path) for row in rows}
    beside = sorted(
        {
            os.path.normpath(parent / name)
            for parent in {folder, *(row.path.parent for row in rows)}
            for name in listing(parent).values()
            if Path(name).suffix.lower() in SOUND_SUFFIXES and not _is_system_file(name)
        }
        - listed
    )
    names = [Path(os.path.relpath(path, folder)).as_posix() for path in beside]
    return _some([Problem(name, "is not in the table", "it is left out") for name in names], folder.name)


def _some(notices: list[Problem], where: str) -> list[Problem]:
    """Return the first notices of a kind, and how many more there are."""
    more = len(notices) - MAX_NOTICES
    rest = [Problem(where, f"{more} more sound files are left out, {len(notices)} in all")] if more > 0 else []
    return notices[:MAX_NOTICES] + rest


# --- names -----------------------------------------------------------------------------------------


def _exists(path: Path) -> bool:
    """Say whether something is there; a name that no file can have is not."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _listing(folder: Path) -> dict[str, str]:
    """Return the names in a folder, by their composed form; none where it cannot be read."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except (OSError, ValueError):
        return {}
    return {unicodedata.normalize("NFC", name): name for name in names}


def _locate(path: Path, listing: _Listing) -> Path:
    """Return the path as the disk spells it: of what does not exist, the part in another Unicode form."""
    if _exists(path) or path == path.parent:
        return path
    parent = _locate(path.parent, listing)
    return parent / listing(parent).get(unicodedata.normalize("NFC", path.name), path.name)


def _nearest(name: str, names: Iterable[str]) -> str:
    """Return a did-you-mean for a file name, whatever its case, or "" where nothing is near."""
    by_fold = {_fold(known): known for known in names}
    near = get_close_matches(_fold(name), by_fold, n=1)
    return f"did you mean {by_fold[near[0]]!r}?" if near else ""


def _fold(label: str) -> str:
    """Return what is left of a label when case, spaces around words and Unicode form do not count."""
    return " ".join(unicodedata.normalize("NFC", label).casefold().split())


def _is_utf8(text: str) -> bool:
    """Say whether text can be written as UTF-8; names of another encoding come as lone surrogates."""
    return not re.search("[\ud800-\udfff]", text)


def _is_system_file(name: str) -> bool:
    """Say whether a program put the file there for itself."""
    return name.startswith(".") or name.lower() in _SYSTEM_FILES
