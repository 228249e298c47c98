"""Laws of the return to go in a finite model, in exact integers.

Rewards are whole units and returns are at most ``unit`` of them, so the law of
a return is a vector of unit + 1 integer weights. Backward induction over hidden
states costs little, and n returns to go are one multinomial draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes.policy_tables import action_weights
from olivine.algorithms.environments.finite_level import FiniteLevel
from olivine.algorithms.environments.finite_model import FiniteModel


class ReturnLaws:
    """Laws of r_h + ... + r_H given (x_h, a_h), under π_{h+1:H}.

    Parameters
    ----------
    model
        The finite model.
    policies
        One a level; those of levels h+1..H are used.
    level
        The level h.
    """

    def __init__(self, model: FiniteModel, policies: Sequence[Any], level: int) -> None:
        self._size = model.unit + 1
        laws: list[NDArray[Any]] = []
        for h in range(model.horizon, level, -1):
            current = model.levels[h - 1]
            futures = self._futures(current, laws)
            laws = [
                self._state_law(current, s, policies[h - 1], futures[s])
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
    """Weights over their common divisor."""
    common = math.gcd(*law.tolist()) or 1
    return np.asarray(law // common, dtype=object)
