"""Cut page: what became of takes, line by line, to look through and listen to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from prep import audio
from prep.drawing import waveform_svg
from prep.errors import ClipError
from prep.page import printable, rendered
from prep.review import MOST_DRAWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prep.clip import Clip
    from prep.scripts import Take
    from prep.table import Row
    from prep.takes import CutTakes

AROUND_SECONDS = 1.0  # of the take that is drawn on either side of a clip


def cut_page(takes: Sequence[Take], cut: CutTakes) -> str:
    """Return the page of takes as HTML: each line with its text, its readings, where they were cut, and a player.

    Args:
        takes: with their lines.
        cut: what became of them; players name the clips by their file names, from the folder that the page lies in.
    """
    clips: dict[tuple[str, int], list[Row]] = {}
    for row in cut.rows:
        if row.take is not None and "line" in row.take:
            clips.setdefault((row.take["file_name"], row.take["line"]), []).append(row)
    drawn = 0
    shown = []
    for take, told in zip(takes, cut.takes, strict=True):
        sound = _sound(take) if drawn < MOST_DRAWN and told["clips"] else None
        missing = {line["line"]: line["why"] for line in told["missing"]}
        lines = []
        for line in take.lines:
            readings = sorted(clips.get((take.row.file_name, line.number), []), key=_rank)
            drawn += len(readings)
            about = {"number": line.number, "text": line.text, "why": missing.get(line.number, "")}
            lines.append({**printable(about), "readings": [_reading(row, sound) for row in readings]})
        shown.append({"told": printable(told), "lines": lines, "left_over": printable(_left_over(told))})
    return rendered("cut.html", takes=shown)


def _rank(row: Row) -> int:
    return int((row.take or {}).get("rank", 0))


def _sound(take: Take) -> Clip | None:
    try:
        return audio.decode(audio.read_bytes(Path(take.row.path)), take.row.file_name)[0]
    except ClipError:
        return None


def _reading(row: Row, sound: Clip | None) -> dict[str, Any]:
    """Return what the page tells of one reading of a line."""
    about = dict(row.take or {})
    figures = about["figures"]
    numbers = [(name, value) for name, value in figures.items() if isinstance(value, int | float)]
    told = {
        "name": row.file_name,
        "source": quote(row.file_name),
        "rank": about["rank"],
        "of": about["attempts"],
        "start_seconds": about["start_sample"] / about["rate"],
        "end_seconds": about["end_sample"] / about["rate"],
        "heard": about["heard"],
        "failed": figures["failed"],
        "numbers": numbers,
    }
    return {**printable(told), "waveform": _waveform(about, sound) if sound is not None else ""}


def _waveform(about: Mapping[str, Any], sound: Clip) -> str:
    """Return the clip in its take, with a second on either side and the clip marked."""
    around = round(AROUND_SECONDS * sound.rate)
    first, last = max(about["start_sample"] - around, 0), min(about["end_sample"] + around, sound.frames)
    excerpt = sound.with_samples(sound.samples[first:last])
    kept = [((about[name] - first) / sound.rate) for name in ("start_sample", "end_sample")]
    return waveform_svg(excerpt, [(kept[0], kept[1])], "waveform of the take around the clip, the clip marked")


def _left_over(told: Mapping[str, Any]) -> list[tuple[float, str]]:
    return [(run["start_sample"] / told["rate"], run["heard"]) for run in told["left_over"]]
