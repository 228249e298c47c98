"""What a run would return if it were stopped: its policies over time, and their value.

Each algorithm tells of new policies by events (`learning.events.NewPolicies`): the
last policy tried (VALOR, its constrained form, the two-sample algorithm, LSVEE), the
round's policy (OLIVE), the batch's (R-max), the policy of a level (global policy and
the backward baselines). A level without a policy acts uniformly.

>>> from olivine.algorithms.environments import make
>>> env = make("grid", 0)
>>> recorder = Recorder()
>>> recorder.begin(env)
>>> recorder.end()
>>> [(point.trajectories, len(point.policies)) for point in recorder.points]
[(0, 5)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes.protocols import Observations
from olivine.algorithms.environments.protocol import Environment, Truth
from olivine.algorithms.learning.events import NewPolicies


@dataclass(frozen=True)
class UniformPolicy:
    """Each action equally likely.

    Attributes
    ----------
    n_actions
        K.
    """

    n_actions: int

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Give action probabilities: 1/K, shape (n, K)."""
        return np.full((len(observations), self.n_actions), 1 / self.n_actions)


@dataclass(frozen=True, eq=False)
class Point:
    """The policies of a run at a moment.

    Attributes
    ----------
    trajectories
        Collected up to then.
    policies
        One per level, uniform where the run has none yet.
    """

    trajectories: int
    policies: tuple[Any, ...]


class Recorder:
    """An observer that keeps a run's policies each time that they change.

    Attributes
    ----------
    points
        From the start of the run on, by trajectories; the last one is its end.
    """

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._environment: Environment | None = None

    def begin(self, environment: Environment) -> None:
        """Start with uniform policies on the environment of a run."""
        self._environment = environment
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
        """Of the run's environment.

        Raises
        ------
        RuntimeError
            Before the beginning.
        """
        if self._environment is None:
            raise RuntimeError("the recorder has not begun")
        return self._environment.truth

    def _add(self, policies: Sequence[Any]) -> None:
        if self._environment is not None:
            now = self._environment.trajectories
            self.points.append(Point(now, tuple(policies)))

    def values(self, n: int, seed: Sequence[int]) -> list[Fraction | float]:
        """V^π at each point: exact where the environment's truth is.

        Parameters
        ----------
        n
            Episodes that estimate a value elsewhere; they are not counted.
        seed
            Of their generator, the same for each point.
        """
        truth = self.truth
        found: list[Fraction | float] = []
        last: tuple[Any, ...] = ()
        for point in self.points:
            # The same objects have the same value.
            if found and all(map(_same, point.policies, last)):
                found.append(found[-1])
            elif truth.exact:
                found.append(truth.policy_value(point.policies))
            else:
                rng = np.random.default_rng(seed)
                found.append(truth.estimate_policy_value(point.policies, n, rng)[0])
            last = point.policies
        return found


def _same(one: object, other: object) -> bool:
    return one is other
