"""Models of the program: their points, what is read off them, what they refuse."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from olivine.algorithms.olive_program.optimisers import enumerate_policies
from olivine.algorithms.olive_program.program import OliveProgram
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.program.optimum import check, forward, optimum, step
from olivine.reduction.program.program import FORMS, FORMULATIONS, build
from olivine.solvers.lp import solve_lp
from olivine.solvers.milp.milp import solve_milp
from olivine.solvers.outcome import Status

from tests.support.depth import deep, spread, with_rows
from tests.support.families import (
    ALL_EIGHT,
    VARIANTS,
    as_three_sat,
    assignments,
    best_assignments,
    families,
    solvable_families,
)
from tests.support.refusals import refused


def eight(variant, penalty=None):
    """Family of the eight clauses on three variables, one always unsatisfied."""
    return Family(as_three_sat(ALL_EIGHT, 3), variant, penalty)


@given(families(max_variables=3, max_clauses=5))
@settings(max_examples=deep(25, 4))  # 6 models, all assignments
def test_certificates_are_points(family):
    """Every assignment is a feasible point of the same value, and is read back."""
    for formulation in FORMULATIONS:
        for form in FORMS:
            built = build(family, formulation, form)
            for assignment in assignments(family.n_variables):
                point = built.point(assignment)
                assert built.model.is_feasible(point)
                objective = built.model.objective_value(point)
                certificate = forward(family, assignment)
                value = certificate.value(family.start)
                if family.three_sat.satisfied(assignment).any():
                    unsatisfied = family.three_sat.unsatisfied_weight(assignment)
                    if formulation == "projected" and built.try_index is None:
                        value = (
                            family.parameters.best
                            - step(family.parameters) * unsatisfied
                        )
                    assert objective == value
                    assert built.assignment(point).tolist() == assignment.tolist()
                    assert built.pair(point) == certificate
                else:
                    assert objective >= value
                assert check(family, built.pair(point)) >= objective


@given(families(max_variables=3, max_clauses=4), st.data())
def test_whatever_an_engine_says_can_be_read(family, data):
    """Any floats at all give an assignment; noisy certificates give their pair."""
    built = build(
        family,
        data.draw(st.sampled_from(FORMULATIONS)),
        data.draw(st.sampled_from(FORMS)),
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    nonsense = rng.uniform(-1, 2, len(built.model.variables)).tolist()
    assert built.assignment(nonsense).shape == (family.n_variables,)
    assignment = next(assignments(family.n_variables))
    point = built.point(assignment)
    noise = rng.uniform(-1e-7, 1e-7, len(point))
    noisy = [float(v) + e for v, e in zip(point, noise, strict=True)]
    assert check(family, built.pair(noisy)) >= built.model.objective_value(point)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_points_of_another_length_are_refused(formulation):
    built = build(eight("paper"), formulation)
    for read in (built.assignment, built.pair):
        refused("0 values for a model of", read, [])
    refused("3 truth values", built.point, [True])


def test_no_pair_near_an_impossible_point():
    """[try C1] with an unsatisfied C1 is worth less than 0 when p = 1."""
    family = Family(as_three_sat([[1, 1, 1]], 1), "paper", 1)
    built = build(family, "faithful")
    point = [float(v) for v in built.point([False])]
    binaries = built.program_model.policy_index[family.start]
    for variable in binaries.values():
        point[variable] = 0.0
    point[binaries[family.layout.try_clause(0)]] = 1.0
    refused("no feasible pair near", built.pair, point)
    assert built.assignment(point).tolist() == [False]


@given(families(max_variables=4, max_clauses=6))
@settings(max_examples=25)
def test_integral_literals_and_solve_leave_a_linear_program(family):
    """With t and [solve] fixed `strengthened` is tight, π of the clauses free."""
    built = build(family, "strengthened")
    rng = np.random.default_rng(family.n_clauses)
    assignment = rng.random(family.n_variables) < 0.5
    model = built.model
    for variable in built.policy_index[family.start][:-1]:
        model.add_row([variable], [1], "==", 0)
    for value, variable in zip(assignment, built.truth_index, strict=True):
        model.add_row([variable], [1], "==", int(value))
    outcome = solve_lp(model, exact=True)
    unsatisfied = family.three_sat.unsatisfied_weight(assignment)
    share = Fraction(unsatisfied, family.total_weight)
    reach, best = family.parameters.reach, family.parameters.best
    assert outcome.objective == best - reach * family.top * share / 3


@given(
    st.lists(st.sampled_from([1, -1, 2, -2, 3, -3]), min_size=3, max_size=3),
    st.lists(st.fractions(0, 1, max_denominator=12), min_size=3, max_size=3),
)
def test_the_cut_holds_for_fractional_values(clause, truth):
    """No action of a clause state beats the cut, whatever the literal values."""
    family = Family(as_three_sat([clause], 3), "normalized")
    values = dict.fromkeys(range(family.layout.n_states), Fraction(0))
    of_literal = {}
    for i, value in enumerate(truth):
        for b, v in ((0, 1 - value), (1, value)):
            values[family.literal_state(i, b)] = family.top * v
        of_literal |= {i + 1: value, -i - 1: 1 - value}
    cut = min(Fraction(1), (2 + sum(of_literal[x] for x in set(clause))) / 3)
    mdp = family.mdp()
    for action in mdp.actions(family.clause_state(0)):
        assert sum(p * values[s] for s, p in mdp.successors(action)) <= family.top * cut


def test_the_objective_is_the_value_of_s0():
    for variant in VARIANTS:
        for form in FORMS:
            family = eight(variant)
            for formulation in ("faithful", "strengthened"):
                model = build(family, formulation, form).model
                (variable,) = model.objective
                assert model.variables[variable].name == "g(s0)"
                assert model.objective == {variable: 1}
                assert model.objective_constant == 0
            model = build(family, "projected", form).model
            assert model.maximise
            assert model.objective_constant == family.parameters.best


def test_projected_is_the_plain_maxsat_model():
    """Distinct literals, no y for a tautology, and z only where p may cap."""
    clauses = [[1, 1, 1], [-1, -1, 2], [1, -1, 2], [3, -3, 3]]
    built = build(Family(as_three_sat(clauses, 3, [3, 5, 7, 11]), "gap"), "projected")
    x1, x2, _ = built.truth_index
    assert built.try_index is None
    assert list(built.missing_index) == [0, 1]
    y1, y2 = built.missing_index.values()
    first, second = built.model.rows
    assert dict(zip(first.indices, first.coefficients, strict=True)) == {y1: 1, x1: 1}
    assert (first.sense, first.rhs) == (">=", 1)
    found = dict(zip(second.indices, second.coefficients, strict=True))
    assert found == {y2: 1, x1: -1, x2: 1}
    assert (second.sense, second.rhs) == (">=", 0)
    costs = {y1: Fraction(-3, 4 * 26), y2: Fraction(-5, 4 * 26)}
    assert built.model.objective == costs
    point = [Fraction(0)] * len(built.model.variables)
    for value, true in (Fraction(1, 2), True), (Fraction(49, 100), False):
        point[x2] = value
        assert built.assignment(point).tolist() == [False, true, False]


def test_projected_tries_a_clause_only_where_that_can_be_better():
    """p = 1/7 is the least penalty of `normalized` that never caps."""
    capped = as_three_sat([[a, a, a] for a in (1, -1)] * 4, 1)  # u = 4 = m/2
    for penalty, needed in ((Fraction(1, 7), False), (Fraction(1, 8), True)):
        built = build(Family(capped, "normalized", penalty), "projected")
        assert (built.try_index is not None) == needed
    assert build(Family(capped, "gap"), "projected").try_index is None
    family = Family(capped, "paper")  # beyond the cap of 3
    built = build(family, "projected")
    outcome = solve_milp(built.model)
    assert outcome.values[built.try_index] == 1
    assert check(family, built.pair(outcome.values)) == 1 - Fraction(1, 8)
    # The cap is beyond the bound u <= m/2 here, but an assignment is found.
    assert build(eight("normalized"), "projected").try_index is None


@pytest.fixture
def _luckless(monkeypatch):
    """Let the local search of `projected` find nothing, so that z is there."""
    module = "olivine.reduction.program.projected._solve_wins"
    monkeypatch.setattr(module, lambda family: False)


@pytest.mark.usefixtures("_luckless")
def test_trying_with_an_assignment_that_satisfies_nothing():
    """The model leaves the assignment open then; the pair read off is feasible."""
    family = Family(as_three_sat([[1, 2, 3]] * 8, 3), "paper", Fraction(1, 100))
    built = build(family, "projected")
    point = built.point([False] * 3)
    assert point[built.try_index] == 1
    assert built.model.objective_value(point) == Fraction(99, 100)
    assert check(family, built.pair(point)) == 1  # its complement does even better


@pytest.mark.usefixtures("_luckless")
@given(solvable_families(max_clauses=9))
@settings(
    max_examples=deep(20, 6),  # a MILP each
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_search_never_decides_the_optimum(family):
    expected = optimum(family.parameters, best_assignments(family.three_sat)[0])
    built = build(family, "projected")
    assert check(family, built.pair(solve_milp(built.model).values)) == expected


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="unknown formulation 'exact': choose from f"):
        build(eight("paper"), "exact")
    with pytest.raises(ValueError, match="unknown form 'f': choose from value-policy"):
        build(eight("paper"), "projected", "f")


@pytest.mark.parametrize("formulation", ["strengthened", "projected"])
def test_what_rests_on_the_vertex_lemma_refuses_the_rest(formulation):
    with pytest.raises(ValueError, match=r"tolerance 0, got 1/100.*vertex lemma"):
        build(eight("paper"), formulation, tolerance=Fraction(1, 100))
    with pytest.raises(ValueError, match=r"values in \[0, 1\], got \[-1, 1\]"):
        build(eight("paper"), formulation, lower=-1)
    with pytest.raises(ValueError, match=r"values in \[0, 1\], got \[0, 2\]"):
        build(eight("paper"), formulation, upper=2)


@given(solvable_families(variant=Variant.PAPER, max_variables=2, max_clauses=2))
@settings(max_examples=deep(15, 5))  # a MILP and an enumeration each
def test_the_wide_range_changes_nothing_in_paper(family):
    """Values in [−1, 1], as in the paper's proof: by enumeration and by MILP."""
    expected = optimum(family.parameters, best_assignments(family.three_sat)[0])
    wide = OliveProgram(family.mdp(), family.distributions(), lower=-1)
    assert enumerate_policies(wide).optimum == expected
    built = build(family, "faithful", lower=-1)
    pair = built.pair(solve_milp(built.model).values)
    assert built.program.is_feasible(pair)
    assert pair.value(family.start) == expected


@pytest.mark.parametrize("form", spread(FORMS, 1))
def test_the_wide_range_and_the_eight_clauses(form):
    """1 where a literal can sink to −p, which pairs and ranges forbid elsewhere."""
    kept = (Variant.PAPER, Variant.STRICT)
    for variant in VARIANTS[:: deep(1, 2)]:
        family = eight(variant)
        built = build(family, "faithful", form, lower=-1)
        outcome = solve_milp(built.model)
        assert outcome.status is Status.OPTIMAL
        pair = built.pair(outcome.values)
        assert built.program.is_feasible(pair)
        wide = variant not in kept
        narrow = optimum(family.parameters, 1)
        assert pair.value(family.start) == (1 if wide else narrow)
        assert (min(pair.values()[family.layout.first_literal_state :]) < 0) == wide
        if wide:  # no feasible pair of the program proper, so nothing is promised
            assert built.assignment(outcome.values).shape == (3,)


@pytest.mark.parametrize("form", FORMS)
@with_rows(
    "clauses, critical",
    ([[1, 1, 1], [-1, -1, -1]], Fraction(1, 11)),
    pytest.param(ALL_EIGHT, Fraction(1, 32), marks=pytest.mark.long),
)
def test_a_tolerance_below_the_critical_one_decides_in_paper(clauses, critical, form):
    """φ < 1/(6m+2) decides by the bound, below the critical one in truth."""
    family = Family(as_three_sat(clauses, max(map(max, clauses))), "paper")
    below = Fraction(1, 6 * len(clauses) + 2), critical * Fraction(32, 33)
    for tolerance, decides in (*((t, True) for t in below), (critical, False)):
        built = build(family, "faithful", form, tolerance)
        outcome = solve_milp(built.model)
        assert outcome.status is Status.OPTIMAL
        assert (outcome.objective < 1 - 1e-4) == decides
        pair = built.pair(outcome.values)
        assert built.program.is_feasible(pair)
        assert float(pair.value(family.start)) == pytest.approx(outcome.objective)
        if not decides:
            assert pair.value(family.start) == 1
        if form == "q-function" and len(clauses) == 8:
            break  # once is enough: it takes longer


@given(solvable_families(max_variables=2, max_clauses=2), st.data())
@settings(max_examples=deep(15, 5))  # a MILP and an enumeration each
def test_faithful_with_a_tolerance_is_the_program(family, data):
    """Against the enumeration of policies with exact linear programs."""
    tolerance = data.draw(st.sampled_from([Fraction(1, 100), Fraction(1, 9), 1]))
    form = data.draw(st.sampled_from(FORMS))
    built = build(family, "faithful", form, tolerance)
    outcome = solve_milp(built.model)
    pair = built.pair(outcome.values)
    assert built.program.is_feasible(pair)
    assert pair.value(family.start) == enumerate_policies(built.program).optimum
    assert built.assignment(outcome.values).shape == (family.n_variables,)


@pytest.mark.long
def test_the_critical_tolerance_of_normalized():
    """Eight clauses: φ < min(u(1−p)/(12m−2u), p/4, (1−p)/6) = 7/752."""
    critical = Fraction(7, 752)
    for variant in ("normalized", "gap"):
        family = eight(variant)
        p, m, u = family.penalty, 8, 1
        formula = min(u * (1 - p) / (12 * m - 2 * u), p / 4, (1 - p) / 6)
        if variant == "normalized":
            assert formula == critical
        for tolerance, decides in (
            (formula * Fraction(99, 100), True),
            (formula, False),
        ):
            built = build(family, "faithful", tolerance=tolerance)
            outcome = solve_milp(built.model)
            assert outcome.status is Status.OPTIMAL
            assert (outcome.objective < 1 - 1e-6) == decides
            value = built.pair(outcome.values).value(family.start)
            assert (value == 1) == (not decides)


@pytest.mark.children
@pytest.mark.parametrize("limit", spread([0.5, 5, 60], 1))
def test_a_large_satisfiable_formula_is_not_called_unsatisfiable(limit):
    """At m = 5,000 one clause is 6.7e-5 of the optimum: gaps must be 0."""
    rng = np.random.default_rng(11)
    formula = random_ksat(5000 // 3, 5000, 3, rng, planted=True)
    family = Family(formula.three_sat())
    built = build(family, "projected")
    outcome = solve_milp(built.model, time_limit=limit)
    assert outcome.status in (Status.OPTIMAL, Status.FEASIBLE, Status.UNKNOWN)
    if outcome.status is Status.OPTIMAL:
        assert check(family, built.pair(outcome.values)) == 1
    if outcome.bound is not None:
        assert outcome.bound > 1 - 1e-9
