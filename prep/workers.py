"""Work on many clips at once: local processes, or any executor of concurrent.futures.

A task that raises fails alone. A worker that dies (memory, a crash in a library) costs a retry:
the tasks it may have been working on are tried again one at a time, so that the one that kills
is known by name and the others go on.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from prep.errors import NothingUsableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")
R = TypeVar("R")

CGROUPS = Path("/sys/fs/cgroup")
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class WorkerDiedError(RuntimeError):
    """The process that worked on a task ended without an answer, twice."""


def available_cores() -> int:
    """Return how many cores this process may use: its own CPU set and quota, not the machine's cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(cores, _quota_cores())))


def _quota_cores() -> float:
    """Return the cores that the control groups of this process may use, by their CPU quotas.

    Source: Linux kernel documentation, cgroup-v2 (cpu.max) and scheduler/sched-bwc (cpu.cfs_quota_us).
    """
    quotas = [math.inf]
    own = CGROUPS
    with suppress(OSError):
        paths = re.findall(r"^0::/(.*)$", Path("/proc/self/cgroup").read_text(encoding="utf-8"), re.MULTILINE)
        own = CGROUPS.joinpath(*paths)
    for folder in (own, *own.parents):
        with suppress(OSError, ValueError):  # the word "max" is no number: there is no quota
            quota, period = (int(word) for word in (folder / "cpu.max").read_text(encoding="utf-8").split())
            quotas.append(quota / period)
    with suppress(OSError, ValueError):
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        quota, period = (int((CGROUPS / "cpu" / name).read_text(encoding="utf-8")) for name in names)
        quotas.append(quota / period if quota > 0 else math.inf)
    return min(quotas)


def _begin_worker() -> None:
    """Give the worker one thread a library, and end it when its parent is gone."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    parent = parent_process()
    if parent is not None:
        # A killed parent cannot tell its workers to stop; left alone they would wait for ever.
        def end_with_parent() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=end_with_parent, daemon=True).start()


@dataclass
class Workers:
    """A pool that can be rebuilt after a death.

    Attributes:
        start: makes a fresh executor.
        count: how many tasks it works on at once.
    """

    start: Callable[[], Executor]
    count: int
    _pool: Executor | None = field(default=None, repr=False)

    def pool(self) -> Executor:
        """Return the running executor, started at the first use."""
        if self._pool is None:
            self._pool = self.start()
        return self._pool

    def discard(self) -> None:
        """Drop a broken executor; the next use starts another."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def close(self) -> None:
        """End the executor after what it is doing."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


@contextmanager
def local_workers(count: int) -> Iterator[Workers]:
    """Give `count` worker processes with one numerical thread each.

    The environment asks for one thread as well, because a library reads it when it is imported.
    """

    def start() -> Executor:
        return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_begin_worker)

    before = {name: os.environ.get(name) for name in _THREAD_LIMITS}
    os.environ.update(dict.fromkeys(_THREAD_LIMITS, "1"))
    workers = Workers(start, count)
    try:
        yield workers
    except BaseException:
        workers.discard()
        raise
    else:
        workers.close()
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T, R]):
    """What became of one task: its value, or the exception that it raised."""

    task: T
    value: R | None = None
    error: BaseException | None = None


def work(workers: Workers, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[Outcome[T, R]]:
    """Run a function over tasks and yield the outcomes as they come, in no fixed order.

    Only a few tasks are handed over at a time, so memory does not grow with their number.

    Args:
        workers: where to run.
        function: picklable, takes one task.
        tasks: picklable.
    """
    waiting = deque(tasks)
    suspects: deque[tuple[T, int]] = deque()
    running: dict[Future[R], T] = {}
    try:
        while waiting or running:
            while waiting and len(running) < 2 * workers.count:
                task = waiting.popleft()
                try:
                    running[workers.pool().submit(function, task)] = task
                except BrokenExecutor:
                    waiting.appendleft(task)
                    break
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            broken = not running
            for future in done:
                task, error = running[future], future.exception()
                if isinstance(error, BrokenExecutor):
                    broken = True
                    continue
                del running[future]
                yield Outcome(task, error=error) if error else Outcome(task, future.result())
            if broken:
                suspects.extend((task, 1) for task in running.values())
                running.clear()
                workers.discard()
                yield from _one_at_a_time(workers, function, suspects)
    finally:
        for future in running:
            future.cancel()


def _make_sure_workers_start(workers: Workers) -> None:
    """Tell a task that kills its worker from a machine on which no worker can run.

    Raises:
        NothingUsableError: a fresh worker cannot do even nothing.
    """
    if isinstance(workers.pool().submit(available_cores).exception(), BrokenExecutor):
        workers.discard()
        raise NothingUsableError(
            "worker processes cannot be started; in a script, call prep under `if __name__ == '__main__':`, "
            "and see the lines above for what the workers said"
        )


def _one_at_a_time(
    workers: Workers, function: Callable[[T], R], suspects: deque[tuple[T, int]]
) -> Iterator[Outcome[Any, Any]]:
    """Run each suspect alone, twice at most, and name the one whose worker dies."""
    while suspects:
        task, tries = suspects.popleft()
        future = workers.pool().submit(function, task)
        error = future.exception()
        if isinstance(error, BrokenExecutor):
            workers.discard()
            _make_sure_workers_start(workers)
            if tries < 2:
                suspects.appendleft((task, tries + 1))
            else:
                died = WorkerDiedError("the process that worked on it ended without an answer, twice")
                yield Outcome(task, error=died)
        else:
            yield Outcome(task, error=error) if error else Outcome(task, future.result())
