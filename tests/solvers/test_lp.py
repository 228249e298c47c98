"""Linear programs by HiGHS, their exact confirmation, sessions, and large arrays."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.solvers.child.child import run_in_child
from olivine.solvers.lp import LpSession, dual_bound, refutes, simplex, solve_lp
from olivine.solvers.lp import highs as engine
from olivine.solvers.lp.highs import TOLERANCE, ArrayLp
from olivine.solvers.model import LinearModel
from olivine.solvers.outcome import LinearOutcome, Status
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from tests.support import linear
from tests.support.refusals import refused


def check_exact(model: LinearModel, outcome: LinearOutcome, optimum: Fraction | None):
    """Everything that an exact outcome promises."""
    assert outcome.exact
    if optimum is None:
        assert outcome.status is Status.INFEASIBLE
        assert outcome.values is None
        assert outcome.objective is None
        assert refutes(model, outcome.multipliers)
        return
    assert outcome.status is Status.OPTIMAL
    assert outcome.objective == outcome.bound == optimum
    assert isinstance(outcome.objective, Fraction)
    assert all(isinstance(v, Fraction) for v in outcome.values)
    assert linear.relaxation(model).is_feasible(outcome.values)
    assert model.objective_value(outcome.values) == optimum
    assert dual_bound(model, outcome.multipliers) == optimum


@given(linear.linear_models(integer=True))
@settings(max_examples=150)
def test_exact_agrees_with_the_vertices(model):
    check_exact(model, solve_lp(model, exact=True), linear.brute_force_lp(model))


@given(linear.linear_models())
@settings(max_examples=150)
def test_floats_agree_with_exact(model):
    exact, floats = solve_lp(model, exact=True), solve_lp(model)
    assert floats.status is exact.status
    assert not floats.exact
    if floats.status is Status.OPTIMAL:
        assert type(floats.objective) is float
        assert all(type(v) is float for v in floats.values)
        assert floats.objective == pytest.approx(float(exact.objective), abs=1e-6)
        if model.variables:
            bound = float(dual_bound(model, floats.multipliers))
            assert bound == pytest.approx(floats.objective, abs=1e-6)


def random_program(rng: np.random.Generator, n: int, m: int) -> LinearModel:
    """Draw a feasible program, dense, with many ties."""
    model = LinearModel(maximise=bool(rng.integers(2)))
    for j in range(n):
        model.add_variable(f"x{j}", 0, 10)
    point = rng.integers(0, 11, n)
    for _ in range(m):
        coefficients = rng.integers(-3, 4, n)
        rhs = int(coefficients @ point)
        sense = linear.SENSES[rng.integers(2)]
        model.add_row(range(n), coefficients.tolist(), sense, rhs)
    costs = rng.integers(-3, 4, n).tolist()
    model.set_objective(range(n), costs, maximise=model.maximise)
    return model


@pytest.mark.parametrize("seed", range(4))
def test_larger_programs_agree_with_scipy(seed):
    model = random_program(np.random.default_rng(seed), 40, 30)
    outcome = solve_lp(model, exact=True)
    check_exact(model, outcome, outcome.objective)
    signs = [1 if row.sense == "<=" else -1 for row in model.rows]
    table = np.zeros((30, 40))
    for i, row in enumerate(model.rows):
        table[i, list(row.indices)] = [signs[i] * float(c) for c in row.coefficients]
    costs = np.zeros(40)
    sign = -1 if model.maximise else 1
    for j, cost in model.objective.items():
        costs[j] = sign * cost
    rhs = [s * float(row.rhs) for s, row in zip(signs, model.rows, strict=True)]
    reference = linprog(costs, table, rhs, bounds=(0, 10), method="highs-ipm")
    assert sign * reference.fun == pytest.approx(float(outcome.objective))


def test_differences_below_every_tolerance_are_seen():
    tiny = Fraction(1, 10**30)
    model = LinearModel()
    model.add_variable("x", 0, 1)
    model.add_variable("y", 0, 1)
    model.add_row([0, 1], [1, 1 + tiny], "<=", 1)
    model.set_objective([0, 1], [1, 1], maximise=True)
    check_exact(model, solve_lp(model, exact=True), Fraction(1))
    model.add_row([0], [1], "<=", 0)
    check_exact(model, solve_lp(model, exact=True), 1 / (1 + tiny))
    model.add_row([1], [1], ">=", 1)
    check_exact(model, solve_lp(model, exact=True), None)


def test_a_wrong_basis_is_repaired(monkeypatch):
    model = random_program(np.random.default_rng(7), 12, 8)
    right = solve_lp(model, exact=True)
    for wrong in (None, simplex.Basis((0, 1), (0, 1)), simplex.Basis((0,), (3, 4))):
        monkeypatch.setattr(engine, "basis_of", lambda _, basis=wrong: basis)
        check_exact(model, solve_lp(model, exact=True), right.objective)


def test_a_false_optimum_is_not_believed(monkeypatch):
    model = LinearModel()
    model.add_variable("x", 0, 1)
    model.set_objective([0], [1], maximise=True)
    lie = simplex.SimplexResult("optimal", (Fraction(1, 2),), (), simplex.Basis(), 0)
    monkeypatch.setattr(simplex, "solve", lambda *_, **__: lie)
    refused("fails its check", solve_lp, model, exact=True, error=AssertionError)
    lie = simplex.SimplexResult("infeasible", (), (), simplex.Basis(), 0)
    monkeypatch.setattr(simplex, "solve", lambda *_, **__: lie)
    refused("fails its check", solve_lp, model, exact=True, error=AssertionError)


def test_time_limits():
    model = random_program(np.random.default_rng(3), 60, 40)
    for exact in (True, False):
        outcome = solve_lp(model, exact=exact, time_limit=0.0)
        assert outcome.status is Status.UNKNOWN
        assert "ime limit" in outcome.reason
        assert outcome.values is None
        refused("time limit", solve_lp, model, exact=exact, time_limit=-1)
        refused("time limit", solve_lp, model, exact=exact, time_limit=float("nan"))


@given(linear.linear_models(max_rows=3), st.data())
def test_a_session_is_as_good_as_a_new_program(model, data):
    session = LpSession(model)
    before = (list(model.variables), list(model.rows), dict(model.objective))
    reference = linear.relaxation(model)
    n = len(model.variables)
    for _ in range(data.draw(st.integers(1, 5))):
        change = data.draw(
            st.sampled_from(["add", "replace", "remove", "bounds", "objective"])
        )
        indices = data.draw(st.lists(st.integers(0, n - 1), max_size=n)) if n else []
        coefficients = [data.draw(linear.rationals()) for _ in indices]
        sense = data.draw(st.sampled_from(linear.SENSES))
        rhs = data.draw(linear.rationals())
        if change == "add":
            session.add_row(indices, coefficients, sense, rhs)
            reference.add_row(indices, coefficients, sense, rhs)
        elif change == "replace" and reference.rows:
            i = data.draw(st.integers(0, len(reference.rows) - 1))
            session.replace_row(i, indices, coefficients, sense, rhs)
            reference.add_row(indices, coefficients, sense, rhs)
            reference.rows[i] = reference.rows.pop()
        elif change == "remove":
            chances = [data.draw(st.booleans()) for _ in reference.rows]
            gone = {i for i, chance in enumerate(chances) if chance}
            session.remove_rows(gone)
            reference.rows = [
                row for i, row in enumerate(reference.rows) if i not in gone
            ]
        elif change == "bounds" and n:
            j = data.draw(st.integers(0, n - 1))
            lower = data.draw(linear.rationals())
            upper = lower + abs(rhs)
            session.set_bounds(j, lower, upper)
            old = reference.variables[j]
            reference.variables[j] = type(old)(old.name, lower, upper, False)
        elif change == "objective":
            maximise = data.draw(st.booleans())
            for program in (session, reference):
                program.set_objective(
                    indices, coefficients, maximise=maximise, constant=rhs
                )
        if data.draw(st.booleans()):
            floats, fresh = session.solve(), solve_lp(reference, exact=True)
            assert floats.status is fresh.status
            if fresh.objective is not None:
                assert floats.objective == pytest.approx(
                    float(fresh.objective), abs=1e-6
                )
            check_exact(reference, session.solve(exact=True), fresh.objective)
    assert (list(model.variables), list(model.rows), dict(model.objective)) == before
    assert session.model.variables == reference.variables
    assert [r.coefficients for r in session.model.rows] == [
        r.coefficients for r in reference.rows
    ]


def test_a_session_refuses_bad_changes_and_goes_on():
    model = random_program(np.random.default_rng(1), 5, 3)
    session = LpSession(model)
    first = session.solve(exact=True)
    refused("no variable with index 9", session.replace_row, 0, [9], [1], "<=", 1)
    refused("no variable with index 9", session.add_row, [9], [1], "<=", 1)
    refused("no such rows", session.remove_rows, [3])
    refused("'x2'", session.set_bounds, 2, 1, 0)
    refused("no variable with index 9", session.set_objective, [9], [1], maximise=True)
    with pytest.raises(IndexError):
        session.replace_row(3, [0], [1], "<=", 1)
    again = session.solve(exact=True)
    assert (again.objective, again.status) == (first.objective, first.status)


def test_a_session_starts_from_its_last_basis(monkeypatch):
    session = LpSession(random_program(np.random.default_rng(5), 60, 40))
    session.solve()
    session.add_row([0, 1, 2], [1, 1, 1], "<=", 12)
    session.solve()
    assert session._highs.getInfo().simplex_iteration_count < 10


QUIET = """
import sys
from olivine.solvers.lp import solve_lp
from olivine.solvers.model import LinearModel
model = LinearModel()
model.add_variable("x", 0, 1)
model.set_objective([0], [1], maximise=True)
print(solve_lp(model, exact=True).objective)
"""


def test_standard_output_is_clean_or_closed():
    done = subprocess.run(
        [sys.executable, "-c", QUIET], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"
    assert done.stderr == ""
    code = "import os; os.close(1)\n" + QUIET.replace("print(", "assert 1 == (")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_another_thread_count_in_the_process_is_no_trouble():
    model = random_program(np.random.default_rng(2), 10, 5)
    try:
        engine.forget_threads(wait=True)
        other = highspy.Highs()
        engine.set_options(other, output_flag=False, threads=2)
        other.addVar(0, 1)
        other.run()
        assert solve_lp(model).status is Status.OPTIMAL
    finally:
        engine.forget_threads(wait=True)


def _optimum(model: LinearModel) -> float | Fraction | None:
    engine.forget_threads()
    return solve_lp(model).objective


@pytest.mark.children
def test_a_child_is_not_hung_by_its_parents_threads():
    model = random_program(np.random.default_rng(2), 10, 5)
    try:
        engine.forget_threads(wait=True)
        other = engine.new_highs(threads=2)
        other.addVar(0, 1)
        other.run()
        result = run_in_child(_optimum, model, time_limit=30)
    finally:
        engine.forget_threads(wait=True)
    assert result.status == "done"
    assert result.value == pytest.approx(float(solve_lp(model, exact=True).objective))


def test_an_unknown_option_is_told():
    refused("no_such_option", engine.set_options, engine.new_highs(), no_such_option=1)


entries = st.integers(-4, 4)


@st.composite
def array_programs(draw):
    n = draw(st.integers(1, 4))
    m = draw(st.integers(0, 4))
    row = st.lists(entries, min_size=n, max_size=n)
    matrix = np.array(draw(st.lists(row, min_size=m, max_size=m))).reshape(m, n)
    low = [draw(st.sampled_from([-np.inf, -2.0, 0.0, 1.0])) for _ in range(m)]
    high = [draw(st.sampled_from([np.inf, 0.0, 1.0, 3.0])) for _ in range(m)]
    high = [max(a, b) for a, b in zip(low, high, strict=True)]
    return matrix.astype(float), np.array(low), np.array(high), np.array(draw(row))


def in_rationals(matrix, low, high, costs, maximise):
    model = LinearModel()
    for j in range(len(costs)):
        model.add_variable(f"x{j}", -1, 2)
    columns = list(range(len(costs)))
    for row, lower, upper in zip(matrix, low, high, strict=True):
        coefficients = [Fraction(v) for v in row]
        if np.isfinite(lower):
            model.add_row(columns, coefficients, ">=", Fraction(lower))
        if np.isfinite(upper):
            model.add_row(columns, coefficients, "<=", Fraction(upper))
    model.set_objective(columns, [Fraction(int(c)) for c in costs], maximise=maximise)
    return LpSession(model).solve(exact=True)


@given(array_programs(), st.booleans())
def test_values_and_multipliers(program, maximise):
    matrix, low, high, costs = program
    engine = ArrayLp(np.full(len(costs), -1.0), np.full(len(costs), 2.0))
    for i in range(len(matrix)):  # one by one, solving in between
        engine.add_rows(csr_matrix(matrix[i : i + 1]), low[i : i + 1], high[i : i + 1])
        engine.solve(costs.astype(float), maximise=not maximise)
    found = engine.solve(costs.astype(float), maximise=maximise)
    truth = in_rationals(matrix, low, high, costs, maximise)
    if truth.status is Status.INFEASIBLE:
        assert found.status is not Status.OPTIMAL
        assert found.values is None
        return
    assert found.status is Status.OPTIMAL
    assert costs @ found.values == pytest.approx(float(truth.objective), abs=1e-6)
    # Weak duality with the multipliers gives the optimum from the other side.
    sign = 1.0 if maximise else -1.0
    y = sign * found.multipliers
    side = np.where(y > 0, high, low)
    y, side = np.where(np.isfinite(side), y, 0), np.where(np.isfinite(side), side, 0)
    reduced = sign * costs - matrix.T @ y
    bound = y @ side + np.maximum(-reduced, 2 * reduced).sum()
    assert bound == pytest.approx(sign * float(truth.objective), abs=1e-6)


def test_data_that_highs_refuses_fail_loudly():
    engine = ArrayLp(np.zeros(1), np.ones(1))
    with pytest.raises(ValueError, match="refuses"):
        engine.add_rows(csr_matrix([[1.0, 1.0]]), np.zeros(1), np.ones(1))


def test_the_tolerance_asked_of_engines_is_the_one_on_the_page():
    page = Path(__file__).parents[2] / "docs" / "oracles.md"
    (named,) = re.findall(r"HiGHS's tolerance of (\S+)", page.read_text("utf-8"))
    assert float(named) == TOLERANCE
