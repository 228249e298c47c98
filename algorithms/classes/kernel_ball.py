"""Balls of a reproducing kernel Hilbert space, for the two-sample test.

The largest difference of two means over such a ball, the maximum mean discrepancy, has
a closed form (Gretton et al. 2012; `olivine.algorithms.oracles.lp`). The class
is centre + radius · f, ‖f‖ ≤ 1; with k(x, x) ≤ 1 the default, 1/2 + f/2, has values in
[0, 1] as the paper asks of G.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import check_observations
from .protocols import Observations, Stationary, check_resolution

Kernel = Callable[[Observations, Observations], NDArray[np.float64]]
"""Maps n and m observations to the n × m matrix of kernel values."""


def gaussian_kernel(bandwidth: float) -> Kernel:
    """k(x, y) = exp(-‖x - y‖² / (2 bandwidth²)) on features, bandwidth positive."""
    if not 0 < bandwidth < math.inf:
        raise ValueError(f"bandwidth: {bandwidth} is not positive and finite")

    def kernel(a: Observations, b: Observations) -> NDArray[np.float64]:
        # ‖a-b‖² by differences: the expanded square cancels badly.
        squares = np.zeros((len(a), len(b)))
        for column in range(a.shape[1]):
            squares += np.subtract.outer(a[:, column], b[:, column]) ** 2
        return np.exp(squares / (-2 * bandwidth**2))

    return kernel


def identity_kernel(a: Observations, b: Observations) -> NDArray[np.float64]:
    """k(x, y) = 1 if x = y else 0, on codes: the Euclidean ball of R^|X|."""
    return np.equal.outer(a, b).astype(np.float64)


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """The function x ↦ offset + Σ_i coefficients_i k(points_i, x)."""

    points: Observations
    coefficients: NDArray[np.float64]
    kernel: Kernel
    offset: float

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Values, float64, shape (n,)."""
        return self.offset + self.coefficients @ self.kernel(self.points, observations)


@dataclass(frozen=True, eq=False)
class KernelBall(Stationary):
    """The functions centre + radius · f, ‖f‖ ≤ 1, of a kernel with k(x, x) ≤ 1."""

    kernel: Kernel
    centre: float = 0.5
    radius: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.radius < math.inf:
            raise ValueError(f"radius: {self.radius} is not positive and finite")
        if not math.isfinite(self.centre):
            raise ValueError(f"centre: {self.centre} is not finite")

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Observations in either form (the kernel decides which it takes)."""
        return check_observations(observations, name)

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """Log of a cover on so many points: points · ln(1 + 2 radius / resolution)."""
        if resolution is None or points is None:
            raise ValueError("resolution, points: an infinite class needs both")
        check_resolution(resolution)
        return points * math.log(1 + 2 * self.radius / resolution)
