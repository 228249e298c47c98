"""What environments sample has the law that their truth tells."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.classes.finite import TabularPolicy
from olivine.algorithms.classes.protocols import MixedPolicy
from olivine.algorithms.environments import make
from olivine.algorithms.environments.finite import ReturnLaws, draw_episodes
from olivine.algorithms.exact.arrays import END
from olivine.algorithms.exact.data import pool
from scipy import stats

from tests.support.depth import deep


@st.composite
def environments(draw, max_horizon=3):
    return make(
        "random-finite",
        draw(st.integers(0, 10**6)),
        states=draw(st.integers(1, 3)),
        actions=draw(st.integers(1, 3)),
        horizon=draw(st.integers(1, max_horizon)),
        observations=draw(st.integers(1, 3)),
        support=draw(st.integers(1, 3)),
        distinct=False,
    )


def random_policies(env, rng, mixed=True):
    policies = []
    for h in range(1, env.horizon + 1):
        size = env.space(h).n_codes
        members = tuple(
            TabularPolicy(rng.integers(env.n_actions, size=size)) for _ in range(2)
        )
        if mixed and rng.random() < 0.5:
            weights = (Fraction(1, 3), Fraction(2, 3))
            policies.append(MixedPolicy(members, weights, env.n_actions))
        else:
            policies.append(members[0])
    return policies


def chances_of(policy, code, n_actions):
    row = policy(np.array([code]))[0]
    if np.ndim(row):
        return [Fraction(float(v)).limit_denominator(100) for v in row]
    return [Fraction(int(a == row)) for a in range(n_actions)]


def brute_value(model, policies, h, state):
    """Expected return from a hidden state, straight from the definition."""
    if h > model.horizon:
        return Fraction(0)
    level, value = model.levels[h - 1], Fraction(0)
    for x in np.flatnonzero(level.emissions[state]).tolist():
        seen = Fraction(
            int(level.emissions[state, x]), int(level.emissions[state].sum())
        )
        for a, chance in enumerate(chances_of(policies[h - 1], x, model.n_actions)):
            weights = level.reward_weights[x, a].tolist()
            units = level.reward_units[x, a].tolist()
            mean = Fraction(
                sum(w * u for w, u in zip(weights, units, strict=True)),
                sum(weights) * model.unit,
            )
            moves = level.transitions[state, a].tolist()
            after = sum(
                Fraction(w, sum(moves)) * brute_value(model, policies, h + 1, t)
                for t, w in enumerate(moves)
                if w
            )
            value += seen * chance * (mean + after)
    return value


@given(environments(), st.integers(0, 99))
def test_policy_values_follow_the_definition(env, seed):
    policies = random_policies(env, np.random.default_rng(seed))
    model, truth = env.truth.model, env.truth
    assert truth.policy_value(policies) == brute_value(model, policies, 1, 0)
    assert truth.policy_value(policies) <= truth.optimal_value <= 1


@given(environments(max_horizon=2))
def test_no_policy_beats_the_optimal_value(env):
    truth = env.truth
    assert truth.policy_value(truth.optimal_policies()) == truth.optimal_value
    sizes = [env.space(h).n_codes for h in range(1, env.horizon + 1)]
    if env.n_actions ** sum(sizes) > 300:
        sizes = sizes[:0]
    tables = itertools.product(range(env.n_actions), repeat=sum(sizes))
    for table in tables if sizes else ():
        parts = np.split(np.array(table), np.cumsum(sizes)[:-1])
        value = truth.policy_value([TabularPolicy(p) for p in parts])
        assert value <= truth.optimal_value


def random_path(env, rng):
    return tuple(rng.integers(env.n_actions, size=rng.integers(env.horizon)).tolist())


@given(environments(), st.integers(0, 99))
def test_truth_is_consistent_along_paths(env, seed):
    rng, truth = np.random.default_rng(seed), env.truth
    path = random_path(env, rng)
    h, state = len(path) + 1, truth.state(path)
    assert state in truth.reachable(h)
    assert truth.path_value(path) == truth.state_value(h, state)
    assert sum(truth.observation_probabilities(path)) == 1
    assert truth.expectation(path, truth.values(h)) == truth.path_value(path)
    assert truth.expectation(path, truth.optimal_value_functions()[h - 1]) == (
        pytest.approx(float(truth.path_value(path)))
    )
    # the Bellman equation, as VALOR's objective
    future = [truth.path_value((*path, a)) for a in range(env.n_actions)]
    best = truth.action_expectation(path, truth.optimal_policies()[h - 1], future)
    assert best == truth.path_value(path)
    for a in range(env.n_actions):
        below = truth.successor(h, state, a)
        if h < env.horizon:
            assert truth.state((*path, a)) == below
        else:
            assert (below, truth.path_value((*path, a))) == (END, 0)
            assert truth.expectation((*path, a), None) == 0
    policies = random_policies(env, rng)
    assert truth.policy_path_value(path, policies) == brute_value(
        truth.model, policies, h, state
    )


def mean_of_laws(env, policies, path):
    """Expected return after a path from the laws given observation and action."""
    h, value = len(path) + 1, Fraction(0)
    laws = ReturnLaws(env.truth.model, policies, h)
    for x, seen in enumerate(env.truth.observation_probabilities(path)):
        for a, chance in enumerate(chances_of(policies[h - 1], x, env.n_actions)):
            law = laws.weights(np.array([x]), np.array([a]))[0].tolist()
            units = Fraction(sum(u * w for u, w in enumerate(law)), sum(law))
            value += seen * chance * units / env.truth.model.unit
    return value


@given(environments(max_horizon=4), st.integers(0, 99))
def test_laws_of_the_return_have_the_true_mean(env, seed):
    rng = np.random.default_rng(seed)
    path, policies = random_path(env, rng), random_policies(env, rng)
    value = env.truth.policy_path_value(path, policies)
    assert mean_of_laws(env, policies, path) == value


def test_laws_of_the_return_join_futures_of_different_scales():
    for seed in range(10):
        env = make("random-finite", seed, states=3, actions=3, horizon=4)
        policies = random_policies(env, np.random.default_rng(seed))
        value = env.truth.policy_value(policies)
        assert mean_of_laws(env, policies, ()) == value


@given(
    environments(),
    st.sampled_from([1, 7, 10**6, 10**12, 10**20, 10**31]),
    st.integers(0, 99),
)
def test_data_of_any_size(env, n, seed):
    rng, truth = np.random.default_rng(seed), env.truth
    path = random_path(env, rng)
    h, chances = len(path) + 1, truth.observation_probabilities(path)
    policies = random_policies(env, rng)
    sets = [
        env.draw(path, n, rng, level=h),
        env.draw((*path, "uniform"), n, rng),
        env.draw((*path, policies[h - 1]), n, rng, successors=False),
        env.draw((*path, *policies[h - 1 :]), n, rng, level=h),
        env.draw((*path, "uniform", *policies[h:]), n, rng, level=h),
        env.draw((*policies[:-1], 0), n, rng),
        env.draw((*policies[:-1], 0), n, rng, level=env.horizon),
    ]
    run = env.run(policies, n, rng, first=min(n, 3), transitions=True)
    assert env.trajectories == 8 * n
    assert all(
        data.draws == data.total_weight == n for data in (*sets, *run.transitions)
    )
    assert all(chances[x] > 0 for data in sets[:5] for x in data.codes().tolist())
    assert (sets[1].codes("next_observations") == END).all() == (h == env.horizon)
    assert run.paths.shape == (min(n, 3), env.horizon)
    totals = [d.expectation_exact(d.exact_rewards) for d in run.transitions]
    assert sum(totals) == run.mean_return
    # means lie within some deviations of the truth: the range is at most 1
    bound = 6 / math.sqrt(n)
    assert abs(run.mean_return - truth.policy_value(policies)) <= bound
    value = truth.policy_path_value(path, policies)
    assert abs(sets[3].expectation_exact(sets[3].exact_rewards) - value) <= bound
    zeros = [0] * env.n_actions
    mean = truth.action_expectation(path, policies[h - 1], zeros)
    assert abs(sets[2].expectation_exact(sets[2].exact_rewards) - mean) <= bound
    for x, weight in enumerate(sets[0].weights_by_code(len(chances)).tolist()):
        assert abs(Fraction(weight, n) - chances[x]) <= bound


def listed(data, unit):
    """Outcomes (x, a, units) of a data set, each as often as it was drawn."""
    rewards = (data.exact_rewards * unit).tolist()
    columns = data.codes().tolist(), data.actions.tolist(), rewards, data.weights
    rows = zip(*columns, strict=True)
    return [(x, a, int(r)) for x, a, r, w in rows for _ in range(w)]


def one_by_one(env, policies, count, rng):
    """Outcomes (x, a, units) at level 1, one tuple at a time."""
    steps = draw_episodes(env.truth.model, policies, count, rng)[0]
    columns = (steps.codes, steps.actions, steps.units)
    return list(zip(*(c.tolist() for c in columns), strict=True))


def same_law(left, right):
    """p-value that two lists of outcomes have one law; rare outcomes are pooled."""
    counts = [Counter(left), Counter(right)]
    table = np.array([[side[o] for o in {**counts[0], **counts[1]}] for side in counts])
    rare = table.sum(axis=0) < 30
    parts = [table[:, ~rare]]
    if rare.any():
        parts.append(table[:, rare].sum(axis=1, keepdims=True))
    return stats.chi2_contingency(np.concatenate(parts, axis=1)).pvalue


def test_counts_have_the_law_of_tuple_by_tuple_sampling():
    env = make("random-finite", 4, observations=2, horizon=2)
    unit, rng = env.truth.model.unit, np.random.default_rng(1)
    policies = random_policies(env, np.random.default_rng(0))
    n, sets_of_three = deep(20_000, 5000), deep(1500, 500)
    drawn = one_by_one(env, policies, n, rng)
    data = env.draw(policies[:1], n, rng, successors=False)
    assert same_law(drawn, listed(data, unit)) > 1e-3
    # the whole vector of counts of small data sets, not only its mean
    small = one_by_one(env, policies, 3 * sets_of_three, rng)
    triples = [tuple(sorted(small[i : i + 3])) for i in range(0, len(small), 3)]
    sets = []
    for _ in range(sets_of_three):
        data = env.draw(policies[:1], 3, rng, successors=False)
        sets.append(tuple(sorted(listed(data, unit))))
    assert same_law([t[:2] for t in triples], [t[:2] for t in sets]) > 1e-3


def test_rollouts_and_runs_have_the_law_of_single_episodes():
    env = make("random-finite", 11, observations=2, horizon=3, denominator=3)
    model, rng = env.truth.model, np.random.default_rng(2)
    policies = random_policies(env, np.random.default_rng(3))
    steps = draw_episodes(model, policies, 20_000, rng)
    returns = sum(s.units for s in steps).tolist()
    single = list(zip(steps[0].codes.tolist(), returns, strict=True))
    data = env.draw(policies, 20_000, rng, level=1)
    assert same_law(single, [(x, u) for x, _, u in listed(data, model.unit)]) > 1e-3
    paths = env.run(policies, 20_000, rng, first=20_000).paths
    actions = list(zip(*(s.actions.tolist() for s in steps), strict=True))
    assert same_law(actions, [tuple(p) for p in paths.tolist()]) > 1e-3


@given(environments(), st.integers(0, 99), st.integers(1, 3))
def test_rolling_through_is_rolling_in_and_then_out(env, seed, level):
    """Its law is that of roll-outs after each path, paths as policies draw them."""

    def drawn(*rules: Any) -> Any:
        return env.draw(rules, n, rng, level=level)

    level, n = min(level, env.horizon), 10**18
    rng = np.random.default_rng(seed)
    policies = random_policies(env, rng)
    before: list[Any] = rng.integers(env.n_actions, size=level - 1).tolist()
    tail = policies[level:]
    steps = [lambda x, a=a: np.full(len(x), a) for a in before]
    for rule in ("uniform", policies[level - 1]):
        found, other = drawn(*steps, rule, *tail), drawn(*before, rule, *tail)
        assert close_laws(found, other)
    found = drawn(*["uniform"] * (level - 1), 0, *tail)
    paths = itertools.product(range(env.n_actions), repeat=level - 1)
    parts = [drawn(*path, 0, *tail) for path in paths]
    assert close_laws(found, pool(parts))


def close_laws(first, second, bound=1e-6):
    """Whether shares of (x, a, return) are nearly the same, for huge draws."""
    shares: Counter[Any] = Counter()
    for data, sign in ((first, 1), (second, -1)):
        cells = (data.codes(), data.actions, data.exact_rewards, data.weights)
        for x, a, r, w in zip(*(c.tolist() for c in cells), strict=True):
            shares[x, a, r] += sign * Fraction(w, data.total_weight)
    return max(abs(share) for share in shares.values()) < bound


def test_roll_in_follows_policies_then_the_rule():
    env = make("random-finite", 5, states=3, actions=3, horizon=3)
    rng, truth = np.random.default_rng(4), env.truth
    policies = random_policies(env, rng, mixed=False)
    data = env.draw([*policies[:2], 2], 10**18, rng)
    assert set(data.actions.tolist()) == {2}
    states = truth.model.levels[2].state_of_code[data.codes()]
    law = truth.model.start.astype(object)
    for h in (0, 1):
        level = truth.model.levels[h]
        actions = policies[h](np.arange(level.n_codes))
        after = [Fraction(0)] * truth.n_states(h + 2)
        for s, mass in enumerate(law):
            for x in np.flatnonzero(level.emissions[s]).tolist():
                share = Fraction(
                    int(level.emissions[s, x]), int(level.emissions[s].sum())
                )
                after[level.successors[s, actions[x]]] += mass * share
        law = after
    for s, mass in enumerate(law):
        weight = sum(
            w for w, t in zip(data.weights.tolist(), states, strict=True) if t == s
        )
        assert abs(Fraction(weight, 10**18) - mass) < Fraction(1, 10**8)
