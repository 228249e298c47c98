"""The frame of a run: what it refuses, its seed, clock, ledger and result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment, require_deterministic
from olivine.algorithms.exact.seeds import RecordedSeed
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.oracles.ledger import Ledger, reveal


class Frame:
    """Times and counts what happens inside a ``with`` block.

    Parameters
    ----------
    algorithm
        Its name.
    environment
        Whose trajectories are counted from now on.
    parameters
        Of the run; they have a ``to_json``.
    rng
        Recorded as it stands.
    """

    def __init__(
        self,
        algorithm: str,
        environment: Environment,
        parameters: Any,
        rng: np.random.Generator,
    ) -> None:
        self._algorithm, self._environment = algorithm, environment
        self._parameters = parameters
        self._start, self._before = time.perf_counter(), environment.trajectories
        self._seed = RecordedSeed.of(rng)
        self._ledger = Ledger()

    def __enter__(self) -> Frame:
        self._ledger.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._ledger.__exit__(*error)

    def result(
        self,
        policies: Sequence[Any] | None,
        estimate: Fraction | None,
        failure: str | None = None,
        **more: Any,
    ) -> LearningResult:
        """Give the result of the run, policies without guards.

        Parameters
        ----------
        policies
            One per level; None where there is none.
        estimate
            V̂.
        failure
            Why the run failed; None for a success.
        **more
            Further fields of `LearningResult`.
        """
        return LearningResult(
            algorithm=self._algorithm,
            environment=self._environment.name,
            status="success" if failure is None else "failure",
            policies=None if policies is None else tuple(map(reveal, policies)),
            estimate=estimate,
            trajectories=self._environment.trajectories - self._before,
            calls=dict(self._ledger.calls),
            reason=failure or "",
            parameters=self._parameters.to_json(),
            seconds=time.perf_counter() - self._start,
            unhonoured=sum(not call.honoured for call in self._ledger.entries),
            seed=self._seed,
            **more,
        )


def check_fit(
    environment: Environment,
    parameters: Any,
    algorithm: str,
    *,
    values: ValueClass | None = None,
    policies: PolicyClass | None = None,
    deterministic: bool = True,
) -> None:
    """Refuse an environment that the parameters or classes do not fit.

    Parameters
    ----------
    environment
        Of the run.
    parameters
        With K and H, and M where states are counted.
    algorithm
        Its name.
    values, policies
        Its classes.
    deterministic
        Whether stochastic dynamics are refused, and levels of more than M states.

    Raises
    ------
    ValueError
        If something does not fit.
    """
    if deterministic:
        require_deterministic(environment, algorithm)
    for name, true in (("H", environment.horizon), ("K", environment.n_actions)):
        given = getattr(parameters, name)
        if given != true:
            raise ValueError(f"{name}: {given}, but the environment has {name}={true}")
    if deterministic and environment.max_states > parameters.M:
        raise ValueError(
            f"M: {parameters.M} is too small, the environment has levels of "
            f"{environment.max_states} hidden states"
        )
    if policies is not None and policies.n_actions != environment.n_actions:
        raise ValueError(
            f"policy_class: {policies.n_actions} actions, but K = "
            f"{environment.n_actions}"
        )
    for name, given_class in (("value", values), ("policy", policies)):
        levels = getattr(given_class, "horizon", environment.horizon)
        if levels != environment.horizon:
            raise ValueError(
                f"{name}_class: {levels} levels, but H = {environment.horizon}"
            )
