"""What sampled OLIVE needs of an environment, and tabular MDPs as one.

OLIVE looks at three things only: initial observations, trajectories of a
policy, and trajectories of a policy with one action drawn uniformly. Data come
with multiplicities: over finitely many tuples a data set of any size costs its
support (`olivine.algorithms.exact.data`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import END
from ..exact.data import EmpiricalMeasure
from ..mdp.tabular import TabularMDP
from .sampled_program import LevelData

MAX_TRAJECTORIES = 2**53
"""Counts above this are not exact in numpy's samplers."""


class SampledEnvironment(Protocol):
    """An episodic environment with finitely many observations 0..n-1.

    Observations of different levels have different codes wherever g and π are
    to differ between levels.
    """

    @property
    def horizon(self) -> int:
        """Number of levels H."""

    @property
    def action_counts(self) -> NDArray[np.int64]:
        """Number of actions of each observation, shape (n,)."""

    def starts(self, n: int, rng: np.random.Generator) -> EmpiricalMeasure:
        """Draw the initial observations of n trajectories."""

    def follow(
        self, policy: ArrayLike, n: int, rng: np.random.Generator
    ) -> list[LevelData]:
        """Draw n trajectories of a policy; the tuples at levels 1..H."""

    def explore(
        self, policy: ArrayLike, level: int, n: int, rng: np.random.Generator
    ) -> LevelData:
        """Draw n trajectories with a uniform action at one level; its tuples."""


class TabularEnvironment:
    """A tabular MDP as an environment: observations are states.

    Rewards are the MDP's, without noise. n trajectories are drawn as counts,
    level by level, one multinomial split for each state and action met: the
    counts have the very distribution of n trajectories drawn one by one, up to
    the rounding of probabilities to float64 (2^-53 in relation).
    """

    def __init__(self, mdp: TabularMDP) -> None:
        self.mdp = mdp

    @property
    def horizon(self) -> int:
        """The MDP's horizon."""
        return self.mdp.horizon

    @property
    def action_counts(self) -> NDArray[np.int64]:
        """Number of actions of each state."""
        return self.mdp.action_counts

    def starts(self, n: int, rng: np.random.Generator) -> EmpiricalMeasure:
        """Return the start state, n times.

        Raises ValueError if n is outside 1..2^53; so in the other methods.
        """
        return EmpiricalMeasure([self.mdp.start], weights=[_checked(n)])

    def follow(
        self, policy: ArrayLike, n: int, rng: np.random.Generator
    ) -> list[LevelData]:
        """Draw n trajectories of a policy; ValueError if it is none."""
        chosen = self.mdp.global_actions(policy)
        met = {int(self.mdp.start): _checked(n)}
        levels: list[LevelData] = []
        for _ in range(self.mdp.horizon):
            taken = [(s, int(chosen[s]), count) for s, count in met.items()]
            rows = self._step(taken, rng)
            levels.append(self._data(rows, n))
            met = _after(rows)
        return levels

    def explore(
        self, policy: ArrayLike, level: int, n: int, rng: np.random.Generator
    ) -> LevelData:
        """Draw n trajectories with a uniform action at `level`.

        Raises ValueError if the policy is none or there is no such level.
        """
        if not 1 <= level <= self.mdp.horizon:
            raise ValueError(f"level {level} is outside 1..{self.mdp.horizon}")
        chosen = self.mdp.global_actions(policy)
        met = {int(self.mdp.start): _checked(n)}
        for _ in range(level - 1):
            taken = [(s, int(chosen[s]), count) for s, count in met.items()]
            met = _after(self._step(taken, rng))
        return self._data(self._uniform(met, rng), n)

    def data_over(
        self, shares: dict[int, Fraction], n: int, rng: np.random.Generator
    ) -> LevelData:
        """Draw n tuples with x from a distribution and uniform actions."""
        missing = 1 - sum(shares.values(), Fraction(0))
        counts = _split(_checked(n), [*shares.values(), missing], rng)
        met = {s: c for s, c in zip(shares, counts, strict=False) if c}
        return self._data(self._uniform(met, rng), n)

    def _uniform(
        self, met: dict[int, int], rng: np.random.Generator
    ) -> list[tuple[int, int, int, int]]:
        taken = []
        for state, count in met.items():
            actions = self.mdp.actions(state)
            equal = [Fraction(1, len(actions))] * len(actions)
            counts = _split(count, equal, rng)
            taken += [(state, a, c) for a, c in zip(actions, counts, strict=True) if c]
        return self._step(taken, rng)

    def _step(
        self, taken: Iterable[tuple[int, int, int]], rng: np.random.Generator
    ) -> list[tuple[int, int, int, int]]:
        """Rows (state, global action, successor or END, count), from counts."""
        rows = []
        for state, action, count in taken:
            successors = self.mdp.successors(action)
            if not successors:
                rows.append((state, action, END, count))
                continue
            counts = _split(count, [p for _, p in successors], rng)
            rows += [
                (state, action, target, c)
                for (target, _), c in zip(successors, counts, strict=True)
                if c
            ]
        return rows

    def _data(self, rows: Sequence[tuple[int, int, int, int]], n: int) -> LevelData:
        if not rows:
            return LevelData(None, n)
        states, actions, following, counts = (
            np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)
        )
        tuples = EmpiricalMeasure(
            states,
            actions=actions - self.mdp.action_offset[states],
            rewards=[self.mdp.reward(a) for a in actions.tolist()],
            next_observations=following,
            weights=counts,
        )
        return LevelData(tuples, n)


def _after(rows: Iterable[tuple[int, int, int, int]]) -> dict[int, int]:
    """Count the states met next."""
    met: dict[int, int] = {}
    for _, _, target, count in rows:
        if target != END:
            met[target] = met.get(target, 0) + count
    return met


def _split(
    count: int, shares: Sequence[Fraction], rng: np.random.Generator
) -> list[int]:
    """One multinomial draw."""
    if len(shares) == 1:
        return [count]
    probabilities = np.array([float(p) for p in shares])
    counts: list[int] = rng.multinomial(
        count, probabilities / probabilities.sum()
    ).tolist()
    return counts


def _checked(n: int) -> int:
    if not 1 <= n <= MAX_TRAJECTORIES:
        raise ValueError(f"{n} trajectories: expected 1 to 2**53")
    return int(n)
