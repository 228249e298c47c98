"""OLIVE, the algorithm of Jiang et al. 2017: the door to its parts.

Optimism led iterative value-function elimination explores with a policy that
promises most among all that still satisfy the average Bellman equations seen so
far. It needs polynomially many samples wherever the Bellman rank is small, and
solves a program each round that is NP-hard already for tabular classes: that is
what this project is about.

===============================  ==============================================
`olive_exact`                    exact expectations on tabular MDPs, rationals
`olive_sampled`                  data sets, with `theorem_parameters`
`Milp`, `BranchAndBound`         tabular classes, in both forms: (g, π) and Q
`FinitePairs`                    finite classes; `pairs_of_q_functions`
`SolverTiebreak`,                which maximiser and which level
`RandomTiebreak`,
`ScriptedTiebreak`
===============================  ==============================================

Source: Jiang, Krishnamurthy, Agarwal, Langford, Schapire, "Contextual Decision
Processes with Low Bellman Rank are PAC-Learnable", ICML 2017; the algorithm's
statement and constants are recalled, as no public implementation exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from algorithms.olive_environment import SampledEnvironment, TabularEnvironment
from algorithms.olive_exact import olive_exact
from algorithms.olive_interfaces import Answer, Optimiser
from algorithms.olive_loop import OliveResult, OliveRound
from algorithms.olive_optimisers import BranchAndBound, FinitePairs, Milp
from algorithms.olive_parameters import (
    OliveParameters,
    tabular_log_size,
    theorem_parameters,
)
from algorithms.olive_sampled import olive_sampled
from algorithms.pair import Pair
from algorithms.ragged import as_integers
from algorithms.tiebreak import (
    RandomTiebreak,
    ScriptedTiebreak,
    SolverTiebreak,
    Tiebreak,
)

__all__ = [
    "Answer",
    "BranchAndBound",
    "FinitePairs",
    "Milp",
    "OliveParameters",
    "OliveResult",
    "OliveRound",
    "Optimiser",
    "RandomTiebreak",
    "SampledEnvironment",
    "ScriptedTiebreak",
    "SolverTiebreak",
    "TabularEnvironment",
    "Tiebreak",
    "olive_exact",
    "olive_sampled",
    "pairs_of_q_functions",
    "tabular_log_size",
    "theorem_parameters",
]


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
