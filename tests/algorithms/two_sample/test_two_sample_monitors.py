"""Every monitor of the two-sample algorithm can fail: records that are tampered with.

A run is recorded, one thing in the record is changed, and the record is played to
fresh monitors. The monitor that watches that thing must say so.
"""

import functools
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from olivine.algorithms.classes import (
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments import from_lists
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.events import Entered, Iteration, Triple
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.two_sample import (
    TwoSampleMonitors,
    TwoSampleParameters,
    TwoSamplePracticalParameters,
    TwoSampleTheoremParameters,
    two_sample,
)
from olivine.algorithms.two_sample.algorithm import Regression, Visit
from olivine.claims.instances import unlearned

from tests.support.depth import with_rows
from tests.support.learning import recorded

HALF = Fraction(1, 2)
LOW, HIGH = (0,), (1,)


def parameters_of(made):
    env = made.environment
    sizes = made.values.log_size(squared=True), made.policies.log_size()
    shape = env.max_states, env.n_actions, env.horizon
    return TwoSampleTheoremParameters(0.3, 0.1, *shape, *sizes)


@functools.cache
def record():
    """Record a run with two states at level 2: (0,) is worth 1/2 and (1,) 1."""
    env = from_lists(
        [
            [("s", {"s": 1}, {"s": [0, 0]}, ["t", "u"])],
            [
                ("t", {"x": HALF, "y": HALF}, {"x": [HALF, 0], "y": [0, HALF]}, []),
                ("u", {"z": 1}, {"z": [0, 1]}, []),
            ],
        ]
    )
    values = ValueClassByLevel([TabularValueClass(n) for n in (1, 3)])
    policies = PolicyClassByLevel([TabularPolicyClass(n, 2) for n in (1, 3)])
    return run_of(Problem(env, values, policies))


def run_of(made, review=TwoSampleMonitors):
    problem = Problem(made.environment, made.values, made.policies)
    rng = np.random.default_rng(0)
    return recorded(two_sample, problem, parameters_of(made), review, rng)


def test_the_record_is_clean_and_so_is_a_fit_as_it_should_be():
    assert all(report.holds for report in record().reports().values())
    kinds = [type(event) for event in record().events if not isinstance(event, Triple)]
    assert kinds == [*[Entered, Visit] * 3, Regression, Iteration]
    # The policies and values that tampered fits start from are right.
    right = step(Regression, policies=POLICIES, values=VALUES, estimate=Fraction(1))
    assert all(report.holds for report in record().reports(right).values())
    assert run_of(unlearned()).reports()["progress"].holds is True


def visit(path, **changed):
    """Change what was noted about the visit at a path."""

    def change(event):
        right = isinstance(event, Visit) and event.path == path
        return replace(event, **changed) if right else event

    return lambda events: [change(event) for event in events]


def step(kind, **changed):
    """Change the regression or the iteration."""
    return lambda events: [
        replace(event, **changed) if isinstance(event, kind) else event
        for event in events
    ]


def another(path, **changed):
    """Visit a path once more, before polvalfun."""

    def change(events):
        (first,) = [e for e in events if isinstance(e, Visit) and e.path == path]
        again = [Entered(path), replace(first, **changed)]
        return [*events[:-2], *again, *events[-2:]]

    return change


def constant(action):
    return lambda observations: np.full(len(observations), action)


def value(number):
    return lambda observations: np.full(len(observations), number)


POLICIES = (constant(1), lambda x: np.array([0, 1, 1])[x])
VALUES = (value(1.0), lambda x: np.array([0.5, 0.5, 1.0])[x])
TAMPERED = {
    "no-relearning": another(HIGH, recursive=True, new=False, distances=(1.0, 0.0)),
    "same-state": another(
        HIGH, new=False, learned=False, distances=(1.0, 2.01 * 0.3 / (192 * 4))
    ),
    "val-sets": another(HIGH, new=True, learned=False, distances=(1.0, 0.0)),
    "nested": lambda events: [e for e in events if getattr(e, "path", None) != HIGH],
    "value-accuracy": step(
        Regression, policies=POLICIES, values=(VALUES[0], value(0.9))
    ),
    "policy-loss": step(Regression, values=VALUES, policies=(constant(0), POLICIES[1])),
    "estimate-accuracy": step(Regression, estimate=Fraction(19, 20)),
    "policy-bound": step(Iteration, policies=(constant(0), POLICIES[1])),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_record_is_noticed(name) -> None:
    assert name in record().failing(TAMPERED[name])


@with_rows(
    "change, place",
    (TAMPERED["nested"], "children of level 1"),  # a child is never reached
    (visit(HIGH, learned=False), "level 2"),  # a val set of what is not learned
)
def test_nested_looks_at_both_inclusions(change, place) -> None:
    report = record().reports(change)["nested"]
    assert report.holds is False
    assert report.first.startswith(place)


@with_rows(
    "most, change, words",
    (1, list, "2 > 1"),
    # With room for more a second set of the same state is still one too many.
    (5, TAMPERED["val-sets"], "again"),
)
def test_more_val_sets_than_states_are_noticed(most, change, words) -> None:
    other = TwoSampleParameters(**vars(record().parameters) | {"M": most})
    report = record().reports(change, other)["val-sets"]
    assert report.holds is False
    assert words in report.first


def law(shift=0, others=0, rewards=(HALF,)):
    """Data at (0,): the law itself; else x more often, or x with action 0.

    Shares are in parts of 10³⁰; ``rewards`` are those of x with action 0.
    """
    quarter, n = 10**30 // 4, len(rewards)
    first = n * [(quarter + shift + others) // n]
    weights = [*first, quarter + shift - others, quarter - shift, quarter - shift]
    return EmpiricalMeasure(
        [*[0] * n, 0, 1, 1],
        actions=[*[0] * n, 1, 0, 1],
        rewards=[*rewards, 0, 0, HALF],
        weights=weights,
    )


def parts(accuracy):
    return int(accuracy * 10**30)


def with_blind_test():
    """The record, before monitors whose test sees nothing."""
    blind = ValueClassByLevel([FiniteValueClass([[1.0] * n]) for n in (1, 3)])
    return replace(
        record(), review=functools.partial(TwoSampleMonitors, test_class=blind)
    )


def test_means_of_g_are_checked_where_the_test_is_another_class() -> None:
    off = parts(record().parameters.tau) * 6 // 10
    event = with_blind_test().reports(visit(LOW, data=law(shift=off)))["event"]
    assert event.holds is False
    assert event.first.startswith("means")


@with_rows("distances, holds", ((1.0, 0.0), True), ((0.0, 1.0), False))
def test_g_must_find_alike_what_the_test_found_alike(distances, holds) -> None:
    """Data from (1,) once more: like those from (1,), or taken for like (0,)."""
    again = {"recursive": True, "new": False, "learned": False}
    change = another(HIGH, distances=distances, **again)
    assert with_blind_test().reports(change)["test-class"].holds is holds


@pytest.mark.parametrize("bound", ["tau", "tau_V", "tau_L"])
def test_each_deviation_bound_is_checked_with_its_own_accuracy(bound) -> None:
    p = record().parameters

    def event(data):
        return record().reports(visit(LOW, data=data))["event"]

    assert event(law()).holds is True
    if bound == "tau":
        # x and y differ by 2·shift each way: the mean of 1{x} by that much.
        found = event(law(shift=parts(p.tau) * 6 // 10))
        assert found.first.startswith("means")
    elif bound == "tau_V":
        # A policy gains `others` (K · 1/2) with action 0; losses, K g², far below τ_L.
        assert event(law(others=parts(p.tau_V) * 9 // 10)).holds is True
        found = event(law(others=parts(p.tau_V) * 11 // 10))
        assert found.first.startswith("policy values")
    else:
        # The mean reward is right, its square is not: 1/8 more, of a loss.
        found = event(law(rewards=(Fraction(0), Fraction(1))))
        assert found.first.startswith("squared losses")
    assert found.holds is False


def test_what_the_result_says_is_checked() -> None:
    most = record().parameters.T_max
    assert record().failing(learned=(1, most + 1)) == {"learned-sets"}
    assert record().failing(learned=(1, most)) == set()


def test_claims_bind_where_they_are_proved() -> None:
    free = TwoSamplePracticalParameters(0.3, 0.1, 2, 2, 2)
    always = {"nested", "csc-calls", "ls-calls", "trajectories"}
    chances = {"evaluation", "progress", "epsilon-optimal"}
    premises = {"event", "oracles", "complete", "markov"}
    for parameters, chance in ((None, "probable"), (free, "fact")):
        reports = record().reports(lambda _: [], parameters)
        kinds = {"always": always, chance: chances, "premise": premises}
        for kind, names in kinds.items():
            assert {n for n, r in reports.items() if r.scope == kind} == names
        others = reports.keys() - always - chances - premises
        assert {reports[name].scope for name in others} == {"event"}
        assert len(others) == 10


def test_a_process_that_is_no_mdp_is_a_broken_premise(monkeypatch) -> None:
    verdict = SimpleNamespace(holds=False, reason="aliased")
    place = "olivine.algorithms.two_sample.observed_mdp"
    monkeypatch.setattr(place, lambda environment: verdict)
    assert record().failing() == {"markov"}
    assert record().reports()["markov"].first.startswith("aliased")
