"""All ranges [0, 1].

Lemma 0, and Theorem R about the variant forced (docs/ties.md).
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algorithms.mdp.planning import Distribution, Pair
from ..algorithms.mdp.tabular import random_tabular_mdp
from ..algorithms.olive_program.enumeration import policy_optimum
from ..algorithms.olive_program.program import OliveProgram, average_bellman_errors
from ..reduction.family.family import Family, Variant
from ..reduction.family.variants import DECLARATIONS, Declaration, Parameters, forced
from ..reduction.formula.formula import Formula
from ..reduction.program.optimum import optimum
from ..reduction.program.witness import forward
from ..reduction.run.benign import benign_run
from ..reduction.run.every_tie import EveryTie, Noise, every_tie
from ..reduction.run.levels import LevelRule
from . import DRAWN, EXACT, EXHAUSTIVE, Evidence, Refuted, claim


@claim("ranges-lemma-0", "docs/ties.md, Theorem R", DRAWN)
def _lemma() -> Evidence:
    """With all ranges [0, 1], rewards of at least 0, V^π(s0) < 1, exact expectations
    and φ = 0, OLIVE may in its first round bind what π meets at the last level, also
    under 'lowest': a maximiser has errors 0 before it and 1 − V^π(s0) there."""
    rng, bound = np.random.default_rng(71), 0
    for _ in range(12):
        mdp = random_tabular_mdp(rng, horizon=4)
        policy = rng.integers(mdp.action_counts).astype(np.int32)
        worth = mdp.evaluate(policy).value(mdp.start)
        left, values = Fraction(1), [Fraction(1)] * mdp.n_states
        for level in range(1, 5):
            met = mdp.distribution(policy, level).probabilities()
            actions = {s: mdp.actions(s)[int(policy[s])] for s in met}
            for state in np.flatnonzero(mdp.state_level == level).tolist():
                values[state] = left
            left -= sum(
                (p * mdp.reward(actions[s]) for s, p in met.items()), Fraction()
            )
        pair = Pair.from_fractions(values, policy)
        errors = tuple(average_bellman_errors(mdp, pair))
        if not OliveProgram(mdp, []).is_feasible(pair) or any(errors[:-1]):
            raise Refuted(f"{mdp}: errors {errors}")
        if worth < 1 and errors[-1] != 1 - worth:
            raise Refuted(f"{mdp}: {errors[-1]} at the last level, V^π = {worth}")
        bound += worth < 1
    return Evidence(bound > 0, f"{bound} policies of random MDPs, H = 4 (seed 71)")


@claim("theorem-r", "docs/ties.md, Theorem R", EXHAUSTIVE)
def _theorem_r() -> str:
    """In forced, where all functions to [0, 1] are in G, with φ = 0 every run of OLIVE
    that binds the lowest level with a positive error, or one with the largest, comes
    after 2(n + 2m) + 4 rounds or one more to a program that holds the hard one and at
    most one constraint over literals beside it; after n + 2m + 2 rounds if each binds
    all levels. Its optimum is that of the hard program, whatever else it holds."""
    # Of (1 -1 -1), two actions lead to different literals: where a second constraint
    # over literals is nearest.
    family = Family(Formula.from_clauses([[1, -1]]).three_sat(), Variant.FORCED)
    bound, programs, faces = _parts(family), 0, 0
    rules: tuple[LevelRule, ...] = ("largest", "lowest")
    for levels in rules:
        for behind in bound.behind[2:4]:
            after = [*bound.tries, behind]
            found = every_tie(family, levels=levels, after=after)
            _hold(found, family, 0, levels)
            programs += found.programs + found.ends
            faces += found.faces
    one = Family(Formula.from_clauses([[1]]).three_sat(), Variant.FORCED)
    found = every_tie(one, levels="all")
    _hold(found, one, 0, "all")
    programs, faces = programs + found.programs + found.ends, faces + found.faces
    if found.rounds != (one.layout.solve + 2,) * 2:
        raise Refuted(f"{found.rounds} rounds under all")
    both = Family(Formula.from_clauses([[1], [-1]]).three_sat(), Variant.FORCED)
    bound = _parts(both)
    for levels in rules:
        after = [*bound.tries, *bound.groups, bound.ends[1], bound.behind[0]]
        found = every_tie(both, levels=levels, after=after)
        _hold(found, both, 1, levels)
        programs += found.programs + found.ends
        faces += found.faces
    return (
        "all runs that bind all levels on (1 1 1), and on (1 -1 -1) all under the "
        "other rules once s0, each try and one constraint over literals are bound; on "
        f"(1 1 1)(-1 -1 -1) from where S and ⊥′ are left: {programs} programs, {faces} "
        "polytopes of maximisers"
    )


def _hold(found: EveryTie, family: Family, u: int, levels: str) -> None:
    due = {optimum(family.parameters, u)}
    if not found.always or found.optima != due:
        raise Refuted(f"{levels}: {list(found.example)}, optima {set(found.optima)}")


class _Parts(NamedTuple):
    """Distributions that runs in a family with one clause may bind."""

    tries: list[Distribution]  # s0, and what each try leads to
    groups: list[Distribution]  # what is behind these
    ends: list[Distribution]  # behind [solve] and [rest] at level 2; ⊥′
    behind: list[Distribution]  # behind [solve] at level 3, by the clause's action


def _parts(family: Family) -> _Parts:
    mdp, behind = family.mdp(), list[Distribution]()
    policy = np.zeros(mdp.n_states, dtype=np.int32)
    policy[mdp.start] = k = family.layout.solve
    for policy[1] in range(family.layout.clause_actions):
        behind.append(mdp.distribution(policy, 3))
    stated = list(family.distributions())
    ends = [stated[1], stated[2 + k], stated[-1]]
    return _Parts([stated[0], *stated[2 : 2 + k]], stated[3 + k : -1], ends, behind)


@claim("forced-noise", "docs/ties.md, Theorem R", EXHAUSTIVE)
def _noise() -> str:
    """In forced with estimates within η ≤ φ, κ of a round's errors, every run comes to
    the hard program and at most one constraint beside it if and only if
    17φ + 577η < 161/20000 and S < 41/7200 + 28(φ − η)/9 − 3κ, and under 'lowest' also
    3(φ + η + κ) < S; with approximate maximisers, at φ = 0, if and only if
    γ < 161/1800000."""
    family = Family(Formula.from_clauses([[1, -1]]).three_sat(), Variant.FORCED)
    parts, little = _parts(family), Fraction(1, 10**6)
    eta = Fraction(161, 20_000) / 594
    small = Fraction(1, 10**5)
    stop = Fraction(41, 7200) - 3 * small
    tried: tuple[tuple[LevelRule, Noise, Noise], ...] = (
        *(
            (
                rule,
                Noise((1 - little) * eta, eta, Fraction(1, 500)),
                Noise(eta, eta, Fraction(1, 500)),
            )
            for rule in ("lowest", "largest")
        ),
        (
            "largest",
            Noise(small, small, (1 - little) * stop),
            Noise(small, small, stop),
        ),
        (
            "lowest",
            Noise(small, small, (1 + little) * 9 * small),
            Noise(small, small, 9 * small),
        ),
        (
            "lowest",
            Noise(gamma=(1 - little) * Fraction(161, 1_800_000)),
            Noise(gamma=Fraction(161, 1_800_000)),
        ),
    )
    # Once all but ⊥′ is bound, and all false literals are behind [solve].
    after = [*parts.tries, *parts.groups, *parts.ends[:2], parts.behind[3]]
    for rule, below, at in tried:
        found = every_tie(family, levels=rule, noise=below, after=after)
        if not found.always:
            raise Refuted(f"{rule}, {below}: {found.example[-2:]}")
        if every_tie(family, levels=rule, noise=at, after=after).always:
            raise Refuted(f"{rule}, {at}: nothing breaks")
    return (
        f"{len(tried)} bounds on (1 -1 -1): all runs once all but the last of what "
        "[rest] meets is bound, at each bound and a millionth of it away"
    )


@claim("equations-behind-clauses-are-void", "docs/ties.md, Theorem R", DRAWN)
def _void() -> str:
    """In forced each assignment keeps its value beside one constraint over literals and
    side states behind [solve], on every member: the side states that it holds absorb
    what the literals' values change, and each clause has a copy that is free."""
    rng, tried = np.random.default_rng(73), 0
    for rows in ([[1]], [[1, 2, -3]], [[1, 2], [-1]], [[1, -2, 3], [-1, 2], [3, -3]]):
        formula = Formula.from_clauses(rows)
        family = Family(formula.three_sat(), Variant.FORCED)
        for _ in range(8):
            y, truth = rng.random((2, family.n_variables)) < 0.5
            met, pair = _beside(family, y, truth, rng)
            program = family.program(family.mdp(y)).extended([met])
            left = family.three_sat.unsatisfied_weight(truth)
            due = family.parameters.best - Fraction(left, 6000 * len(rows))
            if program.violations(pair) or program.objective(pair) != due:
                raise Refuted(f"{rows}, y = {y}: {program.violations(pair)}")
            tried += 1
    return f"{tried} random members, assignments and roll-ins (seed 73), exact pairs"


def _beside(
    family: Family,
    y: NDArray[np.bool_],
    truth: NDArray[np.bool_],
    rng: np.random.Generator,
) -> tuple[Distribution, Pair]:
    """Draw what is met behind [solve], and a pair of the assignment's value for it."""
    layout, mdp, m = family.layout, family.mdp(y), family.n_clauses
    pair, k = forward(family, truth), layout.n_sides
    values, policy = pair.values(), pair.policy.copy()
    rolled = policy.copy()
    rolled[1 : 1 + m] = rng.integers(layout.clause_actions, size=m)
    for j in range(m):
        action = int(rolled[1 + j])
        side = int(layout.side_state(j, action))
        lost = [
            p * (mdp.reward(mdp.actions(s)[0]) - values[s])
            for s, p in mdp.successors(mdp.actions(1 + j)[action])
            if s != side
        ]
        reward = mdp.reward(mdp.actions(side)[0])
        whole, values[side] = values[side], reward + 2 * sum(lost, Fraction())
        values[side + k] = whole - values[side]
        # The other copy of the action is free.
        policy[1 + j] = int(policy[1 + j]) % 7 + (7 if action < 7 else 0)
    return mdp.distribution(rolled, 3), Pair.from_fractions(values, policy)


@claim("forced-can-be-avoided", "docs/ties.md, Theorem K", EXHAUSTIVE)
def _avoided() -> str:
    """In forced, where all values are inside (0, 1), the rule of Theorem K, which is
    free to choose levels, never reaches the hard program and ends at V*, on every
    member: Theorem R depends on the level rule, not on the ranges."""
    runs = rounds = 0
    for rows in ([[1]], [[1, 2], [-1]], [[1], [-1]]):
        family = Family(Formula.from_clauses(rows).three_sat(), Variant.FORCED)
        for code in range(2**family.n_variables):
            y = [code >> i & 1 for i in range(family.n_variables)]
            run = benign_run(family, y)
            values = run.last.values()
            inside = all(0 < v < 1 for v in values)
            if not run.holds or not inside or len(run.rounds) > len(values):
                raise Refuted(f"{rows}, y = {y}: {run.failures()[:1]}")
            runs, rounds = runs + 1, rounds + len(run.rounds)
    return f"{runs} members of three formulas, {rounds} rounds, each checked exactly"


@claim("room-of-side-states", "docs/complexity.md, Open", EXACT)
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
        behind = _parts(family).behind[0]  # 001, true in the all-zero member
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
