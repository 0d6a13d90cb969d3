"""Faults of screening: music that passes for speech, clipping that is looked for only at full scale."""

from __future__ import annotations

from typing import Any

import pytest

from prep.models import ModelMissingError, check_models

Case = Any
Prep = Any

FAULTS = ("H04", "H07", "H08", "H14", "H27", "H28")
COUNT_TOLERANCE = 0.01  # share of the clipped samples: those within a rounding of the level count as cut off
MP3_TOLERANCE = 0.5  # the same after MP3, whose ripples leave the level

pytestmark = pytest.mark.usefixtures("inline")


def findings(prep: Prep, folder: Any, checks: str, code: int) -> dict[str, dict[str, Any]]:
    """Screen a folder; return the one finding, or the error, of each clip."""
    ran = prep("screen", folder, "--check", checks, "--json")
    assert ran.exit_code == code
    return {clip["file_name"]: clip["findings"][0] if "findings" in clip else clip for clip in ran.json["clips"]}


def test_h27_music_is_heard_under_speech_and_alone(case: Case, prep: Prep) -> None:
    """H27: chords 12 and 22 dB under speech, and alone, are music, the louder the surer; the speech alone is not."""
    try:
        check_models(["yamnet", "deepfilternet3"])
    except ModelMissingError as error:
        pytest.skip(str(error))
    faulty = case("H27")
    found = findings(prep, faulty.folder, "music", 1)
    assert {name: finding["outcome"] == "failed" for name, finding in found.items()} == faulty.values["flag"]
    rising = ["clean.wav", "music_minus22.wav", "music_minus12.wav", "music_only.wav"]
    scores = [found[name]["values"]["music_probability"] for name in rising]
    assert scores == sorted(scores)


def test_h28_clipping_is_found_at_any_level(case: Case, prep: Prep) -> None:
    """H28: what was cut off at full scale is found at half of it too, the same count, and after MP3; where is told."""
    faulty = case("H28")
    found = findings(prep, faulty.folder, "clipping", 1)
    share = 100 * faulty.values["share"]
    full, half, coded = (found[f"clipped_{name}"] for name in ("full.wav", "half.wav", "half.mp3"))
    assert full["value"] == half["value"] == pytest.approx(share, rel=COUNT_TOLERANCE)
    assert coded["value"] == pytest.approx(share, rel=MP3_TOLERANCE)
    assert full["evidence"]["spans"] == half["evidence"]["spans"]
    assert full["evidence"]["spans"]
    assert found["unclipped.wav"]["outcome"] == "passed"


def test_channels_that_cancel_or_are_dead_are_named(case: Case, prep: Prep) -> None:
    """H07, H08: an inverted and a dead channel fail, by correlation and by level; two equal loud channels pass."""
    inverted = findings(prep, case("H07").folder, "channels", 1)["antiphase.wav"]
    assert (inverted["feature"], inverted["value"]) == ("channel_correlation", pytest.approx(-1.0))
    found = findings(prep, case("H08").folder, "channels", 1)
    assert (found["left_only.wav"]["outcome"], found["left_only.wav"]["feature"]) == ("failed", "channel_imbalance_db")
    assert found["both_loud.wav"]["outcome"] == "passed"


def test_what_cannot_be_decoded_is_named_and_the_rest_is_screened(case: Case, prep: Prep) -> None:
    """H04, H14: broken files and a wild sample are named with a reason, hidden files are no clips, the rest passes."""
    faulty = case("H04")
    found = findings(prep, faulty.folder, "channels", 1)
    assert {name for name, clip in found.items() if clip.get("error")} == set(faulty.values["failed"])
    assert {name for name, clip in found.items() if clip.get("outcome") == "passed"} == set(faulty.values["processed"])
    faulty = case("H14")
    wild = findings(prep, faulty.folder, "outliers", 4)["spike.wav"]
    assert f"sample {faulty.values['spike_index']} " in wild["error"]
