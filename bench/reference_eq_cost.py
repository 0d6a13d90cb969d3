"""What reference_eq costs: CPU time beside its convolution and one averaged spectrum, and beside Matchering's process.

Clips of noise in syllables, 2 to 12 s, at the rates of speech; files and decoding are no part of it, but of
Matchering's, which works on files alone. `python bench/reference_eq_cost.py [minutes of clips]`, an hour by default.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile
from scipy.fft import next_fast_len

from prep.clip import Clip
from prep.matching import matching_fir
from prep.profile import profile_of
from prep.spectrum import filter_zero_phase
from prep.stages.reference_eq import ReferenceEq

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import matchering
    from matchering.stage_helpers import match_frequencies

RATES = (16000, 22050, 24000, 44100, 48000)
MATCHERING_CLIPS = 15
REFERENCE_SECONDS = 30.0


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


def main() -> None:
    """Print CPU times and ratios."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
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
    print(f"{count} clips, {minutes:g} minutes, CPU time: " + ", ".join(f"{n} {s:.1f} s" for n, s in spent.items()))
    for rate, (ours, parts) in by_rate.items():
        print(f"  at {rate} Hz: {ours / parts:.2f} times convolution and averaged spectrum")
    parts = spent["convolution"] + spent["averaged spectrum"]
    print(f"stage over convolution and averaged spectrum: {spent['stage'] / parts:.2f} (to hold: at most 1.5)")
    _beside_matchering(stage, reference)


def _beside_matchering(stage: ReferenceEq, reference: Clip) -> None:
    """Print how often the stage treats a clip while Matchering processes it once, both from file to file."""
    logging.disable(logging.CRITICAL)
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
                    treated = stage.apply(Clip(samples, rate), profile)
                    soundfile.write(folder / "out.wav", treated.clip.samples, rate)  # type: ignore[union-attr]
                spent = time.process_time() - begun
                if seed and name == "theirs":  # the first compiles its resampler
                    theirs += spent
                elif seed:
                    ours += spent
    print(f"{MATCHERING_CLIPS} clips of 5 s, file to file: Matchering's process {theirs:.1f} s, the stage {ours:.2f} s")
    print(f"the stage is {theirs / ours:.0f} times faster (to hold: at least 20)")


if __name__ == "__main__":
    main()
