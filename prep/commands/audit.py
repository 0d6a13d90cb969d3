"""prep audit: the proof alone, of a study, of a run, or of clips as they lie."""

from pathlib import Path
from typing import Annotated

import typer

from prep.commands.options import FailIf, Json, WorkerCount

What = Annotated[
    Path,
    typer.Argument(
        help="A study's config, a run's output folder, a clip table, or a folder of clips with --pattern.",
        show_default=False,
    ),
]
Pattern = Annotated[
    str | None,
    typer.Option(help='How a folder names its clips, as "{condition}/{speaker}_{passage}.wav".', show_default=False),
]
Regex = Annotated[
    str | None,
    typer.Option(
        help="A regular expression with named groups, in place of a pattern, as "
        r'"(?P<condition>[^/]+)/(?P<speaker>[^_/]+)_(?P<passage>[^/]+)\.wav".',
        show_default=False,
    ),
]
Column = Annotated[str, typer.Option(help="Column that holds the condition.")]
Conditions = Annotated[
    str | None, typer.Option("--compare", help="Conditions, as human,synthetic; all by default.", show_default=False)
]
Reference = Annotated[
    str | None, typer.Option(help="The condition that the others are held against.", show_default=False)
]
Match = Annotated[
    str | None,
    typer.Option(help="Columns that pair clips, as speaker,passage; 'none' pairs nothing.", show_default=False),
]
Unit = Annotated[str, typer.Option(help="Coarsest column within which the recording chain is constant.")]


def audit(  # noqa: PLR0917 - a command takes its options by name
    what: What,
    pattern: Pattern = None,
    regex: Regex = None,
    column: Column = "condition",
    compare: Conditions = None,
    reference: Reference = None,
    match: Match = None,
    unit: Unit = "speaker",
    workers: WorkerCount = None,
    fail_if: FailIf = None,
    json: Json = False,
) -> None:
    """Say how well each cue tells the conditions apart; deliver nothing. With a config, before and after its chain.

    Example: prep audit study.yaml --fail-if "tilt.after.separation>0.15"

    Example: prep audit clips/ --pattern "{condition}/{speaker}_{passage}.wav"
    """
    from prep.commands.show import show_audit
    from prep.document import CONFIG_SUFFIXES
    from prep.progress import progress_for_terminal
    from prep.run import audit_place, audit_run, audit_study
    from prep.unconfigured import Place

    limits = fail_if or ()
    if what.suffix.lower() in CONFIG_SUFFIXES:
        done = audit_study(what, progress_for_terminal(), workers=workers, fail_if=limits)
    elif (what / "run.json").is_file():
        done = audit_run(what, limits)
    else:
        place = Place(what, pattern, regex, column, _words(compare) or (), reference, _words(match), unit)
        done = audit_place(place, progress_for_terminal(), workers=workers, fail_if=limits)
    show_audit(done, as_json=json)
    raise typer.Exit(done.exit_code)


def _words(text: str | None) -> tuple[str, ...] | None:
    """Return the parts of a list with commas; None where there is none, none where it is `none`."""
    if text is None or text == "none":
        return None if text is None else ()
    return tuple(part.strip() for part in text.split(",") if part.strip())
