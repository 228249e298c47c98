"""Speed of the oracles against the least that the same data cost.

Run from the project's folder: ``python -m benchmarks.oracles``. Ratios are within
one run; the goals are those of the issue: CSC and LS within 3 passes of
``numpy.bincount`` or ``numpy.add.at`` over the same data, the LP oracle under 3
direct HiGHS calls with the same matrix, and repeated calls cheaper than fresh
ones. Sizes double, so that growth shows.
"""

import argparse
import time

import highspy
import numpy as np
from olivine.algorithms.classes import TabularPolicyClass, TabularValueClass
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.least_squares import least_squares
from olivine.algorithms.oracles.lp import ValueProgram, lp
from olivine.algorithms.oracles.problems import random_lp


def best(run, repeats=15):
    """Least CPU time of several runs, in seconds: other processes do not count."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def show(name, size, seconds, base_name, base):
    print(
        f"{name:<10} {size:<28} {1e3 * seconds:9.2f} ms   {base_name:<18}"
        f"{1e3 * base:9.2f} ms   ratio {seconds / base:6.2f}"
    )


def classification(n, size, k, rng):
    codes = rng.integers(0, size, n)
    costs = rng.random((n, k))
    weights = rng.integers(1, 100, n)
    policies = TabularPolicyClass(size, k)
    data = EmpiricalMeasure(codes, weights=weights)
    shares = data.probabilities
    seconds = best(lambda: csc(policies, data, costs, epsilon_sub=1e-6))
    label = f"n={n} |X|={size} K={k}"

    def bincounts():
        for a in range(k):
            np.bincount(codes, weights=shares * costs[:, a], minlength=size)

    def add_at():
        np.add.at(np.zeros((size, k)), codes, costs)

    show("CSC", label, seconds, "bincount per action", best(bincounts))
    show("CSC", label, seconds, "add.at", best(add_at))


def regression(n, size, rng):
    codes, targets = rng.integers(0, size, n), rng.random(n)
    weights = rng.integers(1, 100, n)
    values = TabularValueClass(size)
    data = EmpiricalMeasure(codes, weights=weights)
    shares = data.probabilities
    seconds = best(lambda: least_squares(values, data, targets, epsilon_sub=1e-6))
    label = f"n={n} |X|={size}"

    def bincount():
        np.bincount(codes, weights=shares * targets, minlength=size)

    def add_at():
        np.add.at(np.zeros(size), codes, shares * targets)

    def measure():
        return EmpiricalMeasure(codes, weights=weights).probabilities

    show("(measure)", label, best(measure), "bincount", best(bincount))
    show("LS", label, seconds, "bincount", best(bincount))
    show("LS", label, seconds, "add.at", best(add_at))


def direct_highs(problem):
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


def programs(size, rows, seed):
    problem = random_lp(np.random.default_rng(seed), size, rows)
    accuracies = {"epsilon_sub": 1e-6, "epsilon_feas": 1e-6}
    values = TabularValueClass(size)
    arguments = (values, problem.objective, problem.constraints)
    found = lp(*arguments, **accuracies)
    assert not found.exact
    assert found.honoured
    label = f"|X|={size} rows={rows}"
    base = best(lambda: direct_highs(problem))
    show("LP", label, best(lambda: lp(*arguments, **accuracies)), "direct HiGHS", base)

    last = problem.constraints[-1]
    times = []
    for _ in range(5):
        program = ValueProgram(values, problem.constraints[:-1])
        program.optimise(problem.objective, **accuracies)
        program.add(last)
        start = time.process_time()
        program.optimise(problem.objective, **accuracies)
        times.append(time.process_time() - start)
    show("LP again", label, min(times), "direct HiGHS", base)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    rng = np.random.default_rng(seed)
    print(f"seed {seed}, best of 15")
    for n in (250_000, 500_000, 1_000_000):
        classification(n, 10_000, 8, rng)
    for n in (250_000, 500_000, 1_000_000):
        regression(n, 10_000, rng)
    for size in (250, 500, 1000):
        programs(size, size // 10, seed)


if __name__ == "__main__":
    main()
