"""An environment over a finite model: data of any size at the cost of its support."""

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
from .finite_model import (
    FiniteModel,
    OverModel,
    check_draws,
    drawn_level,
    leading_path,
    path_weights,
)
from .finite_truth import FiniteTruth
from .protocol import ActionRule, AnyPolicy, ObservationSpace, Trajectories


class FiniteEnvironment(OverModel):
    """The `Environment` of a finite model; codes may have ``features``, (X_h, d)."""

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
        """The hidden truth, for tests and monitors."""
        return FiniteTruth(self._model)

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
        states = self._reach(rules[: h - 1], n, rng)
        at = self._model.levels[h - 1]
        if h > len(rules):
            by_code = draws.draw_codes(at, states, rng)
            codes = np.flatnonzero(by_code)
            self._trajectories += n
            return EmpiricalMeasure(codes, weights=by_code[codes])
        if level is not None:
            codes, actions, counts = draws.draw_actions(at, states, rules[h - 1], rng)
            weights = ReturnLaws(self._model, rules, h).weights(codes, actions)
            split = multinomial_rows(counts, weights, rng)
            row, units = np.nonzero(split)
            codes, actions, counts = codes[row], actions[row], split[row, units]
        else:
            steps = draws.draw_steps(at, states, rules[-1], rng)
            if successors:
                self._trajectories += n
                return self._measure(h, steps, rng)
            codes, actions = steps.codes, steps.actions
            units, counts = steps.units, steps.counts
        self._trajectories += n
        return EmpiricalMeasure(
            codes, actions=actions, rewards=self._rewards(units), weights=counts
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
        gained = np.sum([steps.units for steps in single], axis=0) / self._model.unit
        mean = Fraction(total, n * self._model.unit)
        return Trajectories(n, mean, paths, gained, kept)

    def _reach(
        self, rules: Sequence[ActionRule], n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        path = leading_path(rules)
        weights, _ = path_weights(self._model, path)
        states = multinomial(check_draws(n), weights, rng)
        for h, rule in enumerate(rules[len(path) :], 1):
            steps = draws.draw_steps(self._model.levels[h - 1], states, rule, rng)
            states = draws.next_counts(steps, self._model.levels[h].n_states, n)
        return states

    def _measure(
        self, h: int, steps: draws.Steps, rng: np.random.Generator
    ) -> EmpiricalMeasure:
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
