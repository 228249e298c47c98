"""The oracles against the least that the same data cost.

Squares and classification beside a pass of ``numpy.bincount`` or ``numpy.add.at`` over
the same data, the LP oracle beside a direct call of HiGHS with the same matrix, and a
program to which a constraint is added beside a fresh one. CSC waits for memory and
``add.at`` for the processor: where that changes its clock, their ratio goes from a
quarter to a third.

    python -m benchmarks oracles
"""

from __future__ import annotations

from collections.abc import Iterator

import highspy
import numpy as np
from olivine.algorithms.classes import TabularPolicyClass, TabularValueClass
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.least_squares import least_squares
from olivine.algorithms.oracles.lp import ValueProgram, lp
from olivine.algorithms.oracles.problems import random_lp

from benchmarks.figures import Figure, cpu, in_turns


def sums(n: int, size: int, k: int, repeats: int) -> Iterator[Figure]:
    """CSC and LS over n rows and `size` observations."""
    rng = np.random.default_rng(0)
    codes, weights = rng.integers(0, size, n), rng.integers(1, 100, n)
    data = EmpiricalMeasure(codes, weights=weights)
    shares = data.probabilities
    costs, wanted = rng.random((n, k)), rng.random(n)
    policies, values = TabularPolicyClass(size, k), TabularValueClass(size)

    def classify() -> None:
        csc(policies, data, costs, epsilon_sub=1e-6)

    def fit() -> None:
        least_squares(values, data, wanted, epsilon_sub=1e-6)

    def bincounts() -> None:
        for a in range(k):
            np.bincount(codes, weights=shares * costs[:, a], minlength=size)

    def bincount() -> None:
        np.bincount(codes, weights=shares * wanted, minlength=size)

    def add_costs() -> None:
        np.add.at(np.zeros((size, k)), codes, costs)

    def add_wanted() -> None:
        np.add.at(np.zeros(size), codes, shares * wanted)

    note = f"n = {n}, |X| = {size}"
    for name, ours, theirs in (
        ("CSC / bincount", classify, bincounts),
        ("CSC / add.at", classify, add_costs),
        ("LS / bincount", fit, bincount),
        ("LS / add.at", fit, add_wanted),
    ):
        ratio = in_turns(ours, theirs, repeats).ratio
        more = f"{note}, K = {k}" if name.startswith("CSC") else note
        yield Figure(name, ratio, "ratio", 3, more)


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
    ratio, fresh, _ = in_turns(
        lambda: lp(*arguments, **accuracies), lambda: direct_highs(problem), repeats
    )
    yield Figure("LP / direct HiGHS", ratio, "ratio", 3, note)
    again = []
    for _ in range(3):
        program = ValueProgram(values, problem.constraints[:-1])
        program.optimise(problem.objective, **accuracies)
        program.add(problem.constraints[-1])
        again.append(cpu(lambda p=program: p.optimise(problem.objective, **accuracies)))
    yield Figure(
        "LP, one more constraint / fresh", min(again) / fresh, "ratio", 1, note
    )


def figures(full: bool) -> Iterator[Figure]:
    """Measure: a million rows and a thousand observations; fewer rows when quick."""
    yield from sums(1_000_000 if full else 250_000, 10_000, 8, 15)
    yield from programs(1000, 100, 15)
