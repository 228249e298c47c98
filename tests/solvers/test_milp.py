"""MILP engines through PuLP: right answers, honest statuses, exact points."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pulp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.solvers.child.child import run_in_child
from olivine.solvers.lp import branch_and_bound
from olivine.solvers.lp import highs as highs_module
from olivine.solvers.milp import milp
from olivine.solvers.model import LinearModel
from olivine.solvers.model.integer_form import IntegerForm
from olivine.solvers.outcome import LinearOutcome, Status

from tests.support.depth import deep, with_rows
from tests.support.linear import (
    brute_force_milp,
    linear_models,
    market_split,
    small_knapsack,
    vertices,
)
from tests.support.refusals import refused

ENGINES = milp.available_engines()
every_engine = pytest.mark.parametrize("engine", ENGINES)
STEPS = dict.fromkeys(ENGINES, deep(30, 4)) | {"highs": deep(60, 8)}  # a child each


def least_miss(rows: int, columns: int, seed: int) -> int:
    """Solve the same program over all choices."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 100, (rows, columns))
    choices = (np.arange(2**columns)[:, None] >> np.arange(columns)) & 1
    misses = np.abs(choices @ weights.T - weights.sum(axis=1) // 2)
    return int(misses.sum(axis=1).min())


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_agree_with_enumeration(engine):
    @given(linear_models(integer=True))
    @settings(max_examples=STEPS[engine])
    @example(LinearModel())
    @example(small_knapsack())
    def check(model: LinearModel) -> None:
        optimum = brute_force_milp(model)
        outcome = milp.solve_milp(model, engine=engine, time_limit=60)
        assert not outcome.exact
        assert outcome.engine == engine
        if optimum is None:
            assert outcome.status is Status.INFEASIBLE
            assert outcome.values is None
            assert outcome.objective is None
            assert milp.confirm(model, outcome).status is Status.INFEASIBLE
            return
        assert outcome.status is Status.OPTIMAL
        assert outcome.objective == pytest.approx(float(optimum), abs=1e-6)
        assert len(outcome.values) == len(model.variables)
        for variable, value in zip(model.variables, outcome.values, strict=True):
            assert not variable.integer or value == round(value)
        if outcome.bound is not None:
            assert outcome.bound == pytest.approx(float(optimum), abs=1e-6)
        point = milp.confirm(model, outcome)
        assert point.exact
        assert model.is_feasible(point.values)
        assert point.objective == model.objective_value(point.values) == optimum
        proved = milp.confirm(model, outcome, bound=optimum)
        assert proved.status is Status.OPTIMAL
        assert proved.bound == proved.objective == optimum

    check()


@every_engine
def test_gaps_are_zero(engine):
    """With a gap of 1e-4, HiGHS's default, misses of up to 100 are as good as 0."""
    model = market_split(2, 14, 1, base=10**6)
    outcome = milp.solve_milp(model, engine=engine)
    assert outcome.status is Status.OPTIMAL
    assert outcome.objective == pytest.approx(10**6 + least_miss(2, 14, 1), abs=1e-3)
    assert milp.confirm(model, outcome).objective == 10**6 + least_miss(2, 14, 1)


def test_default_gaps_would_be_wrong():
    """The test above tests something."""

    def answer() -> float:
        highs_module.forget_threads()
        problem = milp.to_pulp(market_split(2, 14, 1, base=10**6)).problem
        problem.solve(pulp.HiGHS(msg=False))
        return float(problem.solverModel.getObjectiveValue())

    assert run_in_child(answer).value > 10**6 + least_miss(2, 14, 1) + 0.5


@pytest.mark.children
@every_engine
def test_time_limit_is_never_optimal(engine):
    model = market_split(4, 32, 0)
    outcome = milp.solve_milp(model, engine=engine, time_limit=0.4)
    assert outcome.status in (Status.FEASIBLE, Status.UNKNOWN)
    assert outcome.reason
    if outcome.bound is not None and outcome.objective is not None:
        assert outcome.bound <= outcome.objective
    point = milp.confirm(model, outcome)
    assert point.status is outcome.status
    if point.values is not None:
        assert model.is_feasible(point.values)


@pytest.mark.children
@every_engine
def test_no_time_and_no_memory_are_unknown(engine):
    model = market_split(4, 32, 0)
    outcome = milp.solve_milp(model, engine=engine, time_limit=0)
    assert outcome.status is Status.UNKNOWN
    assert outcome.values is None
    assert "time limit" in outcome.reason
    outcome = milp.solve_milp(model, engine=engine, memory_limit=1, time_limit=60)
    assert outcome.status is Status.UNKNOWN
    assert "memory" in outcome.reason


@pytest.mark.children
def test_threads_are_the_childs_own():
    """Neither the pool of this process nor its size matters."""
    try:
        highs_module.forget_threads(wait=True)
        other = highs_module.new_highs(threads=2)
        other.addVar(0, 1)
        other.run()
        for threads in (1, 2):
            outcome = milp.solve_milp(small_knapsack(), threads=threads, time_limit=60)
            assert outcome.status is Status.OPTIMAL
    finally:
        highs_module.forget_threads(wait=True)


def test_bad_arguments_are_told_and_numbers_beyond_engines_unknown():
    model = small_knapsack()
    with pytest.raises(ValueError, match="'gurobi' is not available; there is highs"):
        milp.solve_milp(model, engine="gurobi")
    refused("threads 0", milp.solve_milp, model, threads=0)
    for bad in (-1, float("nan")):
        refused("time limit", milp.solve_milp, model, time_limit=bad)
    model = LinearModel()
    model.add_variable("x", 0, 1, integer=True)
    model.add_row([0], [10**15], "<=", 10**16 + 1, "heavy")
    outcome = milp.solve_milp(model)
    assert outcome.status is Status.UNKNOWN
    assert "'heavy'" in outcome.reason
    refused(r"'heavy': .* about 17 digits", milp.to_pulp, model)


QUIET = """
import sys
from olivine.solvers.milp.milp import solve_milp
from olivine.solvers.model import LinearModel
model = LinearModel()
model.add_variable("x", 0, 1, integer=True)
model.set_objective([0], [1], maximise=True)
print(solve_milp(model, engine=sys.argv[1]).objective)
"""


@every_engine
def test_standard_output_is_clean_and_temporary_paths_have_blanks(engine, tmp_path):
    folder = tmp_path / "a folder with blanks"
    folder.mkdir()
    places = {name: str(folder) for name in ("TMPDIR", "TMP", "TEMP")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", QUIET, engine],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **places},
    )
    assert done.stdout == "1.0\n"
    assert done.stderr == ""
    assert list(folder.iterdir()) == []


def proposal(*values: float, status: Status = Status.OPTIMAL) -> LinearOutcome:
    return LinearOutcome(status, 0.0, values, 0.0, "someone", bound=99.0, nodes=5)


def mixed() -> LinearModel:
    """max x + y with 3 x + 2 k ≤ 4, y ≤ k / 3, k whole."""
    model = LinearModel()
    x = model.add_variable("x", 0, 1)
    y = model.add_variable("y", 0, 1)
    k = model.add_variable("k", 0, 1, integer=True)
    model.add_row([x, k], [3, 2], "<=", 4)
    model.add_row([y, k], [3, -1], "<=", 0)
    model.set_objective([x, y], [1, 1], maximise=True)
    return model


def test_confirm_completes_the_integers_exactly():
    found = milp.confirm(mixed(), proposal(0.1, 0.2, 1 - 1e-7))
    assert found.status is Status.FEASIBLE
    assert found.exact
    assert found.values == (Fraction(2, 3), Fraction(1, 3), 1)
    assert found.objective == 1
    assert (found.bound, found.nodes, found.engine) == (99.0, 5, "someone")
    assert found.multipliers is None
    best = milp.confirm(mixed(), proposal(0.1, 0.2, 1), bound=1)
    assert best.status is Status.OPTIMAL
    assert best.bound == best.objective == 1
    open_ = milp.confirm(mixed(), proposal(0.1, 0.2, 1), bound=Fraction(3, 2))
    assert open_.status is Status.FEASIBLE
    assert open_.bound == Fraction(3, 2)


def test_confirm_proves_refutes_or_leaves_open():
    model = mixed()
    model.variables = [replace(v, integer=False) for v in model.variables]
    found = milp.confirm(model, proposal(0, 0, 0))
    assert found.status is Status.OPTIMAL
    assert found.objective == found.bound == Fraction(7, 6)
    assert found.multipliers is not None
    with pytest.raises(ValueError, match="value 1 refutes the bound 1/2"):
        milp.confirm(mixed(), proposal(0, 0, 1), bound=Fraction(1, 2))
    unknown = LinearOutcome(Status.UNKNOWN, None, None, 0.0, "x", reason="time")
    assert milp.confirm(mixed(), unknown) is unknown
    late = milp.confirm(mixed(), proposal(0, 0, 1), time_limit=0)
    assert late.status is Status.UNKNOWN
    assert "time limit" in late.reason


def test_confirm_believes_no_impossible_point():
    model = mixed()
    assert milp.confirm(model, proposal(0, 0, 2)).status is Status.UNKNOWN
    model.add_row([0, 2], [1, 1], ">=", 2)
    assert milp.confirm(model, proposal(1, 0, 1)).status is Status.UNKNOWN
    narrow = LinearModel()
    narrow.add_variable("k", Fraction(1, 3), Fraction(2, 3), integer=True)
    for value in (0, 0.5, 1):
        found = milp.confirm(narrow, proposal(value))
        assert found.status is Status.UNKNOWN
        assert "rounded integers" in found.reason
        assert not found.exact
    refused("2 values for 1 variables", milp.confirm, narrow, proposal(0, 0))


@given(linear_models(integer=True))
@settings(max_examples=deep(25, 6))  # a child process each
def test_the_pulp_problem_is_the_model(model):
    """Also for those who solve or write it with PuLP themselves."""
    made = milp.to_pulp(model)
    optimum = brute_force_milp(model)
    form = IntegerForm(model)
    assert made.names == form.names
    assert made.problem.sense == pulp.LpMinimize

    def by_pulp() -> tuple[float, ...] | None:
        highs_module.forget_threads()
        made.problem.solve(pulp.HiGHS(msg=False, gapRel=0.0, gapAbs=0.0))
        engine = made.problem.solverModel
        if highs_module.status_of(engine) is not Status.OPTIMAL:
            return None
        return float(engine.getObjectiveValue())

    value = run_in_child(by_pulp).value
    if optimum is None:
        assert value is None
    else:
        sign = -1 if made.negated else 1
        assert sign * value == pytest.approx(float(optimum), abs=1e-6)


@given(linear_models(integer=True))
def test_the_integer_form_is_the_model(model):
    form = IntegerForm(model)
    whole = LinearModel(maximise=False)
    for v in form.variables:
        whole.add_variable(v.name, v.lower, v.upper, integer=v.integer)
    for row in form.rows:
        whole.add_row(row.indices, row.coefficients, row.sense, row.rhs, row.name)
    whole.set_objective(
        list(form.objective), list(form.objective.values()), maximise=False
    )
    optimum = brute_force_milp(model)
    value = brute_force_milp(whole)
    assert (value is None) == (optimum is None)
    if optimum is not None:
        assert value == (-optimum if model.maximise else optimum)
    names = [v.name for v in form.variables] + [row.name for row in form.rows]
    assert len(set(names)) == len(names) == len(form.names)
    assert [form.names[f"x{j}"] for j in range(len(model.variables))] == [
        v.name for v in model.variables
    ]
    assert [form.names[f"c{i}"] for i in range(len(model.rows))] == [
        row.name for row in model.rows
    ]


@given(linear_models(integer=True, max_variables=3), st.booleans(), st.data())
def test_the_scaled_objective_is_the_models(model, defined, data):
    if defined:
        # Name the objective by a variable and an equation.
        z = model.add_variable("z", -1000, 1000)
        factor = data.draw(st.sampled_from([1, -2, Fraction(3, 7)]))
        indices, costs = [z, *model.objective], list(model.objective.values())
        coefficients = [factor, *(-factor * c for c in costs)]
        constant = model.objective_constant
        model.add_row(indices, coefficients, "==", factor * constant)
        model.set_objective(
            [z],
            [data.draw(st.sampled_from([1, 5]))],
            maximise=model.maximise,
            constant=constant,
        )
    scaled = milp.scaled_objective(model)
    numbers = scaled.model.objective.values()
    assert all(c.denominator == 1 for c in numbers)
    assert math.gcd(*(int(c) for c in numbers)) in (0, 1)
    assert scaled.scale > 0
    assert scaled.model.objective_constant == 0
    assert scaled.model.rows == model.rows
    for point in vertices(model):
        value = scaled.model.objective_value(point) / scaled.scale + scaled.constant
        assert value == model.objective_value(point)
        assert scaled.original(float(scaled.model.objective_value(point))) == (
            pytest.approx(float(value))
        )


def test_only_definitions_are_put_in():
    model = LinearModel()
    z = model.add_variable("z", 0, 1)
    x = model.add_variable("x", 0, 1, integer=True)
    model.add_row([z, x], [24, -23], "==", 0)
    model.set_objective([z], [1], maximise=True)
    assert milp.scaled_objective(model).model.objective == {x: 1}
    assert milp.scaled_objective(model).scale == Fraction(24, 23)
    model.add_row([z, x], [1, 1], "<=", 2)
    assert milp.scaled_objective(model).model.objective == {z: 1}
    model.rows = [replace(model.rows[0], sense="<=")]
    assert milp.scaled_objective(model).model.objective == {z: 1}


@every_engine
def test_objective_and_bound_are_the_models_own(engine):
    model = LinearModel()
    z = model.add_variable("g(s0)", 0, 1)
    misses = [model.add_variable(f"y{j}", 0, 1, integer=True) for j in range(3)]
    model.add_row([z, *misses], [1, *[Fraction(1, 9)] * 3], "==", 1)
    model.add_row(misses, [1, 1, 1], ">=", 1)
    model.set_objective([z], [1], maximise=True, constant=Fraction(1, 2))
    outcome = milp.solve_milp(model, engine=engine)
    assert outcome.objective == pytest.approx(8 / 9 + 1 / 2)
    assert outcome.values[z] == pytest.approx(8 / 9)
    if outcome.bound is not None:
        assert outcome.bound == pytest.approx(8 / 9 + 1 / 2)
    assert milp.confirm(model, outcome).objective == Fraction(25, 18)


@with_rows(
    "name, arguments, words",
    ("variable", ("y", 1, Fraction(1, 2)), "'y': lower bound 1 above upper 1/2"),
    ("row", ([0], [1], "<", 1, "r"), "row 'r': unknown sense '<'"),
    ("row", ([0, 0], [1], "<=", 1, "r"), "row 'r': .* differ in length"),
    ("row", ([0, 1], [1, 1], "<=", 1, "r"), "row 'r': no variable with index 1"),
    ("row", ([-1, 1], [1, 1], "<=", 1, "r"), "row 'r': no variable with index -1"),
)
def test_what_a_model_refuses_leaves_it_as_it_was(name, arguments, words) -> None:
    model = LinearModel()
    assert model.add_variable("x", 1, 1) == model.add_row([0, 0], [1, 2], "==", 3) == 0
    refused(words, getattr(model, f"add_{name}"), *arguments)
    (row,) = model.rows
    assert (len(model.variables), row.coefficients, row.name) == (1, (3,), "row0")


@with_rows(
    "upper, limit, expected",  # upper: of x, by a row; 1/3 to it, by bounds
    (Fraction(2, 5), 1, ("unknown", None, 1)),
    (Fraction(2, 5), 2, ("feasible", (0,), 2)),
    (Fraction(2, 5), 3, ("optimal", (0,), 3)),
    (Fraction(1, 2), 2, ("unknown", None, 2)),
    (Fraction(2, 3), None, ("optimal", (0,), 3)),
)
def test_the_nearer_side_is_searched_first(upper, limit, expected) -> None:
    row, bounds = LinearModel(), LinearModel()
    row.add_variable("x", 0, 1, integer=True)
    row.add_row([0], [1], "<=", upper)
    row.set_objective([0], [1], maximise=True)
    found = branch_and_bound(row, node_limit=limit)
    assert (found.status.value, found.values, found.nodes) == expected
    assert found.reason == ("" if expected[0] == "optimal" else "node limit reached")
    bounds.add_variable("x", Fraction(1, 3), upper, integer=True)
    found = branch_and_bound(bounds)
    assert (found.status, found.values, found.nodes) == (Status.INFEASIBLE, None, 0)
