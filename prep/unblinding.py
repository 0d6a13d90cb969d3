"""Unblinding: the log of when a study was opened to those who had to stay blind.

prep cannot keep a report from being read; it can keep the opening from being forgotten. The log stands beside the
records, out/unblinded.jsonl, a line an opening; it only grows. Reports, and the records of later runs, cite it.
"""

from __future__ import annotations

import errno
import getpass
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prep.errors import ConfigError, Problem
from prep.names import is_utf8
from prep.publish import PRIVATE, latest_record
from prep.store import digest

LOG = "unblinded.jsonl"
_WANTED = ("time", "user", "record", "run_sha256", "reason")


def output_of(place: Path) -> Path:
    """Return the output folder of an output folder, of one of its runs/NNNN, or of a run.json in either.

    A link stands for what it leads to: a study has one log, whichever way its record is reached.
    """
    folder = _folder_of(place)
    real = _real(folder)
    return real.parents[1] if real.parent.name == "runs" else folder


def _folder_of(place: Path) -> Path:
    real = _real(place)
    if real.name != "run.json":
        return place
    return real.parent if place.is_symlink() else place.parent


def _real(place: Path) -> Path:
    """Return a place without links; unlike `Path.resolve`, of links that lead in a circle too."""
    return Path(os.path.realpath(place))


def read_unblinded(output: Path) -> list[dict[str, str]]:
    """Return every opening of a study, the earliest first; none where there is no log.

    Args:
        output: the study's output folder.

    Raises:
        ConfigError: the log cannot be read, or a line of it is not one that `unblind` wrote.
    """
    path = output / LOG
    try:
        # Not splitlines, which ends a line at signs that JSON leaves as they are, such as U+2028.
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Problem(str(path), f"cannot be read: {error}", "restore it from a copy")]) from None
    return [_entry(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _entry(path: Path, number: int, line: str) -> dict[str, str]:
    try:
        held: Any = json.loads(line)
    except (ValueError, RecursionError):
        held = None
    if not isinstance(held, dict) or set(held) != set(_WANTED) or not all(_is_text(x) for x in held.values()):
        raise ConfigError([Problem(f"{path}:{number}", "is no line of this log", "restore it from a copy")])
    return {name: held[name] for name in _WANTED}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and is_utf8(value)


def report_of(place: Path, name: str) -> Path:
    """Return where a page about a run belongs when no other place is named: in its output folder.

    The page of one of runs/NNNN is called by its number, for a record is never written into.

    Args:
        place: an output folder, one of its runs/NNNN, or a run.json in either.
        name: of the page, as "report.html".
    """
    output, folder = output_of(place), _folder_of(place)
    stem, _, suffix = name.rpartition(".")
    return output / (name if folder == output else f"{stem}-{_real(folder).name}.{suffix}")


def unblind(place: Path, reason: str) -> dict[str, str]:
    """Log that a study is opened, and return the line.

    Args:
        place: an output folder, or one of its runs/NNNN, whose record is then the one named.
        reason: why, in a few words.

    Raises:
        ConfigError: no reason is given, or one that is not UTF-8; there is no run; the log cannot be read or written.
    """
    if not reason.strip():
        raise ConfigError([Problem("--reason", "is empty", "say why the study is opened, in a few words: it stays")])
    if not is_utf8(reason):
        raise ConfigError([Problem("--reason", "is not UTF-8 text", "write it in UTF-8: the log is kept in it")])
    output, folder = output_of(place), _folder_of(place)
    if folder == output:
        folder = latest_record(output) or folder
    try:
        data = (folder / "run.json").read_bytes()
    except OSError as error:
        todo = "name an output folder of prep run, or one of its runs/NNNN"
        raise ConfigError([Problem(str(place), f"holds no run: {error.strerror}", todo)]) from None
    read_unblinded(output)
    entry = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "user": _user(),
        "record": _real(folder).name,
        "run_sha256": digest(data),
        "reason": reason,
    }
    _append(output / LOG, (json.dumps(entry, ensure_ascii=False) + "\n").encode())
    return entry


def _user() -> str:
    try:
        return getpass.getuser().encode("utf-8", "backslashreplace").decode()
    except (OSError, KeyError, ImportError):  # a user without a name, as in some containers
        return "unknown"


def _append(path: Path, line: bytes) -> None:
    """Add a line in one write, so that two at once cannot mix, and see it to the disk; or leave the log as it was.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, PRIVATE)
        try:
            _write_line(handle, line)
        finally:
            os.close(handle)
        path.chmod(PRIVATE)
    except OSError as error:
        what = f"nothing was logged: {error.strerror or error}"
        todo = "make room, or make the output folder yours to write, and run it again"
        raise ConfigError([Problem(str(path), what, todo)]) from None


def _write_line(handle: int, line: bytes) -> None:
    """Write a line at the end of an open file, whole or not at all.

    Raises:
        OSError: it is not there.
    """
    written = os.write(handle, line)
    try:
        if written < len(line):  # a full disk takes what it can, and says so by the count alone
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301 - undone as any other
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, os.lseek(handle, 0, os.SEEK_CUR) - written)
        raise
