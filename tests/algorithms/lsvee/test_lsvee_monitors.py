"""Each claim about LSVEE fails right above its bound, and not below it."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms.classes import FiniteQClass, TabularPolicy
from olivine.algorithms.environments import from_lists
from olivine.algorithms.learning.events import Iteration
from olivine.algorithms.learning.problem import LearningResult, Problem
from olivine.algorithms.lsvee import LsveeMonitors, LsveeTheorem, lsvee
from olivine.algorithms.lsvee.algorithm import Consensus, Elimination, Start

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
