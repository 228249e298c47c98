"""LSVEE: every step as written, its monitors and its theorem."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.classes import FiniteQClass
from olivine.algorithms.environments import from_lists, make
from olivine.algorithms.learning.draw_classes import make_q_class, optimal_member
from olivine.algorithms.learning.events import Descending, Iteration
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.learning.problem import LearningResult, Problem
from olivine.algorithms.lsvee import (
    LsveeMonitors,
    LsveeParameters,
    LsveePractical,
    LsveeTheorem,
    lsvee,
)
from olivine.algorithms.lsvee.algorithm import Consensus, Elimination
from olivine.claims.instances import (
    far_apart,
    misled_at,
    noisy_successor,
    one_sample_risks,
)

from tests.support.depth import spread, with_rows
from tests.support.learning import check_share
from tests.support.refusals import refused

HALF = Fraction(1, 2)


def theorem(env, functions, eps=0.3, delta=0.1, **changes):
    """The theorem's constants; with changes, still called the theorem's."""
    sizes = env.max_states, env.n_actions, env.horizon, len(functions)
    found = LsveeTheorem(eps, delta, *sizes)
    if not changes:
        return found
    fields = {f.name: getattr(found, f.name) for f in dataclasses.fields(found)}
    return LsveeParameters(**fields | changes)


def monitored(env, functions, parameters, rng, *observers):
    """Run with monitors."""
    monitors = LsveeMonitors(Problem(env, functions), parameters)
    watching = (monitors, *observers)
    result = lsvee(env, functions, parameters, rng, observers=watching)
    return with_monitors(result, monitors.reports(result))


class Recorder:
    """Keeps everything."""

    def __init__(self):
        self.tests, self.eliminations, self.iterations = [], [], []

    def __call__(self, event):
        match event:
            case Consensus():
                self.tests.append(event)
            case Elimination():
                self.eliminations.append(event)
            case Iteration():
                self.iterations.append(event)


@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 24),
)
@settings(deadline=None, max_examples=15)
def test_every_step_is_as_written(seed, states, actions, horizon, size):
    """One action, one state, one level and one function are among the cases."""
    env = make(
        "random-finite",
        seed,
        states=states,
        actions=actions,
        horizon=horizon,
        distinct=False,
    )
    functions = make_q_class(env, np.random.default_rng(seed), size=size)
    p, recorder = theorem(env, functions), Recorder()
    result = monitored(env, functions, p, np.random.default_rng(seed), recorder)
    assert not result.contradictions
    alive = set(range(len(functions)))
    for elimination in recorder.eliminations:
        assert set(elimination.members.tolist()) == alive
        found = elimination.risks.tolist()
        limit = min(found) + elimination.sizes.slack
        assert elimination.kept.tolist() == [risk <= limit for risk in found]
        alive = set(elimination.survivors.tolist())
        if len(elimination.path) + 1 == horizon:
            assert all(v == 0 for v in elimination.futures.flat)
    for test in recorder.tests:
        spread = max(test.values) - min(test.values)
        assert test.agreed == (spread <= p.tolerance(len(test.path)))
    assert result.enumerated == evaluations(recorder)
    assert result.learned == tuple(
        sum(len(e.path) == h for e in recorder.eliminations) for h in range(horizon)
    )
    assert result.trajectories == sampled(recorder, p, result.iterations)
    assert not result.calls
    if result.succeeded:
        assert abs(recorder.iterations[-1].estimate - result.estimate) == 0


def evaluations(recorder):
    """Functions evaluated: at every test, every elimination, and for V̂*."""
    compared = sum(len(t.members) for t in recorder.tests)
    return compared + sum(len(e.members) for e in recorder.eliminations) + 1


def sampled(recorder, parameters, iterations):
    """Trajectories: V̂* is estimated once."""
    learned = sum(t.sizes.n_test for t in recorder.tests)
    learned += sum(e.sizes.n_train for e in recorder.eliminations)
    return learned + parameters.n_eval * (1 + iterations)


def test_runs_repeat():
    env = make("random-finite", 5)
    functions = make_q_class(env, np.random.default_rng(5))
    p, rng = theorem(env, functions), np.random.default_rng(8)
    rng.random()
    first = lsvee(env, functions, p, rng)
    again = lsvee(env, functions, p, first.seed.generator())
    assert first.estimate == again.estimate
    assert first.trajectories == again.trajectories
    assert first.enumerated == again.enumerated


@pytest.mark.parametrize("horizon", spread([2, 3], 1))
def test_exploration_on_demand_learns_what_consensus_pruned(horizon, rng):
    made = misled_at(horizon)
    p, recorder = theorem(made.environment, made.functions), Recorder()
    result = monitored(made.environment, made.functions, p, rng, recorder)
    assert result.succeeded
    assert result.iterations == horizon
    assert not result.contradictions
    assert all(report.holds for report in result.monitors.values())
    assert [i.accepted for i in recorder.iterations] == [False] * (horizon - 1) + [True]
    first = [e for e in recorder.eliminations if e.sizes == p.first]
    assert [e.path for e in first] == [()]  # the root alone, before any demand
    assert result.enumerated == evaluations(recorder)
    assert result.trajectories == sampled(recorder, p, horizon)
    lazy = theorem(made.environment, made.functions, repeat_paths=False)
    short = lsvee(made.environment, made.functions, lazy, rng)
    assert short.succeeded
    assert short.enumerated < result.enumerated / 10


def test_one_sampled_successor_would_prefer_a_wrong_function(rng):
    made = noisy_successor()
    wrong, right = one_sample_risks(made, (), 10**6, rng)
    assert (wrong, right) == (0, Fraction(1, 4))
    p, recorder = theorem(made.environment, made.functions), Recorder()
    assert monitored(made.environment, made.functions, p, rng, recorder).succeeded
    assert recorder.eliminations[0].kept.tolist() == [True, True]


@pytest.mark.parametrize(
    "made", [misled_at(2), misled_at(3), far_apart(Fraction(1, 100)), noisy_successor()]
)
def test_the_classes_of_instances_hold_the_function_that_is_optimal(made):
    for h in range(1, made.environment.horizon + 1):
        member = made.functions.table(h)[made.optimal]
        assert member.tolist() == made.environment.truth.q_values(h).tolist()


def test_an_instance_that_misleads_has_two_levels():
    refused("horizon: 1 is below 2", misled_at, 1)


def test_ties_are_kept_whatever_is_allowed(rng):
    # Functions that differ only where nothing is observed stay, all of them.
    env = from_lists(
        [
            [("s", {"x": 1}, {"x": [0, 0]}, ["t", "t"])],
            [("t", {"y": 1}, {"y": [0, 1]}, []), ("u", {"z": 1}, {"z": [1, 0]}, [])],
        ]
    )
    below = [[[0, 1], [0, Fraction(i, 4)]] for i in range(5)]
    functions = FiniteQClass([[[[1, 1]]] * 5, below])
    recorder = Recorder()
    result = monitored(env, functions, theorem(env, functions), rng, recorder)
    assert result.succeeded
    assert recorder.eliminations[-1].survivors.tolist() == [0, 1, 2, 3, 4]
    assert env.truth.policy_value(result.policies) == 1
    # Tolerance 0 and slack 0: comparisons are exact, and ties pass.
    made = misled_at(2)
    size = len(made.functions)
    p = LsveePractical(0.3, 0.1, 2, 2, 2, size, tolerance=0, slack=0)
    recorder, rng = Recorder(), np.random.default_rng(0)
    result = lsvee(made.environment, made.functions, p, rng, observers=[recorder])
    assert result.succeeded
    assert all(test.agreed for test in recorder.tests)
    assert all(e.kept.any() for e in recorder.eliminations)
    twins = FiniteQClass([made.functions.table(h)[[2, 2]] for h in (1, 2)])
    p = LsveePractical(0.3, 0.1, 2, 2, 2, 2, tolerance=0, slack=0)
    recorder = Recorder()
    lsvee(made.environment, twins, p, rng, observers=[recorder])
    assert all(e.kept.tolist() == [True, True] for e in recorder.eliminations)


def test_slack_is_the_excess_that_stays():
    """One observation, reward 0: the risk of f = v is v²."""
    env = from_lists([[("s", {"x": 1}, {"x": [0]}, [])]])
    values = [Fraction(0), Fraction(1, 8), Fraction(1, 4), Fraction(3, 8)]
    functions = FiniteQClass([[[[v]] for v in values]])
    for slack, left in (
        (0, 1),
        (Fraction(1, 64), 2),
        (Fraction(3, 64), 2),
        (Fraction(4, 64), 3),
    ):
        p = LsveePractical(0.3, 0.1, 1, 1, 1, 4, slack=slack)
        recorder = Recorder()
        lsvee(env, functions, p, np.random.default_rng(0), observers=[recorder])
        assert recorder.eliminations[0].survivors.tolist() == list(range(left))


def test_without_q_star_the_analysis_claims_nothing():
    env = make("random-finite", 0)
    full = make_q_class(env, np.random.default_rng(0))
    number = optimal_member(full, env)
    tables = [np.delete(full.table(h), number, axis=0) for h in (1, 2, 3)]
    functions = FiniteQClass(tables)
    p = theorem(env, functions)
    result = monitored(env, functions, p, np.random.default_rng(1))
    assert result.monitors["realizable"].holds is False
    assert not result.contradictions


def test_a_run_that_learns_too_much_fails():
    env = make("random-finite", 0, states=3, actions=3)
    functions = make_q_class(env, np.random.default_rng(0))
    problem, free = (0.3, 0.1, 3, 3, 3, len(functions)), {"tolerance": 0, "slack": 1}
    p = LsveePractical(*problem, **free, max_eliminations=5)
    result = monitored(env, functions, p, np.random.default_rng(0))
    assert result.status == "failure"
    assert result.event_failed
    assert result.policies is None
    assert "max_eliminations = 5" in result.reason
    assert result.monitors["terminates"].holds is False
    recorder, rng = Recorder(), np.random.default_rng(0)
    p = LsveePractical(*problem, **free, max_eliminations=10**6)
    lsvee(env, functions, p, rng, observers=[recorder])
    needed = 1 + [e.path for e in recorder.eliminations].index(())
    assert needed > 1
    for limit, failed in ((needed, False), (needed - 1, True)):
        found, rng = Recorder(), np.random.default_rng(0)
        p = LsveePractical(*problem, **free, max_eliminations=limit)
        result = lsvee(env, functions, p, rng, observers=[found])
        assert (() in [e.path for e in found.eliminations]) is not failed
        assert result.event_failed or not failed
    few = LsveePractical(0.3, 0.1, 2, 2, 2, 3, max_iterations=1)
    made = misled_at(2)
    result = lsvee(made.environment, made.functions, few, np.random.default_rng(0))
    assert result.status == "failure"
    assert "1 iterations" in result.reason


def test_features_with_practical_parameters():
    for name in ("lock", "lock-gaussian"):
        env = make(name, 0)
        functions = make_q_class(env, np.random.default_rng(0))
        sizes = env.max_states, env.n_actions, env.horizon, len(functions)
        p = LsveePractical(0.3, 0.1, *sizes)
        result = monitored(env, functions, p, np.random.default_rng(1))
        assert result.succeeded
        assert not result.contradictions
        rng = np.random.default_rng(2)
        mean, error = env.truth.estimate_policy_value(result.policies, 2000, rng)
        assert mean + 5 * error >= env.truth.optimal_value - Fraction(3, 10)
        known = name == "lock"
        assert result.monitors["td-errors"].holds is (True if known else None)


def test_what_does_not_fit_is_refused(rng):
    env = make("random-finite", 0)
    functions = make_q_class(env, np.random.default_rng(0), size=8)
    refused("N: 9", lsvee, env, functions, LsveeTheorem(0.3, 0.1, 2, 2, 3, 9), rng)
    other = FiniteQClass([[[[1, 0]]]])
    with pytest.raises(ValueError, match="functions: 1 levels"):
        lsvee(env, other, LsveeTheorem(0.3, 0.1, 2, 2, 3, 1), rng)
    stochastic = from_lists(
        [
            [("s", {"x": 1}, {"x": [0, 0]}, ["t", {"t": HALF, "u": HALF}])],
            [("t", {"y": 1}, {"y": [0, 1]}, []), ("u", {"z": 1}, {"z": [1, 0]}, [])],
        ]
    )
    with pytest.raises(ValueError, match="stochastic"):
        lsvee(stochastic, other, LsveeTheorem(0.3, 0.1, 2, 2, 2, 1), rng)


def test_monitors_notice_a_class_that_loses_q_star():
    made = misled_at(2)
    p, recorder = theorem(made.environment, made.functions), Recorder()
    lsvee(
        made.environment,
        made.functions,
        p,
        np.random.default_rng(0),
        observers=[recorder],
    )
    true = recorder.eliminations[0]
    monitors = LsveeMonitors(Problem(made.environment, made.functions), p)
    lost = dataclasses.replace(true, kept=true.members != made.optimal)
    monitors(lost)
    monitors(Descending(true.path))
    reports = monitors.reports(
        LearningResult("lsvee", "", "success", None, None, 0, {})
    )
    assert reports["qstar-kept"].holds is False
    assert reports["no-relearning"].holds is False


def test_monitors_notice_sloppy_constants():
    """With a slack or tolerance that the theorem would not allow, lemmas fail."""
    env = make("random-finite", 0)
    functions = make_q_class(env, np.random.default_rng(0))
    sizes = theorem(env, functions).first
    sloppy = dataclasses.replace(sizes, slack=HALF)
    p = theorem(env, functions, first=sloppy, on_demand=sloppy, max_eliminations=60)
    result = monitored(env, functions, p, np.random.default_rng(0))
    assert result.monitors["td-errors"].holds is False
    assert result.monitors["value-accuracy"].holds is False
    assert result.contradictions
    small = dataclasses.replace(sizes, n_test=10, n_train=50)
    p = theorem(env, functions, first=small, on_demand=small, max_eliminations=60)
    result = monitored(env, functions, p, np.random.default_rng(0))
    assert result.monitors["test-deviations"].holds is False
    assert not result.contradictions  # outside the good event nothing is claimed


@with_rows(
    "count, options",
    (5, {}),
    pytest.param(100, {}, marks=pytest.mark.long),
    pytest.param(
        100, {"states": 3, "actions": 3, "horizon": 4}, marks=pytest.mark.long
    ),
)
def test_epsilon_optimal_in_a_share_of_1_minus_delta(count, options):
    def run(seed):
        env = make("random-finite", seed, **options)
        rng = np.random.default_rng([seed, 1])
        functions = make_q_class(env, rng)
        p = theorem(env, functions)
        result = monitored(env, functions, p, rng)
        assert result.trajectories <= p.trajectory_bound
        return env, p, result

    check_share(run, count, str(options))
