"""OLIVE's program over an MDP of two actions, with the same optimum."""

from __future__ import annotations

from olivine.algorithms.mdp.two_actions import TwoActions
from olivine.algorithms.olive.program import OliveProgram


def two_action_program(program: OliveProgram) -> tuple[TwoActions, OliveProgram]:
    """Write a program over the MDP of two actions, each node in its state's range.

    A pair of it gives one of the original: values at the roots, the actions that the
    paths lead to. So with φ = 0 its optimum is no more. It is no less where each
    action of the states bound is worth something in its state's range under some
    optimal pair, as in the layered variants of the family (docs/ties.md).

    Raises
    ------
    ValueError
        If the MDP is not layered, or the tolerance positive: it would add up.
    """
    if program.tolerance:
        raise ValueError(
            f"tolerance {program.tolerance} would add up along trees; only 0 is kept"
        )
    trees = TwoActions(program.mdp)
    bound = {}
    for distribution in program.distributions:
        for found in trees.constraints(distribution):
            key = (found.level, tuple(found.probabilities().items()))
            bound[key] = found
    upper = [
        program.upper_of(s) for s in range(program.mdp.n_states) for _ in trees.nodes(s)
    ]
    return trees, OliveProgram(
        trees.mdp, bound.values(), lower=program.lower, upper=upper
    )
