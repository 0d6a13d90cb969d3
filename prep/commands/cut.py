"""prep cut: takes to clips, a line each."""

from pathlib import Path
from typing import Annotated

import typer

from prep.commands.options import Json, WorkerCount

Place = Annotated[
    Path, typer.Argument(help="A clip table with a script column, or a study's config.", show_default=False)
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for clips, table and page.", show_default=False)]
Recogniser = Annotated[bool, typer.Option(help="Whether words are heard, or pauses alone part the lines.")]
Language = Annotated[str, typer.Option(help="Language of the scripts, ISO 639-1.")]
Margin = Annotated[
    float, typer.Option("--margin", help="Least distance between a cut and a word, s.", min=0.005, max=0.5)
]
Head = Annotated[float, typer.Option("--head", help="Wanted before the first word of a clip, s.", min=0, max=10)]
Tail = Annotated[float, typer.Option("--tail", help="Wanted after its last word, s.", min=0, max=10)]


def cut(  # noqa: PLR0917 - a command takes its options by name
    place: Place,
    output: Output,
    recogniser: Recogniser = True,
    language: Language = "en",
    margin: Margin = 0.02,
    head: Head = 0.25,
    tail: Tail = 0.25,
    workers: WorkerCount = None,
    json: Json = False,
) -> None:
    """Cut long recordings into a clip for each line of their scripts, with a table and a page to look through.

    A study's config has settings of its own, under `takes`.

    Example: prep cut takes.csv -o lines
    """
    from prep.commands.show import show_cut
    from prep.cut_place import cut_place
    from prep.progress import progress_for_terminal
    from prep.study import Takes

    settings = Takes(
        recogniser=recogniser, language=language, margin_seconds=margin, head_seconds=head, tail_seconds=tail
    )
    done = cut_place(place, output, settings, progress_for_terminal(), workers=workers)
    show_cut(done, as_json=json)
    raise typer.Exit(done.exit_code)
