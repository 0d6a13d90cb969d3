"""The rules by which something beside the sound tells a condition."""

from __future__ import annotations

import numpy as np
import pytest

from prep.leaks import alternates, guessed_names, holds, is_opaque, ordered, own_values, parts_of, values_of_one

MOST_FALSE = 0.02  # share of orders by chance that a rule may call told apart


def test_own_values_name_who_lacks_them() -> None:
    """A value must be met in every condition."""
    assert own_values([1, 2, 1, 1], ["a", "a", "b", "c"]) == {2: (["a"], ["b", "c"])}


def test_values_of_one_need_three_clips_a_side() -> None:
    """A value of all clips of one condition tells it from three clips a side on."""
    values = [["x", "y"], ["x"], ["x"], ["z"], ["y"], ["w"]]
    assert values_of_one(values, list("aaabbb")) == {"a": ["x"]}
    assert values_of_one(values[1:], list("aabbb")) == {}


def test_values_of_one_need_eight_clips_where_not_all_have_them() -> None:
    """A value of some clips of one condition tells it where eight have it."""
    values = [["x"]] * 8 + [["y"]] + [["y"]] * 8
    assert values_of_one(values, ["a"] * 9 + ["b"] * 8) == {"a": ["x"]}
    assert values_of_one(values[1:], ["a"] * 8 + ["b"] * 8) == {}


def test_ordered_values() -> None:
    """Ranges that do not meet tell from five clips a side on, and an AUC of 0.9 from eight."""
    assert list(ordered(range(10), ["a"] * 5 + ["b"] * 5)) == [("a", "b", 1.0)]
    assert list(ordered(range(10), ["b"] * 5 + ["a"] * 5)) == [("b", "a", 1.0)]
    assert list(ordered(range(8), ["a"] * 4 + ["b"] * 4)) == []
    assert len(list(ordered([*range(7), 7.5, 7, *range(8, 15)], ["a"] * 8 + ["b"] * 8))) == 1
    assert list(ordered([1.0] * 16, ["a"] * 8 + ["b"] * 8)) == []


@pytest.mark.parametrize("count", [5, 8, 20])
def test_ordered_values_are_rare_by_chance(count: int) -> None:
    """Of random orders at most 2 % are called told apart."""
    draw = np.random.default_rng(count)
    conditions = ["a"] * count + ["b"] * count
    found = [bool(list(ordered(draw.random(2 * count).tolist(), conditions))) for _ in range(1000)]
    assert np.mean(found) <= MOST_FALSE


def test_alternation_needs_four_turns() -> None:
    """The same order of conditions again and again is no accident from four turns on."""
    assert alternates(list("abababab"))
    assert alternates(list("abcabcabcabca"))
    assert not alternates(list("ababab"))
    assert not alternates(list("abababba"))
    assert not alternates(list("aaaaaaaa"))


def test_words_in_names() -> None:
    """A word is found whatever its case and joints; a short one must be a part of its own."""
    assert holds("clips/HGAN-V1_07", "hgan_v1")
    assert holds("x_A_1", "a")
    assert not holds("baby", "a")
    assert not holds("clip_07", "---")
    assert parts_of("Ab12-c_d") == ["ab", "12", "c", "d"]


def test_opaque_names() -> None:
    """Long hexadecimal numbers and UUIDs say nothing by their letters."""
    assert is_opaque("bad0" * 16)
    assert is_opaque("123e4567-e89b-12d3-a456-426614174000")
    assert not is_opaque("human_07")
    assert not is_opaque("bad0")


def test_names_of_other_kinds_are_not_guessed() -> None:
    """Only hexadecimal names of eight digits or more are looked up, and a keyed one is not found."""
    assert guessed_names(["clip_07", "07"], [{"condition": "human"}]) == {}
    assert guessed_names(["0123456789abcdef"], [{"condition": "human"}]) == {}
