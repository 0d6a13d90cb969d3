"""Publish: put a finished run into its output folder, whole, and never over an earlier record.

Every record has its own numbered folder in runs/. The top of the output folder holds copies of the
latest, and audio/ holds exactly what the latest manifest lists; audio of an earlier record that is
no longer delivered moves to that record's folder.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from prep.destinations import writing_to
from prep.errors import ConfigError, Problem, RefusedError
from prep.names import is_system_file
from prep.record import VOLATILE
from prep.recorded import REPORT_FOLDER
from prep.store import Store, digest, write_whole

try:
    import fcntl
except ImportError:  # not on Windows, where two runs into one folder must not meet
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

PRIVATE = 0o600
EXCERPTS = "excerpts"  # folder of a record that holds the sounds of its report
PRIVATE_FILES = ("key.csv", "run.json", "report.html", "report.md", "methods.md", "stimuli.csv")
PRIVATE_FOLDER = 0o700
PAGE_MARK = b'<meta name="generator" content="prep">'
PAGE_HEAD_BYTES = 256  # of a page, which hold the mark
SECRET_BYTES = 32
SHORTEST_SECRET_BYTES = 16
# One time for every delivered file: when a clip was rendered may depend on its condition.
PUBLISHED_TIME = 946684800  # 2000-01-01 00:00 UTC


def study_secret(output: Path, given: Path | None) -> bytes:
    """Return the secret that keys the ids: a file's, or the output folder's own, made at the first run.

    Raises:
        ConfigError: the given file cannot be read or is too short to be a secret.
    """
    if given is not None:
        try:
            secret = given.read_bytes().strip()
        except OSError as error:
            raise ConfigError([Problem(str(given), error.strerror or str(error), "name a readable file")]) from None
        if len(secret) < SHORTEST_SECRET_BYTES:
            todo = "make one with: openssl rand -hex 32"
            raise ConfigError([Problem(str(given), f"a secret needs {SHORTEST_SECRET_BYTES} bytes or more", todo)])
        return secret
    path = output / "secret"
    try:
        with _one_at_a_time(output):
            if not path.exists():
                write_whole(path, secrets.token_hex(SECRET_BYTES).encode() + b"\n", PRIVATE)
        path.chmod(PRIVATE)
        secret = path.read_bytes().strip()
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror or error}; the output folder must be yours to write") from None
    if len(secret) < SHORTEST_SECRET_BYTES:
        todo = "restore it from a copy; or remove it, and all ids will be new ones"
        raise ConfigError([Problem(str(path), "is too short to keep the ids secret", todo)])
    return secret


def publish(
    output: Path,
    store: Store,
    record: Mapping[str, Any],
    files: Mapping[str, bytes],
    excerpts: Mapping[str, bytes] | None = None,
) -> Path:
    """Write audio and records, one run at a time, and return the folder of the record (see `_published`).

    Raises:
        RefusedError: the output folder cannot be written.
    """
    try:
        with _one_at_a_time(output):
            return _published(output, store, record, files, excerpts or {})
    except OSError as error:
        where = error.filename or output
        raise RefusedError(
            f"{where}: {error.strerror or error}; make room or name another output, and run again"
        ) from None


@contextmanager
def _one_at_a_time(output: Path) -> Iterator[None]:
    """Hold the output folder while it is written: a second run waits. The lock goes with its process."""
    runs = output / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    handle = os.open(runs, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _published(
    output: Path,
    store: Store,
    record: Mapping[str, Any],
    files: Mapping[str, bytes],
    excerpts: Mapping[str, bytes],
) -> Path:
    """Write audio and records, and return the folder of the record.

    Args:
        output: the study's output folder.
        store: holds the delivered bytes by their hash.
        record: run.json as a mapping.
        files: every record file by name, run.json among them.
        excerpts: the sounds of the report by their place in the record's folder, where alone they lie.

    Returns:
        runs/NNNN: a new one, or the latest where nothing but times has changed.
    """
    wanted = {clip["delivered"]["file"]: clip["delivered"]["sha256"] for clip in record["clips"] if clip["delivered"]}
    for name, sha256 in sorted(wanted.items()):
        _publish_audio(output / name, sha256, store)
    earlier = latest_record(output)
    if earlier is None or not _same(earlier, record, files, excerpts):
        folder = _write_record(output, files, excerpts)
    else:
        folder, files = earlier, {name: (earlier / name).read_bytes() for name in files}
    _keep_earlier_audio(output, wanted)
    for name, data in files.items():
        mode = PRIVATE if is_private(name) else 0o644
        if not _holds(output / name, data):
            write_whole(output / name, data, mode)
        (output / name).chmod(mode)
    _keep_report(output, files)
    return folder


def is_private(name: str) -> bool:
    """Say whether a file of a record, named relative to its folder, is for the researcher alone."""
    return name in PRIVATE_FILES or name.startswith(f"{REPORT_FOLDER}/")


def write_report(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a report into a folder of their own, for the owner alone.

    Args:
        folder: made where it is missing; one that is there must be empty, or hold such files and no other.
        files: by name, `methods.md` among them; `report/` before one is left out.

    Raises:
        ConfigError: something else is there.
        RefusedError: it cannot be written.
    """
    named = {name.removeprefix(f"{REPORT_FOLDER}/"): data for name, data in files.items()}
    with writing_to(folder):
        held = {path.name for path in folder.iterdir() if not is_system_file(path.name)} if folder.exists() else set()
        # Every report has its methods: without them the rest, though of the same names, is somebody else's.
        if foreign := sorted(held - named.keys()) or (sorted(held) if "methods.md" not in held else []):
            what = f"holds {foreign[0]}, which is no file of this report"
            raise ConfigError([Problem(str(folder), what, "name a new folder, or empty this one")])
        for name, data in named.items():
            write_whole(folder / name, data, PRIVATE)
        folder.chmod(PRIVATE_FOLDER)


def write_page(path: Path, page: str, mode: int = 0o644) -> None:
    """Write a page, over an earlier one of prep's but over no other file.

    Raises:
        ConfigError: something else is there.
        RefusedError: it cannot be written.
    """
    with writing_to(path):
        if path.exists() and not (path.is_file() and PAGE_MARK in _head_of(path)):
            todo = "name another file, or move this one away"
            raise ConfigError([Problem(str(path), "is there already, and is no page of prep", todo)])
        write_whole(path, page.encode(), mode)


def _head_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(PAGE_HEAD_BYTES)


def _keep_report(output: Path, files: Mapping[str, bytes]) -> None:
    """Close the report's folder to others, and clear from it what an earlier record left and this one has not."""
    folder = output / REPORT_FOLDER
    if not folder.is_dir():
        return
    folder.chmod(PRIVATE_FOLDER)
    ours = {path.name for record in records_of(output) for path in (record / REPORT_FOLDER).glob("*")}
    for path in folder.glob("*"):
        if f"{REPORT_FOLDER}/{path.name}" not in files and path.name in ours:
            path.unlink()


def latest_record(output: Path) -> Path | None:
    """Return the folder of the latest whole record, if there is one."""
    found = sorted(records_of(output))
    return found[-1] if found else None


def records_of(output: Path) -> Iterable[Path]:
    """Return the folders of the records, in no order.

    Raises:
        ConfigError: their folder cannot be read.
    """
    runs = output / "runs"
    try:
        if not runs.is_dir():
            return ()
        return [path for path in runs.iterdir() if re.fullmatch(r"[0-9]{4,}", path.name) and path.is_dir()]
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        raise ConfigError([Problem(str(runs), what, "make it yours to read")]) from None


def _publish_audio(path: Path, sha256: str, store: Store) -> None:
    """Write one clip, unless the very bytes are there."""
    data = store.get(sha256)
    if data is None:
        raise RefusedError(f"{path.name}: its bytes are no longer in the cache; run again")
    if not _holds(path, data):
        write_whole(path, data)
    os.utime(path, (PUBLISHED_TIME, PUBLISHED_TIME))


def _holds(path: Path, data: bytes) -> bool:
    """Say whether a file has exactly these bytes."""
    try:
        return path.stat().st_size == len(data) and digest(path.read_bytes()) == digest(data)
    except OSError:
        return False


def _same(folder: Path, record: Mapping[str, Any], files: Mapping[str, bytes], excerpts: Mapping[str, bytes]) -> bool:
    """Say whether a record stands as it is: only times and the machine differ, and its files are whole."""
    try:
        held = json.loads((folder / "run.json").read_bytes())
    except (OSError, ValueError):
        return False
    steady = {name: value for name, value in record.items() if name not in VOLATILE}
    if not isinstance(held, dict) or {name: value for name, value in held.items() if name not in VOLATILE} != steady:
        return False
    stated = {name: data for name, data in files.items() if name in record["files"]}
    return all(_holds(folder / name, data) for name, data in (stated | dict(excerpts)).items())


def _write_record(output: Path, files: Mapping[str, bytes], excerpts: Mapping[str, bytes]) -> Path:
    """Write a new numbered record that appears whole or not at all."""
    runs = output / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    for leftover in runs.glob(".*.part"):
        shutil.rmtree(leftover, ignore_errors=True)
    number = max((int(path.name) for path in records_of(output)), default=0) + 1
    part, folder = runs / f".{number:04d}.part", runs / f"{number:04d}"
    for name, data in files.items():
        write_whole(part / name, data, PRIVATE if is_private(name) else 0o644)
    if (part / REPORT_FOLDER).is_dir():
        (part / REPORT_FOLDER).chmod(PRIVATE_FOLDER)
    for name, data in excerpts.items():
        write_whole(part / name, data, PRIVATE)
    part.replace(folder)
    return folder


def _keep_earlier_audio(output: Path, wanted: Mapping[str, str]) -> None:
    """Move audio that is no longer delivered to the latest record that lists it, and clear what a killed run left.

    A file that no record lists is not ours: it stays, and `prep verify` names it.
    """
    owners: dict[str, Path] = {}
    for folder in sorted(records_of(output)):
        owners |= dict.fromkeys(_listed_audio(folder), folder)
    for path in (output / "audio").glob("*"):
        name = f"audio/{path.name}"
        if path.name.startswith(".") and path.name.endswith(".part"):
            with suppress(OSError):
                path.unlink()
        elif name not in wanted and name in owners:
            (owners[name] / "audio").mkdir(exist_ok=True)
            path.replace(owners[name] / name)


def _listed_audio(folder: Path) -> list[str]:
    """Return the audio files that a record lists; none where it cannot be read."""
    try:
        clips = json.loads((folder / "run.json").read_bytes())["clips"]
        return [clip["delivered"]["file"] for clip in clips if clip["delivered"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
