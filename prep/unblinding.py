"""Unblinding: the log of when a study was opened to those who had to stay blind.

prep cannot keep a report from being read; it can keep the opening from being forgotten. The log stands beside the
records, out/unblinded.jsonl, a line an opening; it only grows. Reports, and the records of later runs, cite it.
"""

from __future__ import annotations

import getpass
import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from prep.errors import ConfigError, Problem
from prep.publish import PRIVATE, latest_record
from prep.store import digest

if TYPE_CHECKING:
    from pathlib import Path

LOG = "unblinded.jsonl"
_WANTED = ("time", "user", "record", "run_sha256", "reason")


def output_of(place: Path) -> Path:
    """Return the output folder of an output folder, of one of its runs/NNNN, or of a run.json in either."""
    folder = _folder_of(place)
    return folder.absolute().parents[1] if folder.absolute().parent.name == "runs" else folder


def _folder_of(place: Path) -> Path:
    return place.parent if place.name == "run.json" else place


def read_unblinded(output: Path) -> list[dict[str, str]]:
    """Return every opening of a study, the earliest first; none where there is no log.

    Args:
        output: the study's output folder.

    Raises:
        ConfigError: the log cannot be read, or a line of it is not one that `unblind` wrote.
    """
    path = output / LOG
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Problem(str(path), f"cannot be read: {error}", "restore it from a copy")]) from None
    return [_entry(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _entry(path: Path, number: int, line: str) -> dict[str, str]:
    try:
        held: Any = json.loads(line)
    except ValueError:
        held = None
    if not isinstance(held, dict) or set(held) != set(_WANTED) or not all(isinstance(x, str) for x in held.values()):
        raise ConfigError([Problem(f"{path}:{number}", "is no line of this log", "restore it from a copy")])
    return {name: held[name] for name in _WANTED}


def unblind(place: Path, reason: str = "") -> dict[str, str]:
    """Log that a study is opened, and return the line.

    Args:
        place: an output folder, or one of its runs/NNNN, whose record is then the one named.
        reason: why, in a few words.

    Raises:
        ConfigError: there is no run, or the log cannot be read or written.
    """
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
        "record": folder.name,
        "run_sha256": digest(data),
        "reason": reason,
    }
    _append(output / LOG, (json.dumps(entry, ensure_ascii=False) + "\n").encode())
    return entry


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in some containers
        return "unknown"


def _append(path: Path, line: bytes) -> None:
    """Add a line in one write, so that two at once cannot mix, and see it to the disk.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE)
        try:
            os.write(handle, line)
            os.fsync(handle)
        finally:
            os.close(handle)
        path.chmod(PRIVATE)
    except OSError as error:
        todo = "the output folder must be yours to write"
        raise ConfigError([Problem(str(path), error.strerror or str(error), todo)]) from None
