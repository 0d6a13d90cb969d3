"""prep report: an earlier run's report again, in full or for those who must stay blind."""

from pathlib import Path
from typing import Annotated

import typer

RunPlace = Annotated[Path, typer.Argument(help="An output folder, or one of its runs/NNNN.", show_default=False)]
Page = Annotated[
    Path | None,
    typer.Option(
        "--page",
        help="Where the page is written; report.html, or blind.html, in the run's output folder by default "
        "(report-NNNN.html for one of runs/NNNN).",
        show_default=False,
    ),
]
Blind = Annotated[bool, typer.Option("--blind", help="Name no condition, clip or file: for those who must stay blind.")]
Files = Annotated[
    Path | None,
    typer.Option(
        "--files",
        help="A folder for every picture and table of it, one a file, with the methods and their references.",
        show_default=False,
    ),
]


def report(run: RunPlace, page: Page = None, blind: Blind = False, files: Files = None) -> None:
    """Write the report of a run once more, from its record and the excerpts beside it.

    Example: prep report out/runs/0001 --page first.html

    Example: prep report out/ --files for-the-paper/

    Example: prep report out/ --blind --page for-assistants.html
    """
    from prep.blind_page import blind_html
    from prep.excerpts import parts_of, read_excerpts
    from prep.methods import methods_md
    from prep.publish import PRIVATE, write_page, write_report
    from prep.records import read_record
    from prep.report_files import report_files
    from prep.report_page import report_html
    from prep.unblinding import output_of, read_unblinded, report_of

    if blind and files:
        raise typer.BadParameter("they name conditions; leave one of the two out", param_hint="--blind and --files")
    record = read_record(run)
    if files is not None:
        write_report(files, {**report_files(record), "methods.md": methods_md(record).encode()})
        typer.echo(f"files: {files}")
    if blind:
        place = page or report_of(run, "blind.html")
        write_page(place, blind_html(record))
    else:
        place = page or report_of(run, "report.html")
        sounds = read_excerpts(run, record)
        write_page(place, report_html(record, sounds, read_unblinded(output_of(run))), PRIVATE)
        wanted = {part["file"] for part in parts_of(record)}
        if missing := len(wanted - sounds.keys()):
            typer.echo(
                f"note: {missing} of {len(wanted)} excerpts are not beside the record, or not whole: the page has no "
                "players for them; restore runs/NNNN/excerpts from a copy",
                err=True,
            )
    typer.echo(f"page: {place}")
