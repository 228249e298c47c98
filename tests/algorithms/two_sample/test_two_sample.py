"""The two-sample algorithm: line by line, at the theorem's constants."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.algorithms.assumptions import complete_classes
from olivine.algorithms.classes import (
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments import make
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.oracles.ledger import Ledger, unguard
from olivine.algorithms.oracles.lp import mean_discrepancy
from olivine.algorithms.two_sample import (
    TwoSamplePracticalParameters,
    algorithm,
    two_sample,
)
from olivine.algorithms.two_sample.algorithm import TwoSampleLearner
from olivine.claims.instances import unlearned
from olivine.claims.two_sample import printed_depth

from tests.support.depth import deep, with_rows
from tests.support.learning import check_share
from tests.support.two_sample import Log, chain, monitored, theorem

HALF = Fraction(1, 2)


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


@settings(deadline=None, max_examples=deep(12, 5))  # a run each
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
def test_data_sets_have_the_size_asked_for_and_uniform_actions(balanced, rng) -> None:
    env, log = make("random-finite", 2, states=2, actions=3, horizon=2), Log()
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = TwoSamplePracticalParameters(
        0.3, 0.1, 2, 3, 2, n_train=3001, balanced=balanced, max_iterations=1
    )
    result = two_sample(env, values, policies, p, rng, observers=[log])
    draws = 3003 if balanced else 3001  # as many for each action
    assert [v.data.draws for v in log.visits[:4]] == [draws] * 4
    assert result.trajectories == len(log.visits) * draws + p.n_eval
    for v in log.visits:
        shares = [v.data.expectation(v.data.actions == a) for a in range(3)]
        assert shares == pytest.approx([1 / 3] * 3, abs=1e-12 if balanced else 0.03)


@pytest.mark.parametrize("kind", ["tabular", "complete"])
@with_rows("count", 4, pytest.param(100, marks=pytest.mark.long), ids=["few", "many"])
def test_epsilon_optimal_in_a_share_of_1_minus_delta(kind, count) -> None:
    def run(seed):
        found = at_theorem(kind, seed, states=2, actions=2, horizon=3)
        reports = found[-1].monitors.values()
        assert all(r.holds for r in reports if r.scope != "probable"), seed
        return found

    check_share(run, count, kind)


def test_a_recursive_call_returns_where_data_look_alike_and_others_do_not() -> None:
    env = chain()
    values = ValueClassByLevel(
        [TabularValueClass(1), FiniteValueClass([[1.0, 1.0]]), TabularValueClass(1)]
    )
    policies = PolicyClassByLevel([TabularPolicyClass(n, 2) for n in (1, 2, 1)])
    p, log = theorem(env, values, policies), Log()
    run = TwoSampleLearner(
        Problem(env, values, policies), p, np.random.default_rng(0), [log]
    )
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
def test_a_discrepancy_of_two_tau_is_no_more_than_two_tau(kind, more, rng) -> None:
    """3/10 - 1/10 exactly: in floats that is 0.20000000000000007 > 2τ."""
    env, size = chain(), 10**15
    here = {
        "tabular": TabularValueClass(2),
        "finite": FiniteValueClass([[1.0, 0.0], [0.0, 1.0]]),
    }[kind]
    tests = [TabularValueClass(1), here, TabularValueClass(1)]
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3, tau=0.1)
    run = TwoSampleLearner(
        Problem(env, values, policies), p, rng, test_class=ValueClassByLevel(tests)
    )
    columns = {"actions": [0, 1], "rewards": [0, 0], "next_observations": [0, 0]}
    weights = [[3 * size + more, 7 * size - more], [size, 9 * size]]
    first, second = (EmpiricalMeasure([0, 1], weights=w, **columns) for w in weights)
    run.val[1].append(first)
    if not more:  # a float would not do
        assert mean_discrepancy(here, first, second, epsilon_sub=1e-4).value > 2 * p.tau
    own = env.draw
    env.draw = lambda r, *a, **o: second if r[:-1] == (1,) else own(r, *a, **o)
    run.dfslearn((1,), recursive=True)
    assert len(run.val[1]) == 1 + more


def test_erratum_16_level_h_plus_1_returns() -> None:
    log = Log()
    env, p = make("tabular", 0), TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    run = TwoSampleLearner(
        Problem(env, values, policies), p, np.random.default_rng(0), [log]
    )
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
        pi, g = unguard(fit.policies[h - 1]), unguard(fit.values[h - 1])
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


def test_more_calls_than_t_max_are_a_failure() -> None:
    env = make("tabular", 0)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    p = TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3, T_max=1)
    result = monitored(env, values, policies, p)
    assert result.status == "failure"
    assert result.event_failed
    assert "T_max" in result.reason
    assert result.monitors["dfslearn-calls"].holds is False
    # Inside event E as well: nobody claims that one call is enough.
    p = TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3, T_max=1, n_train=10**8)
    result = monitored(env, values, policies, p)
    assert result.monitors["event"].holds is True
    assert result.monitors["dfslearn-calls"].holds is False
    assert result.contradictions == []
    # As many as are needed are enough: two children of each of two states.
    p = TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 3, T_max=4)
    result = monitored(env, values, policies, p)
    assert result.succeeded
    assert result.monitors["dfslearn-calls"].margin == 0


def test_exploration_on_demand_learns_what_means_do_not_tell_apart() -> None:
    made, log = unlearned(), Log()
    given_ = made.environment, made.values, made.policies
    p = theorem(*given_)
    result = monitored(*given_, p, observers=[log])
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
