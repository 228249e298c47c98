"""LSVEE: step by step against plain recomputation, and as a whole at its constants."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.assumptions.realizable import realizability
from olivine.algorithms.classes import FiniteQClass
from olivine.algorithms.environments import make
from olivine.algorithms.environments.finite_lists import from_lists
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.draw_q_functions import make_q_class, optimal_member
from olivine.algorithms.learning.events import Descending, Iteration
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.learning.run import LearningResult
from olivine.algorithms.lsvee import (
    LsveeMonitors,
    LsveeParameters,
    LsveePractical,
    LsveeTheorem,
    lsvee,
)
from olivine.algorithms.lsvee.algorithm import Consensus, Elimination
from olivine.algorithms.lsvee.averages import Cells, risks, state_value_averages
from olivine.algorithms.lsvee.parameters import root_down
from olivine.cli.ledger.support.lsvee import (
    decoupled,
    misled_at,
    noisy_successor,
    one_sample_risks,
)
from scipy.stats import beta

from tests.support.depth import spread

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
    monitors = LsveeMonitors(env, functions, parameters)
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


# ------------------------------------------------------------------ averages

sixths = st.builds(Fraction, st.integers(0, 6), st.just(6))


@st.composite
def averaged(draw):
    """A class of one level, data on it, values V̂ of next states."""
    n, codes, k = (draw(st.integers(1, 3)) for _ in range(3))
    flat = draw(st.lists(sixths, min_size=n * codes * k, max_size=n * codes * k))
    table = np.empty((n, codes, k), dtype=object)
    table.ravel()[:] = flat
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, codes - 1),
                st.integers(0, k - 1),
                st.builds(Fraction, st.integers(0, 5), st.just(5)),
                st.integers(0, 10**20),
            ),
            min_size=1,
            max_size=6,
        )
    )
    x, a, r, w = zip(*rows, strict=True)
    weights = [max(w[0], 1), *w[1:]]
    data = EmpiricalMeasure(x, actions=a, rewards=list(r), weights=weights)
    sevenths = st.builds(Fraction, st.integers(0, 7), st.just(7))
    ahead = np.empty((n, k), dtype=object)
    ahead.ravel()[:] = draw(st.lists(sevenths, min_size=n * k, max_size=n * k))
    members = draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))
    return table, data, ahead, members


@given(averaged())
@settings(deadline=None, max_examples=60)
def test_averages_are_those_written_out(case):
    table, data, ahead, members = case
    functions = FiniteQClass([table])
    values = state_value_averages(functions, 1, data, members)
    cells = Cells.of(functions, 1, data)
    found = risks(functions, 1, cells, ahead[members], members)
    for j, i in enumerate(members):
        best = [max(table[i, x]) for x in data.observations]
        assert values[j] == data.expectation_exact(best)
        squares = [
            (table[i, x, a] - r - ahead[i, a]) ** 2
            for x, a, r in zip(
                data.observations, data.actions, data.exact_rewards, strict=True
            )
        ]
        assert found[j] == data.expectation_exact(squares)


def test_averages_on_features_decode_and_take_floats_as_they_are():
    functions = FiniteQClass(
        [[[[0.1, 0.7], [0.2, 0.3]]]], [lambda x: x[:, 0].astype(np.int64)]
    ).as_exact()
    data = EmpiricalMeasure(
        np.array([[0.0], [1.0], [0.0], [0.0]]),
        actions=[0, 1, 1, 1],
        rewards=[0.5, 0.1, 0.3, 0.3],
    )
    (value,) = state_value_averages(functions, 1, data, [0])
    assert value == (3 * Fraction(0.7) + Fraction(0.3)) / 4
    ahead = np.array([[Fraction(0), Fraction(1, 3)]], dtype=object)
    (risk,) = risks(functions, 1, Cells.of(functions, 1, data), ahead, [0])
    third = Fraction(1, 3)
    squares = [
        (Fraction(0.1) - HALF) ** 2,
        (Fraction(0.3) - Fraction(0.1) - third) ** 2,
        2 * (Fraction(0.7) - Fraction(0.3) - third) ** 2,
    ]
    assert risk == sum(squares) / 4


def test_averages_refuse_what_is_missing():
    exact, floats = FiniteQClass([[[[1, 0]]]]), FiniteQClass([[[[0.5, 0.0]]]])
    data = EmpiricalMeasure([0])
    with pytest.raises(ValueError, match="actions or rewards"):
        Cells.of(exact, 1, data)
    with pytest.raises(ValueError, match="floats"):
        state_value_averages(floats, 1, data, [0])


# ---------------------------------------------------------------- parameters


def test_the_theorems_constants():
    p = LsveeTheorem(0.3, 0.1, M=2, K=2, H=3, N=64)
    phi = 0.3 / (320 * 9 * math.sqrt(2))
    assert math.isclose(p.phi, phi, rel_tol=1e-12)
    share = 0.05 / (2 * 2 * 2 * 3)
    assert math.isclose(p.first.n_test, 2 * math.log(128 / share) / phi**2)
    fits = math.log(256 / (0.05 / (2 * 2 * 3)))
    assert math.isclose(p.first.n_train, 24 * fits / phi**2)
    excess = 22 * fits / p.first.n_train
    assert math.isclose(p.first.slack, 2 * phi**2 + excess)
    assert p.n_exp == math.ceil(8 * math.log(6 * 6 / 0.1) / 0.3)
    assert p.n_eval == math.ceil(32 * math.log(12 * 6 / 0.1) / 0.09)
    demand = 0.1 / (6 * 2 * 9 * p.n_exp) / 24
    assert math.isclose(p.on_demand.n_test, 2 * math.log(128 / demand) / phi**2)
    for level in (1, 2):
        recalled = 20 * (3 - (level - 1) - 1.25) * math.sqrt(2) * phi
        assert math.isclose(p.tolerance(level), recalled)
    assert p.tolerance(3) == 0
    assert p.to_json()["N"] == 64
    assert LsveeTheorem(0.3, 0.1, 2, 2, 3, 64, "paper").first == p.first


@given(
    st.fractions(min_value=0, max_value=10**6),
    st.integers(0, 200),
)
@settings(deadline=None, max_examples=50)
def test_roots_are_rounded_down(value, exponent):
    value /= 2**exponent
    root = root_down(value)
    assert root**2 <= value <= (root * (1 + Fraction(1, 2**60))) ** 2


@pytest.mark.parametrize(
    ("eps", "delta", "M", "K", "H", "N", "name"),
    [
        (0, 0.1, 1, 1, 1, 1, "epsilon"),
        (1, 0.1, 1, 1, 1, 1, "epsilon"),
        (math.nan, 0.1, 1, 1, 1, 1, "no finite number"),
        (0.3, 0, 1, 1, 1, 1, "delta"),
        (0.3, 0.1, 0, 1, 1, 1, "M"),
        (0.3, 0.1, 1, 1.5, 1, 1, "K"),
        (0.3, 0.1, 1, 1, True, 1, "H"),
        (0.3, 0.1, 1, 1, 1, 0, "N"),
    ],
)
def test_bad_parameters(eps, delta, M, K, H, N, name):
    for kind in (LsveeTheorem, LsveePractical):
        with pytest.raises(ValueError, match=name):
            kind(eps, delta, M, K, H, N)


@pytest.mark.parametrize(
    "chosen",
    [
        {"n_test": 0},
        {"n_train": 0},
        {"slack": -0.1},
        {"tolerance": -0.1},
        {"n_exp": 0},
        {"n_eval": 0},
        {"max_eliminations": 0},
        {"max_iterations": 0},
    ],
)
def test_bad_practical_parameters(chosen):
    with pytest.raises(ValueError, match=next(iter(chosen))):
        LsveePractical(0.3, 0.1, 2, 2, 3, 4, **chosen)
    with pytest.raises(ValueError, match="n_eval"):
        LsveePractical(0.3, 0.1, 2, 2, 3, 4, n_exp=20, n_eval=10)
    with pytest.raises(ValueError, match="version"):
        LsveeTheorem(0.3, 0.1, 2, 2, 3, 4, "practical")
    with pytest.raises(ValueError, match="level"):
        LsveeTheorem(0.3, 0.1, 2, 2, 3, 4).tolerance(4)


# ------------------------------------------------------------------ one run


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
def test_exploration_on_demand_learns_what_consensus_pruned(horizon):
    made = misled_at(horizon)
    p, recorder = theorem(made.environment, made.functions), Recorder()
    rng = np.random.default_rng(0)
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


def test_one_sampled_successor_would_prefer_a_wrong_function():
    made = noisy_successor()
    rng = np.random.default_rng(0)
    wrong, right = one_sample_risks(made, (), 10**6, rng)
    assert (wrong, right) == (0, Fraction(1, 4))
    p, recorder = theorem(made.environment, made.functions), Recorder()
    assert monitored(made.environment, made.functions, p, rng, recorder).succeeded
    assert recorder.eliminations[0].kept.tolist() == [True, True]


def test_ties_are_kept():
    """Functions that differ only where nothing is observed stay, all of them."""
    env = from_lists(
        [
            [("s", {"x": 1}, {"x": [0, 0]}, ["t", "t"])],
            [("t", {"y": 1}, {"y": [0, 1]}, []), ("u", {"z": 1}, {"z": [1, 0]}, [])],
        ]
    )
    below = [[[0, 1], [0, Fraction(i, 4)]] for i in range(5)]
    functions = FiniteQClass([[[[1, 1]]] * 5, below])
    recorder = Recorder()
    rng = np.random.default_rng(0)
    result = monitored(env, functions, theorem(env, functions), rng, recorder)
    assert result.succeeded
    assert recorder.eliminations[-1].survivors.tolist() == [0, 1, 2, 3, 4]
    assert env.truth.policy_value(result.policies) == 1


def test_equal_values_agree_and_equal_risks_stay_whatever_is_allowed():
    """Tolerance 0 and slack 0: comparisons are exact, and ties pass."""
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


def test_what_does_not_fit_is_refused():
    env = make("random-finite", 0)
    functions = make_q_class(env, np.random.default_rng(0), size=8)
    rng = np.random.default_rng(0)
    for sizes, message in (
        ((1, 2, 3, 8), "M: 1"),
        ((2, 3, 3, 8), "K: 3"),
        ((2, 2, 4, 8), "H: 4"),
        ((2, 2, 3, 9), "N: 9"),
    ):
        with pytest.raises(ValueError, match=message):
            lsvee(env, functions, LsveeTheorem(0.3, 0.1, *sizes), rng)
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


# ------------------------------------------------------------------ monitors


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
    monitors = LsveeMonitors(made.environment, made.functions, p)
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


# ----------------------------------------------------------------- the theorem


def epsilon_optimal(count, **options):
    """How many of so many random runs are ε-optimal; monitors must be clean."""
    good = 0
    for seed in range(count):
        env = make("random-finite", seed, **options)
        rng = np.random.default_rng([seed, 1])
        functions = make_q_class(env, rng)
        p = theorem(env, functions)
        result = monitored(env, functions, p, rng)
        assert not result.contradictions
        assert result.trajectories <= p.trajectory_bound
        value = env.truth.policy_value(result.policies)
        good += result.succeeded and env.truth.optimal_value - value <= p.eps
    return good


def test_epsilon_optimal_in_a_few_runs():
    assert epsilon_optimal(10) == 10


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"states": 3, "actions": 3, "horizon": 4}])
def test_epsilon_optimal_in_a_share_of_1_minus_delta(options):
    good, runs = epsilon_optimal(100, **options), 100
    lower = beta.ppf(0.01, good, runs - good + 1)  # Clopper and Pearson, 99%
    print(f"{good} of {runs} ε-optimal: share above {lower:.3f}")
    assert lower >= 0.9


# ------------------------------------------------------ values and policies apart


@pytest.mark.parametrize("name", ["random-finite", "grid", "lock"])
def test_functions_taken_apart_stay_realizable(name):
    env = make(name, 2)
    functions = make_q_class(env, np.random.default_rng(0), size=20)
    values, policies = decoupled(functions)
    for h in range(1, env.horizon + 1):
        assert len(values.at_level(h)) <= 20
        if env.space(h).is_finite:
            x = np.arange(env.space(h).n_codes)
        else:
            state = next(iter(env.truth.reachable(h)))
            x = env.truth.emission.listed(h, state)
        best = functions.state_values(h, x).astype(np.float64).tolist()
        found = values.at_level(h).evaluate_all(x).astype(np.float64).tolist()
        assert {*map(tuple, best)} == {*map(tuple, found)}
        greedy = {*map(tuple, functions.actions(h, x).tolist())}
        assert greedy == {*map(tuple, policies.at_level(h).evaluate_all(x).tolist())}
    if name != "lock":
        assert realizability(env, values, policies).holds
