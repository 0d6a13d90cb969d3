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


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (("masking_noise", "denoise", "denoise"), "masking_noise before denoise, which moves noise_floor again"),
        (
            ({"tilt_eq": SIDES}, {"denoise": {"only": {"condition": "synthetic"}}}),
            "tilt_eq before denoise, which moves",
        ),
    ],
)
def test_what_is_spoiled_is_told_once(tmp_path: Path, steps: tuple[Any, ...], said: str) -> None:
    """A cure is named once however often the same step follows, also where only what it aimed at is moved."""
    found = list(order_notices(chain_of(tmp_path, *steps)))

    assert len(found) == 1
    assert said in found[0][1]


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
