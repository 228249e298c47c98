"""Tolerance and noise.

How much tolerance the decision by OLIVE's program stands, which runs go through if
estimates are off, and that two actions a state are enough.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from ..algorithms.mdp.planning import Pair
from ..algorithms.olive_program.model import policy_optimum
from ..algorithms.olive_program.optimisers import BranchAndBound
from ..algorithms.olive_program.program import OliveProgram, two_action_program
from ..algorithms.olive_program.rounds import ExactWorld, run_rounds
from ..algorithms.olive_program.tiebreak import RandomTiebreak, SolverTiebreak
from ..reduction.family.family import Family, Variant
from ..reduction.family.variants import (
    DECLARATIONS,
    Declaration,
    Parameters,
    forced,
    without_sides,
)
from ..reduction.formula.formula import Formula
from ..reduction.program.optimum import optimum
from ..reduction.program.tolerance import critical_tolerance, tolerance_ceiling
from ..reduction.run.every_tie import Faces, Noise, every_tie, search_ties
from ..reduction.run.honest import adversarial_tiebreak, honest_run
from ..reduction.run.replay import LevelRule
from ..reduction.run.run import adversarial_run
from ..reduction.run.schedule import n_rounds
from . import CERTIFIED, EXACT, EXHAUSTIVE, Evidence, Refuted, claim
from .samples import (
    assignments,
    contradiction,
    eight_clauses,
    families,
    least_unsatisfied,
    random_formula,
    some,
)
from .ties import SEARCHED, check_faces, forced_parts

_FORMULAS = 8
_TWO = (Variant.NORMALIZED, Variant.ALL_LEVELS)
_SMALL = Fraction(1, 20)
# The default penalties, and one so small that p/4 is the least of the three.
_FAMILIES: tuple[tuple[Variant, Fraction | None], ...] = (
    *((variant, None) for variant in without_sides()),
    (Variant.NORMALIZED, _SMALL),
    (Variant.ALL_LEVELS, _SMALL),
)
# Penalties on both sides of the one where the two ways without [solve] change places.
_TRIED: tuple[tuple[Variant, Fraction | None], ...] = (
    *((Variant.PAPER, Fraction(p, 8)) for p in (1, 2, 6)),
    *((v, Fraction(p, 20)) for v in _TWO for p in (1, 8, 9, 15)),
    (Variant.GAP, None),
    (Variant.STRICT, None),
)


@claim("critical-tolerance", "docs/reduction.md, tolerances", EXHAUSTIVE)
def _critical_tolerance() -> Evidence:
    """The least φ at which an unsatisfiable formula's optimum reaches that of a
    satisfiable one is min(u(1−p)/(12W−2u), p/4, (1−p)/6) in normalized, gap and
    all-levels, u/(90W+20u) in strict; in paper it is at least min(u/(3W+8u), p, 1/4).
    """
    rng = np.random.default_rng(0)
    equal = above = capped = 0
    for number in range(_FORMULAS):
        formula = random_formula(rng, max_variables=2, max_clauses=3)
        three_sat = formula.three_sat()
        for variant, penalty in _FAMILIES:
            family = Family(three_sat, variant, penalty)
            u = least_unsatisfied(family)
            found = critical_tolerance(family, u)
            if found.lower != _stated(family, u):
                raise Refuted(f"{family}: the closed form gives {found.lower}")
            if found.value is None or found.value < found.lower:
                raise Refuted(f"formula {number}, {variant}: {found.value}")
            if found.value != found.lower:
                if variant is not Variant.PAPER:
                    raise Refuted(
                        f"formula {number}, {variant}, p = {family.penalty}: "
                        f"{found.value}, the closed form "
                        f"says {found.lower}"
                    )
                above += 1
            equal += found.value == found.lower
            capped += found.value == family.penalty / 4
    return Evidence(
        capped > 0,
        f"{_FORMULAS} random formulas, five variants, two of them with p = "
        f"{_SMALL}, too: {equal} equal to the closed form, {capped} of them to p/4, "
        f"{above} above it (paper)",
    )


def _stated(family: Family, u: int) -> Fraction:
    """Critical tolerance as the entry states it, in paper a lower bound."""
    p, total = family.penalty, family.total_weight
    if u == 0:
        return Fraction(0)
    if family.variant is Variant.STRICT:
        return Fraction(u, 90 * total + 20 * u)
    if family.variant is Variant.PAPER:
        return min(Fraction(u, 3 * total + 8 * u), p, Fraction(1, 4))
    return min(u * (1 - p) / (12 * total - 2 * u), p / 4, (1 - p) / 6)


@claim("tolerance-ceiling", "docs/reduction.md, tolerances", EXACT)
def _ceiling() -> Evidence:
    """Without [solve] the optimum reaches that of a satisfiable formula, 1, at φ =
    min(p/4, (1−p)/6) and not before: [try C_j] at p/4, [try x_i] at (1−p)/6; in paper
    at min(p, 1/4), in strict, where it is 3/20, at 1/100. For u ≥ 1 the last
    never is the least of the three terms of the critical tolerance, as u(1−p)/(12W−2u)
    is at most (1−p)/22."""
    three_sat = Formula.from_clauses([[1]]).three_sat()
    by_variable = 0
    for variant, penalty in _TRIED:
        family = Family(three_sat, variant, penalty)
        ceiling, p = tolerance_ceiling(family.parameters), family.penalty
        below = ceiling * Fraction(9999, 10_000)
        reached = [_best_try(family, phi) for phi in (ceiling, below)]
        best = family.parameters.best
        if reached[0] != best or reached[1] >= best:
            text = f"{variant}, p = {p}: optima {reached} at {ceiling}, just below"
            raise Refuted(text)
        by_variable += ceiling != p / (1 if variant is Variant.PAPER else 4)
    return Evidence(
        0 < by_variable < len(_TRIED),
        f"{len(_TRIED)} families, every policy that tries, by exact linear programs at "
        f"the tolerance stated and at 0.9999 of it; [try x_i] first in {by_variable}",
    )


def _best_try(family: Family, tolerance: Fraction) -> Fraction:
    """Optimum over the policies that do not [solve], with one clause."""
    program = OliveProgram(family.mdp(), family.distributions(), tolerance)
    layout, best = family.layout, Fraction(-1)
    for action in range(layout.solve):
        for inner in range(layout.clause_actions):
            policy = np.zeros(layout.n_states, dtype=np.int32)
            policy[layout.start], policy[family.clause_state(0)] = action, inner
            pair = policy_optimum(program, policy)
            if pair is not None:
                best = max(best, program.objective(pair))
    return best


@claim("critical-tolerance-eight-clauses", "docs/reduction.md, tolerances", CERTIFIED)
def _eight_clauses() -> Evidence:
    """All eight clauses on three variables have critical φ 1/32 in paper."""
    family = Family(eight_clauses())
    found = critical_tolerance(family, 1)
    return Evidence(
        found.value == Fraction(1, 32) and found.exact,
        f"{found.value}, attained by an exact pair, {found.by} from below",
    )


@claim("olive-meets-hard-program", "paper, thm:olive_nphard_f", EXHAUSTIVE)
def _meets_hard_program() -> str:
    """OLIVE itself, with ties broken against it, arrives at the hard program, whose
    optimum decides the formula; with ties broken otherwise it still ends with an
    optimal policy."""
    three_sat = contradiction().three_sat()
    runs = 0
    for variant in without_sides():
        family = Family(three_sat, variant)
        for y in ([False], [True]):
            run = honest_run(
                family,
                y,
                optimiser=BranchAndBound(),
                tiebreak=adversarial_tiebreak(family),
                all_levels=variant is Variant.ALL_LEVELS,
                max_rounds=n_rounds(family) + 1,
            )
            last = run.result.rounds[-1]
            expected = optimum(family.parameters, 1)
            if not run.meets_hard_program or last.optimum != expected:
                raise Refuted(f"{variant}, y = {y}: {last.optimum}")
            ties = (SolverTiebreak(), RandomTiebreak(np.random.default_rng(0)))
            for tiebreak in ties:
                honest = honest_run(
                    family, y, optimiser=BranchAndBound(), tiebreak=tiebreak
                )
                if honest.result.rounds[-1].optimum != honest.optimal_value:
                    raise Refuted(f"{variant}, y = {y}: not optimal")
                runs += 1
    return (
        f"x, ¬x in every variant and member: the hard program and its optimum; {runs} "
        "honest runs end with an optimal policy"
    )


_LITTLE = Fraction(1, 10**6)
_TWENTIETH = Fraction(1, 20)


def _on_both_sides(phi: Fraction) -> Iterator[tuple[LevelRule, Noise, bool]]:
    """Yield noise at the thresholds and just below, and whether runs are as stated."""
    eta = (_TWENTIETH - phi) / 11
    yield "lowest", Noise(eta, phi, 3 * phi + 6 * eta), False
    eta -= _LITTLE
    low, high = 3 * phi + 6 * eta, _TWENTIETH + 2 * phi - 5 * eta
    yield "lowest", Noise(eta, phi, (low + high) / 2), True
    yield "lowest", Noise(eta, phi, low), False
    yield "lowest", Noise(eta, phi, high), False
    eta = (_TWENTIETH - phi) / 7
    yield "largest", Noise(eta, phi, 3 * phi), False
    eta -= _LITTLE
    high = _TWENTIETH + 2 * phi - 5 * eta
    yield "largest", Noise(eta, phi, high - _LITTLE), True
    yield "largest", Noise(eta, phi, high), False


@claim(
    "strict-noise",
    "docs/ties.md, noise; paper, remark after thm:olive_nphard_f",
    EXHAUSTIVE,
)
def _strict_noise() -> Evidence:
    """In strict let each estimate be within η of its expectation, 0 < η ≤ φ, and OLIVE
    stop where the errors add up to S ≥ 3φ. Every run still arrives at exactly the hard
    program after m + 2n + 1 rounds, whatever the estimates, under lowest if and only if
    3φ + 6η < S < 1/20 + 2φ − 5η (there is such an S if and only if φ + 11η < 1/20), and
    under largest if and only if S < 1/20 + 2φ − 5η and φ + 7η < 1/20. The program then
    decides the formula if φ + η < u/(90W + 20u)."""
    met = broken = faces = compared = 0
    cases = some([*zip(SEARCHED, (160, 100, 50), strict=True)])
    for (n, rows), share in cases:
        family = Family(Formula.from_clauses(rows, n), Variant.STRICT)
        if len(rows) == 1:
            phi = Fraction(1, share)
            compared += check_faces(family, Noise(phi / 2, phi, 3 * phi))
        for levels, noise, wanted in _on_both_sides(Fraction(1, share)):
            found = every_tie(family, levels=levels, noise=noise)
            if found.always != wanted:
                said = list(found.example) or "every run meets it"
                raise Refuted(f"{rows}, {levels}, {noise}: {said}")
            met, broken = met + wanted, broken + (not wanted)
            faces += found.faces
    return Evidence(
        met > 0 and broken > 0,
        f"{len(cases)} formulas: all runs and estimates in {met} cases with η "
        f"10^-6 below a threshold, a run that goes wrong in {broken} at one; {faces} "
        f"polytopes, exact, and of {compared} policies each with a maximiser has one; "
        "φ = " + ", ".join(f"1/{share}" for _, share in cases),
    )


class _Adverse(ExactWorld):
    """Exact constraints of any tolerance within η of φ, and errors η too small."""

    def __init__(self, program: OliveProgram, noise: Fraction) -> None:
        super().__init__(program)
        self.noise = noise

    def errors(self, pair: Pair) -> tuple[Fraction, ...]:
        return tuple(e - self.noise for e in super().errors(pair))


@claim(
    "stated-run-noise",
    "docs/ties.md, noise; paper, remark after thm:olive_nphard_f",
    EXHAUSTIVE,
)
def _stated_noise() -> Evidence:
    """Let each estimate be within η of its expectation, and T the least sum of errors
    in a round of the stated run of paper, normalized, gap or all-levels; T ≥ min(p,
    top/2). For some S ≥ 3φ the run is completed whatever the estimates if and only if η
    ≤ φ and φ + η < T/3."""
    runs = 0
    for variant in (v for v in without_sides() if v is not Variant.STRICT):
        for family in families(variant, 56, 8, max_variables=3, max_clauses=4):
            stated = adversarial_run(family)
            total, rounds = stated.least_total_error, len(stated.rounds)
            if total < min(family.penalty, family.top / 2):
                raise Refuted(f"{family}: errors add up to {total}")
            for share in (2, 5):
                eta = total / 3 / share
                phi = total / 3 - eta
                for noise, through in ((eta - _LITTLE, True), (eta, False)):
                    if _goes_through(family, noise, phi, rounds) != through:
                        raise Refuted(f"{family}: η = {noise}, φ = {phi}")
                    runs += 1
    return Evidence(
        runs > 0,
        f"{runs} runs, half with η 10^-6 below the threshold and half at it; programs "
        "at φ − η, all estimated errors η too small",
    )


def _goes_through(family: Family, eta: Fraction, phi: Fraction, rounds: int) -> bool:
    """Whether the stated run meets all its constraints under the worst estimates."""
    program = OliveProgram(family.mdp(), [], phi - eta, upper=family.ranges())
    run = run_rounds(
        _Adverse(program, eta),
        BranchAndBound(),
        adversarial_tiebreak(family),
        stop=3 * phi,
        all_levels=family.layout.declaration.every_level,
        max_rounds=rounds,
    )
    stated = [d.probabilities() for d in family.distributions()]
    met = [d.probabilities() for d in run.constraints]
    return len(met) == len(stated) and all(d in stated for d in met)


_UNITS: tuple[tuple[int, list[list[int]]], ...] = ((1, [[1]]), (1, [[1], [-1]]))


@claim("two-actions", "docs/ties.md, two actions", EXHAUSTIVE)
def _two_actions() -> str:
    """With binary trees of actions in place of wide choices the layered variants have
    at most two actions a state and horizon ⌈log2(n+m+1)⌉ + 4, the same V*, and the same
    optimum in the program that has a constraint for each node of the trees of s0, C_j
    and X_i. In strict every run that constrains the lowest level with a positive error
    arrives at exactly that program."""
    programs = 0
    layered = [v for v in without_sides() if v.declaration.variable_states]
    for variant, (n, rows) in itertools.product(layered, _UNITS):
        family = Family(Formula.from_clauses(rows, n), variant)
        trees, program = two_action_program(family.program())
        n, m = family.n_variables, family.n_clauses
        wide = (n + m).bit_length() + 4
        if trees.mdp.horizon != wide or trees.mdp.action_counts.max() > 2:
            raise Refuted(f"{family}: horizon {trees.mdp.horizon}")
        for y in assignments(n):
            member = OliveProgram(family.mdp(y), [])
            best = member.mdp.optimal_values().value(family.start)
            mdp = two_action_program(member)[0].mdp
            if mdp.optimal_values().value(mdp.start) != best:
                raise Refuted(f"{family}, {y}: another V*")
        value = BranchAndBound().maximise(program).value
        if value != optimum(family.parameters, least_unsatisfied(family)):
            raise Refuted(f"{family}: optimum {value}")
        programs += 1
    met = faces = 0
    for sign in (1, -1):
        family = Family(Formula.from_clauses([[sign]]), Variant.STRICT)
        trees, program = two_action_program(family.program())
        search = Faces(trees.mdp, program.upper_given, "lowest", Noise())
        found = search_ties(search, program.distributions)
        if not found.always:
            raise Refuted(f"{family}: {list(found.example)}")
        met, faces = met + found.programs, faces + found.faces
    return (
        f"{programs} programs solved exactly, with V* of each member; all runs on (1 "
        f"1 1) and (-1 -1 -1): {met} programs that they meet, {faces} polytopes of "
        "maximisers"
    )


@claim("room-of-side-states", "docs/complexity.md, Open", EXACT, subject="ranges")
def _room() -> Evidence:
    """In forced a satisfying member attains the optimum of the hard program exactly
    where nothing beside a side state pays, so that its value cannot be raised; then one
    constraint over literals lowers the optimum. With room of T it is void. So for no R,
    q and a tried the family has both."""
    attained = tried = 0
    sides = (Fraction(10), Fraction(15), Fraction(30))
    chances = (Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
    for side, reach, solve, room in itertools.product(
        sides,
        chances,
        (Fraction(6, 100), Fraction(1, 5)),
        (Fraction(0), Fraction(1, 100), Fraction(1)),
    ):
        best, worth, beside = _with_room(side, reach, solve, room)
        void = beside == best
        if (worth == best) is not (room == 0) or (void is not (room == 1)):
            raise Refuted(f"R = {side}T, q = {reach}, a = {solve}, {room}: {best}")
        tried, attained = tried + 1, attained + (worth == best)
    return Evidence(
        0 < attained < tried,
        f"{tried} settings of R, q, a and what the state beside a side pays, on (1 1 "
        f"1); attained in {attained}",
    )


def _with_room(
    side: Fraction, reach: Fraction, solve: Fraction, room: Fraction
) -> tuple[Fraction, Fraction, Fraction]:
    """Best of [solve], its true worth in a satisfying member, and the best beside."""
    three_sat = Formula.from_clauses([[1]]).three_sat()
    top = Fraction(1, 100)
    declared = forced(side=side * top, reach=reach, solve=solve)
    plain = declared.sides
    assert plain is not None
    paid = plain._replace(
        false=Fraction(0), true=Fraction(1), spare=Fraction(0), beside=room
    )
    with _declared(declared._replace(sides=paid)):
        family = Family(three_sat, Variant.FORCED)
        hard, mdp = family.program(), family.mdp([1])
        behind = forced_parts(family).behind[0]  # 001, true in the all-zero member
        values = [_best_of_solve(p) for p in (hard, hard.extended([behind]))]
        policy = np.zeros(family.layout.n_states, dtype=np.int32)
        policy[[0, 1]] = family.layout.solve, 6
        return values[0], mdp.evaluate(policy).value(0), values[1]


@contextmanager
def _declared(declaration: Declaration) -> Iterator[None]:
    """Let `forced` be declared otherwise, and not as Theorem O needs it."""
    kept, check = DECLARATIONS[Variant.FORCED], Parameters._check_theorem
    DECLARATIONS[Variant.FORCED] = declaration
    setattr(Parameters, "_check_theorem", lambda self: None)  # noqa: B010
    try:
        yield
    finally:
        DECLARATIONS[Variant.FORCED] = kept
        setattr(Parameters, "_check_theorem", check)  # noqa: B010


def _best_of_solve(program: OliveProgram) -> Fraction:
    """Best value of [solve] in a program of one clause, by exact linear programs."""
    mdp, found = program.mdp, list[Fraction]()
    policy = np.zeros(mdp.n_states, dtype=np.int32)
    policy[mdp.start] = mdp.action_counts[mdp.start] - 2
    for policy[1] in range(int(mdp.action_counts[1])):
        pair = policy_optimum(program, policy)
        if pair is not None:
            found.append(program.objective(pair))
    return max(found)
