"""Data that all calls of dfslearn share: what was drawn at each path.

Hidden dynamics are deterministic, so all draws at the end of a path belong to one
hidden state, whichever call asked for them. The successors of rows that take action a
after a path p are observations of the state that p∘a leads to.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from ..environments.protocol import Environment
from ..exact.data import EmpiricalMeasure, pool
from ..learning.events import Path


class SharedData:
    """What was drawn at each path so far; a call draws only what is missing."""

    def __init__(self, environment: Environment, rng: np.random.Generator) -> None:
        self._environment, self._rng = environment, rng
        self._rows: dict[Path, list[EmpiricalMeasure]] = defaultdict(list)
        self._seen: dict[Path, list[EmpiricalMeasure]] = defaultdict(list)
        self._drawn: Counter[Path] = Counter()
        self._observed: Counter[Path] = Counter()

    def balanced(self, path: Path, n: int) -> EmpiricalMeasure:
        """All (x_h, a_h, r_h, x_{h+1}) after a path, each action weighing the same.

        Of each action there are n draws or more.
        """
        sets = []
        for action in range(self._environment.n_actions):
            self._draw((*path, action), n)
            sets.append(pool(self._rows[*path, action], shares="draws"))
        return pool(sets)

    def successors(self, child: Path, n: int) -> list[EmpiricalMeasure]:
        """Observations after the last action of a path: n draws or more, in batches.

        What one call added to them is one batch, so batches are independent. The
        path ends at a level 2..H.
        """
        self._draw(child, n)
        return [rows.marginal("next_observations") for rows in self._rows[child]]

    def observations(self, path: Path) -> EmpiricalMeasure:
        """All observations of the state at the end of a path, each draw alike."""
        return pool(self._seen[path], shares="draws")

    def fill(self, path: Path, n: int) -> bool:
        """Draw what is missing of n observations; say whether something was."""
        missing = n - self._observed[path]
        if missing > 0:
            level = len(path) + 1
            drawn = self._environment.draw(path, missing, self._rng, level=level)
            self._see(path, drawn)
        return missing > 0

    def _draw(self, child: Path, n: int) -> None:
        """Draw what is missing of n rows with the last action of a path."""
        missing = n - self._drawn[child]
        if missing <= 0:
            return
        path = child[:-1]
        goes_on = len(child) < self._environment.horizon
        rows = self._environment.draw(child, missing, self._rng, successors=goes_on)
        self._rows[child].append(rows)
        self._drawn[child] = n
        self._see(path, rows.marginal())
        if goes_on:
            self._see(child, rows.marginal("next_observations"))

    def _see(self, path: Path, data: EmpiricalMeasure) -> None:
        self._seen[path].append(data)
        self._observed[path] += data.draws
