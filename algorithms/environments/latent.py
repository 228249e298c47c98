"""An environment with features: hidden states of a finite model, rendered.

Hidden states answer in Fractions; what depends on unlistable noise is refused.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import (
    action_probabilities,
    check_policies,
    choose_actions,
    sample_actions,
)
from ..exact.data import EmpiricalMeasure
from .finite import FiniteTruth, OverModel
from .finite_model import FiniteModel, Steps, draw_episodes, path_weights, pick
from .protocol import (
    ActionRule,
    AnyPolicy,
    DrawCall,
    ObservationSpace,
    Path,
    RunCall,
    Trajectories,
    leading_path,
)

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


class _Decoded:
    def __init__(self, emission: Emission, level: int, table: NDArray[Any]) -> None:
        self.emission, self.level, self.table = emission, level, table

    def __call__(self, observations: Any, /) -> NDArray[Any]:
        return self.table[self.emission.decode(self.level, observations)]


def _no_codes(what: str) -> Any:
    """Refuse, as a method, what needs codes of observations."""

    def refuse(*_: Any) -> Any:
        raise ValueError(f"{what}: observations are features, there are no codes")

    return refuse


class LatentTruth(FiniteTruth):
    """The `protocol.Truth` of rendered hidden states."""

    def __init__(self, model: FiniteModel, emission: Emission) -> None:
        super().__init__(model)
        self.emission = emission
        self.exact = emission.listed(1, 0) is not None

    values = _no_codes("values")
    q_values = _no_codes("q_values")
    policy = _no_codes("policy")
    observation_probabilities = _no_codes("observation_probabilities")

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
        tables: list[Any] = [None] * len(path)
        for h in self._levels()[len(path) :]:
            tables.append(self._chances(h, policies[h - 1]).__getitem__)
        return super().policy_path_value(path, tables)

    def expectation(self, path: Path, values: Any) -> float:
        """E_p[g(x_h)] of a function of features, a float."""
        if len(path) == self.model.horizon:
            self.path_value(path)
            return 0.0
        if not callable(values):
            _no_codes("expectation of a table")(self)
        h = len(path) + 1
        weights, total = path_weights(self.model, path)
        return math.fsum(
            float(Fraction(int(weights[s]), total))
            * float(np.mean(values(self._listed(h, int(s)))))
            for s in np.flatnonzero(weights)
        )

    def _choices(
        self, path: Path, policy: AnyPolicy
    ) -> Iterator[tuple[int, Fraction, list[Any]]]:
        """Yield hidden states after a path, in place of codes."""
        chances = self._chances(len(path) + 1, policy)
        weights, total = path_weights(self.model, path)
        for s in np.flatnonzero(weights).tolist():
            yield s, Fraction(int(weights[s]), total), chances[s].tolist()

    def _episodes(
        self, policies: Sequence[AnyPolicy], n: int, rng: np.random.Generator
    ) -> list[Steps]:
        def rendered(level: int, policy: AnyPolicy) -> AnyPolicy:
            def act(states: Any, /) -> NDArray[np.int64]:
                features = self.emission(level, states, rng)
                chances = action_probabilities(policy, features, self.model.n_actions)
                return sample_actions(chances, rng)

            return act

        each = [rendered(h, policy) for h, policy in enumerate(policies, 1)]
        return draw_episodes(self.model, each, n, rng, each=True)

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

    def _chances(self, level: int, policy: AnyPolicy) -> NDArray[np.float64]:
        """Give the action probabilities in each hidden state, (S, K)."""
        rows = []
        for s in range(self.model.level(level).n_states):
            features = self._listed(level, s)
            chances = action_probabilities(policy, features, self.model.n_actions)
            rows.append(chances.mean(axis=0))
        return np.array(rows)


MAX_BYTES = 2**31  # Largest sample of features that is made, in bytes

MAX_EPISODES = 10**9  # Most episodes that are run one by one

_CHUNK = 2**12


_Step = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Features, actions, reward units, next states."""


class LatentEnvironment(OverModel):
    """The `Environment` of rendered states; rewards are float64, mean returns exact."""

    features = None

    def __init__(self, model: FiniteModel, emission: Emission, name: str) -> None:
        super().__init__(model, name)
        self._emission = emission
        self.truth = LatentTruth(model, emission)

    def space(self, level: int) -> ObservationSpace:
        """Features of level 1..H, else ValueError."""
        self._model.level(level)
        return ObservationSpace(dimension=self._emission.dimension)

    def _draw(self, call: DrawCall) -> EmpiricalMeasure:
        rules, n, rng, h, successors, _ = call
        successors &= h < self.horizon
        states = self._reach(rules[: h - 1], n, rng, 1 + successors)
        if h > len(rules):
            return EmpiricalMeasure(self._emission(h, states, rng))
        x, actions, units, states = self._step(h, states, rules[h - 1], rng)
        for rows in _chunks(n):
            for _, _, gained, _ in self._follow(h + 1, states[rows], rules, rng):
                units[rows] += gained
        after = self._emission(h + 1, states, rng) if successors else None
        rewards = units / self._model.unit
        return EmpiricalMeasure(
            x, actions=actions, rewards=rewards, next_observations=after
        )

    def _run(self, call: RunCall) -> Trajectories:
        policies, n, rng, first, transitions = call
        if n > MAX_EPISODES:
            raise ValueError(
                f"n: {n} episodes one by one, at most {MAX_EPISODES} are run where "
                "observations are continuous"
            )
        if transitions:
            self._check_memory(n, self.horizon)
        paths = np.empty((first, self.horizon), dtype=np.int64)
        gained, total = np.zeros(first, dtype=np.int64), 0
        columns: list[Any] = []
        for rows in [slice(0, n)] if transitions else _chunks(n):
            states = self._states(self._model.start, rows.stop - rows.start, rng)
            kept = paths[rows]
            for h, step in enumerate(self._follow(1, states, policies, rng)):
                x, actions, units, _ = step
                kept[:, h] = actions[: len(kept)]
                gained[rows] += units[: len(kept)]
                total += int(units.sum())
                if transitions:
                    columns.append((x, actions, units / self._model.unit))
        measures = tuple(
            EmpiricalMeasure(
                x,
                actions=a,
                rewards=r,
                next_observations=columns[h][0] if h < self.horizon else None,
            )
            for h, (x, a, r) in enumerate(columns, 1)
        )
        unit = self._model.unit
        mean = Fraction(total, n * unit)
        return Trajectories(n, mean, paths, gained / unit, measures)

    def _reach(
        self, rules: Sequence[ActionRule], n: int, rng: np.random.Generator, copies: int
    ) -> NDArray[np.int64]:
        path = leading_path(rules)
        weights, _ = path_weights(self._model, path)
        self._check_memory(n, copies)
        states = self._states(weights, n, rng)
        for rows in _chunks(n):
            for *_, after in self._follow(1, states[rows], rules[len(path) :], rng):
                states[rows] = after
        return states

    def _states(
        self, weights: NDArray[Any], n: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        (likely,) = np.nonzero(weights)
        if len(likely) == 1:
            return np.full(n, likely[0])
        return pick(np.broadcast_to(weights, (n, len(weights))), rng)

    def _check_memory(self, n: int, copies: int) -> None:
        size = n * copies * self._emission.dimension * 8
        if size > MAX_BYTES:
            raise ValueError(
                f"n: {n} draws of {self._emission.dimension} features take {size} "
                f"bytes, more than {MAX_BYTES}; observations are continuous and "
                "are sampled one by one"
            )

    def _step(
        self, h: int, states: NDArray[np.int64], rule: Any, rng: np.random.Generator
    ) -> _Step:
        """Play one level."""
        x = self._emission(h, states, rng)
        actions = choose_actions(rule, x, self.n_actions, rng)
        level = self._model.levels[h - 1]
        units = level.draw_units(states, actions, rng)
        if level.is_certain:
            return x, actions, units, level.successors[states, actions]
        return x, actions, units, pick(level.transitions[states, actions], rng)

    def _follow(
        self,
        h: int,
        states: NDArray[np.int64],
        rules: Sequence[Any],
        rng: np.random.Generator,
    ) -> Iterator[_Step]:
        for current in range(h, len(rules) + 1):
            step = self._step(current, states, rules[current - 1], rng)
            states = step[-1]
            yield step


def _chunks(n: int) -> Iterator[slice]:
    for start in range(0, n, _CHUNK):
        yield slice(start, min(start + _CHUNK, n))
