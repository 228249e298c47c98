"""Classes defined by a learner, any scikit-learn estimator for one (extra ``sklearn``).

Whatever a learner's ``fit`` can return is in the class. `oracles.csc_hard` reduces CSC
to it; a regressor does least squares; nothing maximises over its functions: no LP
oracle.

>>> from sklearn.tree import DecisionTreeClassifier  # doctest: +SKIP
>>> policies = sklearn_policies(  # doctest: +SKIP
...     DecisionTreeClassifier(max_depth=3, random_state=0), 4, features=2)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import check_count, check_reals
from .linear import FeatureMap, FeatureSource, OnFeatures
from .protocols import Observations


class SklearnLearner:
    """A scikit-learn estimator as a learner; each fit is of a fresh clone.

    Raises ValueError if a generator is needed and there is none.

    Parameters
    ----------
    estimator
        The estimator to clone. Give it a ``random_state`` if it draws.
    rng
        Needed where ``fit`` takes no ``sample_weight``, as a pipeline's: then
        examples are drawn in proportion to their weights instead (costing; Zadrozny,
        Langford and Abe 2003), as many as there are.
    """

    def __init__(self, estimator: Any, rng: np.random.Generator | None = None) -> None:
        _require_estimator(estimator)
        parameters = inspect.signature(estimator.fit).parameters
        self._weighted = "sample_weight" in parameters
        if not self._weighted and rng is None:
            raise ValueError(
                f"rng: {type(estimator).__name__}.fit takes no sample_weight, so "
                "examples have to be drawn by weight; give rng=np.random.default_rng(0)"
            )
        self._estimator, self._rng = estimator, rng

    def fit(
        self,
        features: NDArray[np.float64],
        targets: NDArray[Any],
        weights: NDArray[np.float64],
    ) -> Predictor:
        """Fit a clone; where all targets agree, predict that target."""
        from sklearn.base import clone

        if (targets == targets[0]).all():
            constant = targets[0]
            return lambda rows: np.full(len(rows), constant)
        fresh = clone(self._estimator)
        if self._weighted:
            # Mean 1, as estimators with a regularisation term expect.
            fresh.fit(features, targets, sample_weight=weights / weights.mean())
        elif self._rng is not None:
            size, shares = len(weights), weights / weights.sum()
            drawn = self._rng.choice(size, size, p=shares)
            if (targets[drawn] == targets[drawn[0]]).all():
                constant = targets[drawn[0]]
                return lambda rows: np.full(len(rows), constant)
            fresh.fit(features[drawn], targets[drawn])
        return lambda rows: np.asarray(fresh.predict(rows))


def sklearn_policies(
    estimator: Any,
    n_actions: int,
    *,
    features: FeatureSource,
    dimension: int | None = None,
    reduction: Reduction | None = None,
    rng: np.random.Generator | None = None,
    log_size: float | None = None,
) -> LearnedPolicyClass:
    """Make a policy class of a scikit-learn estimator.

    Parameters
    ----------
    estimator
        A classifier or a regressor.
    n_actions
        K.
    features, dimension
        See `FeatureMap`; an integer d where observations are their own features.
    reduction
        Default ``weighted-multiclass`` for classifiers, ``cost-regression`` for
        regressors. Classifiers that are only binary need ``all-pairs`` or
        ``filter-tree``.
    rng
        See `SklearnLearner`.
    log_size
        See `LearnedPolicyClass`.

    Raises
    ------
    ValueError
        If the reduction does not go with the estimator.
    """
    _require_estimator(estimator)
    from sklearn.base import is_regressor

    regresses = is_regressor(estimator)
    if reduction is None:
        reduction = "cost-regression" if regresses else "weighted-multiclass"
    if regresses != (reduction == "cost-regression"):
        kind = "regressor" if regresses else "classifier"
        raise ValueError(f"reduction: {reduction!r} does not go with a {kind}")
    return LearnedPolicyClass(
        SklearnLearner(estimator, rng),
        n_actions,
        reduction=reduction,
        features=features,
        dimension=dimension,
        log_size=log_size,
    )


def sklearn_values(
    estimator: Any,
    *,
    features: FeatureSource,
    dimension: int | None = None,
    rng: np.random.Generator | None = None,
    log_size: float | None = None,
) -> LearnedValueClass:
    """Make a value class of a scikit-learn regressor, clipped to [0, 1].

    Parameters
    ----------
    estimator
        A regressor.
    features, dimension, rng, log_size
        As for `sklearn_policies`.

    Raises
    ------
    ValueError
        If it is no regressor.
    """
    _require_estimator(estimator)
    from sklearn.base import is_regressor

    if not is_regressor(estimator):
        raise ValueError(
            f"estimator: {type(estimator).__name__} is no regressor; a classifier is "
            "for sklearn_policies"
        )
    return LearnedValueClass(
        SklearnLearner(estimator, rng),
        features=features,
        dimension=dimension,
        log_size=log_size,
    )


def _require_estimator(estimator: Any) -> None:
    """Refuse what is neither classifier nor regressor; say what is missing."""
    from sklearn.base import is_classifier, is_regressor

    if isinstance(estimator, type):
        raise ValueError(
            f"estimator: {estimator.__name__} is a class; give an object, "
            f"{estimator.__name__}()"
        )
    missing = [m for m in ("fit", "predict", "get_params") if not hasattr(estimator, m)]
    name = type(estimator).__name__
    if missing:
        raise ValueError(f"estimator: {name} has no {', no '.join(missing)}")
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(
            f"estimator: {name} is neither a classifier nor a regressor: it inherits "
            "from neither ClassifierMixin nor RegressorMixin, so scikit-learn's tags "
            "have no estimator_type"
        )


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
        """Fit to n examples: features (n, d), labels or reals (n,), weights (n,)."""


@dataclass(frozen=True, eq=False)
class LearnedPolicy:
    """A policy built from predictors: `decide` maps features (n, d) to actions (n,)."""

    decide: Predictor
    features: FeatureMap

    def __call__(self, observations: Observations, /) -> NDArray[np.int64]:
        """Actions, int64, shape (n,)."""
        actions = self.decide(self.features(observations))
        return np.asarray(actions, dtype=np.int64)


class _Learned(OnFeatures):
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
        multiclass one for ``weighted-multiclass``, a regressor for ``cost-regression``.
    reduction
        How CSC is reduced to the learner.
    features, dimension
        See `FeatureMap`.
    log_size
        Natural logarithm of the size to use in sample sizes, if known.
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
        n_actions = check_count("n_actions", n_actions)
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
    """A value function built from a predictor (n, d) → (n,), clipped to [0, 1]."""

    predict: Predictor
    features: FeatureMap

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Values in [0, 1], float64, shape (n,)."""
        features = self.features(observations)
        values = check_reals(self.predict(features), "prediction", (len(features),))
        return np.asarray(np.clip(values, 0, 1))


class LearnedValueClass(_Learned):
    """The value functions that a regressor produces, clipped to [0, 1]."""

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
