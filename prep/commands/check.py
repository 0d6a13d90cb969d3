"""prep check: every problem at once, and the plan."""

import typer

from prep.commands.options import Config, Json


def check(config: Config, json: Json = False) -> None:
    """List every problem of config, table and files, reading headers only; print the plan.

    Example: prep check study.yaml
    """
    from prep.check import checked
    from prep.commands.show import show_plan

    done = checked(config)
    show_plan(done, as_json=json)
    raise typer.Exit(done.exit_code)
