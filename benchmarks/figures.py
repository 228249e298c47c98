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
from statistics import linear_regression, median
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from olivine.solvers.child.child import cpu_seconds

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


Clock = Callable[[], float]


def cpu(
    function: Callable[..., object], *arguments: object, clock: Clock = cpu_seconds
) -> float:
    """CPU seconds of a call, its children's included but with another clock."""
    before = clock()
    function(*arguments)
    return clock() - before


def timed(function: Callable[[], Found]) -> tuple[Found, float]:
    """Return what a call gave, and its CPU seconds in this process."""
    start = time.process_time()
    found = function()
    return found, time.process_time() - start


def least(function: Callable[[], object], repeats: int) -> float:
    """Least CPU seconds of several calls: other work on the machine only adds."""
    return min(cpu(function) for _ in range(repeats))


class Turns(NamedTuple):
    """Two calls made in turns: medians of their CPU seconds, and of the ratios.

    Both calls of a pair meet the same speed of the machine, so the median of the ratios
    is steadier than the ratio of any two times.
    """

    ratio: float
    first: float
    second: float


def in_turns(
    first: Callable[[], object], second: Callable[[], object], repeats: int
) -> Turns:
    """Time two calls in turns."""
    pairs = [(cpu(first), cpu(second)) for _ in range(repeats)]
    ratio = median(a / b for a, b in pairs)
    return Turns(ratio, median(a for a, _ in pairs), median(b for _, b in pairs))


def in_sum(
    first: Callable[[], object], second: Callable[[], object], repeats: int
) -> float:
    """Ratio of the CPU seconds of two calls made in turns, each side's summed up.

    For calls whose times fall into two groups, as where freed memory is at times given
    back to the system: a median jumps from one to the other.
    """
    pairs = [(cpu(first), cpu(second)) for _ in range(repeats)]
    ours, theirs = zip(*pairs, strict=True)
    return sum(ours) / sum(theirs)


PIECE = 0.008
"""CPU seconds of the piece of work on the machine whose speed targets of time mean."""


def piece_of_work(goes: int = 9) -> float:
    """Time a fixed piece of work: the median CPU seconds of some goes at it."""
    numbers = np.random.default_rng(0).random(100_000)
    return median(cpu(_work, numbers) for _ in range(goes))


def _work(numbers: NDArray[np.float64]) -> None:
    np.sort(numbers)
    found = {k: str(k) for k in range(30_000)}
    sum(len(text) for text in found.values())


def with_pace(
    function: Callable[[], object], clock: Clock = cpu_seconds
) -> tuple[float, float]:
    """CPU seconds of a call as measured, and at the speed that the targets mean.

    The call is held against the piece of work before and after it.
    """
    before, seconds = piece_of_work(3), cpu(function, clock=clock)
    return seconds, 2 * PIECE * seconds / (before + piece_of_work(3))


def paced(
    function: Callable[[], object], repeats: int, clock: Clock = cpu_seconds
) -> float:
    """CPU seconds of a call at the speed that the targets mean: a median."""
    return median(with_pace(function, clock)[1] for _ in range(repeats))


def growth(
    sizes: Sequence[int],
    calls: Sequence[Callable[[], object]],
    rounds: int,
    clock: Clock = cpu_seconds,
) -> tuple[float, float]:
    """Exponent of the times of calls, one for each size, and the time of the last.

    All sizes are timed in each round, for the speed of the machine's memory drifts,
    which the piece of work does not tell. Both are medians over the rounds.
    """
    found = [[paced(call, 3, clock) for call in calls] for _ in range(rounds)]
    slopes = [exponent(sizes, seconds) for seconds in found]
    return median(slopes), median(seconds[-1] for seconds in found)


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
