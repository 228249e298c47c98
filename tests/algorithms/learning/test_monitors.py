"""Monitors: deviations against enumeration, and that they see what is wrong."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms import classes
from olivine.algorithms.assumptions.checks import realizability
from olivine.algorithms.environments import make
from olivine.algorithms.exact.arrays import object_array
from olivine.algorithms.learning import monitors, problem
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.learning.events import (
    ConsensusTest,
    Entered,
    Iteration,
    Sampled,
    Triple,
)
from olivine.algorithms.learning.monitors import Tally, with_monitors
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.valor import ValorMonitors
from olivine.algorithms.valor.parameters import CONSTRAINED, VALOR, TheoremParameters

from tests.support.depth import with_rows

seeds = st.integers(0, 2**32)


@settings(deadline=None, max_examples=25)
@given(seeds, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_deviations_are_suprema(seed, observations, actions, horizon) -> None:
    """Against every 0/1 function, every policy, and the truth's own expectations."""
    rng = np.random.default_rng(seed)
    env = make(
        "random-finite",
        seed,
        observations=observations,
        actions=actions,
        horizon=horizon,
        states=1,
        distinct=False,
    )
    path = tuple(rng.integers(0, actions, rng.integers(horizon)).tolist())
    h, truth = len(path) + 1, env.truth
    data = env.draw((*path, "uniform"), 1000, rng, successors=False)
    futures = [Fraction(int(v), 10) for v in rng.integers(0, 11, actions)]
    chances = truth.observation_probabilities(path)
    differences = monitors.value_differences(data, chances)
    tables = itertools.product([0, 1], repeat=observations)
    vertices = [object_array(list(map(Fraction, t))) for t in tables]
    gaps = [
        abs(data.expectation_exact(data.at(t)) - truth.expectation(path, t))
        for t in vertices
    ]
    size = classes.TabularValueClass(observations)
    assert monitors.largest_value_deviation(size, differences) == max(gaps)
    floats = [t.astype(np.float64) for t in vertices]
    listed = monitors.largest_value_deviation(
        classes.FiniteValueClass(np.array(floats)), differences
    )
    assert float(listed) == pytest.approx(float(max(gaps)), abs=1e-12)
    linear = classes.LinearValueClass(np.eye(observations), bound=1.0)
    untold = classes.LinearValueClass(1, bound=1.0)
    assert monitors.largest_value_deviation(untold, differences) is None
    relaxed = monitors.largest_value_deviation(linear, differences)
    assert float(relaxed) == pytest.approx(float(max(gaps)), abs=1e-6)

    every = np.array(list(itertools.product(range(actions), repeat=observations)))
    rewards = truth.q_values(h) - object_array(
        [truth.path_value((*path, a)) for a in range(actions)]
    )
    table = monitors.policy_differences(data, chances, rewards, futures)
    policies = classes.FinitePolicyClass(every, actions)
    found = []
    for policy in policies.members:
        taken = policy(data.observations) == data.actions
        gains = data.exact_rewards + object_array(futures)[data.actions]
        value = data.expectation_exact(actions * taken * gains)
        found.append(abs(value - truth.action_expectation(path, policy, futures)))
    tabular = classes.TabularPolicyClass(observations, actions)
    assert monitors.largest_policy_deviation(tabular, table) == max(found)
    assert float(monitors.largest_policy_deviation(policies, table)) == pytest.approx(
        float(max(found)), abs=1e-12
    )
    unknown = classes.LinearPolicyClass(np.eye(observations), actions)
    assert monitors.largest_policy_deviation(unknown, table) is None


def test_tallies_become_reports_that_join_a_result():
    tally = Tally("event")
    assert tally.report() == problem.MonitorReport(True, None, 0, "event")
    tally.at_most(1, 3, lambda: "here")
    tally.skip("no idea")
    assert tally.report().holds is None
    tally.at_most(Fraction(7, 2), 3, lambda: "there")
    tally.at_most(9, 3, lambda: "later")
    report = tally.report()
    assert report.holds is False
    assert report.margin == -6
    assert report.first == "there: 3.5 > 3"
    assert report.to_json()["margin"] == -6.0
    joined = with_monitors(
        result(), {"a": problem.MonitorReport(False, None, 1, "always", "x")}
    )
    assert joined.contradictions == ["a: x"]
    assert joined.to_json()["monitors"]["a"]["first"] == "x"


@with_rows(
    "scope, premise, expected",
    ("always", False, ["claim: first"]),
    ("event", True, ["claim: first"]),
    ("event", False, []),
    ("event", None, []),
    ("probable", True, []),
    ("fact", True, []),
)
def test_what_contradicts(scope, premise, expected) -> None:
    reports = {
        "event": problem.MonitorReport(premise, None, 1, "premise"),
        "claim": problem.MonitorReport(False, Fraction(-1), 1, scope, "first"),
    }
    assert problem.contradictions(reports) == expected
    del reports["event"]
    assert problem.contradictions(reports) == (expected if scope == "always" else [])


def result(**changes) -> problem.LearningResult:
    base = problem.LearningResult("valor", "x", "success", None, None, 0, {})
    return dataclasses.replace(base, **changes)


class Forged:
    """A small environment, exact data, and an invented run."""

    def __init__(self, algorithm=VALOR) -> None:
        self.env = make("tabular", 4, states=2, actions=2, horizon=2)
        self.rng = np.random.default_rng(0)
        self.values, self.policies = make_classes(self.env, "tabular", self.rng)
        self.p = TheoremParameters(0.3, 0.1, 2, 2, 2, 2.0, 2.0, algorithm)
        self.monitors = ValorMonitors(
            Problem(self.env, self.values, self.policies), self.p
        )

    def triple(self, path, *, n=None, value=0, future=0, relaxed=False) -> Triple:
        """Make a right triple, changed by an error of the value or of a future."""
        truth, n = self.env.truth, n or self.p.n_train
        futures = [truth.path_value((*path, a)) for a in range(2)]
        tests = []
        for a, right in enumerate(futures):
            child = (*path, a)
            end = len(child) == 2
            data = None
            if not end:
                data = self.env.draw(child, n, self.rng, level=len(child) + 1)
            kind = "end" if end else "descent"
            tests.append(ConsensusTest(child, data, None, None, right, kind, relaxed))
        futures[0] += future
        data = self.env.draw((*path, "uniform"), n, self.rng, successors=False)
        right = truth.path_value(path) + value
        return Triple(path, data, right, tuple(futures), tuple(tests))

    def verdicts(self, **changes):
        reports = self.monitors.reports(result(**changes))
        return {name: report.holds for name, report in reports.items()}

    def broken(self, **changes) -> set[str]:
        return {k for k, holds in self.verdicts(**changes).items() if holds is False}


def test_a_right_run_has_no_violation() -> None:
    forged = Forged()
    optimal = tuple(forged.env.truth.optimal_policies())
    for path in ((), (0,), (1,)):
        forged.monitors(Entered(path))
        forged.monitors(forged.triple(path))
    value = forged.env.truth.optimal_value
    forged.monitors(Iteration(1, optimal, value, value, True))
    assert set(forged.verdicts(policies=optimal).values()) == {True}


def test_each_monitor_sees_its_violation() -> None:
    wide = Fraction(1, 100)
    cases = {
        "value-accuracy": {"value": wide},
        "future-accuracy": {"future": wide},
        "event": {"n": 100},
        "feasible": {"relaxed": True},
    }
    for name, change in cases.items():
        forged = Forged()
        forged.monitors(forged.triple((), **change))
        broken = forged.broken()
        assert name in broken
        assert broken <= {name, "gstar-feasible"}
    forged = Forged()  # a value so wrong that the program has no place for g*
    forged.monitors(forged.triple((0,), value=2 * forged.p.phi(2)))
    assert "gstar-feasible" in forged.broken()
    forged = Forged()  # a test that no call lived to store counts too
    forged.monitors(Sampled((0,), forged.env.draw((0, "uniform"), 10, forged.rng)))
    forged.monitors(Sampled((1,), forged.env.draw((0,), 10**20, forged.rng, level=2)))
    assert forged.broken() == {"event"}
    assert Forged().broken(event_failed=True, reason="that") == {"feasible"}


@pytest.mark.parametrize("algorithm", [VALOR, CONSTRAINED])
def test_the_policy_bound_counts_unlearned_states(algorithm) -> None:
    forged = Forged(algorithm)
    env, truth = forged.env, forged.env.truth
    q = [truth.q_values(h) for h in (1, 2)]
    worst = [classes.FinitePolicyClass([t.argmin(axis=1)], 2).members[0] for t in q]
    for policies, learned, fine in (
        (worst, [()], True),  # level 2 is unlearned: p_ul = 1
        (worst, [(), (0,), (1,)], False),
        (truth.optimal_policies(), [(), (0,), (1,)], True),
    ):
        forged = Forged(algorithm)
        for path in learned:
            forged.monitors(forged.triple(path))
        value = truth.policy_value(policies)
        step = Iteration(1, policies, truth.optimal_value, value, False)
        forged.monitors(step)
        verdicts = forged.verdicts()
        assert verdicts["policy-bound"] is fine
        assert verdicts["evaluation"] is True
        assert verdicts["progress"] is False  # rejected, and nothing learned since
    step = Iteration(1, policies, truth.optimal_value, value + 1, True)
    forged.monitors(step)
    assert "evaluation" in forged.broken()
    assert env.trajectories >= 0


def test_realizability_by_oracles(rng) -> None:
    env = make("random-finite", 0)
    for kind in ("tabular", "finite"):
        assert realizability(env, *make_classes(env, kind, rng)).holds is True
    values, policies = make_classes(env, "tabular", rng)
    n = env.space(2).n_codes
    zero = classes.FiniteValueClass(np.zeros((1, n)))
    wrong = type(values)([values.at_level(1), zero, values.at_level(3)])
    found = realizability(env, wrong, policies)
    assert found.value is False
    assert "g* of level 2" in found.reason
    bad = classes.FinitePolicyClass([1 - env.truth.policy(2)], 2)
    stubborn = type(policies)([policies.at_level(1), bad, policies.at_level(3)])
    found = realizability(env, values, stubborn)
    assert found.policy is False
    assert found.holds is False
    assert realizability(make("lock", 0), values, policies).holds is None
