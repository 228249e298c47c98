"""Least squares by a regressor of the user's, measured and certified afterwards."""

from __future__ import annotations

import numpy as np
from olivine.algorithms.classes.learned import LearnedValue, LearnedValueClass
from olivine.algorithms.oracles.csc_enumerated import (
    largest_group,
    magnitude,
    support,
)
from olivine.algorithms.oracles.exactness import summation_bound
from olivine.algorithms.oracles.least_squares_linear import Regression
from olivine.algorithms.oracles.results import LeastSquaresResult


def fit_learned(
    value_class: LearnedValueClass, problem: Regression, epsilon_sub: float
) -> LeastSquaresResult:
    """Fit on the mean target of each observation, weighted.

    The bound on the suboptimality is the distance to the least loss that any function
    of the observations into [0, 1] has, whatever the regressor can represent.
    """
    observations, groups = support(problem.data)
    if not problem.data.is_finite:  # rows that agree are one observation
        observations, groups = np.unique(observations, axis=0, return_inverse=True)
        groups = groups.reshape(-1)
    size, weights, targets = len(observations), problem.weights, problem.targets
    total = np.bincount(groups, weights=weights, minlength=size)
    moment = np.bincount(groups, weights=weights * targets, minlength=size)
    means = np.divide(moment, total, out=np.zeros(size), where=total > 0)
    features = value_class.features(observations)
    seen = np.flatnonzero(total > 0)
    if len(seen):
        learner = value_class.learner
        importance = total[seen].astype(np.float64)
        predict = learner.fit(features[seen], means[seen], importance)
    else:  # every function is optimal
        predict = lambda rows: np.zeros(len(rows))  # noqa: E731
    function = LearnedValue(predict, value_class.features)
    values = function(observations)
    loss = float(np.dot(weights, (values[groups] - targets) ** 2))
    best = np.clip(means, 0, 1)
    floor = float(np.dot(weights, (best[groups] - targets) ** 2))
    terms = 5 * (largest_group(groups) + size)
    largest = (1 + magnitude(targets)) ** 2
    rounding = 2 * summation_bound(terms, float(total.sum()) * largest)
    bound = max(0.0, loss - floor) + rounding
    operations = 3 * len(groups) + features.size
    return LeastSquaresResult(function, loss, bound, epsilon_sub, operations)
