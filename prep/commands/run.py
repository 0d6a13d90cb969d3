"""prep run: prepare a study and prove what was done."""

import typer

from prep.commands.options import Config, FailIf, Json, Secret, WorkerCount


def run(
    config: Config, workers: WorkerCount = None, secret: Secret = None, fail_if: FailIf = None, json: Json = False
) -> None:
    """Prepare a study's clips into one blinded set, and prove what was done.

    Example: prep run study.yaml
    """
    from prep.commands.show import show_run
    from prep.progress import progress_for_terminal
    from prep.run import run_study

    done = run_study(config, progress_for_terminal(), workers=workers, secret=secret, fail_if=fail_if or ())
    show_run(done, as_json=json)
    raise typer.Exit(done.exit_code)
