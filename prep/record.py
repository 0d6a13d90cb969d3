"""Record: what a run wrote down. run.json, the manifest that carries no label, and the private key.

docs/record.md describes every field. All of it is the same bytes every time under one secret, but
for `started`, `seconds` and `platform` of run.json.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import json
import platform
from dataclasses import asdict
from importlib import metadata
from typing import TYPE_CHECKING, Any

import prep
from prep import audio
from prep.spreadsheet import csv_cell
from prep.store import digest
from prep.visit import SOUND_LIBRARIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prep.passes import Entry
    from prep.slots import Slot

VOLATILE = ("started", "seconds", "platform")
# Besides what decides the sound: what checks the config, and what trains the scores.
LIBRARIES = tuple(sorted({*SOUND_LIBRARIES, "pydantic", "scikit-learn"}))
MANIFEST_HEAD = ("id", "sha256", "file", "bytes", "frames", "rate", "channels", "role")
KEY_HEAD = ("id", "status", "file_name", "source_sha256", "sha256", "text_sha256")
KEY_TAIL = ("half", "slot", "take", "replaces", "stages", "failed_step", "reason", "value", "limit")


def opaque_id(secret: bytes, row_name: str) -> str:
    """Return the id of a row: keyed, so that nobody without the secret can tell what it stands for.

    Args:
        secret: the study's secret.
        row_name: the row's file_name. Two rows with equal audio get different ids.
    """
    return hmac.new(secret, row_name.encode(), hashlib.sha256).hexdigest()[:16]


def clip_record(entry: Entry, secret: bytes) -> dict[str, Any]:
    """Return what run.json says of one row: source, treatment, delivery, or why there is none."""
    release = entry.rendered.get("release", {})
    delivered = entry.failure is None and bool(release)
    return {
        "id": opaque_id(secret, entry.row.file_name),
        "file_name": entry.row.file_name,
        "columns": entry.row.columns,
        "role": entry.row.role,
        "half": entry.half,
        "slot": entry.slot,
        "take": entry.row.take,
        "status": "delivered" if delivered else _status(entry),
        "failure": asdict(entry.failure) if entry.failure else None,
        "trace": entry.trace,
        "source": {
            "sha256": entry.inspection.get("sha256"),
            "facts": entry.inspection.get("facts"),
            "cues": entry.inspection.get("cues"),
        },
        "screen": entry.findings.model_dump(mode="json") if entry.findings else None,
        "stages": release.get("notes", {}) if delivered else {},
        "delivered": _delivery(release) if delivered else None,
        "evidence": _evidence(entry) if delivered else None,
    }


def slot_records(slots: Iterable[Slot], clips: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what became of each slot: the clip that fills it, whom it replaces and why, or that none does.

    Args:
        slots: of the study.
        clips: `clip_record` of every row, in the order of the table.
    """
    found = []
    for slot in slots:
        candidates = [clips[place] for place in slot.candidates]
        filled = next((clip["file_name"] for clip in candidates if clip["status"] == "delivered"), None)
        lost = [
            {"file_name": clip["file_name"], "reason": clip["failure"]["reason"]}
            for clip in candidates
            if clip["failure"]
        ]
        found.append({"slot": slot.name, "candidates": len(candidates), "filled_by": filled, "instead_of": lost})
    return found


def _status(entry: Entry) -> str:
    if entry.waiting:
        return "spare"
    return "rejected" if entry.failure and entry.failure.rejected else "failed"


def _delivery(answer: Mapping[str, Any]) -> dict[str, Any]:
    facts = {name: answer[name] for name in ("sha256", "bytes", "frames", "rate", "channels", "cues")}
    return {"file": f"audio/{answer['sha256']}{answer['suffix']}", **facts}


def _evidence(entry: Entry) -> dict[str, Any] | None:
    answer = entry.rendered.get("evidence")
    return {"sha256": answer["sha256"], "cues": answer["cues"]} if answer else None


def versions() -> dict[str, str]:
    """Return the version of prep and of every library that decides what a clip sounds like."""
    found = {name: metadata.version(name) for name in LIBRARIES}
    return {"listening-prep": prep.__version__, **found, **audio.library_versions()}


def this_platform() -> dict[str, str]:
    """Return the machine and the Python that made a run."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
    }


def json_bytes(record: Mapping[str, Any]) -> bytes:
    """Return a record as UTF-8 JSON that any strict reader takes."""
    return (json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def manifest_csv(clips: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the manifest: a row a delivered clip in the order of the ids; no label and no source."""
    delivered = sorted((clip for clip in clips if clip["delivered"]), key=lambda clip: str(clip["id"]))
    measures = list(dict.fromkeys(name for clip in delivered for name in _measures(clip)))
    rows = [{"id": clip["id"], "role": clip["role"], **clip["delivered"], **_measures(clip)} for clip in delivered]
    return _csv((*MANIFEST_HEAD, *measures), rows)


def _measures(clip: Mapping[str, Any]) -> dict[str, float]:
    """Return the delivered features of a clip by name, without those that are undefined."""
    features = [cue for cue in clip["delivered"]["cues"].values() if "undefined" not in cue]
    return {name: round(value, 4) for cue in features for name, value in cue.items()}


def key_csv(clips: Sequence[Mapping[str, Any]], slots: Sequence[Mapping[str, Any]] = ()) -> bytes:
    """Return the private key: a row a row of the clip table, in its order, with what became of it.

    Args:
        clips: `clip_record` of every row.
        slots: `slot_records` of the study.
    """
    replaces = {
        slot["filled_by"]: "; ".join(f"{lost['file_name']} ({lost['reason']})" for lost in slot["instead_of"])
        for slot in slots
        if slot["filled_by"]
    }
    own = {*KEY_HEAD, *KEY_TAIL} - {"file_name"}
    columns = list(dict.fromkeys(name for clip in clips for name in clip["columns"] if name != "file_name"))
    # A table column that has the name of one of the key's own is kept beside it.
    names = {name: f"table.{name}" if name in own else name for name in columns}
    rows = []
    for clip in clips:
        failure, text = clip["failure"] or {}, clip["columns"].get("text", "")
        rows.append(
            {
                **{names[name]: value for name, value in clip["columns"].items() if name in names},
                **{name: clip[name] for name in ("id", "status", "file_name", "half", "slot")},
                "take": json.dumps(clip["take"], ensure_ascii=False) if clip["take"] else None,
                "replaces": replaces.get(clip["file_name"]) or None,
                "source_sha256": clip["source"]["sha256"],
                "sha256": clip["delivered"]["sha256"] if clip["delivered"] else None,
                "text_sha256": digest(text.encode()) if text else None,
                "stages": json.dumps(clip["stages"], ensure_ascii=False) if clip["stages"] else None,
                "failed_step": failure.get("step"),
                **{name: failure.get(name) for name in ("reason", "value", "limit")},
            }
        )
    return _csv((*KEY_HEAD, *names.values(), *KEY_TAIL), rows)


def _csv(head: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as CSV with a header; None becomes an empty cell, and no cell is a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([csv_cell(name) for name in head])
    writer.writerows([csv_cell(row.get(name)) for name in head] for row in rows)
    return text.getvalue().encode()
