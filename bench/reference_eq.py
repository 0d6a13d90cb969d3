"""What reference_eq does to real clips, how near it is to Matchering, and what it costs: docs/reference_eq.md.

    python bench/reference_eq.py match TABLE     # every clip of a table towards the mean of them all
    python bench/reference_eq.py audit TABLE     # the cues of the spectrum on held-out speakers
    python bench/reference_eq.py matchering WAV WAV...  # each full-band file towards the first, and noise
    python bench/reference_eq.py cost [MINUTES]  # CPU time, an hour of made clips by default

The cost is of clips of noise in syllables, 2 to 12 s, at the rates of speech; files and decoding are no part of it, but
of Matchering's, which works on files alone.
"""

from __future__ import annotations

import csv
import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile
import yaml
from page import write_table
from scipy.fft import next_fast_len
from threadpoolctl import threadpool_limits

from prep import audio
from prep.clip import Clip
from prep.matching import BIN_HZ, matching_fir
from prep.profile import Profile, mean_profile, profile_of
from prep.progress import Silent
from prep.run import run_study
from prep.spectrum import clip_ltas, filter_zero_phase, ltas, third_octave_levels
from prep.stage import Applied
from prep.stages.reference_eq import ReferenceEq

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prep.clip import Signal

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import matchering
    from matchering.stage_helpers import match_frequencies

PAGE = "reference_eq.md"
RATES = (16000, 22050, 24000, 44100, 48000)
MATCHERING_CLIPS = 15
REFERENCE_SECONDS = 30.0
UNBOUND = {"max_boost_db": 60.0, "max_cut_db": 60.0, "max_crest_change_db": 60.0}
SETTINGS = {
    "defaults: 12 dB, crest 3 dB": {},
    "12 dB, crest unbound": {"max_crest_change_db": 60.0},
    "unbound": UNBOUND,
}
HUMAN, SYNTHETIC = {"condition": "human"}, {"condition": "synthetic"}
CHAINS: tuple[tuple[dict[str, Any], ...], ...] = (
    ({"reference_eq": {}},),
    ({"bandwidth": {}}, {"reference_eq": {}}),
    ({"bandwidth": {}}, {"reference_eq": {}}, {"tilt_eq": {"adjust": SYNTHETIC, "towards": HUMAN}}),
)
CUES = ("spectrum", "tilt", "bandwidth", "loudness", "peak")


def decoded(path: Path) -> Clip:
    """Return the clip of a file."""
    return audio.decode(path.read_bytes(), path.name)[0]


def applied(stage: ReferenceEq, clip: Clip, profile: Profile | None) -> Applied:
    """Return a clip treated."""
    if not isinstance(result := stage.apply(clip, profile), Applied):
        raise TypeError(f"{clip.id}: rejected: {result}")
    return result


# How near the clips come --------------------------------------------------------------------------


def averaged(profile: Profile) -> Signal:
    """Return the third octaves of Matchering's averaged spectrum, 200 to 7000 Hz, dB."""
    bins = np.arange(len(profile.levels_db)) * BIN_HZ
    return third_octave_levels(bins, profile.spectrum().amplitudes ** 2)[1]


def power(clip: Clip) -> Signal:
    """Return the third octaves of a clip's long-term average power over its active frames, dB."""
    return third_octave_levels(*clip_ltas(clip))[1]


def fell(before: Sequence[Signal], after: Sequence[Signal], towards: Signal) -> str:
    """Return the mean RMS distance to a spectrum before and after, its mean removed, and how far it falls."""
    near, far = (np.array([np.std(item - towards) for item in items]) for items in (after, before))
    falls = 100 * (1 - near / far)
    return f"{far.mean():.2f} to {near.mean():.2f}, -{falls.mean():.0f} % ({falls.min():.0f})"


def match(table: Path) -> Iterator[list[str]]:
    """Yield how near the clips of a table come to the mean of them all."""
    with table.open(newline="", encoding="utf-8") as file:
        clips = [decoded(table.parent / row["file_name"]) for row in csv.DictReader(file)]
    profiles = [profile_of(clip) for clip in clips]
    mean = mean_profile(profiles)
    yield ["bounds", "clips", "averaged spectrum, dB", "power, dB", "crest moves, dB", "scaled down", "at a cap"]
    for name, settings in SETTINGS.items():
        found = [applied(ReferenceEq(**settings), clip, mean) for clip in clips]
        crest = np.abs([item.notes["crest_change_db"] for item in found])
        yield [
            name,
            str(len(clips)),
            fell([averaged(p) for p in profiles], [averaged(profile_of(item.clip)) for item in found], averaged(mean)),
            fell([power(clip) for clip in clips], [power(item.clip) for item in found], averaged(mean)),
            f"{np.median(crest):.1f} ({crest.max():.1f})",
            str(sum(item.notes["applied_percent"] < 100 for item in found)),
            str(sum(item.notes["capped"] for item in found)),
        ]


def audit(table: Path) -> Iterator[list[str]]:
    """Yield how well cues tell the conditions of a table apart, on held-out speakers, before and after some chains."""
    found = [_audited(table, chain) for chain in CHAINS]
    yield [
        "cue",
        "held-out, before",
        *(f"after {', '.join(f'`{next(iter(step))}`' for step in chain)}" for chain in CHAINS),
    ]
    for cue in CUES:
        yield [
            f"`{cue}`",
            f"{found[0]['before'][cue]['auc']:.2f}",
            *(f"{columns['after'][cue]['auc']:.2f}" for columns in found),
        ]


def _audited(table: Path, chain: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the columns of an audit of some stages, each with its defaults."""
    with tempfile.TemporaryDirectory() as folder:
        config = {
            "study": "reference_eq",
            "clips": {"table": str(table.absolute())},
            "compare": {"a": "human", "b": "synthetic"},
            "chain": [
                *chain,
                {"shared_gain": {"target_lufs": -32}},
                {"encode": {"codec": "flac", "rate": 44100, "channels": 1}},
            ],
            "audit": {"cues": list(CUES)},
        }
        path = Path(folder) / "study.yaml"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        columns: Mapping[str, Any] = run_study(path, progress=Silent()).record["audit"]
    return columns


# Beside Matchering --------------------------------------------------------------------------------


def matchered(target: Clip, reference: Clip, folder: Path) -> Signal:
    """Return what Matchering's public process makes of a clip at 44.1 kHz, its limiter and normalisation off."""
    for name, clip in (("target", target), ("reference", reference)):
        soundfile.write(folder / f"{name}.wav", clip.samples, clip.rate, subtype="FLOAT")
    result = matchering.Result(str(folder / "result.wav"), "FLOAT", use_limiter=False, normalize=False)
    matchering.process(str(folder / "target.wav"), str(folder / "reference.wav"), [result])
    samples: Signal = soundfile.read(folder / "result.wav")[0][:, 0]
    return samples


def beside(paths: Sequence[Path]) -> Iterator[list[str]]:
    """Yield by how much the corrections differ, each file towards the first, and noise towards noise."""
    files = [audio.resample(decoded(path), 44100) for path in paths]
    pairs = [(path.stem, clip, files[0]) for path, clip in zip(paths[1:], files[1:], strict=True)]
    pairs.append(("made noise", sound(1, 6, 44100), sound(2, 6, 44100)))
    yield ["clip", "correction of Matchering, dB", *(f"{name}: differs by at most, dB" for name in SETTINGS)]
    for name, target, reference in pairs:
        with tempfile.TemporaryDirectory() as folder:
            theirs = matchered(target, reference, Path(folder))
        before, wanted = (_levels(samples, 44100) for samples in (target.mono(), theirs))
        worst = []
        for settings in SETTINGS.values():
            item = applied(ReferenceEq(**settings), target, profile_of(reference))
            difference = wanted - _levels(item.clip.mono(), 44100)
            difference -= difference.mean()
            place = int(np.abs(difference).argmax())
            held = f", at {item.notes['applied_percent']:.0f} %" if item.notes["applied_percent"] < 100 else ""
            worst.append(f"{abs(difference[place]):.2f}{held}{', capped' if item.notes['capped'] else ''}")
        yield [name, f"{np.ptp(wanted - before):.1f}", *worst]


def _levels(samples: Signal, rate: int) -> Signal:
    """Return third octaves from 100 Hz to 10 kHz, dB."""
    return third_octave_levels(*ltas(samples.astype(np.float64), rate), (89.0, 11300.0))[1]


# Cost ---------------------------------------------------------------------------------------------


def sound(seed: int, seconds: float, rate: int) -> Clip:
    """Return noise in syllables, falling by 6 dB/octave above 500 Hz."""
    draw = np.random.default_rng(seed)
    frames = round(seconds * rate)
    frequencies = np.fft.rfftfreq(frames, 1 / rate)
    noise = np.fft.irfft(np.fft.rfft(draw.standard_normal(frames)) / (1 + frequencies / draw.uniform(300, 900)), frames)
    syllables = 1e-3 + np.clip(np.sin(2 * np.pi * 3 * np.arange(frames) / rate), 0, None)
    return Clip((0.05 * noise / noise.std() * syllables)[:, np.newaxis].astype(np.float32), rate, f"clip {seed}")


def clips(minutes: float) -> Iterator[Clip]:
    """Yield clips of so many minutes in all."""
    draw = np.random.default_rng(7)
    left, seed = 60 * minutes, 0
    while left > 0:
        clip = sound(seed, draw.uniform(2, 12), RATES[seed % len(RATES)])
        left -= clip.seconds
        seed += 1
        yield clip


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a piece of work."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def cost(minutes: float) -> Iterator[list[str]]:
    """Yield the CPU time of the stage beside that of its parts, and beside Matchering's."""
    average = vars(match_frequencies)["__average_fft"]
    reference = sound(999, REFERENCE_SECONDS, 44100)
    profile, stage = profile_of(reference), ReferenceEq()
    stage.apply(sound(998, 3, 44100), profile)  # what is made once: Matchering's import, the smoothing
    spent = {"stage": 0.0, "convolution": 0.0, "averaged spectrum": 0.0}
    by_rate = {rate: [0.0, 0.0] for rate in RATES}
    count = 0
    for clip in clips(minutes):
        taps = matching_fir(np.zeros(2049), clip.rate)
        frame = next_fast_len(round(4096 * clip.rate / 44100), real=True)
        signal = clip.samples.T.astype(np.float64)
        took = {
            "stage": cpu_seconds(lambda clip=clip: stage.apply(clip, profile)),
            "convolution": cpu_seconds(lambda clip=clip, taps=taps: filter_zero_phase(clip.samples, taps)),
            "averaged spectrum": cpu_seconds(lambda x=signal, r=clip.rate, f=frame: average(x, r, f)),
        }
        spent = {name: spent[name] + took[name] for name in spent}
        by_rate[clip.rate][0] += took["stage"]
        by_rate[clip.rate][1] += took["convolution"] + took["averaged spectrum"]
        count += 1
    parts = spent["convolution"] + spent["averaged spectrum"]
    yield ["clips", "stage, CPU s", "beside", "CPU s", "ratio"]
    both = "convolution and averaged spectrum"
    whole = f"{count} clips of 2 to 12 s, {minutes:g} minutes"
    yield [whole, f"{spent['stage']:.1f}", both, f"{parts:.1f}", f"{spent['stage'] / parts:.2f} (to hold: at most 1.5)"]
    for rate, (ours, theirs) in by_rate.items():
        yield [f"of these at {rate} Hz", f"{ours:.1f}", both, f"{theirs:.1f}", f"{ours / theirs:.2f}"]
    ours, theirs = _beside_matchering(stage, reference)
    name = f"{MATCHERING_CLIPS} clips of 5 s, file to file"
    yield [name, f"{ours:.2f}", "Matchering's `process`", f"{theirs:.1f}", f"1/{theirs / ours:.0f} (to hold: 1/20)"]


def _beside_matchering(stage: ReferenceEq, reference: Clip) -> tuple[float, float]:
    """Return the CPU time in which the stage and Matchering treat the same clips, both from file to file."""
    profile = profile_of(reference)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        soundfile.write(folder / "reference.wav", reference.samples, reference.rate)
        ours = theirs = 0.0
        for seed in range(MATCHERING_CLIPS + 1):
            clip = sound(seed, 5, RATES[seed % len(RATES)])
            path = folder / f"{seed}.wav"
            soundfile.write(path, clip.samples, clip.rate)
            results = [matchering.Result(str(folder / "out.wav"), "PCM_16", use_limiter=False, normalize=False)]
            for name in ("theirs", "ours"):
                begun = time.process_time()
                if name == "theirs":
                    matchering.process(str(path), str(folder / "reference.wav"), results)
                else:
                    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
                    treated = applied(stage, Clip(samples, rate), profile)
                    soundfile.write(folder / "out.wav", treated.clip.samples, rate)
                spent = time.process_time() - begun
                if seed and name == "theirs":  # the first compiles its resampler
                    theirs += spent
                elif seed:
                    ours += spent
    return ours, theirs


def main() -> None:
    """Write the tables that were asked for."""
    logging.disable(logging.CRITICAL)
    what, *names = sys.argv[1:] or ["cost"]
    with threadpool_limits(1):  # as in a run
        _write(what, names)


def _write(what: str, names: Sequence[str]) -> None:
    """Write one table."""
    if what == "match":
        write_table("match", list(match(Path(names[0]))), PAGE)
    elif what == "audit":
        write_table("audit", list(audit(Path(names[0]))), PAGE)
    elif what == "matchering":
        write_table("matchering", list(beside([Path(name) for name in names])), PAGE)
    else:
        write_table("cost", list(cost(float(names[0]) if names else 60.0)), PAGE)


if __name__ == "__main__":
    main()
