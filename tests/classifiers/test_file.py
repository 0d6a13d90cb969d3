"""Specification of the cue file."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from prep import audio
from prep.classifiers.file import File
from prep.clip import Clip
from prep.facts import AudioFacts

RATE = 16000


def told(container: str, subtype: str | None = None, *, tagged: bool = False) -> dict[str, float]:
    """Return the features of one second of noise in two channels, as a file."""
    noise = 0.1 * np.random.default_rng(1).standard_normal((RATE, 2))
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", RATE, 2, subtype=subtype, format=container) as sound:
        if tagged:
            sound.title = "a title"
        sound.write(noise)
    data = file.getvalue()
    _, facts = audio.decode(data, "clip")
    features = File().from_file(facts, len(data))
    assert list(features) == [feature.name for feature in File.FEATURES]
    return features


def test_pcm_has_its_rate_and_depth() -> None:
    """A WAV file of 24 bits at 16 kHz in two channels has 768 kb/s and a header, no tag."""
    features = told("WAV", "PCM_24")
    assert features["file_kbps"] == pytest.approx(768, abs=1)
    assert features["file_rate_hz"] == RATE
    assert features["file_bit_depth"] == 24
    assert features["file_channel_count"] == 2
    assert features["file_tag_count"] == 0


def test_containers_and_depths_differ() -> None:
    """FLAC and MP3 differ from WAV and from each other, and a lossy file has no depth."""
    wav, flac, mp3 = told("WAV", "PCM_16"), told("FLAC", "PCM_16"), told("MP3")
    assert len({features["file_container"] for features in (wav, flac, mp3)}) == 3
    assert mp3["file_bit_depth"] == 0


def test_tags_are_counted() -> None:
    """A file with a title has a tag."""
    assert told("FLAC", tagged=True)["file_tag_count"] >= 1


def test_a_clip_without_a_file_has_none() -> None:
    """A sound alone, and an unknown container without frames, give zeros where there is nothing to tell."""
    assert set(File().measure(Clip(np.zeros((1, 1)), RATE)).values()) == {0.0}
    facts = AudioFacts(container="XYZ", codec="XYZ", rate=RATE, channels=1, frames=0)
    assert File().from_file(facts, 100)["file_kbps"] == 0.0
    assert File().from_file(facts, 100)["file_container"] == 0.0
