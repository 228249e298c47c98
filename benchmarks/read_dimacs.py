"""Reading DIMACS against PySAT's own reader, a C extension that checks less.

python -m benchmarks read_dimacs
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from olivine.reduction.formula.dimacs import read_dimacs, write_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.random_formula import random_ksat
from pysat.formula import CNF, WCNF

from benchmarks.figures import Figure, in_turns


def mixed_widths(n: int, m: int, rng: np.random.Generator) -> Formula:
    """Clauses of one to seven literals; some variables repeat."""
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 8, size=m))])
    signs = rng.choice([-1, 1], size=offsets[-1])
    return Formula(n, signs * rng.integers(1, n + 1, size=offsets[-1]), offsets)


def with_comments(text: str) -> str:
    """A comment in front of every tenth line."""
    lines = text.splitlines(keepends=True)
    for i in range(1, len(lines), 10):
        lines[i] = "c a comment with 1 2 3 0 in it\n" + lines[i]
    return "".join(lines)


def write_inputs(folder: Path, m: int) -> dict[str, Path]:
    rng = np.random.default_rng(0)
    plain = random_ksat(m // 3, m, 3, rng)
    weights = rng.integers(1, 1000, size=m)
    formulas = {
        "3-SAT": plain,
        "mixed widths": mixed_widths(m // 3, m, rng),
        "weighted": Formula(m // 3, plain.literals, plain.offsets, weights),
    }
    paths = {}
    for name, formula in formulas.items():
        paths[name] = folder / f"{name}.{'w' * formula.is_weighted}cnf"
        write_dimacs(formula, paths[name])
    paths["comments"] = folder / "comments.cnf"
    paths["comments"].write_text(with_comments(paths["3-SAT"].read_text()))
    return paths


def figures(full: bool) -> Iterator[Figure]:
    """Measure: two hundred thousand clauses when full, else fifty thousand."""
    m, repeats = (200_000, 7) if full else (50_000, 15)
    with tempfile.TemporaryDirectory() as folder:
        for name, path in write_inputs(Path(folder), m).items():
            theirs = WCNF if path.suffix == ".wcnf" else CNF
            ratio, ours, pysat = in_turns(
                partial(read_dimacs, path),
                partial(theirs, from_file=str(path)),
                repeats,
            )
            note = f"{m} clauses, {1000 * ours:.0f} and {1000 * pysat:.0f} ms"
            yield Figure(f"reading / PySAT, {name}", ratio, "ratio", 1.5, note)
