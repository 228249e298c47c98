"""CSC by reduction: regret bounds for any predictors, perfect learners, sklearn."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.classes import LearnedPolicyClass
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.csc_hard import (
    all_pairs,
    filter_tree,
    pair_values,
    weighted_multiclass,
)
from olivine.algorithms.oracles.testing import csc_problems, verify_csc

from tests.support.depth import deep

CLASSIFIERS = ["weighted-multiclass", "all-pairs", "filter-tree"]


class Memory:
    """Perfect on what it was shown: the heaviest label, or the mean target."""

    def __init__(self, regresses=False):
        self.regresses = regresses

    def fit(self, features, targets, weights):
        assert len(features) == len(targets) == len(weights) > 0
        assert (weights > 0).all()
        seen = {}
        for row, target, weight in zip(features, targets, weights, strict=True):
            votes = seen.setdefault(tuple(row), {})
            votes[target] = votes.get(target, 0.0) + weight

        def recall(row):
            votes = seen.get(tuple(row))
            if votes is None:
                return 0
            if self.regresses:
                return sum(t * w for t, w in votes.items()) / sum(votes.values())
            return max(votes, key=votes.get)

        return lambda rows: np.array([recall(row) for row in rows])


class Noise:
    """Predicts anything; remembers by which weight it is wrong on its examples."""

    def __init__(self, rng):
        self.rng = rng
        self.wrong = 0.0

    def fit(self, features, targets, weights):
        table = {tuple(row): int(self.rng.integers(0, 2)) for row in features}

        def predict(rows):
            return np.array([table.get(tuple(row), 0) for row in rows])

        self.wrong += float(weights[predict(features) != targets].sum())
        return predict


@given(csc_problems())
def test_a_perfect_learner_reaches_the_floor_through_every_reduction(problem):
    features = np.arange(problem.n_observations, dtype=float)[:, None]
    for reduction in [*CLASSIFIERS, "cost-regression"]:
        learner = Memory(regresses=reduction == "cost-regression")
        policies = LearnedPolicyClass(
            learner, problem.n_actions, reduction=reduction, features=features
        )
        verify_csc(csc, problem, epsilon_sub=1e-6, policy_class=policies)
        assert csc(policies, problem.data, problem.costs, epsilon_sub=1e-6).honoured


costs_tables = st.integers(1, 5).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 6).map(float), min_size=k, max_size=k),
        min_size=1,
        max_size=5,
    )
)


@pytest.mark.parametrize(("reduction", "times"), [(all_pairs, 2), (filter_tree, 1)])
@given(table=costs_tables, seed=st.integers(0, 2**32))
def test_a_reduction_costs_so_many_times_what_is_decided_wrongly(
    reduction, times, table, seed
):
    costs = np.array(table)
    features = np.arange(len(costs), dtype=float)[:, None]
    learner = Noise(np.random.default_rng(seed))
    actions = reduction(learner, features, costs)(features)
    above = costs[np.arange(len(costs)), actions] - costs.min(axis=1)
    assert above.sum() <= times * learner.wrong + 1e-9


@given(costs_tables)
def test_weighted_multiclass_is_the_same_problem(table):
    costs = np.array(table)
    seen = []

    class Recorder:
        def fit(self, features, targets, weights):
            seen.extend(zip(features[:, 0].astype(int), targets, weights, strict=True))
            return lambda rows: np.zeros(len(rows), dtype=int)

    features = np.arange(len(costs), dtype=float)[:, None]
    weighted_multiclass(Recorder(), features, costs)
    for x, vector in enumerate(costs):
        missed = [
            sum(w for row, a, w in seen if row == x and a != action)
            for action in range(len(vector))
        ]
        shifts = np.array(missed) - vector
        assert np.allclose(shifts, shifts[0])


def test_pair_values_and_two_actions_by_hand():
    # Costs 0, 1, 3: v = 0, 1/1, 1 + 2/2.
    assert pair_values(np.array([[3.0, 0.0, 1.0]])).tolist() == [[2.0, 0.0, 1.0]]
    for row in np.random.default_rng(0).random((deep(20, 5), 4)):
        v = pair_values(row[None])[0]
        for i, j in combinations(range(4), 2):
            t = np.sort(row)
            grid = np.linspace(row.min(), row.max(), 200001)
            counts = np.searchsorted(t, grid, side="right")
            inside = (grid >= min(row[i], row[j])) & (grid < max(row[i], row[j]))
            integral = (inside / counts).sum() * (grid[1] - grid[0])
            assert abs(abs(v[i] - v[j]) - integral) < 1e-4
    calls = []

    class Recorder(Memory):
        def fit(self, features, targets, weights):
            calls.append((targets.tolist(), weights.tolist()))
            return super().fit(features, targets, weights)

    costs = np.array([[0.0, 2.0], [3.0, 0.0], [1.0, 1.0]])
    features = np.arange(3, dtype=float)[:, None]
    for reduction in (all_pairs, filter_tree, weighted_multiclass):
        assert reduction(Recorder(), features, costs)(features).tolist() == [0, 1, 0]
    assert calls == [([0, 1], [2.0, 3.0])] * 3


def test_bad_classes_are_named():
    with pytest.raises(ValueError, match="reduction: unknown"):
        LearnedPolicyClass(Memory(), 2, reduction="magic", features=1)
    with pytest.raises(ValueError, match="n_actions"):
        LearnedPolicyClass(Memory(), 0, reduction="all-pairs", features=1)
    policies = LearnedPolicyClass(Memory(), 2, reduction="all-pairs", features=1)
    with pytest.raises(ValueError, match="log_size"):
        policies.log_size()
    sized = LearnedPolicyClass(
        Memory(), 2, reduction="all-pairs", features=1, log_size=3.0
    )
    assert sized.at_level(2).log_size() == 3.0


def labelled(k):
    """Points in the plane; the cheap action depends on the angle."""
    rng = np.random.default_rng(k)
    x = rng.normal(size=(300, 2))
    sector = ((np.arctan2(x[:, 1], x[:, 0]) + np.pi) / (2 * np.pi) * k).astype(int) % k
    costs = 0.5 + 0.5 * rng.random((300, k))
    costs[np.arange(300), sector] = 0
    return EmpiricalMeasure(x), costs


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("reduction", [*CLASSIFIERS, "cost-regression"])
def test_sklearn_trees(k, reduction):
    tree = pytest.importorskip("sklearn.tree")
    from olivine.algorithms.classes.features import sklearn_policies

    if reduction == "cost-regression":
        estimator = tree.DecisionTreeRegressor(random_state=0)
    else:
        estimator = tree.DecisionTreeClassifier(random_state=0)
    data, costs = labelled(k)
    policies = sklearn_policies(estimator, k, features=2, reduction=reduction)
    result = csc(policies, data, costs, epsilon_sub=0.01)
    assert result.cost < 0.01
    assert result.policy(data.observations).dtype == np.int64


def test_sklearn_linear_models_and_defaults():
    linear = pytest.importorskip("sklearn.linear_model")
    from olivine.algorithms.classes.features import sklearn_policies

    data, costs = labelled(4)
    worst = costs.mean()
    for estimator in (linear.LogisticRegression(), linear.Ridge()):
        policies = sklearn_policies(estimator, 4, features=2)
        result = csc(policies, data, costs, epsilon_sub=0.01)
        assert result.cost < worst / 2
        assert result.suboptimality >= result.cost - 1e-12
    with pytest.raises(ValueError, match="does not go with a classifier"):
        sklearn_policies(
            linear.LogisticRegression(), 4, features=2, reduction="cost-regression"
        )
    with pytest.raises(ValueError, match="does not go with a regressor"):
        sklearn_policies(linear.Ridge(), 4, features=2, reduction="all-pairs")


def test_sklearn_estimators_without_weights_are_sampled():
    neighbors = pytest.importorskip("sklearn.neighbors")
    from olivine.algorithms.classes.features import sklearn_policies

    estimator = neighbors.KNeighborsClassifier(1)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        sklearn_policies(estimator, 3, features=2)
    data, costs = labelled(3)
    policies = sklearn_policies(
        estimator, 3, features=2, reduction="all-pairs", rng=np.random.default_rng(0)
    )
    assert csc(policies, data, costs, epsilon_sub=0.01).cost < costs.mean() / 2
    alike = sklearn_policies(estimator, 2, features=1, rng=np.random.default_rng(0))
    one = csc(alike, EmpiricalMeasure([[0.0]]), [[1.0, 0.0]], epsilon_sub=0.01)
    assert one.cost == 0
