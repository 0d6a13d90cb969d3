"""Labels: what a table, a study or the key of a run says of clips that are to tell no condition."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from prep.check import read_rows
from prep.document import CONFIG_SUFFIXES
from prep.errors import ConfigError, Problem
from prep.study import load_study
from prep.table import read_table

if TYPE_CHECKING:
    from collections.abc import Mapping

CONDITION = "condition"  # the column where nothing says another
# Columns whose words must not be seen, beside the condition's own.
IDENTITY = ("condition", "system", "speaker")
GUESSABLE = ("condition", "system", "speaker", "passage")


class Labels(NamedTuple):
    """What the key or the table says of one clip.

    Attributes:
        condition: what must not be seen.
        words: what must not be read, by what it is.
        guesses: what somebody might hash, by what it is.
    """

    condition: str
    words: Mapping[str, str]
    guesses: Mapping[str, str]


class Known(NamedTuple):
    """What is known: labels by file, what tells them, the column of the condition, and whether prep made the clips."""

    labels: Mapping[Path, list[Labels]]
    name: str
    column: str
    made: bool


def known_from_table(table: Path, column: str | None) -> Known:
    """Return the labels of each file of a clip table, or of a study's.

    Raises:
        ConfigError: it cannot be read, or has no such column.
    """
    if table.suffix.lower() in CONFIG_SUFFIXES:
        loaded = load_study(table)
        reading = read_rows(loaded)
        column = column or (loaded.study.compare.column if loaded.study.compare else None)
    else:
        reading = read_table(table)
    column = column or CONDITION
    if reading.problems:
        raise ConfigError(reading.problems, reading.notices)
    found: dict[Path, list[Labels]] = defaultdict(list)
    for row in reading.rows:
        if row.role == "stimulus":
            _add(found, row.path, row.columns, column, source="")
    return _checked(Known(found, reading.name, column, made=False))


def known_from_key(folder: Path, column: str | None) -> Known:
    """Return the labels of each file of a run by its key and manifest.

    Raises:
        ConfigError: there is no key above the folder, or it has no such column.
    """
    output = next((path for path in (folder, folder.parent) if (path / "key.csv").is_file()), None)
    if output is None:
        todo = "name the output folder of prep run, or give the clip table by --table"
        raise ConfigError([Problem(str(folder), "no key.csv says which clip has which condition", todo)])
    files = {row.get("id"): row.get("file") or "" for row in _rows(output / "manifest.csv")}
    column = column or _compared_column(output / "run.json")
    found: dict[Path, list[Labels]] = defaultdict(list)
    for row in _rows(output / "key.csv"):
        if row.get("id") in files and (row.get("role") or "stimulus") == "stimulus":
            _add(found, output / files[row["id"]], row, column, source=row["file_name"])
    return _checked(Known(found, str(output / "key.csv"), column, made=True))


def _compared_column(record: Path) -> str:
    """Return the column that a run compares; the usual one where its record does not tell."""
    try:
        return str(json.loads(record.read_text(encoding="utf-8"))["config"]["compare"]["column"])
    except (OSError, ValueError, KeyError, TypeError):
        return CONDITION


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError) as error:
        raise ConfigError([Problem(str(path), f"cannot be read: {error}", "run again, or give --table")]) from None


def _add(found: dict[Path, list[Labels]], path: Path, columns: Mapping[str, str], column: str, source: str) -> None:
    """Add the labels of a row, unless its condition is empty. `source` is the file that it was made from."""
    condition = columns.get(column, "").strip()
    if not condition:
        return
    words = {name: columns.get(name, "").strip() for name in dict.fromkeys((column, *IDENTITY))}
    guesses = {name: columns.get(name, "").strip() for name in dict.fromkeys((column, *GUESSABLE))}
    if source:
        words["source's name"] = PurePosixPath(source).stem
        guesses["source's path"] = source
        guesses["source's name"] = PurePosixPath(source).stem
    else:
        guesses["file name"] = PurePosixPath(columns["file_name"]).name
    found[path.resolve()].append(Labels(condition, _filled(words), _filled(guesses)))


def _filled(texts: Mapping[str, str]) -> dict[str, str]:
    return {what: text for what, text in texts.items() if text}


def _checked(known: Known) -> Known:
    if not known.labels:
        todo = "name the column of the condition by --column"
        raise ConfigError([Problem(known.name, f"no clip has a {known.column}", todo)])
    return known
