"""What the algorithms do alike: draw data sets, and read them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..environments.protocol import Environment
from ..exact.arrays import END, object_array
from ..exact.data import EmpiricalMeasure, pool
from ..oracles.csc import importance_costs
from ..oracles.ledger import evaluate
from ..oracles.results import CscResult
from .events import (
    Entered,
    EventFailedError,
    Observer,
    Path,
    notify,
)
from .parameters import DfsParameters

EXACT_COSTS = Fraction(1, 10**12)
"""Below this ε_sub costs are rationals: float64 would be too coarse."""


def enter(
    path: Path, calls: list[int], most: int, observers: Sequence[Observer]
) -> None:
    """Count a call of dfslearn at the end of a path, and tell observers.

    Observers hear of the call too many as well, or none could see it.
    """
    calls[len(path)] += 1
    notify(observers, Entered(path))
    if calls[len(path)] > most:
        raise EventFailedError(
            f"dfslearn was called more than T_max = {most} times "
            f"at level {len(path) + 1}, impossible in event E"
        )


def training_set(
    environment: Environment,
    path: Path,
    parameters: DfsParameters,
    rng: np.random.Generator,
    *,
    successors: bool,
) -> EmpiricalMeasure:
    """Draw D̃: n_train of (x_h, a_h, r_h), and x_{h+1} if wanted, after a path.

    a_h is uniform; or, if parameters are balanced, each action is taken equally
    often, n_train being rounded up to a multiple of K.
    """
    p = parameters
    if not p.balanced:
        return environment.draw(
            (*path, "uniform"), p.n_train, rng, successors=successors
        )
    each = p.rows // p.K
    return pool(
        [
            environment.draw((*path, a), each, rng, successors=successors)
            for a in range(p.K)
        ]
    )


def decisions(data: EmpiricalMeasure) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give actions and rewards; ValueError if missing or a reward leaves [0, 1]."""
    if data.actions is None or data.rewards is None:
        raise ValueError("data: actions or rewards are missing")
    if not 0 <= data.rewards.min() <= data.rewards.max() <= 1:
        raise ValueError("rewards: outside [0, 1]")
    return data.actions, data.rewards


def gains(
    data: EmpiricalMeasure, ahead: NDArray[np.float64], accuracy: Fraction
) -> NDArray[Any]:
    """Give r + V(x') in rationals where the accuracy needs them; V is taken as it is.

    `ahead`: v(x') of each row, shape (n,).
    """
    if accuracy < EXACT_COSTS:
        exact = object_array([Fraction(v) for v in ahead.tolist()])
        return np.asarray(data.exact_rewards + exact)
    return decisions(data)[1] + ahead


def policy_costs(
    data: EmpiricalMeasure, ahead: NDArray[np.float64], accuracy: Fraction, K: int
) -> NDArray[Any]:
    """Costs of n rows whose average is -E[K 1{a = π(x)}(r + V(x'))], (n, K)."""
    return importance_costs(decisions(data)[0], gains(data, ahead, accuracy), K)


def exact_cost(found: CscResult) -> Fraction:
    """Average cost: exact, or the rational that the float stands for."""
    return Fraction(found.cost) if found.exact_cost is None else found.exact_cost


def next_values(
    data: EmpiricalMeasure, functions: Sequence[Any]
) -> NDArray[np.float64]:
    """Give the largest g(x') of several functions, 0 where the episode has ended.

    Returns shape (n,).
    """
    values = np.zeros(len(data))
    following = data.next_observations
    if not functions or following is None:
        return values
    alive = np.ones(len(data), dtype=np.bool_)
    if following.ndim == 1:
        alive = following != END
    if alive.any():
        values[alive] = np.max(
            [evaluate(g, following[alive]) for g in functions], axis=0
        )
    return values
