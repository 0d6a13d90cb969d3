"""Records: earlier runs read back, as they were written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prep.errors import ConfigError, Problem
from prep.publish import latest_record

if TYPE_CHECKING:
    from pathlib import Path


def read_record(path: Path) -> dict[str, Any]:
    """Return the record of a run.

    Args:
        path: an output folder (its latest run), one of its runs/NNNN, or a run.json.

    Raises:
        ConfigError: there is no record there, or it cannot be read.
    """
    folder = latest_record(path) if (path / "runs").is_dir() else path
    file = path if path.is_file() else (folder or path) / "run.json"
    try:
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        todo = "name an output folder of prep run, or one of its runs/NNNN"
        raise ConfigError([Problem(str(path), f"holds no run: {error.strerror}", todo)]) from None
    except ValueError:
        raise ConfigError([Problem(str(file), "is not a record", "restore it from a copy")]) from None
    if not isinstance(record, dict) or "clips" not in record:
        raise ConfigError([Problem(str(file), "is not a record", "name the run.json of a run")])
    return record
