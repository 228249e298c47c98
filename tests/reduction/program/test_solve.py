"""The program with a start, a cut-off and a lean model: nothing is lost."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.reduction.family.family import Family
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.program import program
from olivine.reduction.program.optimum import check, optimum
from olivine.reduction.program.program import FORMS, FORMULATIONS, build, solve_program
from olivine.solvers.lp import solve_lp
from olivine.solvers.milp.milp import available_engines
from olivine.solvers.model import LinearModel, Variable
from olivine.solvers.outcome import LinearOutcome, Status

from tests.support.cases import CASES
from tests.support.depth import deep, spread, with_rows
from tests.support.families import (
    ALL_EIGHT,
    as_three_sat,
    best_assignments,
    families,
    solvable_families,
)

QUICK = [name for name in FORMULATIONS if name != "faithful"]


def check_solved(built, outcome) -> None:
    """The optimum is that of enumeration, and attained exactly."""
    family = built.family
    least, _ = best_assignments(family.three_sat)
    assert outcome.status is Status.OPTIMAL, outcome.reason
    assert not outcome.exact
    value = check(family, built.pair(outcome.values))
    assert value == optimum(family.parameters, least)
    assert outcome.objective == pytest.approx(float(value), abs=1e-7)


@pytest.mark.parametrize("engine", available_engines())
@given(data=st.data())
@settings(max_examples=deep(40, 3))  # some MILPs each
def test_the_optimum_is_that_of_enumeration_from_any_start(engine, data) -> None:
    sizes = {"max_variables": 5, "max_clauses": 9, "max_width": 5}
    family = data.draw(solvable_families(**sizes))
    n = family.n_variables
    anyhow = st.lists(st.booleans(), min_size=n, max_size=n)
    start = data.draw(st.none() | anyhow)
    for formulation in QUICK:
        built = build(family, formulation, data.draw(st.sampled_from(FORMS)))
        outcome = solve_program(built, engine=engine, known=start)
        check_solved(built, outcome)
        assert len(outcome.values) == len(built.model.variables)


@pytest.mark.parametrize("engine", available_engines())
@given(family=solvable_families(max_variables=2, max_clauses=2))
@settings(max_examples=deep(15, 2))
def test_faithful_is_solved_as_it_stands(engine, family) -> None:
    built = build(family, "faithful")
    check_solved(built, solve_program(built, engine=engine))


def fixed(model: LinearModel, values: dict[int, Fraction]) -> LinearModel:
    """The linear relaxation with some variables fixed."""
    variables = [
        Variable(v.name, values.get(j, v.lower), values.get(j, v.upper), False)
        for j, v in enumerate(model.variables)
    ]
    return replace(model, variables=variables)


@given(data=st.data())
@settings(max_examples=deep(60, 8))
def test_the_relaxation_of_strengthened_implies_what_lean_leaves_out(data) -> None:
    """For each fractional t, by exact linear programs."""
    family = data.draw(families(max_variables=3, max_clauses=2, weighted=False))
    built = build(family, "strengthened", data.draw(st.sampled_from(FORMS)))
    share = st.fractions(0, 1, max_denominator=6)
    truth = {t: data.draw(share) for t in built.truth_index}
    lean = built.lean()
    # The order of the rows stays, so the longer model has those of the other.
    named = {row.name for row in built.model.rows} - {row.name for row in lean.rows}
    assert len(lean.rows) == len(built.model.rows) - len(named)
    assert all(re.match(r"maximum\(|greedy\(|C\d+, (signs|\[quit\])", x) for x in named)
    assert len(named) >= 8 * family.n_clauses
    whole = solve_lp(fixed(built.model, truth), exact=True)
    short = solve_lp(fixed(lean, truth), exact=True)
    assert whole.status is short.status is Status.OPTIMAL
    assert whole.objective == short.objective


@given(data=st.data())
@settings(max_examples=deep(60, 10))
def test_lean_models_are_relaxations_whose_points_are_read(data) -> None:
    """Every integral x: the lean optimum is that of the certificate, or [try C]."""
    family = data.draw(families(max_variables=3, max_clauses=3, weighted=False))
    built = build(family, "projected")
    bits = data.draw(st.lists(st.booleans(), min_size=family.n_variables))
    bits = np.resize(np.array([*bits, True]), family.n_variables)
    chosen = {x: Fraction(int(b)) for x, b in zip(built.truth_index, bits, strict=True)}
    if built.try_index is not None:
        chosen[built.try_index] = Fraction(0)
    found = solve_lp(fixed(built.lean(), chosen), exact=True)
    left = family.three_sat.unsatisfied_weight(bits)
    loss = family.parameters.reach * family.top * left / (3 * family.total_weight)
    assert found.objective == family.parameters.best - loss
    assert all(found.values[y].denominator == 1 for y in built.missing_index.values())


def test_the_models_as_written_do_not_change() -> None:
    for formulation in QUICK:
        built = build(Family(as_three_sat(ALL_EIGHT, 3)), formulation)
        before = repr(built.model)
        solve_program(built)
        assert repr(built.model) == before
        assert built.lean() is not built.model


def asked_of(monkeypatch, **claims) -> list[LinearModel]:
    """Let the engine claim what it is told to; return what it was asked."""
    asked: list[LinearModel] = []

    def engine(model, *, engine, time_limit):
        asked.append(model)
        return LinearOutcome(Status.UNKNOWN, None, None, 0.0, engine)._replace(**claims)

    monkeypatch.setattr(program, "solve_milp", engine)
    return asked


EIGHT = Family(as_three_sat(ALL_EIGHT, 3))
TWO_LEFT = Family(as_three_sat([*ALL_EIGHT, [1, 2, 3]], 3))
BAD = [False, False, False]  # leaves the clause 1 2 3 twice


@pytest.mark.parametrize("formulation", QUICK)
def test_the_engine_must_find_or_exclude_the_next_value(
    monkeypatch, formulation
) -> None:
    asked = asked_of(monkeypatch, status=Status.INFEASIBLE)
    outcome = solve_program(build(TWO_LEFT, formulation), known=BAD)
    cut = asked[0].rows[-1]
    assert (cut.name, cut.sense) == ("cut-off", ">=")
    assert cut.rhs + asked[0].objective_constant == 1 - Fraction(1, 27)
    # A false word, which other routes contradict: the optimum is 26/27.
    assert outcome.status is Status.OPTIMAL
    assert outcome.objective == outcome.bound == float(1 - Fraction(2, 27))


@pytest.mark.parametrize("formulation", QUICK)
def test_a_bad_start_is_improved(formulation) -> None:
    built = build(TWO_LEFT, formulation)
    check_solved(built, solve_program(built, known=BAD))


@with_rows(
    "claims, reason",
    ({"reason": "time limit reached"}, "time limit reached"),
    ({"status": Status.INFEASIBLE_OR_UNBOUNDED}, "says infeasible-or-unbounded"),
)
def test_without_a_word_of_the_engine_the_start_is_feasible(
    monkeypatch, claims, reason
) -> None:
    asked_of(monkeypatch, **claims)
    built = build(TWO_LEFT, "strengthened")
    outcome = solve_program(built, known=BAD)
    assert outcome.status is Status.FEASIBLE
    assert reason in outcome.reason
    assert check(TWO_LEFT, built.pair(outcome.values)) == 1 - Fraction(2, 27)


@pytest.mark.children
def test_no_time_leaves_the_start() -> None:
    outcome = solve_program(build(EIGHT, "strengthened"), time_limit=0)
    assert outcome.status is Status.FEASIBLE
    assert "time limit" in outcome.reason
    assert outcome.values is not None


def test_a_wrong_start_is_refused(monkeypatch) -> None:
    built = build(EIGHT, "projected")
    with pytest.raises(ValueError):
        solve_program(built, known=[True])
    with pytest.raises(ValueError, match="engine 'none' is not available"):
        solve_program(built, engine="none")
    wrong = [Fraction(2)] * len(built.model.variables)
    monkeypatch.setattr(type(built), "point", lambda self, assignment: wrong)
    with pytest.raises(RuntimeError, match="the start misses x1 by 1"):
        solve_program(built)


@pytest.mark.parametrize("formulation", spread(QUICK, 1))
def test_a_formula_that_was_hard_takes_few_nodes(formulation) -> None:
    """uuf50-01: 799 nodes of `strengthened` as written, 20 s."""
    formula = read_dimacs(CASES / "satlib" / "uuf50-01.cnf").formula
    built = build(Family(formula.three_sat()), formulation)
    outcome = solve_program(built)
    assert outcome.status is Status.OPTIMAL
    assert check(built.family, built.pair(outcome.values)) == 1 - Fraction(1, 3 * 218)
    assert outcome.nodes < 100


@pytest.mark.long
@pytest.mark.parametrize("engine", available_engines())
@pytest.mark.parametrize("seed", range(6))
def test_random_formulas_by_every_engine(engine, seed) -> None:
    rng = np.random.default_rng(seed)
    family = Family(random_ksat(10, 60 + 10 * seed, 3, rng).three_sat())
    for formulation in QUICK:
        built = build(family, formulation)
        check_solved(built, solve_program(built, engine=engine))
