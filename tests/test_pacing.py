"""Specification of pacing: lines by pauses and expected lengths alone, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from prep.errors import ClipError
from prep.pacing import LONGER, MOST_OFF, paced

SOUNDS_A_SECOND = 12.0


def spoken(lines: list[list[float]], inside: float, between: float) -> np.ndarray:
    """Return the stretches of lines, each some lengths in seconds, with pauses inside and between them."""
    times, now = [], 0.5
    for line in lines:
        for seconds in line:
            times.append((now, now + seconds))
            now += seconds + inside
        now += between - inside
    return np.array(times)


def counts(lines: list[list[float]], inside: float) -> list[int]:
    """Return how many sounds each line has at the usual pace."""
    return [round(SOUNDS_A_SECOND * (sum(line) + inside * (len(line) - 1))) - 3 for line in lines]


LINES = [[1.0, 0.8], [2.5], [0.5, 0.6, 0.7], [3.0, 0.4]]


def test_the_longest_pauses_part_the_lines() -> None:
    """Lines with pauses inside are dealt their own stretches, in order."""
    assert paced(spoken(LINES, 0.3, 0.9), counts(LINES, 0.3)) == [(0, 2), (2, 3), (3, 6), (6, 8)]


def test_pauses_that_do_not_say_where_a_line_ends_are_refused() -> None:
    """Where a pause inside a line is nearly as long as one between two, nothing is believed."""
    with pytest.raises(ClipError, match="do not say where a line ends"):
        paced(spoken(LINES, 0.3, 0.3 * LONGER * 0.99), counts(LINES, 0.3))
    assert len(paced(spoken(LINES, 0.3, 0.3 * LONGER * 1.01), counts(LINES, 0.3))) == 4


def test_a_line_too_many_or_too_few_is_refused() -> None:
    """A script with one line more or less than was read is not dealt out."""
    times, sounds = spoken(LINES, 0.3, 0.9), counts(LINES, 0.3)
    with pytest.raises(ClipError, match="do not say"):
        paced(times, sounds[:-1])
    with pytest.raises(ClipError, match="do not say"):
        paced(times, [*sounds, 20])
    with pytest.raises(ClipError, match="8 stretches of speech for 9 lines"):
        paced(times, [10] * 9)


def test_a_line_of_another_length_than_its_text_is_refused() -> None:
    """Lines in another order show by their lengths."""
    sounds = counts(LINES, 0.3)
    sounds[1] = round(sounds[1] * MOST_OFF * 1.2)

    with pytest.raises(ClipError, match=r"line 2 of its 4 would take 0\.[0-9] times"):
        paced(spoken(LINES, 0.3, 0.9), sounds)


def test_one_line_is_the_whole_take() -> None:
    """A script of one line is all speech, whatever its pauses."""
    assert paced(spoken(LINES, 0.3, 0.9), [40]) == [(0, 8)]
