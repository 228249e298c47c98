"""Tabular environments: observations are the hidden states, X = S.

A random one, and any layered `TabularMDP`; the latter may have stochastic
dynamics, which OLIVE takes and path-based algorithms refuse.
"""

from __future__ import annotations

import math

import numpy as np
from olivine.algorithms.environments.finite import FiniteEnvironment
from olivine.algorithms.environments.finite_level import FiniteLevel
from olivine.algorithms.environments.finite_model import FiniteModel
from olivine.algorithms.environments.random_finite import random_finite
from olivine.algorithms.mdp.tabular import TabularMDP


def tabular(
    rng: np.random.Generator,
    *,
    states: int = 2,
    actions: int = 2,
    horizon: int = 3,
    support: int = 2,
    denominator: int = 12,
    distinct: bool = True,
) -> FiniteEnvironment:
    """Draw a random tabular environment with deterministic dynamics.

    Parameters and errors are those of `random_finite`, with one observation for
    each hidden state.
    """
    drawn = random_finite(
        rng,
        states=states,
        actions=actions,
        horizon=horizon,
        observations=1,
        support=support,
        denominator=denominator,
        distinct=distinct,
    )
    return FiniteEnvironment(drawn.truth.model, "tabular")


def from_mdp(mdp: TabularMDP, name: str = "tabular") -> FiniteEnvironment:
    """Environment of a layered MDP with constant rewards, X = S.

    The code of a state is its rank among the states of its level. States with
    fewer actions than others repeat their last one.

    Parameters
    ----------
    mdp
        Layered, every episode H actions long; rewards in [0, 1], returns at
        most 1. Rewards are paid as they are (they are constants).
    name
        Name of the environment.

    Raises
    ------
    ValueError
        If the MDP is not layered, an action ends an episode early, or returns
        leave [0, 1].
    """
    if not mdp.is_layered:
        raise ValueError("mdp: not layered, a successor is not one level deeper")
    mdp = mdp.padded()
    unit = math.lcm(*(r.denominator for r in mdp.reward_table))
    members = [np.flatnonzero(mdp.state_level == h + 1) for h in range(mdp.horizon)]
    rank = np.zeros(mdp.n_states, dtype=np.int64)
    for states in members:
        rank[states] = np.arange(len(states))
    n_actions = int(mdp.action_counts.max())
    levels = []
    for h, states in enumerate(members):
        following = len(members[h + 1]) if h + 1 < mdp.horizon else 0
        units = np.zeros((len(states), n_actions, 1), dtype=np.int64)
        weights = np.zeros((len(states), n_actions, following), dtype=np.int64)
        for s, state in enumerate(states.tolist()):
            for a, action in enumerate(mdp.actions(state)):
                units[s, a, 0] = int(mdp.reward(action) * unit)
                successors = mdp.successors(action)
                if bool(successors) != bool(following):
                    raise ValueError(
                        f"mdp: {mdp.state_names[state]!r} ends at level {h + 1} "
                        f"of {mdp.horizon}"
                    )
                for target, chance in successors:
                    denominator = int(mdp.transition_denominator[action])
                    weights[s, a, rank[target]] = int(chance * denominator)
        ones = np.ones_like(units)
        levels.append(
            FiniteLevel(np.eye(len(states), dtype=np.int64), units, ones, weights)
        )
    start = (members[0] == mdp.start).astype(np.int64)
    return FiniteEnvironment(FiniteModel(tuple(levels), unit, start), name)
