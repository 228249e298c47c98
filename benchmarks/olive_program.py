"""Checking pairs, enumerating policies and building models of OLIVE's program.

Check: one exact check of (V*, pi*) against all constraints, in integers and, for
comparison, state by state in Fractions; the ratio should be in the hundreds at
least. Enumerate: settling policies by proofs carried over, against
one exact linear program a policy (estimated from a sample of policies).
Model: both forms, seconds a thousand clauses; should stay level.

    python -m benchmarks.olive_program [--largest 100000]
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from olivine.algorithms.olive.enumeration import (
    enumerate_policies,
    policy_choices,
    policy_optimum,
)
from olivine.algorithms.olive.model import program_model
from olivine.algorithms.olive.program import OliveProgram, Pair
from olivine.reduction.family.family import Family
from olivine.reduction.formula.random_formula import random_ksat


def timed(function: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        value = function()
        best = min(best, time.perf_counter() - start)
    return best, value


def program_of(n: int, m: int) -> OliveProgram:
    formula = random_ksat(n, m, 3, np.random.default_rng(0))
    return Family(formula.three_sat(), "paper").program()


def check_in_fractions(program: OliveProgram, pair: Pair) -> bool:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=100_000)
    largest = parser.parse_args().largest
    print("clauses      check  fractions/check")
    for m in (10**k for k in range(2, 7)):
        if m > largest:
            break
        program = program_of(m // 3, m)
        pair = program.mdp.optimal_values()
        program.is_feasible(pair)  # sets the program up
        fast, feasible = timed(lambda p=program, v=pair: p.is_feasible(v), 5)
        slow, same = timed(lambda p=program, v=pair: check_in_fractions(p, v))
        assert feasible
        assert same
        print(f"{m:7d} {1000 * fast:7.2f} ms {slow / fast:16.0f}")
    print("clauses  policies  proofs  exact LPs/proofs")
    for m in (2, 3, 4):
        program = program_of(3, m)
        fast, found = timed(lambda p=program: enumerate_policies(p))
        choices = policy_choices(program)
        step = max(1, found.policies // 50)
        sample = list(itertools.product(*choices.values()))[::step]
        policies = []
        for taken in sample:
            policy = np.zeros(program.mdp.n_states, dtype=np.int32)
            policy[list(choices)] = taken
            policies.append(policy)
        part, values = timed(
            lambda p=program, some=policies: [policy_optimum(p, s) for s in some]
        )
        assert all(v is None or program.objective(v) <= found.optimum for v in values)
        whole = part * found.policies / len(sample)
        print(f"{m:7d} {found.policies:9d} {fast:6.2f}s {whole / fast:17.0f}")
    print("clauses  value-policy  q-function  (s a thousand clauses)")
    for m in (500, 2000, 8000):
        program = program_of(m // 3, m)
        times = [
            timed(lambda p=program, f=form: program_model(p, f))[0] * 1000 / m
            for form in ("value-policy", "q-function")
        ]
        print(f"{m:7d} {times[0]:13.2f} {times[1]:11.2f}")


if __name__ == "__main__":
    main()
