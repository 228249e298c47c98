"""VALOR with linear classes: fresh trajectories, defaults, the Gaussian lock."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.environments import make
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.learning.events import Triple
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.valor import valor
from olivine.algorithms.valor.algorithm import LocalValues
from olivine.algorithms.valor.parameters import (
    PracticalParameters,
    dimension,
    linear_defaults,
)

from tests.support.depth import deep, spread


def learn(environment, rng, kind="linear", **chosen):
    """Run VALOR with practical parameters at ε = 0.3: (result, triples)."""
    values, policies = make_classes(environment, kind, rng)
    events = []
    parameters = PracticalParameters(
        0.3, 0.1, environment.max_states, environment.n_actions,
        environment.horizon, **chosen,
    )  # fmt: skip
    result = valor(
        environment, values, policies, parameters, rng, observers=[events.append]
    )
    return result, [e for e in events if isinstance(e, Triple)]


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=deep(15, 6), deadline=None)  # a run each
def test_fresh_trajectories_estimate_what_the_policy_gets(seed, m, k, h) -> None:
    """With 10^12 of them Ṽ is E[r + V_a] under the policy, V* if data are as many."""
    env = make("random-finite", seed, states=m, actions=k, horizon=h)
    n = 10**12
    result, triples = learn(
        env, np.random.default_rng(seed), "tabular", n_train=n, n_test=n, n_fresh=n
    )
    assert result.succeeded
    for triple in triples:
        state = env.truth.state(triple.path)
        right = float(env.truth.state_value(triple.level, state))
        # V_a may be a consensus, off by φ a level; at the last level nothing is.
        slack = 0.15 * (h - triple.level) + 1e-4
        assert abs(float(triple.value) - right) <= slack


def test_fresh_trajectories_are_counted_and_bounded() -> None:
    runs = {}
    for fresh in (None, 70):
        result, triples = learn(
            make("tabular", 2, states=2, actions=2, horizon=3),
            np.random.default_rng(0), "tabular", n_test=50, n_train=200, n_eval=100,
            n_exp=10, n_fresh=fresh,
        )  # fmt: skip
        tests = sum(t.data is not None for triple in triples for t in triple.tests)
        count = 200 * len(triples) + 50 * tests + 100 * result.iterations
        assert result.trajectories == count + (fresh or 0) * len(triples)
        runs[fresh] = result
    for bad in (0, -3, 1.5, True):
        with pytest.raises(ValueError, match=r"n_fresh: .* is no positive integer"):
            PracticalParameters(0.3, 0.1, 2, 2, 3, n_fresh=bad)
    plain, fresh = (
        PracticalParameters(0.3, 0.1, 2, 2, 3, n_fresh=n) for n in (None, 70)
    )
    assert fresh.trajectory_bound - plain.trajectory_bound == 70 * 3 * fresh.T_max
    assert runs[70].parameters["n_fresh"] == 70


def test_a_maximum_over_linear_policies_is_too_high_and_fresh_ones_are_not() -> None:
    """The last level of the published Gaussian lock, V* = 1/2, 800 rows, d = 13."""
    excess = {None: [], 2000: []}
    for seed in range(deep(6, 3)):
        env = make("lock-gaussian", seed, horizon=10)
        rng = np.random.default_rng(seed)
        values, policies = make_classes(env, "linear", rng)
        path, state = [], env.truth.state(())
        for h in range(1, 10):
            ahead = [env.truth.successor(h, state, a) for a in range(4)]
            worth = [env.truth.state_value(h + 1, s) for s in ahead]
            path.append(int(np.argmax(worth)))
            state = ahead[path[-1]]
        assert env.truth.state_value(10, state) == Fraction(1, 2)
        for fresh in excess:
            parameters = PracticalParameters(
                0.3, 0.1, 3, 4, 10, n_train=800, n_fresh=fresh, clip=False
            )
            run = LocalValues(Problem(env, values, policies), parameters, rng)
            excess[fresh].append(float(run.dfslearn(tuple(path))) - 0.5)
    assert min(excess[None]) > 0.1
    assert abs(np.mean(excess[2000])) < 0.05


@given(
    st.integers(1, 12), st.integers(0, 9), st.integers(2, 6), st.floats(0.05, 0.95)
)  # fmt: skip
def test_defaults_keep_a_consensus_at_a_learned_state(h, bits, k, eps) -> None:
    """What the module derives: 0.8 d √(1/n_train + 1/n_test) ≤ 4 ε_stat, B = 1."""
    env = make("lock-gaussian", 0, horizon=h, dimension=bits, actions=k)
    d = dimension(env)
    assert d == 3 + bits
    chosen = linear_defaults(env, eps)
    p = PracticalParameters(eps, 0.1, 3, k, h, **chosen)
    noise = 0.8 * d * (1 / p.n_train + 1 / p.n_test) ** 0.5
    assert noise <= 4 * float(p.eps_stat) * 1.001
    rows = max(80 * d * k, 4.5 * d**2 / eps**2)
    assert rows * (1 - 1e-9) <= p.n_train <= rows * (1 + 1e-9) + 1
    assert p.n_test == math.ceil(p.n_train / 2)
    assert p.n_fresh >= 8 * h / eps**2 - 1


def test_defaults_need_features() -> None:
    with pytest.raises(ValueError, match="no features"):
        linear_defaults(make("random-finite", 0), 0.3)
    with pytest.raises(ValueError, match="epsilon"):
        linear_defaults(make("lock-gaussian", 0), 1.5)
    codes = make("lock", 0, horizon=3, observations="codes")
    assert dimension(codes) == 6


def test_the_locks_features_realise_values_and_policies_on_average(rng) -> None:
    """E[⟨θ, x⟩ | s] = V*(s) for a θ of the box, and argmax ⟨θ_a, x⟩ is optimal."""
    for seed in range(3):
        env = make("lock-gaussian", seed, horizon=6)
        values, policies = make_classes(env, "linear", rng)
        for h in range(2, 7):
            means = env.truth.emission.means[h - 1]
            n = env.truth.n_states(h)
            right = [float(env.truth.state_value(h, s)) for s in range(n)]
            theta = np.linalg.lstsq(means, right, rcond=None)[0]
            assert np.abs(theta).max() <= values.at_level(h).bound
            assert means @ theta == pytest.approx(right)
            assert not values.at_level(h).clipped
            assert policies.at_level(h).features.dimension == 9
            # The nearest mean is the state itself but for one draw in 10^11.
            drawn = env.truth.emission(h, np.repeat(np.arange(n), 1000), rng)
            scores = drawn @ means.T
            assert np.array_equal(scores.argmax(axis=1), np.repeat(np.arange(n), 1000))


@pytest.mark.parametrize(("horizon", "count"), spread([(3, 1), (5, 3), (10, 10)], 1))
@pytest.mark.parametrize("name", ["lock-gaussian", "lock"])
def test_linear_classes_solve_the_published_locks(name, horizon, count) -> None:
    """Published noise, d = H, defaults: V^π ≥ 0.9 V* in 9 of 10 seeds."""
    solved = 0
    for seed in range(count):
        env = make(name, seed, horizon=horizon)
        rng = np.random.default_rng([seed, 1])
        result, triples = learn(env, rng, **linear_defaults(env, 0.3))
        if not result.succeeded:
            continue
        value, error = env.truth.estimate_policy_value(result.policies, 20_000, rng)
        solved += value - 2 * error >= 0.45
        # Hardly a state is learned twice.
        assert len(triples) <= 1.5 * (3 * (horizon - 1) + 1)
    assert solved >= 0.9 * count


@pytest.mark.long
def test_the_papers_own_form_solves_the_gaussian_lock_with_more_data() -> None:
    """Ṽ from the data themselves: too high by 2 percent a level, but enough."""
    env = make("lock-gaussian", 0, horizon=10)
    rng = np.random.default_rng([0, 1])
    chosen = linear_defaults(env, 0.3) | {"n_train": 200_000, "n_test": 1000}
    result, _ = learn(env, rng, **chosen | {"n_fresh": None})
    assert result.succeeded
    value, _ = env.truth.estimate_policy_value(result.policies, 20_000, rng)
    assert value >= 0.45
    assert 0.54 <= float(result.estimate) <= 0.65
