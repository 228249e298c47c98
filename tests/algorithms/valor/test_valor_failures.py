"""VALOR where its analysis ends: what the paper leaves open, and bad input."""

import math
from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments import from_lists, make
from olivine.algorithms.learning.draw_classes import make_classes, state_groups
from olivine.algorithms.learning.events import EventFailedError, Triple
from olivine.algorithms.learning.metaalg import metaalg
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.oracles.ledger import unguard
from olivine.algorithms.oracles.multi import multi
from olivine.algorithms.valor import ValorMonitors
from olivine.algorithms.valor.algorithm import (
    LocalValues,
    constrained_step,
    pooled_step,
    valor,
)
from olivine.algorithms.valor.parameters import (
    CONSTRAINED,
    VALOR,
    PracticalParameters,
    ValorParameters,
)
from olivine.claims.instances import sacrificed

from tests.support.refusals import refused
from tests.support.valor import both, monitored, theorem


def two_levels():
    return from_lists(
        [
            [("s0", {"start": 1}, {"start": [0, 0]}, ["s1", "s2"])],
            [
                ("s1", {"x": 1}, {"x": [0, 1]}, []),
                ("s2", {"y": 1}, {"y": [0, Fraction(1, 2)]}, []),
            ],
        ]
    )


def wrong_classes():
    """G_2 without g*: it is wrong about both states."""
    return (
        ValueClassByLevel(
            [TabularValueClass(1), FiniteValueClass([[0.0, 0.0], [0.3, 0.9]])]
        ),
        PolicyClassByLevel([TabularPolicyClass(1, 2), TabularPolicyClass(2, 2)]),
    )


@both
def test_an_infeasible_program_is_a_failed_event(name) -> None:
    """Erratum 11: no value, so no V_a; reported, not treated as a consensus."""
    env = two_levels()
    values, policies = wrong_classes()
    parameters = theorem(env, values, policies, name)
    result = monitored(name, env, values, policies, parameters)
    assert result.status == "failure"
    assert result.event_failed
    assert "no value function of level 2" in result.reason
    assert result.monitors["feasible"].holds is False
    assert result.monitors["realizable"].holds is False
    assert result.contradictions == []  # realizability was a premise


def test_practical_parameters_relax_an_infeasible_program() -> None:
    env = two_levels()
    values, policies = wrong_classes()
    parameters = PracticalParameters(0.3, 0.1, 2, 2, 2, slack=0.05, n_train=400)
    result = valor(env, values, policies, parameters, np.random.default_rng(0))
    assert not result.event_failed
    assert env.truth.policy_value(result.policies) == 1


def test_a_class_without_the_optimum_fails_without_an_exception() -> None:
    """MetaAlg's failure is a result: Π without a good policy."""
    env = two_levels()
    values, _ = make_classes(env, "tabular", np.random.default_rng(0))
    policies = PolicyClassByLevel(
        [TabularPolicyClass(1, 2), FinitePolicyClass([[0, 0]], 2)]
    )
    # V̂ is right (0) for what the policies can do, so take one that is not.
    parameters = theorem(env, values, policies, VALOR)
    run = LocalValues(
        Problem(env, values, policies), parameters, np.random.default_rng(0)
    )
    run.dfslearn(())
    outcome = metaalg(
        env,
        PracticalParameters(0.3, 0.1, 2, 2, 2, max_iterations=3),
        np.random.default_rng(0),
        explore=lambda path: None,
        optimise=lambda: (run.polvalfun(pooled_step)[0], Fraction(1)),
    )
    assert not outcome.succeeded
    assert outcome.iterations == 3
    assert outcome.reason == "no policy passed the test in 3 iterations"
    assert outcome.policies is not None


def test_an_infeasible_policy_step_is_a_failed_event() -> None:
    run = sacrificed(np.random.default_rng(0), error=Fraction(1, 5))
    step = constrained_step(run, 2)  # falls back on pooling, as parameters say
    assert unguard(step)(np.array([1])).tolist() == [1]
    object.__setattr__(run.parameters, "fall_back", False)
    with pytest.raises(EventFailedError, match="policy step at level 2: infeasible"):
        constrained_step(run, 2)


def test_the_constrained_step_asks_for_what_the_listing_says(monkeypatch) -> None:
    """At every data set V - 2φ_h + 4ε_stat + ε_sub, within ε_feas."""
    asked = []

    def spy(policy_class, /, sets, *, epsilon_feas):
        asked.append((policy_class, sets, epsilon_feas))
        return multi(policy_class, sets, epsilon_feas=epsilon_feas)

    monkeypatch.setattr("olivine.algorithms.valor.algorithm.multi", spy)
    env = make("tabular", 2, states=2, actions=2, horizon=3)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    parameters = theorem(env, values, policies, CONSTRAINED)
    chosen = {"eps_stat": Fraction(1, 100), "eps_sub": Fraction(1, 2000)}
    p = ValorParameters(**vars(parameters) | chosen | {"eps_feas": Fraction(1, 5000)})
    run = LocalValues(Problem(env, values, policies), p, np.random.default_rng(0))
    run.dfslearn(())
    assert [len(triples) for triples in run.datasets] == [1, 2, 2]
    for h in (1, 2, 3):
        constrained_step(run, h)
        policy_class, sets, accuracy = asked.pop()
        assert unguard(policy_class) is policies.at_level(h)
        assert accuracy == 1 / 5000
        slack = 2 * (4 - h) * (6 * p.eps_stat + 2 * p.eps_sub + p.eps_feas)
        slack -= 4 * p.eps_stat + p.eps_sub
        assert [s.limit for s in sets] == [slack - t.value for t in run.datasets[h - 1]]
        for s, t in zip(sets, run.datasets[h - 1], strict=True):
            assert s.data is t.data
            rows = np.arange(len(t.data))
            taken = s.costs[rows, t.data.actions].astype(float)
            future = np.array(t.futures, dtype=float)[t.data.actions]
            assert taken == pytest.approx(-2 * (t.data.rewards + future))
            assert not s.costs[rows, 1 - t.data.actions].any()


def test_more_calls_than_t_max_end_the_run() -> None:
    env = make("tabular", 2, states=2, actions=2, horizon=3)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    parameters = PracticalParameters(0.3, 0.1, 2, 2, 3, T_max=1)
    monitors = ValorMonitors(Problem(env, values, policies), parameters)
    rng = np.random.default_rng(0)
    result = valor(env, values, policies, parameters, rng, observers=[monitors])
    assert result.status == "failure"
    assert "T_max = 1 times at level" in result.reason
    assert monitors.reports(result)["dfslearn-calls"].holds is False
    # Inside event E as well: nobody claims that one call is enough.
    parameters = PracticalParameters(
        0.3, 0.1, 2, 2, 3, T_max=1, slack=None, n_train=10**9, n_test=10**9
    )
    rng = np.random.default_rng(0)
    result = monitored(VALOR, env, values, policies, parameters, rng)
    assert result.monitors["event"].holds is True
    assert result.monitors["dfslearn-calls"].holds is False
    assert result.contradictions == []
    enough = theorem(env, values, policies, VALOR)
    scopes = ValorMonitors(Problem(env, values, policies), enough).reports(result)
    assert scopes["dfslearn-calls"].scope == scopes["feasible"].scope == "event"


def test_a_consensus_is_half_way_between_the_extremes() -> None:
    """Line 7: V_a = (V_opt + V_pes)/2."""
    env = make("random-finite", 0, states=2, actions=2, horizon=3)
    rng, events = np.random.default_rng(0), []
    values, policies = make_classes(env, "tabular", rng)
    parameters = theorem(env, values, policies, "valor")
    valor(env, values, policies, parameters, rng, observers=[events.append])
    triples = [event for event in events if isinstance(event, Triple)]
    tests = [t for s in triples for t in s.tests if t.outcome == "consensus"]
    assert any(t.optimistic > t.pessimistic for t in tests)
    for t in tests:
        assert t.value == (t.optimistic + t.pessimistic) / 2


def test_costs_are_rational_where_floats_are_too_coarse() -> None:
    env = make("tabular", 2, states=2, actions=2, horizon=2)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    tiny = dict.fromkeys(("eps_stat", "eps_sub", "eps_feas"), Fraction(1, 10**14))
    parameters = PracticalParameters(
        0.3, 0.1, 2, 2, 2, n_test=10**30, n_train=10**32, slack=None, **tiny
    )
    result = monitored(VALOR, env, values, policies, parameters)
    assert result.succeeded
    assert result.trajectories > 10**30
    assert result.contradictions == []
    assert result.monitors["event"].holds
    assert result.monitors["value-accuracy"].margin > 0


def test_classes_for_environments_and_refusals():
    env = make("random-finite", 3, states=3, actions=3, horizon=3)
    values, policies = make_classes(env, "finite", np.random.default_rng(0), size=128)
    groups = state_groups(env, 3)
    assert sorted(np.concatenate(groups).tolist()) == list(range(6))
    assert len(values.at_level(3)) == len(policies.at_level(3)) == 125
    assert values.log_size() == pytest.approx(math.log(128))
    for kind, message in (("linear", "features"), ("cubic", "none of")):
        refused(message, make_classes, env, kind, np.random.default_rng(0))
    with pytest.raises(ValueError, match="finitely many"):
        make_classes(make("lock", 0), "tabular", np.random.default_rng(0))
    refused("at most 1", from_lists, [[("s", {"x": 1}, {"x": [2]}, [])]])
