"""prep verify: is what a run left still what it says?"""

from pathlib import Path
from typing import Annotated

import typer

from prep.commands.options import Json


def verify(
    output: Annotated[Path, typer.Argument(help="A run's output folder, or its study config.", show_default=False)],
    json: Json = False,
) -> None:
    """Hash and decode everything a run left again, and name what is not as recorded.

    Example: prep verify out/
    """
    from prep.commands.show import show_verification
    from prep.verify import verify_output

    done = verify_output(output)
    show_verification(done, as_json=json)
    raise typer.Exit(done.exit_code)
