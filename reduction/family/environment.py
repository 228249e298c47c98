"""The reduction's MDP as an environment: a random `normalized` member, stochastic."""

from __future__ import annotations

import numpy as np

from ...algorithms.environments import make, register
from ...algorithms.environments.finite import FiniteEnvironment
from ...algorithms.environments.finite_makers import from_mdp
from ...algorithms.exact.arrays import check_sizes, check_table

__all__ = ["make", "threesat"]

_MOST_MOVES = 10**8


def threesat(
    rng: np.random.Generator, *, variables: int = 3, clauses: int = 4
) -> FiniteEnvironment:
    """Draw a formula and a member of its family."""
    # Not before it is asked for: `make` loads this module, whatever it makes.
    from ..formula.random_formula import random_ksat
    from .family import Family

    check_sizes(3, variables=variables)
    check_sizes(1, clauses=clauses)
    pairs = (variables + clauses) ** 2
    check_table(pairs * variables, _MOST_MOVES, variables=variables, clauses=clauses)
    formula = random_ksat(variables, clauses, 3, rng)
    family = Family(formula.three_sat(), "normalized")
    member = rng.random(variables) < 0.5
    return from_mdp(family.mdp(member), "threesat")


register("threesat", threesat)
