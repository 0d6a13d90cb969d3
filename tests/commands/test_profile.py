"""prep profile: the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner, Result

from prep.__main__ import app

if TYPE_CHECKING:
    from pathlib import Path


def call(*words: object) -> Result:
    """Call prep as a shell would, in this process."""
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def sounds(tmp_path: Path) -> list[Path]:
    """Return two files of noise."""
    paths = [tmp_path / "a.wav", tmp_path / "b.wav"]
    for seed, path in enumerate(paths):
        soundfile.write(path, 0.1 * np.random.default_rng(seed).standard_normal(16000), 16000)
    return paths


def test_a_profile_and_its_picture_are_written(sounds: list[Path], tmp_path: Path) -> None:
    """The profile goes where it is asked for, its picture beside it, and stdout says so."""
    result = call("profile", *sounds, "-o", tmp_path / "made.json")

    assert result.exit_code == 0
    assert "made.json: the mean of 2 sounds" in result.stdout
    assert "made.svg" in result.stdout
    assert json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))["clips"] == 2
    assert (tmp_path / "made.svg").read_text(encoding="utf-8").startswith("<svg")


def test_json_prints_what_is_written(sounds: list[Path], tmp_path: Path) -> None:
    """With --json stdout is the stored profile and nothing else."""
    result = call("profile", *sounds, "-o", tmp_path / "made.json", "--json")

    assert json.loads(result.stdout) == json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))


def test_a_file_that_is_no_sound_is_named(sounds: list[Path], tmp_path: Path) -> None:
    """What cannot be measured is named on stderr, nothing is written, and the exit code is 3."""
    sounds[1].write_bytes(b"no sound")
    result = call("profile", *sounds, "-o", tmp_path / "made.json")

    assert result.exit_code == 3
    assert "b.wav" in result.stderr
    assert not (tmp_path / "made.json").exists()
