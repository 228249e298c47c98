"""Property tests for oracles, this package's and yours (docs/oracles.md).

Needs Hypothesis (the extra ``test``). Strategies (`csc_problems` and so on) lean to odd
cases; ``verify_*`` fail unless an answer is what the oracle says it is, in exact
arithmetic, and within a bound on operations; `growth` fits the exponent of operations
over doubling sizes, counted, never timed (`count_operations` counts at the data).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..classes.finite import TabularPolicyClass, TabularValueClass
from ..classes.protocols import PolicyClass, ValueClass
from ..exact.data import EmpiricalMeasure
from . import (
    Constraint,
    CscProblem,
    CscResult,
    Functional,
    LeastSquaresProblem,
    LeastSquaresResult,
    LpProblem,
    exact_cost,
    exact_loss,
    fitted_exponent,
    least_cost,
    least_loss,
)
from .ledger import count_operations
from .lp import LpResult, exact_value, lp

__all__ = [
    "Growth",
    "count_operations",
    "csc_problems",
    "features",
    "growth",
    "least_squares_problems",
    "lp_problems",
    "measures",
    "verify_csc",
    "verify_least_squares",
    "verify_lp",
]

_REALS = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.1, 0.3, 1e-12]),
    st.floats(-2, 2, allow_subnormal=False),
)
_ENTRIES = st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-9, 1e6])
_WEIGHTS = st.one_of(st.integers(1, 4), st.sampled_from([0, 1, 10**18, 10**30]))


@st.composite
def features(
    draw: st.DrawFn, *, max_observations: int = 5, max_dimension: int = 3
) -> NDArray[np.float64]:
    """Distinct observations as features (N, d): constant, dependent, tiny, huge."""
    n = draw(st.integers(1, max_observations))
    d = draw(st.integers(1, max_dimension))
    row = st.tuples(*[_ENTRIES] * d)
    rows = draw(st.lists(row, min_size=n, max_size=n, unique=True))
    table = np.array(rows, dtype=np.float64)
    if draw(st.booleans()):
        table[:, -1] = table[:, 0]  # linearly dependent
    return np.unique(table, axis=0)


@st.composite
def measures(
    draw: st.DrawFn,
    n_observations: int,
    *,
    max_rows: int = 8,
    observations: NDArray[Any] | None = None,
) -> EmpiricalMeasure:
    """Weighted measures over codes below ``n_observations``, or over rows given."""
    n = draw(st.integers(1, max_rows))
    codes = st.lists(st.integers(0, n_observations - 1), min_size=n, max_size=n)
    weights = st.lists(_WEIGHTS, min_size=n, max_size=n).filter(any)
    rows = draw(codes)
    seen = rows if observations is None else observations[rows]
    return EmpiricalMeasure(seen, weights=draw(weights))


@st.composite
def csc_problems(
    draw: st.DrawFn,
    *,
    max_rows: int = 8,
    max_observations: int = 5,
    max_actions: int = 4,
    observations: NDArray[Any] | None = None,
    n_actions: int | None = None,
) -> CscProblem:
    """Small CSC problems over codes, or over ``observations`` of your own class."""
    size = draw(st.integers(1, max_observations))
    size = size if observations is None else len(observations)
    k = draw(st.integers(1, max_actions)) if n_actions is None else n_actions
    data = draw(measures(size, max_rows=max_rows, observations=observations))
    vector = st.lists(_REALS, min_size=k, max_size=k)
    costs = draw(st.lists(vector, min_size=len(data), max_size=len(data)))
    return CscProblem(size, k, data, np.array(costs, dtype=np.float64))


@st.composite
def least_squares_problems(
    draw: st.DrawFn,
    *,
    max_rows: int = 8,
    max_observations: int = 5,
    observations: NDArray[Any] | None = None,
) -> LeastSquaresProblem:
    """Small least-squares problems, targets also outside [0, 1]; as `csc_problems`."""
    size = draw(st.integers(1, max_observations))
    size = size if observations is None else len(observations)
    data = draw(measures(size, max_rows=max_rows, observations=observations))
    targets = draw(st.lists(_REALS, min_size=len(data), max_size=len(data)))
    return LeastSquaresProblem(size, data, np.array(targets, dtype=np.float64))


@st.composite
def lp_problems(
    draw: st.DrawFn, *, max_observations: int = 4, max_constraints: int = 4
) -> LpProblem:
    """Small linear programs over functions of codes, many of them infeasible."""
    size = draw(st.integers(1, max_observations))
    eighths = st.integers(-4, 12).map(lambda k: k / 8)

    def functional() -> Functional:
        if draw(st.booleans()):
            return Functional.expectation(draw(measures(size, max_rows=4)))
        n = draw(st.integers(0, 4))
        codes = draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n))
        weights = draw(st.lists(eighths, min_size=n, max_size=n))
        return Functional(codes, np.array(weights, dtype=np.float64))

    def constraint() -> Constraint:
        left = functional()
        kind = draw(st.sampled_from(["<=", ">=", "near", "=="]))
        side = draw(eighths)
        if kind == "<=":
            return Constraint(left, upper=side)
        if kind == ">=":
            return Constraint(left, lower=side)
        return Constraint.near(left, side, 0 if kind == "==" else 0.125)

    count = draw(st.integers(0, max_constraints))
    constraints = tuple(constraint() for _ in range(count))
    return LpProblem(size, functional(), constraints, draw(st.booleans()))


def verify_csc(
    oracle: Callable[..., CscResult],
    problem: CscProblem,
    *,
    epsilon_sub: float,
    policy_class: PolicyClass | None = None,
    optimum: Fraction | None = None,
    operations: float | None = None,
) -> CscResult:
    """Solve a problem and judge the answer exactly.

    Parameters
    ----------
    oracle
        Called as ``oracle(policy_class, data, costs, epsilon_sub=...)``.
    problem, epsilon_sub
        What to solve, and the accuracy to ask for.
    policy_class
        Default: the tabular class of the problem's sizes.
    optimum
        Least average cost in the class; default that of the tabular class. (Where yours
        cannot attain it and claims ``honoured``, you must give its own optimum.)
    operations
        Bound on the operations reported.

    Returns
    -------
    CscResult
        The answer, for further looks.

    Raises
    ------
    AssertionError
        If the answer is not what it says, or operations exceed the bound.
    """
    if policy_class is None:
        policy_class = TabularPolicyClass(problem.n_observations, problem.n_actions)
    if optimum is None:
        optimum = least_cost(problem.data, problem.costs)
    result = oracle(policy_class, problem.data, problem.costs, epsilon_sub=epsilon_sub)
    cost = exact_cost(result.policy, problem.data, problem.costs)
    _within("suboptimality", cost - optimum, result.suboptimality)
    _within("cost against optimum", optimum - cost, 0)
    scale = 1 + float(np.abs(problem.costs).max())
    _within("cost reported", abs(cost - Fraction(result.cost)), 1e-12 * scale)
    _judge_accuracy(result.honoured, cost - optimum, epsilon_sub)
    _judge_operations(result.operations, operations)
    return result


def verify_least_squares(
    oracle: Callable[..., LeastSquaresResult],
    problem: LeastSquaresProblem,
    *,
    epsilon_sub: float,
    value_class: ValueClass | None = None,
    optimum: Fraction | None = None,
    operations: float | None = None,
) -> LeastSquaresResult:
    """Solve a least-squares problem and judge the answer exactly.

    Parameters, returns and raises as `verify_csc`, with ``value_class``; the
    oracle is called as ``oracle(value_class, data, targets, epsilon_sub=...)``.
    """
    if value_class is None:
        value_class = TabularValueClass(problem.n_observations)
    if optimum is None:
        optimum = least_loss(problem.data, problem.targets)
    result = oracle(value_class, problem.data, problem.targets, epsilon_sub=epsilon_sub)
    values = result.function(problem.data.observations)
    assert ((values >= 0) & (values <= 1)).all(), f"values outside [0, 1]: {values}"
    loss = exact_loss(result.function, problem.data, problem.targets)
    # The floats of an exact function are off by a rounding each.
    rounding = 1e-15 * (1 + float(np.abs(problem.targets).max()))
    _within("suboptimality", loss - optimum, result.suboptimality + rounding)
    scale = (1 + float(np.abs(problem.targets).max())) ** 2
    _within("loss reported", abs(loss - Fraction(result.loss)), 1e-12 * scale)
    _judge_accuracy(result.honoured, loss - optimum, epsilon_sub + rounding)
    _judge_operations(result.operations, operations)
    return result


def verify_lp(
    oracle: Callable[..., LpResult],
    problem: LpProblem,
    *,
    epsilon_sub: float,
    epsilon_feas: float,
    value_class: ValueClass | None = None,
    reference: LpResult | None = None,
    operations: float | None = None,
) -> LpResult:
    """Solve a linear program and judge the answer exactly.

    Parameters
    ----------
    oracle
        Called as ``oracle(value_class, objective, constraints, maximise=...,
        epsilon_sub=..., epsilon_feas=...)``.
    value_class
        Default: the tabular class of the problem's size.
    reference
        An exact answer; default by `olivine.algorithms.oracles.lp.lp` in rationals.
    operations
        Bound on the operations reported.

    Raises
    ------
    AssertionError
        As `verify_csc`; and if a feasible program is called infeasible. (One that is
        infeasible by less than ε_feas may be answered either way.)
    """
    if value_class is None:
        value_class = TabularValueClass(problem.n_observations)
    accuracies: dict[str, Any] = {
        "epsilon_sub": epsilon_sub,
        "epsilon_feas": epsilon_feas,
    }
    arguments = (value_class, problem.objective, problem.constraints)
    if reference is None:
        reference = lp(*arguments, maximise=problem.maximise, exact=True, **accuracies)
    result = oracle(*arguments, maximise=problem.maximise, **accuracies)
    _judge_operations(result.operations, operations)
    if result.function is None:
        assert not reference.feasible, "a feasible program is called infeasible"
        return result
    rounding = 1e-14 * (1 + _largest(problem))
    for constraint in problem.constraints:
        value = exact_value(constraint.functional, result.function)
        if constraint.upper is not None:
            excess = value - Fraction(constraint.upper)
            _within("violation", excess, result.violation + rounding)
        if constraint.lower is not None:
            excess = Fraction(constraint.lower) - value
            _within("violation", excess, result.violation + rounding)
    assert not result.honoured or result.violation <= epsilon_feas
    if reference.exact_value is not None:
        value = exact_value(problem.objective, result.function)
        lost = reference.exact_value - value
        lost = lost if problem.maximise else -lost
        _within("suboptimality", lost, result.suboptimality + rounding)
        _judge_accuracy(result.honoured, lost, epsilon_sub + rounding)
    return result


def _largest(problem: LpProblem) -> float:
    functionals = [problem.objective, *(c.functional for c in problem.constraints)]
    return max(f.size for f in functionals)


def _within(what: str, amount: Fraction, limit: float) -> None:
    assert amount <= Fraction(limit), f"{what}: {float(amount)} exceeds {limit}"


def _judge_accuracy(honoured: bool, lost: Fraction, asked: float) -> None:
    if honoured:
        _within("suboptimality of an honoured answer", lost, asked)


def _judge_operations(done: int | None, bound: float | None) -> None:
    if bound is not None:
        assert done is not None, "operations: not reported"
        assert 0 < done <= bound, f"operations: {done} exceed the bound {bound}"


@dataclass(frozen=True)
class Growth:
    """Operations of an oracle over sizes; the exponent is the slope of logarithms."""

    sizes: tuple[int, ...]
    operations: tuple[int, ...]
    exponent: float


def growth(cost: Callable[[int], int], sizes: Sequence[int]) -> Growth:
    """Measure operations over sizes and fit the exponent.

    Parameters
    ----------
    cost
        Operations (or iterations) at a size; it draws the problem from a generator of
        its own.
    sizes
        At least two, positive and distinct, doubling say.

    Raises
    ------
    ValueError
        For fewer than two sizes, or operations that are not positive.
    """
    if len(set(sizes)) < 2 or min(sizes) < 1:
        raise ValueError(f"sizes: {list(sizes)}: two positive ones at least")
    operations = [cost(size) for size in sizes]
    if min(operations) < 1:
        raise ValueError(f"cost: {operations} are not all positive")
    slope = fitted_exponent(sizes, operations)
    return Growth(tuple(sizes), tuple(operations), slope)
