"""The barriers of average constraints and of the square loss, with its surds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.barriers import average
from olivine.algorithms.barriers.average import roll_in
from olivine.algorithms.barriers.square_loss import (
    ALWAYS_B,
    OPTIMAL,
    SquareLossBarrier,
    Surd,
)
from olivine.algorithms.classes import TabularValueClass, ValueClassByLevel
from olivine.algorithms.environments import make
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.valor.algorithm import valor
from olivine.algorithms.valor.parameters import PracticalParameters
from scipy.stats import binomtest

from tests.support.depth import spread
from tests.support.refusals import refused

HALF = Fraction(1, 2)
contexts = st.integers(1, 4).map(lambda half: 2 * half)


def tabular(m):
    return ValueClassByLevel([TabularValueClass(m), TabularValueClass(2)])


@settings(max_examples=8, deadline=None)
@given(contexts)
def test_it_stops_half_below_the_optimum_with_and_without_ties(m):
    found = average.run_average(average.AverageBarrier(m))
    assert found.value == HALF
    assert found.rounds[-1].predicted == HALF
    assert found.rounds[-1].new == 0
    assert found.visited == (1, 1)
    assert found.rounds[-1].values == (average.EVEN,)
    # By (0, 1), as optimistic as (1/2, 1/2), π* is the worst policy of all.
    found = average.run_average(
        average.AverageBarrier(m), (average.REVERSED, average.BEST)
    )
    assert found.value == HALF
    assert found.rounds[-1].values == (average.REVERSED,)


@settings(max_examples=10, deadline=None)
@given(contexts, st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50))
def test_over_all_functions_the_covering_distribution_decides(m, share):
    """Less than 1/2 on s_1: (0, 1) is the only optimist; more: (1, 0) is."""
    if share == HALF:
        return
    made = average.AverageBarrier(m).instance()
    found = average.explore_by_averages(
        made.environment, tabular(m), made.policies, coverage={2: (share, 1 - share)}
    )
    assert found.value == (HALF if share < HALF else 1)


def test_a_distribution_may_leave_a_state_out():
    made = average.AverageBarrier(4).instance()
    for share, value in (0, HALF), (1, 1):
        found = average.explore_by_averages(
            made.environment,
            tabular(4),
            made.policies,
            coverage={2: (share, 1 - share)},
        )
        assert found.value == value


def test_ties_for_the_algorithm_set_it_free():
    found = average.run_average(average.AverageBarrier(4), (average.BEST, average.EVEN))
    assert found.value == 1
    assert len(found.rounds) == 2


@settings(max_examples=5, deadline=None)
@given(contexts, st.integers(0, 2**31))
def test_olive_and_valor_are_not_stopped(m, seed):
    found = average.run_all(average.AverageBarrier(m), np.random.default_rng(seed))
    assert {name: run.value for name, run in found.items()} == {
        "average constraints": HALF,
        "olive": 1,
        "valor": 1,
    }


@settings(max_examples=8, deadline=None)
@given(contexts)
def test_all_balanced_policies_visit_the_same_distribution(m):
    barrier = average.AverageBarrier(m)
    made = barrier.instance()
    *balanced, best = made.policies.at_level(1).members
    rest = made.policies.at_level(2).members[0]
    assert len(balanced) == len({p.actions.tobytes() for p in balanced})
    assert len(balanced) == barrier.n_balanced == math.comb(m, m // 2)
    model = made.environment.truth.model
    for policy in balanced:
        assert roll_in(model, [policy, rest])[1] == (HALF, HALF)
        assert made.environment.truth.policy_value([policy, rest]) == HALF
    assert roll_in(model, [best, rest])[1] == (1, 0)
    assert made.environment.truth.policy_value([best, rest]) == 1


def test_erratum_20_fewer_than_a_share_of_all_policies():
    """C(m, m/2)/2^m falls below every constant: it is at most √(2/(πm))."""
    for m in range(2, 400, 2):
        share = Fraction(average.balanced_policies(m), 2**m)
        assert share**2 < Fraction(2) / (Fraction(314159, 100000) * m)
        assert share**2 > Fraction(2) / (Fraction(314160, 100000) * (m + 1))
    assert average.balanced_policies(3) == 0


def test_it_learns_where_nothing_is_hidden_in_an_average():
    """On random deterministic problems it is never promised less than V* at the end,
    if it covers what it needs; where G = {g*} it finds an optimal policy."""
    for seed in range(5):
        env = make("random-finite", seed, states=2, actions=2, horizon=3)
        values, policies = make_classes(env, "tabular", np.random.default_rng(0))
        found = average.explore_by_averages(env, values, policies)
        assert found.rounds[-1].new == 0
        assert found.value <= env.truth.optimal_value
        best = ValueClassByLevel(
            [_only(env.truth.values(h)) for h in range(1, env.horizon + 1)]
        )
        informed = average.explore_by_averages(env, best, policies)
        assert informed.rounds[-1].predicted == env.truth.optimal_value


def _only(values):
    from olivine.algorithms.classes import FiniteValueClass

    return FiniteValueClass(np.array([values.tolist()], dtype=object))


def test_classes_without_g_star_and_false_coverages_are_refused():
    made = average.AverageBarrier(2).instance([(HALF, Fraction(1))])
    with pytest.raises(average.InfeasibleError, match="level 2"):
        average.explore_by_averages(made.environment, made.values, made.policies)
    made = average.AverageBarrier(2).instance()
    for wrong in ((HALF, HALF, HALF), (Fraction(2), Fraction(-1)), (HALF, 0)):
        with pytest.raises(ValueError, match="coverage"):
            average.explore_by_averages(
                made.environment, made.values, made.policies, coverage={2: wrong}
            )


@pytest.mark.parametrize("m", [0, 1, 3, -2, average.MAX_CONTEXTS + 2, True, 2.0])
def test_contexts_out_of_range(m):
    refused(r"m: .* no even integer in 2\.\.16", average.AverageBarrier, m)


def test_valor_is_run_at_the_accuracy_of_the_barrier():
    """ε = 1/4 and δ = 1/10; in each other's place they cost another number of plays."""
    barrier = average.AverageBarrier(2)
    found = average.run_all(
        barrier, np.random.default_rng(0), (average.BEST, average.EVEN)
    )["valor"]
    made = barrier.instance((average.BEST, average.EVEN))
    parameters = PracticalParameters(Fraction(1, 4), Fraction(1, 10), 2, 2, 2)
    parts = made.environment, made.values, made.policies
    again = valor(*parts, parameters, np.random.default_rng(1))
    assert found.trajectories == again.trajectories


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
