"""Deterministic hidden dynamics.

OLIVE's step is NP-hard in the setting of VALOR, which is oracle-efficient there:
docs/complexity.md, V.
"""

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ..algorithms.assumptions.checks import check_assumptions
from ..algorithms.learning.draw_classes import make_classes
from ..algorithms.learning.registry import Task, get
from ..algorithms.olive_program.optimisers import Milp, enumerate_policies
from ..algorithms.olive_program.program import OliveProgram
from ..reduction.formula.formula import Formula
from ..reduction.hidden import BEST, HiddenFamily
from ..reduction.run.every_tie import Faces, Noise, search_ties
from . import DRAWN, EXHAUSTIVE, Evidence, Refuted, claims_of
from .samples import assignments, eight_clauses, instances, least_unsatisfied
from .strengths import LITTLE, RULES, Own

complexity = claims_of("docs/complexity.md", "strengths")
_SMALL: tuple[list[list[int]], ...] = (
    [[1]],
    [[1], [-1]],
    [[1], [1], [1], [-1]],
    [[1, 2], [-1, -2]],
    [[1, 2], [-1], [-2]],
)


def _families() -> Iterator[HiddenFamily]:
    for rows in _SMALL:
        yield HiddenFamily(Formula.from_clauses(rows))
    yield HiddenFamily(Formula.from_clauses([[1], [-1]], 1, weights=[9, 2]))


@complexity("hidden-dynamics-optimum", "V", EXHAUSTIVE)
def _optimum() -> str:
    """With deterministic hidden dynamics, and all functions and policies, the optimum
    of the formula's OLIVE program is 11/32 − min(σ, 1/4)/8, σ being the least share of
    clauses unsatisfied; also if the range is [0, 1] everywhere. Assignments and pairs
    turn into each other without loss."""
    policies = pairs = 0
    for hidden in _families():
        due, program = hidden.optimum(least_unsatisfied(hidden)), hidden.program()
        wide = OliveProgram(program.mdp, hidden.distributions())
        for each in (program, wide):
            found = enumerate_policies(each)
            if found.optimum != due:
                raise Refuted(f"{hidden.three_sat}: {found.optimum}, not {due}")
            policies += found.policies
        for bits in assignments(hidden.three_sat.n_variables):
            pair, left = hidden.forward(bits), hidden.three_sat.unsatisfied_weight(bits)
            value = BEST - Fraction(left, 8 * hidden.total_weight)
            again = hidden.three_sat.unsatisfied_weight(hidden.back(pair))
            if not program.is_feasible(pair) or program.objective(pair) != value:
                raise Refuted(f"{bits}: {program.objective(pair)}, not {value}")
            if again > left:
                raise Refuted(f"{bits}: {left} unsatisfied, back {again}")
            pairs += 1
    eight = HiddenFamily(eight_clauses())
    answer = Milp().maximise(eight.program())
    if answer.value != BEST - Fraction(1, 64):
        raise Refuted(f"the eight clauses: {answer.value}")
    return (
        f"{len(_SMALL) + 1} formulas, {policies} policies by exact linear programs; "
        "the eight clauses, 21/64, by HiGHS, whose word it is that nothing is better; "
        f"{pairs} assignments there and back"
    )


@complexity("hidden-dynamics-every-run", "V", EXHAUSTIVE)
def _every_run() -> str:
    """On every member, under 'lowest' and under 'largest', every run of OLIVE with
    exact expectations and φ = 0 reaches exactly that program, after 2n + 2 rounds, if
    values at level 3 are at most 1/8; with the range [0, 1] everywhere some run does.
    With OLIVE's own φ and stop, M = 4, every run does if and only if ε < 9/86, with its
    own samples, too, if and only if ε < 1/12; with tolerance τ the optimum is the
    larger of 11/32 + 2τ − σ(1/8 − 2τ) and 5/16 + 3τ."""
    members = faces = 0
    for rows in _SMALL[: instances(3)]:
        hidden = HiddenFamily(Formula.from_clauses(rows))
        n, hard = hidden.three_sat.n_variables, hidden.distributions()
        for bits, rule in itertools.product(assignments(n), RULES):
            own = _own() if rows == _SMALL[0] and bits.all() else ()
            for noise, holds in ((Noise(), True), *own):
                search = Faces(hidden.mdp(bits), hidden.ranges(), rule, noise)
                found = search_ties(search, hard)
                where = f"{rows}, {bits}, {rule}, {noise}"
                if found.always is not holds:
                    raise Refuted(f"{where}: {found.example}")
                due = frozenset([_within(hidden, noise.phi + noise.eta)])
                rounds = (2 * n + 2,) * 2
                if holds and (found.rounds, found.optima) != (rounds, due):
                    raise Refuted(f"{where}: {found.rounds}, {found.optima}")
                members, faces = members + 1, faces + found.faces
        wide = Faces(hidden.mdp(np.ones(n, dtype=np.bool_)), 1, "any", Noise())
        for k, wanted in enumerate(hard):
            moves = [d and d.probabilities() for d in wide.moves(hard[:k])]
            if wanted.probabilities() not in moves:
                raise Refuted(f"{rows}: no run binds {wanted.probabilities()}")
    return (
        f"{members} searches through all runs on members, {faces} polytopes of "
        "maximisers; a run with the range [0, 1]"
    )


def _own() -> Iterator[tuple[Noise, bool]]:
    """Yield OLIVE's own constants for M = 4, and whether every run arrives."""
    for last, sampled in ((Fraction(9, 86), False), (Fraction(1, 12), True)):
        for epsilon in (last - LITTLE, last):
            yield Own(epsilon, sampled=sampled).noise(), epsilon < last


def _within(hidden: HiddenFamily, phi: Fraction) -> Fraction:
    """Optimum of the hard program with tolerance φ."""
    share = Fraction(least_unsatisfied(hidden), hidden.total_weight)
    solved = BEST + 2 * phi - share * (Fraction(1, 8) - 2 * phi)
    return max(solved, Fraction(5, 16) + 3 * phi)


@complexity("hidden-dynamics-are-valors", "V", DRAWN)
def _valors() -> Evidence:
    """The same members have deterministic hidden dynamics and satisfy VALOR's
    assumptions with all functions and policies, for which its oracles are polynomial;
    at its theorem's constants it loses at most ε = 1/100 with as many calls as its
    theorem allows, where OLIVE's program must tell 11/32 from 21/64 for σ = 1/8."""
    runs = calls = 0
    epsilon, entry = 0.01, get("valor")
    formulas = (eight_clauses(), Formula.from_clauses(_SMALL[4]))
    for formula in formulas[: instances(2)]:
        hidden = HiddenFamily(formula)
        n = hidden.three_sat.n_variables
        environment = hidden.environment(np.arange(n) % 2 == 0)
        rng = np.random.default_rng(87)
        classes = make_classes(environment, "tabular", rng)
        checked = check_assumptions(environment, *classes)
        for name in entry.assumptions:
            if checked[name].holds is not True:
                raise Refuted(f"{hidden.three_sat}: {name}")
        task = Task(environment, "theorem", "tabular", epsilon, 0.1, rng)
        result = entry.run(task)
        held = environment.deterministic and all(
            result.monitors[name].holds for name in ("epsilon-optimal", "csc-calls")
        )
        if not held:
            raise Refuted(f"{hidden.three_sat}: {result.status}")
        runs, calls = runs + 1, calls + sum(result.calls.values())
    return Evidence(runs > 0, f"{runs} members, {calls} calls of oracles (seed 87)")
