"""The optimum of OLIVE's program from its own constraints, bounded on both sides.

For a member-independent check of Theorem O: nothing is taken from the formula, and
a program that lacks a constraint gets a larger bound.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from olivine.algorithms.olive.program import OliveProgram
from olivine.reduction.family.family import Family
from olivine.reduction.verify.members import best_member

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

    Raises
    ------
    ValueError
        If the tolerance is not 0.
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
