"""prep profile: what spectrum is there to match to?"""

from pathlib import Path
from typing import Annotated

import typer

from prep.commands.options import Json


def profile(
    files: Annotated[list[Path], typer.Argument(help="Sound files; each counts alike.", show_default=False)],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Profile to write, as JSON; its picture goes beside it, as SVG.")
    ] = Path("profile.json"),
    json: Json = False,
) -> None:
    """Store the mean spectrum of some files, with its provenance and a picture, for the stage reference_eq.

    Example: prep profile reference/*.wav -o profile.json
    """
    from prep.commands.show import show_json
    from prep.profile import profile_of_files, store_profile

    made = profile_of_files(files)
    picture = store_profile(made, output)
    if json:
        show_json(made.model_dump(mode="json"))
    else:
        band = f"filled from {made.from_hz:.0f} to {made.to_hz:.0f} Hz"
        typer.echo(f"{output}: the mean of {made.clips} sound{'s' * (made.clips != 1)}, {band}\npicture: {picture}")
