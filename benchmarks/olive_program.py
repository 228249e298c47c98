"""Checking pairs, enumerating policies and building models of OLIVE's program.

A check of (V*, π*) against all constraints is in integers; beside it stands one state
by state in Fractions. Policies are settled by proofs carried over; beside it stands an
exact linear program for each policy, estimated from a sample of them.

    python -m benchmarks olive_program
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
from olivine.algorithms.olive_program.model import policy_optimum, program_model
from olivine.algorithms.olive_program.optimisers import (
    enumerate_policies,
    policy_choices,
)
from olivine.algorithms.olive_program.program import OliveProgram, Pair
from olivine.reduction.family.family import Family

from benchmarks.decide import uniform
from benchmarks.figures import Figure, cpu, growth, in_turns, least


def program_of(n: int, m: int) -> OliveProgram:
    return Family(uniform(n, m, 0).three_sat(), "paper").program()


def feasible_in_fractions(program: OliveProgram, pair: Pair) -> bool:
    mdp = program.mdp
    for distribution in program.distributions:
        error = Fraction(0)
        for state, share in distribution.probabilities().items():
            action = mdp.actions(state)[int(pair.policy[state])]
            future = (p * pair.value(t) for t, p in mdp.successors(action))
            error += share * (pair.value(state) - sum(future, mdp.reward(action)))
        if abs(error) > program.tolerance:
            return False
    return True


def checks(m: int) -> Figure:
    program = program_of(m // 3, m)
    pair = program.mdp.optimal_values()
    assert program.is_feasible(pair)  # which sets the program up
    assert feasible_in_fractions(program, pair)
    turns = in_turns(
        lambda: [program.is_feasible(pair) for _ in range(50)],
        lambda: feasible_in_fractions(program, pair),
        5,
    )
    note = f"m = {m}, {1000 * turns.first / 50:.1f} ms"
    name = "exact check / in Fractions"
    return Figure(name, turns.ratio / 50, "ratio", 0.01, note)


def policies(m: int) -> Figure:
    program = program_of(3, m)
    fast = least(lambda: enumerate_policies(program), 3)
    found = enumerate_policies(program)
    choices = policy_choices(program)
    sample = list(itertools.product(*choices.values()))[:: max(1, found.policies // 50)]
    policy = np.zeros(program.mdp.n_states, dtype=np.int32)

    def solve() -> None:
        for taken in sample:
            policy[list(choices)] = taken
            value = policy_optimum(program, policy)
            assert value is None or program.objective(value) <= found.optimum

    slow = cpu(solve) * found.policies / len(sample)
    note = f"m = {m}, {found.policies} policies in {fast:.2f} s"
    return Figure("enumeration / a program each", fast / slow, "ratio", None, note)


def figures(full: bool) -> Iterator[Figure]:
    """Measure: a hundred thousand clauses when full, else ten thousand."""
    yield checks(100_000 if full else 10_000)
    yield policies(4 if full else 3)
    # Below these a model is made row by row, not in bulk: another growth.
    sizes = [(8000 if full else 4000) >> k for k in range(4, -1, -1)]
    for form in ("value-policy", "q-function"):
        calls = [partial(program_model, program_of(m // 3, m), form) for m in sizes]
        slope, most = growth(sizes, calls, 1)
        note = f"to m = {sizes[-1]}, {most:.2f} s there"
        yield Figure(f"model of the {form} form, in m", slope, "exponent", 1.1, note)
