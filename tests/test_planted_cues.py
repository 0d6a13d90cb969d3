"""One cue planted in real speech, and nothing else: each is found by its own cue on held-out speakers."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile
import yaml

from prep.audio import decode
from prep.progress import Silent
from prep.run import audit_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prep.clip import Clip

HELD_OUT_SPEAKERS = 10


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


@pytest.mark.parametrize(
    ("plant", "cue"),
    [
        (narrower, "bandwidth"),
        (louder, "loudness"),
        (roomier, "reverb"),
        (hopped, "length_granularity"),
    ],
    ids=lambda item: getattr(item, "__name__", item),
)
@pytest.mark.usefixtures("inline")
def test_a_planted_cue_is_found_by_its_own_name(
    shared: Path, tmp_path: Path, plant: Callable[[Clip, np.random.Generator], np.ndarray], cue: str
) -> None:
    """On ten held-out speakers the planted cue tells the conditions apart, over all cues together."""
    with (shared / "data" / "detection.csv").open(newline="", encoding="utf-8") as file:
        human = [row for row in csv.DictReader(file) if row["condition"] == "human"]
    rows: list[dict[str, Any]] = []
    for number, row in enumerate(human):
        data = (shared / "data" / row["file_name"]).read_bytes()
        clip, _ = decode(data, row["file_name"])
        # Half scale, so that no plant is cut off; a length that is no multiple of any hop.
        clip = clip.with_samples(0.5 * clip.samples[: (clip.frames - 300) // 256 * 256 + 37 + number])
        planted = plant(clip, np.random.default_rng(number))
        for condition, samples in (("plain", clip.samples[:, 0]), ("planted", planted)):
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
