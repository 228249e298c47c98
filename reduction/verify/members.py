"""The optimum of OLIVE's program as the best optimal value of any member.

max over y in {0,1}^n of V*(M_y) at s0, by exact backward induction over the arrays of
the MDP, for all y at once. It uses neither Theorem O nor the formula, so it tests both.
docs/reduction.md says why it is the program's optimum.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algorithms.exact.arrays import IntArray, fits_int64
from ...algorithms.mdp.tabular import TabularMDP
from ..family.family import Family
from ..family.variants import refuse_sides

MAX_VARIABLES = 20
_CHUNK_BITS = 13  # members at a time: their values of one state fit a cache


class BestMember(NamedTuple):
    """The best optimal value of any member, and the first member with it."""

    value: Fraction
    y: NDArray[np.bool_]


def best_member(family: Family, max_variables: int = MAX_VARIABLES) -> BestMember:
    """Find the member with the largest optimal value."""
    refuse_sides(family.variant, "going through the members")
    n = family.n_variables
    if n > max_variables:
        raise ValueError(
            f"{n} variables give 2**{n} members; going through them all is limited "
            f"to {max_variables} variables"
        )
    mdp = family.mdp()
    scale = _common_scale(mdp, family)
    best, best_y = -1, 0
    chunk = 1 << min(n, _CHUNK_BITS)
    for low in range(0, 1 << n, chunk):
        codes = np.arange(low, low + chunk, dtype=np.int64)
        values = _start_values(mdp, family, codes, scale)
        found = int(np.argmax(values))
        if int(values[found]) > best:
            best, best_y = int(values[found]), low + found
    y = (best_y >> np.arange(n) & 1).astype(np.bool_)
    return BestMember(Fraction(best, scale), y)


def _common_scale(mdp: TabularMDP, family: Family) -> int:
    """Find an integer that turns every value met on the way into an integer.

    Denominators divide the product, over the depths, of the lcm of those at that depth.
    """
    rewards = math.lcm(*(r.denominator for r in mdp.reward_table))
    layout = family.layout
    # By the kind of state: s0; clause and X states, which do not follow each
    # other; the rest has no successors.
    outer = mdp.transition_denominator[: layout.solve + 1]
    inner = mdp.transition_denominator[layout.solve + 1 :]
    return rewards * _lcm(outer) * _lcm(inner)


def _lcm(values: NDArray[np.int64]) -> int:
    return math.lcm(*(int(v) for v in np.unique(values)))


def _start_values(
    mdp: TabularMDP, family: Family, codes: NDArray[np.int64], scale: int
) -> IntArray:
    """V*(M_y) at s0 times `scale`, for each y given as a bit code."""
    largest = scale * int(mdp.transition_denominator.max()) * 2
    dtype = np.int64 if fits_int64(largest) else object
    rewards = [int(r * scale) for r in mdp.reward_table]
    values = np.zeros((mdp.n_states, len(codes)), dtype=dtype)
    first = family.layout.first_literal_state
    top = int(family.top * scale)
    for i in range(family.n_variables):
        truth = (codes >> i & 1).astype(dtype)
        values[first + 2 * i] = (1 - truth) * top
        values[first + 2 * i + 1] = truth * top
    literals = range(first, first + 2 * family.n_variables)
    for state in mdp.topological_order()[::-1]:
        if int(state) not in literals:
            values[state] = _best_action(mdp, int(state), rewards, values)
    at_start: IntArray = values[mdp.start]
    return at_start


def _best_action(
    mdp: TabularMDP, state: int, rewards: list[int], values: IntArray
) -> IntArray:
    best: IntArray | None = None
    for action in mdp.actions(state):
        entries = slice(
            int(mdp.transition_offset[action]), int(mdp.transition_offset[action + 1])
        )
        targets = mdp.transition_target[entries]
        total = np.zeros(values.shape[1], dtype=values.dtype)
        for target, numerator in zip(
            targets, mdp.transition_numerator[entries], strict=True
        ):
            total += values[target] * int(numerator)
        total //= int(mdp.transition_denominator[action])  # exact, by the scale
        total += rewards[int(mdp.reward_index[action])]
        best = total if best is None else np.maximum(best, total)
    assert best is not None  # every state has an action
    return best
