"""Classes linear in features: values ⟨θ, φ(x)⟩, policies argmax_a ⟨θ_a, φ(x)⟩.

Values must lie in [0, 1] (paper, section 2). A linear function leaves that
range somewhere unless θ = 0, so the class here is x ↦ clip(⟨θ, φ(x)⟩, 0, 1)
with every |θ_i| at most a bound, and oracles optimise over the members that
need no clipping at the observations they are given. With a table of features
these are all observations, and the class is the polytope {θ : 0 ≤ Φθ ≤ 1}.

Where features carry unbounded noise the range is no sensible demand: a function
that is 0 on average at a state is negative at half of its observations. With
``clipped=False`` members are x ↦ ⟨θ, φ(x)⟩ as they are, and the box on θ alone
bounds them. An algorithm that looks at g only through averages over the
observations of one hidden state, as VALOR does, then needs no more than that
E[⟨θ, φ(x)⟩ | s] = V*(s) for some θ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes.features import FeatureMap, FeatureSource
from olivine.algorithms.classes.protocols import (
    Observations,
    Stationary,
    check_resolution,
)
from scipy.special import gammaln, logsumexp


@dataclass(frozen=True, eq=False)
class LinearValue:
    """The function x ↦ clip(⟨θ, φ(x)⟩, 0, 1), or ⟨θ, φ(x)⟩ itself.

    Attributes
    ----------
    theta
        float64, shape (d,).
    features
        φ.
    exact
        θ in rationals where it is known exactly, else None.
    clipped
        Which of the two.
    """

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
    """The policy x ↦ argmax_a ⟨θ_a, φ(x)⟩, ties to the lowest action.

    Attributes
    ----------
    theta
        float64, shape (K, d).
    features
        φ.
    """

    theta: NDArray[np.float64]
    features: FeatureMap

    def __call__(self, observations: Observations, /) -> NDArray[np.int64]:
        """Actions, int64, shape (n,)."""
        scores = self.features(observations) @ self.theta.T
        actions: NDArray[np.int64] = np.argmax(scores, axis=1).astype(np.int64)
        return actions


class LinearValueClass(Stationary):
    """Value functions linear in features.

    Parameters
    ----------
    features
        See `FeatureMap`.
    bound
        Largest |θ_i| allowed, positive and finite.
    dimension
        d, where ``features`` is a callable.
    clipped
        Whether values are kept in [0, 1]; see the module.

    Raises
    ------
    ValueError
    """

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

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Observations that have features, or ValueError naming argument and row."""
        return self.features.admit(observations, name)

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """Log of a cover: d ln ceil(bound · L / resolution), L the largest Σ_i |φ_i|.

        A grid on θ of half-width resolution / L moves no value by more than
        the resolution. L is known only for a table of features.

        Raises
        ------
        ValueError
            Without a resolution, or without a table of features.
        """
        if resolution is None:
            raise ValueError("resolution: a linear class is infinite, give one")
        check_resolution(resolution)
        if self.features.table is None:
            raise ValueError("features: without a table their size is not known")
        largest = float(np.abs(self.features.table).sum(axis=1).max())
        cells = max(1, math.ceil(self.bound * largest / resolution))
        return self.features.dimension * math.log(cells)


class LinearPolicyClass(Stationary):
    """Policies that take the action of largest linear score.

    Parameters
    ----------
    features
        See `FeatureMap`.
    n_actions
        K.
    dimension
        d, where ``features`` is a callable.

    Raises
    ------
    ValueError
    """

    def __init__(
        self,
        features: FeatureSource,
        n_actions: int,
        *,
        dimension: int | None = None,
    ) -> None:
        if n_actions < 1:
            raise ValueError(f"n_actions: {n_actions} is below 1")
        self.features = FeatureMap(features, dimension)
        self.n_actions = n_actions

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Observations that have features, or ValueError naming argument and row."""
        return self.features.admit(observations, name)

    def log_size(self, *, points: int | None = None) -> float:
        """Log of a bound on the number of labellings of ``points`` observations.

        A labelling is determined by the signs of the N = points · K(K-1)/2
        score differences, each linear in D = Kd parameters. Sign vectors
        (zeros included) of N central hyperplanes are no more than the cells of
        2N shifted ones, at most Σ_{i ≤ D} C(2N, i) (Zaslavsky 1975); and never
        more than K^points.

        Raises
        ------
        ValueError
            Without a number of points, when there is no table to count.
        """
        if points is None:
            if self.features.table is None:
                raise ValueError("points: a linear class is infinite, give them")
            points = len(self.features.table)
        planes = 2 * (points * self.n_actions * (self.n_actions - 1) // 2)
        dimension = min(self.n_actions * self.features.dimension, planes)
        i = np.arange(dimension + 1)
        log_binomials = gammaln(planes + 1) - gammaln(i + 1) - gammaln(planes - i + 1)
        all_labellings = points * math.log(self.n_actions)
        return min(float(logsumexp(log_binomials)), all_labellings)
