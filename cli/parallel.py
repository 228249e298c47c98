"""Working on several files at a time, each in a worker process."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olivine.cli.common import STANDARD_INPUT, ExitStatus

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

Result = tuple[dict[str, Any], ExitStatus]
Job = Callable[[str], Result]


def in_parallel(job: Job, files: Sequence[str], jobs: int) -> Iterator[Result]:
    """Yield the results of a job for every file, in the order of the files.

    Parameters
    ----------
    job
        Picklable. Standard input is read in this process.
    files
        What to work on.
    jobs
        Number of worker processes, at least 1.

    Yields
    ------
    record, status
        A worker that dies takes the others' pool with it: what they had not
        finished is done again, each file in a process of its own, and the one
        that kills it again is reported as undecided.
    """
    from concurrent.futures import BrokenExecutor

    pool = _pool(min(jobs, len(files) or 1))
    try:
        futures = [
            None if file == STANDARD_INPUT else pool.submit(job, file) for file in files
        ]
        for file, future in zip(files, futures, strict=True):
            try:
                result = job(file) if future is None else future.result()
            except BrokenExecutor:
                result = _alone(job, file)
            yield result
    except BaseException:
        _abandon(pool)
        raise
    pool.shutdown()


def _abandon(pool: ProcessPoolExecutor) -> None:
    """Do not wait for what is running: we are interrupted."""
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in multiprocessing.active_children():
        worker.terminate()


def _alone(job: Job, file: str) -> Result:
    from concurrent.futures import BrokenExecutor

    pool = _pool(1)
    try:
        result = pool.submit(job, file).result()
    except BrokenExecutor:
        message = f"{file}: the worker process died (out of memory?)"
        result = {"file": file, "error": message}, ExitStatus.UNDECIDED
    except BaseException:
        _abandon(pool)
        raise
    pool.shutdown()
    return result


def _pool(workers: int) -> ProcessPoolExecutor:
    from concurrent.futures import ProcessPoolExecutor

    # Not by fork: this process may have threads.
    methods = multiprocessing.get_all_start_methods()
    method = "forkserver" if "forkserver" in methods else "spawn"
    return ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context(method),
        initializer=_start_worker,
    )


def _start_worker() -> None:
    # Ctrl-C reaches the whole group; workers then go without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
