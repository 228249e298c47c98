"""Deviation bounds of event E, against brute force."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    KernelBall,
    TabularPolicyClass,
    TabularValueClass,
    identity_kernel,
    zero_class,
)
from olivine.algorithms.environments import make
from olivine.algorithms.learning.monitors import (
    largest_value_deviation,
    value_differences,
)
from olivine.algorithms.two_sample.deviations import (
    Differences,
    differences,
    policy_value_deviation,
    squared_loss_deviation,
)

from tests.support.depth import deep

seeds = st.integers(0, 2**32)


def drawn(seed, last=False):
    """Draw a small data set, its differences, and the laws behind them."""
    env = make("random-finite", seed, states=2, actions=2, horizon=2)
    path = (seed % 2,) if last else ()
    data = env.draw((*path, "uniform"), 40, np.random.default_rng(seed))
    return env, path, data, differences(data, env.truth, path, 2)


def law(env, path):
    """Cells (x, a, r, x') with their probabilities given the path, a uniform."""
    level = env.truth.model.level(len(path) + 1)
    for x, p in enumerate(env.truth.observation_probabilities(path)):
        for a in range(2):
            ahead = [(None, Fraction(1))]
            if len(path) + 1 < env.horizon:
                chances = env.truth.observation_probabilities((*path, a))
                ahead = list(enumerate(chances))
            weights = level.reward_weights[x, a].tolist()
            for u, w in zip(level.reward_units[x, a].tolist(), weights, strict=True):
                for y, q in ahead:
                    share = p * Fraction(w, sum(weights)) * q / 2
                    yield x, a, Fraction(u, env.truth.model.unit), y, share


def deviation(env, path, data, f):
    """Mean of f over the data minus the true one, in rationals."""
    following = data.next_observations
    ends = [None] * len(data) if following is None else following.tolist()
    rows = zip(
        data.observations.tolist(),
        data.actions.tolist(),
        data.exact_rewards.tolist(),
        [None if y == -1 else y for y in ends],
        strict=True,
    )
    mean = data.expectation_exact([f(*row) for row in rows])
    return abs(mean - sum(share * f(*cell) for *cell, share in law(env, path)))


def loss(g, policy, ahead):
    def f(x, a, r, y):
        if policy[x] != a:
            return Fraction(0)
        return 2 * (Fraction(g[x]) - r - (0 if y is None else Fraction(ahead[y]))) ** 2

    return f


def value(policy, ahead):
    def f(x, a, r, y):
        return 2 * (r + (0 if y is None else ahead[y])) if policy[x] == a else 0

    return f


eighths = st.integers(0, 8).map(lambda n: Fraction(n, 8))


@settings(deadline=None, max_examples=deep(15, 5))  # all corners in each
@given(seeds, st.booleans(), st.data())
def test_no_function_deviates_more_than_the_brackets_of_tabular_classes(
    seed, last, data
) -> None:
    env, path, drawn_data, found = drawn(seed, last)
    here, ahead = 4 if last else 2, 0 if last else 4
    policies, values = TabularPolicyClass(here, 2), TabularValueClass(here)
    following = zero_class() if last else TabularValueClass(ahead)
    first = policy_value_deviation(found, policies, following)
    second = squared_loss_deviation(found, values, policies, following)
    assert 0 <= first.lower <= first.upper
    assert 0 <= second.lower <= second.upper
    assert first.upper - first.lower <= first.upper * Fraction(1, 10**6)
    every = itertools.product(range(2), repeat=here)
    corners = list(itertools.product((Fraction(0), Fraction(1)), repeat=ahead))
    best = max(
        deviation(env, path, drawn_data, value(policy, corner))
        for policy in every
        for corner in corners
    )
    assert first.lower <= best <= first.upper  # 0/1 functions attain it
    for _ in range(4):
        policy = data.draw(st.lists(st.integers(0, 1), min_size=here, max_size=here))
        g = data.draw(st.lists(eighths, min_size=here, max_size=here))
        g_next = data.draw(st.lists(eighths, min_size=ahead, max_size=ahead))
        off = deviation(env, path, drawn_data, loss(g, policy, g_next))
        assert off <= second.upper
        off = deviation(env, path, drawn_data, value(policy, g_next))
        assert off <= first.upper


@settings(deadline=None, max_examples=deep(15, 5))  # all corners in each
@given(seeds, st.booleans(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_finite_classes_are_enumerated(seed, last, n_g, n_pi, n_next) -> None:
    env, path, data, found = drawn(seed, last)
    here, rng = 4 if last else 2, np.random.default_rng(seed)
    g = rng.integers(0, 9, (n_g, here)) / 8
    pi = rng.integers(0, 2, (n_pi, here))
    ahead = rng.integers(0, 9, (n_next, 4)) / 8
    following = zero_class() if last else FiniteValueClass(ahead)
    policies, values = FinitePolicyClass(pi, 2), FiniteValueClass(g)
    bracket = policy_value_deviation(found, policies, following)
    best = max(
        deviation(env, path, data, value(p, list(map(Fraction, row))))
        for p in pi
        for row in ahead
    )
    assert bracket.lower <= best <= bracket.upper
    bracket = squared_loss_deviation(found, values, policies, following)
    best = max(
        deviation(env, path, data, loss(f, p, row))
        for f in g
        for p in pi
        for row in ahead
    )
    assert bracket.lower <= best <= bracket.upper
    assert bracket.upper - bracket.lower <= found.unit * Fraction(1, 10**9)
    # Any policy instead of the finite ones: enumerated over g and g' alone.
    wider = squared_loss_deviation(
        found, values, TabularPolicyClass(here, 2), following
    )
    best = max(
        deviation(env, path, data, loss(f, p, row))
        for f in g
        for p in itertools.product(range(2), repeat=here)
        for row in ahead
    )
    assert wider.lower <= best <= wider.upper


def test_where_there_is_too_much_to_try_a_bound_from_above_remains() -> None:
    env = make("random-finite", 0, states=2, actions=2, horizon=2, observations=9)
    data = env.draw(["uniform"], 40, np.random.default_rng(0))
    found = differences(data, env.truth, (), 2)
    policies, values = TabularPolicyClass(9, 2), TabularValueClass(9)
    following = TabularValueClass(18)
    for bracket in (
        policy_value_deviation(found, policies, following),
        squared_loss_deviation(found, values, policies, following),
    ):
        assert bracket.lower == 0 < bracket.upper
    rng = np.random.default_rng(1)
    for _ in range(10):
        policy = rng.integers(0, 2, 9)
        g, ahead = rng.integers(0, 2, 9), rng.integers(0, 2, 18).tolist()
        off = deviation(env, (), data, loss(g.tolist(), policy, ahead))
        assert off <= bracket.upper


@settings(deadline=None, max_examples=10)
@given(seeds)
def test_a_kernel_ball_deviates_by_its_radius_times_a_norm(seed) -> None:
    env = make("random-finite", seed, horizon=1, observations=4)
    data = env.draw((), 30, np.random.default_rng(seed), level=1)
    d = value_differences(data, env.truth.observation_probabilities(()))
    assert largest_value_deviation(KernelBall(identity_kernel), 0 * d) == 0
    assert largest_value_deviation("no class", d) is None
    found = largest_value_deviation(KernelBall(identity_kernel), d)
    right = float(sum(v**2 for v in d)) ** 0.5 / 2
    assert float(found) == pytest.approx(right, abs=1e-8)


def test_no_deviation_where_the_data_are_the_truth() -> None:
    env = make("random-finite", 1, horizon=1, actions=1, observations=1, support=1)
    data = env.draw(["uniform"], 7, np.random.default_rng(0))
    found = differences(data, env.truth, (), 1)
    assert found.unit == 0
    one = TabularValueClass(1)
    bracket = squared_loss_deviation(found, one, TabularPolicyClass(1, 1), zero_class())
    assert bracket.lower == bracket.upper == 0


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_bounds_from_above_look_to_both_sides(sign) -> None:
    """Twelve next observations, each off by one: 2¹² functions are not tried."""
    cells, wide = np.zeros((1, 1)), np.full((1, 1, 12), sign)
    found = Differences(Fraction(1), cells, cells, cells, wide, wide * 0)
    policies, following = TabularPolicyClass(1, 1), TabularValueClass(12)
    bracket = policy_value_deviation(found, policies, following)
    assert bracket.lower == 0
    assert 12 <= bracket.upper < 12 + Fraction(1, 10**6)
    losses = squared_loss_deviation(found, TabularValueClass(1), policies, following)
    assert losses.lower == 0
    assert losses.upper >= 12  # g = 0, g' = 1


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_losses_deviate_most_inside_the_interval(sign) -> None:
    """N g² - 2 B g = ±(g - g²) is 0 at 0 and 1, and 1/4 in between."""
    none = np.zeros((1, 1, 0))
    found = Differences(
        Fraction(1),
        np.array([[-sign]]),
        np.array([[-sign / 2]]),
        np.zeros((1, 1)),
        none,
        none,
    )
    classes = TabularValueClass(1), TabularPolicyClass(1, 1), zero_class()
    bracket = squared_loss_deviation(found, *classes)
    assert bracket.lower <= Fraction(1, 4) <= bracket.upper
    assert bracket.lower > Fraction(1, 4) - Fraction(1, 10**9)
    ends = FiniteValueClass([[0.0], [1.0]])
    assert squared_loss_deviation(found, ends, *classes[1:]).lower == 0


unit_fractions = st.fractions(0, 1, max_denominator=50)


@settings(deadline=None, max_examples=200)
@given(unit_fractions, unit_fractions, unit_fractions, st.integers(-3, 3))
def test_pairs_of_a_number_and_its_square_lie_in_the_triangle(
    g, r, ahead, sign
) -> None:
    """(g, g²) is a mixture of (0,0), (1/2,0), (1,1); there losses are in [-1/2, 4]."""
    shares = {(0, 0): (1 - g) ** 2, (Fraction(1, 2), 0): 2 * g * (1 - g), (1, 1): g**2}
    assert sum(shares.values()) == 1
    for i, right in ((0, g), (1, g**2)):
        assert sum(share * corner[i] for corner, share in shares.items()) == right
    for (a, b), (c, d) in itertools.product(shares, shares):
        assert Fraction(-1, 2) <= b + r**2 + d - 2 * a * r - 2 * a * c + 2 * c * r <= 4
