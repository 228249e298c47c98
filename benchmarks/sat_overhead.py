"""What the child process adds to PySAT: ratios and differences within one run.

Usage: python -m benchmarks.sat_overhead [repetitions]

Random 3-SAT at three clauses a variable (planted sizes would change nothing:
these are satisfiable and easy) against PySAT called in this process on lists
that exist already.
"""

import statistics
import sys
import time

import numpy as np
from olivine.solvers.child import run_in_child
from olivine.solvers.clauses import Clauses, clause_lists, satisfied
from olivine.solvers.sat import solve_sat
from pysat.solvers import Solver


def random_clauses(n, m, rng):
    literals = rng.integers(1, n + 1, 3 * m) * rng.choice([-1, 1], 3 * m)
    return Clauses(literals.astype(np.int32), np.arange(0, 3 * m + 1, 3))


def in_process(lists):
    with Solver(name="cadical153", bootstrap_with=lists) as solver:
        solver.solve()
        return solver.get_model()


def seconds(function, *args):
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def main(repetitions=15):
    rng = np.random.default_rng(1)
    empty = statistics.median(seconds(run_in_child, int) for _ in range(50))
    print(f"empty call in a child: {1e3 * empty:.1f} ms")
    print("clauses  PySAT ms  solve_sat ms  ratio  +ms  satisfied() ms")
    for m in (100, 430, 1000, 10_000, 100_000, 300_000):
        clauses = random_clauses(max(m // 3, 3), m, rng)
        n = max(m // 3, 3)
        assignment = rng.random(n) < 0.5
        here, child, check = [], [], []
        for _ in range(repetitions):
            lists = clause_lists(clauses)
            here.append(seconds(in_process, lists))
            del lists
            child.append(seconds(solve_sat, clauses, n))
            check.append(seconds(satisfied, clauses, assignment))
        a, b = 1e3 * statistics.median(here), 1e3 * statistics.median(child)
        c = 1e3 * statistics.median(check)
        print(f"{m:7} {a:9.1f} {b:13.1f} {b / a:6.2f} {b - a:5.1f} {c:14.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
