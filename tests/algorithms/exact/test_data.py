"""Weighted empirical measures: exact weights, pooling, refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.exact.arrays import END, exact_sum
from olivine.algorithms.exact.data import EmpiricalMeasure, pool

from tests.support.depth import with_rows
from tests.support.refusals import refused

counts = st.one_of(
    st.just(0), st.integers(0, 5), st.integers(0, 10**40), st.just(2**63 - 1)
)


@st.composite
def measures(draw, max_rows=6, full=True):
    n = draw(st.integers(1, max_rows))
    weights = draw(st.lists(counts, min_size=n, max_size=n).filter(any))
    column = st.lists(st.integers(0, 2), min_size=n, max_size=n)
    rationals = st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1, 2)])
    return EmpiricalMeasure(
        draw(column),
        actions=draw(column),
        rewards=draw(st.lists(rationals, min_size=n, max_size=n)),
        next_observations=draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)),
        weights=weights,
    )


@given(measures())
def test_probabilities_are_correctly_rounded(data):
    for p, w in zip(data.probabilities, data.weights.tolist(), strict=True):
        assert p == float(Fraction(w, data.total_weight))
    assert data.total_weight == sum(data.weights.tolist())
    assert isinstance(data.total_weight, int)
    assert data.weights.dtype in (np.int64, object)


@given(measures())
def test_merging_changes_no_expectation(data):
    merged = data.merged()
    table = [Fraction(1, 7), Fraction(2, 7), Fraction(1)]

    def statistics(m):
        xs, nexts = m.at(table), m.at(table, field="next_observations")
        products = xs * (1 + nexts) * (2 + m.actions) * (1 + m.exact_rewards)
        return m.expectation_exact(products), m.total_weight, m.draws

    assert statistics(merged) == statistics(data)
    rows = list(
        zip(
            merged.observations.tolist(),
            merged.actions.tolist(),
            merged.exact_rewards.tolist(),
            merged.next_observations.tolist(),
            strict=True,
        )
    )
    assert len(set(rows)) == len(rows)


@given(st.lists(measures(), min_size=1, max_size=4))
def test_pooling_is_the_mixture(parts):
    table = [Fraction(0), Fraction(1, 3), Fraction(1)]
    means = [m.expectation_exact(m.at(table)) for m in parts]
    equal = pool(parts)
    assert equal.expectation_exact(equal.at(table)) == sum(means) / len(parts)
    by_draw = pool(parts, shares="draws")
    draws = [m.draws for m in parts]
    expected = sum(d * v for d, v in zip(draws, means, strict=True)) / sum(draws)
    assert by_draw.expectation_exact(by_draw.at(table)) == expected
    assert equal.draws == by_draw.draws == sum(draws)
    assert len(equal) == sum(map(len, parts))
    assert math.gcd(*by_draw.weights.tolist()) >= 1


@given(measures())
def test_float_and_exact_expectations_agree(data):
    table = [Fraction(1, 3), Fraction(0), Fraction(5, 7)]
    exact = data.expectation_exact(data.at(table))
    assert math.isclose(data.expectation(data.at(table)), exact, abs_tol=1e-15)
    by_code = data.weights_by_code(3)
    mean = sum(w * t for w, t in zip(by_code.tolist(), table, strict=True))
    assert Fraction(mean) / data.total_weight == exact
    size = len(data.masses)
    assert size == data.codes().max() + 1
    assert not by_code[size:].any()
    shares = [w / data.total_weight for w in by_code[:size].tolist()]
    np.testing.assert_allclose(data.masses, shares, rtol=1e-14)


def test_small_integers_stay_small_and_sums_beyond_64_bits_are_exact():
    a = EmpiricalMeasure([0, 1], weights=[1, 3])
    b = EmpiricalMeasure([1, 2], weights=[4, 4])
    pooled = pool([a, b])
    assert pooled.weights.tolist() == [2, 6, 4, 4]
    assert pooled.weights.dtype == np.int64
    assert pool([a, b], shares=[0, 1]).expectation([1, 1, 0, 0]) == 0
    big = np.full(10, 2**63 - 1, dtype=np.int64)
    assert exact_sum(big) == 10 * (2**63 - 1)
    assert EmpiricalMeasure([0] * 10, weights=big).draws == 10 * (2**63 - 1)


def test_ended_episodes_have_value_zero():
    data = EmpiricalMeasure([0, 0], next_observations=[END, 1], weights=[3, 1])
    assert data.at([5.0, 7.0], field="next_observations").tolist() == [0.0, 7.0]
    assert data.weights_by_code(2, field="next_observations").tolist() == [0, 1]
    assert data.marginal("next_observations").draws == 1


def test_continuous_observations():
    data = EmpiricalMeasure(np.array([[0.5, -0.0], [1.0, 2.0]]), weights=[1, 10**20])
    assert not data.is_finite
    assert data.marginal().draws == 1 + 10**20
    refused("continuous", data.codes)
    with pytest.raises(ValueError, match="continuous"):
        _ = data.masses
    refused("continuous", data.merged)


def test_arrays_are_read_only():
    data = EmpiricalMeasure([0, 1])
    for column in (data.observations, data.weights, data.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


@with_rows(
    "arguments, message",
    ({"observations": []}, "observations: empty"),
    ({"observations": [0, -1]}, "observations, row 1: negative code"),
    ({"observations": [0.5, 1.5]}, "observations: expected integer codes"),
    ({"observations": [True, False]}, "observations: expected integer codes"),
    ({"observations": np.array([[1.0], [np.nan]])}, "observations, row 1: NaN"),
    ({"observations": np.array([[1.0], [np.inf]])}, "observations, row 1"),
    ({"observations": np.array([2**63], dtype=np.uint64)}, "row 0: code beyond"),
    ({"observations": [0, 1], "weights": [1, -2]}, "weights, row 1: negative"),
    ({"observations": [0, 1], "weights": [0, 0]}, "weights: all are zero"),
    ({"observations": [0, 1], "weights": [1, 0.5]}, "weights, row 1: 0.5 is no"),
    ({"observations": [0, 1], "weights": [1, np.nan]}, "weights, row 1"),
    ({"observations": [0, 1], "weights": [1]}, "weights: expected shape"),
    ({"observations": [0, 1], "draws": 0}, "draws"),
    ({"observations": [0, 1], "actions": [0]}, "actions: expected"),
    ({"observations": [0, 1], "actions": [0, -1]}, "actions, row 1"),
    ({"observations": [0, 1], "rewards": [0, np.inf]}, "rewards, row 1: NaN"),
    ({"observations": [0, 1], "rewards": [0, "x"]}, "rewards: not real"),
    ({"observations": [0, 1], "next_observations": [0, -2]}, "next_observ.*row 1"),
    ({"observations": [0], "next_observations": [0, 1]}, "next_observations"),
    ({"observations": [0], "next_observations": np.zeros((1, 2))}, "next_observations"),
)
def test_bad_input_is_named(arguments, message):
    refused(message, EmpiricalMeasure, **arguments)


def test_bad_pools_and_lookups_are_named():
    data = EmpiricalMeasure([0, 3])
    refused("observations, row 1: no code below 3", data.at, [0.0, 1.0, 2.0])
    refused("observations, row 1", data.weights_by_code, 2)
    refused("none to pool", pool, [])
    refused("actions of measure 0", pool, [data, EmpiricalMeasure([0], actions=[0])])
    refused("all are zero", pool, [data], shares=[0])
    refused("shares", pool, [data], shares="each")
    refused("values, row 1", data.expectation, [0.0, np.nan])
    refused("values, row 1", data.expectation_exact, [0.0, np.nan])
    with pytest.raises(ValueError, match="values: expected 2 rows, got 1"):
        data.expectation_exact([0])
    for ask in (data.codes, data.marginal):
        refused("next_observations: this measure has none", ask, "next_observations")
    with pytest.raises(ValueError, match="rewards: this measure has none"):
        data.exact_rewards  # noqa: B018
