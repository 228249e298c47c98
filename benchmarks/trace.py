"""The run that leaves OLIVE's hard program, and its check, as the formula grows.

For random 3-SAT at 4.26 clauses a variable: the exponent of the CPU seconds for the run
on a random member with every round checked, without reading the formula. What a round
touches is the constraints of the clauses of one variable: at a fixed ratio its mean
stays, so the whole is linear in m + n. In a second formula one variable is in each
clause: a round then touches all clauses, but few rounds do, and the whole stays linear.

    python -m benchmarks trace
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula, ThreeSat
from olivine.reduction.run.benign import benign_run
from olivine.reduction.run.run import adversarial_run

from benchmarks.decide import CASES, uniform
from benchmarks.figures import Figure, cpu, growth, process

RATIO = 4.26


def near_threshold(n: int) -> ThreeSat:
    return uniform(n, int(RATIO * n), n).three_sat()


def hub(n: int) -> ThreeSat:
    """Put variable 1 first in every clause."""
    clauses = uniform(n, int(RATIO * n), n).literals.reshape(-1, 3).copy()
    clauses[:, 0] = np.sign(clauses[:, 0])
    return Formula.from_clauses(clauses.tolist(), n).three_sat()


def adversarial(family: Family) -> None:
    y = np.random.default_rng(0).random(family.n_variables) < 0.5
    run = adversarial_run(family, y)
    assert run.holds, run.failures()[:3]


def figures(full: bool) -> Iterator[Figure]:
    """Measure the adversarial run as n doubles, and the benign one at n = 200."""
    sizes = [(400 if full else 25) << k for k in range(5)]
    for name, make in (("", near_threshold), (", a hub", hub)):
        families = [Family(make(n), Variant.PAPER) for n in sizes]
        found, most = growth(sizes, [partial(adversarial, f) for f in families], 1)
        note = f"to n = {sizes[-1]}, {most:.1f} CPU s there"
        yield Figure(f"adversarial run{name}, in n", found, "exponent", 1.1, note)
    formula = str(CASES / "satlib" / "uf100-01.cnf")
    used = cpu(process, ["-m", "olivine", "trace", formula])
    yield Figure("olivine trace", used, "CPU s", 10, "uf100-01")
    family = Family(near_threshold(200), Variant.NORMALIZED)
    run = benign_run(family)
    assert run.holds, run.failures()[:3]
    used = cpu(benign_run, family)
    yield Figure("benign run", used, "CPU s", 20, "n = 200, m = 852, normalized")
