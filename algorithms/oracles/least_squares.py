"""The LS oracle: least-squares regression on value functions (paper, appendix A).

Given observations x_i with weights p_i and targets v_i, find g in G whose loss Σ_i p_i
w_i (g(x_i) - v_i)² is within ε_sub of the least; importances w_i ≥ 0 are 1 by default.
Targets are any reals, G has values in [0, 1]: the best tabular value is the weighted
mean of the targets *clipped to [0, 1]*, where the paper's proof gives the mean, which
leaves the class as soon as targets do. An observation without weight gets 0.

Over linear values the range is enforced on the data: 0 ≤ ⟨θ, φ_i⟩ ≤ 1 at every
observation (not in classes that are not clipped) and |θ_k| ≤ B, by cutting planes, each
subproblem a `LeastDistance`. Lagrangian duality certifies the answer (docs/oracles.md).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
import scipy  # loads its parts where they are first used
from numpy.typing import ArrayLike, NDArray

from ..classes.features import (
    LearnedValue,
    LearnedValueClass,
    LinearValue,
    LinearValueClass,
)
from ..classes.finite import FiniteValueClass, TabularValue, TabularValueClass
from ..classes.protocols import ValueClass
from ..exact.arrays import check_reals, reject, single_threaded
from ..exact.data import EmpiricalMeasure
from . import (
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
from .ledger import data_rows, oracle


@dataclass(frozen=True, eq=False)
class Regression:
    """A least-squares problem, its input checked."""

    data: EmpiricalMeasure  # Observations and weights
    targets: NDArray[np.float64]  # v, float64, shape (n,)
    # w ≥ 0, float64, shape (n,); None where all are 1
    importance: NDArray[np.float64] | None

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Probability times importance, float64, shape (n,)."""
        if self.importance is None:
            return self.data.probabilities
        return self.data.probabilities * self.importance

    @property
    def factors(self) -> NDArray[np.float64]:
        """Importances, where all are 1 too."""
        return np.ones(len(self.data)) if self.importance is None else self.importance


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
    factors, _ = scaled_integers(problem.factors)
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
    factors = list(map(Fraction, problem.factors.tolist()))
    targets = list(map(Fraction, problem.targets.tolist()))
    losses = []
    for member in value_class.members:
        values = map(Fraction, member(observations)[groups].tolist())
        rows = zip(factors, values, targets, strict=True)
        terms = [w * (g - v) ** 2 for w, g, v in rows]
        losses.append(problem.data.expectation_exact(terms))
    best = min(range(len(losses)), key=losses.__getitem__)
    found: Any = value_class.members[best]
    operations = 3 * len(value_class) * len(groups)
    return LeastSquaresResult(found, float(losses[best]), 0.0, epsilon_sub, operations)


Array = NDArray[np.float64]

_ACTIVE = 1e-10  # a constraint this near to its limit counts as active


@dataclass(frozen=True, eq=False)
class LeastDistance:
    """A program min ‖rθ - z‖² subject to gθ ≥ h."""

    r: Array  # Upper triangular and regular, shape (d, d)
    z: Array  # Shape (d,)
    # Feasible constraints g, h, (m, d) and (m,), with the box |θ_i| ≤ `bound`
    g: Array
    h: Array
    bound: float  # Half-width of the box

    def solve(self) -> tuple[Array, Array]:
        """Return θ, shape (d,), and multipliers of the constraints, shape (m,)."""
        theta, multipliers = self._propose()
        best, least = (theta, multipliers), self._gap(theta, multipliers)
        active = np.flatnonzero(multipliers > 0)
        for _ in range(2 * len(self.z) + 4):
            theta, multipliers = self._polish(active)
            gap = self._gap(theta, multipliers)
            if gap < least:
                best, least = (theta, multipliers), gap
            excess = self.g @ theta - self.h
            wanted = np.flatnonzero(multipliers > 0)
            if excess.min() < -_ACTIVE:
                wanted = np.union1d(wanted, [excess.argmin()])
            if np.array_equal(wanted, active):
                break
            active = wanted
        return best

    def _propose(self) -> tuple[Array, Array]:
        """Solve by non-negative least squares in the coordinates u = rθ - z."""
        # Least ‖u‖ with (g r⁻¹) u ≥ h - g r⁻¹ z.
        rows = scipy.linalg.solve_triangular(self.r, self.g.T, trans="T").T
        sides = self.h - rows @ self.z
        if (sides <= 0).all():
            return scipy.linalg.solve_triangular(self.r, self.z), np.zeros(len(self.g))
        scale = np.maximum(np.linalg.norm(rows, axis=1), np.abs(sides))
        scale = np.where(scale > 0, scale, 1.0)
        stacked = np.vstack([rows.T, sides]) / scale
        target = np.zeros(len(stacked))
        target[-1] = 1.0
        y, _ = scipy.optimize.nnls(stacked, target, maxiter=30 * len(self.g) + 100)
        residual = stacked @ y - target
        u = -residual[:-1] / residual[-1]
        multipliers = 2 * (y / scale) / -residual[-1]
        return scipy.linalg.solve_triangular(self.r, u + self.z), multipliers

    def _polish(self, active: NDArray[np.int64]) -> tuple[Array, Array]:
        """Minimise with some constraints as equations; fit multipliers ≥ 0."""
        rows, limits = self.g[active], self.h[active]
        theta: Array = np.asarray(
            np.linalg.lstsq(rows, limits, rcond=None)[0], dtype=np.float64
        )
        _, sizes, directions = np.linalg.svd(rows)
        rank = int((sizes > 1e-12 * sizes.max(initial=0.0)).sum())
        free = directions[rank:].T
        if free.shape[1]:
            left = self.z - self.r @ theta
            theta = theta + free @ np.linalg.lstsq(self.r @ free, left, rcond=None)[0]
        near = np.flatnonzero(self.g @ theta - self.h < _ACTIVE)
        multipliers = np.zeros(len(self.g))
        if len(near):
            gradient = 2 * self.r.T @ (self.r @ theta - self.z)
            multipliers[near] = scipy.optimize.nnls(self.g[near].T, gradient)[0]
        return theta, multipliers

    def _gap(self, theta: Array, multipliers: Array) -> float:
        """Bound on the suboptimality: by duality, and for what θ violates."""
        excess = self.g @ theta - self.h
        gradient = 2 * self.r.T @ (self.r @ theta - self.z)
        left = np.abs(gradient - self.g.T @ multipliers)
        gap = float(multipliers @ np.maximum(excess, 0))
        gap += float(left @ (self.bound + np.abs(theta)))
        size = float(np.abs(gradient).sum() * self.bound) + 1.0
        return gap + max(0.0, -float(excess.min())) * size


@single_threaded
def fit_linear(
    value_class: LinearValueClass, problem: Regression, epsilon_sub: float
) -> LeastSquaresResult:
    """Solve by cutting planes and certify."""
    features = value_class.features(problem.data.observations)
    table = value_class.features.table
    ranged = features if table is None else table
    ranged = ranged if value_class.clipped else features[:0]
    n, dimension = features.shape
    bound = value_class.bound
    # A ridge λ makes the triangular factor regular. It leaves a gradient of 2λθ,
    # worth 4λdB² in the certificate: half of ε at this λ.
    ridge = epsilon_sub / (8 * dimension * bound**2)
    root = np.sqrt(problem.weights)
    stacked = np.vstack([root[:, None] * features, np.sqrt(ridge) * np.eye(dimension)])
    q, r = np.linalg.qr(stacked)
    z = q.T @ np.r_[root * problem.targets, np.zeros(dimension)]
    box = np.vstack([np.eye(dimension), -np.eye(dimension)])
    g, h = box, np.full(2 * dimension, -bound)
    rounds, seen = 0, np.zeros((2, len(ranged)), dtype=bool)
    while True:
        rounds += 1
        theta, multipliers = LeastDistance(r, z, g, h, bound).solve()
        values = ranged @ theta
        below, above = values < -_SLACK, values > 1 + _SLACK
        below &= ~seen[0]
        above &= ~seen[1]
        if not (below.any() or above.any()):
            break
        # The worst few of each side: adding all would make the program large.
        low = _worst(-values, below, dimension)
        high = _worst(values - 1, above, dimension)
        seen[0, low] = True
        seen[1, high] = True
        g = np.vstack([g, ranged[low], -ranged[high]])
        h = np.r_[h, np.zeros(len(low)), -np.ones(len(high))]
    # Shrink θ towards 0, which is feasible, until no value is above its limit.
    highest = float((ranged @ theta).max(initial=0.0))
    theta = theta / max(1.0, highest, float(np.abs(theta).max()) / bound)
    residuals = features @ theta - problem.targets
    unclipped = float(np.dot(problem.weights, residuals**2))
    function = LinearValue(theta, value_class.features, clipped=value_class.clipped)
    misses = function(problem.data.observations) - problem.targets
    loss = float(np.dot(problem.weights, misses**2))
    gradient = 2 * features.T @ (problem.weights * residuals)
    slack = float(np.dot(multipliers, np.maximum(g @ theta - h, 0)))
    left = np.abs(gradient - g.T @ multipliers)
    lost = slack + float(np.dot(left, bound + np.abs(theta)))
    lost += max(0.0, loss - unclipped)
    size = (1 + float(np.abs(problem.targets).max())) ** 2
    scale = size * float(problem.weights.sum())
    rounding = summation_bound(n + dimension, scale)
    operations = n * dimension * (dimension + rounds + 3)
    return LeastSquaresResult(
        function, loss, max(0.0, lost) + rounding, epsilon_sub, operations
    )


_SLACK = 1e-12  # range violations this small are left to the shrinking


def _worst(
    amount: NDArray[Any], violated: NDArray[np.bool_], count: int
) -> NDArray[np.int64]:
    rows = np.flatnonzero(violated)
    order = np.argsort(-amount[rows], kind="stable")
    return np.asarray(rows[order[: max(4, count)]], dtype=np.int64)


_register(TabularValueClass, fit_tabular)
_register(FiniteValueClass, fit_enumerated)
_register(LinearValueClass, fit_linear)
_register(LearnedValueClass, fit_learned)
