"""What a design allows to be exchanged, and what it sees in real tables."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.design import Observations
from prep.separability import Separation, compare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray


def observed(
    labels: str, units: str | Sequence[str], cells: str | None = None, passages: str | None = None
) -> Observations:
    """Return observations from a letter a clip: condition a or b, unit, cell ('-' for none), passage."""
    return Observations(
        np.array([label == "b" for label in labels]),
        tuple(units),
        None if cells is None else tuple(None if cell == "-" else cell for cell in cells),
        None if passages is None else tuple(passages),
    )


def only(values: Sequence[float] | NDArray[np.float64], observations: Observations, **options: int) -> Separation:
    """Return the comparison on a single cue."""
    return compare({"cue": np.asarray(values, dtype=float)}, observations, **options)["cue"]


def test_columns_of_unlike_length_are_refused() -> None:
    """A column or a cue with too few entries is an error that gives both numbers."""
    with pytest.raises(ValueError, match="unit has 2 entries for 3 clips"):
        observed("aab", "st")
    with pytest.raises(ValueError, match=r"shape \(2,\), not \(3,\)"):
        only([1, 2], observed("aab", "stu"))
    with pytest.raises(ValueError, match="clip 1 has no speaker"):
        observed("aab", ["s", "", "u"])


def test_speakers_of_different_texts_are_not_exchanged() -> None:
    """Where each text is read by one speaker a side, labels are exchanged inside such pairs only: 2 of 2^6."""
    values = np.concatenate([np.arange(6) * 10.0, np.arange(6) * 10.0 + 1])
    found = only(values, observed("a" * 6 + "b" * 6, "stuvwxmnopqr", passages="123456" * 2))
    assert found.design == "nested"
    assert found.auc_tested == 1.0
    assert found.p == pytest.approx(2 / 64)


def test_crossed_speakers_without_matched_cells_are_compared_across_texts() -> None:
    """A speaker of both conditions whose cells do not match is compared as one cell, with a warning."""
    found = only([0, 1, 0, 1, 3, 2], observed("ababab", "ssttuu", cells="113456"))
    assert found.design == "paired"
    assert found.auc_matched == 1.0
    assert found.auc_tested == pytest.approx(2 / 3)
    assert any("2 speakers of both conditions without a matched cell" in warning for warning in found.warnings)


def test_speakers_without_a_counterpart_are_left_out_of_the_test() -> None:
    """In a paired study a speaker of one condition counts in the pooled AUC, not in p, and is named."""
    observations = observed("ab" * 6 + "a", "ssttuuvvwwxxy", "112233445566-")
    found = only([*([0, 1] * 6), 5], observations)
    assert found.design == "paired"
    assert found.auc == pytest.approx(36 / 42)
    assert found.p == pytest.approx(2 / 64)
    assert any("1 speaker without a counterpart" in warning for warning in found.warnings)


def real_observations(table: Path) -> Observations:
    """Return what a real table says of its clips."""
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return Observations(
        np.array([row["condition"] == "synthetic" for row in rows]),
        tuple(row["speaker"] for row in rows),
        tuple(f"{row['speaker']}|{row['passage']}" for row in rows),
        tuple(row["passage"] for row in rows),
        ("human", "synthetic"),
    )


def test_the_design_of_a_paired_table_is_seen(shared: Path) -> None:
    """A table of 20 speakers with both conditions is a paired study whose matched cells are all used."""
    observations = real_observations(shared / "data" / "detection.csv")
    found = only(np.random.default_rng(19).standard_normal(observations.is_b.size), observations, draws=199)
    assert found.design == "paired"
    assert (found.units_a, found.units_b) == (20, 20)
    assert found.auc_matched == pytest.approx(found.auc_tested)
    assert found.warnings == ()


def test_the_design_of_a_mixed_table_is_seen(shared: Path) -> None:
    """A table of 10 crossed and 14 one-condition speakers is a mixed study, and its lone passages are named."""
    observations = real_observations(shared / "data" / "chains.csv")
    found = only(np.random.default_rng(20).standard_normal(observations.is_b.size), observations, draws=199)
    assert found.design == "mixed"
    assert any("occur in one condition only" in warning for warning in found.warnings)
