"""Exact planning in acyclic tabular MDPs.

States are worked through by *height*, the greatest number of actions to an
end, so one vectorised step settles all states of a height. Values are integers
over one common denominator: int64 when a bound on every intermediate result
rules overflow out, Python integers otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import (
    IntArray,
    as_integers,
    distinct,
    fits_int64,
    gather,
    integers,
    lcm_of,
    magnitude,
    segment_sums,
)
from .bellman import Pair
from .distributions import Distribution

if TYPE_CHECKING:
    from .tabular import TabularMDP


def heights(mdp: TabularMDP) -> NDArray[np.int32]:
    """Greatest number of actions from each state to an end, shape (n,).

    Kahn's algorithm from the ends backwards, one wave a height. Raises ValueError if
    the transitions have a cycle.
    """
    n = mdp.n_states
    offsets = mdp.transition_offset[mdp.action_offset]
    # The transposed table, by numpy: to load scipy takes longer than most models do.
    order = np.argsort(mdp.transition_target, kind="stable")
    from_state = np.repeat(np.arange(n, dtype=np.int32), np.diff(offsets))[order]
    into = np.zeros(n + 1, dtype=np.int64)  # entries of a target, as offsets
    np.cumsum(np.bincount(mdp.transition_target, minlength=n), out=into[1:])
    waiting = np.diff(offsets)
    height = np.zeros(n, dtype=np.int32)
    mark = np.zeros(n, dtype=np.int64)
    wave = np.flatnonzero(waiting == 0)
    done = current = 0
    while wave.size:
        current += 1
        height[wave] = current
        done += wave.size
        sources = from_state[gather(into, wave)[0]]
        np.subtract.at(waiting, sources, 1)
        ready = sources[waiting[sources] == 0]
        # keep one of each: the last entry that marked it
        mark[ready] = np.arange(ready.size)
        wave = ready[mark[ready] == np.arange(ready.size)]
    if done < n:
        stuck = mdp.state_names[int(np.flatnonzero(height == 0)[0])]
        raise ValueError(f"the transitions have a cycle reachable from state {stuck!r}")
    return height


def global_actions(mdp: TabularMDP, policy: ArrayLike) -> NDArray[np.int64]:
    """Turn local action indices into global ones; see `TabularMDP`."""
    local = checked_policy(policy, mdp.action_counts, mdp.state_names)
    chosen: NDArray[np.int64] = mdp.action_offset[:-1] + local
    return chosen


def checked_policy(
    policy: ArrayLike, action_counts: NDArray[np.int64], names: Sequence[str]
) -> NDArray[np.int64]:
    """Check that a policy takes an action of each of the n states; shape (n,).

    Raises ValueError if the policy has another length than (n,) or names no action.
    """
    local = as_integers("policy", policy, np.int64)
    if len(local) != len(action_counts):
        raise ValueError(
            f"policy of length {len(local)} for {len(action_counts)} states"
        )
    wrong = np.flatnonzero((local < 0) | (local >= action_counts))
    if wrong.size:
        s = int(wrong[0])
        raise ValueError(
            f"policy takes action {local[s]} in state {names[s]!r}, which "
            f"has {action_counts[s]}"
        )
    return local


def optimal_values(mdp: TabularMDP) -> Pair:
    """Backward induction: exact V* and π*, ties to the lowest action."""
    return _induction(mdp, None)


def evaluate(mdp: TabularMDP, policy: ArrayLike) -> Pair:
    """Exact V^π with π."""
    return _induction(mdp, global_actions(mdp, policy))


def _induction(mdp: TabularMDP, chosen: NDArray[np.int64] | None) -> Pair:
    groups = list(_groups(mdp, chosen))
    denominator = 1
    for _, actions, _ in groups:
        # values so far are multiples of 1/denominator, hence expectations of
        # 1/(denominator * lcm of the probabilities'), and rewards come on top
        denominator = math.lcm(
            denominator * lcm_of(mdp.transition_denominator[actions]),
            _reward_denominator(mdp, actions),
        )
    used = np.arange(mdp.n_actions) if chosen is None else chosen
    rewards = [r * denominator for r in mdp.reward_table]
    largest = max(abs(rewards[i]) for i in distinct(mdp.reward_index[used]))
    weight = magnitude(mdp.transition_denominator[used])
    # a value is a sum of at most max(heights) rewards; before its division an
    # expectation is larger by the factor `weight`
    exact = not fits_int64(int(largest * len(groups)) * weight)
    # only rewards of unused actions can be fractions still
    table = np.array([int(r) for r in rewards], dtype=object)
    values = np.zeros(mdp.n_states, dtype=object if exact else np.int64)
    policy = np.zeros(mdp.n_states, dtype=np.int32)
    for states, actions, bounds in groups:
        own = integers(table[mdp.reward_index[actions]], exact=exact)
        q = own + _expectations(mdp, actions, values, exact=exact)
        if chosen is not None:
            values[states] = q
        else:
            values[states] = np.maximum.reduceat(q, bounds[:-1])
            policy[states] = _first_best(q, values[states], bounds)
    if chosen is not None:
        policy = (chosen - mdp.action_offset[:-1]).astype(np.int32)
    divisor = math.gcd(denominator, int(np.gcd.reduce(values)))
    values //= divisor
    if fits_int64(magnitude(values)):
        values = values.astype(np.int64)
    return Pair(values, denominator // divisor, policy)


def _groups(
    mdp: TabularMDP, chosen: NDArray[np.int64] | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """States of each height, their candidate actions, and the actions' bounds."""
    order = np.argsort(mdp.heights, kind="stable")
    ends = np.cumsum(np.bincount(mdp.heights)[1:])
    for states in np.split(order, ends[:-1]):
        if chosen is None:
            actions, bounds = gather(mdp.action_offset, states)
            yield states, actions, bounds
        else:
            yield states, chosen[states], np.arange(len(states) + 1)


def _reward_denominator(mdp: TabularMDP, actions: NDArray[np.int64]) -> int:
    used = distinct(mdp.reward_index[actions])
    return math.lcm(1, *(mdp.reward_table[i].denominator for i in used))


def _expectations(
    mdp: TabularMDP, actions: NDArray[np.int64], values: IntArray, *, exact: bool
) -> IntArray:
    """E[v(x') | action], for values that the denominators are known to divide."""
    index, bounds = gather(mdp.transition_offset, actions)
    terms = integers(mdp.transition_numerator[index], exact=exact)
    sums = segment_sums(terms * values[mdp.transition_target[index]], bounds)
    quotients: IntArray = sums // mdp.transition_denominator[actions]
    return quotients


def _first_best(
    q: IntArray, best: IntArray, bounds: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Local index of the first action that attains the best value of its state."""
    counts = np.diff(bounds)
    position = np.arange(len(q)) - np.repeat(bounds[:-1], counts)
    position[q != np.repeat(best, counts)] = len(q)
    first: NDArray[np.int64] = np.minimum.reduceat(position, bounds[:-1])
    return first


def state_distribution(mdp: TabularMDP, policy: ArrayLike, level: int) -> Distribution:
    """Exact distribution of the state met at time step `level` under a policy.

    Time steps count the states of an episode from the start state, which is met at step
    1; they are not the level labels, from which they differ where the MDP is not
    layered. Raises ValueError if `level` is outside 1..horizon or the policy is none.
    """
    if not 1 <= level <= mdp.horizon:
        raise ValueError(f"time step {level} is outside 1..{mdp.horizon}")
    return next(islice(state_distributions(mdp, policy), level - 1, None))


def state_distributions(mdp: TabularMDP, policy: ArrayLike) -> Iterator[Distribution]:
    """Yield the distributions of the states met at time steps 1..horizon."""
    chosen = global_actions(mdp, policy)
    states = np.array([mdp.start], dtype=np.int64)
    numerators: NDArray[Any] = np.ones(1, dtype=np.int64)
    denominator = 1
    for level in range(1, mdp.horizon + 1):
        yield Distribution(states, numerators, denominator, level)
        states, numerators, denominator = _step(
            mdp, chosen[states], numerators, denominator
        )


def _step(
    mdp: TabularMDP, actions: NDArray[np.int64], numerators: IntArray, denominator: int
) -> tuple[NDArray[np.int64], IntArray, int]:
    """Push a distribution over states with their chosen actions one step on."""
    own = mdp.transition_denominator[actions]
    scale = lcm_of(own)
    exact = not fits_int64(denominator * scale)  # the masses sum to at most this
    index, bounds = gather(mdp.transition_offset, actions)
    mass = integers(numerators, exact=exact) * (scale // integers(own, exact=exact))
    moved = np.repeat(mass, np.diff(bounds)) * mdp.transition_numerator[index]
    states, position = np.unique(mdp.transition_target[index], return_inverse=True)
    sums = np.zeros(len(states), dtype=moved.dtype)
    np.add.at(sums, position, moved)
    total = denominator * scale
    divisor = math.gcd(total, int(np.gcd.reduce(sums))) if len(sums) else total
    return states.astype(np.int64), sums // divisor, total // divisor
