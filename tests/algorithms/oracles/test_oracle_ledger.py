"""The ledger counts what happens; the guard lets nothing else happen."""

from dataclasses import replace

import numpy as np
import pytest
from olivine.algorithms.classes import (
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles import CscResult
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.least_squares import least_squares
from olivine.algorithms.oracles.ledger import (
    GuardedFunction,
    Ledger,
    OracleOnly,
    evaluate,
    guard,
    oracle,
    unguard,
)
from olivine.algorithms.oracles.lp import (
    Constraint,
    Functional,
    ValueProgram,
    lp,
    mean_discrepancy,
)

from tests.support.depth import with_rows

DATA = EmpiricalMeasure([0, 1, 1])
COSTS = [[1, 0], [0, 1], [0, 1]]
ACCURACIES = {"epsilon_sub": 1e-6, "epsilon_feas": 1e-6}


def test_every_kind_of_call_is_recorded():
    values, policies = TabularValueClass(2), TabularPolicyClass(2, 2)
    mean = Functional.expectation(DATA)
    with Ledger() as ledger:
        found = csc(policies, DATA, COSTS, epsilon_sub=0.1)
        fitted = least_squares(values, DATA, [0, 1, 1], epsilon_sub=0.1)
        lp(values, mean, [Constraint(mean, upper=0.5)], **ACCURACIES)
        program = ValueProgram(values)
        program.optimise(mean, **ACCURACIES)
        evaluate(found.policy, np.array([0, 1]))
        evaluate(fitted.function, np.array([0]))
    assert ledger.calls == {"csc": 1, "ls": 1, "lp": 2}
    assert [e.rows for e in ledger.entries] == [3, 3, 6, 3]
    assert [e.kind for e in ledger.entries] == ["csc", "ls", "lp", "lp"]
    assert ledger.entries[0].operations == found.operations > 0
    assert ledger.operations >= found.operations
    assert all(
        e.seconds > 0 and e.honoured and e.inside is None for e in ledger.entries
    )
    assert ledger.seconds >= max(e.seconds for e in ledger.entries)
    assert (ledger.evaluations, ledger.evaluated_rows) == (2, 3)
    csc(policies, DATA, COSTS, epsilon_sub=0.1)
    assert ledger.calls["csc"] == 1


def test_ledgers_nest_and_tell_inner_calls_apart():
    policies = TabularPolicyClass(2, 2)
    outer, inner = Ledger(), Ledger()
    with outer:
        csc(policies, DATA, COSTS, epsilon_sub=0.1)
        with inner:
            csc(policies, DATA, COSTS, epsilon_sub=0.1)
        with inner:
            csc(policies, DATA, COSTS, epsilon_sub=0.1)
    assert outer.calls["csc"] == 3
    assert inner.calls["csc"] == 2

    @oracle("multi", rows=lambda *args, **kwargs: 7, function="policy")
    def twice(policy_class, /) -> CscResult:
        csc(policy_class, DATA, COSTS, epsilon_sub=0.1)
        return csc(policy_class, DATA, COSTS, epsilon_sub=0.1)

    with Ledger() as ledger:
        found = twice(guard(TabularPolicyClass(2, 2)))
    assert ledger.calls == {"multi": 1}
    assert ledger.inner_calls == {"csc": 2}
    assert {e.inside for e in ledger.entries} == {"multi", None}
    assert isinstance(found.policy, GuardedFunction)


def test_a_failed_call_is_not_recorded_and_leaves_nothing_open():
    policies = TabularPolicyClass(2, 2)
    with Ledger() as ledger:
        with pytest.raises(ValueError, match="epsilon_sub"):
            csc(policies, DATA, COSTS, epsilon_sub=0)
        csc(policies, DATA, COSTS, epsilon_sub=1)
    assert [e.inside for e in ledger.entries] == [None]


def test_oracles_see_through_the_guard_and_guard_what_they_return():
    policies, values = guard(TabularPolicyClass(2, 2)), guard(TabularValueClass(2))
    mean = Functional.expectation(DATA)
    with Ledger() as ledger:
        policy = csc(policies, DATA, COSTS, epsilon_sub=0.1).policy
        fitted = least_squares(values, DATA, [0, 1, 1], epsilon_sub=0.1).function
        program = ValueProgram(values, [Constraint(mean, upper=0.5)])
        highest = program.optimise(mean, **ACCURACIES).function
        infeasible = lp(values, mean, [Constraint(mean, lower=2)], **ACCURACIES)
        apart = mean_discrepancy(values, DATA, EmpiricalMeasure([0]), epsilon_sub=0.1)
        assert evaluate(policy, np.array([0, 1])).tolist() == [1, 0]
        assert policy(np.array([0])).tolist() == [1]
    assert ledger.evaluations == 2
    assert ledger.touches == []
    assert infeasible.function is None
    for function in (policy, fitted, highest, apart.function):
        assert isinstance(function, GuardedFunction)
        with pytest.raises(AttributeError, match="outside of oracles"):
            function.values  # noqa: B018
    assert unguard(policy).actions.tolist() == [1, 0]


def test_what_algorithms_may_ask_of_a_guarded_class():
    policies = guard(PolicyClassByLevel.stationary(TabularPolicyClass(3, 2), 2))
    values = guard(ValueClassByLevel.stationary(TabularValueClass(3), 2))
    assert policies.n_actions == 2
    assert policies.horizon == 2
    assert values.log_size() == pytest.approx(3 * np.log(2))
    level = values.at_level(3)
    assert isinstance(level, OracleOnly)
    assert guard(level) is level
    mean = Functional.expectation(DATA)
    assert lp(level, mean, **ACCURACIES).value == 0


@with_rows(
    "touch",
    lambda c: c.n_observations,
    lambda c: c.admit([0]),
    lambda c: c.members,
    lambda c: vars(c),
    lambda c: c.__dict__,
)
def test_a_touch_fails_and_is_remembered(touch):
    """What makes the test of an algorithm fail even if it swallows the error."""
    policies = guard(TabularPolicyClass(3, 2))
    with Ledger() as ledger, pytest.raises((AttributeError, TypeError)):
        touch(policies)
    assert len(ledger.touches) == 1
    assert "outside of oracles" in ledger.touches[0]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_discrepancy_is_the_larger_side_with_its_function_and_bound(
    swapped, monkeypatch
):
    """E g(0) - E g(1) from -1 to -1/2, or the other way round."""
    true = ValueProgram.optimise

    def inexact(program, objective, **options):
        return replace(true(program, objective, **options), suboptimality=0.125)

    monkeypatch.setattr(ValueProgram, "optimise", inexact)
    values = FiniteValueClass([[0, 1], [0, 0.5]])
    measures = [EmpiricalMeasure([0]), EmpiricalMeasure([1])]
    apart = mean_discrepancy(values, *measures[:: -1 if swapped else 1], epsilon_sub=1)
    assert (apart.value, apart.suboptimality) == (1, 0.125)
    assert apart.function(np.array([0, 1])).tolist() == [0, 1]
