"""CSC reduced to learners that only do less: the standard reductions.

``weighted-multiclass``, ``all-pairs``, ``filter-tree`` and ``cost-regression``; with
two actions every one but the last is the same weighted binary problem: the label is the
cheaper action, the weight |c_x(0) - c_x(1)|, and nothing is lost. What each guarantees
is in docs/oracles.md. What a learner achieves on its problem is its own affair; the
result carries a certified bound on the suboptimality all the same (see `csc_linear`).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.learned import LearnedPolicy, LearnedPolicyClass, Learner, Predictor
from ..exact.data import EmpiricalMeasure
from .results import (
    CscResult,
    group_costs,
    largest_group,
    magnitude,
    summation_bound,
    support,
)

Features = NDArray[np.float64]
Costs = NDArray[np.float64]


def minimise_learned(
    policy_class: LearnedPolicyClass,
    data: EmpiricalMeasure,
    costs: NDArray[Any],
    epsilon_sub: float,
) -> CscResult:
    """Fit through the class's reduction; measure and certify the outcome."""
    reals = np.asarray(costs, dtype=np.float64)
    observations, groups = support(data)
    size = len(observations)
    totals = group_costs(groups, size, data, reals)
    features = policy_class.features(observations)
    if policy_class.reduction == "cost-regression":
        shares = np.bincount(groups, weights=data.probabilities, minlength=size)
        decide = cost_regression(policy_class.learner, features, totals, shares)
    else:
        reduce = _REDUCTIONS[policy_class.reduction]
        decide = reduce(policy_class.learner, features, totals)
    policy = LearnedPolicy(decide, policy_class.features)
    cost = float(totals[np.arange(size), policy(observations)].sum())
    floor = float(totals.min(axis=1).sum())
    terms = largest_group(groups) + size
    rounding = 2 * summation_bound(terms, magnitude(reals))
    return CscResult(
        policy,
        cost,
        max(0.0, cost - floor) + rounding,
        epsilon_sub,
        reals.size + size * policy_class.n_actions,
    )


def weighted_multiclass(
    learner: Learner, features: Features, costs: Costs
) -> Predictor:
    """Reduce to one weighted multiclass problem of up to K examples each."""
    weights = costs.max(axis=1, keepdims=True) - costs
    x, a = np.nonzero(weights > 0)
    if len(x) == 0:
        return _constant(0)
    return learner.fit(features[x], a, weights[x, a])


def pair_values(costs: Costs) -> Costs:
    """Values v whose differences weigh the pairs, shape (n, K).

    v(a) = ∫_0^c(a) dt / |{b : c(b) ≤ t}|, costs counted from the least: with
    costs sorted, each step up to the j-th smallest is divided by j.
    """
    order = np.argsort(costs, axis=1, kind="stable")
    ascending = np.take_along_axis(costs, order, axis=1)
    steps = np.diff(ascending, axis=1) / np.arange(1, costs.shape[1])
    heights = np.concatenate(
        [np.zeros((len(costs), 1)), np.cumsum(steps, axis=1)], axis=1
    )
    values = np.empty_like(costs)
    np.put_along_axis(values, order, heights, axis=1)
    return values


def all_pairs(learner: Learner, features: Features, costs: Costs) -> Predictor:
    """Reduce to one weighted binary problem a pair; the most wins decide."""
    n_actions = costs.shape[1]
    values = pair_values(costs)
    pairs = list(combinations(range(n_actions), 2))
    matches = [
        _binary(learner, features, values[:, i] - values[:, j]) for i, j in pairs
    ]

    def decide(rows: Features) -> Any:
        wins = np.zeros((len(rows), n_actions), dtype=np.int64)
        for (i, j), match in zip(pairs, matches, strict=True):
            second = match(rows).astype(bool)
            wins[:, j] += second
            wins[:, i] += ~second
        return np.argmax(wins, axis=1)

    return decide


def filter_tree(learner: Learner, features: Features, costs: Costs) -> Predictor:
    """Reduce to a knockout; each match is trained on those who reach it."""
    return _knockout(learner, features, costs, 0, costs.shape[1])


def _knockout(
    learner: Learner, features: Features, costs: Costs, first: int, end: int
) -> Predictor:
    """Train the subtree of the actions from ``first`` to before ``end``."""
    if end - first == 1:
        return _constant(first)
    middle = (first + end) // 2
    left = _knockout(learner, features, costs, first, middle)
    right = _knockout(learner, features, costs, middle, end)
    every = np.arange(len(costs))
    differences = costs[every, left(features)] - costs[every, right(features)]
    match = _binary(learner, features, differences)

    def decide(rows: Features) -> Any:
        return np.where(match(rows).astype(bool), right(rows), left(rows))

    return decide


def cost_regression(
    learner: Learner, features: Features, costs: Costs, shares: NDArray[Any]
) -> Predictor:
    """Reduce to K regressions of the mean costs; the least prediction decides.

    ``shares`` are the observations' weights, with which costs were summed.
    """
    seen = np.flatnonzero(shares > 0)
    means = costs[seen] / shares[seen, None]
    fits = [learner.fit(features[seen], column, shares[seen]) for column in means.T]

    def decide(rows: Features) -> Any:
        predictions = np.stack([fit(rows) for fit in fits], axis=1)
        return np.argmin(predictions, axis=1)

    return decide


def _binary(
    learner: Learner, features: Features, differences: NDArray[np.float64]
) -> Predictor:
    """Learn where the second of two is cheaper (1) and where not (0)."""
    rows = np.flatnonzero(differences != 0)
    if len(rows) == 0:
        return _constant(0)
    labels = (differences[rows] > 0).astype(np.int64)
    return learner.fit(features[rows], labels, np.abs(differences[rows]))


def _constant(value: int) -> Predictor:
    return lambda rows: np.full(len(rows), value, dtype=np.int64)


_REDUCTIONS = {
    "weighted-multiclass": weighted_multiclass,
    "all-pairs": all_pairs,
    "filter-tree": filter_tree,
}
