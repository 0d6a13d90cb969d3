"""prep lint: what tells the conditions apart without listening?"""

from pathlib import Path
from typing import Annotated

import typer

from prep.commands.options import Json


def lint(
    folder: Annotated[
        Path, typer.Argument(help="Folder of delivered clips, or a run's output folder.", show_default=False)
    ],
    table: Annotated[
        Path | None,
        typer.Option(
            "--table",
            help="Table of the clips, or a study's config that names it; without it, the run's key.csv.",
            show_default=False,
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            help="Column that holds the condition; by default the one that the config or the run compares.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Name all that tells the conditions apart without listening: names, order, tags, format, times, lengths.

    Example: prep lint out/
    """
    from prep.commands.show import show_lint
    from prep.lint import lint_folder

    done = lint_folder(folder, table, column)
    show_lint(done, as_json=json)
    raise typer.Exit(done.exit_code)
