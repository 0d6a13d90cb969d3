"""Faults of running: one clip kills its worker, a cut file is believed, workers fight for cores."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from prep import workers
from prep.stages.encode import Encode
from prep.store import digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Case = Any
Prep = Any

FAULTS = ("H37", "H38", "H39")
FLAC = {"encode": {"codec": "flac"}}
GROWN_KIB = 512 << 10  # KiB on Linux; libraries and ten short clips take a third of it, and the claims are gigabytes

# Python runs sitecustomize at the start of every process, workers too.
KILL_ITSELF = """
import os, signal
from prep import audio
decode = audio.decode
def fatal(data, name):
    if name == "ok3.wav":
        os.kill(os.getpid(), signal.SIGKILL)
    return decode(data, name)
audio.decode = fatal
"""
TELL_THREADS = """
import atexit, json, multiprocessing, os, pathlib
def tell():
    if multiprocessing.parent_process() is not None:
        from threadpoolctl import threadpool_info
        threads = [pool["num_threads"] for pool in threadpool_info()]
        pathlib.Path(os.environ["TOLD"], f"{os.getpid()}.json").write_text(json.dumps(threads))
atexit.register(tell)
"""


def run_in_processes(config: Path, script: str, count: int) -> subprocess.CompletedProcess[str]:
    """Run a study with real workers, each of which runs a script first."""
    folder = config.parent / "site"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(script, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder), "TOLD": str(folder)}
    secret = config.parent / "secret"
    secret.write_bytes(b"0123456789abcdef")
    command = [sys.executable, "-m", "prep", "run", str(config), "--workers", str(count), "--secret", str(secret)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def bytes_below(folder: Path, *patterns: str) -> dict[str, bytes]:
    """Return the bytes of the files that match, by their path below the folder."""
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.usefixtures("inline")
def test_h37_impossible_headers_cost_neither_memory_nor_the_batch(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """H37: six clips are delivered, files that claim the impossible are named, and the next run redoes only those."""
    faulty = case("H37")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ran = faulty.run(FLAC)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    failed = {name for name, clip in ran.clips.items() if clip["status"] == "failed"}

    assert ran.exit_code == 1
    assert grown < GROWN_KIB
    assert {f"ok{number}.wav" for number in range(faulty.values["ok"])} <= ran.clips.keys() - failed
    # This one is allowed to decode to what is there.
    assert failed == set(faulty.values["bad"]) - {"bomb_size.wav"}
    assert ran.clips["bomb_size.wav"]["source"]["facts"]["frames"] == faulty.values["present_frames"]
    assert "cut short" in ran.clips["bomb_size.wav"]["source"]["facts"]["warnings"][0]
    for name in failed:
        assert ran.clips[name]["failure"]["reason"].startswith("the header claims ")

    monkeypatch.setattr(Encode, "encode", lambda *_: pytest.fail("a finished clip is done again"))
    again = faulty.run(FLAC)
    assert again.exit_code == 1
    assert {name: clip["failure"] for name, clip in again.clips.items()} == {
        name: clip["failure"] for name, clip in ran.clips.items()
    }


def test_h37_a_clip_that_kills_its_worker_is_named_and_the_others_done(case: Case, prep: Prep) -> None:
    """H37: a clip whose worker dies by signal 9 fails by name, the others are delivered, and the next run adds it."""
    faulty = case("H37")
    for name in faulty.values["bad"]:
        (faulty.folder / name).unlink()
    config = faulty.study(FLAC)
    killed = run_in_processes(config, KILL_ITSELF, 2)
    record = json.loads((faulty.folder / "out" / "run.json").read_bytes())
    failures = {clip["file_name"]: clip["failure"]["reason"] for clip in record["clips"] if clip["failure"]}
    before = bytes_below(faulty.folder / "out", "audio/*")

    assert killed.returncode == 1, killed.stderr
    assert list(failures) == ["ok3.wav"]
    assert "ended without an answer" in failures["ok3.wav"]
    assert "ok3.wav" in killed.stdout
    assert len(before) == faulty.values["ok"] - 1

    encoded: list[str] = []
    encode = Encode.encode
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Encode, "encode", lambda *given: (encoded.append(given[1].id), encode(*given))[1])
        patch.setattr("prep.run.local_workers", in_this_process)
        assert prep("run", config, "--secret", faulty.folder / "secret").exit_code == 0
    after = bytes_below(faulty.folder / "out", "audio/*")
    assert encoded == ["ok3.wav"]
    assert len(after) == faulty.values["ok"]
    assert before.items() <= after.items()


@contextlib.contextmanager
def in_this_process(_: int) -> Iterator[workers.Workers]:
    """Give workers that are threads of this process, one at a time."""
    from concurrent.futures import ThreadPoolExecutor

    yield workers.Workers(lambda: ThreadPoolExecutor(1), 1)


@pytest.mark.usefixtures("inline")
def test_h38_a_cut_file_under_its_final_name_is_not_believed(case: Case, prep: Prep) -> None:
    """H38: a resumed run replaces a cut file by the whole one and clears what a killed run left beside it."""
    faulty = case("H38")
    cut, full = (faulty.folder / name for name in ("cut.mp3", "full.mp3"))
    assert digest(full.read_bytes()) == faulty.values["full_sha256"]
    clips = {"folder": ".", "pattern": "{take}.mp3"}
    cut_bytes = cut.read_bytes()
    cut.unlink()
    ran = faulty.run({"encode": {"codec": "copy"}}, clips=clips)
    path = ran.file("full.mp3")
    assert path.name == f"{faulty.values['full_sha256']}.mp3"

    path.write_bytes(cut_bytes)
    (path.parent / ".tmp0.part").write_bytes(cut_bytes)
    assert prep("verify", ran.out).exit_code == 1
    again = faulty.run({"encode": {"codec": "copy"}}, clips=clips)
    assert again.exit_code == 0
    assert [item.name for item in path.parent.iterdir()] == [path.name]
    assert digest(path.read_bytes()) == faulty.values["full_sha256"]
    assert prep("verify", ran.out).exit_code == 0


@pytest.mark.usefixtures("inline")
def test_h38_no_output_has_its_name_before_it_is_whole(case: Case, prep: Prep, monkeypatch: pytest.MonkeyPatch) -> None:
    """H38: where the disk fails while an output is written, nothing stands under its name, and the run says so."""
    faulty = case("H38")
    config = faulty.study({"encode": {"codec": "mp3"}}, clips={"folder": ".", "pattern": "{take}.wav"})
    fsync, mkstemp = os.fsync, tempfile.mkstemp
    outputs: set[int] = set()

    def opened(**how: Any) -> tuple[int, str]:
        handle, name = mkstemp(**how)
        if how["dir"] == faulty.folder / "out" / "audio":
            outputs.add(handle)
        return handle, name

    def full_disk(handle: int) -> None:
        if handle in outputs:
            raise OSError(28, "No space left on device")
        fsync(handle)

    monkeypatch.setattr("tempfile.mkstemp", opened)
    monkeypatch.setattr("os.fsync", full_disk)
    ran = prep("run", config)

    assert outputs
    assert ran.exit_code == 3
    assert "No space left on device" in ran.stderr
    assert list((faulty.folder / "out" / "audio").iterdir()) == []
    monkeypatch.setattr("os.fsync", fsync)
    assert prep("run", config).exit_code == 0
    assert len(list((faulty.folder / "out" / "audio").iterdir())) == 1


def test_h39_jobs_change_no_byte_and_each_has_one_thread(
    case: Case, prep: Prep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H39: 1 job and 4 leave the same audio, manifest and key, and every worker's numerical libraries have 1 thread."""
    faulty = case("H39")
    chain = ({"clip_loudness": {}}, FLAC)
    done = run_in_processes(faulty.study(*chain, output="out4", cache=".cache4"), TELL_THREADS, 4)
    assert done.returncode == 0, done.stderr
    monkeypatch.setattr("prep.run.local_workers", in_this_process)
    prep("run", faulty.study(*chain, output="out1", cache=".cache1"), "--secret", faulty.folder / "secret")
    names = ("audio/*", "manifest.csv", "key.csv", "stimuli.csv")
    by_1, by_4 = (bytes_below(faulty.folder / output, *names) for output in ("out1", "out4"))
    told = [json.loads(path.read_text()) for path in (faulty.folder / "site").glob("*.json")]

    assert len(by_1) == faulty.values["clips"] + 3
    assert by_1 == by_4
    assert len(told) == 4
    assert {count for threads in told for count in threads} == {faulty.values["max_threads_per_worker"]}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no CPU sets")
def test_h39_jobs_are_counted_from_what_this_process_may_use(
    case: Case, prep: Prep, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """H39: without --workers there are as many jobs as the process's CPU set and its quota allow, and at least one."""
    config = case("H39").study(FLAC)
    counts: list[int] = []

    def counted(count: int) -> contextlib.AbstractContextManager[workers.Workers]:
        counts.append(count)
        return in_this_process(count)

    monkeypatch.setattr("prep.run.local_workers", counted)
    cpus = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cpus)})
        prep("run", config)
    finally:
        os.sched_setaffinity(0, cpus)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(workers, "CGROUPS", tmp_path)
    for quota in ("250000 100000", "50000 100000", "max 100000"):
        (tmp_path / "cpu.max").write_text(f"{quota}\n", encoding="utf-8")
        prep("run", config)
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n", encoding="utf-8")
    for older_quota in ("400000", "-1"):
        (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(f"{older_quota}\n", encoding="utf-8")
        prep("run", config)

    assert counts == [1, 3, 1, 8, 4, 8]
