"""Tables as Markdown, CSV and LaTeX: whatever is in a cell comes out as that text, and does nothing."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from prep.latex import LATIN, SPECIAL, escaped
from prep.recorded import readable_text
from prep.tabular import Table, csv_cell

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = (
    "\\input{/etc/passwd}",
    "\\end{longtable} & \\\\ % # $x^2_3$ ~ {unclosed",
    "[optional] *starred",
    "<img src=x onerror=alert(1)> & \"quoted\" 'text'",
    "| a | **b** | [link](http://x) ![i](y) `code` _c_ [@cite] $m$",
    "line\nbreak\r\n\ttab",
    "emoji 😀 👩‍💻 and \u202eright-to-left\u202c \u200b",
    "漢字 العربية עברית हिन्दी Ελληνικά кириллица",
    "“typographic” \u2013 quotes — and \u2018dashes\u2019… 50 °C ± 2 µm \u00d7 ÷ §",
    "--- ,, ''quotes'' ``ticks`` << >> ?` !`",
    "null\x00 bell\x07 escape\x1b[31m surrogate\udcff",
    '=HYPERLINK("http://x")',
    "x" * 300,
    "",
    "-",
)
ESCAPES = re.compile(r"\\(?:[{}#$%&_]|[a-z]+\{\}|prepunicode\{[^{}]*\}\{[^{}]*\})|\{[][*]\}|\{\}")


@pytest.mark.parametrize("text", HOSTILE)
def test_no_sign_of_tex_is_left(text: str) -> None:
    """Of escaped text nothing that TeX takes for a command, a group, a column or a comment is left."""
    left = ESCAPES.sub("", escaped(text))

    assert not set("\\{}#$%&_~^<>|\"'`[]*") & set(left)
    assert left.isprintable()
    assert "--" not in escaped(text)
    assert ",," not in escaped(text)
    assert all(sign.isascii() or sign in LATIN for sign in left)


def test_every_sign_of_ascii_is_printed() -> None:
    """Each printable sign of ASCII stands for itself, or for the command that prints it."""
    for code in range(0x20, 0x7F):
        told = escaped(chr(code))
        assert told == (SPECIAL.get(chr(code)) or chr(code))
    assert escaped("a--b,,c") == "a-{}-b,{},c"


def test_other_scripts_stay_text() -> None:
    """Letters beyond Latin stay in UTF-8 with their code points beside them; marks of direction and controls go."""
    assert escaped("漢é😀") == r"\prepunicode{漢}{U+6F22}é\prepunicode{😀}{U+1F600}"
    assert escaped("a\u202eb\x07c\nd") == "abc d"


def hostile_table() -> Table:
    """Return a table with every hostile text in a cell, as the first and as the last of a row."""
    rows = [(text, 1.5, text) for text in HOSTILE]
    return Table("hostile", f"Caption {HOSTILE[0]} {HOSTILE[6]}", ("a_b", "figure", "c&d"), rows)


@pytest.mark.parametrize("engine", ["pdflatex", "lualatex"])
def test_tex_takes_it(tmp_path: Path, engine: str) -> None:
    """A table of hostile cells, and every letter that is kept as it is, go through both engines without an error."""
    if shutil.which(engine) is None or shutil.which("kpsewhich") is None:
        pytest.skip(f"{engine} is not installed")
    for package in ("booktabs.sty", "longtable.sty", "iftex.sty"):
        if not subprocess.run(["kpsewhich", package], capture_output=True, check=False).stdout:  # noqa: S607
            pytest.skip(f"the TeX that is installed has no {package}")
    (tmp_path / "table.tex").write_bytes(hostile_table().latex())
    letters = escaped(" ".join(sorted(LATIN)) + " ".join(SPECIAL))
    (tmp_path / "all.tex").write_text(
        "\\documentclass{article}\\usepackage{iftex}\\ifPDFTeX\\usepackage[T1]{fontenc}\\fi"
        "\\usepackage{textcomp,booktabs,longtable}\\begin{document}\\input{table.tex}\n" + letters + "\\end{document}",
        encoding="utf-8",
    )
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)

    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-2000:]
    assert b"root:" not in (tmp_path / "all.log").read_bytes()


def test_csv_holds_the_very_texts() -> None:
    """A reader of the CSV gets every text back, but for the apostrophe before what a spreadsheet would run."""
    rows = list(csv.reader(io.StringIO(hostile_table().csv().decode("utf-8"), newline="")))

    assert [len(row) for row in rows] == [3] * (len(HOSTILE) + 1)
    for row, text in zip(rows[1:], HOSTILE, strict=True):
        assert row[0].replace("\\udcff", "\udcff") == csv_cell(text)
        assert row[1] == "1.5"


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-2+3", "'-2+3"),
        ("\t=1", "'\t=1"),
        (" =1", "' =1"),
        ("-26.5", "-26.5"),
        ("+1.720", "+1.720"),
        ("1e-05", "1e-05"),
        ("-", "-"),
        ("he said = yes", "he said = yes"),
        (None, ""),
        (-3.5, "-3.5"),
    ],
)
def test_no_spreadsheet_runs_a_cell(cell: object, written: str) -> None:
    """A text that begins as a formula gets an apostrophe; a signed number stays a number."""
    assert csv_cell(cell) == written


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_takes_no_cell_for_markup(text: str) -> None:
    """Of readable text no sign is left that Markdown or HTML takes for its own, and it is one line."""
    told = readable_text(text)
    left = re.sub(r"&#\d+;", "", told)

    assert not set("&<>|[]*`\\@$~^") & set(left)
    assert told.isprintable()
    assert not re.search(r"(?<!\w)_|_(?!\w)", left)


def test_a_row_of_markdown_keeps_its_columns() -> None:
    """Every row of a hostile table has as many bars as its head, and a long table says how much is left out."""
    lines = hostile_table().markdown().splitlines()

    assert {line.count("|") for line in lines} == {4}
    assert hostile_table().markdown(2).endswith(f"and {len(HOSTILE) - 2} more; run.json has all.")


def test_a_column_without_a_figure_is_left_out_by_name() -> None:
    """Columns with a dash in every row go, and are named; a table without such stays as it is, as does an empty one."""
    table = Table("t", "", ("cue", "p", "auc"), [("a", "-", "0.5"), ("b", "-", "-")])
    shown, left_out = table.without_empty()

    assert (list(shown.head), shown.rows, left_out) == (["cue", "auc"], [["a", "0.5"], ["b", "-"]], ["p"])
    assert shown.without_empty() == (shown, [])
    empty = Table("t", "", ("cue",), [])
    assert empty.without_empty() == (empty, [])
