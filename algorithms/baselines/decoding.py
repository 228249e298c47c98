"""What a tabular learner that knows the decoder sees: cells and hidden states.

Rewards depend on the observation and the action, hidden moves on the hidden state and
the action. So a learner that may decode needs, for each observation, a *cell* that its
rewards depend on and the *state* that moves depend on. Finite observations are their
own cells; feature vectors are decoded into hidden states, which are both (their
rewards depend on nothing else in the environments of this project).

This is a look behind the door that learning algorithms do not get
(`olivine.algorithms.environments.truth`): it makes R-max a reference, not a competitor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.data import EmpiricalMeasure


class Decoding:
    """Cells and states of an environment's observations.

    Parameters
    ----------
    environment
        With finite observations, or features that its truth can decode.

    Attributes
    ----------
    states_of_cells
        Hidden state of each cell, one int64 array (cells,) a level.

    Raises
    ------
    ValueError
        If the environment's truth has no hidden model or no decoder.
    """

    def __init__(self, environment: Environment) -> None:
        model: Any = getattr(environment.truth, "model", None)
        self._emission: Any = getattr(environment.truth, "emission", None)
        self._finite = environment.space(1).is_finite
        if model is None or (not self._finite and self._emission is None):
            raise ValueError(
                f"rmax: environment {environment.name!r} does not say which hidden "
                "state an observation comes from"
            )
        self.states_of_cells: tuple[NDArray[np.int64], ...] = tuple(
            model.level(h).state_of_code for h in range(1, environment.horizon + 1)
        )

    @property
    def most_cells(self) -> int:
        """X, the largest number of cells of a level."""
        return max(len(states) for states in self.states_of_cells)

    def cells(self, level: int, observations: NDArray[Any]) -> NDArray[np.int64]:
        """Cells of n observations of a level, shape (n,)."""
        if self._finite:
            return np.asarray(observations, dtype=np.int64)
        return np.asarray(self._emission.decode(level, observations), dtype=np.int64)

    def steps(self, level: int, data: EmpiricalMeasure) -> EmpiricalMeasure:
        """Put cells for the observations of (x, a, r, x') at a level.

        Rows of finite observations stay as they are, which are distinct; those of
        features, one a draw, are counted. At the last level x' is left out.
        """
        following = data.next_observations
        if following is None or level == len(self.states_of_cells):
            after = None
        else:
            after = self.cells(level + 1, following)
        cells = self.cells(level, data.observations)
        if self._finite:
            return EmpiricalMeasure(
                cells,
                actions=data.actions,
                rewards=data.exact_rewards,
                next_observations=after,
                weights=data.weights,
            )
        return _counted(cells, data, after)


def _counted(
    cells: NDArray[np.int64], data: EmpiricalMeasure, after: NDArray[np.int64] | None
) -> EmpiricalMeasure:
    """Merge equal rows (of weight 1 each; rewards are floats where x is features)."""
    if data.actions is None or data.rewards is None:
        raise ValueError("data: actions or rewards are missing")
    amounts, ranks = np.unique(data.rewards, return_inverse=True)
    columns = [cells, data.actions, ranks.reshape(-1)]
    columns += [] if after is None else [after]
    # One key a row: sorting rows of a matrix takes many times as long.
    sizes = tuple(int(column.max()) + 1 for column in columns)
    keys = np.ravel_multi_index(columns, sizes)
    distinct, counts = np.unique(keys, return_counts=True)
    rows = np.unravel_index(distinct, sizes)
    return EmpiricalMeasure(
        rows[0],
        actions=rows[1],
        rewards=amounts[rows[2]],
        next_observations=None if after is None else rows[3],
        weights=counts,
    )


class CellPolicy:
    """A table of actions over the cells of a level as a policy on observations.

    Parameters
    ----------
    decoding
        Cells of observations.
    level
        h, 1-based.
    actions
        int64, one for each cell.
    """

    def __init__(
        self, decoding: Decoding, level: int, actions: NDArray[np.int64]
    ) -> None:
        self._decoding, self._level, self.actions = decoding, level, actions

    def __call__(self, observations: Any, /) -> NDArray[np.int64]:
        """Actions at n observations, shape (n,)."""
        return self.actions[self._decoding.cells(self._level, observations)]
