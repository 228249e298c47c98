"""What an algorithm is run on, the frame that times and counts a run, its result."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np

from ..classes.protocols import PolicyClass, ValueClass
from ..environments.check import as_environment, check_class
from ..environments.protocol import Environment, require_deterministic
from ..exact.arrays import check_type
from ..exact.multinomial import RecordedSeed
from ..oracles.ledger import KINDS, Ledger, unguard
from .events import Evaluation, Observer, check_observers
from .parameters import PacParameters


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


Status = Literal["success", "failure"]

Scope = Literal["premise", "always", "event", "probable", "fact"]
"""When a claim must hold.

``premise``: it is what the others rest on (the deviation bounds, oracles that
kept their accuracy, realizability). ``always``: in every run. ``event``: where
every premise holds. ``probable``: with probability 1-δ. ``fact``: noted only,
because parameters are not those of the analysis.
"""


def _float(margin: Fraction) -> float:
    try:
        return float(margin)
    except OverflowError:
        return sys.float_info.max if margin > 0 else -sys.float_info.max


@dataclass(frozen=True)
class MonitorReport:
    """One claim, checked against the truth.

    Attributes
    ----------
    holds
        None: it could not be computed (say, for continuous observations).
    margin
        The least, over all checks, of bound minus value: negative exactly when
        violated; None without any check.
    checks, scope
        Number of checks, and when the claim must hold (`Scope`).
    first
        The first violation, in words, or why nothing was computed.
    """

    holds: bool | None
    margin: Fraction | None
    checks: int
    scope: Scope
    first: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values; the margin as a float."""
        return {
            "holds": self.holds,
            "margin": None if self.margin is None else _float(self.margin),
            "checks": self.checks,
            "scope": self.scope,
        } | ({"first": self.first} if self.first else {})


def impossible(monitors: Mapping[str, MonitorReport]) -> list[str]:
    """Names of claims that are violated where they hold always, or by the premises."""
    premises = [m.holds for m in monitors.values() if m.scope == "premise"]
    inside = bool(premises) and all(holds is True for holds in premises)
    scopes = ("always", "event") if inside else ("always",)
    return [n for n, m in monitors.items() if m.holds is False and m.scope in scopes]


def contradictions(monitors: Mapping[str, MonitorReport]) -> list[str]:
    """Violations that ought to be impossible: in any run, or where premises hold."""
    return [f"{name}: {monitors[name].first}" for name in impossible(monitors)]


@dataclass(frozen=True, eq=False)
class LearningResult:
    """Result of a run.

    Attributes
    ----------
    algorithm, environment
        Names.
    status, reason
        ``"success"`` or ``"failure"``, and why the run failed.
    policies
        One policy per level; None where there is none (an early failure).
    estimate
        V̂, the algorithm's own estimate of V*; None without one.
    estimate_error
        Its standard error, of PSDP and FQI, which average over few rewards: PSDP's V̂
        can leave [0, 1]. Of FQI it is that of the last fit; errors of earlier ones and
        of maximising over them come on top.
    trajectories
        Trajectories collected, of any size.
    calls
        Oracle calls made by the algorithm: csc, lp, ls, multi.
    iterations
        Iterations of the outer loop.
    learned
        Data sets stored at each level.
    parameters
        What it ran with, as plain values.
    monitors
        Reports by name; empty without monitors.
    seconds
        Wall time of the algorithm, monitors not included.
    event_failed
        Whether it failed because of something impossible in the good event.
    inaccurate_calls
        Oracle calls that could not certify the accuracy asked for.
    seed
        The generator that was handed in, as it stood before the run.
    evaluation
        Of a simulator: the policies' returns in `replays` episodes played after
        learning.
    notes
        Why success may mean little: an accuracy that every policy has, an estimate that
        playing the policies contradicts. `learn` warns of each.
    enumerated
        Functions that an enumerating algorithm evaluated, one for each function and
        data set. 0 where classes are seen through oracles.
    """

    algorithm: str
    environment: str
    status: Status
    policies: tuple[Any, ...] | None = field(repr=False)
    estimate: Fraction | None
    trajectories: int
    calls: Mapping[str, int]
    reason: str = ""
    iterations: int = 0
    learned: tuple[int, ...] = field(default=(), repr=False)
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    monitors: Mapping[str, MonitorReport] = field(default_factory=dict, repr=False)
    seconds: float = 0.0
    event_failed: bool = False
    inaccurate_calls: int = 0
    seed: RecordedSeed | None = field(default=None, repr=False)
    enumerated: int = 0
    evaluation: Evaluation | None = None
    estimate_error: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether the status is success."""
        return self.status == "success"

    @property
    def contradictions(self) -> list[str]:
        """Violated claims that ought to be impossible."""
        return contradictions(self.monitors)

    def fault(self, name: str, horizon: int, drawn: int) -> str:
        """Say why a run of so many trajectories cannot return it; "" where it can."""
        policies, estimate = self.policies, self.estimate
        listed = policies if isinstance(policies, Sequence) else ()
        if self.algorithm != name:
            return f"a result of {self.algorithm!r}"
        if self.status not in get_args(Status):
            return f"the status {self.status!r}"
        if policies is not None and len(listed) != horizon:
            return f"{len(listed)} policies for {horizon} levels"
        if self.succeeded and not (listed and all(map(callable, listed))):
            return "a success without a policy for each level"
        if estimate is not None and not (
            isinstance(estimate, Real) and -math.inf < estimate < math.inf
        ):
            return f"the estimate {estimate!r}, which is no finite number"
        if self.trajectories != drawn:
            return f"{self.trajectories!r} trajectories, but {drawn} were drawn"
        return ""

    def to_json(self) -> dict[str, Any]:
        """Plain values; true values are added by who knows them."""
        return {
            "algorithm": self.algorithm,
            "env": self.environment,
            "status": self.status,
            "reason": self.reason,
            "estimate": None if self.estimate is None else float(self.estimate),
            "trajectories": self.trajectories,
            "iterations": self.iterations,
            "learned": list(self.learned),
            "calls": dict.fromkeys(KINDS, 0)
            | {k: int(n) for k, n in self.calls.items()},
            "enumerated": self.enumerated,
            "parameters": dict(self.parameters),
            "monitors": {k: m.to_json() for k, m in self.monitors.items()},
            "contradictions": self.contradictions,
            "seed": None if self.seed is None else self.seed.to_json(),
        } | self._more()

    def _more(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.evaluation is not None:
            found["evaluation"] = self.evaluation.to_json()
        if self.estimate_error is not None:
            found["estimate_error"] = self.estimate_error
        if self.notes:
            found["notes"] = list(self.notes)
        return found


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
