"""Claims about runs of OLIVE under noise, and that two actions a state are enough."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ..algorithms.mdp.bellman import Pair
from ..algorithms.olive.loop import run_rounds
from ..algorithms.olive.optimisers import BranchAndBound
from ..algorithms.olive.program import OliveProgram, two_action_program
from ..algorithms.olive.run import ExactWorld
from ..algorithms.olive.tiebreak import RandomTiebreak
from ..reduction.family.family import Family, Variant
from ..reduction.formula.formula import Formula
from ..reduction.program.optimum import optimum
from ..reduction.run.every_tie import Noise, every_tie
from ..reduction.run.honest import adversarial_tiebreak
from ..reduction.run.levels import LevelRule
from ..reduction.run.run import adversarial_run
from .claim import EXHAUSTIVE, Evidence, Refuted, claim
from .support.families import assignments, families, least_unsatisfied
from .ties import SEARCHED

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
    stop where the errors add up to S ≥ 3φ. Every run still meets exactly the hard
    program after m + 2n + 1 rounds, whatever the estimates, under lowest if and only if
    3φ + 6η < S < 1/20 + 2φ − 5η (there is such an S if and only if φ + 11η < 1/20), and
    under largest if and only if S < 1/20 + 2φ − 5η and φ + 7η < 1/20. The program then
    decides the formula if φ + η < u/(90W + 20u)."""
    met = broken = faces = 0
    for (n, rows), share in zip(SEARCHED, (160, 100, 50), strict=True):
        family = Family(Formula.from_clauses(rows, n).three_sat(), Variant.STRICT)
        for levels, noise, wanted in _on_both_sides(Fraction(1, share)):
            found = every_tie(family, levels=levels, noise=noise)
            if found.always != wanted:
                said = list(found.example) or "every run meets it"
                raise Refuted(f"{rows}, {levels}, {noise}: {said}")
            met, broken = met + wanted, broken + (not wanted)
            faces += found.faces
    return Evidence(
        met > 0 and broken > 0,
        f"{len(SEARCHED)} formulas: all runs and estimates in {met} cases with η 10^-6 "
        f"below a threshold, a run that goes wrong in {broken} at one; {faces} "
        "polytopes, exact; φ = 1/160, 1/100, 1/50",
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
    top/2). For some S ≥ 3φ the run goes through whatever the estimates if and only if η
    ≤ φ and φ + η < T/3."""
    runs = 0
    for variant in (v for v in Variant if v is not Variant.STRICT):
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


_FORMULAS: tuple[tuple[int, list[list[int]]], ...] = ((1, [[1]]), (1, [[1], [-1]]))


@claim("two-actions", "docs/ties.md, two actions", EXHAUSTIVE)
def _two_actions() -> str:
    """With binary trees of actions in place of wide choices the layered variants have
    at most two actions a state and horizon ⌈log2(n+m+1)⌉ + 4, the same V*, and in the
    program that binds each node of the trees of s0, C_j and X_i the same optimum. In
    strict every run that binds the lowest level with a positive error meets exactly
    that program."""
    programs = rounds = 0
    layered = [v for v in Variant if v.declaration.variable_states]
    for variant, (n, rows) in itertools.product(layered, _FORMULAS):
        family = Family(Formula.from_clauses(rows, n).three_sat(), variant)
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
        found = BranchAndBound().maximise(program).value
        if found != optimum(family.parameters, least_unsatisfied(family)):
            raise Refuted(f"{family}: optimum {found}")
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
            raise Refuted(f"{family}: {run.status} after {len(met)} rounds")
        rounds += len(met)
    return (
        f"{programs} programs solved exactly, with V* of each member; {rounds} rounds "
        "of two runs with random maximisers (seed 58)"
    )
