"""Stimuli: the delivered clips as a table for a paper, each with what it is, its measures and what was done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prep.methods import exclusion_sentence
from prep.recorded import figure, measures_of
from prep.tabular import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prep.recorded import Record

# Kept from the clip table, where it has them.
BEFORE, AFTER = ("condition", "speaker", "passage", "text"), ("source", "licence", "license")
FORMAT_STEPS = ("convert", "encode")
# What a printed page has room for; the CSV has every measure.
PRINTED = ("duration_seconds", "integrated_lufs", "true_peak_dbtp", "tilt_db_per_octave")


def stimuli_csv(record: Record) -> bytes:
    """Return the delivered clips as CSV, with every measure."""
    return stimulus_table(record).csv()


def stimuli_tex(record: Record) -> bytes:
    """Return the delivered clips as LaTeX, with the measures that a page has room for; the caption says what is not."""
    return stimulus_table(record, PRINTED).latex()


def stimulus_table(record: Record, measures: Sequence[str] | None = None) -> Table:
    """Return a row a delivered clip, in the order of the ids.

    Args:
        record: run.json.
        measures: names of the measures wanted; all by default.
    """
    delivered = sorted((clip for clip in record["clips"] if clip["delivered"]), key=lambda clip: str(clip["id"]))
    measured = [measures_of(clip["delivered"]["cues"]) for clip in delivered]
    names = list(dict.fromkeys(name for values in measured for name in values))
    if measures is not None:
        names = [name for name in measures if name in names]
    before, after = (
        [name for name in kept if any(clip["columns"].get(name) for clip in delivered)] for kept in (BEFORE, AFTER)
    )
    rows = [
        (
            clip["id"],
            clip["role"],
            *(clip["columns"].get(name, "") for name in before),
            *(f"{values[name]:.3f}" if name in values else "" for name in names),
            corrections_of(clip),
            *(clip["columns"].get(name, "") for name in after),
        )
        for clip, values in zip(delivered, measured, strict=True)
    ]
    caption = f"The stimuli as delivered. {exclusion_sentence(record)}"
    return Table("stimuli", caption, ("id", "role", *before, *names, "corrections", *after), rows)


def corrections_of(clip: Mapping[str, Any]) -> str:
    """Return every number that a step noted of a clip, with the step: `shared_gain gain_db -1.054; ...`.

    What only belongs to the format is no correction.
    """
    return "; ".join(
        f"{stage} {name} {figure(value)}"
        for stage, notes in clip["stages"].items()
        if stage not in FORMAT_STEPS
        for name, value in notes.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
