"""Settings of every test: how deep Hypothesis searches, without deadlines; quiet pipes.

With HYPOTHESIS_PROFILE=long a test tries the number of examples that it asks for, or
100. The default profile, ``quick``, tries `QUICK` of them at most.
"""

import gc
import os
import signal

import numpy as np
import pytest
from hypothesis import settings
from olivine.cli.common import console, family_folder
from olivine.solvers.child import child

from tests.support.in_process import FORKED, CallHere

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
console.FIRST_BEAT = 1e6
family_folder.READ_BACK_SECONDS = 60.0


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
