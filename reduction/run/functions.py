"""The Q-functions of the run that leaves OLIVE's hard program, written out in full."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...algorithms.mdp.bellman import Pair
from ..family.family import Family
from .schedule import Move, schedule


@dataclass(frozen=True, eq=False)
class QFunction:
    """The Q-function of a round in full, with its greedy policy."""

    values: tuple[Fraction, ...]  # f of every action; 0 where left free
    policy: NDArray[np.int32]  # local action of each state

    def pair(self, family: Family) -> Pair:
        """Induce (g, π): g(x) = f(x, π(x))."""
        actions = family.mdp().global_actions(self.policy)
        return Pair.from_fractions((self.values[a] for a in actions), self.policy)


def q_functions(family: Family) -> Iterator[tuple[Move, QFunction]]:
    """Each round's move with its whole Q-function, in time of the number of actions."""
    mdp = family.mdp()
    values = [Fraction(0)] * mdp.n_actions
    policy = np.zeros(mdp.n_states, dtype=np.int32)
    for move in schedule(family):
        for state, setting in move.changes.items():
            actions = mdp.actions(state)
            q = setting.q
            if q is None:
                row = [Fraction(0)] * len(actions)
                row[setting.action] = setting.value
                q = tuple(row)
            values[actions.start : actions.stop] = q
            policy[state] = setting.action
        yield move, QFunction(tuple(values), policy.copy())
