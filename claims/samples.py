"""What checks share: how many cases, monitored runs, deviations, formulas, families.

Runs of a claim are made once, with seeds 0, 1, 2, ...
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..algorithms.classes import PolicyClassByLevel, ValueClassByLevel
from ..algorithms.environments.protocol import Environment
from ..algorithms.learning.monitors import with_monitors
from ..algorithms.learning.problem import LearningResult, Problem
from ..algorithms.olive_program.program import OliveProgram
from ..reduction.family.family import Family, Variant
from ..reduction.family.variants import as_variant
from ..reduction.formula.formula import Formula
from ..reduction.hidden import HiddenFamily
from ..reduction.program.optimum import check
from ..reduction.program.program import build
from ..reduction.verify.routes import best_member
from ..solvers.milp.milp import solve_milp
from . import Evidence

CONFIDENCE = 0.95
MOST = 1_000
"""Most seeds of a claim: tests look at fewer than it has."""
INSTANCES = 1_000
"""Most formulas, families or MDPs that a claim goes through, likewise."""
LARGEST = 1_000
"""Greatest n of formulas whose size a claim varies, likewise."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Case = TypeVar("_Case")
_Parameters = TypeVar("_Parameters")
Number = float | Fraction


def seeds(count: int) -> range:
    """Seeds of the runs of a claim, at most `MOST`."""
    return range(min(count, MOST))


def instances(count: int, least: int = 0) -> int:
    """Cut the number of a claim's instances to `INSTANCES`, but not below `least`.

    `least` is what it takes to refute the claim were it wrong.
    """
    return min(count, max(INSTANCES, least))


def some(cases: Sequence[_Case], least: int = 0) -> Sequence[_Case]:
    """Give as many cases as `instances` lets through, spread evenly over them all."""
    count, last = instances(len(cases), least), len(cases) - 1
    if count == len(cases):
        return cases
    return [cases[i * last // max(count - 1, 1)] for i in range(count)]


_KEPT: list[dict[Any, Any]] = []


def forget() -> None:
    """Forget the runs that were made, for tests that change what makes them."""
    for kept in _KEPT:
        kept.clear()


def hoeffding(inside: Number, n: int, accuracy: Number) -> float:
    """Deviation of a mean of n draws in [0, 1], over an accuracy; e^-inside each way.

    In units of it, as it may be far below the least float.
    """
    return math.sqrt(float(Fraction(inside) / (2 * n) / Fraction(accuracy) ** 2))


def bernstein(
    inside: Number, n: int, accuracy: Number, variance: int, span: int
) -> float:
    """Deviation of a mean of n draws of a variance and a range, over an accuracy."""
    rate = float(Fraction(inside) / n / Fraction(accuracy) ** 2)
    return math.sqrt(2 * variance * rate) + span * rate * float(accuracy) / 3


def made_once(make: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Keep what a function gives, for each `MOST` and `INSTANCES`."""
    kept: dict[tuple[Any, ...], _Result] = {}
    _KEPT.append(kept)

    @wraps(make)
    def found(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        key = (MOST, INSTANCES, *args, *sorted(kwargs.items()))
        if key not in kept:
            kept[key] = make(*args, **kwargs)
        return kept[key]

    return found


def monitored_run(
    learn: Callable[..., LearningResult],
    arguments: Sequence[Any],
    monitors: Any,
    rng: np.random.Generator,
    observers: Sequence[Any] = (),
    **options: Any,
) -> LearningResult:
    """Run an algorithm with its monitors; the result has their reports."""
    result = learn(*arguments, rng, observers=[monitors, *observers], **options)
    return with_monitors(result, monitors.reports(result))


def parts(made: Problem) -> tuple[Environment, ValueClassByLevel, PolicyClassByLevel]:
    """Environment, G and Π of an instance, as algorithms take them."""
    return made.environment, made.values, made.policies


def codes(env: Environment) -> list[int]:
    """Numbers of observations of all levels."""
    return [env.space(h).n_codes or 0 for h in range(1, env.horizon + 1)]


def problem(
    made: Problem, *, squared: bool = False
) -> tuple[int, int, int, float, float]:
    """M, K and H of an instance, ln |G| (of squares, if wanted) and ln |Π|."""
    env = made.environment
    sizes = made.values.log_size(squared=squared), made.policies.log_size()
    return env.max_states, env.n_actions, env.horizon, *sizes


def loss(made: Problem, result: LearningResult) -> Fraction:
    """V* - V^π̂; V* where there is no policy."""
    truth, policies = made.environment.truth, result.policies
    value = Fraction(0) if policies is None else truth.policy_value(list(policies))
    return truth.optimal_value - value


@dataclass(frozen=True)
class Run(Generic[_Parameters]):
    """A monitored run: what ran, what came out, and the events that were kept."""

    made: Problem
    parameters: _Parameters
    result: LearningResult
    events: tuple[Any, ...]

    @property
    def loss(self) -> Fraction:
        """V* - V^π̂; V* where there is no policy."""
        return loss(self.made, self.result)


def monitored(
    learn: Callable[..., LearningResult],
    made: Problem,
    parameters: _Parameters,
    monitors: Callable[..., Any],
    seed: int,
    *,
    observers: Sequence[Any] = (),
    kept: type[Any] | tuple[type[Any], ...] = (),
    **options: Any,
) -> Run[_Parameters]:
    """Run an algorithm on an instance, as `monitored_run`; keep events of a type."""
    events: list[Any] = []
    watch = [*observers, lambda e: events.append(e) if isinstance(e, kept) else None]
    review, rng = monitors(made, parameters), np.random.default_rng([seed, 2])
    arguments = *made.arguments, parameters
    found = monitored_run(learn, arguments, review, rng, watch, **options)
    return Run(made, parameters, found, tuple(events))


def premises_hold(result: LearningResult) -> bool:
    """Whether every monitor holds on which the analysis rests."""
    monitors = result.monitors.values()
    return all(m.holds for m in monitors if m.scope == "premise")


def held(
    results: Iterable[LearningResult],
    *names: str,
    inside: Callable[[LearningResult], bool] = premises_hold,
) -> Evidence:
    """Whether the named monitors hold in every run that is inside the event."""
    every = list(results)
    within = [result for result in every if inside(result)]
    checks, margins = 0, list[Fraction]()
    for name in names:
        reports = [result.monitors[name] for result in within]
        if not any(report.checks for report in reports):
            return Evidence(False, f"{name} was never checked inside the event")
        for report in reports:
            if report.holds is not True:
                return Evidence(False, f"{name}: {report.first}")
            checks += report.checks
            margins += [report.margin] if report.margin is not None else []
    least = f"; least margin {float(min(margins)):.3g}" if margins else ""
    left = "" if len(within) == len(every) else " (the others left the event)"
    return Evidence(
        True, f"{checks} checks in {len(within)} of {len(every)} runs{left}{least}"
    )


def count(results: Iterable[LearningResult], name: str) -> int:
    """Count the runs in which a monitor holds."""
    return sum(result.monitors[name].holds is True for result in results)


def mostly(
    results: Iterable[LearningResult], name: str, what: str, least: float
) -> Evidence:
    """Whether a monitor holds in a share of the runs, and what it shows of all."""
    every = list(results)
    good = count(every, name)
    return Evidence(good >= least * len(every), share(good, len(every), what))


def share(good: int, runs: int, what: str) -> str:
    """Say how many runs were good, and what share of all runs that shows."""
    return (
        f"{good} of {runs} runs {what}, which alone shows a share of at least "
        f"{lower_bound(good, runs):.3f} with confidence {CONFIDENCE:.0%}"
    )


def lower_bound(good: int, runs: int) -> float:
    """Least share that so many good runs show (Clopper and Pearson), rounded down.

    36 of 36 show 0.920 with confidence 95%, not 0.95; that takes 59.
    """
    from scipy.stats import beta  # half a second, which listing the claims spares

    if good == 0:
        return 0.0
    found = float(beta.ppf(1 - CONFIDENCE, good, runs - good + 1))
    return math.floor(1000 * found) / 1000


ODD: tuple[tuple[int, list[list[int]]], ...] = (
    (0, []),
    (2, []),
    (0, [[]]),
    (1, [[], [1]]),
    (1, [[1], [-1]]),
    (2, [[1, -1], [1, -1, 2]]),
    (2, [[1, 1], [-1, -1, -1], [2, 2, 1]]),
    (3, [[2]]),
    (2, [[1, 2], [1, -2], [-1, 2], [-1, -2]]),
    (2, [[1, 2], [1, 2], [-1], [-2]]),
)
"""Variables and clauses of formulas with something unusual about each."""


def random_formula(
    rng: np.random.Generator,
    *,
    max_variables: int,
    max_clauses: int,
    max_width: int = 3,
    weighted: bool = False,
) -> Formula:
    """Draw a formula whose clauses may repeat literals and be empty."""
    n = int(rng.integers(1, max_variables + 1))
    rows = [
        (rng.integers(1, n + 1, width) * rng.choice([-1, 1], width)).tolist()
        for width in rng.integers(0, max_width + 1, rng.integers(1, max_clauses + 1))
    ]
    weights = rng.integers(1, 10, len(rows)).tolist() if weighted else None
    return Formula.from_clauses(rows, n, weights)


def formulas(
    seed: int,
    count: int,
    *,
    max_variables: int = 4,
    max_clauses: int = 4,
    max_width: int = 3,
) -> Iterator[Formula]:
    """Yield formulas, an odd one and a random one in turn while odd ones last.

    Every other random one is weighted. At most `INSTANCES` of them.
    """
    rng = np.random.default_rng(seed)
    odd = [Formula.from_clauses(rows, n) for n, rows in ODD]
    for k in range(instances(count)):
        if k % 2 == 0 and k // 2 < len(odd):
            yield odd[k // 2]
            continue
        yield random_formula(
            rng,
            max_variables=max_variables,
            max_clauses=max_clauses,
            max_width=max_width,
            weighted=k % 4 == 1,
        )


def families(
    variant: Variant | str, seed: int, count: int, **sizes: int
) -> Iterator[Family]:
    """Yield families of `formulas`; a third has the default penalty.

    The others have one between 1/100 and 1, unless the variant fixes it.
    """
    rng = np.random.default_rng(seed + 1)
    declared = as_variant(variant).declaration
    for k, formula in enumerate(formulas(seed, count, **sizes)):
        penalty = None
        if k % 3 and declared.fixed_penalty is None:
            end = 101 if declared.largest_penalty_fits else 100
            percent = int(rng.integers(1, end))
            penalty = Fraction(percent, 100)
        yield Family(formula, variant, penalty)


def eight_clauses() -> Formula:
    """All eight clauses on three variables: every assignment falsifies one."""
    signs = itertools.product((1, -1), repeat=3)
    return Formula.from_clauses([[a, 2 * b, 3 * c] for a, b, c in signs], 3)


def contradiction() -> Formula:
    """Return x1 and its negation as two unit clauses."""
    return Formula.from_clauses([[1], [-1]], 1)


def assignments(n_variables: int) -> Iterator[NDArray[np.bool_]]:
    """Yield all 2^n assignments."""
    for bits in itertools.product((False, True), repeat=n_variables):
        yield np.array(bits, dtype=np.bool_)


def least_unsatisfied(family: Family | HiddenFamily) -> int:
    """Find u by trying every assignment."""
    form = family.three_sat
    return min(form.unsatisfied_weight(a) for a in assignments(form.n_variables))


def milp_value(family: Family, formulation: str, form: str) -> Fraction | None:
    """Exact value of the solution of a formulation by HiGHS, None without one.

    The pair read off the solution is checked against the program; that nothing
    is better is the engine's word.
    """
    built = build(family, formulation, form)
    outcome = solve_milp(built.model)
    if outcome.values is None:
        return None
    return check(family, built.pair(outcome.values))


_Vertex = tuple[dict[int, Fraction], ...]


def program_optimum(family: Family) -> Fraction | None:
    """Optimum of ``family.program()``, or None where the two bounds differ.

    From above by `vertex_bound`; from below by the best member's optimal pair, if it
    is feasible.
    """
    program, best = family.program(), best_member(family)
    pair = family.mdp(best.y).optimal_values()
    if not program.is_feasible(pair):
        return None
    bound = vertex_bound(program)
    return bound if bound == program.objective(pair) else None


def vertex_bound(program: OliveProgram) -> Fraction:
    """Bound the optimum of a program with φ = 0 from above, exactly.

    States that a constraint binds alone obey the Bellman equation of their action. All
    other values are free in their ranges, but for the pairs of them that a
    constraint binds half each, whose sum is fixed. Constraints of other shapes are
    left out, which can only raise the bound. Given a policy, the value at the start
    is linear in the free values, and these range over a product of boxes and
    segments; so some vertex of the product is best, and there planning finds the best
    policy. The work grows as the number of vertices.
    """
    if program.tolerance:
        raise ValueError(f"tolerance: {program.tolerance} is not 0")
    mdp = program.mdp
    alone, pairs = set[int](), list[tuple[int, int]]()
    for distribution in program.distributions:
        states = distribution.states.tolist()
        if len(states) == 1:
            alone.add(states[0])
        elif len(states) == 2 and len(set(distribution.numerators.tolist())) == 1:
            pairs.append((states[0], states[1]))
    paired = {s for pair in pairs for s in pair}
    factors = [_segment(program, *pair) for pair in pairs]
    for state in set(range(mdp.n_states)) - alone - paired:
        factors.append(({state: program.lower}, {state: program.upper_of(state)}))
    scale = _scale(program)
    # Whole multiples of 1/scale, an array of one entry for each vertex.
    values: dict[int, Any] = {}
    vertices = np.array(list(itertools.product(*(range(len(f)) for f in factors))))
    for factor, ends in zip(factors, vertices.T, strict=True):
        for state in factor[0]:
            whole = [int(end[state] * scale) for end in factor]
            values[state] = np.array(whole, dtype=object)[ends]
    for state in sorted(alone, key=lambda s: -int(mdp.state_level[s])):
        worth = []
        for action in mdp.actions(state):
            ahead = int(mdp.reward(action) * scale)
            for target, chance in mdp.successors(action):
                ahead = ahead + values[target] * chance.numerator // chance.denominator
            worth.append(ahead)
        values[state] = np.maximum.reduce(np.broadcast_arrays(*worth))
    best = Fraction(np.max(values[mdp.start]), scale)
    return min(best, program.upper_of(mdp.start))


def _scale(program: OliveProgram) -> int:
    """Integer that makes every value met on the way whole."""
    mdp = program.mdp
    bounds = (program.lower, program.upper, *program.upper_ends)
    rewards = math.lcm(*(v.denominator for v in (*mdp.reward_table, *bounds)))
    chances = math.lcm(*np.unique(mdp.transition_denominator).tolist())
    return int(rewards * chances**mdp.horizon)


def _segment(program: OliveProgram, first: int, second: int) -> _Vertex:
    """Give the ends of {(v, w) in range: v + w = the sum that the constraint asks}.

    Both states end the episode after their only action.
    """
    mdp, total = program.mdp, Fraction(0)
    for state in (first, second):
        (action,) = mdp.actions(state)
        if list(mdp.successors(action)):
            raise ValueError(f"state {state} of a pair leads on")
        total += mdp.reward(action)
    low = max(program.lower, total - program.upper_of(second))
    high = min(program.upper_of(first), total - program.lower)
    ends = {low, high}
    return tuple({first: v, second: total - v} for v in sorted(ends))
