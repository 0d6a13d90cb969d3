"""prep compare: what changed between two runs."""

from pathlib import Path
from typing import Annotated

import typer

from prep.commands.options import Json

First = Annotated[Path, typer.Argument(help="The earlier run: an output folder, or runs/NNNN.", show_default=False)]
Second = Annotated[Path, typer.Argument(help="The later run.", show_default=False)]


def compare(first: First, second: Second, json: Json = False) -> None:
    """Say what changed between two runs: config, versions, clips, fits and figures; exit code 1 if a verdict did.

    Example: prep compare out/runs/0001 out/runs/0002
    """
    from prep.commands.show import show_comparison
    from prep.comparison import compare_records
    from prep.records import read_record

    done = compare_records(read_record(first), read_record(second))
    show_comparison(done, as_json=json)
    raise typer.Exit(done.exit_code)
