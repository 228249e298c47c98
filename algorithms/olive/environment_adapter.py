"""The environments of `olivine.algorithms.environments` as OLIVE sees them.

There the codes of observations are local to a level; OLIVE's classes are over
all observations at once. Here code x of level h becomes ``offsets[h-1] + x``.

Where observations are feature vectors, the members of a `FiniteQClass` are
functions of the codes that its decoders read off them. Such a class cannot tell
apart what has the same code, so data are kept as codes as soon as they are
drawn, and all that is exact over finite observations stays exact. Rewards, there
float64, stand for themselves.

Hidden dynamics may be stochastic.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.q_functions import FiniteQClass
from ..environments.protocol import ActionRule, AnyPolicy, Environment
from ..exact.arrays import END
from ..exact.data import EmpiricalMeasure, recoded
from ..mdp.bellman import Pair
from .finite_pairs import pairs_of_class
from .sampled_program import LevelData


class LayeredEnvironment:
    """An environment of the project, its observations numbered through all levels.

    `offsets`: int64, shape (H+1,): the code of observation x of level h (from 1) is
    ``offsets[h-1] + x``; the last entry is the number of observations.
    """

    def __init__(
        self, environment: Environment, functions: FiniteQClass | None = None
    ) -> None:
        self.environment = environment
        self._functions = functions
        sizes = [self._size(level) for level in range(1, self.horizon + 1)]
        if functions is not None and functions.horizon != self.horizon:
            raise ValueError(
                f"functions: {functions.horizon} levels, {environment.name} has "
                f"{self.horizon}"
            )
        self.offsets: NDArray[np.int64] = np.concatenate(
            [[0], np.cumsum(sizes, dtype=np.int64)]
        ).astype(np.int64)

    @property
    def horizon(self) -> int:
        """Number of levels H."""
        return self.environment.horizon

    @property
    def action_counts(self) -> NDArray[np.int64]:
        """Number of actions of each observation, the same for all."""
        return np.full(int(self.offsets[-1]), self.environment.n_actions)

    def pairs(self, functions: FiniteQClass) -> list[Pair]:
        """Turn the members of a class into pairs on the numbered observations."""
        sizes = np.diff(self.offsets)
        levels = np.repeat(np.arange(1, self.horizon + 1), sizes)
        codes = np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], sizes)
        return pairs_of_class(functions, levels, codes)

    def starts(self, n: int, rng: np.random.Generator) -> EmpiricalMeasure:
        """Draw the initial observations of n trajectories."""
        drawn = self.environment.draw((), n, rng, level=1)
        if drawn.is_finite:  # level 1 starts at code 0: nothing to shift
            return drawn
        codes, counts = np.unique(
            self._codes(1, drawn.observations), return_counts=True
        )
        return EmpiricalMeasure(codes, weights=counts)

    def follow(
        self, policy: ArrayLike, n: int, rng: np.random.Generator
    ) -> list[LevelData]:
        """Draw n trajectories of a policy; the tuples at levels 1..H."""
        drawn = self.environment.run(self.policies(policy), n, rng, transitions=True)
        return [
            LevelData(self._numbered(tuples, level), n)
            for level, tuples in enumerate(drawn.transitions, start=1)
        ]

    def explore(
        self, policy: ArrayLike, level: int, n: int, rng: np.random.Generator
    ) -> LevelData:
        """Draw n trajectories with a uniform action at one level; its tuples.

        Raises ValueError if there is no such level, or the policy has not one action
        for each observation; so in `follow`.
        """
        if not 1 <= level <= self.horizon:
            raise ValueError(f"level {level} is outside 1..{self.horizon}")
        rules: list[ActionRule] = [*self.policies(policy)[: level - 1], "uniform"]
        tuples = self.environment.draw(rules, n, rng)
        return LevelData(self._numbered(tuples, level), n)

    def policies(self, policy: ArrayLike) -> list[AnyPolicy]:
        """Split a table of actions into one policy for each level.

        Raises ValueError if it has not one action for each observation.
        """
        table = np.asarray(policy, dtype=np.int64)
        if table.shape != (int(self.offsets[-1]),):
            raise ValueError(
                f"policy has shape {table.shape}, expected one action for each of "
                f"{int(self.offsets[-1])} observations"
            )
        parts = np.split(table, self.offsets[1:-1])
        return [
            partial(self._act, level, part) for level, part in enumerate(parts, start=1)
        ]

    def _size(self, level: int) -> int:
        """Count the codes of a level."""
        space, functions = self.environment.space(level), self._functions
        if space.n_codes is None:
            if functions is None:
                raise ValueError(
                    f"{self.environment.name}: observations of level {level} are "
                    "feature vectors; OLIVE's tabular classes need finitely many "
                    "(a class of Q-functions with decoders does not)"
                )
            return functions.n_codes(level)
        if functions is not None and functions.n_codes(level) != space.n_codes:
            raise ValueError(
                f"functions: {functions.n_codes(level)} codes at level {level}, "
                f"{self.environment.name} has {space.n_codes}"
            )
        return space.n_codes

    def _act(
        self, level: int, actions: NDArray[np.int64], observations: NDArray[Any], /
    ) -> NDArray[np.int64]:
        chosen: NDArray[np.int64] = actions[self._codes(level, observations)]
        return chosen

    def _codes(self, level: int, observations: NDArray[Any]) -> NDArray[np.int64]:
        if observations.ndim == 1 or self._functions is None:
            return observations
        return self._functions.codes(level, observations)

    def _numbered(self, tuples: EmpiricalMeasure, level: int) -> EmpiricalMeasure:
        """Give a level's tuples their codes among all observations."""
        following = tuples.next_observations
        if following is None:  # the last level of features
            following = np.full(len(tuples), END)
        elif level < self.horizon:
            following = self._codes(level + 1, following) + self.offsets[level]
        own = self._codes(level, tuples.observations) + self.offsets[level - 1]
        return recoded(tuples, own, following)
