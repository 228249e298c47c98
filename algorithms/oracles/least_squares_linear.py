"""Least squares over linear values, with the range [0, 1] enforced on the data.

The program is: minimise Σ_i w_i (⟨θ, φ_i⟩ - v_i)² subject to 0 ≤ ⟨θ, φ_i⟩ ≤ 1
at every observation and |θ_k| ≤ B. It is solved by cutting planes: solve with
the constraints found so far, add those the solution violates, repeat. With few
features few constraints bind. Each subproblem is a `LeastDistance` program.
Classes that are not clipped have no range, and the box alone binds.

The answer is certified by Lagrangian duality, whatever happened on the way: for
multipliers μ ≥ 0 of rows Gθ ≥ h, convexity gives for every feasible θ'

    f(θ') ≥ f(θ) - Σ_k μ_k (Gθ - h)_k - Σ_j |∇f(θ) - Gᵀμ|_j (B + |θ_j|).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes.linear import LinearValue, LinearValueClass
from olivine.algorithms.exact.blas import single_threaded
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles.exactness import scaled_integers, summation_bound
from olivine.algorithms.oracles.least_distance import LeastDistance
from olivine.algorithms.oracles.results import LeastSquaresResult


@dataclass(frozen=True)
class Regression:
    """A least-squares problem, its input checked.

    Attributes
    ----------
    data
        Observations and weights.
    targets
        v, float64, shape (n,).
    importance
        w ≥ 0, float64, shape (n,); None where all are 1.
    """

    data: EmpiricalMeasure
    targets: NDArray[np.float64]
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
    """Solve by cutting planes and certify; see the module."""
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
        function,
        loss,
        max(0.0, lost) + rounding,
        epsilon_sub,
        operations,
    )


def _ranged(value_class: LinearValueClass, features: NDArray[Any]) -> NDArray[Any]:
    """Features of the observations at which values must lie in [0, 1]."""
    if not value_class.clipped:
        return features[:0]
    table = value_class.features.table
    return features if table is None else table


_SLACK = 1e-12
"""Range violations this small are left to `_pull_inside`."""


def _worst(
    amount: NDArray[Any], violated: NDArray[np.bool_], count: int
) -> NDArray[np.int64]:
    rows = np.flatnonzero(violated)
    order = np.argsort(-amount[rows], kind="stable")
    return np.asarray(rows[order[: max(4, count)]], dtype=np.int64)


def _pull_inside(
    theta: NDArray[Any], ranged: NDArray[Any], bound: float
) -> NDArray[np.float64]:
    """Shrink θ towards 0, which is feasible, until nothing is above its limit.

    Values below 0 by rounding stay: members clip them.
    """
    values = float((ranged @ theta).max(initial=0.0))
    largest = max(1.0, values, float(np.abs(theta).max()) / bound)
    return np.asarray(theta / largest, dtype=np.float64)
