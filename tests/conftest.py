"""Settings of every test: how deep Hypothesis searches, without deadlines; quiet pipes.

The number of examples that a test asks for is tried with HYPOTHESIS_PROFILE=long. The
default profile, ``quick``, tries `QUICK` of them at most.
"""

import os
import signal

from hypothesis import settings
from olivine.cli import common

QUICK = 10
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")

settings.register_profile("long", deadline=None, print_blob=True, max_examples=200)
settings.register_profile("quick", settings.get_profile("long"), max_examples=QUICK)
settings.load_profile(PROFILE)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As a shell starts what it runs in the background; tests interrupt themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A line that a run goes on would come and go with the load of the machine.
common.FIRST_BEAT = 1e6


def pytest_collection_modifyitems(items) -> None:
    """Cut the examples of property tests; tests/test_depth.py sees that it does."""
    for item in items if PROFILE == "quick" else ():
        test = getattr(item, "obj", None)
        asked = getattr(test, "_hypothesis_internal_use_settings", None)
        if asked is not None and asked.max_examples > QUICK:
            test._hypothesis_internal_use_settings = settings(asked, max_examples=QUICK)
