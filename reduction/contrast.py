"""OLIVE's program against the oracles, as the formula grows (docs/contrast.md).

On families of random 3-SAT formulas near the threshold: CPU time and nodes of OLIVE's
program in each formulation (`faithful`, `strengthened`, `projected`) and of the
multi-data-set oracle for one policy (`deterministic`), by HiGHS; time and basic
operations (simplex iterations for `lp`) of the oracles `csc`, `ls`, `lp` on data from a
member, and of the multi-data-set oracle for a `mixture`. What a time limit cut off is
``censored``: a lower bound.

The data are one set of tuples (x, a, r, x'), states and actions drawn uniformly (an
action beyond a state's own stands for one of them again, so that all states have the
same K), and for each clause a small set of the literal states behind it. CSC gets
importance-weighted costs -K 1{π(x) = a} (r + V(x')), V the member's optimal values; LS
regresses r + V(x') on x; LP maximises the mean of g over all literal states, given its
mean on the data behind each clause.

Growth laws are fitted with y = ln of what was measured: a power law is y = a + b ln n,
an exponential y = a + b n, with normal errors. A measurement that a limit cut off says
only that y is at least so much (the Tobit model, Tobin 1958): leaving it out, or taking
the limit for the value, would make growth look slower than it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..algorithms.classes.finite import TabularPolicyClass, TabularValueClass
from ..algorithms.exact.data import EmpiricalMeasure
from ..algorithms.mdp.tabular import TabularMDP
from ..algorithms.oracles import Constraint, CscResult, Functional, LeastSquaresResult
from ..algorithms.oracles.csc import csc, importance_costs
from ..algorithms.oracles.least_squares import least_squares
from ..algorithms.oracles.lp import LpResult, lp
from ..algorithms.oracles.multi import MultiStatus
from ..solvers.child.child import cpu_seconds
from ..solvers.milp.milp import solve_milp
from ..solvers.outcome import Status
from .family.family import Family
from .formula.random_formula import random_ksat
from .multi import MultiInstance
from .program.program import FORMULATIONS, build

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


ACCURACY = 1e-6
DRAWS_PER_ACTION = 4
DRAWS_PER_CLAUSE = 32
RADIUS = 0.01
"""φ in the LP's constraints."""


@dataclass(frozen=True, eq=False)
class OracleData:
    """The three problems."""

    n_states: int
    n_actions: int  # K
    data: EmpiricalMeasure  # Tuples (x, a, r, x')
    costs: NDArray[np.float64]  # for CSC, shape (n, K)
    targets: NDArray[np.float64]  # for LS, shape (n,)
    objective: Functional  # for LP, as the constraints
    constraints: tuple[Constraint, ...]

    def csc(self) -> CscResult:
        """Ask the CSC oracle."""
        policies = TabularPolicyClass(self.n_states, self.n_actions)
        return csc(policies, self.data, self.costs, epsilon_sub=ACCURACY)

    def least_squares(self) -> LeastSquaresResult:
        """Ask the LS oracle."""
        values = TabularValueClass(self.n_states)
        return least_squares(values, self.data, self.targets, epsilon_sub=ACCURACY)

    def lp(self) -> LpResult:
        """Ask the LP oracle."""
        values = TabularValueClass(self.n_states)
        return lp(
            values,
            self.objective,
            self.constraints,
            epsilon_sub=ACCURACY,
            epsilon_feas=ACCURACY,
        )


def oracle_data(family: Family, rng: np.random.Generator) -> OracleData:
    """Draw a member and data from it."""
    mdp = family.mdp(rng.random(family.n_variables) < 0.5)
    values = mdp.optimal_values()
    table = np.array([float(values.value(s)) for s in range(mdp.n_states)])
    k = int(mdp.action_counts.max())
    n = DRAWS_PER_ACTION * mdp.n_actions
    states = rng.integers(0, mdp.n_states, n)
    actions = rng.integers(0, k, n)
    own = mdp.action_offset[states] + actions % mdp.action_counts[states]
    rewards = np.array([float(r) for r in mdp.reward_table])[mdp.reward_index[own]]
    following = _successors(mdp, own, rng)
    returns = rewards + np.where(following >= 0, table[following], 0.0)
    data = EmpiricalMeasure(
        states, actions=actions, rewards=rewards, next_observations=following
    )
    return OracleData(
        n_states=mdp.n_states,
        n_actions=k,
        data=data,
        costs=importance_costs(actions, returns, k),
        targets=returns,
        objective=_literal_states(family),
        constraints=_behind_clauses(family, mdp, table, rng),
    )


def _successors(
    mdp: TabularMDP, actions: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw a successor of each action; -1 where the episode ends."""
    first = mdp.transition_offset[actions]
    counts = mdp.transition_offset[actions + 1] - first
    ends = counts == 0
    wholes = np.repeat(mdp.transition_denominator, np.diff(mdp.transition_offset))
    shares = mdp.transition_numerator / wholes
    # One running sum over all transitions; each action owns a unit of it.
    heights = np.cumsum(shares)
    start = np.where(first > 0, heights[np.maximum(first - 1, 0)], 0.0)
    where = np.searchsorted(heights, start + rng.random(len(actions)), side="right")
    last = first + np.maximum(counts - 1, 0)
    chosen = mdp.transition_target[np.clip(where, first, last) % len(shares)]
    return np.where(ends, -1, chosen).astype(np.int64)


def _literal_states(family: Family) -> Functional:
    first = family.layout.first_literal_state
    states = first + np.arange(2 * family.n_variables)
    return Functional.expectation(EmpiricalMeasure(states))


def _behind_clauses(
    family: Family,
    mdp: TabularMDP,
    table: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[Constraint, ...]:
    """|E_D[g] - E_D[V]| ≤ φ, D the literal states that C_j's actions lead to."""
    found = []
    for j in range(family.n_clauses):
        own = mdp.actions(family.clause_state(j))
        actions = rng.integers(own.start, own.stop, DRAWS_PER_CLAUSE)
        states = _successors(mdp, actions, rng)
        data = EmpiricalMeasure(states).merged()
        mean = data.expectation(table[data.observations])
        found.append(Constraint.near(Functional.expectation(data), mean, RADIUS))
    return tuple(found)


Law = Literal["power", "exponential"]

MIN_SIZES = 3
_LEAST_SIGMA = 1e-3


@dataclass(frozen=True)
class Fit:
    """A fitted growth law."""

    law: Law  # "power": exp(intercept) n^slope; "exponential": exp(intercept + slope n)
    slope: float  # of the line through the logarithms
    intercept: float
    error: float  # Standard error of the slope
    deviation: float  # Standard deviation of ln y about the line
    first: int  # range of n it is fitted on
    last: int
    points: int  # number of measurements
    censored: int  # how many of them a limit cut off

    def __call__(self, n: NDArray[Any]) -> NDArray[np.float64]:
        """Values of the law."""
        x = np.log(n) if self.law == "power" else n
        values: NDArray[np.float64] = np.exp(self.intercept + self.slope * x)
        return values

    @property
    def doubling(self) -> float | None:
        """Variables that double an exponential; None where it does not grow."""
        if self.law == "power" or self.slope <= 0:
            return None
        return math.log(2) / self.slope

    @property
    def is_clear(self) -> bool:
        """Whether there is a law to speak of: an exponential must clearly grow."""
        return self.law == "power" or 0 < self.slope >= 2 * self.error

    def describe(self) -> str:
        """Say the law in a few characters, with a standard error."""
        if self.law == "power":
            return f"n to the {self.slope:.2f} ± {self.error:.2f}"
        if self.doubling is None or not self.is_clear:
            return "no clear growth"
        error = self.doubling * self.error / self.slope
        return f"×2 every {self.doubling:.1f} ± {error:.1f} variables"

    def to_json(self) -> dict[str, Any]:
        """One object."""
        return vars(self) | {"doubling": self.doubling}


def fit(
    law: Law,
    sizes: Sequence[int],
    values: Sequence[float],
    censored: Sequence[bool],
    *,
    floor: float = 0.0,
) -> Fit | None:
    """Fit a law by maximum likelihood."""
    n, y = np.array(sizes), np.array(values, dtype=np.float64)
    cut = np.array(censored, dtype=np.bool_)
    below = [s for s in np.unique(n) if np.median(y[n == s]) <= floor]
    kept = (n > max(below, default=-1)) & (y > 0)
    n, y, cut = n[kept], np.log(y[kept]), cut[kept]
    if len(np.unique(n)) < MIN_SIZES or len(np.unique(n[~cut])) < 2:
        return None
    x = np.log(n) if law == "power" else n.astype(np.float64)
    slope, intercept, deviation = _tobit(x, y, cut)
    # As if nothing were cut off, and so a little too small where much is.
    error = deviation / math.sqrt(float(((x - x.mean()) ** 2).sum()))
    return Fit(
        law,
        slope,
        intercept,
        error,
        deviation,
        int(n.min()),
        int(n.max()),
        len(n),
        int(cut.sum()),
    )


def _tobit(
    x: NDArray[np.float64], y: NDArray[np.float64], cut: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """Slope, intercept and deviation of greatest likelihood."""
    centre = x.mean()
    slope, middle = np.polyfit(x - centre, y, 1)
    spread = max(float(np.std(y - middle - slope * (x - centre))), _LEAST_SIGMA)
    if cut.any():
        from scipy.optimize import minimize
        from scipy.stats import norm

        def loss(point: NDArray[np.float64]) -> float:
            sigma = math.exp(point[2])
            z = (y - point[1] - point[0] * (x - centre)) / sigma
            seen = norm.logpdf(z[~cut]) - point[2]
            return -float(seen.sum() + norm.logsf(z[cut]).sum())

        start = np.array([slope, middle, math.log(spread)])
        least = math.log(_LEAST_SIGMA)
        bounds = [(None, None), (None, None), (least, None)]
        found = minimize(loss, start, method="L-BFGS-B", bounds=bounds)
        slope, middle, spread = found.x[0], found.x[1], math.exp(found.x[2])
    return float(slope), float(middle - slope * centre), float(spread)
