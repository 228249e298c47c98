"""Claims of where the hard program is not hard: formulas of small treewidth."""

from __future__ import annotations

import itertools

import numpy as np
from olivine.cli.ledger.claim import EXHAUSTIVE, Refuted, claim
from olivine.cli.ledger.support.families import families, least_unsatisfied
from olivine.reduction.family.family import Variant
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.optimum import optimum
from olivine.reduction.verify.members import best_member
from olivine.solvers.treewidth import solve_by_treewidth


@claim(
    "olive-program-fixed-parameter", "docs/reduction.md, Fixed-parameter", EXHAUSTIVE
)
def _fixed_parameter() -> str:
    """The optimum of OLIVE's program over a formula's family takes O(n 2^w) steps,
    given a tree decomposition of width w of the 3-SAT form's primal graph. Argument:
    Theorem O makes it a function of the least unsatisfied weight u, and dynamic
    programming over the decomposition finds u exactly. Cited, not checked: few
    occurrences do not help (for some ε > 0 it is NP-hard to tell satisfiable formulas
    from those of which at most a share 1 − ε can be satisfied, with each variable in
    five clauses: Feige 1998); planar incidence graphs do (MAX-3SAT then has a
    polynomial-time approximation scheme: Khanna and Motwani 1996)."""
    compared, widths = 0, set()
    for variant in Variant:
        for family in families(variant, 10, 24, max_variables=5, max_clauses=6):
            weights = family.weights  # None for a plain formula
            found = solve_by_treewidth(
                family.clauses.tolist(),
                family.n_variables,
                None if weights is None else weights.tolist(),
            )
            left = family.three_sat.unsatisfied_weight(found.model)
            value = best_member(family).value
            if (
                not found.cost == left == least_unsatisfied(family)
                or optimum(family.parameters, found.cost) != value
            ):
                raise Refuted(f"{family}: u = {found.cost}, optimum {value}")
            compared += 1
            widths.add(found.width)
    for blocks in (1, 20, 400):
        formula = _chains(blocks)
        clauses = formula.three_sat().clauses.tolist()
        found = solve_by_treewidth(clauses, formula.n_variables)
        if (found.cost, found.width) != (blocks, 1):
            raise Refuted(f"{blocks} chains: {found.cost} left unsatisfied")
    return (
        f"{compared} families of width {min(widths)} to {max(widths)}: u as by all "
        "assignments, the optimum as by exact planning in all members; 1, 20 and 400 "
        "chains x1, x1 → x2, ..., ¬x5 that leave one clause each, joined end to end"
    )


def _chains(blocks: int) -> Formula:
    """Return chains x1, x1 → x2, ..., ¬x5, the end of each implying the next head."""
    i = np.arange(5 * blocks).reshape(blocks, 5) + 1
    steps = [[-a, b] for row in i.tolist() for a, b in itertools.pairwise(row)]
    ends = [[sign * int(row[k])] for row in i for sign, k in ((1, 0), (-1, 4))]
    joints = [[-a, a + 1] for a in i[:-1, -1].tolist()]
    return Formula.from_clauses([*steps, *ends, *joints], 5 * blocks)
