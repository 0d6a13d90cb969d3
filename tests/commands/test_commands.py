"""The command line: results on stdout, words on stderr, and an exit code that a script can trust."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

import prep
from prep.__main__ import app
from prep.classifiers import cue_classes
from prep.commands import COMMANDS

MakeStudy = Any
FULL = Path("/dev/full")
HEAVY = ("numpy", "scipy", "sklearn", "soundfile", "pydub", "yaml", "rich", "prep.study", "prep.stages")


def call(*words: object) -> Result:
    """Call prep as a shell would, in this process."""
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_version_is_told() -> None:
    """--version names the distribution and its version, and does nothing else."""
    result = call("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("prep (listening-prep) ")


@pytest.mark.usefixtures("inline")
def test_run_prints_its_record(make_study: MakeStudy) -> None:
    """`run --json` prints the record on stdout and nothing else there; exit code 0."""
    result = call("run", make_study(), "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["counts"] == {"delivered": 16}


@pytest.mark.usefixtures("inline")
def test_run_says_where_the_report_is(make_study: MakeStudy) -> None:
    """Without --json a run prints five lines: among them the worst cue with its verdict, and where the report is."""
    config = make_study()
    result = call("run", config)

    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 5
    assert "report.html" in result.stdout
    assert "worst remaining cue: " in result.stdout
    assert "settled" in result.stdout
    assert "inspect: 16 of 16 clips" in result.stderr


@pytest.mark.usefixtures("inline")
def test_a_failed_clip_shows_in_the_exit_code(make_study: MakeStudy) -> None:
    """A run that sets a clip aside names it on stdout and exits with 1."""
    config = make_study()
    (config.parent / "wav" / "h0_0.wav").write_bytes(b"")
    result = call("run", config)

    assert result.exit_code == 1
    assert "wav/h0_0.wav" in result.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run", "none.yaml"), 3, "none.yaml: No such file"),
        (("stages", "tilt"), 3, "did you mean tilt_eq"),
        (("run",), 2, "Missing argument"),
        (("rum",), 2, "No such command"),
        (("verify", "."), 3, "holds no run"),
        (("measure", "none.wav"), 4, ""),
    ],
)
def test_what_is_wrong_is_said_with_its_exit_code(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Usage is 2, config and table 3, nothing usable 4; the message is on stderr."""
    monkeypatch.chdir(tmp_path)
    result = call(*words)

    assert result.exit_code == code
    assert said in result.stderr


@pytest.mark.usefixtures("inline")
def test_a_refusal_is_one_line_and_exit_code_3(make_study: MakeStudy) -> None:
    """A promise that the clips cannot keep is told without a traceback."""
    result = call("run", make_study(chain=[{"shared_gain": {"target_lufs": -3}}, {"encode": {}}]))

    assert result.exit_code == 3
    assert "set target_lufs to" in result.stderr
    assert "Traceback" not in result.stderr


def test_all_config_problems_are_lines(make_study: MakeStudy) -> None:
    """Each problem is a line of its own with file and line number."""
    config = make_study()
    values = yaml.safe_load(config.read_text())
    config.write_text(yaml.safe_dump({**values, "outptu": 1, "tilt_band": 2}, sort_keys=False))
    lines = call("check", config).stderr.splitlines()

    assert len([line for line in lines if line.startswith("error: ") and "study.yaml:" in line]) == 2


def test_check_prints_the_plan(make_study: MakeStudy) -> None:
    """`check` prints clips a condition and the steps, as tables or as JSON."""
    config = make_study()

    assert json.loads(call("check", config, "--json").stdout)["clips_by_condition"] == {"human": 8, "synthetic": 8}
    assert "shared_gain" in call("check", config).stdout


def test_measure_prints_every_measure(make_study: MakeStudy) -> None:
    """`measure` prints facts and measures of each file; a bad file among them is named and gives exit code 1."""
    wav = make_study().parent / "wav"
    (wav / "bad.wav").write_bytes(b"x")
    result = call("measure", wav / "h0_0.wav", wav / "bad.wav", "--json")
    good, bad = json.loads(result.stdout)

    assert result.exit_code == 1
    assert {"integrated_lufs", "true_peak_dbtp", "tilt_db_per_octave", "duration_seconds"} <= set(good["measures"])
    assert good["facts"]["rate"] == 16000
    assert "bad.wav" in bad["error"]
    assert "tilt_db_per_octave" in call("measure", wav / "h0_0.wav").stdout


@pytest.mark.usefixtures("inline")
def test_audit_prints_the_proof(make_study: MakeStudy) -> None:
    """`audit` prints the columns of every cue and writes no output folder."""
    config = make_study()
    result = call("audit", config, "--json")

    assert result.exit_code == 0
    assert set(json.loads(result.stdout)["audit"]["cues"]) == {
        "all",
        *(name for name, cue in cue_classes().items() if cue.BATTERY and not cue.MODELS),
    }
    assert "tilt" in call("audit", config).stdout
    assert not (config.parent / "out").exists()


@pytest.mark.usefixtures("inline")
def test_a_broken_limit_fails_the_build(make_study: MakeStudy) -> None:
    """A broken limit, of the command line or of the config, is named and gives exit code 1; one that holds gives 0."""
    config = make_study()
    broken = call("audit", config, "--fail-if", "tilt.after.separation>0.15")
    holds = call("audit", config, "--fail-if", "tilt.delivered.separation>0.49")
    values = yaml.safe_load(config.read_text())
    config.write_text(yaml.safe_dump({**values, "audit": {"fail_if": ["tilt.before.separation>0.1"]}}))
    by_config = call("run", config)

    assert broken.exit_code == 1
    assert "limit tilt.after.separation>0.15: broken" in broken.stdout
    assert holds.exit_code == 0
    assert by_config.exit_code == 1
    assert "**broken**" in (config.parent / "out" / "report.md").read_text()
    assert call("audit", config, "--fail-if", "tilt.after>1").exit_code == 3


@pytest.mark.usefixtures("inline")
def test_verify_prints_what_is_wrong(make_study: MakeStudy) -> None:
    """`verify` exits with 0 on a whole output and names what is not as recorded."""
    config = make_study()
    call("run", config)
    assert call("verify", config).exit_code == 0
    (config.parent / "out" / "key.csv").write_text("")
    result = call("verify", config.parent / "out", "--json")

    assert result.exit_code == 1
    assert "key.csv" in json.loads(result.stdout)["problems"][0]["where"]


@pytest.mark.usefixtures("inline")
def test_lint_prints_every_leak(make_study: MakeStudy) -> None:
    """`lint` exits with 0 on what a run delivers, and names each leak of a folder and exits with 1."""
    config = make_study(speakers=2, chain=[{"encode": {}}])
    call("run", config)
    assert call("lint", config.parent / "out").exit_code == 0
    words = ("lint", config.parent / "wav", "--table", config.parent / "clips.csv")
    result = call(*words)

    assert result.exit_code == 1
    assert "only names of 'human'" in result.stdout
    assert len(json.loads(call(*words, "--json").stdout)["leaks"]) == result.stdout.count("leak: ")
    assert call("lint", config.parent / "wav").exit_code == 3


def test_schema_and_stages_are_for_machines_too() -> None:
    """`schema` prints JSON Schema, and `stages --json` every step with its parameters."""
    assert json.loads(call("schema").stdout)["$schema"].startswith("https://json-schema.org/")
    stages = json.loads(call("stages", "--json").stdout)
    assert {"encode", "shared_gain", "tilt_eq", "clip_loudness"} <= {stage["name"] for stage in stages}
    assert "dB/octave" in call("stages", "tilt_eq").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    """`-h` describes the command and gives an example."""
    result = call(name, "-h")

    assert result.exit_code == 0
    assert f"Example: prep {name}" in result.stdout


def test_help_loads_nothing_heavy() -> None:
    """`prep --help` imports no numerical, audio or config library."""
    script = (
        "import sys; from prep.__main__ import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\nprint(list(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    loaded = set(out.splitlines()[-1].strip("[]").replace("'", "").split(", "))

    assert "prep" in loaded
    assert not loaded & set(HEAVY)


def test_a_pipe_gets_plain_text(make_study: MakeStudy) -> None:
    """Without a terminal the output has no control codes, and names that the encoding cannot hold are escaped."""
    config = make_study(speakers=2, passages=1, chain=[{"encode": {}}])
    wav = config.parent / "wav" / "h0_0.wav"
    wav.rename(wav.with_name("шум☃.wav"))
    table = config.parent / "clips.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("h0_0.wav", "шум☃.wav"), encoding="utf-8")
    wav.with_name("шум☃.wav").write_bytes(b"not sound")
    done = subprocess.run(
        [sys.executable, "-m", "prep", "run", str(config), "--workers", "1"],
        capture_output=True,
        check=False,
        env={
            "PYTHONIOENCODING": "cp1252",
            "PATH": "",
            "HOME": str(config.parent),
            "PYTHONPATH": prep.__path__[0] + "/..",
        },
    )

    assert done.returncode == 1
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"\\u2603" in done.stdout


@pytest.mark.skipif(not FULL.exists(), reason="this system has no disk that is always full")
def test_words_that_cannot_be_written_are_one_line() -> None:
    """A full disk under stdout is one line on stderr and exit code 1; a closed pipe is no line at all."""
    command = [sys.executable, "-m", "prep", "--help"]
    with FULL.open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    told = done.stderr.decode()
    assert (done.returncode, told) == (1, "error: cannot write: No space left on device; make room, and run again\n")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")
