"""How a tabular MDP is made: arrays from nested data, padded ones, their checks.

Every message of a check names the state and action at fault.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import (
    INT64_MAX,
    IntArray,
    fits_int64,
    gather,
    magnitude,
    segment_sums,
)
from ..exact.numbers import as_rational

if TYPE_CHECKING:
    from .tabular import TabularMDP

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
            common = math.lcm(1, *(p.denominator for p in exact.values()))
            parts = [int(p * common) for p in exact.values()]
            if max(common, *parts, 0) > INT64_MAX:
                raise ValueError(
                    f"{where}: probabilities with a common denominator beyond 64 bits"
                )
            denominators.append(common)
            targets.extend(exact)
            numerators.extend(parts)
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


def validate(mdp: TabularMDP, *, names: bool) -> None:
    """Check an MDP in the order that lets each check rely on those before."""
    _check_shapes(mdp)
    _check_levels(mdp)
    _check_transitions(mdp)
    check_rewards(mdp)
    if names:
        _check_names(mdp)
    _check_horizon(mdp)


def _check_shapes(mdp: TabularMDP) -> None:
    _check_offsets("action_offset", mdp.action_offset, len(mdp.reward_index))
    _check_offsets("transition_offset", mdp.transition_offset, mdp.n_transitions)
    n, actions = mdp.n_states, mdp.n_actions
    for name, length in (
        ("state_level", n),
        ("state_names", n),
        ("reward_index", actions),
        ("transition_denominator", actions),
        ("action_names", actions),
        ("transition_numerator", mdp.n_transitions),
    ):
        if len(getattr(mdp, name)) != length:
            raise ValueError(
                f"{name} has length {len(getattr(mdp, name))} instead of {length}"
            )
    if n == 0:
        raise ValueError("an MDP needs at least one state")
    if not 0 <= mdp.start < n:
        raise ValueError(f"start {mdp.start} is none of the {n} states")
    idle = np.flatnonzero(mdp.action_counts == 0)
    if idle.size:
        raise ValueError(f"{_state(mdp, idle[0])} has no action")


def _check_offsets(name: str, offsets: NDArray[np.int64], end: int) -> None:
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end:
        raise ValueError(f"{name} must run from 0 to {end}")
    if (np.diff(offsets) < 0).any():
        raise ValueError(f"{name} decreases")


def _check_levels(mdp: TabularMDP) -> None:
    if mdp.horizon < 1:
        raise ValueError(f"horizon {mdp.horizon} is below 1")
    outside = np.flatnonzero((mdp.state_level < 1) | (mdp.state_level > mdp.horizon))
    if outside.size:
        raise ValueError(
            f"{_state(mdp, outside[0])} has level {mdp.state_level[outside[0]]}, "
            f"outside 1..{mdp.horizon}"
        )


def _check_transitions(mdp: TabularMDP) -> None:
    target = mdp.transition_target
    unknown = np.flatnonzero((target < 0) | (target >= mdp.n_states))
    if unknown.size:
        raise ValueError(
            f"{_owner(mdp, unknown[0])} leads to {target[unknown[0]]}, which is "
            f"none of the {mdp.n_states} states"
        )
    negative = np.flatnonzero(mdp.transition_numerator <= 0)
    if negative.size:
        raise ValueError(
            f"{_owner(mdp, negative[0])} lists a probability that is not positive"
        )
    _check_sums(mdp)
    counts = np.diff(mdp.transition_offset)
    _check_repeated(mdp, counts)
    source = np.repeat(
        mdp.state_level, np.diff(mdp.transition_offset[mdp.action_offset])
    )
    falling = np.flatnonzero(mdp.state_level[target] < source)
    if falling.size:
        t = falling[0]
        raise ValueError(
            f"{_owner(mdp, t)} leads from level {source[t]} down to "
            f"{_state(mdp, target[t])} of level {mdp.state_level[target[t]]}"
        )


def _check_sums(mdp: TabularMDP) -> None:
    counts = np.diff(mdp.transition_offset)
    numerators: NDArray[Any] = mdp.transition_numerator
    if not fits_int64(magnitude(numerators) * int(counts.max(initial=0))):
        numerators = numerators.astype(object)
    sums = segment_sums(numerators, mdp.transition_offset)
    sums[counts == 0] = 1
    wrong = np.flatnonzero(sums != mdp.transition_denominator)
    if wrong.size:
        a = int(wrong[0])
        if counts[a] == 0:
            raise ValueError(
                f"{_action(mdp, a)} ends the episode, so its denominator must be 1"
            )
        total = f"{sums[a]}/{mdp.transition_denominator[a]}"
        raise ValueError(f"probabilities of {_action(mdp, a)} sum to {total}, not 1")


def _check_repeated(mdp: TabularMDP, counts: NDArray[np.int64]) -> None:
    """No successor twice in an action."""
    action = np.repeat(np.arange(mdp.n_actions), counts)
    target = mdp.transition_target
    # an action whose successors increase repeats none: only the others are sorted
    unsure = np.zeros(mdp.n_actions, dtype=bool)
    unsure[action[1:][(target[1:] <= target[:-1]) & (action[1:] == action[:-1])]] = True
    kept = unsure[action]
    order = np.lexsort((target[kept], action[kept]))
    a, t = action[kept][order], target[kept][order]
    twice = np.flatnonzero((a[1:] == a[:-1]) & (t[1:] == t[:-1]))
    if twice.size:
        first = twice[0]
        raise ValueError(
            f"{_action(mdp, a[first])} lists {_state(mdp, t[first])} twice"
        )


def check_rewards(mdp: TabularMDP) -> None:
    """Check that every action has a reward and that rewards are rationals."""
    if len(mdp.reward_index) != mdp.n_actions:
        raise ValueError(f"{len(mdp.reward_index)} rewards for {mdp.n_actions} actions")
    for reward in mdp.reward_table:
        if not isinstance(reward, Fraction):
            raise ValueError(f"reward {reward!r} is no Fraction")
    outside = np.flatnonzero(
        (mdp.reward_index < 0) | (mdp.reward_index >= len(mdp.reward_table))
    )
    if outside.size:
        a = int(outside[0])
        raise ValueError(
            f"{_action(mdp, a)} has reward index {mdp.reward_index[a]}, outside "
            f"a table of {len(mdp.reward_table)}"
        )


def _check_names(mdp: TabularMDP) -> None:
    if len(mdp.state_index) != mdp.n_states:
        seen: set[str] = set()
        for name in mdp.state_names:
            if name in seen:
                raise ValueError(f"two states are called {name!r}")
            seen.add(name)
    names = list(mdp.action_names)
    offsets = mdp.action_offset.tolist()
    for s in np.flatnonzero(mdp.action_counts > 1).tolist():
        own = names[offsets[s] : offsets[s + 1]]
        if len(set(own)) < len(own):
            twice = next(name for name in own if own.count(name) > 1)
            raise ValueError(f"{_state(mdp, s)} has two actions called {twice!r}")


def _check_horizon(mdp: TabularMDP) -> None:
    longest = int(mdp.heights[mdp.start])  # raises on a cycle
    if longest > mdp.horizon:
        raise ValueError(
            f"an episode can take {longest} actions, more than the horizon "
            f"{mdp.horizon}"
        )


def _state(mdp: TabularMDP, state: int) -> str:
    return f"state {mdp.state_names[int(state)]!r}"


def _action(mdp: TabularMDP, action: int) -> str:
    state = int(np.searchsorted(mdp.action_offset, action, side="right")) - 1
    return f"{_state(mdp, state)}, action {mdp.action_names[int(action)]!r}"


def _owner(mdp: TabularMDP, transition: int) -> str:
    action = np.searchsorted(mdp.transition_offset, transition, side="right") - 1
    return _action(mdp, int(action))
