"""The same functions for LSVEE and for VALOR.

LSVEE takes Q-functions and looks at each of them; VALOR takes value functions
and policies, apart from each other, and looks at them through oracles. A class F
gives both: G_h = {x ↦ max_a f(x, a)} and Π_h = {π_f}.
"""

from __future__ import annotations

import numpy as np
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from olivine.algorithms.classes.q_functions import FiniteQClass
from olivine.algorithms.learning.draw_classes import (
    DecodedPolicyClass,
    DecodedValueClass,
)


def decoupled(functions: FiniteQClass) -> tuple[ValueClassByLevel, PolicyClassByLevel]:
    """G and Π, by level, of a class of Q-functions; equal members are merged.

    If Q* is in F, then g* is in G and π* in Π.
    """
    values: list[FiniteValueClass] = []
    policies: list[FinitePolicyClass] = []
    for h in range(1, functions.horizon + 1):
        table = functions.table(h)
        best = np.array(list(dict.fromkeys(map(tuple, table.max(axis=2).tolist()))))
        greedy = np.unique(table.argmax(axis=2).astype(np.int64), axis=0)
        decode = functions.decoder(h)
        if decode is None:
            values.append(FiniteValueClass(best))
            policies.append(FinitePolicyClass(greedy, functions.n_actions))
        else:
            real = best.astype(np.float64)
            values.append(DecodedValueClass(real, decode))
            policies.append(DecodedPolicyClass(greedy, decode, functions.n_actions))
    return ValueClassByLevel(values), PolicyClassByLevel(policies)


__all__ = ["decoupled"]
