"""Q-functions as pairs (g, π), the form in which OLIVE's programs are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from algorithms.pair import Pair
from algorithms.ragged import as_integers


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
