"""Progress: what a long command says while it works. A bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol

from prep.names import shown

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PLAIN_LINE_SECONDS = 15.0


class Progress(Protocol):
    """What the work says of itself."""

    def begin(self, title: str, total: int, what: str = "clips") -> None:
        """Begin a pass over a number of clips, or of what else is counted."""

    def advance(self) -> None:
        """Say that one more is done."""

    def end(self) -> None:
        """End the pass."""

    def say(self, text: str) -> None:
        """Say something worth a line of its own."""


class Silent:
    """Progress that says nothing, for work that is called from code."""

    def begin(self, title: str, total: int, what: str = "clips") -> None:
        """Say nothing."""

    def advance(self) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""


class Lines:
    """Plain lines on stderr: one when a pass ends, and one now and then during a long one."""

    def begin(self, title: str, total: int, what: str = "clips") -> None:
        """Begin a pass."""
        self._title, self._total, self._done, self._what = title, total, 0, what
        self._begun = self._said = time.monotonic()

    def advance(self) -> None:
        """Count one; say so if nothing was said for a while."""
        self._done += 1
        if time.monotonic() - self._said > PLAIN_LINE_SECONDS:
            self._said = time.monotonic()
            self.say(f"{self._title}: {self._done} of {self._total} {self._what}")

    def end(self) -> None:
        """Say how long the pass took."""
        seconds = time.monotonic() - self._begun
        self.say(f"{self._title}: {self._done} of {self._total} {self._what}, {seconds:.1f} s")

    def say(self, text: str) -> None:
        """Write one line that any output encoding can hold."""
        print(shown(text, sys.stderr.encoding), file=sys.stderr, flush=True)  # noqa: T201


class Bar:
    """A bar on the terminal, on stderr, one a pass."""

    def __init__(self) -> None:
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def begin(self, title: str, total: int, what: str = "clips") -> None:  # noqa: ARG002 - a bar has no room for it
        """Show the bar of a pass."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._bar.start()
        self._task = self._bar.add_task(title, total=total)

    def advance(self) -> None:
        """Move the bar on by one."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task)

    def end(self) -> None:
        """Leave the finished bar standing."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def say(self, text: str) -> None:
        """Write a line above the bar."""
        from rich.console import Console

        console = self._bar.console if self._bar is not None else Console(stderr=True)
        console.print(shown(text, sys.stderr.encoding), markup=False, highlight=False)


def progress_for_terminal() -> Progress:
    """Return a bar where stderr is a terminal, and plain lines elsewhere."""
    return Bar() if sys.stderr.isatty() else Lines()
