"""Describe: the stages and their parameters, from the classes themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

from prep.classifiers import cue_classes
from prep.document import did_you_mean
from prep.errors import ConfigError, Problem
from prep.stage import Stage
from prep.stages import stage_classes
from prep.study import Section, Study

MOST_NUMBERS = 4  # of a cue, in a table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel


def described_stages(name: str | None = None) -> list[dict[str, Any]]:
    """Return name, purpose, what it fits on, and parameters of every stage, or of one.

    Raises:
        ConfigError: there is no such stage.
    """
    classes = stage_classes()
    if name is not None and name not in classes:
        raise ConfigError([Problem(name, "no such stage", did_you_mean(name, classes))])
    return [_described(step) for found, step in classes.items() if name in (None, found)]


def stage_table() -> str:
    """Return every step as a Markdown table: what the README holds."""
    rows = [f"| `{stage['name']}` | {stage['fits_on']} | {stage['purpose']} |" for stage in described_stages()]
    return "\n".join(["| step | learns from | what |", "|---|---|---|", *rows]) + "\n"


def cue_table() -> str:
    """Return every cue as a Markdown table: what docs/cues.md holds."""
    rows = ["| cue | kind | numbers | meaning | definition |", "|---|---|---|---|---|"]
    for name, cue in cue_classes().items():
        numbers = "; ".join(f"`{feature.name}`: {feature.meaning}" for feature in cue.FEATURES[:MOST_NUMBERS])
        more = f"; and {len(cue.FEATURES) - MOST_NUMBERS} more like these" if len(cue.FEATURES) > MOST_NUMBERS else ""
        rows.append(f"| `{name}` | {cue.KIND} | {numbers}{more} | {cue.MEANING} | {cue.SOURCE} |")
    return "\n".join(rows) + "\n"


def settings_table() -> str:
    """Return every setting of a study as a Markdown table: what docs/config.md holds."""
    rows = ["| setting | default | meaning |", "|---|---|---|", *_settings(Study, "")]
    return "\n".join(rows) + "\n"


def _settings(model: type[BaseModel], above: str) -> Iterator[str]:
    """Yield a table row for each field of a model and of the models inside it."""
    for name, field in model.model_fields.items():
        parts = [field.annotation, *get_args(field.annotation)]
        inner = next((part for part in parts if isinstance(part, type) and issubclass(part, Section)), None)
        if inner is not None:
            yield from _settings(inner, f"{above}{name}.")
        elif name != "chain":
            default = "required" if field.is_required() else json.dumps(field.get_default(call_default_factory=True))
            yield f"| `{above}{name}` | {default} | {field.description or ''} |"


def _described(step: Any) -> dict[str, Any]:
    schema = step.model_json_schema()
    required = schema.get("required", [])
    parameters = [
        {
            "name": field,
            "required": field in required,
            "default": None if info.is_required() else info.get_default(call_default_factory=True),
            "description": info.description,
        }
        for field, info in step.model_fields.items()
    ]
    return {
        "name": step.NAME,
        "version": step.VERSION,
        "purpose": (step.__doc__ or "").strip().splitlines()[0],
        "fits_on": step.FITS_ON if issubclass(step, Stage) else "nothing",
        "parameters": parameters,
    }
