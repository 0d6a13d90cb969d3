"""The report as a page: from the record alone, the same bytes every time, harmless whatever the names."""

from __future__ import annotations

import copy
import csv
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from typer.testing import CliRunner

from prep.__main__ import app
from prep.charts import NAME_LENGTH, Curve, Dot, Interval, Region, Strip, curves, forest, shortened, strips
from prep.excerpts import read_excerpts
from prep.progress import Silent
from prep.recorded import alone_figure, widest_first
from prep.report import report_md
from prep.report_figures import battery
from prep.report_page import report_html
from prep.run import run_study

if TYPE_CHECKING:
    from pathlib import Path

MakeStudy = Any

HOSTILE = (
    "<img src=x onerror=alert(1)>\"'&{{7*7}}{% x %}\\end{document}$|`*_ \u202e😀"
    "</script><script>document.title='got'</script>"
    f"{'long' * 60}"
)
CUE_COLUMNS = (
    *("sources", "before", "after", "90 % interval", "p", "p familywise", "delivered", "matched"),
    *("widest number", "verdict"),
)


class Page(HTMLParser):
    """The tags, the text and the tables of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.tables: list[list[list[str]]] = []
        self._cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        """Leave a cell."""
        self._cell = self._cell and tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data
        if self._cell:
            self.tables[-1][-1][-1] += data


@pytest.fixture
def record(eventful: Path) -> dict[str, Any]:
    """Return the record of the eventful run."""
    found: dict[str, Any] = json.loads((eventful / "run.json").read_text(encoding="utf-8"))
    return found


def renamed(value: Any, names: dict[str, str]) -> Any:
    """Return a record in which names are other names, wherever they stand alone or at the end of a path."""
    if isinstance(value, dict):
        return {names.get(name, name): renamed(item, names) for name, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


# --------------------------------------------------------------------------- the same bytes


def test_an_earlier_report_comes_again_to_the_byte(eventful: Path, tmp_path: Path) -> None:
    """Rendered from the record and the excerpts beside it, the page is the one that the run left, and private."""
    left = (eventful / "report.html").read_bytes()
    assert (eventful / "report.html").stat().st_mode & 0o077 == 0
    for place in (eventful, eventful / "runs" / "0001", eventful / "run.json"):
        page = tmp_path / "page.html"
        done = CliRunner().invoke(app, ["report", str(place), "--page", str(page)])
        assert done.exit_code == 0
        assert "note:" not in done.output
        assert page.read_bytes() == left
        assert page.stat().st_mode & 0o077 == 0


def test_a_record_from_before_there_were_excerpts_has_a_page(record: dict[str, Any]) -> None:
    """A record without excerpts, references and openings is told as it is."""
    for name in ("excerpts", "references", "unblinded"):
        record.pop(name, None)

    assert "made before reports had players" in report_html(record)


# --------------------------------------------------------------------------- what it needs, and what it says


def test_the_page_needs_nothing_beside_it(eventful: Path) -> None:
    """No script, no outer link and no address: the page asks no network; all that is drawn or played has a label."""
    page = Page((eventful / "report.html").read_text(encoding="utf-8"))
    names = {tag for tag, _ in page.tags}
    addresses = [
        str(found[name]) for _, found in page.tags for name in ("src", "href", "srcset", "data") if name in found
    ]
    labelled = [found for tag, found in page.tags if tag in {"svg", "audio"}]

    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert all(address.startswith(("#", "data:audio/mpeg;base64,")) for address in addresses)
    assert len([1 for tag, _ in page.tags if tag == "svg"]) >= 20
    assert len([1 for tag, _ in page.tags if tag == "audio"]) >= 10
    assert all(found["aria-label"] for found in labelled)
    targets = {found.get("id") for _, found in page.tags}
    assert all(address[1:] in targets for address in addresses if address.startswith("#"))


def test_corrections_that_were_held_back_are_listed(record: dict[str, Any]) -> None:
    """A correction that was scaled down is first among those held back, with its share, in the list and the top."""
    clip = next(clip for clip in record["clips"] if "reference_eq" in clip["stages"])
    clip["stages"]["reference_eq"]["applied_percent"] = 61.0
    text = Page(report_html(record)).text
    listed = text.split("Corrections held back")[1].split("61 %")[0]

    assert "1 clip had the correction of reference_eq scaled down, to keep the crest factor." in text
    assert clip["file_name"] in listed
    assert len(listed) < 400  # nothing else is before it


def test_the_top_says_what_was_done_and_what_was_not(eventful: Path, record: dict[str, Any]) -> None:
    """Each step has its sentence, one-sided ones a mark; clips that were lost, empty slots and caps are told first."""
    top = Page((eventful / "report.html").read_text(encoding="utf-8")).text.split("Clips, conditions and split")[0]
    slope = record["fits"]["release"]["tilt_eq"]["applied_db_per_octave"]

    assert "8 of 11 clips delivered." in top
    assert all(f"{name}" in top for name in record["chain"])
    assert f"tilted 4 clips by one straight line of {slope:+.2f} dB/octave" in top
    assert "one-sided: condition human only" in top
    assert "2 slots unfilled, for no candidate could be used: human alone and human nothing." in top
    assert "Turned down: 2 clips at screen." in top
    assert "Failed: 1 clip at read." in top
    assert "8 clips reached the cap of reference_eq." in top
    assert re.search(r"Not settled, which is no pass, for \d of 4 cues", top)


def test_a_broken_limit_and_a_cue_still_told_apart_are_said_first(record: dict[str, Any]) -> None:
    """What a reader must not miss stands at the top, with its figures."""
    record["limits"] = [{"limit": "tilt.after.separation>0.1", "broken": True, "why": "it is 0.4"}]
    record["audit"]["after"]["tilt"] |= {"verdict": "told apart", "p": 0.01234, "auc": 0.9}
    top = Page(report_html(record)).text.split("What was not achieved")[2]

    assert top.index("The limit tilt.after.separation>0.1 is broken: it is 0.4.") < top.index("Still told apart")
    assert "Still told apart on held-out clips, the widest first: tilt (AUC 0.900, p = 0.0123)." in top


def test_numbers_are_those_of_the_record_everywhere(record: dict[str, Any]) -> None:
    """AUC, interval, p and verdict are the same in run.json, the Markdown report, the table and the picture."""
    # Few units give no p: it is set here, so that its rounding is seen.
    for place, tested in enumerate(record["audit"]["after"].values()):
        tested |= {
            "p": 0.0123456 * (place + 1),
            "p_familywise": 0.23456 / (place + 1),
            "auc_low": 0.1,
            "auc_high": 0.77777,
        }
    markdown, html = report_md(record), report_html(record)
    page = Page(html)
    table = next(rows for rows in page.tables if tuple(rows[0][1:]) == CUE_COLUMNS)
    audit = record["audit"]

    assert [row[0] for row in table[1:]] == widest_first(audit)
    for row in table[1:]:
        name, after = row[0], audit["after"][row[0]]
        told = [
            *(f"{audit[column][name]['auc']:.3f}" for column in ("sources", "before", "after")),
            "0.10 to 0.78",
            f"{after['p']:.3g}",
            f"{after['p_familywise']:.3g}",
            f"{audit['delivered'][name]['auc']:.3f}",
            f"{audit['delivered'][name]['auc_matched']:.3f}",
            alone_figure(after),
            after["verdict"],
        ]
        assert row[1:] == told
        assert "| " + " | ".join([name, *told]) + " |" in markdown
        for column in ("before", "after", "delivered"):
            assert f"{name} {column}: {audit[column][name]['auc']:.3f}" in page.text


def test_the_area_of_a_drawn_roc_is_the_auc_of_the_table(record: dict[str, Any], eventful: Path) -> None:
    """Pooled and matched curves of a cue of one number have the areas that run.json has."""
    text = Page((eventful / "report.html").read_text(encoding="utf-8")).text
    for when in ("before", "after"):
        found = record["audit"][when]["tilt"]
        assert f"{when}, area {found['auc']:.3f}" in text
        assert f"{when}, area {found['auc_matched']:.3f}" in text
    assert "90 % of exchanged labels" in text


def test_a_run_without_a_test_has_its_chart(record: dict[str, Any]) -> None:
    """Where nothing is tested the sources and the delivered AUCs are drawn, with a caption of what is drawn alone."""
    audit = record["audit"]
    audit["after"]["tilt"] |= {"auc_low": 0.2, "auc_high": 0.8}
    assert "after (with its 90 % interval)" in battery(audit, 0.15).caption
    for item in audit["after"].values():
        item |= {"auc_low": None, "auc_high": None}
    assert "interval" not in battery(audit, 0.15).caption
    audit |= {"before": None, "after": None, "after_retrained": None}
    page = Page(report_html(record))
    drawn = battery(audit, 0.15)

    for name in audit["cues"]:
        for column in ("sources", "delivered"):
            assert f"{name} {column}: {audit[column][name]['auc']:.3f}; descriptive only" in page.text
    assert drawn.caption in page.text
    assert drawn.caption.startswith("AUC of every cue: sources and delivered; the widest on top, as in the table.")
    assert "interval" not in drawn.caption
    assert "Columns without a figure are left out. before and after: nothing is held out" in page.text
    table = next(rows for rows in page.tables if rows[0][:2] == ["cue", "sources"])
    assert "p" not in table[0]


def test_chart_and_table_have_one_order(record: dict[str, Any]) -> None:
    """The cue that tells most by its own AUC is on top of both; the widest of a cue's numbers lifts it nowhere."""
    for item in record["audit"]["after"].values():
        item |= {"auc": 0.5, "separation": 0.0}
    record["audit"]["after"]["spectrum"] |= {"auc": 0.7, "separation": 0.2}
    record["audit"]["after"]["spectrum"]["numbers"]["spectrum_1000hz_db"] = 0.0
    record["audit"]["after"]["tilt"] |= {"auc": 0.9, "separation": 0.4}
    page = Page(report_html(record))
    table = next(rows for rows in page.tables if rows[0][:2] == ["cue", "sources"])

    assert [row[0] for row in table[1:3]] == ["tilt", "spectrum"]
    assert table[2][table[0].index("widest number")] == "spectrum_1000hz_db 0.000 (of 23)"
    assert page.text.index("tilt after: ") < page.text.index("spectrum after: ")


def test_each_clip_is_a_dot_that_says_its_id(record: dict[str, Any], eventful: Path) -> None:
    """In the pictures of level, each delivered clip has a dot before and after, with its id and its value."""
    html = (eventful / "report.html").read_text(encoding="utf-8")
    for clip in record["clips"]:
        if clip["delivered"]:
            for part in ("source", "delivered"):
                value = clip[part]["cues"]["loudness"]["integrated_lufs"]
                assert f"<title>{clip['id']}: {value:.2f}</title>" in html


def test_spectra_show_the_fitted_line_and_the_reference(record: dict[str, Any], eventful: Path) -> None:
    """Each condition has its spectrum; the line of tilt_eq is drawn for the adjusted one, the reference for both."""
    html = (eventful / "report.html").read_text(encoding="utf-8")
    slope = record["fits"]["release"]["tilt_eq"]["applied_db_per_octave"]

    assert html.count(f"fitted line, {slope:+.2f} dB/octave</title>") == 1
    assert html.count("reference of reference_eq</title>") == 2
    assert "median third-octave spectrum of human, before and after" in html
    for clip in record["clips"]:
        if clip["delivered"]:
            assert f"{clip['id']}: {clip['stages']['reference_eq']['mean_correction_db']:.2f}" in html


@pytest.mark.usefixtures("inline")
def test_a_given_reference_is_in_the_record(make_study: MakeStudy, eventful: Path) -> None:
    """Where the reference is a file the record holds its spectrum, so that the page can draw it."""
    sound = next((eventful / "audio").iterdir())
    chain = [{"reference_eq": {"files": [str(sound)]}}, {"shared_gain": {"target_lufs": -30}}, {"encode": {}}]
    config = make_study(speakers=2, passages=1, chain=chain, audit={"cues": ["spectrum"]})
    done = run_study(config, Silent())

    assert done.record["references"]["reference_eq"]["levels_db"]
    assert "reference of reference_eq" in (config.parent / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("inline")
def test_several_conditions_have_a_part_each_pair(make_study: MakeStudy) -> None:
    """With three conditions each pair has its picture, its table and its words under its name."""
    config = make_study(audit={"cues": ["tilt", "loudness"]}, chain=[{"encode": {}}])
    table = config.parent / "clips.csv"
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    for row in rows:
        row["condition"] = "other" if row["speaker"] in ("s2", "s3") else row["condition"]
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    values["compare"] = {"conditions": ["human", "synthetic", "other"]}
    config.write_text(yaml.safe_dump(values), encoding="utf-8")
    record = run_study(config, Silent()).record
    html = (config.parent / "out" / "report.html").read_text(encoding="utf-8")
    pairs = [f"{pair['a']} and {pair['b']}" for pair in record["audit"]["pairs"]]

    assert len(pairs) == 3
    assert [html.index(f"<h3>{pair}</h3>") for pair in pairs] == sorted(
        html.index(f"<h3>{pair}</h3>") for pair in pairs
    )
    assert html.count("AUC of every cue before, after and delivered") == 3
    # Two speakers a side give no interval and no p, and no clips are matched: such columns are left out.
    left = ("sources", "before", "after", "delivered", "verdict")
    assert sum(tuple(rows[0][1:]) == left for rows in Page(html).tables) == 3
    assert html.count("Columns without a figure are left out.") >= 3


# --------------------------------------------------------------------------- hostile names


def test_hostile_names_are_text(record: dict[str, Any], eventful: Path) -> None:
    """Markup, templates, TeX, control codes and long names, wherever a name can stand, reach the page as text only."""
    names = {"human": HOSTILE, "clipped.wav": HOSTILE + "2", "eventful": HOSTILE + "3", "s1": HOSTILE + "4"}
    names |= {"human alone": HOSTILE + "5"}
    # The cue table is looked up by condition in the record's own words as well.
    hostile = renamed(copy.deepcopy(record), names)
    hostile["clips"][0]["failure"] = {"step": HOSTILE, "reason": HOSTILE, "value": None, "limit": None}
    hostile["clips"][0] |= {"status": "rejected", "delivered": None, "stages": {}}
    hostile["notices"] = [HOSTILE]
    page = Page(
        report_html(
            hostile, read_excerpts(eventful, record), [{"time": "t", "user": HOSTILE, "record": "1", "reason": HOSTILE}]
        )
    )
    plain = Page((eventful / "report.html").read_text(encoding="utf-8"))

    assert {tag for tag, _ in page.tags} == {tag for tag, _ in plain.tags}
    attributes, own = ({name for _, found in held.tags for name in found} for held in (page, plain))
    assert attributes - own == {"textlength", "lengthadjust"}  # of a name that was shortened
    assert "<img src=x onerror=alert(1)>" in page.text
    assert "{{7*7}}" in page.text
    assert "\u202e" not in page.text
    assert "😀" in page.text


# --------------------------------------------------------------------------- pictures


def test_pictures_place_what_they_are_given() -> None:
    """A dot, a line and an interval lie where their values say; an empty picture is nothing."""
    drawn = strips([Strip("a", 0, [Dot(0.0, "x"), Dot(10.0, "y<")])], "level, dB", "levels")
    assert "y&lt;: 10.00" in drawn
    assert drawn.count("<circle") == 2
    assert strips([], "level", "none") == curves([], ("x", "y"), "none") == forest([], 0.15, "none") == ""
    line = curves([Curve("c", 0, [100.0, 1000.0, 10000.0], [0.0, 0.0, 0.0])], ("Hz", "dB"), "flat", logarithmic=True)
    assert 'points="46.0,122.0 223.0,122.0 400.0,122.0"' in line
    marks = {"before": 0.2, "after": 0.5, "delivered": 0.6}
    rows = forest([Interval("tilt", marks, 0.4, 0.6, "not settled", ("tilt_low", 0.0))], 0.15, "battery")
    assert 'x1="239.2" x2="292.8"' in rows
    assert "tilt after: 0.500; not settled" in rows
    assert "tilt, tilt_low alone: 0.000" in rows
    assert ">widest number</text>" in rows
    plain = forest([Interval("tilt", {"delivered": 0.6}, None, None, "descriptive only")], 0.15, "battery")
    assert plain.count("<circle") == 0  # neither drawn nor in the legend
    assert plain.count('class="delivered"') == 2


def test_a_region_and_what_lies_beyond_the_span_stay_in_the_picture() -> None:
    """A region is drawn from end to end with its name; values beyond the span are cut at its edges."""
    region = Region("chance", [0.0, 1.0], [0.0, 0.0], [1.0, 1.0])
    drawn = curves([Curve("c", 0, [0.0, 1.0], [-9.0, 9.0])], ("x", "y"), "cut", region=region, span=(0.0, 1.0))

    assert 'points="46.0,232.0 400.0,12.0"' in drawn
    assert 'class="band region" points="46.0,12.0 400.0,12.0 400.0,232.0 46.0,232.0"' in drawn
    assert ">chance</text>" in drawn


def test_long_names_are_shortened_in_the_middle() -> None:
    """A name beside a row keeps its ends and its place; whole it stands in its title."""
    name = "a" * 100 + "z" * 100
    drawn = strips([Strip(name, 0, [Dot(0.0, "x")])], "level", "levels")

    assert len(shortened(name, NAME_LENGTH)) == NAME_LENGTH
    assert shortened(name, NAME_LENGTH)[0] + shortened(name, NAME_LENGTH)[-1] == "az"
    assert f"<title>{name}</title>" in drawn
    assert shortened("short", NAME_LENGTH) == "short"
