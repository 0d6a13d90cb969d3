"""Finding classes by their file: a new stage or cue is one new module, and nothing else changes."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TypeVar

T = TypeVar("T")


def classes_in(package: str, *kinds: type[T]) -> dict[str, type[T]]:
    """Return the one class of each module of a package that is of one of the kinds, by its NAME.

    Args:
        package: dotted name of the package whose modules are searched.
        kinds: base classes.

    Raises:
        LookupError: a module holds no such class, or its NAME is not the module's name.
    """
    found: dict[str, type[T]] = {}
    path = importlib.import_module(package).__path__
    for name in sorted(module.name for module in pkgutil.iter_modules(path)):
        module = importlib.import_module(f"{package}.{name}")
        # The class's own NAME tells it from the parametrised bases that pydantic leaves beside it.
        classes = [
            item
            for item in vars(module).values()
            if isinstance(item, type) and issubclass(item, kinds) and vars(item).get("NAME") == name
        ]
        if len(classes) != 1:
            raise LookupError(f"{module.__name__} must hold one class with NAME = {name!r}")
        found[name] = classes[0]
    return found
