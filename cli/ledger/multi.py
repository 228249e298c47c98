"""Claims about the multi-data-set oracle: what is hard, and what is not."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
from olivine.algorithms.classes.tabular import TabularPolicyClass
from olivine.algorithms.oracles.multi import ClassificationSet, MultiStatus, multi
from olivine.algorithms.oracles.problems import random_csc
from olivine.cli.ledger import runs
from olivine.cli.ledger.claim import CERTIFIED, EXHAUSTIVE, Evidence, Refuted, claim
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.multi.hardness import MultiInstance
from olivine.reduction.multi.verification import verify_multi_hardness

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
