"""Listening: the clips of a report that should be heard, each with why, its waveform and its players."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from prep.charts import shortened
from prep.drawing import outline_svg, read_outline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Record = dict[str, Any]

PARTS = {
    "source": "before: the source",
    "delivered": "after: as delivered",
    "in_its_place": "in its place: as delivered",
}
KIND_WORDS = {"cut": "cut at the start", "lowered": "under its target", "capped": "at the cap", "scaled": "scaled down"}
LABEL_LENGTH = 80  # letters of a name that a screen reader says before each player


def heard_clips(record: Record, sounds: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Return what the page shows of each clip that should be heard.

    Args:
        record: run.json; one without excerpts gives none.
        sounds: the excerpts that are at hand, by the name that the record gives them.
    """
    by_name = {clip["file_name"]: clip for clip in record["clips"]}
    found = []
    for item in (record.get("excerpts") or {}).get("clips", ()):
        clip = by_name[item["file_name"]]
        found.append(
            {
                "name": clip["file_name"],
                "id": clip["id"],
                "kinds": [KIND_WORDS.get(kind, kind) for kind in item["kinds"]],
                "state": "failed" if clip["failure"] else "cut",
                "reasons": list(_reasons(clip)),
                "parts": [_part(clip, item[name], words, sounds) for name, words in PARTS.items() if name in item],
            }
        )
    return found


def missing_excerpts(record: Record, sounds: Mapping[str, bytes]) -> int:
    """Return how many excerpts the record names that are not at hand."""
    clips = (record.get("excerpts") or {}).get("clips", ())
    return sum(item[name]["file"] not in sounds for item in clips for name in PARTS if "file" in item.get(name, {}))


def _reasons(clip: Record) -> Iterator[str]:
    """Yield why a clip should be heard, in words."""
    if clip["failure"]:
        yield f"{clip['failure']['step']}: {clip['failure']['reason']}"
        return
    screen = clip["screen"] or {"cut_for": (), "findings": ()}
    for cut in screen["cut_for"]:
        yield f"screen: {cut['value']:.2f} s of its start were cut off: {cut['reason']}"
    for finding in screen["findings"]:
        if finding["outcome"] == "failed":
            yield f"screen: flagged: {finding['reason']}"
    for stage, note in clip["stages"].items():
        if note.get("limited_db"):
            yield f"{stage}: the limiter took up to {note['limited_db']:.1f} dB off its peaks"
        if note.get("lowered_by_db"):
            yield f"{stage}: {note['lowered_by_db']:.2f} dB under its target, for the ceiling"
        if note.get("capped_percent"):
            yield f"{stage}: at the cap in {note['capped_percent']:.1f} % of its band"
        if note.get("applied_percent", 100.0) < 100:
            yield f"{stage}: its correction scaled to {note['applied_percent']:.0f} %, for the crest factor"


def _part(clip: Record, part: Mapping[str, Any], words: str, sounds: Mapping[str, bytes]) -> dict[str, Any]:
    """Return one sound of a clip: its waveform, its player, or why there is none."""
    if "missing" in part:
        return {"words": words, "picture": "", "sound": None, "missing": part["missing"]}
    name = shortened(str(clip["file_name"]), LABEL_LENGTH)
    start, seconds, whole = part["start_seconds"], part["seconds"], part["clip_seconds"]
    marked = ", what was found marked" if part["spans"] else ""
    label = f"waveform of {name}, {words}{marked}"
    outline = read_outline(part["outline"])
    data = sounds.get(part["file"])
    peak = "silent" if part["peak_dbfs"] is None else f"peak {part['peak_dbfs']:.1f} dBFS"
    heard = "all of it" if seconds >= whole else f"{start:.1f} s to {start + seconds:.1f} s"
    return {
        "words": words,
        "picture": Markup(outline_svg(outline, whole, part["spans"], label, (start, start + seconds))),  # noqa: S704
        "about": f"{whole:.1f} s, {peak}; to hear: {heard}",
        "label": f"play {name}, {words}",
        "sound": None if data is None else audio_uri(data),
        "missing": "its excerpt is not beside the record any more" if data is None else "",
    }


def audio_uri(data: bytes) -> str:
    """Return an MP3 as an address that holds the sound itself."""
    return f"data:audio/mpeg;base64,{base64.b64encode(data).decode()}"
