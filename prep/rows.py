"""What the rows of a clip table say, and whether it is so: files, cells, labels, equal clips."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from prep.document import did_you_mean
from prep.errors import Problem
from prep.names import (
    SOUND_SUFFIXES,
    exists,
    fold,
    is_system_file,
    is_utf8,
    leads_nowhere,
    listing_of,
    locate,
    nearest,
    shown,
)
from prep.table import Reading, Row, likewise, some_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prep.names import Listing

ROLES = ("stimulus", "reference", "example", "trap", "anchor")
_MAX_COMPARED = 20_000  # names looked through for hints: about a second, where a whole table is amiss


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
    listing = cache(listing_of)
    rows = tuple(replace(row, path=locate(row.path, listing)) for row in reading.rows)
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


def _file_problems(rows: Sequence[Row], folder: Path, listing: Listing) -> Iterator[Problem]:
    """Find the rows that name no file. Where all of a folder's are missing, the first stands for them."""
    compared = 0
    together = _missing_together(rows)
    for row in rows:
        if not is_utf8(row.file_name):
            yield Problem(row.where, f"the name {row.file_name!r} is not UTF-8", "rename the file")
        elif re.match(r"~[^/]*/", row.file_name):
            todo = "write the whole path, or one relative to the table"
            yield Problem(row.where, f"{row.file_name}: ~ does not stand for your home folder here", todo)
        elif not exists(row.path):
            more = together.get(row.where, 0)
            if more is None:
                continue
            compared += len(listing(row.path.parent)) or 1
            link = leads_nowhere(row.path)
            hint = _nearest_file(row, folder, listing) if compared <= _MAX_COMPARED and not link else ""
            if more and not link and not hint.startswith("did you mean"):
                hint = ": ".join(filter(None, (hint, "write paths from the table's folder, or move the table")))
            what = f"{row.file_name!r} {'is a link to nothing' if link else 'does not exist'}{likewise(more)}"
            yield Problem(row.where, what, hint or ("mend the link" if link else "correct the name or add the file"))
        elif not row.path.is_file():
            kind = "a folder" if row.path.is_dir() else "no regular file"
            yield Problem(row.where, f"{row.file_name!r} is {kind}", "name a sound file")


def _missing_together(rows: Sequence[Row]) -> dict[str, int | None]:
    """Return, by `where`, the rows of folders that hold none: for how many more the first stands, else None."""
    place_of = cache(_last_place)
    by_place: dict[Path, list[Row]] = defaultdict(list)
    for row in rows:
        by_place[place_of(row.path.parent)].append(row)
    found: dict[str, int | None] = {}
    for several in by_place.values():
        if len(several) > 1 and not any(exists(row.path) for row in several):
            found |= dict.fromkeys(row.where for row in several)
            found[several[0].where] = len(several) - 1
    return found


def _last_place(folder: Path) -> Path:
    """Return a folder, or the first folder on the way to it that is not there."""
    while not exists(folder) and not exists(folder.parent):
        folder = folder.parent
    return folder


def _nearest_file(row: Row, folder: Path, listing: Listing) -> str:
    """Return a did-you-mean for a missing file: other spaces or slashes, else the nearest name beside it."""
    for variant in (row.file_name.strip(), row.file_name.replace("\\", "/")):
        if variant and exists(locate(folder / variant, listing)):
            return f"did you mean {variant!r}?"
    if not exists(row.path.parent):
        return f"there is no folder {Path(os.path.relpath(_last_place(row.path.parent), folder)).as_posix()!r}"
    if re.search(r"[$%]\w", row.file_name):
        return "variables are not filled in here: write the path itself"
    return nearest(row.path.name, listing(row.path.parent).values())


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
            usual.setdefault(fold(label), label)
        told = set()
        for row in rows:
            label = row.columns.get(column, "")
            wanted = usual.get(fold(label), label)
            if label != wanted and label not in told:
                told.add(label)
                what = f"the {column} {label!r} ({counts[label]} rows) is written {wanted!r} in {counts[wanted]}"
                yield Problem(row.where, what, "write both alike, or name them apart")


def _unlisted(rows: Sequence[Row], folder: Path, listing: Listing) -> list[Problem]:
    """Find the sound files that lie in the folders of the table and its clips, and are not listed."""
    listed = {os.path.normpath(row.path) for row in rows}
    beside = sorted(
        {
            os.path.normpath(parent / name)
            for parent in {folder, *(row.path.parent for row in rows)}
            for name in listing(parent).values()
            if Path(name).suffix.lower() in SOUND_SUFFIXES and not is_system_file(name)
        }
        - listed
    )
    # Notices go into the record, which holds no bytes that are not UTF-8.
    names = [shown(Path(os.path.relpath(path, folder)).as_posix(), "utf-8") for path in beside]
    return some_of([Problem(name, "is not in the table", "it is left out") for name in names], folder.name)
