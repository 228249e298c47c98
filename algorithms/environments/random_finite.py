"""Finite contextual decision processes: random ones, and those of tabular MDPs.

Random ones have deterministic dynamics, every state reachable, and distinct optimal
values in a level, so that most states have to be learned. Tabular ones have X = S;
that of a layered `TabularMDP` may be stochastic.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..exact.numbers import MOST_NUMBERS, check_table
from ..mdp.tabular import TabularMDP
from .finite import FiniteEnvironment
from .finite_model import FiniteLevel, FiniteModel
from .finite_truth import FiniteTruth

_ATTEMPTS = 1000
_FINEST = 10**9
_MOST_WEIGHTS = 10**8


def random_finite(
    rng: np.random.Generator,
    *,
    states: int = 2,
    actions: int = 2,
    horizon: int = 3,
    observations: int = 2,
    support: int = 2,
    denominator: int = 12,
    distinct: bool = True,
) -> FiniteEnvironment:
    """Draw a random finite environment; ValueError where 1000 attempts find none.

    Level 1 has one state, others `states` (fewer where K paths cannot reach as many). A
    state emits `observations` codes with weights 1..`denominator`; (x, a) has `support`
    rewards, multiples of 1/(`denominator`·H) in [0, 1/H].
    """
    sizes = {
        "states": states,
        "actions": actions,
        "horizon": horizon,
        "observations": observations,
        "support": support,
        "denominator": denominator,
    }
    for name, value in sizes.items():
        if value < 1:
            raise ValueError(f"{name}: {value} is below 1")
        if value > MOST_NUMBERS and name not in ("states", "denominator"):
            raise ValueError(f"{name}: {value} is not in 1..{MOST_NUMBERS}")
    if denominator > _FINEST:
        raise ValueError(f"denominator: {denominator} is above {_FINEST}")
    each = actions * observations * support
    tables = {k: sizes[k] for k in ("horizon", "actions", "observations", "support")}
    check_table(each * horizon, **tables)
    counts = [1]
    for _ in range(horizon - 1):
        counts.append(min(states, counts[-1] * actions))
    tables["states"] = max(counts)
    check_table(each * sum(counts), **tables)
    widest = max(counts) ** 2 * max(actions, observations)  # moves, emissions
    check_table(widest, _MOST_WEIGHTS, **tables)
    for _ in range(_ATTEMPTS):
        model = _draw(rng, counts, sizes)
        if not distinct or _has_distinct_values(model):
            return FiniteEnvironment(model, "random-finite")
    raise ValueError(
        f"distinct: no instance with distinct values in {_ATTEMPTS} attempts; take "
        f"a larger denominator than {denominator}"
    )


def _draw(
    rng: np.random.Generator, counts: Sequence[int], sizes: dict[str, int]
) -> FiniteModel:
    levels = []
    for h, n_states in enumerate(counts):
        n_codes = n_states * sizes["observations"]
        shape = (n_codes, sizes["actions"], sizes["support"])
        following = counts[h + 1] if h + 1 < len(counts) else 0
        levels.append(
            FiniteLevel(
                _emissions(rng, n_states, sizes),
                rng.integers(sizes["denominator"] + 1, size=shape),
                rng.integers(1, 4, size=shape),
                _transitions(rng, n_states, sizes["actions"], following),
            )
        )
    unit = sizes["denominator"] * sizes["horizon"]
    return FiniteModel(tuple(levels), unit, np.array([1]))


def _emissions(
    rng: np.random.Generator, n_states: int, sizes: dict[str, int]
) -> NDArray[np.int64]:
    per_state = sizes["observations"]
    owners = rng.permutation(np.repeat(np.arange(n_states), per_state))
    weights = rng.integers(1, sizes["denominator"] + 1, size=len(owners))
    emissions = np.zeros((n_states, len(owners)), dtype=np.int64)
    emissions[owners, np.arange(len(owners))] = weights
    return emissions


def _transitions(
    rng: np.random.Generator, n_states: int, n_actions: int, following: int
) -> NDArray[np.int64]:
    """Deterministic, onto the following level's states."""
    weights = np.zeros((n_states, n_actions, following), dtype=np.int64)
    if following:
        cells = n_states * n_actions
        others = rng.integers(following, size=cells - following)
        targets = rng.permutation(np.concatenate([np.arange(following), others]))
        weights.reshape(cells, following)[np.arange(cells), targets] = 1
    return weights


def _has_distinct_values(model: FiniteModel) -> bool:
    truth = FiniteTruth(model)
    for h in range(1, model.horizon + 1):
        values = [truth.state_value(h, s) for s in range(truth.n_states(h))]
        if len(set(values)) < len(values):
            return False
    return True


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
    """Draw a random tabular environment; parameters are those of `random_finite`."""
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
    """Environment of a layered MDP with constant rewards, X = S, codes by rank.

    States with fewer actions than others repeat their last one.
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
