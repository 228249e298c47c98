"""Finite episodic MDPs in flat arrays, exact in every number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class TabularMDP:
    """A finite episodic MDP, exact: probabilities and rewards are rationals.

    States are 0..n-1. The actions of state ``s`` are the *global* action
    indices ``action_offset[s]:action_offset[s+1]``; the transitions of global
    action ``a`` are the entries ``transition_offset[a]:transition_offset[a+1]``
    of the two transition arrays. An action without transitions ends the
    episode; every other action's probabilities add up to 1, and no successor
    is listed twice in one action. The graph is acyclic. Levels are labels
    (1-based); the MDP is *layered* when every successor lies one level deeper.

    Attributes
    ----------
    horizon
        Greatest number of actions in an episode.
    start
        The start state.
    state_level
        int32, shape (n,), values in 1..horizon.
    action_offset
        int64, shape (n+1,). Every state has at least one action.
    transition_offset
        int64, shape (A+1,), A the number of global actions.
    transition_target
        int32, shape (T,).
    transition_numerator
        int64, shape (T,), positive.
    transition_denominator
        int64, shape (A,); the probability of entry t of action a is
        ``transition_numerator[t] / transition_denominator[a]``. 1 for an
        action that ends the episode.
    reward_index
        int32, shape (A,), index into `reward_table`.
    reward_table
        The distinct (expected) rewards.
    state_names, action_names
        Labels; lengths n and A.
    """

    horizon: int
    start: int
    state_level: NDArray[np.int32]
    action_offset: NDArray[np.int64]
    transition_offset: NDArray[np.int64]
    transition_target: NDArray[np.int32]
    transition_numerator: NDArray[np.int64]
    transition_denominator: NDArray[np.int64]
    reward_index: NDArray[np.int32]
    reward_table: tuple[Fraction, ...]
    state_names: Sequence[str]
    action_names: Sequence[str]
