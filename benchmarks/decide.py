"""Deciding through OLIVE's program against PySAT alone, on the same files.

Both sides run in one warm process, imports excluded, in turns; the best of
several runs counts. One side reads with PySAT's own reader and decides with
CaDiCaL in this process. The other reads, normalises, decides in a child process
and turns the model into the optimal pair, checked exactly.

Targets: at most 2 times on the planted formula with 100,000 clauses, at most
50 ms more on the small ones.

    python -m benchmarks.decide
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from olivine.reduction.family.instance import Instance
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.dimacs_write import write_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.verify.decision import decide
from pysat.formula import CNF
from pysat.solvers import Cadical153

CASES = Path(__file__).parent.parent / "tests" / "cases"


def by_pysat(path: str) -> bool:
    with Cadical153(bootstrap_with=CNF(from_file=path)) as solver:
        return bool(solver.solve())


def by_olivine(path: str) -> bool:
    decision = decide(Instance.of(read_dimacs(path).formula))
    assert decision.satisfiable is not None
    return decision.satisfiable


def steps(path: str) -> dict[str, float]:
    """Milliseconds of each step of our side, once."""
    from olivine.reduction.program.witness import back, check, forward
    from olivine.solvers.sat import Clauses, solve_sat

    marks = [time.perf_counter()]

    def mark() -> None:
        marks.append(time.perf_counter())

    formula = read_dimacs(path).formula
    mark()
    instance = Instance.of(formula)
    family = instance.family
    mark()
    offsets = np.arange(0, 3 * family.n_clauses + 1, 3)
    found = solve_sat(Clauses(family.clauses.ravel(), offsets), family.n_variables)
    mark()
    if found.model is not None:
        pair = forward(family, found.model)
        mark()
        check(family, pair)
        mark()
        back(family, pair)
        mark()
    names = ["read", "normalise", "decide", "forward", "check", "back"]
    times = np.diff(marks) * 1000
    return dict(zip(names, times.tolist(), strict=False))


def best(function: Callable[[str], bool], path: str) -> tuple[float, bool]:
    start = time.perf_counter()
    answer = function(path)
    return time.perf_counter() - start, answer


def compare(name: str, path: str, repeats: int) -> None:
    ours, theirs = float("inf"), float("inf")
    for _ in range(repeats):
        seconds, expected = best(by_pysat, path)
        theirs = min(theirs, seconds)
        seconds, answer = best(by_olivine, path)
        ours = min(ours, seconds)
        assert answer == expected
    print(
        f"{name:28} PySAT {theirs * 1e3:9.1f} ms   olivine {ours * 1e3:9.1f} ms   "
        f"ratio {ours / theirs:6.2f}   more {(ours - theirs) * 1e3:7.1f} ms"
    )
    print(
        " " * 28,
        "  ".join(f"{step} {ms:.1f}" for step, ms in steps(path).items()),
    )


def uniform(n: int, m: int, seed: int) -> Formula:
    return random_ksat(n, m, 3, np.random.default_rng(seed))


def planted(n: int, m: int, seed: int) -> Formula:
    return random_ksat(n, m, 3, np.random.default_rng(seed), planted=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--largest", type=int, default=100_000, help="clauses")
    options = parser.parse_args()
    # PySAT's reader refuses SATLIB's endings, so all files are written anew.
    formulas = {
        name: read_dimacs(CASES / "satlib" / f"{name}.cnf").formula
        for name in ("uf100-01", "uuf100-01")
    }
    formulas["uniform n=150 m=645"] = uniform(150, 645, 1)
    m = 12_500
    while m <= options.largest:
        formulas[f"planted n={m // 3} m={m}"] = planted(m // 3, m, 1)
        m *= 2
    with tempfile.TemporaryDirectory() as folder:
        for k, (name, formula) in enumerate(formulas.items()):
            path = str(Path(folder) / f"{k}.cnf")
            write_dimacs(formula, path)
            # More runs of the short ones, which one interruption would spoil.
            more = max(1, min(8, 20_000 // formula.n_clauses))
            compare(name, path, more * options.repeats)


if __name__ == "__main__":
    main()
