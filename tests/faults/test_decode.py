"""Faults of reading: what the header claims, what the name says, what lies beside the sound, one bad file in a set."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import soundfile

Case = Any
Prep = Any

FAULTS = ("H01", "H02", "H03", "H04", "H05")
NEXT_FLOAT = 2.0**-24  # of full scale; half a step of a float32 sample near full scale
PEAK_TOLERANCE = 0.001  # of full scale; the level stage reaches its target to 0.005 dB
LAME_DB = -0.446  # dB; what LAME did to the level of the case's MP3 when it was made
READ_ERROR_24 = 2.0**-22  # of full scale, H05

pytestmark = pytest.mark.usefixtures("inline")


def test_h01_length_is_what_decodes(case: Case) -> None:
    """H01: a WAV with a placeholder for its length has the frames that are there, and the record says so."""
    faulty = case("H01")
    ran = faulty.run({"encode": {"codec": "wav", "rate": faulty.values["sample_rate"]}})

    assert ran.exit_code == 0
    assert len(ran.table("manifest.csv")) == 3
    for row in ran.table("manifest.csv"):
        assert int(row["frames"]) == faulty.values["frames"]
    for name, clip in ran.clips.items():
        raw = np.frombuffer((faulty.folder / name).read_bytes()[44:], "<i2")
        assert np.array_equal(soundfile.read(ran.file(name), dtype="int16")[0], raw)
        assert f"{len(raw) * 2}" in clip["source"]["facts"]["warnings"][0]
        assert clip["source"]["facts"]["warnings"][0] in (ran.out / "report.md").read_text()


def test_h01_measures_of_an_unfinished_file(case: Case, prep: Prep) -> None:
    """H01: `measure` gives the true length of a file whose header claims hours or nothing."""
    faulty = case("H01")
    seconds = faulty.values["frames"] / faulty.values["sample_rate"]
    files = prep("measure", *sorted(faulty.folder.glob("*.wav")), "--json").json

    assert [file["measures"]["duration_seconds"] for file in files] == [pytest.approx(seconds)] * 3


def test_h02_content_decides_the_format(case: Case) -> None:
    """H02: an MP3 named .wav and a WAV named .mp3 are decoded as what they are, and the name is warned of."""
    faulty = case("H02")
    ran = faulty.run({"encode": {"codec": "flac"}})

    assert ran.exit_code == 0
    for name, container, change_db in (("really_mp3.wav", "MP3", LAME_DB), ("really_wav.mp3", "WAV", 0.0)):
        measured, facts = ran.measures(name), ran.clips[name]["source"]["facts"]
        assert facts["container"] == container
        assert f"the content is {container}" in facts["warnings"][0]
        assert measured["duration_seconds"] == pytest.approx(faulty.values["seconds"], abs=faulty.values["tolerance_s"])
        lufs = faulty.values["lufs"] + change_db
        assert measured["integrated_lufs"] == pytest.approx(lufs, abs=faulty.values["lufs_tolerance"])


@pytest.mark.parametrize("junk", ["zeros", "ID3v1 tag", "noise"])
def test_h03_what_lies_around_an_mp3_is_no_sound(case: Case, junk: str) -> None:
    """H03: a picture in front of an MP3 and whatever stands behind it add no frame and no noise."""
    faulty = case("H03")
    path = faulty.folder / "art_and_tail.mp3"
    data = path.read_bytes()
    bare = data[data.index(b"IEND") + 8 : -3000]
    tails = {
        "zeros": bytes(3000),
        "ID3v1 tag": b"TAG" + b"VENDOR".ljust(125, b"\0"),
        "noise": np.random.default_rng(3).bytes(3000),
    }
    path.write_bytes(data[:-3000] + tails[junk])
    ran = faulty.run({"encode": {"codec": "wav", "bit_depth": 32}})
    expected, rate = soundfile.read(io.BytesIO(bare))

    assert ran.exit_code == 0
    assert rate == 44100
    assert len(expected) / rate == pytest.approx(faulty.values["seconds"], abs=faulty.values["tolerance_s"])
    assert int(ran.table("manifest.csv")[0]["frames"]) == len(expected)
    assert np.abs(ran.sound(path.name)[:, 0] - expected).max() <= NEXT_FLOAT


def test_h04_bad_files_do_not_end_the_batch(case: Case, prep: Prep) -> None:
    """H04: two clips are processed, three failures are listed with path and reason, hidden files are ignored."""
    faulty = case("H04")
    config = faulty.study("encode", clips={"folder": ".", "pattern": "{take}.wav"})
    ran = prep("run", config, "--json", out=faulty.folder / "out")
    checked = prep("check", config)

    assert ran.exit_code == checked.exit_code == 1
    status = {name: clip["status"] for name, clip in ran.clips.items()}
    assert status == {
        **dict.fromkeys(faulty.values["processed"], "delivered"),
        **dict.fromkeys(faulty.values["failed"], "failed"),
    }
    assert len(ran.table("manifest.csv")) == 2
    for name in faulty.values["failed"]:
        reason = ran.clips[name]["failure"]["reason"]
        assert len(reason) > 10
        assert name not in reason  # it stands beside it
        assert f"{name}: " in checked.stdout
    for name in faulty.values["ignored"]:
        assert name not in ran.stdout + ran.stderr + checked.stdout


def test_h05_a_float_clip_over_full_scale_keeps_its_peaks(case: Case, prep: Prep) -> None:
    """H05: 12 dB lower, a clip that peaks at +6 dBFS peaks at 0.502, without flat tops, in the form of its source."""
    faulty = case("H05")
    path = faulty.folder / "over.wav"
    (measured,) = prep("measure", path, "--json").json
    level = {"clip_loudness": {"target_lufs": measured["measures"]["integrated_lufs"] - 12}}
    ran = faulty.run(level, {"encode": {"codec": "wav", "rate": 24000, "bit_depth": 32}})
    source, lowered = soundfile.read(path)[0], ran.sound("over.wav")[:, 0]
    peak = np.abs(lowered).max()

    assert np.abs(source).max() == faulty.values["peak"]
    assert peak == pytest.approx(faulty.values["peak_after_minus_12_db"], abs=PEAK_TOLERANCE)
    assert np.count_nonzero(np.abs(lowered) > 0.999 * peak) == np.count_nonzero(np.abs(source) > 0.999 * 2)
    assert np.corrcoef(source, lowered)[0, 1] > 0.999999


def test_h05_24_bits_are_read_whole(case: Case) -> None:
    """H05: a 24-bit stereo clip at -70 dBFS is delivered with an error below 2^-22 of full scale."""
    faulty = case("H05")
    ran = faulty.run({"encode": {"codec": "flac", "rate": 24000, "channels": 2, "bit_depth": 24}})
    source, delivered = soundfile.read(faulty.folder / "quiet24.wav")[0], ran.sound("quiet24.wav")

    assert np.abs(delivered - source).max() < READ_ERROR_24
    for channel, level in enumerate(faulty.values["quiet24_rms_db"]):
        assert 20 * np.log10(np.sqrt(np.mean(delivered[:, channel] ** 2))) == pytest.approx(level, abs=0.01)
