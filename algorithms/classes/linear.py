"""Classes linear in features: values ⟨θ, φ(x)⟩, policies argmax_a ⟨θ_a, φ(x)⟩.

Values must lie in [0, 1] (paper, section 2), so the class is x ↦ clip(⟨θ, φ(x)⟩, 0, 1),
|θ_i| bounded, and oracles optimise over members that need no clipping at the
observations given; with a table of features that is the polytope {θ : 0 ≤ Φθ ≤ 1}.
Features with unbounded noise allow no range: with ``clipped=False`` only the box bounds
θ. An algorithm that sees g through averages over a state's observations, as VALOR does,
then needs no more than E[⟨θ, φ(x)⟩ | s] = V*(s) for some θ.

Balls of a kernel's space serve the two-sample test: the largest difference of two means
over one, the maximum mean discrepancy, has a closed form (Gretton et al. 2012). The
class is centre + radius · f, ‖f‖ ≤ 1; with k(x, x) ≤ 1 the default, 1/2 + f/2, has
values in [0, 1] as the paper asks of G.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy  # loads scipy.special where it is first used
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import check_observations, check_reals, frozen
from .finite import check_codes
from .protocols import Observations, Stationary, check_resolution

FeatureSource = int | ArrayLike | Callable[[Any], Any]


class FeatureMap:
    """A map from observations to R^d.

    `source`: an integer d, where observations are their own features (n, d); a float
    array (|X|, d), a row for each code; or a callable from n observations to (n, d), d
    being given by `dimension`. Raises ValueError for NaN or infinite features.
    """

    def __init__(self, source: FeatureSource, dimension: int | None = None) -> None:
        self._function: Callable[[Any], Any] | None = None
        self.table: NDArray[np.float64] | None = None
        if callable(source):
            if dimension is None or dimension < 1:
                raise ValueError(f"dimension: {dimension} for a callable feature map")
            self._function, self.dimension = source, dimension
            return
        if dimension is not None:
            raise ValueError("dimension: given by the features already")
        if isinstance(source, (int, np.integer)):
            if source < 1:
                raise ValueError(f"features: dimension {source} is below 1")
            self.dimension = int(source)
            return
        table = np.asarray(source, dtype=np.float64)
        if table.ndim != 2 or table.size == 0:
            raise ValueError(f"features: expected shape (|X|, d), got {table.shape}")
        self.table = frozen(check_reals(table, "features", table.shape))
        self.dimension = table.shape[1]

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Observations that have features, or ValueError naming argument and row."""
        if self.table is not None:
            return check_codes(observations, len(self.table), name)
        admitted = check_observations(observations, name)
        if self._function is None and admitted.shape[1:] != (self.dimension,):
            raise ValueError(
                f"{name}: expected shape (n, {self.dimension}), got {admitted.shape}"
            )
        return admitted

    def __call__(self, observations: Observations) -> NDArray[np.float64]:
        """Features of n observations, float64 (n, d); ValueError for want of them."""
        admitted = self.admit(observations)
        if self.table is not None:
            return self.table[admitted]
        if self._function is None:
            return np.asarray(admitted, dtype=np.float64)
        shape = (len(admitted), self.dimension)
        return check_reals(self._function(admitted), "features", shape)


@dataclass(frozen=True, eq=False)
class LinearValue:
    """x ↦ clip(⟨θ, φ(x)⟩, 0, 1), or unclipped; θ (d,), in rationals where known."""

    theta: NDArray[np.float64]
    features: FeatureMap
    exact: tuple[Fraction, ...] | None = None
    clipped: bool = True

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Values, float64, shape (n,)."""
        scores: NDArray[np.float64] = self.features(observations) @ self.theta
        return np.clip(scores, 0.0, 1.0) if self.clipped else scores


@dataclass(frozen=True, eq=False)
class LinearPolicy:
    """The policy x ↦ argmax_a ⟨θ_a, φ(x)⟩, θ (K, d), ties to the lowest action."""

    theta: NDArray[np.float64]
    features: FeatureMap

    def __call__(self, observations: Observations, /) -> NDArray[np.int64]:
        """Actions, int64, shape (n,)."""
        scores = self.features(observations) @ self.theta.T
        actions: NDArray[np.int64] = np.argmax(scores, axis=1).astype(np.int64)
        return actions


class OnFeatures(Stationary):
    """A class whose members look at features of the observations."""

    features: FeatureMap

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Observations that have features, or ValueError naming argument and row."""
        return self.features.admit(observations, name)


class LinearValueClass(OnFeatures):
    """Value functions linear in features, |θ_i| ≤ `bound`, clipped or not."""

    def __init__(
        self,
        features: FeatureSource,
        *,
        bound: float,
        dimension: int | None = None,
        clipped: bool = True,
    ) -> None:
        if not 0 < bound < math.inf:
            raise ValueError(f"bound: {bound} is not positive and finite")
        self.features = FeatureMap(features, dimension)
        self.bound = float(bound)
        self.clipped = clipped

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """Log of a cover: d ln ceil(bound · L / resolution), L the largest Σ_i |φ_i|.

        A grid on θ of half-width resolution / L moves no value by more than the
        resolution. L is known only for a table of features; else ValueError.
        """
        if resolution is None:
            raise ValueError("resolution: a linear class is infinite, give one")
        check_resolution(resolution)
        if self.features.table is None:
            raise ValueError("features: without a table their size is not known")
        largest = float(np.abs(self.features.table).sum(axis=1).max())
        cells = max(1, math.ceil(self.bound * largest / resolution))
        return self.features.dimension * math.log(cells)


class LinearPolicyClass(OnFeatures):
    """Policies that take the action of largest linear score."""

    def __init__(
        self, features: FeatureSource, n_actions: int, *, dimension: int | None = None
    ) -> None:
        if n_actions < 1:
            raise ValueError(f"n_actions: {n_actions} is below 1")
        self.features = FeatureMap(features, dimension)
        self.n_actions = n_actions

    def log_size(self, *, points: int | None = None) -> float:
        """Log of a bound on the number of labellings of ``points`` observations.

        The signs of N = points · K(K-1)/2 score differences, linear in D = Kd
        parameters, decide: at most Σ_{i ≤ D} C(2N, i) (Zaslavsky 1975), the cells of 2N
        shifted hyperplanes, and no more than K^points. Raises ValueError without a
        number of points or a table.
        """
        if points is None:
            if self.features.table is None:
                raise ValueError("points: a linear class is infinite, give them")
            points = len(self.features.table)
        planes = 2 * (points * self.n_actions * (self.n_actions - 1) // 2)
        dimension = min(self.n_actions * self.features.dimension, planes)
        i = np.arange(dimension + 1)
        lgamma = scipy.special.gammaln
        log_binomials = lgamma(planes + 1) - lgamma(i + 1) - lgamma(planes - i + 1)
        all_labellings = points * math.log(self.n_actions)
        return min(float(scipy.special.logsumexp(log_binomials)), all_labellings)


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
