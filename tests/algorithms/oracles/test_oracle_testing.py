"""The harness catches what it is for; the page about it runs; the claims hold."""

import runpy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from olivine.algorithms import oracles
from olivine.algorithms.classes import TabularPolicy, TabularValue, TabularValueClass
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles import scaled_integers, summation_bound, testing
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.least_squares import least_squares
from olivine.algorithms.oracles.lp import Constraint, Functional, LpStatus, lp

from tests.support.depth import with_rows

PAGE = Path(__file__).parents[3] / "docs" / "oracles.md"


def test_the_page_about_oracles_runs(tmp_path):
    # As a file of its own, line by line: Hypothesis reads a test's source.
    lines, inside = [], False
    for line in PAGE.read_text("utf-8").splitlines():
        fence = line.startswith("```")
        lines.append(line if inside and not fence else "")
        inside = line == "```python" if fence else inside
    script = tmp_path / "oracles_page.py"
    script.write_text("\n".join(lines), "utf-8")
    assert runpy.run_path(str(script))["measured"].exponent > 1


def csc_case():
    costs = np.array([[0.0, 1.0], [1.0, 0.0]])
    return oracles.CscProblem(2, 2, EmpiricalMeasure([0, 1]), costs)


@with_rows(
    "spoil, message",
    (lambda r: replace(r, policy=TabularPolicy(np.array([0, 0]))), "suboptimality"),
    (lambda r: replace(r, cost=0.25), "cost reported"),
    (lambda r: replace(r, operations=10**6), "operations: 1000000 exceed"),
    (lambda r: replace(r, operations=None), "operations: not reported"),
)
def test_wrong_csc_oracles_are_caught(spoil, message):
    def oracle(*args, **kwargs):
        return spoil(csc(*args, **kwargs))

    with pytest.raises(AssertionError, match=message):
        testing.verify_csc(oracle, csc_case(), epsilon_sub=1e-6, operations=100)


def test_an_optimum_that_is_none_is_caught():
    with pytest.raises(AssertionError, match="cost against optimum"):
        testing.verify_csc(csc, csc_case(), epsilon_sub=1, optimum=Fraction(1, 2))


@with_rows(
    "spoil, message",
    (lambda r: replace(r, function=TabularValue(np.ones(2))), "suboptimality"),
    (lambda r: replace(r, loss=0.7), "loss reported"),
    (lambda r: replace(r, operations=0), "operations: 0"),
    (lambda r: replace(r, function=lambda x: 2.0 * np.ones(len(x))), "outside"),
)
def test_wrong_ls_oracles_are_caught(spoil, message):
    def oracle(*args, **kwargs):
        return spoil(least_squares(*args, **kwargs))

    problem = oracles.LeastSquaresProblem(
        2, EmpiricalMeasure([0, 1]), np.array([0.0, 0.5])
    )
    with pytest.raises(AssertionError, match=message):
        testing.verify_least_squares(oracle, problem, epsilon_sub=1e-6, operations=100)


@with_rows(
    "spoil, message",
    (lambda r: replace(r, function=TabularValue(np.ones(2))), "violation"),
    (lambda r: replace(r, function=TabularValue(np.zeros(2))), "suboptimality"),
    (lambda r: replace(r, status=LpStatus.INFEASIBLE, function=None), "feasible"),
    (lambda r: replace(r, operations=101), "operations: 101"),
)
def test_wrong_lp_oracles_are_caught(spoil, message):
    def oracle(*args, **kwargs):
        return spoil(replace(lp(*args, **kwargs), operations=1))

    mean = Functional([0, 1], [0.5, 0.5])
    problem = oracles.LpProblem(2, mean, (Constraint(mean, upper=0.75),), True)
    accuracies = {"epsilon_sub": 1e-6, "epsilon_feas": 1e-6}
    with pytest.raises(AssertionError, match=message):
        testing.verify_lp(oracle, problem, operations=100, **accuracies)


def test_a_violation_beyond_rounding_is_caught():
    """Of 3e-14 where the rounding of numbers up to 1 explains 2e-14."""
    mean = Functional([0], [1.0])
    problem = oracles.LpProblem(1, mean, (Constraint(mean, upper=0.5),), True)
    accuracies = {"epsilon_sub": 1e-6, "epsilon_feas": 1e-6}

    def off(by):
        function = TabularValue(np.array([0.5 + by]))

        def oracle(*given, **asked):
            found = lp(*given, **asked)
            return replace(found, function=function, value=0.5 + by, violation=0.0)

        return oracle

    testing.verify_lp(off(1e-14), problem, **accuracies)
    with pytest.raises(AssertionError, match="violation"):
        testing.verify_lp(off(3e-14), problem, **accuracies)


@given(testing.csc_problems(), testing.least_squares_problems())
def test_problems_are_small_unless_asked_otherwise(costs, squares):
    assert max(costs.n_observations, squares.n_observations) <= 5
    assert max(len(costs.data), len(squares.data)) <= 8


def test_growth_and_random_problems_are_as_asked_for(rng):
    sizes = [2, 4, 8, 16]
    assert testing.growth(lambda n: 3 * n**2, sizes).exponent == pytest.approx(2)
    assert testing.growth(lambda n: 2**n, sizes).exponent > 3
    assert testing.growth(lambda n: n, [1, 8]).operations == (1, 8)
    with pytest.raises(ValueError, match="two positive"):
        testing.growth(lambda n: n, [4])
    with pytest.raises(ValueError, match="two positive"):
        testing.growth(lambda n: n, [0, 4])
    with pytest.raises(ValueError, match="not all positive"):
        testing.growth(lambda n: 0, sizes)
    problem = oracles.random_csc(rng, 7, 3, 2)
    assert (len(problem.data), problem.costs.shape) == (7, (7, 2))
    assert len(oracles.random_least_squares(rng, 5, 2).targets) == 5
    program = oracles.random_lp(rng, 6, 4)
    assert len(program.constraints) == 4
    assert lp(
        TabularValueClass(6),
        program.objective,
        program.constraints,
        epsilon_sub=1e-6,
        epsilon_feas=1e-6,
    ).feasible


@given(testing.csc_problems())
def test_scaled_integers_are_exact(problem):
    integers, scale = scaled_integers(problem.costs)
    for i, c in zip(integers.ravel(), problem.costs.ravel(), strict=True):
        assert i * scale == Fraction(float(c))
    halves = np.array([[Fraction(1, 2), Fraction(1, 3)]], dtype=object)
    integers, scale = scaled_integers(halves)
    assert (integers.tolist(), scale) == ([[3, 2]], Fraction(1, 6))
    assert scaled_integers(np.zeros(2))[0].tolist() == [0, 0]
    extremes = np.array([5e-324, -1.7e308, 0.0])
    integers, scale = scaled_integers(extremes)
    assert [i * scale for i in integers] == [Fraction(v) for v in extremes.tolist()]


@given(testing.csc_problems(max_rows=30))
def test_rounding_bounds_hold(problem):
    weights, costs = problem.data.probabilities, problem.costs[:, 0]
    rounded = float((weights * costs).sum())
    exact = problem.data.expectation_exact(costs)
    bound = summation_bound(len(costs), float(np.abs(costs).max()))
    assert abs(Fraction(rounded) - exact) <= Fraction(bound)


@given(testing.least_squares_problems(), testing.lp_problems())
@settings(max_examples=5)
def test_strategies_draw_valid_problems(regression, program):
    assert regression.data.codes().max() < regression.n_observations
    assert all(
        (c.functional.observations < program.n_observations).all()
        for c in program.constraints
    )
