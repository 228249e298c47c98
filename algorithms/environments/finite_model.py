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

from ..classes.protocols import action_weights
from ..exact.arrays import END, frozen


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


def check_weights(rows: NDArray[np.int64], where: str) -> None:
    """Refuse negative weights and rows that sum to nothing."""
    flat = rows.reshape(-1, rows.shape[-1])
    if (flat < 0).any():
        raise ValueError(f"{where}: negative probability weight")
    if (flat.sum(axis=1) <= 0).any():
        row = int(np.argmax(flat.sum(axis=1) <= 0))
        raise ValueError(f"{where}, row {row}: probabilities sum to 0")


def check_level(level: FiniteLevel, h: int, n_actions: int, following: int) -> None:
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
    check_weights(level.emissions, f"{where}, emissions")
    check_weights(level.reward_weights, f"{where}, rewards")
    if following:
        check_weights(level.transitions, f"{where}, transitions")
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
        check_weights(start[None, :], "start")
        for h, level in enumerate(self.levels, 1):
            following = self.levels[h].n_states if h < self.horizon else 0
            check_level(level, h, self.n_actions, following)
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
        if not 1 <= level <= self.horizon:
            raise ValueError(f"level: {level} is not in 1..{self.horizon}")
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


def path_weights(model: FiniteModel, path: Sequence[int]) -> tuple[NDArray[Any], int]:
    """Integer weights (S_h,) of the states at the end of a path, and their sum."""
    if len(path) >= model.horizon:
        raise ValueError(
            f"path: {len(path)} actions end at level {len(path) + 1}, beyond the "
            f"horizon {model.horizon}"
        )
    certain = model.deterministic
    state = int(model.start.argmax())
    weights = model.start.astype(object)
    for h, action in enumerate(path):
        if 0 <= action < model.n_actions and certain:
            state = int(model.levels[h].successors[state, action])
            continue
        if not 0 <= action < model.n_actions:
            raise ValueError(
                f"path: action {action} at level {h + 1} is not in "
                f"0..{model.n_actions - 1}"
            )
        rows = model.levels[h].transitions[:, int(action), :]
        weights = push(weights, rows)
    if certain:
        weights = np.zeros(model.levels[len(path)].n_states, dtype=object)
        weights[state] = 1
    return weights, int(sum(weights.tolist()))


def push(weights: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
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
