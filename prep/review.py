"""Review: screened clips as one page to look through and listen to, failing ones first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from prep import audio
from prep.destinations import check_destination, writing_to
from prep.drawing import waveform_svg
from prep.errors import ClipError, ConfigError, Problem
from prep.names import exists
from prep.page import printable, rendered
from prep.stages.screen import CHECKS
from prep.store import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from prep.screening import Finding, Findings
    from prep.screens import Screened
    from prep.table import Row

MOST_DRAWN = 500  # clips with a picture; the rest are listed
TITLE = "Screened clips"  # by which a page is known
HEAD_BYTES = 1000  # of a page, with its title


def check_page(page: Path) -> None:
    """See that a page can be written, before the work, and that no other file is there.

    Raises:
        ConfigError: what is there is no page of screened clips.
        RefusedError: its folder cannot be written.
    """
    if page.is_dir():
        raise ConfigError([Problem(str(page), "is a folder", "name the page in it, as review.html")])
    if exists(page) and not _is_page(page):
        raise ConfigError([Problem(str(page), "is there already, and is no page of a screen", "name another file")])
    check_destination(page.parent)


def _is_page(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return f"<title>{TITLE}</title>".encode() in file.read(HEAD_BYTES)
    except OSError:
        return False


def write_page(screened: Screened, page: Path) -> None:
    """Write the page of screened clips.

    Raises:
        RefusedError: it cannot be written.
    """
    text = review_page(screened, page)
    with writing_to(page):
        write_whole(page, text.encode())


def review_page(screened: Screened, page: Path) -> str:
    """Return the page of screened clips as HTML: each with its waveform, what was found in it, and a player.

    Args:
        screened: the clips.
        page: where the page will lie; players name the files from there.
    """
    clips = list(zip(screened.rows, screened.findings, screened.errors, strict=True))
    clips.sort(key=lambda clip: _urgency(clip[1], clip[2]))
    shown = [_shown(*clip, page, drawn=place < MOST_DRAWN) for place, clip in enumerate(clips)]
    counts: dict[str, int] = {}
    for clip in shown:
        counts[clip["state"]] = counts.get(clip["state"], 0) + 1
    place = printable(screened.place)
    return rendered("review.html", title=TITLE, place=place, checks=screened.checks, clips=shown, counts=counts)


def _urgency(found: Findings | None, error: str) -> int:
    """Return the place of a clip in the page: unreadable, failing, cut or flagged, not checked, passed."""
    return ("unreadable", "failed", "cut or flagged", "not checked", "passed").index(_state(found, error))


def _state(found: Findings | None, error: str) -> str:
    if error or found is None:
        return "unreadable"
    if found.worst() is not None:
        return "failed"
    if found.cut_for or any(item.outcome == "failed" for item in found.findings):
        return "cut or flagged"
    return "not checked" if any(item.outcome == "not checked" for item in found.findings) else "passed"


def _shown(row: Row, found: Findings | None, error: str, page: Path, *, drawn: bool) -> dict[str, Any]:
    """Return what the page tells of one clip."""
    told = [] if found is None else [item for item in (*found.cut_for, *found.findings) if item.outcome != "passed"]
    about = {
        "name": row.file_name,
        "state": _state(found, error),
        "error": error,
        "told": [
            {"check": item.check, "outcome": item.outcome, "reason": item.reason, "evidence": _evidence(item)}
            for item in told
        ],
        # The bytes of a name that is not UTF-8 are those of the file.
        "source": quote(os.path.relpath(row.path, page.absolute().parent), errors="surrogateescape"),
    }
    spans = [span for item in told for span in spans_of(item)]
    return {**printable(about), "waveform": _waveform(row, spans) if drawn and not error else ""}


def spans_of(finding: Finding) -> list[tuple[float, float]]:
    """Return where in the clip a finding is, (start, end) in seconds: as its check told in `spans`, or what it cuts."""
    told = [(float(start), float(end)) for start, end in finding.evidence.get("spans", [])]
    cuts = finding.feature == CHECKS[finding.check].CUE.CUT if finding.check in CHECKS else False
    return told or ([(0.0, finding.value)] if cuts and finding.value else [])


def _evidence(finding: Finding) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in finding.evidence.items() if name != "spans"]


def _waveform(row: Row, spans: list[tuple[float, float]]) -> str:
    try:
        clip, _ = audio.decode(audio.read_bytes(row.path), row.file_name)
    except ClipError:
        return ""
    return waveform_svg(clip, spans, "waveform, with what was found marked" if spans else "waveform")
