"""Finite environments written by hand, readable, and small ones that are known."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..classes import PolicyClassByLevel, ValueClassByLevel
from .finite import FiniteEnvironment
from .finite_model import FiniteLevel, FiniteModel
from .protocol import Environment

Number = int | Fraction
Reward = Number | Mapping[Number, Number]
"""A certain reward, or its values with their probabilities."""

Target = str | Mapping[str, Number]
"""A certain next state, or next states with their probabilities."""

State = tuple[
    str, Mapping[str, Number], Mapping[str, Sequence[Reward]], Sequence[Target]
]
"""(name, {observation: probability}, {observation: reward of each action},
next state of each action; empty at the last level)."""


def from_lists(
    levels: Sequence[Sequence[State]],
    name: str = "finite",
    *,
    start: Mapping[str, Number] | None = None,
) -> FiniteEnvironment:
    """Build a finite environment from nested Python data.

    Parameters
    ----------
    levels
        The states of each level. Codes of observations, and indices of hidden
        states, follow their order of appearance.
    name
        Name of the environment.
    start
        Probabilities of the states of level 1; by default its first one.

    Raises
    ------
    ValueError
        Naming the state or observation at fault: probabilities that are
        negative or do not sum to 1, unknown names, an observation of two
        states, numbers of actions that differ, a return above 1.

    Examples
    --------
    >>> env = from_lists([
    ...     [("s", {"x": 1}, {"x": [0, Fraction(1, 3)]}, ["t", "u"])],
    ...     [("t", {"y": 1}, {"y": [{0: Fraction(1, 2), 1: Fraction(1, 2)}, 0]}, []),
    ...      ("u", {"z": 1}, {"z": [0, 0]}, [])],
    ... ])
    >>> env.truth.optimal_value
    Fraction(1, 2)
    """
    if not levels or not all(levels):
        raise ValueError("levels: there is none, or one without states")
    unit = math.lcm(
        *(
            Fraction(value).denominator
            for states in levels
            for state in states
            for rewards in state[2].values()
            for reward in rewards
            for value in _distribution(reward, state[0])
        )
    )
    n_actions = len(next(iter(levels[0][0][2].values()), ()))
    built = []
    for h, states in enumerate(levels):
        following = levels[h + 1] if h + 1 < len(levels) else ()
        built.append(_level(states, [s[0] for s in following], unit, n_actions))
    first = [state[0] for state in levels[0]]
    weights = _weights({first[0]: 1} if start is None else start, first, "start")
    return FiniteEnvironment(FiniteModel(tuple(built), unit, np.array(weights)), name)


def _level(
    states: Sequence[State], following: Sequence[str], unit: int, n_actions: int
) -> FiniteLevel:
    names = [name for _, emitted, _, _ in states for name in emitted]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"observation {twice!r}: emitted by two hidden states")
    emissions = [_weights(s[1], names, f"state {s[0]!r}") for s in states]
    rewards = [(s[2].get(x, ()), f"observation {x!r}") for s in states for x in s[1]]
    laws = []
    for values, where in rewards:
        if len(values) != n_actions:
            raise ValueError(f"{where}: {len(values)} rewards for {n_actions} actions")
        laws.append([_distribution(value, where) for value in values])
    support = max((len(law) for row in laws for law in row), default=1)
    units = np.zeros((len(names), n_actions, support), dtype=np.int64)
    weights = np.zeros_like(units)
    for (x, a), _ in np.ndenumerate(units[:, :, 0]):
        law = laws[x][a]
        points = list(law)
        units[x, a, : len(points)] = [int(Fraction(v) * unit) for v in points]
        weights[x, a, : len(points)] = _weights(law, points, rewards[x][1])
    moves = np.zeros((len(states), n_actions, len(following)), dtype=np.int64)
    for s, (name, _, _, targets) in enumerate(states):
        if len(targets) != (n_actions if following else 0):
            raise ValueError(f"state {name!r}: {len(targets)} next states")
        for a, target in enumerate(targets):
            chances = {target: 1} if isinstance(target, str) else target
            moves[s, a] = _weights(chances, following, f"state {name!r}")
    return FiniteLevel(np.array(emissions), units, weights, moves)


def _distribution(reward: Reward, where: str) -> Mapping[Number, Number]:
    if isinstance(reward, Mapping):
        if not reward:
            raise ValueError(f"{where}: a reward without values")
        return reward
    return {reward: 1}


def _weights(
    chances: Mapping[Any, Number], among: Sequence[Any], where: str
) -> list[int]:
    unknown = [key for key in chances if key not in among]
    if unknown:
        raise ValueError(f"{where}: unknown {unknown[0]!r}")
    exact = [Fraction(chances.get(key, 0)) for key in among]
    if min(exact) < 0 or sum(exact) != 1:
        raise ValueError(f"{where}: probabilities sum to {sum(exact)}, not to 1")
    scale = math.lcm(*(p.denominator for p in exact))
    return [int(p * scale) for p in exact]


HALF = Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class Instance:
    """An environment with realizable classes G and Π."""

    environment: Environment
    values: ValueClassByLevel
    policies: PolicyClassByLevel
