"""Any scikit-learn estimator as a class (extra ``sklearn``).

>>> from sklearn.tree import DecisionTreeClassifier  # doctest: +SKIP
>>> policies = sklearn_policies(  # doctest: +SKIP
...     DecisionTreeClassifier(max_depth=3, random_state=0), 4, features=2)
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .learned import LearnedPolicyClass, LearnedValueClass, Predictor, Reduction
from .linear import FeatureSource


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
