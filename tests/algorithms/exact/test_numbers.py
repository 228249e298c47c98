from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.exact.arrays import (
    MOST_NUMBERS,
    as_rational,
    check_sizes,
    weighted_sum,
)
from olivine.algorithms.mdp.tabular import TabularMDP


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), Fraction(3)])
def test_exact_numbers_become_fractions_of_python_integers(value) -> None:
    found = as_rational("reward", value)
    assert found == 3
    assert type(found.numerator) is int
    assert found * 2**80 == 3 * 2**80  # which numpy's integers do not hold


@pytest.mark.parametrize("value", [True, np.bool_(True), 0.5, np.float64(1), "1", None])
def test_what_is_not_exact_is_refused(value) -> None:
    with pytest.raises(ValueError, match=r"^reward .* is neither Fraction nor integer"):
        as_rational("reward", value)


def test_rewards_of_numpy_are_those_of_python() -> None:
    def mdp(one) -> TabularMDP:
        ending = ("t", 2, [("end", one, {})])
        return TabularMDP.from_lists([("s", 1, [("go", 0, {"t": one})]), ending])

    best = mdp(np.int64(1)).optimal_values()
    assert best.value(0) == mdp(1).optimal_values().value(0) == 1


@given(st.lists(st.tuples(st.integers(0, 10**20), st.fractions() | st.integers())))
def test_a_weighted_sum_is_that_of_the_products(terms) -> None:
    weights, values = [w for w, _ in terms], [v for _, v in terms]
    found = weighted_sum(weights, values)
    assert type(found) is Fraction
    assert found == sum((w * v for w, v in terms), Fraction(0))


def test_sizes_are_refused_just_outside_their_bounds() -> None:
    check_sizes(2, actions=2, horizon=MOST_NUMBERS)
    with pytest.raises(ValueError, match="actions: 1 is below 2"):
        check_sizes(2, actions=1)
    with pytest.raises(ValueError, match=r"horizon: 10000001 is not in 2\.\.10000000"):
        check_sizes(2, horizon=MOST_NUMBERS + 1)
