"""MaxSAT by a race against RC2 alone, and `strict` against `normalized`.

python -m benchmarks search
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.local_search import walksat
from olivine.reduction.verify.maxsat_route import bounded
from olivine.reduction.verify.verification import verify
from olivine.solvers.maxsat import solve_maxsat

from benchmarks.decide import CASES, uniform
from benchmarks.figures import Figure, cpu, in_turns

UNIFORM = {False: (100, 455, 3, 1), True: (175, 753, 6, 2)}
"""n, m and the seed of a uniform formula, and its few clauses unsatisfied at best."""


def figures(full: bool) -> Iterator[Figure]:
    """Measure: RC2 has five minutes when full."""
    n, m, seed, least = UNIFORM[full]
    formula, limit = uniform(n, m, seed), 300.0 if full else 60.0
    known = walksat(formula.three_sat(), np.random.default_rng(0), max_flips=20_000)
    found = []

    def race() -> None:
        race = partial(bounded, formula)
        found.append(solve_maxsat(formula, n, known=known.assignment[:n], bounded=race))

    ours = cpu(race)
    alone = cpu(partial(solve_maxsat, formula, n, time_limit=limit))
    assert found[0].cost == least
    note = f"uniform, n = {n}, m = {m}, u = {least}; RC2 at most {limit:g} s"
    yield Figure(
        "race of MaxSAT / RC2 alone", ours / alone, "ratio", 0.5 if full else None, note
    )
    for name in ("uf100-01", "uuf100-01"):
        instance = read_dimacs(CASES / "satlib" / f"{name}.cnf").formula
        turns = in_turns(
            partial(_verify, instance, "strict"),
            partial(_verify, instance, "normalized"),
            5 if full else 2,
        )
        yield Figure(
            f"strict / normalized, {name}", turns.ratio, "ratio", 1.2, "verify"
        )


def _verify(formula: Formula, variant: str) -> None:
    verify(formula, variant, routes=["sat", "maxsat", "witness"])
