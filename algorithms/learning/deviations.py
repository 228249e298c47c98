"""Largest deviations of a data set from the truth over a class: bounds of event E.

sup over g of |E_D[g(x)] - E[g(x)]| and over π of |E_D[K 1{π(x)=a}(r + V_a)] - E[...]|
are linear in the function: attained at 0/1 functions over tabular classes, observation
by observation for policies, by enumeration over finite ones. Differences are rational
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.finite import (
    FinitePolicyClass,
    FiniteValueClass,
    TabularPolicyClass,
    TabularValueClass,
)
from ..classes.linear import KernelBall, LinearValueClass
from ..classes.protocols import ValueClass
from ..environments.protocol import Path, Truth
from ..exact.arrays import object_array
from ..exact.data import EmpiricalMeasure
from ..oracles.lp import lp
from ..oracles.results import Functional

_ZERO = Fraction(0)
_ROUNDING = 1e-10  # of float64 searches, relative to the largest difference


def value_differences(data: EmpiricalMeasure, chances: NDArray[Any]) -> NDArray[Any]:
    """P_D(x) - P(x) at every code: Fractions, shape (|X|,)."""
    weights = data.weights_by_code(len(chances)).tolist()
    total = data.total_weight
    pairs = zip(weights, chances.tolist(), strict=True)
    return object_array([Fraction(w, total) - p for w, p in pairs])


def policy_differences(
    data: EmpiricalMeasure,
    chances: NDArray[Any],
    mean_rewards: NDArray[Any],
    futures: Sequence[Fraction],
) -> NDArray[Any]:
    """Give what a policy with π(x) = a adds to the deviation: Fractions (|X|, K)."""
    n_actions = len(futures)
    table = np.empty((len(chances), n_actions), dtype=object)
    table[:] = _ZERO
    actions = data.actions
    if actions is None:
        raise ValueError("data: actions are missing")
    rows = zip(
        data.codes().tolist(),
        actions.tolist(),
        data.exact_rewards.tolist(),
        data.weights.tolist(),
        strict=True,
    )
    for x, a, reward, weight in rows:
        table[x, a] += weight * (reward + futures[a])
    for x, chance in enumerate(chances.tolist()):
        for a in range(n_actions):
            seen = table[x, a] * n_actions / data.total_weight
            table[x, a] = seen - chance * (mean_rewards[x, a] + futures[a])
    return table


def value_deviation(
    truth: Truth, value_class: ValueClass, path: Path, data: EmpiricalMeasure
) -> Fraction | None:
    """Largest deviation of E_D[g] from E[g] at the end of a path, over a class."""
    differences = value_differences(data, truth.observation_probabilities(path))
    return largest_value_deviation(value_class.at_level(len(path) + 1), differences)


@singledispatch
def largest_value_deviation(
    value_class: Any, differences: NDArray[Any]
) -> Fraction | None:
    """Supremum over g of |Σ_x d(x) g(x)|; None for classes without a method."""
    return None


@largest_value_deviation.register
def _(value_class: TabularValueClass, differences: NDArray[Any]) -> Fraction | None:
    above = sum((d for d in differences if d > 0), _ZERO)
    below = sum((-d for d in differences if d < 0), _ZERO)
    return max(above, below)


@largest_value_deviation.register
def _(value_class: FiniteValueClass, differences: NDArray[Any]) -> Fraction | None:
    values = value_class.evaluate_all(np.arange(len(differences)))
    sums = values @ differences.astype(np.float64)
    return Fraction(float(np.abs(sums).max()))


@largest_value_deviation.register
def _(value_class: LinearValueClass, differences: NDArray[Any]) -> Fraction | None:
    if value_class.features.table is None:
        return None
    size = max((abs(d) for d in differences), default=_ZERO) or Fraction(1)
    objective = Functional(
        np.arange(len(differences)),
        object_array([d / size for d in differences.tolist()]),
    )
    bounds = []
    for maximise in (True, False):
        found = lp(
            value_class,
            objective,
            maximise=maximise,
            epsilon_sub=1e-6,
            epsilon_feas=1e-9,
        )
        bounds.append(abs(found.value or 0.0) + found.suboptimality)
    return Fraction(max(bounds)) * size


@singledispatch
def largest_policy_deviation(
    policy_class: Any, differences: NDArray[Any]
) -> Fraction | None:
    """Supremum over π of |Σ_x d(x, π(x))|; None for classes without a method."""
    return None


@largest_policy_deviation.register
def _(policy_class: TabularPolicyClass, differences: NDArray[Any]) -> Fraction | None:
    above = sum((max(row) for row in differences.tolist()), _ZERO)
    below = sum((min(row) for row in differences.tolist()), _ZERO)
    return max(above, -below)


@largest_policy_deviation.register
def _(policy_class: FinitePolicyClass, differences: NDArray[Any]) -> Fraction | None:
    codes = np.arange(len(differences))
    floats = differences.astype(np.float64)
    chosen = policy_class.evaluate_all(codes)
    return Fraction(float(np.abs(floats[codes, chosen].sum(axis=1)).max()))


@largest_value_deviation.register
def _(value_class: KernelBall, differences: NDArray[Any]) -> Fraction | None:
    """Radius · √(dᵀKd), in float64 relative to the largest difference."""
    size = max((abs(d) for d in differences), default=_ZERO)
    if size == 0:
        return _ZERO
    d = (differences / size).astype(np.float64)
    codes = np.arange(len(d))
    square = float(d @ value_class.kernel(codes, codes) @ d)
    found = value_class.radius * max(0.0, square) ** 0.5
    return Fraction(found + _ROUNDING) * size
