"""What an audit of 2,000 five-second clips costs: measuring beside the least that any tool must do, and statistics.

`python bench/audit_cost.py` (minutes) writes the table of docs/separability.md; a number of clips may be given. The
least is decoding a clip and measuring its integrated loudness. Both are measured in one run, clip by clip in turn, in
CPU time of one process, so that a busy machine weighs on both alike. Cues that need a model are left out.
"""

from __future__ import annotations

import importlib.util
import io
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile
from page import write_table
from threadpoolctl import threadpool_limits

from prep import audio
from prep.audit import audit_columns
from prep.classifiers import cue_classes
from prep.level import integrated_lufs
from prep.passes import Entry
from prep.split import draw_split
from prep.study import load_study
from prep.table import Row
from prep.visit import measure_cues, told_by_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from numpy.typing import NDArray

    from prep.visit import CueValues

    Signal = NDArray[np.float64]

CLIPS = 2000
SECONDS = 5
PAUSE_SECONDS = (2.0, 2.4)  # of every clip, so that the cues of the pauses have something to measure
SPEAKERS = 40
RATES_HZ = (16000, 22050, 24000, 44100, 48000)
MOST_RATIO = 6.0
MOST_STATISTICS_SECONDS = 60.0
STUDY = """
study: cost
clips: {table: clips.csv}
compare: {a: human, b: synthetic}
chain: [{encode: {codec: flac}}]
"""


def fixtures() -> ModuleType:
    """Import fixtures/make.py."""
    path = Path(__file__).resolve().parents[1] / "fixtures" / "make.py"
    spec = importlib.util.spec_from_file_location("make", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules["make"] = module
    spec.loader.exec_module(module)
    return module


def voices(number_of_speakers: int) -> Iterator[tuple[Signal, int]]:
    """Yield a sound of over five seconds, with its rate, for each speaker."""
    make = fixtures()
    speakers = [speaker for condition in make.CONDITIONS for speaker in make.speakers(condition)]
    for number in range(number_of_speakers):
        speaker = replace(speakers[number % len(speakers)], rate=RATES_HZ[number % len(RATES_HZ)])
        random = np.random.default_rng([6, number])
        text = " ".join(make.PASSAGES.values())
        yield make.recorded(make.voice(text, speaker, random), speaker, random), speaker.rate


def files(clips: int, speakers: int = SPEAKERS) -> Iterator[tuple[int, int, bytes]]:
    """Yield speaker, rate and file of each clip: five seconds of a speaker's sound with a pause, gain and hiss."""
    sounds = list(voices(speakers))
    for number in range(clips):
        speaker = number % speakers
        sound, rate = sounds[speaker]
        random = np.random.default_rng([7, number])
        first = int(random.integers(len(sound) - SECONDS * rate))
        piece = sound[first : first + SECONDS * rate].copy()
        piece[round(PAUSE_SECONDS[0] * rate) : round(PAUSE_SECONDS[1] * rate)] = 0.0
        gain, hiss = 10 ** (random.uniform(-10, 6) / 20), 10 ** (random.uniform(-90, -60) / 20)
        varied = gain * piece + hiss * random.standard_normal(len(piece))
        file = io.BytesIO()
        soundfile.write(file, varied, rate, subtype="PCM_16", format=("WAV", "FLAC")[number // speakers % 2])
        yield speaker, rate, file.getvalue()


class Costs:
    """CPU seconds by rate and by what was done, and what was measured."""

    def __init__(self) -> None:
        self.seconds: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self.clips: Counter[int] = Counter()
        self.values: list[CueValues] = []
        self.speakers: list[int] = []
        self.cues = tuple(cue() for cue in cue_classes().values() if cue.BATTERY and not cue.MODELS)

    def add(self, speaker: int, rate: int, data: bytes, *, counted: bool = True) -> None:
        """Measure a clip both ways; of two cues that share what they need, the first pays for it."""
        marks = [time.process_time()]

        def mark() -> None:
            marks.append(time.process_time())

        clip, _ = audio.decode(data, "clip")
        mark()
        integrated_lufs(clip)
        mark()
        clip, facts = audio.decode(data, "clip")
        mark()
        values: CueValues = {}
        for cue in self.cues:
            values |= measure_cues(clip, (cue,))
            mark()
        values |= told_by_file(self.cues, facts, len(data))
        mark()
        if counted:
            what = ["decode", "integrated loudness", "decode again", *(cue.NAME for cue in self.cues), "file facts"]
            for name, taken in zip(what, np.diff(marks), strict=True):
                self.seconds[rate][name] += float(taken)
            self.clips[rate] += 1
            self.values.append(values)
            self.speakers.append(speaker)

    def least(self, rates: tuple[int, ...] = RATES_HZ) -> float:
        """Return the CPU seconds of decoding and one loudness."""
        return sum(self.seconds[rate][name] for rate in rates for name in ("decode", "integrated loudness"))

    def whole(self, rates: tuple[int, ...] = RATES_HZ) -> float:
        """Return the CPU seconds of decoding and every cue."""
        return sum(sum(self.seconds[rate].values()) for rate in rates) - self.least(rates)

    def of(self, name: str) -> float:
        """Return the CPU seconds of one thing."""
        return sum(seconds[name] for seconds in self.seconds.values())


def statistics_seconds(costs: Costs) -> float:
    """Return the CPU seconds of all columns of an audit of these clips, delivered as they came."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.yaml"
        path.write_text(STUDY, encoding="utf-8")
        study = load_study(path).study
    conditions = ["human" if speaker < SPEAKERS // 2 else "synthetic" for speaker in costs.speakers]
    named = [f"s{speaker:02d}" for speaker in costs.speakers]
    halves = draw_split(zip(named, conditions, strict=True)).halves
    entries = []
    for number, (speaker, condition, values) in enumerate(zip(named, conditions, costs.values, strict=True)):
        answer: dict[str, Any] = {"cues": values}
        row = Row(f"{number}.wav", Path(f"{number}.wav"), {"condition": condition, "speaker": speaker})
        entries.append(Entry(row, half=halves[speaker], inspection=answer, rendered={"release": answer}))
    begun = time.process_time()
    audit_columns(study, entries, costs.cues)
    return time.process_time() - begun


def rows(costs: Costs, statistics: float) -> Iterator[list[str]]:
    """Yield the table."""
    clips = len(costs.values)
    yield ["what", "CPU ms a clip", "times the least"]

    def row(name: str, seconds: float, least: float) -> list[str]:
        return [name, f"{1000 * seconds / clips:.1f}", f"{seconds / least:.2f}"]

    least = costs.least()
    yield row("the least: decoding and integrated loudness", least, least)
    yield row(f"**decoding and all {len(costs.cues)} cues** (to hold: {MOST_RATIO:g})", costs.whole(), least)
    for rate, number in sorted(costs.clips.items()):
        of_rate = costs.whole((rate,))
        yield [f"the same at {rate} Hz", f"{1000 * of_rate / number:.1f}", f"{of_rate / costs.least((rate,)):.2f}"]
    for cue in sorted(costs.cues, key=lambda cue: -costs.of(cue.NAME)):
        if costs.of(cue.NAME) >= 0.01 * costs.whole():
            yield row(f"`{cue.NAME}`", costs.of(cue.NAME), least)
    yield [f"**all statistics of {clips} clips** (to hold: {MOST_STATISTICS_SECONDS:g} s)", f"{statistics:.1f} s", ""]


def main(clips: int) -> None:
    """Measure, and write the table."""
    costs = Costs()
    with threadpool_limits(1):  # as in a worker
        for number, (speaker, rate, data) in enumerate(files(clips)):
            if number < len(RATES_HZ):
                costs.add(speaker, rate, data, counted=False)  # imports and caches
            costs.add(speaker, rate, data)
        table = list(rows(costs, statistics_seconds(costs)))
    write_table("cost", table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else CLIPS)
