"""Average Bellman errors of a pair (g, π), exact and vectorised.

The error of (g, π) in a state is g(x) − E[r + g(x′) | x, π(x)], with g = 0 once
the episode has ended. Everything is computed in integers over one common
denominator, so that hundreds of thousands of states take milliseconds.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.exact.ragged import (
    IntArray,
    distinct,
    fits_int64,
    gather,
    integers,
    lcm_of,
    magnitude,
    segment_sums,
)
from olivine.algorithms.mdp.distributions import Distributions

if TYPE_CHECKING:
    from olivine.algorithms.mdp.pair import Pair
    from olivine.algorithms.mdp.tabular import TabularMDP


_BLOCK = 1 << 17
"""Distributions at a time: temporaries take several times what these do."""


def common_denominator(mdp: TabularMDP, actions: NDArray[np.int64]) -> int:
    """Least common denominator of the probabilities and rewards of actions."""
    rewards = distinct(mdp.reward_index[actions])
    return math.lcm(
        lcm_of(mdp.transition_denominator[actions]),
        *(mdp.reward_table[int(i)].denominator for i in rewards),
    )


def average_errors(
    mdp: TabularMDP,
    distributions: Distributions,
    pair: Pair,
    scale: int | None = None,
) -> tuple[IntArray, int]:
    """Average Bellman error of a pair under each distribution.

    Parameters
    ----------
    mdp, distributions, pair
        The policy must be valid in the states of the distributions.
    scale
        A common denominator of the probabilities and rewards of the actions
        taken there (or a multiple), if known; else it is computed.

    Returns
    -------
    numerators, denominator
        The error under distribution i is ``numerators[i] / (denominator *
        distributions.denominators[i])``.
    """
    states = distributions.states
    actions = mdp.action_offset[states] + pair.policy[states]
    if scale is None:
        scale = common_denominator(mdp, actions)
    # with a common denominator c every intermediate result is at most c * unit
    reward = math.ceil(max(map(abs, mdp.reward_table)) * pair.denominator)
    unit = 2 * magnitude(pair.numerators) + reward
    unit *= max(1, magnitude(distributions.denominators))  # there may be none
    whole = scale * pair.denominator
    if fits_int64(scale * unit):
        return _errors(mdp, distributions, pair, scale, exact=False), whole
    # one action with many successors must not make all constraints slow
    easy, shared = _easy(mdp, distributions, actions, scale, unit)
    numerators = np.zeros(len(distributions), dtype=object)
    if easy.any():
        few = distributions.select(np.flatnonzero(easy))
        small = _errors(mdp, few, pair, shared, exact=False)
        numerators[easy] = small.astype(object) * (scale // shared)
    rest = distributions.select(np.flatnonzero(~easy))
    numerators[~easy] = _errors(mdp, rest, pair, scale, exact=True)
    return numerators, whole


def _easy(
    mdp: TabularMDP,
    distributions: Distributions,
    actions: NDArray[np.int64],
    scale: int,
    unit: int,
) -> tuple[NDArray[np.bool_], int]:
    """Distributions that int64 is enough for, and their common denominator."""
    easy = np.zeros(len(distributions), dtype=bool)
    if not fits_int64(scale):  # then neither is sure of what follows
        return easy, 1
    rewards = np.array([r.denominator for r in mdp.reward_table], dtype=object)
    own = np.lcm(
        mdp.transition_denominator[actions],
        rewards[mdp.reward_index[actions]].astype(np.int64),
    )
    filled = np.diff(distributions.offsets) > 0
    scales = np.ones(len(distributions), dtype=np.int64)
    scales[filled] = np.lcm.reduceat(own, distributions.offsets[:-1][filled])
    shared = 1
    for candidate in distinct(scales):
        common = math.lcm(shared, int(candidate))
        if fits_int64(common * unit):
            shared = common
            easy |= scales == candidate
    return easy, shared


def _errors(
    mdp: TabularMDP,
    distributions: Distributions,
    pair: Pair,
    scale: int,
    *,
    exact: bool,
) -> IntArray:
    """Average errors times scale, pair's and distribution's denominator."""
    if len(distributions) > _BLOCK:
        order = np.arange(len(distributions))
        blocks = (order[i : i + _BLOCK] for i in range(0, len(order), _BLOCK))
        parts = map(distributions.select, blocks)
        return np.concatenate(
            [_errors(mdp, part, pair, scale, exact=exact) for part in parts]
        )
    states = distributions.states
    actions = mdp.action_offset[states] + pair.policy[states]
    # unused rewards may leave a fraction; truncating those harms nothing
    rewards = np.array([int(r * scale) for r in mdp.reward_table], dtype=object)
    table = integers(rewards, exact=exact)
    g = integers(pair.numerators, exact=exact)
    index, bounds = gather(mdp.transition_offset, actions)
    terms = g[mdp.transition_target[index]] * mdp.transition_numerator[index]
    own = integers(mdp.transition_denominator[actions], exact=exact)
    backups = segment_sums(terms, bounds) * (scale // own)
    backups += table[mdp.reward_index[actions]] * pair.denominator
    errors = g[states] * scale - backups
    return segment_sums(errors * distributions.numerators, distributions.offsets)


def as_fractions(
    numerators: IntArray, denominator: int, distributions: Distributions
) -> list[Fraction]:
    """Give the result of `average_errors` as Fractions."""
    zero = Fraction(0)
    return [
        Fraction(int(e), denominator * int(d)) if e else zero
        for e, d in zip(numerators, distributions.denominators, strict=True)
    ]
