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

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.olive_program.model import program_model
from olivine.algorithms.olive_program.optimisers import enumerate_policies
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.optimum import (
    back,
    check,
    forward,
    optimum,
    round_to_possible,
    step,
)
from olivine.reduction.program.program import FORMS, FORMULATIONS, build
from olivine.reduction.verify.routes import best_member
from olivine.solvers.milp.milp import available_engines, confirm, solve_milp
from olivine.solvers.outcome import Status

from tests.support.cases import cases
from tests.support.depth import deep, spread
from tests.support.families import (
    ALL_EIGHT,
    VARIANTS,
    as_three_sat,
    best_assignments,
    best_of_all_policies,
    families,
    solvable_families,
    unsatisfied_weight,
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


def assert_comes_back(family, pair):
    """The pair is optimal by Theorem O, and so is the assignment it gives."""
    u, _ = best_assignments(family.three_sat)
    value = check(family, pair)
    assert value == optimum(family.parameters, u)
    assignment = back(family, pair)
    assert check(family, forward(family, assignment)) == value
    if pair.policy[family.start] == family.layout.solve:
        assert unsatisfied_weight(family.three_sat, assignment) == u


def milp_pair(family, form):
    """Optimal pair by HiGHS: its binaries kept, all else solved exactly."""
    built = program_model(family.program(), form)
    outcome = confirm(built.model, solve_milp(built.model, time_limit=60))
    assert outcome.exact
    assert outcome.status in (Status.OPTIMAL, Status.FEASIBLE)
    return built.pair(outcome.values)


@given(families(max_variables=deep(3, 2), max_clauses=deep(4, 2)))
@settings(max_examples=deep(150, 25))
def test_enumeration_of_policies(family):
    found = enumerate_policies(family.program(), max_policies=10**6)
    assert found.optimum == check(family, found.pair)
    assert_comes_back(family, found.pair)


@pytest.mark.parametrize("form", ["value-policy", "q-function"])
@given(family=families(max_variables=2, max_clauses=2, weighted=False))
@settings(max_examples=deep(6, 3))  # two exact solutions each
def test_milp_on_small_families(form, family):
    assert_comes_back(family, milp_pair(family, form))


@pytest.mark.parametrize("variant", spread(VARIANTS, 3))
def test_milp_on_all_sign_patterns_of_two_and_three_variables(variant):
    clauses = [[1, 2, 2], [1, -2, -2], [-1, 2, 2], [-1, -2, -2]]
    for patterns, n in [(clauses, 2), (ALL_EIGHT, 3)][: deep(2, 1)]:
        family = Family(as_three_sat(patterns, n), variant)
        assert_comes_back(family, milp_pair(family, "value-policy"))


@pytest.mark.long
def test_milp_on_random_families():
    rng = np.random.default_rng(20)
    for k in range(60):
        n, m = int(rng.integers(1, 5)), int(rng.integers(1, 9))
        clauses = rng.integers(1, n + 1, (m, 3)) * rng.choice([-1, 1], (m, 3))
        variant = VARIANTS[k % 4]
        penalty = None if variant == "gap" else Fraction(1, int(rng.integers(2, 60)))
        family = Family(as_three_sat(clauses.tolist(), n), variant, penalty)
        assert_comes_back(family, milp_pair(family, "value-policy"))
