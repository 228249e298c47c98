"""Operations counted at the data; strategies over features and own classes."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms import classes
from olivine.algorithms.classes.features import LearnedPolicyClass
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles import random_csc, random_least_squares
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.least_squares import least_squares
from olivine.algorithms.oracles.lp import Functional, lp
from olivine.algorithms.oracles.testing import (
    count_operations,
    csc_problems,
    features,
    growth,
    least_squares_problems,
    verify_csc,
    verify_least_squares,
)

from tests.support.depth import with_rows
from tests.support.refusals import refused

SIZES = [32, 64, 128, 256]


def exponent(oracle):
    def operations(n):
        problem = random_csc(np.random.default_rng(n), n, 8, 3)
        return count_operations(oracle, problem.data, problem.costs).operations

    return growth(operations, SIZES).exponent


def pairs_in_numpy(data, costs):
    for x in data.observations:
        (data.observations == x).sum()


def pairs_behind_a_conversion(data, costs):
    codes = np.asarray(data.observations)
    return np.array(np.ascontiguousarray(costs)[:, 0])[:, None] * codes[None, :]


def pairs_in_a_method(data, costs):
    return [costs[:, 0].copy().argsort() for _ in range(len(data))]


def sorts(data, costs):
    return np.asarray(costs)[np.argsort(data.observations, kind="stable")].sum()


def reads(data, costs):
    return dict(zip(data.observations.tolist(), costs.tolist(), strict=True))


@with_rows(
    "oracle, least, most",
    (pairs_in_numpy, 1.9, 2.1),
    (pairs_behind_a_conversion, 1.8, 2.1),
    (pairs_in_a_method, 1.9, 2.3),
    (sorts, 1.0, 1.3),
    (reads, 0.9, 1.1),
)
def test_what_is_done_with_the_data_is_counted(oracle, least, most):
    assert least <= exponent(oracle) <= most


def test_an_oracle_that_lies_is_found_out():
    """It says n and does n²: its word has exponent 1, its data 2."""

    def lying(data, costs):
        pairs_in_numpy(data, costs)
        return len(data)

    assert exponent(lying) > 1.9


def test_our_own_oracles_are_linear_in_the_rows():
    policies, values = classes.TabularPolicyClass(8, 3), classes.TabularValueClass(8)
    assert exponent(lambda d, c: csc(policies, d, c, epsilon_sub=1e-6)) < 1.2

    def operations(n):
        p = random_least_squares(np.random.default_rng(n), n, 8)
        found = count_operations(
            lambda d, v: least_squares(values, d, v, epsilon_sub=1e-6),
            p.data,
            p.targets,
        )
        assert found.oracle_calls == {"ls": 1}
        return found.operations

    assert growth(operations, SIZES).exponent < 1.2


@pytest.mark.parametrize(("n", "size", "k"), [(1, 1, 1), (8, 4, 3), (64, 6, 9)])
def test_an_oracle_reports_about_what_is_counted(n, size, k):
    rng = np.random.default_rng([n, size, k])
    policies, values = (
        classes.TabularPolicyClass(size, k),
        classes.TabularValueClass(size),
    )
    costs, fits = random_csc(rng, n, size, k), random_least_squares(rng, n, size)
    for oracle, of, data, numbers in (
        (csc, policies, costs.data, costs.costs),
        (least_squares, values, fits.data, fits.targets),
    ):
        ask = functools.partial(oracle, of, epsilon_sub=1e-6)
        found = count_operations(ask, data, numbers)
        assert found.result.operations <= found.operations
        assert found.operations <= 10 * found.result.operations


def test_the_result_is_the_same_and_numpy_is_put_back():
    problem = random_csc(np.random.default_rng(0), 50, 8, 3)
    before = np.asarray, np.array, np.ascontiguousarray, np.copy
    policies = classes.TabularPolicyClass(8, 3)
    found = count_operations(
        lambda d, c: csc(policies, d, c, epsilon_sub=1e-6), problem.data, problem.costs
    )
    plain = csc(policies, problem.data, problem.costs, epsilon_sub=1e-6)
    assert found.result.cost == plain.cost
    assert found.oracle_calls == {"csc": 1}
    with pytest.raises(ZeroDivisionError):
        count_operations(lambda d, c: 1 // 0, problem.data, problem.costs)
    assert before == (np.asarray, np.array, np.ascontiguousarray, np.copy)


class Nearest:
    """A learner: the target of the nearest example."""

    def fit(self, features, targets, weights):
        def predict(rows):
            distances = ((rows[:, None] - features[None]) ** 2).sum(axis=2)
            return targets[distances.argmin(axis=1)]

        return predict


@given(st.data(), features())
@settings(max_examples=25, deadline=None)
def test_csc_over_features(data, table):
    problem = data.draw(csc_problems(observations=table, n_actions=2))
    dimension = table.shape[1]
    learned = LearnedPolicyClass(
        Nearest(), 2, reduction="weighted-multiclass", features=dimension
    )
    for policies in (classes.LinearPolicyClass(dimension, 2), learned):
        verify_csc(csc, problem, epsilon_sub=1e-6, policy_class=policies)


@given(st.data(), features())
@settings(max_examples=25, deadline=None)
def test_least_squares_by_a_learner(data, table):
    problem = data.draw(least_squares_problems(observations=table))
    values = classes.LearnedValueClass(Nearest(), features=table.shape[1])
    found = verify_least_squares(
        least_squares, problem, epsilon_sub=1e-6, value_class=values
    )
    assert found.honoured  # it reproduces the means, which no function betters


def test_a_regressor_is_a_value_class():
    tree = pytest.importorskip("sklearn.tree")
    from olivine import sklearn_values

    values = sklearn_values(tree.DecisionTreeRegressor(random_state=0), features=2)
    problem = random_least_squares(np.random.default_rng(0), 40, 4)
    from olivine.algorithms.exact.data import EmpiricalMeasure

    corners = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    data = EmpiricalMeasure(
        corners[problem.data.observations], weights=problem.data.weights
    )
    found = least_squares(values, data, problem.targets, epsilon_sub=1e-6)
    best = least_squares(
        classes.TabularValueClass(4), problem.data, problem.targets, epsilon_sub=1e-6
    )
    assert abs(found.loss - best.loss) < 1e-9
    assert found.honoured
    none = least_squares(values, data, problem.targets, epsilon_sub=1e-6,
                         importance=np.zeros(len(data)))  # fmt: skip
    assert none.loss == 0
    with pytest.raises(ValueError, match="a regressor has no LP oracle"):
        lp(values, Functional.expectation(data), (), epsilon_sub=1, epsilon_feas=1)
    refused("does not know the size", values.log_size)


def test_an_estimator_that_is_neither_is_told_what_is_missing():
    linear = pytest.importorskip("sklearn.linear_model")
    from olivine import sklearn_policies, sklearn_values
    from olivine.algorithms.classes.features import SklearnLearner
    from sklearn.cluster import KMeans

    for make in (lambda e: sklearn_policies(e, 2, features=1),
                 lambda e: sklearn_values(e, features=1), SklearnLearner):  # fmt: skip
        refused("object has no fit, no predict, no get_p", make, object())
        refused("KMeans is neither a classifier nor", make, KMeans())
        refused(r"give an object, Ridge\(\)", make, linear.Ridge)
    with pytest.raises(ValueError, match="LogisticRegression is no regressor"):
        sklearn_values(linear.LogisticRegression(), features=1)


def test_finite_value_classes_count_too():
    """Their means divide where there is weight, by an array that counts."""
    tables = [np.array([0.0, 1.0]), np.array([0.5, 0.2])]
    values = classes.FiniteValueClass([table.__getitem__ for table in tables])

    def solve(data, targets):
        return least_squares(values, data, targets, epsilon_sub=0.1)

    found = count_operations(solve, EmpiricalMeasure([0, 1, 1]), [1.0, 0, 1])
    assert found.operations > 3
    assert found.oracle_calls == {"ls": 1}
