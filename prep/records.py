"""Records: earlier runs read back, as they were written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from prep.errors import ConfigError, Problem
from prep.publish import latest_record
from prep.record_shape import TAGS, RecordShape, Shape
from prep.stage import Stage, Step
from prep.stages import stage_classes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# The files that a config names lie beside it, and may be gone; what was read of them is in the record.
_WITHOUT_FILES = {"opens_files": False}


def read_record(path: Path) -> dict[str, Any]:
    """Return the record of a run.

    Args:
        path: an output folder (its latest run), one of its runs/NNNN, or a run.json.

    Raises:
        ConfigError: there is no record there, or it lacks what pages, tables and comparisons are made from.
    """
    try:
        folder = latest_record(path) if (path / "runs").is_dir() else path
        file = path if path.is_file() else (folder or path) / "run.json"
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        todo = "name an output folder of prep run, or one of its runs/NNNN"
        raise ConfigError([Problem(str(path), f"holds no run: {error.strerror}", todo)]) from None
    except UnicodeDecodeError:
        raise _unreadable(file, "it is not UTF-8 text") from None
    try:
        record: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        raise _unreadable(file, "it is not JSON") from None
    if fault := shape_fault(record):
        raise _unreadable(file, fault, _version_of(record))
    return record


def _unreadable(file: Path, fault: str, version: str = "") -> ConfigError:
    todo = "run the study again, or use the version that wrote it" + (f" ({version})" if version else "")
    return ConfigError([Problem(str(file), f"is not a record this version reads: {fault}", todo)])


def _version_of(record: Any) -> str:
    versions = record.get("versions") if isinstance(record, dict) else None
    return str(versions.get("listening-prep", "")) if isinstance(versions, dict) else ""


def shape_fault(record: Any) -> str:
    """Return what is first found missing or wrong in a record, with its place; empty where it has what readers need.

    Args:
        record: what a run.json holds.
    """
    return _fault(RecordShape, record) or next((fault for fault in _step_faults(record) if fault), "")


def _step_faults(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the settings and the fits of each step that this version has."""
    known = stage_classes()
    for number, step in enumerate(record["config"]["chain"]):
        for name, settings in step.items():
            if name in known:
                yield _fault(known[name], settings, f"config.chain.{number}.{name}")
                yield from _fit_faults(known[name].model_validate(settings, context=_WITHOUT_FILES), record["fits"])


def _fit_faults(step: Step, fits: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(step, Stage) and step.FITS is not None and step.fits_on() != "nothing":
        for part in ("evidence", "release"):
            if part == "release" or step.NAME in fits[part]:
                yield _fault(step.FITS, fits[part].get(step.NAME), f"fits.{part}.{step.NAME}")


def _fault(model: type[BaseModel], given: Any, place: str = "") -> str:
    """Return the first fault of a part, with its place; a field with a default that was not written is one too."""
    try:
        held = model.model_validate(given, context=_WITHOUT_FILES)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        parts = [part for part in fault["loc"] if part not in TAGS]
        where = ".".join([*([place] if place else []), *(str(part) for part in parts)])
        if fault["type"] == "missing":
            return f"{where} is missing"
        what = fault["msg"].removeprefix("Value error, ").split(" or instance of ")[0]
        what = f"{what[:1].lower()}{what[1:]}"
        return f"{where}: {what}" if where else what
    if issubclass(model, Shape):
        return ""
    written = {name for name, value in given.items() if value is not None or not issubclass(model, Step)}
    lost = sorted(held.model_dump(exclude_none=True).keys() - written) or sorted(given.keys() - written)
    return f"{place}.{lost[0]} is missing" if lost else ""
