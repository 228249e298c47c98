"""Constant accuracy, approximate maximisers, oracles.

What the theorems about runs give beyond the paper's: docs/complexity.md has the proofs.
"""

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.mdp.tabular import TabularMDP
from ..algorithms.olive.parameters import tabular_log_size, theorem_parameters
from ..algorithms.olive.run import TabularEnvironment, olive_sampled
from ..algorithms.olive_program.optimisers import enumerate_policies
from ..algorithms.olive_program.program import OliveProgram, two_action_program
from ..algorithms.olive_program.tiebreak import SolverTiebreak
from ..algorithms.oracles.ledger import Tally, conversions_count, wrapped
from ..reduction.family.family import Family, Variant
from ..reduction.formula.formula import Formula
from ..reduction.formula.random_formula import random_ksat
from ..reduction.program.optimum import optimum
from ..reduction.program.tolerance import decides, optimum_within, tolerance_bounds
from ..reduction.run.every_tie import Noise, every_tie
from ..reduction.run.replay import LevelRule
from ..solvers import treewidth
from . import DRAWN, EXACT, EXHAUSTIVE, Evidence, Refuted, claim
from .hard_run import check_oracles
from .samples import contradiction, eight_clauses, least_unsatisfied

LITTLE = Fraction(1, 10**6)
RULES: tuple[LevelRule, ...] = ("lowest", "largest")
_SMALL: tuple[list[list[int]], ...] = (
    [[1]],
    [[1], [-1]],
    [[1, 2], [-1, 2], [1, -2]],
    [[1], [-1], [1, 2]],
)


def _family(rows: list[list[int]]) -> Family:
    return Family(Formula.from_clauses(rows), Variant.STRICT)


def _within(family: Family, tolerance: Fraction) -> OliveProgram:
    return OliveProgram(
        family.mdp(), family.distributions(), tolerance, upper=family.ranges()
    )


@claim("strict-tolerance-optimum", "docs/complexity.md, L", EXHAUSTIVE)
def _tolerance() -> str:
    """In strict with tolerance τ ≤ (9 − 5σ)/(50(9 − 2σ)) the optimum of OLIVE's program
    is 3/20 − σ/60 + (3/2 + σ/3)τ, and just beyond it 3/25 + 3τ; σ is the least share
    unsatisfied. For the eight clauses, σ = 1/8, it is 3/20 at τ = 1/740."""
    policies = 0
    for rows in _SMALL:
        family = _family(rows)
        share = Fraction(least_unsatisfied(family), len(rows))
        end = (9 - 5 * share) / (50 * (9 - 2 * share))
        for tolerance in (Fraction(1, 1000), Fraction(1, 200), end, end + LITTLE):
            due = optimum_within(Variant.STRICT, share, min(tolerance, end))
            if tolerance > end:
                due = Fraction(3, 25) + 3 * tolerance
            found = enumerate_policies(_within(family, tolerance))
            if found.optimum != due:
                raise Refuted(f"{rows}, τ = {tolerance}: {found.optimum}, not {due}")
            policies += found.policies
    family, critical = Family(eight_clauses(), Variant.STRICT), Fraction(1, 740)
    if tolerance_bounds(family.parameters, 1) != (critical, critical):
        raise Refuted(f"critical {tolerance_bounds(family.parameters, 1)}")
    values = [_solved(family, critical - off) for off in (0, LITTLE)]
    due = optimum_within(Variant.STRICT, Fraction(1, 8), critical)
    if values[0] != due or values[1] >= Fraction(3, 20) or due != Fraction(3, 20):
        raise Refuted(f"the eight clauses: {values}, {due}")
    return (
        f"{len(_SMALL)} formulas at four tolerances, {policies} policies by exact "
        "linear programs; the eight clauses over all vertices of what pairs allow"
    )


def _solved(family: Family, tolerance: Fraction) -> Fraction:
    """Best of [solve] over the vertices of the pairs' polygons, action by action."""
    top, slack = family.top, 2 * tolerance
    corners = [(0, top - slack), (0, top), (slack, top)]
    polygon = [*corners, *((b, a) for a, b in corners)]
    clauses, best = family.clauses.tolist(), Fraction(0)
    for pairs in itertools.product(polygon, repeat=family.n_variables):
        total = Fraction(0)
        for clause in clauses:
            both = [pairs[abs(x) - 1][:: 1 if x > 0 else -1] for x in clause]
            ahead = max(
                sum(pair[bit] for pair, bit in zip(both, bits, strict=True))
                for bits in itertools.product((0, 1), repeat=3)
                if any(bits)
            )
            total += tolerance + Fraction(ahead) / 3
        mean = total / len(clauses)
        best = max(best, family.solve_reward + tolerance + mean / 2)
    return best


@dataclass(frozen=True)
class Own:
    """OLIVE's own constants where Bellman rank M is a square, exact or sampled."""

    epsilon: Fraction
    root: int = 2  # √M; level 2 of (1 1 1) has three states
    sampled: bool = False

    def noise(self, gamma: Fraction = Fraction(0)) -> Noise:
        """Give φ, the stop, what estimates are off by, and γ."""
        phi = self.epsilon / (36 * self.root)
        off = (phi, self.epsilon / 24) if self.sampled else (Fraction(0), Fraction(0))
        return Noise(off[0], phi, 5 * self.epsilon / 8, off[1], gamma)


@claim("approximate-maximisers", "docs/complexity.md, T′", EXHAUSTIVE)
def _approximate() -> str:
    """In strict, under 'lowest' and 'largest', every run whose pairs are within γ of
    the optimum reaches exactly the hard program if and only if γ < 1/50 (exact, φ = 0);
    γ < 1/50 + φ/2 and γ + 5ε/8 < 1/20 + 2φ (exact, OLIVE's own φ and stop);
    γ + 3φ < 1/50 and γ + 3ε/4 < 1/20 (its own samples, too)."""
    small, large = Fraction(1, 50), Fraction(1, 16)
    cases: list[tuple[Own | None, Fraction]] = [(None, Fraction(1, 50))]
    for epsilon in (small, large):
        exact, own = Own(epsilon), Own(epsilon, sampled=True)
        phi = exact.noise().phi
        bound = min(small + phi / 2, Fraction(1, 20) + 2 * phi - 5 * epsilon / 8)
        cases.append((exact, bound))
        cases.append((own, min(small - 3 * phi, Fraction(1, 20) - 3 * epsilon / 4)))
    family, faces = _family([[1]]), 0
    for (constants, bound), rule in itertools.product(cases, RULES):
        for gamma in (bound - LITTLE, bound):
            noise = Noise(gamma=gamma)
            if constants is not None:
                noise = constants.noise(gamma)
            found = every_tie(family, levels=rule, noise=noise)
            if found.always is not (gamma < bound):
                raise Refuted(f"{rule}, {noise}: {found.example}")
            faces += found.faces
    return (
        f"{len(cases)} bounds under two rules, at each and a millionth below, on (1 1 "
        f"1): all runs, {faces} polytopes of pairs near the optimum"
    )


@claim("constant-accuracy", "docs/complexity.md, N1 and N2", DRAWN)
def _constant() -> str:
    """At constant ε ≤ 2/25 with exact expectations and OLIVE's own φ and stop every run
    of strict reaches the hard program, whose optimum is 3/20 + 3φ/2 − σ(1/60 − φ/3): it
    decides each formula. With own samples, ε < 1/15, the optimum is at least 3/20
    if and only if the formula is satisfiable, where √M ≥ 1/(3σ) + 2/27."""
    own = Own(Fraction(2, 25)).noise()
    for rows, rule in itertools.product(_SMALL[:2], RULES):
        family = _family(rows)
        found = every_tie(family, levels=rule, noise=own)
        share = Fraction(least_unsatisfied(family), len(rows))
        value = enumerate_policies(_within(family, own.phi)).optimum
        due = Fraction(3, 20) + 3 * own.phi / 2
        due -= share * (Fraction(1, 60) - own.phi / 3)
        if not found.always or value != due:
            raise Refuted(f"{rows}, {rule}: {value}, {found.example}")
    # The rank at which own samples decide (x)(¬x), σ = 1/2, and a little less.
    root = Fraction(2, 3) + Fraction(2, 27)
    both = _family([[1], [-1]])
    for factor, tells in ((1 + LITTLE, True), (1 - LITTLE, False)):
        phi = 1 / (540 * root * factor)
        value = enumerate_policies(_within(both, 2 * phi)).optimum
        assert value is not None
        told = decides(Fraction(1, 2), phi, phi)
        if (value < Fraction(3, 20)) is not tells or told is not tells:
            raise Refuted(f"√M = {float(root * factor)}: {value}")
    decided = {True: 0, False: 0}
    for formula in sampled_formulas():
        family = Family(formula, Variant.STRICT)
        satisfiable = least_unsatisfied(family) == 0
        last = sampled_optimum(family, Fraction(1, 16), np.random.default_rng(81))
        if (last >= Fraction(3, 20)) is not satisfiable:
            raise Refuted(f"{list(formula.clauses())}: {float(last)}, {satisfiable=}")
        decided[satisfiable] += 1
    return (
        f"all runs of two formulas at ε = 2/25; sampled runs at ε = 1/16 with own "
        f"constants (seed 81) decide {decided[True]} satisfiable and {decided[False]} "
        "unsatisfiable formulas"
    )


def sampled_formulas() -> Iterator[Formula]:
    """Yield the eight clauses, the same but for one, and ten random formulas."""
    eight = list(eight_clauses().clauses())
    yield eight_clauses()
    yield Formula.from_clauses([*eight[:-1], eight[0]], 3)
    rng = np.random.default_rng(82)
    for k in range(10):
        n = 2 + k % 3
        yield random_ksat(n, 2 + 3 * (k % 4), min(n, 2 + k % 2), rng)


def sampled_optimum(
    family: Family, epsilon: Fraction, rng: np.random.Generator
) -> Fraction:
    """Run OLIVE on own samples up to the hard program; the optimum that it finds.

    Raises Refuted where it binds anything else.
    """
    stated = [d.probabilities() for d in family.distributions()]
    mdp = family.mdp(rng.random(family.n_variables) < 0.5)
    actions = family.layout.solve + 1
    parameters = theorem_parameters(
        float(epsilon),
        0.1,
        horizon=3,
        n_actions=actions,
        rank=max_level(mdp),
        log_size=tabular_log_size(mdp.n_states, actions),
    )
    parameters = replace(parameters, max_rounds=len(stated) + 1)
    done = olive_sampled(
        TabularEnvironment(mdp),
        parameters,
        rng,
        tiebreak=SolverTiebreak("first"),
        upper=family.ranges(),
    )
    met = [
        mdp.distribution(r.pair.policy, r.level).probabilities()
        for r in done.rounds[:-1]
        if r.level is not None
    ]
    if len(met) != len(stated) or any(d not in stated for d in met):
        raise Refuted(f"{family}: {done.status} after {len(met)} rounds")
    return done.rounds[-1].optimum


def max_level(mdp: TabularMDP) -> int:
    """Greatest number of states of a level, a bound on the Bellman rank."""
    return int(np.bincount(mdp.state_level).max())


@claim("approximate-optima", "docs/complexity.md, A", EXHAUSTIVE)
def _approximate_optima() -> str:
    """A pair within γ of the optimum decides a share σ if γ < σ/60 − 3η − σ(φ + η)/3 in
    strict, γ < σ/4 − (4 − 2σ/3)(φ + η) in gap. With σ = 1/8 and φ = 0 the gaps are
    1/480 and 1/32, the factors 71/72 and 31/32. (Håstad's theorem, assumed, makes them
    NP-hard.)"""
    compared = 0
    for variant, (gap, factor) in {
        Variant.STRICT: (Fraction(1, 480), Fraction(71, 72)),
        Variant.GAP: (Fraction(1, 32), Fraction(31, 32)),
    }.items():
        eight = Family(eight_clauses(), variant)
        best, value = eight.parameters.best, optimum(eight.parameters, 1)
        if (best - value, value / best) != (gap, factor):
            raise Refuted(f"{variant}: {best - value}, {value / best}")
        family = Family(contradiction(), variant)
        share = Fraction(1, 2)
        for phi, eta in ((0, 0), (Fraction(1, 900), 0), (Fraction(1, 999),) * 2):
            known = optimum_within(variant, Fraction(0), Fraction(phi - eta))
            found = enumerate_policies(_within(family, Fraction(phi + eta))).optimum
            room = share / 60 - 3 * eta - share * (phi + eta) / 3
            if variant is Variant.GAP:
                room = share / 4 - (4 - 2 * share / 3) * (phi + eta)
            if found is None or known - found != room:
                raise Refuted(f"{variant}, φ = {phi}, η = {eta}: {found}")
            compared += 1
    return f"the eight clauses, and (x)(¬x) at {compared} tolerances by all policies"


@claim("oracles-are-polynomial-in-runs", "docs/complexity.md, E", DRAWN)
def _oracles() -> str:
    """On data of strict and forced CSC and LS over all policies and all functions take
    operations linear in the data and in |X|, counted at the arrays, and LP is solved:
    so, unless P = NP (assumed), no OLIVE whose every run reaches their hard programs is
    oracle-efficient."""
    rng, sizes = np.random.default_rng(83), (6, 12, 24)
    for variant in (Variant.STRICT, Variant.FORCED):
        for n in sizes:
            formula = random_ksat(n, 4 * n, 3, rng)
            check_oracles(Family(formula, variant), rng)
    return f"members with n = {', '.join(map(str, sizes))} of both variants (seed 83)"


@contextmanager
def _counted_tables(module: Any) -> Iterator[Tally]:
    """Count what a module does on the tables that it makes by ``np.zeros``."""
    tally, plain = Tally(), module.np

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(plain, name)

        def zeros(self, *args: Any, **kwargs: Any) -> Any:
            return wrapped(plain.zeros(*args, **kwargs), tally)

    module.np = Counting()
    try:
        with conversions_count():
            yield tally
    finally:
        module.np = plain


@claim("treewidth-is-counted", "docs/complexity.md, H2", DRAWN)
def _treewidth() -> str:
    """The route treewidth takes at most 10 (n + m) 2^w operations on its tables, w the
    width that it finds, counted at the arrays; u is as by trying all assignments."""
    rng, worst = np.random.default_rng(84), 0.0
    for n, span in itertools.product((12, 24, 48), (3, 5, 8)):
        starts = rng.integers(0, n - span + 1, 3 * n)
        variables = [s + rng.permutation(span)[:3] + 1 for s in starts]
        clauses = [(v * rng.choice([-1, 1], 3)).tolist() for v in variables]
        with _counted_tables(treewidth) as tally:
            found = treewidth.solve_by_treewidth(clauses, n)
        most = (n + len(clauses)) << found.width
        worst = max(worst, tally.operations / most)
        if not 0 < tally.operations <= 10 * most:
            raise Refuted(f"n = {n}, w = {found.width}: {tally.operations}")
        if n <= 12:
            formula = Formula.from_clauses(clauses, n)
            tried = least_unsatisfied(Family(formula, Variant.GAP))
            if found.cost != tried:
                raise Refuted(f"n = {n}: {found.cost}, not {tried}")
    return f"nine formulas of widths up to 7, at most {worst:.2g} (n + m) 2^w"


@claim("sizes-of-the-families", "docs/complexity.md, H1", EXACT)
def _sizes() -> str:
    """The number of states |X| is m + 3n + 3 in strict, 7m + 4n + 3 in forced, and in
    strict of two actions at most 8m + 6n + 5 + ⌈log2(n + m + 1)⌉."""
    rng, most, tried = np.random.default_rng(85), 0, 0
    for n, m in itertools.product((1, 2, 5, 9), (1, 2, 4, 8, 21)):
        three_sat = random_ksat(n, m, min(n, 3), rng).three_sat()
        strict = Family(three_sat, Variant.STRICT)
        forced = Family(three_sat, Variant.FORCED)
        found = strict.mdp().n_states, forced.mdp().n_states
        if found != (m + 3 * n + 3, 7 * m + 4 * n + 3):
            raise Refuted(f"n = {n}, m = {m}: {found}")
        two = two_action_program(strict.program())[0].mdp.n_states
        bound = 8 * m + 6 * n + 5 + math.ceil(math.log2(n + m + 1))
        if two > bound:
            raise Refuted(f"n = {n}, m = {m}: {two} states of two actions")
        most, tried = max(most, two - bound), tried + 1
    return f"{tried} sizes; with two actions within {-most} of the bound"


@claim("deterministic-programs-are-easy", "docs/complexity.md, D", DRAWN)
def _deterministic() -> Evidence:
    """With deterministic transitions and ranges with r + c_x′ ≤ c_x, one backward
    induction solves OLIVE's program, for any φ, whatever is bound."""
    rng, below, tried = np.random.default_rng(86), 0, 0
    for _ in range(40):
        mdp = _draw_deterministic(rng)
        ends = [Fraction(4 - int(level)) for level in mdp.state_level]
        bound = [s for s in range(mdp.n_states) if rng.random() < 0.7]
        met = [
            mdp.distribution(policy, level)
            for policy in [rng.integers(mdp.action_counts) for _ in range(6)]
            for level in (1, 2, 3)
        ]
        kept = [d for d in met if int(d.states[0]) in bound]
        phi = Fraction(int(rng.integers(3)), 20)
        program = OliveProgram(mdp, kept, phi, upper=ends)
        due = _backward(mdp, {int(d.states[0]) for d in kept}, ends, phi)
        found = enumerate_policies(program).optimum
        if found != due:
            raise Refuted(f"{mdp}: {found}, not {due}")
        tried, below = tried + 1, below + (due < ends[mdp.start])
    return Evidence(
        0 < below < tried,
        f"{tried} random MDPs and constraints against all policies (seed 86)",
    )


def _draw_deterministic(rng: np.random.Generator) -> TabularMDP:
    states: list[Any] = []
    for level, width in enumerate((1, 3, 3), 1):
        for k in range(width):
            actions = []
            for a in range(3):
                reward = Fraction(int(rng.integers(5)), 4)
                ahead = {f"{level + 1}.{int(rng.integers(3))}": 1} if level < 3 else {}
                actions.append((f"a{a}", reward, ahead))
            states.append((f"{level}.{k}", level, actions))
    return TabularMDP.from_lists(states)


def _backward(
    mdp: TabularMDP, bound: set[int], ends: list[Fraction], phi: Fraction
) -> Fraction:
    values = list(ends)
    for state in np.argsort(-mdp.state_level, kind="stable").tolist():
        if state in bound:
            best = max(
                mdp.reward(a) + sum(p * values[t] for t, p in mdp.successors(a))
                for a in mdp.actions(state)
            )
            values[state] = min(values[state], best + phi)
    return values[mdp.start]
