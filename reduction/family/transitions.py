"""The transitions of a family in flat arrays, built without a loop over clauses.

The arrays are those of `olivine.algorithms.mdp.tabular.TabularMDP`, each action in
lowest terms.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.exact.columns import exact_sum
from olivine.reduction.family.layout import CLAUSE_BITS, Layout


def transitions(
    layout: Layout,
    literal_states: NDArray[np.int32],
    weights: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Build the transitions of every action.

    Parameters
    ----------
    layout
        Numbering of states and actions.
    literal_states
        int32, shape (m, 3): the states o_{j,k}^1.
    weights
        int64, shape (m,), positive, with a sum below 2^63; or None.

    Returns
    -------
    offsets, targets, numerators, denominators
        As in `TabularMDP`: shapes (A+1,), (T,), (T,) and (A,).
    """
    n, m = layout.n_variables, layout.n_clauses
    literals = np.arange(2 * n, dtype=np.int32) + np.int32(layout.first_literal_state)
    tries, between = literals, literals[:0]
    if layout.declaration.variable_states:
        tries, between = np.arange(n, dtype=np.int32), literals
        tries += np.int32(layout.first_variable_state)
    clause_states = np.arange(1, m + 1, dtype=np.int32)
    solved, chances, total = _solve_chances(layout, weights)
    targets, numerators, clause_counts, clause_denominators = _clause_actions(
        literal_states, layout
    )
    counts = np.zeros(layout.n_actions + 1, dtype=np.int64)
    denominators = np.ones(layout.n_actions, dtype=np.int64)
    first, last = layout.first_clause_action, layout.first_literal_action
    after_clauses = first + len(clause_counts)
    counts[1 : n + 1] = len(tries) // n
    denominators[:n] = len(tries) // n
    counts[n + 1 : first] = 1
    counts[first] = len(solved)
    denominators[layout.solve] = total
    counts[first + 1 : after_clauses + 1] = clause_counts
    denominators[first:after_clauses] = clause_denominators
    counts[after_clauses + 1 : last + 1] = 2
    denominators[after_clauses:last] = 2
    if layout.second_bottom_state is not None:
        counts[-1] = 1  # its [go], the last action, leads to the other one
        between = np.append(between, np.int32(layout.bottom_state))
    ones = np.ones(len(tries) + m, dtype=np.int64)
    return (
        np.cumsum(counts, out=counts),
        np.concatenate([tries, clause_states, solved, targets, between]),
        np.concatenate([ones, chances, numerators, np.ones_like(between, np.int64)]),
        denominators,
    )


def _solve_chances(
    layout: Layout, weights: NDArray[np.int64] | None
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """States behind [solve], and their chances in lowest terms."""
    states = np.arange(1, layout.n_clauses + 1, dtype=np.int32)
    if weights is None:
        weights = np.ones(layout.n_clauses, dtype=np.int64)
    total = exact_sum(weights)
    reach = layout.declaration.reach
    if reach == 1:
        divisor = math.gcd(total, int(np.gcd.reduce(weights)))
        return states, weights // divisor, total // divisor
    # reach = a/b: a w_j of b W for each clause, (b - a) W for the worthless state.
    rest = (reach.denominator - reach.numerator) * total
    whole = reach.denominator * total
    idle = layout.second_bottom_state
    assert idle is not None  # a declaration with reach < 1 has one
    chances = np.append(weights * reach.numerator, np.int64(rest))
    divisor = math.gcd(whole, int(np.gcd.reduce(chances)))
    states = np.append(states, np.int32(idle))
    return states, chances // divisor, whole // divisor


def _clause_actions(
    literal_states: NDArray[np.int32], layout: Layout
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Successors of all clause actions, equal ones merged.

    Parameters
    ----------
    literal_states
        int32, shape (m, 3): the states o_{j,k}^1.

    Returns
    -------
    targets, numerators, counts, denominators
        The first two flat, the others one entry an action.
    """
    m, actions = len(literal_states), layout.clause_actions
    first = np.int32(layout.first_literal_state)
    # o^0 is the other state of its pair; pairs start at an even distance.
    opposite = ((literal_states - first) ^ 1) + first
    targets = np.empty((m, actions, 3), dtype=np.int32)
    targets[:, :7] = np.where(
        CLAUSE_BITS[None] == 1, literal_states[:, None], opposite[:, None]
    )
    numerators = np.ones((m, actions, 3), dtype=np.int8)
    kept = np.ones((m, actions, 3), dtype=np.bool_)
    denominators = np.full((m, actions), 3, dtype=np.int64)
    if actions > 7:
        targets[:, 7] = layout.bottom_state
        kept[:, 7, 1:] = False
        denominators[:, 7] = 1
    variables = (literal_states - first) // 2
    _merge_equal_targets(variables, targets, numerators, kept, denominators)
    return (
        targets[kept],
        numerators[kept].astype(np.int64),
        kept.sum(axis=2, dtype=np.int64).ravel(),
        denominators.ravel(),
    )


def _merge_equal_targets(
    variables: NDArray[np.int32],
    targets: NDArray[np.int32],
    numerators: NDArray[np.int8],
    kept: NDArray[np.bool_],
    denominators: NDArray[np.int64],
) -> None:
    """Add up the chances of equal targets in clauses that repeat a variable."""
    a, b, c = variables.T
    repeats = np.flatnonzero((a == b) | (a == c) | (b == c))
    if not len(repeats):
        return
    a, b, c = np.moveaxis(targets[repeats, :7], 2, 0)
    ab, ac, bc = a == b, a == c, b == c
    same = ab & ac
    chances = np.ones((len(repeats), 7, 3), dtype=np.int8)
    chances[..., 0] += ab
    chances[..., 0] += ac
    chances[..., 1] += bc
    chances[same, 0] = 1
    numerators[repeats, :7] = chances
    kept[repeats, :7, 1] = ~ab
    kept[repeats, :7, 2] = ~(ac | bc)
    denominators[repeats, :7] = np.where(same, 1, 3)
