"""Fitted Q iteration over a finite horizon (Ernst, Geurts, Wehenkel 2005).

Backwards over levels, Q̂_h is the least-squares fit of r + max_a' Q̂_{h+1}(x', a') on
data of uniform actions; the policy is greedy in Q̂. The LS oracle is over value
functions G: the class of Q-functions is G_h^K, and a level takes K calls, each with
importances K 1{a = b}. An action without data gets any function of G_h.

What it guarantees, and that realizability of Q* is not enough, is in docs/baselines.md.
The status is always "success": nothing tells the algorithm that it failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.baselines.events import LevelFit
from olivine.algorithms.baselines.parameters import FQI, BatchParameters, check_batch
from olivine.algorithms.classes.protocols import ValueClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.datasets import decisions, next_values
from olivine.algorithms.learning.events import Observer, notify
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.learning.run import Frame
from olivine.algorithms.oracles.least_squares import least_squares
from olivine.algorithms.oracles.ledger import evaluate, guard, reveal


class Greedy:
    """The greedy policy of K value functions: argmax_a Q(x, a), ties to the lowest.

    Parameters
    ----------
    functions
        Q(·, a) for each action a.
    """

    def __init__(self, functions: Sequence[Any]) -> None:
        self.functions = tuple(functions)

    def __call__(self, observations: Any, /) -> NDArray[np.int64]:
        """Actions at n observations, shape (n,)."""
        values = [evaluate(g, observations) for g in self.functions]
        return np.asarray(np.argmax(values, axis=0), dtype=np.int64)

    def opened(self) -> Greedy:
        """Return the same policy without guards."""
        return Greedy([reveal(g) for g in self.functions])


def fqi(
    environment: Environment,
    value_class: ValueClass,
    parameters: BatchParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run fitted Q iteration with uniform roll-in and the LS oracle.

    Parameters
    ----------
    environment
        Any; hidden dynamics may be stochastic.
    value_class
        G, by level or stationary; Q-functions of level h are G_h^K. Seen through a
        guard.
    parameters
        Of ``"fqi"``: n trajectories per level.
    rng
        The only source of randomness.
    observers
        Told of every level.

    Returns
    -------
    LearningResult
        The estimate is the average of max_a Q̂_1(x, a) over the first observations,
        an estimate of V*.

    Raises
    ------
    ValueError
        If parameters or classes do not fit, or a reward leaves [0, 1].
    """
    check_batch(environment, parameters, FQI, values=value_class)
    classes = guard(value_class)
    policies: list[Greedy] = []
    ahead: tuple[Any, ...] = ()
    estimate = Fraction(0)
    with Frame(FQI, environment, parameters, rng) as frame:
        for h in range(environment.horizon, 0, -1):
            data = uniform_roll_in(environment, h, parameters.n, rng)
            fits = _fits(classes.at_level(h), data, ahead, parameters)
            ahead = tuple(fit.function for fit in fits)
            policy = Greedy(ahead)
            policies.insert(0, policy)
            seen = tuple(reveal(g) for g in ahead)
            losses = tuple(fit.loss for fit in fits)
            notify(observers, LevelFit(h, data, policy.opened(), seen, losses))
            if h == 1:
                best = np.max([evaluate(g, data.observations) for g in ahead], axis=0)
                estimate = data.expectation_exact(best)
    opened = [policy.opened() for policy in policies]
    return frame.result(opened, estimate, iterations=1)


def uniform_roll_in(
    environment: Environment, level: int, n: int, rng: np.random.Generator
) -> EmpiricalMeasure:
    """Sample n tuples (x_h, a_h, r_h, x_{h+1}), all actions uniform."""
    rules: list[Any] = ["uniform"] * (level - 1)
    return environment.roll_in(rules, level, n, rng, "uniform")


def _fits(
    value_class: Any,
    data: EmpiricalMeasure,
    ahead: Sequence[Any],
    parameters: BatchParameters,
) -> list[Any]:
    """One regression per action."""
    actions, rewards = decisions(data)
    targets = rewards + next_values(data, ahead)
    return [
        least_squares(
            value_class,
            data,
            targets,
            epsilon_sub=float(parameters.eps_sub),
            importance=parameters.K * (actions == b).astype(np.float64),
        )
        for b in range(parameters.K)
    ]
