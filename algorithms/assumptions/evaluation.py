"""Closure of G under evaluation: what makes policy-value completeness strong enough.

The paper has it that policy-value completeness implies policy completeness. It does
not (`instances.value_complete_only`), for G need not hold the values of policies
that are not greedy. Suppose that G is also closed under evaluation: for all g' in
G_{h+1} and π in Π_h the function x ↦ E[r + g'(x') | x, a = π(x)] is in G_h. Then by
induction from the last level G_h holds V^π for all π of Π_h × ... × Π_H, and
policy-value completeness with g' = V^π is policy completeness.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.assumptions.closure import Row, policy_class, value_class
from olivine.algorithms.assumptions.hidden import HiddenModel
from olivine.algorithms.assumptions.members import Given, Policies, Values
from olivine.algorithms.assumptions.result import Assumption
from olivine.algorithms.classes import (
    PolicyClass,
    PolicyClassByLevel,
    ValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.numbers import check_count

NAME = "closed-under-evaluation"


def evaluation_closed(
    environment: Environment, values: ValueClass, policies: PolicyClass
) -> Assumption:
    """Check that G is closed under evaluation of the policies of Π.

    Parameters
    ----------
    environment
        Any; decided only where observations are finite.
    values, policies
        G and Π; decided where both are finite at every level.

    Returns
    -------
    Holds, with a counterexample where it does not; None where not decided.

    Raises
    ------
    ValueError
        If a class does not admit the environment's observations.
    """
    try:
        model = HiddenModel(environment)
    except ValueError as error:
        return Assumption(NAME, None, str(error))
    ahead: list[tuple[Row, Given]] = [((), ())]
    for h in range(model.horizon, 0, -1):
        here, chosen = Values(model, values, h), Policies(model, policies, h)
        if not here.kind == chosen.kind == "finite":
            return Assumption(NAME, None, f"G_{h} or Π_{h} is not finite")
        for row, given in ahead:
            gains = model.gains(h, model.averages(h + 1, row))
            for actions in chosen.rows:
                wanted = _evaluated(gains, actions)
                found = here.lacks(wanted, given)
                if found is not None:
                    return Assumption(NAME, False, str(found), found)
        ahead = [(row, ((h, row),)) for row in here.rows]
    return Assumption(NAME, True, "G holds the evaluations of Π")


def evaluation_closed_classes(
    environment: Environment, rng: np.random.Generator, *, others: int = 1
) -> tuple[ValueClassByLevel, PolicyClassByLevel]:
    """Make finite classes, policy-value complete and closed under evaluation.

    Sizes are products over levels: for small environments.

    Parameters
    ----------
    environment
        Finite observations.
    rng
        Draws policies beside the greedy ones.
    others
        How many, a level; at least 1.

    Raises
    ------
    ValueError
        If observations are not finite, or ``others`` is below 1.
    """
    check_count("others", others)
    model = HiddenModel(environment)
    values, policies = [], []
    ahead: list[Row] = [()]
    for h in range(model.horizon, 0, -1):
        gains = [model.gains(h, model.averages(h + 1, row)) for row in ahead]
        shape = (others, len(model.codes(h)))
        drawn = rng.integers(model.n_actions, size=shape).tolist()
        rows = dict.fromkeys(tuple(q.argmax(axis=1).tolist()) for q in gains)
        rows |= dict.fromkeys(map(tuple, drawn))
        ahead = list(
            dict.fromkeys(
                _evaluated(q, np.array(row, dtype=np.int64))
                for q in gains
                for row in rows
            )
        )
        values.append(value_class(model, h, ahead, rng))
        policies.append(policy_class(model, h, list(rows), rng))
    return ValueClassByLevel(values[::-1]), PolicyClassByLevel(policies[::-1])


def _evaluated(gains: NDArray[np.object_], actions: NDArray[np.int64]) -> Row:
    return tuple(gains[np.arange(len(gains)), actions].tolist())
