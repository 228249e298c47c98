"""Search for environments on which honest runs lose most: no adversary, only data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from olivine.algorithms.global_policy.algorithm import global_policy
from olivine.algorithms.global_policy.parameters import GlobalPolicyParameters
from olivine.cli.ledger.support.global_policy import two_states


def search(
    rng: np.random.Generator,
    parameters: GlobalPolicyParameters,
    *,
    evaluations: int = 200,
    grid: int = 4,
) -> tuple[Fraction, tuple[Fraction, ...]]:
    """Search for the environment of two states on which honest runs lose most.

    The rewards of `two_states` are multiples of τ_val/grid. A third of the runs are at
    random rewards; from the worst of them local search goes on: a move changes one or
    two rewards, and is kept unless the loss falls. Every run samples.

    Parameters
    ----------
    rng
        Draws moves and data.
    parameters
        Constants of the runs, M = K = H = 2.
    evaluations
        Number of runs.
    grid
        How fine rewards are.

    Returns
    -------
    The largest loss V* - V^π̂ of a run, and the rewards.
    """
    unit = parameters.tau_val / grid
    most = int(Fraction(1, 2) / unit)  # so that no return exceeds 1
    starts = rng.integers(0, most + 1, size=(evaluations // 3 + 1, 6))
    losses = [_loss(start.tolist(), unit, parameters, rng) for start in starts]
    best = max(losses)
    now = starts[losses.index(best)]
    for _ in range(evaluations - len(starts)):
        moved = now.copy()
        for place in rng.choice(6, size=int(rng.integers(1, 3)), replace=False):
            moved[place] += rng.integers(-2 * grid, 2 * grid + 1)
        moved = np.clip(moved, 0, most)
        found = _loss(moved.tolist(), unit, parameters, rng)
        if found >= best:
            now, best = moved, found
    return best, tuple(n * unit for n in now.tolist())


def _loss(
    numbers: Sequence[int],
    unit: Fraction,
    parameters: GlobalPolicyParameters,
    rng: np.random.Generator,
) -> Fraction:
    """V* - V^π̂ of one run; 0 where it fails."""
    made = two_states([n * unit for n in numbers])
    arguments = made.environment, made.values, made.policies, parameters, rng
    result = global_policy(*arguments)
    if not result.succeeded or result.policies is None:
        return Fraction(0)
    truth = made.environment.truth
    return truth.optimal_value - truth.policy_value(result.policies)
