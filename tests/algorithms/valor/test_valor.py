"""VALOR and its constrained form: line by line, at the theorem's constants."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments import make
from olivine.algorithms.environments.finite_lists import (
    from_lists,
    late_discovery,
    wrongly_pruned,
)
from olivine.algorithms.learning.draw_classes import make_classes, state_groups
from olivine.algorithms.learning.events import (
    Descending,
    Entered,
    EventFailedError,
    Iteration,
    Triple,
)
from olivine.algorithms.learning.metaalg import metaalg
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.oracles.ledger import Ledger, guard, reveal
from olivine.algorithms.oracles.multi import multi
from olivine.algorithms.valor.algorithm import (
    LocalValues,
    constrained_step,
    pooled_step,
    valor,
    valor_constrained,
)
from olivine.algorithms.valor.parameters import (
    CONSTRAINED,
    VALOR,
    PracticalParameters,
    TheoremParameters,
    ValorParameters,
)
from olivine.algorithms.valor.review import ValorMonitors
from olivine.cli.ledger.support.instances import sacrificed
from scipy.stats import beta

from tests.support.depth import deep

ALGORITHMS = {VALOR: valor, CONSTRAINED: valor_constrained}
both = pytest.mark.parametrize("name", ALGORITHMS)


def theorem(env, values, policies, name, eps=0.3, delta=0.1):
    return TheoremParameters(
        eps,
        delta,
        env.max_states,
        env.n_actions,
        env.horizon,
        values.log_size(),
        policies.log_size(),
        name,
    )


def monitored(name, env, values, policies, parameters, rng, *, observers=()):
    """Run with monitors."""
    monitors = ValorMonitors(env, values, policies, parameters)
    result = ALGORITHMS[name](
        env, values, policies, parameters, rng, observers=(monitors, *observers)
    )
    return with_monitors(result, monitors.reports(result))


def at_theorem(name, kind, seed, **options):
    """One run at the theorem's constants on a random environment."""
    env = make("random-finite", seed, **options)
    rng = np.random.default_rng([seed, 1])
    values, policies = make_classes(env, kind, rng)
    parameters = theorem(env, values, policies, name)
    return env, parameters, monitored(name, env, values, policies, parameters, rng)


@settings(deadline=None, max_examples=12)
@given(
    st.sampled_from(sorted(ALGORITHMS)),
    st.sampled_from(["tabular", "finite"]),
    st.integers(0, 2**32),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 2),
)
@example(VALOR, "tabular", 0, 1, 1, 1, 1)
@example(CONSTRAINED, "finite", 0, 1, 1, 1, 1)
@example(CONSTRAINED, "tabular", 3, 3, 1, 3, 2)
def test_what_the_analysis_claims_holds(
    name, kind, seed, states, actions, horizon, observations
) -> None:
    env, parameters, result = at_theorem(
        name,
        kind,
        seed,
        states=states,
        actions=actions,
        horizon=horizon,
        observations=observations,
        distinct=False,
    )
    assert result.contradictions == []
    assert result.monitors["event"].holds is not None
    assert result.monitors["realizable"].holds
    if result.monitors["event"].holds and result.monitors["evaluation"].holds:
        if result.succeeded:
            value = env.truth.policy_value(result.policies)
            assert env.truth.optimal_value - value <= parameters.eps
        else:  # only if exploration on demand found nothing new
            assert result.monitors["progress"].holds is False


@both
def test_every_state_is_learned_once_and_everything_is_counted(name) -> None:
    env, p, result = at_theorem(
        name, "tabular", 5, states=3, actions=3, horizon=4, observations=2
    )
    states = [len(env.truth.reachable(h)) for h in range(1, 5)]
    assert result.succeeded
    assert result.learned == tuple(states) == (1, 3, 3, 3)
    tests = 3 * sum(states[:-1])  # none at the last level: V_a = 0 there
    assert result.calls["lp"] == 2 * tests
    steps = 4 if name == VALOR else 0
    assert result.calls["csc"] == sum(states) + steps
    assert result.calls.get("multi", 0) == 4 - steps
    collected = tests * p.n_test + sum(states) * p.n_train + p.n_eval
    assert result.trajectories == env.trajectories == collected
    assert abs(result.estimate - env.truth.optimal_value) <= p.phi(1)


class Log:
    """Remember the order of events."""

    def __init__(self) -> None:
        self.events = []

    def __call__(self, event):
        match event:
            case Entered():
                self.events.append(("enter", event.path))
            case Descending():
                self.events.append(("descend", event.path))
            case Triple():
                self.events.append(("store", event.path))
                self.triple = event
            case Iteration():
                self.events.append(("iterate", event.number))


def test_depth_first() -> None:
    """Line 9 before line 11: children are learned before the state itself."""
    env = make("tabular", 2, states=2, actions=2, horizon=3)
    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    log = Log()
    parameters = theorem(env, values, policies, VALOR)
    valor(env, values, policies, parameters, np.random.default_rng(0), observers=[log])
    assert log.events[0] == ("enter", ())
    assert log.events[-2:] == [("store", ()), ("iterate", 1)]
    opened = []
    for kind, what in log.events[:-1]:
        if kind == "enter":
            opened.append(what)
        elif kind == "store":
            assert opened.pop() == what
    # V is the best of r + V_a over the policies, with V_a as stored.
    best = max(
        env.truth.action_expectation((), lambda x, a=a: np.full(len(x), a), futures)
        for a in (0, 1)
        for futures in [log.triple.futures]
    )
    assert abs(log.triple.value - best) <= parameters.eps_stat


@both
def test_algorithms_touch_classes_through_oracles_only(name) -> None:
    env = make("random-finite", 1)
    values, policies = make_classes(env, "finite", np.random.default_rng(0))
    parameters = theorem(env, values, policies, name)
    with Ledger() as ledger:
        result = ALGORITHMS[name](
            env,
            guard(values),
            guard(policies),
            parameters,
            np.random.default_rng(0),
        )
    assert ledger.touches == []
    assert result.succeeded
    for policy in result.policies:
        assert reveal(policy) is policy


@both
def test_runs_repeat_by_seed(name) -> None:
    first, second = (at_theorem(name, "finite", 9)[2] for _ in range(2))
    assert first.estimate == second.estimate
    assert first.trajectories == second.trajectories


# ------------------------------------------------------------ shows of issue 4


@both
def test_exploration_on_demand_repairs_a_wrongly_pruned_state(name) -> None:
    made = wrongly_pruned()
    env, log = made.environment, Log()
    parameters = theorem(env, made.values, made.policies, name)
    result = monitored(
        name,
        env,
        made.values,
        made.policies,
        parameters,
        np.random.default_rng(0),
        observers=[log],
    )
    first = log.events.index(("iterate", 1))
    assert log.events[:first] == [("enter", ()), ("store", ())]  # level 2 is pruned
    assert result.succeeded
    assert result.iterations == 2
    # All n_exp trajectories lead to the same state, and each is explored.
    assert result.learned == (1, parameters.n_exp)
    assert env.truth.policy_value(result.policies) == env.truth.optimal_value == 1
    assert result.contradictions == []
    assert result.monitors["event"].holds
    assert result.monitors["progress"].checks == 1


def test_paths_with_data_need_not_be_explored_again() -> None:
    made = wrongly_pruned()
    parameters = PracticalParameters(0.3, 0.1, 2, 2, 2, slack=0.05)
    result = valor(
        made.environment,
        made.values,
        made.policies,
        parameters,
        np.random.default_rng(0),
    )
    assert result.succeeded
    assert result.learned == (1, 1)


def test_pooling_sacrifices_a_rarely_weighted_state_and_constraints_do_not() -> None:
    run = sacrificed(np.random.default_rng(0))
    rare, truth = np.array([1]), run.environment.truth
    for triple in run.datasets[1]:  # within the accuracies: nothing is wrong
        right = truth.path_value(triple.path)
        assert abs(triple.value - right) <= run.parameters.phi(2)
        for a, future in enumerate(triple.futures):
            gap = abs(future - truth.path_value((*triple.path, a)))
            assert gap <= run.parameters.phi(3)
    pooled, constrained = pooled_step(run, 2), constrained_step(run, 2)
    assert reveal(pooled)(rare).tolist() == [1]
    chance = Fraction(float(reveal(constrained)(rare)[0, 0]))
    lost = (1 - chance) * Fraction(1, 2)
    assert lost <= 2 * run.parameters.phi(2)
    # With few copies, pooling does well too.
    fair = sacrificed(np.random.default_rng(0), copies=5)
    assert reveal(pooled_step(fair, 2))(rare).tolist() == [0]


def test_more_than_m_k_iterations_can_be_needed() -> None:
    """Erratum 9: M H bounds them, M K does not."""
    made = late_discovery(6)
    accuracies = dict.fromkeys(("eps_stat", "eps_sub", "eps_feas"), 1e-5)
    parameters = PracticalParameters(
        0.3, 0.1, 2, 2, 6, n_exp=1, n_test=10**13, n_train=10**13, slack=None,
        **accuracies,
    )  # fmt: skip
    result = monitored(
        VALOR,
        made.environment,
        made.values,
        made.policies,
        parameters,
        np.random.default_rng(0),
    )
    assert result.succeeded
    assert parameters.M * parameters.K < result.iterations == 6
    assert result.contradictions == []
    assert result.monitors["progress"].holds


def share(kind, count, name):
    """Share of ε-optimal runs, its 99% lower bound, and the contradictions."""
    good, wrong = 0, []
    for seed in range(count):
        env, p, result = at_theorem(name, kind, seed, states=3, actions=3, horizon=3)
        wrong += [(seed, c) for c in result.contradictions]
        if result.succeeded:
            value = env.truth.policy_value(result.policies)
            good += env.truth.optimal_value - value <= p.eps
    lower = 0.0 if good == 0 else float(beta.ppf(0.01, good, count - good + 1))
    return good / count, lower, wrong


@both
@pytest.mark.parametrize("kind", ["tabular", "finite"])
@pytest.mark.parametrize(
    "count", [4, pytest.param(200, marks=pytest.mark.long)], ids=["few", "many"]
)
def test_epsilon_optimal_in_a_share_of_1_minus_delta(name, kind, count) -> None:
    found, lower, wrong = share(kind, count, name)
    print(f"{name} {kind}: {found:.3f} of {count}, above {lower:.3f} at 99%")
    assert wrong == []
    assert found >= 0.9
    if count >= 200:
        assert lower >= 0.9


@pytest.mark.parametrize("horizon", [5, pytest.param(10, marks=pytest.mark.long)])
def test_finite_classes_solve_the_published_locks(horizon) -> None:
    """V^π ≥ 0.9 V*, the Bernoulli and the Gaussian one, within 10,000 trajectories."""
    for name, seed in itertools.product(["lock", "lock-gaussian"], range(deep(3, 1))):
        env = make(name, seed, horizon=horizon)
        rng = np.random.default_rng([seed, 1])
        values, policies = make_classes(env, "finite", rng)
        parameters = PracticalParameters(
            0.4, 0.1, 3, 4, horizon, n_test=20, n_train=160, n_exp=4, n_eval=300
        )
        result = valor(env, values, policies, parameters, rng)
        assert result.trajectories <= 10_000
        value, error = env.truth.estimate_policy_value(result.policies, 4000, rng)
        assert value + 3 * error >= 0.45


# ------------------------------------------------- what the paper leaves open


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
    result = monitored(
        name, env, values, policies, parameters, np.random.default_rng(0)
    )
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
    run = LocalValues(env, values, policies, parameters, np.random.default_rng(0))
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
    assert reveal(step)(np.array([1])).tolist() == [1]
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
    run = LocalValues(env, values, policies, p, np.random.default_rng(0))
    run.dfslearn(())
    assert [len(triples) for triples in run.datasets] == [1, 2, 2]
    for h in (1, 2, 3):
        constrained_step(run, h)
        policy_class, sets, accuracy = asked.pop()
        assert reveal(policy_class) is policies.at_level(h)
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
    monitors = ValorMonitors(env, values, policies, parameters)
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
    scopes = ValorMonitors(env, values, policies, enough).reports(result)
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
    result = monitored(
        VALOR, env, values, policies, parameters, np.random.default_rng(0)
    )
    assert result.succeeded
    assert result.trajectories > 10**30
    assert result.contradictions == []
    assert result.monitors["event"].holds
    assert result.monitors["value-accuracy"].margin > 0


# ---------------------------------------------------------------- bad input


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    env = make("random-finite", 0)
    values, policies = make_classes(env, "tabular", rng)
    good = {"M": 2, "K": 2, "H": 3}
    for change, message in (
        ({"M": 1}, "M: 1 is too small"),
        ({"K": 3}, "K: 3"),
        ({"H": 2}, "H: 2"),
    ):
        parameters = PracticalParameters(0.3, 0.1, **good | change)
        with pytest.raises(ValueError, match=message):
            valor(env, values, policies, parameters, rng)
    parameters = PracticalParameters(0.3, 0.1, **good)
    more = PolicyClassByLevel([TabularPolicyClass(9, 3)] * 3)
    with pytest.raises(ValueError, match="policy_class: 3 actions"):
        valor(env, values, more, parameters, rng)
    short = ValueClassByLevel([TabularValueClass(9)])
    with pytest.raises(ValueError, match="value_class: 1 levels"):
        valor(env, short, policies, parameters, rng)
    lock = make("lock", 0, switch=0.1, horizon=3)
    with pytest.raises(ValueError, match="stochastic hidden dynamics"):
        valor(lock, values, policies, PracticalParameters(0.3, 0.1, 3, 4, 3), rng)
    with pytest.raises(ValueError, match="at most 1"):
        from_lists([[("s", {"x": 1}, {"x": [2]}, [])]])


def test_classes_for_environments() -> None:
    env = make("random-finite", 3, states=3, actions=3, horizon=3)
    values, policies = make_classes(env, "finite", np.random.default_rng(0), size=128)
    groups = state_groups(env, 3)
    assert sorted(np.concatenate(groups).tolist()) == list(range(6))
    assert len(values.at_level(3)) == len(policies.at_level(3)) == 125
    assert values.log_size() == pytest.approx(math.log(128))
    for kind, message in (("linear", "features"), ("cubic", "none of")):
        with pytest.raises(ValueError, match=message):
            make_classes(env, kind, np.random.default_rng(0))
    with pytest.raises(ValueError, match="finitely many"):
        make_classes(make("lock", 0), "tabular", np.random.default_rng(0))
