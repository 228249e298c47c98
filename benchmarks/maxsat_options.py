"""Which options of RC2 to use: seconds a configuration and formula.

Usage: python -m benchmarks.maxsat_options [seconds a call]

Rows: RC2 plain or stratified, its oracle and, as 0 or 1, adapt, exhaust and minz.
"-" is a time limit reached; "*" marks what `olivine.solvers.sat.maxsat` uses.
"""

import sys

import numpy as np
from olivine.solvers.child.child import run_in_child
from pysat.examples.rc2 import RC2, RC2Stratified
from pysat.formula import WCNF

FLAGS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 1, 1), (1, 1, 1)]


def problems(rng):
    for n, m in ((9, 130), (50, 218), (100, 430), (40, 280), (60, 330)):
        rows = [
            ((rng.permutation(n)[:3] + 1) * rng.choice([-1, 1], 3)).tolist()
            for _ in range(m)
        ]
        for top in (1, 5, 10**6):
            yield f"{n}/{m}/{top}", rows, rng.integers(1, top + 1, m).tolist()


def run(rows, weights, stratified, options):
    formula = WCNF()
    formula.extend([list(row) for row in rows], weights)
    solver = RC2Stratified if stratified else RC2
    if stratified:
        options = options | {"blo": "full"}
    with solver(formula, **options) as rc2:
        rc2.compute()
        return rc2.cost


def main(time_limit=10.0):
    cases = list(problems(np.random.default_rng(1)))
    print(" " * 22, *(f"{name:>12}" for name, _, _ in cases))
    for stratified in (False, True):
        for oracle in ("glucose3", "cadical153", "minicard"):
            for adapt, exhaust, minz in FLAGS:
                row = []
                for _, rows, weights in cases:
                    options = {"adapt": adapt, "exhaust": exhaust, "minz": minz}
                    options["solver"] = oracle
                    result = run_in_child(
                        run, rows, weights, stratified, options, time_limit=time_limit
                    )
                    done = result.status == "done"
                    used = (stratified, oracle, adapt, exhaust) == (
                        True,
                        "glucose3",
                        1,
                        1,
                    ) and bool(minz) == (max(weights) > 1)
                    text = f"{result.seconds:.2f}" if done else "-"
                    row.append(f"{text + '*' * used:>12}")
                name = "stratified" if stratified else "plain"
                head = f"{name} {oracle} {adapt}{exhaust}{minz}"
                print(f"{head:22}", *row, flush=True)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
