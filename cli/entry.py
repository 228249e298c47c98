"""Where the command starts: signals and memory are seen to before all imports."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from typing import NoReturn

from .common import signals
from .common.memory import is_exhausted

_OBJECTS = 50_000
"""New objects after which cycles are searched for; an import makes more than 700."""


def main() -> None:
    """Run the command; the console script ``olivine`` calls this."""
    gc.set_threshold(_OBJECTS)
    signals.leave_at_once()
    try:
        from .main import main as run
    except (ImportError, MemoryError) as error:
        if not is_exhausted(error):
            raise
        sys.stderr.write("olivine: out of memory\n")
        sys.exit(3)
    try:
        run()
    finally:
        gc.freeze()  # the end need not search what the system takes back
        if (status := signals.ended()) is not None:
            _leave(status)


def _leave(status: int) -> NoReturn:
    """End without taking Python down, which can abort it.

    A signal may have broken off the import of a C++ library, and what that left half
    made calls into an interpreter that is gone.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)
