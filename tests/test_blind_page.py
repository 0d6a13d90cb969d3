"""The blind page: nothing in it depends on a label, and nothing in it names one."""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from prep.blind_page import blind_html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def record(eventful: Path) -> dict[str, Any]:
    """Return the record of the eventful run."""
    found: dict[str, Any] = json.loads((eventful / "run.json").read_text(encoding="utf-8"))
    return found


def marked(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with everything that could tell a label under a name that is found again."""
    found = copy.deepcopy(record)
    for place, clip in enumerate(found["clips"]):
        clip["file_name"] = f"secretfile{place}"
        clip["id"] = f"secretid{place}"
        clip["columns"] = {name: f"secret{name}{value}" for name, value in clip["columns"].items()}
        clip["slot"] = f"secretslot{place}"
        if clip["failure"]:
            clip["failure"]["reason"] = "secretreason"
    found["config"]["compare"] |= {"a": "secretconditionhuman", "b": "secretconditionsynthetic"}
    found["study"] = found["config"]["study"] = "secretstudy"
    found["notices"] = ["secretnotice"]
    found["seed"] = 987654321
    return found


def test_no_name_reaches_the_page(record: dict[str, Any]) -> None:
    """Neither conditions nor speakers, passages, files, ids, slots, reasons, the study's name nor the seed is told."""
    page = blind_html(marked(record))

    assert "secret" not in page
    assert "987654321" not in page
    assert "<audio" not in page
    assert "AUC" not in page


def names(value: Any) -> Iterator[str]:
    """Yield every text of a record's clips' columns, their ids and their hashes."""
    for clip in value["clips"]:
        yield from (text for text in clip["columns"].values() if len(text) > 3)
        yield from (
            clip["id"],
            clip["file_name"],
            *(clip[part]["sha256"] for part in ("source", "delivered") if clip[part]),
        )


def test_no_text_of_the_record_s_clips_reaches_the_page(record: dict[str, Any]) -> None:
    """No value of a table column, no id and no hash of a clip occurs in it."""
    page = blind_html(record)

    assert not [name for name in names(record) if name and name in page]


@pytest.mark.parametrize("seed", range(3))
def test_exchanged_labels_change_no_byte(record: dict[str, Any], seed: int) -> None:
    """Whatever conditions the clips have and in whatever order they stand, the page is the same."""
    found = copy.deepcopy(record)
    draw = random.Random(seed)  # noqa: S311 - a shuffle, no secret
    labels = [clip["columns"] for clip in found["clips"]]
    draw.shuffle(labels)
    for clip, columns in zip(found["clips"], labels, strict=True):
        clip["columns"] = columns
    draw.shuffle(found["clips"])
    found["audit"] = found["one_sided"] = found["fits"] = found["split"] = None

    assert blind_html(found) == blind_html(record)


def test_it_tells_what_was_done_to_all(record: dict[str, Any]) -> None:
    """Counts, steps, format and versions stand in it, with the pooled pictures."""
    page = blind_html(record)

    assert f"{len(record['clips'])} clips: 8 delivered, 1 failed, 2 rejected." in page
    assert ", ".join(record["chain"]) in page
    assert page.count('class="chart"') == 3
    assert f"numpy {record['versions']['numpy']}" in page


def test_a_run_without_measures_has_a_page(record: dict[str, Any]) -> None:
    """Where no spectrum was audited and nothing was delivered, the page stands without pictures."""
    found = copy.deepcopy(record)
    for clip in found["clips"]:
        clip["delivered"] = None

    assert "<svg" not in blind_html(found)
