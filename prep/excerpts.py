"""Excerpts: a few seconds of the clips that a reader of the report should hear, kept beside the record.

Which clips, and which part of each, follows from the record alone; the sound is made once, by the run, for the sources
may have moved when the report is read. An excerpt is mono, small and for listening to a fault, not for measuring one.
Its file is named by the hash of its bytes and is as private as the key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prep import audio, encoding
from prep.drawing import kept_outline, outline_of
from prep.errors import ClipError
from prep.level import sample_peak_dbfs
from prep.publish import EXCERPTS, latest_record
from prep.store import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from prep.clip import Clip
    from prep.store import Store

    Span = tuple[float, float]

MOST_CLIPS = 40  # with sound on a page: 4 s before and after of each are 3.5 MB of it
SECONDS = 4.0
LEAST_DB = 0.05  # that a limiter took; less is none to hear, and 0.0 in print
BEFORE_SECONDS = 0.5  # heard before the first marked span
RATE, KBPS = 24000, 64  # of the MP3, which every browser plays; LAME keeps the length at no lower bitrate
COLUMNS = 240  # of a waveform's outline
# Why a clip is heard, the most urgent first; the places are dealt round these kinds, so that none crowds out another.
KINDS = ("rejected", "failed", "cut", "flagged", "limited", "lowered", "scaled", "capped")


class Wanted(NamedTuple):
    """A clip to hear: its place in the record, why, and what is marked in its source."""

    place: int
    kinds: tuple[str, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Excerpts:
    """What the record says of the excerpts, and their bytes by the name of their file."""

    record: dict[str, Any]
    files: dict[str, bytes] = field(default_factory=dict, repr=False)


def wanted_clips(record: Mapping[str, Any]) -> tuple[list[Wanted], int]:
    """Return which clips a reader should hear, by why and how much, and how many more there would be.

    Args:
        record: run.json; of clips that could not be read there is nothing to hear.
    """
    ranked: dict[str, list[tuple[float, int]]] = {kind: [] for kind in KINDS}
    kinds_of: dict[int, tuple[str, ...]] = {}
    for place, clip in enumerate(record["clips"]):
        found = dict(_reasons(clip)) if clip["source"]["facts"] else {}
        if found:
            kinds_of[place] = tuple(kind for kind in KINDS if kind in found)
            kind = kinds_of[place][0]
            ranked[kind].append((-found[kind], place))
    queues = [[place for _, place in sorted(ranked[kind])] for kind in KINDS]
    dealt = [place for place in chain.from_iterable(zip_longest(*queues)) if place is not None]
    chosen = frozenset(dealt[:MOST_CLIPS])
    wanted = [
        Wanted(place, kinds_of[place], tuple(_spans(record["clips"][place]["screen"])))
        for place in chain.from_iterable(queues)
        if place in chosen
    ]
    return wanted, len(dealt) - len(chosen)


def _reasons(clip: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield why a clip should be heard, and how much so."""
    if clip["status"] in ("rejected", "failed"):
        yield clip["status"], 0.0
        return
    screen = clip["screen"] or {"cut_for": (), "findings": ()}
    if screen["cut_for"]:
        yield "cut", float(screen["cut_seconds"])
    if any(item["outcome"] == "failed" for item in screen["findings"]):
        yield "flagged", 0.0
    notes = [*clip["stages"].values()]
    amounts = {
        "limited": max((note.get("limited_db") or 0.0 for note in notes), default=0.0),
        "lowered": max((note.get("lowered_by_db") or 0.0 for note in notes), default=0.0),
        "scaled": max((100 - note.get("applied_percent", 100.0) for note in notes), default=0.0),
        # A fit that is capped is capped for all clips alike; here only what a clip itself ran into counts.
        "capped": max((note.get("capped_percent") or 0.0 for note in notes if note.get("capped")), default=0.0),
    }
    least = {"limited": LEAST_DB, "lowered": LEAST_DB, "scaled": 0.0, "capped": 0.0}
    yield from ((kind, amount) for kind, amount in amounts.items() if amount > least[kind])


def _spans(screen: Mapping[str, Any] | None) -> Iterator[Span]:
    """Yield where in a source the screen found what it failed it for."""
    for item in (screen or {}).get("findings", ()):
        if item["outcome"] == "failed":
            yield from ((float(start), float(end)) for start, end in item["evidence"].get("spans", ()))
    for item in (screen or {}).get("cut_for", ()):
        yield from (
            (float(start), float(end)) for start, end in item["evidence"].get("spans", ((0.0, item["value"] or 0.0),))
        )


def made_excerpts(record: Mapping[str, Any], sources: Sequence[Path], store: Store) -> Excerpts:
    """Return the excerpts of a run: of each clip's source, of what was delivered, and of what stands in its place.

    Args:
        record: run.json without them.
        sources: the file of each clip, in the order of the record's clips.
        store: holds the delivered bytes by their hash.
    """
    wanted, left_out = wanted_clips(record)
    by_name = {clip["file_name"]: clip for clip in record["clips"]}
    stand_ins = {
        lost["file_name"]: by_name[slot["filled_by"]]
        for slot in record["slots"]
        for lost in slot["instead_of"]
        if slot["filled_by"]
    }
    files: dict[str, bytes] = {}
    told = []
    for item in wanted:
        clip = record["clips"][item.place]
        source = _Part(clip["source"]["sha256"], item.spans, _first(item.spans))
        parts = {"source": _part(source, _source_bytes(sources[item.place]), files)}
        start = parts["source"].get("start_seconds")
        if clip["delivered"]:
            moved = None if start is None else start + _moved_seconds(clip)
            parts["delivered"] = _part(_delivered(clip, moved), store.get(clip["delivered"]["sha256"]), files)
        elif stand_in := stand_ins.get(clip["file_name"]):
            parts["in_its_place"] = _part(_delivered(stand_in, None), store.get(stand_in["delivered"]["sha256"]), files)
        told.append({"file_name": clip["file_name"], "kinds": list(item.kinds), **parts})
    return Excerpts({"most_clips": MOST_CLIPS, "left_out_clips": left_out, "clips": told}, files)


class _Part(NamedTuple):
    """What is wanted of a sound: its hash, what is marked in it, and where to start; None starts at the loudest."""

    sha256: str
    spans: tuple[Span, ...]
    start_seconds: float | None


def _delivered(clip: Mapping[str, Any], start_seconds: float | None) -> _Part:
    return _Part(clip["delivered"]["sha256"], (), start_seconds)


def _first(spans: Iterable[Span]) -> float | None:
    starts = [start for start, _ in spans]
    return max(min(starts) - BEFORE_SECONDS, 0.0) if starts else None


def _moved_seconds(clip: Mapping[str, Any]) -> float:
    """Return by how much later a sound of the source lies in what was delivered."""
    cut = (clip["screen"] or {}).get("cut_seconds", 0.0)
    return float(sum(note.get("head_change_seconds") or 0.0 for note in clip["stages"].values()) - cut)


def _source_bytes(path: Path) -> bytes | None:
    try:
        return audio.read_bytes(path)
    except ClipError:
        return None


def _part(part: _Part, data: bytes | None, files: dict[str, bytes]) -> dict[str, Any]:
    """Return what the record says of one excerpt, and add its bytes to the files; or why there is none."""
    if data is None or digest(data) != part.sha256:
        return {"missing": "the sound was not there any more when the excerpt was made"}
    try:
        clip, _ = audio.decode(data, "excerpt")
        start = _loudest_seconds(clip) - SECONDS / 2 if part.start_seconds is None else part.start_seconds
        start = min(max(start, 0.0), max(clip.seconds - SECONDS, 0.0))
        heard = _heard(clip, start)
        coded = encoding.encode_mp3(audio.resample(heard, RATE), KBPS)
    except ClipError as error:
        return {"missing": str(error).removeprefix("excerpt: ")}
    sha256 = digest(coded)
    name = f"{EXCERPTS}/{sha256}.mp3"
    files[name] = coded
    peak = sample_peak_dbfs(clip)
    return {
        "file": name,
        "sha256": sha256,
        "start_seconds": round(start, 3),
        "seconds": round(heard.seconds, 3),
        "clip_seconds": round(clip.seconds, 3),
        "peak_dbfs": None if peak is None else round(peak, 2),
        "spans": [list(span) for span in part.spans],
        "outline": kept_outline(outline_of(clip, COLUMNS)),
    }


def _loudest_seconds(clip: Clip) -> float:
    return int(np.abs(np.nan_to_num(clip.mono())).argmax()) / clip.rate


def _heard(clip: Clip, start: float) -> Clip:
    """Return the part of a clip that is kept, in mono."""
    first = round(start * clip.rate)
    return clip.with_samples(clip.mono()[first : first + round(SECONDS * clip.rate), None].astype(np.float32))


def read_excerpts(place: Path, record: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the excerpts of a record that are still there and whole, by the name of their file.

    Args:
        place: an output folder, one of its runs/NNNN, or a run.json.
        record: what run.json there holds.
    """
    folder = place.parent if place.is_file() else place
    homes = [folder, *([latest] if (latest := latest_record(folder)) else [])]
    found: dict[str, bytes] = {}
    for part in parts_of(record):
        for home in homes:
            try:
                data = (home / EXCERPTS / f"{part['sha256']}.mp3").read_bytes()
            except OSError:
                continue
            if digest(data) == part["sha256"]:
                found[part["file"]] = data
    return found


def parts_of(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what a record says of each excerpt that it has."""
    for clip in (record.get("excerpts") or {}).get("clips", ()):
        yield from (part for part in clip.values() if isinstance(part, dict) and "sha256" in part)
