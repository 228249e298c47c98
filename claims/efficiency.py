"""OLIVE is not oracle-efficient where ties and levels are chosen against it.

If such an OLIVE were, three oracles that are polynomial for tabular classes and
polynomially many operations would give the optimum of the program that it meets
after polynomially many rounds; but that optimum decides 3-SAT. The check walks
through these steps on one and the same families. With ties chosen for it OLIVE never
meets that program (erratum 26).
"""

from __future__ import annotations

import numpy as np

from ..algorithms.olive.interfaces import Optimiser
from ..algorithms.olive.optimisers import BranchAndBound, Milp
from ..algorithms.olive.program import OliveProgram
from ..reduction.contrast.data import oracle_data
from ..reduction.family.family import Family, Variant
from ..reduction.formula.random_formula import random_ksat
from ..reduction.run.benign import BenignRun, benign_run
from ..reduction.run.run import adversarial_run, n_rounds
from . import runs
from .claim import EXHAUSTIVE, Evidence, Refuted, claim
from .support.families import (
    assignments,
    contradiction,
    eight_clauses,
    least_unsatisfied,
    milp_value,
)

_SEED = 41
_RATIO = 4.26
_SMALL = (3, 3, 3, 4, 4, 5)
_LARGE = (6, 12, 24, 48)


@claim(
    "olive-is-not-oracle-efficient",
    "paper, thm:olive_notoracle",
    EXHAUSTIVE,
    erratum="26",
)
def _olive_is_not_oracle_efficient() -> Evidence:
    """Unless P = NP (assumed), an OLIVE whose ties and levels are chosen against it
    cannot be implemented with polynomially many operations and calls of CSC, LP and LS
    oracles: after m+n+1 rounds, in each of which the optimum is 1 for a trivial reason,
    it meets a program whose optimum is 1 exactly if the formula is satisfiable, in an
    MDP of 1+m+2n states on whose data CSC takes at most nK + K|X| operations, LS at
    most 3n + |X|, and LP is a linear program in |X| variables (n: tuples)."""
    rng = np.random.default_rng(_SEED)
    decided = {True: 0, False: 0}
    for n in _SMALL[: runs.instances(len(_SMALL))]:
        for ratio in (_RATIO, 3 * _RATIO):
            family = _family(n, ratio, rng)
            satisfiable = least_unsatisfied(family) == 0
            value = milp_value(family, "strengthened", "value-policy")
            if (value == 1) is not satisfiable:
                raise Refuted(f"n = {n}: optimum {value}, {satisfiable=}")
            decided[satisfiable] += 1
    large = [n for n in _LARGE if n <= runs.LARGEST]
    for n in large:
        family = _family(n, _RATIO, rng)
        try:
            _check_run(family, rng)
            _check_oracles(family, rng)
        except Refuted as fault:
            raise Refuted(f"n = {n}: {fault}") from None
    return Evidence(
        all(decided.values()),
        f"{decided[True]} satisfiable and {decided[False]} unsatisfiable formulas told "
        f"apart by the optimum; for n = {', '.join(map(str, large))} the run has "
        "m+n+1 rounds, each checked, and the oracles keep their counts on data from "
        "the same MDP",
    )


@claim(
    "olive-benign-ties",
    "paper, thm:olive_notoracle (which does not name its choice of ties)",
    EXHAUSTIVE,
    erratum="26",
)
def _olive_with_benign_ties() -> str:
    """OLIVE may take any maximiser and any level with a positive error (Jiang et al.
    2017). With a choice that plans on the member it never meets the hard program: it
    ends with an optimal policy, adds at most |X| constraints, and the optimum is 1 in
    all rounds but the last, because the value at the start is bound last."""
    runs = rounds = 0
    for variant in (v for v in Variant if not v.declaration.every_level):
        small, large = (
            Family(formula.three_sat(), variant)
            for formula in (contradiction(), eight_clauses())
        )
        exact: Optimiser = BranchAndBound()
        cases = [(small, y, exact) for y in assignments(1)]
        for family, y, optimiser in (*cases, (large, np.array([0, 1, 0]) > 0, Milp())):
            run = benign_run(family, y)
            try:
                _check_benign(run, optimiser)
            except Refuted as fault:
                raise Refuted(f"{family}, y = {y.astype(int)}: {fault}") from None
            runs, rounds = runs + 1, rounds + len(run.rounds) + 1
    return (
        f"{runs} runs of {rounds} rounds on x, ¬x and the eight clauses, every "
        "maximiser and error exact (of the eight clauses the last optimum is V*, that "
        "it is one is HiGHS's word); no round's program is the hard one"
    )


def _check_benign(run: BenignRun, optimiser: Optimiser) -> None:
    """Check a run with benign ties."""
    family, mdp = run.family, run.family.mdp(run.member)
    stated = [d.probabilities() for d in family.distributions()]
    if not run.holds:
        raise Refuted(run.failures()[0])
    if len(run.rounds) > family.layout.n_states:
        raise Refuted(f"{len(run.rounds)} constraints")
    if [r.number for r in run.rounds if r.level == 1] != [len(run.rounds)]:
        raise Refuted("the start was bound before the last constraint")
    if all(d.probabilities() in stated for d in run.constraints):
        raise Refuted("meets the hard program")
    last = OliveProgram(mdp, run.constraints, upper=family.ranges())
    found = optimiser.maximise(last)
    if found.value != run.optimal_value:
        raise Refuted(f"{found.status}: {found.value}, V* = {run.optimal_value}")


def _family(n: int, ratio: float, rng: np.random.Generator) -> Family:
    formula = random_ksat(n, round(ratio * n), 3, rng)
    return Family(formula.three_sat(), "paper")


def _check_run(family: Family, rng: np.random.Generator) -> None:
    """Check the run that meets the program."""
    n, m = family.n_variables, family.n_clauses
    run = adversarial_run(family, rng.random(n) < 0.5)
    if not run.holds:
        raise Refuted(run.failures()[0])
    if not len(run.rounds) == n_rounds(family) == m + n + 1:
        raise Refuted(f"{len(run.rounds)} rounds")


def _check_oracles(family: Family, rng: np.random.Generator) -> None:
    """Check the oracles on data of a member, and their operations."""
    problem = oracle_data(family, rng)
    size, k, tuples = problem.n_states, problem.n_actions, len(problem.data)
    if size != 1 + family.n_clauses + 2 * family.n_variables:
        raise Refuted(f"{size} states")
    found = problem.csc().operations
    if found > tuples * k + k * size:
        raise Refuted(f"CSC: {found} operations, n = {tuples}, K = {k}, |X| = {size}")
    found = problem.least_squares().operations
    if found > 3 * tuples + size:
        raise Refuted(f"LS: {found} operations for n = {tuples}, |X| = {size}")
    if not problem.lp().feasible:
        raise Refuted("LP: no solution, though the member's own values are one")
