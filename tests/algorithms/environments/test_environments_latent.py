"""Locks and the grid world: published structure, features, sampling one by one."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.environments import from_lists, latent, make
from olivine.algorithms.environments.latent import (
    BitsEmission,
    GaussianEmission,
    LatentEnvironment,
)
from olivine.algorithms.environments.worlds import random_rotation

from tests.support.depth import with_rows
from tests.support.refusals import refused

HALF = Fraction(1, 2)


def uniform(observations):
    return np.full((len(observations), 4), 0.25)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_lock_is_the_published_one(seed, horizon):
    truth = make("lock", seed, horizon=horizon).truth
    assert truth.optimal_value == HALF
    for h in range(1, horizon + 1):
        if h > 1:
            assert truth.state_value(h, 2) == 0
        for s in range(min(truth.n_states(h), 2)):
            assert truth.state_value(h, s) == HALF
            if h < horizon:
                targets = [truth.successor(h, s, a) for a in range(4)]
                assert sorted(targets) == [0, 1, 2, 2]
                stays, leaves = targets.index(s), targets.index(1 - s)
                assert leaves == (stays + 1) % 4
    # two of four actions are good at each level, and pay half of the time
    assert truth.policy_value([uniform] * horizon) == HALF ** (horizon + 1)
    paths = itertools.product(range(4), repeat=horizon - 1)
    alive = [truth.path_value(p) for p in paths]
    assert alive.count(HALF) == 2 ** (horizon - 1)


def test_seeds_fix_the_codes():
    def codes(seed):
        truth = make("lock", seed, horizon=10).truth
        return [[truth.successor(h, 0, a) for a in range(4)] for h in range(1, 10)]

    assert codes(1) == codes(1)
    assert codes(1) != codes(2)


@pytest.mark.parametrize("noise", [{}, {"switch": 0.1}])
def test_lock_features_and_codes_agree(noise, rng):
    features = make("lock", 3, horizon=3, dimension=3, **noise)
    codes = make("lock", 3, horizon=3, dimension=3, observations="codes", **noise)
    assert features.deterministic == codes.deterministic == (not noise)

    def by_features(observations):
        return (observations @ np.array([1, 2, 0, 1, 2, 3])).astype(np.int64) % 4

    tables = [lambda x, t=table: by_features(t[x]) for table in codes.features]
    exact = codes.truth.policy_value(tables)
    assert features.truth.policy_value([by_features] * 3) == exact
    estimate, error = features.truth.estimate_policy_value(
        [by_features] * 3, 40_000, rng
    )
    assert abs(estimate - exact) < 5 * error
    for env, policies in ((features, [by_features] * 3), (codes, tables)):
        run = env.run(policies, 40_000, rng, first=5)
        assert abs(run.mean_return - exact) < 5 * error
        assert run.paths.shape == (5, 3)
    path = (1, 2)
    future = [0, HALF, 0.25, 1]
    assert float(codes.truth.action_expectation(path, tables[2], future)) == (
        pytest.approx(
            float(features.truth.action_expectation(path, by_features, future))
        )
    )
    assert features.truth.expectation(path, lambda x: x[:, 0] * x[:, 4]) == (
        pytest.approx(
            codes.truth.expectation(
                path, codes.features[2][:, 0] * codes.features[2][:, 4]
            )
        )
    )


def test_noise_is_of_the_kind_asked_for():
    env = make("lock", 0, horizon=2, dimension=5)
    x = env.draw((0,), 20_000, np.random.default_rng(0), level=2).observations
    assert set(np.unique(x)) == {0.0, 1.0}
    assert np.abs(x[:, 3:].mean(axis=0) - 0.5).max() < 0.02
    assert np.abs(np.cov(x[:, 3:].T) - np.eye(5) / 4).max() < 0.02
    assert (x[:, :3].sum(axis=1) == 1).all()
    env = make("diabolical-lock", 0, noise="gaussian", horizon=3)
    x = env.draw((0,), 100, np.random.default_rng(0), level=2).observations
    assert x.shape == (100, 6)
    assert np.allclose(x.mean(axis=0), [1, 0, 0, 0, 1, 0], atol=0.1)
    truth = make("lock-gaussian", 0, noise=0).truth
    assert truth.exact
    assert truth.policy_value(truth.optimal_policies()) == HALF


@pytest.mark.parametrize("rotate", [True, False])
def test_the_gaussian_lock(rotate):
    env = make("lock-gaussian", 0, horizon=3, dimension=4, rotate=rotate)
    rng, truth = np.random.default_rng(1), env.truth
    assert (truth.exact, truth.optimal_value) == (False, HALF)
    path = (0, 1)
    x = env.draw(path, 5000, rng, level=len(path) + 1).observations
    assert x.shape == (5000, 7)
    assert np.abs(x.std(axis=0) - 0.1).max() < 0.01
    assert abs(np.linalg.norm(x.mean(axis=0)) - 1) < 0.01
    assert (truth.emission.decode(3, x) == truth.state(path)).all()
    g = truth.optimal_value_functions()[2]
    assert (g(x) == float(truth.path_value(path))).all()
    estimate, error = truth.estimate_policy_value(truth.optimal_policies(), 20_000, rng)
    assert abs(estimate - 0.5) < 5 * error
    for ask in (
        lambda: truth.policy_value(truth.optimal_policies()),
        lambda: truth.expectation(path, g),
    ):
        refused("estimate_policy_value", ask)
    for ask in (
        lambda: truth.values(1),
        lambda: truth.policy(1),
        lambda: truth.expectation(path, [0]),
    ):
        refused("no codes", ask)
    assert truth.expectation((0,) * env.horizon, g) == 0
    rendered = [
        BitsEmission((np.ones((1, 1)),), bits).listed(1, 0) for bits in (16, 17)
    ]
    assert (len(rendered[0]), rendered[1]) == (2**16, None)


def test_features_are_turned_and_decoded():
    means = (np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 9.0]]),)
    states = np.array([0, 1, 2, 2, 1, 0])
    for emission in (GaussianEmission(means, 0.01), BitsEmission(means, 3)):
        features = emission(1, states, np.random.default_rng(0))
        assert (emission.decode(1, features) == states).all()
    turn = random_rotation(np.random.default_rng(0), 6)
    assert np.abs(turn @ turn.T - np.eye(6)).max() < 1e-12


@settings(deadline=None, max_examples=20)
@given(
    st.integers(0, 10**6),
    st.integers(2, 5),
    st.integers(2, 5),
    st.sampled_from([0, 0.5, 1]),
)
def test_the_diabolical_lock_keeps_comparisons_and_lies_in_the_unit_range(
    seed, horizon, actions, cost
):
    sizes = {"horizon": horizon, "actions": actions, "dimension": 2}
    env = make("diabolical-lock", seed, cost=cost, **sizes)
    truth, step = env.truth, Fraction(str(cost)) / horizon
    scale = max(5 + step, 1 + step * (horizon - 1))
    first_b = actions // 2
    assert truth.optimal_value == (5 + step) / scale
    assert truth.path_value((first_b,)) == (2 + step) / scale
    # dying at once: half a unit, and no cost on the way
    assert truth.state_value(2, 2) == step * (horizon - 1) / scale
    assert truth.policy_value(truth.optimal_policies()) == truth.optimal_value
    best = [a for a in range(actions) if truth.path_value((a,)) == truth.optimal_value]
    assert best == list(range(first_b))
    if horizon > 2:
        alive = [a for a in range(actions) if truth.successor(2, 0, a) == 0]
        assert len(alive) == 1
    run = env.run(truth.optimal_policies(), 100, np.random.default_rng(0))
    assert run.mean_return == truth.optimal_value


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.integers(2, 3),
    st.integers(1, 5),
    st.integers(0, 3),
)
def test_the_grid_shows_the_agent_and_pays_at_the_goal(seed, rows, columns, horizon, k):
    walls = min(k, rows * columns - 2)
    flicker = min(k, rows * columns - walls)
    sizes = {"rows": rows, "columns": columns, "horizon": horizon}
    env = make("grid", seed, walls=walls, flicker=flicker, **sizes)
    truth = env.truth
    assert 0 < truth.optimal_value <= 1
    assert (truth.optimal_value * horizon).denominator == 1
    for h in range(1, horizon + 1):
        images, level = env.features[h - 1], truth.model.levels[h - 1]
        assert (((images == 1).sum(axis=1)) == 1).all()
        assert (((images == 0.25).sum(axis=1)) == walls).all()
        cells = images.argmax(axis=1)
        owners = {
            (int(s), int(c)) for s, c in zip(level.state_of_code, cells, strict=True)
        }
        assert len(owners) == level.n_states
        assert len(np.unique(images, axis=0)) == len(images)
    if horizon > 1:
        up = (0,)
        assert env.features[1][
            env.draw(up, 1, np.random.default_rng(0), level=2).codes()
        ][:, 0] == [1.0]


def test_transitions_of_runs_join_up():
    env = make("lock", 0, horizon=4)
    rng, policies = np.random.default_rng(0), env.truth.optimal_policies()
    run = env.run(policies, 500, rng, first=500, transitions=True)
    for h, (data, after) in enumerate(itertools.pairwise(run.transitions)):
        assert (data.next_observations == after.observations).all()
        assert (data.actions == run.paths[:, h]).all()
    assert run.transitions[-1].next_observations is None
    assert float(run.mean_return) == pytest.approx(
        sum(t.expectation(t.rewards) for t in run.transitions)
    )
    assert env.trajectories == 500
    assert env.run(policies, 500, rng).transitions == ()  # unless asked for
    data = env.draw([*policies[:3], "uniform"], 2000, rng)
    assert data.draws == 2000
    assert (env.truth.emission.decode(4, data.observations) != 2).all()
    ends = set()
    for a in range(4):
        policy = lambda x, a=a: np.full(len(x), a)  # noqa: E731
        data = env.draw([policy] * 3, 50, rng, level=4)
        ends |= {end := env.truth.state((a, a, a))}
        assert (env.truth.emission.decode(4, data.observations) == end).all()
    assert len(ends) > 1
    back = env.draw([3, *policies[1:]], 4000, rng, level=1)
    assert set(back.actions) == {3}
    value = env.truth.path_value((3,))
    assert abs(back.expectation(back.rewards) - value) < 0.05


def test_policies_are_followed_before_and_after_a_level():
    env = make("lock", 0, horizon=3)
    rng, policies = np.random.default_rng(0), env.truth.optimal_policies()
    data = env.draw(policies, 4000, rng, level=2)
    assert data.draws == env.trajectories == 4000
    assert data.next_observations is None
    assert (env.truth.emission.decode(2, data.observations) != 2).all()
    assert abs(data.expectation(data.rewards) - env.truth.optimal_value) < 0.05
    data = env.draw([policies[0], 1, policies[2]], 4000, rng, level=2)
    assert set(data.actions.tolist()) == {1}
    states = env.truth.emission.decode(2, data.observations)
    ahead = [env.truth.successor(2, s, 1) for s in states.tolist()]
    values = np.array([float(env.truth.state_value(3, s)) for s in ahead])
    assert abs(data.expectation(data.rewards - values)) < 0.05
    refused("sampled one by one", env.draw, policies, 10**9, rng, level=2)


def halving():
    """Action 1 pays 1/2, 1/4 and 1/8; one feature."""
    levels = [[("s", {"x": 1}, {"x": [0, Fraction(1, 2 ** (h + 1))]},
                ["s"] * 2 if h < 2 else [])] for h in range(3)]  # fmt: skip
    model = from_lists(levels).truth.model
    return LatentEnvironment(model, BitsEmission((np.ones((1, 1)),) * 3, 0), "steps")


@with_rows(
    "limit, bytes_, call",
    ("MAX_BYTES", 80, lambda e, n, r: e.draw([0], n, r, level=1)),
    ("MAX_BYTES", 160, lambda e, n, r: e.draw([0], n, r)),  # with successors
    ("MAX_BYTES", 80, lambda e, n, r: e.draw([0, 0, 0], n, r)),  # there are none
    ("MAX_BYTES", 240, lambda e, n, r: e.run([0] * 3, n, r, transitions=True)),
    ("MAX_EPISODES", 10, lambda e, n, r: e.run([0] * 3, n, r)),
)
def test_ten_draws_of_a_feature_are_the_limit(monkeypatch, rng, limit, bytes_, call):
    monkeypatch.setattr(latent, limit, bytes_)
    call(halving(), 10, rng)
    refused("n: 11 ", call, halving(), 11, rng)


def test_returns_to_go_add_up_the_rewards_of_every_level():
    env = halving()
    for level, rest in ((1, 7 / 8), (2, 3 / 8), (3, 1 / 8)):
        data = env.draw([1, 1, 1], 5, np.random.default_rng(0), level=level)
        assert set(data.rewards.tolist()) == {rest}
    data = env.draw([1, 1], 5, np.random.default_rng(0), level=1)
    assert set(data.rewards.tolist()) == {6 / 8}


def test_uniform_and_random_policies_choose_as_told():
    env = make("lock", 0, horizon=2)
    rng = np.random.default_rng(3)
    for rule in ("uniform", uniform):
        data = env.draw([rule], 8000, rng, successors=False)
        assert np.abs(np.bincount(data.actions) / 8000 - 0.25).max() < 0.03
        assert data.next_observations is None


@with_rows(
    "name, options, message",
    ("lock", {"horizon": 0}, "horizon: 0"),
    ("lock", {"dimension": -1}, "dimension: -1"),
    ("lock", {"switch": 0.7}, "switch: 0.7"),
    ("lock", {"actions": 1}, "actions: 1"),
    ("lock", {"observations": "pixels"}, "'pixels'"),
    ("lock", {"observations": "codes", "dimension": 13}, "too many codes"),
    ("lock-gaussian", {"noise": -1}, "noise: -1"),
    ("lock-gaussian", {"noise": float("nan")}, "noise: nan"),
    ("diabolical-lock", {"horizon": 1}, "horizon: 1"),
    ("diabolical-lock", {"noise": "pink"}, "'pink'"),
    ("diabolical-lock", {"deviation": -1, "noise": "gaussian"}, "deviation"),
    ("diabolical-lock", {"dimension": -1}, "dimension"),
    ("diabolical-lock", {"death_reward": 11}, "dying at once"),
    ("diabolical-lock", {"cost": -1}, "cost: -1.0 is negative"),
    ("diabolical-lock", {"reward": 0}, "reward: 0.0 is not positive"),
    ("diabolical-lock", {"deviation": -1}, "deviation: -1.0"),
    ("diabolical-lock", {"dimension": "many"}, "dimension: .many. is no integer"),
    ("lock", {"dimension": float("inf")}, "dimension: inf is no integer"),
    ("lock-gaussian", {"rotate": "foo"}, "rotate=.foo. is neither true nor false"),
    ("grid", {"rows": 1, "columns": 1}, "rows: 1 rows of 1 columns make 1 cells"),
    ("grid", {"rows": 10**6, "columns": 10**6}, "not in 2..10000"),
    ("grid", {"horizon": 0}, "horizon: 0 is below 1"),
    ("grid", {"horizon": float("inf")}, "horizon=inf is no integer"),
    ("grid", {"horizon": float("nan")}, "horizon=nan is no integer"),
    ("grid", {"rows": 10**30}, "beyond 64 bits"),
    ("grid", {"walls": 8}, "walls: 8"),
    ("grid", {"flicker": 11, "rows": 5}, "flicker: 11"),
)
def test_options_out_of_range(name, options, message):
    refused(message, make, name, 0, **options)
