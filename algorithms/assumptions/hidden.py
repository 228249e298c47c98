"""A finite environment's mean rewards and transitions, on what can be observed.

The assumptions speak of E[· | x_h = x, a_h = a], which is defined where x is
observed with positive probability under some policy. So "for all x" is read as:
for all observations of hidden states that some path reaches. Codes that nobody
emits, and hidden states that are never reached (whose returns need not be at
most 1), do not count: no algorithm can see them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..environments.expectations import law
from ..environments.finite_truth import FiniteTruth
from ..environments.protocol import Environment

Vector = tuple[Fraction, ...]
"""One number for each reachable hidden state of a level, in their order."""

_ZERO = Fraction(0)


class HiddenModel:
    """Exact one-step expectations of a finite environment.

    Tables have one row for each observable code of a level, in order of the codes;
    vectors one entry for each reachable hidden state. Levels are 1..H; level H+1 has no
    states. Raises ValueError if observations are not finite.

    Examples
    --------
    >>> from olivine.algorithms.environments import make
    >>> model = HiddenModel(make("tabular", 0, horizon=1))
    >>> bool(model.gains(1, ()).max() == make("tabular", 0, horizon=1)
    ...      .truth.optimal_value)
    True
    """

    def __init__(self, environment: Environment) -> None:
        truth = environment.truth
        levels = range(1, environment.horizon + 1)
        finite = all(environment.space(h).is_finite for h in levels)
        if not (finite and isinstance(truth, FiniteTruth)):
            raise ValueError(
                f"environment: observations of {environment.name!r} are not finite"
            )
        self._truth, self._model = truth, truth.model
        self.horizon = environment.horizon
        self.n_actions = environment.n_actions
        self._states = [
            sorted(truth.reachable(h)) for h in range(1, self.horizon + 1)
        ] + [[]]
        self._codes: list[NDArray[np.int64]] = []
        self._emissions: list[list[list[tuple[int, Fraction]]]] = []
        self._weights: list[NDArray[Any]] = []
        self._rewards: list[NDArray[Any]] = []
        self._moves: list[list[list[list[tuple[int, Fraction]]]]] = []
        self._owner: list[NDArray[np.int64]] = []
        for h in range(1, self.horizon + 1):
            self._read(h)

    def _read(self, h: int) -> None:
        level = self._model.level(h)
        states, ahead = self._states[h - 1 : h + 1]
        codes = np.flatnonzero(level.emissions[states].sum(axis=0)).astype(np.int64)
        row_of = {int(x): i for i, x in enumerate(codes)}
        place = {s: i for i, s in enumerate(states)}
        self._codes.append(codes)
        self._emissions.append([_shares(level.emissions[s], row_of) for s in states])
        self._weights.append(level.emissions[:, codes].sum(axis=0).astype(object))
        self._rewards.append(level.mean_rewards[codes] / self._model.unit)
        self._owner.append(
            np.array([place[int(s)] for s in level.state_of_code[codes]])
        )
        place_ahead = {s: i for i, s in enumerate(ahead)}
        self._moves.append(
            [
                [_shares(row, place_ahead) for row in level.transitions[s]]
                for s in states
            ]
        )

    def codes(self, level: int) -> NDArray[np.int64]:
        """Observable codes of a level, ascending."""
        return self._codes[level - 1]

    def n_codes(self, level: int) -> int:
        """Return the number of codes of a level, observable or not."""
        return self._model.level(level).n_codes

    def states(self, level: int) -> list[int]:
        """Reachable hidden states of a level 1..H+1, ascending."""
        return self._states[level - 1]

    def owner(self, level: int) -> NDArray[np.int64]:
        """For each observable code the position of its state among `states`."""
        return self._owner[level - 1]

    def shares(self, level: int, position: int) -> list[tuple[int, Fraction]]:
        """(Row of the table, probability) of what a state emits, ascending."""
        return self._emissions[level - 1][position]

    def successors(self, level: int, position: int) -> list[list[tuple[int, Fraction]]]:
        """For each action the (position, probability) of the next states."""
        return self._moves[level - 1][position]

    def moves_surely(self, level: int) -> bool:
        """Whether states of a level 1..H-1 lead to one state for each action."""
        return all(len(row) == 1 for moves in self._moves[level - 1] for row in moves)

    def rewards(self, level: int) -> NDArray[Any]:
        """E[r_h | x, a]: Fractions, shape (observable codes, K)."""
        return self._rewards[level - 1]

    def averages(self, level: int, table: Sequence[Any]) -> Vector:
        """E[g(x_h) | s] for each reachable state; () at level H+1."""
        if level == self.horizon + 1:
            return ()
        return tuple(
            sum((p * table[row] for row, p in shares), _ZERO)
            for shares in self._emissions[level - 1]
        )

    def gains(self, level: int, ahead: Vector) -> NDArray[Any]:
        """E[r_h + v(s_{h+1}) | x, a] for a vector v: shape (observable codes, K)."""
        moves = self._moves[level - 1]
        later = np.full((len(moves), self.n_actions), _ZERO, dtype=object)
        for s, a in np.ndindex(later.shape):
            later[s, a] = sum((p * ahead[t] for t, p in moves[s][a]), _ZERO)
        return np.asarray(self.rewards(level) + later[self.owner(level)])

    def optimal(self, level: int) -> Vector:
        """V*(s) for each reachable state of a level 1..H+1."""
        if level > self.horizon:
            return ()
        return tuple(self._truth.state_value(level, s) for s in self.states(level))

    def followed(
        self, level: int, gains: NDArray[Any], rows: NDArray[np.int64]
    ) -> dict[Vector, int]:
        """E[gains(x, π(x)) | s] for the states, for policies with tables ``rows``.

        Returns the distinct vectors, each with the first of its rows. `gains`:
        fractions, shape (observable codes, K). `rows`: actions, shape (n, observable
        codes).
        """
        scale = math.lcm(*(v.denominator for v in gains.ravel().tolist()))
        whole = (gains * scale).astype(object)
        for cell in np.ndindex(whole.shape):
            whole[cell] = int(whole[cell])
        weights = self._weights[level - 1]
        if int(weights.sum()) * max(map(abs, whole.ravel().tolist())) < 2**62:
            whole, weights = whole.astype(np.int64), weights.astype(np.int64)
        weighted = whole[np.arange(len(whole)), rows] * weights
        owner = self.owner(level)
        states = range(len(self.states(level)))
        sums = [weighted[:, owner == s].sum(axis=1).tolist() for s in states]
        totals = [scale * int(weights[owner == s].sum()) for s in states]
        first: dict[tuple[int, ...], int] = {}
        for i, key in enumerate(zip(*sums, strict=True)):
            first.setdefault(key, i)
        return {
            tuple(Fraction(v, t) for v, t in zip(key, totals, strict=True)): i
            for key, i in first.items()
        }


def best(gains: NDArray[Any]) -> NDArray[np.bool_]:
    """Which actions attain the maximum of each row, shape as ``gains``."""
    return np.asarray(gains == gains.max(axis=1)[:, None], dtype=np.bool_)


def _shares(
    weights: NDArray[np.int64], place: dict[int, int]
) -> list[tuple[int, Fraction]]:
    return [(place[i], p) for i, p in law(weights)]
