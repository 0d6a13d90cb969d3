"""prep report: an earlier run's report again."""

from pathlib import Path
from typing import Annotated

import typer

RunPlace = Annotated[Path, typer.Argument(help="An output folder, or one of its runs/NNNN.", show_default=False)]


def report(
    run: RunPlace,
    page: Annotated[Path, typer.Option("--page", help="Where the page is written.")] = Path("report.html"),
) -> None:
    """Write the report of a run once more, from its record alone.

    Example: prep report out/runs/0001 --page first.html
    """
    from prep.publish import PRIVATE
    from prep.records import read_record
    from prep.report_page import report_html
    from prep.store import write_whole

    write_whole(page, report_html(read_record(run)).encode(), PRIVATE)
    typer.echo(f"page: {page}")
