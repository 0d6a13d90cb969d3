"""prep screen: the checks alone, as a table, as JSON and as a page."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

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


def test_a_folder_that_is_not_there_is_told_with_the_nearest_name(folder: Path) -> None:
    """A path where nothing is is called that, with the name that was meant."""
    result = screen(folder.parent / "clipps")

    assert result.exit_code == 3
    assert "there is no such file or folder; did you mean 'clips'?" in result.stderr


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


def test_the_page_shows_failing_clips_first_and_escapes_names(
    folder: Path, tmp_path: Path, new_page: type[Any]
) -> None:
    """The page lists broken, failing and passing clips in order; hostile names are text; players find the files."""
    page = tmp_path / "pages" / "review.html"
    assert screen(folder, "--check", "duration", "--page", page).exit_code == 1

    read = new_page()
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


def test_every_sound_file_of_a_folder_is_screened(folder: Path, new_page: type[Any]) -> None:
    """A file whose name holds a line break is screened like any other, and its name is one line of the page."""
    (folder / "good.wav").rename(folder / "new\nline\u202e.wav")
    page = folder / "page.html"
    result = screen(folder, "--check", "duration", "--page", page, "--json")

    assert "new\nline\u202e.wav" in {clip["file_name"] for clip in json.loads(result.stdout)["clips"]}
    text = page.read_text(encoding="utf-8")
    read = new_page()
    read.feed(text)
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert r"new\nline\u202e.wav" in read.text
    assert {"new%0Aline%E2%80%AE.wav"} < {player["src"] for player in read.players}


def test_what_is_left_out_is_told(folder: Path) -> None:
    """Sound files that a folder's table does not list, or its pattern does not match, are named."""
    pattern = screen(folder, "--check", "duration", "--pattern", "g{rest}.wav")
    (folder / "metadata.csv").write_text("file_name\ngood.wav\n", encoding="utf-8")
    table = screen(folder, "--check", "duration")

    assert pattern.exit_code == table.exit_code == 0
    assert "note: broken.wav: does not match the pattern, and 1 more likewise" in pattern.stderr
    assert "note: broken.wav: is not in the table; it is left out" in table.stderr


def test_names_that_are_no_clips_stop_no_folder(folder: Path) -> None:
    """A link to nothing, a pipe and a name that is not UTF-8 are named with what to do, and the rest is screened."""
    try:
        (folder / "nowhere.wav").symlink_to("gone.wav")
        os.mkfifo(folder / "pipe.wav")
        (folder / os.fsdecode(b"x\xff.wav")).write_bytes(b"")
    except (AttributeError, OSError):
        pytest.skip("this system has no links, no pipes, or no names but UTF-8")
    page = folder / "page.html"
    result = screen(folder, "--check", "duration", "--page", page, "--json")
    found = {clip["file_name"]: clip for clip in json.loads(result.stdout)["clips"]}

    assert result.exit_code == 1
    assert found["good.wav"]["findings"][0]["outcome"] == "passed"
    assert found["nowhere.wav"]["error"] == "'nowhere.wav' is a link to nothing; mend the link"
    assert found["pipe.wav"]["error"] == "'pipe.wav' is no regular file; name a sound file"
    assert found["x\udcff.wav"]["error"].endswith("is not UTF-8; rename the file")
    assert r"x\udcff.wav" in page.read_text(encoding="utf-8")
    for name in ("good.wav", "broken.wav", f"more/{HOSTILE}"):
        (folder / name).unlink()
    assert screen(folder, "--check", "duration").exit_code == 4


def test_a_page_is_written_over_a_page_alone(folder: Path, tmp_path: Path) -> None:
    """A page replaces a page; a clip, a table or any other file in its place is named before the work, and stays."""
    page = tmp_path / "page.html"
    (tmp_path / "other.html").write_text("<title>Mine</title>", encoding="utf-8")
    assert screen(folder, "--check", "duration", "--page", page).exit_code == 1
    assert screen(folder, "--check", "duration", "--page", page).exit_code == 1
    for place in (folder / "good.wav", folder / "notes.txt", tmp_path / "other.html"):
        before = place.read_bytes()
        result = screen(folder, "--check", "duration", "--page", place)
        assert result.exit_code == 3
        assert f"{place}: is there already, and is no page of a screen; name another file" in result.stderr
        assert "screen: " not in result.stderr
        assert place.read_bytes() == before


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("clips", "clips: is a folder; name the page in it, as review.html"),
        ("clips/good.wav/page.html", "good.wav: is no folder; name another output"),
        ("/proc/nothing/page.html", "No such file or directory; make room or name another output, and run again"),
    ],
)
def test_a_page_that_cannot_be_written_is_told_before_the_work(folder: Path, page: str, said: str) -> None:
    """A folder for a page, a file for its folder, and a folder that cannot be made are named before any screening."""
    if page.startswith("/proc") and not folder.joinpath("/proc").is_dir():
        pytest.skip("this system has no folder /proc")
    result = screen(folder, "--check", "duration", "--page", folder.parent / page)

    assert result.exit_code == 3
    assert said in result.stderr
    assert "screen: " not in result.stderr


def test_a_full_disk_is_told(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the page cannot be written in the end, it is named with what to do."""

    def full(_path: Path, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("prep.review.write_whole", full)
    result = screen(folder, "--check", "duration", "--page", tmp_path / "page.html")
    assert result.exit_code == 3
    assert "page.html: No space left on device; make room or name another output" in result.stderr
