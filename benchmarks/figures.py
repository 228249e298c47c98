"""What a benchmark reports: figures with targets, measured in turns.

A figure is a ratio within one run wherever that is possible: a busy machine slows
both sides. Times are CPU seconds, of this process and of its children.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import linear_regression
from typing import TypeVar

from olivine.solvers.child import cpu_seconds

Found = TypeVar("Found")


@dataclass(frozen=True)
class Figure:
    """A measured value and the most that it may be.

    Attributes
    ----------
    name
        What was measured, in words.
    value, unit
        The value; the unit is "ratio", "exponent", "CPU s", "ms" or "MiB".
    target
        The most that was asked for; None where nothing was.
    note
        Sizes, or why a target is missed.
    """

    name: str
    value: float
    unit: str = "ratio"
    target: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None else self.value <= self.target


def cpu(function: Callable[..., object], *arguments: object) -> float:
    """CPU seconds of a call, its children's included."""
    before = cpu_seconds()
    function(*arguments)
    return cpu_seconds() - before


def timed(function: Callable[[], Found]) -> tuple[Found, float]:
    """Return what a call gave, and its CPU seconds in this process."""
    start = time.process_time()
    found = function()
    return found, time.process_time() - start


def least(function: Callable[[], object], repeats: int) -> float:
    """Least CPU seconds of several calls: other work on the machine only adds."""
    return min(cpu(function) for _ in range(repeats))


def in_turns(
    first: Callable[[], object], second: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """Least CPU seconds of each of two calls, made in turns."""
    pairs = [(cpu(first), cpu(second)) for _ in range(repeats)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def process(arguments: Sequence[str], codes: Sequence[int] = (0,)) -> float:
    """Run Python with arguments to its end; return its peak memory in MiB.

    Raises
    ------
    RuntimeError
        If it ends with another exit status.
    """
    # Of a process in between: the peak of children is the largest of all so far.
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run([sys.executable, *sys.argv[1:]], stdout=-3)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        "sys.exit(done.returncode)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, check=False
    )
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}")
    return int(done.stdout.split()[-1]) / 1024


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Slope of the line through the logarithms, by least squares."""
    xs, ys = map(math.log, sizes), map(math.log, seconds)
    return linear_regression(list(xs), list(ys)).slope
