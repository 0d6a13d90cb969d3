"""prep stages: what a chain can hold."""

from typing import Annotated

import typer

from prep.commands.options import Json


def stages(
    name: Annotated[str | None, typer.Argument(help="One stage; all by default.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """List the stages, or describe one with its parameters and units.

    Example: prep stages tilt_eq
    """
    from prep.commands.show import show_stages
    from prep.describe import described_stages

    show_stages(described_stages(name), as_json=json)
