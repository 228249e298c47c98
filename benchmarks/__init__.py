"""Measurements, each a module to run from the project's folder.

All run with one BLAS thread, and say on standard error what they ran on. CPU seconds of
one and the same work double when the other core is busy, so that docs/ give times as
orders (`order`), and counts and ratios where there are any.
"""

import os
import platform
import sys

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"  # before NumPy reads it

SETTING = (
    f"Python {platform.python_version()}, {platform.machine()}, "
    f"{os.cpu_count()} cores, one BLAS thread"
)
if any(word.startswith("benchmarks.") for word in sys.orig_argv):
    print(SETTING, file=sys.stderr)


def order(seconds: float) -> str:
    """Give a time as the least power of ten that is twice as long.

    >>> order(0.04), order(0.06), order(4.9), order(12)
    ('< 0.1', '< 1', '< 10', '< 100')
    """
    limit = 0.01
    while limit < 2 * seconds:
        limit *= 10
    return f"< {limit:g}"
