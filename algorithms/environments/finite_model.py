"""The hidden model of a finite contextual decision process, in exact integers.

States of a level emit disjoint sets of codes; rewards depend on code and action, the
next state on state and action. Data of any size is a multinomial draw.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import action_weights, check_level
from ..exact.arrays import END, frozen
from ..exact.multinomial import multinomial_rows
from .protocol import Path, check_path


@dataclass(frozen=True, eq=False)
class FiniteLevel:
    """One level: S hidden states, X observation codes, K actions."""

    emissions: NDArray[np.int64]  # (S, X): weights of the codes; disjoint rows
    # int64 (X, K, R): (x, a) pays ``reward_units`` with weights ``reward_weights``
    reward_units: NDArray[np.int64]
    reward_weights: NDArray[np.int64]
    transitions: NDArray[np.int64]  # (S, K, S'): weights; S' = 0 at level H

    def __post_init__(self) -> None:
        for name in ("emissions", "reward_units", "reward_weights", "transitions"):
            array = np.asarray(getattr(self, name))
            if not np.issubdtype(array.dtype, np.integer):
                raise ValueError(f"{name}: expected integers, got {array.dtype}")
            object.__setattr__(self, name, frozen(array.astype(np.int64)))

    @property
    def n_states(self) -> int:
        """S."""
        return len(self.emissions)

    @property
    def n_codes(self) -> int:
        """X."""
        return int(self.emissions.shape[1])

    @cached_property
    def state_of_code(self) -> NDArray[np.int64]:
        """Hidden state of each code, shape (X,)."""
        return np.asarray(self.emissions.argmax(axis=0))

    @cached_property
    def emission_totals(self) -> NDArray[np.int64]:
        """Sum of the emission weights of each state, shape (S,)."""
        return np.asarray(self.emissions.sum(axis=1))

    @cached_property
    def reward_totals(self) -> NDArray[np.int64]:
        """Sum of the reward weights, shape (X, K)."""
        return np.asarray(self.reward_weights.sum(axis=2))

    @cached_property
    def mean_rewards(self) -> NDArray[Any]:
        """Expected reward units of (x, a): Fractions, shape (X, K)."""
        sums = (self.reward_units * self.reward_weights).sum(axis=2)
        means = np.empty(sums.shape, dtype=object)
        for cell in np.ndindex(sums.shape):
            means[cell] = Fraction(int(sums[cell]), int(self.reward_totals[cell]))
        return means

    @cached_property
    def successors(self) -> NDArray[np.int64]:
        """Next state of (s, a) where it is certain; END at the last level."""
        if self.transitions.shape[2] == 0:
            return np.full(self.transitions.shape[:2], END, dtype=np.int64)
        return np.asarray(self.transitions.argmax(axis=2))

    @cached_property
    def is_certain(self) -> bool:
        """Whether the next state is certain for every (s, a)."""
        following = self.transitions.shape[2]
        return following == 0 or bool(((self.transitions > 0).sum(axis=2) == 1).all())

    @cached_property
    def _units_if_certain(self) -> NDArray[np.int64] | None:
        if ((self.reward_weights > 0).sum(axis=2) != 1).any():
            return None
        which = self.reward_weights.argmax(axis=2)[:, :, None]
        return np.take_along_axis(self.reward_units, which, axis=2)[:, :, 0]

    @cached_property
    def _reward_heights(self) -> tuple[NDArray[np.int64], int] | None:
        scale = math.lcm(*self.reward_totals.reshape(-1).tolist())
        if scale > 2**62:
            return None
        factors = scale // self.reward_totals
        return np.cumsum(self.reward_weights, axis=2) * factors[:, :, None], scale

    def draw_units(
        self,
        codes: NDArray[np.int64],
        actions: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Draw a reward in units for each of n pairs (x, a), shape (n,)."""
        if self._units_if_certain is not None:
            return np.asarray(self._units_if_certain[codes, actions])
        if self._reward_heights is None:
            which = pick(self.reward_weights[codes, actions], rng)
        else:
            heights, scale = self._reward_heights
            drawn = rng.integers(scale, size=len(codes))
            which = (heights[codes, actions] <= drawn[:, None]).sum(axis=1)
        return np.asarray(self.reward_units[codes, actions, which])


def _check_weights(rows: NDArray[np.int64], where: str) -> None:
    """Refuse negative weights and rows that sum to nothing."""
    flat = rows.reshape(-1, rows.shape[-1])
    if (flat < 0).any():
        raise ValueError(f"{where}: negative probability weight")
    if (flat.sum(axis=1) <= 0).any():
        row = int(np.argmax(flat.sum(axis=1) <= 0))
        raise ValueError(f"{where}, row {row}: probabilities sum to 0")


def _check_one(level: FiniteLevel, h: int, n_actions: int, following: int) -> None:
    """Refuse shapes that do not match and values out of range, naming the level."""
    where = f"level {h}"
    states, codes = level.emissions.shape
    if n_actions < 1 or states < 1:
        raise ValueError(f"{where}: {states} states, {n_actions} actions")
    if level.transitions.shape != (states, n_actions, following):
        raise ValueError(
            f"{where}: transitions of shape {level.transitions.shape}, expected "
            f"{(states, n_actions, following)}"
        )
    if (
        level.reward_units.shape != level.reward_weights.shape
        or level.reward_units.shape[:2] != (codes, n_actions)
    ):
        raise ValueError(f"{where}: rewards of shape {level.reward_units.shape}")
    _check_weights(level.emissions, f"{where}, emissions")
    _check_weights(level.reward_weights, f"{where}, rewards")
    if following:
        _check_weights(level.transitions, f"{where}, transitions")
    if ((level.emissions > 0).sum(axis=0) > 1).any():
        code = int(np.argmax((level.emissions > 0).sum(axis=0) > 1))
        raise ValueError(f"{where}: two hidden states emit observation {code}")
    if (level.reward_units < 0).any():
        raise ValueError(f"{where}: negative reward")


def pick(weights: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    """One column a row, by integer weights (beyond 64 bits: float64 shares)."""
    if weights.dtype == object:
        totals = weights.sum(axis=1)
        heights = np.cumsum((weights / totals[:, None]).astype(np.float64), axis=1)
        drawn = rng.random(len(weights)) * heights[:, -1]
    else:
        heights = np.cumsum(weights, axis=1)
        drawn = rng.integers(heights[:, -1])
    return np.asarray((heights <= drawn[:, None]).sum(axis=1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class FiniteModel:
    """Levels 1..H, unit of reward and start, checked: a ValueError names the place."""

    levels: tuple[FiniteLevel, ...]  # At least one
    unit: int  # Number of units in a reward of 1
    start: NDArray[np.int64]  # int64, shape (S_1,): weights of the first hidden state

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        start = np.asarray(self.start, dtype=np.int64)
        object.__setattr__(self, "start", frozen(start))
        if not self.levels:
            raise ValueError("horizon: there is no level")
        if self.unit < 1:
            raise ValueError(f"unit: {self.unit} is below 1")
        if start.shape != (self.levels[0].n_states,):
            raise ValueError(f"start: shape {start.shape} does not fit level 1")
        _check_weights(start[None, :], "start")
        for h, level in enumerate(self.levels, 1):
            following = self.levels[h].n_states if h < self.horizon else 0
            _check_one(level, h, self.n_actions, following)
        if (most := self.max_return_units) > self.unit:
            raise ValueError(
                f"rewards: a return of {Fraction(most, self.unit)} is possible; "
                "returns must be at most 1 almost surely"
            )

    @property
    def horizon(self) -> int:
        """H."""
        return len(self.levels)

    @property
    def n_actions(self) -> int:
        """K."""
        return int(self.levels[0].transitions.shape[1])

    def level(self, level: int) -> FiniteLevel:
        """Return level 1..H, else ValueError."""
        check_level(level, self.horizon)
        return self.levels[level - 1]

    @cached_property
    def deterministic(self) -> bool:
        """Whether start and transitions of all states are point masses."""
        return bool(
            (self.start > 0).sum() == 1
            and all(level.is_certain for level in self.levels)
        )

    @cached_property
    def max_return_units(self) -> int:
        """Largest return, in units, of positive probability under some policy."""
        ahead = np.zeros(0, dtype=np.int64)
        for level in reversed(self.levels):
            best = np.where(level.reward_weights > 0, level.reward_units, 0).max(axis=2)
            if len(ahead):
                gains = np.where(level.transitions > 0, ahead, 0).max(axis=2)
                best = best + gains[level.state_of_code]
            ahead = np.where(level.emissions > 0, best.max(axis=1), 0).max(axis=1)
        return int(ahead[self.start > 0].max())


def path_weights(model: FiniteModel, path: Path) -> tuple[NDArray[Any], int]:
    """Integer weights (S_h,) of the states at the end of a path, and their sum."""
    if len(path) >= model.horizon:
        raise ValueError(
            f"path: {len(path)} actions end at level {len(path) + 1}, beyond the "
            f"horizon {model.horizon}"
        )
    check_path(path, model.n_actions)
    if model.deterministic:
        state = int(model.start.argmax())
        for level, action in zip(model.levels, path, strict=False):
            state = int(level.successors[state, action])
        weights = np.zeros(model.levels[len(path)].n_states, dtype=object)
        weights[state] = 1
        return weights, 1
    weights = model.start.astype(object)
    for level, action in zip(model.levels, path, strict=False):
        weights = _push(weights, level.transitions[:, int(action), :])
    return weights, int(sum(weights.tolist()))


def _push(weights: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Weights of the next states; kept small by their common divisor."""
    totals = rows.sum(axis=1)
    scale = int(np.lcm.reduce(totals.astype(object)))
    factors = np.array([scale // int(t) for t in totals], dtype=object)
    spread = ((weights * factors)[:, None] * rows.astype(object)).sum(axis=0)
    common = int(np.gcd.reduce(spread)) or 1
    return np.asarray(spread // common, dtype=object)


@dataclass(frozen=True, eq=False)
class Steps:
    """Distinct steps (x, a, reward units, next state) with positive counts."""

    codes: NDArray[np.int64]
    actions: NDArray[np.int64]
    units: NDArray[np.int64]
    next_states: NDArray[np.int64]
    counts: NDArray[Any]


def draw_episodes(
    model: FiniteModel,
    policies: Sequence[Any],
    n: int,
    rng: np.random.Generator,
    *,
    each: bool = False,
) -> list[Steps]:
    """Draw n episodes by level; with ``each``, call policies for every one."""
    states = pick(np.broadcast_to(model.start, (n, len(model.start))), rng)
    steps = []
    for level, policy in zip(model.levels, policies, strict=True):
        codes = _emit(level, states, rng)
        present, inverse = codes, np.arange(n)
        if not each:
            present, inverse = np.unique(codes, return_inverse=True)
        weights = action_weights(policy, present, model.n_actions)
        actions = pick(weights[inverse.reshape(-1)], rng)
        units = level.draw_units(codes, actions, rng)
        if level.transitions.shape[2] == 0:
            states = np.full(n, END, dtype=np.int64)
        else:
            states = pick(level.transitions[states, actions], rng)
        steps.append(Steps(codes, actions, units, states, np.ones(n, dtype=np.int64)))
    return steps


def _emit(
    level: FiniteLevel, states: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    codes = np.empty(len(states), dtype=np.int64)
    for state in np.unique(states):
        rows = np.flatnonzero(states == state)
        heights = np.cumsum(level.emissions[state])
        drawn = rng.integers(heights[-1], size=len(rows))
        codes[rows] = np.searchsorted(heights, drawn, side="right")
    return codes


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
