"""Telling want of memory from errors of ours, also where libraries hide it."""

import errno
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_WORDS = ("Cannot allocate memory", "failed to map segment", "can't start new thread")
# What Python says where it had no memory for a MemoryError.
_LOST = ("error return without exception set", "without setting an exception")
_SECONDS, _CPU_SECONDS = 60, 5
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12} | {
    f"{letter}I": 1 << 10 * k for k, letter in enumerate("KMGT", 1)
}
_chosen: list[int] = []  # limits that hold, the innermost last


def is_exhausted(error: BaseException) -> bool:
    """Whether an error is want of memory; then it lets go of its frames to say so."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    if not any(map(_says_so, chain)):
        return False
    for each in chain:
        each.__traceback__ = None
    return True


def _says_so(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno in (errno.ENOMEM, errno.EAGAIN):
        return True
    if isinstance(error, SystemError):
        return any(word in str(error) for word in _LOST)
    return isinstance(error, (ImportError, RuntimeError)) and any(
        word in str(error) for word in _WORDS
    )


def parse_bytes(text: str) -> int:
    """Read an amount of memory, as in 2GB, 512MiB or 2000000000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMGT]?I?)B?", text.strip().upper())
    if found is None or found[2] not in _UNITS or not float(found[1]):
        raise ValueError(f"{text!r} is no amount of memory, as 2GB or 512MiB is")
    try:
        import resource
    except ImportError:
        raise ValueError("this platform cannot limit a process's memory") from None
    if not hasattr(resource, "RLIMIT_AS"):
        raise ValueError("this platform cannot limit a process's memory")
    amount = int(float(found[1]) * _UNITS[found[2]])
    if amount >= 1 << 62:
        raise ValueError(f"{text!r} is no limit for a machine's memory")
    return amount


@contextmanager
def limited_memory(limit: int | None) -> Iterator[None]:
    """Limit the address space of this process and of what it starts, in bytes."""
    if limit is None:
        yield
        return
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    known = [end for end in (limit, before, hard) if end != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(known), hard))
    _chosen.append(limit)
    try:
        yield
    finally:
        _chosen.pop()
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


def want_of_memory() -> str:
    """Say that memory ran out, and by whose limit.

    >>> want_of_memory()
    'out of memory'
    """
    return reached(_chosen[-1] if _chosen else None)


def reached(limit: int | None) -> str:
    """Say that memory ran out under a limit of ``--memory``, or without one."""
    if limit is None:
        return "out of memory"
    unit = next(u for u in "TGMK " if limit >= _UNITS[u.strip()])
    amount = f"{limit / _UNITS[unit.strip()]:.4g} {unit.strip()}B"
    return f"the memory limit of {amount} was reached"


def why_too_small() -> str:
    """Say why a limit on address space is too small for the libraries, or "".

    OpenBLAS without its buffers waits for ever, sends SIGINT to its own process or ends
    it with status 1. So under a limit a child first loads and uses the libraries.
    """
    if sys.platform == "win32":
        return ""
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return ""
    from ...solvers.child.child import run_in_child

    child = run_in_child(_load, time_limit=_SECONDS, cpu_limit=_CPU_SECONDS)
    if child.status == "done":
        return ""
    if _chosen:
        return f"{want_of_memory()} while numpy and scipy were loaded"
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
