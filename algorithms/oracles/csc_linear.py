"""Cost-sensitive classification over linear policies: surrogates and a certificate.

Finding the best policy x ↦ argmax_a ⟨θ_a, φ(x)⟩ is NP-hard already for two
actions and 0/1 costs (agnostic learning of halfspaces; Johnson and Preparata
1978). What is guaranteed here:

- the policy returned is the cheapest of several candidates, its cost computed
  from its own actions;
- ``suboptimality`` is certified: its cost minus Σ_x min_a of the summed costs,
  which no policy whatever beats. It can be loose where the class cannot follow
  the least costs;
- where some linear policy takes a least-cost action at every observation, its
  score ahead of all worse actions, a linear program finds it, and the
  suboptimality is rounding alone.

Candidates: regression of the costs on the features; the cost-sensitive hinge
loss (a linear program); and descent on the expected cost of a softmax policy
that is sharpened step by step, started from each of the others. All are
deterministic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_matrix
from scipy.special import softmax

from algorithms.classes.linear import LinearPolicy, LinearPolicyClass
from algorithms.data import EmpiricalMeasure
from algorithms.oracles.csc_enumerated import (
    group_costs,
    largest_group,
    magnitude,
    support,
)
from algorithms.oracles.exactness import summation_bound
from algorithms.oracles.results import CscResult

_LARGEST_PROGRAM = 2_000_000
"""Nonzeros up to which the hinge program is solved."""

_SHARPNESS = (1.0, 4.0, 16.0, 64.0)


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
    for theta in _candidates(features, totals, shares):
        policy = LinearPolicy(theta, policy_class.features)
        cost = float(totals[np.arange(size), policy(observations)].sum())
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
) -> Any:
    """Yield θ of shape (K, d), cheap candidates first."""
    n_actions, dimension = totals.shape[1], features.shape[1]
    yield np.zeros((n_actions, dimension))
    # Mean costs, each observation weighing what it weighs in the data.
    seen = np.flatnonzero(shares > 0)
    root = np.sqrt(shares[seen, None])
    fitted = np.linalg.lstsq(root * features[seen], totals[seen] / root, rcond=None)
    regressed = -fitted[0].T
    yield regressed
    starts = [regressed]
    if len(features) * n_actions * (2 * dimension + 1) <= _LARGEST_PROGRAM:
        hinged = _hinge(features, totals)
        if hinged is not None:
            yield hinged
            starts.append(hinged)
    for start in starts:
        yield _descend(start, features, totals)


def _hinge(features: NDArray[Any], totals: NDArray[Any]) -> NDArray[np.float64] | None:
    """Minimise Σ_x ξ_x with ξ_x ≥ Δ_x(b) (1 - ⟨θ_best - θ_b, φ(x)⟩), ξ ≥ 0.

    Δ_x(b) is the extra cost of b over the best action (Crammer and Singer
    2001, with costs). The optimum is 0 exactly where a linear policy with
    positive margin takes best actions only.
    """
    n_actions, dimension, size = totals.shape[1], features.shape[1], len(features)
    best = totals.argmin(axis=1)
    extra = totals - totals[np.arange(size), best][:, None]
    x, b = np.nonzero(extra > 0)
    if len(x) == 0:
        return None
    gaps = extra[x, b]
    row = np.arange(len(x))
    columns = np.arange(dimension)
    block = gaps[:, None] * features[x]
    parts = [
        (-block, best[x][:, None] * dimension + columns),
        (block, b[:, None] * dimension + columns),
        (-np.ones((len(x), 1)), (n_actions * dimension + x)[:, None]),
    ]
    entries = np.concatenate([p[0] for p in parts], axis=1)
    indices = np.concatenate([p[1] for p in parts], axis=1)
    pointers = np.arange(len(row) + 1) * entries.shape[1]
    shape = (len(x), n_actions * dimension + size)
    matrix = csr_matrix((entries.ravel(), indices.ravel(), pointers), shape=shape)
    objective = np.r_[np.zeros(n_actions * dimension), np.ones(size)]
    scale = gaps.max()  # unit size, so that tolerances of the engine mean something
    bounds = [(-1e6, 1e6)] * (n_actions * dimension) + [(0, None)] * size
    found = linprog(objective, A_ub=matrix / scale, b_ub=-gaps / scale, bounds=bounds)
    if found.x is None:
        return None
    theta: NDArray[np.float64] = found.x[: n_actions * dimension]
    return theta.reshape(n_actions, dimension)


def _descend(
    start: NDArray[Any], features: NDArray[Any], totals: NDArray[Any]
) -> NDArray[np.float64]:
    """Minimise the expected cost of a softmax policy, ever sharper."""
    shape = start.shape
    scores = features @ start.T
    spread = float(np.abs(scores - scores.mean(axis=1, keepdims=True)).max())
    theta = (start / spread if spread > 0 else start).ravel()
    scale = float(np.abs(totals).sum()) or 1.0

    def objective(
        flat: NDArray[Any], sharpness: float
    ) -> tuple[float, NDArray[np.float64]]:
        chances = softmax(sharpness * features @ flat.reshape(shape).T, axis=1)
        means = (chances * totals).sum(axis=1)
        slope = sharpness * chances * (totals - means[:, None])
        return means.sum() / scale, (slope.T @ features).ravel() / scale

    for sharpness in _SHARPNESS:
        theta = minimize(
            objective,
            theta,
            args=(sharpness,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 200},
        ).x
    return np.asarray(theta, dtype=np.float64).reshape(shape)
