"""Specification of phrases: what counts as said, however a recogniser spelt it."""

from __future__ import annotations

import pytest

from prep import phrases
from prep.phrases import Said

PAUSE_SECONDS = 0.4


def said(text: str) -> list[Said]:
    """Return the words of a text; | is a pause after a word."""
    return [Said(word.rstrip("|"), PAUSE_SECONDS * word.endswith("|")) for word in text.replace(" |", "|").split()]


def places(phrase: str, text: str) -> list[tuple[int, int]]:
    """Return the ranges of words in which a phrase is found."""
    heard = said(text)
    return [found[1:] for first in range(len(heard)) for found in phrases.found_at([phrase], heard, first)]


@pytest.mark.parametrize("spelt", ["LibriVox", "Libra -Vox", "Libervox", "libri vox.", "Librivocs", "Liber Vox"])
def test_words_are_compared_by_sound(spelt: str) -> None:
    """A word is found however it is spelt or split by ear."""
    assert places("... ~librivox ...", f"This is a {spelt} thing")


@pytest.mark.parametrize(
    "text", ["his library books were", "deliver a box of", "liberal votes in", "a river of", "Liverpool"]
)
def test_other_words_are_not_found(text: str) -> None:
    """Words that share some sounds with a phrase are not the phrase."""
    assert not places("... ~librivox ...", text)


def test_long_phrases_forgive_more() -> None:
    """What is too far from one word alone is near enough in the company of another."""
    assert not places("... ~librivox ...", "a liberal box recording")
    assert places("... ~librivox recording ...", "a liberal box recording")


def test_short_words_are_exact() -> None:
    """Phrases of a few letters, and those of known words, have none to spare."""
    assert places("read by {name}", "Read by Jane Aker.")
    assert not places("read by {name}", "Led by Jane Aker.")
    assert places("you are listening to ...", "You are listening to the sea")
    assert not places("you are listening to ...", "You are listening, said the sea")


def test_ends_without_dots_are_ends_of_sentences() -> None:
    """Without dots a phrase starts and ends at a full stop or a pause."""
    for found in (
        "Chapter 6. It rained",
        "Chapter six | it rained",
        "End. Chapter VI | It",
        "Chapter the end. Chapter 6",
    ):
        assert places("chapter {number}", found), found
    for other in ("Chapter six was long", "the next chapter six | times"):
        assert not places("chapter {number}", other), other


def test_a_title_is_a_few_words() -> None:
    """A title is one to four words that end their sentence."""
    assert places("chapter {number} {title}", "Chapter 1 the river bank. When the")
    assert not places("chapter {number} {title}", "Chapter six was the longest of them.")


def test_dots_inside_stand_for_a_few_words() -> None:
    """Dots inside a phrase stand for six words at most."""
    assert places("welcome to ... podcast ...", "Welcome to the very long history podcast, again")
    assert not places("welcome to ... podcast ...", "Welcome to red green blue pink black white grey podcast")


@pytest.mark.parametrize("text", ["6", "17.", "six", "Twenty-three", "XXIX", "VI,", "3rd", "sixth"])
def test_numbers(text: str) -> None:
    """Digits, words, ordinals and Roman numerals are numbers."""
    assert phrases.is_number(text)


@pytest.mark.parametrize("text", ["mix", "vivid", "the", "often", "eleventy", "-"])
def test_no_numbers(text: str) -> None:
    """Other words are none, though they hold the letters of one."""
    assert not phrases.is_number(text)


def test_a_credit_ends_with_a_name() -> None:
    """A credit is a title, "by" and a name at the end of a sentence; "by" in running text makes none."""
    assert phrases.credit_length(said("The Art of War by Sun Tzu. All warfare"), 0) == 7
    assert phrases.credit_length(said("edited by Andrew Lang | Once"), 0) == 4
    assert phrases.credit_length(said("He was bitten by a dog. It"), 0) == 0
    assert phrases.credit_length(said("It is over. Said by Anna."), 0) == 0


@pytest.mark.parametrize("phrase", ["...", "{number}", "chapter {numbre}", "read by {name", "... 12 ..."])
def test_phrases_that_match_nothing_are_refused(phrase: str) -> None:
    """A phrase without a word, or with an unknown slot, is refused in words."""
    with pytest.raises(ValueError, match=r"write the words|the slots are"):
        phrases.check(phrase)
