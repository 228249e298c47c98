"""PSDP: policy search by dynamic programming (Bagnell, Kakade, Ng, Schneider 2003).

Backwards over levels, the policy of a level is found by classification on returns to
go under the policies found for later levels, on data of uniform actions. It never knows
whether it succeeded: its status is always "success" (docs/baselines.md).

>>> from olivine.algorithms.baselines.parameters import theorem_parameters
>>> from olivine.algorithms.classes import PolicyClassByLevel, TabularPolicyClass
>>> from olivine.algorithms.environments import make
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> Pi = PolicyClassByLevel(
...     [TabularPolicyClass(env.space(h).n_codes, 2) for h in (1, 2)])
>>> parameters = theorem_parameters("psdp", 0.3, 0.1, M=2, K=2, H=2,
...                                 log_Pi=Pi.log_size())
>>> result = psdp(env, Pi, parameters, np.random.default_rng(0))
>>> env.truth.policy_value(result.policies) == env.truth.optimal_value
True
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from olivine.algorithms.baselines.events import LevelFit
from olivine.algorithms.baselines.parameters import PSDP, BatchParameters, check_batch
from olivine.algorithms.classes.protocols import PolicyClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.datasets import exact_cost, policy_costs
from olivine.algorithms.learning.events import Observer, notify
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.learning.run import Frame
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.ledger import guard, reveal


def psdp(
    environment: Environment,
    policy_class: PolicyClass,
    parameters: BatchParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run PSDP with uniform roll-in and the CSC oracle.

    Parameters
    ----------
    environment
        Any; hidden dynamics may be stochastic.
    policy_class
        Π, by level or stationary; seen through a guard.
    parameters
        Of ``"psdp"``: n trajectories per level.
    rng
        The only source of randomness.
    observers
        Told of every level, by a `LevelFit`.

    Returns
    -------
    LearningResult
        The estimate is the weighted average return that π̂_1 had in its own data,
        an estimate of V^π̂.

    Raises
    ------
    ValueError
        If parameters or classes do not fit, or a return leaves [0, 1].
    """
    check_batch(environment, parameters, PSDP, policies=policy_class)
    classes = guard(policy_class)
    later: list[Any] = []
    estimate = Fraction(0)
    with Frame(PSDP, environment, parameters, rng) as frame:
        for h in range(environment.horizon, 0, -1):
            # The environment, not the algorithm, plays policies: it may see them.
            played = [reveal(policy) for policy in later]
            data = uniform_rollouts(environment, h, parameters.n, rng, played)
            end = np.zeros(len(data))  # returns are whole
            found = csc(
                classes.at_level(h),
                data,
                policy_costs(data, end, parameters.eps_sub, parameters.K),
                epsilon_sub=float(parameters.eps_sub),
            )
            later.insert(0, found.policy)
            estimate = -exact_cost(found)
            notify(observers, LevelFit(h, data, reveal(found.policy)))
    return frame.result(later, estimate, iterations=1)


def uniform_rollouts(
    environment: Environment,
    level: int,
    n: int,
    rng: np.random.Generator,
    later: Sequence[Any],
) -> EmpiricalMeasure:
    """Sample n tuples (x_h, a_h, r_h + ... + r_H), actions uniform up to level h.

    Parameters
    ----------
    later
        π_{h+1}, ..., π_H, followed after level h.
    """
    rules: list[Any] = ["uniform"] * level + list(later)
    return environment.roll_through(rules, level, n, rng, "uniform")
