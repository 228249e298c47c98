"""The multi-data-set oracle: exact verdicts, bounds on calls, refusals."""

import dataclasses
import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.algorithms import classes
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles import multi as multi_module
from olivine.algorithms.oracles import multi_data, random_csc
from olivine.algorithms.oracles.csc import csc, importance_costs
from olivine.algorithms.oracles.ledger import GuardedFunction, Ledger, guard
from olivine.algorithms.oracles.multi import (
    METHODS,
    ClassificationSet,
    MultiStatus,
    multi,
    round_bound,
)
from olivine.algorithms.oracles.multi_data import ACCURACY_SHARE
from olivine.claims.oracles import plain_csc

from tests.support.depth import deep, with_rows
from tests.support.multi import MultiProblem, multi_problems, verify_multi

by_weights = functools.partial(multi, method="multiplicative-weights")
by_columns = functools.partial(multi, method="column-generation")
by_milp = functools.partial(multi, method="deterministic")

SHARED = (  # one observation, opposite wishes: only a mixture does
    ClassificationSet(EmpiricalMeasure([0]), [[0, 1]], Fraction(1, 2)),
    ClassificationSet(EmpiricalMeasure([0]), [[1, 0]], Fraction(1, 2)),
)


SIZES = deep({"max_sets": 6, "max_observations": 4, "max_rows": 8}, {})


@given(multi_problems(**SIZES), st.sampled_from([0.5, *deep([0.3, 0.05], []), 0.1]))
@example(MultiProblem(1, 2, SHARED), 0.1)
@settings(max_examples=deep(500, 5), deadline=None)  # hundreds of calls
def test_multiplicative_weights_keep_their_promise(problem, epsilon):
    result = verify_multi(by_weights, problem, epsilon_feas=epsilon)
    assert result.honoured
    assert 1 <= result.calls <= result.call_bound


@given(multi_problems(**SIZES), st.sampled_from([0.5, 0.01, 1e-6, 1e-9, 1e-20]))
@example(MultiProblem(1, 2, SHARED), 1e-30)
@settings(max_examples=500, deadline=None)
def test_column_generation_keeps_its_promise_at_any_accuracy(problem, epsilon):
    result = verify_multi(by_columns, problem, epsilon_feas=epsilon)
    assert result.honoured
    assert result.calls <= 60


@given(multi_problems(), st.sampled_from([0.5, 0.01, 1e-6]))
@example(MultiProblem(1, 2, SHARED), 0.1)
@settings(max_examples=20, deadline=None)
def test_deterministic_policy_or_none(problem, epsilon):
    result = verify_multi(by_milp, problem, epsilon_feas=epsilon, deterministic=True)
    assert result.status is not MultiStatus.UNKNOWN
    if result.feasible:
        assert result.honoured


def mixed_problem(seed, n_sets, size=6, slack=0.0):
    """Costs of two opposed kinds; limits of a mixture of three policies."""
    rng = np.random.default_rng(seed)
    tables = rng.integers(0, 3, (3, size))
    sets = []
    for _ in range(n_sets):
        drawn = random_csc(rng, 3 * size, size, 3)
        rows = np.arange(len(drawn.data))
        codes = drawn.data.observations
        costs = [drawn.data.expectation(drawn.costs[rows, t[codes]]) for t in tables]
        sets.append(ClassificationSet(drawn.data, drawn.costs, sum(costs) / 3 + slack))
    return classes.TabularPolicyClass(size, 3), sets


@pytest.mark.parametrize("seed", range(8))
def test_weights_stay_within_the_theorem_on_larger_problems(seed):
    policies, sets = mixed_problem(seed, 2 + seed)
    epsilon = 0.05
    found = by_weights(policies, sets, epsilon_feas=epsilon)
    assert found.feasible
    assert found.violation <= epsilon
    assert found.calls <= found.call_bound
    # Limits that no mixture can meet, by more than ε: it says so, with a proof.
    tight = [ClassificationSet(s.data, s.costs, s.limit - 1) for s in sets]
    refused = by_weights(policies, tight, epsilon_feas=epsilon)
    assert refused.status is MultiStatus.INFEASIBLE
    assert refused.certificate.margin > 0
    assert refused.calls <= refused.call_bound


def least_limit(policies, sets, accuracy):
    """Least U, to within an accuracy, that a mixture meets on every set."""
    low, high = -2.0, 2.0
    while high - low > accuracy:
        middle = (low + high) / 2
        moved = [ClassificationSet(s.data, s.costs, middle) for s in sets]
        met = by_columns(policies, moved, epsilon_feas=1e-12).feasible
        low, high = (low, middle) if met else (middle, high)
    return high


def test_where_nothing_is_to_spare_both_methods_need_many_calls_but_the_same_answer():
    policies, sets = mixed_problem(5, 5)
    value = least_limit(policies, sets, 1e-8)
    epsilon = deep(0.02, 0.05)
    for shift, feasible in ((0, True), (-1.5 * epsilon, False)):
        moved = [ClassificationSet(s.data, s.costs, value + shift) for s in sets]
        weights = by_weights(policies, moved, epsilon_feas=epsilon)
        columns = by_columns(policies, moved, epsilon_feas=epsilon)
        assert weights.feasible == columns.feasible == feasible
        assert weights.calls <= weights.call_bound
        assert columns.calls <= weights.calls
        assert not feasible or columns.calls < weights.calls


def test_column_generation_goes_over_to_rationals_where_floats_stall(monkeypatch):
    opened = []
    original = multi_module.ExactMaster

    def recorded(*args):
        opened.append(args)
        return original(*args)

    monkeypatch.setattr(multi_module, "ExactMaster", recorded)
    policies = classes.TabularPolicyClass(1, 2)
    # Feasible by the mixture (1/3, 2/3) alone, which no float hits.
    sets = [
        ClassificationSet(EmpiricalMeasure([0]), [[0, 1]], Fraction(2, 3)),
        ClassificationSet(EmpiricalMeasure([0]), [[1, 0]], Fraction(1, 3)),
    ]
    found = by_columns(policies, sets, epsilon_feas=1e-40)
    assert found.feasible
    assert found.policy.weights in (
        (Fraction(1, 3), Fraction(2, 3)),
        (Fraction(2, 3), Fraction(1, 3)),
    )
    assert len(opened) == 1
    sets[0] = ClassificationSet(
        sets[0].data, sets[0].costs, Fraction(2, 3) - Fraction(1, 10**30)
    )
    refused = by_columns(policies, sets, epsilon_feas=1e-40)
    assert refused.status is MultiStatus.INFEASIBLE
    assert 0 < refused.certificate.margin < 1e-29


def test_data_of_10_to_the_18_draws_at_accuracies_of_theorems():
    rng = np.random.default_rng(3)
    sets = []
    for _ in range(5):
        drawn = random_csc(rng, 40, 8, 3)
        weights = rng.integers(1, 10**18, 40)
        data = EmpiricalMeasure(drawn.data.observations, weights=weights)
        sets.append(ClassificationSet(data, drawn.costs, 0))
    policies = classes.TabularPolicyClass(8, 3)
    value = least_limit(policies, sets, 1e-10)
    moved = [ClassificationSet(s.data, s.costs, value) for s in sets]
    found = by_columns(policies, moved, epsilon_feas=1e-9)
    assert found.honoured
    assert found.violation <= 1e-9


def test_disjoint_observations_have_a_deterministic_answer():
    one = EmpiricalMeasure([0, 1], weights=[3, 1])
    two = EmpiricalMeasure([2, 3, 1], weights=[1, 1, 0])  # 1 does not count
    policies = classes.TabularPolicyClass(4, 2)
    sets = [
        ClassificationSet(one, [[1, 0], [0, 1]], 0),
        ClassificationSet(two, [[0, 1], [1, 0], [9, 9]], 0),
    ]
    found = multi(policies, sets, epsilon_feas=1e-9)
    assert (found.method, found.calls, len(found.policy)) == ("disjoint", 1, 1)
    assert found.policy.members[0](np.arange(4)).tolist() == [1, 0, 0, 1]
    assert found.violation == 0 or found.violation < 1e-12
    sets[1] = ClassificationSet(two, sets[1].costs, -0.25)
    refused = multi(policies, sets, epsilon_feas=1e-9)
    assert refused.status is MultiStatus.INFEASIBLE
    assert refused.certificate.weights == (0, 1)
    assert refused.certificate.margin == pytest.approx(0.25)


@given(multi_problems(max_sets=2))
def test_auto_keeps_the_contract(problem):
    result = verify_multi(multi, problem, epsilon_feas=1e-6)
    assert result.method in ("disjoint", "column-generation")


def test_one_data_set_is_csc():
    problem = random_csc(np.random.default_rng(1), 30, 6, 4)
    policies = classes.TabularPolicyClass(6, 4)
    best = csc(policies, problem.data, problem.costs, epsilon_sub=1e-9)
    for method in METHODS:
        item = ClassificationSet(problem.data, problem.costs, best.cost)
        found = multi(policies, [item], epsilon_feas=1e-6, method=method)
        assert found.feasible
        assert found.costs[0] == pytest.approx(best.cost)
        item = ClassificationSet(problem.data, problem.costs, best.cost - 0.01)
        refused = multi(policies, [item], epsilon_feas=1e-6, method=method)
        assert refused.status is MultiStatus.INFEASIBLE
        assert refused.certificate.margin == pytest.approx(0.01)


def test_finite_classes_and_oracles_of_ones_own():
    members = [[0, 0, 0], [1, 1, 1], [0, 1, 0]]
    policies = classes.FinitePolicyClass(members, 2)
    first = ClassificationSet(EmpiricalMeasure([0, 1]), [[0, 1], [0, 1]], 0.5)
    other = ClassificationSet(EmpiricalMeasure([1, 2]), [[1, 0], [1, 0]], 0.5)
    for method in ("multiplicative-weights", "column-generation", "deterministic"):
        found = multi(policies, [first, other], epsilon_feas=0.01, method=method)
        assert found.feasible
    assert found.policy.members == (policies.members[2],)  # the only one alone
    hard = [ClassificationSet(s.data, s.costs, 0.4) for s in (first, other)]
    refused = by_milp(policies, hard, epsilon_feas=0.01)
    assert refused.status is MultiStatus.INFEASIBLE
    assert refused.proved
    own = by_columns(
        classes.TabularPolicyClass(3, 2), hard, epsilon_feas=0.01, csc_oracle=plain_csc
    )
    assert own.feasible


def test_linear_policies_on_features(rng):
    features = rng.normal(size=(30, 2))
    better = (features[:, 0] > 0).astype(int)
    costs = np.stack([better, 1 - better], axis=1).astype(float)
    policies = classes.LinearPolicyClass(2, 2)
    sets = [
        ClassificationSet(EmpiricalMeasure(features[:15]), costs[:15], 0),
        ClassificationSet(EmpiricalMeasure(features[15:]), costs[15:], 0),
    ]
    assert multi(policies, sets, epsilon_feas=1e-3).honoured
    # What is out of reach of every policy is refused; what may be is left open.
    below = [ClassificationSet(s.data, s.costs, -0.1) for s in sets]
    assert multi(policies, below, epsilon_feas=1e-3).status is MultiStatus.INFEASIBLE
    noise = np.stack([(features[:, 0] * features[:, 1] > 0), features[:, 0] > 9], 1)
    crossed = np.where(noise[:, :1], [[0.0, 1.0]], [[1.0, 0.0]])
    hard = [ClassificationSet(EmpiricalMeasure(features), crossed, 0)]
    for method in ("multiplicative-weights", "column-generation"):
        left = multi(policies, hard, epsilon_feas=1e-3, method=method, max_calls=20)
        assert left.status is MultiStatus.UNKNOWN
        assert left.reason
        assert not left.honoured
        assert left.violation > 1e-3


def test_the_ledger_tells_inner_calls_apart_and_guards_the_mixture():
    policies = guard(classes.TabularPolicyClass(1, 2))
    with Ledger() as ledger:
        found = multi(policies, SHARED, epsilon_feas=1e-6)
    assert ledger.calls == {"multi": 1}
    assert ledger.inner_calls == {"csc": found.calls}
    assert [e.rows for e in ledger.entries if e.kind == "multi"] == [2]
    assert ledger.touches == []
    assert isinstance(found.policy, GuardedFunction)
    assert found.policy(np.array([0, 0])).tolist() == [[0.5, 0.5]] * 2


def test_policy_fitting_as_the_constrained_algorithm_asks_for_it():
    # Action 1 earns 1 at observation 0; at 1, action 0 earns 1/2.
    data = EmpiricalMeasure([0, 0, 1, 1], actions=[0, 1, 0, 1], rewards=[0, 1, 0.5, 0])
    costs = importance_costs(data.actions, data.rewards, 2)
    policies = classes.TabularPolicyClass(2, 2)
    item = ClassificationSet(data, costs, -0.75)
    found = multi(policies, [item], epsilon_feas=1e-6)
    assert found.feasible
    assert found.policy(np.array([0, 1])).tolist() == [[0, 1], [1, 0]]


@with_rows(
    "change, message",
    ({"sets": []}, "sets: none"),
    ({"epsilon_feas": 0}, "epsilon_feas"),
    ({"epsilon_feas": float("nan")}, "epsilon_feas"),
    ({"max_calls": 0}, "max_calls"),
    ({"method": "guess"}, "method: unknown"),
    ({"method": "disjoint"}, "observation is in two"),
    ({"limit": float("nan")}, "sets, number 1: limit"),
    ({"limit": float("inf")}, "sets, number 1: limit"),
    ({"costs": [[0, 1, 2]]}, "sets, number 1: costs: 3 actions"),
    ({"costs": [[0, float("inf")]]}, "sets, number 1: costs, row 0"),
    ({"costs": [[0, 1], [1, 0]]}, "sets, number 1: costs"),
    ({"data": EmpiricalMeasure([7])}, "sets, number 1: observations, row 0"),
    ({"data": EmpiricalMeasure([[0.5]])}, "sets, number 1: observations"),
)
def test_bad_input_is_named(change, message):
    item = {"data": EmpiricalMeasure([0]), "costs": [[1, 0]], "limit": 0.5}
    item |= {k: v for k, v in change.items() if k in item}
    options = {"sets": [SHARED[0], ClassificationSet(**item)], "epsilon_feas": 0.1}
    options |= {k: v for k, v in change.items() if k not in item}
    with pytest.raises(ValueError, match=message):
        multi(classes.TabularPolicyClass(1, 2), options.pop("sets"), **options)


def test_methods_that_do_not_go_with_a_class():
    linear = classes.LinearPolicyClass(1, 2)
    item = ClassificationSet(EmpiricalMeasure([[0.5]]), [[1, 0]], 0.5)
    for method in ("disjoint", "deterministic"):
        with pytest.raises(ValueError, match="method"):
            multi(linear, [item], epsilon_feas=0.1, method=method)


def test_a_limit_on_calls_is_an_answer():
    policies, sets = mixed_problem(3, 4)
    value = least_limit(policies, sets, 1e-5)
    moved = [ClassificationSet(s.data, s.costs, value) for s in sets]
    for method in ("multiplicative-weights", "column-generation"):
        left = multi(policies, moved, epsilon_feas=1e-4, method=method, max_calls=1)
        assert left.status is MultiStatus.UNKNOWN
        assert "1 CSC calls" in left.reason
        assert left.calls == 1
        assert left.policy is not None
        assert left.violation > 1e-4


def test_round_bound():
    assert round_bound(1, 5.0, 0.1, 0.0) == 1
    assert round_bound(2, 1.0, 1.0, 0.0) == 1
    assert round_bound(100, 2.0, 0.1, 0.0) == 922  # 4 ln 100 / (2 · 0.01)
    epsilon = 0.05
    ask = ACCURACY_SHARE * epsilon
    assert round_bound(9, 3.0, epsilon, ask) > round_bound(9, 3.0, epsilon, 0.0)
    with pytest.raises(ValueError, match="accuracy"):
        round_bound(2, 1.0, 0.1, 0.1)


def scripted(*tables):
    """A CSC oracle that gives these policies first, by no bound; then the best."""
    script = (classes.TabularPolicy(np.array(table)) for table in tables)

    def oracle(policy_class, data, costs, *, epsilon_sub):
        best = csc(policy_class, data, costs, epsilon_sub=epsilon_sub)
        given = next(script, None)
        if given is None:
            return best
        return dataclasses.replace(best, policy=given, suboptimality=9.0)

    return oracle


def test_disjoint_sets_go_on_by_columns_where_the_oracle_tells_nothing():
    policies = classes.TabularPolicyClass(10, 2)
    for cost, tables, answer in (
        (0, [[1] * 10, [1] * 9 + [0], [0] + [1] * 9], (MultiStatus.FEASIBLE, 4, "")),
        (1, itertools.product((0, 1), repeat=10),  # 2 calls, and 100 a set
         (MultiStatus.UNKNOWN, 202, "limit of 202 CSC calls")),
    ):  # fmt: skip
        sets = [
            ClassificationSet(EmpiricalMeasure(part), [[cost, 1]] * 5, 0)
            for part in (range(5), range(5, 10))
        ]
        found = multi(policies, sets, epsilon_feas=0.01, csc_oracle=scripted(*tables))
        assert (found.status, found.calls, found.reason) == answer
        assert found.method == "column-generation"


@with_rows(
    "heavy, limit, epsilon, row, side",
    # Multiples of ε_feas / 2S for S = 2; limits go up by ε_feas / 2 before.
    (10**7, Fraction(1, 3), 2**-1, (0, 1), Fraction(1, 2)),
    (10**7, Fraction(1, 3), 2**-10, (0, 1), Fraction(1367, 4096)),
    (10**6, 1, 2**-10, (0, 1), 1 + Fraction(1, 2048)),
    (10**6 - 1, 1, 2**-10, (Fraction(1, 10**6), 1 - Fraction(1, 10**6)), 1),
)
def test_only_coefficients_of_many_digits_are_rounded(heavy, limit, epsilon, row, side):
    policies = classes.TabularPolicyClass(2, 2)
    data = EmpiricalMeasure([0, 1], weights=[1, heavy])
    item = ClassificationSet(data, [[0, 1], [0, 1]], limit)
    problem = multi_data.Problem(policies, [item])
    pricing = multi_data.Pricing(policies, problem, csc, epsilon)
    last = multi_module.deterministic_model(policies, pricing).rows[-1]
    found = dict(zip(last.indices, last.coefficients, strict=True))
    assert [found.get(i, 0) for i in range(4)] == [0, row[0], 0, row[1]]
    assert last.rhs == side
