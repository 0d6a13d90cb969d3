"""What a run says of itself at the end: five lines, in the record's own figures and words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prep.outcome import outcome_lines

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def golden(preset: str) -> dict[str, Any]:
    """Return a record, with what golden records leave out."""
    record: dict[str, Any] = json.loads((GOLDEN / f"{preset}.json").read_text(encoding="utf-8"))
    for clip in record["clips"]:
        clip["file_name"] = clip["columns"]["file_name"]
    for slot in record["slots"]:
        slot["slot"] = slot["filled_by"]
    for column in ("sources", "before", "after", "delivered"):
        for item in record["audit"][column].values():
            item["separation"] = None if item["auc"] is None else abs(item["auc"] - 0.5)
    return record | {"limits": []}


@pytest.mark.parametrize("preset", sorted(path.stem for path in GOLDEN.glob("*.json")))
def test_five_lines_say_what_a_run_came_to(preset: str) -> None:
    """What was made, what was lost, the worst cue, the limits and where to look, each on one line."""
    lines = outcome_lines(golden(preset), "out")

    assert [line.split(":")[0] for line in lines] == ["made", "excluded", "worst remaining cue", "limits", "look at"]
    assert not any("\n" in line for line in lines)


def test_the_worst_cue_is_the_widest_that_is_told_apart() -> None:
    """Of nuisance cues that are told apart the widest is named, with its figure and verdict; a voice cue is none."""
    record = golden("demo")
    after = record["audit"]["after"]
    for item in after.values():
        item |= {"verdict": "not settled", "auc": 0.5, "separation": 0.0}
    after["hum"] |= {"auc": 0.9, "separation": 0.4}
    after["peak"] |= {"verdict": "told apart", "auc": 0.2, "separation": 0.3, "p": 0.0286}
    after["duration"] |= {"verdict": "told apart", "auc": 1.0, "separation": 0.5}
    worst = outcome_lines(record, "out")[2]

    assert worst == "worst remaining cue: peak, AUC 0.200 on held-out clips: told apart, p = 0.0286"
    after["peak"] |= {"verdict": "not settled"}
    assert outcome_lines(record, "out")[2].startswith(
        "worst remaining cue: hum, AUC 0.900 on held-out clips: not settled"
    )


def test_what_was_lost_and_broken_is_named() -> None:
    """The excluded clip stands with its reason and what replaced it, a broken limit with its figure."""
    record = golden("detection")
    record["limits"] = [
        {"limit": "tilt.after.separation>0.15", "broken": True, "why": "it is 0.3"},
        {"limit": "loudness.after.separation>0.5", "broken": False, "why": ""},
    ]
    lines = outcome_lines(record, "out")

    assert lines[1].startswith("excluded: 1 rejected: clipped.wav (clipping: clipped_percent is ")
    assert lines[1].endswith("1 replaced by another candidate")
    assert lines[3] == "limits: tilt.after.separation>0.15 is broken (it is 0.3)"


def test_without_conditions_no_cue_is_named() -> None:
    """A run that compares nothing says so."""
    record = golden("as_produced") | {"audit": None}
    record["config"] = record["config"] | {"compare": None}

    assert outcome_lines(record, "out")[2].startswith("worst remaining cue: none was looked for")
