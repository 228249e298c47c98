"""The two-sample algorithm: line by line, at the theorem's constants."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.algorithms.assumptions import complete_classes
from olivine.algorithms.classes import (
    FiniteValueClass,
    KernelBall,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
    identity_kernel,
)
from olivine.algorithms.environments import make
from olivine.algorithms.environments.finite_lists import from_lists
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.learning.events import Iteration
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.oracles.discrepancy import mean_discrepancy
from olivine.algorithms.oracles.ledger import Ledger, guard, reveal
from olivine.algorithms.two_sample import (
    TwoSampleMonitors,
    TwoSamplePracticalParameters,
    TwoSampleTheoremParameters,
    algorithm,
    two_sample,
)
from olivine.algorithms.two_sample.algorithm import Regression, TwoSampleLearner, Visit
from olivine.algorithms.two_sample.observed_mdp import observed_mdp
from olivine.algorithms.valor import valor
from olivine.algorithms.valor.parameters import TheoremParameters
from olivine.cli.ledger.support.two_sample import amplified, outvoted, unlearned
from olivine.cli.ledger.two_sample_constants import printed_depth
from scipy.stats import beta

from tests.support.depth import deep

HALF = Fraction(1, 2)


def theorem(env, values, policies, eps=0.3, delta=0.1):
    return TwoSampleTheoremParameters(
        eps,
        delta,
        env.max_states,
        env.n_actions,
        env.horizon,
        values.log_size(squared=True),
        policies.log_size(),
    )


def monitored(env, values, policies, parameters, rng, *, observers=(), test_class=None):
    """Run with monitors."""
    given_ = env, values, policies, parameters
    monitors = TwoSampleMonitors(*given_, test_class)
    result = two_sample(
        *given_, rng, observers=(monitors, *observers), test_class=test_class
    )
    return with_monitors(result, monitors.reports(result))


def at_theorem(kind, seed, **options):
    """One run at the theorem's constants on a random environment."""
    env = make("random-finite", seed, **options)
    rng = np.random.default_rng([seed, 1])
    if kind == "complete":
        values, policies = complete_classes(env, rng, size=24)
    else:
        values, policies = make_classes(env, kind, rng, size=24)
    parameters = theorem(env, values, policies)
    return env, parameters, monitored(env, values, policies, parameters, rng)


class Log:
    """Remember what happened."""

    def __init__(self) -> None:
        self.visits, self.fits, self.iterations = [], [], []

    def __call__(self, event):
        match event:
            case Visit():
                self.visits.append(event)
            case Regression():
                self.fits.append(event)
            case Iteration():
                self.iterations.append((event, len(self.visits)))


# ----------------------------------------------------------------- the analysis


@settings(deadline=None, max_examples=deep(12, 5))
@given(
    st.sampled_from(["tabular", "finite", "complete"]),
    st.integers(0, 2**32),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 2),
)
@example("tabular", 0, 1, 1, 1, 1)
@example("complete", 0, 1, 1, 1, 1)
@example("tabular", 0, 1, 1, 3, 1)
@example("complete", 3, 3, 2, 3, 2)
def test_what_the_analysis_claims_holds(
    kind, seed, states, actions, horizon, observations
) -> None:
    env, parameters, result = at_theorem(
        kind,
        seed,
        states=states,
        actions=actions,
        horizon=horizon,
        observations=observations,
        distinct=False,
    )
    monitors = result.monitors
    assert result.contradictions == []
    assert monitors["event"].holds is not None
    assert monitors["oracles"].holds
    assert monitors["markov"].holds
    if kind != "finite":
        assert monitors["complete"].holds
        if monitors["event"].holds and monitors["evaluation"].holds:
            if result.succeeded:
                value = env.truth.policy_value(result.policies)
                assert env.truth.optimal_value - value <= parameters.eps
            else:  # only if exploration on demand found nothing new
                assert monitors["progress"].holds is False


def test_every_state_is_learned_once_and_everything_is_counted() -> None:
    env, p, result = at_theorem("tabular", 5, states=3, actions=3, horizon=4)
    states = [len(env.truth.reachable(h)) for h in range(1, 5)]
    assert result.succeeded
    assert result.learned == tuple(states) == (1, 3, 3, 3)
    calls = 1 + 3 * sum(states[:-1])  # each learned state tries its children
    assert result.calls["csc"] == result.calls["ls"] == 4
    assert result.trajectories == env.trajectories == calls * p.n_train + p.n_eval
    assert result.seed.entropy == (5, 1)


@pytest.mark.parametrize("balanced", [False, True])
def test_data_sets_have_the_size_asked_for_and_uniform_actions(balanced) -> None:
    env, log = make("random-finite", 2, states=2, actions=3, horizon=2), Log()
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = TwoSamplePracticalParameters(
        0.3, 0.1, 2, 3, 2, n_train=3001, balanced=balanced, max_iterations=1
    )
    rng = np.random.default_rng(0)
    result = two_sample(env, values, policies, p, rng, observers=[log])
    draws = 3003 if balanced else 3001  # as many for each action
    assert [v.data.draws for v in log.visits[:4]] == [draws] * 4
    assert result.trajectories == len(log.visits) * draws + p.n_eval
    for v in log.visits:
        shares = [v.data.expectation(v.data.actions == a) for a in range(3)]
        assert shares == pytest.approx([1 / 3] * 3, abs=1e-12 if balanced else 0.03)


def share(kind, count):
    """Share of ε-optimal runs, its 99% lower bound, and the contradictions."""
    good, wrong = 0, []
    for seed in range(count):
        env, p, result = at_theorem(kind, seed, states=2, actions=2, horizon=3)
        wrong += [(seed, c) for c in result.contradictions]
        clean = {
            m: r.holds for m, r in result.monitors.items() if r.scope != "probable"
        }
        wrong += [(seed, name) for name, holds in clean.items() if not holds]
        if result.succeeded:
            value = env.truth.policy_value(result.policies)
            good += env.truth.optimal_value - value <= p.eps
    lower = 0.0 if good == 0 else float(beta.ppf(0.01, good, count - good + 1))
    return good / count, lower, wrong


@pytest.mark.parametrize("kind", ["tabular", "complete"])
@pytest.mark.parametrize(
    "count", [4, pytest.param(100, marks=pytest.mark.long)], ids=["few", "many"]
)
def test_epsilon_optimal_in_a_share_of_1_minus_delta(kind, count) -> None:
    found, lower, wrong = share(kind, count)
    print(f"{kind}: {found:.3f} of {count}, above {lower:.3f} at 99%")
    assert wrong == []
    assert found >= 0.9
    if count >= 100:
        assert lower >= 0.9


# ------------------------------------------------------------- the listing


def chain(rewards=(0, HALF)):
    """Two states at level 2 that look the same to means, by actions 0 and 1."""
    return from_lists(
        [
            [("s", {"s": 1}, {"s": [0, 0]}, ["t", "u"])],
            [
                ("t", {"x": 1}, {"x": list(rewards)}, ["v", "v"]),
                ("u", {"y": 1}, {"y": list(rewards)}, ["v", "v"]),
            ],
            [("v", {"z": 1}, {"z": [HALF, 0]}, [])],
        ],
        "chain",
    )


def test_a_recursive_call_returns_where_data_look_alike_and_others_do_not() -> None:
    env = chain()
    values = ValueClassByLevel(
        [TabularValueClass(1), FiniteValueClass([[1.0, 1.0]]), TabularValueClass(1)]
    )
    policies = PolicyClassByLevel([TabularPolicyClass(n, 2) for n in (1, 2, 1)])
    p, log = theorem(env, values, policies), Log()
    run = TwoSampleLearner(env, values, policies, p, np.random.default_rng(0), [log])
    run.dfslearn(())
    seen = [(v.path, v.new, v.learned) for v in log.visits]
    assert seen == [
        ((), True, True),  # no data set to compare with
        ((0,), True, True),
        ((0, 0), True, True),
        ((0, 1), False, False),  # the same state, a recursive call
        ((1,), False, False),  # another state, but G cannot tell
    ]
    assert [v.distances for v in log.visits[:3]] == [(), (), ()]
    run.dfslearn((1,))  # exploration on demand
    seen = [(v.path, v.new, v.learned, v.recursive) for v in log.visits[5:]]
    assert seen == [
        ((1,), False, True, False),  # learned, no val set; and its children
        ((1, 0), False, False, True),
        ((1, 1), False, False, True),
    ]
    assert [len(sets) for sets in run.val] == [1, 1, 1]
    assert [len(sets) for sets in run.learned] == [1, 2, 1]
    assert run.calls == [1, 3, 4]
    with Ledger() as ledger:
        run.polvalfun()
    # Rows (x, a, r, x') of each oracle call, from the last level back: policies
    # see both states of level 2, values only the one with a val set.
    calls = [(call.kind, call.rows) for call in ledger.entries]
    rows = {"csc": [2, 4, 2], "ls": [2, 2, 2]}
    for kind, right in rows.items():
        assert [n for k, n in calls if k == kind] == right


@pytest.mark.parametrize("kind", ["tabular", "finite"])
@pytest.mark.parametrize("more", [0, 1])
def test_a_discrepancy_of_two_tau_is_no_more_than_two_tau(kind, more) -> None:
    """3/10 - 1/10 exactly: in floats that is 0.20000000000000007 > 2τ."""
    env, size = chain(), 10**15
    here = {
        "tabular": TabularValueClass(2),
        "finite": FiniteValueClass([[1.0, 0.0], [0.0, 1.0]]),
    }[kind]
    tests = [TabularValueClass(1), here, TabularValueClass(1)]
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3, tau=0.1)
    rng = np.random.default_rng(0)
    run = TwoSampleLearner(
        env, values, policies, p, rng, test_class=ValueClassByLevel(tests)
    )
    columns = {"actions": [0, 1], "rewards": [0, 0], "next_observations": [0, 0]}
    weights = [[3 * size + more, 7 * size - more], [size, 9 * size]]
    first, second = (EmpiricalMeasure([0, 1], weights=w, **columns) for w in weights)
    run.val[1].append(first)
    if not more:  # a float would not do
        found = mean_discrepancy(here, first, second, epsilon_sub=1e-4)
        assert found.value > 2 * p.tau
    own = env.sample
    env.sample = lambda path, *a, **o: second if path == (1,) else own(path, *a, **o)
    run.dfslearn((1,), recursive=True)
    assert len(run.val[1]) == 1 + more


def test_erratum_16_level_h_plus_1_returns() -> None:
    log = Log()
    env, p = make("tabular", 0), TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    run = TwoSampleLearner(env, values, policies, p, np.random.default_rng(0), [log])
    run.dfslearn((0, 1, 0))
    assert log.visits == []
    run.dfslearn(())
    assert max(v.level for v in log.visits) == 3
    assert printed_depth(limit=50) == 50  # as printed there is no end


def test_policies_and_values_are_found_from_the_last_level_back() -> None:
    log = Log()
    env = make("random-finite", 4)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = theorem(env, values, policies)
    two_sample(env, values, policies, p, np.random.default_rng(0), observers=[log])
    (fit,) = log.fits
    ahead = np.zeros(0)
    for h in (3, 2, 1):
        codes = np.arange(env.space(h).n_codes)
        pi, g = reveal(fit.policies[h - 1]), reveal(fit.values[h - 1])
        means = env.truth.q_values(h).astype(float)
        if h < 3:  # Q of ĝ instead of Q*: E[r] = Q* - V*(next state)
            for v in log.visits:
                if v.level == h:
                    x = np.flatnonzero(env.truth.observation_probabilities(v.path))
                    for a in (0, 1):
                        path = (*v.path, a)
                        change = env.truth.expectation(path, ahead)
                        means[x, a] += change - float(env.truth.path_value(path))
        assert (pi(codes) == means.argmax(axis=1)).all()
        assert g(codes) == pytest.approx(means.max(axis=1), abs=1e-6)
        ahead = g(codes)
    assert abs(fit.estimate - env.truth.optimal_value) <= p.estimate_bound


def test_algorithm_touches_classes_through_oracles_only() -> None:
    env = make("random-finite", 1)
    values, policies = complete_classes(env, np.random.default_rng(0), size=24)
    parameters, rng = theorem(env, values, policies), np.random.default_rng(0)
    with Ledger() as ledger:
        result = two_sample(env, guard(values), guard(policies), parameters, rng)
    assert ledger.touches == []
    assert result.succeeded
    assert result.unhonoured == 0
    for policy in result.policies:
        assert reveal(policy) is policy


@pytest.mark.parametrize("kind", ["theorem", "practical"])
def test_each_oracle_is_asked_for_its_share_of_the_accuracy(kind, monkeypatch) -> None:
    asked, costs = {}, set()
    for name in ("csc", "least_squares", "mean_discrepancy"):
        own = getattr(algorithm, name)

        def spy(*args, _own=own, _name=name, **options):
            asked.setdefault(_name, set()).add(options["epsilon_sub"])
            if _name == "csc":
                costs.add(args[2].dtype)
            return _own(*args, **options)

        monkeypatch.setattr(algorithm, name, spy)
    env = make("random-finite", 1)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = theorem(env, values, policies)
    if kind == "practical":
        chosen = {"tau": 0.1, "tau_V": 0.01, "tau_L": 0.02, "oracle_share": 0.25}
        p = TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3, **chosen)
    two_sample(env, values, policies, p, np.random.default_rng(0))
    accuracies = {"csc": p.tau_V, "least_squares": p.tau_L, "mean_discrepancy": p.tau}
    assert asked == {k: {float(p.oracle_share * v)} for k, v in accuracies.items()}
    # Below 1e-12 costs are rationals.
    assert costs == {np.dtype(object if kind == "theorem" else float)}


def test_runs_repeat_by_seed() -> None:
    first, second = (at_theorem("complete", 9)[2] for _ in range(2))
    assert first.estimate == second.estimate
    assert first.trajectories == second.trajectories


def test_more_calls_than_t_max_are_a_failure() -> None:
    env = make("tabular", 0)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3, T_max=1)
    result = monitored(env, values, policies, p, np.random.default_rng(0))
    assert result.status == "failure"
    assert result.event_failed
    assert "T_max" in result.reason
    assert result.monitors["dfslearn-calls"].holds is False
    # Inside event E as well: nobody claims that one call is enough.
    p = TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3, T_max=1, n_train=10**8)
    result = monitored(env, values, policies, p, np.random.default_rng(0))
    assert result.monitors["event"].holds is True
    assert result.monitors["dfslearn-calls"].holds is False
    assert result.contradictions == []
    # As many as are needed are enough: two children of each of two states.
    p = TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3, T_max=4)
    result = monitored(env, values, policies, p, np.random.default_rng(0))
    assert result.succeeded
    assert result.monitors["dfslearn-calls"].margin == 0


def test_exploration_on_demand_learns_what_means_do_not_tell_apart() -> None:
    made, log = unlearned(), Log()
    given_ = made.environment, made.values, made.policies
    p = theorem(*given_)
    result = monitored(*given_, p, np.random.default_rng(0), observers=[log])
    assert result.succeeded
    assert result.iterations == 2
    (first, before), (second, _) = log.iterations
    assert not first.accepted
    assert second.accepted
    assert not log.visits[before - 1].learned  # "taken", pruned at first
    assert result.learned == (1, 1 + p.n_exp)
    truth = made.environment.truth
    assert truth.policy_value(list(result.policies)) == truth.optimal_value
    assert result.contradictions == []
    assert all(report.holds for report in result.monitors.values())
    assert result.monitors["progress"].checks == 1


# --------------------------------------------------- classes of all kinds, tests


def test_the_identity_test_can_use_a_kernel_ball() -> None:
    """A ball around 1/2 that contains all functions to [0, 1]: closed form."""
    env = make("random-finite", 2)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    ball = KernelBall(identity_kernel, radius=0.5 * 4**0.5)
    tests = ValueClassByLevel.stationary(ball, 3)
    p = theorem(env, values, policies)
    result = monitored(
        env, values, policies, p, np.random.default_rng(0), test_class=tests
    )
    assert result.learned == (1, 2, 2)
    assert result.contradictions == []
    assert all(report.holds for report in result.monitors.values())


def test_a_test_class_that_sees_less_than_g_is_a_broken_premise() -> None:
    """All states look alike to a constant, so values are wrong; no lemma is."""
    env = make("random-finite", 2)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    blind = ValueClassByLevel(
        [FiniteValueClass([[0.5] * env.space(h).n_codes]) for h in (1, 2, 3)]
    )
    p = theorem(env, values, policies)
    rng = np.random.default_rng(0)
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


# ------------------------------------------------------------------ assumptions


def test_realizable_but_incomplete_classes_mislead_it_and_not_valor() -> None:
    """At the theorem's own constants of either, on the same classes."""
    made = amplified()
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
    env = amplified().environment
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = theorem(env, values, policies)
    result = monitored(env, values, policies, p, np.random.default_rng(0))
    assert result.contradictions == []
    assert env.truth.policy_value(list(result.policies)) == env.truth.optimal_value


def test_errors_double_level_by_level() -> None:
    made, log = amplified(), Log()
    given_ = made.environment, made.values, made.policies
    rng = np.random.default_rng(0)
    two_sample(*given_, theorem(*given_), rng, observers=[log])
    truth, high = made.environment.truth, np.array([1])
    errors = [
        float(truth.values(h)[1]) - reveal(g)(high)[0]
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
    policy = reveal(found.run.policy_step(2, None))
    assert policy(rare).tolist() == [1]
    assert 2 * p.M * p.tau_V < found.loss <= p.loss_bound(2)
    few = outvoted(copies=1)  # two sets: the bound for M sets is right
    lost = few.loss if reveal(few.run.policy_step(2, None))(rare).tolist() == [1] else 0
    assert lost <= 2 * p.M * p.tau_V
    with pytest.raises(ValueError, match="copies"):
        outvoted(copies=126)


@pytest.mark.parametrize("eps", [Fraction(0), Fraction(1, 2)])
def test_the_instance_wants_a_small_epsilon(eps) -> None:
    with pytest.raises(ValueError, match="eps"):
        amplified(eps)


fractions = st.fractions(0, 2, max_denominator=60)
unit_fractions = st.fractions(0, 1, max_denominator=60)


@settings(deadline=None, max_examples=80)
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


def test_an_observation_of_two_states_needs_the_same_future() -> None:
    assert observed_mdp(chain()).holds
    assert observed_mdp(merged(chain(), 2)).holds  # both lead to v
    apart = from_lists(
        [
            [("s", {"s": 1}, {"s": [0, 0]}, ["t", "u"])],
            [
                ("t", {"x": 1}, {"x": [0, 0]}, ["v", "w"]),
                ("u", {"y": 1}, {"y": [0, 0]}, ["w", "w"]),
            ],
            [
                ("v", {"z": 1}, {"z": [0, 0]}, []),
                ("w", {"a": 1}, {"a": [0, 0]}, []),
            ],
        ]
    )
    assert observed_mdp(apart).holds
    found = observed_mdp(merged(apart, 2))
    assert found.holds is False
    assert "action 0" in found.reason
    assert observed_mdp(merged(apart, 3)).holds  # nothing follows


def test_features_are_told_apart_where_they_can_be_listed() -> None:
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


@pytest.mark.parametrize(
    ("sizes", "message"),
    [((1, 2, 3), "M: 1"), ((2, 3, 3), "K: 3"), ((2, 2, 4), "H: 4")],
)
def test_parameters_must_fit(sizes, message) -> None:
    env = make("tabular", 0)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = TwoSamplePracticalParameters(0.3, 0.1, *sizes)
    with pytest.raises(ValueError, match=message):
        two_sample(env, values, policies, p, np.random.default_rng(0))


def test_stochastic_dynamics_are_refused() -> None:
    env = make("lock", 0, switch=0.1)
    values, policies = make_classes(env, "linear", np.random.default_rng(0))
    p = TwoSamplePracticalParameters(0.3, 0.1, 3, 4, env.horizon)
    with pytest.raises(ValueError, match="stochastic"):
        two_sample(env, values, policies, p, np.random.default_rng(0))
