"""Faults of rates and channels: hidden defaults, cancelling channels, lengths, images above the old Nyquist."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import soundfile

Case = Any
Prep = Any

FAULTS = ("H06", "H07", "H08", "H09", "H10")
FLOATS = {"encode": {"codec": "wav", "bit_depth": 32}}
SAME_LEVEL_LU = 0.05  # LU; resampling and rounding to 16 bits move the loudness by less
STEP_16 = 2.0**-15  # one step of 16 bits, of full scale

pytestmark = pytest.mark.usefixtures("inline")


def spectrum(samples: np.ndarray, rate: int) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies in Hz and the amplitude at each, a sine of amplitude 1 giving 1."""
    window = np.hanning(len(samples))
    return np.fft.rfftfreq(len(samples), 1 / rate), np.abs(np.fft.rfft(samples * window)) * 2 / window.sum()


def test_h06_the_source_rate_is_known_and_the_band_is_kept(case: Case) -> None:
    """H06: the record has 48000 Hz as the source's rate, and at 44.1 kHz a tone at 15 kHz is as high as it was."""
    faulty = case("H06")
    ran = faulty.run(FLOATS)
    clip = ran.clips["with_15k.wav"]
    heights_db = []
    for samples, rate in (soundfile.read(faulty.folder / "with_15k.wav"), (ran.sound("with_15k.wav")[:, 0], 44100)):
        hertz, height = spectrum(samples, rate)
        near = np.abs(hertz - faulty.values["tone_hz"]) < 50
        heights_db.append(20 * np.log10(height[near].max()))

    assert clip["source"]["facts"]["rate"] == faulty.values["source_rate"]
    assert clip["stages"]["convert"] == {"source_rate": faulty.values["source_rate"], "rate": 44100}
    assert ran.table("manifest.csv")[0]["rate"] == "44100"
    assert '"source_rate": 48000' in ran.table("key.csv")[0]["stages"]
    assert heights_db[0] == pytest.approx(faulty.values["tone_peak_dbfs"], abs=faulty.values["tolerance_db"])
    assert heights_db[1] == pytest.approx(heights_db[0], abs=faulty.values["tolerance_db"])


@pytest.mark.parametrize("share", [1.0, 0.9])
def test_h07_cancelling_channels_are_refused(case: Case, share: float) -> None:
    """H07: a clip whose channels cancel in the downmix is set aside by name, and none of it is passed on."""
    faulty = case("H07")
    samples, rate = soundfile.read(faulty.folder / "antiphase.wav")
    soundfile.write(faulty.folder / "antiphase.wav", samples * [1, share], rate)
    soundfile.write(faulty.folder / "good.wav", samples[:, 0], rate)
    ran = faulty.run({"encode": {"codec": "flac"}})
    failure = ran.clips["antiphase.wav"]["failure"]

    assert ran.exit_code == 1
    assert np.corrcoef(samples.T)[0, 1] == pytest.approx(faulty.values["correlation"])
    assert failure["step"] == "convert"
    assert "channels cancel each other" in failure["reason"]
    assert ran.clips["antiphase.wav"]["delivered"] is None
    lufs = ran.measures("good.wav")["integrated_lufs"]
    assert lufs == pytest.approx(faulty.values["one_channel_lufs"], abs=SAME_LEVEL_LU)
    assert len(ran.table("manifest.csv")) == 1


@pytest.mark.parametrize("noise_dbfs", [None, -90.0])
def test_h08_a_dead_channel_does_not_lower_the_level(case: Case, noise_dbfs: float | None) -> None:
    """H08: of a clip with one silent channel the other is used, at its level, and the record names the dead one."""
    faulty = case("H08")
    path = faulty.folder / "left_only.wav"
    if noise_dbfs is not None:
        samples, rate = soundfile.read(path)
        samples[:, 1] = 10 ** (noise_dbfs / 20) * np.random.default_rng(8).standard_normal(len(samples))
        soundfile.write(path, samples, rate, subtype="PCM_24")
    ran = faulty.run({"encode": {"codec": "flac"}})

    assert ran.exit_code == 0
    lufs = ran.measures("left_only.wav")["integrated_lufs"]
    assert lufs == pytest.approx(faulty.values["active_channel_lufs"], abs=SAME_LEVEL_LU)
    assert lufs - faulty.values["naive_average_lufs"] == pytest.approx(6.02, abs=SAME_LEVEL_LU)
    assert ran.clips["left_only.wav"]["stages"]["convert"]["dead_channels"] == [2]


def test_h08_equal_channels_give_exactly_one_of_them(case: Case) -> None:
    """H08: two identical loud channels downmix to exactly one of them, without clipping."""
    faulty = case("H08")
    ran = faulty.run({"encode": {"codec": "wav", "rate": 24000}})
    source = soundfile.read(faulty.folder / "both_loud.wav")[0]

    assert np.array_equal(ran.sound("both_loud.wav")[:, 0], source[:, 0])
    assert np.abs(ran.sound("both_loud.wav")).max() == pytest.approx(faulty.values["both_loud_peak"], abs=STEP_16)
    assert ran.clips["both_loud.wav"]["stages"]["convert"]["equal_channels"] is True


@pytest.mark.parametrize("encode", [{"codec": "flac"}, {"codec": "mp3"}])
def test_h09_the_length_written_down_is_the_length_of_the_file(case: Case, encode: dict[str, str]) -> None:
    """H09: each clip has round(n * 44100 / rate) frames, and the manifest says what the file written decodes to."""
    faulty = case("H09")
    ran = faulty.run({"encode": encode})
    written = {row["file"]: int(row["frames"]) for row in ran.table("manifest.csv")}

    assert ran.exit_code == 0
    for name, frames in faulty.values["frames_at_44100"].items():
        assert abs(len(ran.sound(name)) - frames) <= faulty.values["tolerance_frames"]
        assert len(ran.sound(name)) == written[ran.clips[name]["delivered"]["file"]]
        assert len(ran.sound(name)) == ran.clips[name]["delivered"]["frames"]


def test_h10_upsampling_leaves_no_image(case: Case) -> None:
    """H10: at 44.1 kHz telephone speech has at least 55 dB less from 4.6 to 20 kHz than from 300 to 3400 Hz."""
    faulty = case("H10")
    ran = faulty.run({"encode": {"codec": "flac"}})
    hertz, height = spectrum(ran.sound("telephone_8k.wav")[:, 0], 44100)
    image, voice = (
        np.sum(height[(hertz >= low) & (hertz <= high)] ** 2)
        for low, high in (faulty.values["image_band_hz"], faulty.values["voice_band_hz"])
    )

    assert 10 * np.log10(image / voice) < faulty.values["max_ratio_db"]
