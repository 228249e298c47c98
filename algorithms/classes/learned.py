"""Classes defined by a learner: whatever it can fit is in the class.

CSC reduces to binary or weighted multiclass classification, or to regression
(paper, section 2), for which there are practical learners. A learner here is
anything with a ``fit`` that returns a predictor; `sklearn_policies` makes one of
any scikit-learn estimator. How CSC is reduced to it is in
`olivine.algorithms.oracles.reductions`. Least squares is what a regressor does
anyway; nothing maximises over its functions, so that they have no LP oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import check_reals
from .linear import FeatureMap, FeatureSource, OnFeatures
from .protocols import Observations

Predictor = Callable[[NDArray[np.float64]], NDArray[Any]]
"""Maps features (n, d) to n labels, or to n reals for a regressor."""

Reduction = Literal[
    "weighted-multiclass", "all-pairs", "filter-tree", "cost-regression"
]


class Learner(Protocol):
    """A supervised learner of one kind: binary, multiclass, or real targets."""

    def fit(
        self,
        features: NDArray[np.float64],
        targets: NDArray[Any],
        weights: NDArray[np.float64],
    ) -> Predictor:
        """Fit to n weighted examples.

        Parameters
        ----------
        features
            Shape (n, d), n at least 1.
        targets
            0/1 labels, labels 0..K-1, or reals, shape (n,).
        weights
            Positive, shape (n,).
        """


@dataclass(frozen=True, eq=False)
class LearnedPolicy:
    """A policy built from predictors.

    Attributes
    ----------
    decide
        Maps features (n, d) to actions (n,).
    features
        φ.
    """

    decide: Predictor
    features: FeatureMap

    def __call__(self, observations: Observations, /) -> NDArray[np.int64]:
        """Actions, int64, shape (n,)."""
        actions = self.decide(self.features(observations))
        return np.asarray(actions, dtype=np.int64)


class _Learned(OnFeatures):
    """What is known of a learner's class."""

    def __init__(
        self,
        learner: Learner,
        features: FeatureSource,
        dimension: int | None,
        log_size: float | None,
    ) -> None:
        self.learner = learner
        self.features = FeatureMap(features, dimension)
        self._log_size = log_size

    def _size(self) -> float:
        if self._log_size is None:
            raise ValueError("log_size: a learner does not know the size of its class")
        return self._log_size


class LearnedPolicyClass(_Learned):
    """The policies that a learner produces through a reduction.

    Parameters
    ----------
    learner
        What is fitted: a binary learner for ``all-pairs`` and ``filter-tree``, a
        multiclass one for ``weighted-multiclass``, a regressor for
        ``cost-regression``.
    reduction
        How CSC is reduced to the learner.
    features
        See `FeatureMap`.
    dimension
        d, where ``features`` is a callable.
    log_size
        Natural logarithm of the size to use in sample sizes, if known.

    Raises
    ------
    ValueError
    """

    def __init__(
        self,
        learner: Learner,
        n_actions: int,
        *,
        reduction: Reduction,
        features: FeatureSource,
        dimension: int | None = None,
        log_size: float | None = None,
    ) -> None:
        if n_actions < 1:
            raise ValueError(f"n_actions: {n_actions} is below 1")
        if reduction not in Reduction.__args__:  # type: ignore[attr-defined]
            raise ValueError(f"reduction: unknown {reduction!r}")
        super().__init__(learner, features, dimension, log_size)
        self.n_actions = n_actions
        self.reduction: Reduction = reduction

    def log_size(self, *, points: int | None = None) -> float:
        """Return the size given; ValueError if none was."""
        return self._size()


@dataclass(frozen=True, eq=False)
class LearnedValue:
    """A value function built from a predictor, clipped to [0, 1].

    Attributes
    ----------
    predict
        Maps features (n, d) to reals (n,).
    features
        φ.
    """

    predict: Predictor
    features: FeatureMap

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Values in [0, 1], float64, shape (n,)."""
        features = self.features(observations)
        values = check_reals(self.predict(features), "prediction", (len(features),))
        return np.asarray(np.clip(values, 0, 1))


class LearnedValueClass(_Learned):
    """The value functions that a regressor produces, clipped to [0, 1].

    Parameters
    ----------
    learner
        A regressor.
    features, dimension
        See `FeatureMap`.
    log_size
        Natural logarithm of the size to use in sample sizes, if known.
    """

    def __init__(
        self,
        learner: Learner,
        *,
        features: FeatureSource,
        dimension: int | None = None,
        log_size: float | None = None,
    ) -> None:
        super().__init__(learner, features, dimension, log_size)

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """Return the size given; ValueError if none was."""
        return self._size()
