"""How many times real time each check of a screen runs, and the whole screen of 1,000 ten-second clips on two cores.

`python bench/screen_cost.py` (about a quarter of an hour) writes the table of docs/separability.md; a number of clips
may be given. Each check is measured alone, in CPU time of one process, on every twentieth clip; then all checks
together, in wall time of two workers, on all clips, a twentieth of which is clipped, so that a cheap check turns them
down before any model is asked. Real speech is taken where it lies beside the project, synthetic speech elsewhere: a
recogniser's cost depends on what is said.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile
from audit_cost import voices
from page import write_table
from threadpoolctl import threadpool_limits

from prep.audio import decode, resample
from prep.models import check_models
from prep.progress import progress_for_terminal
from prep.screens import default_checks, screen_place
from prep.stages.screen import CHECKS, Screen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Signal = NDArray[np.float64]

CLIPS = 1000
SECONDS = 10
RATE = 16000
EVERY = 20  # of the clips, one for which each check is measured alone
QUIETEST_SECONDS = 1.0  # within which a piece begins and ends where it is quietest, so that no word is cut
FADE_SECONDS = 0.02
CLIPPED_EVERY = 20  # of the clips, one that is clipped
WORKERS = 2
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def speech() -> Iterator[Signal]:
    """Yield sounds of over ten seconds: real readings where there are some, synthetic ones otherwise."""
    for path in sorted((SHARED / "librivox_preamble").rglob("*.*")):
        if path.suffix in (".mp3", ".ogg", ".wav", ".flac"):
            clip, _ = decode(path.read_bytes(), path.name)
            yield resample(clip, RATE).mono()
    if not SHARED.is_dir():
        for sound, rate in voices(8):
            yield np.interp(np.arange(0, len(sound) / rate, 1 / RATE), np.arange(len(sound)) / rate, sound)


def quietest(sound: Signal, first: int) -> int:
    """Return the quietest place within a second from a frame on."""
    near = sound[first : first + round(QUIETEST_SECONDS * RATE)]
    smooth = np.convolve(np.square(near), np.ones(round(2 * FADE_SECONDS * RATE)), mode="same")
    return first + int(np.argmin(smooth))


def faded(piece: Signal) -> Signal:
    """Return a piece that fades in and out."""
    slope = np.linspace(0, 1, round(FADE_SECONDS * RATE))
    piece = piece.copy()
    piece[: len(slope)] *= slope
    piece[-len(slope) :] *= slope[::-1]
    return piece


def write_clips(folder: Path, number: int) -> list[Path]:
    """Write ten-second pieces of the sounds, some clipped; return their paths."""
    sounds = [sound for sound in speech() if len(sound) > (SECONDS + 1) * RATE]
    paths = []
    for index in range(number):
        draw = np.random.default_rng([8, index])
        sound = sounds[index % len(sounds)]
        first = int(draw.integers(len(sound) - (SECONDS + 1) * RATE))
        piece = faded(sound[quietest(sound, first) : quietest(sound, first + SECONDS * RATE)])
        piece = 0.9 * piece / np.abs(piece).max()
        if index % CLIPPED_EVERY == 0:
            piece = np.clip(piece, -0.3, 0.3)
        paths.append(folder / f"{index:04d}.wav")
        soundfile.write(paths[-1], piece, RATE, subtype="PCM_16")
    return paths


def cpu_seconds(check: str, paths: list[Path]) -> float:
    """Return the CPU seconds of one check alone over some clips, decoding left out."""
    screen = Screen.model_validate({check: {}})
    taken = 0.0
    for warm, path in [(True, paths[0]), *((False, path) for path in paths)]:
        clip, _ = decode(path.read_bytes(), path.name)
        begun = time.process_time()
        screen.measure(clip)
        taken += 0.0 if warm else time.process_time() - begun
    return taken


def rows(number: int) -> Iterator[list[str]]:
    """Yield the table."""
    checks = default_checks()
    check_models(sorted({name for check in checks for name in CHECKS[check].CUE.MODELS}))
    yield ["check", "CPU ms a clip of 10 s", "times real time on one core"]
    with tempfile.TemporaryDirectory() as folder:
        paths = write_clips(Path(folder), number)
        some = paths[::EVERY]
        with threadpool_limits(1):  # as in a worker
            costs = {check: cpu_seconds(check, some) / len(some) for check in checks}
        for check, seconds in sorted(costs.items(), key=lambda item: -item[1]):
            yield [f"`{check}`", f"{1000 * seconds:.1f}", f"{SECONDS / seconds:.0f}"]
        begun = time.monotonic()
        screened = screen_place(Path(folder), progress_for_terminal(), workers=WORKERS)
        wall = time.monotonic() - begun
    passed = sum(found is not None and found.worst() is None for found in screened.findings)
    skipped = sum(
        found is not None and any(item.outcome == "skipped" for item in found.findings) for found in screened.findings
    )
    speed = number * SECONDS / wall
    yield [
        f"**all, {number} clips on {WORKERS} cores** ({passed} used, {skipped} turned down before a model was asked)",
        f"{1000 * wall / number:.0f} (wall)",
        f"{speed:.0f} (both cores)",
    ]


if __name__ == "__main__":
    write_table("screening", list(rows(int(sys.argv[1]) if len(sys.argv) > 1 else CLIPS)))
