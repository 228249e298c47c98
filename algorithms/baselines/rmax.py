"""R-max (Brafman, Tennenholtz 2002) where hidden states can be decoded.

A pair of an observation and an action is *known* after m visits; the model is
optimistic, unknown pairs being worth 1, the largest return. Its optimal policy is
found exactly and played for a batch of episodes, until a batch has at most nε/4 visits
to unknown pairs. The original plans step by step; batches let n be as large as a
theorem wants it (docs/baselines.md).

>>> from olivine.algorithms.baselines.parameters import rmax_theorem
>>> from olivine.algorithms.environments import make
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> parameters = rmax_theorem(0.3, 0.1, X=2, K=2, H=2)
>>> result = rmax(env, parameters, np.random.default_rng(0))
>>> env.truth.policy_value(result.policies) == env.truth.optimal_value
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..environments.protocol import Environment
from ..exact.data import EmpiricalMeasure
from ..learning.events import NewPolicies, Observer, notify
from ..learning.problem import Frame, Problem
from ..learning.results import LearningResult
from .parameters import RMAX, RmaxParameters
from .rmax_model import CellPolicy, Decoding, RmaxModel


@dataclass(frozen=True, eq=False)
class Batch(NewPolicies):
    """A batch of R-max."""

    number: int  # 1-based
    # The model that was planned with, as it stands: it is changed after the batch
    # unless the run ends
    model: RmaxModel
    policies: Sequence[Any]  # What was played, one per level
    unknown: int  # Visits to pairs that were not known
    n: int  # Episodes


def rmax(
    environment: Environment,
    parameters: RmaxParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run R-max on decoded observations.

    Raises ValueError if parameters do not fit or take more than 10^9 batches, or
    observations cannot be decoded.
    """
    Problem(environment).check(parameters, RMAX, deterministic=False)
    decoding = Decoding(environment)
    least, most = parameters.m // parameters.n, 10**9  # days of work
    if min(least, parameters.batches) > most:
        raise ValueError(
            f"m: no pair is known before {least} batches of n = {parameters.n} "
            f"episodes, more than {most}; set a greater n, or max_batches"
        )
    if decoding.most_cells > parameters.X:
        raise ValueError(
            f"X: {parameters.X} is too small, the environment has levels of "
            f"{decoding.most_cells} observations"
        )
    model = RmaxModel(decoding.states_of_cells, parameters.K, parameters.m)
    with Frame(RMAX, environment, parameters, rng) as frame:
        ended = _explore(environment, decoding, model, parameters, rng, observers)
    unsettled = f"unknown pairs were still met after {ended.batches} batches"
    return frame.result(
        ended.policies,
        ended.estimate,
        None if ended.settled else unsettled,
        iterations=ended.batches,
        learned=tuple(int(model.known(h).sum()) for h in range(1, parameters.H + 1)),
    )


@dataclass(frozen=True)
class _Ended:
    """How exploration ended: the last batch's policies, and whether it settled."""

    settled: bool
    policies: tuple[CellPolicy, ...]
    estimate: Fraction
    batches: int


def _explore(
    environment: Environment,
    decoding: Decoding,
    model: RmaxModel,
    parameters: RmaxParameters,
    rng: np.random.Generator,
    observers: Sequence[Observer],
) -> _Ended:
    """Plan, play a batch and learn from it, until a batch hardly has news."""
    policies: tuple[CellPolicy, ...] = ()
    estimate, planned = Fraction(0), -1
    for batch in range(1, parameters.batches + 1):
        if model.n_known != planned:  # what is planned with depends on nothing else
            planned = model.n_known
            values, tables = model.plan()
            policies = tuple(
                CellPolicy(decoding, h, a) for h, a in enumerate(tables, 1)
            )
        data = _play(environment, decoding, policies, parameters.n, rng)
        estimate = data[0].expectation_exact(data[0].at(values[0]))
        unknown = _unknown(model, data)
        notify(observers, Batch(batch, model, policies, unknown, parameters.n))
        if unknown <= parameters.patience:
            return _Ended(True, policies, estimate, batch)
        for h, steps in enumerate(data, 1):
            model.add(h, steps)
    return _Ended(False, policies, estimate, parameters.batches)


def _play(
    environment: Environment,
    decoding: Decoding,
    policies: Sequence[Any],
    n: int,
    rng: np.random.Generator,
) -> list[EmpiricalMeasure]:
    """Run n episodes; the steps of each level, on cells, few rows."""
    drawn = environment.run(policies, n, rng, transitions=True)
    return [decoding.steps(h, steps) for h, steps in enumerate(drawn.transitions, 1)]


def _unknown(model: RmaxModel, data: Sequence[EmpiricalMeasure]) -> int:
    """Visits to unknown pairs, over all levels."""
    visits = 0
    for h, steps in enumerate(data, 1):
        met = ~model.known(h)[steps.codes(), steps.actions]
        visits += sum(steps.weights[met].tolist())
    return visits
