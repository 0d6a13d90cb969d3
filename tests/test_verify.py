"""prep verify: what a run left is hashed and decoded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prep.errors import ConfigError
from prep.progress import Silent
from prep.run import run_study
from prep.verify import verify_output

MakeStudy = Any

pytestmark = pytest.mark.usefixtures("inline")


@pytest.fixture
def output(make_study: MakeStudy) -> Path:
    """Return the output folder of a finished run."""
    config = make_study(speakers=2, passages=1, chain=[{"shared_gain": {"target_lufs": -30}}, {"encode": {}}])
    run_study(config, Silent())
    return Path(config.parent / "out")


def test_a_finished_run_is_as_recorded(output: Path) -> None:
    """An untouched output folder verifies, by its path and by its config."""
    assert verify_output(output).exit_code == 0
    assert verify_output(output.parent / "study.yaml").exit_code == 0
    assert verify_output(output).clips == 4


def test_one_flipped_bit_is_found(output: Path) -> None:
    """A clip changed in place is named, and a further run writes it anew."""
    path = next((output / "audio").iterdir())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    done = verify_output(output)

    assert done.exit_code == 1
    assert path.name in str(done.problems[0])
    run_study(output.parent / "study.yaml", Silent())
    assert verify_output(output).exit_code == 0


@pytest.mark.parametrize("content", [b"", b"{}", b"[]"])
def test_a_record_that_is_none_is_found(output: Path, content: bytes) -> None:
    """An emptied or foreign run.json is named, in an older record too."""
    (output / "runs" / "0001" / "run.json").write_bytes(content)

    assert any("is not a record" in str(problem) for problem in verify_output(output).problems)


def test_loose_permissions_are_found(output: Path) -> None:
    """A secret or a key that others can read is named."""
    for name in ("secret", "key.csv"):
        (output / name).chmod(0o644)
    found = "\n".join(str(problem) for problem in verify_output(output).problems)

    assert "secret: can be read by others" in found
    assert "key.csv: can be read by others" in found


@pytest.mark.parametrize(
    "name", ["manifest.csv", "key.csv", "report.md", "runs/0001/manifest.csv", "runs/0001/report.md"]
)
def test_a_changed_record_is_found(output: Path, name: str) -> None:
    """A record file that is not what was written is named."""
    path = output / name
    path.write_bytes(path.read_bytes() + b"x")

    assert any(name.rsplit("/", maxsplit=1)[-1] in str(problem) for problem in verify_output(output).problems)


def test_missing_and_foreign_clips_are_found(output: Path) -> None:
    """A clip that is gone, and a file that no run wrote, are named."""
    path = next((output / "audio").iterdir())
    path.rename(path.with_name("intruder.flac"))
    found = "\n".join(str(problem) for problem in verify_output(output).problems)

    assert path.name in found
    assert "intruder.flac" in found


def test_there_must_be_a_run(tmp_path: Path) -> None:
    """A folder without a run is a usage problem, not a clean bill."""
    with pytest.raises(ConfigError, match="holds no run"):
        verify_output(tmp_path)
