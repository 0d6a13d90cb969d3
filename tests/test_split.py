"""Which clips a correction may learn from, and on which it is judged."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from prep.errors import ConfigError
from prep.split import Split, draw_split, read_split

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"

Clips = list[tuple[str, str]]


def speakers(prefix: str, conditions: tuple[str, ...], sizes: list[int]) -> Clips:
    """Return the clips of as many speakers as there are sizes, `size` clips of each condition."""
    return [
        (f"{prefix}{number}", condition)
        for number, size in enumerate(sizes)
        for condition in conditions
        for _ in range(size)
    ]


def uneven_study() -> Clips:
    """Return 7 human, 6 synthetic and 5 crossed speakers of very unlike numbers of clips."""
    return (
        speakers("h", ("human",), [1, 2, 3, 5, 8, 13, 21])
        + speakers("t", ("synthetic",), [4, 4, 4, 9, 9, 30])
        + speakers("x", ("human", "synthetic"), [1, 2, 2, 6, 10])
    )


def test_every_speaker_is_in_one_half_with_all_its_clips() -> None:
    """Whole speakers are split, and the counts add up to the table."""
    clips = uneven_study()
    split = draw_split(clips, seed=7)
    assert set(split.halves) == {group for group, _ in clips}
    for condition, number in Counter(condition for _, condition in clips).items():
        assert sum(split.clips[condition].values()) == number
        held = sum(1 for group, other in clips if other == condition and split.halves[group] == "held-out")
        assert split.clips[condition]["held-out"] == held
    assert sorted(split.of("fit") + split.of("held-out")) == sorted(split.halves)


@pytest.mark.parametrize("seed", range(5))
def test_conditions_are_balanced_as_well_as_speakers_allow(seed: int) -> None:
    """Half of the speakers of each condition, give or take one, and nearly half of its clips are for the fit."""
    split = draw_split(uneven_study(), seed=seed)
    for condition in ("human", "synthetic"):
        groups, clips = split.groups[condition], split.clips[condition]
        assert abs(groups["fit"] - groups["held-out"]) <= 1
        # One speaker holds 30 of 81 clips, so an exact half is out of reach; a tenth of the clips is not.
        assert abs(clips["fit"] - clips["held-out"]) <= 0.1 * sum(clips.values())
    assert split.warnings == ()


def test_a_share_is_kept() -> None:
    """A third of the speakers goes to the fit when a third is asked for."""
    clips = speakers("h", ("human",), [3] * 12) + speakers("t", ("synthetic",), [3] * 9)
    split = draw_split(clips, share=1 / 3, seed=1)
    assert split.groups == {"human": {"fit": 4, "held-out": 8}, "synthetic": {"fit": 3, "held-out": 6}}


def test_the_split_depends_on_table_and_seed_alone() -> None:
    """The order of the rows changes nothing; another seed gives another split."""
    clips = uneven_study()
    split = draw_split(clips, seed=3)
    for order in (clips[::-1], [clips[i] for i in np.random.default_rng(0).permutation(len(clips))]):
        assert draw_split(order, seed=3) == split
    assert len({tuple(draw_split(clips, seed=seed).of("fit")) for seed in range(10)}) > 5


def test_every_speaker_can_be_held_out() -> None:
    """No speaker is bound to one half by its name or size, where sizes leave a choice."""
    clips = speakers("h", ("human",), [2] * 6) + speakers("t", ("synthetic",), [2] * 6)
    times = Counter(group for seed in range(60) for group in draw_split(clips, seed=seed).of("held-out"))
    # Each speaker is held out with probability 1/2: of 60 seeds fewer than 15 or more than 45 happen once in 10,000.
    assert len(times) == 12
    assert all(15 <= count <= 45 for count in times.values())


def test_a_condition_of_one_speaker_is_named() -> None:
    """A condition with one speaker is missing in one half, and the warning says which and why."""
    clips = speakers("h", ("human",), [4]) + speakers("t", ("synthetic",), [2] * 4)
    split = draw_split(clips)
    (warning,) = split.warnings
    assert "no clip of human" in warning
    assert "its only speaker" in warning


def test_two_speakers_a_condition_reach_both_halves() -> None:
    """Where a condition has two speakers, one is fitted on and one is held out, whoever else is crossed."""
    for seed in range(20):
        clips = (
            speakers("h", ("human",), [1, 9]) + speakers("t", ("synthetic",), [5, 1]) + speakers("x", ("a", "b"), [2])
        )
        split = draw_split(clips, seed=seed)
        assert split.groups["human"] == split.groups["synthetic"] == {"fit": 1, "held-out": 1}


def test_passages_are_split_the_same_way() -> None:
    """Without speakers the groups are passages, and the sentences call them so."""
    split = draw_split([("p1", "human"), ("p1", "synthetic")], group_name="passage")
    assert all("its only passage" in warning for warning in split.warnings)
    assert len(split.warnings) == 2


def test_an_empty_table_splits_into_nothing() -> None:
    """No clips, no groups, no warning."""
    assert draw_split([]) == Split(halves={}, clips={}, groups={}, seed=0)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 2.0])
def test_a_share_that_leaves_a_half_empty_is_refused(share: float) -> None:
    """The share lies between 0 and 1."""
    with pytest.raises(ConfigError, match=r"heldout\.share"):
        draw_split([("s", "human")], share=share)


def test_clips_without_a_speaker_are_refused() -> None:
    """A clip that belongs to no speaker cannot be held out with it; they are counted."""
    with pytest.raises(ConfigError, match="2 clips have no speaker"):
        draw_split([("", "human"), ("", "synthetic"), ("s", "human")])


def test_a_column_declares_the_split() -> None:
    """A column of fit and held-out is taken as it stands."""
    rows = [("clips.csv:2", "s", "human", "fit"), ("clips.csv:3", "t", "human", "held-out")]
    split = read_split(rows, column="split")
    assert split.halves == {"s": "fit", "t": "held-out"}
    assert split.clips == {"human": {"fit": 1, "held-out": 1}}
    assert split.seed is None


def test_every_other_value_of_the_column_is_listed() -> None:
    """Anything but fit and held-out is an error; every row is named with its value."""
    rows = [
        ("clips.csv:2", "s", "human", "train"),
        ("clips.csv:3", "t", "human", "held-out"),
        ("clips.csv:4", "u", "human", "Fit"),
        ("clips.csv:5", "v", "human", ""),
    ]
    with pytest.raises(ConfigError) as caught:
        read_split(rows, column="split")
    assert [problem.where for problem in caught.value.problems] == ["clips.csv:2", "clips.csv:4", "clips.csv:5"]
    assert "split is 'train'" in str(caught.value)


def test_a_speaker_in_both_halves_is_an_error() -> None:
    """A column that puts one speaker into both halves is refused, with both rows."""
    rows = [("clips.csv:2", "s", "human", "fit"), ("clips.csv:3", "s", "synthetic", "held-out")]
    with pytest.raises(ConfigError, match=r"clips\.csv:3: speaker 's' is in held-out here and in fit at clips\.csv:2"):
        read_split(rows, column="split")


def test_the_split_survives_json() -> None:
    """A split read back from JSON is the same."""
    split = draw_split(uneven_study(), seed=5)
    assert Split.model_validate_json(split.model_dump_json()) == split


@pytest.mark.parametrize(("name", "groups"), [("detection.csv", 20), ("chains.csv", 24)])
def test_real_tables_split_evenly(name: str, groups: int) -> None:
    """The speakers of a real table are split in two, and each half has both conditions."""
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"needs the table shared/data/{name} beside the project")
    with path.open(newline="", encoding="utf-8") as file:
        clips = [(row["speaker"], row["condition"]) for row in csv.DictReader(file)]
    split = draw_split(clips, seed=7)
    assert abs(len(split.of("fit")) - groups / 2) <= 1
    assert split.warnings == ()
