"""prep screen: the checks alone."""

from pathlib import Path
from typing import Annotated

import typer

from prep.commands.options import Json, WorkerCount

Place = Annotated[Path, typer.Argument(help="A clip table, or a folder of sound files.", show_default=False)]
Pattern = Annotated[
    str | None,
    typer.Option(help='How a folder names its clips, as "{speaker}_{passage}.wav".', show_default=False),
]
Checks = Annotated[
    str | None,
    typer.Option(
        "--check",
        help="Checks, as clipping,music; by default all with limits of their own but words.",
        show_default=False,
    ),
]
Page = Annotated[
    Path | None, typer.Option(help="Write a page to look through and listen to, as review.html.", show_default=False)
]


def screen(  # noqa: PLR0917 - a command takes its options by name
    place: Place,
    pattern: Pattern = None,
    check: Checks = None,
    page: Page = None,
    workers: WorkerCount = None,
    json: Json = False,
) -> None:
    """Say which clips fail a check (music, clipping, preamble...), and why; change nothing.

    Example: prep screen takes/ --check clipping,music --page review.html
    """
    from prep.commands.show import show_screened
    from prep.progress import progress_for_terminal
    from prep.screens import screen_place

    if page is not None:
        from prep.review import check_page, write_page

        check_page(page)
    names = [part.strip() for part in (check or "").split(",") if part.strip()]
    done = screen_place(place, progress_for_terminal(), pattern=pattern, checks=names, workers=workers)
    if page is not None:
        write_page(done, page)
    show_screened(done, page, as_json=json)
    raise typer.Exit(done.exit_code)
