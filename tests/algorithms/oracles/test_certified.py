"""What oracles certify, at the edge of what was asked; parts of linear CSC by hand."""

from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms import oracles
from olivine.algorithms.classes import LinearPolicyClass
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles import csc_hard
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.lp import LpResult, LpStatus

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
