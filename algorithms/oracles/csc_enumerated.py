"""Cost-sensitive classification over tabular and finite classes, vectorised.

Both begin with one pass over the data that adds the weighted cost vectors up
by observation. The tabular class then takes the least entry of each row
(proof of Proposition "oracles tabular easy"); the finite class adds up the
entries that each member picks.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from ..classes.finite import FinitePolicyClass
from ..classes.protocols import Observations
from ..classes.tabular import TabularPolicy, TabularPolicyClass
from ..exact.data import EmpiricalMeasure
from .results import (
    CscResult,
    scaled_integers,
    summation_bound,
)

_CHUNK = 1 << 22
"""Entries of the members × observations table held at a time."""


def group_costs(
    groups: NDArray[np.int64], n_groups: int, data: EmpiricalMeasure, costs: Any
) -> NDArray[np.float64]:
    """Weighted sums of cost vectors by group: float64, shape (n_groups, K)."""
    n = len(data)
    # One column an observation: the product walks the data once, row by row.
    indicator = csc_matrix(
        (data.probabilities, groups, np.arange(n + 1)), shape=(n_groups, n)
    )
    totals: NDArray[np.float64] = indicator @ costs
    return totals


def group_costs_exactly(
    groups: NDArray[np.int64], n_groups: int, data: EmpiricalMeasure, costs: Any
) -> tuple[NDArray[Any], Fraction]:
    """As `group_costs`, as Python integers times the rational returned."""
    integers, scale = scaled_integers(costs)
    totals: NDArray[Any] = np.zeros((n_groups, costs.shape[1]), dtype=object)
    np.add.at(totals, groups, data.weights.astype(object)[:, None] * integers)
    return totals, scale / data.total_weight


def largest_group(groups: NDArray[np.int64]) -> int:
    """Size of the largest group."""
    return int(np.bincount(groups).max())


def magnitude(costs: NDArray[Any]) -> float:
    """Largest absolute cost."""
    return max(float(costs.max()), -float(costs.min()))


def minimise_tabular(
    policy_class: TabularPolicyClass,
    data: EmpiricalMeasure,
    costs: NDArray[Any],
    epsilon_sub: float,
) -> CscResult:
    """Least entry of the summed cost vector at each observation, lowest action."""
    codes, n_codes = data.codes(), policy_class.n_observations
    n, k = costs.shape
    operations = n * k + n_codes * k
    every = np.arange(n_codes)
    if costs.dtype != object:
        bound = _tabular_bound(codes, costs, epsilon_sub)
        if bound <= epsilon_sub:
            totals = group_costs(codes, n_codes, data, costs)
            actions = totals.argmin(axis=1)
            cost = float(totals[every, actions].sum())
            return CscResult(
                TabularPolicy(actions), cost, bound, epsilon_sub, operations
            )
    totals, scale = group_costs_exactly(codes, n_codes, data, costs)
    actions = np.argmin(totals, axis=1)
    exact = sum(totals[every, actions].tolist()) * scale
    return CscResult(
        TabularPolicy(actions), float(exact), 0.0, epsilon_sub, operations, exact
    )


def _tabular_bound(
    codes: NDArray[np.int64], costs: NDArray[Any], epsilon_sub: float
) -> float:
    """Twice the rounding error of the totals, added up over observations.

    With s rows at the busiest observation the totals err by at most
    (s + 4) u Σ p |c| together, and both the policy found and the optimal one
    are measured by them.
    """
    largest = magnitude(costs)
    bound = 2 * summation_bound(len(codes), largest)
    if bound > epsilon_sub:
        bound = 2 * summation_bound(largest_group(codes), largest)
    return bound


def support(data: EmpiricalMeasure) -> tuple[Observations, NDArray[np.int64]]:
    """Distinct observations, and the index of each row's one.

    Feature vectors are not compared: every row is its own observation.
    """
    if data.is_finite:
        distinct, groups = np.unique(data.observations, return_inverse=True)
        return distinct, groups.reshape(-1)
    return data.observations, np.arange(len(data))


def minimise_enumerated(
    policy_class: FinitePolicyClass,
    data: EmpiricalMeasure,
    costs: NDArray[Any],
    epsilon_sub: float,
) -> CscResult:
    """Cost of every member; the cheapest, the lowest number at ties."""
    observations, groups = support(data)
    size = len(observations)
    operations = costs.size + len(policy_class) * (size + 1)
    bound = np.inf
    if costs.dtype != object:
        terms = largest_group(groups) + size
        bound = 2 * summation_bound(terms, magnitude(costs))
    exactly = bound > epsilon_sub
    totals: NDArray[Any]
    scale = Fraction(1)
    if exactly:
        totals, scale = group_costs_exactly(groups, size, data, costs)
    else:
        totals = group_costs(groups, size, data, costs)
    found = _member_costs(policy_class, observations, totals)
    best = int(np.argmin(found))
    member: Any = policy_class.members[best]
    if exactly:
        exact = found[best] * scale
        return CscResult(member, float(exact), 0.0, epsilon_sub, operations, exact)
    return CscResult(member, float(found[best]), bound, epsilon_sub, operations)


def _member_costs(
    policy_class: FinitePolicyClass, observations: Observations, totals: NDArray[Any]
) -> NDArray[Any]:
    size = len(observations)
    step = max(1, _CHUNK // size)
    parts = []
    for start in range(0, len(policy_class), step):
        actions = policy_class.evaluate_all(observations, start, start + step)
        parts.append(totals[np.arange(size), actions].sum(axis=1))
    return np.concatenate(parts)
