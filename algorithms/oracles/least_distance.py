"""Small convex quadratic programs: min ‖rθ - z‖² subject to gθ ≥ h.

Non-negative least squares proposes a point and multipliers (Lawson and Hanson
1974, chapter 23). Where r is nearly singular, as with fewer observations than
features, its answer is off by far more than rounding; so it is polished: the
constraints it takes to be active are made equations, the point is found in their
null space, and multipliers that the gradient wants are fitted to the constraints
that are active there. This never meets r⁻¹. Constraints the point violates come
in, those without a multiplier go, for a few rounds. What is returned is the answer
whose gap, a bound on its suboptimality over the box, is least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

Array = NDArray[np.float64]

_ACTIVE = 1e-10
"""A constraint this near to its limit counts as active."""


@dataclass(frozen=True, eq=False)
class LeastDistance:
    """A program min ‖rθ - z‖² subject to gθ ≥ h.

    Attributes
    ----------
    r
        Upper triangular and regular, shape (d, d).
    z
        Shape (d,).
    g, h
        Constraints, shapes (m, d) and (m,); feasible, the box |θ_i| ≤ `bound`
        among them.
    bound
        Half-width of the box.
    """

    r: Array
    z: Array
    g: Array
    h: Array
    bound: float

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
        rows = solve_triangular(self.r, self.g.T, trans="T").T
        sides = self.h - rows @ self.z
        if (sides <= 0).all():
            return solve_triangular(self.r, self.z), np.zeros(len(self.g))
        scale = np.maximum(np.linalg.norm(rows, axis=1), np.abs(sides))
        scale = np.where(scale > 0, scale, 1.0)
        stacked = np.vstack([rows.T, sides]) / scale
        target = np.zeros(len(stacked))
        target[-1] = 1.0
        y, _ = nnls(stacked, target, maxiter=30 * len(self.g) + 100)
        residual = stacked @ y - target
        u = -residual[:-1] / residual[-1]
        multipliers = 2 * (y / scale) / -residual[-1]
        return solve_triangular(self.r, u + self.z), multipliers

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
            multipliers[near] = nnls(self.g[near].T, gradient)[0]
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
