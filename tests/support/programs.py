"""Families small enough for every formulation, and what proves their optimum."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import strategies as st
from olivine.algorithms.olive_program.enumeration import (
    enumerate_policies,
    policy_choices,
)
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula

from tests.support.families import VARIANTS, penalties
from tests.support.formulas import clauses

MAX_POLICIES = 20_000


@st.composite
def solvable_families(
    draw: st.DrawFn,
    *,
    variant: Variant | None = None,
    max_variables: int = 4,
    max_clauses: int = 4,
    max_width: int = 3,
    max_weight: int = 30,
) -> Family:
    """Draw a formula as read, and build a family of its 3-SAT form.

    No variable, no clause, empty, unit and repeated clauses, tautologies and
    repeated literals are all common. Weights stay small, so that one unit is
    far above an engine's tolerances. Empty and wide clauses add to n and m.
    """
    n = draw(st.integers(0, max_variables))
    rows = draw(st.lists(clauses(n, max_width), max_size=max_clauses))
    weights = None
    if draw(st.booleans()):
        weight = st.integers(1, max_weight)
        weights = draw(st.lists(weight, min_size=len(rows), max_size=len(rows)))
    formula = Formula.from_clauses(rows, n, weights)
    variant = draw(st.sampled_from(VARIANTS)) if variant is None else variant
    return Family(formula.three_sat(), variant, draw(penalties(variant)))


def count_policies(family: Family) -> int:
    """Policies of the program that differ where it matters."""
    return math.prod(map(len, policy_choices(family.program()).values()))


def best_of_all_policies(family: Family) -> Fraction | None:
    """Exact optimum over all policies, or None where they are too many."""
    if count_policies(family) > MAX_POLICIES:
        return None
    return enumerate_policies(family.program(), max_policies=MAX_POLICIES).optimum
