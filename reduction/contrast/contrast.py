"""OLIVE's program against the oracles, as the formula grows (docs/contrast.md).

On families of random 3-SAT formulas near the threshold: CPU time and nodes of OLIVE's
program in each formulation (`faithful`, `strengthened`, `projected`) and of the
multi-data-set oracle for one policy (`deterministic`), by HiGHS; time and basic
operations (simplex iterations for `lp`) of the oracles `csc`, `ls`, `lp` on data from a
member, and of the multi-data-set oracle for a `mixture`. What a time limit cut off is
``censored``: a lower bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...algorithms.oracles.multi import MultiStatus
from ...solvers.child.child import cpu_seconds
from ...solvers.milp.milp import solve_milp
from ...solvers.outcome import Status
from ..family.family import Family
from ..formula.random_formula import random_ksat
from ..multi.hardness import MultiInstance
from ..program.program import FORMULATIONS, build
from .data import oracle_data
from .fit import Fit, Law, fit

RATIO = 4.26
SMALLEST = 3
REPEATS = 7
GIVE_UP = 2
"""Sizes in a row with nothing solved, after which a series ends."""

HARD = (*FORMULATIONS, "deterministic")
EASY = ("csc", "ls", "lp", "mixture")
SERIES = (*HARD, *EASY)
WORK_UNIT = dict.fromkeys(HARD, "nodes") | {
    "csc": "operations",
    "ls": "operations",
    "lp": "simplex iterations",
    "mixture": "operations",
}

SECONDS_FLOOR = dict.fromkeys(HARD, 0.1) | dict.fromkeys(EASY, 3e-4)
"""Median seconds below which the time is that of starting an engine, or of a
call: no growth to be seen."""

WORK_FLOOR = dict.fromkeys(HARD, 1.0) | dict.fromkeys(EASY, 0.0)
"""One node is the root: the same for MILPs' nodes."""


@dataclass(frozen=True)
class Measurement:
    """One run of one series on one formula."""

    series: str  # See the module
    n: int  # variables
    m: int  # clauses
    instance: int  # the formula is drawn from ``default_rng([seed, n, instance])``
    seconds: float  # CPU time: of a MILP's process, the least of `REPEATS` of an oracle
    work: int  # See the module
    censored: bool  # Whether the time limit cut it off
    status: str  # The engine's or oracle's word


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    max_n: int  # Largest number of variables, at least `SMALLEST`
    instances: int = 3  # Formulas of each size, at least 1
    time_limit: float = 10.0  # Wall seconds for each MILP
    seed: int = 0  # Of everything that is drawn
    variant: str = "paper"  # Of the family; with its default penalty
    ratio: float = RATIO  # Clauses for each variable

    def __post_init__(self) -> None:
        if self.max_n < SMALLEST:
            raise ValueError(f"max_n: {self.max_n} is below {SMALLEST}")
        if self.instances < 1:
            raise ValueError(f"instances: {self.instances} is not positive")
        if not self.time_limit > 0:
            raise ValueError(f"time_limit: {self.time_limit} is not positive")
        if not self.ratio > 0:
            raise ValueError(f"ratio: {self.ratio} is not positive")

    @property
    def sizes(self) -> list[int]:
        """Numbers of variables: each up to 8, then a fifth more each time."""
        found = []
        n = SMALLEST
        while n < self.max_n:
            found.append(n)
            n = max(n + 1, round(1.2 * n))
        return [*found, self.max_n]


def measure(plan: Plan) -> Iterator[tuple[int, list[Measurement]]]:
    """Run a plan."""
    unsolved = dict.fromkeys(SERIES, 0)
    for n in plan.sizes:
        alive = [s for s in SERIES if unsolved[s] < GIVE_UP]
        solved: set[str] = set()
        for instance in range(plan.instances):
            found = measure_one(plan, n, instance, alive)
            solved |= {m.series for m in found if not m.censored}
            yield n, found
        for series in alive:
            unsolved[series] = 0 if series in solved else unsolved[series] + 1


def measure_one(
    plan: Plan, n: int, instance: int, series: Sequence[str] = SERIES
) -> list[Measurement]:
    """Measure the series on one formula."""
    rng = np.random.default_rng([plan.seed, n, instance])
    m = max(1, round(plan.ratio * n))
    family = Family(random_ksat(n, m, 3, rng).three_sat(), plan.variant)
    runs: dict[str, Callable[[], _Run]] = {
        name: _program(family, name, plan.time_limit) for name in FORMULATIONS
    }
    runs |= _oracles(family, rng)
    runs |= _multi(MultiInstance(family.three_sat), plan.time_limit)
    found = []
    for name in series:
        start = cpu_seconds()
        try:
            run = runs[name]()
        except RuntimeError:  # the engine failed: that costs its own series
            run = (cpu_seconds() - start, 0, True, "error")
        found.append(Measurement(name, n, m, instance, *run))
    return found


_Run = tuple[float, int, bool, str]
"""Seconds, work, censored, status."""


def _program(family: Family, name: str, time_limit: float) -> Callable[[], _Run]:
    def run() -> _Run:
        model = build(family, name).model
        start = cpu_seconds()
        outcome = solve_milp(model, time_limit=time_limit)
        seconds, nodes = cpu_seconds() - start, outcome.nodes or 0
        censored = outcome.status is not Status.OPTIMAL
        return seconds, nodes, censored, outcome.status.value

    return run


def _oracles(family: Family, rng: np.random.Generator) -> dict[str, Callable[[], _Run]]:
    data = oracle_data(family, rng)

    def asked(ask: Callable[[], Any], work: str = "operations") -> Callable[[], _Run]:
        def run() -> _Run:
            seconds, found = _timed(ask)
            status = getattr(found, "status", Status.OPTIMAL)
            return seconds, getattr(found, work), False, status.value

        return run

    return {
        "csc": asked(data.csc),
        "ls": asked(data.least_squares),
        "lp": asked(data.lp, "iterations"),
    }


def _multi(instance: MultiInstance, time_limit: float) -> dict[str, Callable[[], _Run]]:
    def solve_one() -> _Run:
        start = cpu_seconds()
        found = instance.solve("deterministic", time_limit=time_limit)
        seconds = cpu_seconds() - start
        censored = found.status is MultiStatus.UNKNOWN
        return seconds, found.nodes or 0, censored, found.status.value

    def solve_mixture() -> _Run:
        seconds, found = _timed(lambda: instance.solve("multiplicative-weights"))
        return seconds, found.operations or 0, not found.feasible, found.status.value

    return {"deterministic": solve_one, "mixture": solve_mixture}


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Least CPU seconds of several runs, and the result."""
    best, result = np.inf, None
    for _ in range(REPEATS):
        start = time.process_time()
        result = run()
        best = min(best, time.process_time() - start)
    return float(best), result


def describe(
    found: Fit | None, series: str, quantity: str, measurements: Sequence[Measurement]
) -> str:
    """Say a law, or why there is none, in a few words."""
    if found is not None:
        return found.describe()
    own = [m for m in measurements if m.series == series]
    floor = {"seconds": SECONDS_FLOOR, "work": WORK_FLOOR}[quantity][series]
    last = max((m.n for m in own), default=0)
    largest = [m for m in own if m.n == last]
    values = [getattr(m, quantity) for m in largest if not m.censored]
    if values and len(values) == len(largest) and np.median(values) <= floor:
        return f"no growth seen up to n = {last}"
    if series in HARD and quantity == "work":
        return "too few sizes beyond the root node"
    return "too few sizes for a fit"


def fits(measurements: Sequence[Measurement]) -> dict[str, dict[str, Fit | None]]:
    """Fit an exponential to each MILP's seconds and work, a power to each oracle's.

    Only from the first size on that is above `SECONDS_FLOOR` or `WORK_FLOOR`.
    """
    found: dict[str, dict[str, Fit | None]] = {}
    for series in SERIES:
        own = [m for m in measurements if m.series == series]
        law: Law = "exponential" if series in HARD else "power"
        sizes, cut = [m.n for m in own], [m.censored for m in own]
        seconds = [m.seconds for m in own]
        work = [max(1.0, m.work) for m in own]  # the root is a node
        found[series] = {
            "seconds": fit(law, sizes, seconds, cut, floor=SECONDS_FLOOR[series]),
            "work": fit(law, sizes, work, cut, floor=WORK_FLOOR[series]),
        }
    return found
