"""Is π* in Π and g* in G? (paper, section 3, assumptions 1 and 2).

Answered by the oracles themselves: g* is in G_h exactly if the least squared
loss against g* is 0, and a policy of Π_h is optimal everywhere exactly if the
least cost for costs V*(x) - Q*(x, a) is 0. For tests, and to refuse a run whose
guarantee has no ground; an agent could not ask.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from algorithms.classes.protocols import PolicyClass, ValueClass
from algorithms.data import EmpiricalMeasure
from algorithms.environments.protocol import Environment
from algorithms.oracles.csc import csc
from algorithms.oracles.least_squares import least_squares

_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Realizability:
    """Whether the two assumptions hold.

    Attributes
    ----------
    value, policy
        True, False, or None where the oracles cannot tell (observations
        without codes, heuristic oracles).
    reason
        The first violation: which class, which level.
    """

    value: bool | None
    policy: bool | None
    reason: str = ""

    @property
    def holds(self) -> bool | None:
        """Both; None if neither is violated and one is unknown."""
        if self.value is False or self.policy is False:
            return False
        return None if None in (self.value, self.policy) else True


def realizability(
    environment: Environment, value_class: ValueClass, policy_class: PolicyClass
) -> Realizability:
    """Check both assumptions at the observations of every level.

    A squared loss below 1e-12 of the uniform average counts as 0.

    Raises
    ------
    ValueError
        If a class does not admit the environment's observations.
    """
    value: bool | None = True
    policy: bool | None = True
    reason = ""
    for h in range(1, environment.horizon + 1):
        codes = environment.space(h).n_codes
        if codes is None:
            return Realizability(None, None, "observations have no codes")
        data = EmpiricalMeasure(np.arange(codes))
        q = environment.truth.q_values(h).astype(np.float64)
        best = q.max(axis=1)
        if h > 1:  # g*_1 is never used
            fit = least_squares(
                value_class.at_level(h), data, best, epsilon_sub=_TOLERANCE
            )
            if fit.loss - fit.suboptimality > _TOLERANCE:
                value = False
                reason = reason or f"value_class: g* of level {h} is not in it"
            elif fit.loss > _TOLERANCE and value:
                value = None
        found = csc(
            policy_class.at_level(h),
            data,
            best[:, None] - q,
            epsilon_sub=_TOLERANCE,
        )
        if found.cost - found.suboptimality > _TOLERANCE:
            policy = False
            reason = reason or f"policy_class: no optimal policy of level {h} in it"
        elif found.cost > _TOLERANCE and policy:
            policy = None
    return Realizability(value, policy, reason)
