"""A folder of clips in place of a table: the paths say what each clip is."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from prep.errors import Problem
from prep.names import SOUND_SUFFIXES, is_system_file, shown
from prep.table import Reading, Row, likewise

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def read_folder(
    folder: str | Path, pattern: str | None = None, regex: str | None = None, leave_out: Iterable[Path] = ()
) -> Reading:
    """Read a folder whose paths say what its clips are.

    Args:
        folder: it and its subfolders are searched; hidden and system files and folders are passed over.
        pattern: the path below the folder, as "{condition}/{speaker}_{passage}.wav". A {name} stands for
            one or more characters without "/", and for the same text wherever it stands again; {_} is
            not kept. A suffix at the end matches in upper and lower case.
        regex: instead of a pattern, a regular expression with named groups. It must match the whole path.
        leave_out: folders that are passed over where they lie below, as what an earlier run wrote.

    Returns:
        A row for each path that matches, sorted; `file_name` is the path below the folder, and names are
        matched in composed Unicode form. Paths that the pattern reads in two ways are one problem, and there are
        no rows then, for nobody knows what they say; sound files that do not match are one notice.
    """
    top, name = Path(folder).absolute(), str(folder)
    try:
        lazy, greedy = _expressions(pattern, regex)
    except ValueError as error:
        return Reading(top, name, problems=(Problem(f"{name}: {pattern or regex!r}", str(error)),))
    problems: list[Problem] = []
    rows: list[Row] = []
    unmatched: list[str] = []
    unclear: dict[str, str] = {}
    for path in _walk(top, problems, {os.path.realpath(place) for place in leave_out}):
        file_name = path.relative_to(top).as_posix()
        composed = unicodedata.normalize("NFC", file_name)
        match = lazy.fullmatch(composed)
        if match is None:
            if path.suffix.lower() in SOUND_SUFFIXES:
                unmatched.append(file_name)
            continue
        values = match.groupdict(default="")
        other = greedy.fullmatch(composed)
        if other and other.groupdict(default="") != values:
            unclear[file_name] = f"the pattern reads it as {values} or {other.groupdict()}"
        rows.append(Row(file_name, path, {"file_name": file_name, **values}, where=file_name))
    if unclear:
        first, what = next(iter(unclear.items()))
        ready = _first_separators(pattern or "", unclear)
        todo = (
            f"give a regex in place of the pattern, as --regex '{ready}' (in a config, regex)"
            if ready
            else "write a regex"
        )
        problems.append(Problem(first, what + likewise(len(unclear) - 1), f"tell the parts apart, or {todo}"))
    elif not rows and not problems:
        todo = "write one for the files left out" if unmatched else "there is no sound file; name another folder"
        problems.append(Problem(name, f"no file matches {pattern or regex!r}", todo))
    notices = []
    if unmatched:
        what = "does not match the pattern" + likewise(len(unmatched) - 1)
        first = shown(unmatched[0], "utf-8")  # notices go into the record
        notices.append(Problem(first, what, "they are left out" if unmatched[1:] else "it is left out"))
    return Reading(top, name, () if unclear else tuple(rows), tuple(problems), tuple(notices))


def _first_separators(pattern: str, paths: Iterable[str]) -> str:
    """Return a regex that reads a pattern in one way: each name ends at the first sign that follows it in the pattern.

    Empty where two names touch, or where a path does not match it.
    """
    if "}{" in pattern:
        return ""
    regex = _translated(pattern)
    readable = all(re.fullmatch(regex, unicodedata.normalize("NFC", path)) for path in paths)
    return regex if readable and "'" not in regex else ""


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


def _translated(pattern: str, some: str = "") -> str:
    """Translate a pattern; `some` is the expression that a {name} stands for, else all before the sign that follows."""
    suffix = re.search(r"(\.\w+)?$", pattern)
    end = suffix.start() if suffix else len(pattern)
    expression = ""
    seen = set()
    for literal, name, sign in re.findall(
        r"([^{}]+)|\{(\w+)\}(?=([^{}]?))|[{}]", unicodedata.normalize("NFC", pattern[:end])
    ):
        part = some or f"[^{re.escape(sign.strip('/'))}/]+"
        if literal:
            expression += re.escape(literal)
        elif not name.isidentifier():
            raise ValueError("a brace has no partner, or a name other characters than letters, digits and _")
        elif name == "_":
            expression += part
        else:
            expression += f"(?P={name})" if name in seen else f"(?P<{name}>{part})"
            seen.add(name)
    return expression + f"(?i:{re.escape(pattern[end:])})"


def _walk(top: Path, problems: list[Problem], leave_out: Collection[str]) -> list[Path]:
    """Return the files below a folder that a person put there, each real folder once, in sorted order."""

    def unreadable(error: OSError) -> None:
        problems.append(Problem(str(error.filename), f"cannot be read: {error.strerror}", "mend it or remove it"))

    paths = []
    seen = set()
    for root, folders, files in os.walk(top, onerror=unreadable, followlinks=True):
        real = os.path.realpath(root)
        # Links may loop. A folder reached a second time is not entered again.
        wanted = (name for name in folders if not name.startswith("."))
        below = sorted(name for name in wanted if os.path.realpath(Path(root, name)) not in leave_out)
        folders[:] = [] if real in seen else below
        paths += [Path(root, name) for name in files if real not in seen and not is_system_file(name)]
        seen.add(real)
    return sorted(paths)
