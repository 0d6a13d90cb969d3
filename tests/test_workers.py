"""Work on many clips: failures are one clip's, and a worker that dies takes no other with it."""

import os
import time

import pytest

from prep.workers import WorkerDiedError, available_cores, local_workers, work


def halve(number: int) -> float:
    """Return half a number; some numbers misbehave."""
    if number == 13:
        raise ValueError("thirteen")
    if number == 99:
        os._exit(9)
    return number / 2


def threads(_: int) -> list[int]:
    """Return the thread counts of the numerical libraries in the worker."""
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((8, 8)) @ np.ones((8, 8))
    return [int(pool["num_threads"]) for pool in threadpool_info()]


def slow_half(number: int) -> float:
    """Return half a number after a moment."""
    time.sleep(0.2)
    return number / 2


@pytest.mark.parametrize("count", [1, 2])
def test_every_task_has_an_outcome(count: int) -> None:
    """A task that raises fails alone, and every other has its value."""
    with local_workers(count) as workers:
        outcomes = {outcome.task: outcome for outcome in work(workers, halve, [1, 13, 2, 3])}

    assert {task: outcomes[task].value for task in (1, 2, 3)} == {1: 0.5, 2: 1.0, 3: 1.5}
    assert isinstance(outcomes[13].error, ValueError)


def test_a_worker_that_dies_costs_only_its_own_task() -> None:
    """The task that kills its worker is named; the others are done."""
    tasks = [1, 2, 99, 3, 4, 5]
    with local_workers(2) as workers:
        outcomes = {outcome.task: outcome for outcome in work(workers, halve, tasks)}

    assert isinstance(outcomes.pop(99).error, WorkerDiedError)
    assert {task: outcome.value for task, outcome in outcomes.items()} == {n: n / 2 for n in (1, 2, 3, 4, 5)}


def test_a_worker_uses_one_thread() -> None:
    """Numerical libraries in a worker use one thread each, so that workers do not fight for cores."""
    with local_workers(1) as workers:
        counts = [count for outcome in work(workers, threads, [0]) for count in outcome.value or []]

    assert counts
    assert set(counts) == {1}


def test_workers_run_at_the_same_time() -> None:
    """Two workers work on two tasks at once."""
    with local_workers(2) as workers:
        list(work(workers, halve, [1, 2]))  # start both
        begun = time.monotonic()
        list(work(workers, slow_half, [1, 2, 3, 4]))
        seconds = time.monotonic() - begun

    assert seconds < 4 * 0.2


def test_cores_are_those_of_this_process() -> None:
    """The default number of workers is what this process may use."""
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
