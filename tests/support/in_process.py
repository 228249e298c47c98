"""Calls that the program makes in a child process, made in the test's own instead.

A fork costs a test worker some 30 ms of CPU time, and most programs of tests take less.
What comes back is pickled as a child's answer is. A child is started all the same for a
limit of memory or of CPU time; a limit of wall time needs the marker ``children``.
"""

import gc
import os
import pickle
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from olivine.solvers.child import child
from olivine.solvers.sat import rc2, sat

FORKED = child.Running


class CallHere(FORKED):
    """Has its result when it has begun."""

    def __init__(self, task, memory_limit=None, show_errors=False) -> None:
        super().__init__(task, memory_limit, show_errors)
        _, _, *cpu_limit = task.args
        self._task = task if memory_limit is None and not any(cpu_limit) else None

    def begin(self) -> None:
        if self._task is None:
            super().begin()
            return
        with _undone():
            status, value, message, details = pickle.loads(self._task())
        seconds = time.monotonic() - self.start
        self.result = child.ChildResult(status, value, seconds, message, details)


@contextmanager
def _undone() -> Iterator[None]:
    """Undo what functions do to a process that is to end with them."""
    folder, temporary, collecting = os.getcwd(), tempfile.tempdir, gc.isenabled()
    try:
        yield
    finally:
        os.chdir(folder)
        tempfile.tempdir = temporary
        if collecting:
            gc.enable()
        sat._kept.clear()
        rc2._kept.clear()
