"""prep suggest: the mildest chain that is enough."""

from typing import Annotated

import typer

from prep.commands.options import Config, Json, WorkerCount

Margin = Annotated[
    float | None,
    typer.Option(
        help="Largest abs(AUC - 0.5) that a cue may keep; the study's equivalence_auc by default.",
        min=0.01,
        max=0.49,
        show_default=False,
    ),
]


def suggest(config: Config, margin: Margin = None, workers: WorkerCount = None, json: Json = False) -> None:
    """Search the fit split for the mildest treatment that hides the cues it can, and print it as YAML.

    Example: prep suggest study.yaml --margin 0.1
    """
    from prep.commands.show import show_suggestion
    from prep.progress import progress_for_terminal
    from prep.suggest import suggest_chain

    done = suggest_chain(config, progress_for_terminal(), margin=margin, workers=workers)
    show_suggestion(done, as_json=json)
    raise typer.Exit(done.exit_code)
