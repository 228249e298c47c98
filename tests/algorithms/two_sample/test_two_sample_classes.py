"""The two-sample algorithm's classes and constants: what the proof asks of them."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from olivine.algorithms import classes
from olivine.algorithms.environments import from_lists, make
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.oracles.ledger import unguard
from olivine.algorithms.two_sample import two_sample
from olivine.algorithms.two_sample.algorithm import observed_mdp
from olivine.algorithms.two_sample.parameters import (
    TwoSamplePracticalParameters,
    TwoSampleTheoremParameters,
)
from olivine.algorithms.valor import valor
from olivine.algorithms.valor.parameters import TheoremParameters
from olivine.claims.instances import doubling, outvoted
from olivine.claims.two_sample import exponents

from tests.support.depth import with_rows
from tests.support.refusals import refused
from tests.support.two_sample import Log, chain, monitored, theorem

HALF = Fraction(1, 2)


def test_the_identity_test_can_use_a_kernel_ball() -> None:
    """A ball around 1/2 that contains all functions to [0, 1]: closed form."""
    env = make("random-finite", 2)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    ball = classes.KernelBall(classes.identity_kernel, radius=0.5 * 4**0.5)
    tests = classes.ValueClassByLevel.stationary(ball, 3)
    p = theorem(env, values, policies)
    result = monitored(env, values, policies, p, test_class=tests)
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
    own = monitored(env, values, policies, p)
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
    result = monitored(*given_, p)
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
    result = monitored(env, values, policies, p)
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
    refused("copies", outvoted, copies=126)


@pytest.mark.parametrize("eps", [Fraction(0), Fraction(1, 2)])
def test_the_instance_wants_a_small_epsilon(eps) -> None:
    refused("eps", doubling, eps)


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


epsilons = st.floats(0.001, 0.999)
sizes = st.integers(1, 30)
logs = st.floats(0, 500)
problems = given(epsilons, epsilons, sizes, sizes, sizes, logs, logs)


@problems
@example(0.3, 0.1, 2, 2, 3, 8 * math.log(2), 4 * math.log(2))
@example(0.5, 0.5, 1, 1, 1, 0.0, 0.0)
def test_formulas(eps, delta, m, k, h, log_g, log_pi) -> None:
    e = Fraction(str(eps))
    for version in ("theorem", "paper"):
        p = TwoSampleTheoremParameters(
            eps, delta, m, k, h, log_g, log_pi, version=version
        )
        assert p.n_exp == math.ceil(8 * math.log(4 * m * h / delta) / eps * (1 + 1e-13))
        assert p.n_eval == pytest.approx(32 * math.log(8 * m * h / delta) / eps**2, 1)
        assert p.T_max == m * (k + 1) * (1 + h * p.n_exp)
        assert p.tau == e / (192 * h**2)
        if version == "paper":
            assert p.tau_V == e**2 / (20736 * m**2 * h**4)
            assert p.tau_L == e**2 / (1152 * h**4 * p.T_max)
        else:  # erratum 15
            assert p.tau_V == e**2 / (20736 * m * h**4 * p.T_max)
            assert p.tau_L == e**2 / (1152 * h**4 * m)
            assert p.tau_L == 18 * p.T_max * p.tau_V
        rate = 16 * k * (2 / p.tau_L**2 + 1 / p.tau_V**2)
        inside = math.log(12 * h * p.T_max / delta) + 2 * log_g + log_pi
        assert float(p.n_train / rate) == pytest.approx(inside, 1e-9)
        assert isinstance(p.n_train, int)
        assert p.trajectory_bound == h * p.T_max * p.n_train + m * h * p.n_eval
        assert p.iterations == m * h
        assert p.visits == m * k + m * h * p.n_exp * (k + 1) <= p.T_max


@problems
@example(0.99, 0.5, 1, 1, 1, 0.0, 0.0)
def test_erratum_15_the_corrected_constants_give_the_last_line_of_the_proof(
    eps, delta, m, k, h, log_g, log_pi
) -> None:
    """In rationals: every term of 2H ε_V + H²(2ε_V + √(4M ε_V + 2ε_L) + 8τ)."""
    e = Fraction(str(eps))
    p = TwoSampleTheoremParameters(eps, delta, m, k, h, log_g, log_pi)
    # As the proof has it, with perfect oracles: each of three terms is at most ε/24.
    policy, loss = p.T_max * p.tau_V, m * p.tau_L
    assert 6**2 * h**4 * m * policy <= (e / 24) ** 2  # 6H²√(M ε_V)
    assert h**4 * 2 * loss <= (e / 24) ** 2  # H²√(2 ε_L)
    assert 8 * h**2 * p.tau <= e / 24
    assert policy <= 1  # so that ε_V ≤ √ε_V, which the proof uses
    # The whole, oracles' accuracies included, √ rounded up.
    assert p.policy_bound <= e / 8
    assert p.estimate_bound <= e / 8
    share = p.oracle_share
    root = p.level_error - p.policy_step - p.tau * (8 + 2 * share)
    square = 2 * m * p.policy_step + m * p.tau_L * (2 + share)
    step = Fraction(1, 2**256)  # to a multiple of which √ is rounded
    assert (root - step) ** 2 < square + step**2
    assert square <= root**2
    assert p.policy_step >= 2 * policy
    for level in range(1, h + 1):
        assert p.value_bound(level) <= p.value_bound(1) <= p.policy_bound
        assert p.loss_bound(level) <= p.policy_bound
    # The proposition's sum over the levels.
    assert sum(p.loss_bound(level) for level in range(1, h + 1)) <= p.policy_bound


def test_bounds_are_those_of_the_propositions_and_the_oracles() -> None:
    """At round numbers: ε_V = 4/50, ε_L = 6/80; oracles all but exact."""
    tau_v, tau_l, tau = Fraction(1, 50), Fraction(3, 80), Fraction(1, 100)
    tiny = Fraction(1, 10**60)
    chosen = {"tau": tau, "tau_V": tau_v, "tau_L": tau_l, "T_max": 4}
    p, q = (
        TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3, **chosen, oracle_share=share)
        for share in (tiny, Fraction(1, 10))
    )
    policy, level = 2 * 4 * tau_v, p.level_error  # 4·2·(4/50) + 2·2·(3/80) = 0.79
    assert level > policy + 8 * tau
    nothing = Fraction(1, 10**50)
    assert abs((level - policy - 8 * tau) ** 2 - Fraction(79, 100)) < nothing
    assert abs(p.policy_step - policy) < nothing
    for h in (1, 2, 3):
        assert p.value_bound(h) == (4 - h) * level
        assert p.loss_bound(h) == p.policy_step + 2 * (3 - h) * level
    assert p.policy_bound == 3 * p.policy_step + 9 * level
    assert p.estimate_bound == 3 * level + tau
    # Each oracle's share is counted, once (CSC, LS) or twice (LP).
    share = Fraction(1, 10)
    assert q.policy_step == policy + 4 * share * tau_v
    rest = q.level_error - q.policy_step - (8 + 2 * share) * tau
    square = 4 * q.policy_step + 2 * (2 + share) * tau_l
    assert square <= rest**2 <= square + Fraction(1, 2**200)


@problems
@example(0.999, 0.5, 1, 1, 1, 0.0, 0.0)
@example(0.999, 0.999, 1, 1, 1, 0.0, 0.0)
@example(0.7, 0.9, 1, 1, 1, 0.0, 0.0)
def test_erratum_15_the_printed_constants_do_not(
    eps, delta, m, k, h, log_g, log_pi
) -> None:
    """From T_max = 36 M on, H²√(4M ε_V) ≥ ε/12, to which 8H²τ = ε/24 comes."""
    p = TwoSampleTheoremParameters(eps, delta, m, k, h, log_g, log_pi, version="paper")
    assert 8 * h**2 * p.tau == p.eps / 24
    root = 4 * m * p.T_max * p.tau_V * h**4  # a square
    assert root == p.eps**2 * Fraction(p.T_max, m) / 72**2
    if delta <= 0.5:
        assert p.T_max >= 36 * m
    if p.T_max >= 36 * m:
        assert p.policy_bound > p.eps / 8
    if (m, k, h) == (1, 1, 1) and eps >= 0.9 and delta >= 0.9:  # hardly a problem
        assert p.policy_bound < p.eps / 8


def test_erratum_15_at_a_problem_of_usual_size_the_printed_bound_exceeds_epsilon() -> (
    None
):
    sizes = 0.1, 0.1, 3, 10, 5, 5.0, 5.0
    printed = TwoSampleTheoremParameters(*sizes, version="paper")
    assert printed.policy_bound > printed.eps
    assert TwoSampleTheoremParameters(*sizes).policy_bound < Fraction(1, 80)


@problems
@example(0.99, 0.99, 1, 30, 1, 0.0, 0.0)
def test_erratum_16_draws_suffice_for_the_three_deviations(
    eps, delta, m, k, h, log_g, log_pi
) -> None:
    """Hoeffding, and Bernstein with variances of 4K and 16K, a third of δ' each."""
    p = TwoSampleTheoremParameters(eps, delta, m, k, h, log_g, log_pi)
    share = math.log(6 * h * p.T_max / delta)  # ln(1/δ'), δ' = δ/(6 H T_max)
    assert float(2 * p.n_train * p.tau**2) >= (math.log(2) + log_g + share) * (1 - 1e-9)
    for accuracy, variance, width, functions in (
        (p.tau_V, 4 * k, 2 * k, log_g + log_pi),
        # Tabular classes: at the corners the width is 4.5K.
        (p.tau_L, 16 * k, Fraction(9, 2) * k, 2 * log_g + log_pi),
    ):
        rate = p.n_train * accuracy**2 / (2 * (variance + width * accuracy / 3))
        assert float(rate) >= (math.log(2) + functions + share) * (1 - 1e-9)
    # The lemma's 32K/τ_L² would not do: the root alone is τ_L, and there is more.
    lemma = 32 * k / p.tau_L**2  # draws for each unit of the logarithm
    assert 2 * 16 * k / lemma == p.tau_L**2
    assert p.n_train >= lemma * (math.log(2) + 2 * log_g + log_pi + share)
    # n_exp, n_eval: as for VALOR.
    assert m * h * math.exp(-eps * p.n_exp / 8) <= delta / 4 * (1 + 1e-9)
    tail = 2 * m * h * math.exp(-2 * p.n_eval * eps**2 / 64)
    assert tail <= delta / 4 * (1 + 1e-9)


def test_erratum_14_the_sum_of_the_proof_is_not_that_of_the_theorem() -> None:
    found = exponents("theorem", 10**6)
    assert [round(v) for v in found.values()] == [5, 4, 12, 7]
    small = TwoSampleTheoremParameters(0.1, 0.1, 10, 10, 10, 1.0, 1.0)
    stated = 10**2 * 10**2 * 10**6 / 0.1**4
    logarithms = math.log(10**9) ** 4 * 10**3
    assert small.trajectory_bound > stated * logarithms * 10**6


def test_calls_and_practical_parameters_are_free():
    p = TwoSampleTheoremParameters(0.3, 0.1, 3, 2, 4, 1.0, 1.0)
    assert p.call_bounds == {"csc": 48, "ls": 48, "lp": 2 * 3 * 4 * p.T_max}
    p = TwoSamplePracticalParameters(
        0.3, 0.1, 2, 3, 2, tau=0.05, n_train=100, max_iterations=5
    )
    assert p.tau == Fraction(1, 20)
    assert p.iterations == 5
    # Balanced: n_train is rounded up to a multiple of K.
    assert p.trajectory_bound == 2 * p.T_max * 102 + 5 * p.n_eval
    assert p.to_json()["tau"] == 0.05


@with_rows(
    "change, message",
    ({"n_exp": 20, "n_eval": 10}, "n_eval"),
    ({"n_exp": 0}, "n_exp"),
    ({"n_train": 0}, "n_train"),
    ({"tau": 0}, "tau"),
    ({"tau_L": "x"}, "number"),
    ({"oracle_share": -1}, "oracle_share"),
    ({"max_iterations": 0}, "max_iterations"),
    ({"balanced": 3}, "balanced"),
)
def test_bad_practical_parameters(change, message) -> None:
    refused(message, TwoSamplePracticalParameters, 0.3, 0.1, 2, 2, 2, **change)
