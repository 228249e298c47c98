"""Certificates as formulas grow: making, checking, and how long proofs are.

Three series. "unsatisfiable": random 3-SAT at ratio 5 in `paper` with a penalty so
small that a proof of unsatisfiability is enough (k = 1). "over-constrained": n = 16
and more and more clauses in `gap`, so that the bound k to prove rises.
"satisfiable": planted, no proof, its time should grow like m. Each
line has milliseconds to make (proof, putting together and the maker's own
check) and to check (reading included), the number of steps of the proof, and
both times as a ratio to those of the line before.

Target: uuf100's certificate is checked in under 30 s.

    python -m benchmarks.certificate
"""

from __future__ import annotations

import argparse
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from olivine.reduction.certificate import checker
from olivine.reduction.certificate.certificate import make_certificate
from olivine.reduction.family.instance import Instance
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.formula.dimacs_write import write_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.program.optimum import optimum
from olivine.solvers.maxsat import solve_maxsat
from olivine.solvers.sat import solve_sat

CASES = Path(__file__).parent.parent / "tests" / "cases"
HEADER = f"{'formula':<34}{'k':>4}{'steps':>8}{'make ms':>11}{'check ms':>11}  growth"


def measure(
    name: str,
    formula: Formula,
    variant: str,
    before: list[float],
    penalty: Fraction | None = None,
) -> None:
    """Print one line; `before` holds the times of the line before."""
    instance = Instance.of(formula, variant, penalty)
    family = instance.family
    model = solve_sat(formula, formula.n_variables).model
    if model is not None:
        value, assignment = Fraction(1), family.three_sat.extend(model)
    elif penalty is not None:  # any assignment attains the cap
        value, assignment = 1 - penalty, np.ones(family.n_variables, dtype=np.bool_)
    else:
        best = solve_maxsat(formula, formula.n_variables)
        assert best.cost is not None
        assert best.model is not None
        value = optimum(family.parameters, best.cost)
        assignment = family.three_sat.extend(best.model)
    start = time.perf_counter()
    outcome = make_certificate(instance, value, assignment, time_limit=120)
    made = time.perf_counter() - start
    if outcome.certificate is None:
        print(f"{name:<34}  none: {outcome.reason}")
        return
    with tempfile.TemporaryDirectory() as folder:
        file, path = Path(folder) / "f.cnf", Path(folder) / "c.json"
        write_dimacs(formula, file)
        outcome.certificate.write(path)
        start = time.perf_counter()
        read = checker.read_formula(str(file))
        proof = Path(f"{path}.drat")
        statement = checker.judge(path.read_bytes(), proof.read_bytes, read)
        checked = time.perf_counter() - start
    steps = (outcome.certificate.proof or "").count("\n")
    growth = "".join(
        f" {now / old:.1f}" for now, old in zip((made, checked), before, strict=False)
    )
    before[:] = [made, checked]
    print(
        f"{name:<34}{statement['at_least']:>4}{steps:>8}"
        f"{1000 * made:>11.0f}{1000 * checked:>11.0f}  {growth}",
        flush=True,
    )


def main() -> None:
    """Run the series."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    rng = np.random.default_rng(seed)
    print(HEADER)
    for name in ("uuf50-01", "uuf75-01", "uuf100-01"):
        formula = read_dimacs(CASES / "satlib" / f"{name}.cnf").formula
        measure(name, formula, "paper", [])
    before: list[float] = []
    for n in (50, 100, 150):
        m = 5 * n
        formula, name = random_ksat(n, m, 3, rng), f"unsatisfiable n={n} m={m}"
        measure(name, formula, "paper", before, Fraction(1, 3 * m))
    before = []
    for m in (80, 100, 120, 140):
        formula = random_ksat(16, m, 3, rng)
        measure(f"over-constrained n=16 m={m}", formula, "gap", before)
    before = []
    for m in (12500, 25000, 50000, 100000):
        formula = random_ksat(m // 3, m, 3, rng, planted=True)
        measure(f"satisfiable n={m // 3} m={m}", formula, "normalized", before)
    print(f"seed {seed}")


if __name__ == "__main__":
    main()
