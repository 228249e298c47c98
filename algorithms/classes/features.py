"""Classes on features of observations: linear ones, and those of a learner.

Linear values are ⟨θ, φ(x)⟩, policies argmax_a ⟨θ_a, φ(x)⟩. Values must lie in [0, 1]
(paper, section 2), so the class is x ↦ clip(⟨θ, φ(x)⟩, 0, 1), |θ_i| bounded, and
oracles optimise over members that need no clipping at the observations given; with a
table of features that is the polytope {θ : 0 ≤ Φθ ≤ 1}. Features with unbounded noise
allow no range: with ``clipped=False`` only the box bounds θ. An algorithm that sees g
through averages over a state's observations, as VALOR does, then needs no more than
E[⟨θ, φ(x)⟩ | s] = V*(s) for some θ.

Whatever a learner's ``fit`` can return is in its class (extra ``sklearn`` for those of
scikit-learn). `oracles.csc_hard` reduces CSC to it; a regressor does least squares;
nothing maximises over its functions: no LP oracle.

>>> from sklearn.tree import DecisionTreeClassifier  # doctest: +SKIP
>>> policies = sklearn_policies(  # doctest: +SKIP
...     DecisionTreeClassifier(max_depth=3, random_state=0), 4, features=2)
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
import scipy  # loads scipy.special where it is first used
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import check_count, check_observations, check_reals, frozen
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
        shape = len(admitted), self.dimension
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
        *,
        features: FeatureSource,
        dimension: int | None = None,
        log_size: float | None = None,
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
        super().__init__(
            learner, features=features, dimension=dimension, log_size=log_size
        )
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

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """Return the size given; ValueError if none was."""
        return self._size()


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
        fresh: Any = clone(self._estimator)
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
