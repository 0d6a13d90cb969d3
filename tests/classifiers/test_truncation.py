"""Specification of the cue truncation, on made sounds and on real readings cut in the middle of words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from prep.audio import decode
from prep.classifiers.truncation import Truncation
from prep.clip import Clip
from prep.errors import ClipError
from prep.pauses import parts

if TYPE_CHECKING:
    from pathlib import Path

RATE = 22050
HEAD_LIMIT, TAIL_LIMIT = Truncation.LIMITS["max_head_cut_db"], Truncation.LIMITS["max_tail_cut_db"]
# Readers that the limits were not chosen on.
READERS = ("speech_real/vctk_16k", "speech_real/ljspeech", "speech_real/cmu_arctic", "speech_real/asterisk_en")
FALSE_ALARMS = 0.05  # of whole clips
FOUND = 0.9  # of clips cut where the voice is loud
ROOM_SECONDS = 0.01  # that a tight trim leaves
LOUD_DB = 10.0  # a place is loud that lies at most so far under the active level


def voice(seconds: float, rise_seconds: float, fall_seconds: float) -> np.ndarray:
    """Return a buzz of 120 Hz that rises and falls in given times, with 10 ms of room around it."""
    time = np.arange(round(seconds * RATE)) / RATE
    buzz = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20))
    envelope = np.minimum(1.0, np.minimum((time + 1e-9) / rise_seconds, (seconds - time) / fall_seconds))
    room = np.zeros(round(ROOM_SECONDS * RATE))
    sound = np.concatenate([room, 0.1 * buzz * np.clip(envelope, 0, 1), room])
    return sound + 1e-4 * np.random.default_rng(1).standard_normal(len(sound))


def cuts(sound: np.ndarray) -> tuple[float, float]:
    """Return the level at the start and at the end, dB."""
    values = Truncation().measure(Clip(sound[:, np.newaxis], RATE))
    return values["head_cut_db"], values["tail_cut_db"]


def test_whole_sounds_rise_and_fall() -> None:
    """A voice that rises in 50 ms and dies away in 100 ms is whole, with silence around it or trimmed to it."""
    whole = voice(1.0, 0.05, 0.1)
    padded = np.concatenate([np.zeros(RATE // 5), whole, np.zeros(RATE // 5)])
    for sound in (whole, padded):
        head, tail = cuts(sound)
        assert head < HEAD_LIMIT
        assert tail < TAIL_LIMIT


def test_each_end_is_told() -> None:
    """The same voice without its first or its last quarter is cut at that end and whole at the other."""
    whole = voice(1.0, 0.05, 0.1)
    head, tail = cuts(whole[RATE // 4 :])
    assert head > HEAD_LIMIT
    assert tail < TAIL_LIMIT
    head, tail = cuts(whole[: -RATE // 4])
    assert head < HEAD_LIMIT
    assert tail > TAIL_LIMIT


def test_a_click_at_the_edge_is_no_word() -> None:
    """A click of 5 ms before silence leaves a clip whole."""
    whole = np.concatenate([np.zeros(RATE // 10), voice(1.0, 0.05, 0.1)])
    whole[: RATE // 200] = 0.3 * np.random.default_rng(2).standard_normal(RATE // 200)
    assert cuts(whole)[0] < HEAD_LIMIT


def test_silence_is_refused() -> None:
    """A silent clip has no word to cut."""
    with pytest.raises(ClipError):
        cuts(np.zeros(RATE))


def test_real_readings(shared: Path) -> None:
    """Readings of other readers pass in 95 %; cut where the voice is loud, they are found in 90 % at either end."""
    whole, heads, tails = [], [], []
    for path in sorted(path for folder in READERS for path in (shared / "data" / folder).iterdir()):
        clip, _ = decode(path.read_bytes(), path.name)
        whole.append(cuts_of(clip))
        found = parts(clip)
        loud = np.flatnonzero(found.frame_power >= found.active * 10 ** (-LOUD_DB / 10))
        for block in loud[np.rint(np.linspace(0.1, 0.9, 5) * len(loud)).astype(int)]:
            frame = round(float(found.starts_seconds[block + 2]) * clip.rate)
            if min(frame, clip.frames - frame) > 0.3 * clip.rate:
                heads.append(cuts_of(clip.with_samples(clip.samples[frame:]))[0] > HEAD_LIMIT)
                tails.append(cuts_of(clip.with_samples(clip.samples[:frame]))[1] > TAIL_LIMIT)
    failed = [head > HEAD_LIMIT or tail > TAIL_LIMIT for head, tail in whole]
    assert sum(failed) <= FALSE_ALARMS * len(failed)
    assert np.mean(heads) >= FOUND
    assert np.mean(tails) >= FOUND


def cuts_of(clip: Clip) -> tuple[float, float]:
    """Return the level at the start and at the end of a clip, dB."""
    values = Truncation().measure(clip)
    return values["head_cut_db"], values["tail_cut_db"]
