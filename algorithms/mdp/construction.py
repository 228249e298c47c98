"""Arrays of tabular MDPs: from nested Python data, and padded to equal actions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from olivine.algorithms.exact.numbers import as_rational
from olivine.algorithms.exact.ragged import IntArray, gather

if TYPE_CHECKING:
    from olivine.algorithms.mdp.tabular import TabularMDP

Rational = Fraction | int
ActionData = tuple[str, Rational, Mapping[str, Rational]]
"""(name, reward, {successor: probability})."""
StateData = tuple[str, int, Sequence[ActionData]]
"""(name, level, actions)."""


def arrays_from_lists(states: Sequence[StateData], start: str | None) -> dict[str, Any]:
    """All fields of an MDP but its horizon; see `TabularMDP.from_lists`."""
    if not states:
        raise ValueError("an MDP needs at least one state")
    index = {name: s for s, (name, _, _) in enumerate(states)}
    if start is not None and start not in index:
        raise ValueError(f"unknown start state {start!r}")
    action_offset, transition_offset = [0], [0]
    targets: list[int] = []
    numerators: list[int] = []
    denominators: list[int] = []
    rewards: dict[Fraction, int] = {}
    reward_index: list[int] = []
    for state, _, actions in states:
        for action, reward, successors in actions:
            where = f"state {state!r}, action {action!r}"
            exact = _successors(successors, index, where)
            denominators.append(math.lcm(1, *(p.denominator for p in exact.values())))
            targets.extend(exact)
            numerators.extend(int(p * denominators[-1]) for p in exact.values())
            value = as_rational(f"{where}: reward", reward)
            reward_index.append(rewards.setdefault(value, len(rewards)))
            transition_offset.append(len(targets))
        action_offset.append(len(reward_index))
    return {
        "start": index[start] if start is not None else 0,
        "state_level": np.array([level for _, level, _ in states]),
        "action_offset": np.array(action_offset),
        "transition_offset": np.array(transition_offset),
        "transition_target": np.array(targets, dtype=np.int32),
        "transition_numerator": np.array(numerators, dtype=np.int64),
        "transition_denominator": np.array(denominators, dtype=np.int64),
        "reward_index": np.array(reward_index, dtype=np.int32),
        "reward_table": tuple(rewards),
        "state_names": tuple(name for name, _, _ in states),
        "action_names": tuple(action for *_, acts in states for action, _, _ in acts),
    }


def _successors(
    given: Mapping[str, Rational], index: Mapping[str, int], where: str
) -> dict[int, Fraction]:
    exact: dict[int, Fraction] = {}
    for name, probability in given.items():
        if name not in index:
            raise ValueError(f"{where}: unknown successor {name!r}")
        value = as_rational(f"{where}: probability of {name!r}", probability)
        if value < 0:
            raise ValueError(f"{where}: probability {value} of {name!r} is negative")
        if value:
            exact[index[name]] = value
    return exact


def padded_arrays(mdp: TabularMDP) -> dict[str, Any]:
    """Fields that change when last actions are repeated; see `TabularMDP.padded`."""
    most = int(mdp.action_counts.max())
    local = np.minimum(np.arange(most), mdp.action_counts[:, None] - 1)
    copied = (mdp.action_offset[:-1, None] + local).ravel()
    index, transition_offset = gather(mdp.transition_offset, copied)
    return {
        "action_offset": np.arange(mdp.n_states + 1, dtype=np.int64) * most,
        "transition_offset": transition_offset,
        "transition_target": mdp.transition_target[index],
        "transition_numerator": mdp.transition_numerator[index],
        "transition_denominator": mdp.transition_denominator[copied],
        "reward_index": mdp.reward_index[copied],
        "action_names": _padded_names(mdp, most),
    }


def _padded_names(mdp: TabularMDP, most: int) -> tuple[str, ...]:
    names: list[str] = []
    for s in range(mdp.n_states):
        own = [mdp.action_names[a] for a in mdp.actions(s)]
        taken = set(own)
        copy = 2
        while len(own) < most:
            name = f"{mdp.action_names[mdp.actions(s)[-1]]} (copy {copy})"
            if name not in taken:
                own.append(name)
            copy += 1
        names.extend(own)
    return tuple(names)


def same_rewards(one: TabularMDP, other: TabularMDP) -> bool:
    """Whether every action has the same reward, whatever the tables look like."""
    if len(one.reward_index) != len(other.reward_index):
        return False
    numbers: dict[Fraction, int] = {}
    left, right = (
        _renumbered(mdp.reward_table, mdp.reward_index, numbers) for mdp in (one, other)
    )
    return np.array_equal(left, right)


def _renumbered(
    table: Sequence[Fraction], index: IntArray, numbers: dict[Fraction, int]
) -> IntArray:
    renumbered = [numbers.setdefault(reward, len(numbers)) for reward in table]
    return np.array(renumbered, dtype=np.int64)[index]
