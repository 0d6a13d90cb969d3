"""YAML documents that remember on which line each thing stands, and refuse repeated keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from prep.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Place = tuple[str | int, ...]
DEEPEST = 50  # levels of nesting; no setting has more than a few
CONFIG_SUFFIXES = (".yaml", ".yml")  # by which a study is told from a clip table


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "did you mean X?", or the list of what is known where nothing is near."""
    options = sorted(set(known))
    longer = [option for option in options if word and option.startswith(word)]
    near = longer or get_close_matches(word, options, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    return "known here: " + ", ".join(options) if options else ""


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document: its values, and the line of each place in it."""

    name: str
    values: dict[str, Any]
    lines: dict[Place, int] = field(default_factory=dict)

    def where(self, place: Place) -> str:
        """Return "file:line: a.b.c" of a place, or of the nearest place above it that has a line."""
        for length in range(len(place), -1, -1):
            line = self.lines.get(place[:length])
            if line is not None:
                dotted = ".".join(str(part) for part in place)
                return f"{self.name}:{line}" + (f": {dotted}" if dotted else "")
        return self.name


def read_document(path: Path) -> Document:
    """Read a YAML file that holds one mapping.

    Raises:
        ConfigError: the file is missing, is not YAML, is not a mapping, or repeats a key.
    """
    import yaml

    name = str(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ConfigError([Problem(name, reason, "name a study file, in YAML")]) from None
    try:
        _refuse_bombs(text, name)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise _not_yaml(name, text, error) from None
    if not isinstance(root, yaml.MappingNode) or root.tag != "tag:yaml.org,2002:map":
        raise ConfigError([Problem(name, "holds no settings", "start from a file in configs/")])
    lines: dict[Place, int] = {}
    problems: list[Problem] = []
    _walk(root, (), name, lines, problems)
    if problems:
        raise ConfigError(problems)
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _not_yaml(name, text, error) from None
    except (ValueError, TypeError) as error:
        raise ConfigError([Problem(name, f"not YAML: {error}", "mend the value")]) from None
    return Document(name, values, lines)


def _not_yaml(name: str, text: str, error: Exception) -> ConfigError:
    """Return what the reader of YAML found, in one line."""
    mark, position = getattr(error, "problem_mark", None), getattr(error, "position", None)
    if position is not None:  # a sign that no YAML may hold
        where, what = f"{name}:{text.count(chr(10), 0, position) + 1}", getattr(error, "reason", "")
        return ConfigError([Problem(where, f"not YAML: {what}", "save it as UTF-8 text")])
    what = getattr(error, "problem", None) or error
    where = f"{name}:{mark.line + 1}" if mark else name
    return ConfigError([Problem(where, f"not YAML: {what}", "mend the line or the one above it")])


def _refuse_bombs(text: str, name: str) -> None:
    """Refuse what a few bytes can make endless, before it is read, and what no setting needs: aliases and deep nesting.

    Raises:
        ConfigError: there is an alias, or something is nested too deeply.
    """
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ConfigError([Problem(name, "its brackets are nested too deeply", "flatten it")])
        if isinstance(event, yaml.AliasEvent):
            where = f"{name}:{event.start_mark.line + 1}" if event.start_mark else name
            raise ConfigError([Problem(where, f"*{event.anchor} stands for another part", "write the part out")])


def _walk(node: Any, place: Place, name: str, lines: dict[Place, int], problems: list[Problem]) -> None:
    """Note the line of every place below a node, and each key that is given twice."""
    import yaml

    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            word, line = str(key.value), key.start_mark.line + 1
            if word in seen:
                problems.append(
                    Problem(
                        f"{name}:{line}",
                        f"{word} is given twice (first on line {seen[word]})",
                        "take one of them out",
                    )
                )
            seen.setdefault(word, line)
            lines[(*place, word)] = line
            _walk(value, (*place, word), name, lines, problems)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _walk(value, (*place, index), name, lines, problems)
