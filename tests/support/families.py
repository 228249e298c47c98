"""Small families with every odd kind of clause, and slow references for them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from olivine.algorithms.olive_program.optimisers import (
    enumerate_policies,
    policy_choices,
)
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.family.variants import without_sides
from olivine.reduction.formula.formula import Formula, ThreeSat

from tests.support.formulas import clauses as clauses_of

VARIANTS = without_sides()
# Every sign pattern on three variables: each assignment leaves one unsatisfied.
ALL_EIGHT = [[a, 2 * b, 3 * c] for a, b, c in itertools.product((1, -1), repeat=3)]


def as_three_sat(clauses, n_variables, weights=None) -> ThreeSat:
    """Clauses of three literals taken as they are, repeated literals included."""
    formula = Formula.from_clauses(clauses, n_variables, weights)
    return ThreeSat(
        n_variables,
        np.array(clauses, dtype=np.int32).reshape(-1, 3),
        formula.weights,
        np.arange(len(clauses)),
        formula,
    )


@st.composite
def three_sats(draw, max_variables=4, max_clauses=7, weighted=None):
    """Draw a 3-SAT form: repeated, complementary and unused variables are common."""
    n = draw(st.integers(1, max_variables))
    literal = st.integers(1, n).flatmap(lambda i: st.sampled_from([i, -i]))
    clause = st.lists(literal, min_size=3, max_size=3)
    clauses = draw(st.lists(clause, min_size=1, max_size=max_clauses))
    weights = None
    if draw(st.booleans()) if weighted is None else weighted:
        weight = st.one_of(st.integers(1, 4), st.integers(1, 2**58))
        m = len(clauses)
        weights = draw(st.lists(weight, min_size=m, max_size=m))
    return as_three_sat(clauses, n, weights)


@st.composite
def penalties(draw, variant):
    """Draw a penalty of the variant's range, or None for the default."""
    if variant.declaration.fixed_penalty is not None or draw(st.booleans()):
        return None
    high = Fraction(1) if variant is Variant.PAPER else Fraction(99, 100)
    return draw(st.fractions(Fraction(1, 100), high, max_denominator=100))


@st.composite
def families(draw, variant=None, **sizes):
    """Draw a family of any variant and penalty."""
    variant = draw(st.sampled_from(VARIANTS)) if variant is None else variant
    return Family(draw(three_sats(**sizes)), variant, draw(penalties(variant)))


def assignments(n):
    """All assignments of n variables, as boolean arrays."""
    for values in itertools.product((False, True), repeat=n):
        yield np.array(values, dtype=np.bool_)


def unsatisfied_weight(three_sat, assignment) -> int:
    """Weight of the unsatisfied clauses, clause by clause."""
    weights = three_sat.weights
    total = 0
    for j, clause in enumerate(three_sat.clauses.tolist()):
        if not any(assignment[abs(v) - 1] == (v > 0) for v in clause):
            total += 1 if weights is None else int(weights[j])
    return total


def best_assignments(three_sat):
    """Least unsatisfied weight and the assignments that attain it, by trying all."""
    by_weight: dict[int, list] = {}
    for assignment in assignments(three_sat.n_variables):
        weight = unsatisfied_weight(three_sat, assignment)
        by_weight.setdefault(weight, []).append(assignment)
    least = min(by_weight)
    return least, by_weight[least]


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
    rows = draw(st.lists(clauses_of(n, max_width), max_size=max_clauses))
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
