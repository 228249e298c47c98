"""The claim that two actions a state are enough."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from olivine.algorithms.olive.loop import run_rounds
from olivine.algorithms.olive.optimisers import BranchAndBound
from olivine.algorithms.olive.program import OliveProgram, two_action_program
from olivine.algorithms.olive.run import ExactWorld
from olivine.algorithms.olive.tiebreak import RandomTiebreak
from olivine.cli.ledger.claim import Evidence, claim
from olivine.cli.ledger.support.families import assignments, least_unsatisfied
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.optimum import optimum

_FORMULAS: tuple[tuple[int, list[list[int]]], ...] = (
    (1, [[1]]),
    (1, [[1], [-1]]),
)


@claim(
    "two-actions",
    source="docs/ties.md, two actions",
    statement="With binary trees of actions in place of wide choices the layered "
    "variants have at most two actions a state and horizon ⌈log2(n+m+1)⌉ + 4, the "
    "same V*, and in the program that binds each node of the trees of s0, C_j and X_i "
    "the same optimum. In strict every run that binds the lowest level with a positive "
    "error meets exactly that program.",
    method="exhaustive on small instances",
)
def _two_actions() -> Evidence:
    programs = rounds = 0
    layered = [v for v in Variant if v.declaration.variable_states]
    for variant, (n, rows) in itertools.product(layered, _FORMULAS):
        family = Family(Formula.from_clauses(rows, n).three_sat(), variant)
        trees, program = two_action_program(family.program())
        n, m = family.n_variables, family.n_clauses
        wide = (n + m).bit_length() + 4
        if trees.mdp.horizon != wide or trees.mdp.action_counts.max() > 2:
            return Evidence(False, f"{family}: horizon {trees.mdp.horizon}")
        for y in assignments(n):
            member = OliveProgram(family.mdp(y), [])
            best = member.mdp.optimal_values().value(family.start)
            mdp = two_action_program(member)[0].mdp
            if mdp.optimal_values().value(mdp.start) != best:
                return Evidence(False, f"{family}, {y}: another V*")
        found = BranchAndBound().maximise(program).value
        if found != optimum(family.parameters, least_unsatisfied(family)):
            return Evidence(False, f"{family}: optimum {found}")
        programs += 1
    rng = np.random.default_rng(58)
    for sign in (1, -1):
        family = Family(Formula.from_clauses([[sign]]).three_sat(), Variant.STRICT)
        trees, program = two_action_program(family.program())
        run = run_rounds(
            ExactWorld(OliveProgram(trees.mdp, [], upper=program.upper_given)),
            BranchAndBound(),
            RandomTiebreak(rng, "first"),
            stop=Fraction(0),
            all_levels=False,
            max_rounds=len(program.distributions),
        )
        met = [d.probabilities() for d in run.constraints]
        stated = [d.probabilities() for d in program.distributions]
        if len(met) != len(stated) or any(d not in stated for d in met):
            return Evidence(False, f"{family}: {run.status} after {len(met)} rounds")
        rounds += len(met)
    return Evidence(
        True,
        f"{programs} programs solved exactly, with V* of each member; {rounds} rounds "
        "of two runs with random maximisers (seed 58)",
    )
