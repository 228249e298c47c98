"""3-SAT as multi-data-set classification: the reduction's whole contract."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from olivine.algorithms.oracles import exact_cost
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.multi import MultiStatus
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.multi import LIMIT, MultiInstance, verify_multi_hardness

from tests.support.commands import CASES, expected
from tests.support.depth import spread
from tests.support.families import assignments as all_assignments
from tests.support.formulas import formulas, formulas_with_assignments

SMALL = [
    (folder, row)
    for folder in ("cadical", "dense", "satlib")
    for row in expected(folder)
    if row["three_sat"]["clauses"] <= 100
]


@given(formulas_with_assignments(weighted=False))
def test_certificates_forward_and_back_and_sizes(drawn):
    formula, values = drawn
    three_sat = formula.three_sat()
    instance = MultiInstance(three_sat)
    assignment = three_sat.extend(values)
    policy = instance.policy(assignment)
    assert instance.assignment(policy).tolist() == assignment.tolist()
    costs = [exact_cost(policy, s.data, s.costs) for s in instance.sets]
    satisfied = three_sat.satisfied(assignment)
    # The certificate: at most 2/3 exactly for satisfied clauses, else 1.
    assert [c <= LIMIT for c in costs] == satisfied.tolist()
    assert all(c == 1 for c, s in zip(costs, satisfied, strict=True) if not s)
    assert instance.violation(policy) == (0 if satisfied.all() else Fraction(1, 3))
    assert instance.declared_sizes() == instance.measured_sizes()
    opposite = instance.policy(~assignment)
    halves = [
        (c + exact_cost(opposite, s.data, s.costs)) / 2
        for c, s in zip(costs, instance.sets, strict=True)
    ]
    assert set(halves) == {Fraction(1, 2)}


@given(formulas(weighted=False, max_width=4))
@settings(max_examples=25, deadline=None)
def test_feasible_exactly_if_satisfiable(formula):
    every = all_assignments(formula.n_variables)
    satisfiable = any(formula.satisfied(a).all() for a in every)
    found = verify_multi_hardness(formula)
    assert found.satisfiable is satisfiable
    assert found.agree is True
    assert (found.assignment is not None) == satisfiable
    assert found.mixture.honoured


@pytest.mark.parametrize(("folder", "row"), spread(SMALL, 5), ids=lambda v: str(v)[:30])
def test_cases_from_files(folder, row):
    formula = read_dimacs(CASES / folder / row["file"]).formula
    found = verify_multi_hardness(formula, time_limit=20)
    assert found.satisfiable is row["satisfiable"]
    assert found.agree is True
    assert found.instance.declared_sizes().data_sets == row["three_sat"]["clauses"]
    assert found.mixture.feasible
    if found.satisfiable:
        assert formula.satisfied(found.assignment).all()


@pytest.mark.parametrize("method", ["multiplicative-weights", "column-generation"])
def test_mixtures_never_tell(method):
    rows = [[a, b, c] for a in (1, -1) for b in (2, -2) for c in (3, -3)]
    instance = MultiInstance(Formula.from_clauses(rows).three_sat())
    for epsilon in (0.3, 0.01, 1e-9):
        found = instance.solve(method, epsilon_feas=epsilon)
        assert found.feasible
        assert found.violation <= epsilon
    one = instance.solve("deterministic")
    assert one.status is MultiStatus.INFEASIBLE
    assert one.certificate is None  # there can be none: a mixture exists
    assert not one.proved


def test_csc_is_easy_there_and_tolerances_that_say_nothing_are_refused():
    rows = [[1, 2, -3], [-1, 2, 3], [1, -2, 3]]
    instance = MultiInstance(Formula.from_clauses(rows).three_sat())
    for item in instance.sets:
        found = csc(instance.policy_class, item.data, item.costs, epsilon_sub=1e-9)
        assert found.exact_cost == 0
    instance = MultiInstance(Formula.from_clauses([[1]]).three_sat())
    for epsilon in (0, 1 / 3 + 1e-9, 1.0):
        with pytest.raises(ValueError, match="epsilon_feas"):
            instance.solve("deterministic", epsilon_feas=epsilon)
    with pytest.raises(ValueError, match="shape"):
        instance.policy(np.array([True, False]))


def test_one_vote_is_no_agreement():
    found = verify_multi_hardness(Formula.from_clauses([[1, 2]]))
    votes = [r for r in found.routes.values() if r.satisfiable is not None]
    assert len(votes) >= 2
    one = dict(list(found.routes.items())[:1])
    assert dataclasses.replace(found, routes=one).agree is None
    two = dict(list(found.routes.items())[:2])
    assert dataclasses.replace(found, routes=two).agree is True
    assert dataclasses.replace(found, contradictions=("what",)).agree is False
