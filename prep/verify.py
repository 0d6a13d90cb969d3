"""Verify: hash and decode everything a run left, and name what is not as recorded."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from prep import audio
from prep.errors import ClipError, ConfigError, Problem
from prep.excerpts import parts_of
from prep.publish import EXCERPTS, PRIVATE, is_private, latest_record, records_of
from prep.recorded import REPORT_FOLDER
from prep.store import digest
from prep.study import load_study


@dataclass(frozen=True)
class Verification:
    """What was looked at, and what is not as recorded."""

    output: Path
    clips: int = 0
    records: int = 0
    problems: list[Problem] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 where everything is as recorded, else 1."""
        return 1 if self.problems else 0


def verify_output(path: Path) -> Verification:
    """Check a run's output folder (or that of a study's config) against its own record.

    Raises:
        ConfigError: there is no run to verify.
    """
    output = path
    if path.is_file():
        loaded = load_study(path)
        output = loaded.path(loaded.study.output)
    if latest_record(output) is None:
        raise ConfigError([Problem(str(output), "holds no run", "name the output folder of prep run, or its config")])
    records = sorted(records_of(output))
    problems: list[Problem] = []
    for folder in records:
        problems += _record_problems(folder)
    problems += _copy_problems(output, records[-1])
    if (output / "secret").exists() and _others_can_read(output / "secret"):
        problems.append(Problem(str(output / "secret"), "can be read by others", f"chmod {PRIVATE:o}, or run again"))
    manifest = _read(output / "manifest.csv", problems)
    rows = list(csv.DictReader(io.StringIO((manifest or b"").decode("utf-8", "replace"))))
    for row in rows:
        problems += _clip_problems(output, row)
    listed = {row.get("file", "") for row in rows}
    problems += [
        Problem(f"audio/{extra.name}", "is not in the manifest", "take it out, or run again")
        for extra in sorted((output / "audio").glob("*"))
        if f"audio/{extra.name}" not in listed
    ]
    return Verification(output, len(rows), len(records), problems)


def _read(path: Path, problems: list[Problem]) -> bytes | None:
    """Return a file's bytes; None, and a problem, where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        problems.append(Problem(str(path), error.strerror or str(error), "run again"))
        return None


def _record_problems(folder: Path) -> list[Problem]:
    """Return what is wrong with one record: it must hold the very files whose hashes it states."""
    problems: list[Problem] = []
    data = _read(folder / "run.json", problems)
    try:
        record = json.loads(data or b"")
        files = {_inside(name): str(sha256) for name, sha256 in record["files"].items()}
        excerpts = {str(part["sha256"]) for part in parts_of(record)}
    except (ValueError, KeyError, TypeError, AttributeError):
        return [*problems, Problem(str(folder / "run.json"), "is not a record", "restore it from a copy")]
    problems += [
        Problem(str(path), "its bytes are not those of its name", "restore it from a copy")
        for path in sorted([*(folder / "audio").glob("*"), *(folder / EXCERPTS).glob("*")])
        if digest(path.read_bytes()) != path.stem
    ]
    problems += _excerpt_problems(folder / EXCERPTS, excerpts)
    for name, sha256 in files.items():
        held = _read(folder / name, problems)
        if held is not None and digest(held) != sha256:
            problems.append(Problem(str(folder / name), "is not what run.json says", "restore it from a copy"))
    return problems


def _excerpt_problems(folder: Path, wanted: set[str]) -> list[Problem]:
    """Return which sounds of a record's report are missing, are none of it, or can be read by others."""
    held = {path.stem: path for path in folder.glob("*")}
    problems = [
        Problem(str(folder / f"{sha256}.mp3"), "is missing: the report has no player for it", "restore it from a copy")
        for sha256 in sorted(wanted - held.keys())
    ]
    problems += [
        Problem(str(held[sha256]), "is no sound of this record", "take it out")
        for sha256 in sorted(held.keys() - wanted)
    ]
    return problems + [
        Problem(str(path), "can be read by others", f"chmod {PRIVATE:o} {path.name}")
        for path in sorted(held.values())
        if _others_can_read(path)
    ]


def _copy_problems(output: Path, latest: Path) -> list[Problem]:
    """Return which of the output folder's own copies differ from the latest record."""
    problems: list[Problem] = []
    for path in sorted(item for item in (*latest.iterdir(), *(latest / REPORT_FOLDER).glob("*")) if item.is_file()):
        name = path.relative_to(latest).as_posix()
        if _read(output / name, problems) != path.read_bytes():
            problems.append(Problem(str(output / name), f"differs from runs/{latest.name}", "run again"))
        elif is_private(name) and _others_can_read(output / name):
            problems.append(Problem(str(output / name), "can be read by others", f"chmod {PRIVATE:o}, or run again"))
    return problems


def _inside(name: str) -> str:
    """Return the name of a record's file, which lies in its folder or in that of its report, whatever run.json says."""
    path = Path(name)
    return f"{REPORT_FOLDER}/{path.name}" if path.parent.name == REPORT_FOLDER else path.name


def _others_can_read(path: Path) -> bool:
    return os.name == "posix" and bool(path.stat().st_mode & 0o077)


def _clip_problems(output: Path, row: dict[str, str]) -> list[Problem]:
    """Return what is wrong with one delivered clip."""
    name = row.get("file") or ""
    problems: list[Problem] = []
    data = _read(output / name, problems)
    if data is None:
        return problems
    if digest(data) != row["sha256"] or Path(name).stem != row["sha256"]:
        return [Problem(name, "its bytes are not those of the manifest", "run again: a damaged file is written anew")]
    try:
        clip, _ = audio.decode(data, name)
    except ClipError as error:
        return [Problem(name, f"does not decode: {error}", "run again")]
    found = {"bytes": len(data), "frames": clip.frames, "rate": clip.rate, "channels": clip.channels}
    return [
        Problem(name, f"{field} is {value}, the manifest says {row[field]}", "run again")
        for field, value in found.items()
        if str(value) != row[field]
    ]
