from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.family.variants import Parameters, default_penalty
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.program import optimum as module
from olivine.reduction.program.optimum import (
    least_better,
    least_difference,
    number_of_possible_optima,
    optimum,
    possible_optima,
    round_to_possible,
    step,
    unsatisfied_from_optimum,
)
from olivine.reduction.verify.routes import best_member

from tests.support.cases import CASES, FOLDERS, cases
from tests.support.families import (
    ALL_EIGHT,
    VARIANTS,
    as_three_sat,
    assignments,
    best_assignments,
    families,
)
from tests.support.refusals import refused
from tests.support.remake_expected import missing, remade

EXPECTED = [case for case in cases() if "optimum" in case.expected]
SMALL = [case for case in EXPECTED if case.expected["three_sat"]["variables"] <= 12]


def name(case):
    return f"{case.path.parent.name}/{case.path.name}"


@st.composite
def parameters(draw, max_weight=200):
    variant = draw(st.sampled_from(VARIANTS))
    weight = draw(st.integers(1, max_weight))
    if variant.declaration.fixed_penalty is not None or draw(st.booleans()):
        penalty = default_penalty(variant, weight)
    else:
        high = Fraction(1) if variant is Variant.PAPER else Fraction(99, 100)
        penalty = draw(st.fractions(Fraction(1, 1000), high, max_denominator=1000))
    return Parameters(variant, penalty, weight)


@given(parameters())
def test_the_least_difference_is_that_of_neighbours(given_parameters):
    values = possible_optima(given_parameters)
    apart = [high - low for high, low in pairwise(values)]
    assert least_difference(given_parameters) == min(apart, default=None)


@pytest.mark.parametrize("case", EXPECTED, ids=name)
def test_cases_with_known_answers(case):
    case = case.expected
    m = case["three_sat"]["clauses"]
    for variant, expected in case["optimum"].items():
        given_parameters = Parameters(variant, default_penalty(variant, m), m)
        exact = optimum(given_parameters, case["unsatisfied"])
        assert exact == Fraction(expected)
        told = unsatisfied_from_optimum(given_parameters, exact)
        assert told.satisfiable == case["satisfiable"]
        assert told.at_least <= case["unsatisfied"]
        if told.exact:
            assert told.at_least == case["unsatisfied"]


@pytest.mark.parametrize("case", SMALL, ids=name)
def test_small_cases_by_all_members(case):
    """From the file to the optimum without Theorem O."""
    three_sat = read_dimacs(case.path).formula.three_sat()
    for variant in VARIANTS:
        assert variant in case.expected["optimum"], missing(case.path.parent.name)
        expected = case.expected["optimum"][variant]
        assert best_member(Family(three_sat, variant)).value == Fraction(expected)


def test_there_are_cases_and_the_eight_clauses():
    assert len(EXPECTED) >= 40
    assert len(SMALL) >= 10
    for variant, expected in {
        "paper": "23/24",
        "normalized": "185/192",
        "gap": "31/32",
        "all-levels": "185/192",
    }.items():
        family = Family(as_three_sat(ALL_EIGHT, 3), variant)
        assert optimum(family.parameters, 1) == Fraction(expected)


@given(families())
def test_theorem_o_against_all_members(family):
    """Best optimal value over the members, from the arrays, against u."""
    u, _ = best_assignments(family.three_sat)
    best = best_member(family)
    assert best.value == optimum(family.parameters, u)
    assert family.mdp(best.y).optimal_values().value(family.start) == best.value


@given(families(max_variables=3, max_clauses=4))
@settings(max_examples=25)
def test_best_member_is_the_best(family):
    values = [
        family.mdp(y).optimal_values().value(family.start)
        for y in assignments(family.n_variables)
    ]
    assert best_member(family).value == max(values)


def test_best_member_through_several_chunks_of_members():
    """n = 14 takes two chunks; the only model lies in the second."""
    units = [[i, i, i] for i in range(1, 15)]
    best = best_member(Family(as_three_sat(units, 14)))
    assert best.value == 1
    assert best.y.all()
    with pytest.raises(ValueError, match=r"2\*\*14 members"):
        best_member(Family(as_three_sat(units, 14)), max_variables=13)


def test_possible_optima_by_hand():
    found = possible_optima(Parameters(Variant.PAPER, Fraction(1, 91), 91))
    assert found == [1 - Fraction(k, 273) for k in range(4)]
    gap = Parameters(Variant.GAP, Fraction(1, 4), 9)
    assert possible_optima(gap) == [1 - Fraction(u, 36) for u in range(5)]


@given(parameters())
def test_possible_optima_are_the_optima(given_parameters):
    found = possible_optima(given_parameters)
    every = [
        optimum(given_parameters, u)
        for u in range(given_parameters.total_weight // 2 + 1)
    ]
    assert found == sorted(set(every), reverse=True)
    assert number_of_possible_optima(given_parameters) == len(found)


@given(parameters(), st.data())
def test_what_an_optimum_says_about_u(given_parameters, data):
    largest = given_parameters.total_weight // 2
    u = data.draw(st.integers(0, largest))
    value = optimum(given_parameters, u)
    told = unsatisfied_from_optimum(given_parameters, value)
    same = [k for k in range(largest + 1) if optimum(given_parameters, k) == value]
    assert told.at_least == min(same)
    assert told.exact == (len(same) == 1)
    assert told.satisfiable == (u == 0)
    assert str(told).startswith("u = " if told.exact else "u >= ")


@given(parameters(max_weight=2**62), st.integers(0, 30))
def test_large_weights_need_no_list(given_parameters, u):
    u = min(u, given_parameters.total_weight // 2)
    value = optimum(given_parameters, u)
    assert round_to_possible(given_parameters, value, accuracy=0) == (value, 0)
    assert unsatisfied_from_optimum(given_parameters, value).at_least <= u


@given(parameters(), st.data())
def test_rounding_finds_the_nearest(given_parameters, data):
    found = possible_optima(given_parameters)
    value = data.draw(st.sampled_from(found))
    off = data.draw(st.floats(-0.1, 0.1))
    exact = Fraction(float(value) + off)
    ranked = sorted(abs(p - exact) for p in found)
    accuracy = data.draw(st.sampled_from([1e-9, 1e-6, 1e-3, 0.2]))
    within = [p for p in found if abs(p - exact) <= Fraction(accuracy)]
    if len(within) == 1:
        rounded = round_to_possible(given_parameters, float(value) + off, accuracy)
        assert rounded == (within[0], ranked[0])
    else:
        with pytest.raises(ValueError, match="ambiguous" if within else "no possible"):
            round_to_possible(given_parameters, float(value) + off, accuracy)


def test_rounding_sees_both_neighbours_and_refuses_a_finer_lattice():
    # Both 1 and 55/56 lie within 0.2 of 1.09; found by the test above.
    gap = Parameters(Variant.GAP, Fraction(1, 4), 14)
    refused("ambiguous", round_to_possible, gap, 1.09375, 0.2)
    assert round_to_possible(gap, 1.09375, 0.1).value == 1
    # A million clauses: steps of 3.3e-7 are below an engine's 1e-6.
    fine = Parameters(Variant.PAPER, Fraction(1, 2), 10**6)
    refused("ambiguous", round_to_possible, fine, 1.0)
    assert round_to_possible(fine, 1.0, accuracy=1e-9).value == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_rounding_refuses_what_is_no_number(value):
    with pytest.raises(ValueError, match="finite"):
        round_to_possible(Parameters(Variant.GAP, Fraction(1, 4), 3), value)


@given(parameters())
def test_impossible_values_are_refused(given_parameters):
    largest = given_parameters.total_weight // 2
    for u in (-1, largest + 1):
        refused("outside", optimum, given_parameters, u)
    between = (
        given_parameters.best
        - min(step(given_parameters), given_parameters.penalty) / 2
    )
    for value in (between, Fraction(2), Fraction(0) - 1):
        with pytest.raises(ValueError, match="no possible optimum"):
            unsatisfied_from_optimum(given_parameters, value)


def test_least_unsatisfied_is_at_most_half():
    rng = np.random.default_rng(5)
    for _ in range(50):
        clauses = rng.integers(1, 4, (6, 3)) * rng.choice([-1, 1], (6, 3))
        weights = rng.integers(1, 5, 6)
        three_sat = as_three_sat(clauses.tolist(), 3, weights.tolist())
        assert best_assignments(three_sat)[0] <= three_sat.total_weight / 2


@given(parameters(60), st.integers(1, 4), st.data())
def test_what_is_better_is_at_least_the_least_better(parameters, unit, data):
    """Of the optima that u, a multiple of the unit, can give; for each of them."""
    largest = parameters.total_weight // 2
    possible = {optimum(parameters, u) for u in range(0, largest + 1, unit)}
    for value in possible:
        better = least_better(parameters, value, unit)
        assert better > value
        assert better == min((v for v in possible if v > value), default=better)
    low = data.draw(st.fractions(-1, parameters.best))
    better = least_better(parameters, low, unit)
    assert better > low
    assert all(v >= better for v in possible if v > low)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_expected_optima_are_of_all_variants(folder):
    same = (CASES / folder / "expected.jsonl").read_text("utf-8") == remade(folder)
    assert same, missing(folder)


def test_a_certificate_that_fails_is_an_error(monkeypatch) -> None:
    family = Family(as_three_sat([[1, 1, 1], [2, 2, 2]], 2))
    for name, found, words in (
        ("back", np.array([False] * 2), "value 1 came back as an assignment worth 2/3"),
        ("violations", ["a row"], "certificate of an assignment fails: .*a row"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, lambda *_, found=found: found)
            refused(words, module.certify, family, [True] * 2, error=RuntimeError)
    assert module.certify(family, np.array([False, False])) == Fraction(2, 3)
