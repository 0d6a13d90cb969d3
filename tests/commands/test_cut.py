"""prep cut: takes to a folder of clips, with a table that a study reads and a page to look through."""

from __future__ import annotations

import csv
import errno
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
import soundfile
import yaml
from typer.testing import CliRunner, Result

from prep.__main__ import app
from prep.rows import check_rows
from prep.table import read_table

pytestmark = pytest.mark.usefixtures("inline")

RATE = 16000
LINES = ("a first line <b>& more", "a second line, as long")
HOSTILE = "anna & <i>.wav"


def cut(*words: object) -> Result:
    """Call prep cut as a shell would, in this process."""
    result = CliRunner().invoke(app, ["cut", *(str(word) for word in words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table with one take of two lines, and a clip."""
    draw = np.random.default_rng(2)
    parts = [draw.standard_normal(RATE) * level for level in (2e-4, 0.1, 2e-4, 0.1, 2e-4)]
    soundfile.write(tmp_path / HOSTILE, np.concatenate(parts), RATE, subtype="PCM_16")
    soundfile.write(tmp_path / "clip.wav", parts[1], RATE, subtype="PCM_16")
    (tmp_path / "lines.txt").write_text("\n".join(LINES), encoding="utf-8")
    table = f'file_name,script,speaker\nclip.wav,,b\n"{HOSTILE}",lines.txt,a\n'
    (tmp_path / "takes.csv").write_text(table, encoding="utf-8")
    return tmp_path


def test_the_folder_holds_clips_and_a_table_of_them(folder: Path) -> None:
    """Each line is a file; the table says where in the take it was, and where clips that were no takes lie."""
    result = cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")
    assert result.exit_code == 0, result.stderr
    with (folder / "out" / "clips.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    assert [row["file_name"] for row in rows] == [
        "../clip.wav",
        "anna & <i>/lines_1_1.wav",
        "anna & <i>/lines_2_1.wav",
    ]
    assert [row["text"] for row in rows[1:]] == list(LINES)
    assert [row["passage"] for row in rows[1:]] == ["lines:1", "lines:2"]
    assert all(row["take"] == HOSTILE and row["cut_by"] == "pauses" for row in rows[1:])
    frames = [soundfile.info(folder / "out" / row["file_name"]).frames for row in rows[1:]]
    assert frames == [int(row["end_sample"]) - int(row["start_sample"]) for row in rows[1:]]
    reading = check_rows(read_table(folder / "out" / "clips.csv"))
    assert not reading.problems
    assert "2 of 2 lines, 2 clips, cut by its pauses alone, words unchecked" in result.stdout


def test_the_page_shows_every_line_with_its_sound(folder: Path, new_page: type[Any]) -> None:
    """The page has a waveform and a player a clip, escapes texts and names, and says that nobody checked the words."""
    cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")
    page = new_page()
    page.feed((folder / "out" / "review.html").read_text(encoding="utf-8"))

    assert "b" not in page.tags
    assert "i" not in page.tags
    assert page.tags.count("svg") == len(page.players) == 2
    assert all((folder / "out" / unquote(player["src"] or "")).is_file() for player in page.players)
    assert all(player["aria-label"] for player in page.players)
    assert all(line in page.text for line in LINES)
    assert "Nobody checked the" in page.text
    assert "Keep it away from listeners" in page.text


def test_a_line_without_a_clip_is_named_and_the_exit_code_says_so(folder: Path) -> None:
    """With a line too many nothing is guessed: code 4 where no line has a clip, 1 where another take has some."""
    (folder / "lines.txt").write_text("\n".join([*LINES, "a third line"]), encoding="utf-8")
    result = cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")
    assert result.exit_code == 4
    assert "2 stretches of speech for 3 lines" in result.stderr
    (folder / "other.txt").write_text("\n".join(LINES), encoding="utf-8")
    soundfile.write(folder / "ben.wav", *soundfile.read(folder / HOSTILE))
    with (folder / "takes.csv").open("a", encoding="utf-8") as file:
        file.write("ben.wav,other.txt,c\n")
    result = cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser", "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 1
    assert [line["line"] for line in told["takes"][0]["missing"]] == [1, 2, 3]
    assert [clip["file_name"] for clip in told["clips"]] == ["ben/other_1_1.wav", "ben/other_2_1.wav"]


def test_a_study_is_cut_as_its_config_says(folder: Path) -> None:
    """A config's takes are cut with its own settings, and give the clips that its run would have."""
    config = {
        "study": "s",
        "clips": {"table": "takes.csv"},
        "takes": {"recogniser": False, "head_seconds": 0.4, "tail_seconds": 0.1},
        "audit": {"cues": ["loudness"]},
        "chain": [{"encode": {"codec": "copy"}}],
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    result = cut(folder / "study.yaml", "-o", folder / "lines", "--json")
    clips = json.loads(result.stdout)["clips"]

    assert result.exit_code == 0
    assert [clip["onset_sample"] - clip["start_sample"] for clip in clips] == [0.4 * RATE] * 2
    assert [clip["end_sample"] - clip["offset_sample"] for clip in clips] == [0.1 * RATE] * 2
    ran = CliRunner().invoke(app, ["run", str(folder / "study.yaml"), "--json"])
    record = json.loads(ran.stdout)
    delivered = {clip["file_name"]: clip["delivered"]["file"] for clip in record["clips"] if clip["take"]}
    for name, file in delivered.items():
        assert (folder / "out" / file).read_bytes() == (folder / "lines" / name).read_bytes()


def test_a_table_without_takes_is_refused(folder: Path) -> None:
    """Without a script there is nothing to cut, and a script that is missing is named."""
    (folder / "takes.csv").write_text("file_name\nclip.wav\n", encoding="utf-8")
    result = cut(folder / "takes.csv", "-o", folder / "out")
    assert (result.exit_code, "no row has a script" in result.stderr) == (3, True)
    (folder / "takes.csv").write_text("file_name,script\nclip.wav,line.txt\n", encoding="utf-8")
    assert "did you mean 'lines.txt'?" in cut(folder / "takes.csv", "-o", folder / "out").stderr


def listed(folder: Path) -> set[str]:
    """Return the files below a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("read", ["clips.csv", "study.yaml", "review.html", "anna & <i>/lines_1_1.wav"])
def test_nothing_that_is_read_is_written_over(folder: Path, read: str) -> None:
    """A table, a script, a config's table and a clip that a cut would write over are named, and nothing is touched."""
    place = folder / (read if read in {"clips.csv", "study.yaml"} else "takes.csv")
    table = (folder / "takes.csv").read_text(encoding="utf-8")
    if read == "review.html":
        (folder / "lines.txt").rename(folder / read)
        (folder / "takes.csv").write_text(table.replace("lines.txt", read), encoding="utf-8")
    elif read.endswith(".wav"):
        (folder / read).parent.mkdir()
        (folder / "clip.wav").rename(folder / read)
        (folder / "takes.csv").write_text(table.replace("clip.wav", "./link.wav"), encoding="utf-8")
        (folder / "link.wav").symlink_to(folder / read)
    else:
        (folder / "takes.csv").rename(folder / "clips.csv")
        config = {"study": "s", "clips": {"table": "clips.csv"}, "takes": {"recogniser": False}}
        chain = [{"encode": {"codec": "copy"}}]
        (folder / "study.yaml").write_text(yaml.safe_dump({**config, "chain": chain}), encoding="utf-8")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = cut(place, "-o", folder, "--no-recogniser")

    assert result.exit_code == 3
    assert "is read by this cut, which would write over it; name another folder" in result.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["clips.csv", "review.html", "takes.json", "anna & <i>/lines_2_1.wav"])
def test_what_no_earlier_cut_wrote_stays(folder: Path, name: str) -> None:
    """A file of somebody else's in the folder is named before the work, and stays as it is."""
    (folder / "out" / name).parent.mkdir(parents=True)
    (folder / "out" / name).write_text("{}", encoding="utf-8")
    result = cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")

    assert result.exit_code == 3
    assert "is there already, and no earlier cut wrote it" in result.stderr
    assert "cut takes" not in result.stderr
    assert listed(folder / "out") == {name}


def test_many_files_in_the_way_are_one_problem(folder: Path) -> None:
    """Of files that are in the way for one reason the first is named, and the others are counted."""
    cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")
    (folder / "out" / "takes.json").unlink()
    result = cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")

    (line,) = result.stderr.splitlines()
    assert "lines_1_1.wav: is there already, and no earlier cut wrote it, and 3 more likewise; name another" in line


def test_a_later_cut_leaves_nothing_of_an_earlier_one(folder: Path) -> None:
    """What an earlier cut wrote and this one does not is removed, and nothing else; without a line nothing stays."""
    cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")
    record = json.loads((folder / "out" / "takes.json").read_text(encoding="utf-8"))
    outside = [{"file_name": name} for name in (str(folder / "x_1_1.wav"), "../x_1_1.wav", "notes.txt")]
    record["clips"] += outside
    (folder / "out" / "takes.json").write_text(json.dumps(record), encoding="utf-8")
    kept = [folder / "x_1_1.wav", folder / "out" / "notes.txt", folder / "out" / "anna & <i>" / "lines_3_1.wav"]
    for path in kept:
        path.write_text("mine", encoding="utf-8")
    (folder / "lines.txt").write_text(" ".join(LINES), encoding="utf-8")
    sound, _ = soundfile.read(folder / HOSTILE)
    soundfile.write(folder / HOSTILE, sound[: 3 * RATE], RATE, subtype="PCM_16")
    assert cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser").exit_code == 0

    own = {"notes.txt", "anna & <i>/lines_3_1.wav"}
    assert listed(folder / "out") == {"clips.csv", "review.html", "takes.json", "anna & <i>/lines_1_1.wav"} | own
    (folder / "lines.txt").write_text("\n".join([*LINES, "a third"]), encoding="utf-8")
    (folder / "out" / "anna & <i>" / "lines_3_1.wav").unlink()
    result = cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")
    assert result.exit_code == 4
    assert f"what an earlier cut wrote into {folder / 'out'} is removed" in result.stderr
    assert listed(folder / "out") == {"notes.txt"}
    assert all(path.read_text(encoding="utf-8") == "mine" for path in kept[:2])


def test_clips_of_an_earlier_cut_that_are_read_again_stay(folder: Path) -> None:
    """A clip that an earlier cut wrote and the table now lists is read, and not removed."""
    cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")
    with (folder / "takes.csv").open("a", encoding="utf-8") as file:
        file.write('"out/anna & <i>/lines_2_1.wav",,c\n')
    (folder / "lines.txt").rename(folder / "other.txt")
    table = (folder / "takes.csv").read_text(encoding="utf-8")
    (folder / "takes.csv").write_text(table.replace("lines.txt", "other.txt"), encoding="utf-8")
    assert cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser").exit_code == 0
    clips = {name for name in listed(folder / "out") if name.endswith(".wav")}
    assert clips == {f"anna & <i>/{name}_1.wav" for name in ("lines_2", "other_1", "other_2")}


def test_columns_of_the_table_keep_their_names(folder: Path) -> None:
    """Where the table has columns named as those of the cut, both are there, it is said, and prep reads the table."""
    table = f'file_name,script,take,line,cut.take\n"{HOSTILE}",lines.txt,mine,own,too\n'
    (folder / "takes.csv").write_text(table, encoding="utf-8")
    result = cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")
    reading = check_rows(read_table(folder / "out" / "clips.csv"))

    assert not reading.problems
    assert "named take and line; clips.csv tells those of the cut as cut.cut.take and cut.line" in result.stderr
    row = reading.rows[1].columns
    assert [row[name] for name in ("take", "line", "cut.take", "cut.cut.take", "cut.line")] == [
        "mine",
        "own",
        "too",
        HOSTILE,
        "2",
    ]


def test_texts_stay_as_they_stand_in_the_script(folder: Path) -> None:
    """A text that a spreadsheet would run is in the table as written, and the page says what a spreadsheet may do."""
    (folder / "lines.txt").write_text("=cmd|'/C calc'!A0\n" + LINES[1], encoding="utf-8")
    cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")

    texts = [row.columns["text"] for row in read_table(folder / "out" / "clips.csv").rows]
    assert texts[1] == "=cmd|'/C calc'!A0"
    assert "as a formula" in (folder / "out" / "review.html").read_text(encoding="utf-8")


def test_no_sign_turns_a_line_of_the_page(folder: Path, new_page: type[Any]) -> None:
    """Signs that turn or break a line stand in the page as their codes, in texts and in names."""
    name = "an\u202ena.wav"
    (folder / HOSTILE).rename(folder / name)
    (folder / "takes.csv").write_text(f"file_name,script\n{name},lines.txt\n", encoding="utf-8")
    (folder / "lines.txt").write_text("a first\u202e line\na second\u2028 line, as long", encoding="utf-8")
    assert cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser").exit_code == 0
    text = (folder / "out" / "review.html").read_text(encoding="utf-8")
    page = new_page()
    page.feed(text)

    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert r"a first\u202e line" in page.text
    assert page.tags.count("svg") == 2
    assert all((folder / "out" / unquote(player["src"] or "")).is_file() for player in page.players)


@pytest.mark.parametrize(
    ("blocked", "output", "said"),
    [
        ("file", "file", "file: is no folder; name another output"),
        ("file", "file/below", "file: is no folder; name another output"),
        ("out/anna & <i>", "out", "out/anna & <i>: is no folder; name another output"),
        ("out/clips.csv/", "out", "out/clips.csv: is a folder, and a file is to be there; name another folder"),
        (None, "/proc/nothing/here", "No such file or directory; make room or name another output, and run again"),
    ],
)
def test_a_folder_that_cannot_be_written_is_told_before_the_work(
    folder: Path, blocked: str | None, output: str, said: str
) -> None:
    """A file for a folder, a folder for a file, and a folder that cannot be made are named before anything is cut."""
    if blocked is None:
        if not Path("/proc").is_dir():
            pytest.skip("this system has no folder /proc")
    elif blocked.endswith("/"):
        (folder / blocked).mkdir(parents=True)
    else:
        (folder / blocked).parent.mkdir(exist_ok=True)
        (folder / blocked).write_text("mine", encoding="utf-8")
    result = cut(folder / "takes.csv", "-o", folder / output, "--no-recogniser")

    assert result.exit_code == 3
    assert said in result.stderr
    assert "cut takes" not in result.stderr


def test_a_full_disk_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a clip cannot be written the folder is named with what to do, and no table says that clips are there."""

    def full(path: Path, data: bytes) -> None:
        if path.suffix == ".wav":
            raise OSError(errno.ENOSPC, "No space left on device")
        path.write_bytes(data)

    cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")
    monkeypatch.setattr("prep.cut_place.write_whole", full)
    result = cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")

    assert result.exit_code == 3
    assert f"{folder / 'out'}: No space left on device; make room or name another output" in result.stderr
    assert not (folder / "out" / "clips.csv").exists()


@pytest.mark.parametrize("name", ["out", "anna & <i>"])
def test_a_folder_that_is_read_only_is_told_before_the_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The folder, and a folder of clips that is there already, are seen to take files before anything is cut."""

    def read_only(dir: Path) -> io.BytesIO:  # noqa: A002 - as tempfile calls it
        if dir.name == name:
            raise OSError(errno.EROFS, "Read-only file system")
        return io.BytesIO()

    cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")
    monkeypatch.setattr("prep.destinations.TemporaryFile", read_only)
    result = cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")

    assert result.exit_code == 3
    assert f"{name}: Read-only file system; make room or name another output, and run again" in result.stderr
    assert "cut takes" not in result.stderr
