"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[Path, typer.Argument(help="The study's config, in YAML.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for a machine to read.")]
WorkerCount = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, help="Processes; as many as cores by default. No effect on results.", show_default=False
    ),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option("--fail-if", help="What may not be found, as 'tilt.after.separation>0.15'.", show_default=False),
]
Secret = Annotated[
    Path | None,
    typer.Option(
        "--secret", help="File with the secret that keys the ids, in place of OUT/secret.", show_default=False
    ),
]
