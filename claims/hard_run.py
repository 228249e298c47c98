"""The run of OLIVE that ends at its hard program.

Each check follows the run on members of small families in exact arithmetic. If OLIVE
with ties and levels chosen against it were oracle-efficient, oracles that are
polynomial for tabular classes would give the optimum of the program at the end of that
run; but that optimum decides 3-SAT.
"""

import dataclasses
import functools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms.exact.data import EmpiricalMeasure
from ..algorithms.mdp.planning import Distribution, Pair
from ..algorithms.olive_program.optimisers import BranchAndBound, Milp
from ..algorithms.olive_program.program import (
    OliveProgram,
    Optimiser,
    average_bellman_errors,
)
from ..algorithms.oracles import CscResult, LeastSquaresResult
from ..algorithms.oracles.ledger import count_operations
from ..reduction.contrast import OracleData, oracle_data
from ..reduction.family.family import Family, Variant
from ..reduction.family.variants import without_sides
from ..reduction.formula.formula import Formula
from ..reduction.formula.random_formula import random_ksat
from ..reduction.run.benign import BenignRun, benign_run
from ..reduction.run.replay import StartBound
from ..reduction.run.run import Run, adversarial_run, n_rounds
from ..reduction.run.schedule import Move, QFunction, q_functions
from . import DRAWN, EXACT, EXHAUSTIVE, Evidence, Refuted, claim, samples
from .oracles import WALK_CONSTANT
from .samples import (
    assignments,
    contradiction,
    eight_clauses,
    families,
    least_unsatisfied,
    milp_value,
)

_SINGLE_LEVEL = tuple(v for v in without_sides() if not v.declaration.every_level)
_ASSUMED = (
    " Assumptions: 3-SAT is NP-hard (Cook 1971, Karp 1972); OLIVE may take any "
    "maximiser and any level with a positive average Bellman error (Jiang et al. "
    "2017), and does so against itself."
)


def _runs(
    variants: tuple[Variant, ...], seed: int, count: int
) -> Iterator[tuple[Family, NDArray[np.bool_], Run]]:
    """Yield the run on every member of small families."""
    for variant in variants:
        for family in families(variant, seed, count, max_variables=3, max_clauses=3):
            for y in assignments(family.n_variables):
                yield family, y, adversarial_run(family, y)


@claim(
    "olive-nphard-g",
    "paper, thm:olive_nphard_g",
    EXHAUSTIVE,
    "5",
    statement="OLIVE, run on any member with exact expectations and φ = 0, can arrive "
    "at the program of thm:olive_nphard_g_simple, after m+n+1 rounds in paper, m+2n+1 "
    "in normalized, gap and strict. So the programs that runs of OLIVE arrive at are "
    "NP-hard." + _ASSUMED,
)
def _hard_in_a_run() -> str:
    return _runs_hold(_SINGLE_LEVEL)


@claim(
    "olive-nphard-all-levels",
    "paper, appendix on the oracle-inefficiency of OLIVE: 'using an extended "
    "construction'; docs/reduction.md, the run",
    EXHAUSTIVE,
    statement="The same holds for an OLIVE that adds the constraints of all levels at "
    "once, with the variant all-levels and m+n rounds." + _ASSUMED,
)
def _hard_with_all_levels() -> str:
    return _runs_hold((Variant.ALL_LEVELS,))


def _runs_hold(variants: tuple[Variant, ...]) -> str:
    runs = rounds = 0
    seen = set()
    for family, y, run in _runs(variants, 14, 13):
        seen.add(family)
        if not run.holds or len(run.rounds) != n_rounds(family):
            member = y.astype(int).tolist()
            raise Refuted(f"{family}, y = {member}: {run.failures()}")
        runs, rounds = runs + 1, rounds + len(run.rounds)
    return (
        f"{runs} runs, all members of {len(seen)} families: in each of "
        f"{rounds} rounds a maximiser, a positive error and the constraint stated; "
        "final programs compared constraint for constraint"
    )


@claim(
    "olive-nphard-f",
    "paper, thm:olive_nphard_f",
    DRAWN,
    "5",
    statement="The same holds for Q-functions: each round's f has values in its range, "
    "equals the paper's where the paper gives values, and whichever greedy actions "
    "π_f takes, it satisfies the constraints so far and attains the optimum, and the "
    "error at the level chosen is positive." + _ASSUMED,
)
def _hard_in_a_run_of_q_functions() -> str:
    rng = np.random.default_rng(15)
    rounds = seen = 0
    for variant in without_sides():
        for family in families(variant, 15, 14, max_variables=2, max_clauses=3):
            seen += 1
            y = rng.random(family.n_variables) < 0.5
            for number, fault in _q_faults(family, y, rng):
                if fault:
                    raise Refuted(f"{family}, round {number}: {fault}")
                rounds += 1
    return (
        f"{rounds} rounds of {seen} families on random members, three random choices "
        "of greedy actions each (seed 15)"
    )


def _q_faults(
    family: Family, y: NDArray[np.bool_], rng: np.random.Generator
) -> Iterator[tuple[int, str]]:
    """Yield each round's number and what is wrong with its f, "" if nothing is."""
    member = family.mdp(y)
    every, most = family.variant is Variant.ALL_LEVELS, StartBound(family)
    collected: list[Distribution] = []
    for number, (move, f) in enumerate(q_functions(family), start=1):
        program = OliveProgram(member, collected, upper=family.ranges())
        fault = _fault_of_values(family, move, f)
        for _ in range(3):
            pair = _greedy_pair(family, f, rng)
            errors = average_bellman_errors(member, pair)
            if not program.is_feasible(pair) or (
                program.objective(pair) != most.value()
            ):
                fault = "a greedy policy gives no maximiser"
            elif errors[move.level - 1] <= 0 or sum(errors) <= 0:
                fault = f"errors {[str(e) for e in errors]} at level {move.level}"
        yield number, fault
        levels = range(1, 4) if every else (move.level,)
        for met in (member.distribution(f.policy, level) for level in levels):
            collected.append(met)
            most.add(met)


def _fault_of_values(family: Family, move: Move, f: QFunction) -> str:
    """Find values out of range, or, in `paper`, other ones than the paper gives."""
    mdp, end = family.mdp(), family.program().upper_of
    for state in range(mdp.n_states):
        if not all(0 <= f.values[a] <= end(state) for a in mdp.actions(state)):
            return f"values leave the range at state {state}"
    if family.variant is not Variant.PAPER:
        return ""
    layout = family.layout
    own = {
        "clause": layout.solve - family.n_clauses + move.index,
        "literal": move.index,
        "start": 0,
    }[move.kind]
    given = {a: Fraction(int(a == own)) for a in mdp.actions(layout.start)}
    pairs = range(family.n_variables) if move.kind == "clause" else [move.index]
    value = {"clause": Fraction(0), "literal": Fraction(1), "start": Fraction(1, 2)}
    for state in (layout.literal_state(i, b) for i in pairs for b in (0, 1)):
        given |= dict.fromkeys(mdp.actions(state), value[move.kind])
    if move.kind == "clause":
        given |= dict.fromkeys(
            mdp.actions(layout.clause_state(move.index)), Fraction(1)
        )
    differing = [a for a, v in given.items() if f.values[a] != v]
    return f"f differs from the paper's at actions {differing}" if differing else ""


def _greedy_pair(family: Family, f: QFunction, rng: np.random.Generator) -> Pair:
    """Take a random greedy action in each state."""
    mdp = family.mdp()
    values, policy = [], []
    for state in range(mdp.n_states):
        row = [f.values[a] for a in mdp.actions(state)]
        best = max(row)
        greedy = [a for a, v in enumerate(row) if v == best]
        values.append(best)
        policy.append(greedy[int(rng.integers(len(greedy)))])
    return Pair.from_fractions(values, policy)


@claim(
    "run-same-for-all-members",
    "paper, proof of thm:olive_nphard_f; docs/reduction.md, the run",
    EXHAUSTIVE,
)
def _same_for_all_members() -> Evidence:
    """Maximisers, levels and constraints of the run are the same on every member; only
    errors at level 3 of rounds that try a clause differ, and in all-levels, which
    reaches no literal state through a clause, not even those."""
    first: Run | None = None
    compared = differing = 0
    for family, y, run in _runs(without_sides(), 16, 12):
        if first is None or first.family is not family:
            first = run
        for mine, other in zip(run.rounds, first.rounds, strict=True):
            behind = mine.action.startswith("[try C")
            same = ("action", "level", "constraint", "optimum", "checks")
            if any(getattr(mine, f) != getattr(other, f) for f in same):
                raise Refuted(f"{family}, y = {y.tolist()}: {mine}, {other}")
            differs = mine.errors != other.errors
            allowed = behind and family.variant is not Variant.ALL_LEVELS
            if mine.errors[:2] != other.errors[:2] or (differs and not allowed):
                raise Refuted(f"{family}, y = {y.tolist()}: {mine.errors}")
            compared, differing = compared + 1, differing + differs
    return Evidence(
        differing > 0,
        f"{compared} rounds compared with those of the all-zero member; the error at "
        f"level 3 differs in {differing}, nothing else in any",
    )


@claim(
    "run-stopping-threshold",
    "docs/reduction.md, the run; constants of OLIVE as recalled",
    EXHAUSTIVE,
)
def _stopping_threshold() -> Evidence:
    """The errors of a round add up to at least min(p, top/2) on every member, to at
    least top/2 in all-levels. This is attained, except where p < top/2 and in no clause
    the literals that 001 makes true are consistent. An OLIVE that stops at 5ε/8 thus
    completes the whole run on every member if ε < 8/5 of it."""
    least: dict[int, tuple[Family, Fraction]] = {}
    for family, _, run in _runs(without_sides(), 17, 12):
        _, before = least.get(id(family), (family, Fraction(2)))
        least[id(family)] = family, min(before, run.least_total_error)
    attained = 0
    for family, found in least.values():
        bound, tight = family.top / 2, True
        if family.variant is not Variant.ALL_LEVELS and family.penalty < bound:
            bound, tight = family.penalty, _some_clause_pays_in_full(family)
        if found < bound or (found == bound) != tight:
            raise Refuted(f"{family}: errors of a round add up to {found}")
        attained += tight
    return Evidence(
        0 < attained < len(least),
        f"all members of {len(least)} families; attained in {attained} of them",
    )


def _some_clause_pays_in_full(family: Family) -> bool:
    """Whether some member pays at all three literals that 001 reaches."""
    return any(
        len({-a, -b, c} & {a, b, -c}) == 0 for a, b, c in family.clauses.tolist()
    )


@claim("erratum-5", "paper, proof of thm:olive_nphard_f, the run", EXACT, "5")
def _free_values() -> Evidence:
    """Not any Q-function with the printed values will do: f(C_1, ·) = 1 is free in
    round 2 and violates the constraint added in round 1. The values of
    olivine.reduction.run.schedule do, in every round."""
    family = Family(Formula.from_clauses([[1, 2, 3], [-1, -2, 3]]))
    layout, mdp = family.layout, family.mdp()
    collected = [mdp.distribution(f.policy, 2) for _, f in q_functions(family)][:1]
    program = OliveProgram(mdp, collected)
    values = [Fraction(0)] * layout.n_states
    policy = np.zeros(layout.n_states, dtype=np.int32)
    policy[layout.start] = layout.try_clause(1)
    for state in (layout.start, layout.clause_state(0), layout.clause_state(1)):
        values[state] = Fraction(1)
    printed = Pair.from_fractions(values, policy)
    broken = [(v.kind, v.index, v.amount) for v in program.violations(printed)]
    values[layout.clause_state(0)] = Fraction(0)
    mended = program.is_feasible(Pair.from_fractions(values, policy))
    return Evidence(
        broken == [("constraint", 0, Fraction(1))] and mended,
        "two clauses, round 2: with f(C_1, ·) = 1 the average Bellman error at C_1 is "
        "1, not 0; with f(C_1, ·) = 0 all constraints hold",
    )


_SEED = 41
_RATIO = 4.26
_SMALL = (3, 3, 3, 4, 4, 5)
_LARGE = (6, 12, 24, 48)


@claim("olive-is-not-oracle-efficient", "paper, thm:olive_notoracle", DRAWN, "26")
def _olive_is_not_oracle_efficient() -> Evidence:
    """Unless P = NP (assumed), an OLIVE whose ties and levels are chosen against it
    cannot be implemented with polynomially many operations and calls of CSC, LP and LS
    oracles: after m+n+1 rounds, in each of which the optimum is 1 for a trivial reason,
    it has to solve a program whose optimum is 1 exactly if the formula is satisfiable,
    in an MDP of 1+m+2n states on whose data CSC takes at most 10(nK + K|X|) operations,
    LS at most 10(3n + |X|), counted at the arrays, and LP is a linear program in |X|
    variables (n: tuples)."""
    rng = np.random.default_rng(_SEED)
    decided = {True: 0, False: 0}
    for n in _SMALL[: samples.instances(len(_SMALL))]:
        for ratio in (_RATIO, 3 * _RATIO):
            family = _family(n, ratio, rng)
            satisfiable = least_unsatisfied(family) == 0
            value = milp_value(family, "strengthened", "value-policy")
            if (value == 1) is not satisfiable:
                raise Refuted(f"n = {n}: optimum {value}, {satisfiable=}")
            decided[satisfiable] += 1
    large = [n for n in _LARGE if n <= samples.LARGEST]
    for n in large:
        family = _family(n, _RATIO, rng)
        try:
            _check_run(family, rng)
            check_oracles(family, rng)
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
    DRAWN,
    "26",
)
def _olive_with_benign_ties() -> str:
    """OLIVE may take any maximiser and any level with a positive error (Jiang et al.
    2017). With a choice that plans on the member it never has to solve the hard
    program: it ends with an optimal policy, adds at most |X| constraints, and the
    optimum is 1 in all rounds but the last, because the value at the start is
    constrained last."""
    runs = rounds = 0
    for variant in (v for v in without_sides() if not v.declaration.every_level):
        small, large = (
            Family(formula, variant) for formula in (contradiction(), eight_clauses())
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
    return Family(formula, "paper")


def _check_run(family: Family, rng: np.random.Generator) -> None:
    """Check the run that meets the program."""
    n, m = family.n_variables, family.n_clauses
    run = adversarial_run(family, rng.random(n) < 0.5)
    if not run.holds:
        raise Refuted(run.failures()[0])
    if not len(run.rounds) == n_rounds(family) == m + n + 1:
        raise Refuted(f"{len(run.rounds)} rounds")


def _ask_csc(problem: OracleData, data: EmpiricalMeasure, costs: Any) -> CscResult:
    return dataclasses.replace(problem, data=data, costs=costs).csc()


def _ask_ls(
    problem: OracleData, data: EmpiricalMeasure, targets: Any
) -> LeastSquaresResult:
    return dataclasses.replace(problem, data=data, targets=targets).least_squares()


def check_oracles(family: Family, rng: np.random.Generator) -> None:
    """Check the oracles on data of a member, and their operations."""
    problem = oracle_data(family, rng)
    size, k, tuples = problem.n_states, problem.n_actions, len(problem.data)
    if size != family.declared_sizes().states:
        raise Refuted(f"{size} states")
    for name, ask, numbers, most in (
        ("CSC", _ask_csc, problem.costs, tuples * k + k * size),
        ("LS", _ask_ls, problem.targets, 3 * tuples + size),
    ):
        ask_it = functools.partial(ask, problem)
        done = count_operations(ask_it, problem.data, numbers).operations
        if not 0 < done <= WALK_CONSTANT * most:
            sizes = f"n = {tuples}, K = {k}, |X| = {size}"
            raise Refuted(f"{name}: {done} operations, {sizes}")
    if not problem.lp().feasible:
        raise Refuted("LP: no solution, though the member's own values are one")
