"""Runs that claims about the global policy algorithm look at, all monitored.

At the theorem's corrected constants, ε = 0.3 and δ = 0.1, on random environments with
tabular classes and with finite policy complete ones, and on two of the instances.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from olivine.algorithms.assumptions import complete_classes
from olivine.algorithms.environments import make
from olivine.algorithms.environments.finite_lists import Instance
from olivine.algorithms.global_policy.algorithm import global_policy
from olivine.algorithms.global_policy.parameters import (
    GlobalPolicyParameters,
    GlobalPolicyTheoremParameters,
)
from olivine.algorithms.global_policy.review import GlobalPolicyMonitors
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.learning.parameters import Version
from olivine.algorithms.learning.run import LearningResult
from olivine.cli.ledger.runs import Run, made_once, problem, seeds
from olivine.cli.ledger.runs import monitored as monitored_on
from olivine.cli.ledger.support.global_policy import pruned_then_learned, stale

SOURCE = "paper, appendix Alternative Algorithms, Global Policy Algorithm"
EPSILON, DELTA = 0.3, 0.1


def constants(
    made: Instance, version: Version = "theorem"
) -> GlobalPolicyTheoremParameters:
    """Constants of the theorem for an instance, ε = 0.3, δ = 0.1."""
    return GlobalPolicyTheoremParameters(
        EPSILON, DELTA, *problem(made), version=version
    )


def chosen_sizes(
    version: Version, horizon: int = 2, states: int = 2, actions: int = 2
) -> GlobalPolicyTheoremParameters:
    """Constants that an instance can be made for: |G| = 1 and all policies."""
    size = states * math.log(actions)
    return GlobalPolicyTheoremParameters(
        EPSILON, DELTA, states, actions, horizon, 0.0, size, version=version
    )


def monitored(
    made: Instance, parameters: GlobalPolicyParameters, seed: int, **options: Any
) -> Run[GlobalPolicyParameters]:
    """Run with monitors; further observers and the oracle are options."""
    learn, monitors = global_policy, GlobalPolicyMonitors
    return monitored_on(learn, made, parameters, monitors, seed, **options)


def drawn(seed: int, kind: str, *, states: int = 3, actions: int = 2) -> Instance:
    """Draw a random environment, H = 3, with classes that satisfy the assumptions.

    Parameters
    ----------
    seed
        Of the environment and of the classes.
    kind
        ``"tabular"``, or ``"finite"``: policy complete by construction.
    states, actions
        M and K.
    """
    env = make("random-finite", seed, states=states, actions=actions, horizon=3)
    rng = np.random.default_rng([seed, 1])
    if kind == "tabular":
        return Instance(env, *make_classes(env, "tabular", rng))
    return Instance(env, *complete_classes(env, rng, "policy"))


@made_once
def runs() -> tuple[Run[GlobalPolicyParameters], ...]:
    """Give the runs that the claims look at."""
    found = []
    for seed in seeds(6):
        for kind in ("tabular", "finite"):
            made = drawn(seed, kind)
            found.append(monitored(made, constants(made), seed))
    for made in (pruned_then_learned(), stale(chosen_sizes("theorem", 3, 4, 3))):
        found.append(monitored(made, constants(made), 0))
    return tuple(found)


def results() -> list[LearningResult]:
    """Give what came out of them."""
    return [run.result for run in runs()]
