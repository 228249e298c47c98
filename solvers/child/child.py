"""Run a function in a child process that limits can kill.

Engines written in C++ cannot be trusted to stop: some ignore `interrupt`, some abort
the process on odd input, some print to file descriptor 1. A forked child costs a few
milliseconds: large arrays are the parent's, only results travel, through a pipe. Where
a fresh interpreter is spawned (about 300 ms), function and arguments must be picklable.

Memory is watched, not limited by ``RLIMIT_AS``: every thread reserves 8 MB of addresses
and more, and an engine whose allocation fails crashes. The parent reads the child's
private resident memory every 20 ms, so a limit can be overshot by what is allocated in
that time.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, TypeVar, TypeVarTuple

from ..outcome import check_limit
from . import process

Args = TypeVarTuple("Args")
Value = TypeVar("Value")
Item = TypeVar("Item")
ChildStatus = Literal["done", "timeout", "memory", "died", "error"]

_FORKS = hasattr(os, "fork")
_MEMORY_POLL = 0.02
_HEARTBEAT = 0.25
TURN = 1.0
"""CPU seconds after which a child of `run_each` begins no further item."""
GROWTH = 64 * 2**20
"""So does one that has grown by as many bytes: limits of memory are for an item."""


class ChildResult(NamedTuple, Generic[Value]):
    """What became of a call in a child process."""

    # ``"done"``: the function returned. ``"timeout"``, ``"memory"``: a limit was
    # reached and the child was killed, or the function raised `MemoryError`.
    # ``"died"``: the child crashed, was killed from outside or left without an answer.
    # ``"error"``: the function raised, or its result cannot be pickled.
    status: ChildStatus
    value: Value | None  # The function's result when `status` is ``"done"``, else None
    seconds: float  # Wall time of the call, process start included
    message: str = ""  # One line for a person; "" when `status` is ``"done"``
    details: str = ""  # Traceback of the child when `status` is ``"error"``, else ""

    def raise_error(self, what: str) -> None:
        """Raise RuntimeError, naming what failed, if the function raised."""
        if self.status == "error":
            error = RuntimeError(f"{what} failed: {self.message}")
            error.add_note(self.details)
            raise error


def run_in_child(
    function: Callable[[*Args], Value],
    *args: *Args,
    time_limit: float | None = None,
    cpu_limit: float | None = None,
    memory_limit: int | None = None,
    show_errors: bool = False,
) -> ChildResult[Value]:
    """Call ``function(*args)`` in a child process and return what became of it.

    Standard input and output of the child are the null device. Modules that the
    function needs are best imported beforehand, once, in the parent. `time_limit`: wall
    seconds, at least 0, process start included. `cpu_limit`: seconds of CPU time, above
    0, that the child may use, user's and system's together, without what it starts;
    ignored where there is no ``setitimer``. An exception in the parent while it waits
    kills and reaps the child.
    """
    start = time.monotonic()
    check_limit(time_limit)
    if cpu_limit is not None and not cpu_limit > 0:
        raise ValueError(f"limit of CPU time {cpu_limit} is not positive")
    _check_memory_limit(memory_limit)
    deadline = math.inf if time_limit is None else start + time_limit
    child: Running[Value] = Running(
        partial(_call, function, args, cpu_limit), memory_limit, show_errors
    )
    pause = _HEARTBEAT if memory_limit is None else _MEMORY_POLL
    try:
        child.begin()
        while child.result is None and (left := deadline - time.monotonic()) > 0:
            child.listen(min(left, pause))
    finally:
        child.worker.close()
    result = child.result
    if result is None:
        reason = f"time limit of {time_limit:g} s reached"
        return ChildResult("timeout", None, time.monotonic() - start, reason)
    if cpu_limit is not None and child.worker.exitcode == -signal.SIGPROF:
        reason = f"limit of {cpu_limit:g} s of CPU time reached"
        return result._replace(status="timeout", message=reason)
    return result


def children_seconds() -> float:
    """CPU time of the children that have ended; 0 on a system that tells none."""
    try:
        import resource  # not everywhere
    except ImportError:
        return 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    return time.process_time() + children_seconds()


def run_each(
    function: Callable[[Item], Value], items: Sequence[Item], jobs: int
) -> Iterator[tuple[int, ChildResult[Value]]]:
    """Yield (index, result) of ``function(item)`` for each item as soon as it is known.

    A child takes several items, for a fork costs as much as a small item, and hands
    back those that it has not begun at the end of its turn. If it dies or the function
    raises, that is the result of the item that it was at; the others go on.
    """
    waiting = deque(range(len(items)))
    running: dict[Running[Any], deque[int]] = {}
    share = 1
    with Calls() as calls:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    size = min(share, math.ceil(len(waiting) / jobs))
                    taken = deque(waiting.popleft() for _ in range(size))
                    own = [items[number] for number in taken]
                    running[calls.start_reporting(_take_turn, function, own)] = taken
                child = calls.wait(_HEARTBEAT)
                if child is None:
                    continue
                taken = running[child]
                while child.news:
                    yield taken.popleft(), child.news.popleft()
                if (end := child.result) is None:
                    continue
                del running[child]
                if end.status != "done" and taken:
                    yield taken.popleft(), end
                waiting.extendleft(reversed(taken))
                if end.value is not None:
                    done, has_time = end.value
                    share = 2 * done if has_time else done
        except (KeyboardInterrupt, SystemExit):  # what is done by then counts
            for child, taken in running.items():
                child.worker.kill()
                while child.result is None:
                    child.listen(0)
                yield from zip(taken, child.news, strict=False)
            raise


def _take_turn(
    report: Callable[[object], None],
    function: Callable[[Item], object],
    items: Sequence[Item],
) -> tuple[int, bool]:
    """Report on items until the turn ends; how many were done, and if it is so soon."""
    end, most = cpu_seconds() + TURN, _peak_memory() + GROWTH
    for done, item in enumerate(items, 1):
        start = time.monotonic()
        value = function(item)
        report(ChildResult("done", value, time.monotonic() - start))
        if cpu_seconds() >= end or _peak_memory() >= most:
            return done, False
    return len(items), True


def _peak_memory() -> int:
    """Most memory this process has held, in bytes; 0 on a system that tells none."""
    try:
        import resource  # not everywhere
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


class Calls:
    """Calls in child processes that go on side by side; a context manager.

    What still runs when the context ends is killed. For the limit of memory, which is
    that of each call, see `run_in_child`.
    """

    def __init__(self, memory_limit: int | None = None) -> None:
        _check_memory_limit(memory_limit)
        self._running: list[Running[Any]] = []
        self._memory_limit = memory_limit

    def __enter__(self) -> Calls:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._running:
            child.worker.close()

    def start(self, function: Callable[[*Args], Value], *args: *Args) -> Running[Value]:
        """Start ``function(*args)``; see `run_in_child`."""
        return self._begin(partial(_call, function, args, None))

    def start_reporting(
        self, function: Callable[..., Value], *args: object
    ) -> Running[Value]:
        """Start ``function(report, *args)``; what it gives `report` becomes news."""
        return self._begin(partial(_call_reporting, function, args))

    def _begin(self, work: process.Work) -> Running[Any]:
        child: Running[Any] = Running(work, self._memory_limit)
        self._running.append(child)
        child.begin()
        return child

    def wait(self, seconds: float) -> Running[Any] | None:
        """Wait for a call that has news or ends; None after `seconds`."""
        deadline = time.monotonic() + seconds
        pause = _HEARTBEAT if self._memory_limit is None else _MEMORY_POLL
        while True:
            for child in self._running:
                child.listen(0)
                if child.news or child.result is not None:
                    if child.result is not None:
                        self._running.remove(child)
                    return child
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            process.wait([child.worker for child in self._running], min(left, pause))


class Running(Generic[Value]):
    """A call that goes on, or has ended with a result."""

    def __init__(
        self,
        work: process.Work,
        memory_limit: int | None = None,
        show_errors: bool = False,
    ) -> None:
        self.start = time.monotonic()
        self.worker = process.Worker(work, show_errors, _FORKS)
        self.result: ChildResult[Value] | None = None
        self.news: deque[Any] = deque()  # What the call has reported, the oldest first
        self._memory_limit = memory_limit
        self._shared = 0

    def begin(self) -> None:
        """Start the child."""
        self.worker.start()
        self._shared = 0 if self._memory_limit is None else self.worker.memory()

    def listen(self, seconds: float) -> None:
        """Wait at most so long for news or the end of the call, if it has not ended."""
        if self.result is not None:
            return
        limit = self._memory_limit
        try:
            message = self.worker.receive(seconds)
        except EOFError:
            self._end("died", None, self.worker.ending())
            return
        if message is not None:
            self.take(message)
        elif limit is not None and self.worker.memory() - self._shared > limit:
            reason = f"memory limit of {limit / 2**20:.4g} MiB reached"
            self._end("memory", None, reason)

    def take(self, message: bytes) -> None:
        """Take a message of the child: news, or its last."""
        status, value, reason, details = pickle.loads(message)
        if status == "news":
            self.news.append(value)
        else:
            self._end(status, value, reason, details)

    def _end(
        self, status: ChildStatus, value: Any, message: str, details: str = ""
    ) -> None:
        seconds = time.monotonic() - self.start
        self.result = ChildResult(status, value, seconds, message, details)
        self.worker.close()


def _call_reporting(
    function: Callable[..., object], args: tuple[object, ...], send: process.Send
) -> None:
    """Do as `_call`, with a function that sends news in front of the arguments."""

    def report(news: object) -> None:
        send(pickle.dumps(("news", news, "", ""), pickle.HIGHEST_PROTOCOL))

    _call(function, (report, *args), None, send)


def _call(
    function: Callable[..., object],
    args: tuple[object, ...],
    cpu_limit: float | None,
    send: process.Send,
) -> None:
    """Make the call, in the child, and send what became of it; never raise."""
    if cpu_limit is not None and hasattr(signal, "setitimer"):
        # No handler of ours: an engine would keep it waiting.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, cpu_limit)
    report: tuple[ChildStatus, object, str, str]
    try:
        report = ("done", function(*args), "", "")
        answer = pickle.dumps(report, pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        report = ("memory", None, "memory ran out (MemoryError)", "")
        answer = pickle.dumps(report)
    except BaseException as exc:  # SystemExit must not end the child unheard
        line = f"{type(exc).__name__}: {exc}"
        answer = pickle.dumps(("error", None, line, traceback.format_exc()))
    send(answer)


def _check_memory_limit(memory_limit: int | None) -> None:
    if memory_limit is not None and memory_limit < 1:
        raise ValueError(f"memory limit {memory_limit} is not positive")
    if memory_limit is not None and not os.path.exists(
        f"{process.PROC}/self/smaps_rollup"
    ):
        raise NotImplementedError("a memory limit needs /proc, as Linux has it")
