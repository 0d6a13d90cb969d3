"""prep models: the weights that some cues and stages need, and getting them."""

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prep.commands.options import Json

if TYPE_CHECKING:
    from prep.models import State


class Action(StrEnum):
    """What to do about the models."""

    LIST = "list"
    FETCH = "fetch"


def models(
    action: Annotated[Action, typer.Argument(help="What to do.")] = Action.LIST,
    names: Annotated[
        list[str] | None, typer.Argument(help="Models to fetch; all by default.", show_default=False)
    ] = None,
    wheels: Annotated[
        Path | None,
        typer.Option("--wheels", help="Folder with the wheels, where there is no package index.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """List the models with purpose, size, licence, source and digests, or fetch them through pip.

    Example: prep models fetch yamnet deepfilternet3
    """
    from prep.commands.show import show_json
    from prep.models import fetch, listed
    from prep.names import shown

    if names and action is Action.LIST:
        raise typer.BadParameter(f"a list is of all models; to get some, type: prep models fetch {' '.join(names)}")
    states = fetch(names or (), wheels) if action is Action.FETCH else listed()
    if json:
        show_json([_as_dict(state) for state in states])
        return
    for line in (line for state in states for line in _lines(state)):
        typer.echo(shown(line, sys.stdout.encoding))


def _as_dict(state: "State") -> dict[str, Any]:
    """Return a model's state for a machine."""
    model, wheel = state.model, state.wheel
    return {
        "name": model.name,
        "purpose": model.purpose,
        "present": state.present,
        "folder": str(state.folder),
        "licence": model.licence,
        "source": model.source,
        "requirement": model.requirement,
        "wheel": None if wheel is None else {"file_name": wheel.file_name, "sha256": wheel.sha256},
        "files": [
            {"name": member.name, "sha256": member.sha256, "bytes": member.size_bytes}
            for member in (wheel.members if wheel else ())
        ],
    }


def _lines(state: "State") -> Iterator[str]:
    """Yield what a reader should know of a model."""
    from prep.models import FETCH_COMMAND

    model, wheel = state.model, state.wheel
    size = f"{sum(member.size_bytes for member in wheel.members) / 1e6:.0f} MB" if wheel else "not for this machine"
    where = f"in {state.folder}" if state.present else f"not here; type: {FETCH_COMMAND} {model.name}"
    yield f"{model.name} ({size}): {where if wheel else 'leave out what needs it'}"
    yield f"  purpose: {model.purpose}"
    yield f"  source: {model.source}"
    yield f"  licence: {model.licence}"
    yield f"  wheel: {model.requirement}"
    for member in wheel.members if wheel else ():
        yield f"  {member.name}: sha256 {member.sha256}"
