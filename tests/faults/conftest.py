"""What the tests of faults share: the inputs of each fault, a study around them, and the command line."""

from __future__ import annotations

import csv
import json
import runpy
import shutil
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import soundfile
import yaml
from typer.testing import CliRunner

from prep.__main__ import app

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

MAKE_CASES = Path(__file__).resolve().parents[2] / ".." / "shared" / "cases" / "make_cases.py"
SOUND_SUFFIXES = (".wav", ".mp3", ".flac")


def refuse_constant(word: str) -> None:
    """Refuse NaN and Infinity, which Python reads and no JSON standard knows."""
    raise ValueError(f"{word} is not JSON")


@dataclass(frozen=True)
class Ran:
    """What a command said and left."""

    exit_code: int
    stdout: str
    stderr: str
    out: Path

    @cached_property
    def json(self) -> Any:
        """What `--json` printed."""
        return json.loads(self.stdout, parse_constant=refuse_constant)

    @property
    def clips(self) -> dict[str, dict[str, Any]]:
        """The record's clips by file name."""
        return {clip["file_name"]: clip for clip in self.json["clips"]}

    def measures(self, file_name: str, of: str = "delivered") -> dict[str, float]:
        """Every figure of a clip's source, or of what was delivered of it, by name."""
        cues = self.clips[file_name][of]["cues"].values()
        return {name: value for cue in cues if "undefined" not in cue for name, value in cue.items()}

    def file(self, file_name: str) -> Path:
        """Where a clip was delivered to."""
        return self.out / str(self.clips[file_name]["delivered"]["file"])

    def sound(self, file_name: str) -> np.ndarray:
        """The delivered samples (frames, channels), read by libsndfile."""
        samples: np.ndarray = soundfile.read(self.file(file_name), always_2d=True)[0]
        return samples

    def table(self, name: str) -> list[dict[str, str]]:
        """The rows of a CSV file in the output folder."""
        with (self.out / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def call(*words: object, out: Path = Path("out")) -> Ran:
    """Call prep as a shell would, in this process."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr, out)


@dataclass(frozen=True)
class Case:
    """The inputs of one fault in a folder that the test may change, and the values expected of them."""

    folder: Path
    values: dict[str, Any]

    def table(self, rows: list[dict[str, Any]], name: str = "clips.csv") -> Path:
        """Write a clip table."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        return path

    def study(self, *chain: Any, name: str = "study.yaml", **settings: Any) -> Path:
        """Write a config of a chain beside the inputs; every sound file is a clip where `clips` is not given.

        Little is measured, because most faults need little.
        """
        if "clips" not in settings:
            files = sorted(path for path in self.folder.rglob("*") if path.suffix.lower() in SOUND_SUFFIXES)
            names = [path.relative_to(self.folder).as_posix() for path in files]
            self.table([{"file_name": name} for name in names if not name.startswith(("out", "."))])
            settings["clips"] = {"table": "clips.csv"}
        config = {
            "study": name.split(".", maxsplit=1)[0],
            "audit": {"cues": ["loudness"]},
            "chain": list(chain),
            **settings,
        }
        path = self.folder / name
        path.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
        return path

    def run(self, *chain: Any, **settings: Any) -> Ran:
        """Write a config and run it."""
        config = self.study(*chain, **settings)
        return call("run", config, "--json", out=self.folder / str(settings.get("output", "out")))


@pytest.fixture(scope="module")
def made_cases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the inputs of the faults that the test module names in FAULTS, or skip."""
    if not MAKE_CASES.is_file():
        pytest.skip("the folder shared/ with the made cases is not beside the project")
    folder = tmp_path_factory.mktemp("cases")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(MAKE_CASES), str(folder), "--only", *request.module.FAULTS])
        runpy.run_path(str(MAKE_CASES))["main"]()
    return folder


@pytest.fixture
def case(made_cases: Path, tmp_path: Path) -> Callable[[str], Case]:
    """Return the inputs of a fault by its number, copied for this test."""

    def copied(number: str) -> Case:
        expected = json.loads((made_cases / "expectations.json").read_text(encoding="utf-8"))
        folder = Path(shutil.copytree(made_cases / number, tmp_path / number))
        return Case(folder, expected[number]["values"])

    return copied


@pytest.fixture
def prep() -> Callable[..., Ran]:
    """Return the command line, called in this process."""
    return call
