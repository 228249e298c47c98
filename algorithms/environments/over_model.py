"""What environments over a hidden finite model have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .finite_model import FiniteModel


class OverModel:
    """The facts of a hidden model, and a count of trajectories."""

    def __init__(self, model: FiniteModel, name: str) -> None:
        self._model = model
        self.name = name
        self._trajectories = 0

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, H={self.horizon}, "
            f"K={self.n_actions}, M={self.max_states})"
        )

    @property
    def horizon(self) -> int:
        """H."""
        return self._model.horizon

    @property
    def n_actions(self) -> int:
        """K."""
        return self._model.n_actions

    @property
    def deterministic(self) -> bool:
        """Whether hidden dynamics are deterministic."""
        return self._model.deterministic

    @property
    def max_states(self) -> int:
        """M."""
        return max(level.n_states for level in self._model.levels)

    @property
    def trajectories(self) -> int:
        """Trajectories collected so far."""
        return self._trajectories


def check_draws(n: int) -> int:
    """Return n, a positive Python integer, or raise ValueError."""
    if isinstance(n, (bool, float)) or n != int(n) or n < 1:
        raise ValueError(f"n: {n!r} is no positive number of trajectories")
    return int(n)


def drawn_level(rules: Sequence[Any], level: int | None, horizon: int) -> int:
    """Return the level whose data are asked for, or raise ValueError."""
    if len(rules) > horizon:
        raise ValueError(f"rules: {len(rules)} for {horizon} levels")
    most = min(len(rules) + 1, horizon)
    h = len(rules) if level is None else level
    if not 1 <= h <= most:
        raise ValueError(
            f"level: {h} is not in 1..{most}, {len(rules)} rules being given for the "
            f"horizon {horizon}"
        )
    return h


def leading_path(rules: Sequence[Any]) -> tuple[int, ...]:
    """Return the rules as a path of actions, () where one of them is none."""
    if all(isinstance(rule, (int, np.integer)) for rule in rules):
        return tuple(map(int, rules))
    return ()
