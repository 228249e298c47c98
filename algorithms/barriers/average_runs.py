"""The barrier of average constraints, run: who gets past it and who does not.

The same environment and the same classes for all three: exploration with average
constraints (`explore_by_averages`), OLIVE, which uses average Bellman errors too but
ties g to π in one program, and VALOR, which keeps a value for each state. OLIVE is
sampled, at its theorem's constants.

>>> runs = run_all(AverageBarrier(4), np.random.default_rng(0))
>>> {name: str(run.value) for name, run in runs.items()}
{'average constraints': '1/2', 'olive': '1', 'valor': '1'}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from olivine.algorithms.barriers.average import BEST, EVEN, AverageBarrier, Function
from olivine.algorithms.barriers.average_exploration import (
    AverageResult,
    explore_by_averages,
)
from olivine.algorithms.olive.environment_adapter import LayeredEnvironment
from olivine.algorithms.olive.finite_pairs import FinitePairs
from olivine.algorithms.olive.parameters import theorem_parameters
from olivine.algorithms.olive.sampled import olive_sampled
from olivine.algorithms.valor.algorithm import valor
from olivine.algorithms.valor.parameters import PracticalParameters

EPSILON, DELTA = Fraction(1, 4), Fraction(1, 10)
"""Accuracy asked of OLIVE and VALOR, below the 1/2 that is at stake."""


@dataclass(frozen=True)
class Run:
    """What an algorithm made of the barrier.

    Attributes
    ----------
    value
        V^π of its policy, exactly.
    promised
        What it believed that policy to be worth.
    rounds
        Rounds, or iterations.
    trajectories
        Collected; None where all expectations were exact.
    calls
        Oracle calls: lp and csc; for OLIVE, programs solved.
    """

    value: Fraction
    promised: Fraction
    rounds: int
    trajectories: int | None
    calls: dict[str, int]


def run_average(
    barrier: AverageBarrier,
    functions: Sequence[Function] = (EVEN, BEST),
) -> AverageResult:
    """Run exploration with average constraints; expectations are exact."""
    made = barrier.instance(functions)
    return explore_by_averages(barrier.environment(), made.values, made.policies)


def run_all(
    barrier: AverageBarrier,
    rng: np.random.Generator,
    functions: Sequence[Function] = (EVEN, BEST),
) -> dict[str, Run]:
    """Run the three algorithms.

    Parameters
    ----------
    barrier
        The construction.
    rng
        The only source of randomness; exploration with average constraints has
        none.
    functions
        G at level 2, in the order in which ties are broken.

    Raises
    ------
    RuntimeError
        If OLIVE or VALOR ends without a policy, which has a chance of at most δ.
    """
    stuck = run_average(barrier, functions)
    return {
        "average constraints": Run(
            stuck.value,
            stuck.rounds[-1].predicted,
            len(stuck.rounds),
            None,
            dict(stuck.calls),
        ),
        "olive": _olive(barrier, rng, functions),
        "valor": _valor(barrier, rng, functions),
    }


def _olive(
    barrier: AverageBarrier, rng: np.random.Generator, functions: Sequence[Function]
) -> Run:
    environment, pairs = barrier.environment(), barrier.pairs(functions)
    layered = LayeredEnvironment(environment)
    parameters = theorem_parameters(
        float(EPSILON),
        float(DELTA),
        horizon=2,
        n_actions=2,
        rank=2,
        log_size=float(np.log(len(pairs))),
    )
    found = olive_sampled(layered, parameters, rng, optimiser=FinitePairs(pairs))
    if found.policy is None:
        raise RuntimeError(f"OLIVE ended without a policy: {found.status}")
    value = environment.truth.policy_value(layered.policies(found.policy))
    return Run(
        value,
        found.rounds[-1].optimum,
        len(found.rounds),
        found.trajectories,
        {"program": len(found.rounds)},
    )


def _valor(
    barrier: AverageBarrier, rng: np.random.Generator, functions: Sequence[Function]
) -> Run:
    made = barrier.instance(functions)
    parameters = PracticalParameters(EPSILON, DELTA, M=2, K=2, H=2)
    found = valor(made.environment, made.values, made.policies, parameters, rng)
    if found.policies is None or found.estimate is None:
        raise RuntimeError(f"VALOR ended without a policy: {found.reason}")
    value = made.environment.truth.policy_value(found.policies)
    calls = {kind: found.calls[kind] for kind in ("lp", "csc")}
    return Run(value, found.estimate, found.iterations, found.trajectories, calls)
