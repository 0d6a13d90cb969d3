"""The clip table: reading, checking, and finding duplicates."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prep.folder import read_folder
from prep.names import nearest
from prep.rows import check_rows, duplicates
from prep.table import MAX_NOTICES, Reading, Row, read_table

SUFFIXES = [".csv", ".tsv", ".jsonl", ".parquet"]


def put(folder: Path, *names: str) -> None:
    """Make small files that stand for sounds."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode(errors="surrogateescape"))


def table(folder: Path, text: str | bytes, name: str = "clips.csv") -> Path:
    """Write a table."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def told(problems: tuple[Any, ...]) -> list[str]:
    """Return problems or notices as lines."""
    return [str(problem) for problem in problems]


def write_as(folder: Path, suffix: str) -> Path:
    """Write one table of two rows in a format."""
    rows = [("a.wav", "human", "Über"), ("b.wav", "synthetic", "")]
    if suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        names = ["file_name", "condition", "text"]
        columns = [pa.array([row[i] or None for row in rows]) for i in range(3)]
        pq.write_table(pa.table(dict(zip(names, columns, strict=True))), folder / "metadata.parquet")
        return folder / "metadata.parquet"
    if suffix == ".jsonl":
        text = (
            '{"file_name": "a.wav", "condition": "human", "text": "Über"}\n\n'
            '{"file_name": "b.wav", "condition": "synthetic", "text": null}\n'
        )
    else:
        mark = "," if suffix == ".csv" else "\t"
        text = "\r\n".join(mark.join(row) for row in [("file_name", "condition", "text"), *rows]) + "\r\n"
    return table(folder, text, f"metadata{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_formats_read_alike(tmp_path: Path, suffix: str) -> None:
    """CSV, TSV, JSONL and Parquet give the same rows, also when only their folder is named."""
    path = write_as(tmp_path, suffix)
    for reading in (read_table(path), read_table(tmp_path)):
        assert not reading.problems
        assert [row.columns for row in reading.rows] == [
            {"file_name": "a.wav", "condition": "human", "text": "Über"},
            {"file_name": "b.wav", "condition": "synthetic", "text": ""},
        ]
        assert [row.path for row in reading.rows] == [tmp_path / "a.wav", tmp_path / "b.wav"]
        lines = {".jsonl": [1, 3], ".parquet": [1, 2]}.get(suffix, [2, 3])
        assert [row.where for row in reading.rows] == [f"metadata{suffix}:{line}" for line in lines]


def test_folder_needs_one_metadata_table(tmp_path: Path) -> None:
    """A folder without a metadata table, or with two, is a problem that names what it holds."""
    assert "no metadata.csv" in told(read_table(tmp_path).problems)[0]
    for suffix in (".csv", ".jsonl"):
        write_as(tmp_path, suffix)
    assert "metadata.csv and metadata.jsonl" in told(read_table(tmp_path).problems)[0]


def test_own_headers_are_mapped(tmp_path: Path) -> None:
    """A lab's own headers get our names, one may serve two of them, and further columns keep theirs."""
    path = table(tmp_path, "wav,sys,spk,Take No\na.wav,human,s1,3\n")
    own = {"file_name": "wav", "condition": "sys", "corpus": "sys", "speaker": "spk"}
    reading = read_table(path, own)
    assert not reading.problems
    expected = {"file_name": "a.wav", "condition": "human", "corpus": "human", "speaker": "s1", "Take No": "3"}
    assert reading.rows[0].columns == expected
    assert list(reading.rows[0].columns) == list(expected)


def test_header_problems_come_together(tmp_path: Path) -> None:
    """A mapped header that is missing, a repeated one, a padded one and no file_name are all told at once."""
    path = table(tmp_path, "files,speakr,x,x, text\na.wav,s1,1,2,t\n")
    lines = told(read_table(path, {"speaker": "speaker"}).problems)
    assert all(line.startswith("clips.csv:1: ") for line in lines)
    text = "\n".join(lines)
    assert "no column 'speaker'; did you mean speakr?" in text
    assert "no column 'file_name'" in text
    assert "2 columns are named 'x'" in text
    assert "' text'" in text


def test_mapping_onto_a_standing_column_is_refused(tmp_path: Path) -> None:
    """Two columns cannot both become speaker."""
    path = table(tmp_path, "file_name,speaker,spk\na.wav,1,2\n")
    assert "2 columns are named 'speaker'" in told(read_table(path, {"speaker": "spk"}).problems)[0]


def test_bom_is_taken_off(tmp_path: Path) -> None:
    """A byte order mark before the header does not become part of its first name."""
    assert not read_table(table(tmp_path, b"\xef\xbb\xbffile_name,condition\na.wav,human\n")).problems


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("file_name,text\na.wav,one\nb.wav,Stra\xdfe\n".encode("latin-1"), "clips.csv:3: not UTF-8 text (byte 0xdf)"),
        ("file_name,text\na.wav,x\n".encode("utf-16"), "clips.csv:1: not UTF-8 text (byte 0xff)"),
        (b"file_name,text\na.wav,one, two\n", "clips.csv:2: 3 cells where the header has 2"),
        (b"file_name,text\na.wav\n", "clips.csv:2: 1 cells where the header has 2"),
        (b'file_name,text\na.wav,"one\ntwo"\nb.wav\n', "clips.csv:4: 1 cells where the header has 2"),
        (b'file_name,text\na.wav,"one\ntwo"\n', "clips.csv:2: a cell holds a line break"),
        (b'file_name,text\na.wav,"one\nb.wav,two\n', "clips.csv:2: not csv text"),
        (b'file_name,text\na.wav,"one" two\n', "clips.csv:2: not csv text"),
        (b"file_name,text\n,one\n", "clips.csv:2: file_name is empty"),
        (b"file_name;text\na.wav;one\n", "clips.csv:1: its columns are separated by semicolons"),
        (b"file_name\ttext\na.wav\tone\n", "clips.csv:1: its columns are separated by tabs"),
        (b"", "clips.csv: the table is empty"),
        (b"file_name,text\n\n", "clips.csv: the table is empty"),
    ],
)
def test_bad_csv_is_told_with_its_line(tmp_path: Path, content: bytes, expected: str) -> None:
    """Other encodings, ragged rows, broken quotes, line breaks in cells and empty tables name file and line."""
    assert any(expected in line for line in told(read_table(table(tmp_path, content)).problems))


def test_rows_after_a_bad_one_are_read(tmp_path: Path) -> None:
    """One ragged row hides neither the rows nor the problems after it."""
    reading = read_table(table(tmp_path, "file_name,text\na.wav\nb.wav,x\nc.wav,y,z\nd.wav,w\n"))
    assert [problem.where for problem in reading.problems] == ["clips.csv:2", "clips.csv:4"]
    assert [row.line for row in reading.rows] == [3, 5]


def test_jsonl_values_become_text_as_written(tmp_path: Path) -> None:
    """JSONL numbers stay as the file writes them, booleans are true and false, null and absent are empty."""
    text = (
        '{"file_name": "a.wav", "n": 0.10, "id": 12345678901234567890, "x": 1e3, "ok": true, "no": false, "z": null}\n'
        '{"file_name": "b.wav", "later": NaN}\n'
    )
    first, second = read_table(table(tmp_path, text, "clips.jsonl")).rows
    expected = {"n": "0.10", "id": "12345678901234567890", "x": "1e3", "ok": "true", "no": "false", "z": ""}
    assert first.columns == {"file_name": "a.wav", **expected, "later": ""}
    assert second.columns["later"] == "NaN"
    assert second.columns["n"] == ""


def test_bad_jsonl_is_told_with_its_line(tmp_path: Path) -> None:
    """Broken, nested, repeated-key, non-object and unwritable JSON lines are each told, all at once."""
    lines = [
        '{"file_name": "a.wav"',
        '{"file_name": "b.wav", "tags": ["x"]}',
        '{"file_name": "c.wav", "speaker": "1", "speaker": "2"}',
        '["d.wav"]',
        '{"file_name": "e.wav", "text": "\\ud83d"}',
        "[" * 100_000,
        '{"file_name": "f.wav", "text": "line\u2028separator"}',
    ]
    reading = read_table(table(tmp_path, "\n".join(lines), "clips.jsonl"))
    assert [problem.where for problem in reading.problems] == [f"clips.jsonl:{line}" for line in range(1, 7)]
    assert "'speaker' is repeated" in told(reading.problems)[2]


def test_parquet_types_become_text(tmp_path: Path) -> None:
    """Parquet numbers, booleans and categories become text; a column of structures is a problem."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = {
        "file_name": pa.array(["a.wav", "b.wav"]),
        "age": pa.array([31, None]),
        "ok": pa.array([True, False]),
        "speaker": pa.array(["s1", "s2"]).dictionary_encode(),
        "audio": pa.array([{"bytes": b""}, {"bytes": b""}]),
    }
    pq.write_table(pa.table(columns), tmp_path / "clips.parquet")
    reading = read_table(tmp_path / "clips.parquet")
    assert [list(row.columns.values())[1:4] for row in reading.rows] == [["31", "true", "s1"], ["", "false", "s2"]]
    assert told(reading.problems) == [
        "clips.parquet: the column 'audio' holds struct<bytes: binary>, not text; convert or remove it"
    ]


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".xlsx"])
def test_any_bytes_are_problems_never_exceptions(tmp_path: Path, suffix: str) -> None:
    """Whatever a table holds, reading and checking it returns, and what is no table is told."""
    random = np.random.default_rng(1)
    alphabet = np.frombuffer(b'file_name,"\t\n\r{}[]:\\u\x00\xff\xc3 ~/.$', np.uint8)
    for size in (0, 1, 30, 300):
        for _ in range(20):
            noise = random.choice(alphabet, size).tobytes()
            for content in (noise, b"file_name,x\n" + noise, b'{"file_name": "' + noise + b'"}'):
                reading = check_rows(read_table(table(tmp_path, content, f"t{suffix}")), ["x"])
                assert reading.problems


def test_missing_table_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    """A table that is not there is a problem with a did-you-mean."""
    table(tmp_path, "file_name\na.wav\n", "clips.csv")
    assert "did you mean 'clips.csv'?" in told(read_table(tmp_path / "Clip.csv").problems)[0]


def test_paths_are_relative_to_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are relative to the table, whatever the working folder, and ./ and ../ lead where they say."""
    put(tmp_path, "audio/a.wav", "audio/b c.wav")
    table(tmp_path, "file_name\n../audio/a.wav\n./../audio/b c.wav\n", "lists/clips.csv")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    reading = check_rows(read_table(Path("../lists/clips.csv")))
    assert not reading.problems
    assert not reading.notices
    assert [row.file_name for row in reading.rows] == ["../audio/a.wav", "../audio/b c.wav"]
    monkeypatch.chdir(tmp_path)
    assert [row.path.read_bytes() for row in reading.rows] == [b"audio/a.wav", b"audio/b c.wav"]


def test_missing_unlisted_and_repeated_are_each_told(tmp_path: Path) -> None:
    """Missing, repeated and unlisted names are each listed, before any audio is read."""
    put(tmp_path, "one.wav", "two.wav", "unlisted.wav", "._one.wav", "sub/notes.txt")
    reading = check_rows(
        read_table(
            table(
                tmp_path,
                "file_name,condition\none.wav,a\ntwo.wav,b\ntwoo.wav,a\n./one.wav,b\nsub/../one.wav,a\nx/one.wav,a\n",
            )
        )
    )
    assert told(reading.problems) == [
        "clips.csv:4: 'twoo.wav' does not exist; did you mean 'two.wav'?",
        "clips.csv:7: 'x/one.wav' does not exist; there is no folder 'x'",
        "clips.csv:5: 'one.wav' is listed already at clips.csv:2; keep one row",
        "clips.csv:6: 'sub/../one.wav' is listed already at clips.csv:2; keep one row",
    ]
    assert told(reading.notices) == ["unlisted.wav: is not in the table; it is left out"]


def test_columns_the_wrong_way_round_are_told_once(tmp_path: Path) -> None:
    """Columns given as theirs: ours are one problem with the right words, and nothing that follows from it is told."""
    put(tmp_path, "one.wav")
    path = table(tmp_path, "file,sys,system\none.wav,a,b\n")
    reading = check_rows(read_table(path, {"file": "file_name", "sys": "condition"}), ["condition"])
    assert told(reading.problems) == [
        (
            "clips.csv:1: columns is `our name: the table's header`, and here it is the other way round; "
            "write {file_name: file, condition: sys}"
        )
    ]
    meant = read_table(path, {"file_name": "file", "condition": "model"})
    assert told(meant.problems) == [
        "clips.csv:1: there is no column 'model'; known here: file, sys, system",
    ]


@pytest.mark.parametrize("name", ["clip.csv", "clip", "CLIPS.CSV "])
def test_a_table_that_is_not_there_is_told_with_the_nearest_name(tmp_path: Path, name: str) -> None:
    """A path where nothing is is told as that, whatever its suffix, with the nearest name beside it."""
    path = table(tmp_path, "file_name\n")
    (problem,) = told(read_table(path.with_name(name)).problems)
    assert problem == f"{tmp_path / name}: there is no such file or folder; did you mean 'clips.csv'?"


def test_a_table_in_the_wrong_folder_is_one_problem(tmp_path: Path) -> None:
    """Rows of a folder that holds none of their files are one problem; a row among others that are there is its own."""
    put(tmp_path, "here/one.wav", "here/two.wav")
    names = [f"clips/{side}/{number}.wav" for side in "ab" for number in range(9)]
    reading = check_rows(read_table(table(tmp_path, "\n".join(["file_name", "here/one.wav", "here/twoo.wav", *names]))))
    assert told(reading.problems) == [
        "clips.csv:3: 'here/twoo.wav' does not exist; did you mean 'two.wav'?",
        (
            "clips.csv:4: 'clips/a/0.wav' does not exist, and 17 more likewise; there is no folder 'clips': "
            "write paths from the table's folder, or move the table"
        ),
    ]
    beside = check_rows(read_table(table(tmp_path, "file_name\none.wav\ntwo.wav\n", "here/../clips.csv")))
    assert len(beside.problems) == 1
    assert "'one.wav' does not exist, and 1 more likewise" in told(beside.problems)[0]


def test_many_unlisted_files_are_counted(tmp_path: Path) -> None:
    """A long list of files left out is cut, and says how many there are in all."""
    count = MAX_NOTICES + 5
    put(tmp_path, "one.wav", *(f"x{i}.wav" for i in range(count)))
    notices = check_rows(read_table(table(tmp_path, "file_name\none.wav\n"))).notices
    assert len(notices) == MAX_NOTICES + 1
    assert f"5 more sound files are left out, {count} in all" in str(notices[-1])


def test_names_in_either_unicode_form_find_each_other(tmp_path: Path) -> None:
    """Composed and decomposed names are one file; the row points to it and keeps the name as given."""
    given = ["Zoë café/Ängste.wav", "☃ 昨天.wav", " padded name .wav"]
    on_disk = [unicodedata.normalize("NFD", given[0]), *given[1:]]
    put(tmp_path, *on_disk)
    reading = check_rows(read_table(table(tmp_path, "\n".join(["file_name", *given]))))
    assert not reading.problems
    assert not reading.notices
    assert [row.file_name for row in reading.rows] == given
    assert [row.path.relative_to(tmp_path).as_posix() for row in reading.rows] == on_disk


@pytest.mark.parametrize(
    ("file_name", "expected"),
    [
        ("~/one.wav", "~ does not stand for your home folder"),
        ("~me/one.wav", "~ does not stand for your home folder"),
        ("$HOME/one.wav", "no folder '$HOME'"),
        ("$one.wav", "variables are not filled in"),
        (" one.wav ", "did you mean 'one.wav'?"),
        ("sub\\two.wav", "did you mean 'sub/two.wav'?"),
        ("ONE.WAV", "did you mean 'one.wav'?"),
        ("sub", "'sub' is a folder; name a sound file"),
        ("x" * 5000 + ".wav", "does not exist"),
        ("nul\x00.wav", "holds a NUL character"),
    ],
)
def test_a_path_that_is_no_file_is_told(tmp_path: Path, file_name: str, expected: str) -> None:
    """Home folders, variables, padded and backslashed names, folders and impossible names are each explained."""
    if file_name == "ONE.WAV" and (Path(__file__).parent / Path(__file__).name.upper()).exists():
        pytest.skip("the file system does not tell upper from lower case")
    put(tmp_path, "one.wav", "sub/two.wav")
    reading = check_rows(read_table(table(tmp_path, f"file_name\n{file_name}\n")))
    assert expected in told(reading.problems)[0]


def test_file_names_with_a_tilde_are_names(tmp_path: Path) -> None:
    """A tilde inside a name, or before a name without a folder, is part of the name."""
    put(tmp_path, "~one.wav", "a/~/b.wav")
    assert not check_rows(read_table(table(tmp_path, "file_name\n~one.wav\na/~/b.wav\n"))).problems


def test_needed_columns_must_stand_and_be_filled(tmp_path: Path) -> None:
    """A needed column that is missing is told once; an empty cell of one is told for stimuli only."""
    put(tmp_path, "a.wav", "b.wav", "c.wav")
    text = "file_name,condition,role\na.wav, ,\nb.wav,human,stimulus\nc.wav,,reference\n"
    reading = check_rows(read_table(table(tmp_path, text)), ["condition", "speaker"])
    assert told(reading.problems) == [
        "clips.csv: there is no column 'speaker'; known here: condition, file_name, role",
        "clips.csv:2: condition of a.wav is empty; fill it in",
    ]


def test_unknown_roles_are_told(tmp_path: Path) -> None:
    """A role that is none of the five is a problem, and so is a table without a stimulus."""
    put(tmp_path, "a.wav", "b.wav")
    reading = check_rows(read_table(table(tmp_path, "file_name,role\na.wav,Stimuls\nb.wav,trap\n")))
    assert told(reading.problems) == [
        "clips.csv:2: the role 'Stimuls' is unknown; did you mean stimulus?",
        "clips.csv: no row is a stimulus; a study needs clips to judge",
    ]


def test_labels_that_differ_by_case_or_spaces_are_told(tmp_path: Path) -> None:
    """Labels that differ only by case, spaces or Unicode form are told once each, against the usual one."""
    put(tmp_path, *(f"{i}.wav" for i in range(6)))
    labels = ["human", "Human", "human", "human ", "Human", "synthetic"]
    speakers = ["Zoë", "Zoë", unicodedata.normalize("NFD", "Zoë"), "s1", "s2", "s3"]
    cells = [f"{i}.wav,{label},{speakers[i]}" for i, label in enumerate(labels)]
    reading = check_rows(read_table(table(tmp_path, "\n".join(["file_name,condition,speaker", *cells]))))
    assert [problem.where for problem in reading.problems] == ["clips.csv:3", "clips.csv:5", "clips.csv:4"]
    assert "'Human' (2 rows) is written 'human' in 2" in str(reading.problems[0])


def test_equal_clips_are_told_and_contradictions_are_problems(tmp_path: Path) -> None:
    """Equal bytes under two names are a notice; contradicting labels for them are a problem."""
    labels = {"x.wav": "human", "y.wav": "synthetic", "z.wav": "human", "u.wav": "human", "v.wav": "", "w.wav": "a"}
    rows = [Row(name, tmp_path / name, {"condition": label}, where=name) for name, label in labels.items()]
    rows.append(Row("t.wav", tmp_path, {"condition": "none", "role": "trap"}, where="t.wav"))
    hashes = {"x.wav": "1", "y.wav": "1", "z.wav": "1", "u.wav": "2", "v.wav": "2", "w.wav": "3", "t.wav": "2"}
    problems, notices = duplicates(hashes, rows, "condition")
    assert len(problems) == 1
    assert "differ in condition: x.wav (human), y.wav (synthetic), z.wav (human)" in str(problems[0])
    assert told(tuple(notices)) == [
        "x.wav: x.wav has the same bytes as y.wav, z.wav",
        "u.wav: u.wav has the same bytes as v.wav, t.wav",
    ]
    assert "same samples" in str(duplicates(hashes, rows, "condition", same="samples")[1][0])


def read_names(folder: Path, *names: str, **how: str) -> Reading:
    """Make files and read their folder."""
    put(folder, *names)
    return read_folder(folder, **how)


def test_a_pattern_names_the_columns(tmp_path: Path) -> None:
    """Each name of a pattern becomes a column; the suffix matches in any case; the order is that of the names."""
    reading = read_names(
        tmp_path,
        "tts/s2_1_x.wav",
        "human/s1_2_x.WAV",
        "human/s1_1_x.wav",
        pattern="{condition}/{speaker}_{passage}_{_}.wav",
    )
    assert not reading.problems
    assert not reading.notices
    assert [row.file_name for row in reading.rows] == ["human/s1_1_x.wav", "human/s1_2_x.WAV", "tts/s2_1_x.wav"]
    expected = {"file_name": "human/s1_2_x.WAV", "condition": "human", "speaker": "s1", "passage": "2"}
    assert reading.rows[1].columns == expected
    assert not check_rows(reading, ["condition", "speaker", "passage"]).problems


def test_every_sound_file_is_accounted_for(tmp_path: Path) -> None:
    """Of ten odd names in a folder, all ten are rows; those that a pattern does not match are one notice."""
    names = ["-dash", "01", "100%", "a.b.c", "dev-1", "test_1", "train_1", "validation", "x#1"]
    put(tmp_path, *(f"{name}.wav" for name in names), "UPPER.WAV", ".hidden.wav", "._01.wav", "Thumbs.db", ".git/x.wav")
    everything = read_folder(tmp_path, "{name}.wav")
    assert len(everything.rows) == 10
    some = read_folder(tmp_path, "{name}_1.wav")
    assert len(some.rows) == 2
    assert told(some.notices) == ["-dash.wav: does not match the pattern, and 7 more likewise; they are left out"]
    assert told(read_folder(tmp_path, regex="(?P<name>[^U].*)").notices) == [
        "UPPER.WAV: does not match the pattern; it is left out"
    ]


def test_a_repeated_name_must_match_equal_text(tmp_path: Path) -> None:
    """A name that stands twice in a pattern is the same text in both places, or the file does not match."""
    reading = read_names(tmp_path, "s1/s1_a.wav", "s1/s2_a.wav", pattern="{speaker}/{speaker}_{passage}.wav")
    assert [row.file_name for row in reading.rows] == ["s1/s1_a.wav"]
    assert [notice.where for notice in reading.notices] == ["s1/s2_a.wav"]


def test_a_pattern_that_reads_a_path_in_two_ways_is_a_problem(tmp_path: Path) -> None:
    """Where a pattern could cut a name in two ways, neither is guessed."""
    reading = read_names(tmp_path, "anna_b_1.wav", "carl_1.wav", pattern="{speaker}_{passage}.wav")
    assert [problem.where for problem in reading.problems] == ["anna_b_1.wav"]
    assert "'anna', 'passage': 'b_1'" in str(reading.problems[0])
    assert "'anna_b', 'passage': '1'" in str(reading.problems[0])


def test_names_that_read_in_two_ways_are_one_problem_with_a_regex_that_reads_them(tmp_path: Path) -> None:
    """Twenty names cut in two ways are one problem and no rows, and the regex that it offers reads all of them."""
    names = [
        f"{side}/207_131203_{number:06d}_0.{end}"
        for side in ("human", "tts")
        for number, end in zip(range(10), ["wav", "WAV"] * 5, strict=True)
    ]
    reading = read_names(tmp_path, *names, pattern="{condition}/{speaker}_{passage}.wav")
    (problem,) = told(reading.problems)
    assert ", and 19 more likewise" in problem
    assert not reading.rows
    read = read_folder(tmp_path, regex=problem.split("'")[-2])
    assert not read.problems
    assert {(row.columns["condition"], row.columns["speaker"]) for row in read.rows} == {
        ("human", "207"),
        ("tts", "207"),
    }
    assert len(read.rows) == 20


@pytest.mark.parametrize("pattern", ["{speaker}{passage}.wav", "{speaker}__{passage}.wav"])
def test_no_regex_is_offered_that_does_not_read_the_names(tmp_path: Path, pattern: str) -> None:
    """Where names touch, or hold the sign that parts them, a regex is asked for and none is offered."""
    reading = read_names(tmp_path, "a_b__c__d.wav", pattern=pattern)
    assert told(reading.problems)[0].endswith("tell the parts apart, or write a regex")


def test_a_regex_matches_the_whole_path(tmp_path: Path) -> None:
    """A regex must match the whole path; a group without a match is an empty cell."""
    put(tmp_path, "p1/a_b.wav", "p1/c.wav", "p1/c.wav.bak.wav")
    reading = read_folder(tmp_path, regex=r"p(?P<speaker>\d)/(?P<passage>[a-z])(_(?P<take>[a-z]))?\.wav")
    assert [list(row.columns.values()) for row in reading.rows] == [
        ["p1/a_b.wav", "1", "a", "b"],
        ["p1/c.wav", "1", "c", ""],
    ]
    assert [notice.where for notice in reading.notices] == ["p1/c.wav.bak.wav"]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, "either a pattern or a regex"),
        ({"pattern": "{a}.wav", "regex": "(?P<a>.*)"}, "either a pattern or a regex"),
        ({"pattern": "{a.wav"}, "a brace"),
        ({"pattern": "{1a}.wav"}, "a brace"),
        ({"pattern": "*.wav"}, "name columns"),
        ({"pattern": "{file_name}.wav"}, "but not file_name"),
        ({"regex": "(?P<a>"}, "not a regular expression"),
        ({"pattern": "{a}.flac"}, "no file matches"),
    ],
)
def test_bad_patterns_are_told(tmp_path: Path, how: dict[str, str], expected: str) -> None:
    """A pattern or regex that is not well formed, names nothing or matches nothing is a problem."""
    assert expected in told(read_names(tmp_path, "one.wav", **how).problems)[0]


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    """A folder that is not there is a problem, not an empty study."""
    assert "cannot be read" in told(read_folder(tmp_path / "none", "{a}.wav").problems)[0]


def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    """A linked folder is read as part of the folder, and a link that loops ends the search."""
    put(tmp_path, "store/a.wav", "study/b.wav")
    try:
        (tmp_path / "study" / "human").symlink_to(tmp_path / "store")
        (tmp_path / "store" / "loop").symlink_to(tmp_path / "study")
    except OSError:
        pytest.skip("this system makes no symbolic links")
    reading = read_folder(tmp_path / "study", regex=r"(?:.*/)?(?P<name>\w+)\.wav")
    assert [row.file_name for row in reading.rows] == ["b.wav", "human/a.wav"]


def test_unicode_form_does_not_split_a_label(tmp_path: Path) -> None:
    """A speaker whose files are named in two Unicode forms is one speaker."""
    names = ["Zoë_1.wav", unicodedata.normalize("NFD", "Zoë_2.wav")]
    reading = read_names(tmp_path, *names, pattern="{speaker}_{passage}.wav")
    assert {row.columns["speaker"] for row in reading.rows} == {"Zoë"}
    assert all(row.path.exists() for row in reading.rows)


def test_a_name_in_another_encoding_is_told(tmp_path: Path) -> None:
    """A file name that is not UTF-8 is a problem before it can break a table that is written."""
    try:
        put(tmp_path, "Stra\udcdfe.wav")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes UTF-8 names only")
    assert "is not UTF-8" in told(check_rows(read_folder(tmp_path, "{name}.wav")).problems)[0]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("clips.csv", "file_name,text\na.wav,x\nb.wav,p\0q\n", "clips.csv:3: a cell holds a NUL character"),
        ("clips.csv", "file_name,te\0xt\na.wav,x\n", "clips.csv:1: a column's name is empty, begins or ends"),
        ("clips.jsonl", '{"file_name": "a\\u0000.wav"}\n', "clips.jsonl:1: a cell holds a NUL character; take it out"),
    ],
)
def test_a_nul_character_is_told_by_its_line(tmp_path: Path, name: str, text: str, expected: str) -> None:
    """No cell, name or header can hold a NUL character: it is a problem with its line, and no record can have it."""
    reading = read_table(table(tmp_path, text, name))
    (problem,) = told(reading.problems)
    assert problem.startswith(expected)
    assert not any("\0" in cell for row in reading.rows for cell in row.columns.values())


def test_a_link_to_nothing_is_called_that(tmp_path: Path) -> None:
    """A link whose end is not there is named as such, and no other file is taken to be meant."""
    put(tmp_path, "clip1.wav")
    try:
        (tmp_path / "clip2.wav").symlink_to("gone.wav")
    except OSError:
        pytest.skip("this system makes no symbolic links")
    reading = check_rows(read_table(table(tmp_path, "file_name\nclip1.wav\nclip2.wav\n")))
    assert told(reading.problems) == ["clips.csv:3: 'clip2.wav' is a link to nothing; mend the link"]


def test_a_file_is_no_hint_at_itself() -> None:
    """What is there, and is not what is wanted, is never named as what was meant; another of nearly its name is."""
    assert not nearest("fold.txt", ["fold.txt"])
    assert nearest("fold.txt", ["fold.txt", "Fold1.txt"]) == "did you mean 'Fold1.txt'?"


def test_what_is_left_out_is_told_in_utf8(tmp_path: Path) -> None:
    """A file that is left out is told of in UTF-8 and one line, whatever its name, so that a record can hold it."""
    try:
        put(tmp_path, "a.wav", "Stra\udcdfe\n.wav")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes UTF-8 names only")
    beside = check_rows(read_table(table(tmp_path, "file_name\na.wav\n"))).notices
    unmatched = read_folder(tmp_path, regex=r"(?P<n>a)\.wav").notices
    assert [problem.where for problem in (*beside, *unmatched)] == [r"Stra\udcdfe\n.wav"] * 2
