"""What detap does to taps and clicks planted in real speech: the table of taps in docs/restoration.md.

    python bench/detap.py FOLDER [tune]

FOLDER is a corpus with speech_real/, human_vs_tts/ and librivox_preamble/. Bumps of four shapes and clicks are planted
one at a time, at times and in shapes that the name of the clip seeds, with a peak of 1 to 2 times that of the clip. A
repair is judged by the energy of (output - clean) over that of (input - clean) over the whole clip, and clean speech by
how often it is repaired all the same.

Settings are chosen on TUNE and told of REPORT, which hold no speaker in common; of the corpora of many speakers every
second clip is in each. With "tune" the half for tuning is measured and nothing is written.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from restoration import DEFAULT_CORPUS, SPEECH, write_table

from prep import audio
from prep.clip import Clip
from prep.pauses import parts
from prep.stages.detap import Detap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prep.clip import Signal
    from prep.units import Decibels

    Draw = np.random.Generator

REPORT = (*SPEECH, "asterisk_en/*")  # of speech_real/
TUNE = ("vctk_16k/p225*", "cmu_arctic/*aew*", "cmu_arctic/arctic*", "speechbrain/spk1*", "pocketsphinx/*", "long/*")
BY_SPEAKER = ("fastspeech2_libritts/*ground-truth*", "hifigan_ms/*GT*", "vits/*_gt*")  # a clip a speaker
SAME_SPEAKER = "vits_vc/vc_{0:02}_{0:02}.wav"  # the others are converted from another voice
BOOKS = {"tune": "dickinson/0*", "report": "crimson_fairy_first90s/*"}  # for false repairs alone

LONGEST_SECONDS = 10.0  # of a clip that taps are planted in
END_SECONDS = 0.1
MARGIN_SECONDS = 0.03  # from the edges of a pause or of speech
TAKEN_DB = 15.0
WANTED_PERCENT = 90.0


class Planted(NamedTuple):
    """A tap in a clip: what it is, where its middle lies, and by how much its repair lowers it."""

    what: str
    place: str
    clip: Clip
    seconds: float
    sound: Signal
    taken_db: Decibels


def oscillation(draw: Draw, times: Signal) -> Signal:
    """Return a damped oscillation of 20 to 120 Hz that has fallen by 35 dB in 30 to 250 ms."""
    hertz, seconds = 20 * 6 ** draw.random(), draw.uniform(0.03, 0.25)
    attack = np.minimum(times / draw.uniform(0.001, 0.006), 1)
    return attack * np.sin(2 * np.pi * hertz * times) * np.exp(-4 * times / seconds)


def thump(draw: Draw, times: Signal) -> Signal:
    """Return half a sine of 30 to 250 ms."""
    seconds = draw.uniform(0.03, 0.25)
    return np.sin(np.pi * times / seconds) * (times < seconds)


def step(draw: Draw, times: Signal) -> Signal:
    """Return a step of DC that rises in 1 to 3 ms and has decayed by 35 dB in 30 to 250 ms."""
    return np.minimum(times / draw.uniform(0.001, 0.003), 1) * np.exp(-4 * times / draw.uniform(0.03, 0.25))


def double(draw: Draw, times: Signal) -> Signal:
    """Return two oscillations 60 to 180 ms apart, the second at most as strong."""
    one = oscillation(draw, times)
    one /= np.abs(one).max()
    later = int(np.searchsorted(times, draw.uniform(0.06, 0.18)))
    return one + draw.uniform(0.4, 1) * np.concatenate([np.zeros(later), one])[: len(one)]


def click(draw: Draw, times: Signal) -> Signal:
    """Return a burst of noise that decays within 0.3 to 2 ms."""
    return draw.standard_normal(len(times)) * np.exp(-times / draw.uniform(0.0003, 0.002))


BUMPS: tuple[Callable[[Draw, Signal], Signal], ...] = (oscillation, thump, step, double)


def sound(draw: Draw, shape: Callable[[Draw, Signal], Signal], rate: int, peak: float) -> Signal:
    """Return a tap of a random polarity, 1 to 2 times as high as a peak; every second bump begins with a click."""
    times = np.arange(rate) / rate
    made = shape(draw, times)
    made /= np.abs(made).max()
    if shape is not click and draw.random() < 0.5:
        onset = click(draw, times)
        made += draw.uniform(0.1, 0.3) * onset / np.abs(onset).max()
    return made * draw.choice([-1, 1]) * draw.uniform(1, 2) * peak / np.abs(made).max()


def places(clip: Clip) -> dict[str, list[tuple[float, float]]]:
    """Return the stretches in which taps may begin, s: of pauses and of speech, but for the last 0.1 s of the clip."""
    found = parts(clip)
    stretches = {}
    for place, ranges in (("in pauses", found.quiet), ("in speech", found.speech)):
        spans = np.minimum(found.starts_seconds[ranges], clip.seconds - END_SECONDS)
        spans += np.array([MARGIN_SECONDS, -MARGIN_SECONDS])
        stretches[place] = [(float(first), float(last)) for first, last in spans if last > first]
    return stretches


def trials(clip: Clip) -> Iterator[Planted]:
    """Plant a bump of each shape and a click in a pause of a clip and in its speech, and give each with its repair."""
    peak = float(np.abs(clip.samples).max())
    for place, stretches in places(clip).items():
        for shape in (*BUMPS, click) if stretches else ():
            draw = np.random.default_rng(zlib.crc32(f"{clip.id} {place} {shape.__name__}".encode()))
            begin = draw.uniform(*stretches[int(draw.integers(len(stretches)))])
            at = round(begin * clip.rate)
            tap = sound(draw, shape, clip.rate, peak)[: clip.frames - at]
            dirty = clip.samples.astype(np.float64)
            dirty[at : at + len(tap)] += tap[:, np.newaxis]
            mended = Detap().apply(clip.with_samples(dirty), None).clip
            left = np.sum(np.square(mended.samples.astype(np.float64) - clip.samples))
            taken = 10 * np.log10(clip.channels * np.sum(np.square(tap)) / max(left, 1e-12))
            yield Planted(shape.__name__, place, clip, begin, tap, float(taken))


def decoded(path: Path) -> Clip:
    """Return a file as a clip."""
    clip, _ = audio.decode(path.read_bytes(), path.name)
    return Clip(clip.samples, clip.rate, path.stem)


def paths(corpus: Path, half: str) -> tuple[list[Path], list[Path]]:
    """Return the files of a half that taps are planted in, and those for false repairs alone."""
    patterns = REPORT if half == "report" else TUNE
    found = [path for pattern in patterns for path in sorted((corpus / "speech_real").glob(pattern))]
    voices = [sorted((corpus / "human_vs_tts").glob(pattern)) for pattern in BY_SPEAKER]
    voices.append([corpus / "human_vs_tts" / SAME_SPEAKER.format(number) for number in range(1, 6)])
    for files in voices:
        found += files[half == "report" :: 2]
    return found, sorted((corpus / "librivox_preamble").glob(BOOKS[half]))


def excerpt(clip: Clip) -> Clip:
    """Return the start of a clip."""
    return Clip(clip.samples[: round(LONGEST_SECONDS * clip.rate)], clip.rate, clip.id)


def row(what: str, found: Sequence[Planted]) -> Sequence[str]:
    """Return one row of the table."""
    taken = [one.taken_db for one in found]
    down = sum(value >= TAKEN_DB for value in taken)
    least, middle = np.percentile(taken, [100 - WANTED_PERCENT, 50])
    return (what, str(len(taken)), f"{down} ({100 * down / len(taken):.0f} %)", f"{middle:.1f}", f"{least:.1f}")


def false_repairs(clips: Sequence[Clip]) -> tuple[float, list[tuple[str, dict[str, object]]]]:
    """Return how many minutes of clean speech there are, and what is repaired in them."""
    found = [(clip.id, repair) for clip in clips for repair in Detap().apply(clip, None).notes["repaired"]]
    return sum(clip.seconds for clip in clips) / 60, found


def main() -> None:
    """Measure one half."""
    corpus = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_CORPUS
    half = "tune" if "tune" in sys.argv[2:] else "report"
    if not (corpus / "speech_real").is_dir():
        sys.exit(f"{corpus} holds no speech_real/; give the folder of a corpus: python bench/detap.py FOLDER")
    speech, books = paths(corpus, half)
    clips = [decoded(path) for path in speech]
    found = [trial for clip in clips for trial in trials(excerpt(clip))]
    rows: list[Sequence[str]] = [("planted", "number", "15 dB down", "median, dB", "nine in ten at least, dB")]
    for place in ("in pauses", "in speech"):
        here = [trial for trial in found if trial.place == place]
        bumps = [trial for trial in here if trial.what != "click"]
        rows.append(row(f"bumps {place}", bumps))
        rows += [row(f"{shape.__name__}, {place}", [b for b in bumps if b.what == shape.__name__]) for shape in BUMPS]
        rows.append(row(f"clicks {place}", [trial for trial in here if trial.what == "click"]))
    minutes, wrong = false_repairs([*clips, *(decoded(path) for path in books)])
    rows.append(
        (f"nothing, {minutes:.1f} min of speech", str(len(wrong)), f"{len(wrong) / minutes:.2f} a minute", "", "")
    )
    if half == "report":
        write_table("taps", rows)
    else:
        print("\n".join(" | ".join(cells) for cells in rows))
    for name, repair in wrong:
        print(name, repair)


if __name__ == "__main__":
    main()
