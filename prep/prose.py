"""Prose: small pieces of the sentences that a report and a methods paragraph are made of."""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def joined(names: Sequence[str]) -> str:
    """Return names as a list in words: `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def counted(number: int, word: str) -> str:
    """Return a number with its noun, in the plural where it is not one."""
    return f"{number} {word if number == 1 else plural(word)}"


def plural(word: str) -> str:
    """Return the plural of a noun, which may be the name of a column."""
    if word.lower() == "corpus":
        return f"{word[:-2]}ora"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search("[^aeiou]y$", word) else f"{word}s"


def middle_and_most(values: Sequence[float], unit: str) -> str:
    """Return the median and the largest of values with one digit, as one figure where they are the same."""
    middle, most = (f"{value:.1f} {unit}" for value in (median(values), max(values)))
    return middle if middle == most else f"{middle} in the median and {most} at most"


def was(number: int) -> str:
    """Return the verb for so many."""
    return "was" if number == 1 else "were"


def selected(selection: Mapping[str, str | list[str]]) -> str:
    """Return rows that a config names, in words: `condition human and system a or b`."""
    return " and ".join(
        f"{column} {value if isinstance(value, str) else ' or '.join(value)}" for column, value in selection.items()
    )


def clips_with(selection: Mapping[str, str | list[str]] | None) -> str:
    """Return `the clips with condition human`, or `all clips` where none are named."""
    return f"the clips with {selected(selection)}" if selection else "all clips"


def sentence(text: str) -> str:
    """Return text with a capital letter at its start."""
    return text[:1].upper() + text[1:]
