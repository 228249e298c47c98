"""LSVEE's averages and constants; each claim fails right above its bound only."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.assumptions.checks import realizability
from olivine.algorithms.classes import FiniteQClass, TabularPolicy
from olivine.algorithms.environments import from_lists, make
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.draw_classes import make_q_class
from olivine.algorithms.learning.events import Iteration
from olivine.algorithms.learning.problem import LearningResult, Problem
from olivine.algorithms.lsvee import LsveeMonitors, LsveePractical, LsveeTheorem, lsvee
from olivine.algorithms.lsvee.algorithm import (
    Cells,
    Consensus,
    Elimination,
    Start,
    risks,
    state_value_averages,
)
from olivine.algorithms.lsvee.parameters import root_down
from olivine.claims.instances import decoupled

from tests.support.depth import with_rows
from tests.support.refusals import refused

HALF = Fraction(1, 2)


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


def test_averages_on_features_are_floats_and_refuse_what_is_missing():
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
    exact, floats = FiniteQClass([[[[1, 0]]]]), FiniteQClass([[[[0.5, 0.0]]]])
    data = EmpiricalMeasure([0])
    refused("actions or rewards", Cells.of, exact, 1, data)
    refused("floats", state_value_averages, floats, 1, data, [0])


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


@given(st.fractions(min_value=0, max_value=10**6), st.integers(0, 200))
def test_roots_are_rounded_down(value, exponent):
    value /= 2**exponent
    root = root_down(value)
    assert root**2 <= value <= (root * (1 + Fraction(1, 2**60))) ** 2


@with_rows(
    "eps, delta, M, K, H, N, name",
    (0, 0.1, 1, 1, 1, 1, "epsilon"),
    (1, 0.1, 1, 1, 1, 1, "epsilon"),
    (math.nan, 0.1, 1, 1, 1, 1, "no finite number"),
    (0.3, 0, 1, 1, 1, 1, "delta"),
    (0.3, 0.1, 0, 1, 1, 1, "M"),
    (0.3, 0.1, 1, 1.5, 1, 1, "K"),
    (0.3, 0.1, 1, 1, True, 1, "H"),
    (0.3, 0.1, 1, 1, 1, 0, "N"),
)
def test_bad_parameters(eps, delta, M, K, H, N, name):
    for kind in (LsveeTheorem, LsveePractical):
        refused(name, kind, eps, delta, M, K, H, N)


@with_rows(
    "chosen",
    {"n_test": 0},
    {"n_train": 0},
    {"slack": -0.1},
    {"tolerance": -0.1},
    {"n_exp": 0},
    {"n_eval": 0},
    {"max_eliminations": 0},
    {"max_iterations": 0},
)
def test_bad_practical_parameters(chosen):
    refused(next(iter(chosen)), LsveePractical, 0.3, 0.1, 2, 2, 3, 4, **chosen)
    refused("n_eval", LsveePractical, 0.3, 0.1, 2, 2, 3, 4, n_exp=20, n_eval=10)
    refused("version", LsveeTheorem, 0.3, 0.1, 2, 2, 3, 4, "practical")
    refused("level", LsveeTheorem(0.3, 0.1, 2, 2, 3, 4).tolerance, 4)


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


EPS = Fraction(3, 10)


class Kept:
    def __init__(self):
        self.tests, self.eliminations = [], []

    def __call__(self, event):
        match event:
            case Consensus():
                self.tests.append(event)
            case Elimination():
                self.eliminations.append(event)


def idle(horizon, claims):
    """One state a level, one action, no reward: members of F claim so much for good.

    Q* is 0, member 0. With K = 1, √K φ is φ.
    """
    levels = [
        [(f"s{h}", {"x": 1}, {"x": [0]}, [] if h == horizon else [f"s{h + 1}"])]
        for h in range(1, horizon + 1)
    ]
    env = from_lists(levels)
    functions = FiniteQClass([[[[v]] for v in [0, *claims]]] * horizon)
    p = LsveeTheorem(EPS, Fraction(1, 10), 1, 1, horizon, 1 + len(claims))
    return env, functions, p


def watched(env, functions, p):
    """What happens in a run, and monitors that have seen nothing of it."""
    seen = Kept()
    lsvee(env, functions, p, np.random.default_rng(0), observers=[seen])
    return seen, LsveeMonitors(Problem(env, functions), p)


def holds(monitors, name):
    nothing = LearningResult("lsvee", "", "success", None, None, 0, {})
    return monitors.reports(nothing)[name].holds


near = pytest.mark.parametrize(("factor", "good"), [(0.99, True), (1.01, False)])


def phi(horizon):
    return EPS / (320 * horizon**2)


@near
def test_elimination(factor, good) -> None:
    """Survivors err by 5φ/2 at most, their values by 5φ; H = 1."""
    for name, times in (("td-errors", Fraction(5, 2)), ("value-accuracy", 5)):
        claimed = Fraction(factor) * times * phi(1)
        env, functions, p = idle(1, [claimed])
        seen, monitors = watched(env, functions, p)
        (done,) = seen.eliminations
        kept = np.array([True, True])
        monitors(dataclasses.replace(done, kept=kept))
        assert holds(monitors, name) is good


@near
def test_excess_risks(factor, good) -> None:
    """Bernstein: off by √(18 e ρ) + 5ρ/3 at most, e the squared Bellman error."""
    claimed = Fraction(1, 2)
    env, functions, p = idle(1, [claimed])
    seen, monitors = watched(env, functions, p)
    (done,) = seen.eliminations
    rate, error = done.sizes.rate, claimed**2
    bound = float(18 * error * rate) ** 0.5 + float(5 * rate / 3)
    for sign in (1, -1):
        monitors = LsveeMonitors(Problem(env, functions), p)
        risks = np.array(
            [Fraction(0), error + sign * Fraction(factor * bound)], dtype=object
        )
        monitors(dataclasses.replace(done, risks=risks))
        assert holds(monitors, "risk-deviations") is good
        monitors = LsveeMonitors(Problem(env, functions), p)
        right = sign * Fraction(factor) * Fraction(5, 3) * rate  # e = 0
        risks = np.array([right, error], dtype=object)
        monitors(dataclasses.replace(done, risks=risks))
        assert holds(monitors, "risk-deviations") is good


@near
def test_consensus(factor, good) -> None:
    """Values that are said to agree differ by tol + φ; H = 2."""
    tolerance = (2 - 1 - Fraction(1, 4)) * EPS / (16 * 4)
    env, functions, p = idle(2, [Fraction(factor) * (tolerance + phi(2))])
    seen, monitors = watched(env, functions, p)
    first = dataclasses.replace(seen.tests[0], agreed=True)
    monitors(first)
    assert holds(monitors, "consensus") is good
    off = Fraction(factor) * phi(2) / 2
    values = np.array([v + off for v in first.values], dtype=object)
    monitors(dataclasses.replace(first, values=values))
    assert holds(monitors, "test-deviations") is good


@near
def test_futures(factor, good) -> None:
    """V̂^f differ by tol, and by tol + φ/2 from V*; H = 2."""
    tolerance = (2 - 1 - Fraction(1, 4)) * EPS / (16 * 4)
    env, functions, p = idle(2, [tolerance / 2])  # so the test agrees, both stay
    seen, _ = watched(env, functions, p)
    root = next(e for e in seen.eliminations if e.path == ())
    spread = [Fraction(0), Fraction(factor) * tolerance]
    away = [Fraction(factor) * (tolerance + phi(2) / 2)] * 2
    for futures in (spread, away):
        monitors = LsveeMonitors(Problem(env, functions), p)
        column = np.array(futures, dtype=object)[:, None]
        monitors(dataclasses.replace(root, futures=column))
        assert holds(monitors, "futures") is good


@near
def test_policies(factor, good) -> None:
    """Where all is learned a policy loses 3φ to its function; H = 1."""
    env, functions, p = idle(1, [Fraction(factor) * 3 * phi(1)])
    seen, monitors = watched(env, functions, p)
    (done,) = seen.eliminations
    monitors(dataclasses.replace(done, kept=np.array([False, True])))
    policy = [TabularPolicy(np.array([0]))]
    late = Fraction(factor) * EPS / 8
    monitors(Iteration(1, policy, Fraction(0), Fraction(0), True))
    assert holds(monitors, "policy-bound") is good
    assert monitors._first == 1
    monitors(Start(0, late))
    assert holds(monitors, "start-estimate") is good


def test_progress() -> None:
    """A rejected policy must be followed by a new learned state."""
    env, functions, p = idle(2, [Fraction(1, 2)])
    seen, monitors = watched(env, functions, p)
    policy = [TabularPolicy(np.array([0]))] * 2
    rejected = Iteration(1, policy, Fraction(1), Fraction(0), False)
    root = next(e for e in seen.eliminations if e.path == ())
    monitors(root)
    monitors(rejected)
    monitors(next(e for e in seen.eliminations if e.path == (0,)))
    assert holds(monitors, "progress") is True
    monitors(rejected)
    monitors(root)  # again: that is no new state
    assert holds(monitors, "progress") is False


def test_all_of_them_hold_of_an_honest_run() -> None:
    env, functions, p = idle(2, [Fraction(1, 100), Fraction(1, 2)])
    monitors = LsveeMonitors(Problem(env, functions), p)
    result = lsvee(env, functions, p, np.random.default_rng(0), observers=[monitors])
    assert all(report.holds for report in monitors.reports(result).values())
