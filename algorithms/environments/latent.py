"""An environment with features: hidden states of a finite model, rendered."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.policies import check_policies, choose_actions
from ..exact.data import EmpiricalMeasure
from .emissions import Emission, LatentTruth
from .finite_model import (
    FiniteModel,
    OverModel,
    check_draws,
    drawn_level,
    leading_path,
    path_weights,
    pick,
)
from .protocol import ActionRule, AnyPolicy, ObservationSpace, Trajectories

MAX_BYTES = 2**31  # Largest sample of features that is made, in bytes

MAX_EPISODES = 10**9  # Most episodes that are run one by one

_CHUNK = 2**12


class LatentEnvironment(OverModel):
    """The `Environment` of rendered states; rewards are float64, mean returns exact."""

    features = None

    def __init__(self, model: FiniteModel, emission: Emission, name: str) -> None:
        super().__init__(model, name)
        self._emission = emission

    def space(self, level: int) -> ObservationSpace:
        """Features of level 1..H, else ValueError."""
        self._model.level(level)
        return ObservationSpace(dimension=self._emission.dimension)

    @cached_property
    def truth(self) -> LatentTruth:
        """The hidden truth, for tests and monitors."""
        return LatentTruth(self._model, self._emission)

    def draw(
        self,
        rules: Sequence[ActionRule],
        n: int,
        rng: np.random.Generator,
        *,
        level: int | None = None,
        successors: bool = True,
    ) -> EmpiricalMeasure:
        """Play rules, and give the data of one level, as the protocol says."""
        h = drawn_level(rules, level, self.horizon)
        successors &= level is None and h < self.horizon
        states = self._reach(rules[: h - 1], n, rng, 1 + successors)
        observations = self._emission(h, states, rng)
        actions = rewards = after = None
        if h <= len(rules):
            actions = choose_actions(rules[h - 1], observations, self.n_actions, rng)
            units, states = self._move(h, states, actions, rng)
            for rows in _chunks(n):
                for _, gained, _ in self._follow(h + 1, states[rows], rules, rng):
                    units[rows] += gained
            rewards = units / self._model.unit
        if successors:
            after = self._emission(h + 1, states, rng)
        self._trajectories += n
        return EmpiricalMeasure(
            observations, actions=actions, rewards=rewards, next_observations=after
        )

    def run(
        self,
        policies: Sequence[AnyPolicy],
        n: int,
        rng: np.random.Generator,
        *,
        first: int = 0,
        transitions: bool = False,
    ) -> Trajectories:
        """Run n whole episodes, as the protocol says."""
        check_policies(policies, self.horizon)
        if check_draws(n) > MAX_EPISODES:
            raise ValueError(
                f"n: {n} episodes one by one, at most {MAX_EPISODES} are run where "
                "observations are continuous"
            )
        if not 0 <= first <= n:
            raise ValueError(f"first: {first} is not in 0..{n}, the trajectories")
        if transitions:
            return self._run_kept(policies, n, rng, first)
        paths = np.empty((first, self.horizon), dtype=np.int64)
        gained, total = np.zeros(first, dtype=np.int64), 0
        for rows in _chunks(n):
            states = self._start(rows.stop - rows.start, rng)
            for h, step in enumerate(
                self._follow(1, states, policies[: self.horizon], rng)
            ):
                kept = paths[rows.start : rows.stop]
                kept[:, h] = step[0][: len(kept)]
                gained[rows.start : rows.stop] += step[1][: len(kept)]
                total += int(step[1].sum())
        self._trajectories += n
        unit = self._model.unit
        return Trajectories(n, Fraction(total, n * unit), paths, gained / unit)

    def _run_kept(
        self,
        policies: Sequence[AnyPolicy],
        n: int,
        rng: np.random.Generator,
        first: int,
    ) -> Trajectories:
        self._check_memory(n, self.horizon)
        states, total = self._start(n, rng), 0
        paths = np.empty((first, self.horizon), dtype=np.int64)
        gained, columns = np.zeros(first, dtype=np.int64), []
        for h in range(1, self.horizon + 1):
            observations = self._emission(h, states, rng)
            actions = choose_actions(policies[h - 1], observations, self.n_actions, rng)
            units, states = self._move(h, states, actions, rng)
            paths[:, h - 1] = actions[:first]
            gained += units[:first]
            total += int(units.sum())
            columns.append((observations, actions, units / self._model.unit))
        kept = tuple(
            EmpiricalMeasure(
                x,
                actions=a,
                rewards=r,
                next_observations=columns[h][0] if h < self.horizon else None,
            )
            for h, (x, a, r) in enumerate(columns, 1)
        )
        self._trajectories += n
        unit = self._model.unit
        return Trajectories(n, Fraction(total, n * unit), paths, gained / unit, kept)

    def _reach(
        self, rules: Sequence[ActionRule], n: int, rng: np.random.Generator, copies: int
    ) -> NDArray[np.int64]:
        path = leading_path(rules)
        weights, _ = path_weights(self._model, path)
        self._check_memory(check_draws(n), copies)
        (likely,) = np.nonzero(weights)
        if len(likely) == 1:
            states = np.full(n, likely[0])
        else:
            states = pick(np.broadcast_to(weights, (n, len(weights))), rng)
        for rows in _chunks(n):
            for _, _, following in self._follow(
                1, states[rows], rules[len(path) :], rng
            ):
                states[rows] = following
        return states

    def _start(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        start = self._model.start
        if len(start) == 1:
            return np.zeros(n, dtype=np.int64)
        return pick(np.broadcast_to(start, (n, len(start))), rng)

    def _check_memory(self, n: int, copies: int) -> None:
        size = n * copies * self._emission.dimension * 8
        if size > MAX_BYTES:
            raise ValueError(
                f"n: {n} draws of {self._emission.dimension} features take {size} "
                f"bytes, more than {MAX_BYTES}; observations are continuous and "
                "are sampled one by one"
            )

    def _move(
        self,
        h: int,
        states: NDArray[np.int64],
        actions: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        level = self._model.levels[h - 1]
        units = level.draw_units(states, actions, rng)
        if level.is_certain:
            return units, level.successors[states, actions]
        return units, pick(level.transitions[states, actions], rng)

    def _follow(
        self,
        h: int,
        states: NDArray[np.int64],
        rules: Sequence[Any],
        rng: np.random.Generator,
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        for current in range(h, len(rules) + 1):
            observations = self._emission(current, states, rng)
            actions = choose_actions(
                rules[current - 1], observations, self.n_actions, rng
            )
            units, states = self._move(current, states, actions, rng)
            yield actions, units, states


def _chunks(n: int) -> Iterator[slice]:
    for start in range(0, n, _CHUNK):
        yield slice(start, min(start + _CHUNK, n))
