"""Specification of cutting: cuts in pauses, never near a word, never overlapping, in whole samples."""

from __future__ import annotations

import numpy as np
import pytest

from prep.clip import Clip
from prep.cutting import TakeSound, cut_mark, gaps_at, pieces, sound_of

RATE = 16000
MARGIN_SECONDS = 0.02
EDGE_SECONDS = 0.03  # how far an onset found in steps of 5 ms from levels of 20 ms may lie outside of the sound


def take(*parts: tuple[float, float]) -> Clip:
    """Return noise in turn: (seconds, level over full scale in dB)."""
    draw = np.random.default_rng(5)
    sound = [draw.standard_normal(round(seconds * RATE)) * 10 ** (level / 20) for seconds, level in parts]
    return Clip(np.concatenate(sound)[:, np.newaxis], RATE)


def spans(sound: TakeSound) -> list:
    """Return each stretch of speech as a span."""
    return [sound.span(number, number + 1) for number in range(len(sound.speech))]


WORD, QUIET = (0.6, -20.0), -75.0


def test_pieces_keep_heads_and_tails_and_lie_apart() -> None:
    """With room, each piece begins and ends as far from its words as asked, to the sample of its onset."""
    sound = sound_of(take((1.0, QUIET), WORD, (1.0, QUIET), WORD, (1.0, QUIET)), MARGIN_SECONDS)
    found = pieces(sound, spans(sound), 0.2, 0.3)

    for piece, onset in zip(found, (1.0, 2.6), strict=True):
        assert 0 <= onset - piece.onset / RATE <= EDGE_SECONDS
        assert 0 <= piece.offset / RATE - onset - 0.6 <= EDGE_SECONDS
        assert piece.onset - piece.start == round(0.2 * RATE)
        assert piece.end - piece.offset == round(0.3 * RATE)


def test_pieces_that_share_a_short_pause_part_at_its_middle_if_it_is_steady() -> None:
    """Where head and tail overlap, both end at one cut, which steady noise leaves near the middle."""
    sound = sound_of(take((1.0, QUIET), WORD, (0.4, QUIET), WORD, (1.0, QUIET)), MARGIN_SECONDS)
    first, second = pieces(sound, spans(sound), 0.3, 0.3)

    assert first.end == second.start
    assert first.end / RATE == pytest.approx(1.8, abs=0.05)


def test_the_cut_is_where_a_pause_is_quietest() -> None:
    """In a pause that is half noise, pieces part in the quiet half."""
    sound = sound_of(take((1.0, -75), WORD, (0.3, -68), (0.2, -90), WORD, (1.0, -75)), MARGIN_SECONDS)

    assert 1.9 <= cut_mark(sound, 1) / RATE <= 2.1


def test_no_cut_is_nearer_to_a_word_than_the_margin() -> None:
    """With no padding, and beside words of no piece, each cut stays the margin away from every word."""
    sound = sound_of(take((1.0, QUIET), WORD, (0.3, QUIET), WORD, (0.3, QUIET), WORD, (0.01, QUIET)), 0.05)
    everything = spans(sound)
    for chosen, padding in ((everything, 0.0), (everything[1:2], 2.0), (everything, 2.0)):
        for piece in pieces(sound, chosen, padding, padding):
            assert piece.onset - piece.start >= 0.05 * RATE or piece.start == 0
            assert piece.end - piece.offset >= 0.05 * RATE or piece.end == sound.bounds[-1]
            for span in everything:
                if span.onset >= piece.offset:
                    assert span.onset - piece.end >= 0.05 * RATE
                if span.offset <= piece.onset:
                    assert piece.start - span.offset >= 0.05 * RATE


def test_a_pause_too_short_for_two_margins_is_none() -> None:
    """Words that a margin on either side does not part are one stretch."""
    clip = take((1.0, QUIET), WORD, (0.15, QUIET), WORD, (1.0, QUIET))

    assert len(sound_of(clip, 0.02).speech) == 2
    assert len(sound_of(clip, 0.1).speech) == 1


def test_pieces_end_with_the_take() -> None:
    """Padding beyond either end is clamped to the recording, in whole samples."""
    clip = take((0.1, QUIET), WORD, (0.1003, QUIET))
    sound = sound_of(clip, MARGIN_SECONDS)
    (piece,) = pieces(sound, spans(sound), 5.0, 5.0)

    assert (piece.start, piece.end) == (0, clip.frames)


def test_a_breath_is_kept_whole_and_a_click_is_left_out() -> None:
    """A cut that would halve a sound before a word goes before it if it is a breath, and after it if it is a click."""
    for seconds, level, before in ((0.25, -45.0, True), (0.05, -45.0, False)):
        rest = 0.6 - seconds
        clip = take((1.0, QUIET), WORD, (0.6, QUIET), (seconds, level), (rest, QUIET), WORD, (1.0, QUIET))
        sound = sound_of(clip, MARGIN_SECONDS)
        middle = 2.2 + seconds / 2
        second = pieces(sound, spans(sound), 2.8 - middle, 0.1)[1]

        assert (second.start / RATE < 2.2) is before
        assert (second.start / RATE > 2.2 + seconds) is not before


SPOKEN = [[1.0, 1.6], [2.1, 2.7], [3.2, 3.8]]


@pytest.mark.parametrize(
    "words",
    [
        SPOKEN,
        [[start + 0.2, end + 0.2] for start, end in SPOKEN],
        [[start - 0.2, end - 0.2] for start, end in SPOKEN],
        [[0.2, 1.6], [1.6, 2.7], [2.7, 4.4]],  # stretched over the pauses
        [[1.0, 1.6], [2.9, 2.9], [3.2, 3.8]],  # without a length, and late
    ],
)
def test_gaps_are_found_though_words_are_off(words: list[list[float]]) -> None:
    """A gap is the one that parts two words, though their times are late, early, stretched over it or without any."""
    clip = take((1.0, QUIET), WORD, (0.5, QUIET), WORD, (0.5, QUIET), WORD, (1.0, QUIET))
    sound = sound_of(clip, MARGIN_SECONDS)

    assert gaps_at(sound, np.array(words), [5, 5, 5]) == ([0, 1, 2, 3], [0, 1, 2, 3])


def test_where_lines_end_says_which_word_is_before_a_pause() -> None:
    """A word that was stretched over a pause is on the side that its line is on."""
    clip = take((1.0, QUIET), (1.2, -20.0), (0.5, QUIET), (1.2, -20.0), (1.0, QUIET))
    sound = sound_of(clip, MARGIN_SECONDS)
    words = np.array([[1.0, 1.4], [1.4, 1.9], [1.95, 2.95], [2.95, 3.4], [3.4, 3.9]])
    for edge in (2, 3):
        after, before = gaps_at(sound, words, [6, 6, 2, 6, 6], {0, edge, 5})

        assert after == before == [1 if place == edge else (0, None, None, None, None, 2)[place] for place in range(6)]


def test_a_cough_between_two_words_is_of_neither() -> None:
    """What sounds between two words and is none ends in a gap of its own on either side."""
    clip = take((1.0, QUIET), WORD, (0.5, QUIET), (0.3, -25.0), (0.5, QUIET), WORD, (1.0, QUIET))
    sound = sound_of(clip, MARGIN_SECONDS)
    after, before = gaps_at(sound, np.array([[1.0, 1.6], [2.9, 3.5]]), [5, 5])

    assert (after, before) == ([0, 1, 3], [0, 2, 3])


def test_a_word_in_the_middle_of_speech_has_no_gap() -> None:
    """Between words that nothing parts there is no gap, and the closure of a stop is none where words alone tell."""
    for pause in (0.0, 0.1):
        clip = take((1.0, QUIET), (1.0, -20.0), (pause, QUIET), (1.4, -20.0), (1.0, QUIET))
        sound = sound_of(clip, MARGIN_SECONDS, closures=False)
        after, before = gaps_at(sound, np.array([[1.0, 2.0], [2.0, 2.6], [2.6, 3.4]]), [8, 5, 7], {0, 1, 3})

        assert (after, before) == ([0, None, None, 1], [0, None, None, 1])


def test_words_far_from_all_speech_are_dealt_out_too() -> None:
    """A word that was heard in a long silence spoils nothing: it counts to the speech beside it."""
    clip = take((1.0, QUIET), WORD, (20.0, QUIET), WORD, (1.0, QUIET))
    sound = sound_of(clip, MARGIN_SECONDS)
    after, before = gaps_at(sound, np.array([[1.0, 1.6], [8.0, 8.2], [21.6, 22.2]]), [5, 5, 5])

    assert after == before == [0, None, 1, 2]
