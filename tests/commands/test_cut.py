"""prep cut: takes to a folder of clips, with a table that a study reads and a page to look through."""

from __future__ import annotations

import csv
import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import pytest
import soundfile
import yaml
from typer.testing import CliRunner, Result

from prep.__main__ import app
from prep.rows import check_rows
from prep.table import read_table

if TYPE_CHECKING:
    from pathlib import Path

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


class Page(HTMLParser):
    """What a page holds: tags, players and text."""

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


def test_the_page_shows_every_line_with_its_sound(folder: Path) -> None:
    """The page has a waveform and a player a clip, escapes texts and names, and says that nobody checked the words."""
    cut(folder / "takes.csv", "-o", folder / "out", "--no-recogniser")
    page = Page()
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
