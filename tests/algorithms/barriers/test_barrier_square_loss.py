"""The square-loss barrier, and numbers with one square root."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.barriers.square_loss import (
    ALWAYS_B,
    OPTIMAL,
    SquareLossBarrier,
    Surd,
)
from scipy.stats import binomtest

from tests.support.depth import spread
from tests.support.refusals import refused

epsilons = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)
rationals = st.fractions(-20, 20, max_denominator=50)
radicands = st.fractions(0, 20, max_denominator=20)


@given(epsilons)
def test_the_proposition(epsilon):
    barrier = SquareLossBarrier(epsilon)
    truth = barrier.environment().truth
    assert truth.optimal_value == epsilon == barrier.value(OPTIMAL)
    assert barrier.value(ALWAYS_B) == 0
    losses = [barrier.square_loss(g, ALWAYS_B) for g in barrier.functions.values()]
    assert losses == [0, epsilon, epsilon]
    assert [v.a for v in barrier.best] == truth.values(1).tolist()
    root = Surd(0, 1, epsilon)
    assert barrier.bias(barrier.bad) == root - epsilon
    assert 0 < barrier.bias(barrier.bad) < root
    if epsilon <= Fraction(1, 4):
        assert barrier.bias(barrier.bad) >= Fraction(1, 2) * root
    assert barrier.square_loss(barrier.best, OPTIMAL) == 0
    assert barrier.square_loss(barrier.bad, OPTIMAL) == 2 * epsilon * (1 - root)


@given(epsilons, st.fractions(0, 1, max_denominator=1000))
def test_what_keeps_g_star_keeps_g_bad(epsilon, bound):
    kept = SquareLossBarrier(epsilon).kept(bound)
    assert ("g*" in kept) == ("g_bad" in kept) == (bound >= epsilon)
    assert "g_0" in kept


@given(epsilons, st.fractions(0, 1), st.fractions(0, 1))
def test_no_function_of_that_loss_predicts_more(epsilon, first, second):
    barrier = SquareLossBarrier(epsilon)
    other = (Surd(first), Surd(second))
    if barrier.square_loss(other, ALWAYS_B) <= epsilon:
        assert barrier.bias(other) <= barrier.bias(barrier.bad)


@settings(max_examples=15, deadline=None)
@given(st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20))
def test_losses_agree_with_the_environment(epsilon):
    """The exact losses are those of floats on the true distribution."""
    barrier = SquareLossBarrier(epsilon)
    chances = barrier.environment().truth.observation_probabilities(())
    for policy in (ALWAYS_B, OPTIMAL, (1, 0), (0, 1)):
        rewards = barrier.rewards(policy)
        for g in barrier.functions.values():
            expected = sum(
                float(p) * (float(v) - r) ** 2
                for p, v, r in zip(chances, g, rewards, strict=True)
            )
            assert float(barrier.square_loss(g, policy)) == pytest.approx(
                expected, abs=1e-12
            )


@pytest.mark.parametrize("n", spread([1, 7, 16, 1000, 10**9], 2))
def test_the_oracle_prefers_g_bad_as_often_as_the_binomial_says(n):
    barrier = SquareLossBarrier(Fraction(1, 16))
    runs = 200
    bad = barrier.count_bad_fits(n, runs, np.random.default_rng([n, 5]))
    assert binomtest(bad, runs, barrier.bad_fits_better(n)).pvalue > 1e-6


def test_small_cases_by_hand():
    barrier = SquareLossBarrier(Fraction(1, 4))
    assert barrier.bad_fits_better(1) == pytest.approx(1 / 4)
    # n ε = 1: two or more of four.
    assert barrier.bad_fits_better(4) == pytest.approx(67 / 256)


@pytest.mark.parametrize("epsilon", [0, 1, Fraction(-1, 3), Fraction(4, 3)])
def test_epsilon_out_of_range(epsilon):
    refused(r"not in \(0, 1\)", SquareLossBarrier, Fraction(epsilon))


def test_bad_arguments_are_named():
    barrier = SquareLossBarrier(Fraction(1, 3))
    with pytest.raises(ValueError, match="epsilon: 1/3 is not the square"):
        barrier.count_bad_fits(10, 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="runs: 0"):
        SquareLossBarrier(Fraction(1, 4)).count_bad_fits(
            10, 0, np.random.default_rng(0)
        )
    refused("n: 0", barrier.bad_fits_better, 0)
    refused("policy", barrier.value, (2, 0))


@settings(max_examples=100, deadline=None)
@given(rationals, rationals, rationals, rationals, radicands)
def test_surds_are_a_field_without_division(a, b, c, e, d):
    x, y = Surd(a, b, d), Surd(c, e, d)
    root = math.sqrt(d)
    fx, fy = float(a) + float(b) * root, float(c) + float(e) * root
    assert float(x + y) == pytest.approx(fx + fy, abs=1e-9)
    assert float(x - y) == pytest.approx(fx - fy, abs=1e-9)
    assert float(x * y) == pytest.approx(fx * fy, abs=1e-7)
    assert (x + y) - y == x
    assert x * y == y * x
    assert (x - y).sign() == -(y - x).sign()
    assert (x < y) + (x == y) + (x > y) == 1
    if abs(fx - fy) > 1e-9:
        assert (x < y) == (fx < fy)
    assert (Surd(0, 1, d) * Surd(0, 1, d)) == d


def test_surds_in_words():
    assert str(Surd(0, -1, 2)) == "-√(2)"
    assert str(Surd(1, Fraction(3, 2), 2)) == "1 + 3/2√(2)"
    assert Surd(1, 1, 4) == 3
    assert Surd(0, 0, 5).sign() == 0
    assert 1 - Surd(0, 1, 2) < 0 < Surd(-1, 1, 2) <= 1
    assert Surd(3, -2, 2).sign() == 1
    assert Surd(1) != "1"
    with pytest.raises(ValueError, match="mix"):
        Surd(0, 1, 2) + Surd(0, 1, 3)
    refused("negative", Surd, 0, 1, -1)
