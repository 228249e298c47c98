"""What an algorithm is run on, and the frame that times and counts a run of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..classes.protocols import PolicyClass, ValueClass
from ..environments.check import as_environment, check_class
from ..environments.protocol import Environment, require_deterministic
from ..exact.arrays import check_type
from ..exact.multinomial import RecordedSeed
from ..oracles.ledger import Ledger, unguard
from .events import Observer, check_observers
from .parameters import PacParameters
from .results import LearningResult


@dataclass(frozen=True, eq=False)
class Problem:
    """An environment and the classes of functions to learn in.

    Attributes
    ----------
    environment
        Where trajectories come from.
    values, policies
        G (or F, a class of Q-functions) and Π, by level or stationary; None where the
        algorithm takes none.
    complete
        Whether the classes were made to be as complete as the guarantee asks.
    """

    environment: Environment
    values: Any = None
    policies: Any = None
    complete: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment", as_environment(self.environment))

    @classmethod
    def of(cls, environment: Any, values: Any, policies: Any) -> Problem:
        """Problem of an algorithm that needs both classes."""
        check_class("value_class", unguard(values), ValueClass)
        check_class("policy_class", unguard(policies), PolicyClass)
        return cls(environment, values, policies)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What an algorithm's function is called with: environment, then classes."""
        classes = self.values, self.policies
        return (self.environment, *(c for c in classes if c is not None))

    def check(
        self, parameters: Any, algorithm: str, *, deterministic: bool = True
    ) -> None:
        """Refuse with a ValueError what the parameters (K, H, and M) do not fit.

        ``deterministic``: refuse stochastic dynamics, and levels of more than M states.
        """
        environment = self.environment
        if self.values is not None:
            check_class("value_class", unguard(self.values), ValueClass)
        if self.policies is not None:
            check_class("policy_class", unguard(self.policies), PolicyClass)
        check_type("parameters", parameters, PacParameters, "parameters of olivine's")
        if deterministic:
            require_deterministic(environment, algorithm)
        for name, true in (("H", environment.horizon), ("K", environment.n_actions)):
            given = getattr(parameters, name)
            if given != true:
                raise ValueError(
                    f"{name}: {given}, but the environment has {name}={true}"
                )
        if deterministic and environment.max_states > parameters.M:
            raise ValueError(
                f"M: {parameters.M} is too small, the environment has levels of "
                f"{environment.max_states} hidden states"
            )
        actions = getattr(self.policies, "n_actions", environment.n_actions)
        if actions != environment.n_actions:
            raise ValueError(
                f"policy_class: {actions} actions, but K = {environment.n_actions}"
            )
        for name, given_class in (("value", self.values), ("policy", self.policies)):
            levels = getattr(given_class, "horizon", environment.horizon)
            if levels != environment.horizon:
                raise ValueError(
                    f"{name}_class: {levels} levels, but H = {environment.horizon}"
                )


class Run:
    """What the state of any run starts with; classes are as the problem has them."""

    def __init__(
        self,
        problem: Problem,
        parameters: Any,
        rng: np.random.Generator,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.environment, self.parameters = problem.environment, parameters
        self.horizon = problem.environment.horizon
        self.rng, self.observers = rng, check_observers(observers)


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
            policies=None if policies is None else tuple(map(unguard, policies)),
            estimate=estimate,
            trajectories=self._environment.trajectories - self._before,
            calls=dict(self._ledger.calls),
            reason=failure or "",
            parameters=self._parameters.to_json(),
            seconds=time.perf_counter() - self._start,
            inaccurate_calls=sum(not call.honoured for call in self._ledger.entries),
            seed=self._seed,
            **more,
        )
