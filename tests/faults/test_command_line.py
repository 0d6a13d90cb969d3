"""Faults of config, table and terminal: keys, home folders, relative paths, equal stems, odd names, disagreement."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile

from prep.store import digest

if TYPE_CHECKING:
    from pathlib import Path

Case = Any
Prep = Any

FAULTS = ("H45", "H46", "H47", "H48", "H49", "H50", "H51")
HEAD = "study: s\nclips: {folder: ., pattern: '{take}.wav'}\naudit: {cues: [loudness]}\n"
FLAC = {"encode": {"codec": "flac", "rate": 24000}}
LINES_A_CLIP = 3  # of a log without a terminal
RESULT_LINES = 5  # what a run came to, however many clips it had

pytestmark = pytest.mark.usefixtures("inline")


@pytest.mark.parametrize(
    ("name", "chain", "said"),
    [
        ("typo", "chain:\n- clip_loudness:\n    target_luf: -16\n- encode\n", (6, "did you mean target_lufs?")),
        (
            "wrong_level",
            "target_lufs: -16\nchain:\n- clip_loudness: {}\n- encode\n",
            (4, "it is a setting of clip_loudness or shared_gain"),
        ),
        (
            "twice",
            "chain:\n- clip_loudness:\n    target_lufs: -16\n    target_lufs: -23\n- encode\n",
            (7, "given twice (first on line 6)"),
        ),
    ],
)
def test_h45_a_wrong_key_is_named_before_any_work(
    case: Case, prep: Prep, name: str, chain: str, said: tuple[int, str]
) -> None:
    """H45: an unknown, misplaced or repeated key gives exit code 3 with its line and the right key, before any work."""
    faulty = case("H45")
    config = faulty.folder / f"{name}.yaml"
    config.write_text(HEAD + chain, encoding="utf-8")
    before = sorted(path.name for path in faulty.folder.iterdir())
    for command in ("check", "run", "audit"):
        ran = prep(command, config)
        (error,) = ran.stderr.splitlines()
        assert ran.exit_code == 3
        assert error.startswith(f"error: {config}:{said[0]}: ")
        assert re.search(rf"\b{faulty.values['bad_keys'][name]}\b", error)
        assert said[1] in error
    assert sorted(path.name for path in faulty.folder.iterdir()) == before


@pytest.mark.parametrize("output", ["~/faults_out", "$STUDIES/faults_out", "${STUDIES}/faults_out"])
def test_h46_home_and_variables_are_filled_in(
    case: Case, prep: Prep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    """H46: a ~ or an environment variable in a path of the config stands for its folder, never for one of that name."""
    faulty = case("H46")
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    for name in ("HOME", "STUDIES"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.chdir(work)
    config = faulty.study(FLAC, output=output, cache=output.replace("faults_out", "cache"))
    ran = prep("run", config, "--json", out=home / "faults_out")

    assert ran.exit_code == 0
    assert ran.file("clip.wav").is_file()
    assert (home / "cache").is_dir()
    assert list(work.iterdir()) == []
    assert not list(tmp_path.rglob("~*")) + list(tmp_path.rglob("$*"))


@pytest.mark.parametrize("output", ["$NOT_SET_ANYWHERE/out", "${NOT_SET_ANYWHERE}", "~nobody-of-this-name/out"])
def test_h46_what_cannot_be_filled_in_is_refused(case: Case, prep: Prep, output: str) -> None:
    """H46: a variable that is not set, or the home of nobody, is a config error and makes no folder."""
    faulty = case("H46")
    before = set(faulty.folder.iterdir())
    ran = prep("run", faulty.study(FLAC, output=output))

    assert ran.exit_code == 3
    assert "output: " in ran.stderr
    assert "write the path in full" in ran.stderr
    assert {path.name for path in set(faulty.folder.iterdir()) - before} == {"study.yaml", "clips.csv"}


def test_h47_paths_are_relative_to_the_file_they_stand_in(
    case: Case, prep: Prep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H47: paths of a table are relative to the table and those of a config to the config, from any working folder."""
    faulty = case("H47")
    config = faulty.folder / "study" / "settings.yaml"
    text = "study: s\nclips: {table: ./lists/clips.csv, columns: {file_name: file}}\naudit: {cues: [loudness]}\n"
    config.write_text(text + "chain: [encode]\noutput: out\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ran = prep("run", config.relative_to(tmp_path), "--json", out=faulty.folder / faulty.values["output_folder"])

    assert ran.exit_code == 0
    assert len(ran.table("manifest.csv")) == faulty.values["clips"]
    assert {row["condition"] for row in ran.table("key.csv")} == {"human", "synthetic"}
    assert {path.name for path in tmp_path.iterdir()} == {"H47"}
    assert {path.name for path in config.parent.iterdir()} == {".prep-cache", "audio", "lists", "out", "settings.yaml"}


def test_h47_two_spellings_are_one_clip_and_no_clip_is_an_error(case: Case, prep: Prep) -> None:
    """H47: one file under two spellings is told as a repetition, and a table or folder without clips as an error."""
    faulty = case("H47")
    names = ["../audio/a.wav", "./../audio/./a.wav", "../lists/../audio/a.wav"]
    faulty.table([{"file_name": name} for name in names], "study/lists/clips.csv")
    repeated = prep("check", faulty.study(FLAC, clips={"table": "study/lists/clips.csv"}))
    (faulty.folder / "empty.csv").write_text("file_name\n", encoding="utf-8")
    no_row = prep("run", faulty.study(FLAC, clips={"table": "empty.csv"}))
    no_file = prep("run", faulty.study(FLAC, clips={"folder": "study/lists", "pattern": "{take}.wav"}))

    assert (repeated.exit_code, no_row.exit_code, no_file.exit_code) == (3, 3, 3)
    assert repeated.stderr.count("is listed already at clips.csv:2") == 2
    assert "the table is empty" in no_row.stderr
    assert "no file matches" in no_file.stderr
    assert not (faulty.folder / "out").exists()


def test_h48_equal_stems_do_not_meet(case: Case) -> None:
    """H48: three files of one stem in other folders and formats give three outputs, and the sources stay."""
    faulty = case("H48")
    ran = faulty.run(FLAC)
    rows = ran.table("manifest.csv")

    assert ran.exit_code == 0
    assert len({row["file"] for row in rows}) == len({row["id"] for row in rows}) == faulty.values["outputs"]
    assert len(list((ran.out / "audio").iterdir())) == faulty.values["outputs"]
    for name, sha256 in faulty.values["sources_sha256"].items():
        assert digest((faulty.folder / name).read_bytes()) == sha256
        source = soundfile.read(faulty.folder / name)[0]
        assert np.array_equal(ran.sound(name)[:, 0], source)


@pytest.mark.parametrize("output", [".", "a", "b", ".."])
def test_h48_outputs_are_never_written_among_the_sources(case: Case, prep: Prep, output: str) -> None:
    """H48: an output folder that holds a source is refused before any work, and nothing is written there."""
    faulty = case("H48")
    config = faulty.study(FLAC, output=output)
    before = {path: path.stat().st_mtime_ns for path in faulty.folder.rglob("*")}
    ran = prep("run", config)

    assert ran.exit_code == 3
    assert "lie in the output folder" in ran.stderr
    assert {path: path.stat().st_mtime_ns for path in faulty.folder.rglob("*")} == before
    assert {path.name for path in faulty.folder.parent.iterdir()} == {"H48"}


@pytest.mark.parametrize("pattern", ["{folder}/{take}.wav", "{take}.wav"])
def test_h48_a_run_does_not_take_its_own_output_for_sources(case: Case, prep: Prep, pattern: str) -> None:
    """H48: where the output lies below the folder of clips, a second run finds the same clips and changes no byte."""
    faulty = case("H48")
    (faulty.folder / "a" / "take1.wav").rename(faulty.folder / "take2.wav")
    clips = {"folder": ".", "pattern": pattern}
    config = faulty.study({"encode": {"codec": "wav"}}, clips=clips, output="out", cache="cache")
    first, second = prep("run", config, "--json"), prep("run", config, "--json")

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert first.json["clips"] == second.json["clips"]
    assert first.json["notices"] == second.json["notices"]
    assert "out/" not in second.stderr
    assert [path.name for path in (faulty.folder / "out" / "runs").iterdir()] == ["0001"]


def test_h49_names_in_any_script_are_found(case: Case) -> None:
    """H49: decomposed, CJK, symbol and padded names are found and shown as given; outputs are named by hashes."""
    faulty = case("H49")
    ran = faulty.run(FLAC, clips={"table": "clips.csv", "columns": {"file_name": "file"}})
    on_disk = {path.name for path in faulty.folder.glob("*.wav")}
    names = set(ran.clips)

    assert ran.exit_code == 0
    assert len(ran.table("manifest.csv")) == len(names) == faulty.values["clips"]
    assert names != on_disk
    assert {unicodedata.normalize("NFD", name) for name in names} == on_disk
    assert {row["file_name"] for row in ran.table("key.csv")} == names
    for row in ran.table("manifest.csv"):
        assert re.fullmatch(r"audio/[0-9a-f]{64}\.flac", row["file"])


def test_h49_failures_show_names_as_given(case: Case, prep: Prep) -> None:
    """H49: where a clip fails, the report and the command line name it as the table does."""
    faulty = case("H49")
    for path in faulty.folder.glob("*.wav"):
        if "caf" in path.name:
            path.write_bytes(b"")
    config = faulty.study(FLAC, clips={"table": "clips.csv", "columns": {"file_name": "file"}})
    ran = prep("run", config, out=faulty.folder / "out")
    name = unicodedata.normalize("NFC", "Zoë café 01.wav")

    assert ran.exit_code == 1
    assert name in ran.stdout
    assert name in (ran.out / "report.md").read_text(encoding="utf-8")


def test_h50_table_and_folder_that_disagree_are_told_apart(case: Case, prep: Prep) -> None:
    """H50: missing, unlisted and repeated names are each listed before any work, with exit code 3."""
    faulty = case("H50")
    config = faulty.study(FLAC, clips={"table": "clips.csv", "columns": {"file_name": "file"}})
    for command in ("check", "run"):
        ran = prep(command, config)
        assert ran.exit_code == 3
        for kind, said in (
            ("missing", "does not exist"),
            ("repeated", "is listed already"),
            ("unlisted", "not in the"),
        ):
            for name in faulty.values[kind]:
                assert any(name in line and said in line for line in ran.stderr.splitlines()), (kind, name)
        assert len(ran.stderr.splitlines()) == 3
    assert not (faulty.folder / "out").exists()
    assert not (faulty.folder / ".prep-cache").exists()


def test_h50_a_file_left_out_alone_is_a_note(case: Case) -> None:
    """H50: a sound file that no row names does not stop a run, which says that it is left out."""
    faulty = case("H50")
    faulty.table([{"file_name": "one.wav"}, {"file_name": "two.wav"}])
    ran = faulty.run(FLAC, clips={"table": "clips.csv"})

    assert ran.exit_code == 0
    assert len(ran.table("manifest.csv")) == 2
    assert "note: unlisted.wav: is not in the table; it is left out" in ran.stderr
    assert any(notice.startswith("unlisted.wav") for notice in ran.json["notices"])


def script(config: Path, encoding: str) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of a run of its own, in which Python speaks an encoding."""
    secret = config.parent / "secret"
    secret.write_bytes(b"0123456789abcdef")
    command = [sys.executable, "-m", "prep", "run", str(config), "--workers", "1", "--secret", str(secret)]
    return command, {**os.environ, "PYTHONIOENCODING": encoding, "TERM": "xterm"}


def left_in(folder: Path) -> dict[str, bytes]:
    """Return the files for listeners and the key."""
    return {path.name: path.read_bytes() for pattern in ("audio/*", "*.csv") for path in folder.glob(pattern)}


def test_h51_a_log_is_plain_lines_in_any_encoding(case: Case, prep: Prep) -> None:
    """H51: written to files in cp1252, a run says plain lines without control codes and leaves the same files."""
    faulty = case("H51")
    odd = next(path for path in faulty.folder.glob("*.wav") if path.name != "plain.wav")
    (faulty.folder / "copy \x1b[31m.wav").write_bytes(odd.read_bytes())
    clips = {"folder": ".", "pattern": "{take}.wav"}
    command, environment = script(faulty.study(FLAC, clips=clips), faulty.values["environment"]["PYTHONIOENCODING"])
    said = {}
    with (faulty.folder / "stdout").open("w+b") as out, (faulty.folder / "stderr").open("w+b") as err:
        code = subprocess.run(command, stdout=out, stderr=err, env=environment, check=False).returncode
        for name, stream in (("stdout", out), ("stderr", err)):
            stream.seek(0)
            said[name] = stream.read().decode("cp1252")
    logged = left_in(faulty.folder / "out")
    elsewhere = faulty.study(FLAC, clips=clips, output="elsewhere")
    assert prep("run", elsewhere, "--secret", faulty.folder / "secret").exit_code == 0

    assert code == faulty.values["exit_code"]
    assert all(sign.isprintable() or sign == "\n" for text in said.values() for sign in text)
    assert len(said["stdout"].splitlines() + said["stderr"].splitlines()) <= LINES_A_CLIP * 3 + RESULT_LINES
    assert "\\u2588 \\u280b \\u0142.wav" in said["stderr"]
    assert "copy \\x1b[31m.wav" in said["stderr"]
    assert logged == left_in(faulty.folder / "elsewhere")


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no pseudo-terminals")
def test_h51_a_terminal_of_another_encoding_gets_the_same(case: Case, prep: Prep) -> None:
    """H51: on a terminal of cp1252 the bar and the names can be drawn, and the run leaves the same as elsewhere."""
    import pty

    faulty = case("H51")
    odd = next(path for path in faulty.folder.glob("*.wav") if path.name != "plain.wav")
    (faulty.folder / "copy \x1b]0;title\x07.wav").write_bytes(odd.read_bytes())
    clips = {"folder": ".", "pattern": "{take}.wav"}
    command, environment = script(faulty.study(FLAC, clips=clips), "cp1252")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    while chunk := read_or_end(ours):
        said += chunk
    os.close(ours)
    code = process.wait()
    on_terminal = left_in(faulty.folder / "out")
    prep("run", faulty.study(FLAC, clips=clips, output="elsewhere"), "--secret", faulty.folder / "secret")

    assert code == 0
    assert b"3/3" in said
    assert b"\\u2588" in said
    assert b"\x1b]0;" not in said
    assert on_terminal == left_in(faulty.folder / "elsewhere")


def read_or_end(handle: int) -> bytes:
    """Return what a terminal was sent; nothing where its other side is closed."""
    try:
        return os.read(handle, 65536)
    except OSError:
        return b""


def test_h51_json_is_json_in_any_encoding(case: Case) -> None:
    """H51: what --json prints is JSON whatever the encoding of the pipe, with every sign of a name."""
    name = "é \u2588 🙂 \x9b"
    config = case("H51").study(FLAC, study=name)
    command = [sys.executable, "-m", "prep", "check", str(config), "--json"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)

    assert json.loads(done.stdout.decode("ascii"))["study"] == name
