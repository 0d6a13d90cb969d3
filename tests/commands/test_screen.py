"""prep screen: the checks alone, as a table, as JSON and as a page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner, Result

from prep.__main__ import app
from prep.clip import Clip
from prep.drawing import waveform_svg

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("inline")

RATE = 16000
HOSTILE = "a<b>&\"'—ü.wav"


def screen(*words: object) -> Result:
    """Call prep screen as a shell would, in this process."""
    return CliRunner().invoke(app, ["screen", *(str(word) for word in words)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a good clip, one that is too short, one that is no sound, and something else."""
    rng = np.random.default_rng(1)
    place = tmp_path / "clips"
    (place / "more").mkdir(parents=True)
    for name, seconds in (("good.wav", 2.0), (f"more/{HOSTILE}", 0.05)):
        soundfile.write(place / name, 0.1 * rng.standard_normal(round(seconds * RATE)), RATE, subtype="PCM_16")
    (place / "broken.wav").write_bytes(b"no sound")
    (place / "notes.txt").write_text("nothing", encoding="utf-8")
    return place


def test_a_folder_is_screened_without_a_table(folder: Path) -> None:
    """Every sound file below a folder is screened; a failing and a broken one are named, and the exit code is 1."""
    result = screen(folder, "--check", "duration", "--json")

    assert result.exit_code == 1
    found = {clip["file_name"]: clip for clip in json.loads(result.stdout)["clips"]}
    assert set(found) == {"good.wav", f"more/{HOSTILE}", "broken.wav"}
    assert found["good.wav"]["findings"][0]["outcome"] == "passed"
    finding = found[f"more/{HOSTILE}"]["findings"][0]
    assert (finding["outcome"], finding["feature"], finding["value"]) == ("failed", "duration_seconds", 0.05)
    assert found["broken.wav"]["error"]
    told = screen(folder, "--check", "duration").stdout
    assert "1 of 3 clips pass every check (duration)" in told


def test_clips_that_all_pass_are_done(folder: Path) -> None:
    """Where every clip passes every check, the exit code is 0; where none can be read, it is 4."""
    (folder / "broken.wav").unlink()
    (folder / "more" / HOSTILE).unlink()
    assert screen(folder, "--check", "duration").exit_code == 0
    (folder / "good.wav").write_bytes(b"")
    assert screen(folder, "--check", "duration").exit_code == 4


@pytest.mark.parametrize(
    ("check", "said"),
    [("clippng", "did you mean clipping?"), ("tilt", "has no limit of its own"), ("file", "no such check")],
)
def test_a_check_that_does_not_exist_is_named(folder: Path, check: str, said: str) -> None:
    """An unknown check, and one without a limit of its own, is refused with the way out."""
    result = screen(folder, "--check", check)

    assert result.exit_code == 3
    assert said in result.stderr


class Page(HTMLParser):
    """What a page holds: headings, players and waveforms."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.players: list[dict[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append(tag)
        if tag == "audio":
            self.players.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


def test_the_page_shows_failing_clips_first_and_escapes_names(folder: Path, tmp_path: Path) -> None:
    """The page lists broken, failing and passing clips in order; hostile names are text; players find the files."""
    page = tmp_path / "pages" / "review.html"
    assert screen(folder, "--check", "duration", "--page", page).exit_code == 1

    read = Page()
    read.feed(page.read_text(encoding="utf-8"))
    assert read.text.index("broken.wav") < read.text.index(HOSTILE) < read.text.index("good.wav")
    assert "b" not in read.tags
    assert read.tags.count("svg") == read.tags.count("audio") == 2
    assert [player["src"] for player in read.players] == [
        "../clips/more/a%3Cb%3E%26%22%27%E2%80%94%C3%BC.wav",
        "../clips/good.wav",
    ]
    assert all(player["aria-label"] for player in read.players)


def test_a_waveform_marks_where_it_was_told_to() -> None:
    """A waveform of a clip marks a span at its place, and draws the peaks of every column."""
    samples = np.zeros((1000, 1), np.float32)
    samples[500] = 0.5
    drawn = waveform_svg(Clip(samples, 1000), [(0.25, 0.5)], "a click")

    assert '<rect class="mark" x="150.0" y="0" height="64" width="150.0"/>' in drawn
    assert "M300 0.0V" in drawn
    assert 'aria-label="a click"' in drawn
    assert "nan" not in waveform_svg(Clip(np.full((1, 1), np.nan), 1000))
