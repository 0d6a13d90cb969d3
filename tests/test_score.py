"""Scores: one number a clip, the same way in every column."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.loudness import Loudness
from prep.classifiers.peak import Peak
from prep.design import Observations
from prep.score import Scorer, correlations, features_of, trained_scorer

CLIPS = 40


def clips_of(draw: np.random.Generator, shift: float) -> tuple[list[dict[str, dict[str, float]]], Observations]:
    """Return the cues of clips of two conditions whose crest differs by a shift, and what is known of them."""
    is_b = np.arange(CLIPS) % 2 == 1
    clips = [
        {
            "loudness": {"integrated_lufs": float(draw.normal(-20, 1))},
            "peak": {"true_peak_dbtp": float(draw.normal(-3, 1)), "crest_db": float(draw.normal(12 + shift * b, 1))},
        }
        for b in is_b
    ]
    return clips, Observations(is_b, tuple(f"s{i // 2}" for i in range(CLIPS)))


def test_one_number_is_its_own_score() -> None:
    """A cue of one number is scored by it, in steps of its resolution."""
    scores = Scorer((Loudness(),)).scores([{"loudness": {"integrated_lufs": -20.04}}, {"loudness": {"undefined": "x"}}])

    assert scores[0] == pytest.approx(-20.0)
    assert np.isnan(scores[1])


def test_several_numbers_are_scored_by_what_was_learned() -> None:
    """A planted difference in one of two numbers ranks clips of b above those of a, on other clips too."""
    draw = np.random.default_rng(1)
    learned, observations = clips_of(draw, 3.0)
    scorer = trained_scorer((Peak(),), learned, observations)
    others, known = clips_of(draw, 3.0)
    scores = scorer.scores(others)

    assert (scores[known.is_b][:, np.newaxis] > scores[~known.is_b]).mean() > 0.9


def test_an_undefined_cue_takes_no_clip_out_of_all() -> None:
    """Scored together, a cue without a value counts as typical; scored alone it has none."""
    learned, observations = clips_of(np.random.default_rng(2), 3.0)
    learned[0] = {**learned[0], "loudness": {"undefined": "too short"}}
    together = trained_scorer((Loudness(), Peak()), learned, observations)

    assert np.isfinite(together.scores(learned)).all()
    assert np.isnan(features_of((Loudness(), Peak()), learned)[0, 0])


def test_nothing_to_learn_from_is_no_score() -> None:
    """Where one condition has no clip, a cue of several numbers has no score, and none is made up."""
    learned, observations = clips_of(np.random.default_rng(3), 0.0)
    one_sided = Observations(np.zeros(CLIPS, dtype=bool), observations.unit)

    assert np.isnan(trained_scorer((Peak(),), learned, one_sided).scores(learned)).all()


def test_correlation_is_inside_the_conditions() -> None:
    """Cues that both differ between the conditions but not together inside them are two; copies are one."""
    draw = np.random.default_rng(4)
    is_b = np.arange(400) % 2 == 1
    one, other = draw.standard_normal((2, 400)) + 10 * is_b
    found = correlations({"one": one, "other": other, "copy": -one, "still": np.zeros(400)}, is_b)["spearman"]

    assert abs(found[0][1]) < 0.15  # 3 standard errors of a rank correlation of 400 clips
    assert found[0][2] == pytest.approx(-1)
    assert found[0][3] is None
