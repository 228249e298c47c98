"""Claims that the strengthened and the projected formulation rest on."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from ..algorithms.olive.enumeration import policy_optimum
from ..reduction.family.family import Family, Variant
from ..reduction.formula.formula import Formula, ThreeSat
from ..reduction.program.optimum import optimum
from ..reduction.program.program import FORMS, FORMULATIONS, build
from ..solvers.milp.milp import solve_milp
from .claim import EXHAUSTIVE, Evidence, Refuted, claim
from .support.families import (
    assignments,
    contradiction,
    families,
    least_unsatisfied,
    milp_value,
)


@claim("vertex-lemma", "docs/reduction.md, consequences of Theorem O", EXHAUSTIVE)
def _vertex_lemma() -> Evidence:
    """With φ = 0, literal values 0 and top are enough: under every policy that admits
    values at all, some such values are as good as any. With φ > 0 they are not."""
    rng = np.random.default_rng(6)
    policies = empty = 0
    for variant in Variant:
        for family in families(variant, 6, 16, max_variables=3, max_clauses=3):
            mdp = family.mdp()
            members = [family.mdp(y) for y in assignments(family.n_variables)]
            for _ in range(3):
                policy = rng.integers(0, mdp.action_counts)
                pair = policy_optimum(family.program(), policy)
                best = max(m.evaluate(policy).value(mdp.start) for m in members)
                # Below 0 there is no value for s0, whatever the literals are.
                if (pair.value(mdp.start) if pair else None) != (
                    best if best >= 0 else None
                ):
                    raise Refuted(f"{family}, {policy.tolist()}: {best}")
                policies, empty = policies + 1, empty + (pair is None)
    free, vertex = _with_tolerance(Fraction(1, 50))
    return Evidence(
        free > vertex,
        f"{policies} random policies ({empty} without feasible values): the exact "
        "linear program against the best of all members; φ = 1/50 on x, ¬x in paper: "
        f"{float(free):.6f} against {vertex:.6f} at the best vertex",
    )


def _with_tolerance(tolerance: Fraction) -> tuple[Fraction, float]:
    """Optimum of x, ¬x with a tolerance, free and with literals 0 and top.

    The free one is attained exactly, the other the engine's word.
    """
    family = Family(contradiction().three_sat())
    built = build(family, "faithful", tolerance=tolerance)
    free = built.pair(solve_milp(built.model).values or ()).value(family.start)
    vertices = []
    for true in (0, 1):
        fixed = build(family, "faithful", tolerance=tolerance).model
        names = [v.name for v in fixed.variables]
        fixed.add_row([names.index("g(x1^0)")], [1], "==", family.top * (1 - true))
        fixed.add_row([names.index("g(x1^1)")], [1], "==", family.top * true)
        vertices.append(float(solve_milp(fixed).objective or 0))
    return free, max(vertices)


@claim("clause-cut", "docs/reduction.md, consequences of Theorem O", EXHAUSTIVE)
def _clause_cut() -> str:
    """No action of C_j is worth more than top·min(1, (2 + the truth of its distinct
    literals)/3), for fractional literal values too; for 0/1 values the best one is
    worth that."""
    literals = (1, -1, 2, -2, 3, -3)
    checked = 0
    for clause in itertools.product(literals, repeat=3):
        family = _one_clause(clause)
        mdp, actions = family.mdp(), family.mdp().actions(family.clause_state(0))
        moves = [mdp.successors(a) for a in actions]
        unit = math.lcm(*(p.denominator for move in moves for _, p in move))
        counted = [[(s, int(p * unit)) for s, p in move] for move in moves]
        used = sorted({abs(x) for x in clause})
        for thirds in itertools.product(range(4), repeat=len(used)):
            of_state: dict[int, int] = {}
            of_literal: dict[int, int] = {}
            for i, v in zip(used, thirds, strict=True):
                of_state[family.literal_state(i - 1, 0)] = 3 - v
                of_state[family.literal_state(i - 1, 1)] = v
                of_literal |= {i: v, -i: 3 - v}
            # Both in whole numbers, of top/(9 unit) each.
            cut = unit * min(9, 6 + sum(of_literal[x] for x in set(clause)))
            best = 3 * max(sum(n * of_state[s] for s, n in move) for move in counted)
            if best > cut or ({0, 3}.issuperset(thirds) and best != cut):
                raise Refuted(
                    f"{clause}, literal values {thirds} thirds: "
                    f"{Fraction(best, 9 * unit)} top, cut {Fraction(cut, 9 * unit)} top"
                )
            checked += 1
    return f"all 216 clauses on 3 variables, literal values in thirds: {checked}"


def _one_clause(clause: tuple[int, ...]) -> Family:
    formula = Formula.from_clauses([clause], 3)
    form = ThreeSat(
        3,
        np.array([clause], dtype=np.int32),
        None,
        np.zeros(1, dtype=np.int64),
        formula,
    )
    return Family(form, Variant.NORMALIZED)


@claim("formulations-agree", "docs/reduction.md, consequences of Theorem O", EXHAUSTIVE)
def _formulations_agree() -> str:
    """The formulations faithful, strengthened and projected have the same optimum, in
    both forms."""
    solved = 0
    for variant in Variant:
        for family in families(variant, 7, 6, max_variables=3, max_clauses=2):
            expected = optimum(family.parameters, least_unsatisfied(family))
            for formulation, form in itertools.product(FORMULATIONS, FORMS):
                found = milp_value(family, formulation, form)
                if found != expected:
                    raise Refuted(
                        f"{family}, {formulation} {form}: {found}, not {expected}"
                    )
                solved += 1
    return (
        f"{solved} models solved by HiGHS, every solution turned into an exactly "
        "feasible pair whose value is that of Theorem O"
    )
