"""What can go wrong, and how it is said.

    PrepError             the command cannot go on; carries the exit code
    |- ConfigError        the config or the table is wrong (3); holds every problem found
    |- RefusedError       the clips cannot keep what the config promises (3)
    |- NothingUsableError no clip is left to work with (4)
    ClipError             one clip cannot be used; the others go on
    `- AudioError         its file cannot be read as sound
    UndefinedError        a figure does not exist for these clips; it is left out

A message says where, what, and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend: where it is, what is wrong, and what to do about it."""

    where: str
    what: str
    todo: str = ""

    def __str__(self) -> str:
        """Return the problem as one line."""
        return f"{self.where}: {self.what}" + (f"; {self.todo}" if self.todo else "")


class PrepError(Exception):
    """The command cannot go on. Its `notices` are worth knowing beside: a file left out is often the one missed."""

    exit_code = 1
    notices: tuple[Problem, ...] = ()


class ConfigError(PrepError):
    """The config or the clip table is wrong. All problems are listed at once."""

    exit_code = 3

    def __init__(self, problems: Sequence[Problem], notices: Sequence[Problem] = ()) -> None:
        self.problems = tuple(problems)
        self.notices = tuple(notices)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class RefusedError(PrepError):
    """The clips cannot keep what the config promises, so nothing is delivered."""

    exit_code = 3


class NothingUsableError(PrepError):
    """No clip is left to work with."""

    exit_code = 4


class ClipError(Exception):
    """One clip cannot be used: it is set aside with this reason, and the others go on."""

    step = ""  # the step that found it, filled in by whoever runs the steps


class AudioError(ClipError):
    """The file of a clip cannot be read as sound."""


class UndefinedError(ValueError):
    """A figure does not exist for these clips; the message says why."""
