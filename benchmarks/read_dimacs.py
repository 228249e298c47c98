"""Reading and normalising against PySAT's own reader, as the formula grows.

Run from the top folder:

    python -m benchmarks.read_dimacs [--clauses 25000 50000 100000 200000]

Every line compares within this run: the least of several repetitions of ours
against the same of PySAT's (a C extension), which reads less and checks less.
The ratios should not grow with the number of clauses.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.dimacs_write import write_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.random_formula import random_ksat
from pysat.formula import CNF, WCNF


def least_seconds(function, repetitions):
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def mixed_widths(n, m, rng):
    """Clauses of one to seven literals; some variables repeat."""
    widths = rng.integers(1, 8, size=m)
    offsets = np.concatenate([[0], np.cumsum(widths)])
    signs = rng.choice([-1, 1], size=offsets[-1])
    return Formula(n, signs * rng.integers(1, n + 1, size=offsets[-1]), offsets)


def weighted(formula, rng):
    weights = rng.integers(1, 1000, size=len(formula))
    return Formula(formula.n_variables, formula.literals, formula.offsets, weights)


def with_comments(text):
    """A comment in front of every tenth line."""
    lines = text.splitlines(keepends=True)
    for i in range(1, len(lines), 10):
        lines[i] = "c a comment with 1 2 3 0 in it\n" + lines[i]
    return "".join(lines)


def write_inputs(folder, m, seed):
    rng = np.random.default_rng(seed)
    uniform = random_ksat(m // 3, m, 3, rng)
    formulas = {
        "3-SAT": uniform,
        "mixed widths": mixed_widths(m // 3, m, rng),
        "weighted": weighted(uniform, rng),
    }
    paths = {}
    for name, formula in formulas.items():
        paths[name] = folder / f"{name}.{'w' * formula.is_weighted}cnf"
        write_dimacs(formula, paths[name])
    paths["comments"] = folder / "comments.cnf"
    paths["comments"].write_text(with_comments(paths["3-SAT"].read_text()))
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = [25_000, 50_000, 100_000, 200_000]
    parser.add_argument("--clauses", type=int, nargs="+", default=sizes)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"seed {options.seed}; milliseconds, least of {options.repetitions}")
    columns = ("clauses", "input", "PySAT", "read", "read/PySAT", "3-SAT form")
    print("{:>9} {:<14}{:>9}{:>9}{:>12}{:>12}".format(*columns))
    for m in options.clauses:
        with tempfile.TemporaryDirectory() as folder:
            for name, path in write_inputs(Path(folder), m, options.seed).items():
                theirs = WCNF if path.suffix == ".wcnf" else CNF
                pysat, read, form = (
                    1000 * least_seconds(function, options.repetitions)
                    for function in (
                        lambda theirs=theirs, path=path: theirs(from_file=str(path)),
                        lambda path=path: read_dimacs(path),
                        read_dimacs(path).formula.three_sat,
                    )
                )
                print(
                    f"{m:>9} {name:<14}{pysat:>9.1f}{read:>9.1f}"
                    f"{read / pysat:>12.2f}{form:>12.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
