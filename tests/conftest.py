"""What tests share: the real data where it is there, and small studies made from noise."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import yaml

from prep.progress import Silent
from prep.run import run_study
from prep.workers import Workers

PROJECT = Path(__file__).resolve().parents[1]
SHARED = PROJECT.parent / "shared"

MakeStudy = Callable[..., Path]


@pytest.fixture
def shared() -> Path:
    """Return the folder of real recordings, or skip."""
    if not (SHARED / "data" / "chains.csv").is_file():
        pytest.skip("the folder shared/ with real recordings is not beside the project")
    return SHARED


def speechlike(seed: int, seconds: float, rate: int, tilt_db_per_octave: float) -> np.ndarray:
    """Return noise in syllables, with a straight-line spectrum, (frames,) float64, about -26 dBFS."""
    draw = np.random.default_rng(seed)
    frames = round(seconds * rate)
    spectrum = np.fft.rfft(draw.standard_normal(frames))
    frequencies = np.maximum(np.fft.rfftfreq(frames, 1 / rate), 50)
    sound = np.fft.irfft(spectrum * (frequencies / 1000) ** (tilt_db_per_octave / 20 / np.log10(2)), frames)
    envelope = np.clip(np.sin(2 * np.pi * 3 * np.arange(frames) / rate + seed), 0.003, 1)
    sound = sound * envelope
    return sound * 0.05 / np.sqrt(np.mean(sound**2))


@pytest.fixture
def make_study(tmp_path: Path) -> MakeStudy:
    """Return a maker of studies: clips of noise with a table and a config, in a folder of its own."""

    def make(
        name: str = "study",
        speakers: int = 4,
        passages: int = 2,
        chain: list[Any] | None = None,
        **settings: Any,
    ) -> Path:
        folder = tmp_path / name
        (folder / "wav").mkdir(parents=True)
        rows = []
        for side, condition in enumerate(("human", "synthetic")):
            for speaker in range(speakers):
                for passage in range(passages):
                    file_name = f"wav/{condition[0]}{speaker}_{passage}.wav"
                    rate = (16000, 22050)[speaker % 2]
                    sound = speechlike(100 * side + 10 * speaker + passage, 0.8, rate, -5.0 - side + 0.2 * speaker)
                    soundfile.write(folder / file_name, sound, rate, subtype="PCM_16")
                    rows.append(
                        {
                            "file_name": file_name,
                            "condition": condition,
                            "speaker": f"{condition[0]}{speaker}",
                            "passage": f"p{passage}",
                            "text": f"text {passage}",
                        }
                    )
        with (folder / "clips.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        config = {
            "study": name,
            "clips": {"table": "clips.csv"},
            "compare": {"a": "human", "b": "synthetic"},
            "heldout": {"seed": 3},
            "chain": chain
            or [
                {"tilt_eq": {"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}}},
                {"shared_gain": {"target_lufs": -30}},
                {"encode": {"codec": "flac"}},
            ],
            **settings,
        }
        path = folder / "study.yaml"
        path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        return path

    return make


class InlineExecutor(Executor):
    """An executor that works at once and in this process: the seam that a cluster would use."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do the work and return a future that is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - a future carries any error
            future.set_exception(error)
        return future


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have runs work in this process, which is quicker than starting workers."""

    @contextmanager
    def workers(_: int) -> Iterator[Workers]:
        yield Workers(InlineExecutor, 1)

    for place in ("run", "takes", "cut_place", "screens", "suggest"):
        monkeypatch.setattr(f"prep.{place}.local_workers", workers)


@pytest.fixture(scope="session")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output folder of a run in which much happened; only to be read.

    A clipped clip is replaced, another leaves its slot empty, a file is no sound, corrections reach their cap, and a
    limiter works.
    """
    folder = tmp_path_factory.mktemp("eventful")
    rows = [
        {
            "file_name": f"{condition}{speaker}.wav",
            "condition": condition,
            "speaker": f"s{speaker}",
            "passage": "p",
            "slot": f"{condition} {speaker}",
        }
        for condition in ("human", "synthetic")
        for speaker in range(4)
    ]
    rows.insert(3, {**rows[3], "file_name": "clipped.wav"})
    rows.append({**rows[0], "file_name": "alone.wav", "slot": "human alone", "speaker": "s9"})
    rows.append({**rows[0], "file_name": "nothing.wav", "slot": "human nothing", "speaker": "s8"})
    for seed, row in enumerate(rows):
        sound = speechlike(seed, 1.2, 16000, -5.0 - 1.5 * (row["condition"] == "synthetic") + 0.3 * (seed % 5))
        if row["file_name"] in ("clipped.wav", "alone.wav"):
            sound = np.clip(30 * sound, -0.9, 0.9)
        soundfile.write(folder / row["file_name"], sound, 16000, subtype="PCM_16")
    (folder / "nothing.wav").write_bytes(b"RIFF")
    with (folder / "clips.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    config = {
        "study": "eventful",
        "clips": {"table": "clips.csv"},
        "compare": {"a": "human", "b": "synthetic", "match": ["speaker", "passage"]},
        "heldout": {"seed": 3},
        "chain": [
            {"screen": {"clipping": {}}},
            {"reference_eq": {"max_boost_db": 1, "max_cut_db": 1}},
            {"tilt_eq": {"adjust": {"condition": "human"}, "towards": {"condition": "synthetic"}}},
            {"clip_loudness": {"target_lufs": -20, "on_over": "limit"}},
            {"encode": {"codec": "flac", "rate": 16000}},
        ],
        "audit": {"cues": ["tilt", "loudness", "spectrum"]},
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")

    @contextmanager
    def workers(_: int) -> Iterator[Workers]:
        yield Workers(InlineExecutor, 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prep.run.local_workers", workers)
        run_study(path, Silent())
    return folder / "out"
