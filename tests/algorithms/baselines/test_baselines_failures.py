"""Where the baselines fail, and VALOR does not."""

from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms.assumptions import check_assumptions
from olivine.algorithms.baselines import backup, fqi, rmax, rmax_practical
from olivine.algorithms.environments import make
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.valor.algorithm import valor
from olivine.algorithms.valor.parameters import PracticalParameters
from olivine.claims.instances import amplified, late_discovery, unrepresented

from tests.support.baselines import practical, run
from tests.support.depth import deep

HALF = Fraction(1, 2)


def test_fitted_q_iteration_fails_where_q_is_not_representable() -> None:
    made = unrepresented()
    env = made.environment
    found = check_assumptions(env, made.values, made.policies)
    assert all(assumption.holds for assumption in found.values())
    for n in (10**4, 10**18):
        rng = np.random.default_rng(n % 7)
        result = fqi(env, made.values, practical("fqi", env, n=n), rng)
        assert env.truth.policy_value(result.policies) == 0
        assert result.estimate == 1
        assert result.succeeded  # nothing tells it
    parameters = PracticalParameters(0.2, 0.1, 2, 2, 2)
    result = valor(env, made.values, made.policies, parameters, rng)
    assert result.succeeded
    assert env.truth.policy_value(result.policies) == Fraction(15, 16)
    # Bellman backups ask for values of chosen actions only.
    result = backup(env, made.values, made.policies, practical("backup", env), rng)
    assert env.truth.policy_value(result.policies) == Fraction(15, 16)


def test_fitted_q_iteration_amplifies_chance_where_classes_are_not_complete() -> None:
    small = amplified(4, actions=2)
    found = check_assumptions(small.environment, small.values, small.policies)
    assert [a.holds for a in found.values()] == [True, True, False, True]
    for h in range(2, 5):  # Q* of every action is in G, too
        q = small.environment.truth.q_values(h)
        members = small.values.at_level(h).members
        for a in range(2):
            assert any(list(m.exact) == q[:, a].tolist() for m in members)

    made = amplified(24)
    env, n = made.environment, 10**7
    for seed in range(deep(5, 1)):
        rng = np.random.default_rng(seed)
        result = fqi(env, made.values, practical("fqi", env, n=n), rng)
        assert env.truth.policy_value(result.policies) == HALF
        assert float(result.estimate) == pytest.approx(7 / 8)
    parameters = PracticalParameters(0.2, 0.1, 4, 4, 24)
    result = valor(env, made.values, made.policies, parameters, rng)
    assert result.succeeded
    assert env.truth.policy_value(result.policies) == Fraction(3, 4)
    assert result.trajectories < 2000
    # Enough data for the noise at the end, and it succeeds: it is consistent.
    result = fqi(env, made.values, practical("fqi", env, n=10**14), rng)
    assert env.truth.policy_value(result.policies) == Fraction(3, 4)


def test_uniform_roll_in_fails_on_a_chain_at_a_budget_that_does_for_valor(rng) -> None:
    horizon = 12
    env = late_discovery(horizon).environment
    values, policies = make_classes(env, "tabular", rng)
    parameters = PracticalParameters(
        0.4, 0.1, 2, 2, horizon, n_test=10, n_train=40, n_exp=4, n_eval=50
    )
    found = valor(env, values, policies, parameters, rng)
    assert found.succeeded
    assert env.truth.policy_value(found.policies) == 1
    each = -(-found.trajectories // horizon)
    for name in ("psdp", "fqi"):
        result = run(name, env, values, policies, practical(name, env, n=each), rng)
        assert result.trajectories >= found.trajectories
        assert env.truth.policy_value(result.policies) == 0
    result = rmax(env, rmax_practical(0.4, 0.1, X=2, K=2, H=horizon), rng)
    assert result.succeeded
    assert result.trajectories < found.trajectories
    assert env.truth.policy_value(result.policies) == 1


@pytest.mark.long
def test_uniform_roll_in_fails_on_the_published_lock_with_20_levels() -> None:
    for seed in range(3):
        env = make("lock", seed, horizon=20)
        rng = np.random.default_rng([seed, 1])
        values, policies = make_classes(env, "finite", rng)
        parameters = PracticalParameters(
            0.4, 0.1, 3, 4, 20, n_test=20, n_train=160, n_exp=4, n_eval=300
        )
        found = valor(env, values, policies, parameters, rng)
        value, _ = env.truth.estimate_policy_value(found.policies, 4000, rng)
        assert value > 0.45
        each = -(-found.trajectories // 20)
        for name, factor in (("psdp", 1), ("fqi", 10)):
            chosen = practical(name, env, n=factor * each)
            result = run(name, env, values, policies, chosen, rng)
            value, _ = env.truth.estimate_policy_value(result.policies, 4000, rng)
            assert value < 0.05
        chosen = rmax_practical(0.4, 0.1, X=3, K=4, H=20)
        result = rmax(env, chosen, rng)
        value, _ = env.truth.estimate_policy_value(result.policies, 4000, rng)
        assert value > 0.45
        assert result.trajectories < found.trajectories
