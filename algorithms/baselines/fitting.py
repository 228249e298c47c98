"""What the backward passes share: checks, targets, policies, the result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.baselines.parameters import BatchParameters
from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.columns import END
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.exact.seeds import RecordedSeed
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.oracles.ledger import Ledger, evaluate, reveal

EXACT_COSTS = Fraction(1, 10**12)
"""Below this ε_sub costs are rationals: float64 would be too coarse."""


class Run:
    """Times and counts a run, and makes its result.

    Parameters
    ----------
    environment
        Whose trajectories are counted from now on.
    parameters
        Of the run.
    rng
        Recorded as it stands.
    """

    def __init__(
        self,
        environment: Environment,
        parameters: BatchParameters,
        rng: np.random.Generator,
    ) -> None:
        self.environment, self.parameters = environment, parameters
        self._start, self._before = time.perf_counter(), environment.trajectories
        self._seed = RecordedSeed.of(rng)

    def result(
        self, policies: Sequence[Any], estimate: Fraction, ledger: Ledger
    ) -> LearningResult:
        """Make the result: these algorithms always return a policy."""
        return LearningResult(
            algorithm=self.parameters.algorithm,
            environment=self.environment.name,
            status="success",
            policies=tuple(_opened(policy) for policy in policies),
            estimate=estimate,
            trajectories=self.environment.trajectories - self._before,
            calls=dict(ledger.calls),
            iterations=1,
            parameters=self.parameters.to_json(),
            seconds=time.perf_counter() - self._start,
            unhonoured=sum(not call.honoured for call in ledger.entries),
            seed=self._seed,
        )


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


def check(
    environment: Environment,
    parameters: BatchParameters,
    algorithm: str,
    value_class: ValueClass | None,
    policy_class: PolicyClass | None,
) -> None:
    """Refuse parameters or classes that do not fit, with a ValueError."""
    if parameters.algorithm != algorithm:
        raise ValueError(f"parameters: of {parameters.algorithm}, not of {algorithm}")
    check_sizes(parameters.K, parameters.H, environment)
    if policy_class is not None and policy_class.n_actions != environment.n_actions:
        raise ValueError(
            f"policy_class: {policy_class.n_actions} actions, but K = "
            f"{environment.n_actions}"
        )
    for name, given in (("value", value_class), ("policy", policy_class)):
        levels = getattr(given, "horizon", environment.horizon)
        if levels != environment.horizon:
            raise ValueError(
                f"{name}_class: {levels} levels, but H = {environment.horizon}"
            )


def check_sizes(n_actions: int, horizon: int, environment: Environment) -> None:
    """Refuse K or H that differ from the environment's."""
    facts = {"K": (n_actions, environment.n_actions)}
    facts["H"] = (horizon, environment.horizon)
    for name, (given, true) in facts.items():
        if given != true:
            raise ValueError(f"{name}: {given}, but the environment has {name}={true}")


def columns(data: EmpiricalMeasure) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give actions and rewards; ValueError if missing or a reward leaves [0, 1]."""
    if data.actions is None or data.rewards is None:
        raise ValueError("data: actions or rewards are missing")
    if not 0 <= data.rewards.min() <= data.rewards.max() <= 1:
        raise ValueError("rewards: outside [0, 1]")
    return data.actions, data.rewards


def gains(
    data: EmpiricalMeasure, futures: NDArray[np.float64], eps_sub: Fraction
) -> NDArray[Any]:
    """Give r + V(x'), in rationals where ε_sub needs them; V is taken as it is."""
    if eps_sub < EXACT_COSTS:
        exact: NDArray[Any] = np.array(
            [Fraction(v) for v in futures.tolist()], dtype=object
        )
        returns: NDArray[Any] = data.exact_rewards + exact
        return returns
    return columns(data)[1] + futures


def next_values(data: EmpiricalMeasure, functions: Sequence[Any]) -> NDArray[Any]:
    """Give the largest g(x') of several functions, 0 where the episode has ended.

    Parameters
    ----------
    functions
        Value functions of the next level; none at the last level.

    Returns
    -------
    float64, shape (n,).
    """
    values = np.zeros(len(data))
    following = data.next_observations
    if not functions or following is None:
        return values
    alive = np.ones(len(data), dtype=bool)
    if following.ndim == 1:
        alive = following != END
    if alive.any():
        found = [evaluate(g, following[alive]) for g in functions]
        values[alive] = np.max(found, axis=0)
    return values


def _opened(policy: Any) -> Any:
    return policy.opened() if isinstance(policy, Greedy) else reveal(policy)
