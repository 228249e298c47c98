"""Bellman backup algorithms (paper, appendix Additional Barriers, definition).

Backwards over levels, from n samples of *every* hidden state of the level (the
definition leaves exploration out),

- π̂_h = argmax over Π_h of Σ_s Ê_s[r + ĝ_{h+1}(x') | a = π(x)],
- ĝ_h = argmin over G_h of Σ_s Ê_s[(g(x) - r - ĝ_{h+1}(x'))² | a = π̂_h(x)].

Where the classes hold every backup, sizes polynomial in H are enough. Realizability
alone is not: the paper's barrier needs 4^H. What the definition leaves open, and what
is done here, is in docs/baselines.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from olivine.algorithms.baselines.events import LevelFit
from olivine.algorithms.baselines.parameters import (
    BACKUP,
    BatchParameters,
    check_batch,
)
from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import (
    ActionRule,
    Environment,
    Path,
)
from olivine.algorithms.exact.data import EmpiricalMeasure, pool
from olivine.algorithms.learning.datasets import decisions, next_values, policy_costs
from olivine.algorithms.learning.draw_classes import paths_to_states
from olivine.algorithms.learning.events import Observer, notify
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.learning.run import Frame
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.least_squares import least_squares
from olivine.algorithms.oracles.ledger import evaluate, guard, reveal
from olivine.algorithms.oracles.results import LeastSquaresResult


def backup(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: BatchParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run the Bellman backup algorithm with the CSC and LS oracles.

    Parameters
    ----------
    environment
        With deterministic hidden dynamics; its truth says which paths lead to which
        states.
    value_class, policy_class
        G and Π, by level or stationary; seen through a guard.
    parameters
        Of ``"backup"``: n trajectories of each reachable state.
    rng
        The only source of randomness.
    observers
        Told of every level: `LevelFit.functions` is (ĝ_h,).

    Returns
    -------
    LearningResult
        The estimate is the average of ĝ_1 over the first observations. The status is
        always "success".

    Raises
    ------
    ValueError
        If dynamics are stochastic, parameters or classes do not fit, or a reward
        leaves [0, 1].
    """
    check_batch(
        environment,
        parameters,
        BACKUP,
        values=value_class,
        policies=policy_class,
        deterministic=True,
    )
    values, classes = guard(value_class), guard(policy_class)
    paths = [list(level.values()) for level in paths_to_states(environment)]
    policies: list[Any] = []
    ahead: tuple[Any, ...] = ()
    estimate = Fraction(0)
    with Frame(BACKUP, environment, parameters, rng) as frame:
        for h in range(environment.horizon, 0, -1):
            data = _behaviour(environment, paths[h - 1], parameters, rng)
            policy = _policy(classes.at_level(h), data, ahead, parameters)
            weighted = True
            if parameters.on_policy:
                rule = reveal(policy)
                data = _samples(environment, paths[h - 1], parameters.n, rng, rule)
                weighted = False
            fit = _value(values.at_level(h), data, policy, ahead, parameters, weighted)
            policies.insert(0, policy)
            ahead = (fit.function,)
            seen = (reveal(fit.function),)
            notify(observers, LevelFit(h, data, reveal(policy), seen, (fit.loss,)))
            if h == 1:
                first = evaluate(fit.function, data.observations)
                estimate = data.expectation_exact(first)
    return frame.result(policies, estimate, iterations=1)


def _samples(
    environment: Environment,
    paths: Sequence[Path],
    n: int,
    rng: np.random.Generator,
    rule: ActionRule,
) -> EmpiricalMeasure:
    """Sample n of each state, states equally weighted as in Σ_s."""
    return pool([environment.sample(path, n, rng, rule) for path in paths])


def _behaviour(
    environment: Environment,
    paths: Sequence[Path],
    parameters: BatchParameters,
    rng: np.random.Generator,
) -> EmpiricalMeasure:
    """Sample what π̂_h is found on: uniform actions, or each equally often."""
    if not parameters.per_action:
        return _samples(environment, paths, parameters.n, rng, "uniform")
    return pool(
        [
            _samples(environment, paths, parameters.n, rng, a)
            for a in range(parameters.K)
        ]
    )


def _policy(
    policy_class: Any,
    data: EmpiricalMeasure,
    ahead: Sequence[Any],
    parameters: BatchParameters,
) -> Any:
    """π̂_h, by CSC on costs -K 1{a}(r + ĝ_{h+1}(x'))."""
    following = next_values(data, ahead)
    found = csc(
        policy_class,
        data,
        policy_costs(data, following, parameters.eps_sub, parameters.K),
        epsilon_sub=float(parameters.eps_sub),
    )
    return found.policy


def _value(
    value_class: Any,
    data: EmpiricalMeasure,
    policy: Any,
    ahead: Sequence[Any],
    parameters: BatchParameters,
    weighted: bool,
) -> LeastSquaresResult:
    """ĝ_h, by LS on targets r + ĝ_{h+1}(x') given a = π̂_h(x)."""
    actions, rewards = decisions(data)
    importance = None
    if weighted:
        taken = evaluate(policy, data.observations) == actions
        importance = parameters.K * taken.astype(np.float64)
    return least_squares(
        value_class,
        data,
        rewards + next_values(data, ahead),
        epsilon_sub=float(parameters.eps_sub),
        importance=importance,
    )
