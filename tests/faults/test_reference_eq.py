"""Faults of spectral matching: channels that multiply, and a level and a limiter that nobody asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import soundfile

Case = Any

FAULTS = ("H18", "H19")
FLOATS = {"encode": {"codec": "wav", "rate": 44100, "bit_depth": 32}}
SAME_DB = 0.1  # dB, of the output for a reference at a tenth of the level
CREST_DB = 3.0  # dB, by which a correction of the spectrum may move the crest factor
LOUDNESS_DB = 1.0  # dB, of a clip whose spectrum changes; the reference here is 23 LU louder

pytestmark = pytest.mark.usefixtures("inline")


def crest_db(samples: np.ndarray) -> float:
    """Return the crest factor in dB."""
    return float(20 * np.log10(np.abs(samples).max() / np.sqrt(np.mean(samples**2))))


def test_h18_mono_stays_mono(case: Case) -> None:
    """H18: matched to a stereo reference, a mono target has one channel, its frames, and the wanted spectrum."""
    faulty = case("H18")
    faulty.table([{"file_name": "target_mono.wav"}])
    ran = faulty.run({"reference_eq": {"files": ["reference_stereo.wav"]}}, FLOATS, clips={"table": "clips.csv"})

    assert ran.exit_code == 0
    assert ran.sound("target_mono.wav").shape == (faulty.values["frames"], faulty.values["channels"])
    notes = ran.clips["target_mono.wav"]["stages"]["reference_eq"]
    assert notes["largest_boost_db"] > 1


def test_h19_level_and_limiting_of_the_reference_do_not_count(case: Case) -> None:
    """H19: a tenth of the reference's level gives the same output, and the target's level and crest factor stay."""
    faulty = case("H19")
    source = soundfile.read(faulty.folder / "target_quiet.wav", always_2d=True)[0]
    faulty.table([{"file_name": "target_quiet.wav"}])
    sounds = []
    for name in ("reference_loud.wav", "reference_loud_x0.1.wav"):
        ran = faulty.run(
            {"reference_eq": {"files": [name]}}, FLOATS, clips={"table": "clips.csv"}, output=f"out-{name}"
        )
        assert ran.exit_code == 0
        sounds.append(ran.sound("target_quiet.wav"))
        assert ran.measures("target_quiet.wav")["integrated_lufs"] == pytest.approx(
            faulty.values["target_lufs"], abs=LOUDNESS_DB
        )

    assert sounds[0].shape == source.shape
    left = 20 * np.log10(np.sqrt(np.mean((sounds[1] - sounds[0]) ** 2) / np.mean(sounds[0] ** 2)))
    assert left < 20 * np.log10(10 ** (SAME_DB / 20) - 1)
    assert crest_db(sounds[0]) == pytest.approx(faulty.values["target_crest_db"], abs=CREST_DB)
    assert crest_db(source) == pytest.approx(faulty.values["target_crest_db"], abs=0.1)
