"""Specification of the cue duration."""

from __future__ import annotations

import numpy as np
import pytest

from prep.classifiers.duration import Duration
from prep.clip import Clip
from prep.errors import ClipError


def test_duration_is_frames_over_rate() -> None:
    """A clip of 11025 frames at 44.1 kHz lasts 0.25 s, whatever is in it and in how many channels."""
    values = Duration().measure(Clip(np.zeros((11025, 2), np.float32), 44100))
    assert values == {"duration_seconds": 0.25}
    assert list(values) == [feature.name for feature in Duration.FEATURES]


def test_duration_may_be_what_is_judged() -> None:
    """Duration is a cue of the voice, so nothing limits it by default."""
    assert Duration.KIND == "voice"


def test_no_samples_have_no_duration() -> None:
    """A clip of no samples has no duration, and says so."""
    with pytest.raises(ClipError, match="no samples"):
        Duration().measure(Clip(np.zeros((0, 1), np.float32), 44100))


def test_limit_is_one_block_of_loudness() -> None:
    """As a screen it turns down what is shorter than the 0.4 s that a loudness needs, and nothing longer."""
    for frames, kept in ((17640, True), (17639, False)):
        seconds = Duration().measure(Clip(np.zeros((frames, 1), np.float32), 44100))["duration_seconds"]
        assert (seconds >= Duration.LIMITS["min_duration_seconds"]) == kept
