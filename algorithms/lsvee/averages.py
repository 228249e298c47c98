"""Averages over data of every member of a finite class, in exact arithmetic.

Both steps of LSVEE enumerate: the consensus test averages f(x, π_f(x)), the
elimination averages (f(x, a) - r - V̂^f(p∘a))². A data set enters through its
cells, the pairs of a code and an action with their weight and the moments of
the reward, so 10^13 draws over finitely many codes cost as much as the codes,
and a class on features is averaged over the codes that it decodes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.q_functions import FiniteQClass
from ..exact.arrays import object_array
from ..exact.data import EmpiricalMeasure, recoded


@dataclass(frozen=True, eq=False)
class Cells:
    """A data set of (x, a, r) by code and action."""

    # codes, actions: int64, shape (m,): one row for each pair that occurs
    codes: NDArray[np.int64]
    actions: NDArray[np.int64]
    weights: NDArray[Any]  # Python integers, shape (m,)
    # rewards, squares: σ w r and Σ w r² of each pair: Fractions, shape (m,)
    rewards: NDArray[Any]
    squares: NDArray[Any]
    total: int  # Sum of the weights

    @classmethod
    def of(cls, functions: FiniteQClass, level: int, data: EmpiricalMeasure) -> Cells:
        """Sort a data set into cells.

        Raises ValueError if actions or rewards are missing, or observations are not the
        class's.
        """
        if data.actions is None or data.rewards is None:
            raise ValueError("data: actions or rewards are missing")
        merged = recoded(data, functions.codes(level, data.observations), None)
        columns: list[Any] = [merged.codes(), merged.actions]
        columns += [merged.exact_rewards, merged.weights]
        sums: dict[tuple[int, int], list[Any]] = defaultdict(
            lambda: [0, Fraction(0), Fraction(0)]
        )
        for x, a, reward, weight in zip(*(c.tolist() for c in columns), strict=True):
            entry = sums[x, a]
            entry[0] += weight
            entry[1] += weight * reward
            entry[2] += weight * reward * reward
        keys = sorted(sums)
        weights, rewards, squares = zip(*(sums[key] for key in keys), strict=True)
        return cls(
            np.array([x for x, _ in keys], dtype=np.int64),
            np.array([a for _, a in keys], dtype=np.int64),
            object_array(weights),
            object_array(rewards),
            object_array(squares),
            data.total_weight,
        )


def state_value_averages(
    functions: FiniteQClass, level: int, data: EmpiricalMeasure, members: Any
) -> NDArray[Any]:
    """V̂^f = average of f(x, π_f(x)) for each of the members.

    Returns Fractions, shape (members,).
    """
    codes, group = np.unique(
        functions.codes(level, data.observations), return_inverse=True
    )
    weights = np.zeros(len(codes), dtype=object)
    np.add.at(weights, group.reshape(-1), data.weights.astype(object))
    best = functions.numerator_table(level, best=True)
    values = best[members][:, codes].astype(object)
    denominator = _denominator(functions) * data.total_weight
    return object_array([Fraction(v, denominator) for v in (values @ weights).tolist()])


def risks(
    functions: FiniteQClass,
    level: int,
    cells: Cells,
    futures: NDArray[Any],
    members: Any,
) -> NDArray[Any]:
    """R̂(f) = average of (f(x, a) - r - V̂^f(p∘a))² for each of the members.

    Returns Fractions, shape (members,). `futures`: v̂^f(p∘a): Fractions, shape
    (members, K).
    """
    # With u = f(x, a) - V̂: Σ w (u - r)² = Σ u (u Σw - 2 Σwr) + Σ w r², over one
    # denominator, so that the big array holds integers.
    of_class = _denominator(functions)
    table = functions.numerator_table(level)
    chosen = table[members][:, cells.codes, cells.actions].astype(object)
    scale = math.lcm(of_class, *(v.denominator for v in futures.flat))
    ahead = _integers(futures, scale)[:, cells.actions]
    errors = chosen * (scale // of_class) - ahead
    unit = math.lcm(*(s.denominator for s in cells.rewards.tolist()))
    weights = cells.weights * unit
    rewards = _integers(cells.rewards, unit) * (2 * scale)
    sums = (errors * (errors * weights - rewards)).sum(axis=1)
    rest = sum(cells.squares.tolist(), Fraction(0))
    denominator = scale * scale * unit
    return object_array(
        [(Fraction(v, denominator) + rest) / cells.total for v in sums.tolist()]
    )


def _integers(values: NDArray[Any], scale: int) -> NDArray[Any]:
    whole = [v.numerator * (scale // v.denominator) for v in values.ravel().tolist()]
    return object_array(whole).reshape(values.shape)


def _denominator(functions: FiniteQClass) -> int:
    if functions.denominator is None:
        raise ValueError("functions: values are floats, take as_exact()")
    return functions.denominator
