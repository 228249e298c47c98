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

from algorithms.distribution import Distributions
from algorithms.ragged import (
    IntArray,
    distinct,
    fits_int64,
    gather,
    integers,
    lcm_of,
    magnitude,
    segment_sums,
)

if TYPE_CHECKING:
    from algorithms.mdp import TabularMDP
    from algorithms.pair import Pair


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
    # unused rewards may leave a fraction; truncating those harms nothing
    rewards = [int(r * scale) for r in mdp.reward_table]
    largest = max(map(abs, rewards)) * pair.denominator
    bound = 2 * magnitude(pair.numerators) * scale + largest
    exact = not fits_int64(bound * magnitude(distributions.denominators))
    g = integers(pair.numerators, exact=exact)
    table = integers(np.array(rewards, dtype=object), exact=exact)
    index, bounds = gather(mdp.transition_offset, actions)
    terms = g[mdp.transition_target[index]] * mdp.transition_numerator[index]
    own = integers(mdp.transition_denominator[actions], exact=exact)
    backups = segment_sums(terms, bounds) * (scale // own)
    backups += table[mdp.reward_index[actions]] * pair.denominator
    errors = g[states] * scale - backups
    weighted = errors * distributions.numerators
    return segment_sums(weighted, distributions.offsets), scale * pair.denominator


def as_fractions(
    numerators: IntArray, denominator: int, distributions: Distributions
) -> list[Fraction]:
    """Give the result of `average_errors` as Fractions."""
    zero = Fraction(0)
    return [
        Fraction(int(e), denominator * int(d)) if e else zero
        for e, d in zip(numerators, distributions.denominators, strict=True)
    ]
