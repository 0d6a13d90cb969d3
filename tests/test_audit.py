"""The audit in its record: what stands beside the score of a cue of several numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from prep.auc import auc
from prep.commands.show import show_audit
from prep.pairs import widest
from prep.run import Done

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = {"sources": "source", "before": "source", "after": "evidence", "delivered": "delivered"}


@pytest.mark.parametrize("column", COLUMNS)
def test_each_number_of_a_cue_has_its_auc_over_the_same_clips(eventful: Path, column: str) -> None:
    """In every column the AUC of each number is that of the very clips of the column; verdict and p are the score's."""
    record = json.loads((eventful / "run.json").read_text(encoding="utf-8"))
    features = record["audit"]["cues"]["spectrum"]["features"]
    clips = [
        clip
        for clip in record["clips"]
        if clip["delivered"] and (clip["half"] == "held-out" or column in ("sources", "delivered"))
    ]
    is_b = np.array([clip["columns"]["condition"] == "synthetic" for clip in clips])
    expected = {}
    for feature in features:
        values = np.array([clip[COLUMNS[column]]["cues"]["spectrum"][feature["name"]] for clip in clips])
        stepped = np.round(values / feature["resolution"]) * feature["resolution"]
        expected[feature["name"]] = auc(stepped[~is_b], stepped[is_b])

    assert len(expected) > 1
    assert record["audit"][column]["spectrum"]["numbers"] == pytest.approx(expected)
    assert "numbers" not in record["audit"][column]["tilt"]


def test_of_several_conditions_the_numbers_are_of_the_pair_that_is_named() -> None:
    """What stands beside the widest pair of a cue is the AUC of each number between these two conditions."""
    item: dict[str, Any] = {"auc": 0.6, "separation": 0.1, "auc_matched": None, "spread": 1.0, "numbers": {"x": 0.6}}
    wide = item | {"auc": 0.9, "separation": 0.4, "numbers": {"x": 0.2}}
    audits = [{"a": "p", "b": "q", "after": {"peak": item}}, {"a": "p", "b": "r", "after": {"peak": wide}}]

    assert widest(audits, "after", "peak") | {"pair": ["p", "r"], "numbers": {"x": 0.2}} == widest(
        audits, "after", "peak"
    )


def test_the_terminal_shows_the_widest_first_with_its_number(
    eventful: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the table of `prep audit` a cue stands by its own AUC, one of several numbers with the widest of them."""
    monkeypatch.setenv("COLUMNS", "200")
    record = json.loads((eventful / "run.json").read_text(encoding="utf-8"))
    for item in record["audit"]["after"].values():
        item |= {"auc": 0.5, "separation": 0.0}
    record["audit"]["after"]["spectrum"] |= {"auc": 0.9}
    record["audit"]["after"]["spectrum"]["numbers"]["spectrum_1000hz_db"] = 0.0
    show_audit(Done(record), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    head = next(place for place, line in enumerate(lines) if line.split()[:1] == ["cue"])

    assert "widest number" in lines[head]
    assert lines[head + 2].split()[0] == "spectrum"
    assert "spectrum_1000hz_db 0.000 (of 23)" in lines[head + 2]
