"""Solvers registered for a class of one's own are called as the oracles are."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from olivine.algorithms.classes import TabularPolicyClass, TabularValueClass
from olivine.algorithms.classes.finite import TabularPolicy
from olivine.algorithms.exact import OwnCodeError
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles import CscResult, LeastSquaresResult
from olivine.algorithms.oracles.csc import csc, solve_csc
from olivine.algorithms.oracles.least_squares import least_squares, solve_least_squares
from olivine.algorithms.oracles.ledger import Ledger, guard
from olivine.algorithms.oracles.lp import (
    Constraint,
    Functional,
    LpResult,
    LpStatus,
    ValueProgram,
    lp,
    solve_lp,
)

from tests.support.depth import with_rows

DATA = EmpiricalMeasure([0, 1, 1])


@dataclass(frozen=True)
class Own:
    """A class that this project does not know; it admits what its table does."""

    table: TabularPolicyClass | TabularValueClass

    @property
    def n_actions(self):
        return self.table.n_actions

    def admit(self, observations, name="observations"):
        return self.table.admit(observations, name)


class OwnPolicies(Own):
    pass


class OwnValues(Own):
    pass


asked = []


def own_csc(policy_class, data, costs, *, epsilon_sub):
    return csc(policy_class.table, data, costs, epsilon_sub=epsilon_sub)


def own_least_squares(value_class, data, targets, *, epsilon_sub, importance=None):
    asked.append(importance)
    return least_squares(
        value_class.table, data, targets, epsilon_sub=epsilon_sub, importance=importance
    )


def own_lp(value_class, objective, constraints=(), **options):
    return lp(value_class.table, objective, constraints, **options)


solve_csc.register(OwnPolicies, own_csc)
solve_least_squares.register(OwnValues, own_least_squares)
solve_lp.register(OwnValues, own_lp)


def test_csc_and_least_squares_with_importances_and_without():
    costs = [[1, 0], [0, 3], [0, 1]]
    with Ledger() as ledger:
        found = csc(guard(OwnPolicies(TabularPolicyClass(2, 2))), DATA, costs,
                    epsilon_sub=0.1)  # fmt: skip
    assert found.policy(np.array([0, 1])).tolist() == [1, 0]
    assert ledger.calls == {"csc": 1}
    values = OwnValues(TabularValueClass(2))
    plain = least_squares(values, DATA, [1.0, 0.0, 1.0], epsilon_sub=0.1)
    assert plain.function(np.array([0, 1])).tolist() == [1.0, 0.5]
    heavy = least_squares(
        values, DATA, [1.0, 0.0, 1.0], epsilon_sub=0.1, importance=[1, 3, 1]
    )
    assert heavy.function(np.array([1])).tolist() == [0.25]
    assert asked[0] is None
    assert asked[1].tolist() == [1, 3, 1]


def test_linear_programs_and_programs_that_grow():
    seen = Functional.expectation(EmpiricalMeasure([0, 1]))
    program = ValueProgram(OwnValues(TabularValueClass(2)))
    accuracies = {"epsilon_sub": 1e-6, "epsilon_feas": 1e-6}
    assert program.optimise(seen, exact=True, **accuracies).exact_value == 1
    program.add(Constraint(seen, upper=0.25))
    assert program.optimise(seen, **accuracies).value == 0.25
    assert program.optimise(seen, maximise=False, **accuracies).value == 0


class BarePolicies(Own):
    pass


class BareValues(Own):
    pass


def bare(*_, **__):
    return np.zeros_like


solve_csc.register(BarePolicies, bare)
solve_least_squares.register(BareValues, bare)
solve_lp.register(BareValues, bare)


def test_a_solver_that_returns_no_result_is_named():
    policies = BarePolicies(TabularPolicyClass(2, 2))
    values = BareValues(TabularValueClass(2))
    with pytest.raises(ValueError, match=r"solve_csc, .* BarePolicies, .* CscResult"):
        csc(policies, DATA, [[1, 0]] * 3, epsilon_sub=0.1)
    with pytest.raises(ValueError, match=r"for BareValues, .* LeastSquaresResult"):
        least_squares(values, DATA, [1.0, 0.0, 1.0], epsilon_sub=0.1)
    seen = Functional.expectation(DATA)
    with pytest.raises(ValueError, match=r"solve_lp, .* BareValues, .* LpResult"):
        lp(values, seen, epsilon_sub=0.1, epsilon_feas=0.1)


def answers(kind, solver, generic, ask):
    """The message about a solver, registered for a class of its own."""
    own = type("Mine", (Own,), {})
    generic.register(own, solver)
    with pytest.raises(OwnCodeError) as error:
        ask(own(kind))
    return str(error.value)


CSC = CscResult(TabularPolicy(np.array([0, 1])), 2.0, 0.0, 0.1, 1)


@with_rows(
    "changed, message",
    ({}, ""),
    ({"cost": float("nan")}, "reports nan, but"),
    ({"cost": 1.5}, "reports 1.5, but the function that it returned attains 2"),
    ({"policy": lambda x: x * 0.5}, "actions: expected integers, got float64"),
    ({"policy": lambda x: x + 1}, "no action in 0..1"),
    ({"policy": lambda x: np.int64(0)}, r"actions: \(\) for 3 observations"),
    ({"policy": lambda x: x[99]}, "raised IndexError: .*test_registered.py"),
    ({"suboptimality": float("nan")}, "suboptimality nan; expected"),
    ({"suboptimality": -1.0}, "suboptimality -1.0; expected"),
)
def test_a_policy_is_judged_on_the_data(changed, message):
    def ask(policies):
        csc(policies, DATA, [[0, 9], [9, 2], [9, 4]], epsilon_sub=0.1)

    def solver(*_, epsilon_sub):
        return replace(CSC, **changed)

    table = TabularPolicyClass(2, 2)
    if message:
        assert re.search(message, answers(table, solver, solve_csc, ask))
    else:
        with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
            answers(table, solver, solve_csc, ask)


def test_a_value_function_is_judged_on_the_data():
    def ask_squares(values):
        least_squares(values, DATA, [1, 0, 1], epsilon_sub=0.1, importance=[3, 1, 1])

    def ask_lp(values):
        lp(values, Functional.expectation(DATA), epsilon_sub=0.1, epsilon_feas=0.1)

    def squares(function, loss):
        return lambda *_, **__: LeastSquaresResult(function, loss, 0.0, 0.1, 1)

    def program(function, value):
        found = LpStatus.OPTIMAL, function, value, 0.0, 0.0, 0.1, 0.1, 1
        return lambda *_, **__: LpResult(*found)

    def half(x):
        return np.full(len(x), 0.5)

    def double(x):
        return np.full(len(x), 2.0)

    cases = [
        (solve_least_squares, squares(half, 0.5), ask_squares, "attains 0.416667"),
        (solve_least_squares, squares(double, 0.5), ask_squares, "not in [0, 1]"),
        (solve_least_squares, squares(None, 0.5), ask_squares, "raised TypeError"),
        (solve_lp, program(half, 0.25), ask_lp, "reports 0.25, but"),
        (solve_lp, program(len, 0.25), ask_lp, "values: expected shape (3,)"),
    ]
    for generic, solver, ask, message in cases:
        found = answers(TabularValueClass(2), solver, generic, ask)
        assert f"{generic.__name__}, registered for Mine," in found
        assert message in found


def test_a_solver_that_cannot_be_called_as_documented_is_named():
    def solver(policy_class, data, costs):
        raise AssertionError("not reached")

    def ask(policies):
        csc(policies, DATA, [[0, 1]] * 3, epsilon_sub=0.1)

    found = answers(TabularPolicyClass(2, 2), solver, solve_csc, ask)
    assert "registered for Mine, raised TypeError: " in found
    assert "unexpected keyword argument 'epsilon_sub'" in found
