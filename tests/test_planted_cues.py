"""One cue planted in real speech, and nothing else: each is found by its own cue on held-out speakers."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile
import yaml

from prep.audio import decode
from prep.encoding import encode_mp3
from prep.pauses import head_seconds, noise_floor_dbfs
from prep.progress import Silent
from prep.run import audit_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prep.clip import Clip

HELD_OUT_SPEAKERS = 10
HEAD_SECONDS = 0.0101  # s: two blocks of the measurement
FLOOR_DB = 4.0  # dB: a clip's own floor is no steady noise, and the quietest 100 ms are one measure of it
MEDIAN_FLOOR_DB = 1.5  # dB: over the clips
LONGEST_SECONDS = 4  # s: enough for every cue but the loudness range, and quick


QUIETEST_SECONDS = 0.02  # s: a frame of room tone
QUIETEST_FRAMES = 5  # 100 ms in all, which every clip has in its stops and pauses


def room_tone(clip: Clip, frames: int, draw: np.random.Generator) -> np.ndarray:
    """Return noise with the mean spectrum and the level of the quietest 100 ms of a clip."""
    signal = clip.samples[:, 0] - clip.samples[:, 0].mean(dtype=np.float64)
    size = round(QUIETEST_SECONDS * clip.rate)
    pieces = signal[: len(signal) // size * size].reshape(-1, size)
    quietest = pieces[np.argsort((pieces**2).mean(axis=1))[:QUIETEST_FRAMES]]
    window = np.hanning(size) / np.sqrt(np.mean(np.hanning(size) ** 2))
    white = draw.standard_normal((QUIETEST_FRAMES, frames + size - 1))
    tones = [np.convolve(noise, piece * window, mode="valid") for noise, piece in zip(white, quietest, strict=True)]
    return np.sum(tones, axis=0) / np.sqrt(size * QUIETEST_FRAMES)


def later(clip: Clip, draw: np.random.Generator) -> np.ndarray:
    """80 ms of the clip's own room tone before it."""
    return np.concatenate([room_tone(clip, round(0.08 * clip.rate), draw), clip.samples[:, 0]])


def noisier(clip: Clip, draw: np.random.Generator) -> np.ndarray:
    """The room tone 10 dB louder."""
    return clip.samples[:, 0] + np.sqrt(10 ** (10 / 10) - 1) * room_tone(clip, clip.frames, draw)


def coded(clip: Clip, _: np.random.Generator) -> np.ndarray:
    """An MP3 of 64 kb/s, decoded."""
    decoded, _ = decode(encode_mp3(clip, 64), "history.mp3")
    return decoded.samples[:, 0]


def narrower(clip: Clip, _: np.random.Generator) -> np.ndarray:
    """Nothing above 8 kHz."""
    spectrum = np.fft.rfft(clip.samples[:, 0])
    spectrum[np.fft.rfftfreq(clip.frames, 1 / clip.rate) > 8000] *= 1e-5
    return np.fft.irfft(spectrum, clip.frames)


def louder(clip: Clip, _: np.random.Generator) -> np.ndarray:
    """2 dB more."""
    return clip.samples[:, 0] * 10 ** (2 / 20)


def roomier(clip: Clip, draw: np.random.Generator) -> np.ndarray:
    """A room of T60 0.6 s, at the loudness of the direct sound."""
    frames = round(0.8 * clip.rate)
    tail = draw.standard_normal(frames) * 10 ** (-3 * np.arange(frames) / clip.rate / 0.6)
    tail *= 1 / np.sqrt(np.sum(tail**2))
    tail[0] += 1
    size = clip.frames + frames
    room = np.fft.irfft(np.fft.rfft(clip.samples[:, 0], size) * np.fft.rfft(tail, size), size)[: clip.frames]
    return room * np.sqrt(np.mean(clip.samples[:, 0] ** 2) / np.mean(room**2))


def hopped(clip: Clip, _: np.random.Generator) -> np.ndarray:
    """A length that is a multiple of 256."""
    return clip.samples[: clip.frames // 256 * 256, 0]


def human_clips(shared: Path) -> list[tuple[dict[str, str], Clip]]:
    """Return the rows and the clips of the human speakers of a real study."""
    with (shared / "data" / "detection.csv").open(newline="", encoding="utf-8") as file:
        human = [row for row in csv.DictReader(file) if row["condition"] == "human"]
    return [(row, decode((shared / "data" / row["file_name"]).read_bytes(), row["file_name"])[0]) for row in human]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep what was measured of the plain clips for all plants."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize(
    ("plant", "cue"),
    [
        (later, "head_silence"),
        (noisier, "noise_floor"),
        (narrower, "bandwidth"),
        (louder, "loudness"),
        (roomier, "reverb"),
        (coded, "codec_history"),
        (hopped, "length_granularity"),
    ],
    ids=lambda item: getattr(item, "__name__", item),
)
@pytest.mark.usefixtures("inline")
def test_a_planted_cue_is_found_by_its_own_name(
    shared: Path, tmp_path: Path, cache: Path, plant: Callable[[Clip, np.random.Generator], np.ndarray], cue: str
) -> None:
    """On ten held-out speakers the planted cue tells the conditions apart, over all cues together."""
    rows: list[dict[str, Any]] = []
    for number, (row, clip) in enumerate(human_clips(shared)):
        # Half scale, so that no plant is cut off; a length that is no multiple of any hop.
        frames = min(clip.frames - 300, LONGEST_SECONDS * clip.rate) // 256 * 256 + 37 + number
        plain = clip.with_samples(0.5 * clip.samples[:frames])
        planted = plant(plain, np.random.default_rng(number))
        for condition, samples in (("plain", plain.samples[:, 0]), ("planted", planted)):
            name = f"{condition}{number}.wav"
            soundfile.write(tmp_path / name, samples, clip.rate, subtype="PCM_24")
            rows.append(
                {"file_name": name, "condition": condition, "speaker": row["speaker"], "passage": row["passage"]}
            )
    with (tmp_path / "clips.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    config = {
        "study": "planted",
        "clips": {"table": "clips.csv"},
        "compare": {"a": "plain", "b": "planted", "match": ["speaker", "passage"]},
        "heldout": {"seed": 1},
        "cache": str(cache),
        "chain": [{"encode": {"codec": "copy"}}],
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    audit = audit_study(tmp_path / "study.yaml", Silent()).record["audit"]
    found = audit["before"][cue]

    assert found["units_a"] == found["units_b"] == HELD_OUT_SPEAKERS
    assert found["verdict"] == "told apart", {
        name: (item["auc_matched"], item["p_familywise"]) for name, item in audit["before"].items()
    }
    assert found["p_familywise"] <= 0.05


def test_80_ms_of_room_tone_are_80_ms(shared: Path) -> None:
    """In every clip of twenty speakers, 80 ms of its own room tone before it are 80 ms of head silence."""
    for number, (row, clip) in enumerate(human_clips(shared)):
        planted = clip.with_samples(later(clip, np.random.default_rng(number))[:, np.newaxis])
        assert head_seconds(planted) - head_seconds(clip) == pytest.approx(0.08, abs=HEAD_SECONDS), row["speaker"]


def test_10_db_of_room_tone_are_10_db(shared: Path) -> None:
    """In every clip of twenty speakers, its room tone 10 dB louder is a noise floor about 10 dB higher."""
    rises = {}
    for number, (row, clip) in enumerate(human_clips(shared)):
        planted = clip.with_samples(noisier(clip, np.random.default_rng(number))[:, np.newaxis])
        rises[row["speaker"]] = noise_floor_dbfs(planted) - noise_floor_dbfs(clip)
    assert {speaker: rise for speaker, rise in rises.items() if abs(rise - 10) > FLOOR_DB} == {}
    assert np.median(list(rises.values())) == pytest.approx(10, abs=MEDIAN_FLOOR_DB)
