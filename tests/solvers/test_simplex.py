"""Exact linear systems, weak duality, the simplex method and branch and bound."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.solvers.lp import branch_and_bound, dual_bound, refutes, simplex
from olivine.solvers.lp.simplex import factorise
from olivine.solvers.milp.milp import (
    confirm,
    has_long_rows,
    propose,
    solve_milp,
    solve_scaled_milp,
)
from olivine.solvers.model import LinearModel
from olivine.solvers.outcome import Status

from tests.support import linear
from tests.support.depth import with_rows
from tests.support.linear import brute_force_milp, linear_models


def dense(rows: list[dict[int, int]]) -> list[list[Fraction]]:
    return [[Fraction(row.get(c, 0)) for c in range(len(rows))] for row in rows]


@st.composite
def sparse_matrices(draw: st.DrawFn) -> list[dict[int, int]]:
    size = draw(st.integers(0, 6))
    entry = st.integers(-3, 3) | st.sampled_from([10**20, -(10**20) + 1])
    rows = []
    for _ in range(size):
        columns = draw(st.lists(st.integers(0, size - 1), unique=True))
        rows.append({c: a for c in columns if (a := draw(entry))})
    return rows


@given(sparse_matrices(), st.data())
@settings(max_examples=200)
def test_systems_are_solved_as_by_elimination(rows, data):
    size = len(rows)
    rhs = data.draw(st.lists(linear.rationals(), min_size=size, max_size=size))
    matrix = dense(rows)
    expected = linear.solve_square(matrix, rhs)
    factors = factorise(rows)
    assert (factors is None) == (expected is None)
    if factors is not None:
        assert factors.solve(rhs) == expected
        transposed = [list(column) for column in zip(*matrix, strict=True)]
        assert factors.solve_transposed(rhs) == linear.solve_square(transposed, rhs)


@pytest.mark.parametrize(
    ("size", "share", "largest"),
    [(17, 1.0, 1), (25, 1.0, 9), (40, 0.3, 5), (20, 1.0, 10**15), (60, 0.06, 3)],
)
def test_large_nuclei_are_solved(size, share, largest):
    draw = random.Random(size)
    rhs = [Fraction(draw.randint(-9, 9), draw.randint(1, 9)) for _ in range(size)]
    solved = 0
    while solved < 3:
        rows = [
            {
                c: draw.choice([-1, 1]) * draw.randint(1, largest)
                for c in range(size)
                if c == r or draw.random() < share
            }
            for r in range(size)
        ]
        factors = factorise(rows)
        if factors is None:
            continue
        solved += 1
        x, y = factors.solve(rhs), factors.solve_transposed(rhs)
        assert [sum(a * x[c] for c, a in row.items()) for row in rows] == rhs
        left = [
            sum(row.get(c, 0) * y[r] for r, row in enumerate(rows)) for c in range(size)
        ]
        assert left == rhs


def test_a_determinant_that_is_a_multiple_of_the_prime_is_not_0():
    prime = simplex._PRIME
    factors = factorise([{0: prime + 1, 1: 1}, {0: 1, 1: 1}])
    assert factors.solve([Fraction(1), Fraction(0)]) == [
        Fraction(1, prime),
        Fraction(-1, prime),
    ]
    assert factorise([{0: prime, 1: 2 * prime}, {0: 1, 1: 2}]) is None


def test_singular_large_nucleus_is_told():
    draw = random.Random(0)
    rows = [{c: draw.randint(1, 9) for c in range(30)} for _ in range(29)]
    rows.append({c: rows[0][c] + rows[1][c] for c in range(30)})
    assert factorise(rows) is None


@given(linear.linear_models(), st.data())
def test_any_multipliers_give_a_bound(model, data):
    size = len(model.rows)
    numbers = linear.rationals() | st.floats(-3, 3) | st.sampled_from([0, 10**30])
    multipliers = data.draw(st.lists(numbers, min_size=size, max_size=size))
    bound = dual_bound(model, multipliers)
    optimum = linear.brute_force_lp(model)
    if optimum is not None:
        assert bound >= optimum if model.maximise else bound <= optimum
        assert not refutes(model, multipliers)


def test_multipliers_are_checked_and_wrong_signs_prove_nothing():
    model = LinearModel()
    model.add_variable("x", 0, 1)
    model.add_row([0], [1], "<=", 1, "cap")
    with pytest.raises(ValueError, match="0 multipliers for 1 rows"):
        dual_bound(model, [])
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="'cap'"):
            refutes(model, [bad])
    model = LinearModel()
    model.add_variable("x", 0, 10)
    model.add_row([0], [1], "<=", 3)
    model.set_objective([0], [1], maximise=True)
    assert dual_bound(model, [1]) == 3
    assert dual_bound(model, [-1]) == dual_bound(model, [0]) == 10


@given(linear.linear_models())
@settings(max_examples=200)
def test_simplex_agrees_with_the_vertices(model):
    found = simplex.solve(model)
    optimum = linear.brute_force_lp(model)
    if optimum is None:
        assert found.status == "infeasible"
        assert refutes(model, found.multipliers)
        assert found.values == ()
    else:
        assert found.status == "optimal"
        assert model.objective_value(found.values) == optimum
        assert dual_bound(model, found.multipliers) == optimum
        if model.variables:
            assert found.values in set(linear.vertices(model))


@given(linear.linear_models(), st.data())
@settings(max_examples=100)
def test_simplex_starts_anywhere(model, data):
    """From its own last basis it need not pivot; from any other it recovers."""
    optimum = linear.brute_force_lp(model)
    first = simplex.solve(model)
    again = simplex.solve(model, first.basis)
    assert again.status == first.status
    # An infeasible program may have several refutations.
    assert again.pivots == 0 or again.status == "infeasible"
    columns = range(len(model.variables))
    rows = range(len(model.rows))
    start = simplex.Basis(
        tuple(data.draw(st.lists(st.sampled_from(columns), unique=True)))
        if columns
        else (),
        tuple(data.draw(st.lists(st.sampled_from(rows), unique=True))) if rows else (),
        frozenset(data.draw(st.sets(st.sampled_from(columns))))
        if columns
        else frozenset(),
        frozenset(data.draw(st.sets(st.sampled_from(rows)))) if rows else frozenset(),
    )
    found = simplex.solve(model, start)
    if optimum is None:
        assert refutes(model, found.multipliers)
    else:
        assert model.objective_value(found.values) == optimum


def beale() -> LinearModel:
    """Beale's program (1955), on which careless pivoting cycles."""
    model = LinearModel()
    for j in range(4):
        model.add_variable(f"x{j}", 0, 1000)
    f = Fraction
    model.add_row(range(4), [f(1, 4), -60, -f(1, 25), 9], "<=", 0)
    model.add_row(range(4), [f(1, 2), -90, -f(1, 50), 3], "<=", 0)
    model.add_row([2], [1], "<=", 1)
    model.set_objective(range(4), [f(3, 4), -150, f(1, 50), -6], maximise=True)
    return model


def test_beale_does_not_cycle_and_numbers_may_exceed_floats():
    found = simplex.solve(beale())
    assert beale().objective_value(found.values) == Fraction(1, 20)
    found = simplex.solve(klee_minty(12))
    assert klee_minty(12).objective_value(found.values) == 100**11


def klee_minty(size: int) -> LinearModel:
    model = LinearModel()
    for j in range(size):
        model.add_variable(f"x{j}", 0, 100**size)
    for i in range(size):
        coefficients = [2 * 10 ** (i - j) for j in range(i)] + [1]
        model.add_row(range(i + 1), coefficients, "<=", 100**i)
    model.set_objective(
        range(size), [10 ** (size - 1 - j) for j in range(size)], maximise=True
    )
    return model


@given(linear.linear_models(max_variables=8, max_rows=12))
@example(beale())
@example(klee_minty(5))
@settings(max_examples=100)
def test_every_answer_carries_its_proof(model):
    found = simplex.solve(model)
    if found.status == "infeasible":
        assert refutes(model, found.multipliers)
    else:
        assert model.is_feasible(found.values)
        assert dual_bound(model, found.multipliers) == model.objective_value(
            found.values
        )


def test_rows_with_one_entry_left_are_all_taken_out():
    """Of a triangular matrix in any order, each row with its diagonal entry."""
    rows = [{0: 1, 1: 1, 2: 1}, {2: 5}, {1: 3, 2: 1}, {3: 1, 4: 1}, {3: 1, 4: 2}]
    assert simplex._peel(rows, range(5)) == [(1, 2), (2, 1), (0, 0)]


def test_out_of_time_is_no_answer():
    found = simplex.solve(beale(), time_limit=0)
    assert found.status == "limit"
    assert found.values == found.multipliers == ()


def knapsack() -> LinearModel:
    """Best of 5a + 4b + 3c with 2a + 3b + c <= 5, 4a + b + 2c <= 11, whole: 15."""
    model = LinearModel()
    for name in "abc":
        model.add_variable(name, 0, 5, integer=True)
    model.add_row([0, 1, 2], [2, 3, 1], "<=", 5)
    model.add_row([0, 1, 2], [4, 1, 2], "<=", 11)
    model.set_objective([0, 1, 2], [5, 4, 3], maximise=True)
    return model


@given(linear_models(integer=True))
def test_the_optimum_is_that_of_brute_force(model: LinearModel) -> None:
    expected = brute_force_milp(model)
    found = branch_and_bound(model)
    assert found.exact
    assert not found.reason
    if expected is None:
        assert found.status is Status.INFEASIBLE
        assert found.values is None
        return
    assert found.status is Status.OPTIMAL
    assert found.objective == expected == found.bound
    assert found.values is not None
    assert model.is_feasible([Fraction(v) for v in found.values])
    assert model.objective_value([Fraction(v) for v in found.values]) == expected


@settings(max_examples=15)
@given(linear_models(integer=True), st.integers(0, 3))
def test_a_start_and_limits_change_nothing_but_the_status(
    model: LinearModel, nodes: int
) -> None:
    expected = brute_force_milp(model)
    found = branch_and_bound(model)
    if found.values is not None:
        again = branch_and_bound(model, start=[Fraction(v) for v in found.values])
        assert (again.status, again.objective) == (Status.OPTIMAL, expected)
    short = branch_and_bound(model, node_limit=nodes)
    if short.reason:
        assert short.status in (Status.FEASIBLE, Status.UNKNOWN)
        assert short.nodes is not None
        assert short.nodes <= nodes
        if short.objective is not None and expected is not None:
            better = max if model.maximise else min
            assert better(Fraction(short.objective), expected) == expected
    else:
        assert short.objective == expected


def test_a_time_limit_of_nothing_leaves_the_program_undecided() -> None:
    found = branch_and_bound(knapsack(), time_limit=0)
    assert found.status is Status.UNKNOWN
    assert not found.exact
    assert found.reason == "time limit reached"
    kept = branch_and_bound(knapsack(), start=[0, 0, 0], time_limit=0)
    assert (kept.status, kept.objective) == (Status.FEASIBLE, 0)


@with_rows(
    "arguments, message",
    ({"start": [3, 0, 0]}, "start breaks"),
    ({"start": [Fraction(1, 2), 0, 0]}, "start breaks 'a'"),
    ({"node_limit": -1}, "node limit -1"),
    ({"time_limit": float("nan")}, "time limit nan"),
)
def test_bad_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        branch_and_bound(knapsack(), **arguments)  # type: ignore[arg-type]


def long_model(seed: int, digits: int) -> LinearModel:
    """A random program of binaries and values whose rows have long integers."""
    rng = np.random.default_rng(seed)
    model = LinearModel(maximise=bool(rng.integers(2)))
    for j in range(3):
        model.add_variable(f"x{j}", 0, 1)
    for j in range(3):
        model.add_variable(f"z{j}", 0, 1, integer=True)
    unit = 10**digits
    for _ in range(4):
        coefs = [
            Fraction(int(c), unit) for c in rng.integers(-2 * unit, 2 * unit + 1, 6)
        ]
        model.add_row(range(6), coefs, "<=", Fraction(int(rng.integers(unit)), unit))
    model.set_objective(
        range(6), rng.integers(-9, 10, 6).tolist(), maximise=model.maximise, constant=2
    )
    return model


@pytest.mark.parametrize("seed", range(6))
def test_scaled_answers_confirm_to_the_exact_optimum(seed: int) -> None:
    model = long_model(seed, digits=7)
    assert has_long_rows(model)
    found = solve_scaled_milp(model, time_limit=60)
    assert found.status is Status.OPTIMAL
    assert not found.exact
    exact = confirm(model, found)
    assert exact.objective == branch_and_bound(model).objective
    assert found.objective == pytest.approx(float(exact.objective or 0), abs=1e-6)
    assert found.bound == pytest.approx(found.objective, abs=1e-5)


def test_short_rows_go_to_the_usual_engine_and_scaled_ones_have_verdicts():
    assert not has_long_rows(knapsack())
    assert propose(knapsack()).objective == solve_milp(knapsack()).objective == 15
    assert propose(long_model(1, 7), "highs", 60).status is Status.OPTIMAL
    model = knapsack()
    model.add_row([0], [1], ">=", 4)
    assert solve_scaled_milp(model).status is Status.INFEASIBLE
    assert solve_scaled_milp(replace(model, rows=[])).objective == 60
    with pytest.raises(ValueError, match="time limit -1"):
        solve_scaled_milp(model, time_limit=-1)
