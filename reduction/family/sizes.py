"""How large a family and OLIVE's program over it are, before they are built."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .layout import Layout
from .variants import Variant, as_variant


class Sizes(NamedTuple):
    """Size of a family's MDPs and of OLIVE's program over them."""

    states: int  # Numbers of states and of actions, the latter counted state by state
    actions: int
    transitions: int  # Entries (action, successor) of positive probability
    constraints: int  # Distributions that OLIVE's program constrains


def declared_sizes(
    variant: Variant | str,
    n_variables: int,
    n_clauses: int,
    clause_transitions: int | None = None,
) -> Sizes:
    """Size of a family as a function of the formula's size."""
    n, m = n_variables, n_clauses
    layout = Layout(as_variant(variant), n, m)
    inner = 21 * m if clause_transitions is None else clause_transitions
    declared = layout.declaration
    between = n if declared.variable_states else 0
    quits, bottom = m if declared.quit else 0, declared.n_bottom
    # Two more in `strict`: [solve] to the worthless state and on from there.
    idle = 2 if declared.reach < 1 else 0
    if declared.sides:
        copies, k = declared.sides.copies, layout.n_sides
        behind = copies * (inner + 7 * m)  # each action leads to a side state, too
        return Sizes(
            states=layout.n_states,
            actions=layout.n_actions,
            transitions=4 * n + 3 * k + m + 1 + behind + idle,
            constraints=4 + 2 * (n + k),
        )
    return Sizes(
        states=1 + m + 2 * n + between + bottom,
        actions=1 + 8 * m + 3 * n + between + quits + bottom,
        transitions=2 * n + 2 * m + between + inner + quits + idle,
        constraints=1 + m + n + between + int(declared.quit),
    )


def clause_transitions(clauses: NDArray[np.int32]) -> int:
    """Transitions of the actions 001..111 over all clauses, int32 (m, 3).

    Fewer than 21 where literals share a variable: 18 when two are equal and 17 when two
    are complementary, the third apart; 13 when all are equal, 12 when one is opposite.
    """
    a, b, c = clauses[:, 0], clauses[:, 1], clauses[:, 2]
    equal = (a == b).astype(np.int8) + (a == c) + (b == c)
    opposite = (a == -b).astype(np.int8) + (a == -c) + (b == -c)
    # Pairs (equal, opposite) that occur: (0,0), (1,0), (0,1), (3,0), (1,2).
    table = np.zeros((4, 3), dtype=np.int64)
    table[0, 0], table[1, 0], table[0, 1] = 21, 18, 17
    table[3, 0], table[1, 2] = 13, 12
    return int(table[equal, opposite].sum())
