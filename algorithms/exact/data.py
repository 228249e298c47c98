"""Data sets as weighted empirical measures, and how they are pooled.

The measure itself is in `olivine.algorithms.exact.measure`; this module is its door.

>>> a, b = EmpiricalMeasure([0, 1]), EmpiricalMeasure([1], weights=[10**18])
>>> pool([a, b]).expectation([0, 1, 1])
0.75
>>> pool([a, b], shares="draws").draws
1000000000000000002
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.exact.columns import END, INT64_MAX, check_counts
from olivine.algorithms.exact.measure import EmpiricalMeasure, Field

__all__ = ["END", "EmpiricalMeasure", "Field", "pool"]


def pool(
    measures: Sequence[EmpiricalMeasure],
    *,
    shares: Literal["equal", "draws"] | Sequence[int] = "equal",
) -> EmpiricalMeasure:
    """Mixture of measures, rows kept in order (measure by measure, none merged).

    Parameters
    ----------
    measures
        At least one, all with the same columns.
    shares
        ``"equal"``: each measure has the same weight, as in a sum over data
        sets of expectations (the pooled expectation is that sum divided by
        their number). ``"draws"``: each draw has the same weight. Or one
        non-negative integer a measure, in proportion.

    Returns
    -------
    A measure whose weights are exact (scaled to integers, coprime) and whose
    `draws` is the total number of draws.

    Raises
    ------
    ValueError
        If there is none, columns differ, or shares are negative, all zero or
        of the wrong number.
    """
    if not measures:
        raise ValueError("measures: none to pool")
    if isinstance(shares, str):
        if shares not in ("equal", "draws"):
            raise ValueError(f"shares: unknown {shares!r}")
        parts = [m.draws if shares == "draws" else 1 for m in measures]
    else:
        parts = check_counts(shares, "shares", len(measures)).tolist()
    scale = math.lcm(*(m.total_weight for m in measures))
    factors = [
        s * (scale // m.total_weight) for s, m in zip(parts, measures, strict=True)
    ]
    common = math.gcd(*factors) or 1
    weights = [_scaled(m, f // common) for m, f in zip(measures, factors, strict=True)]
    return EmpiricalMeasure(
        _stack([m.observations for m in measures], "observations"),
        actions=_stack([m.actions for m in measures], "actions"),
        rewards=_pooled_rewards(measures),
        next_observations=_stack(
            [m.next_observations for m in measures], "next_observations"
        ),
        weights=np.concatenate(weights),
        draws=sum(m.draws for m in measures),
    )


def _scaled(measure: EmpiricalMeasure, factor: int) -> NDArray[Any]:
    """Weights times a factor, exactly (Python integers where 64 bits are few)."""
    if factor * measure.total_weight <= INT64_MAX:
        return measure.weights * np.int64(factor)
    return measure.weights.astype(object) * factor


def _stack(columns: Sequence[NDArray[Any] | None], name: str) -> Any:
    present = [c for c in columns if c is not None]
    if not present:
        return None
    for i, column in enumerate(columns):
        if column is None or column.shape[1:] != present[0].shape[1:]:
            raise ValueError(f"measures: {name} of measure {i} differ in kind")
    return np.concatenate(present)


def _pooled_rewards(measures: Sequence[EmpiricalMeasure]) -> Any:
    if all(m._rational_rewards is None for m in measures):
        return _stack([m.rewards for m in measures], "rewards")
    exact = [None if m.rewards is None else m.exact_rewards for m in measures]
    return _stack(exact, "rewards")
