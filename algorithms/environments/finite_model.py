"""The hidden model of a finite contextual decision process, in exact integers.

Everything is a ratio of integers, so true values are Fractions and data of any size is
a multinomial draw (`olivine.algorithms.exact.multinomial`). Hidden states of a level
emit disjoint sets of observations, rewards depend on observation and action, and the
next hidden state on the hidden state and action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.environments.finite_level import (
    FiniteLevel,
    check_level,
    check_weights,
)
from olivine.algorithms.exact.arrays import frozen


@dataclass(frozen=True, eq=False)
class FiniteModel:
    """Levels 1..H with the unit of reward and the distribution of the start.

    Attributes
    ----------
    levels
        At least one.
    unit
        Number of units in a reward of 1.
    start
        int64, shape (S_1,): weights of the first hidden state.

    Raises
    ------
    ValueError
        Naming level and place: shapes that do not match, weights that are
        negative or sum to 0, codes of two states, negative rewards, a return
        above 1 with positive probability.
    """

    levels: tuple[FiniteLevel, ...]
    unit: int
    start: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Check everything that the class promises."""
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
        """Largest return, in units, that some policy gets with positive probability.

        Hidden states that cannot be reached do not count.
        """
        ahead = np.zeros(0, dtype=np.int64)
        for level in reversed(self.levels):
            best = np.where(level.reward_weights > 0, level.reward_units, 0).max(axis=2)
            if len(ahead):
                gains = np.where(level.transitions > 0, ahead, 0).max(axis=2)
                best = best + gains[level.state_of_code]
            ahead = np.where(level.emissions > 0, best.max(axis=1), 0).max(axis=1)
        return int(ahead[self.start > 0].max())


def path_weights(model: FiniteModel, path: Sequence[int]) -> tuple[NDArray[Any], int]:
    """Distribution of the hidden state at the end of a path, exactly.

    Returns
    -------
    weights
        Integers (Python or int64), shape (S_h,) with h = len(path)+1.
    total
        Their sum.

    Raises
    ------
    ValueError
        If the path has H actions or more, or names an unknown action.
    """
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
