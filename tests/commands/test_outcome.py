"""What a run says of itself at the end: five lines, in the record's own figures and words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prep.outcome import failures, outcome_lines

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
    assert lines[3] == "limits: none is set (--fail-if sets one)"
    assert not any("\n" in line for line in lines)


def test_the_worst_cue_is_the_widest_that_is_told_apart() -> None:
    """Of nuisance cues that are told apart the widest is named, with its figure and verdict; a voice cue is none."""
    record = golden("demo")
    after = record["audit"]["after"]
    for item in after.values():
        item |= {"verdict": "not settled", "auc": 0.5, "separation": 0.0, "numbers": {}}
    after["hum"] |= {"auc": 0.9, "separation": 0.4}
    after["peak"] |= {"verdict": "told apart", "auc": 0.2, "separation": 0.3, "p": 0.0286}
    after["duration"] |= {"verdict": "told apart", "auc": 1.0, "separation": 0.5}
    worst = outcome_lines(record, "out")[2]

    assert worst == (
        "worst remaining cue: peak, AUC 0.200 (0.5 is chance) on held-out clips: told apart, p = 0.0286; wider but not "
        "settled: hum, AUC 0.900"
    )
    after["peak"] |= {"verdict": "not settled"}
    assert outcome_lines(record, "out")[2].startswith(
        "worst remaining cue: hum, AUC 0.900 (0.5 is chance) on held-out clips: not settled"
    )


def test_a_number_that_a_score_hides_is_named() -> None:
    """A cue of several numbers stands by its own AUC, with the number that alone tells most and of how many it is."""
    record = golden("demo")
    for item in record["audit"]["after"].values():
        item |= {"verdict": "not settled", "auc": 0.5, "separation": 0.0, "numbers": {}}
    after = record["audit"]["after"]
    after["peak"] |= {"auc": 0.7, "numbers": {"true_peak_dbtp": 0.0, "crest_db": 0.9, "x": None}, "p": 0.371}
    after["hum"] |= {"auc": 0.6}

    assert outcome_lines(record, "out")[2] == (
        "worst remaining cue: peak, AUC 0.700, the widest of 2 numbers, true_peak_dbtp, alone 0.000 (0.5 is chance) on "
        "held-out clips: not settled, p = 0.371"
    )
    after["hum"] |= {"auc": 0.8, "p": None}
    assert outcome_lines(record, "out")[2].startswith("worst remaining cue: hum, AUC 0.800 (0.5 is chance)")


def test_too_few_units_are_said() -> None:
    """Where the smallest attainable p is above 0.05, the line says that so few speakers settle nothing."""
    record = golden("demo")
    for item in record["audit"]["after"].values():
        item |= {"smallest_p": 0.125, "p": None, "verdict": "not settled"}

    assert outcome_lines(record, "out")[2].endswith(
        ": not settled (too few speakers to settle anything: smallest possible p 0.125)"
    )


def test_a_badly_covered_cue_unsettles_itself_alone() -> None:
    """A cue that few speakers have a value of is told as such where it is the worst, and of no other cue."""
    record = golden("demo")
    after = record["audit"]["after"]
    for item in after.values():
        item |= {"verdict": "not settled", "auc": 0.5, "numbers": {}}
    after["hum"] |= {"auc": 0.9, "p": None, "smallest_p": 0.333, "units_a": 1}
    after["peak"] |= {"auc": 0.8, "p": 0.371}

    assert outcome_lines(record, "out")[2].endswith(
        "hum, AUC 0.900 (0.5 is chance) on held-out clips: not settled (too few speakers to settle anything of hum "
        "(smallest possible p 0.333))"
    )
    after["hum"] |= {"auc": 0.5}
    assert outcome_lines(record, "out")[2].endswith(
        "peak, AUC 0.800 (0.5 is chance) on held-out clips: not settled, p = 0.371"
    )


def test_the_last_line_says_why_the_exit_code_is_1() -> None:
    """Exit code 1 is explained by what was turned down and not replaced, failed or broken; 0 has no such line."""
    record = golden("demo")
    assert outcome_lines(record, "out")[-1].startswith("look at: ")
    assert failures(record) == []
    clip, slot = record["clips"][0], record["slots"][0]
    clip |= {"status": "rejected", "delivered": False, "failure": {"step": "screen", "reason": "loud"}}
    slot |= {"filled_by": None, "candidates": 1, "instead_of": [{"file_name": clip["file_name"]}]}

    assert outcome_lines(record, "out")[-1] == "exit code 1: 1 clip was turned down and not replaced"
    clip["status"] = "failed"
    record["limits"] = [{"limit": "x", "broken": True, "why": "y"}]
    assert outcome_lines(record, "out")[-1] == "exit code 1: 1 clip failed; 1 limit broken"
    clip["status"], slot["candidates"] = "rejected", 2
    assert failures(record) == ["1 slot unfilled", "1 limit broken"]


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
