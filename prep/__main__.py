"""The command line: gathers the commands, and turns what goes wrong into words and an exit code."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from prep.commands import COMMANDS
from prep.errors import PrepError
from prep.names import shown

INTERRUPTED = 130  # what a shell expects of a command that Ctrl-C ended

EPILOG = (
    "Exit codes: 0 done; 1 done, but clips were rejected or failed, or an audit limit is broken; 2 usage; "
    "3 config or table, or a promise that the clips cannot keep; 4 nothing usable."
)


class _Group(TyperGroup):
    """Commands in the order of a day's work, with one place where errors become text."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except PrepError as error:
            _tell(error)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            print("stopped; run again to go on from here", file=sys.stderr)  # noqa: T201
            raise typer.Exit(INTERRUPTED) from None


def _tell(error: PrepError) -> None:
    """Write an error's lines on stderr, and what is worth knowing beside, in an encoding that stderr can hold."""
    told = [f"error: {line}" for line in str(error).split("\n")] + [f"note: {notice}" for notice in error.notices]
    for line in told:
        print(shown(line, sys.stderr.encoding), file=sys.stderr)  # noqa: T201


def _tell_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"prep (listening-prep) {version('listening-prep')}")  # noqa: T201
        raise typer.Exit


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Prepare audio for listening studies of speech, and prove on held-out clips what was done.",
)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version.", callback=_tell_version)
    ] = False,
) -> None:
    """Prepare audio for listening studies of speech, and prove on held-out clips what was done."""


for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


def main() -> None:
    """Run the command line; that its words cannot be written is one line on stderr, of a closed pipe none.

    Raises:
        SystemExit: always, with the exit code.
    """
    if sys.stdout is None:  # closed by the caller, who wants no words
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        with Path(os.devnull).open("wb") as nowhere:  # for what Python flushes at its end
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"error: cannot write: {error.strerror or error}; make room, and run again", file=sys.stderr)  # noqa: T201
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
