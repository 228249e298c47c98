"""CSC where it is NP-hard, over linear and learned policies: candidates, certified.

Linear policies x ↦ argmax_a ⟨θ_a, φ(x)⟩ come from regression of the costs, from linear
programs for the cost-sensitive hinge loss (`separators`), which find a policy of least
cost everywhere if there is one, and from descent on the cost of a softmax policy
(`descend`); learned ones from the standard reductions to learners. The cheapest is
measured, with a certified bound on its suboptimality (docs/oracles.md). All but
learners is deterministic.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import scipy  # loads scipy.optimize where it is first used
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ..classes.features import (
    LearnedPolicy,
    LearnedPolicyClass,
    Learner,
    LinearPolicy,
    LinearPolicyClass,
    Predictor,
)
from ..exact.arrays import single_threaded
from ..exact.data import EmpiricalMeasure
from . import CscResult, group_costs, largest_group, magnitude, summation_bound, support

_SCHEDULES = ((8.0,), (1.0, 4.0, 16.0, 64.0))
"""Sharpness of the softmax policies, for scores of size 1: none is best always."""


class _Sums:
    """Data by distinct observation: features, shares, summed costs and their floor."""

    def __init__(
        self,
        policy_class: LinearPolicyClass | LearnedPolicyClass,
        data: EmpiricalMeasure,
        costs: NDArray[Any],
    ) -> None:
        reals = np.asarray(costs, dtype=np.float64)
        self.observations, groups = support(data)
        self.size = size = len(self.observations)
        self.totals = group_costs(groups, size, data, reals)
        self.shares = np.bincount(groups, weights=data.probabilities, minlength=size)
        self.features = policy_class.features(self.observations)
        self.operations = reals.size
        self._rounding = 2 * summation_bound(
            largest_group(groups) + size, magnitude(reals)
        )
        self._floor = float(self.totals.min(axis=1).sum())

    def cost(self, actions: NDArray[np.int64]) -> float:
        return float(self.totals[np.arange(self.size), actions].sum())

    def bound(self, cost: float) -> float:
        return max(0.0, cost - self._floor) + self._rounding


@single_threaded
def minimise_linear(
    policy_class: LinearPolicyClass,
    data: EmpiricalMeasure,
    costs: NDArray[Any],
    epsilon_sub: float,
) -> CscResult:
    """Cheapest of the candidates, stopping early at one certified to be enough."""
    sums = _Sums(policy_class, data, costs)
    features, operations = sums.features, sums.operations
    best, cost = np.zeros((policy_class.n_actions, features.shape[1])), np.inf
    for theta in _candidates(features, sums.totals, sums.shares):
        actions = np.argmax(features @ theta.T, axis=1)  # as `LinearPolicy` does
        operations += sums.size * theta.size
        if (found := sums.cost(actions)) < cost:
            best, cost = theta, found
        if sums.bound(cost) <= epsilon_sub:
            break
    policy = LinearPolicy(best, policy_class.features)
    return CscResult(policy, cost, sums.bound(cost), epsilon_sub, operations)


def _candidates(
    features: NDArray[Any], totals: NDArray[Any], shares: NDArray[Any]
) -> Iterator[NDArray[np.float64]]:
    yield np.zeros((totals.shape[1], features.shape[1]))
    starts = [_regress(features, totals, shares)]
    yield starts[0]
    for theta in separators(features, totals):
        yield theta
        starts[1:] = [theta]
    matters = np.flatnonzero(np.ptp(totals, axis=1) > 0)
    features, totals = features[matters], totals[matters]
    cost = SoftmaxCost(features, totals)
    for start in starts:
        unit = _of_size_one(start, features)
        for schedule in _SCHEDULES:
            yield descend(unit, cost, schedule)


def _regress(
    features: NDArray[Any], totals: NDArray[Any], shares: NDArray[Any]
) -> NDArray[np.float64]:
    seen = np.flatnonzero(shares > 0)
    root = np.sqrt(shares[seen, None])
    fitted = np.linalg.lstsq(root * features[seen], totals[seen] / root, rcond=None)
    theta: NDArray[np.float64] = -fitted[0].T
    return theta


def _of_size_one(
    theta: NDArray[np.float64], features: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Scale θ so that no score is further than 1 from the mean of its observation."""
    scores = features @ theta.T
    distances = np.abs(scores - scores.mean(axis=1, keepdims=True))
    spread = float(distances.max(initial=0.0))
    return theta / spread if spread > 0 else theta


_LARGEST_PROGRAM = 50_000  # nonzeros up to which the program is solved whole

_PAIRS = 3
_ROUNDS = 30
_OPTIMUM = 1e-6
_LIMIT = 1e6  # largest |θ_a,i|


def separators(
    features: NDArray[np.float64], totals: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    """Yield candidates (K, d), the last of which separates if any does."""
    n_actions, dimension = totals.shape[1], features.shape[1]
    extra = totals - totals.min(axis=1, keepdims=True)
    relevant = np.flatnonzero(extra.max(axis=1) > 0)
    if len(relevant) * n_actions * (2 * dimension + 1) <= _LARGEST_PROGRAM:
        theta, _ = _hinge(features[relevant], totals[relevant])
        if theta is not None:
            yield theta
        return
    best = totals.argmin(axis=1)
    if not _pairs_separable(features, best, extra):
        return
    size = 3 * n_actions * dimension
    chosen = np.zeros(len(features), dtype=np.bool_)
    chosen[_spread(relevant, size)] = True
    for _ in range(_ROUNDS):
        theta, optimum = _hinge(features[chosen], totals[chosen])
        if theta is None or optimum > _OPTIMUM:
            return
        yield theta
        actions = np.argmax(features @ theta.T, axis=1)
        lost = extra[np.arange(len(features)), actions]
        wrong = np.flatnonzero((lost > 0) & ~chosen)
        if len(wrong) == 0:
            return
        chosen[wrong[np.argsort(-lost[wrong], kind="stable")[:size]]] = True


def _pairs_separable(
    features: NDArray[np.float64], best: NDArray[np.int64], extra: NDArray[np.float64]
) -> bool:
    """Whether samples of the busiest pairs of actions have separating directions."""
    pairs = []
    for a, b in combinations(range(extra.shape[1]), 2):
        for_a = np.flatnonzero((best == a) & (extra[:, b] > 0))
        for_b = np.flatnonzero((best == b) & (extra[:, a] > 0))
        pairs.append((min(len(for_a), len(for_b)), for_a, for_b))
    pairs.sort(key=lambda pair: -pair[0])
    size = 4 * features.shape[1]
    return all(
        _margin(features[_spread(for_a, size)], features[_spread(for_b, size)]) > 0
        for count, for_a, for_b in pairs[:_PAIRS]
        if count
    )


def _spread(rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    if len(rows) <= size:
        return rows
    return rows[np.linspace(0, len(rows) - 1, size).astype(np.int64)]


def _margin(above: NDArray[np.float64], below: NDArray[np.float64]) -> float:
    """Largest t with ⟨w, x⟩ ≥ t above, ≤ -t below, |w_i| ≤ 1, t ≤ 1."""
    rows = np.concatenate([-above, below])
    matrix = np.c_[rows, np.ones(len(rows))]
    objective = np.r_[np.zeros(rows.shape[1]), -1.0]
    bounds = [(-1, 1)] * rows.shape[1] + [(0, 1)]
    found = scipy.optimize.linprog(
        objective, A_ub=matrix, b_ub=np.zeros(len(rows)), bounds=bounds
    )
    return float(found.x[-1]) if found.x is not None else np.inf


def _hinge(
    features: NDArray[np.float64], totals: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | None, float]:
    """Minimise the hinge loss, costs scaled to 1: θ (None: no answer), optimum."""
    n_actions, dimension, size = totals.shape[1], features.shape[1], len(features)
    best = totals.argmin(axis=1)
    extra = totals - totals[np.arange(size), best][:, None]
    x, b = np.nonzero(extra > 0)
    if len(x) == 0:
        return None, 0.0
    gaps = extra[x, b] / extra.max()
    columns = np.arange(dimension)
    block = gaps[:, None] * features[x]
    parts = [
        (-block, best[x][:, None] * dimension + columns),
        (block, b[:, None] * dimension + columns),
        (-np.ones((len(x), 1)), (n_actions * dimension + x)[:, None]),
    ]
    entries = np.concatenate([p[0] for p in parts], axis=1)
    indices = np.concatenate([p[1] for p in parts], axis=1)
    pointers = np.arange(len(x) + 1) * entries.shape[1]
    shape = (len(x), n_actions * dimension + size)
    matrix = csr_matrix((entries.ravel(), indices.ravel(), pointers), shape=shape)
    objective = np.r_[np.zeros(n_actions * dimension), np.ones(size)]
    bounds = [(-_LIMIT, _LIMIT)] * (n_actions * dimension) + [(0, None)] * size
    found = scipy.optimize.linprog(objective, A_ub=matrix, b_ub=-gaps, bounds=bounds)
    if found.x is None:
        return None, np.inf
    theta: NDArray[np.float64] = found.x[: n_actions * dimension]
    return theta.reshape(n_actions, dimension), float(found.fun)


_ITERATIONS = 100
_TOLERANCE = 1e-9
"""Relative decrease below which L-BFGS stops: costs are averages over data."""


class SoftmaxCost:
    """Expected cost and its gradient, over actions × observations arrays."""

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
    """Minimise from θ (K, d), of scores about 1 in size, at rising sharpness."""
    theta = start.ravel()
    for sharpness in schedule:
        theta = scipy.optimize.minimize(
            cost,
            theta,
            args=(sharpness,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _ITERATIONS, "ftol": _TOLERANCE},
        ).x
    return np.asarray(theta, dtype=np.float64).reshape(start.shape)


Features = NDArray[np.float64]
Costs = NDArray[np.float64]


def minimise_learned(
    policy_class: LearnedPolicyClass,
    data: EmpiricalMeasure,
    costs: NDArray[Any],
    epsilon_sub: float,
) -> CscResult:
    """Fit through the class's reduction; measure and certify the outcome."""
    sums, learner = _Sums(policy_class, data, costs), policy_class.learner
    features, totals = sums.features, sums.totals
    if policy_class.reduction == "cost-regression":
        decide = cost_regression(learner, features, totals, sums.shares)
    else:
        decide = _REDUCTIONS[policy_class.reduction](learner, features, totals)
    policy = LearnedPolicy(decide, policy_class.features)
    cost = sums.cost(policy(sums.observations))
    operations = sums.operations + sums.size * policy_class.n_actions
    return CscResult(policy, cost, sums.bound(cost), epsilon_sub, operations)


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
    """Values (n, K), c from the least: ∫_0^c(a) dt / |{b : c(b) ≤ t}| weighs pairs."""
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
    """Regress the K mean costs, weighted by ``shares``; the least one decides."""
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
