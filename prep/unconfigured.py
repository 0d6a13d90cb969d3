"""A study without a config: clips as they lie, for an audit that treats and delivers nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prep.document import Document, did_you_mean
from prep.errors import ConfigError, Problem
from prep.folder import read_folder
from prep.names import exists
from prep.study import LoadedStudy, study_from
from prep.table import not_there, read_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prep.table import Reading, Row

MATCH_COLUMNS = ("speaker", "passage")  # what pairs clips where the table has both and nothing else is asked
FEWEST, MOST = 2, 12  # conditions; more are hardly meant, as where a column of names is compared


@dataclass(frozen=True)
class Place:
    """Where clips lie, and how they are compared.

    Attributes:
        path: a clip table, a folder with one (metadata.csv), or a folder of clips with a pattern.
        pattern, regex: how a folder's paths say what each clip is.
        column: that holds the condition.
        conditions: those compared; all in the table where none are named.
        reference: the condition that the others are held against.
        match: columns that pair clips; speaker and passage where the table has both.
        unit: column within which the recording chain is constant.
    """

    path: Path
    pattern: str | None = None
    regex: str | None = None
    column: str = "condition"
    conditions: tuple[str, ...] = ()
    reference: str | None = None
    match: tuple[str, ...] | None = None
    unit: str = "speaker"


def read_place(path: Path, pattern: str | None = None, regex: str | None = None) -> Reading:
    """Read a table, a folder with a table, or a folder whose paths say what its clips are.

    Args:
        path: of the table or the folder.
        pattern: of the folder's paths (see `prep.folder`).
        regex: in place of a pattern.

    Raises:
        ConfigError: nothing is there, or a pattern is given and it is no folder.
    """
    if not exists(path):
        raise ConfigError([not_there(path)])
    if pattern is None and regex is None:
        return read_table(path)
    if not path.is_dir():
        what = "a pattern goes with a folder, and this is none"
        raise ConfigError([Problem(str(path), what, "name the folder that the pattern's paths start from")])
    return read_folder(path, pattern, regex)


def study_of(place: Place, scratch: Path) -> LoadedStudy:
    """Return a study of clips as they lie, whose chain hands every file on as it is.

    Args:
        place: of the clips.
        scratch: a folder that may be thrown away.

    Raises:
        ConfigError: the clips cannot be read as a study.
    """
    reading = read_place(place.path, place.pattern, place.regex)
    if reading.problems:
        raise ConfigError(reading.problems, reading.notices)
    from_folder = place.pattern is not None or place.regex is not None
    stimuli = [row for row in reading.rows if row.role == "stimulus"]
    conditions = place.conditions or _conditions(place, stimuli)
    columns = {name for row in stimuli for name in row.columns}
    both = all(name in columns for name in MATCH_COLUMNS)
    match = place.match if place.match is not None else MATCH_COLUMNS if both else ()
    absolute = str(place.path.absolute())
    clips: dict[str, Any] = {"table": absolute}
    if from_folder:
        clips = {"folder": absolute, "pattern": place.pattern, "regex": place.regex}
    compare = {
        "column": place.column,
        "conditions": list(conditions),
        "reference": place.reference,
        "match": list(match),
        "unit": place.unit,
    }
    values = {
        "study": place.path.absolute().name or "clips",
        "clips": clips,
        "compare": compare,
        "chain": [{"encode": {"codec": "copy"}}],
        "output": str(scratch / "out"),
        "cache": str(scratch / "cache"),
    }
    return study_from(Document(str(place.path), values), place.path.parent)


def _conditions(place: Place, stimuli: Sequence[Row]) -> list[str]:
    """Return the conditions of a table, in alphabetical order.

    Raises:
        ConfigError: there are none, one, or too many.
    """
    columns = dict.fromkeys(name for row in stimuli for name in row.columns)
    if place.column not in columns:
        what = f"there is no column {place.column}"
        raise ConfigError([Problem(str(place.path), what, did_you_mean(place.column, columns))])
    found = sorted({value for row in stimuli if (value := row.columns.get(place.column, ""))})
    if not FEWEST <= len(found) <= MOST:
        what = f"column {place.column} holds {len(found)} conditions ({', '.join(found[:MOST])})"
        raise ConfigError([Problem(str(place.path), what, "name those to compare: --compare human,synthetic")])
    return found
