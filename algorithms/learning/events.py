"""What happens in a run, as values, and what a stopped run would return.

An observer is any callable that takes an event, ``[].append`` say; it never answers.

>>> seen = []
>>> notify([seen.append], Entered((0, 1)))
>>> seen[0].level
3

New policies are a `NewPolicies`: the last policy tried (VALOR, its constrained form,
the two-sample algorithm, LSVEE), the round's (OLIVE), the batch's (R-max), a level's
(global policy and the backward baselines). A `Recorder` keeps them; a level without one
acts uniformly. `evaluate` plays policies.

>>> from olivine.algorithms.environments import make
>>> env = make("grid", 0)
>>> recorder = Recorder()
>>> recorder.begin(env)
>>> recorder.end()
>>> [(point.trajectories, len(point.policies)) for point in recorder.points]
[(0, 5), (0, 5)]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from operator import is_
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import Observations
from ..environments.check import as_environment
from ..environments.protocol import AnyPolicy, Environment, Truth, knows_truth
from ..exact.arrays import check_count, check_type, check_unit, rational
from ..exact.data import EmpiricalMeasure
from ..exact.multinomial import generator

Path = tuple[int, ...]
Observer = Callable[[Any], object]  # is told of every event of a run


def notify(observers: Iterable[Observer], event: object) -> None:
    """Tell observers of an event."""
    for observer in observers:
        observer(event)


def check_observers(observers: Any) -> tuple[Observer, ...]:
    """Give observers as a tuple; TypeError for what cannot be called."""
    check_type("observers", observers, Iterable, "list of functions")
    found = tuple(observers)
    for observer in found:
        check_type("observers", observer, Callable, "function")
    return found


class EventFailedError(Exception):
    """Raised through dfslearn by what the good event rules out: a "failure"."""


@dataclass(frozen=True, eq=False)
class AtPath:
    """Something at the end of a path."""

    path: Path  # p, actions from the start

    @property
    def level(self) -> int:
        """The level h = len(p) + 1 where the path ends, 1-based."""
        return len(self.path) + 1


class Entered(AtPath):
    """A call of dfslearn with the path."""


class Descending(AtPath):
    """The path's state is about to be learned by a recursive call."""


@dataclass(frozen=True, eq=False)
class Sampled(AtPath):
    """D' was sampled at the end of p∘a, the path, for a consensus test."""

    data: EmpiricalMeasure


@dataclass(frozen=True, eq=False)
class ConsensusTest(AtPath):
    """One pass of dfslearn's loop over actions; the path is p∘a."""

    # D', n_test draws at the end of p∘a; None past the last level
    data: EmpiricalMeasure | None
    # optimistic, pessimistic: V_opt and V_pes; None past the last level
    optimistic: Fraction | None
    pessimistic: Fraction | None
    value: Fraction  # V_a
    # ``"end"`` (past the last level V_a = 0), ``"consensus"``, ``"descent"``
    outcome: Literal["end", "consensus", "descent"]
    relaxed: bool = False  # Whether the program was infeasible, and φ had to be doubled


@dataclass(frozen=True, eq=False)
class Triple(AtPath):
    """A learned state, (D, V, {V_a}), added to its level's data sets."""

    data: EmpiricalMeasure  # D: (x_h, a_h, r_h) with a_h uniform
    value: Fraction  # V, which estimates V*(p)
    futures: tuple[Fraction, ...]  # V_a for each action, which estimate V*(p∘a)
    # The consensus tests behind them, one per action
    tests: tuple[ConsensusTest, ...] = ()


class NewPolicies:
    """An event after which a stopped run would have other policies to return."""

    policies: Sequence[Any]  # One per level; None where there is none yet

    @property
    def by_level(self) -> Mapping[int, Any]:
        """The new policies by their level, 1-based."""
        return {h: p for h, p in enumerate(self.policies, 1) if p is not None}


@dataclass(frozen=True, eq=False)
class Iteration(NewPolicies):
    """An iteration of MetaAlg, after its policy was evaluated."""

    number: int  # k, 1-based
    policies: Sequence[Any]  # π̂^(k), one policy per level
    estimate: Fraction  # V̂^(k)
    mean_return: Fraction  # V̂^π̂, over n_eval trajectories
    accepted: bool  # Whether V̂ ≤ V̂^π̂ + ε/2


@dataclass(frozen=True)
class Evaluation:
    """Returns of `episodes` played: their `mean`, with its `standard_error`."""

    mean: float
    standard_error: float
    episodes: int

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.standard_error:.2g} ({self.episodes} episodes)"

    def overlooked(self, slip: float) -> float:
        """Chance (1 - slip)^episodes that no episode shows slips of that share."""
        check_unit("slip", rational(slip, "slip"))
        return float((1 - slip) ** self.episodes)

    def to_json(self) -> dict[str, float]:
        """Plain values."""
        return asdict(self)


def evaluate(
    environment: Environment,
    policies: Sequence[AnyPolicy],
    episodes: int = 1000,
    *,
    seed: int | np.random.Generator = 0,
) -> Evaluation:
    """Play policies, and give the mean return with its standard error.

    Every episode is played afresh, a simulator's too, whatever it was declared to be.

    Parameters
    ----------
    environment
        Any object of the protocol.
    policies
        One per level, such as ``result.policies``.
    episodes
        At least 2.
    seed
        An integer or a Generator.

    Raises
    ------
    ValueError
        For fewer episodes than 2, missing policies, or a simulator that an episode
        shows to differ from what it was declared to be.
    """
    environment = as_environment(environment)
    n = check_count("episodes", episodes, least=2)
    if policies is not None:
        check_type("policies", policies, Iterable, "list with a policy per level")
    if policies is None or any(policy is None for policy in policies):
        raise ValueError(
            "policies: some are missing, as the run failed before it had them; see "
            "`result.reason`"
        )
    rng = generator(seed)
    # A simulator that remembers its steps plays so many episodes of a run.
    most = getattr(environment, "replays", n)
    total, returns = Fraction(0), []
    for start in range(0, n, most):
        some = min(most, n - start)
        run = environment.run(policies, some, rng, first=some)
        total += run.mean_return * some
        returns.append(run.returns)
    seen = np.concatenate(returns)
    deviation = float(np.std(seen, ddof=1)) if np.ptp(seen) else 0.0
    return Evaluation(float(total / n), deviation / math.sqrt(n), n)


@dataclass(frozen=True)
class UniformPolicy:
    """Each action equally likely."""

    n_actions: int  # K

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Give action probabilities: 1/K, shape (n, K)."""
        return np.full((len(observations), self.n_actions), 1 / self.n_actions)


@dataclass(frozen=True, eq=False)
class Point:
    """The policies of a run at a moment."""

    trajectories: int  # Collected up to then
    policies: tuple[Any, ...]  # One per level, uniform where the run has none yet


class Recorder:
    """An observer that keeps a run's policies whenever they change: `points`."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._environment: Environment | None = None
        self._before = 0

    def begin(self, environment: Environment) -> None:
        """Start with uniform policies on the environment of a run."""
        self._environment, self._before = environment, environment.trajectories
        uniform = UniformPolicy(environment.n_actions)
        self._add((uniform,) * environment.horizon)

    def __call__(self, event: object) -> None:
        """Note new policies."""
        if isinstance(event, NewPolicies):
            policies = list(self.points[-1].policies)
            for level, policy in event.by_level.items():
                policies[level - 1] = policy
            self._add(policies)

    def end(self, policies: Sequence[Any] | None = None) -> None:
        """Note the end of the run, with the policies that it returned, if any."""
        self._add(self.points[-1].policies if policies is None else policies)

    @property
    def truth(self) -> Truth:
        """Of the run's environment; RuntimeError before the beginning."""
        if self._environment is None:
            raise RuntimeError("the recorder has not begun")
        return self._environment.truth

    @property
    def optimal_value(self) -> Fraction | None:
        """V* of the run's environment, None where it is not known."""
        if self._environment is None or not knows_truth(self._environment):
            return None
        return self._environment.truth.optimal_value

    def _add(self, policies: Sequence[Any]) -> None:
        if self._environment is not None:
            now = self._environment.trajectories - self._before
            self.points.append(Point(now, tuple(policies)))

    def values(self, n: int, seed: Sequence[int]) -> list[Fraction | float]:
        """V^π at each point, exact where the truth is, else of n uncounted episodes."""
        return [value for value, _ in self.measured(n, seed)]

    def measured(
        self, n: int, seed: Sequence[int]
    ) -> list[tuple[Fraction | float, float | None]]:
        """`values`, each with its standard error, None where exact."""
        if self._environment is None:
            raise RuntimeError("the recorder has not begun")
        found: list[tuple[Fraction | float, float | None]] = []
        last: tuple[Any, ...] = ()
        for point in self.points:
            # The same objects have the same value.
            if not found or not all(map(is_, point.policies, last)):
                found.append(self._measure(point.policies, n, seed))
            else:
                found.append(found[-1])
            last = point.policies
        return found

    def _measure(
        self, policies: Sequence[Any], n: int, seed: Sequence[int]
    ) -> tuple[Fraction | float, float | None]:
        assert self._environment is not None
        rng = np.random.default_rng(seed)
        if not knows_truth(self._environment):
            played = evaluate(self._environment, policies, n, seed=rng)
            return played.mean, played.standard_error
        truth = self._environment.truth
        if truth.exact:
            return truth.policy_value(policies), None
        return truth.estimate_policy_value(policies, n, rng)
