"""prep measure: every measure of some files."""

from pathlib import Path
from typing import Annotated

import typer

from prep.commands.options import Json


def measure(
    files: Annotated[list[Path], typer.Argument(help="Sound files.", show_default=False)], json: Json = False
) -> None:
    """Print every measure of each file.

    Example: prep measure clips/*.wav --json
    """
    from prep.commands.show import show_measures
    from prep.measure import measure_files

    done = measure_files(files)
    show_measures(done, as_json=json)
    raise typer.Exit(done.exit_code)
