"""Linear programs that need no engine: over finite classes, and over kernel balls.

Members of a finite class are evaluated; one is feasible if it meets the constraints up
to the rounding of the sums, or in rationals where that exceeds the accuracies asked
for. Over the unit ball of a kernel's space Σ_i α_i f(x_i) = ⟨f, Σ_i α_i k(x_i, ·)⟩ is
at most √(αᵀKα), attained (Gretton et al. 2012): O(n²) kernel evaluations, in blocks.
Constraints would make it a second-order cone program, and are refused.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.finite import FiniteValueClass
from ..classes.kernel_ball import KernelBall, KernelFunction
from ..classes.protocols import Observations
from .functionals import Constraint, Functional
from .results import LpResult, LpStatus, summation_bound

_CHUNK = 1 << 22


class EnumeratedProgram:
    """A program over a finite class; results are kept, one number a member."""

    def __init__(self, value_class: FiniteValueClass) -> None:
        self._class = value_class
        self._constraints: list[Constraint] = []
        self._excess = np.full(len(value_class), -np.inf)
        self._rounding = 0.0

    def add(self, constraint: Constraint) -> None:
        """Add a constraint and note by how much each member violates it."""
        values, rounding = self._values(constraint.functional)
        lower, upper = constraint.interval
        self._excess = np.maximum(
            self._excess, np.maximum(lower - values, values - upper)
        )
        limits = [abs(b) for b in (lower, upper) if np.isfinite(b)]
        self._rounding = max(self._rounding, rounding + summation_bound(1, max(limits)))
        self._constraints.append(constraint)

    def optimise(
        self,
        objective: Functional,
        *,
        maximise: bool,
        epsilon_sub: float,
        epsilon_feas: float,
        exact: bool,
    ) -> LpResult:
        """Best member among the feasible ones, the lowest number at ties."""
        values, rounding = self._values(objective)
        within = 2 * rounding <= epsilon_sub and 2 * self._rounding <= epsilon_feas
        if exact or not within:
            return self._compare_exactly(objective, maximise, epsilon_sub, epsilon_feas)
        feasible = self._excess <= self._rounding
        members = len(self._class)
        if not feasible.any():
            return LpResult.infeasible(epsilon_sub, epsilon_feas, members)
        gains = np.where(feasible, values if maximise else -values, -np.inf)
        best = int(np.argmax(gains))
        member: Any = self._class.members[best]
        violation = max(0.0, float(self._excess[best]) + self._rounding)
        return LpResult(
            LpStatus.OPTIMAL,
            member,
            float(values[best]),
            2 * rounding,
            violation,
            epsilon_sub,
            epsilon_feas,
            members,
        )

    def _values(self, functional: Functional) -> tuple[NDArray[np.float64], float]:
        """Values of a functional at every member, and a bound on their rounding."""
        size = max(1, len(functional))
        step = max(1, _CHUNK // size)
        evaluate = self._class.evaluate_all
        parts = [
            evaluate(functional.observations, i, i + step) @ functional.coefficients
            for i in range(0, len(self._class), step)
        ]
        return np.concatenate(parts), summation_bound(size, functional.size)

    def _compare_exactly(
        self,
        objective: Functional,
        maximise: bool,
        epsilon_sub: float,
        epsilon_feas: float,
    ) -> LpResult:
        best, best_value = None, Fraction(0)
        for member in self._class.members:
            if not all(_meets(member, c) for c in self._constraints):
                continue
            value = exact_value(objective, member)
            gain = value - best_value if maximise else best_value - value
            if best is None or gain > 0:
                best, best_value = member, value
        members = len(self._class)
        if best is None:
            return LpResult.infeasible(epsilon_sub, epsilon_feas, members, exact=True)
        found: Any = best
        return LpResult(
            LpStatus.OPTIMAL,
            found,
            float(best_value),
            0.0,
            0.0,
            epsilon_sub,
            epsilon_feas,
            members,
            exact=True,
            exact_value=best_value,
        )


def exact_value(functional: Functional, member: Any) -> Fraction:
    """Evaluate in rationals, at a member's exact table or at its floats."""
    table = getattr(member, "exact", None)
    if table is None:
        values = [Fraction(v) for v in member(functional.observations).tolist()]
    else:
        values = [table[code] for code in functional.observations.tolist()]
    integers, unit = functional.rational
    pairs = zip(integers.tolist(), values, strict=True)
    return sum((a * v for a, v in pairs), Fraction(0)) * unit


def _meets(member: Any, constraint: Constraint) -> bool:
    value = exact_value(constraint.functional, member)
    above = constraint.lower is None or value >= Fraction(constraint.lower)
    return above and (constraint.upper is None or value <= Fraction(constraint.upper))


_BLOCK = 1024


class KernelProgram:
    """A program over a ball; it takes objectives and no constraints."""

    def __init__(self, value_class: KernelBall) -> None:
        self._class = value_class
        self._last: tuple[Functional, float] | None = None

    def add(self, constraint: Constraint) -> None:
        """Refuse (ValueError)."""
        raise ValueError("constraint: a kernel ball takes objectives only")

    def optimise(
        self,
        objective: Functional,
        *,
        maximise: bool,
        epsilon_sub: float,
        epsilon_feas: float,
        exact: bool,
    ) -> LpResult:
        """Optimum in closed form; ValueError if ``exact``: norms are irrational."""
        if exact:
            raise ValueError("exact: the optimum over a kernel ball is irrational")
        ball = self._class
        points, coefficients = merged(objective)
        square = self._square(objective, points, coefficients)
        mass = float(np.abs(coefficients).sum())
        off = 2 * summation_bound(2 * max(1, len(points)), mass**2)
        # √(square + off) bounds the true norm; scaled by it, f has norm ≤ 1.
        norm = math.sqrt(square + off)
        sign = 1.0 if maximise else -1.0
        scale = 0.0 if square <= off else sign * ball.radius / norm
        gain = scale * square
        lost = ball.radius * norm - abs(gain) + abs(scale) * off
        value = ball.centre * float(coefficients.sum()) + gain
        function = KernelFunction(
            points, scale * coefficients, ball.kernel, ball.centre
        )
        return LpResult(
            LpStatus.OPTIMAL,
            function,
            value,
            lost,
            0.0,
            epsilon_sub,
            epsilon_feas,
            iterations=1,
            operations=len(points) ** 2,
        )

    def _square(
        self,
        objective: Functional,
        points: Observations,
        coefficients: NDArray[np.float64],
    ) -> float:
        """αᵀKα, kept for the minimum of the same objective."""
        if self._last is None or self._last[0] is not objective:
            square = _quadratic_form(self._class, points, coefficients)
            self._last = (objective, square)
        return self._last[1]


def merged(functional: Functional) -> tuple[Observations, NDArray[np.float64]]:
    """Distinct codes with exactly summed coefficients, without zeros."""
    if functional.observations.ndim == 2:
        return functional.observations, functional.coefficients
    codes, groups = np.unique(functional.observations, return_inverse=True)
    integers, unit = functional.rational
    sums: NDArray[Any] = np.zeros(len(codes), dtype=object)
    np.add.at(sums, groups.reshape(-1), integers)
    kept = np.flatnonzero(sums != 0)
    coefficients = np.array([float(s * unit) for s in sums[kept].tolist()])
    return codes[kept], coefficients


def _quadratic_form(
    ball: KernelBall, points: Observations, coefficients: NDArray[np.float64]
) -> float:
    total = 0.0
    for start in range(0, len(points), _BLOCK):
        block = slice(start, start + _BLOCK)
        matrix = ball.kernel(points[block], points)
        total += float(coefficients[block] @ (matrix @ coefficients))
    return max(0.0, total)
