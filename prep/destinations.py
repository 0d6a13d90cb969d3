"""Destinations: where commands write what they are asked for, seen to before the work begins."""

from __future__ import annotations

from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from prep.errors import ConfigError, Problem, RefusedError
from prep.names import exists

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def file_in_the_way(folder: Path) -> Problem | None:
    """Return the problem of a folder that cannot be because a file has its name, or that of one above it."""
    found = next((path for path in (folder, *folder.parents) if exists(path)), None)
    return None if found is None or found.is_dir() else Problem(str(found), "is no folder", "name another output")


def check_destination(folder: Path) -> None:
    """Make a folder where it is missing, and see that it takes files.

    Raises:
        ConfigError: a file is in its way.
        RefusedError: it cannot be written.
    """
    problem = file_in_the_way(folder)
    if problem is not None:
        raise ConfigError([problem])
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass


@contextmanager
def writing_to(place: Path) -> Iterator[None]:
    """Tell of a file or folder that it cannot be written.

    Raises:
        RefusedError: it cannot.
    """
    try:
        yield
    except OSError as error:
        what = error.strerror or str(error)
        raise RefusedError(f"{place}: {what}; make room or name another output, and run again") from None
