"""Doing units of work: here, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from ...solvers.child.process import die_with
from .units import Row, Unit

BATCH = 8
"""Most units that a worker is sent at a time."""
_SHARE = 16
"""Batches a worker has at least, so that all end at about the same time."""
_CLUSTER = ("asyncio", "concurrent", "distributed")
"""Whose exceptions mean that workers, or the way to them, were lost."""
CONNECT = 20
"""Seconds to find a cluster."""


class WorkersError(Exception):
    """There are no workers."""


class LostWorkersError(WorkersError):
    """Workers were lost on the way; the rows that came are good."""


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def rows_of(units: Sequence[Unit], jobs: int, address: str | None) -> Iterator[Row]:
    """Do all units and yield their rows as they come."""
    if address is None and min(jobs, len(units)) < 2:
        for unit in units:
            yield unit()
        return
    from joblib import Parallel, delayed

    parent = os.getpid() if address is None else None
    with _backend(address, jobs) as workers:
        each = max(1, min(BATCH, len(units) // (_SHARE * workers)))
        parallel = Parallel(
            n_jobs=workers,
            return_as="generator_unordered",
            batch_size=each,
            # No more than loky hands on at once: what waits, it cannot let go of.
            pre_dispatch=2 * workers * each,
        )
        yield from _checked(parallel(delayed(_row)(unit, parent) for unit in units))


def _row(unit: Unit, parent: int | None) -> Row:
    """Do a unit in a worker, which is not to outlive a parent that is killed."""
    if parent is not None:
        die_with(parent)
    return unit()


def _checked(rows: Iterator[Row]) -> Iterator[Row]:
    """Say of errors of the machinery, not of units, what they are."""
    from concurrent.futures import BrokenExecutor

    try:
        yield from rows
    except ModuleNotFoundError as error:
        raise WorkersError(f"workers lack a module: {error}") from error
    except Exception as error:
        owner = type(error).__module__.partition(".")[0]
        if not isinstance(error, BrokenExecutor) and owner not in _CLUSTER:
            raise
        text = " ".join(str(error).split()).partition(". ")[0] or type(error).__name__
        raise LostWorkersError(f"a worker was lost: {text}") from error


@contextmanager
def _backend(address: str | None, jobs: int) -> Iterator[int]:
    """Set up workers; yield how many there are. They are gone afterwards."""
    from joblib import parallel_config

    with ExitStack() as stack:
        if address is None:
            from joblib.externals.loky import get_reusable_executor

            stack.enter_context(parallel_config(backend="loky"))
            yield jobs
            # After an exception joblib has ended its workers already.
            get_reusable_executor().shutdown()
            return
        workers = stack.enter_context(_cluster(address))
        stack.enter_context(parallel_config(backend="dask"))
        yield workers


@contextmanager
def _cluster(address: str) -> Iterator[int]:
    """Connect with a Dask cluster; yield the threads of its workers."""
    try:
        from distributed import Client
    except ImportError as error:
        raise WorkersError(
            f"--dask needs the extra dask: pip install 'olivine[dask]' ({error})"
        ) from None
    try:
        client = Client(address, timeout=CONNECT)
    except (OSError, ValueError) as error:
        raise WorkersError(
            f"--dask: no scheduler at {address!r}: {' '.join(str(error).split())}"
        ) from None
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise WorkersError(f"--dask: the cluster at {address} has no workers")
        yield threads
