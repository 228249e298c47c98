"""The global policy algorithm outside the event; every monitor can fail.

A run is recorded, one thing in the record is changed, and the record is played to
fresh monitors. The monitor that watches that thing must say so.
"""

import functools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms.classes import (
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments import from_lists, make
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.global_policy import (
    GlobalPolicyMonitors,
    GlobalPolicyParameters,
    GlobalPolicyPracticalParameters,
    global_policy,
)
from olivine.algorithms.global_policy.algorithm import (
    Comparison,
    GlobalPolicyRun,
    Refit,
    Return,
)
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.valor import valor
from olivine.algorithms.valor.parameters import TheoremParameters
from olivine.claims.global_policy import constants, drawn, monitored
from olivine.claims.global_policy_cases import (
    ScriptedEnvironment,
    incomplete,
    two_states,
)
from olivine.claims.instances import known_values

from tests.support.depth import with_rows
from tests.support.global_policy import practical, premises
from tests.support.learning import recorded
from tests.support.refusals import refused

QUARTER, MOST = Fraction(1, 4), Fraction(9, 10)
Q, P, S = (0,), (1,), (2,)


@functools.cache
def record():
    """Record a run: p leads to the state of q and is pruned, s is another one."""
    env = from_lists(
        [
            [("root", {"x": 1}, {"x": [0, 0, 0]}, ["q", "q", "s"])],
            [
                ("q", {"y1": "1/2", "y2": "1/2"},
                 {"y1": [QUARTER, 0, 0], "y2": [QUARTER, 0, 0]}, []),
                ("s", {"z": 1}, {"z": [0, MOST, 0]}, []),
            ],
        ]
    )  # fmt: skip
    policies = [TabularPolicyClass(1, 3), TabularPolicyClass(3, 3)]
    made = Problem(env, known_values(env), PolicyClassByLevel(policies))
    problem, rng = Problem(env, made.values, made.policies), np.random.default_rng(0)
    review = GlobalPolicyMonitors
    return made, recorded(global_policy, problem, constants(made), review, rng)


def failing(change=list, **changed):
    """Names of the monitors that do not hold after a change."""
    return record()[1].failing(change, **changed)


def number(kind, index):
    """Where the events of a kind are, and the one of an index among them."""
    return [i for i, e in enumerate(record()[1].events) if isinstance(e, kind)][index]


def changed(kind, index, **fields):
    """Change one event of a kind."""
    place = number(kind, index)

    def change(events):
        new = replace(events[place], **fields)
        return [*events[:place], new, *events[place + 1 :]]

    return change


def policy(at_q, at_s):
    """Same action at both observations of q."""
    return lambda observations: np.array([at_q, at_q, at_s])[observations]


def root(action):
    return lambda observations: np.full(len(observations), action)


def test_the_record_is_clean() -> None:
    _, run = record()
    events = run.events
    assert all(report.holds for report in run.reports().values())
    returns = [e for e in events if isinstance(e, Return)]
    assert [(w.path, w.outcome) for w in returns] == [
        (Q, "learned"), (P, "pruned"), (S, "learned"), ((), "learned"),
    ]  # fmt: skip
    compared = [
        (e.path, e.learned, e.same) for e in events if isinstance(e, Comparison)
    ]
    assert compared == [(P, Q, True), (S, Q, False), (P, Q, True)]


def data(shift=Fraction(0)):
    """Observations of q: y1 more often by a shift."""
    half = 10**30 // 2
    moved = int(shift * 10**30)
    return EmpiricalMeasure(
        [0, 1],
        actions=[0, 0],
        rewards=[QUARTER] * 2,
        weights=[half + moved, half - moved],
    )


def training(shift=Fraction(0)):
    """D_q: action 0 more often, each policy's return is too large by 3/2 shift / 4."""
    third = 10**30 // 6
    moved = int(shift * 10**30)
    return EmpiricalMeasure(
        [0, 0, 0, 1, 1, 1],
        actions=[0, 1, 2] * 2,
        rewards=[QUARTER, 0, 0] * 2,
        weights=[third + moved, third - moved, third, third, third, third],
    )


@pytest.mark.parametrize("share", [Fraction(9, 10), Fraction(11, 10)])
@with_rows(
    "name, first",
    ("data", "values on D,"),
    ("learned_data", "values on D',"),
    ("mean", "return on D,"),
    ("learned_mean", "return on D',"),
)
def test_deviation_bounds_of_tests(name, first, share) -> None:
    _, run = record()
    tau = run.parameters.tau_val * share
    if "data" in name:
        # Values of G = {g*} are one at both observations: put mass on z instead.
        weights = [int(10**30 * (1 - w)) // 2 for w in [tau / (MOST - QUARTER)] * 2]
        rest = 10**30 - sum(weights)
        new = EmpiricalMeasure(
            [0, 1, 2], actions=[0] * 3, rewards=[QUARTER] * 3, weights=[*weights, rest]
        )
    else:
        new = QUARTER + tau
    report = run.reports(changed(Comparison, 0, **{name: new}))["event"]
    assert report.holds is (share < 1)
    assert share < 1 or report.first.startswith(first)


@pytest.mark.parametrize("share", [Fraction(9, 10), Fraction(11, 10)])
def test_deviation_bound_of_training_sets(share) -> None:
    _, run = record()
    p = run.parameters
    (first,) = run.events[number(Refit, 0)].data
    assert first.actions is not None
    for off, holds in ((Fraction(0), True), (share * p.tau_pol, share < 1)):
        new = (training(off * 4 / 3),)  # K shift / 4 = off
        report = run.reports(changed(Refit, 0, data=new))["event"]
        assert report.holds is holds
    assert share < 1 or report.first.startswith("policies on D_q")


def slightly(number):
    """Sizes between which a bound decides."""
    return number * Fraction(999, 1000), number * Fraction(1001, 1000)


def test_feasibility_of_the_optimal_values() -> None:
    p = record()[1].parameters
    within, beyond = slightly(p.excess(2))
    for off, found in ((within, False), (beyond, True)):
        names = failing(changed(Comparison, 0, learned_mean=QUARTER - off))
        assert ("gstar-feasible" in names) is found


def mixed(share):
    """Take the best action of s with a probability, always that of q."""

    def play(observations):
        rows = np.zeros((len(observations), 3))
        good = float(1 - share)
        rows[:] = np.array([[1, 0, 0], [1, 0, 0], [1 - good, good, 0]])[observations]
        return rows

    return play


def test_where_testlearned_is_true_the_policy_must_be_good() -> None:
    """At s, compared with q: loses more than the test allows, then less."""
    p = record()[1].parameters
    loses = [loss / MOST for loss in slightly(p.tested_loss(2))]
    for share, found in zip(loses, (False, True), strict=True):
        names = failing(
            changed(Comparison, 1, same=True, policies=(root(2), mixed(share)))
        )
        assert ("tested-policy" in names) is found
    # The lemma says nothing where q loses more than φ_h.
    bad = policy(1, 0)
    assert "tested-policy" not in failing(
        changed(Comparison, 1, same=True, policies=(root(2), bad))
    )


def test_the_same_state_must_pass_and_a_fit_be_feasible_and_good():
    assert failing(changed(Comparison, 0, same=False)) == {"same-state"}
    p = record()[1].parameters
    assert failing(changed(Refit, 1, feasible=False)) == {"feasible"}
    for share, found in zip(
        [loss / MOST for loss in slightly(p.fit_loss)], (set(), {"fit"}), strict=True
    ):
        assert failing(changed(Refit, 1, policies=(None, mixed(share)))) == found


@pytest.mark.parametrize("name", ["learned-quality", "pruned-quality"])
def test_policies_must_be_good_on_each_return(name) -> None:
    """At s, as a learned path, and as a pruned one."""
    p = record()[1].parameters
    bound = p.phi(2) if name == "learned-quality" else p.tested_loss(2)
    sets = {"learned": (Q,), "pruned": (S,)}
    if name == "learned-quality":
        sets = {"learned": (Q, S), "pruned": (P,)}
    for loss, found in zip(slightly(bound), (set(), {name}), strict=True):
        policies = (root(2), mixed(loss / MOST))
        assert failing(changed(Return, 2, policies=policies, **sets)) == found


def test_pruned_paths_are_counted() -> None:
    _, run = record()
    few = {"M": 1, "K": 2, "slack": Fraction(1)}
    few = GlobalPolicyParameters(**vars(run.parameters) | few)
    (step,) = [e for e in run.events if isinstance(e, Return) and e.path == S]
    for paths, holds in (((P, S), True), ((Q, P, S), False)):
        returned = [replace(step, pruned=paths)]
        reports = run.reports(lambda _, returned=returned: returned, few)
        assert reports["pruned-paths"].holds is holds


def test_claims_bind_where_they_are_proved() -> None:
    """By the bounds alone; by induction over levels; by chance; premises."""
    made, run = record()
    free = GlobalPolicyPracticalParameters(0.3, 0.1, 2, 3, 2)
    kinds = {
        "theorem": run.parameters,
        "paper": constants(made, "paper"),
        "practical": free,
    }
    found = {k: run.review(run.problem, q).scopes() for k, q in kinds.items()}
    premises = {"event", "oracles", "realizable", "complete"}
    alone = {"gstar-feasible", "tested-policy", "fit"}
    for kind, by_name in found.items():
        binding = {name for name, scope in by_name.items() if scope == "event"}
        assert {n for n, scope in by_name.items() if scope == "premise"} == premises
        if kind == "theorem":
            assert binding == by_name.keys() - premises - {"epsilon-optimal"}
            assert by_name["epsilon-optimal"] == "probable"
        else:  # printed φ is too small, free ones are anything; and falling back, fits
            assert binding == (alone if kind == "paper" else alone - {"fit"})
            assert by_name["epsilon-optimal"] == "fact"


def test_what_the_result_says_is_checked() -> None:
    assert failing() == set()
    assert failing(event_failed=True) == {"feasible"}
    m, k, h = 2, 3, 2
    bounds = {"csc": m * m * h, "lp": m * 3 * m**2 * h * k, "multi": m * h}
    assert record()[1].parameters.call_bounds == bounds


def test_an_infeasible_program_is_a_failed_event() -> None:
    """G without g*: no function of it is small enough at the learned state."""
    made = two_states([Fraction(0)] * 2 + [Fraction(1, 4)] * 2 + [Fraction(1, 2)] * 2)
    wrong = ValueClassByLevel([TabularValueClass(1), FiniteValueClass([[0.9, 0.9]])])
    made = Problem(made.environment, wrong, made.policies)
    run = monitored(made, constants(made), 0)
    assert run.result.status == "failure"
    assert run.result.event_failed
    assert "no value function of level 2" in run.result.reason
    assert run.result.monitors["realizable"].holds is False
    assert run.result.contradictions == []
    # Going on: the two paths are not taken for the same state.
    run = monitored(made, practical(made.environment), 0)
    assert run.result.succeeded
    assert run.result.learned == (1, 2)


def test_an_incomplete_class_fails_where_valor_succeeds(rng) -> None:
    made = incomplete()
    run = monitored(made, constants(made), 0)
    env = made.environment
    assert run.result.status == "failure"
    assert "fitting the policy of level 2: infeasible" in run.result.reason
    assert run.result.monitors["event"].holds
    assert run.result.monitors["realizable"].holds
    assert run.result.monitors["complete"].holds is False
    assert run.result.contradictions == []
    sizes = made.values.log_size(), made.policies.log_size()
    parameters = TheoremParameters(0.3, 0.1, 2, 2, 3, *sizes)
    result = valor(env, made.values, made.policies, parameters, rng)
    assert result.succeeded
    best, found = env.truth.optimal_value, env.truth.policy_value(result.policies)
    assert best - found <= Fraction(3, 10)
    # With every policy of level 2 the class is complete, and the algorithm succeeds.
    policies = PolicyClassByLevel(
        [TabularPolicyClass(1, 2), TabularPolicyClass(2, 2), TabularPolicyClass(2, 2)]
    )
    whole = Problem(env, made.values, policies)
    run = monitored(whole, constants(whole), 0)
    assert premises(run)
    assert run.loss <= Fraction(3, 10)


def test_free_parameters_fall_back_on_pooling() -> None:
    """No noise to speak of, and a φ as at the theorem's constants."""
    made = incomplete()
    exact = constants(made)
    chosen = {"slack": exact.phi(3), "n_test": 10**8, "n_train": 10**8}
    for name in ("tau_val", "tau_pol"):
        chosen[name] = exact.tau_val
    run = monitored(made, practical(made.environment, **chosen), 0)
    assert run.result.succeeded
    assert run.result.monitors["feasible"].holds is False
    assert run.result.contradictions == []
    assert run.loss <= Fraction(3, 10)


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_too_many_calls_are_a_failure(calls) -> None:
    made = drawn(0, "tabular")
    run = monitored(made, practical(made.environment, T_max=calls), 0)
    assert run.result.status == "failure"
    assert "more than T_max times" in run.result.reason
    assert run.result.policies is None
    assert run.result.contradictions == []
    monitors = run.result.monitors
    assert False in (monitors["dfslearn-calls"].holds, monitors["test-calls"].holds)


def test_as_many_calls_as_are_needed_are_enough() -> None:
    """Paths (), 0, 1, 2; TestLearned once more: 1 is pruned, and tested again."""
    made = record()[0]
    env = made.environment
    run = monitored(made, practical(env, T_max=5), 0)
    monitors = run.result.monitors
    assert run.result.succeeded
    assert run.result.learned == (1, 2)
    assert monitors["dfslearn-calls"].margin == 1
    assert monitors["test-calls"].margin == 0
    run = monitored(made, practical(env, T_max=4), 0)
    monitors = run.result.monitors
    assert "TestLearned was called more than T_max" in run.result.reason
    assert monitors["test-calls"].margin == -1
    assert monitors["dfslearn-calls"].margin == 0


def test_a_bad_data_set_that_ends_the_run_is_seen_to_be_one() -> None:
    """Roll-outs at q are far off, so g* is infeasible: outside of the event."""
    half, one = Fraction(1, 2), Fraction(1)
    made = two_states([Fraction(0)] * 2 + [half] * 4)
    script = {
        ((0,), True): [(0, a, half, half) for a in (0, 1)],
        ((0,), False): [(0, 0, Fraction(0), one)],
        ((1,), False): [(1, 0, half, one)],
    }
    env = ScriptedEnvironment(made.environment, script)
    made = Problem(env, made.values, made.policies)
    run = monitored(made, constants(made), 0)
    assert "no value function of level 2" in run.result.reason
    monitors = run.result.monitors
    assert monitors["event"].holds is False
    assert monitors["event"].first.startswith("return on D'")
    assert monitors["gstar-feasible"].holds is False
    assert monitors["feasible"].holds is False
    assert run.result.contradictions == []


def test_policies_are_never_played_before_they_are_set() -> None:
    made = drawn(0, "tabular")
    run = GlobalPolicyRun(
        Problem(made.environment, made.values, made.policies),
        constants(made),
        np.random.default_rng(0),
    )
    assert run.test_learned(()) is False  # no learned path: no data
    assert made.environment.trajectories == 0
    run.learned[0].append(())
    refused("before it is set", run.test_learned, (), error=RuntimeError)


@pytest.mark.long
def test_linear_classes_on_a_gaussian_lock() -> None:
    env = make("lock-gaussian", 0, horizon=3, dimension=0, noise=0.05)
    rng = np.random.default_rng(1)
    values, policies = make_classes(env, "linear", rng)
    parameters = GlobalPolicyPracticalParameters(
        0.8, 0.1, env.max_states, env.n_actions, 3, n_test=50, n_train=400
    )
    monitors = GlobalPolicyMonitors(Problem(env, values, policies), parameters)
    result = global_policy(env, values, policies, parameters, rng, observers=[monitors])
    result = with_monitors(result, monitors.reports(result))
    assert result.succeeded
    assert result.contradictions == []
    assert result.monitors["event"].holds is None
    value, error = env.truth.estimate_policy_value(result.policies, 4000, rng)
    assert value + 3 * error >= 0.45
