"""The global policy algorithm: line by line, and what is claimed of it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.algorithms.assumptions import complete_classes
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from olivine.algorithms.environments import from_lists, make
from olivine.algorithms.global_policy import algorithm, global_policy
from olivine.algorithms.global_policy.algorithm import (
    Comparison,
    LearnedTest,
    Rechecked,
    Refit,
    Return,
)
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.learning.events import Descending, Entered
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.oracles.multi import multi
from olivine.claims import global_policy_cases
from olivine.claims.global_policy import chosen_sizes, constants, drawn, monitored
from olivine.claims.instances import known_values

from tests.support.depth import with_rows
from tests.support.global_policy import practical, premises
from tests.support.learning import check_share


class Log:
    """Remember the order of events."""

    def __init__(self):
        self.events = []
        self.comparisons = []
        self.tests = 0

    def __call__(self, event):
        match event:
            case Entered():
                self.events.append(("enter", event.path))
            case Descending():
                self.events.append(("descend", event.path))
            case LearnedTest():
                self.tests += 1
            case Comparison():
                self.comparisons.append(event)
            case Rechecked():
                self.events.append(("recheck", event.path, event.passed))
            case Refit():
                self.events.append(("fit", event.level, event.paths))
            case Return():
                self.events.append((event.outcome, event.path))


@settings(deadline=None, max_examples=12)
@given(
    st.sampled_from(["tabular", "finite"]),
    st.integers(0, 2**32),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 2),
)
@example("tabular", 0, 1, 1, 1, 1)
@example("finite", 0, 1, 1, 1, 1)
@example("tabular", 3, 3, 1, 3, 2)
@example("finite", 4, 1, 3, 3, 1)
def test_what_the_analysis_claims_holds(
    kind, seed, states, actions, horizon, observations
) -> None:
    env = make(
        "random-finite",
        seed,
        states=states,
        actions=actions,
        horizon=horizon,
        observations=observations,
        distinct=False,
    )
    rng = np.random.default_rng([seed, 1])
    if kind == "tabular":
        made = Problem(env, *make_classes(env, kind, rng))
    else:
        made = Problem(env, *complete_classes(env, rng, "policy", size=32))
    run = monitored(made, constants(made), seed)
    assert run.result.contradictions == []
    assert run.result.monitors["event"].holds is not None
    assert run.result.monitors["realizable"].holds
    assert kind == "finite" or run.result.monitors["complete"].holds
    if premises(run):
        assert run.result.succeeded
        assert run.loss <= run.parameters.eps


@pytest.mark.parametrize("kind", ["tabular", "finite"])
@with_rows("count", 3, pytest.param(100, marks=pytest.mark.long), ids=["few", "many"])
def test_epsilon_optimal_in_a_share_of_1_minus_delta(kind, count) -> None:
    def run(seed):
        made = drawn(seed, kind, states=2 + seed % 2, actions=2 + seed // 2 % 2)
        found = monitored(made, constants(made), seed)
        return made.environment, found.parameters, found.result

    check_share(run, count, kind)


def test_levels_end_and_every_trajectory_is_counted() -> None:
    """One state a level: one path a level is learned, every other one pruned."""
    made = drawn(1, "tabular", states=1)
    log = Log()
    run = monitored(made, constants(made), 1, observers=[log])
    p, result = run.parameters, run.result
    assert result.succeeded
    assert result.learned == (1, 1, 1)
    paths = [e[1] for e in log.events if e[0] == "enter"]
    assert paths == [(), (0,), (0, 0), (0, 1), (1,)]  # never one of H actions
    assert [e for e in log.events if e[0] in ("pruned", "learned")] == [
        ("learned", (0, 0)),
        ("pruned", (0, 1)),
        ("learned", (0,)),
        ("pruned", (1,)),
        ("learned", ()),
    ]
    # The two paths pruned: D and one D'; the three learned: nothing is there yet.
    assert result.trajectories == 4 * p.n_test + 3 * p.n_train
    assert result.calls == {"csc": 3, "lp": 2, "multi": 3}
    assert result.trajectories <= p.trajectory_bound
    assert result.seed.generator().bit_generator.state == (
        np.random.default_rng([1, 2]).bit_generator.state
    )


def test_a_pruned_path_is_tested_again_and_learned() -> None:
    made, log = global_policy_cases.pruned_then_learned(), Log()
    run = monitored(made, constants(made), 0, observers=[log])
    q, p, s = (0,), (1,), (2,)
    assert log.events == [
        ("enter", ()),
        ("descend", ()),
        ("enter", q),
        ("descend", q),
        ("fit", 2, (q,)),
        ("learned", q),
        ("enter", p),
        ("pruned", p),
        ("enter", s),
        ("descend", s),
        ("fit", 2, (q, s)),
        ("recheck", p, False),
        ("enter", p),
        ("descend", p),  # without another test
        ("fit", 2, (q, s, p)),
        ("learned", s),
        ("fit", 1, ((),)),
        ("learned", ()),
    ]
    assert log.tests == 5  # of (), q, p, s, and p again
    assert run.loss == 0
    assert run.result.contradictions == []


def test_a_path_that_a_pass_has_learned_already_is_left_alone() -> None:
    """Both p and p' fail; learning p runs through the pruned paths, and learns p'."""
    half = Fraction(1, 2)
    names = ["q", "p", "p'", "s"]
    rewards = [[half, half], [half, 0], [half, 0], [0, Fraction(9, 10)]]
    level = [
        (name, {f"x{name}": 1}, {f"x{name}": [*row, 0, 0]}, [])
        for name, row in zip(names, rewards, strict=True)
    ]
    env = from_lists([[("root", {"x": 1}, {"x": [0] * 4}, names)], level])
    members = [[0, 0, 0, 0], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    policies = [TabularPolicyClass(1, 4), FinitePolicyClass(members, 4)]
    made, log = Problem(env, known_values(env), PolicyClassByLevel(policies)), Log()
    run = monitored(made, constants(made), 0, observers=[log])
    q, p, other, s = ((a,) for a in range(4))
    after = log.events[log.events.index(("descend", s)) :]
    assert after == [
        ("descend", s),
        ("fit", 2, (q, s)),
        ("recheck", p, False),
        ("enter", p),
        ("descend", p),
        ("fit", 2, (q, s, p)),
        ("recheck", other, False),
        ("enter", other),
        ("descend", other),
        ("fit", 2, (q, s, p, other)),
        ("learned", s),
        ("fit", 1, ((),)),
        ("learned", ()),
    ]
    assert log.tests == 7
    assert run.loss == 0
    assert run.result.contradictions == []


@pytest.mark.parametrize(("more", "learned"), [(0, (1, 1)), (1, (1, 2))])
def test_no_rounding_decides_a_test(more, learned) -> None:
    """V_opt is 1/10, just what is allowed; as a float that is more than 1/10."""
    tenth, one, zero = Fraction(1, 10), Fraction(1), Fraction(0)
    env = from_lists(
        [
            [("root", {"x": 1}, {"x": [0, 0]}, ["q", "p"])],
            [
                ("q", {"y": 1}, {"y": [0, 0]}, []),
                ("p", {"z1": tenth, "z2": 1 - tenth}, {"z1": [0, 0], "z2": [0, 0]}, []),
            ],
        ]
    )
    at_p = tenth + Fraction(more, 10**17)
    either = {
        (path, True): [(0, a, zero, one / 2) for a in (0, 1)] for path in ((), (0,))
    }
    other = {((1,), True): [(c, a, zero, one / 4) for c in (1, 2) for a in (0, 1)]}
    tests = {
        ((0,), False): [(0, 0, zero, one)],
        ((1,), False): [(1, 0, zero, at_p), (2, 0, zero, 1 - at_p)],
    }
    made = Problem(
        global_policy_cases.ScriptedEnvironment(env, either | other | tests),
        ValueClassByLevel([TabularValueClass(1), FiniteValueClass([[0.0, 1.0, 0.0]])]),
        PolicyClassByLevel([TabularPolicyClass(n, 2) for n in (1, 3)]),
    )
    chosen = {"tau_val": Fraction(2, 100)}  # φ + 4τ_val + ε_feas = 1/10
    chosen |= dict.fromkeys(("slack", "eps_feas"), Fraction(1, 100))
    run = monitored(made, practical(env, **chosen), 0)
    assert run.result.succeeded
    assert run.result.learned == learned


def test_policies_are_fitted_to_within_two_accuracies_of_the_best() -> None:
    made, limits, fits = drawn(1, "tabular"), [], []

    def spy(policy_class, /, sets, *, epsilon_feas):
        limits.append([item.limit for item in sets])
        return multi(policy_class, sets, epsilon_feas=epsilon_feas)

    def watch(event):
        if isinstance(event, Refit):
            fits.append(event)

    p = constants(made)
    run = monitored(made, p, 0, observers=[watch], multi_oracle=spy)
    assert run.result.succeeded
    assert limits == [[2 * p.tau_pol - v for v in fit.values] for fit in fits]
    assert max(map(len, limits)) > 1
    assert [fit.level for fit in fits].index(1) == len(fits) - 1
    assert run.result.estimate == fits[-1].values[0]
    for fit in fits:
        for q, value, data in zip(fit.paths, fit.values, fit.data, strict=True):
            assert data.draws == p.n_train
            best = made.environment.truth.path_value(q)
            assert abs(value - best) <= p.phi(fit.level) + p.tau_pol


def test_tests_use_the_values_that_the_listing_says() -> None:
    made, log = drawn(0, "tabular"), Log()
    run = monitored(made, constants(made), 0, observers=[log])
    assert log.comparisons
    p = run.parameters
    for c in log.comparisons:
        h = len(c.path) + 1
        # Tabular: V_opt is 1 on codes that D' has not seen.
        seen = np.isin(c.data.codes(), c.learned_data.codes())
        fresh = c.data.expectation_exact(np.where(seen, 0.0, 1.0))
        assert c.optimum >= fresh - p.eps_sub
        assert c.same == (
            c.optimum <= c.learned_mean + p.identity(h)
            and c.mean >= c.learned_mean - 2 * p.tau_val
        )


def test_a_learned_path_can_be_worse_for_a_while() -> None:
    """Erratum 18: not at all times, but on each return."""
    parameters = chosen_sizes("theorem", 3, 4, 3)
    made = global_policy_cases.stale(parameters)
    truth, q, losses = made.environment.truth, (0,), []

    def watch(fit):
        if isinstance(fit, Refit) and fit.policies[1] is not None:
            value = truth.policy_path_value(q, fit.policies)
            losses.append(truth.path_value(q) - value)

    run = monitored(made, parameters, 0, observers=[watch])
    assert max(losses) > parameters.phi(2) >= losses[-1]
    assert premises(run)
    assert run.result.contradictions == []


def test_each_oracle_is_asked_for_its_accuracy(monkeypatch) -> None:
    asked = {"csc": set(), "multi": set(), "lp": set()}
    own_csc, own_optimise = algorithm.csc, algorithm.ValueProgram.optimise

    def spy_csc(*args, epsilon_sub):
        asked["csc"].add((epsilon_sub, args[2].dtype))
        return own_csc(*args, epsilon_sub=epsilon_sub)

    def spy_multi(policy_class, /, sets, *, epsilon_feas):
        asked["multi"].add(epsilon_feas)
        return multi(policy_class, sets, epsilon_feas=epsilon_feas)

    def spy_optimise(self, *args, **options):
        asked["lp"].add((options["epsilon_sub"], options["epsilon_feas"]))
        return own_optimise(self, *args, **options)

    monkeypatch.setattr(algorithm, "csc", spy_csc)
    monkeypatch.setattr(algorithm.ValueProgram, "optimise", spy_optimise)
    made = drawn(0, "tabular")
    env = made.environment
    for small in (Fraction(1, 10**4), Fraction(1, 10**13)):
        p = practical(env, eps_sub=small, eps_feas=small / 3)
        rng = np.random.default_rng(0)
        given_ = env, made.values, made.policies, p, rng
        global_policy(*given_, multi_oracle=spy_multi)
        exact = np.dtype(object if small < Fraction(1, 10**12) else float)
        assert asked["csc"] == {(float(small), exact)}
        assert asked["multi"] == {float(small / 3)}
        assert asked["lp"] == {(float(small), float(small / 3))}
        for found in asked.values():
            found.clear()
