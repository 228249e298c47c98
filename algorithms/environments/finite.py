"""An environment over a finite model: data of any size at the cost of its support.

Counts go level by level, one multinomial a row given the last; states with equal
counts need no memory. The law of a return is a vector of unit + 1 integer weights.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import action_weights
from ..exact.arrays import END, group_sums, object_array
from ..exact.data import EmpiricalMeasure
from ..exact.multinomial import multinomial, multinomial_rows
from .finite_model import FiniteLevel, FiniteModel, Steps, draw_episodes, path_weights
from .finite_truth import FiniteTruth
from .protocol import (
    ActionRule,
    AnyPolicy,
    BaseEnvironment,
    ObservationSpace,
    Trajectories,
    leading_path,
)


class OverModel(BaseEnvironment):
    """An environment with a hidden model."""

    def __init__(self, model: FiniteModel, name: str) -> None:
        super().__init__(name, model.horizon, model.n_actions)
        self._model = model
        self.deterministic = model.deterministic
        self.max_states = max(level.n_states for level in model.levels)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, H={self.horizon}, "
            f"K={self.n_actions}, M={self.max_states})"
        )


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

    def _draw(
        self,
        rules: Sequence[ActionRule],
        n: int,
        rng: np.random.Generator,
        h: int,
        successors: bool,
        returns: bool,
    ) -> EmpiricalMeasure:
        path = leading_path(rules[: h - 1])
        states = multinomial(n, path_weights(self._model, path)[0], rng)
        levels = self._model.levels
        for i, rule in enumerate(rules[len(path) : h - 1]):
            steps = draw_steps(levels[i], states, rule, rng)
            states = next_counts(steps, levels[i + 1].n_states, n)
        at = levels[h - 1]
        if h > len(rules):
            by_code = draw_codes(at, states, rng)
            codes = np.flatnonzero(by_code)
            return EmpiricalMeasure(codes, weights=by_code[codes])
        if returns:
            codes, actions, counts = draw_actions(at, states, rules[h - 1], rng)
            weights = ReturnLaws(self._model, rules, h).weights(codes, actions)
            split = multinomial_rows(counts, weights, rng)
            row, units = np.nonzero(split)
            steps = Steps(codes[row], actions[row], units, units, split[row, units])
        else:
            steps = draw_steps(at, states, rules[-1], rng)
        return self._measure(h, steps, rng, successors)

    def _run(
        self,
        policies: Sequence[AnyPolicy],
        n: int,
        rng: np.random.Generator,
        first: int,
        transitions: bool,
    ) -> Trajectories:
        single = draw_episodes(self._model, policies, first, rng)
        parts = [[steps] for steps in single] if first else [[] for _ in single]
        if n > first:
            states = multinomial(n - first, self._model.start, rng)
            for h, level in enumerate(self._model.levels):
                steps = draw_steps(level, states, policies[h], rng)
                parts[h].append(steps)
                if h + 1 < self.horizon:
                    following = self._model.levels[h + 1].n_states
                    states = next_counts(steps, following, n)
        total = sum(reward_total(steps) for level in parts for steps in level)
        kept: tuple[EmpiricalMeasure, ...] = ()
        if transitions:
            kept = tuple(
                self._measure(h, _joined(steps), rng, True)
                for h, steps in enumerate(parts, 1)
            )
        paths = np.stack([steps.actions for steps in single], axis=1)
        gained = np.sum([steps.units for steps in single], axis=0) / self._model.unit
        mean = Fraction(total, n * self._model.unit)
        return Trajectories(n, mean, paths, gained, kept)

    def _measure(
        self, h: int, steps: Steps, rng: np.random.Generator, successors: bool
    ) -> EmpiricalMeasure:
        row, following, counts = np.arange(len(steps.codes)), None, steps.counts
        if successors and h < self.horizon:
            row, following, counts = draw_successors(self._model.levels[h], steps, rng)
        elif successors:
            following = np.full(len(row), END, dtype=np.int64)
        unit, units = self._model.unit, steps.units[row].tolist()
        made = {u: Fraction(u, unit) for u in set(units)}  # each distinct one once
        return EmpiricalMeasure(
            steps.codes[row],
            actions=steps.actions[row],
            rewards=object_array([made[u] for u in units]),
            next_observations=following,
            weights=counts,
        )


def _joined(parts: Sequence[Steps]) -> Steps:
    columns = zip(*(vars(steps).values() for steps in parts), strict=True)
    return Steps(*map(np.concatenate, columns))


def draw_actions(
    level: FiniteLevel, states: NDArray[Any], rule: Any, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Draw (codes, actions, counts) from the counts of each hidden state."""
    by_code = draw_codes(level, states, rng)
    codes = np.flatnonzero(by_code)
    weights = action_weights(rule, codes, level.transitions.shape[1])
    split = multinomial_rows(by_code[codes], weights, rng)
    row, action = np.nonzero(split)
    return codes[row], action.astype(np.int64), split[row, action]


def draw_codes(
    level: FiniteLevel, states: NDArray[Any], rng: np.random.Generator
) -> NDArray[Any]:
    """Draw the counts of each code, shape (X,), from those of each state."""
    present = np.flatnonzero(states)
    split = multinomial_rows(states[present], level.emissions[present], rng)
    return np.asarray(split.sum(axis=0))  # a code belongs to one state


def draw_steps(
    level: FiniteLevel, states: NDArray[Any], rule: Any, rng: np.random.Generator
) -> Steps:
    """Draw the steps at a level from the counts of each hidden state."""
    codes, actions, counts = draw_actions(level, states, rule, rng)
    split = multinomial_rows(counts, level.reward_weights[codes, actions], rng)
    row, which = np.nonzero(split)
    codes, actions, counts = codes[row], actions[row], split[row, which]
    units = level.reward_units[codes, actions, which]
    source = level.state_of_code[codes]
    if level.transitions.shape[2] == 0:
        return Steps(codes, actions, units, np.full(len(codes), END), counts)
    rows = level.transitions[source, actions]
    if level.is_certain:
        return Steps(codes, actions, units, rows.argmax(axis=1), counts)
    split = multinomial_rows(counts, rows, rng)
    row, target = np.nonzero(split)
    return Steps(codes[row], actions[row], units[row], target, split[row, target])


def draw_successors(
    level: FiniteLevel, steps: Steps, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Draw the next observations: (row of the step, next code, count)."""
    split = multinomial_rows(steps.counts, level.emissions[steps.next_states], rng)
    row, code = np.nonzero(split)
    return row, code, split[row, code]


def next_counts(steps: Steps, n_states: int, total: int) -> NDArray[Any]:
    """Count the next hidden states, shape (n_states,)."""
    return group_sums(steps.counts, steps.next_states, n_states, total)


def reward_total(steps: Steps) -> int:
    """Sum of the rewards in units, a Python integer."""
    pairs = zip(steps.units.tolist(), steps.counts.tolist(), strict=True)
    return sum(units * count for units, count in pairs)


class ReturnLaws:
    """Laws of r_h + ... + r_L given (x_h, a_h), under L rules."""

    def __init__(self, model: FiniteModel, rules: Sequence[Any], level: int) -> None:
        self._size = model.unit + 1
        laws: list[NDArray[Any]] = []
        for h in range(len(rules), level, -1):
            current = model.levels[h - 1]
            futures = self._futures(current, laws)
            laws = [
                self._state_law(current, s, rules[h - 1], futures[s])
                for s in range(current.n_states)
            ]
        self._level = model.levels[level - 1]
        self._after = self._futures(self._level, laws)

    def weights(
        self, codes: NDArray[np.int64], actions: NDArray[np.int64]
    ) -> NDArray[Any]:
        """Weights of each return to go in units: (n, unit+1), Python integers."""
        rows = np.zeros((len(codes), self._size), dtype=object)
        states = self._level.state_of_code[codes].tolist()
        cells = zip(codes.tolist(), actions.tolist(), states, strict=True)
        for row, (x, a, s) in enumerate(cells):
            units = self._level.reward_units[x, a].tolist()
            parts = self._level.reward_weights[x, a].tolist()
            for u, w in zip(units, parts, strict=True):
                self._add(rows[row], self._after[s][a], u, w)
        return rows

    def _add(self, law: NDArray[Any], future: NDArray[Any], u: int, w: int) -> None:
        """Add a future law, shifted by a reward of u units, w times."""
        if w == 0 or u >= self._size:
            return
        law[u:] += w * future[: self._size - u]

    def _futures(
        self, level: FiniteLevel, laws: Sequence[NDArray[Any]]
    ) -> list[list[NDArray[Any]]]:
        """Law of the return from the next level on, for each (s, a)."""
        if not laws:
            nothing = np.zeros(self._size, dtype=object)
            nothing[0] = 1
            return [[nothing] * level.transitions.shape[1]] * level.n_states
        totals = [sum(law.tolist()) for law in laws]
        scale = math.lcm(*totals)
        same = [law * (scale // t) for law, t in zip(laws, totals, strict=True)]
        return [
            [
                _reduced(sum(w * same[t] for t, w in enumerate(row.tolist()) if w))
                for row in by_action
            ]
            for by_action in level.transitions
        ]

    def _state_law(
        self,
        level: FiniteLevel,
        state: int,
        policy: Any,
        futures: Sequence[NDArray[Any]],
    ) -> NDArray[Any]:
        """Law of the return from a hidden state, its observation not yet seen."""
        codes = np.flatnonzero(level.emissions[state])
        chances = action_weights(policy, codes, len(futures)).tolist()
        scales = [
            math.lcm(*(sum(row) * int(t) for t in level.reward_totals[x]))
            for x, row in zip(codes.tolist(), chances, strict=True)
        ]
        common = math.lcm(*scales)
        futures_scale = math.lcm(*(sum(f.tolist()) for f in futures))
        shares: dict[tuple[int, int], int] = {}
        for x, row in zip(codes.tolist(), chances, strict=True):
            emitted = int(level.emissions[state, x])
            for a, chance in enumerate(row):
                if not chance:
                    continue
                each = sum(row) * int(level.reward_totals[x, a])
                factor = emitted * chance * (common // each)
                units = level.reward_units[x, a].tolist()
                parts = level.reward_weights[x, a].tolist()
                for u, w in zip(units, parts, strict=True):
                    shares[a, u] = shares.get((a, u), 0) + factor * w
        law = np.zeros(self._size, dtype=object)
        for (a, u), share in shares.items():
            factor = futures_scale // sum(futures[a].tolist())
            self._add(law, futures[a], u, share * factor)
        return _reduced(law)


def _reduced(law: NDArray[Any]) -> NDArray[Any]:
    common = math.gcd(*law.tolist()) or 1
    return np.asarray(law // common, dtype=object)
