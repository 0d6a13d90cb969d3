"""limiting: told by the treatment, not by the sound."""

from __future__ import annotations

import numpy as np

from prep.classifiers.limiting import Limiting
from prep.clip import Clip


def test_untreated_sound_has_none() -> None:
    """A source has no reduction, however dense it is."""
    assert Limiting().measure(Clip(np.ones((100, 1), np.float32), 8000)) == {"limited_db": 0.0}


def test_the_treatment_tells_it() -> None:
    """A treated clip has the reduction that clip_loudness noted, and none where the stage was not there."""
    assert Limiting().from_notes({"clip_loudness": {"limited_db": 2.5}}) == {"limited_db": 2.5}
    assert Limiting().from_notes({"tilt_eq": {}}) == {"limited_db": 0.0}
