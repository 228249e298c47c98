"""The 3-SAT form: Lemma 1 by brute force, the map both ways, exact shapes."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import MAX_VARIABLE, MAX_WEIGHT, Formula
from olivine.reduction.formula.three_sat import NO_SOURCE, _chains

from tests.support.cases import case_parameters
from tests.support.families import assignments as all_assignments
from tests.support.formulas import (
    assignments,
    formulas,
    formulas_with_assignments,
    least_unsatisfied,
)


def rows_and_weights(clauses, weights):
    rows = [tuple(row) for row in clauses]
    return rows, [1] * len(rows) if weights is None else weights.tolist()


def by_the_rules(formula):
    """The 3-SAT form of docs/reduction.md, clause by clause, in plain Python."""
    fresh = formula.n_variables
    rows, source = [], []
    for j, clause in enumerate(formula.clauses()):
        k = len(distinct := list(dict.fromkeys(clause)))
        if k == 0:
            fresh += 1
            made = [[fresh] * 3, [-fresh] * 3]
        elif k <= 3:
            made = [distinct + [distinct[-1]] * (3 - k)]
        else:
            y = [fresh + i for i in range(1, k - 2)]
            fresh += k - 3
            made = [[distinct[0], distinct[1], y[0]]]
            made += [[-y[i], distinct[i + 2], y[i + 1]] for i in range(k - 4)]
            made += [[-y[-1], distinct[-2], distinct[-1]]]
        rows += made
        source += [j] * len(made)
    if not rows:
        fresh = max(fresh, 1)
        rows, source = [[1, -1, -1]], [NO_SOURCE]
    return fresh, rows, source


@given(formulas(max_variables=6, max_width=8))
def test_the_form_is_the_one_stated(formula):
    three_sat = formula.three_sat()
    n, rows, source = by_the_rules(formula)
    assert three_sat.n_variables == n
    assert three_sat.n_fresh == n - formula.n_variables
    assert three_sat.clauses.tolist() == rows
    assert three_sat.clauses.shape == (three_sat.n_clauses, 3)
    assert three_sat.source.tolist() == source
    assert three_sat.original is formula
    assert three_sat.is_weighted == formula.is_weighted
    if formula.is_weighted and len(formula):
        assert three_sat.weights.tolist() == formula.weights[source].tolist()
        assert three_sat.total_weight == sum(three_sat.weights.tolist())
    for array in (three_sat.clauses, three_sat.weights, three_sat.source):
        assert array is None or not array.flags.writeable


@given(formulas(max_variables=4, max_clauses=4, max_width=6))
def test_lemma_1_by_brute_force(formula):
    three_sat = formula.three_sat()
    assume(three_sat.n_variables <= 11)
    rows, weights = rows_and_weights(formula.clauses(), formula.weights)
    before = least_unsatisfied(rows, weights, formula.n_variables)
    rows, weights = rows_and_weights(three_sat.clauses.tolist(), three_sat.weights)
    assert least_unsatisfied(rows, weights, three_sat.n_variables) == before


@given(formulas(max_variables=4, max_clauses=8, max_width=8))
def test_extending_loses_nothing(formula):
    three_sat = formula.three_sat()
    for assignment in all_assignments(formula.n_variables):
        extended = three_sat.extend(assignment)
        assert np.array_equal(three_sat.restrict(extended), assignment)
        lost = formula.unsatisfied_weight(assignment)
        assert three_sat.unsatisfied_weight(extended) == lost
        # one clause of a chain, and only of a chain whose original is falsified
        unsatisfied = three_sat.source[~three_sat.satisfied(extended)]
        falsified = np.flatnonzero(~formula.satisfied(assignment))
        assert unsatisfied.tolist() == falsified.tolist()


@given(st.data(), formulas(max_variables=5, max_clauses=8, max_width=8))
def test_restricting_never_makes_it_worse(data, formula):
    three_sat = formula.three_sat()
    assignment = data.draw(assignments(three_sat.n_variables))
    here = three_sat.unsatisfied_weight(assignment)
    assert formula.unsatisfied_weight(three_sat.restrict(assignment)) <= here


@given(st.data(), formulas(max_variables=5, max_clauses=8, max_width=8))
def test_as_formula_evaluates_alike(data, formula):
    three_sat = formula.three_sat()
    plain = three_sat.as_formula()
    assert (plain.n_variables, len(plain)) == (
        three_sat.n_variables,
        three_sat.n_clauses,
    )
    assert plain.total_weight == three_sat.total_weight
    assignment = data.draw(assignments(three_sat.n_variables))
    satisfied = plain.satisfied(assignment)
    assert three_sat.satisfied(assignment).tolist() == satisfied.tolist()
    lost = plain.unsatisfied_weight(assignment)
    assert three_sat.unsatisfied_weight(assignment) == lost


@given(formulas_with_assignments(max_variables=5))
def test_the_form_of_the_form_satisfies_as_much(pair):
    formula, assignment = pair
    once = formula.three_sat()
    twice = once.as_formula().three_sat()
    assert (twice.n_fresh, twice.n_clauses) == (0, once.n_clauses)
    extended = once.extend(assignment)
    lost = once.unsatisfied_weight(extended)
    assert twice.unsatisfied_weight(twice.extend(extended)) == lost


@pytest.mark.parametrize("case", case_parameters("satlib", "cadical", "dense"))
def test_counts_of_the_cases(case):
    three_sat = read_dimacs(case.path).formula.three_sat()
    counts = {"variables": three_sat.n_variables, "clauses": three_sat.n_clauses}
    assert counts == case.expected["three_sat"]


def test_weights_beyond_64_bits_and_long_clauses():
    formula = Formula.from_clauses([(), (1, 2, 3, 4)], weights=[MAX_WEIGHT] * 2)
    three_sat = formula.three_sat()
    assert three_sat.total_weight == 4 * MAX_WEIGHT
    assert three_sat.unsatisfied_weight(three_sat.extend([False] * 4)) == 2 * MAX_WEIGHT
    k = 10_000
    formula = Formula.from_clauses([range(1, k + 1)])
    three_sat = formula.three_sat()
    assert (three_sat.n_variables, three_sat.n_clauses) == (2 * k - 3, k - 2)
    for true in (0, 1, 2, 5000, k - 2, k - 1):
        assignment = np.zeros(k, dtype=bool)
        assignment[true] = True
        assert three_sat.satisfied(three_sat.extend(assignment)).all()
    nothing = three_sat.satisfied(three_sat.extend(np.zeros(k, dtype=bool)))
    assert np.count_nonzero(~nothing) == 1


def test_hard_clauses_and_too_many_fresh_variables_are_refused():
    formula = Formula.from_clauses([(1,), (2,)], hard=[False, True])
    with pytest.raises(ValueError, match="clause 1 is hard"):
        formula.three_sat()
    widths = np.array([6, 6])
    literals = np.arange(1, 13, dtype=np.int32)
    assert _chains(MAX_VARIABLE - 6, widths, literals)[0] == MAX_VARIABLE
    with pytest.raises(ValueError, match="needs 2147483648 variables"):
        _chains(MAX_VARIABLE - 5, widths, literals)


@pytest.mark.parametrize("method", ["extend", "restrict", "satisfied"])
def test_assignments_of_the_wrong_length(method):
    three_sat = Formula.from_clauses([range(1, 8)]).three_sat()
    with pytest.raises(ValueError, match="assignment"):
        getattr(three_sat, method)([True] * 8)
