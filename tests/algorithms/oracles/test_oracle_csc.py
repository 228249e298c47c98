"""The CSC oracle: exact verdicts on small problems, classes, refusals."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.classes import (
    FinitePolicyClass,
    LinearPolicyClass,
    PolicyClassByLevel,
    TabularPolicyClass,
)
from olivine.algorithms.environments import random_finite
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles import exact_cost
from olivine.algorithms.oracles.csc import csc, importance_costs
from olivine.algorithms.oracles.testing import csc_problems, growth, verify_csc
from olivine.claims.oracles import CSC_CONSTANT, plain_csc

from tests.support.depth import with_rows
from tests.support.refusals import refused

accuracies = st.sampled_from([0.1, 1e-9, 1e-25])


@given(csc_problems(max_rows=12, max_observations=8, max_actions=5), accuracies)
@settings(max_examples=500)
def test_tabular_oracles_agree_and_are_exact(problem, epsilon):
    sizes = len(problem.data) * problem.n_actions
    fast = verify_csc(
        csc,
        problem,
        epsilon_sub=epsilon,
        operations=sizes + problem.n_actions * problem.n_observations,
    )
    plain = verify_csc(
        plain_csc,
        problem,
        epsilon_sub=epsilon,
        operations=CSC_CONSTANT * sizes * problem.n_observations,
    )
    assert fast.honoured
    assert plain.honoured
    if fast.exact_cost is not None:
        assert fast.exact_cost == plain.exact_cost
        assert fast.policy.actions.tolist() == plain.policy.actions.tolist()


@given(csc_problems(max_observations=3, max_actions=3))
def test_tabular_oracle_against_all_policies(problem):
    found = csc(
        TabularPolicyClass(problem.n_observations, problem.n_actions),
        problem.data,
        problem.costs,
        epsilon_sub=1e-12,
    )
    tables = itertools.product(range(problem.n_actions), repeat=problem.n_observations)
    every = FinitePolicyClass(np.array(list(tables)), problem.n_actions)
    costs = [exact_cost(p, problem.data, problem.costs) for p in every.members]
    best = exact_cost(found.policy, problem.data, problem.costs)
    assert best - min(costs) <= Fraction(1e-12)
    by_enumeration = csc(every, problem.data, problem.costs, epsilon_sub=1e-12)
    assert abs(by_enumeration.cost - float(min(costs))) <= 1e-12


@given(csc_problems(), st.data(), accuracies)
def test_finite_class_is_enumerated(problem, data, epsilon):
    table = st.lists(
        st.integers(0, problem.n_actions - 1),
        min_size=problem.n_observations,
        max_size=problem.n_observations,
    )
    tables = np.array(data.draw(st.lists(table, min_size=1, max_size=5)))
    by_table = FinitePolicyClass(tables, problem.n_actions)
    by_call = FinitePolicyClass(
        [lambda x, row=row: row[x] for row in tables], problem.n_actions
    )
    costs = [exact_cost(p, problem.data, problem.costs) for p in by_table.members]
    for policies in (by_table, by_call):
        result = verify_csc(
            csc, problem, epsilon_sub=epsilon, policy_class=policies, optimum=min(costs)
        )
        assert result.honoured
        if result.exact_cost is not None:
            assert result.policy is policies.members[costs.index(min(costs))]


def test_ties_go_to_the_lowest_action_and_member_exactly():
    data = EmpiricalMeasure([0, 0, 2])
    costs = [[1, 0, 0], [0, 1, 1], [2, 1, 1]]
    tabular = csc(TabularPolicyClass(4, 3), data, costs, epsilon_sub=1e-3)
    assert tabular.policy.actions.tolist() == [0, 0, 1, 0]
    policies = FinitePolicyClass([[2, 0, 2, 0], [1, 0, 1, 0], [0, 0, 1, 0]], 3)
    assert csc(policies, data, costs, epsilon_sub=1e-3).policy is policies.members[0]
    third = Fraction(1, 3)
    data = EmpiricalMeasure([0, 0, 0])
    costs = np.array([[third, 1], [third, 0], [third, 0]], dtype=object)
    result = csc(TabularPolicyClass(1, 2), data, costs, epsilon_sub=1e-3)
    assert result.policy.actions.tolist() == [0]
    assert result.exact_cost == third


def test_sums_that_cancel_beyond_float64_are_done_in_integers():
    data = EmpiricalMeasure([0, 0], weights=[10**30, 10**30])
    # At action 1 float64 sees 0; the truth is 2^-60 below.
    costs = [[0.0, 1.0], [0.0, -1.0 - 2.0**-52]]
    result = csc(TabularPolicyClass(1, 2), data, costs, epsilon_sub=1e-20)
    assert result.exact_cost == -(Fraction(2) ** -53)
    assert result.policy.actions.tolist() == [1]


def test_continuous_observations_with_callables():
    data = EmpiricalMeasure(np.array([[0.1], [0.9], [0.8]]))
    policies = FinitePolicyClass(
        [lambda x, t=t: (x[:, 0] > t).astype(int) for t in (0.05, 0.5, 0.85)], 2
    )
    costs = [[0, 1], [1, 0], [1, 0]]
    assert csc(policies, data, costs, epsilon_sub=1e-6).policy is policies.members[1]


def test_importance_costs_are_minus_the_papers_value():
    data = EmpiricalMeasure([0, 1, 1], actions=[1, 0, 1], rewards=[1, 0.5, 0])
    future = np.array([0.25, 0.5])
    costs = importance_costs(data.actions, data.rewards + future[data.actions], 2)
    result = csc(TabularPolicyClass(2, 2), data, costs, epsilon_sub=1e-9)
    assert result.policy.actions.tolist() == [1, 0]
    assert np.isclose(-result.cost, (2 * 1.5 + 2 * 0.75) / 3)
    with pytest.raises(ValueError, match=r"actions, row 0: no action in 0\.\.0"):
        importance_costs(data.actions, data.rewards, 1)
    refused("returns: 2 rows", importance_costs, data.actions, data.rewards[:2], 2)


@pytest.mark.parametrize("action", [-1, 2])
def test_actions_are_bounded_on_both_sides(action):
    """A negative index would be an action from the end."""
    data = EmpiricalMeasure([0, 1])
    actions = np.array([0, action])
    refused("actions, row 1: no action", importance_costs, actions, np.ones(2), 2)
    with pytest.raises(ValueError, match="actions, row 1: no action"):
        exact_cost(lambda observations: actions, data, [[0, 1], [1, 0]])
    refused("members, row 0: no action", FinitePolicyClass, actions[None], 2)
    with pytest.raises(ValueError, match="function, row 1: no action"):
        FinitePolicyClass([lambda observations: actions], 2).members[0]([0, 1])
    truth = random_finite(np.random.default_rng(0)).truth
    for state, taken in ((0, action), (action, 0)):
        refused(f": {action} is not in", truth.successor, 1, state, taken)
    refused(f"state: {action} is not in", truth.state_value, 1, action)


@pytest.mark.parametrize("axis", ["n", "observations", "actions"])
def test_operations_grow_as_proved(axis):
    def run(oracle):
        def cost(size):
            sizes = {"n": 20, "observations": 4, "actions": 3, axis: size}
            rng = np.random.default_rng(size)
            data = EmpiricalMeasure(rng.integers(0, sizes["observations"], sizes["n"]))
            costs = rng.random((sizes["n"], sizes["actions"]))
            policies = TabularPolicyClass(sizes["observations"], sizes["actions"])
            return oracle(policies, data, costs, epsilon_sub=1e-6).operations

        return growth(cost, [4, 8, 16, 32, 64])

    assert run(csc).exponent <= 1 + 1e-9
    assert run(plain_csc).exponent <= 1 + 1e-9


@given(csc_problems(max_actions=3), st.integers(0, 2**32))
@settings(max_examples=25)
def test_linear_policies_never_claim_too_much(problem, seed):
    rng = np.random.default_rng(seed)
    features = rng.integers(-2, 3, (problem.n_observations, 2)).astype(float)
    policies = LinearPolicyClass(features, problem.n_actions)
    verify_csc(csc, problem, epsilon_sub=1e-6, policy_class=policies)


def test_linear_policies_where_the_floor_is_out_of_reach():
    # XOR: no halfspace follows the least costs; three of four is the best.
    features = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=float)
    costs = np.array([[0, 1], [1, 0], [1, 0], [0, 1]], dtype=float)
    result = csc(
        LinearPolicyClass(3, 2), EmpiricalMeasure(features), costs, epsilon_sub=1e-6
    )
    assert result.cost == 0.25
    assert not result.honoured
    assert 0.25 <= result.suboptimality < 0.2501


def test_one_hot_features_make_linear_policies_tabular(rng):
    data = EmpiricalMeasure(rng.integers(0, 6, 100))
    costs = rng.normal(size=(100, 3))
    linear = csc(LinearPolicyClass(np.eye(6), 3), data, costs, epsilon_sub=1e-9)
    tabular = csc(TabularPolicyClass(6, 3), data, costs, epsilon_sub=1e-9)
    assert np.isclose(linear.cost, tabular.cost, atol=1e-12)


@with_rows(
    "change, message",
    ({"costs": [[0, 1], [0, np.nan]]}, "costs, row 1: NaN"),
    ({"costs": [[0, -np.inf], [0, 1]]}, "costs, row 0: NaN or infinite"),
    ({"costs": [[0, 1, 2], [0, 1, 2]]}, "costs: 3 actions, but the class has 2"),
    ({"costs": [[0, 1]]}, "costs: expected shape"),
    ({"costs": [0, 1]}, "costs: expected shape"),
    ({"data": EmpiricalMeasure([0, 5])}, "observations, row 1: outside the class"),
    ({"data": EmpiricalMeasure(np.ones((2, 1)))}, "wants integer codes"),
    ({"epsilon_sub": 0}, "epsilon_sub: 0"),
    ({"epsilon_sub": -1}, "epsilon_sub"),
    ({"epsilon_sub": float("nan")}, "epsilon_sub"),
)
@pytest.mark.parametrize("oracle", [csc, plain_csc])
def test_bad_input_is_named(oracle, change, message):
    arguments = {
        "data": EmpiricalMeasure([0, 1]),
        "costs": [[0, 1], [1, 0]],
        "epsilon_sub": 0.1,
        **change,
    }
    refused(message, oracle, TabularPolicyClass(3, 2), **arguments)


def test_unknown_classes_and_unpicked_levels_are_refused():
    data, costs = EmpiricalMeasure([0]), [[0, 1]]
    levels = PolicyClassByLevel([TabularPolicyClass(1, 2)])
    refused("pick a level", csc, levels, data, costs, epsilon_sub=0.1)
    assert csc(levels.at_level(1), data, costs, epsilon_sub=0.1).cost == 0

    class Strange:
        n_actions = 2

        def admit(self, observations, name="observations"):
            return observations

    refused("no CSC oracle for Strange", csc, Strange(), data, costs, epsilon_sub=0.1)
