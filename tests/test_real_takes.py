"""Takes of real readers, by their words: every line found, cut in its pauses, and none guessed."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile

from prep.attempts import Task, cut_take, rank_key, why_by_pauses
from prep.audio import decode, resample
from prep.classifiers.words import spoken, word_errors
from prep.recogniser import PINNED, words
from prep.store import Store

if TYPE_CHECKING:
    from prep.clip import Clip

PAUSE_SECONDS = 0.7
PADDING_SECONDS = 0.25
CUT_SECONDS = 0.15  # how far a cut may lie outside of the silence that was put between the sentences

PRINTING = "speech_real/ljspeech"
ASIDE = "speech_real/cmu_arctic"  # another reader
FALSE_START_SECONDS = 1.3

BRAIN = """The brain is wider than the sky,
For, put them side by side,
The one the other will include
With ease, and you beside.
The brain is deeper than the sea,
For, hold them, blue to blue,
The one the other will absorb,
As sponges, buckets do.
The brain is just the weight of God,
For, lift them, pound for pound,
And they will differ, if they do,
As syllable from sound."""


@pytest.fixture(scope="module")
def data() -> Path:
    """Return the folder of real recordings, or skip; skip too where the recogniser was not fetched."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder shared/ with real recordings is not beside the project")
    if why := why_by_pauses(PINNED):
        pytest.skip(why)
    return folder


@cache
def sources(data: Path) -> dict[str, str]:
    """Return the text of each recording by its path."""
    with (data / "SOURCES.tsv").open(newline="", encoding="utf-8") as file:
        return {row["path"]: row["text"] for row in csv.DictReader(file, delimiter="\t")}


@cache
def sentences(data: Path) -> tuple[list[Clip], list[str]]:
    """Return eight sentences of one reader, and what they say."""
    paths = sorted((data / PRINTING).glob("LJ001-*.wav"))
    clips = [decode(path.read_bytes(), path.name)[0] for path in paths]
    return clips, [sources(data)[f"{PRINTING}/{path.name}"] for path in paths]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for takes, and for what was heard in them."""
    return tmp_path_factory.mktemp("takes")


def cut(path: Path, lines: list[str], scratch: Path, why: str = "") -> dict[str, Any]:
    """Return what a take holds."""
    numbered = tuple(enumerate(lines, 1))
    edges = (PADDING_SECONDS, PADDING_SECONDS)
    return cut_take(
        Task(0, str(path), path.name, numbered, why, PINNED, 0.02, *edges, Store(scratch / "cache"), scratch)
    )


def joined(path: Path, clips: list[Clip]) -> list[tuple[float, float]]:
    """Write clips with room tone around each as one take; return where each is, in seconds."""
    rate = clips[0].rate
    draw = np.random.default_rng(3)
    parts, places, now = [], [], 0.0
    for clip in clips:
        parts += [1e-4 * draw.standard_normal(round(PAUSE_SECONDS * rate)), clip.mono()]
        places.append((now + PAUSE_SECONDS, now + PAUSE_SECONDS + clip.seconds))
        now += round(PAUSE_SECONDS * rate) / rate + clip.seconds
    parts.append(1e-4 * draw.standard_normal(round(PAUSE_SECONDS * rate)))
    soundfile.write(path, np.concatenate(parts), rate, subtype="PCM_24")
    return places


@pytest.fixture(scope="module")
def straight(data: Path, scratch: Path) -> tuple[Path, list[tuple[float, float]]]:
    """Return a take of the eight sentences in order, and where each is."""
    path = scratch / "straight.wav"
    return path, joined(path, sentences(data)[0])


def assert_cut_in_gaps(answer: dict[str, Any], places: list[tuple[float, float]]) -> None:
    """Assert that each clip begins and ends in the silence around its sentence."""
    for attempt, (begin, end) in zip(answer["attempts"], places, strict=True):
        start, stop = (attempt[name] / answer["rate"] for name in ("start_sample", "end_sample"))
        assert begin - PAUSE_SECONDS - CUT_SECONDS <= start <= begin + CUT_SECONDS
        assert end - CUT_SECONDS <= stop <= end + PAUSE_SECONDS + CUT_SECONDS


def test_every_sentence_of_a_take_is_found(data: Path, scratch: Path, straight: Any) -> None:
    """Eight sentences in a row are eight clips in order, cut in the silences between, and no check fails in one."""
    path, places = straight
    answer = cut(path, sentences(data)[1], scratch)

    assert [attempt["line"] for attempt in answer["attempts"]] == list(range(1, 9))
    assert (answer["missing"], answer["left_over"]) == ([], [])
    assert_cut_in_gaps(answer, places)
    assert all(attempt["figures"]["failed"] == [] for attempt in answer["attempts"])


def test_no_word_is_lost_by_cutting(data: Path, scratch: Path, straight: Any) -> None:
    """In every other clip by itself the recogniser hears at most one word in ten other than the script has."""
    lines = sentences(data)[1]
    answer = cut(straight[0], lines, scratch)
    for attempt, line in list(zip(answer["attempts"], lines, strict=True))[1::2]:
        written = scratch / f"{attempt['clip_sha256']}.wav"
        heard = words(decode(written.read_bytes(), written.name)[0])
        wanted = spoken(line)

        assert word_errors(wanted, spoken(" ".join(word.text for word in heard))) <= len(wanted) / 10


def test_lines_out_of_order_doubled_missing_and_an_aside(data: Path, scratch: Path) -> None:
    """Out of order each is found, the doubled twice; the missing is named; false start and aside are in no clip."""
    clips, lines = sentences(data)
    path = next((data / ASIDE).glob("*.wav"))
    aside = resample(decode(path.read_bytes(), path.name)[0], clips[0].rate)
    start = clips[5].with_samples(clips[5].samples[: round(FALSE_START_SECONDS * clips[5].rate)])
    order = [3, -1, 5, 6, 1, -2, 0, 4, -3, 7]  # -3 is line 1 again, too loud for the microphone
    clipped = clips[1].with_samples(np.clip(8 * clips[1].samples, -0.9, 0.9))
    take = scratch / "wild.wav"
    places = joined(take, [{-1: start, -2: aside, -3: clipped}.get(number, clips[number]) for number in order])
    answer = cut(take, lines, scratch)
    lines_of = [1 if number == -3 else number for number in order]
    wanted = [(number, place) for number, place in zip(lines_of, places, strict=True) if number >= 0]

    assert [attempt["line"] for attempt in answer["attempts"]] == [number + 1 for number, _ in wanted]
    twice = [attempt for attempt in answer["attempts"] if attempt["line"] == 2]
    assert [attempt["attempt"] for attempt in twice] == [1, 2]
    assert [attempt["figures"]["failed"] for attempt in twice] == [[], ["clipping"]]
    assert min(twice, key=rank_key) is twice[0]
    assert_cut_in_gaps(answer, [place for _, place in wanted])
    (missing,) = answer["missing"]
    assert (missing["line"], missing["text"]) == (3, lines[2])
    assert "was not heard" in missing["why"]
    assert len(answer["left_over"]) == 2
    for run, place in zip(answer["left_over"], (places[1], places[5]), strict=True):
        assert place[0] - 0.3 <= run["start_sample"] / answer["rate"] <= place[1]


def test_pauses_alone_tell_sentences_apart_or_refuse(data: Path, scratch: Path, straight: Any) -> None:
    """By pauses alone the straight take is cut as by its words; with a line missing in the script none is guessed."""
    path, places = straight
    lines = sentences(data)[1]
    answer = cut(path, lines, scratch, "nobody listens")

    assert [attempt["line"] for attempt in answer["attempts"]] == list(range(1, 9))
    assert_cut_in_gaps(answer, places)
    assert all(attempt["heard"] is None for attempt in answer["attempts"])
    short = cut(path, lines[:3] + lines[4:], scratch, "nobody listens")
    assert short["attempts"] == []
    assert [line["line"] for line in short["missing"]] == list(range(1, 8))


def sonnet(data: Path, name: str) -> tuple[Path, list[str]]:
    """Return the reading of a sonnet, and its lines."""
    file_name = f"speech_real/long/{name}.mp3"
    return data / file_name, [line.strip() for line in sources(data)[file_name].split("/")][1:]  # without its number


@pytest.mark.parametrize(("name", "found", "cut_out"), [("p001", 14, 14), ("p002", 14, 9)])
def test_verse_is_found_line_by_line(data: Path, scratch: Path, name: str, found: int, cut_out: int) -> None:
    """Every line of a sonnet is heard; those that the reader ran together have no clip, and are told as such."""
    path, lines = sonnet(data, name)
    answer = cut(path, lines, scratch)
    tight = [line for line in answer["missing"] if "read in one breath" in line["why"]]

    assert len(lines) == found
    assert len({attempt["line"] for attempt in answer["attempts"]}) >= cut_out
    assert len(tight) == len(answer["missing"])
    assert all(attempt["start_sample"] < attempt["onset_sample"] for attempt in answer["attempts"])
    assert max(attempt["figures"]["word_error_percent"] for attempt in answer["attempts"]) <= 40


def test_lines_that_run_on_have_a_clip_together(data: Path, scratch: Path) -> None:
    """When the lines of a sonnet that are told to be read in one breath are made one line, every line has a clip."""
    path, lines = sonnet(data, "p002")
    whys = {line["why"] for line in cut(path, lines, scratch)["missing"]}
    assert whys
    for why in whys:
        first, *_, last = (int(number) for number in re.findall(r"\d+", why.partition(" are read")[0]))
        lines[first - 1 : last] = [" ".join(lines[first - 1 : last]), *[""] * (last - first)]
    answer = cut(path, [line for line in lines if line], scratch)

    assert answer["missing"] == []


def test_a_poem_behind_a_preamble_is_found(data: Path, scratch: Path) -> None:
    """Twelve lines of a poem are found behind a spoken preamble, which is in no clip."""
    path = next((data / "librivox_preamble" / "dickinson").glob("23-*.mp3"))
    answer = cut(path, BRAIN.split("\n"), scratch)

    assert answer["missing"] == []
    assert {attempt["line"] for attempt in answer["attempts"]} == set(range(1, 13))
    assert any("read for" in run["heard"] for run in answer["left_over"])
