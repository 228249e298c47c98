"""Calls that the program makes in a child process, made in the test's own instead.

A fork costs a test worker some 30 ms of CPU time, and most programs of tests take less.
What comes back is pickled as a child's answer is. A child is started all the same for a
limit of memory or of CPU time; a limit of wall time needs the marker ``children``.
"""

import gc
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from olivine.solvers.child import child
from olivine.solvers.sat import maxsat, sat

FORKED = child.Running


class CallHere(FORKED):
    """Has its result when it has begun."""

    def __init__(self, work, memory_limit=None, show_errors=False) -> None:
        super().__init__(work, memory_limit, show_errors)
        *_, cpu_limit = work.args
        self._here = memory_limit is None and not isinstance(cpu_limit, float | int)
        self._work = work

    def begin(self) -> None:
        if self._here:
            with _undone():
                self._work(self.take)
        else:
            super().begin()


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
        maxsat._kept.clear()
