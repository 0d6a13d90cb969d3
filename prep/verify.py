"""Verify: hash and decode everything a run left, and name what is not as recorded."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prep import audio
from prep.errors import ClipError, ConfigError, Problem
from prep.excerpts import parts_of, read_excerpts
from prep.publish import EXCERPTS, PRIVATE, is_private, records_of
from prep.record import key_csv, manifest_csv, opaque_id
from prep.recorded import REPORT_FOLDER
from prep.records import read_record
from prep.report_page import report_html
from prep.spreadsheet import csv_cell
from prep.store import digest
from prep.study import load_study
from prep.unblinding import LOG, read_unblinded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FROM_A_COPY = "restore it from a copy"


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
    if _is_file(path):
        loaded = load_study(path)
        output = loaded.path(loaded.study.output)
    folders = sorted(records_of(output))
    if not folders:
        raise ConfigError([Problem(str(output), "holds no run", "name the output folder of prep run, or its config")])
    problems: list[Problem] = []
    records: dict[str, Mapping[str, Any]] = {}
    for folder in folders:
        try:
            records[folder.name] = read_record(folder)
        except ConfigError as error:
            problems += error.problems
        else:
            problems += _record_problems(folder, records[folder.name])
    problems += _copy_problems(output, folders[-1])
    problems += _secret_problems(output / "secret", records)
    problems += _log_problems(output, records)
    rows = _rows(output / "manifest.csv", problems)
    for line, row in enumerate(rows, 2):
        problems += _clip_problems(output, row, line)
    listed = {row.get("file") for row in rows}
    problems += [
        Problem(f"audio/{extra.name}", "is not in the manifest", "take it out, or run again")
        for extra in _entries(output / "audio", problems)
        if f"audio/{extra.name}" not in listed
    ]
    return Verification(output, len(rows), len(folders), problems)


def _is_file(path: Path) -> bool:
    """Say whether a file is there; one that cannot be looked at is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def _entries(folder: Path, problems: list[Problem]) -> list[Path]:
    """Return what is in a folder, if there is one; nothing, and a problem, where it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(Problem(str(folder), f"cannot be read: {error.strerror or error}", "make it yours to read"))
        return []


def _read(path: Path, problems: list[Problem], todo: str = FROM_A_COPY) -> bytes | None:
    """Return a file's bytes; None, and a problem, where it cannot be read."""
    try:
        if path.exists() and not path.is_file():
            problems.append(Problem(str(path), "is no file", "take it out"))
            return None
        return path.read_bytes()
    except (OSError, ValueError) as error:
        problems.append(Problem(str(path), getattr(error, "strerror", None) or str(error), todo))
        return None


def _rows(path: Path, problems: list[Problem]) -> list[dict[str, str]]:
    """Return the rows of a table that prep wrote; none, and a problem, where it is no table."""
    data = _read(path, problems, "run again")
    try:
        return list(csv.DictReader(io.StringIO((data or b"").decode("utf-8", "replace"))))
    except csv.Error as error:
        problems.append(Problem(str(path), f"is no table: {error}", "run again"))
        return []


def _record_problems(folder: Path, record: Mapping[str, Any]) -> list[Problem]:
    """Return what is wrong with one record: it must hold the very files whose hashes it states, and no others."""
    problems: list[Problem] = []
    excerpts = _entries(folder / EXCERPTS, problems)
    for path in (*_entries(folder / "audio", problems), *excerpts):
        held = _read(path, problems)
        if held is not None and digest(held) != path.stem:
            problems.append(Problem(str(path), "its bytes are not those of its name", FROM_A_COPY))
    wanted = {str(part["sha256"]) for part in parts_of(record)}
    problems += _excerpt_problems(folder / EXCERPTS, excerpts, wanted)
    stated = {_inside(name): sha256 for name, sha256 in record["files"].items()}
    for name, sha256 in stated.items():
        held = _read(folder / name, problems)
        if held is not None and digest(held) != sha256:
            problems.append(Problem(str(folder / name), "is not what run.json says", FROM_A_COPY))
    for path in _files_of(folder, problems):
        name = path.relative_to(folder).as_posix()
        if name not in stated and name != "run.json":
            problems.append(Problem(str(path), "is none of the files that run.json states", "take it out"))
        if is_private(name):
            problems += _privacy_problems(path)
    return problems + _table_problems(folder, record)


def _files_of(folder: Path, problems: list[Problem]) -> list[Path]:
    """Return the files of a record, those of its report among them."""
    found = (*_entries(folder, problems), *_entries(folder / REPORT_FOLDER, problems))
    return sorted(path for path in found if _is_file(path))


def _table_problems(folder: Path, record: Mapping[str, Any]) -> list[Problem]:
    """Return where a record's manifest and key say otherwise than its run.json, from which both were made.

    Of a table of another version the columns that this one has too are compared.
    """
    made = {"manifest.csv": manifest_csv(record["clips"]), "key.csv": key_csv(record["clips"], record["slots"])}
    problems: list[Problem] = []
    for name, data in made.items():
        held = _read(folder / name, [])  # told where its hash is
        if held not in (None, data) and (what := _disagreement(held or b"", data)):
            problems.append(Problem(str(folder / name), f"does not agree with run.json: {what}", FROM_A_COPY))
    return problems


def _disagreement(held: bytes, made: bytes) -> str:
    """Return in what two tables first differ; empty where they do not."""
    try:
        tables = [list(csv.DictReader(io.StringIO(data.decode("utf-8", "replace")))) for data in (held, made)]
    except csv.Error as error:
        return str(error)
    if len(tables[0]) != len(tables[1]):
        return f"{len(tables[0])} rows in place of {len(tables[1])}"
    for number, (row, other) in enumerate(zip(*tables, strict=True), 1):
        for column in other.keys() & row.keys():
            if csv_cell(row[column]) != other[column]:  # earlier versions left formulas as they were
                return f"{column} of row {number}"
    return ""


def _excerpt_problems(folder: Path, files: Iterable[Path], wanted: set[str]) -> list[Problem]:
    """Return which sounds of a record's report are missing, are none of it, or can be read by others."""
    held = {path.stem: path for path in files}
    problems = [
        Problem(str(folder / f"{sha256}.mp3"), "is missing: the report has no player for it", FROM_A_COPY)
        for sha256 in sorted(wanted - held.keys())
    ]
    problems += [
        Problem(str(held[sha256]), "is no sound of this record", "take it out")
        for sha256 in sorted(held.keys() - wanted)
    ]
    return problems + [problem for path in sorted(held.values()) for problem in _privacy_problems(path)]


def _copy_problems(output: Path, latest: Path) -> list[Problem]:
    """Return which of the output folder's own copies differ from the latest record, and what its report has besides."""
    problems: list[Problem] = []
    names = [path.relative_to(latest).as_posix() for path in _files_of(latest, [])]  # told where its hashes are
    for name in names:
        held = _read(output / name, problems, "run again")
        if held is None:
            continue
        kept = _read(latest / name, [])  # told where its hash is
        if held != kept and not (name == "report.html" and held == _report_today(output, latest)):
            problems.append(Problem(str(output / name), f"differs from runs/{latest.name}", "run again"))
        elif is_private(name):
            problems += _privacy_problems(output / name)
    return problems + [
        Problem(f"{REPORT_FOLDER}/{extra.name}", f"is no file of runs/{latest.name}", "take it out")
        for extra in _entries(output / REPORT_FOLDER, problems)
        if names and f"{REPORT_FOLDER}/{extra.name}" not in names
    ]


def _secret_problems(path: Path, records: Mapping[str, Mapping[str, Any]]) -> list[Problem]:
    """Return what is wrong with the secret: ids that it keyed must come of it again."""
    own = {name: record for name, record in records.items() if record.get("own_secret")}
    if not own and not path.exists():
        return []
    problems: list[Problem] = []
    data = _read(path, problems)
    if data is None:
        return problems
    secret = data.strip()
    problems += [
        Problem(str(path), f"is not what keyed the ids of runs/{name}", FROM_A_COPY)
        for name, record in own.items()
        if any(clip["id"] != opaque_id(secret, clip["file_name"]) for clip in record["clips"])
    ]
    return problems + _privacy_problems(path)


def _log_problems(output: Path, records: Mapping[str, Mapping[str, Any]]) -> list[Problem]:
    """Return what is wrong with the log of openings: it holds what records cite of it, and its lines their hashes."""
    path = output / LOG
    try:
        entries = read_unblinded(output)
    except ConfigError as error:
        return list(error.problems)
    problems = [
        Problem(str(path), f"does not begin with the openings that runs/{name} cites", FROM_A_COPY)
        for name, record in records.items()
        if entries[: len(record["unblinded"])] != record["unblinded"]
    ]
    kept = {folder.name for folder in records_of(output)}
    for entry in entries:
        if entry["record"] not in kept:
            what = f"names runs/{entry['record']}, opened on {entry['time']}, which is not there"
            problems.append(Problem(str(path), what, FROM_A_COPY))
        if entry["record"] in records:
            file = output / "runs" / entry["record"] / "run.json"
            held = _read(file, problems)
            if held is not None and digest(held) != entry["run_sha256"]:
                what = f"is not what it was when the study was opened on {entry['time']}"
                problems.append(Problem(str(file), what, FROM_A_COPY))
    return problems + (_privacy_problems(path) if path.exists() else [])


def _report_today(output: Path, latest: Path) -> bytes:
    """Return the report that `prep report` makes of a record, which says when the study was opened since.

    Of a record or a log that is damaged, and told as such elsewhere, there is none.
    """
    try:
        record = read_record(latest)
        return report_html(record, read_excerpts(latest, record), read_unblinded(output)).encode()
    except ConfigError:
        return b""


def _inside(name: str) -> str:
    """Return the name of a record's file, which lies in its folder or in that of its report, whatever run.json says."""
    path = Path(name)
    return f"{REPORT_FOLDER}/{path.name}" if path.parent.name == REPORT_FOLDER else path.name


def _privacy_problems(path: Path) -> list[Problem]:
    """Return that a file, which is for the researcher alone, can be read by others; of one that is gone nothing."""
    try:
        if os.name != "posix" or not path.stat().st_mode & 0o077:
            return []
    except OSError:
        return []
    return [Problem(str(path), "can be read by others", f"chmod {PRIVATE:o} {path.name}")]


def _clip_problems(output: Path, row: Mapping[str, str | None], line: int) -> list[Problem]:
    """Return what is wrong with one delivered clip.

    Args:
        output: the study's output folder.
        row: of the manifest.
        line: its number there.
    """
    name = row.get("file") or ""
    problems: list[Problem] = []
    if Path(name).parent != Path("audio"):
        return [Problem(f"manifest.csv:{line}", "names no file of audio/", "run again")]
    data = _read(output / name, problems, "run again")
    if data is None:
        return problems
    if digest(data) != row.get("sha256") or Path(name).stem != row.get("sha256"):
        return [Problem(name, "its bytes are not those of the manifest", "run again: a damaged file is written anew")]
    try:
        clip, _ = audio.decode(data, name)
    except ClipError as error:
        return [Problem(name, f"does not decode: {error}", "run again")]
    found = {"bytes": len(data), "frames": clip.frames, "rate": clip.rate, "channels": clip.channels}
    return [
        Problem(name, f"{field} is {value}, the manifest says {row.get(field)}", "run again")
        for field, value in found.items()
        if str(value) != row.get(field)
    ]
