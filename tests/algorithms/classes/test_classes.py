"""Function classes: evaluation, admission, sizes, levels; mixtures of policies."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms import classes
from olivine.algorithms.classes.features import FeatureMap, LinearPolicy, LinearValue
from olivine.algorithms.classes.protocols import action_probabilities, sample_actions
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.ledger import Ledger, guard
from olivine.algorithms.oracles.lp import mean_discrepancy
from olivine.algorithms.oracles.testing import measures

from tests.support.depth import with_rows
from tests.support.refusals import refused

VALUE_CLASSES = [
    classes.TabularValueClass(3),
    classes.FiniteValueClass([[0.0, 0.5, 1.0]]),
    classes.LinearValueClass(np.eye(3), bound=1.0),
    classes.KernelBall(classes.identity_kernel),
    classes.ValueClassByLevel([classes.TabularValueClass(3)]),
]
POLICY_CLASSES = [
    classes.TabularPolicyClass(3, 2),
    classes.FinitePolicyClass([[0, 1, 1]], 2),
    classes.LinearPolicyClass(np.eye(3), 2),
    classes.PolicyClassByLevel([classes.TabularPolicyClass(3, 2)]),
]


@pytest.mark.parametrize("values", VALUE_CLASSES, ids=lambda c: type(c).__name__)
def test_value_classes_keep_the_protocol(values):
    assert isinstance(values, classes.ValueClass)
    assert values.at_level(1).admit([0, 2]).tolist() == [0, 2]
    refused("level: 0", values.at_level, 0)
    assert values.log_size(resolution=0.1, points=3) >= 0
    if not isinstance(values, classes.ValueClassByLevel | classes.KernelBall):
        refused("codes, row 1: outside the class", values.admit, [0, 3], "codes")


@pytest.mark.parametrize("policies", POLICY_CLASSES, ids=lambda c: type(c).__name__)
def test_policy_classes_keep_the_protocol(policies):
    assert isinstance(policies, classes.PolicyClass)
    assert policies.n_actions == 2
    assert policies.at_level(1).admit([0, 2]).tolist() == [0, 2]
    assert policies.log_size(points=3) >= 0
    refused("level: 0", policies.at_level, 0)


def test_tables_evaluate_and_refuse():
    value = classes.TabularValue.from_fractions([Fraction(1, 3), Fraction(1)])
    assert value(np.array([1, 0])).tolist() == [1.0, 1 / 3]
    assert classes.TabularPolicy(np.array([2, 0]))(np.array([0, 0, 1])).tolist() == [
        2,
        2,
        0,
    ]
    for bad in (-0.1, 1.1, np.nan):
        refused("values, row 1", classes.TabularValue, np.array([0.0, bad]))
    refused("actions, row 0", classes.TabularPolicy, np.array([-1]))
    for bad in (np.array([0.5]), np.array([[0]])):
        refused("actions: expected a vector of integers", classes.TabularPolicy, bad)
    refused("row 0: outside", value, np.array([2]))
    for size in (0, -1):
        refused("n_observations", classes.TabularValueClass, size)
        refused("n_actions", classes.TabularPolicyClass, 1, size)


def test_finite_classes_refuse_what_is_no_member():
    refused("members: expected shape", classes.FiniteValueClass, [])
    refused("values, row 1: outside", classes.FiniteValueClass, [[0.0, 1.5]])
    refused("members: expected integers", classes.FinitePolicyClass, [[0.5]], 2)
    refused("members, row 1: no action", classes.FinitePolicyClass, [[0, 1], [0, 2]], 2)
    refused("some are callables", classes.FiniteValueClass, [lambda x: x, [0.0]])
    too_high = classes.FiniteValueClass([lambda x: 1.0 + np.arange(len(x))])
    refused("function, row 1: value outside", too_high.evaluate_all, np.array([0, 0]))
    no_action = classes.FinitePolicyClass([lambda x: x], 2)
    assert no_action.evaluate_all(np.array([1, 0])).tolist() == [[1, 0]]
    refused("function, row 0: no action", no_action.evaluate_all, np.array([2]))
    with pytest.raises(ValueError, match="returned shape"):
        classes.FiniteValueClass([lambda x: np.zeros(7)]).evaluate_all(np.array([0]))
    with pytest.raises(ValueError, match="returned float64"):
        classes.FinitePolicyClass([lambda x: np.zeros(len(x))], 2).evaluate_all(
            np.array([0])
        )


def test_linear_members_and_ties():
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    values = classes.LinearValueClass(features, bound=3.0)
    value = LinearValue(np.array([2.0, -1.0]), values.features)
    assert value(np.array([0, 1, 2])).tolist() == [1.0, 0.0, 0.0]
    policies = classes.LinearPolicyClass(features, 3)
    policy = LinearPolicy(
        np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]), policies.features
    )
    assert policy(np.array([0, 1, 2])).tolist() == [1, 0, 0]
    refused("bound", classes.LinearValueClass, 2, bound=np.inf)
    refused("features, row 1", classes.LinearValueClass, [[0.0], [np.nan]], bound=1)
    for dimension in (None, 0):
        with pytest.raises(ValueError, match=f"dimension: {dimension} for a callable"):
            FeatureMap(lambda x: x, dimension)
    assert FeatureMap(lambda x: 2.0 * x[:, None], 1)(np.array([3])).tolist() == [[6]]
    refused("features: dimension 0 is below 1", FeatureMap, 0)
    assert FeatureMap(np.int64(1))(np.array([[0.5]])).tolist() == [[0.5]]
    for bad in ([1.0], np.zeros((0, 2)), np.zeros((1, 1, 1))):
        refused(r"features: expected shape \(\|X\|, d\)", FeatureMap, bad)
    for made in (classes.LinearPolicyClass, classes.FinitePolicyClass):
        refused("n_actions: 0 is below 1", made, [[0]], 0)
        assert made([[0]], 1).n_actions == 1
    refused("dimension", classes.LinearValueClass, np.eye(2), bound=1, dimension=2)
    with pytest.raises(ValueError, match=r"observations: expected shape \(n, 2\)"):
        classes.LinearValueClass(2, bound=1).admit(np.zeros((1, 3)))


def test_sizes_of_tabular_and_finite_classes():
    values = classes.TabularValueClass(5)
    assert values.log_size() == pytest.approx(5 * math.log(2))
    assert values.log_size(squared=True) == pytest.approx(10 * math.log(2))
    assert values.log_size(points=2) == pytest.approx(2 * math.log(2))
    assert values.log_size(resolution=0.25) == pytest.approx(5 * math.log(2))
    assert classes.TabularPolicyClass(5, 3).log_size() == pytest.approx(5 * math.log(3))
    assert classes.FiniteValueClass([[0.0], [1.0]]).log_size() == pytest.approx(
        math.log(2)
    )
    assert classes.zero_class().log_size() == 0
    for bad in (0, -1, 2):
        refused("resolution", values.log_size, resolution=bad)


@given(st.floats(0.01, 1), st.integers(0, 2**32))
@settings(max_examples=25)
def test_the_tabular_cover_covers(resolution, seed):
    cells = math.ceil(1 / (2 * resolution))
    centres = (2 * np.arange(cells) + 1) / (2 * cells)
    g = np.random.default_rng(seed).random(4)
    assert np.abs(g[:, None] - centres).min(axis=1).max() <= resolution + 1e-12
    assert classes.TabularValueClass(4).log_size(
        resolution=resolution
    ) == pytest.approx(4 * math.log(cells))


@given(st.integers(1, 5), st.integers(2, 3), st.integers(0, 2**32))
@settings(max_examples=25)
def test_labellings_of_linear_policies_are_no_more_than_said(n, k, seed):
    rng = np.random.default_rng(seed)
    features = rng.integers(-2, 3, (n, 2)).astype(float)
    policies = classes.LinearPolicyClass(features, k)
    theta = rng.integers(-3, 4, (3000, k, 2)).astype(float)
    labels = np.argmax(np.einsum("tkd,nd->tnk", theta, features), axis=2)
    seen = len(np.unique(labels, axis=0))
    assert math.log(seen) <= policies.log_size() + 1e-9
    assert policies.log_size() <= n * math.log(k) + 1e-9


def test_infinite_classes_count_points_or_a_cover():
    policies = classes.LinearPolicyClass(2, 2)
    assert policies.log_size(points=1000) < 0.1 * 1000 * math.log(2)
    refused("points", policies.log_size)
    refused("resolution", classes.LinearValueClass(2, bound=1).log_size)
    with pytest.raises(ValueError, match="without a table"):
        classes.LinearValueClass(2, bound=1).log_size(resolution=0.1)
    with pytest.raises(ValueError, match="needs both"):
        classes.KernelBall(classes.identity_kernel).log_size(resolution=0.1)


@given(st.integers(0, 2**32), st.sampled_from([0.5, 0.1]))
@settings(max_examples=20)
def test_the_linear_cover_covers(seed, resolution):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(3, 2))
    values = classes.LinearValueClass(features, bound=1.0)
    largest = np.abs(features).sum(axis=1).max()
    cells = max(1, math.ceil(largest / resolution))
    assert values.log_size(resolution=resolution) == pytest.approx(
        2 * math.log(cells), abs=1e-12
    )
    centres = -1 + (2 * np.arange(cells) + 1) / cells
    theta = rng.uniform(-1, 1, 2)
    nearest = centres[np.abs(theta[:, None] - centres).argmin(axis=1)]
    assert np.abs(features @ (theta - nearest)).max() <= resolution + 1e-12


def test_levels():
    one, two = classes.TabularValueClass(2), classes.TabularValueClass(5)
    values = classes.ValueClassByLevel([one, two])
    assert values.at_level(1) is one
    assert values.at_level(2) is two
    assert values.at_level(3).evaluate_all(np.array([9])).tolist() == [[0.0]]
    assert values.log_size() == two.log_size()
    for level in (0, 4):
        refused("level", values.at_level, level)
    refused("pick a level", values.admit, [0])
    policies = classes.PolicyClassByLevel(
        [classes.TabularPolicyClass(2, 3), classes.TabularPolicyClass(4, 3)]
    )
    assert policies.at_level(2).n_observations == 4
    refused("level: 3", policies.at_level, 3)
    with pytest.raises(ValueError, match="action counts differ"):
        classes.PolicyClassByLevel(
            [classes.TabularPolicyClass(2, 3), classes.TabularPolicyClass(2, 2)]
        )
    for by_level in (classes.ValueClassByLevel, classes.PolicyClassByLevel):
        refused("none", by_level, [])


@given(measures(3), measures(3))
def test_discrepancies_by_class(first, second):
    def found(values, epsilon=1e-7):
        return mean_discrepancy(values, first, second, epsilon_sub=epsilon)

    p = first.weights_by_code(3).astype(float) / first.total_weight
    q = second.weights_by_code(3).astype(float) / second.total_weight
    tabular = found(classes.TabularValueClass(3))
    assert tabular.value == pytest.approx(np.abs(p - q).sum() / 2, abs=1e-9)
    vertices = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    finite = found(classes.FiniteValueClass(vertices))
    assert finite.value == pytest.approx(tabular.value, abs=1e-9)
    ball = found(classes.KernelBall(classes.identity_kernel), 1e-3)
    distance = np.linalg.norm(p - q) / 2
    assert ball.value <= distance + 1e-12
    assert distance <= ball.value + ball.suboptimality + 1e-12
    unit = classes.KernelBall(classes.identity_kernel, centre=0.0, radius=1.0)
    whole = found(unit, 1e-3)
    assert whole.value == pytest.approx(2 * ball.value, abs=1e-12)
    linear = found(classes.LinearValueClass(np.eye(3), bound=1.0))
    assert linear.value == pytest.approx(tabular.value, abs=1e-6)
    assert mean_discrepancy(unit, first, first, epsilon_sub=1e-3).value == 0


def test_kernel_discrepancy_against_direct_evaluation(rng):
    x, y = rng.normal(size=(30, 2)), rng.normal(0.5, 1, size=(1100, 2))
    kernel = classes.gaussian_kernel(0.7)
    near = kernel(np.zeros((1, 2)), np.array([[0.0, 0.0], [0.7, 0.0], [0.7, -0.7]]))
    assert near[0] == pytest.approx([1, math.exp(-1 / 2), math.exp(-1)])
    ball = classes.KernelBall(kernel, centre=0.0, radius=1.0)
    p, q = EmpiricalMeasure(x, weights=rng.integers(1, 9, 30)), EmpiricalMeasure(y)
    found = mean_discrepancy(ball, p, q, epsilon_sub=1e-6)
    a, b = p.probabilities, q.probabilities
    square = a @ kernel(x, x) @ a - 2 * a @ kernel(x, y) @ b + b @ kernel(y, y) @ b
    assert found.value == pytest.approx(math.sqrt(square), abs=1e-9)
    assert found.suboptimality < 1e-6
    means = p.expectation(found.function(x)), q.expectation(found.function(y))
    assert abs(means[0] - means[1]) == pytest.approx(found.value, abs=1e-9)
    refused("bandwidth", classes.gaussian_kernel, 0)
    refused("radius", classes.KernelBall, kernel, radius=0)
    refused("centre: inf is not finite", classes.KernelBall, kernel, centre=math.inf)
    with pytest.raises(ValueError, match="differ in kind"):
        mean_discrepancy(ball, p, EmpiricalMeasure([0]), epsilon_sub=0.1)


A, B = (classes.TabularPolicy(np.array([0, a, 2])) for a in (1, 2))
MIXED = classes.MixedPolicy((A, B), (Fraction(1, 4), Fraction(3, 4)), 3)
CODES = np.array([2, 1, 0, 1])


def test_probabilities_of_a_mixture():
    expected = [[0, 0, 1], [0, 0.25, 0.75], [1, 0, 0], [0, 0.25, 0.75]]
    assert MIXED(CODES).tolist() == expected
    assert len(MIXED) == 2
    assert action_probabilities(MIXED, CODES, 3) is not None
    assert action_probabilities(MIXED, CODES, 3).tolist() == expected
    assert action_probabilities(A, CODES, 3).argmax(axis=1).tolist() == [2, 1, 0, 1]
    none = np.array([], dtype=np.int64)
    assert action_probabilities(A, none, 3).shape == (0, 3)


def test_guarded_policies_are_evaluated_and_counted():
    data = EmpiricalMeasure([0, 1])
    policies = guard(classes.TabularPolicyClass(3, 3))
    with Ledger() as ledger:
        found = csc(policies, data, np.eye(3)[:2], epsilon_sub=0.1).policy
        assert action_probabilities(found, CODES, 3).sum() == 4
    assert (ledger.evaluations, ledger.touches) == (1, [])


def test_draws_have_their_probabilities(rng):
    drawn = [MIXED.draw(rng) is B for _ in range(4000)]
    assert np.mean(drawn) == pytest.approx(0.75, abs=0.03)
    chances = np.tile(MIXED(CODES[1:2]), (4000, 1))
    actions = sample_actions(chances, rng)
    assert np.mean(actions == 2) == pytest.approx(0.75, abs=0.03)


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 1e-300, 0.1, 0.5, 1.0]), min_size=3, max_size=3)
        .filter(any)
        .map(lambda row: (np.array(row) / sum(row)).tolist()),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=100, deadline=None)
def test_an_action_of_probability_zero_is_never_drawn(rows, seed):
    chances = np.array(rows)
    actions = sample_actions(chances, np.random.default_rng(seed))
    assert actions.dtype == np.int64
    assert (chances[np.arange(len(rows)), actions] > 0).all()


@with_rows("weights", (), (1,), (Fraction(1, 2), Fraction(1, 3)), (0, 1), (2, -1))
def test_weights_that_are_none(weights):
    refused("weights", classes.MixedPolicy, (A, B), tuple(map(Fraction, weights)), 3)


@with_rows(
    "policy",
    lambda x: np.zeros((len(x), 2)),
    lambda x: np.zeros(len(x)),
    lambda x: np.full(len(x), 3),
    lambda x: np.full(len(x), -1),
    lambda x: np.zeros(1, dtype=int),
)
def test_what_is_no_policy_is_refused(policy):
    refused("policy", action_probabilities, policy, CODES, 3)
