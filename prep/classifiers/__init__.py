"""The cues, one file each: the YAML word is the module's name, and its class is found by itself."""

from __future__ import annotations

from functools import cache

from prep.cue import Cue
from prep.discovery import classes_in


@cache
def cue_classes() -> dict[str, type[Cue]]:
    """Return every cue class by its YAML word, in alphabetical order."""
    return classes_in(__name__, Cue)
