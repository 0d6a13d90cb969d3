"""The report as a page: from the record alone, the same bytes every time, harmless whatever the names."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from prep.charts import Curve, Dot, Interval, Strip, curves, forest, strips
from prep.progress import Silent
from prep.report_page import report_html
from prep.run import run_study

if TYPE_CHECKING:
    from pathlib import Path

MakeStudy = Any

HOSTILE = "<img src=x onerror=alert(1)>\"'&{{7*7}}\\end \u202e😀"


class Page(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


@pytest.fixture
def record(make_study: MakeStudy) -> tuple[Path, dict[str, Any]]:
    """Run a small study; return its output folder and its record."""
    config = make_study(audit={"cues": ["tilt", "loudness", "spectrum"]})
    run_study(config, Silent())
    output = config.parent / "out"
    return output, json.loads((output / "run.json").read_text(encoding="utf-8"))


@pytest.mark.usefixtures("inline")
def test_the_page_is_made_from_the_record_alone(record: tuple[Path, dict[str, Any]]) -> None:
    """Rendering the record that was read back from disk gives the very bytes that the run left."""
    output, values = record

    assert report_html(values).encode() == (output / "report.html").read_bytes()
    assert (output / "report.html").stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("inline")
def test_the_page_needs_nothing_beside_it(record: tuple[Path, dict[str, Any]]) -> None:
    """No script, no link and no address: the page asks no network, and every picture has a label."""
    page = Page(report_html(record[1]))

    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "a"}
    assert not any("http" in str(value) for _, attributes in page.tags for value in attributes.values())
    charts = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(charts) >= 5
    assert all(attributes["aria-label"] for attributes in charts)


@pytest.mark.usefixtures("inline")
def test_the_page_tells_the_figures_of_the_record(record: tuple[Path, dict[str, Any]]) -> None:
    """Each cue's AUC before, after and delivered stands in the battery as in run.json."""
    _, values = record
    page = Page(report_html(values))

    for name in ("tilt", "loudness", "spectrum", "all"):
        for column in ("before", "after", "delivered"):
            assert f"{name} {column}: {values['audit'][column][name]['auc']:.3f}" in page.text


@pytest.mark.usefixtures("inline")
def test_hostile_names_are_text(make_study: MakeStudy) -> None:
    """Markup, templates and control codes in names, texts and titles reach the page as text only."""
    config = make_study(audit={"cues": ["tilt", "loudness"]}, study=HOSTILE)
    table = config.parent / "clips.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("text 0", HOSTILE.replace('"', '""')), encoding="utf-8")
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    config.write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")
    run_study(config, Silent())
    page = Page((config.parent / "out" / "report.html").read_text(encoding="utf-8"))

    assert "img" not in {tag for tag, _ in page.tags}
    assert "49" not in page.text.split("What was done")[0]
    assert "<img src=x onerror=alert(1)>" in page.text
    assert "\u202e" not in page.text


def test_pictures_place_what_they_are_given() -> None:
    """A dot, a line and an interval lie where their values say; an empty picture is nothing."""
    drawn = strips([Strip("a", 0, [Dot(0.0, "x"), Dot(10.0, "y<")])], "level, dB", "levels")
    assert "y&lt;: 10.00" in drawn
    assert drawn.count("<circle") == 2
    assert strips([], "level", "none") == curves([], ("x", "y"), "none") == forest([], 0.15, "none") == ""
    line = curves([Curve("c", 0, [100.0, 1000.0, 10000.0], [0.0, 0.0, 0.0])], ("Hz", "dB"), "flat", logarithmic=True)
    assert 'points="70.0,162.0 363.0,162.0 656.0,162.0"' in line
    rows = forest([Interval("tilt", 0.2, 0.5, 0.6, 0.4, 0.6, "not settled")], 0.15, "battery")
    assert 'x1="364.4" x2="461.6"' in rows
    assert "tilt after: 0.500; not settled" in rows
