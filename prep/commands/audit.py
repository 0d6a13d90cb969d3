"""prep audit: the proof alone."""

import typer

from prep.commands.options import Config, FailIf, Json, WorkerCount


def audit(config: Config, workers: WorkerCount = None, fail_if: FailIf = None, json: Json = False) -> None:
    """Say how well each cue tells the conditions apart, before and after the chain; deliver nothing.

    Example: prep audit study.yaml --fail-if "tilt.after.separation>0.15"
    """
    from prep.commands.show import show_audit
    from prep.progress import progress_for_terminal
    from prep.run import audit_study

    done = audit_study(config, progress_for_terminal(), workers=workers, fail_if=fail_if or ())
    show_audit(done, as_json=json)
    raise typer.Exit(done.exit_code)
