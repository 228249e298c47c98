"""The two-sample algorithm on classes of all kinds: what is assumed of them."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms import classes
from olivine.algorithms.environments import from_lists, make
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.oracles.ledger import unguard
from olivine.algorithms.two_sample import TwoSamplePracticalParameters, two_sample
from olivine.algorithms.two_sample.algorithm import observed_mdp
from olivine.algorithms.valor import valor
from olivine.algorithms.valor.parameters import TheoremParameters
from olivine.claims.instances import doubling, outvoted

from tests.support.two_sample import Log, chain, monitored, theorem

HALF = Fraction(1, 2)


def test_the_identity_test_can_use_a_kernel_ball() -> None:
    """A ball around 1/2 that contains all functions to [0, 1]: closed form."""
    env = make("random-finite", 2)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    ball = classes.KernelBall(classes.identity_kernel, radius=0.5 * 4**0.5)
    tests = classes.ValueClassByLevel.stationary(ball, 3)
    p = theorem(env, values, policies)
    result = monitored(
        env, values, policies, p, np.random.default_rng(0), test_class=tests
    )
    assert result.learned == (1, 2, 2)
    assert result.contradictions == []
    assert all(report.holds for report in result.monitors.values())


def test_a_test_class_that_sees_less_than_g_is_a_broken_premise(rng) -> None:
    """All states look alike to a constant, so values are wrong; no lemma is."""
    env = make("random-finite", 2)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    blind = classes.ValueClassByLevel(
        [classes.FiniteValueClass([[0.5] * env.space(h).n_codes]) for h in (1, 2, 3)]
    )
    p = theorem(env, values, policies)
    result = monitored(env, values, policies, p, rng, test_class=blind)
    monitors = result.monitors
    assert monitors["value-accuracy"].holds is False
    assert monitors["test-class"].holds is False
    assert monitors["test-class"].scope == "premise"
    assert result.contradictions == []
    assert monitors["event"].holds is True
    own = monitored(env, values, policies, p, np.random.default_rng(0))
    assert "test-class" not in own.monitors


def test_linear_classes_on_a_lock_with_practical_parameters() -> None:
    env = make("lock-gaussian", 0, horizon=3, dimension=0, noise=0.05)
    rng = np.random.default_rng(1)
    values, policies = make_classes(env, "linear", rng)
    p = TwoSamplePracticalParameters(0.5, 0.1, 3, 4, 3, n_train=200)
    result = monitored(env, values, policies, p, rng)
    assert result.succeeded
    value, error = env.truth.estimate_policy_value(result.policies, 2000, rng)
    assert value + 3 * error >= 0.45
    assert result.contradictions == []
    assert result.monitors["markov"].holds is None
    assert result.monitors["complete"].holds is None


def test_realizable_but_incomplete_classes_mislead_it_and_not_valor() -> None:
    """At the theorem's own constants of either, on the same classes."""
    made = doubling()
    env = made.environment
    given_ = env, made.values, made.policies
    p = theorem(*given_)
    result = monitored(*given_, p, np.random.default_rng(0))
    monitors = result.monitors
    assert result.succeeded  # it believes so
    lost = env.truth.optimal_value - env.truth.policy_value(list(result.policies))
    assert lost > p.eps
    premises = [name for name, r in monitors.items() if r.scope == "premise"]
    assert [name for name in premises if not monitors[name].holds] == ["complete"]
    assert monitors["complete"].holds is False
    for name in ("value-accuracy", "policy-loss", "policy-bound"):
        assert monitors[name].holds is False
    assert result.contradictions == []  # for a premise is violated

    sizes = made.values.log_size(), made.policies.log_size()
    parameters = TheoremParameters(0.3, 0.1, 2, 2, env.horizon, *sizes)
    other = valor(*given_, parameters, np.random.default_rng(0))
    assert other.succeeded
    assert env.truth.policy_value(list(other.policies)) == env.truth.optimal_value


def test_with_complete_classes_it_finds_the_optimum_of_the_same_environment() -> None:
    env = doubling().environment
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = theorem(env, values, policies)
    result = monitored(env, values, policies, p, np.random.default_rng(0))
    assert result.contradictions == []
    assert env.truth.policy_value(list(result.policies)) == env.truth.optimal_value


def test_errors_double_level_by_level(rng) -> None:
    made, log = doubling(), Log()
    given_ = made.environment, made.values, made.policies
    two_sample(*given_, theorem(*given_), rng, observers=[log])
    truth, high = made.environment.truth, np.array([1])
    errors = [
        float(truth.values(h)[1]) - unguard(g)(high)[0]
        for h, g in enumerate(log.fits[0].values[1:], 2)
    ]
    assert errors[-1] == pytest.approx(3.8 * 0.3 / (192 * 256))
    for earlier, later in itertools.pairwise(errors):
        assert earlier == pytest.approx(1.99 * later)
    assert errors[0] > 0.33


def test_erratum_15_learned_sets_can_outvote_a_state() -> None:
    """The printed bound, 2M τ_V, counts M sets; there are 101."""
    found, rare = outvoted(), np.array([1])
    p, (x, y) = found.run.parameters, (found.made.environment.truth.values(2))
    assert y - x == found.loss
    assert unguard(found.run.policy_step(2, None))(rare).tolist() == [1]
    assert 2 * p.M * p.tau_V < found.loss <= p.loss_bound(2)
    few = outvoted(copies=1)  # two sets: the bound for M sets is right
    lost = (
        few.loss if unguard(few.run.policy_step(2, None))(rare).tolist() == [1] else 0
    )
    assert lost <= 2 * p.M * p.tau_V
    with pytest.raises(ValueError, match="copies"):
        outvoted(copies=126)


@pytest.mark.parametrize("eps", [Fraction(0), Fraction(1, 2)])
def test_the_instance_wants_a_small_epsilon(eps) -> None:
    with pytest.raises(ValueError, match="eps"):
        doubling(eps)


fractions = st.fractions(0, 2, max_denominator=60)


unit_fractions = st.fractions(0, 1, max_denominator=60)


@given(unit_fractions, fractions, fractions, unit_fractions)
def test_clipping_serves_the_proof(g, one, other, right) -> None:
    """Inequalities of the module `monitors`, in rationals."""
    bayes, best = sorted((one, other))
    nearest, clipped = min(bayes, 1), min(best, 1)
    assert (g - bayes) ** 2 - (nearest - bayes) ** 2 >= (g - nearest) ** 2
    excess = (clipped - bayes) ** 2 - (nearest - bayes) ** 2
    assert 0 <= excess <= best - bayes
    assert abs(right - nearest) <= abs(right - bayes)


def merged(env, level):
    """Let all states of a level look alike (the environment's own refuses that)."""
    own = env.truth

    def chances(path):
        law = own.observation_probabilities(path)
        if len(path) + 1 == level:
            return np.array([law.sum()], dtype=object)
        return law

    truth = SimpleNamespace(
        state=own.state, successor=own.successor, observation_probabilities=chances
    )
    return SimpleNamespace(
        truth=truth, horizon=env.horizon, n_actions=env.n_actions, space=env.space
    )


def test_observations_of_two_states_need_the_same_future():
    assert observed_mdp(chain()).holds
    assert observed_mdp(merged(chain(), 2)).holds  # both lead to v
    apart = from_lists(
        [
            [("s", {"s": 1}, {"s": [0, 0]}, ["t", "u"])],
            [
                ("t", {"x": 1}, {"x": [0, 0]}, ["v", "w"]),
                ("u", {"y": 1}, {"y": [0, 0]}, ["w", "w"]),
            ],
            [("v", {"z": 1}, {"z": [0, 0]}, []), ("w", {"a": 1}, {"a": [0, 0]}, [])],
        ]
    )
    assert observed_mdp(apart).holds
    found = observed_mdp(merged(apart, 2))
    assert found.holds is False
    assert "action 0" in found.reason
    assert observed_mdp(merged(apart, 3)).holds  # nothing follows
    assert observed_mdp(make("lock", 0, horizon=3)).holds
    assert observed_mdp(make("lock-gaussian", 0, horizon=3)).holds is None


def test_what_is_known_to_be_no_mdp_is_refused(monkeypatch) -> None:
    env = make("tabular", 0)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3)
    verdict = SimpleNamespace(holds=False, reason="aliased")
    monkeypatch.setattr(
        "olivine.algorithms.two_sample.algorithm.observed_mdp", lambda e: verdict
    )
    with pytest.raises(ValueError, match="no MDP over observations: aliased"):
        two_sample(env, values, policies, p, np.random.default_rng(0))
