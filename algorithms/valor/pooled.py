"""VALOR: values stored locally for RL (paper, Algorithms 1 to 3).

MetaAlg with dfslearn (`local_values`), and the pooled policy step: the policy of
each level is found by cost-sensitive classification on all data sets of the level
together, deployed, and where it falls short of the value learned, its own
trajectories are explored.

>>> from olivine.algorithms.classes import (PolicyClassByLevel, TabularPolicyClass,
...                                 TabularValueClass, ValueClassByLevel)
>>> from olivine.algorithms.environments import make
>>> from olivine.algorithms.learning.parameters import TheoremParameters
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> sizes = [env.space(h).n_codes for h in (1, 2)]
>>> G = ValueClassByLevel([TabularValueClass(n) for n in sizes])
>>> Pi = PolicyClassByLevel([TabularPolicyClass(n, 2) for n in sizes])
>>> parameters = TheoremParameters(0.3, 0.1, 2, 2, 2, G.log_size(), Pi.log_size())
>>> result = valor(env, G, Pi, parameters, np.random.default_rng(0))
>>> result.status, env.truth.policy_value(result.policies) == env.truth.optimal_value
('success', True)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.data import pool
from olivine.algorithms.learning.events import Observer
from olivine.algorithms.learning.metaalg import check_fit, learn
from olivine.algorithms.learning.parameters import Parameters
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.valor.local_values import LocalValues, PolicyStep

__all__ = ["LocalValues", "learn_local_values", "pooled_step", "valor"]


def pooled_step(run: LocalValues, level: int) -> Any:
    """Line 4 of Algorithm 2: argmax over Π_h of Σ over D_h of V_D(π; {V_a}).

    One CSC call on all data sets of the level, equally weighted. The oracle's
    ε_sub is on their average, so the sum is off by at most |D_h| ε_sub, which the
    proposition on the policy has room for (it counts 4 ε_sub a data set and uses
    2 for the values).
    """
    triples = run.datasets[level - 1]
    costs = np.concatenate([run.costs(t.data, t.futures) for t in triples])
    found = csc(
        run.policy_class.at_level(level),
        pool([t.data for t in triples]),
        costs,
        epsilon_sub=float(run.parameters.eps_sub),
    )
    return found.policy


def valor(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: Parameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run VALOR: MetaAlg with dfslearn and the pooled policy step.

    Parameters
    ----------
    environment
        With deterministic hidden dynamics.
    value_class, policy_class
        G and Π, by level or stationary, with g* and π* in them; the run sees
        them through a guard, so that only oracles and evaluation get at them.
    parameters
        `TheoremParameters` or `PracticalParameters`.
    rng
        The only source of randomness.
    observers
        Monitors and progress bars.

    Returns
    -------
    LearningResult
        With status "failure", and the reason, where MetaAlg fails.

    Raises
    ------
    ValueError
        If environment, parameters and classes do not fit (`check_fit`), or a
        reward leaves [0, 1].
    """
    return learn_local_values(
        environment,
        value_class,
        policy_class,
        parameters,
        rng,
        pooled_step,
        observers=observers,
        name="valor",
    )


def learn_local_values(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: Parameters,
    rng: np.random.Generator,
    step: PolicyStep,
    *,
    observers: Sequence[Observer] = (),
    name: str,
) -> LearningResult:
    """Run MetaAlg with dfslearn and any policy step; arguments as for `valor`."""
    check_fit(environment, parameters, value_class, policy_class, name)
    run = LocalValues(
        environment, value_class, policy_class, parameters, rng, observers
    )
    return learn(
        name,
        environment,
        parameters,
        rng,
        explore=run.dfslearn,
        optimise=lambda: run.polvalfun(step),
        learned=lambda: map(len, run.datasets),
        observers=observers,
    )
