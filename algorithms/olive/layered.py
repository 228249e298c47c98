"""The environments of `algorithms.environments` as OLIVE sees them.

There the codes of observations are local to a level; OLIVE's classes are over
all observations at once. Here code x of level h becomes ``offset[h] + x``.
Observations must be finite; hidden dynamics may be stochastic.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from algorithms.data import END, EmpiricalMeasure
from algorithms.environments.protocol import Environment
from algorithms.olive.sampled_program import LevelData


class LayeredEnvironment:
    """An environment with finite observations, numbered through all levels.

    Parameters
    ----------
    environment
        Its observations must be codes at every level. It counts the
        trajectories drawn.

    Attributes
    ----------
    offsets
        int64, shape (H+1,): the code of observation x of level h (from 1) is
        ``offsets[h-1] + x``; the last entry is the number of observations.

    Raises
    ------
    ValueError
        If the observations of a level are feature vectors.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        sizes = []
        for level in range(1, environment.horizon + 1):
            n_codes = environment.space(level).n_codes
            if n_codes is None:
                raise ValueError(
                    f"{environment.name}: observations of level {level} are feature "
                    "vectors; OLIVE's tabular classes need finitely many"
                )
            sizes.append(n_codes)
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

    def starts(self, n: int, rng: np.random.Generator) -> EmpiricalMeasure:
        """Draw the initial observations of n trajectories."""
        # Level 1 starts at code 0: nothing to shift.
        return self.environment.observe((), n, rng)

    def follow(
        self, policy: ArrayLike, n: int, rng: np.random.Generator
    ) -> list[LevelData]:
        """Draw n trajectories of a policy; the tuples at levels 1..H."""
        drawn = self.environment.run(self.policies(policy), n, rng, transitions=True)
        return [
            LevelData(self._shifted(tuples, level), n)
            for level, tuples in enumerate(drawn.transitions)
        ]

    def explore(
        self, policy: ArrayLike, level: int, n: int, rng: np.random.Generator
    ) -> LevelData:
        """Draw n trajectories with a uniform action at one level; its tuples.

        Raises
        ------
        ValueError
            If there is no such level, or the policy has not one action for
            each observation; so in `follow`.
        """
        if not 1 <= level <= self.horizon:
            raise ValueError(f"level {level} is outside 1..{self.horizon}")
        tuples = self.environment.roll_in(self.policies(policy), level, n, rng)
        return LevelData(self._shifted(tuples, level - 1), n)

    def policies(self, policy: ArrayLike) -> list[partial[NDArray[np.int64]]]:
        """Split a table of actions into one policy for each level.

        Raises
        ------
        ValueError
            If it has not one action for each observation.
        """
        table = np.asarray(policy, dtype=np.int64)
        if table.shape != (int(self.offsets[-1]),):
            raise ValueError(
                f"policy has shape {table.shape}, expected one action for each of "
                f"{int(self.offsets[-1])} observations"
            )
        parts = np.split(table, self.offsets[1:-1])
        return [partial(_choose, part) for part in parts]

    def _shifted(self, tuples: EmpiricalMeasure, index: int) -> EmpiricalMeasure:
        following = tuples.next_observations
        if following is not None:
            beyond = self.offsets[min(index + 1, self.horizon)]
            following = np.where(following == END, END, following + beyond)
        return EmpiricalMeasure(
            tuples.observations + self.offsets[index],
            actions=tuples.actions,
            rewards=tuples.exact_rewards,
            next_observations=following,
            weights=tuples.weights,
        )


def _choose(
    actions: NDArray[np.int64], observations: NDArray[np.int64]
) -> NDArray[np.int64]:
    chosen: NDArray[np.int64] = actions[observations]
    return chosen
