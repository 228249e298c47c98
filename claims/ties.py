"""Ties and levels.

Theorems K and T: which choices of maximisers and levels lead OLIVE to its hard
program, and which never do.
"""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algorithms.mdp.planning import Distribution, Pair, state_distributions
from ..algorithms.mdp.tabular import TabularMDP, random_tabular_mdp
from ..algorithms.olive_program.model import policy_optimum
from ..algorithms.olive_program.optimisers import enumerate_policies
from ..algorithms.olive_program.program import (
    OliveProgram,
    average_bellman_errors,
    distinct_actions,
)
from ..algorithms.olive_program.tiebreak import benign_rounds
from ..reduction.family.family import Family, Variant
from ..reduction.family.variants import without_sides
from ..reduction.formula.formula import Formula
from ..reduction.formula.random_formula import random_ksat
from ..reduction.program.optimum import forward, optimum
from ..reduction.program.program import build
from ..reduction.run.benign import benign_run
from ..reduction.run.every_tie import Faces, Noise, every_tie
from ..reduction.run.replay import LevelRule, Levels
from ..reduction.run.run import adversarial_run
from ..reduction.verify.routes import best_member
from ..solvers.lp import solve_lp
from ..solvers.model import LinearModel
from . import (
    DRAWN,
    EXACT,
    EXHAUSTIVE,
    INTRODUCTIONS,
    Evidence,
    Refuted,
    claim,
    claims_of,
)
from .samples import assignments, families, least_unsatisfied

SEARCHED: tuple[tuple[int, list[list[int]]], ...] = (
    (1, [[1]]),
    (2, [[1, 2]]),
    (1, [[1], [-1]]),
)


def _three_ways() -> TabularMDP:
    """Make an MDP in which directions of one sign alone do not pin g down.

    Three states behind s0, met with three laws; with two states no law can tell.
    """
    laws = ((5, 3, 2), (4, 2, 4), (5, 2, 3))
    moves = [
        (f"a{i}", 0, {f"x{j}": Fraction(p, 10) for j, p in enumerate(law)})
        for i, law in enumerate(laws)
    ]
    rewards = Fraction(1, 24), Fraction(3, 4), Fraction(11, 24)
    ends: list[Any] = [(f"x{j}", 2, [("go", r, {})]) for j, r in enumerate(rewards)]
    return TabularMDP.from_lists([("s0", 1, moves), *ends])


def _layered_mdps(count: int) -> Iterator[TabularMDP]:
    """Yield `_three_ways` and random MDPs, all V^π(x) in (0, 1)."""
    yield _three_ways()
    rng = np.random.default_rng(51)
    for _ in range(count):
        drawn = random_tabular_mdp(rng, horizon=3, width=2, n_actions=2)
        inside = [(r + Fraction(1, 3)) / 3 for r in drawn.reward_table]
        yield drawn.with_rewards(drawn.reward_index, inside)


@claim("theorem-k", "docs/ties.md, Theorem K", DRAWN)
def _theorem_k() -> str:
    """In a layered tabular MDP with all V^π(x) in (0, 1), exact expectations and φ = 0,
    a legal and polynomial choice of maximisers and levels ends with an optimal policy
    after at most |X| constraints, all optima but the last being 1."""
    rounds, mdps = 0, 12
    for mdp in _layered_mdps(mdps):
        program = OliveProgram(mdp, [])
        for pair, level in benign_rounds(mdp):
            legal = program.is_feasible(pair) and program.objective(pair) == 1
            if not legal or average_bellman_errors(mdp, pair)[level - 1] <= 0:
                raise Refuted(f"round {rounds}: not a legal choice")
            program = program.extended([mdp.distribution(pair.policy, level)])
            rounds += 1
        best = mdp.optimal_values()
        found = enumerate_policies(program).optimum
        if found != best.value(mdp.start) or len(program.distributions) > mdp.n_states:
            raise Refuted(f"last optimum {found}, V* {best.value(mdp.start)}")
    return (
        f"{rounds} rounds on {mdps} random MDPs (seed 51) and one of three states "
        "behind s0, each pair a maximiser with a positive error; last programs "
        "solved by all policies"
    )


@claim("theorem-t", "docs/ties.md, Theorem T", EXHAUSTIVE)
def _theorem_t() -> str:
    """In strict with φ = 0, under the level rule 'lowest' and under 'largest', every
    run of OLIVE arrives at exactly the hard program after m + 2n + 1 rounds, whatever
    maximisers it takes; under 'any' some run never does."""
    programs = faces = compared = 0
    for n, rows in SEARCHED:
        family = Family(Formula.from_clauses(rows, n), Variant.STRICT)
        for y in assignments(family.n_variables):
            if adversarial_run(family, y).follows != ("lowest", "largest"):
                raise Refuted(f"{rows}, y = {y}: the stated run breaks a level rule")
        if len(rows) == 1:  # else there are too many policies
            compared += check_faces(family, Noise())
        for levels in ("lowest", "largest"):
            found = every_tie(family, levels=levels)
            if not found.always:
                raise Refuted(f"{rows}, {levels}: {list(found.example)}")
            programs, faces = programs + found.programs, faces + found.faces
        if every_tie(family, levels="any").always:
            raise Refuted(f"{rows}: every run meets it under any, too")
    return (
        f"{len(SEARCHED)} formulas: {programs} programs that runs can meet, {faces} "
        "polytopes of maximisers, levels decided by exact linear programs; of "
        f"{compared} policies each that has a maximiser has such a polytope"
    )


def check_faces(family: Family, noise: Noise) -> int:
    """Hold the search's polytopes against all policies; the number of policies.

    In programs of some constraints of the hard one: what a policy that may be a
    maximiser meets is met on a face, and the other way round.
    """
    mdp, stated, compared = family.mdp(), family.distributions(), 0
    search = Faces(mdp, family.ranges(), "lowest", noise)
    choices = [distinct_actions(mdp, s) for s in range(mdp.n_states)]
    for size in range(len(stated)):
        bound = stated[::-1][:size]  # s0 is bound last
        low, high = (
            OliveProgram(mdp, bound, noise.phi + off, upper=family.ranges())
            for off in (-noise.eta, noise.eta)
        )
        most = dict[tuple[str, ...], Fraction]()  # at φ + η, by what is met
        least = Fraction(-1)
        for chosen in itertools.product(*choices):
            policy = np.array(chosen, dtype=np.int32)
            met = tuple(map(search.name, state_distributions(mdp, policy)))
            least = max(least, _worth(low, policy))
            most[met] = max(most.get(met, Fraction(-1)), _worth(high, policy))
            compared += 1
        every = {met for met, value in most.items() if value >= least}
        found = {tuple(map(search.name, f.met)) for f in search.maximisers(bound)}
        if found != every:
            raise Refuted(f"{family}, {size} constraints: {found} for {every}")
    return compared


def _worth(program: OliveProgram, policy: NDArray[np.int32]) -> Fraction:
    """Optimum with a policy, by an exact linear program; -1 where there is none."""
    pair = policy_optimum(program, policy)
    return Fraction(-1) if pair is None else program.objective(pair)


@claim(
    "literals-tell-members-apart",
    "docs/ties.md; proof of thm:olive_nphard_f (implicit)",
    EXHAUSTIVE,
)
def _literals_tell() -> Evidence:
    """The constraints of the hard program are the same on every member. A constraint
    over literal states behind a clause state never is: an action leads to three thirds,
    and these do not balance."""
    telling = 0
    for variant in (v for v in without_sides() if not v.declaration.every_level):
        for family in families(variant, 52, 12, max_variables=3, max_clauses=2):
            members = [family.mdp(y) for y in assignments(family.n_variables)]
            for met in family.distributions():
                if len({_reward(m, met.probabilities()) for m in members}) > 1:
                    raise Refuted(f"{family}: {met} tells members apart")
            zero, layout = members[0], family.layout
            for j in range(family.n_clauses):
                for action in zero.actions(layout.clause_state(j)):
                    shares = dict(zero.successors(action))
                    if len({_reward(m, shares) for m in members}) == 1:
                        raise Refuted(f"{family}, C{j + 1}: {shares}")
                    telling += 1
    return Evidence(telling > 0, f"{telling} actions of clause states, all members")


def _reward(mdp: TabularMDP, shares: dict[int, Fraction]) -> Fraction:
    """Mean reward of the first action over states with their shares."""
    return sum(
        (p * mdp.reward(mdp.actions(s)[0]) for s, p in shares.items()), Fraction()
    )


@claim("randomised-policies-do-not-help", "docs/ties.md, smaller facts", DRAWN)
def _randomised() -> Evidence:
    """Over randomised policies X → Δ(A) the optimum of OLIVE's program over the family
    is the same: g(s0) is multilinear in π for fixed literal values."""
    rng, tried, below = np.random.default_rng(54), 0, 0
    for variant in without_sides():
        for family in families(variant, 54, 8, max_variables=2, max_clauses=2):
            best = optimum(family.parameters, least_unsatisfied(family))
            policy = family.mdp(best_member(family).y).optimal_values().policy
            for kept in (6, 5, 3, 0):  # sixths of an optimal policy, the others drawn
                found = _best_of_mixture(family.program(), _mixed(policy, kept), rng)
                if found is None and kept < 6:
                    continue
                if found is None or found > best or (kept == 6 and found != best):
                    raise Refuted(f"{family}, {kept} sixths: {found} for {best}")
                tried, below = tried + 1, below + (found < best)
    helped = _best_of_mixture(_helped(), lambda actions, _: [3] * actions, rng)
    alone = enumerate_policies(_helped()).optimum
    return Evidence(
        0 < below < tried and (helped, alone) == (Fraction(1, 2), Fraction(0)),
        f"{tried} policies in sixths, each with its best g, exact, {below} of them "
        "below the optimum; on another program, where a range cuts, randomising "
        f"gives {helped} for {alone}",
    )


_Sixths = Callable[[int, int], list[int]]
"""Sixths kept for the actions of a state, of which there are so many."""


def _mixed(policy: NDArray[np.int32], kept: int) -> _Sixths:
    return lambda actions, s: [kept * (a == policy[s]) for a in range(actions)]


def _helped() -> OliveProgram:
    """Make a program in which randomising helps: 1 is too much at s0, 0 too little."""
    either: Any = ("x", 2, [("none", 0, {}), ("all", 1, {})])
    mdp = TabularMDP.from_lists([("s0", 1, [("go", 0, {"x": 1})]), either])
    bound = [Distribution.from_fractions({s: 1}, s + 1) for s in (0, 1)]
    return OliveProgram(mdp, bound, upper=[Fraction(1, 2), Fraction(1)])


def _best_of_mixture(
    program: OliveProgram, kept: _Sixths, rng: np.random.Generator
) -> Fraction | None:
    """Optimum over g with a randomised policy; None if no g is feasible."""
    mdp, model = program.mdp, LinearModel("mixture")
    shares: dict[int, Fraction] = {}
    for state, name in enumerate(mdp.state_names):
        model.add_variable(name, program.lower, program.upper_of(state))
        actions = mdp.actions(state)
        sixths = np.array(kept(len(actions), state))
        even = np.full(len(actions), 1 / len(actions))
        sixths += rng.multinomial(6 - sixths.sum(), even)
        shares |= {a: Fraction(int(n), 6) for a, n in zip(actions, sixths, strict=True)}
    for distribution in program.distributions:
        row, reward = dict[int, Fraction](), Fraction()
        for state, p in distribution.probabilities().items():
            row[state] = row.get(state, Fraction()) + p
            for action in mdp.actions(state):
                reward += p * shares[action] * mdp.reward(action)
                for target, chance in mdp.successors(action):
                    lost = p * shares[action] * chance
                    row[target] = row.get(target, Fraction()) - lost
        model.add_row(list(row), list(row.values()), "==", reward)
    model.set_objective([mdp.start], [1], maximise=True)
    values = solve_lp(model, exact=True).values
    return None if values is None else Fraction(values[mdp.start])


@claim("integrality-gap", "docs/ties.md, smaller facts", EXACT)
def _integrality_gap() -> Evidence:
    """The linear relaxation of strengthened has the optimum of a satisfiable formula
    whenever each clause has two distinct literals that are not complementary: all
    literals at half of the top. So its gap is that of Theorem O."""
    rng, solved = np.random.default_rng(55), 0
    for variant in without_sides():
        formulas = [random_ksat(3, m, 2 + m % 2, rng) for m in (2, 5, 9)]
        for formula in formulas:
            family = Family(formula, variant)
            found = solve_lp(build(family, "strengthened").model, exact=True).objective
            if found != family.parameters.best:
                raise Refuted(f"{family}: {found}")
            solved += 1
    return Evidence(solved > 0, f"{solved} relaxations of random formulas, exact")


# All ranges [0, 1] ------------------------------------------------------------

INTRODUCTIONS["ranges"] = """All ranges [0, 1].

Lemma 0, and Theorem R about the variant forced (docs/ties.md).
"""
ranges = claims_of("docs/ties.md", "ranges")


@ranges("ranges-lemma-0", "Theorem R", DRAWN)
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


@ranges("theorem-r", "Theorem R", EXHAUSTIVE)
def _theorem_r() -> str:
    """In forced, where all functions to [0, 1] are in G, with φ = 0 every run of OLIVE
    that binds the lowest level with a positive error, or one with the largest, comes
    after 2(n + 2m) + 4 rounds or one more to a program that holds the hard one and at
    most one constraint over literals beside it; after n + 2m + 2 rounds if each binds
    all levels. Its optimum is that of the hard program, whatever else it holds."""
    # Of (1 -1 -1), two actions lead to different literals: where a second constraint
    # over literals is nearest.
    near, one, both = map(_forced, ([[1, -1]], [[1]], [[1], [-1]]))
    rules: tuple[LevelRule, ...] = ("largest", "lowest")
    bound, last = forced_parts(near), forced_parts(both)
    after = [*last.tries, *last.groups, last.ends[1], last.behind[0]]
    cases: list[tuple[Family, int, Levels, list[Distribution]]] = [
        *((near, 0, rule, [*bound.tries, behind])
          for rule in rules for behind in bound.behind[2:4]),
        (one, 0, "all", []),
        *((both, 1, rule, after) for rule in rules),
    ]  # fmt: skip
    programs = faces = 0
    for family, u, rule, begun in cases:
        found = every_tie(family, levels=rule, after=begun)
        if not found.always or found.optima != {optimum(family.parameters, u)}:
            optima = set(found.optima)
            raise Refuted(f"{rule}: {list(found.example)}, optima {optima}")
        if rule == "all" and found.rounds != (family.layout.solve + 2,) * 2:
            raise Refuted(f"{found.rounds} rounds under all")
        programs, faces = programs + found.programs + found.ends, faces + found.faces
    return (
        "all runs that bind all levels on (1 1 1), and on (1 -1 -1) all under the "
        "other rules once s0, each try and one constraint over literals are bound; on "
        f"(1 1 1)(-1 -1 -1) from where S and ⊥′ are left: {programs} programs, {faces} "
        "polytopes of maximisers"
    )


def _forced(rows: list[list[int]]) -> Family:
    return Family(Formula.from_clauses(rows), Variant.FORCED)


class ForcedParts(NamedTuple):
    """Distributions that runs in a family with one clause may bind."""

    tries: list[Distribution]  # s0, and what each try leads to
    groups: list[Distribution]  # what is behind these
    ends: list[Distribution]  # behind [solve] and [rest] at level 2; ⊥′
    behind: list[Distribution]  # behind [solve] at level 3, by the clause's action


def forced_parts(family: Family) -> ForcedParts:
    """Find these distributions."""
    mdp, behind = family.mdp(), list[Distribution]()
    policy = np.zeros(mdp.n_states, dtype=np.int32)
    policy[mdp.start] = k = family.layout.solve
    for policy[1] in range(family.layout.clause_actions):
        behind.append(mdp.distribution(policy, 3))
    stated = list(family.distributions())
    ends = [stated[1], stated[2 + k], stated[-1]]
    return ForcedParts(
        [stated[0], *stated[2 : 2 + k]], stated[3 + k : -1], ends, behind
    )


@ranges("forced-noise", "Theorem R", EXHAUSTIVE)
def _noise() -> str:
    """In forced with estimates within η ≤ φ, κ of a round's errors, every run comes to
    the hard program and at most one constraint beside it if and only if
    17φ + 577η < 161/20000 and S < 41/7200 + 28(φ − η)/9 − 3κ, and under 'lowest' also
    3(φ + η + κ) < S; with approximate maximisers, at φ = 0, if and only if
    γ < 161/1800000."""
    family = _forced([[1, -1]])
    parts, little = forced_parts(family), Fraction(1, 10**6)
    eta, small = Fraction(161, 20_000) / 594, Fraction(1, 10**5)
    stop, gamma = Fraction(41, 7200) - 3 * small, Fraction(161, 1_800_000)
    below, above = 1 - little, 1 + little
    tried: tuple[tuple[LevelRule, Fraction, Callable[[Any], Noise]], ...] = (
        ("lowest", below, lambda share: Noise(share * eta, eta, Fraction(1, 500))),
        ("largest", below, lambda share: Noise(share * eta, eta, Fraction(1, 500))),
        ("largest", below, lambda share: Noise(small, small, share * stop)),
        ("lowest", above, lambda share: Noise(small, small, share * 9 * small)),
        ("lowest", below, lambda share: Noise(gamma=share * gamma)),
    )
    # Once all but ⊥′ is bound, and all false literals are behind [solve].
    after = [*parts.tries, *parts.groups, *parts.ends[:2], parts.behind[3]]
    for rule, inside, noise in tried:
        found = every_tie(family, levels=rule, noise=noise(inside), after=after)
        if not found.always:
            raise Refuted(f"{rule}, {noise(inside)}: {found.example[-2:]}")
        if every_tie(family, levels=rule, noise=noise(1), after=after).always:
            raise Refuted(f"{rule}, {noise(1)}: nothing breaks")
    return (
        f"{len(tried)} bounds on (1 -1 -1): all runs once all but the last of what "
        "[rest] meets is bound, at each bound and a millionth of it away"
    )


@ranges("equations-behind-clauses-are-void", "Theorem R", DRAWN)
def _void() -> str:
    """In forced each assignment keeps its value beside one constraint over literals and
    side states behind [solve], on every member: the side states that it holds absorb
    what the literals' values change, and each clause has a copy that is free."""
    rng, tried = np.random.default_rng(73), 0
    for rows in ([[1]], [[1, 2, -3]], [[1, 2], [-1]], [[1, -2, 3], [-1, 2], [3, -3]]):
        family = _forced(rows)
        for _ in range(8):
            y, truth = rng.random((2, family.n_variables)) < 0.5
            met, pair = beside(family, y, truth, rng)
            program = family.program(family.mdp(y)).extended([met])
            left = family.three_sat.unsatisfied_weight(truth)
            due = family.parameters.best - Fraction(left, 6000 * len(rows))
            if program.violations(pair) or program.objective(pair) != due:
                raise Refuted(f"{rows}, y = {y}: {program.violations(pair)}")
            tried += 1
    return f"{tried} random members, assignments and roll-ins (seed 73), exact pairs"


def beside(
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


@ranges("forced-can-be-avoided", "Theorem K", EXHAUSTIVE)
def _avoided() -> str:
    """In forced, where all values are inside (0, 1), the rule of Theorem K, which is
    free to choose levels, never reaches the hard program and ends at V*, on every
    member: Theorem R depends on the level rule, not on the ranges."""
    runs = rounds = 0
    for rows in ([[1]], [[1, 2], [-1]], [[1], [-1]]):
        family = _forced(rows)
        for code in range(2**family.n_variables):
            y = [code >> i & 1 for i in range(family.n_variables)]
            run = benign_run(family, y)
            values = run.last.values()
            inside = all(0 < v < 1 for v in values)
            if not run.holds or not inside or len(run.rounds) > len(values):
                raise Refuted(f"{rows}, y = {y}: {run.failures()[:1]}")
            runs, rounds = runs + 1, rounds + len(run.rounds)
    return f"{runs} members of three formulas, {rounds} rounds, each checked exactly"
