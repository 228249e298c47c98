"""The LS oracle: least-squares regression on value functions (paper, appendix A).

Given observations x_i with weights p_i and targets v_i, find g in G whose loss Σ_i p_i
w_i (g(x_i) - v_i)² is within ε_sub of the least; importances w_i ≥ 0 are 1 by default.
Targets are any reals, G has values in [0, 1]: the best tabular value is the weighted
mean of the targets *clipped to [0, 1]*, where the paper's proof gives the mean, which
leaves the class as soon as targets do. An observation without weight gets 0.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.finite import FiniteValueClass, TabularValue, TabularValueClass
from ..classes.learned import LearnedValue, LearnedValueClass
from ..classes.linear import LinearValueClass
from ..classes.protocols import ValueClass
from ..exact.arrays import check_reals, reject
from ..exact.data import EmpiricalMeasure
from .least_squares_linear import Regression, fit_linear
from .ledger import data_rows, oracle
from .results import (
    Attained,
    LeastSquaresResult,
    answer_of,
    check_accuracy,
    largest_group,
    magnitude,
    scaled_integers,
    summation_bound,
    support,
)


def fit_learned(
    value_class: LearnedValueClass, problem: Regression, epsilon_sub: float
) -> LeastSquaresResult:
    """Fit weighted means; the bound is the distance to the best of all functions."""
    observations, groups = support(problem.data)
    if not problem.data.is_finite:  # rows that agree are one observation
        observations, groups = np.unique(observations, axis=0, return_inverse=True)
        groups = groups.reshape(-1)
    total, means = _means(groups, problem)
    features = value_class.features(observations)
    seen = np.flatnonzero(total > 0)
    if len(seen):
        fit = value_class.learner.fit
        predict = fit(features[seen], means[seen], total[seen].astype(np.float64))
    else:  # every function is optimal
        predict = lambda rows: np.zeros(len(rows))  # noqa: E731
    function = LearnedValue(predict, value_class.features)
    weights, targets = problem.weights, problem.targets
    loss, floor = (
        float(np.dot(weights, (values[groups] - targets) ** 2))
        for values in (function(observations), np.clip(means, 0, 1))
    )
    bound = max(0.0, loss - floor) + _rounding(groups, total, targets)
    operations = 3 * len(groups) + features.size
    return LeastSquaresResult(function, loss, bound, epsilon_sub, operations)


def _means(
    groups: NDArray[np.int64], problem: Regression
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weight and mean target of each group (0 without weight)."""
    total = np.bincount(groups, weights=problem.weights)
    moment = np.bincount(groups, weights=problem.weights * problem.targets)
    means = np.divide(moment, total, out=np.zeros(len(total)), where=total > 0)
    return total, means


def _rounding(
    groups: NDArray[np.int64], total: NDArray[Any], targets: NDArray[Any]
) -> float:
    """Twice the error of a loss that is computed from sums by group."""
    terms = 5 * (largest_group(groups) + len(total))
    largest = (1 + magnitude(targets)) ** 2
    return 2 * summation_bound(terms, float(total.sum()) * largest)


_CHUNK = 1 << 22
_BLOCK = 1 << 16
_DENORMAL = 1e-290
"""More than all weights that float64 cannot hold to full precision together."""


@singledispatch
def solve_least_squares(
    value_class: Any,
    data: EmpiricalMeasure,
    targets: NDArray[np.float64],
    *,
    epsilon_sub: float,
    **importance: NDArray[np.float64],
) -> LeastSquaresResult:
    """Solve LS for one kind of class; ``solve_least_squares.register`` adds a kind.

    A solver is called as `least_squares` is, ``importance`` only where there is one.
    Targets and importances arrive checked: float64, (n,).
    """
    raise ValueError(
        f"value_class: no LS oracle for {type(value_class).__name__}; register one "
        "with olivine.algorithms.oracles.least_squares.solve_least_squares.register"
    )


def _register(kind: type[Any], fit: Callable[..., LeastSquaresResult]) -> None:
    def solve(
        value_class: Any,
        data: EmpiricalMeasure,
        targets: NDArray[np.float64],
        *,
        epsilon_sub: float,
        importance: NDArray[np.float64] | None = None,
    ) -> LeastSquaresResult:
        return fit(value_class, Regression(data, targets, importance), epsilon_sub)

    solve_least_squares.register(kind, solve)


@oracle("ls", rows=data_rows, function="function")
def least_squares(
    value_class: ValueClass,
    /,
    data: EmpiricalMeasure,
    targets: ArrayLike,
    *,
    epsilon_sub: float,
    importance: ArrayLike | None = None,
) -> LeastSquaresResult:
    """Find a value function of nearly least average squared loss.

    Parameters
    ----------
    value_class
        G.
    data
        Observations and their weights; other columns are not looked at.
    targets
        v, finite reals, shape (n,).
    epsilon_sub
        Accuracy asked for, positive.
    importance
        w, finite and not negative, shape (n,); default 1. All zero is allowed.

    Returns
    -------
    LeastSquaresResult
        Optimal up to rounding for tabular and finite classes (ties to the lowest
        member), certified within ε_sub for linear ones.

    Raises
    ------
    ValueError
        For an accuracy that is not positive, observations outside the class, or targets
        or importances of the wrong shape or range; names the argument and the row.
    """
    check_accuracy("epsilon_sub", epsilon_sub)
    value_class.admit(data.observations)
    n = len(data)
    reals = check_reals(targets, "targets", (n,))
    factors: dict[str, Any] = {}
    if importance is not None:
        factors["importance"] = check_reals(importance, "importance", (n,))
        reject("importance", factors["importance"] < 0, "negative")

    def judge(found: LeastSquaresResult) -> Attained:
        values = check_reals(found.function(data.observations), "values", (n,))
        reject("values", (values < 0) | (values > 1), "not in [0, 1]")
        losses = (values - reals) ** 2 * factors.get("importance", 1)
        return found.loss, data.probabilities, losses

    return answer_of(
        solve_least_squares,
        LeastSquaresResult,
        (value_class, data, reals),
        judge,
        epsilon_sub=epsilon_sub,
        **factors,
    )


def fit_tabular(
    value_class: TabularValueClass, problem: Regression, epsilon_sub: float
) -> LeastSquaresResult:
    """Clipped weighted means; an error δ at weight P loses only P δ²."""
    codes, size = problem.data.codes(), value_class.n_observations
    total, moment, square = _sums(codes, size, problem)
    means = np.divide(moment, total, out=np.zeros(size), where=total > 0)
    values = np.clip(means, 0.0, 1.0)
    largest = magnitude(problem.targets)
    off = min(1.0, 2 * summation_bound(len(codes), largest))
    lost = float(total.sum()) * off**2 + _DENORMAL
    if lost > epsilon_sub:
        return _fit_tabular_exactly(value_class, problem, epsilon_sub)
    # Σ w (g - v)², from the sums alone.
    loss = square + float(np.einsum("i,i->", values * total - 2 * moment, values))
    operations = 3 * len(codes) + size
    return LeastSquaresResult(
        TabularValue(values), max(0.0, loss), lost, epsilon_sub, operations
    )


def _sums(
    codes: NDArray[np.int64], size: int, problem: Regression
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Σ w and Σ w v by code, and Σ w v² overall, in one walk by blocks.

    No `dot`: it would wake BLAS threads, which spin on at a cost beyond all the rest.
    """
    total, moment, square = np.zeros(size), np.zeros(size), 0.0
    if problem.importance is None:
        masses = problem.data.masses
        total[: len(masses)] = masses
    buffer = np.empty(min(_BLOCK, len(codes)))
    for start in range(0, len(codes), _BLOCK):
        rows = slice(start, start + _BLOCK)
        weights, targets = problem.weights[rows], problem.targets[rows]
        moments = np.multiply(weights, targets, out=buffer[: len(weights)])
        if problem.importance is not None:
            np.add.at(total, codes[rows], weights)
        np.add.at(moment, codes[rows], moments)
        square += float(np.einsum("i,i->", moments, targets))
    return total, moment, square


def _fit_tabular_exactly(
    value_class: TabularValueClass, problem: Regression, epsilon_sub: float
) -> LeastSquaresResult:
    """Clipped means in rationals; the function's `exact` table is optimal."""
    codes, size = problem.data.codes(), value_class.n_observations
    counts = problem.data.weights.astype(object)
    factors, _ = problem.integer_importance
    targets, unit = scaled_integers(problem.targets)
    total = np.zeros(size, dtype=object)
    moment = np.zeros(size, dtype=object)
    np.add.at(total, codes, counts * factors)
    np.add.at(moment, codes, counts * factors * targets)
    values = [
        min(max(Fraction(m, t) * unit, Fraction(0)), Fraction(1)) if t else Fraction(0)
        for m, t in zip(moment.tolist(), total.tolist(), strict=True)
    ]
    table = TabularValue.from_fractions(values)
    residuals = table.values[codes] - problem.targets
    loss = float(np.dot(problem.weights, residuals**2))
    operations = 3 * len(codes) + size
    return LeastSquaresResult(table, loss, 0.0, epsilon_sub, operations)


def fit_enumerated(
    value_class: FiniteValueClass, problem: Regression, epsilon_sub: float
) -> LeastSquaresResult:
    """Loss of every member; the least, the lowest number at ties."""
    observations, groups = support(problem.data)
    weights, targets = problem.weights, problem.targets
    total, means = _means(groups, problem)
    bound = _rounding(groups, total, targets)
    if bound > epsilon_sub:
        return _fit_enumerated_exactly(value_class, problem, epsilon_sub)
    # Centred at the mean: Σ w (g - v)² = P (g - mean)² + spread, no cancellation.
    spread = float(np.dot(weights, (targets - means[groups]) ** 2))
    size, step = len(total), max(1, _CHUNK // len(total))
    losses = np.concatenate(
        [
            (value_class.evaluate_all(observations, i, i + step) - means) ** 2 @ total
            for i in range(0, len(value_class), step)
        ]
    )
    best = int(np.argmin(losses))
    operations = 3 * len(groups) + 3 * len(value_class) * size
    member: Any = value_class.members[best]
    loss = float(losses[best]) + spread
    return LeastSquaresResult(member, loss, bound, epsilon_sub, operations)


def _fit_enumerated_exactly(
    value_class: FiniteValueClass, problem: Regression, epsilon_sub: float
) -> LeastSquaresResult:
    """Losses in rationals, member by member, at the members' float values."""
    observations, groups = support(problem.data)
    counts = problem.data.weights.astype(object)
    factors, factor_unit = problem.integer_importance
    targets = [Fraction(v) for v in problem.targets.tolist()]
    weights = (counts * factors).tolist()
    losses = []
    for member in value_class.members:
        values = [Fraction(v) for v in member(observations)[groups].tolist()]
        squares = ((g - v) ** 2 for g, v in zip(values, targets, strict=True))
        terms = zip(weights, squares, strict=True)
        losses.append(sum((w * s for w, s in terms), Fraction(0)))
    best = min(range(len(losses)), key=losses.__getitem__)
    loss = losses[best] * factor_unit / problem.data.total_weight
    found: Any = value_class.members[best]
    operations = 3 * len(value_class) * len(groups)
    return LeastSquaresResult(found, float(loss), 0.0, epsilon_sub, operations)


_register(TabularValueClass, fit_tabular)
_register(FiniteValueClass, fit_enumerated)
_register(LinearValueClass, fit_linear)
_register(LearnedValueClass, fit_learned)
