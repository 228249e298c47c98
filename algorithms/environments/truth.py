"""An environment's hidden truth: for tests and monitors only."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import Observations

Path = Sequence[int]
"""Actions a_1, ..., a_{h-1}; it ends at level h."""


class UnknownTruthError(ValueError):
    """Raised where the truth about an environment is not known."""


class AnyPolicy(Protocol):
    """Deterministic or randomised: what `action_probabilities` understands.

    See `olivine.algorithms.classes.policies`: n observations to actions (n,), int64, or
    to probabilities (n, K), float64.
    """

    def __call__(self, observations: Observations, /) -> NDArray[Any]:
        """Actions, or action probabilities, at n observations."""


class Truth(Protocol):
    """The hidden truth about an environment: for tests and monitors only.

    Finite environments answer in Fractions. Environments with continuous
    observations answer in Fractions where the answer does not depend on the
    noise; `exact` says whether expectations of arbitrary functions and values
    of arbitrary policies are available, and where they are not, the methods
    that need them raise ValueError and `estimate_policy_value` is there.
    """

    @property
    def exact(self) -> bool:
        """Whether every method below answers exactly."""

    @property
    def optimal_value(self) -> Fraction:
        """V*."""

    def n_states(self, level: int) -> int:
        """Return the number of hidden states of a level, reachable or not."""

    def reachable(self, level: int) -> frozenset[int]:
        """Hidden states of the level to which some path leads."""

    def state(self, path: Path) -> int:
        """Hidden state 0..n_states(len(path)+1)-1 at the end of a path.

        Raises ValueError if the path does not end at one of the levels 1..H, names an
        unknown action, or hidden dynamics are stochastic.
        """

    def successor(self, level: int, state: int, action: int) -> int:
        """Hidden state of level + 1 (END = -1 past the last); deterministic only."""

    def state_value(self, level: int, state: int) -> Fraction:
        """V*(s), the optimal value of a hidden state before its observation.

        Level H+1 gives 0 for any state.
        """

    def path_value(self, path: Path) -> Fraction:
        """V*(p): expected optimal value after a path of 0..H actions.

        For len(path) == H it is 0.
        """

    def values(self, level: int) -> NDArray[Any]:
        """Optimal values g*(x) at every code of the level: Fractions, (|X_h|,)."""

    def q_values(self, level: int) -> NDArray[Any]:
        """Optimal Q*(x, a): Fractions, shape (|X_h|, K)."""

    def policy(self, level: int) -> NDArray[np.int64]:
        """π*(x) at every code, the first of the best actions; shape (|X_h|,)."""

    def optimal_policies(self) -> list[AnyPolicy]:
        """π*_1, ..., π*_H as policies on observations.

        Where observations are features, the hidden state is decoded from them
        (with Gaussian noise that is wrong in the tails).
        """

    def optimal_value_functions(self) -> list[Any]:
        """g*_1, ..., g*_H as value functions on observations, decoded as above."""

    def policy_value(self, policies: Sequence[AnyPolicy]) -> Fraction:
        """V^π of a non-stationary policy, one policy a level (also randomised)."""

    def policy_path_value(self, path: Path, policies: Sequence[AnyPolicy]) -> Fraction:
        """V^{π_{h:H}}(p): expected return from level h = len(path)+1 on, after p.

        ``policies`` has one policy for each level 1..H (the first h-1 are not
        looked at).
        """

    def observation_probabilities(self, path: Path) -> NDArray[Any]:
        """P(x_h = x) after the path, at every code: Fractions, (|X_h|,)."""

    def expectation(self, path: Path, values: Any) -> Any:
        """E_p[g(x_h)] with h = len(path)+1."""

    def action_expectation(
        self, path: Path, policy: AnyPolicy, future: Sequence[Any]
    ) -> Any:
        """E_p[K 1{π(x_h) = a_h}(r_h + V_a)], a_h uniform: = E_p[r_h + V_{π(x_h)}]."""

    def estimate_policy_value(
        self, policies: Sequence[AnyPolicy], n: int, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Monte Carlo estimate of V^π and its standard error, n ≥ 2 episodes.

        These episodes are not counted in `Environment.trajectories`.
        """
