"""The files of a report, one by one: from the record alone, with its figures, private, harmless whatever the names."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from prep.__main__ import app
from prep.charts import Curve, curves
from prep.methods import methods_md
from prep.progress import Silent
from prep.publish import PRIVATE, PRIVATE_FOLDER
from prep.recorded import alone_figure, figure, p_figure, widest_first
from prep.report import report_md
from prep.report_files import report_files
from prep.run import run_study
from prep.standalone import PNG_SCALE, png_file, svg_file
from prep.stimuli import stimuli_csv, stimuli_tex
from prep.store import digest
from prep.verify import verify_output

MakeStudy = Any

PNG = b"\x89PNG\r\n\x1a\n"
HOSTILE = (
    "<img src=x onerror=alert(1)>\"'&|`[@cite](http://x)*_$^~#%\\input{x}\\end{longtable} \u202e😀\n=1+1 " + "x" * 300
)


RUN: dict[str, Path] = {}


@pytest.fixture
def output(make_study: MakeStudy, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an output folder of a small study, a copy of its own for each test; the study is run once."""
    if "out" not in RUN:
        config = make_study(audit={"cues": ["tilt", "loudness", "spectrum"]})
        run_study(config, Silent())
        RUN["out"] = tmp_path_factory.mktemp("run") / "out"
        shutil.copytree(config.parent / "out", RUN["out"])
    return Path(shutil.copytree(RUN["out"], tmp_path / "copy"))


def record_of(output: Path) -> dict[str, Any]:
    """Return the record of a run as it was written."""
    record: dict[str, Any] = json.loads((output / "run.json").read_text(encoding="utf-8"))
    return record


def rows_of(data: bytes) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline="")))


@pytest.mark.usefixtures("inline")
def test_they_are_made_from_the_record_alone(output: Path) -> None:
    """The record that is read back gives each file's very bytes again, and states their hashes."""
    record = record_of(output)
    made = report_files(record)

    assert {f"report/{path.name}" for path in (output / "report").iterdir()} == made.keys()
    for name, data in made.items():
        assert (output / name).read_bytes() == data == (output / "runs" / "0001" / name).read_bytes()
        assert record["files"][name] == digest(data)


@pytest.mark.usefixtures("inline")
def test_they_are_for_the_owner_alone(output: Path) -> None:
    """They name conditions: files have mode 0600 and their folder 0700, and verify says where that is not so."""
    for folder in (output, output / "runs" / "0001"):
        assert (folder / "report").stat().st_mode & 0o777 == PRIVATE_FOLDER
        assert {path.stat().st_mode & 0o777 for path in (folder / "report").iterdir()} == {PRIVATE}
    assert not verify_output(output).problems
    (output / "report" / "cues.csv").chmod(0o644)
    (output / "runs" / "0001" / "report" / "stimuli.tex").write_bytes(b"other")

    found = {(problem.what, problem.where.rsplit("report/", 1)[-1]) for problem in verify_output(output).problems}
    assert found == {
        ("can be read by others", "cues.csv"),
        ("is not what run.json says", "stimuli.tex"),
        ("differs from runs/0001", "stimuli.tex"),
    }


@pytest.mark.usefixtures("inline")
def test_a_later_run_leaves_no_file_of_an_earlier_one(make_study: MakeStudy) -> None:
    """What the latest record does not have is gone from the top and stays in its own record; others' files stay."""
    config = make_study(speakers=2, passages=1, audit={"cues": ["tilt", "loudness", "spectrum"]})
    run_study(config, Silent())
    output = config.parent / "out"
    (output / "report" / "mine.txt").write_text("a note")
    config.write_text(config.read_text(encoding="utf-8").replace("- spectrum\n", ""), encoding="utf-8")
    run_study(config, Silent())

    assert (output / "runs" / "0001" / "report" / "spectrum-1.svg").is_file()
    assert not (output / "report" / "spectrum-1.svg").exists()
    assert (output / "report" / "mine.txt").is_file()


@pytest.mark.usefixtures("inline")
def test_every_picture_is_whole_as_svg_and_as_png(output: Path) -> None:
    """Each picture of the captions is XML that needs nothing beside it, and a PNG three times as wide."""
    names = [row["file"] for row in rows_of((output / "report" / "captions.csv").read_bytes())]

    assert {"level-1.svg", "level-2.svg", "spectrum-1.svg", "cues.svg", "roc-1.svg"} <= set(names)
    for name in names:
        svg = (output / "report" / name).read_text(encoding="utf-8")
        root = ET.fromstring(svg)  # noqa: S314 - made by ourselves
        png = (output / "report" / name.replace(".svg", ".png")).read_bytes()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in svg
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
        assert png.startswith(PNG)
        assert int.from_bytes(png[16:20]) == round(float(root.attrib["width"]) * PNG_SCALE)


def test_a_picture_has_the_colours_of_the_page_and_its_words() -> None:
    """A chart that stands alone has ink, colours by series and text; without the text, other pixels come out."""
    drawn = str(
        curves([Curve("one", 0, [1.0, 2.0], [1.0, 2.0]), Curve("two", 1, [1.0, 2.0], [2.0, 1.0])], ("x", "y"), "l")
    )
    svg = svg_file(drawn).decode()

    for colour in ("#1f5fa8", "#b5521b", "#1b1f24"):
        assert colour in svg
    assert png_file(drawn) == png_file(drawn)
    assert png_file(drawn) != png_file(re.sub(r"<text.*?</text>", "", drawn))
    assert png_file(drawn) != png_file(drawn.replace(" s1", " s0"))


@pytest.mark.usefixtures("inline")
def test_tables_hold_the_figures_of_the_record(output: Path) -> None:
    """Each AUC, p and verdict of the cue table, as CSV and as LaTeX, is that of run.json."""
    record = record_of(output)
    table = {row["cue"]: row for row in rows_of((output / "report" / "cues.csv").read_bytes())}
    tex = (output / "report" / "cues.tex").read_text(encoding="utf-8")

    assert list(table) == widest_first(record["audit"])
    for cue, row in table.items():
        for column in ("sources", "before", "after", "delivered"):
            assert row[column] == figure(record["audit"][column][cue]["auc"])
        assert row["widest number"] == alone_figure(record["audit"]["after"][cue])
        assert row["p"] == p_figure(record["audit"]["after"][cue]["p"])
        assert row["verdict"] == record["audit"]["after"][cue]["verdict"]
        assert re.search(rf"^{cue} & {' & '.join(list(row.values())[1:4])} & ", tex, re.MULTILINE)


@pytest.mark.usefixtures("inline")
def test_report_and_methods_hold_the_figures_of_the_record(output: Path) -> None:
    """Every AUC in methods.md and in the cue table of report.md is one of run.json's."""
    record = record_of(output)
    known = {
        figure(item.get(name))
        for column in ("sources", "before", "after", "delivered")
        for item in record["audit"][column].values()
        for name in ("auc", "auc_tested", "auc_matched")
    }
    known |= {
        figure(auc)
        for column in ("after", "delivered")
        for item in record["audit"][column].values()
        for auc in item.get("numbers", {}).values()
    }
    known |= {
        p_figure(item[name])
        for item in record["audit"]["after"].values()
        for name in ("p", "p_familywise", "smallest_p")
    }
    report, methods = ((output / name).read_text(encoding="utf-8") for name in ("report.md", "methods.md"))

    assert report == report_md(record)
    assert methods == methods_md(record)
    told = re.findall(r"(?<![\d.])[01]\.\d{3}(?!\d)", methods)
    assert len(told) >= 5
    assert set(told) <= known
    tilt = record["audit"]
    before, after = (figure(tilt[column]["tilt"]["auc"]) for column in ("before", "after"))
    assert f"AUC of tilt was {before} before and {after}" in methods
    assert f"(*{tilt['after']['tilt']['verdict']}*" in methods
    assert f"one straight line of {record['fits']['release']['tilt_eq']['applied_db_per_octave']:+.2f}" in methods
    for cue in record["audit"]["cues"]:
        row = next(line for line in report.splitlines() if line.startswith(f"| {cue} |"))
        cells = [cell.strip() for cell in row.split("|")]
        assert cells[2:5] == [figure(record["audit"][column][cue]["auc"]) for column in ("sources", "before", "after")]


@pytest.mark.usefixtures("inline")
def test_stimuli_have_what_a_paper_needs(output: Path) -> None:
    """Each delivered clip has a row: id, condition, text, measures and corrections; the caption tells exclusions."""
    record = record_of(output)
    rows = {row["id"]: row for row in rows_of((output / "stimuli.csv").read_bytes())}
    tex = (output / "report" / "stimuli.tex").read_text(encoding="utf-8")

    assert "No clip was excluded." in tex
    assert len(rows) == 16
    for clip in record["clips"]:
        row = rows[clip["id"]]
        assert {name: row[name] for name in ("condition", "speaker", "passage", "text")} == {
            name: clip["columns"][name] for name in ("condition", "speaker", "passage", "text")
        }
        tilt = clip["delivered"]["cues"]["tilt"]["tilt_db_per_octave"]
        assert row["tilt_db_per_octave"] == f"{tilt:.3f}"
        assert ("tilt_eq applied_db_per_octave" in row["corrections"]) == (clip["columns"]["condition"] == "human")
        assert f"shared_gain gain_db {clip['stages']['shared_gain']['gain_db']:.3f}" in row["corrections"]


@pytest.mark.usefixtures("inline")
def test_hostile_names_are_text_everywhere(output: Path) -> None:
    """Markup of HTML, Markdown and LaTeX, formulae, control codes and 300 letters come out as text alone."""
    record = record_of(output) | {"study": HOSTILE}
    for clip in record["clips"]:
        clip["file_name"] = HOSTILE + clip["file_name"]
        clip["columns"] = {name: f"{value} {HOSTILE}" for name, value in clip["columns"].items()} | {"text": HOSTILE}
        clip["failure"] = {"step": "screen", "reason": HOSTILE, "value": 1.0, "limit": 0.0}
    record["notices"] = [HOSTILE]
    pages = {name: text(record) for name, text in (("report.md", report_md), ("methods.md", methods_md))}

    for page in pages.values():
        assert "<img" not in page
        assert "\u202e" not in page
        assert "[@cite]" not in page
        assert "](http" not in page
        assert not re.search(r"&(?!#\d+;)", page)
    lines = [line for line in pages["report.md"].splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in lines if "&#60;img" in line} <= {
        line.count("|") for line in lines if "---" in line
    }
    assert all(row["text"].endswith("x" * 300) for row in rows_of(stimuli_csv(record)))
    tex = stimuli_tex(record).decode("utf-8")
    assert "\\input{x}" not in tex
    assert tex.count("\\end{longtable}") == 1
    assert "\u202e" not in tex
    files = report_files(record)
    for name, data in files.items():
        if name.endswith(".svg"):
            root = ET.fromstring(data)  # noqa: S314 - made by ourselves
            assert "img" not in {element.tag for element in root.iter()}
        if name.endswith((".md", ".tex", ".csv", ".svg", ".bib")):
            assert b"\x1b" not in data
            assert "\u202e".encode() not in data or name.endswith(".csv")


@pytest.mark.usefixtures("inline")
def test_prep_report_makes_them_again(output: Path, tmp_path: Path) -> None:
    """`prep report RUN --files` gives a numbered record's very files again; with --blind it is refused."""
    place = tmp_path / "paper"
    command = ["report", str(output / "runs" / "0001"), "--page", str(tmp_path / "page.html"), "--files", str(place)]
    done = CliRunner().invoke(app, command)

    assert done.exit_code == 0, done.output
    made = {path.name: path.read_bytes() for path in place.iterdir()}
    kept = {path.name: path.read_bytes() for path in (output / "report").iterdir()}
    assert made == kept | {"methods.md": (output / "methods.md").read_bytes()}
    assert place.stat().st_mode & 0o777 == PRIVATE_FOLDER
    assert CliRunner().invoke(app, [*command, "--blind"]).exit_code == 2
