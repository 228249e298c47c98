"""A legal way for OLIVE to break its ties on a member and never meet the hard program.

From the last level down to the second: as long as some policy's own average Bellman
error at the level can be positive in a pair that meets all constraints so far and
promises 1, take that pair and bind the level. The value at the start is free until
level 1 is bound, so such a pair is a maximiser. When no level below the first has an
error left, level 1 is bound, and what a pair then promises its policy keeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.mdp.distributions import Distribution
from olivine.algorithms.mdp.pair import Pair
from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.algorithms.olive.tiebreak import ScriptedTiebreak, SolverTiebreak
from olivine.reduction.family.family import Family
from olivine.solvers.lp import solve_lp
from olivine.solvers.model import LinearModel


def benign_tiebreak(family: Family, y: NDArray[np.bool_]) -> ScriptedTiebreak:
    """Break ties as this module says, on the member M_y; one level a round."""
    return ScriptedTiebreak(_script(family, y), SolverTiebreak("first"))


def _script(family: Family, y: NDArray[np.bool_]) -> Iterator[tuple[Pair, int]]:
    mdp, bound = family.mdp(y), list[Distribution]()
    for level in range(mdp.horizon, 1, -1):
        for policy in _policies(family):
            met = mdp.distribution(policy, level)
            if not len(met.states):
                continue
            pair = _most_wrong(mdp, policy, bound, met)
            if pair is not None:
                bound.append(met)
                yield pair, level


def _policies(family: Family) -> Iterator[NDArray[np.int32]]:
    """Every [try], with every action of the clause states.

    What [solve] meets is a mixture of what they meet.
    """
    layout = family.layout
    for action in range(layout.solve):
        for inner in range(layout.clause_actions):
            policy = np.zeros(layout.n_states, dtype=np.int32)
            policy[layout.start] = action
            policy[1 : 1 + family.n_clauses] = inner
            yield policy


def _most_wrong(
    mdp: TabularMDP,
    policy: NDArray[np.int32],
    bound: list[Distribution],
    met: Distribution,
) -> Pair | None:
    """Make the error under ``met`` as large as it gets; None if that is not positive.

    Over the values in [0, 1] of the other states, with 1 at the start.
    """
    model = LinearModel("benign")
    for name in mdp.state_names:
        model.add_variable(name, 0, 1)
    for distribution in bound:
        coefficients, reward = _error(mdp, policy, distribution)
        model.add_row(list(coefficients), list(coefficients.values()), "==", reward)
    coefficients, reward = _error(mdp, policy, met)
    model.set_objective(
        list(coefficients), list(coefficients.values()), maximise=True, constant=-reward
    )
    model.add_row([mdp.start], [1], "==", 1)
    found = solve_lp(model, exact=True).values
    if found is None:
        raise ValueError("no pair that promises 1 is left before level 1 is bound")
    values = [Fraction(v) for v in found]
    if model.objective_value(values) <= 0:
        return None
    return Pair.from_fractions(values, policy)


def _error(
    mdp: TabularMDP, policy: NDArray[np.int32], distribution: Distribution
) -> tuple[dict[int, Fraction], Fraction]:
    """E[g(x) − g(x′)] as coefficients, and E[r]."""
    coefficients: dict[int, Fraction] = {}
    reward = Fraction(0)
    for state, share in distribution.probabilities().items():
        action = mdp.actions(state)[int(policy[state])]
        coefficients[state] = coefficients.get(state, Fraction(0)) + share
        reward += share * mdp.reward(action)
        for target, chance in mdp.successors(action):
            before = coefficients.get(target, Fraction(0))
            coefficients[target] = before - share * chance
    return coefficients, reward
