"""Faults of level: short, silent, too loud, wild and peaky clips; channels; one hot clip in a set; tilt."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
import soundfile

Case = Any
Prep = Any

FAULTS = ("H11", "H12", "H13", "H14", "H15", "H16", "H17", "H20")
FLAC = {"encode": {"codec": "flac", "rate": 24000}}
FLOATS = {"encode": {"codec": "wav", "rate": 24000, "bit_depth": 32}}
LOUDNESS_LU = 0.1  # LU; what a meter may differ from libebur128, and a delivered clip from its target
PEAK_DB = 0.4  # dB; true-peak meters of other oversampling read up to this much lower
SET_DIFFERENCE_LU = 0.05  # LU, H17
SAFE_GAIN_DB = 0.05  # dB; the values of the case are rounded, and its true-peak meter is another
TILT_BY_GAIN = 0.02  # dB/octave; tolerance of a clip's tilt

pytestmark = pytest.mark.usefixtures("inline")


def loudness(target_lufs: float, **settings: Any) -> dict[str, Any]:
    """Return a clip_loudness step."""
    return {"clip_loudness": {"target_lufs": target_lufs, **settings}}


def rms_db(samples: np.ndarray) -> float:
    """Return the RMS level in dBFS."""
    return float(10 * np.log10(np.mean(samples**2)))


def test_h11_the_shortest_clips_do_not_stop_the_batch(case: Case, prep: Prep) -> None:
    """H11: below 0.4 s loudness is undefined and RMS stands in, said so; from 0.4 s on the gain is exact."""
    faulty = case("H11")
    ran = faulty.run(loudness(-20, on_over="lower"), FLOATS)
    files = {file["file"]: file for file in prep("measure", *faulty.folder.glob("*.wav"), "--json").json}

    assert ran.exit_code == 0
    for name, lufs in faulty.values["lufs"].items():
        notes, file = ran.clips[name]["stages"]["clip_loudness"], files[str(faulty.folder / name)]
        if lufs is None:
            assert file["measures"]["integrated_lufs"] is None
            assert "needs 0.4 s" in file["undefined"]["loudness"]
            assert notes["measured_by"] == "rms"
            assert rms_db(ran.sound(name)) == pytest.approx(-20 - notes["lowered_by_db"], abs=LOUDNESS_LU)
        else:
            assert file["measures"]["integrated_lufs"] == pytest.approx(lufs, abs=LOUDNESS_LU)
            assert notes["measured_by"] == "integrated"
            reached = ran.measures(name)["integrated_lufs"] + notes["lowered_by_db"]
            assert reached == pytest.approx(-20, abs=LOUDNESS_LU)


@pytest.mark.parametrize("step", ["clip_loudness", "shared_gain"])
def test_h12_silence_gets_no_gain_and_no_nan(case: Case, step: str) -> None:
    """H12: silence and dither are set aside as silent, speech before silence is measured, and no NaN is written."""
    faulty = case("H12")
    ran = faulty.run({step: {"target_lufs": -30}}, FLAC)
    failures = {name: clip["failure"] for name, clip in ran.clips.items()}

    assert ran.exit_code == 1
    for name, lufs in faulty.values["lufs"].items():
        if lufs == "-inf":
            assert failures[name]["step"] == step
            assert "silent" in failures[name]["reason"]
            assert "silent" in ran.clips[name]["source"]["cues"]["loudness"]["undefined"]
        else:
            assert ran.measures(name, "source")["integrated_lufs"] == pytest.approx(lufs, abs=LOUDNESS_LU)
            assert ran.measures(name)["integrated_lufs"] == pytest.approx(-30, abs=LOUDNESS_LU)
            assert np.isfinite(ran.sound(name)).all()
    assert not re.search(r"\b(nan|inf|infinity)\b", (ran.out / "manifest.csv").read_text(), re.IGNORECASE)
    json.loads((ran.out / "run.json").read_bytes(), parse_constant=pytest.fail)


@pytest.mark.parametrize("step", ["clip_loudness", "shared_gain"])
@pytest.mark.parametrize(("channels", "measure"), [(2, "lufs"), (1, "mono_lufs")])
def test_h13_more_than_0_lufs_is_brought_down(case: Case, step: str, channels: int, measure: str) -> None:
    """H13: a clip above 0 LUFS is measured and brought to the target exactly, and the negative gain is reported."""
    faulty = case("H13")
    encode = {"encode": {"codec": "wav", "rate": 48000, "channels": channels, "bit_depth": 32}}
    ran = faulty.run({step: {"target_lufs": -16}}, encode)

    assert ran.exit_code == 0
    lufs = ran.measures("square.wav", "source")["integrated_lufs"]
    assert lufs == pytest.approx(faulty.values["lufs"], abs=LOUDNESS_LU)
    gain_db = ran.clips["square.wav"]["stages"][step]["gain_db"]
    assert gain_db == pytest.approx(-16 - faulty.values[measure], abs=LOUDNESS_LU)
    assert ran.measures("square.wav")["integrated_lufs"] == pytest.approx(-16, abs=0.01)


def test_h14_one_wild_sample_is_named(case: Case) -> None:
    """H14: a sample at +80 dBFS is named by its index and the clip is refused; nothing near silence is delivered."""
    faulty = case("H14")
    samples, rate = soundfile.read(faulty.folder / "spike.wav")
    samples[faulty.values["spike_index"]] = 0
    soundfile.write(faulty.folder / "good.wav", samples, rate)
    ran = faulty.run(loudness(-30), FLAC)

    assert ran.exit_code == 1
    assert f"sample {faulty.values['spike_index']} of channel 0" in ran.clips["spike.wav"]["failure"]["reason"]
    assert "10000" in ran.clips["spike.wav"]["failure"]["reason"]
    lufs = ran.measures("good.wav", "source")["integrated_lufs"]
    assert lufs == pytest.approx(faulty.values["lufs_without_spike"], abs=LOUDNESS_LU)
    assert len(ran.table("manifest.csv")) == 1


@pytest.mark.parametrize("on_over", ["stop", "limit", "lower"])
def test_h14_a_smaller_spike_does_not_pass_unsaid(case: Case, prep: Prep, on_over: str) -> None:
    """H14: a sample at +20 dBFS has the clip rejected with its peak, or the loss of level is in the report."""
    faulty = case("H14")
    path = faulty.folder / "spike.wav"
    samples, rate = soundfile.read(path)
    samples[faulty.values["spike_index"]] = 10
    soundfile.write(path, samples, rate, subtype="FLOAT")
    ran = prep("run", faulty.study(loudness(-23, on_over=on_over), FLAC), out=faulty.folder / "out")

    if on_over == "lower":
        assert "dB under its target, for the ceiling" in (ran.out / "report.md").read_text()
    else:
        assert ran.exit_code == 4
        assert "spike.wav" in ran.stderr
        assert not (ran.out / "audio").exists()


@pytest.mark.parametrize(("target_lufs", "on_over"), [(-9, "lower"), (-20, "limit")])
def test_h15_no_sample_wraps_round(case: Case, target_lufs: float, on_over: str) -> None:
    """H15: a clip without headroom stays under the ceiling, no sample changes sign, and what it took is reported."""
    faulty = case("H15")
    ran = faulty.run(loudness(target_lufs, on_over=on_over), FLAC)
    source, delivered = soundfile.read(faulty.folder / "peaky.wav")[0], ran.sound("peaky.wav")[:, 0]
    notes, measured = ran.clips["peaky.wav"]["stages"]["clip_loudness"], ran.measures("peaky.wav")
    clear = np.abs(source) > 0.01

    assert ran.exit_code == 0
    assert np.array_equal(np.sign(source[clear]), np.sign(delivered[clear]))
    assert measured["true_peak_dbtp"] <= -1
    assert np.abs(delivered).max() <= 10 ** (-1 / 20)
    if on_over == "lower":
        most_db = faulty.values["max_gain_db_at_ceiling_minus_1_dbtp"]
        assert notes["gain_db"] == pytest.approx(most_db - 0.2, abs=PEAK_DB)
        assert notes["gain_db"] + notes["lowered_by_db"] == pytest.approx(
            faulty.values["gain_db_for_minus_9"], abs=LOUDNESS_LU
        )
        assert f"{notes['lowered_by_db']:.2f} dB under its target" in (ran.out / "report.md").read_text()
    else:
        assert measured["integrated_lufs"] == pytest.approx(target_lufs, abs=LOUDNESS_LU)
        assert notes["limited_db"] > 6
        assert "the limiter takes up to" in (ran.out / "report.md").read_text()


@pytest.mark.parametrize("settings", [{}, {"on_over": "limit"}])
def test_h15_what_has_no_headroom_is_rejected(case: Case, prep: Prep, settings: dict[str, Any]) -> None:
    """H15: where the rule is to stop, or the limiter would take over 12 dB, the clip is rejected."""
    faulty = case("H15")
    ran = prep("run", faulty.study(loudness(-9, **settings), FLAC), out=faulty.folder / "out")

    assert ran.exit_code == 4
    assert "peaky.wav" in ran.stderr
    assert not (ran.out / "audio").exists()


def test_h15_samples_over_full_scale_are_never_written_as_integers(case: Case, prep: Prep) -> None:
    """H15: without a level stage a float clip over full scale is refused by the encoder, which names the sample."""
    faulty = case("H15")
    samples, rate = soundfile.read(faulty.folder / "peaky.wav")
    gain = 10 ** (faulty.values["gain_db_for_minus_9"] / 20)
    assert (samples * gain).max() == pytest.approx(faulty.values["peak_after_gain"], abs=0.01)
    soundfile.write(faulty.folder / "peaky.wav", samples * gain, rate, subtype="FLOAT")
    ran = prep("run", faulty.study(FLAC), out=faulty.folder / "out")

    assert ran.exit_code == 4
    assert "beyond full scale" in ran.stderr
    assert not (ran.out / "audio").exists()


@pytest.mark.parametrize("step", ["clip_loudness", "shared_gain"])
def test_h16_mono_and_equal_channels_end_alike(case: Case, step: str) -> None:
    """H16: a voice in mono and in two equal channels differs by 3.01 LU as it came, and ends as the same sound."""
    faulty = case("H16")
    ran = faulty.run({step: {"target_lufs": -26}}, FLAC)
    source = {name: ran.measures(name, "source")["integrated_lufs"] for name in ran.clips}

    assert ran.exit_code == 0
    assert source["same_mono.wav"] == pytest.approx(faulty.values["mono_lufs"], abs=LOUDNESS_LU)
    assert source["same_stereo.wav"] - source["same_mono.wav"] == pytest.approx(3.01, abs=0.01)
    for name in ran.clips:
        assert ran.measures(name)["integrated_lufs"] == pytest.approx(-26, abs=LOUDNESS_LU)
    difference = np.abs(ran.sound("same_mono.wav") - ran.sound("same_stereo.wav")).max()
    assert difference <= faulty.values["max_output_difference"]


def test_h17_the_hot_clip_stops_the_set_and_its_advice_holds(case: Case, prep: Prep) -> None:
    """H17: a shared gain that would lift one clip past the ceiling stops, names it and the largest target."""
    faulty = case("H17")
    gain = {"target_lufs": -16, "codec_margin_db": 0}
    stopped = prep("run", faulty.study({"shared_gain": gain}, FLOATS))
    advice = re.search(r"set target_lufs to (-\d+\.\d\d) or lower", stopped.stderr)

    assert stopped.exit_code == 3
    assert faulty.values["limiting_clip"] in stopped.stderr
    assert not (faulty.folder / "out" / "audio").exists()
    assert advice
    ran = faulty.run({"shared_gain": {**gain, "target_lufs": float(advice[1])}}, FLOATS)
    too_much = prep("run", faulty.study({"shared_gain": {**gain, "target_lufs": float(advice[1]) + 0.02}}, FLOATS))
    assert (ran.exit_code, too_much.exit_code) == (0, 3)

    gains_db = {clip["stages"]["shared_gain"]["gain_db"] for clip in ran.clips.values()}
    changes_lu = [ran.measures(name)["integrated_lufs"] - clip["lufs"] for name, clip in faulty.values["clips"].items()]
    assert len(gains_db) == 1
    assert max(changes_lu) - min(changes_lu) < SET_DIFFERENCE_LU
    largest_db = faulty.values["largest_safe_gain_db_at_minus_1_dbtp"]
    assert gains_db.pop() == pytest.approx(largest_db, abs=SAFE_GAIN_DB)
    assert max(ran.measures(name)["true_peak_dbtp"] for name in ran.clips) <= -1


def test_h17_a_lowered_set_keeps_one_gain(case: Case) -> None:
    """H17: with on_over lower the whole set is lowered by one gain, and the record names the clip that asked for it."""
    faulty = case("H17")
    ran = faulty.run({"shared_gain": {"target_lufs": -16, "on_over": "lower"}}, FLOATS)
    fit = ran.json["fits"]["release"]["shared_gain"]

    assert {clip["stages"]["shared_gain"]["gain_db"] for clip in ran.clips.values()} == {fit["gain_db"]}
    assert fit["limiting_clip"] == faulty.values["limiting_clip"]
    largest_db = faulty.values["largest_safe_gain_db_at_minus_1_dbtp"]
    assert fit["gain_db"] == pytest.approx(largest_db - 0.2, abs=SAFE_GAIN_DB)
    assert f"{fit['lowered_by_db']:.2f} dB below the -16 LUFS asked for" in (ran.out / "methods.md").read_text()


def test_h20_tilt_is_that_of_the_line_at_any_level(case: Case, prep: Prep) -> None:
    """H20: noise of a straight-line spectrum has the tilt of its line, within 0.2 dB/octave and whatever its level."""
    faulty = case("H20")
    paths = [faulty.folder / name for name in faulty.values["db_per_octave"]]
    files = prep("measure", *paths, "--json").json
    tilts = {path.name: file["measures"]["tilt_db_per_octave"] for path, file in zip(paths, files, strict=True)}

    assert tilts == pytest.approx(faulty.values["db_per_octave"], abs=faulty.values["tolerance"])
    assert tilts["slope_3_quiet.wav"] == pytest.approx(tilts["slope_3.wav"], abs=TILT_BY_GAIN)
