"""Certificates: checking the hardest of the cases, and growth where there is no proof.

python -m benchmarks certificate
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

from olivine.reduction.certificate import checker
from olivine.reduction.certificate.certificate import Certificate, make_certificate
from olivine.reduction.family.family import Instance
from olivine.reduction.formula.dimacs import read_dimacs, write_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.optimum import optimum
from olivine.solvers.sat.maxsat import solve_maxsat
from olivine.solvers.sat.sat import solve_sat

from benchmarks.decide import CASES, planted
from benchmarks.figures import Figure, cpu, exponent, least, paced


def made(formula: Formula, variant: str) -> Certificate:
    """Certify the optimum."""
    instance = Instance.of(formula, variant)
    family = instance.family
    model, cost = solve_sat(formula, formula.n_variables).model, 0
    if model is None:
        best = solve_maxsat(formula, formula.n_variables)
        assert best.cost is not None
        model, cost = best.model, best.cost
    assert model is not None
    value: Fraction = optimum(family.parameters, cost)
    assignment = family.three_sat.extend(model)
    outcome = make_certificate(instance, value, assignment, time_limit=120)
    assert outcome.certificate is not None, outcome.reason
    return outcome.certificate


def check(formula: str, certificate: Path) -> None:
    """Judge a certificate, reading included."""
    read = checker.read_formula(formula)
    proof = Path(f"{certificate}.drat")
    checker.judge(certificate.read_bytes(), proof.read_bytes, read)


def figures(full: bool) -> Iterator[Figure]:
    """Measure: planted formulas of a hundred thousand clauses when full."""
    hardest = CASES / "satlib" / "uuf100-01.cnf"
    with tempfile.TemporaryDirectory() as folder:
        path, target = str(Path(folder) / "f.cnf"), Path(folder) / "c.json"
        formula = read_dimacs(hardest).formula
        found: list[Certificate] = []
        making = cpu(lambda: found.append(made(formula, "paper")))
        found[0].write(target)
        used = least(partial(check, str(hardest), target), 2)
        steps = (found[0].proof or "").count("\n")
        note = f"uuf100-01, paper, {steps} steps"
        yield Figure("checking a certificate", used, "CPU s", 30, note)
        yield Figure("making it", making, "CPU s", None, note)
        sizes = [(100_000 if full else 40_000) >> k for k in range(4, -1, -1)]
        making_all, checking_all = [], []
        for m in sizes:
            formula = planted(m // 3, m, 1)
            write_dimacs(formula, path)
            made(formula, "normalized").write(target)
            making_all.append(paced(partial(made, formula, "normalized"), 2))
            checking_all.append(paced(partial(check, path, target), 2))
        note = f"planted, to m = {sizes[-1]}"
        for name, seconds in (("making", making_all), ("checking", checking_all)):
            slope = exponent(sizes, seconds)
            yield Figure(f"{name} certificates, in m", slope, "exponent", 1.1, note)
