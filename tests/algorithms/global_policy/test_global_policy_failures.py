"""The global policy algorithm outside the event and on features."""

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
from olivine.algorithms.global_policy import (
    GlobalPolicyMonitors,
    GlobalPolicyPracticalParameters,
    global_policy,
)
from olivine.algorithms.global_policy.algorithm import GlobalPolicyRun
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

from tests.support.global_policy import practical, premises


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
    quarter, most = Fraction(1, 4), Fraction(9, 10)
    env = from_lists(
        [
            [("root", {"x": 1}, {"x": [0, 0, 0]}, ["q", "q", "s"])],
            [
                ("q", {"y": 1}, {"y": [quarter, 0, 0]}, []),
                ("s", {"z": 1}, {"z": [0, most, 0]}, []),
            ],
        ]
    )
    policies = [TabularPolicyClass(1, 3), TabularPolicyClass(2, 3)]
    made = Problem(env, known_values(env), PolicyClassByLevel(policies))
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


HALF = Fraction(1, 2)


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
    with pytest.raises(RuntimeError, match="before it is set"):
        run.test_learned(())


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
