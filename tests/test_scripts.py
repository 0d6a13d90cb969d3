"""Specification of scripts: the lines of takes and the rows that they will be, from text alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prep.scripts import attempt_name, folder_of, planned_name, with_lines
from prep.slots import slots_of
from prep.table import read_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prep.scripts import Take
    from prep.table import Reading

    Read = Callable[..., tuple[Reading, list[Take]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a reader of a table of takes, given its rows as text and its scripts by name."""

    def reading(table: str, scripts: dict[str, bytes], **settings: object) -> tuple[Reading, list[Take]]:
        (tmp_path / "clips.csv").write_text(table, encoding="utf-8")
        for name, data in scripts.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        return with_lines(read_table(tmp_path / "clips.csv"), **settings)

    return reading


TWO = b"\xef\xbb\xbfFirst line.\r\n\r\nThird line, after an empty one.\n"


def test_each_line_is_a_row_known_before_any_sound(read: Read) -> None:
    """A take becomes a row a line, with text, passage, slot and the take's columns; other rows stay as they are."""
    table = "file_name,script,condition,speaker\na.wav,,synthetic,s\ntakes/anna.wav,scripts/lines.txt,human,anna\n"
    reading, takes = read(table, {"scripts/lines.txt": TWO})

    assert not reading.problems
    assert [row.file_name for row in reading.rows] == ["a.wav", "takes/anna/lines_1.wav", "takes/anna/lines_3.wav"]
    first, last = reading.rows[1:]
    assert (first.columns["passage"], first.columns["text"]) == ("lines:1", "First line.")
    assert (last.columns["passage"], last.columns["text"]) == ("lines:3", "Third line, after an empty one.")
    assert all(row.columns["speaker"] == "anna" and row.columns["condition"] == "human" for row in (first, last))
    assert [line.number for line in takes[0].lines] == [1, 3]
    assert first.path.name == "anna.wav"


def test_takes_of_one_speaker_share_the_slots_of_their_lines(read: Read) -> None:
    """Two takes of a script by one speaker are candidates for the same slots; another speaker's, or none's, are not."""
    table = "file_name,script,condition,speaker\n"
    rows = [f"{name}.wav,l.txt,human,{speaker}" for name, speaker in (("a", "x"), ("b", "x"), ("c", "y"), ("d", ""))]
    reading, _ = read(table + "\n".join(rows), {"l.txt": TWO})
    slots = {slot.name: slot.candidates for slot in slots_of(reading.rows)}

    assert slots["human x l:1"] == (0, 2)
    assert slots["human y l:1"] == (4,)
    assert slots["d.wav l:3"] == (7,)


def test_slots_that_the_config_names_are_left_alone(read: Read) -> None:
    """Where columns name the slots, no slot is made; where the table names one, the line is added to it."""
    table = "file_name,script,slot\na.wav,l.txt,{}\n"
    plain, _ = read(table.format(""), {"l.txt": TWO}, slots_by=["passage"])
    named, _ = read(table.format("hall"), {"l.txt": TWO})

    assert [row.columns["slot"] for row in plain.rows] == ["", ""]
    assert [row.columns["slot"] for row in named.rows] == ["hall l:1", "hall l:3"]


@pytest.mark.parametrize(
    ("script", "where", "what", "todo"),
    [
        (None, "clips.csv:2", "the script 'lines.txt' does not exist", "did you mean 'linse.txt'?"),
        (b"", "clips.csv:2", "the script 'lines.txt' is empty", "write a line for each clip"),
        (b" \n\n", "clips.csv:2", "the script 'lines.txt' is empty", "write a line for each clip"),
        (b"one\ntw\xf6\n", "lines.txt:2", "not UTF-8 text (byte 0xf6)", "save it again as UTF-8"),
        (b"Yes.\nno\n\nYES!\n", "lines.txt:4", "'YES!' is line 1 again", "keep one"),
        (b"one\n---\n", "lines.txt:2", "'---' has no word", "write what is read"),
        (b"one\n\ntw\0o\n", "lines.txt:3", "'tw\\x00o' holds a NUL character", "take it out"),
    ],
)
def test_what_is_wrong_with_a_script_is_said(
    read: Read, script: bytes | None, where: str, what: str, todo: str
) -> None:
    """What is wrong with a script is told with its place: missing, empty, not text, a line twice or without a word."""
    reading, _ = read(
        "file_name,script\na.wav,lines.txt\n",
        {"linse.txt": b"x\n"} | ({"lines.txt": script} if script is not None else {}),
    )

    (problem,) = reading.problems
    assert (problem.where, problem.what) == (where, what)
    assert todo in problem.todo


def test_all_problems_come_at_once_and_each_once(read: Read) -> None:
    """Two takes of one faulty script, scripts of one stem, clips of one name and filled passages are all told of."""
    table = "file_name,script,passage\na.wav,l.txt,\nb.wav,l.txt,\nc.wav,more/l.txt,\na.flac,l.txt,\nd.wav,l.txt,p1\n"
    reading, _ = read(table, {"l.txt": b"one\none\n", "more/l.txt": b"two\n"})
    told = [str(problem) for problem in reading.problems]

    assert len(told) == len(set(told)) == 5
    assert sum("is line 1 again" in line for line in told) == 1
    assert sum("passages of one name" in line for line in told) == 1
    assert sum("names of others" in line for line in told) == 2
    assert sum("its script names its lines" in line for line in told) == 1


def test_names_of_clips_stay_inside_their_folder() -> None:
    """The clips of a take lie in a folder of its name, wherever the take lies."""
    assert folder_of("/data/../x/take one.wav") == "data/x/take one"
    assert folder_of("../a.b.wav") == "a.b"
    assert attempt_name("a/l_03.wav", 2) == "a/l_03_2.wav"


@pytest.mark.parametrize("name", ["a/l_3_1.wav", "./a/l_3_12.wav"])
def test_no_clip_may_have_the_name_of_a_reading(read: Read, name: str) -> None:
    """A row of the table that is named as any reading of a line would be is refused, whichever comes first."""
    for rows in (f"a.wav,l.txt\n{name},\n", f"{name},\na.wav,l.txt\n"):
        reading, _ = read(f"file_name,script\n{rows}", {"l.txt": TWO})
        (problem,) = reading.problems
        what = f"the clips of the take a.wav would have names of others, as {name.removeprefix('./')}"
        assert (problem.what, problem.todo) == (what, "rename the take or the others")


def test_a_line_may_not_be_named_as_a_reading_of_another(read: Read) -> None:
    """Where one script's name ends as another's readings do, the takes that would share names are told of."""
    table = "file_name,script\na.wav,l.txt\na.flac,l_1.txt\nb.wav,l_1.txt\n"
    reading, _ = read(table, {"l.txt": b"one\n", "l_1.txt": b"one\n"})
    assert [problem.where for problem in reading.problems] == ["clips.csv:2"]


@pytest.mark.parametrize("name", ["a/l_3.wav", "a/l_0.wav", "a/l_x.wav", "a/l_1.flac", "a/l_.wav", "l.wav"])
def test_other_names_are_no_readings(read: Read, name: str) -> None:
    """A clip may have any name that no reading of the take's lines can have."""
    reading, _ = read(f"file_name,script\na.wav,l.txt\n{name.replace('_3', '_4')},\n", {"l.txt": TWO})
    assert not reading.problems
    assert planned_name(attempt_name(name, 7)) == (name if name.endswith(".wav") else f"{name}.wav")


def test_scripts_that_are_no_files_are_told_without_a_hint_at_themselves(read: Read, tmp_path: Path) -> None:
    """A script that is a folder, and one that is a link that loops, are problems beside all others."""
    (tmp_path / "fold.txt").mkdir()
    (tmp_path / "round").symlink_to("round")
    reading, _ = read("file_name,script\na.wav,fold.txt\nb.wav,round\nc.wav,none\n", {})
    assert [str(problem) for problem in reading.problems] == [
        "clips.csv:2: the script 'fold.txt' is no file; name a text file, a line a clip",
        "clips.csv:3: the script 'round' does not exist; name a text file, a line a clip",
        "clips.csv:4: the script 'none' does not exist; name a text file, a line a clip",
    ]


@pytest.mark.parametrize("name", [".", "/", "..", "a/.."])
def test_a_take_without_a_name_of_its_own_has_a_folder(name: str) -> None:
    """What no take can be called gives a folder all the same, so that every problem of the table is told."""
    assert folder_of(name) in {"take", "a"}
