"""Policy and value realizability: π* in Π and g* in G, at every level.

Exact for tabular and finite classes. "The" optimal policy is any of them, where
several are optimal. Other classes over finite observations are asked through
their oracles (`olivine.algorithms.assumptions.realizability`), in floats.
"""

from __future__ import annotations

from olivine.algorithms.assumptions.hidden import HiddenModel, best
from olivine.algorithms.assumptions.members import Policies, Values
from olivine.algorithms.assumptions.realizability import policy_at_level, value_at_level
from olivine.algorithms.assumptions.result import Assumption
from olivine.algorithms.classes import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment

POLICY = "policy-realizability"
VALUE = "value-realizability"


def policy_realizability(
    environment: Environment, policy_class: PolicyClass
) -> Assumption:
    """Check that Π_h has an optimal policy, for every level h.

    Parameters
    ----------
    environment
        Any; decided only where observations are finite.
    policy_class
        Π.

    Raises
    ------
    ValueError
        If the class does not admit the environment's observations.
    """
    try:
        model = HiddenModel(environment)
    except ValueError as error:
        return Assumption(POLICY, None, str(error))
    doubt = ""
    for h in range(1, model.horizon + 1):
        policies = Policies(model, policy_class, h)
        q = model.gains(h, model.optimal(h + 1))
        if policies.kind in ("tabular", "finite"):
            found = policies.lacks(best(q))
            if found is not None:
                return Assumption(POLICY, False, str(found), found)
            continue
        answer = policy_at_level(environment, policy_class, h)
        if answer is False:
            return Assumption(POLICY, False, f"Π_{h} has no optimal policy (by CSC)")
        if answer is None:
            doubt = doubt or f"the CSC oracle of Π_{h} cannot tell"
    if doubt:
        return Assumption(POLICY, None, doubt)
    return Assumption(POLICY, True, "Π has an optimal policy")


def value_realizability(
    environment: Environment, value_class: ValueClass
) -> Assumption:
    """Check that G_h has g*_h, for every level h, also the first.

    Parameters
    ----------
    environment
        Any; decided only where observations are finite.
    value_class
        G.

    Raises
    ------
    ValueError
        If the class does not admit the environment's observations.
    """
    try:
        model = HiddenModel(environment)
    except ValueError as error:
        return Assumption(VALUE, None, str(error))
    doubt = ""
    for h in range(1, model.horizon + 1):
        values = Values(model, value_class, h)
        if values.kind in ("tabular", "finite"):
            right = model.gains(h, model.optimal(h + 1)).max(axis=1)
            found = values.lacks(right.tolist())
            if found is not None:
                return Assumption(VALUE, False, str(found), found)
            continue
        answer = value_at_level(environment, value_class, h)
        if answer is False:
            reason = f"G_{h} has no g* (by least squares)"
            return Assumption(VALUE, False, reason)
        if answer is None:
            doubt = doubt or f"the least-squares oracle of G_{h} cannot tell"
    if doubt:
        return Assumption(VALUE, None, doubt)
    return Assumption(VALUE, True, "G has g*")
