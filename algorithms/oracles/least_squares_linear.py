"""Least squares over linear values, with the range [0, 1] enforced on the data.

Minimise Σ_i w_i (⟨θ, φ_i⟩ - v_i)² subject to 0 ≤ ⟨θ, φ_i⟩ ≤ 1 at every observation
(classes that are not clipped: no range) and |θ_k| ≤ B, by cutting planes, each
subproblem a `LeastDistance`. Lagrangian duality certifies the answer (docs/oracles.md).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy  # loads its parts where they are first used
from numpy.typing import NDArray

from ..classes.linear import LinearValue, LinearValueClass
from ..exact.arrays import single_threaded
from ..exact.data import EmpiricalMeasure
from .results import LeastSquaresResult, scaled_integers, summation_bound

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
    def integer_importance(self) -> tuple[NDArray[Any], Fraction]:
        """Importances as integers times a rational."""
        if self.importance is None:
            return scaled_integers(np.ones(len(self.data)))
        return scaled_integers(self.importance)


@single_threaded
def fit_linear(
    value_class: LinearValueClass, problem: Regression, epsilon_sub: float
) -> LeastSquaresResult:
    """Solve by cutting planes and certify."""
    features = value_class.features(problem.data.observations)
    ranged = _ranged(value_class, features)
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
    theta = _pull_inside(theta, ranged, bound)
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


def _ranged(value_class: LinearValueClass, features: NDArray[Any]) -> NDArray[Any]:
    if not value_class.clipped:
        return features[:0]
    table = value_class.features.table
    return features if table is None else table


_SLACK = 1e-12  # range violations this small are left to `_pull_inside`


def _worst(
    amount: NDArray[Any], violated: NDArray[np.bool_], count: int
) -> NDArray[np.int64]:
    rows = np.flatnonzero(violated)
    order = np.argsort(-amount[rows], kind="stable")
    return np.asarray(rows[order[: max(4, count)]], dtype=np.int64)


def _pull_inside(
    theta: NDArray[Any], ranged: NDArray[Any], bound: float
) -> NDArray[np.float64]:
    """Shrink θ towards 0, which is feasible, until no value is above its limit."""
    values = float((ranged @ theta).max(initial=0.0))
    largest = max(1.0, values, float(np.abs(theta).max()) / bound)
    return np.asarray(theta / largest, dtype=np.float64)
