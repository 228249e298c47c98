"""Claims about where hardness ends: small treewidth, mixtures of policies."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction

import numpy as np

from ..algorithms.classes.tabular import TabularPolicyClass
from ..algorithms.oracles.multi import ClassificationSet, MultiStatus, multi
from ..algorithms.oracles.problems import random_csc
from ..reduction.family.family import Variant
from ..reduction.formula.formula import Formula
from ..reduction.formula.random_formula import random_ksat
from ..reduction.multi.hardness import MultiInstance
from ..reduction.multi.verification import verify_multi_hardness
from ..reduction.program.optimum import optimum
from ..reduction.verify.members import best_member
from ..solvers.treewidth import solve_by_treewidth
from . import runs
from .claim import CERTIFIED, EXHAUSTIVE, Evidence, Refuted, claim
from .support.families import families, least_unsatisfied


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


_SEED = 0
_FORMULAS = 40


def _formulas() -> list[Formula]:
    rng = np.random.default_rng(_SEED)
    drawn = []
    for _ in range(runs.instances(_FORMULAS)):
        n = int(rng.integers(3, 9))
        drawn.append(random_ksat(n, round(4.26 * n), 3, rng))
    return drawn


@claim(
    "deterministic-multi-is-np-hard",
    "paper, appendix Additional Oracles; docs/reduction.md, several data sets",
    EXHAUSTIVE,
    erratum="7",
)
def _deterministic_is_hard() -> Evidence:
    """The multi-data-set oracle for one deterministic tabular policy decides 3-SAT:
    with a data set for each clause, cost 1 for each falsified literal and U_j = 2/3, it
    is feasible for any ε_feas < 1/3 exactly if the formula is satisfiable. CSC being
    polynomial there, no polynomial number of CSC calls implements it unless P = NP.
    (NP-hardness of 3-SAT: Cook 1971, assumed.)"""
    drawn, satisfiable = _formulas(), 0
    for formula in drawn:
        found = verify_multi_hardness(formula)
        sizes = found.instance
        if sizes.declared_sizes() != sizes.measured_sizes():
            raise Refuted(f"sizes: {sizes.measured_sizes()}")
        if found.agree is not True or "brute" not in found.routes:
            raise Refuted(f"{formula}: {found.to_json()}")
        if found.satisfiable and found.assignment is None:
            raise Refuted(f"{formula}: no certificate came back")
        satisfiable += bool(found.satisfiable)
    return Evidence(
        0 < satisfiable < len(drawn),
        f"{len(drawn)} random formulas of 3 to 8 variables, {satisfiable} satisfiable: "
        "a SAT solver, the oracle's MILP and all 2^n policies agree, and policies come "
        f"back as models (seed {_SEED})",
    )


@claim(
    "mixture-multi-by-csc",
    "paper, appendix Additional Oracles (multiplicative weights)",
    CERTIFIED,
    erratum="7",
)
def _mixtures_by_csc() -> str:
    """For finite mixtures of policies, multiplicative weights over CSC calls implement
    the multi-data-set oracle in at most ⌈R² ln J / (2 (ε_feas − δ)²)⌉ calls of accuracy
    δ (Hedge; Arora, Hazan, Kale 2012), or prove there is none."""
    epsilon, share, refused = 0.1, 0.0, 0
    formulas, problems = _formulas(), runs.instances(40)
    for formula in formulas:
        instance = MultiInstance(formula.three_sat())
        mixture = instance.solve("multiplicative-weights", epsilon_feas=epsilon)
        if not mixture.feasible or mixture.violation > epsilon:
            raise Refuted(f"{formula}: {mixture}")
    rng = np.random.default_rng(_SEED)
    solve = functools.partial(
        multi, epsilon_feas=epsilon, method="multiplicative-weights"
    )
    for number in range(problems):
        policies, sets = TabularPolicyClass(6, 3), []
        tables = rng.integers(0, 3, (3, 6))
        for _ in range(2 + number % 9):
            drawn = random_csc(rng, 18, 6, 3)
            codes, rows = drawn.data.observations, np.arange(18)
            costs = [
                drawn.data.expectation_exact(drawn.costs[rows, t[codes]])
                for t in tables
            ]
            limit = sum(costs, Fraction(0)) / 3 - (1 if number % 4 == 0 else 0)
            sets.append(ClassificationSet(drawn.data, drawn.costs, limit))
        found = solve(policies, sets)
        wanted = MultiStatus.INFEASIBLE if number % 4 == 0 else MultiStatus.FEASIBLE
        if found.status is not wanted or not found.honoured:
            raise Refuted(f"problem {number}: {found}")
        if found.call_bound is None or found.calls > found.call_bound:
            raise Refuted(f"problem {number}: {found.calls} calls")
        share = max(share, found.calls / found.call_bound)
        refused += found.status is MultiStatus.INFEASIBLE
    return (
        f"{len(formulas)} instances of 3-SAT, satisfiable or not, and {problems} "
        f"random problems of 2 to 10 data sets, {refused} of them proved infeasible; "
        f"at most {share:.1%} of the calls allowed (seed {_SEED})"
    )
