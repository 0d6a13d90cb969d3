"""The stages, one file each: the YAML word is the module's name, and its class is found by itself."""

from __future__ import annotations

from functools import cache

from prep.discovery import classes_in
from prep.stage import Step


@cache
def stage_classes() -> dict[str, type[Step]]:
    """Return every stage and encoder class by its YAML word, in alphabetical order."""
    return classes_in(__name__, Step)
