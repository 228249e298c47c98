"""The reduction's MDP as an environment for learning algorithms.

A random member of the `normalized` family of a random 3-SAT formula: tabular,
three levels, and stochastic ([solve] draws a clause, a clause's action draws a
literal), so that algorithms for deterministic dynamics refuse it.
"""

from __future__ import annotations

import numpy as np
from olivine.algorithms.environments.finite import FiniteEnvironment
from olivine.algorithms.environments.tabular import from_mdp
from olivine.reduction.family.family import Family
from olivine.reduction.formula.random_formula import random_ksat


def threesat(
    rng: np.random.Generator, *, variables: int = 3, clauses: int = 4
) -> FiniteEnvironment:
    """Draw a formula and a member of its family.

    Parameters
    ----------
    rng
        Draws the formula's clauses and the member's assignment.
    variables
        At least 3.
    clauses
        At least 1.

    Raises
    ------
    ValueError
        For an option out of range.
    """
    if variables < 3:
        raise ValueError(f"variables: {variables} is below 3")
    if clauses < 1:
        raise ValueError(f"clauses: {clauses} is below 1")
    formula = random_ksat(variables, clauses, 3, rng)
    family = Family(formula.three_sat(), "normalized")
    member = rng.random(variables) < 0.5
    return from_mdp(family.mdp(member), "threesat")
