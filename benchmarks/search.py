"""MaxSAT by a race against RC2 alone, and `strict` against `normalized`.

python -m benchmarks search
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from olivine.reduction.family.family import Instance
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.verify.optimise import least_unsatisfied
from olivine.reduction.verify.verification import verify
from olivine.solvers.child.child import run_in_child
from olivine.solvers.sat.clauses import Clauses, Message, Problem
from olivine.solvers.sat.maxsat import raise_bound

from benchmarks.decide import CASES, uniform
from benchmarks.figures import Figure, cpu, in_turns

UNIFORM = {False: (100, 455, {3: 1}), True: (175, 753, {3: 1, 5: 1, 6: 2, 8: 1, 10: 1})}
"""n and m of uniform formulas; for seeds of some the clauses unsatisfied at best. When
full these are the first five from 0 on that take RC2 more than two seconds."""


def figures(full: bool) -> Iterator[Figure]:
    """Measure: RC2 has five minutes for each when full."""
    n, m, formulas = UNIFORM[full]
    limit, ours, alone = 300.0 if full else 60.0, 0.0, 0.0
    for seed, least in formulas.items():
        formula = uniform(n, m, seed)
        ours += cpu(_race, formula, least)
        alone += cpu(partial(_alone, formula, limit))
    note = f"uniform, n = {n}, m = {m}, {len(formulas)} formulas, {alone:.0f} CPU s"
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


def _alone(formula: Formula, limit: float) -> None:
    """Run RC2 by itself."""
    m = formula.n_clauses
    clauses = Clauses(formula.literals, formula.offsets)
    problem = Problem(clauses, formula.n_variables, [1] * m, np.zeros(m, dtype=bool))
    run_in_child(raise_bound, _silent, problem, time_limit=limit)


def _silent(message: Message) -> None:
    """Take no notice."""


def _race(formula: Formula, least: int) -> None:
    found = least_unsatisfied(Instance.of(formula), np.random.default_rng(0))
    assert found.cost == least


def _verify(formula: Formula, variant: str) -> None:
    verify(formula, variant, routes=["sat", "maxsat", "witness"])
