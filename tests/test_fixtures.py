"""The demonstration study that fixtures/make.py makes from nothing."""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import soundfile

from prep.clip import Clip
from prep.folder import read_folder
from prep.level import integrated_lufs, true_peak_dbtp
from prep.rows import check_rows
from prep.spectrum import tilt_db_per_octave
from prep.table import Reading, read_table

if TYPE_CHECKING:
    from types import ModuleType

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"

CHAIN_TILT_DB_PER_OCTAVE = 1.5  # as designed; README.md and make.py say so
TILT_TOLERANCE_DB_PER_OCTAVE = 0.4  # six speakers a side, whose formants and chains differ by about 0.3
LOUDNESS_RANGE_LUFS = (-32.0, -20.0)  # as designed
HIGHEST_PEAK_DBTP = -3.0  # a shared gain up to -26 LUFS must fit under -1 dBTP
DURATION_RANGE_SECONDS = (1.5, 2.5)  # as designed
MOST_BYTES = 10_000_000  # as designed


def load_make() -> ModuleType:
    """Import fixtures/make.py."""
    spec = importlib.util.spec_from_file_location("make", FIXTURES / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the study with the command that `make run` uses."""
    folder = tmp_path_factory.mktemp("study")
    subprocess.run([sys.executable, str(FIXTURES / "make.py"), "--out", str(folder)], check=True, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def reading(study: Path) -> Reading:
    """Read its table."""
    return check_rows(read_table(study / "clips.csv"), ["condition", "speaker", "passage", "text"])


@pytest.fixture(scope="module")
def measured(reading: Reading) -> list[dict[str, Any]]:
    """Measure its clips."""
    found = []
    for row in reading.rows:
        samples, rate = soundfile.read(row.path, dtype="float32", always_2d=True)
        clip = Clip(samples, rate, row.file_name)
        found.append(
            {
                **row.columns,
                "rate": rate,
                "subtype": soundfile.info(row.path).subtype,
                "tilt": tilt_db_per_octave(clip),
                "lufs": integrated_lufs(clip),
                "dbtp": true_peak_dbtp(clip),
                "seconds": clip.seconds,
            }
        )
    return found


def test_making_twice_gives_the_same_bytes(study: Path, tmp_path: Path) -> None:
    """The study is the same, byte for byte, on every run."""
    load_make().make_study(tmp_path)
    files = {path.relative_to(study) for path in study.rglob("*") if path.is_file()}
    assert files == {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert all((study / name).read_bytes() == (tmp_path / name).read_bytes() for name in files)
    assert sum((study / name).stat().st_size for name in files) < MOST_BYTES


def test_the_table_kept_beside_the_script_is_the_one_it_writes(study: Path) -> None:
    """The table under version control is the table of the clips that are made."""
    assert (FIXTURES / "clips.csv").read_bytes() == (study / "clips.csv").read_bytes()


def test_table_and_files_agree(study: Path, reading: Reading) -> None:
    """The table has no problem, lists every clip, and says what the folders and names say."""
    assert not reading.problems
    assert not reading.notices
    folder = read_folder(study, "clips/{condition}/{speaker}_{passage}.{_}")
    assert not folder.problems
    names = ("file_name", "condition", "speaker", "passage")
    by_name = sorted(tuple(row.columns[name] for name in names) for row in reading.rows)
    assert by_name == sorted(tuple(row.columns[name] for name in names) for row in folder.rows)


def test_design_is_balanced(measured: list[dict[str, Any]]) -> None:
    """Each condition has the same number of speakers, passages, rates and formats; all clips are 16-bit stimuli."""
    sides = {}
    for condition in ("human", "synthetic"):
        clips = [clip for clip in measured if clip["condition"] == condition]
        kinds = sorted((clip["passage"], clip["rate"], Path(clip["file_name"]).suffix) for clip in clips)
        sides[condition] = (len({clip["speaker"] for clip in clips}), kinds)
    assert sides["human"] == sides["synthetic"]
    assert sides["human"][0] == 8
    assert len(measured) == 64
    assert {clip["rate"] for clip in measured} == {22050, 24000}
    assert {Path(clip["file_name"]).suffix for clip in measured} == {".wav", ".flac"}
    assert {(clip["role"], clip["subtype"]) for clip in measured} == {("stimulus", "PCM_16")}


def test_tilt_tells_the_conditions_apart_as_designed(measured: list[dict[str, Any]]) -> None:
    """The human side is duller by 1.5 dB/octave, so that tilt alone tells the conditions apart."""
    human, synthetic = (
        [clip["tilt"] for clip in measured if clip["condition"] == condition] for condition in ("human", "synthetic")
    )
    shift = statistics.median(synthetic) - statistics.median(human)
    assert shift == pytest.approx(CHAIN_TILT_DB_PER_OCTAVE, abs=TILT_TOLERANCE_DB_PER_OCTAVE)
    auc = statistics.mean(float(s > h) for s in synthetic for h in human)
    assert auc > 0.95


def test_levels_and_lengths_lie_in_the_designed_ranges(measured: list[dict[str, Any]]) -> None:
    """Clips are 1.5 to 2.5 s long and between -32 and -20 LUFS, with room under full scale."""
    low, high = LOUDNESS_RANGE_LUFS
    assert all(low <= clip["lufs"] <= high for clip in measured)
    assert max(clip["lufs"] for clip in measured) - min(clip["lufs"] for clip in measured) > 5
    assert all(clip["dbtp"] < HIGHEST_PEAK_DBTP for clip in measured)
    shortest, longest = DURATION_RANGE_SECONDS
    assert all(shortest <= clip["seconds"] <= longest for clip in measured)


def test_voices_say_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without espeak-ng and flite, --voices stops and says exactly what to install."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SystemExit, match="apt-get install espeak-ng flite"):
        load_make().make_voices(tmp_path / "voices")
    assert not (tmp_path / "voices").exists()


@pytest.mark.skipif(
    not (shutil.which("espeak-ng") and shutil.which("flite")), reason="needs espeak-ng and flite, which are optional"
)
def test_voices_are_an_audiofolder(tmp_path: Path) -> None:
    """With espeak-ng and flite, --voices makes a folder whose metadata.csv lists every clip."""
    load_make().make_voices(tmp_path)
    reading = check_rows(read_table(tmp_path), ["condition", "speaker", "passage"])
    assert not reading.problems
    assert not reading.notices
    assert len(reading.rows) == 24
