"""Random oracle problems of given sizes, solved in rationals without the oracles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import Policy, ValueFunction
from ..exact.arrays import check_actions
from ..exact.data import EmpiricalMeasure
from .results import Constraint, Functional


@dataclass(frozen=True)
class CscProblem:
    """Cost-sensitive classification over codes."""

    # n_observations, n_actions: |X| and K
    n_observations: int
    n_actions: int
    data: EmpiricalMeasure  # Observations below |X|, weighted
    costs: NDArray[np.float64]  # float64, shape (n, K)


@dataclass(frozen=True)
class LeastSquaresProblem:
    """Least squares over codes."""

    n_observations: int  # |X|
    data: EmpiricalMeasure  # Observations below |X|, weighted
    targets: NDArray[np.float64]  # float64, shape (n,)


@dataclass(frozen=True)
class LpProblem:
    """A linear program over functions of codes."""

    n_observations: int  # |X|
    # objective, constraints, maximise: as for `olivine.algorithms.oracles.lp.lp`
    objective: Functional
    constraints: tuple[Constraint, ...]
    maximise: bool


def random_csc(
    rng: np.random.Generator, n: int, n_observations: int, n_actions: int
) -> CscProblem:
    """Draw observations uniformly, weights from 1 to 9, costs from [-1, 1]."""
    data = EmpiricalMeasure(
        rng.integers(0, n_observations, n), weights=rng.integers(1, 10, n)
    )
    costs = rng.uniform(-1, 1, (n, n_actions))
    return CscProblem(n_observations, n_actions, data, costs)


def random_least_squares(
    rng: np.random.Generator, n: int, n_observations: int
) -> LeastSquaresProblem:
    """Draw observations uniformly, weights from 1 to 9, targets from [-1/2, 3/2]."""
    data = EmpiricalMeasure(
        rng.integers(0, n_observations, n), weights=rng.integers(1, 10, n)
    )
    return LeastSquaresProblem(n_observations, data, rng.uniform(-0.5, 1.5, n))


def random_lp(
    rng: np.random.Generator, n_observations: int, n_constraints: int
) -> LpProblem:
    """Draw a program like VALOR's: |V - E_D[g]| ≤ 1/100 around a hidden g."""
    hidden = rng.random(n_observations)
    codes = np.arange(n_observations)

    def expectation() -> Functional:
        weights = rng.integers(1, 100, n_observations)
        return Functional.expectation(EmpiricalMeasure(codes, weights=weights))

    constraints = []
    for _ in range(n_constraints):
        functional = expectation()
        value = float(functional.coefficients @ hidden)
        constraints.append(Constraint.near(functional, value, 0.01))
    return LpProblem(n_observations, expectation(), tuple(constraints), True)


def fitted_exponent(sizes: Sequence[int], counts: Sequence[int]) -> float:
    """Slope of a least-squares line through log counts over log sizes."""
    slope: Any = np.polyfit(np.log(sizes), np.log(counts), 1)[0]
    return float(slope)


def exact_cost(
    policy: Policy, data: EmpiricalMeasure, costs: NDArray[Any] | Sequence[Any]
) -> Fraction:
    """Average cost in rationals; ValueError for an action beyond the costs."""
    table = np.asarray(costs)
    actions = check_actions(policy(data.observations), table.shape[1])
    picked = table[np.arange(len(data)), actions]
    return data.expectation_exact(picked)


def exact_loss(
    function: ValueFunction, data: EmpiricalMeasure, targets: NDArray[Any]
) -> Fraction:
    """Average squared loss in rationals, at the function's float values."""
    values = function(data.observations).tolist()
    pairs = zip(values, targets.tolist(), strict=True)
    return data.expectation_exact([(Fraction(g) - Fraction(v)) ** 2 for g, v in pairs])


def _keys(data: EmpiricalMeasure) -> list[Any]:
    """Give one hashable value for each row: a code, or its features."""
    rows = data.observations.tolist()
    return rows if data.is_finite else list(map(tuple, rows))


def least_cost(data: EmpiricalMeasure, costs: NDArray[Any]) -> Fraction:
    """Least average cost over all functions of the observations, in rationals."""
    totals: dict[Any, list[Fraction]] = {}
    rows = zip(_keys(data), data.weights.tolist(), costs.tolist(), strict=True)
    for code, weight, vector in rows:
        sums = totals.setdefault(code, [Fraction(0)] * len(vector))
        totals[code] = [
            s + weight * Fraction(c) for s, c in zip(sums, vector, strict=True)
        ]
    return sum(map(min, totals.values()), Fraction(0)) / data.total_weight


def least_loss(data: EmpiricalMeasure, targets: NDArray[Any]) -> Fraction:
    """Least average squared loss over all functions to [0, 1], in rationals."""
    groups: dict[Any, list[tuple[int, Fraction]]] = {}
    rows = zip(_keys(data), data.weights.tolist(), targets.tolist(), strict=True)
    for code, weight, target in rows:
        groups.setdefault(code, []).append((weight, Fraction(target)))
    total = Fraction(0)
    for pairs in groups.values():
        mass = sum(w for w, _ in pairs)
        if mass:
            mean = sum((w * v for w, v in pairs), Fraction(0)) / mass
            best = min(max(mean, Fraction(0)), Fraction(1))
            total += sum((w * (best - v) ** 2 for w, v in pairs), Fraction(0))
    return total / data.total_weight
