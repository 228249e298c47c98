"""Exact branch and bound against brute force, and HiGHS on scaled rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.solvers.lp.branch_and_bound import branch_and_bound
from olivine.solvers.milp.milp import (
    confirm,
    has_long_rows,
    propose,
    solve_milp,
    solve_scaled_milp,
)
from olivine.solvers.model.model import LinearModel
from olivine.solvers.outcome import Status

from tests.support.depth import with_rows
from tests.support.linear import brute_force_milp, linear_models


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
