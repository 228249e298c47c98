"""Formulas and families that the checks of claims go through, and their optima."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms.olive_program.program import OliveProgram
from ..reduction.family.family import Family, Variant
from ..reduction.family.variants import as_variant
from ..reduction.formula.formula import Formula
from ..reduction.program.program import build
from ..reduction.program.witness import check
from ..reduction.verify.members import best_member
from ..solvers.milp.milp import solve_milp
from . import runs

ODD: tuple[tuple[int, list[list[int]]], ...] = (
    (0, []),
    (2, []),
    (0, [[]]),
    (1, [[], [1]]),
    (1, [[1], [-1]]),
    (2, [[1, -1], [1, -1, 2]]),
    (2, [[1, 1], [-1, -1, -1], [2, 2, 1]]),
    (3, [[2]]),
    (2, [[1, 2], [1, -2], [-1, 2], [-1, -2]]),
    (2, [[1, 2], [1, 2], [-1], [-2]]),
)
"""Variables and clauses of formulas with something unusual about each."""


def random_formula(
    rng: np.random.Generator,
    *,
    max_variables: int,
    max_clauses: int,
    max_width: int = 3,
    weighted: bool = False,
) -> Formula:
    """Draw a formula whose clauses may repeat literals and be empty."""
    n = int(rng.integers(1, max_variables + 1))
    rows = [
        (rng.integers(1, n + 1, width) * rng.choice([-1, 1], width)).tolist()
        for width in rng.integers(0, max_width + 1, rng.integers(1, max_clauses + 1))
    ]
    weights = rng.integers(1, 10, len(rows)).tolist() if weighted else None
    return Formula.from_clauses(rows, n, weights)


def formulas(
    seed: int,
    count: int,
    *,
    max_variables: int = 4,
    max_clauses: int = 4,
    max_width: int = 3,
) -> Iterator[Formula]:
    """Yield formulas, an odd one and a random one in turn while odd ones last.

    Every other random one is weighted. At most `runs.INSTANCES` of them.
    """
    rng = np.random.default_rng(seed)
    odd = [Formula.from_clauses(rows, n) for n, rows in ODD]
    for k in range(runs.instances(count)):
        if k % 2 == 0 and k // 2 < len(odd):
            yield odd[k // 2]
            continue
        yield random_formula(
            rng,
            max_variables=max_variables,
            max_clauses=max_clauses,
            max_width=max_width,
            weighted=k % 4 == 1,
        )


def families(
    variant: Variant | str, seed: int, count: int, **sizes: int
) -> Iterator[Family]:
    """Yield families of `formulas`; a third has the default penalty.

    The others have one between 1/100 and 1, unless the variant fixes it.
    """
    rng = np.random.default_rng(seed + 1)
    declared = as_variant(variant).declaration
    for k, formula in enumerate(formulas(seed, count, **sizes)):
        penalty = None
        if k % 3 and declared.fixed_penalty is None:
            end = 101 if declared.largest_penalty_fits else 100
            percent = int(rng.integers(1, end))
            penalty = Fraction(percent, 100)
        yield Family(formula.three_sat(), variant, penalty)


def eight_clauses() -> Formula:
    """All eight clauses on three variables: every assignment falsifies one."""
    signs = itertools.product((1, -1), repeat=3)
    return Formula.from_clauses([[a, 2 * b, 3 * c] for a, b, c in signs], 3)


def contradiction() -> Formula:
    """Return x1 and its negation as two unit clauses."""
    return Formula.from_clauses([[1], [-1]], 1)


def assignments(n_variables: int) -> Iterator[NDArray[np.bool_]]:
    """Yield all 2^n assignments."""
    for bits in itertools.product((False, True), repeat=n_variables):
        yield np.array(bits, dtype=np.bool_)


def least_unsatisfied(family: Family) -> int:
    """Find u by trying every assignment."""
    return min(
        family.three_sat.unsatisfied_weight(a) for a in assignments(family.n_variables)
    )


def milp_value(family: Family, formulation: str, form: str) -> Fraction | None:
    """Exact value of the solution of a formulation by HiGHS, None without one.

    The pair read off the solution is checked against the program; that nothing
    is better is the engine's word.
    """
    built = build(family, formulation, form)
    outcome = solve_milp(built.model)
    if outcome.values is None:
        return None
    return check(family, built.pair(outcome.values))


_Vertex = tuple[dict[int, Fraction], ...]


def program_optimum(family: Family) -> Fraction | None:
    """Optimum of ``family.program()``, or None where the two bounds differ.

    From above by `vertex_bound`; from below by the best member's optimal pair, if it
    is feasible.
    """
    program, best = family.program(), best_member(family)
    pair = family.mdp(best.y).optimal_values()
    if not program.is_feasible(pair):
        return None
    bound = vertex_bound(program)
    return bound if bound == program.objective(pair) else None


def vertex_bound(program: OliveProgram) -> Fraction:
    """Bound the optimum of a program with φ = 0 from above, exactly.

    States that a constraint binds alone obey the Bellman equation of their action. All
    other values are free in their ranges, but for the pairs of them that a
    constraint binds half each, whose sum is fixed. Constraints of other shapes are
    left out, which can only raise the bound. Given a policy, the value at the start
    is linear in the free values, and these range over a product of boxes and
    segments; so some vertex of the product is best, and there planning finds the best
    policy. The work grows as the number of vertices.
    """
    if program.tolerance:
        raise ValueError(f"tolerance: {program.tolerance} is not 0")
    mdp = program.mdp
    alone, pairs = set[int](), list[tuple[int, int]]()
    for distribution in program.distributions:
        states = distribution.states.tolist()
        if len(states) == 1:
            alone.add(states[0])
        elif len(states) == 2 and len(set(distribution.numerators.tolist())) == 1:
            pairs.append((states[0], states[1]))
    paired = {s for pair in pairs for s in pair}
    factors = [_segment(program, *pair) for pair in pairs]
    for state in set(range(mdp.n_states)) - alone - paired:
        factors.append(({state: program.lower}, {state: program.upper_of(state)}))
    scale = _scale(program)
    # Whole multiples of 1/scale, an array of one entry for each vertex.
    values: dict[int, Any] = {}
    vertices = np.array(list(itertools.product(*(range(len(f)) for f in factors))))
    for factor, ends in zip(factors, vertices.T, strict=True):
        for state in factor[0]:
            whole = [int(end[state] * scale) for end in factor]
            values[state] = np.array(whole, dtype=object)[ends]
    for state in sorted(alone, key=lambda s: -int(mdp.state_level[s])):
        worth = []
        for action in mdp.actions(state):
            ahead = int(mdp.reward(action) * scale)
            for target, chance in mdp.successors(action):
                ahead = ahead + values[target] * chance.numerator // chance.denominator
            worth.append(ahead)
        values[state] = np.maximum.reduce(np.broadcast_arrays(*worth))
    best = Fraction(np.max(values[mdp.start]), scale)
    return min(best, program.upper_of(mdp.start))


def _scale(program: OliveProgram) -> int:
    """Integer that makes every value met on the way whole."""
    mdp = program.mdp
    bounds = (program.lower, program.upper, *program.upper_ends)
    rewards = math.lcm(*(v.denominator for v in (*mdp.reward_table, *bounds)))
    chances = math.lcm(*np.unique(mdp.transition_denominator).tolist())
    return int(rewards * chances**mdp.horizon)


def _segment(program: OliveProgram, first: int, second: int) -> _Vertex:
    """Give the ends of {(v, w) in range: v + w = the sum that the constraint asks}.

    Both states end the episode after their only action.
    """
    mdp, total = program.mdp, Fraction(0)
    for state in (first, second):
        (action,) = mdp.actions(state)
        if list(mdp.successors(action)):
            raise ValueError(f"state {state} of a pair leads on")
        total += mdp.reward(action)
    low = max(program.lower, total - program.upper_of(second))
    high = min(program.upper_of(first), total - program.lower)
    ends = {low, high}
    return tuple({first: v, second: total - v} for v in sorted(ends))
