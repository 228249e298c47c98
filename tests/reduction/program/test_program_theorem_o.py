"""Theorem O, the core of the project: every way to the optimum agrees.

For formulas as read (no variable, no clause, empty and unit clauses,
tautologies, repeated literals), all variants, penalties from 1/100 to 1,
weights, both forms and all formulations:

    MILP of each formulation, its solution exactly feasible and of the same
    exact value = the formula of Theorem O, u by trying every assignment
    = brute force over policies with exact linear programs (up to 20,000)
    = the best optimal value of any member, by exact planning.
"""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.optimum import optimum, round_to_possible, step
from olivine.reduction.program.program import FORMS, FORMULATIONS, build
from olivine.reduction.program.witness import back, check
from olivine.reduction.verify.members import best_member
from olivine.solvers.milp.milp import available_engines, solve_milp
from olivine.solvers.outcome import Status

from tests.support.cases import cases
from tests.support.depth import deep, spread
from tests.support.families import (
    VARIANTS,
    best_assignments,
    best_of_all_policies,
    solvable_families,
)

SMALL = [
    case
    for case in cases("cadical", "dense")
    if case.expected["three_sat"]["variables"] <= 20
    and case.expected["three_sat"]["clauses"] <= 60
]


def milp_optimum(family, formulation, form, engine="highs"):
    """Exact optimum by an engine's word, its solution confirmed exactly.

    The bound from above is the engine's; everything else is checked.
    """
    built = build(family, formulation, form)
    outcome = solve_milp(built.model, engine=engine)
    # Newer CBC stops "within gap tolerance", of 0; that is not called optimal.
    finished = outcome.status is Status.OPTIMAL or outcome.reason == "CBC: GapLimit"
    assert finished, outcome.reason
    pair = built.pair(outcome.values)
    value = check(family, pair)
    accuracy = min(Fraction(1, 10**6), step(family.parameters) / 3)
    rounded = round_to_possible(family.parameters, outcome.objective, accuracy)
    assert rounded.value == value
    unsatisfied = family.three_sat.unsatisfied_weight(back(family, pair))
    if value > family.parameters.best - family.penalty:
        assert optimum(family.parameters, unsatisfied) == value
    return value


def check_theorem_o(family, choices):
    u, _ = best_assignments(family.three_sat)
    expected = optimum(family.parameters, u)
    assert best_member(family).value == expected
    assert best_of_all_policies(family) in (expected, None)
    for formulation, form in choices:
        assert milp_optimum(family, formulation, form) == expected


ALL = [(formulation, form) for formulation in FORMULATIONS for form in FORMS]
FAST = [choice for choice in ALL if choice[0] != "faithful"]


def of_turn(choices, variant):
    """All of them, or every formulation in one form, the next variant in the other."""
    return choices[deep(0, VARIANTS.index(variant) % 2) :: deep(1, 2)]


@pytest.mark.parametrize("variant", VARIANTS)
@given(data=st.data())
@settings(max_examples=deep(60, 2))  # three MILPs and all policies
def test_theorem_o(variant, data):
    sizes = {"max_clauses": deep(4, 2)}
    family = data.draw(solvable_families(variant=variant, **sizes))
    check_theorem_o(family, of_turn(ALL, variant))


@pytest.mark.parametrize("variant", VARIANTS)
@given(data=st.data())
@settings(max_examples=deep(60, 2))  # some MILPs each
def test_theorem_o_without_policies(variant, data):
    """More clauses than brute force over policies or `faithful` could take."""
    most = {"variables": deep(6, 5), "clauses": deep(16, 9), "width": deep(6, 5)}
    sizes = {f"max_{what}": number for what, number in most.items()}
    family = data.draw(solvable_families(variant=variant, **sizes))
    check_theorem_o(family, of_turn(FAST, variant))


@pytest.mark.parametrize(
    ("case", "formulation"),
    spread(itertools.product(SMALL, ["strengthened", "projected"]), 6),
    ids=lambda v: v if isinstance(v, str) else v.path.name,
)
def test_cases(case, formulation):
    """Known answers, in `paper`; the other variants share all that matters."""
    family = Family(read_dimacs(case.path).formula.three_sat())
    expected = Fraction(case.expected["optimum"]["paper"])
    assert milp_optimum(family, formulation, "value-policy") == expected


@pytest.mark.parametrize("variant", VARIANTS)
def test_cases_in_every_variant(variant):
    for case in SMALL[:: deep(1, 4)]:
        family = Family(read_dimacs(case.path).formula.three_sat(), variant)
        expected = Fraction(case.expected["optimum"][variant])
        assert milp_optimum(family, "projected", "value-policy") == expected


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_eight_clauses_word_for_word(variant, form):
    (case,) = (c for c in SMALL if c.path.name == "full3.cnf")
    family = Family(read_dimacs(case.path).formula.three_sat(), variant)
    expected = Fraction(case.expected["optimum"][variant])
    assert milp_optimum(family, "faithful", form) == expected


@pytest.mark.skipif("cbc" not in available_engines(), reason="CBC is not installed")
@given(solvable_families(max_clauses=2))
@settings(max_examples=deep(4, 2))  # six MILPs each
def test_cbc_agrees(family):
    u, _ = best_assignments(family.three_sat)
    for formulation, form in ALL:
        value = milp_optimum(family, formulation, form, engine="cbc")
        assert value == optimum(family.parameters, u)


def test_weights_far_apart():
    """One unit in a million, at the engine's reach."""
    formula = Formula.from_clauses([[1], [-1], [1, -1]], None, [1, 10**6, 3])
    family = Family(formula.three_sat(), Variant.PAPER, Fraction(1, 2))
    expected = 1 - Fraction(1, 3 * (10**6 + 4))
    for formulation, form in ALL:
        assert milp_optimum(family, formulation, form) == expected
