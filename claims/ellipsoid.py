"""The tabular LP oracle by the central-cut ellipsoid method, iterations bounded.

The third part of the proof of Proposition "oracles tabular easy" (docs/oracles.md;
Khachiyan 1980; Grötschel, Lovász and Schrijver 1981). Ellipsoids are blown up a little
so that rounding loses no good answers, at the cost of a larger bound; where the cube of
good answers has a side below 10^-6 the method refuses.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms.classes.finite import TabularValue, TabularValueClass
from ..algorithms.oracles import Constraint, Functional, check_accuracy, summation_bound
from ..algorithms.oracles.lp import LpResult, LpStatus

_SMALLEST_CUBE = 1e-6
_INFLATION = 1e-8
"""Relative growth of each axis and iteration, above rounding while t ≥ 1e-6."""

_TIGHTENING = 1 - 1e-6  # share of ε_feas used inside; the rest is left to rounding


@dataclass(frozen=True)
class EllipsoidResult(LpResult):
    """An `LpResult`, operations counted, with the bound that the proof gives."""

    # Iterations after which the answer is certain, computed beforehand
    iteration_bound: int = 0


def cube_side(
    rows: NDArray[Any], objective: NDArray[Any], epsilon_sub: float, epsilon_feas: float
) -> float:
    """Side of a cube of good answers (docs/oracles.md); `rows`: (m, N)."""
    widest = float(np.abs(rows).sum(axis=1).max(initial=0.0))
    size = float(np.abs(objective).sum())
    limits = (epsilon_feas, widest), (epsilon_sub, size)
    return min([1.0, *(epsilon / norm for epsilon, norm in limits if norm > 0)])


def iteration_bound(dimension: int, side: float) -> int:
    """Bound the iterations until the volume is below that of the cube."""
    n = dimension
    log_unit_ball = n / 2 * math.log(math.pi) - math.lgamma(n / 2 + 1)
    log_start = log_unit_ball + n * math.log(math.sqrt(n) / 2)
    shrink = 1 / (2 * (n + 1)) - n * math.log1p(_INFLATION)
    return math.ceil(max(0.0, log_start - n * math.log(side)) / shrink) + 1


def ellipsoid_lp(
    value_class: TabularValueClass,
    objective: Functional,
    constraints: Sequence[Constraint] = (),
    *,
    maximise: bool = True,
    epsilon_sub: float,
    epsilon_feas: float,
) -> EllipsoidResult:
    """Solve a tabular LP by the ellipsoid method, `cube_side` at least 10^-6."""
    check_accuracy("epsilon_sub", epsilon_sub)
    check_accuracy("epsilon_feas", epsilon_feas)
    n = value_class.n_observations
    value_class.admit(objective.observations, "objective")
    rows, limits = _one_sided(value_class, constraints)
    sign = 1.0 if maximise else -1.0
    o = sign * _dense(objective, n)
    relaxed = _TIGHTENING * epsilon_feas
    side = cube_side(rows, o, epsilon_sub, relaxed)
    if side < _SMALLEST_CUBE:
        raise ValueError(
            f"epsilon_sub, epsilon_feas: a cube of side {side:.1e} is beyond the "
            "ellipsoid method in floating point; use lp(..., exact=True)"
        )
    bound = iteration_bound(n, side)
    search = _Search(rows, limits, o, relaxed, epsilon_sub)
    iterations = search.run(bound)
    operations = iterations * n * (len(rows) + 3 * n + 4)
    if search.best is None:
        return EllipsoidResult.infeasible(
            epsilon_sub,
            epsilon_feas,
            iterations,
            operations=operations,
            iteration_bound=bound,
        )
    theta = search.best
    excess = float((rows @ theta - limits).max(initial=0.0))
    size = float(np.abs(rows).sum(axis=1).max(initial=0.0))
    rounding = summation_bound(n, size + float(np.abs(limits).max(initial=0.0)))
    return EllipsoidResult(
        LpStatus.OPTIMAL,
        TabularValue(theta),
        sign * float(o @ theta),
        min(epsilon_sub, search.gap),
        excess + rounding if len(rows) else 0.0,
        epsilon_sub,
        epsilon_feas,
        iterations,
        operations,
        iteration_bound=bound,
    )


class _Search:
    """The loop: an ellipsoid {centre + factor u : ‖u‖ ≤ 1} that shrinks onto S."""

    def __init__(
        self,
        rows: NDArray[Any],
        limits: NDArray[Any],
        objective: NDArray[Any],
        relaxed: float,
        epsilon_sub: float,
    ) -> None:
        n = len(objective)
        self.rows, self.limits, self.objective = rows, limits, objective
        self.relaxed, self.epsilon_sub = relaxed, epsilon_sub
        self.centre = np.full(n, 0.5)
        self.factor = math.sqrt(n) / 2 * np.eye(n)
        self.best: NDArray[np.float64] | None = None
        self.best_value = -math.inf
        self.ceiling = math.inf
        self.gap = math.inf

    def run(self, most: int) -> int:
        """Iterate until certain, at most ``most`` times; return how often.

        Two early ends are certified by the ellipsoid itself: no point of it beats the
        best candidate by more than ε_sub, or none meets some constraint.
        """
        for iteration in range(1, most + 1):
            normal, excess = self._violated()
            if normal is None:
                self._candidate()
                if self.gap <= self.epsilon_sub:
                    return iteration
                normal = -self.objective
                if not normal.any():
                    return iteration
            elif excess > self._extent(normal) + self.relaxed:
                return iteration
            self._cut(normal)
        return most

    def _extent(self, direction: NDArray[Any]) -> float:
        """How far the ellipsoid extends from its centre along a functional."""
        return float(np.linalg.norm(self.factor.T @ direction))

    def _violated(self) -> tuple[NDArray[np.float64] | None, float]:
        """Find a constraint that the centre violates, and by how much."""
        normal = np.zeros(len(self.centre))
        below, above = -self.centre, self.centre - 1
        i = int(np.argmax(np.maximum(below, above)))
        if below[i] > 0 or above[i] > 0:
            normal[i] = -1.0 if below[i] > 0 else 1.0
            return normal, float(max(below[i], above[i]))
        if len(self.rows):
            excess = self.rows @ self.centre - self.limits
            j = int(np.argmax(excess))
            if excess[j] > self.relaxed:
                return self.rows[j], float(excess[j])
        return None, 0.0

    def _candidate(self) -> None:
        value = float(self.objective @ self.centre)
        self.ceiling = min(self.ceiling, value + self._extent(self.objective))
        if value > self.best_value:
            self.best, self.best_value = self.centre.copy(), value
        self.gap = max(0.0, self.ceiling - self.best_value)

    def _cut(self, normal: NDArray[Any]) -> None:
        n = len(self.centre)
        direction = self.factor.T @ normal
        size = float(np.linalg.norm(direction))
        if size == 0.0:
            return  # a row of zeros: no half-space, and `run` ends by `_extent`
        unit = direction / size
        step = self.factor @ unit
        self.centre = self.centre - step / (n + 1)
        if n == 1:
            self.factor = self.factor / 2 * (1 + _INFLATION)
            return
        stretch = n / math.sqrt(n * n - 1) * (1 + _INFLATION)
        shrink = 1 - math.sqrt((n - 1) / (n + 1))
        self.factor = stretch * (self.factor - shrink * np.outer(step, unit))


def _dense(functional: Functional, n: int) -> NDArray[np.float64]:
    return np.bincount(
        functional.observations, weights=functional.coefficients, minlength=n
    ).astype(np.float64)


def _one_sided(
    value_class: TabularValueClass, constraints: Sequence[Constraint]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n = value_class.n_observations
    rows, limits = [], []
    for constraint in constraints:
        value_class.admit(constraint.functional.observations)
        row = _dense(constraint.functional, n)
        for sign, limit in ((1, constraint.upper), (-1, constraint.lower)):
            if limit is not None:
                rows.append(sign * row)
                limits.append(sign * float(limit))
    return np.array(rows, dtype=np.float64).reshape(-1, n), np.array(limits)
