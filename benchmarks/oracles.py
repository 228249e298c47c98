"""The oracles against the least that the same data cost.

Squares and classification beside a pass of ``numpy.add.at`` that makes the same sums,
the LP oracle beside a direct call of HiGHS with the same matrix, and a program to which
a constraint is added beside a fresh one. The sums stand in one dimension, where
``add.at`` is fastest: adding rows to rows of a table takes four times as long. A pass
of ``numpy.bincount`` takes 0.9 to 1.1 times as long as one of ``add.at``. What the data
keep for the next call is made once: probabilities, and for squares the mass of each
observation.

    python -m benchmarks oracles
"""

from __future__ import annotations

from collections.abc import Iterator

import highspy
import numpy as np
from olivine.algorithms.classes import TabularPolicyClass, TabularValueClass
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles import random_lp
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.least_squares import least_squares
from olivine.algorithms.oracles.lp import ValueProgram, lp

from benchmarks.figures import Figure, in_turns


def sums(n: int, size: int, k: int, repeats: int) -> Iterator[Figure]:
    """CSC and LS over n rows and `size` observations."""
    rng = np.random.default_rng(0)
    codes, weights = rng.integers(0, size, n), rng.integers(1, 100, n)
    data = EmpiricalMeasure(codes, weights=weights)
    shares = data.probabilities
    costs, wanted = rng.random((n, k)), rng.random(n)
    places = (codes[:, np.newaxis] * k + np.arange(k)).ravel()
    policies, values = TabularPolicyClass(size, k), TabularValueClass(size)

    def classify() -> None:
        csc(policies, data, costs, epsilon_sub=1e-6)

    def fit() -> None:
        least_squares(values, data, wanted, epsilon_sub=1e-6)

    def add_costs() -> None:
        weighted = (shares[:, np.newaxis] * costs).ravel()
        np.add.at(np.zeros(size * k), places, weighted)

    def add_wanted() -> None:
        np.add.at(np.zeros(size), codes, shares * wanted)

    note = f"n = {n}, |X| = {size}"
    ratio = in_turns(classify, add_costs, repeats).ratio
    yield Figure("CSC / add.at", ratio, "ratio", 3, f"{note}, K = {k}")
    ratio = in_turns(fit, add_wanted, repeats).ratio
    yield Figure("LS / add.at", ratio, "ratio", 3, note)


def direct_highs(problem) -> highspy.Highs:
    """The same program handed to HiGHS as one dense matrix, and solved."""
    size = problem.n_observations
    matrix = np.array([c.functional.coefficients for c in problem.constraints])
    low, high = np.array([c.interval for c in problem.constraints]).T
    rows, columns = matrix.shape
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("primal_feasibility_tolerance", 1e-9)
    highs.setOptionValue("dual_feasibility_tolerance", 1e-9)
    none = np.zeros(0, dtype=np.int32)
    highs.addCols(
        size,
        -problem.objective.coefficients,
        np.zeros(size),
        np.ones(size),
        0,
        none,
        none,
        np.zeros(0),
    )
    starts = np.arange(0, rows * columns, columns, dtype=np.int32)
    indices = np.tile(np.arange(columns, dtype=np.int32), rows)
    highs.addRows(rows, low, high, rows * columns, starts, indices, matrix.ravel())
    highs.run()
    return highs


def programs(size: int, rows: int, repeats: int) -> Iterator[Figure]:
    problem = random_lp(np.random.default_rng(0), size, rows)
    accuracies = {"epsilon_sub": 1e-6, "epsilon_feas": 1e-6}
    values = TabularValueClass(size)
    arguments = (values, problem.objective, problem.constraints)
    found = lp(*arguments, **accuracies)
    assert not found.exact
    assert found.honoured
    note = f"|X| = {size}, {rows} constraints"

    def fresh() -> None:
        lp(*arguments, **accuracies)

    ratio = in_turns(fresh, lambda: direct_highs(problem), repeats).ratio
    yield Figure("LP / direct HiGHS", ratio, "ratio", 3, note)
    grown = []
    for _ in range(repeats):
        program = ValueProgram(values, problem.constraints[:-1])
        program.optimise(problem.objective, **accuracies)
        program.add(problem.constraints[-1])
        grown.append(program)

    def again() -> None:
        grown.pop().optimise(problem.objective, **accuracies)

    ratio = in_turns(again, fresh, repeats).ratio
    yield Figure("LP, one more constraint / fresh", ratio, "ratio", 1, note)


def figures(full: bool) -> Iterator[Figure]:
    """Measure: a million rows and a thousand observations; fewer rows when quick."""
    yield from sums(1_000_000 if full else 250_000, 10_000, 8, 15)
    yield from programs(1000, 100, 15)
