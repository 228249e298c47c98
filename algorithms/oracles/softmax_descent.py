"""Descent on the expected cost of a softmax policy, a smooth stand-in for CSC.

The policy that takes action a at x with chance proportional to exp(β⟨θ_a, φ(x)⟩)
has expected cost Σ_x Σ_a p_a(x) c_x(a), smooth in θ, which tends to the cost of
the linear policy θ as the sharpness β grows. It has local minima: where one ends
depends on the start and on how β grows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

_ITERATIONS = 100
_TOLERANCE = 1e-9
"""Relative decrease below which L-BFGS stops: costs are averages over data."""


class SoftmaxCost:
    """Expected cost and its gradient, over actions × observations arrays.

    Parameters
    ----------
    features
        φ(x), shape (n, d).
    totals
        Summed costs, shape (n, K).

    Attributes
    ----------
    evaluations
        How often it was evaluated.
    """

    def __init__(
        self, features: NDArray[np.float64], totals: NDArray[np.float64]
    ) -> None:
        self._features = features
        self._columns = np.ascontiguousarray(features.T)
        self._costs = np.ascontiguousarray(totals.T)
        self._scale = float(np.abs(totals).sum()) or 1.0
        self.evaluations = 0

    def __call__(
        self, flat: NDArray[np.float64], sharpness: float
    ) -> tuple[float, NDArray[np.float64]]:
        """Cost at θ (flat, K·d) and gradient, both over the sum of |costs|."""
        self.evaluations += 1
        theta = flat.reshape(len(self._costs), -1)
        chances = sharpness * theta @ self._columns
        chances -= chances.max(axis=0)
        np.exp(chances, out=chances)
        chances /= chances.sum(axis=0)
        means = np.einsum("an,an->n", chances, self._costs)
        slope = self._costs - means
        slope *= chances
        gradient = (sharpness / self._scale) * (slope @ self._features)
        return float(means.sum()) / self._scale, gradient.ravel()


def descend(
    start: NDArray[np.float64], cost: SoftmaxCost, schedule: Sequence[float]
) -> NDArray[np.float64]:
    """Minimise from a start, at one sharpness after the other.

    Parameters
    ----------
    start
        θ, shape (K, d), of scores about 1 in size.
    cost
        What to minimise.
    schedule
        β, growing.
    """
    theta = start.ravel()
    for sharpness in schedule:
        theta = minimize(
            cost,
            theta,
            args=(sharpness,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _ITERATIONS, "ftol": _TOLERANCE},
        ).x
    return np.asarray(theta, dtype=np.float64).reshape(start.shape)
