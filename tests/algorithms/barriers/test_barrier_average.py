"""The barrier of average constraints: stuck, and who is not."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.barriers import average
from olivine.algorithms.barriers.average import roll_in
from olivine.algorithms.classes import TabularValueClass, ValueClassByLevel
from olivine.algorithms.environments import make
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.valor.algorithm import valor
from olivine.algorithms.valor.parameters import PracticalParameters

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
    with pytest.raises(ValueError, match=r"m: .* no even integer in 2\.\.16"):
        average.AverageBarrier(m)


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
