"""Cost-sensitive classification over linear policies: surrogates and a certificate.

Finding the best policy x ↦ argmax_a ⟨θ_a, φ(x)⟩ is NP-hard already for two
actions and 0/1 costs (agnostic learning of halfspaces; Johnson and Preparata
1978). What is guaranteed here:

- the policy returned is the cheapest of several candidates, its cost computed
  from its own actions;
- ``suboptimality`` is certified: its cost minus Σ_x min_a of the summed costs,
  which no policy whatever beats. It can be loose where the class cannot follow
  the least costs (with importance-weighted costs it always is);
- where some linear policy takes the least-cost action (the first one at ties) at
  every observation, its score ahead of all worse actions, linear programs find it
  (`csc_separation`), and the suboptimality is rounding alone.

Candidates: regression of the costs on the features, in closed form; the
cost-sensitive hinge loss; and descent on the expected cost of a softmax policy
(`softmax_descent`) that is sharpened step by step, or sharp at once, started from
the others. All are deterministic. Observations that cost the same whatever is done
are left out of the descent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes.linear import LinearPolicy, LinearPolicyClass
from olivine.algorithms.exact.blas import single_threaded
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles.csc_enumerated import (
    group_costs,
    largest_group,
    magnitude,
    support,
)
from olivine.algorithms.oracles.csc_separation import separators
from olivine.algorithms.oracles.exactness import summation_bound
from olivine.algorithms.oracles.results import CscResult
from olivine.algorithms.oracles.softmax_descent import SoftmaxCost, descend

_SCHEDULES = ((8.0,), (1.0, 4.0, 16.0, 64.0))
"""Sharpness of the softmax policies, for scores of size 1: none is best always."""


@single_threaded
def minimise_linear(
    policy_class: LinearPolicyClass,
    data: EmpiricalMeasure,
    costs: NDArray[Any],
    epsilon_sub: float,
) -> CscResult:
    """Cheapest of the candidates, stopping early at one certified to be enough."""
    reals = np.asarray(costs, dtype=np.float64)
    observations, groups = support(data)
    size = len(observations)
    totals = group_costs(groups, size, data, reals)
    features = policy_class.features(observations)
    terms = largest_group(groups) + size
    rounding = 2 * summation_bound(terms, magnitude(reals))
    floor = float(totals.min(axis=1).sum())
    best, best_cost = np.zeros((policy_class.n_actions, features.shape[1])), np.inf
    operations = reals.size
    shares = np.bincount(groups, weights=data.probabilities, minlength=size)
    every = np.arange(size)
    for theta in _candidates(features, totals, shares):
        actions = np.argmax(features @ theta.T, axis=1)  # as `LinearPolicy` does
        cost = float(totals[every, actions].sum())
        operations += size * theta.size
        if cost < best_cost:
            best, best_cost = theta, cost
        if best_cost - floor + rounding <= epsilon_sub:
            break
    return CscResult(
        LinearPolicy(best, policy_class.features),
        best_cost,
        max(0.0, best_cost - floor) + rounding,
        epsilon_sub,
        operations,
    )


def _candidates(
    features: NDArray[Any], totals: NDArray[Any], shares: NDArray[Any]
) -> Iterator[NDArray[np.float64]]:
    """Yield θ of shape (K, d), cheap candidates first."""
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
    """Fit mean costs, each observation weighing what it weighs in the data."""
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
