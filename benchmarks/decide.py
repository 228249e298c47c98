"""Deciding through OLIVE's program against PySAT alone, on the same small files.

Both sides run in one warm process, imports excluded, in turns. One side reads with
PySAT's own reader and decides with CaDiCaL in this process. The other reads,
normalises, decides in a child process and turns the model into the optimal pair,
checked exactly. Large files are in `benchmarks.scale`.

    python -m benchmarks decide
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from olivine.reduction.family.family import Instance
from olivine.reduction.formula.dimacs import read_dimacs, write_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.verify.decision import decide
from pysat.formula import CNF
from pysat.solvers import Cadical153

from benchmarks.figures import Figure, in_turns

CASES = Path(__file__).parent.parent / "tests" / "cases"


def by_pysat(path: str) -> bool:
    with Cadical153(bootstrap_with=CNF(from_file=path)) as solver:
        return bool(solver.solve())


def by_olivine(path: str) -> bool:
    decision = decide(Instance.of(read_dimacs(path).formula))
    assert decision.satisfiable is not None
    return decision.satisfiable


def uniform(n: int, m: int, seed: int) -> Formula:
    return random_ksat(n, m, 3, np.random.default_rng(seed))


def planted(n: int, m: int, seed: int) -> Formula:
    return random_ksat(n, m, 3, np.random.default_rng(seed), planted=True)


def figures(full: bool) -> Iterator[Figure]:
    """Measure what our side takes more; more runs when full."""
    formulas = {
        name: read_dimacs(CASES / "satlib" / f"{name}.cnf").formula
        for name in ("uf100-01", "uuf100-01")
    }
    formulas["uniform-150"] = uniform(150, 645, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "small.cnf")
        for name, formula in formulas.items():
            write_dimacs(formula, path)  # PySAT refuses SATLIB's endings
            assert by_olivine(path) == by_pysat(path)
            _, ours, theirs = in_turns(
                partial(by_olivine, path), partial(by_pysat, path), 20 if full else 8
            )
            more = 1000 * (ours - theirs)
            note = f"PySAT {1000 * theirs:.1f} ms"
            yield Figure(f"deciding {name}, more than PySAT", more, "ms", 50, note)
