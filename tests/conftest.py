"""Settings of every test: how deep Hypothesis searches, without deadlines; quiet pipes.

With HYPOTHESIS_PROFILE=long a test tries the number of examples that it asks for, or
100. The default profile, ``quick``, tries `QUICK` of them at most, and makes calls that
the program makes in a child process in the test's own: a fork costs a test worker some
30 ms of CPU time, and most programs of tests take less. What comes back is pickled as a
child's answer is. A child is started all the same for a limit of memory or of CPU time;
a limit of wall time needs the marker ``children``.
"""

import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import settings
from olivine.cli.common import family_folder, output
from olivine.solvers.child import child
from olivine.solvers.sat import maxsat, sat

QUICK = 10
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")

settings.register_profile("long", deadline=None, print_blob=True, max_examples=100)
settings.register_profile("quick", settings.get_profile("long"), max_examples=QUICK)
settings.load_profile(PROFILE)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As a shell starts what it runs in the background; tests interrupt themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What follows the wall clock would come and go with the load of the machine: a line
# that a run goes on, a program file that is not read back in time.
output.FIRST_BEAT = 1e6
family_folder.READ_BACK_SECONDS = 60.0


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


@pytest.fixture
def rng() -> np.random.Generator:
    """The generator of a test that needs one."""
    return np.random.default_rng(0)


def pytest_collection_modifyitems(items) -> None:
    """Cut the examples of property tests; tests/test_depth.py sees that it does."""
    for item in items if PROFILE == "quick" else ():
        test = getattr(item, "obj", None)
        asked = getattr(test, "_hypothesis_internal_use_settings", None)
        if asked is not None and asked.max_examples > QUICK:
            test._hypothesis_internal_use_settings = settings(asked, max_examples=QUICK)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Fork for tests with the marker `children` only; for all in the long profile."""
    forks = PROFILE != "quick" or item.get_closest_marker("children")
    child.Running = FORKED if forks else CallHere
    try:
        return (yield)
    finally:
        child.Running = FORKED


gc.disable()


def pytest_collection_finish() -> None:
    """Spare the collector of garbage, and forked children, what the collection made."""
    gc.freeze()
    gc.enable()
