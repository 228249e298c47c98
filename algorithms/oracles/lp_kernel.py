"""Linear functionals over a ball of a kernel's Hilbert space, in closed form.

By the reproducing property Σ_i α_i f(x_i) = ⟨f, Σ_i α_i k(x_i, ·)⟩, so over the
unit ball the maximum is √(αᵀKα), attained at Σ_i α_i k(x_i, ·) scaled to norm 1
(Gretton et al. 2012). That takes O(n²) kernel evaluations, done in blocks.
Constraints would make it a second-order cone program; none of the algorithms
here needs that, and they are refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes.kernel_ball import KernelBall, KernelFunction
from olivine.algorithms.classes.protocols import Observations
from olivine.algorithms.oracles.exactness import summation_bound
from olivine.algorithms.oracles.functionals import Constraint, Functional
from olivine.algorithms.oracles.results import LpResult, LpStatus

_BLOCK = 1024


class KernelProgram:
    """A program over a ball; it takes objectives and no constraints."""

    def __init__(self, value_class: KernelBall) -> None:
        self._class = value_class
        self._last: tuple[Functional, float] | None = None

    def add(self, constraint: Constraint) -> None:
        """Refuse.

        Raises
        ------
        ValueError
        """
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
        """Optimum in closed form.

        Raises
        ------
        ValueError
            If ``exact``: norms are irrational.
        """
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
        """αᵀKα, kept: whoever maximises an objective minimises it next."""
        if self._last is None or self._last[0] is not objective:
            square = _quadratic_form(self._class, points, coefficients)
            self._last = (objective, square)
        return self._last[1]


def merged(functional: Functional) -> tuple[Observations, NDArray[np.float64]]:
    """Distinct codes with exactly summed coefficients, zeros left out.

    Equal measures then give exactly nothing. Features are left as they are.
    """
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
