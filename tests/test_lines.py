"""Specification of lines: where they were read, in any order and number, by the sounds of the words heard."""

from __future__ import annotations

import pytest

from prep.lines import MOST_ERROR, SHORT_SOUNDS, Match, matches, weight_of
from prep.phrases import sounds

LINES = (
    "The quick brown fox jumps over the lazy dog",
    "Pack my box with five dozen liquor jugs",
    "How vexingly quick daft zebras jump",
    "The box with five dozen jugs is mine",
)


def read(text: str, parted: bool = True) -> list[tuple[int, str]]:
    """Return the lines that a text is found to hold, each with the words that it was found in."""
    words = text.split()
    found, _ = matches([sounds(line) for line in LINES], [sounds(word) for word in words], [parted] * (len(words) + 1))
    return [(match.line, " ".join(words[match.first : match.last])) for match in found]


def test_lines_are_found_in_any_order_and_any_number_of_times() -> None:
    """Each reading of a line is found, in the order of time; what belongs to no line is left over."""
    text = f"{LINES[2]} okay let me do that one again {LINES[2]} {LINES[0]}"

    assert read(text) == [(2, LINES[2]), (2, LINES[2]), (0, LINES[0])]


def test_word_order_within_a_line_counts() -> None:
    """The words of a line in another order are not that line."""
    turned = " ".join(LINES[1].split()[::-1])

    assert read(turned) == []
    assert read(LINES[1]) == [(1, LINES[1])]


def test_spelling_and_one_wrong_word_do_no_harm() -> None:
    """A word spelt by ear, one cut in two and one misheard leave a line what it is."""
    assert read("pack my bocks with five dozen licker jugs") == [(1, "pack my bocks with five dozen licker jugs")]
    assert read("how vex ingly quick that zebras jump") == [(2, "how vex ingly quick that zebras jump")]


def test_a_false_start_is_no_reading() -> None:
    """A line that was begun and broken off is left over, and the whole one after it is found from its first word."""
    assert read(f"the quick brown {LINES[0]}") == [(0, LINES[0])]


def test_of_lines_that_share_words_the_whole_one_is_taken() -> None:
    """Where one line is a part of another, the words are those of the line that explains them all."""
    lines = [sounds("thank you for waiting"), sounds("thank you for waiting so patiently today")]
    heard = [sounds(word) for word in ["thank", "you", "for", "waiting", "so", "patiently", "today"]]
    found, _ = matches(lines, heard, [True] * 8)

    assert found == [Match(1, 0, 7, 0.0)]


def test_a_line_of_few_sounds_must_stand_alone() -> None:
    """A short line in the middle of speech is chance; between pauses it is a reading."""
    line, words = "yes please", ["oh", "yes", "please", "do"]
    heard = [sounds(word) for word in words]
    assert len(sounds(line)) < SHORT_SOUNDS
    for parted, count in ((False, 0), (True, 1)):
        found, nearest = matches([sounds(line)], heard, [parted] * 5)

        assert len(found) == count
        assert nearest == [Match(0, 1, 3, 0.0)]


def test_a_missing_line_has_a_nearest_and_no_reading() -> None:
    """A line that nobody read is given the words that come nearest, and how far they are."""
    words = LINES[0].split()
    found, nearest = matches([sounds(line) for line in LINES], [sounds(word) for word in words], [True] * 10)

    assert [match.line for match in found] == [0]
    assert [match.error <= MOST_ERROR for match in nearest] == [True, False, False, False]
    assert matches([sounds(LINES[0])], [], [True]) == ([], [Match(0, 0, 0, 1.0)])
    assert matches([""], [sounds("word")], [True, True]) == ([], [Match(0, 0, 0, 1.0)])


def test_an_error_is_the_edit_distance_over_the_weight() -> None:
    """Leaving the last word out costs its sounds over all sounds, as closed form has it."""
    line = sounds("seven silver spoons")
    found, _ = matches([line], [sounds("seven"), sounds("silver"), sounds("spools")], [True] * 4)

    assert found[0].error == pytest.approx(1.0 / weight_of(line))  # n for l, of two families
