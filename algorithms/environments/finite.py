"""An environment over a finite model: data of any size at the cost of its support."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.policies import check_policies
from ..exact.arrays import END, object_array
from ..exact.data import EmpiricalMeasure
from ..exact.multinomial import multinomial, multinomial_rows
from . import finite_draws as draws
from .finite_draws import ReturnLaws
from .finite_model import FiniteModel, path_weights
from .finite_truth import FiniteTruth
from .over_model import OverModel, check_draws
from .protocol import (
    ActionRule,
    AnyPolicy,
    ObservationSpace,
    Path,
    Trajectories,
)


class FiniteEnvironment(OverModel):
    """The `olivine.algorithms.environments.protocol.Environment` of a finite model.

    Parameters
    ----------
    model
        Its hidden model.
    name
        Name in the registry and in messages.
    features
        Optional float64 features of the codes of each level, shape (X_h, d),
        for classes that want them (see `olivine.algorithms.classes.linear`).
    """

    def __init__(
        self,
        model: FiniteModel,
        name: str,
        *,
        features: Sequence[NDArray[np.float64]] | None = None,
    ) -> None:
        super().__init__(model, name)
        self.features = None if features is None else tuple(features)

    def space(self, level: int) -> ObservationSpace:
        """Codes 0..|X_h|-1 of level 1..H, else ValueError."""
        return ObservationSpace(n_codes=self._model.level(level).n_codes)

    @cached_property
    def truth(self) -> FiniteTruth:
        """The door for tests and monitors."""
        return FiniteTruth(self._model)

    def sample(
        self,
        path: Path,
        n: int,
        rng: np.random.Generator,
        action: ActionRule = "uniform",
        *,
        successors: bool = True,
    ) -> EmpiricalMeasure:
        """Sample (x_h, a_h, r_h, x_{h+1}) after a path, as the protocol says."""
        states = self._states(path, n, rng)
        return self._transitions(len(path) + 1, states, action, rng, n, successors)

    def observe(self, path: Path, n: int, rng: np.random.Generator) -> EmpiricalMeasure:
        """Sample observations at the end of a path, as the protocol says."""
        states = self._states(path, n, rng)
        level = self._model.levels[len(path)]
        counts = draws.draw_codes(level, states, rng)
        codes = np.flatnonzero(counts)
        self._trajectories += n
        return EmpiricalMeasure(codes, weights=counts[codes])

    def rollouts(
        self,
        path: Path,
        n: int,
        rng: np.random.Generator,
        policies: Sequence[AnyPolicy],
        first_action: ActionRule | None = None,
    ) -> EmpiricalMeasure:
        """Sample (x_h, a_h, return to go) after a path, as the protocol says."""
        check_policies(policies, self.horizon)
        states = self._states(path, n, rng)
        h = len(path) + 1
        rule = policies[h - 1] if first_action is None else first_action
        return self._returns(h, states, rule, policies, rng, n)

    def roll_in(
        self,
        policies: Sequence[AnyPolicy],
        level: int,
        n: int,
        rng: np.random.Generator,
        action: ActionRule = "uniform",
    ) -> EmpiricalMeasure:
        """Sample (x_h, a_h, r_h, x_{h+1}) after π_{1:h-1}, as the protocol says."""
        states = self._rolled_in(policies, level, n, rng)
        return self._transitions(level, states, action, rng, n, True)

    def roll_through(
        self,
        policies: Sequence[AnyPolicy],
        level: int,
        n: int,
        rng: np.random.Generator,
        action: ActionRule = "uniform",
    ) -> EmpiricalMeasure:
        """Sample (x_h, a_h, return to go) after π_{1:h-1}, as the protocol says."""
        check_policies(policies, self.horizon)
        states = self._rolled_in(policies, level, n, rng)
        return self._returns(level, states, action, policies, rng, n)

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
        check_draws(n)
        if not 0 <= first <= n:
            raise ValueError(f"first: {first} is not in 0..{n}, the trajectories")
        single = draws.draw_episodes(
            self._model, list(policies)[: self.horizon], first, rng
        )
        parts = [[steps] for steps in single] if first else [[] for _ in single]
        if n > first:
            states = multinomial(n - first, self._model.start, rng)
            for h, level in enumerate(self._model.levels):
                steps = draws.draw_steps(level, states, policies[h], rng)
                parts[h].append(steps)
                if h + 1 < self.horizon:
                    following = self._model.levels[h + 1].n_states
                    states = draws.next_counts(steps, following, n)
        total = sum(draws.reward_total(steps) for level in parts for steps in level)
        kept: tuple[EmpiricalMeasure, ...] = ()
        if transitions:
            kept = tuple(
                self._measure(h, _joined(steps), rng)
                for h, steps in enumerate(parts, 1)
            )
        self._trajectories += n
        paths = np.stack([steps.actions for steps in single], axis=1)
        return Trajectories(n, Fraction(total, n * self._model.unit), paths, kept)

    def _states(self, path: Path, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the counts of the hidden states at the end of a path."""
        weights, _ = path_weights(self._model, path)
        return multinomial(check_draws(n), weights, rng)

    def _rolled_in(
        self,
        policies: Sequence[AnyPolicy],
        level: int,
        n: int,
        rng: np.random.Generator,
    ) -> NDArray[Any]:
        """Draw the counts of the hidden states of a level after π_{1:h-1}."""
        self._model.level(level)
        check_policies(policies, level - 1)
        states = self._states((), n, rng)
        for h in range(1, level):
            current = self._model.levels[h - 1]
            steps = draws.draw_steps(current, states, policies[h - 1], rng)
            states = draws.next_counts(steps, self._model.levels[h].n_states, n)
        return states

    def _returns(
        self,
        h: int,
        states: NDArray[Any],
        action: ActionRule,
        policies: Sequence[AnyPolicy],
        rng: np.random.Generator,
        n: int,
    ) -> EmpiricalMeasure:
        level = self._model.levels[h - 1]
        codes, actions, counts = draws.draw_actions(level, states, action, rng)
        laws = ReturnLaws(self._model, policies, h)
        split = multinomial_rows(counts, laws.weights(codes, actions), rng)
        row, units = np.nonzero(split)
        self._trajectories += n
        return EmpiricalMeasure(
            codes[row],
            actions=actions[row],
            rewards=self._rewards(units),
            weights=split[row, units],
        )

    def _transitions(
        self,
        h: int,
        states: NDArray[Any],
        action: ActionRule,
        rng: np.random.Generator,
        n: int,
        successors: bool,
    ) -> EmpiricalMeasure:
        steps = draws.draw_steps(self._model.levels[h - 1], states, action, rng)
        self._trajectories += n
        if successors:
            return self._measure(h, steps, rng)
        return EmpiricalMeasure(
            steps.codes,
            actions=steps.actions,
            rewards=self._rewards(steps.units),
            weights=steps.counts,
        )

    def _measure(
        self, h: int, steps: draws.Steps, rng: np.random.Generator
    ) -> EmpiricalMeasure:
        """Add the next observations of the steps at level h."""
        row = np.arange(len(steps.codes))
        following, counts = np.full(len(row), END, dtype=np.int64), steps.counts
        if h < self.horizon:
            row, following, counts = draws.draw_successors(
                self._model.levels[h], steps, rng
            )
        return EmpiricalMeasure(
            steps.codes[row],
            actions=steps.actions[row],
            rewards=self._rewards(steps.units[row]),
            next_observations=following,
            weights=counts,
        )

    def _rewards(self, units: NDArray[np.int64]) -> NDArray[Any]:
        """Rewards of units as Fractions, each distinct one made once."""
        unit = self._model.unit
        made = {u: Fraction(u, unit) for u in np.unique(units).tolist()}
        return object_array([made[u] for u in units.tolist()])


def _joined(parts: Sequence[draws.Steps]) -> draws.Steps:
    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(steps, name) for steps in parts])

    return draws.Steps(
        column("codes"),
        column("actions"),
        column("units"),
        column("next_states"),
        column("counts"),
    )
