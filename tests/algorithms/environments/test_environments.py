"""Finite environments: truth against brute force, data against truth."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.classes.policies import MixedPolicy
from olivine.algorithms.classes.tabular import TabularPolicy
from olivine.algorithms.environments import make, names, register
from olivine.algorithms.environments.finite import FiniteEnvironment
from olivine.algorithms.environments.finite_draws import ReturnLaws, draw_episodes
from olivine.algorithms.environments.finite_lists import from_lists
from olivine.algorithms.environments.finite_model import FiniteLevel, FiniteModel
from olivine.algorithms.environments.protocol import Environment, require_deterministic
from olivine.algorithms.environments.random_finite import from_mdp
from olivine.algorithms.environments.registry import options
from olivine.algorithms.exact.arrays import END
from olivine.algorithms.exact.data import pool
from olivine.algorithms.mdp.random_mdp import random_tabular_mdp
from scipy import stats

from tests.support.depth import deep

HALF = Fraction(1, 2)


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


@settings(deadline=None, max_examples=40)
@given(environments(), st.integers(0, 99))
def test_policy_values_follow_the_definition(env, seed):
    policies = random_policies(env, np.random.default_rng(seed))
    model, truth = env.truth.model, env.truth
    assert truth.policy_value(policies) == brute_value(model, policies, 1, 0)
    assert truth.policy_value(policies) <= truth.optimal_value <= 1


@settings(deadline=None, max_examples=30)
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


@settings(deadline=None, max_examples=40)
@given(environments(), st.integers(0, 99))
def test_truth_is_consistent_along_paths(env, seed):
    rng, truth = np.random.default_rng(seed), env.truth
    path = tuple(rng.integers(env.n_actions, size=rng.integers(env.horizon)).tolist())
    h, state = len(path) + 1, truth.state(path)
    assert state in truth.reachable(h)
    assert truth.path_value(path) == truth.state_value(h, state)
    chances = truth.observation_probabilities(path)
    assert sum(chances) == 1
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


@settings(deadline=None, max_examples=30)
@given(environments(max_horizon=4), st.integers(0, 99))
def test_laws_of_the_return_have_the_true_mean(env, seed):
    rng = np.random.default_rng(seed)
    path = tuple(rng.integers(env.n_actions, size=rng.integers(env.horizon)).tolist())
    policies = random_policies(env, rng)
    value = env.truth.policy_path_value(path, policies)
    assert mean_of_laws(env, policies, path) == value


def test_laws_of_the_return_join_futures_of_different_scales():
    for seed in range(10):
        env = make("random-finite", seed, states=3, actions=3, horizon=4)
        policies = random_policies(env, np.random.default_rng(seed))
        value = env.truth.policy_value(policies)
        assert mean_of_laws(env, policies, ()) == value


@settings(deadline=None, max_examples=40)
@given(
    environments(),
    st.sampled_from([1, 7, 10**6, 10**12, 10**20, 10**31]),
    st.integers(0, 99),
)
def test_data_of_any_size(env, n, seed):
    rng, truth = np.random.default_rng(seed), env.truth
    path = tuple(rng.integers(env.n_actions, size=rng.integers(env.horizon)).tolist())
    h, chances = len(path) + 1, truth.observation_probabilities(path)
    policies = random_policies(env, rng)
    sets = [
        env.observe(path, n, rng),
        env.sample(path, n, rng),
        env.sample(path, n, rng, policies[h - 1], successors=False),
        env.rollouts(path, n, rng, policies),
        env.rollouts(path, n, rng, policies, "uniform"),
        env.roll_in(policies, env.horizon, n, rng, 0),
        env.roll_through(policies, env.horizon, n, rng, 0),
    ]
    run = env.run(policies, n, rng, first=min(n, 3), transitions=True)
    assert env.trajectories == 8 * n
    assert all(
        data.draws == data.total_weight == n for data in (*sets, *run.transitions)
    )
    assert all(chances[x] > 0 for data in sets[:5] for x in data.codes().tolist())
    following = sets[1].codes("next_observations")
    assert (following == END).all() == (h == env.horizon)
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
    data = env.sample((), n, rng, policies[0], successors=False)
    rows = zip(
        data.codes().tolist(),
        data.actions.tolist(),
        (data.exact_rewards * unit).tolist(),
        data.weights.tolist(),
        strict=True,
    )
    counted = [o for *o, w in rows for o in [(o[0], o[1], int(o[2]))] * w]
    assert same_law(drawn, counted) > 1e-3
    # the whole vector of counts of small data sets, not only its mean
    small = one_by_one(env, policies, 3 * sets_of_three, rng)
    triples = [tuple(sorted(small[i : i + 3])) for i in range(0, len(small), 3)]
    sets = []
    for _ in range(sets_of_three):
        data = env.sample((), 3, rng, policies[0], successors=False)
        rows = zip(
            data.codes().tolist(),
            data.actions.tolist(),
            (data.exact_rewards * unit).tolist(),
            data.weights.tolist(),
            strict=True,
        )
        cells = [(x, a, int(r)) for x, a, r, w in rows for _ in range(w)]
        sets.append(tuple(sorted(cells)))
    assert same_law([t[:2] for t in triples], [t[:2] for t in sets]) > 1e-3


def test_rollouts_and_runs_have_the_law_of_single_episodes():
    env = make("random-finite", 11, observations=2, horizon=3, denominator=3)
    model, rng = env.truth.model, np.random.default_rng(2)
    policies = random_policies(env, np.random.default_rng(3))
    steps = draw_episodes(model, policies, 20_000, rng)
    returns = sum(s.units for s in steps).tolist()
    single = list(zip(steps[0].codes.tolist(), returns, strict=True))
    data = env.rollouts((), 20_000, rng, policies)
    units = (data.exact_rewards * model.unit).tolist()
    rows = zip(data.codes().tolist(), units, data.weights.tolist(), strict=True)
    assert same_law(single, [(x, int(u)) for x, u, w in rows for _ in range(w)]) > 1e-3
    paths = env.run(policies, 20_000, rng, first=20_000).paths
    actions = list(zip(*(s.actions.tolist() for s in steps), strict=True))
    assert same_law(actions, [tuple(p) for p in paths.tolist()]) > 1e-3


@settings(deadline=None, max_examples=30)
@given(environments(), st.integers(0, 99), st.integers(1, 3))
def test_rolling_through_is_rolling_in_and_then_out(env, seed, level):
    """Its law is that of roll-outs after each path, paths as policies draw them."""
    level, n = min(level, env.horizon), 10**18
    rng = np.random.default_rng(seed)
    policies = random_policies(env, rng)
    before: list[Any] = rng.integers(env.n_actions, size=level - 1).tolist()
    tail = policies[level - 1 :]
    for rule in ("uniform", policies[level - 1]):
        found = env.roll_through([*before, *tail], level, n, rng, rule)
        other = env.rollouts(before, n, rng, policies, rule)
        assert close_laws(found, other)
    found = env.roll_through(["uniform"] * (level - 1) + tail, level, n, rng, 0)
    paths = itertools.product(range(env.n_actions), repeat=level - 1)
    parts = [env.rollouts(path, n, rng, policies, 0) for path in paths]
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
    data = env.roll_in(policies, 3, 10**18, rng, 2)
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


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_default_instances_have_states_worth_learning(seed):
    env = make("random-finite", seed, states=3, actions=3, horizon=4)
    truth = env.truth
    for h in range(1, 5):
        assert truth.reachable(h) == frozenset(range(truth.n_states(h)))
        values = {truth.state_value(h, s) for s in range(truth.n_states(h))}
        assert len(values) == truth.n_states(h)
    assert [truth.n_states(h) for h in range(1, 5)] == [1, 3, 3, 3]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3))
def test_an_mdp_is_an_environment_with_the_same_values(seed, horizon, width):
    rng = np.random.default_rng(seed)
    mdp = random_tabular_mdp(rng, horizon=horizon, width=width)
    env = from_mdp(mdp)
    assert env.truth.optimal_value == mdp.optimal_values().value(mdp.start)
    members = [np.flatnonzero(mdp.state_level == h + 1) for h in range(horizon)]
    chosen = rng.integers(2, size=mdp.n_states)
    policies = [TabularPolicy(chosen[states]) for states in members]
    assert env.truth.policy_value(policies) == mdp.evaluate(chosen).value(mdp.start)
    run = env.run(policies, 10**20, rng)
    assert abs(run.mean_return - env.truth.policy_value(policies)) < 1e-8


def test_stochastic_dynamics_are_refused_with_the_reason():
    env = from_lists(
        [
            [("s", {"x": 1}, {"x": [0]}, [{"t": HALF, "u": HALF}])],
            [("t", {"y": 1}, {"y": [1]}, []), ("u", {"z": 1}, {"z": [0]}, [])],
        ],
        "coin",
    )
    assert env.truth.optimal_value == HALF
    assert sum(env.observe((0,), 10**30, np.random.default_rng(0)).weights) == 10**30
    with pytest.raises(ValueError, match="valor: environment 'coin' has stochastic"):
        require_deterministic(env, "valor")
    with pytest.raises(ValueError, match="stochastic"):
        env.truth.state((0,))
    require_deterministic(make("tabular"), "valor")


def two_levels(reward=HALF, emitted=1, target="t", second="y"):
    return [
        [("s", {"x": emitted}, {"x": [reward]}, [target])],
        [("t", {"y": 1}, {"y": [HALF]}, []), ("u", {second: 1}, {second: [0]}, [])],
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"second": "z", "reward": 1}, "a return of 3/2 is possible"),
        ({"second": "z", "reward": -1}, "level 1: negative reward"),
        ({"second": "z", "emitted": HALF}, "state 's': probabilities sum to 1/2"),
        ({"second": "z", "target": "v"}, "state 's': unknown 'v'"),
        ({"second": "z", "target": {"t": HALF}}, "probabilities sum to 1/2"),
        ({"second": "z", "reward": {0: HALF, 1: HALF, HALF: HALF}}, "sum to 3/2"),
        ({"second": "z", "reward": {}}, "a reward without values"),
        ({"second": "y"}, "observation 'y': emitted by two"),
    ],
)
def test_bad_environments_are_refused(changes, message):
    from_lists(two_levels(second="z"))
    with pytest.raises(ValueError, match=message):
        from_lists(two_levels(**changes))


def test_unreachable_or_impossible_rewards_do_not_count_as_returns():
    env = from_lists(
        [
            [("s", {"x": 1}, {"x": [{1: 1, 2: 0}]}, ["t"])],
            [("t", {"y": 1}, {"y": [0]}, []), ("u", {"z": 1}, {"z": [1]}, [])],
        ]
    )
    assert env.truth.optimal_value == 1


def test_shapes_are_checked():
    one = np.ones((1, 1), dtype=np.int64)
    cube = np.ones((1, 1, 1), dtype=np.int64)
    last = FiniteLevel(one, cube, cube, cube[:, :, :0])
    FiniteModel((last,), 1, np.array([1]))
    cases = [
        ((), np.array([1]), "no level"),
        ((last,), np.array([1, 1]), "start: shape"),
        ((last,), np.array([0]), "sum to 0"),
        ((FiniteLevel(one, cube, cube, cube),), np.array([1]), "transitions of shape"),
        ((FiniteLevel(-one, cube, cube, cube[:, :, :0]),), np.array([1]), "negative"),
        (
            (FiniteLevel(one, cube[:0], cube, last.transitions),),
            np.array([1]),
            "rewards",
        ),
    ]
    for levels, start, message in cases:
        with pytest.raises(ValueError, match=message):
            FiniteModel(levels, 1, start)
    with pytest.raises(ValueError, match="expected integers"):
        FiniteLevel(one / 2, cube, cube, cube)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e, p, r: e.sample((), 0, r), "n: 0 is no positive"),
        (lambda e, p, r: e.sample((), -3, r), "n: -3 is no positive"),
        (lambda e, p, r: e.observe((), 1.5, r), "n: 1.5 is no positive"),
        (lambda e, p, r: e.sample((5,), 1, r), "path: action 5 at level 1"),
        (lambda e, p, r: e.observe((0, 0, 0), 1, r), "beyond the horizon 3"),
        (lambda e, p, r: e.sample((), 1, r, 2), "action: 2 is not in 0..1"),
        (lambda e, p, r: e.sample((), 1, r, "greedy"), "unknown rule 'greedy'"),
        (lambda e, p, r: e.rollouts((), 1, r, p[:2]), "policies: 2 for 3 levels"),
        (lambda e, p, r: e.run(p, 2, r, first=3), "first: 3 is not in 0..2"),
        (lambda e, p, r: e.roll_in(p, 4, 1, r), "level: 4"),
        (lambda e, p, r: e.roll_through(p, 0, 1, r), "level: 0"),
        (lambda e, p, r: e.roll_through(p[:2], 1, 1, r), "policies: 2 for 3 levels"),
        (lambda e, p, r: e.space(0), "level: 0 is not in 1..3"),
        (
            lambda e, p, r: e.run([TabularPolicy(np.full(9, 7))] * 3, 2, r),
            "an action is not in 0..1",
        ),
        (
            lambda e, p, r: e.sample((), 1, r, lambda x: np.full((len(x), 2), 0.4)),
            "are no probabilities",
        ),
        (lambda e, p, r: e.truth.action_expectation((), p[0], [0]), "future: 1 values"),
        (lambda e, p, r: e.truth.expectation((), [0.0]), "values: shape"),
        (lambda e, p, r: e.truth.path_value((0, 0, 9)), "path: action 9"),
        (lambda e, p, r: e.truth.path_value((0, 0, 0, 0)), "beyond the horizon"),
        (lambda e, p, r: e.truth.estimate_policy_value(p, 1, r), "no standard error"),
    ],
)
def test_bad_questions_are_refused_and_not_counted(call, message):
    env = make("random-finite", 0)
    with pytest.raises(ValueError, match=message):
        call(env, env.truth.optimal_policies(), np.random.default_rng(0))
    assert env.trajectories == 0


def test_floats_in_floats_out():
    truth = make("random-finite", 0).truth
    policy = truth.optimal_policies()[0]
    exact = truth.action_expectation((), policy, [HALF, Fraction(1, 3)])
    rounded = truth.action_expectation((), policy, [0.5, 1 / 3])
    assert isinstance(rounded, float)
    assert rounded == pytest.approx(float(exact), abs=1e-15)


def test_randomised_policies_that_return_floats_are_taken_as_they_are():
    env = make("tabular", 0)
    truth = env.truth

    def coin(codes):
        return np.full((len(codes), 2), [0.25, 0.75])

    mixed = [
        MixedPolicy(
            (TabularPolicy(np.zeros(9, int)), TabularPolicy(np.ones(9, int))),
            (Fraction(1, 4), Fraction(3, 4)),
            2,
        )
    ] * 3
    assert truth.policy_value([coin] * 3) == truth.policy_value(mixed)
    estimate, error = truth.estimate_policy_value(
        [coin] * 3, 20_000, np.random.default_rng(0)
    )
    assert abs(estimate - truth.policy_value(mixed)) < 5 * error


def test_the_registry_suggests_and_refuses():
    assert set(names()) >= {"random-finite", "tabular", "lock", "lock-gaussian"}
    for name in ("random-finite", "tabular", "lock", "diabolical-lock", "grid"):
        env = make(name)
        assert isinstance(env, Environment)
        assert env.name == name
        assert "horizon" in options(name)
    for call, message in [
        (lambda: make("lok"), "unknown environment 'lok', did you mean 'lock'"),
        (lambda: make("lock", horizn=3), "unknown option 'horizn', did you mean"),
        (lambda: make("lock", horizon=2.5), "horizon=2.5 is no integer"),
        (lambda: make("lock", horizon="x"), "horizon='x' is no number"),
        (lambda: make("random-finite", states=0), "states: 0 is below 1"),
        (lambda: register("lock", make), "registered already"),
        (
            lambda: make(
                "tabular", denominator=1, support=1, horizon=2, states=3, actions=3
            ),
            "distinct",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_seeds_fix_environments_and_data():
    def first(seed):
        env = make("random-finite", seed)
        return env.sample((0,), 10**20, np.random.default_rng(5)).weights.tolist()

    assert first(3) == first(3)
    assert first(3) != first(4)
    assert isinstance(
        make("random-finite", np.random.default_rng(1)), FiniteEnvironment
    )
