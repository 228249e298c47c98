"""The Q-functions of the run that leaves OLIVE's hard program, written out.

`olivine.reduction.run.schedule` says what changes from round to round. Here are the
whole functions, for whoever wants to look at them or to hand them to an OLIVE of
their own; `olivine.reduction.run.run` does not need them.
"""

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

    # f of every global action, in order; 0 where the round leaves it free
    values: tuple[Fraction, ...]
    # int32, shape (number of states,): local index of the greedy action taken
    policy: NDArray[np.int32]

    def pair(self, family: Family) -> Pair:
        """Induce (g, π): g(x) = f(x, π(x))."""
        actions = family.mdp().global_actions(self.policy)
        return Pair.from_fractions((self.values[a] for a in actions), self.policy)


def q_functions(family: Family) -> Iterator[tuple[Move, QFunction]]:
    """Yield every round's move with its Q-function written out in full.

    For inspection, and for programs of other makers: a round takes time in
    proportion to the number of actions, where `adversarial_run` takes what it
    touches.
    """
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
