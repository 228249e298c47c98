"""Telling want of memory from errors of ours, also where libraries hide it."""

from __future__ import annotations

import errno
import sys

# What the loader of libraries and the starting of threads say of it.
_WORDS = ("Cannot allocate memory", "failed to map segment", "can't start new thread")
_SECONDS, _CPU_SECONDS = 60, 5


def is_exhausted(error: BaseException) -> bool:
    """Whether an error, or one behind it, is want of memory or of processes."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return True
        if isinstance(cause, OSError) and cause.errno in (errno.ENOMEM, errno.EAGAIN):
            return True
        if isinstance(cause, (ImportError, RuntimeError)) and any(
            word in str(cause) for word in _WORDS
        ):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def why_too_small() -> str:
    """Say why a limit on address space is too small for the libraries, or "".

    OpenBLAS, told by ``ulimit -v`` that it may not have its buffers, waits for ever,
    sends SIGINT to its own process or ends it with status 1. So where there is such a
    limit the libraries are first loaded and used by a child.
    """
    if sys.platform == "win32":
        return ""
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return ""
    from olivine.solvers.child import run_in_child

    child = run_in_child(_load, time_limit=_SECONDS, cpu_limit=_CPU_SECONDS)
    if child.status == "done":
        return ""
    return (
        f"out of memory: under the limit of {limit // 1024} KiB of address space "
        "(ulimit -v) numpy and scipy do not load"
    )


def _load() -> None:
    import numpy as np
    import scipy.linalg
    import scipy.sparse

    scipy.linalg.lstsq(np.eye(64), np.ones(64) @ np.ones((64, 64)))
    scipy.sparse.eye(2)
