"""Exact planning in acyclic tabular MDPs, one vectorised step a *height*.

Heights are the greatest numbers of actions to an end. Values are integers over a common
denominator: int64 where a bound on intermediate results allows, else Python integers.
"""

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import (
    IntArray,
    distinct,
    fits_int64,
    gather,
    integers,
    lcm_of,
    magnitude,
    segment_sums,
)
from .arrays import MdpArrays
from .bellman import Pair
from .distributions import Distribution


def optimal_values(mdp: MdpArrays) -> Pair:
    """Backward induction: exact V* and π*, ties to the lowest action."""
    return _induction(mdp, None)


def evaluate(mdp: MdpArrays, policy: ArrayLike) -> Pair:
    """Exact V^π with π."""
    return _induction(mdp, mdp.global_actions(policy))


def _induction(mdp: MdpArrays, chosen: NDArray[np.int64] | None) -> Pair:
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
    # At most max(heights) rewards, times `weight` before an expectation is divided.
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
    mdp: MdpArrays, chosen: NDArray[np.int64] | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    order = np.argsort(mdp.heights, kind="stable")
    ends = np.cumsum(np.bincount(mdp.heights)[1:])
    for states in np.split(order, ends[:-1]):
        if chosen is None:
            actions, bounds = gather(mdp.action_offset, states)
            yield states, actions, bounds
        else:
            yield states, chosen[states], np.arange(len(states) + 1)


def _reward_denominator(mdp: MdpArrays, actions: NDArray[np.int64]) -> int:
    used = distinct(mdp.reward_index[actions])
    return math.lcm(1, *(mdp.reward_table[i].denominator for i in used))


def _expectations(
    mdp: MdpArrays, actions: NDArray[np.int64], values: IntArray, *, exact: bool
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
    counts = np.diff(bounds)
    position = np.arange(len(q)) - np.repeat(bounds[:-1], counts)
    position[q != np.repeat(best, counts)] = len(q)
    first: NDArray[np.int64] = np.minimum.reduceat(position, bounds[:-1])
    return first


def state_distribution(mdp: MdpArrays, policy: ArrayLike, level: int) -> Distribution:
    """Exact distribution of the state met at a time step, 1 at the start."""
    if not 1 <= level <= mdp.horizon:
        raise ValueError(f"time step {level} is outside 1..{mdp.horizon}")
    return next(islice(state_distributions(mdp, policy), level - 1, None))


def state_distributions(mdp: MdpArrays, policy: ArrayLike) -> Iterator[Distribution]:
    """Yield the distributions of the states met at time steps 1..horizon."""
    chosen = mdp.global_actions(policy)
    states = np.array([mdp.start], dtype=np.int64)
    numerators: NDArray[Any] = np.ones(1, dtype=np.int64)
    denominator = 1
    for level in range(1, mdp.horizon + 1):
        yield Distribution(states, numerators, denominator, level)
        states, numerators, denominator = _step(
            mdp, chosen[states], numerators, denominator
        )


def _step(
    mdp: MdpArrays, actions: NDArray[np.int64], numerators: IntArray, denominator: int
) -> tuple[NDArray[np.int64], IntArray, int]:
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
