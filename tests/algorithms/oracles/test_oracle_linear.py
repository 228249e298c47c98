"""Linear classes: separation and descent in CSC, quadratic programs, no clipping.

And what oracles certify, at the edge of what was asked.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms import oracles
from olivine.algorithms.classes import LinearPolicyClass, LinearValueClass
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles import csc_hard, exact_loss, summation_bound
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.csc_hard import SoftmaxCost, descend, separators
from olivine.algorithms.oracles.least_squares import LeastDistance, least_squares
from olivine.algorithms.oracles.lp import Constraint, Functional, LpResult, LpStatus, lp
from scipy.optimize import OptimizeResult, approx_fprime, lsq_linear

seeds = st.integers(0, 2**32)


def separable(rng, n, d, k):
    """Costs whose least entries a linear policy takes: (features, costs, actions)."""
    features = rng.normal(size=(n, d))
    wanted = (features @ rng.normal(size=(k, d)).T).argmax(axis=1)
    costs = rng.random((n, k)) + 0.2
    costs[np.arange(n), wanted] = 0
    return features, costs, wanted


@pytest.mark.parametrize(("n", "d", "k"), [(3000, 5, 3), (4000, 2, 2), (2500, 6, 5)])
def test_large_realisable_problems_are_solved_by_row_generation(n, d, k) -> None:
    features, costs, wanted = separable(np.random.default_rng(n), n, d, k)
    found = csc(LinearPolicyClass(d, k), EmpiricalMeasure(features), costs,
                epsilon_sub=1e-9)  # fmt: skip
    assert found.honoured
    assert found.policy(features).tolist() == wanted.tolist()


@given(seeds, st.integers(1, 60), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_small_realisable_problems_are_certified(seed, n, d, k) -> None:
    features, costs, _ = separable(np.random.default_rng(seed), n, d, k)
    found = csc(LinearPolicyClass(d, k), EmpiricalMeasure(features), costs,
                epsilon_sub=1e-6)  # fmt: skip
    assert found.honoured


def test_noise_and_one_mislabelled_row_are_found_out(rng):
    features = rng.normal(size=(20_000, 5))
    totals = np.zeros((20_000, 3))
    totals[np.arange(20_000), rng.integers(0, 3, 20_000)] = -1.0
    assert list(separators(features, totals)) == []
    # The sampled rows are separable; only the rows that come later are not.
    rng = np.random.default_rng(3)
    features, costs, wanted = separable(rng, 6000, 3, 2)
    clear = int(np.abs(features).sum(axis=1).argmax())
    costs[clear] = costs[clear, ::-1]
    found = csc(LinearPolicyClass(3, 2), EmpiricalMeasure(features), costs,
                epsilon_sub=1e-9)  # fmt: skip
    assert not found.honoured
    assert (found.policy(features) != wanted).sum() < 30
    assert found.cost <= 10 * costs.max() / 6000


def test_a_program_without_an_answer_proposes_nothing(monkeypatch) -> None:
    features, costs, _ = separable(np.random.default_rng(1), 20, 2, 2)
    assert len(list(separators(features, costs))) == 1
    nothing = OptimizeResult(x=None)
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: nothing)
    assert list(separators(features, costs)) == []


def test_nothing_to_separate() -> None:
    assert list(separators(np.ones((4, 2)), np.ones((4, 3)))) == []
    for epsilon in (1e-9, 1e-30):  # the latter is below rounding
        found = csc(LinearPolicyClass(2, 3), EmpiricalMeasure(np.ones((4, 2))),
                    np.ones((4, 3)), epsilon_sub=epsilon)  # fmt: skip
        assert found.honoured == (epsilon == 1e-9)
        assert found.cost == 1


@given(seeds, st.integers(1, 12), st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_the_gradient_of_the_softmax_cost(seed, n, d, k) -> None:
    rng = np.random.default_rng(seed)
    cost = SoftmaxCost(rng.normal(size=(n, d)), rng.normal(size=(n, k)))
    theta = rng.normal(size=k * d)
    for sharpness in (1.0, 8.0):
        value, gradient = cost(theta, sharpness)
        numeric = approx_fprime(theta, lambda t, b=sharpness: cost(t, b)[0], 1e-7)
        assert np.allclose(gradient, numeric, atol=1e-5)
        assert abs(value) <= 1 + 1e-12  # over the sum of |costs|


@given(seeds)
@settings(max_examples=15, deadline=None)
def test_descent_at_one_sharpness_goes_down(seed) -> None:
    rng = np.random.default_rng(seed)
    cost = SoftmaxCost(rng.normal(size=(30, 3)), rng.normal(size=(30, 3)))
    start = rng.normal(size=(3, 3))
    end = descend(start, cost, (4.0,))
    assert cost(end.ravel(), 4.0)[0] <= cost(start.ravel(), 4.0)[0] + 1e-12
    assert np.array_equal(descend(start, cost, ()), start)


@given(seeds, st.integers(1, 5), st.sampled_from([1.0, 1e-2, 1e-5]))
def test_least_distance_in_a_box(seed, d, smallest) -> None:
    """Against scipy's bounded least squares, however nearly singular r is."""
    rng = np.random.default_rng(seed)
    r = np.triu(rng.normal(size=(d, d)))
    np.fill_diagonal(r, rng.choice([1.0, smallest], d) * rng.choice([-1, 1], d))
    z, bound = rng.normal(size=d) * 3, float(rng.choice([0.3, 2.0]))
    g = np.vstack([np.eye(d), -np.eye(d)])
    theta, multipliers = LeastDistance(r, z, g, np.full(2 * d, -bound), bound).solve()
    assert np.abs(theta).max() <= bound + 1e-9
    assert multipliers.min() >= 0
    reference = lsq_linear(r, z, (-bound, bound), tol=1e-14)
    assert np.sum((r @ theta - z) ** 2) <= 2 * reference.cost + 1e-8


def test_only_constraints_that_hold_with_equality_get_multipliers() -> None:
    """The point of θ_1 + θ_2 ≤ 1 nearest to (3, 1), in a box that it is far within."""
    g = np.vstack([np.eye(2), -np.eye(2), [[-0.1, -0.1]]])
    h = np.array([-5, -5, -5, -5, -0.1])
    program = LeastDistance(np.eye(2), np.array([3.0, 1.0]), g, h, 5.0)
    theta, multipliers = program._polish(np.array([4]))
    assert theta == pytest.approx([1.5, -0.5])
    assert multipliers == pytest.approx([0, 0, 0, 0, 30])


@given(seeds, st.integers(1, 4), st.integers(1, 20))
def test_unclipped_values_are_bounded_by_the_box_alone(seed, d, n) -> None:
    """Without constraints the optimum of E[⟨θ, φ⟩] is B Σ_j |E φ_j|."""
    rng = np.random.default_rng(seed)
    features, bound = rng.normal(size=(n, d)), float(rng.choice([0.5, 3.0]))
    values = LinearValueClass(d, bound=bound, clipped=False)
    objective = Functional.expectation(EmpiricalMeasure(features))
    wanted = bound * np.abs(features.mean(axis=0)).sum()
    for maximise, sign in ((True, 1), (False, -1)):
        found = lp(values, objective, maximise=maximise, epsilon_sub=1e-6,
                   epsilon_feas=1e-6)  # fmt: skip
        assert found.honoured
        assert found.value == pytest.approx(sign * wanted, abs=2e-6)
        assert found.suboptimality >= summation_bound(d, wanted)  # its own rounding
        assert objective(found.function) == pytest.approx(found.value, abs=1e-6)
    exact = lp(values, objective, epsilon_sub=1e-6, epsilon_feas=1e-6, exact=True)
    assert float(exact.exact_value) == pytest.approx(wanted)
    assert not exact.function.clipped


def test_noise_makes_a_clipped_class_miss_what_an_unclipped_one_has(rng) -> None:
    """A state of value 0 whose feature is noisy: no clipped member averages to 0."""
    paid = np.c_[1 + 0.1 * rng.normal(size=400), 0.1 * rng.normal(size=400)]
    unpaid = paid[:, ::-1]
    first, second = (
        Functional.expectation(EmpiricalMeasure(x)) for x in (paid, unpaid)
    )
    constraints = [Constraint.near(first, 0.5, 0.01), Constraint.near(second, 0, 0.01)]
    accuracies = {"epsilon_sub": 1e-6, "epsilon_feas": 1e-9}
    clipped = LinearValueClass(2, bound=1.0)
    assert not lp(clipped, first, constraints, **accuracies).feasible
    found = lp(LinearValueClass(2, bound=1.0, clipped=False), first, constraints,
               **accuracies)  # fmt: skip
    assert found.feasible
    assert found.function(unpaid).min() < 0


@given(seeds, st.integers(1, 4), st.integers(1, 20))
def test_least_squares_without_clipping(seed, d, n) -> None:
    """Against scipy's bounded least squares; values may leave [0, 1]."""
    rng = np.random.default_rng(seed)
    features, targets = rng.normal(size=(n, d)), 3 * rng.normal(size=n)
    values = LinearValueClass(d, bound=2.0, clipped=False)
    found = least_squares(values, EmpiricalMeasure(features), targets, epsilon_sub=1e-8)
    assert found.honoured
    reference = lsq_linear(features, targets, (-2, 2), tol=1e-14)
    assert found.loss == pytest.approx(2 * reference.cost / n, abs=1e-6)
    misses = found.function(features) - targets
    assert found.loss == pytest.approx(np.mean(misses**2))


@pytest.mark.parametrize("seed", range(4))
def test_a_loss_in_float64_is_never_certified_beyond_its_rounding(seed) -> None:
    rng = np.random.default_rng(seed)
    features, targets = rng.random((6, 1)), rng.random(6)
    values = LinearValueClass(1, bound=2.0, clipped=False)
    data = EmpiricalMeasure(features)
    found = least_squares(values, data, targets, epsilon_sub=1e-30)
    rounding = summation_bound(7, (1 + targets.max()) ** 2 * data.probabilities.sum())
    assert found.suboptimality >= rounding
    assert abs(exact_loss(found.function, data, targets) - Fraction(found.loss)) <= (
        found.suboptimality
    )


ABOVE = float(np.nextafter(0.1, 1))


@pytest.mark.parametrize(("bound", "kept"), [(0.1, True), (ABOVE, False)])
def test_an_accuracy_is_honoured_up_to_it(bound, kept) -> None:
    assert oracles.CscResult(None, 0.0, bound, 0.1, 1).honoured is kept
    for lost, violated in ((bound, 0.0), (0.0, bound)):
        found = LpResult(LpStatus.OPTIMAL, None, 0.0, lost, violated, 0.1, 0.1, 1)
        assert found.honoured is kept
    assert LpResult.infeasible(0.1, 0.1, 1).honoured


def test_accuracies_are_positive_and_the_rounding_bound_is_linear():
    oracles.check_accuracy("epsilon", np.nextafter(0, 1))
    for value in (0, -1, np.inf, np.nan):
        with pytest.raises(ValueError, match="is not positive and finite"):
            oracles.check_accuracy("epsilon", value)
    unit = oracles.summation_bound(1, 1.0)
    assert unit == 1.01 * 5 * 2.0**-53
    assert oracles.summation_bound(6, 1.0) == pytest.approx(2 * unit)
    assert oracles.summation_bound(1, 3.0) == pytest.approx(3 * unit)


def test_parts_of_linear_csc_by_hand(rng):
    rows = np.arange(10, 20)
    assert csc_hard._spread(rows, 10).tolist() == rows.tolist()
    assert csc_hard._spread(rows, 4).tolist() == [10, 13, 16, 19]
    assert csc_hard._spread(rows, 1).tolist() == [10]
    theta, features = rng.normal(size=(3, 2)), rng.normal(size=(5, 2))
    scores = features @ csc_hard._of_size_one(theta, features).T
    assert np.abs(scores - scores.mean(axis=1, keepdims=True)).max() == pytest.approx(1)
    zero = np.zeros((3, 2))
    assert (csc_hard._of_size_one(zero, features) == zero).all()
    # ⟨w, x⟩ = w_1 x_1: 2 and -1 leave 1 at most, which is the largest t.
    above, below = np.array([[2.0, 5.0]]), np.array([[-1.0, 5.0]])
    assert csc_hard._margin(above, below) == pytest.approx(1)
    assert csc_hard._margin(above / 4, below / 4) == pytest.approx(3 / 8)
    assert csc_hard._margin(above, above) == pytest.approx(0)
    features = np.array([[1.0, 1.0], [-1.0, 1.0]])
    theta, optimum = csc_hard._hinge(features, np.array([[0.0, 4.0], [2.0, 0.0]]))
    assert optimum == pytest.approx(0)
    assert (features @ theta.T).argmax(axis=1).tolist() == [0, 1]
    same = np.ones((2, 2))
    for scale in (1, 4):  # one direction cannot serve both, whatever costs measure
        _, lost = csc_hard._hinge(same, scale * np.array([[0.0, 1.0], [1.0, 0.0]]))
        assert lost == pytest.approx(2)
    assert csc_hard._hinge(features, np.zeros((2, 2))) == (None, 0.0)


def test_linear_policies_report_the_cost_of_the_policy_they_return() -> None:
    """Exactly, with weights, where the best is out of reach and where it is not."""
    rng = np.random.default_rng(1)
    for seed in range(3):
        features = np.c_[rng.normal(size=12), np.ones(12)]
        data = EmpiricalMeasure(features, weights=rng.integers(1, 9, 12))
        costs = rng.random((12, 3)) if seed else np.tile([1.0, 0.25, 0.5], (12, 1))
        found = csc(LinearPolicyClass(2, 3), data, costs, epsilon_sub=1e-9)
        chosen = found.policy(features)
        picked = [Fraction(c) for c in costs[np.arange(12), chosen].tolist()]
        exact = data.expectation_exact(picked)
        assert abs(exact - Fraction(found.cost)) < Fraction(1, 10**12)
        floor = data.expectation_exact([Fraction(c) for c in costs.min(axis=1)])
        assert Fraction(found.suboptimality) >= exact - floor
        assert found.honoured is (seed == 0)
        assert found.operations >= costs.size + 12 * 6
