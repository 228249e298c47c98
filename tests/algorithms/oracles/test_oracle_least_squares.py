"""The LS oracle: exact verdicts, clipping, importances, classes, refusals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.algorithms.classes import (
    FiniteValueClass,
    KernelBall,
    LinearValueClass,
    TabularValueClass,
    identity_kernel,
)
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles import exact_loss, summation_bound, testing
from olivine.algorithms.oracles.least_squares import least_squares
from olivine.claims.oracles import LS_CONSTANT, plain_least_squares
from scipy.optimize import minimize

from tests.support.depth import with_rows

accuracies = st.sampled_from([0.1, 1e-9, 1e-40])


@given(testing.least_squares_problems(max_rows=12, max_observations=8), accuracies)
@settings(max_examples=500)
def test_tabular_oracles_agree_and_are_exact(problem, epsilon):
    n, size = len(problem.data), problem.n_observations
    fast = testing.verify_least_squares(
        least_squares, problem, epsilon_sub=epsilon, operations=3 * n + size
    )
    plain = testing.verify_least_squares(
        plain_least_squares,
        problem,
        epsilon_sub=epsilon,
        operations=LS_CONSTANT * n * size,
    )
    assert fast.honoured
    assert plain.honoured
    assert np.allclose(fast.function.values, plain.function.values, atol=1e-12)
    if fast.function.exact is not None:
        assert fast.function.exact == plain.function.exact


@given(testing.least_squares_problems(max_observations=3))
def test_tabular_against_a_grid_of_values(problem):
    values = TabularValueClass(problem.n_observations)
    found = least_squares(values, problem.data, problem.targets, epsilon_sub=1e-9)
    loss = exact_loss(found.function, problem.data, problem.targets)
    grids = np.meshgrid(*[np.linspace(0, 1, 5)] * problem.n_observations)
    members = FiniteValueClass(np.stack([g.ravel() for g in grids], axis=1))
    for member in members.members:
        other = exact_loss(member, problem.data, problem.targets)
        assert loss <= other + Fraction(1e-9)


@given(testing.least_squares_problems(), st.data(), accuracies)
def test_finite_class_is_enumerated(problem, data, epsilon):
    row = st.lists(
        st.sampled_from([0.0, 0.25, 1 / 3, 1.0]),
        min_size=problem.n_observations,
        max_size=problem.n_observations,
    )
    table = np.array(data.draw(st.lists(row, min_size=1, max_size=5)))
    by_table = FiniteValueClass(table)
    by_call = FiniteValueClass([lambda x, row=row: row[x] for row in table])
    losses = [exact_loss(g, problem.data, problem.targets) for g in by_table.members]
    for values in (by_table, by_call):
        result = testing.verify_least_squares(
            least_squares,
            problem,
            epsilon_sub=epsilon,
            value_class=values,
            optimum=min(losses),
        )
        assert result.honoured


def test_targets_are_clipped_and_importances_weigh_rows():
    data = EmpiricalMeasure([0, 0, 1], weights=[1, 3, 1])
    found = least_squares(
        TabularValueClass(4), data, [2.0, 1.0, -5.0], epsilon_sub=1e-9
    )
    assert found.function.values.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert found.loss == pytest.approx(1 / 5 + 25 / 5)
    data = EmpiricalMeasure([0, 0, 1], weights=[1, 1, 2])
    found = least_squares(
        TabularValueClass(2),
        data,
        [0.0, 1.0, 0.5],
        epsilon_sub=1e-9,
        importance=[3.0, 1.0, 0.0],
    )
    assert found.function.values.tolist() == [0.25, 0.0]
    assert found.loss == pytest.approx((3 * 0.25**2 + 0.75**2) / 4)
    nothing = least_squares(
        TabularValueClass(2), data, [0, 1, 0], epsilon_sub=1e-9, importance=[0, 0, 0]
    )
    assert nothing.loss == 0
    exact = least_squares(
        TabularValueClass(2),
        data,
        [0.0, 1.0, 0.5],
        epsilon_sub=1e-300,
        importance=[3.0, 1.0, 0.0],
    )
    assert exact.function.exact == (Fraction(1, 4), Fraction(0))


@pytest.mark.parametrize("axis", ["n", "observations"])
def test_operations_grow_as_proved(axis):
    def run(oracle):
        def cost(size):
            sizes = {"n": 20, "observations": 4, axis: size}
            rng = np.random.default_rng(size)
            codes = rng.integers(0, sizes["observations"], sizes["n"])
            data = EmpiricalMeasure(codes)
            values = TabularValueClass(sizes["observations"])
            targets = rng.random(sizes["n"])
            return oracle(values, data, targets, epsilon_sub=1e-6).operations

        return testing.growth(cost, [4, 8, 16, 32, 64])

    assert run(least_squares).exponent <= 1 + 1e-9
    assert run(plain_least_squares).exponent <= 1 + 1e-9


@given(st.integers(0, 2**32), st.sampled_from([1e-3, 1e-8]))
@example(108, 1e-8)  # one observation, three features: the ridge alone is regular
@example(1364, 1e-8)
def test_linear_values_are_certified(seed, epsilon):
    """The certificate holds, and the range is kept on the data."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 4))
    features = rng.normal(size=(n, d))
    targets = rng.normal(size=n) * rng.choice([0.1, 1, 3])
    data = EmpiricalMeasure(features, weights=rng.integers(1, 5, n))
    values = LinearValueClass(d, bound=float(rng.choice([0.3, 2, 10])))
    found = least_squares(values, data, targets, epsilon_sub=epsilon)
    assert found.honoured
    theta = found.function.theta
    assert np.abs(theta).max() <= values.bound
    assert (features @ theta).min() >= -1e-9
    assert (features @ theta).max() <= 1 + 1e-12
    p = data.probabilities
    reference = minimize(
        lambda t: p @ (features @ t - targets) ** 2,
        np.zeros(d),
        jac=lambda t: 2 * features.T @ (p * (features @ t - targets)),
        method="SLSQP",
        bounds=[(-values.bound, values.bound)] * d,
        constraints={
            "type": "ineq",
            "fun": lambda t: np.r_[features @ t, 1 - features @ t],
            "jac": lambda t: np.vstack([features, -features]),
        },
        options={"ftol": 1e-12, "maxiter": 500},
    )
    inside = np.r_[features @ reference.x, 1 - features @ reference.x].min() >= -1e-9
    if inside:
        assert found.loss <= reference.fun + found.suboptimality + 1e-7


def test_linear_values_over_a_table_stay_in_range_at_unseen_codes():
    features = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    data = EmpiricalMeasure([0, 1])
    values = LinearValueClass(features, bound=5.0)
    found = least_squares(values, data, [0.0, 1.0], epsilon_sub=1e-9)
    assert found.honoured
    raw = features @ found.function.theta
    assert raw.min() >= -1e-9
    assert raw.max() <= 1 + 1e-12
    # The line is held down at the third code, which data never show.
    assert found.loss == pytest.approx(0.1, abs=1e-6)


def test_one_hot_features_make_linear_values_tabular():
    rng = np.random.default_rng(2)
    data = EmpiricalMeasure(rng.integers(0, 5, 60))
    targets = rng.normal(0.5, 1, 60)
    linear = least_squares(
        LinearValueClass(np.eye(5), bound=1.0), data, targets, epsilon_sub=1e-9
    )
    tabular = least_squares(TabularValueClass(5), data, targets, epsilon_sub=1e-9)
    assert linear.loss == pytest.approx(tabular.loss, abs=2e-9)


@with_rows(
    "change, message",
    ({"targets": [0.0, np.inf]}, "targets, row 1: NaN or infinite"),
    ({"targets": [0.0]}, "targets: expected shape"),
    ({"importance": [1.0, -1.0]}, "importance, row 1: negative"),
    ({"importance": [np.nan, 1.0]}, "importance, row 0: NaN"),
    ({"data": EmpiricalMeasure([0, 9])}, "observations, row 1: outside the class"),
    ({"epsilon_sub": 0}, "epsilon_sub"),
)
def test_bad_input_is_named(change, message):
    arguments = {
        "data": EmpiricalMeasure([0, 1]),
        "targets": [0.0, 1.0],
        "epsilon_sub": 0.1,
        **change,
    }
    with pytest.raises(ValueError, match=message):
        least_squares(TabularValueClass(2), **arguments)


def test_classes_without_an_ls_oracle_are_refused():
    with pytest.raises(ValueError, match="no LS oracle for KernelBall"):
        least_squares(
            KernelBall(identity_kernel), EmpiricalMeasure([0]), [0.0], epsilon_sub=0.1
        )


@pytest.mark.parametrize("size", [1, 1000])
def test_rounding_of_a_loss_is_no_more_than_its_terms_can_lose(size):
    """Of squares of at most (1 + |target|)², twice, as far as sums of 15 terms go."""
    values, data = FiniteValueClass([[0], [1]]), EmpiricalMeasure([0, 0])
    found = least_squares(values, data, [0, size], epsilon_sub=1)
    assert 0 < found.suboptimality <= 2 * summation_bound(15, (1 + size) ** 2)
