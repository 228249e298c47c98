"""How hidden states become feature vectors, and what is true of them.

Hidden states answer in Fractions; what depends on unlistable noise is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..classes.policies import action_probabilities, check_policies, sample_actions
from .finite_draws import draw_episodes
from .finite_model import FiniteModel, path_weights
from .finite_truth import FiniteTruth
from .protocol import AnyPolicy, Path

MAX_LISTED_BITS = 16  # Emissions list their features up to 2^16 of them a state


class Emission(Protocol):
    """Renders hidden states; see the module's docstring."""

    @property
    def dimension(self) -> int:
        """Number of features."""

    def __call__(
        self, level: int, states: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Features of n hidden states of a level, shape (n, dimension)."""

    def decode(self, level: int, features: NDArray[np.float64]) -> NDArray[np.int64]:
        """Hidden states that features (n, dimension) come from, most likely."""

    def listed(self, level: int, state: int) -> NDArray[np.float64] | None:
        """Equally likely features of a state, (2^d, dimension), or None."""


@dataclass(frozen=True, eq=False)
class BitsEmission:
    """A fixed prefix for each state and level, then fair independent bits."""

    prefixes: tuple[NDArray[np.float64], ...]  # (S_h, width) a level, rows distinct
    bits: int  # Number of fair bits, at least 0

    @property
    def dimension(self) -> int:
        """Width of the prefix and number of bits."""
        return int(self.prefixes[0].shape[1]) + self.bits

    def __call__(
        self, level: int, states: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Features of the states."""
        n, prefix = len(states), self.prefixes[level - 1]
        features = np.empty((n, self.dimension))
        features[:, : prefix.shape[1]] = prefix[states]
        packed = np.frombuffer(rng.bytes(-(-n * self.bits // 8)), dtype=np.uint8)
        noise = np.unpackbits(packed, count=n * self.bits)
        features[:, prefix.shape[1] :] = noise.reshape(n, self.bits)
        return features

    def decode(self, level: int, features: NDArray[np.float64]) -> NDArray[np.int64]:
        """Hidden states, exactly."""
        return _nearest(features, self.prefixes[level - 1])

    def listed(self, level: int, state: int) -> NDArray[np.float64] | None:
        """All features of a state, or None beyond 2^16."""
        if self.bits > MAX_LISTED_BITS:
            return None
        numbers = np.arange(2**self.bits)[:, None]
        prefix = self.prefixes[level - 1][state]
        bits = (numbers >> np.arange(self.bits)) & 1
        rows = np.broadcast_to(prefix, (len(numbers), len(prefix)))
        return np.concatenate([rows, bits], axis=1)


@dataclass(frozen=True, eq=False)
class GaussianEmission:
    """A mean for each state and level plus independent normal noise."""

    means: tuple[NDArray[np.float64], ...]  # (S_h, dimension) a level, rows distinct
    deviation: float  # of the noise; states overlap in its tails

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return int(self.means[0].shape[1])

    def __call__(
        self, level: int, states: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Features of the states."""
        noise = rng.standard_normal((len(states), self.dimension))
        noise *= self.deviation
        noise += self.means[level - 1][states]
        return noise

    def decode(self, level: int, features: NDArray[np.float64]) -> NDArray[np.int64]:
        """Hidden states of the nearest means."""
        return _nearest(features, self.means[level - 1])

    def listed(self, level: int, state: int) -> NDArray[np.float64] | None:
        """List the mean if there is no noise, else None."""
        return self.means[level - 1][[state]] if self.deviation == 0 else None


def _nearest(
    features: NDArray[np.float64], centres: NDArray[np.float64]
) -> NDArray[np.int64]:
    width = centres.shape[1]
    # |x - c|² without the part that is the same for all centres
    scores = features[:, :width] @ centres.T - (centres**2).sum(axis=1) / 2
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


class LatentTruth(FiniteTruth):
    """The `protocol.Truth` of rendered hidden states."""

    def __init__(self, model: FiniteModel, emission: Emission) -> None:
        super().__init__(model)
        self.emission = emission

    @cached_property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether states have finitely many features, few enough to list."""
        return self.emission.listed(1, 0) is not None

    def values(self, level: int) -> NDArray[Any]:
        """Refuse: observations have no codes (see `optimal_value_functions`)."""
        raise _no_codes("values")

    def q_values(self, level: int) -> NDArray[Any]:
        """Refuse: observations have no codes."""
        raise _no_codes("q_values")

    def policy(self, level: int) -> NDArray[np.int64]:
        """Refuse: observations have no codes (see `optimal_policies`)."""
        raise _no_codes("policy")

    def observation_probabilities(self, path: Path) -> NDArray[Any]:
        """Refuse: observations have no codes."""
        raise _no_codes("observation_probabilities")

    def optimal_policies(self) -> list[AnyPolicy]:
        """π* of each level as policies on features, states decoded."""
        tables = [super(LatentTruth, self).q_values(h) for h in self._levels()]
        actions = [q.argmax(axis=1).astype(np.int64) for q in tables]
        return [_Decoded(self.emission, h, a) for h, a in enumerate(actions, 1)]

    def optimal_value_functions(self) -> list[Any]:
        """V* of the hidden state of each level as functions on features."""
        found = []
        for h in self._levels():
            states = range(self.n_states(h))
            table = np.array([float(self.state_value(h, s)) for s in states])
            found.append(_Decoded(self.emission, h, table))
        return found

    def policy_path_value(self, path: Path, policies: Sequence[AnyPolicy]) -> Fraction:
        """Return the expected return after a path, exactly, where features are few."""
        check_policies(policies, self.model.horizon)
        tables = [
            self._state_policy(h, policies[h - 1]) if h > len(path) else None
            for h in self._levels()
        ]
        return super().policy_path_value(path, tables)  # type: ignore[arg-type]

    def expectation(self, path: Path, values: Any) -> float:
        """E_p[g(x_h)] of a function of features, a float."""
        if len(path) == self.model.horizon:
            self.path_value(path)
            return 0.0
        if not callable(values):
            raise _no_codes("expectation of a table")
        h = len(path) + 1
        weights, total = path_weights(self.model, path)
        return math.fsum(
            float(Fraction(int(weights[s]), total))
            * float(np.mean(values(self._listed(h, int(s)))))
            for s in np.flatnonzero(weights)
        )

    def action_expectation(
        self, path: Path, policy: AnyPolicy, future: Sequence[Any]
    ) -> Any:
        """E_p[r_h + V_{π(x_h)}], where features are few."""
        table = self._state_policy(len(path) + 1, policy)
        if len(future) != self.model.n_actions:
            raise ValueError(f"future: {len(future)} values, K={self.model.n_actions}")
        weights, total = path_weights(self.model, path)
        rewards = self.model.levels[len(path)].mean_rewards / self.model.unit
        result: Any = 0
        for s in np.flatnonzero(weights).tolist():
            for a, chance in enumerate(table.chances[s].tolist()):
                share = Fraction(int(weights[s]), total) * Fraction(chance)
                if share:
                    result += share * rewards[s, a]
                    if isinstance(future[a], (int, Fraction)):
                        result += share * future[a]
                    else:
                        result += float(share) * float(future[a])
        return result

    def estimate_policy_value(
        self, policies: Sequence[AnyPolicy], n: int, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Monte Carlo mean and standard error over n ≥ 2 episodes."""
        check_policies(policies, self.model.horizon)
        if n < 2:
            raise ValueError(f"n: {n} episodes give no standard error")
        rendered = [
            _Rendered(self.emission, h, policies[h - 1], self.model.n_actions, rng)
            for h in self._levels()
        ]
        steps = draw_episodes(self.model, rendered, n, rng, each=True)
        returns = np.sum([s.units for s in steps], axis=0) / self.model.unit
        return float(returns.mean()), float(returns.std(ddof=1) / math.sqrt(n))

    def _levels(self) -> range:
        return range(1, self.model.horizon + 1)

    def _listed(self, level: int, state: int) -> NDArray[np.float64]:
        features = self.emission.listed(level, state)
        if features is None:
            raise ValueError(
                "truth: observations are continuous or too many to list, so there "
                "is no exact answer; take estimate_policy_value"
            )
        return features

    def _state_policy(self, level: int, policy: AnyPolicy) -> _StatePolicy:
        rows = []
        for s in range(self.model.level(level).n_states):
            features = self._listed(level, s)
            chances = action_probabilities(policy, features, self.model.n_actions)
            rows.append(chances.mean(axis=0))
        return _StatePolicy(np.array(rows))


class _StatePolicy:
    def __init__(self, chances: NDArray[np.float64]) -> None:
        self.chances = chances

    def __call__(self, states: Any, /) -> NDArray[np.float64]:
        return np.asarray(self.chances[states])


class _Decoded:
    def __init__(self, emission: Emission, level: int, table: NDArray[Any]) -> None:
        self.emission, self.level, self.table = emission, level, table

    def __call__(self, observations: Any, /) -> NDArray[Any]:
        return self.table[self.emission.decode(self.level, observations)]


class _Rendered:
    """A policy on features, applied to hidden states by rendering them."""

    def __init__(
        self,
        emission: Emission,
        level: int,
        policy: AnyPolicy,
        n_actions: int,
        rng: np.random.Generator,
    ) -> None:
        self.emission, self.level, self.policy = emission, level, policy
        self.n_actions, self.rng = n_actions, rng

    def __call__(self, states: Any, /) -> NDArray[np.int64]:
        features = self.emission(self.level, states, self.rng)
        chances = action_probabilities(self.policy, features, self.n_actions)
        return sample_actions(chances, self.rng)


def _no_codes(what: str) -> ValueError:
    return ValueError(f"{what}: observations are features, there are no codes")
