"""prep unblind: log that a study is opened to those who had to stay blind."""

from pathlib import Path
from typing import Annotated

import typer

RunPlace = Annotated[Path, typer.Argument(help="An output folder, or one of its runs/NNNN.", show_default=False)]
Reason = Annotated[str, typer.Option("--reason", help="Why, in a few words: the log keeps it.", show_default=False)]


def unblind(run: RunPlace, reason: Reason) -> None:
    """Log who opened a study, and when; reports and later records cite it. The log only grows.

    Run it before the full report is shown to anyone who had to stay blind.

    Example: prep unblind out/ --reason "answers are in and locked"
    """
    from prep.unblinding import LOG, output_of
    from prep.unblinding import unblind as logged

    entry = logged(run, reason)
    typer.echo(f"unblinded: {entry['time']} by {entry['user']}, record {entry['record']}")
    output = output_of(run)
    typer.echo(f"log: {output / LOG}")
    typer.echo(f"{output / 'report.html'} does not say so yet: prep report {output} makes it again")
