"""The chain: which orders are noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from prep.chain import order_notices
from prep.classifiers import cue_classes
from prep.stage import Stage
from prep.stages import stage_classes
from prep.study import load_study

if TYPE_CHECKING:
    from pathlib import Path

SIDES = {"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}}
STAGES = [known for known in stage_classes().values() if issubclass(known, Stage)]


def chain_of(folder: Path, *steps: Any) -> tuple[Any, ...]:
    """Return the steps of a config."""
    config = {
        "study": "order",
        "clips": {"table": "clips.csv"},
        "compare": {"a": "human", "b": "synthetic"},
        "chain": [*steps, {"encode": {}}],
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return tuple(load_study(path).study.chain)


def test_an_equaliser_after_what_it_spoils_is_noticed(tmp_path: Path) -> None:
    """Edges before an equaliser are named with what moves again and where to put them; so is tilt before a match."""
    found = list(order_notices(chain_of(tmp_path, "edges", {"tilt_eq": SIDES}, "reference_eq")))

    assert found == [
        (0, "edges before tilt_eq, which moves head_silence and tail_silence again", "move edges after tilt_eq"),
        (
            0,
            "edges before reference_eq, which moves head_silence and tail_silence again",
            "move edges after reference_eq",
        ),
        (1, "tilt_eq before reference_eq, which moves tilt again", "move tilt_eq after reference_eq"),
    ]


HUMAN, SYNTHETIC = ({"only": {"condition": [side]}} for side in ("human", "synthetic"))


@pytest.mark.parametrize(
    "steps",
    [
        ("reference_eq", {"tilt_eq": SIDES}, "edges"),
        ("denoise", "edges", "shared_gain"),
        ({"edges": SYNTHETIC}, {"denoise": HUMAN}),  # no clip goes through both
        ({"edges": SYNTHETIC}, {"tilt_eq": SIDES}),
    ],
)
def test_a_good_order_has_no_notice(tmp_path: Path, steps: tuple[Any, ...]) -> None:
    """Where what cures a cue comes after what moves it, or is for other clips, nothing is said."""
    assert list(order_notices(chain_of(tmp_path, *steps))) == []


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.NAME)
def test_cues_that_stages_cure_and_move_exist(stage: type[Stage[Any, Any]]) -> None:
    """What a stage says it cures or moves is the name of a cue."""
    assert set(stage.CURES) | set(stage.MOVES) <= set(cue_classes())
