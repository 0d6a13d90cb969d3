"""Faults of encoding: delay, defaults, the ceiling checked too early, bytes that change with the day."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest
import soundfile
from scipy import signal

from prep.mpeg import mp3_stream
from prep.store import digest

Case = Any
Prep = Any

FAULTS = ("H29", "H30", "H31", "H32")
CLOCK_SECONDS = 1.1  # longer than the second that a time stamp counts in
TRUE_PEAK_DB = 0.2  # dB; by how much the true-peak meter may read too high or another too low
WASTED_DB = 1.0  # dB under the ceiling; what LAME adds to a peak changes by as much with the gain it is given
FOLLOWED_TIMES = 3  # of advice, for the same reason
CODECS: dict[str, dict[str, Any]] = {
    "mp3": {"codec": "mp3"},
    "wav": {"codec": "wav", "bit_depth": 32},
    "flac": {"codec": "flac"},
    "opus": {"codec": "opus", "rate": 48000},
    "vorbis": {"codec": "vorbis"},
    "copy": {"codec": "copy"},
}

pytestmark = pytest.mark.usefixtures("inline")


def oversampled_peak_db(samples: np.ndarray) -> float:
    """Return the peak of the samples 8 times oversampled, dB."""
    return float(20 * np.log10(np.abs(signal.resample_poly(samples, 8, 1)).max()))


def test_h29_a_gapless_decoder_gets_the_clip_back_in_time(case: Case) -> None:
    """H29: an MP3 decodes to the frames that went in, each pip within 2 samples, and its tag carries the delay."""
    faulty = case("H29")
    ran = faulty.run({"encode": {"codec": "mp3"}})
    source, decoded = soundfile.read(faulty.folder / "pips.wav")[0], ran.sound("pips.wav")[:, 0]
    stream = mp3_stream(ran.file("pips.wav").read_bytes())

    assert len(decoded) == faulty.values["frames"] == int(ran.table("manifest.csv")[0]["frames"])
    for start in faulty.values["pip_starts"]:
        cut = slice(start - 400, start + 1600)
        late = int(np.argmax(np.correlate(decoded[cut], source[cut], "full"))) - 1999
        assert abs(late) <= faulty.values["tolerance_samples"]
    assert stream is not None
    assert stream.tag.delay
    assert stream.claimed_frames == faulty.values["frames"]


def test_h30_bitrate_and_band_are_those_configured(case: Case) -> None:
    """H30: at 64 kb/s mono tones up to 10 kHz stay within 3 dB; rate and bitrate are those set, the low-pass told."""
    faulty = case("H30")
    ran = faulty.run({"encode": {"codec": "mp3", "rate": 24000, "bitrate_kbps": 64}})
    data, decoded = ran.file("tones.wav").read_bytes(), ran.sound("tones.wav")[:, 0]
    stream, notes = mp3_stream(data), ran.clips["tones.wav"]["stages"]["encode"]
    height = np.abs(np.fft.rfft(decoded * np.hanning(len(decoded)))) * 4 / len(decoded)
    hertz = np.fft.rfftfreq(len(decoded), 1 / 24000)

    assert stream is not None
    assert (stream.rate, stream.kbps, stream.channels) == (24000, (64,), 1)
    for tone in faulty.values["tones_hz"][:4]:
        level_db = 20 * np.log10(height[np.abs(hertz - tone) < 20].max())
        assert level_db == pytest.approx(faulty.values["each_dbfs"], abs=faulty.values["tolerance_db"])
    assert notes["lowpass_hz"] == stream.tag.lowpass_hz > 10000


def test_h30_a_bitrate_that_cannot_be_is_a_config_error(case: Case, prep: Prep) -> None:
    """H30: a bitrate that the rate does not allow is refused before any work, and the possible ones are listed."""
    faulty = case("H30")
    ran = prep("run", faulty.study({"encode": {"codec": "mp3", "rate": 44100, "bitrate_kbps": 48}}))

    assert ran.exit_code == 3
    assert "study.yaml:" in ran.stderr
    assert "possible are 56, 64, 80" in ran.stderr
    assert not (faulty.folder / ".prep-cache").exists()


@pytest.mark.parametrize("kbps", [56, 96])
def test_h31_the_ceiling_holds_after_decoding(case: Case, kbps: int) -> None:
    """H31: a dense clip that a codec lifts over the ceiling is encoded again until what it decodes to is under it."""
    faulty = case("H31")
    level = {"clip_loudness": {"target_lufs": 0, "on_over": "lower", "ceiling_dbtp": faulty.values["ceiling_dbtp"]}}
    ran = faulty.run(level, {"encode": {"codec": "mp3", "bitrate_kbps": kbps}})
    notes = ran.clips["dense.wav"]["stages"]

    assert ran.exit_code == 0
    source_dbtp = ran.measures("dense.wav", "source")["true_peak_dbtp"]
    assert source_dbtp == pytest.approx(faulty.values["source_dbtp"], abs=TRUE_PEAK_DB)
    assert notes["encode"]["encodings"] > 1
    assert ran.measures("dense.wav")["true_peak_dbtp"] <= faulty.values["ceiling_dbtp"]
    decoded_dbtp = oversampled_peak_db(ran.sound("dense.wav")[:, 0])
    assert decoded_dbtp <= faulty.values["ceiling_dbtp"] + TRUE_PEAK_DB
    assert decoded_dbtp > faulty.values["ceiling_dbtp"] - WASTED_DB


def test_h31_a_shared_gain_over_the_ceiling_stops_with_advice_that_leads_under_it(case: Case, prep: Prep) -> None:
    """H31: a gain that the set shares is not bent for one clip: the run stops, and its advice leads under it."""
    faulty = case("H31")
    (measured,) = prep("measure", faulty.folder / "dense.wav", "--json").json
    target = measured["measures"]["integrated_lufs"] - 0.5
    encode = {"encode": {"codec": "mp3", "bitrate_kbps": 96}}
    stopped = prep("run", faulty.study({"shared_gain": {"target_lufs": target}}, encode))

    assert stopped.exit_code == 3
    assert "dense.wav" in stopped.stderr
    assert not (faulty.folder / "out" / "audio").exists()
    for _ in range(FOLLOWED_TIMES):
        advice = re.search(r"lower target_lufs by (\d+\.\d\d)", stopped.stderr)
        assert advice
        target -= float(advice[1])
        stopped = faulty.run({"shared_gain": {"target_lufs": target}}, encode)
        if stopped.exit_code == 0:
            break
    assert stopped.measures("dense.wav")["true_peak_dbtp"] <= faulty.values["ceiling_dbtp"]


def test_h32_another_day_and_folder_give_the_same_bytes(case: Case, prep: Prep) -> None:
    """H32: the same clip, built later and elsewhere, is the same file by its hash; versions are in the record alone."""
    built: dict[str, list[bytes]] = {codec: [] for codec in CODECS}
    faulty = case("H32")
    (faulty.folder / "secret").write_bytes(b"0123456789abcdef")
    faulty.table([{"file_name": "any.wav"}])
    for place in ("here", "elsewhere"):
        for codec, encode in CODECS.items():
            output = f"{place}/out-{codec}"
            places = {"output": output, "cache": f"{place}/.cache-{codec}", "clips": {"table": "clips.csv"}}
            config = faulty.study({"encode": encode}, **places)
            words = ("run", config, "--json", "--secret", faulty.folder / "secret")
            ran = prep(*words, out=faulty.folder / output)
            (row,) = ran.table("manifest.csv")
            data = ran.file("any.wav").read_bytes()
            assert ran.file("any.wav").stem == digest(data) == row["sha256"]
            built[codec] += [data, (ran.out / "manifest.csv").read_bytes()]
        time.sleep(CLOCK_SECONDS)

    assert {"libsndfile", "soundfile", "listening-prep"} <= ran.json["versions"].keys()
    for codec, (data, manifest, *again) in built.items():
        assert again == [data, manifest], codec
    assert b"PEAK" not in built["wav"][0]
