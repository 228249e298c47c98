"""Where the command starts, as ``olivine`` and as ``python -m olivine``.

Signals and memory are seen to before all other imports. Python puts the current folder
first on the path; there a file ``random.py`` or ``types.py`` would be run in place of
the library's.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__" and sys.path[:1] in ([""], [os.getcwd()]):
    sys.path.append(sys.path.pop(0))

import atexit
import contextlib
import gc
from typing import NoReturn

from .cli.common.process import is_exhausted, leave_at_once, signal_status

_OBJECTS = 50_000
"""New objects after which cycles are searched for; an import makes more than 700."""


def main() -> None:
    """Run the command; the console script ``olivine`` calls this."""
    gc.set_threshold(_OBJECTS)
    leave_at_once()
    try:
        from .cli.main import main as run
    except (ImportError, MemoryError) as error:
        if not is_exhausted(error):
            raise
        sys.stderr.write("olivine: out of memory\n")
        sys.exit(3)
    try:
        run()
    finally:
        gc.freeze()  # the end need not search what the system takes back
        if (status := signal_status()) is not None:
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


if __name__ == "__main__":
    main()
