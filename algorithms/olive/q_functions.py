"""Q-functions as pairs (g, π), the form in which OLIVE's programs are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from olivine.algorithms.classes.q_functions import FiniteQClass
from olivine.algorithms.classes.tabular import check_codes
from olivine.algorithms.exact.arrays import as_integers
from olivine.algorithms.mdp.bellman import Pair
from olivine.algorithms.mdp.tabular import TabularMDP


def pairs_of_q_functions(
    action_counts: ArrayLike, functions: Iterable[Sequence[Fraction | int]]
) -> list[Pair]:
    """Turn Q-functions into the pairs (x ↦ f(x, π_f(x)), π_f).

    OLIVE with Q-functions is OLIVE with these pairs (paper, appendix; Jiang et
    al. 2017, A.2). π_f takes the first of the greedy actions.

    Parameters
    ----------
    action_counts
        Number of actions of each observation, shape (n,).
    functions
        Each one exact value for every action of every observation, in order.

    Raises
    ------
    ValueError
        If a function has another length.
    """
    counts = as_integers("action_counts", action_counts, np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)]).tolist()
    pairs = []
    for number, function in enumerate(functions):
        if len(function) != offsets[-1]:
            raise ValueError(
                f"Q-function {number} has {len(function)} values for {offsets[-1]} "
                "actions"
            )
        rows = [function[a:b] for a, b in pairwise(offsets)]
        best = [max(row) for row in rows]
        policy = [row.index(v) for row, v in zip(rows, best, strict=True)]
        pairs.append(Pair.from_fractions(best, policy))
    return pairs


def pairs_of_class(
    functions: FiniteQClass, levels: ArrayLike, codes: ArrayLike
) -> list[Pair]:
    """Turn the members of a class into pairs, in order.

    Parameters
    ----------
    functions
        Q-functions by level; floats stand for themselves, exactly.
    levels, codes
        Level 1..H of each observation and its code there, shape (n,); decoded,
        where observations are features.

    Raises
    ------
    ValueError
        If a level or a code is none of the class.
    """
    depth = as_integers("levels", levels, np.int64)
    local = as_integers("codes", codes, np.int64)
    best = np.empty((len(functions), len(depth)), dtype=object)
    policies = np.empty(best.shape, dtype=np.int32)
    if not ((depth >= 1) & (depth <= functions.horizon)).all():
        raise ValueError(f"levels: not all in 1..{functions.horizon}")
    for level in range(1, functions.horizon + 1):
        here = np.flatnonzero(depth == level)
        own = check_codes(local[here], functions.n_codes(level), "codes")
        table = functions.table(level)[:, own]
        best[:, here] = table.max(axis=2)
        policies[:, here] = table.argmax(axis=2)  # the first of equal ones
    rows = zip(best.tolist(), policies, strict=True)
    return [Pair.from_fractions(values, policy) for values, policy in rows]


def pairs_on_mdp(functions: FiniteQClass, mdp: TabularMDP) -> list[Pair]:
    """Turn the members of a class into pairs on a layered MDP's states.

    The code of a state is its rank among the states of its level, as in
    `olivine.algorithms.environments.tabular.from_mdp`; and as there, an action beyond a
    state's last one repeats the last.

    Raises
    ------
    ValueError
        If the MDP has more levels, or more states at a level, than the class.
    """
    codes = np.zeros(mdp.n_states, dtype=np.int64)
    for level in range(1, mdp.horizon + 1):
        here = np.flatnonzero(mdp.state_level == level)
        codes[here] = np.arange(len(here))
    pairs = pairs_of_class(functions, mdp.state_level, codes)
    last = mdp.action_counts - 1
    return [pair.with_policy(np.minimum(pair.policy, last)) for pair in pairs]
