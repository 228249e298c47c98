"""Data sets as weighted empirical measures, and how they are pooled.

A data set is kept as its support and integer weights of any size, so that 10^18 draws
cost as much as the support and expectations can be exact.

>>> from fractions import Fraction
>>> data = EmpiricalMeasure([0, 1, 1], actions=[0, 0, 1], rewards=[0, 1, 0.5],
...                         weights=[2 * 10**30, 10**30, 10**30])
>>> data.expectation(data.rewards)
0.375
>>> data.expectation_exact(data.at([Fraction(1, 3), Fraction(0)]))
Fraction(1, 6)
>>> a, b = EmpiricalMeasure([0, 1]), EmpiricalMeasure([1], weights=[10**18])
>>> pool([a, b]).expectation([0, 1, 1]), pool([a, b], shares="draws").draws
(0.75, 1000000000000000002)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import (
    END,
    INT64_MAX,
    check_counts,
    check_observations,
    check_reals,
    exact_sum,
    frozen,
    group_sums,
    object_array,
    reject,
    weighted_sum,
)

Field = Literal["observations", "next_observations"]

_EXACT_FLOAT = 2**53


@dataclass(frozen=True, eq=False, repr=False, init=False)
class EmpiricalMeasure:
    """Draws of ``x``, ``(x, a, r)`` or ``(x, a, r, x')`` with their multiplicities.

    Attributes
    ----------
    observations
        int64 codes, shape (n,), or float64 features, shape (n, d). Read-only,
        like every array here.
    actions
        int64, shape (n,), non-negative; or None.
    rewards
        float64, shape (n,); or None.
    next_observations
        As `observations`, where finite codes may also be `END`; or None.
    weights
        Non-negative integers, shape (n,): int64, or Python integers (object)
        where one of them is beyond 64 bits.
    total_weight
        Sum of the weights, a Python integer, positive.
    draws
        Number of draws behind the measure, a Python integer. It equals
        `total_weight` unless measures of different sizes were pooled.
    """

    observations: NDArray[Any]
    actions: NDArray[np.int64] | None
    rewards: NDArray[np.float64] | None
    next_observations: NDArray[Any] | None
    weights: NDArray[Any]
    total_weight: int
    draws: int
    _rational_rewards: NDArray[Any] | None

    def __init__(
        self,
        observations: ArrayLike,
        *,
        actions: ArrayLike | None = None,
        rewards: ArrayLike | Sequence[Fraction] | None = None,
        next_observations: ArrayLike | None = None,
        weights: ArrayLike | Sequence[int] | None = None,
        draws: int | None = None,
    ) -> None:
        """Check and freeze the columns; a ValueError names column and row.

        Codes (n,) or features (n, d); next ones may be `END`. Fractions as rewards
        are kept exactly. Weights default to 1 each, draws to their sum.
        """
        x = check_observations(observations)
        n = len(x)
        if n == 0:
            raise ValueError("observations: empty data")
        put = object.__setattr__
        put(self, "observations", frozen(x))
        put(self, "actions", None if actions is None else frozen(_codes(actions, n)))
        real, rational = _rewards(rewards, n)
        put(self, "rewards", real)
        put(self, "_rational_rewards", rational)
        put(self, "next_observations", _next_observations(next_observations, x))
        counts = np.ones(n, dtype=np.int64) if weights is None else weights
        w = check_counts(counts, "weights", n)
        total = exact_sum(w)
        if total == 0:
            raise ValueError("weights: all are zero")
        if draws is not None and draws < 1:
            raise ValueError(f"draws: {draws} is not positive")
        put(self, "weights", frozen(w))
        put(self, "total_weight", total)
        put(self, "draws", total if draws is None else int(draws))

    def __len__(self) -> int:
        return len(self.observations)

    def __repr__(self) -> str:
        kind = "finite" if self.is_finite else "continuous"
        return f"EmpiricalMeasure({len(self)} rows, {self.draws} draws, {kind})"

    @property
    def is_finite(self) -> bool:
        """Whether observations are integer codes."""
        return self.observations.ndim == 1

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Normalised weights, float64, shape (n,), each correctly rounded."""
        total = self.total_weight
        if total < _EXACT_FLOAT:  # both operands are exact in float64
            return frozen(self.weights / np.float64(total))
        # Python divides integers of any size with one rounding.
        exact = [w / total for w in self.weights.tolist()]
        return frozen(np.array(exact, dtype=np.float64))

    @cached_property
    def masses(self) -> NDArray[np.float64]:
        """Probability of each code up to the largest, float64, kept once made."""
        codes = self.codes()
        sums = np.zeros(int(codes.max()) + 1)
        np.add.at(sums, codes, self.probabilities)
        return frozen(sums)

    @property
    def exact_rewards(self) -> NDArray[Any]:
        """Rewards as Fractions (object array): as given, or the floats' own values."""
        if self._rational_rewards is not None:
            return self._rational_rewards
        if self.rewards is None:
            raise ValueError("rewards: this measure has none")
        return object_array([Fraction(r) for r in self.rewards.tolist()])

    def codes(self, field: Field = "observations") -> NDArray[np.int64]:
        """Integer codes of a column; ValueError if it is missing or continuous."""
        column = getattr(self, field)
        if column is None:
            raise ValueError(f"{field}: this measure has none")
        if column.ndim != 1:
            raise ValueError(f"{field}: continuous, there are no codes")
        return np.asarray(column, dtype=np.int64)

    def at(
        self, table: ArrayLike | Sequence[Fraction], *, field: Field = "observations"
    ) -> NDArray[Any]:
        """Look a table over codes up, one entry a row, (n, ...); `END` gives 0."""
        codes = self.codes(field)
        values = np.asarray(table)
        if int(codes.max()) >= len(values) or len(values) == 0:
            reject(field, codes >= len(values), f"no code below {len(values)}")
        looked_up = values[codes]  # END reads the last entry, overwritten below
        ended = codes == END
        if ended.any():
            looked_up[ended] = 0
        return looked_up

    def expectation(self, values: ArrayLike) -> float:
        """Average of one finite float a row, weighted."""
        reals = check_reals(values, "values", (len(self),))
        return float(np.dot(self.probabilities, reals))

    def expectation_exact(
        self, values: Sequence[Fraction | int | float] | NDArray[Any]
    ) -> Fraction:
        """Average of one number a row in rationals; floats stand for themselves."""
        if len(values) != len(self):
            raise ValueError(f"values: expected {len(self)} rows, got {len(values)}")
        exact = []
        numbers = values.tolist() if isinstance(values, np.ndarray) else values
        for row, v in enumerate(numbers):
            try:
                exact.append(Fraction(v))
            except (ValueError, OverflowError):
                raise ValueError(f"values, row {row}: NaN or infinite") from None
        return weighted_sum(self.weights.tolist(), exact) / self.total_weight

    def weights_by_code(
        self, n_codes: int, *, field: Field = "observations"
    ) -> NDArray[Any]:
        """Exact weight of every code below ``n_codes``; `END` is left out."""
        codes = self.codes(field)
        if int(codes.max()) >= n_codes:
            reject(field, codes >= n_codes, f"no code below {n_codes}")
        kept = codes != END
        return group_sums(self.weights[kept], codes[kept], n_codes, self.total_weight)

    def marginal(self, field: Field = "observations") -> EmpiricalMeasure:
        """Keep one column of observations alone (rows that ended stay out)."""
        column = getattr(self, field)
        if column is None:
            raise ValueError(f"{field}: this measure has none")
        if column.ndim == 2 or field == "observations":
            return EmpiricalMeasure(column, weights=self.weights, draws=self.draws)
        kept = column != END
        return EmpiricalMeasure(column[kept], weights=self.weights[kept])

    def merged(self) -> EmpiricalMeasure:
        """Merge equal rows of codes; rows in lexicographic order."""
        codes, rational = self.codes(), self._rational_rewards
        rewards = self.rewards if rational is None else _ranks(rational)
        given: list[Any] = [codes, self.actions, rewards, self.next_observations]
        columns = [column for column in given if column is not None]
        order = np.lexsort(columns[::-1])
        new = np.ones(len(order), dtype=np.bool_)
        ordered = [column[order] for column in columns]
        new[1:] = np.any([c[1:] != c[:-1] for c in ordered], axis=0)
        first = order[new]
        groups = np.cumsum(new) - 1
        weights = group_sums(self.weights[order], groups, len(first), self.total_weight)

        def kept(column: NDArray[Any] | None) -> NDArray[Any] | None:
            return None if column is None else column[first]

        return EmpiricalMeasure(
            codes[first],
            actions=kept(self.actions),
            rewards=kept(self.rewards if rational is None else rational),
            next_observations=kept(self.next_observations),
            weights=weights,
            draws=self.draws,
        )


def _codes(actions: ArrayLike, n: int) -> NDArray[np.int64]:
    array = np.asarray(actions)
    if array.shape != (n,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"actions: expected integers of shape ({n},), got {array.dtype} of "
            f"shape {array.shape}"
        )
    reject("actions", array < 0, "negative action")
    return array.astype(np.int64, copy=False)


def _rewards(
    rewards: Any, n: int
) -> tuple[NDArray[np.float64] | None, NDArray[Any] | None]:
    if rewards is None:
        return None, None
    array = np.asarray(rewards)
    real = check_reals(rewards, "rewards", (n,))
    if array.dtype != object:
        return frozen(real), None
    return frozen(real), frozen(object_array([Fraction(r) for r in array.tolist()]))


def _next_observations(values: ArrayLike | None, x: NDArray[Any]) -> Any:
    if values is None:
        return None
    following = check_observations(values, "next_observations", allow_end=True)
    if len(following) != len(x) or following.ndim != x.ndim:
        raise ValueError(
            f"next_observations: shape {following.shape} does not go with "
            f"observations of shape {x.shape}"
        )
    return frozen(following)


def _ranks(values: NDArray[Any]) -> NDArray[np.int64]:
    order = {value: rank for rank, value in enumerate(sorted(set(values.tolist())))}
    return np.array([order[value] for value in values.tolist()], dtype=np.int64)


def recoded(
    data: EmpiricalMeasure, codes: NDArray[Any], following: NDArray[Any] | None
) -> EmpiricalMeasure:
    """Put other codes for the observations of (x, a, r, x').

    Rows of features that agree then are counted, in lexicographic order; those of codes
    stay. Next codes may be `END`, or left out.
    """
    if data.is_finite:
        return EmpiricalMeasure(
            codes,
            actions=data.actions,
            rewards=data.exact_rewards,
            next_observations=following,
            weights=data.weights,
        )
    if data.actions is None or data.rewards is None:
        raise ValueError("data: actions or rewards are missing")
    amounts, ranks = np.unique(data.rewards, return_inverse=True)
    columns = [codes, data.actions, ranks.reshape(-1)]
    columns += [] if following is None else [following - END]
    # One key per row: sorting rows of a matrix takes many times as long.
    sizes = tuple(int(column.max()) + 1 for column in columns)
    keys = np.ravel_multi_index(columns, sizes)
    distinct, group = np.unique(keys, return_inverse=True)
    weights = group_sums(
        data.weights, group.reshape(-1), len(distinct), data.total_weight
    )
    rows = np.unravel_index(distinct, sizes)
    return EmpiricalMeasure(
        rows[0],
        actions=rows[1],
        rewards=amounts[rows[2]],
        next_observations=None if following is None else rows[3] + END,
        weights=weights,
    )


def pool(
    measures: Sequence[EmpiricalMeasure],
    *,
    shares: Literal["equal", "draws"] | Sequence[int] = "equal",
) -> EmpiricalMeasure:
    """Mixture of measures, rows kept in order; weights exact, integers, coprime.

    Shares: ``"equal"`` for each measure, by ``"draws"``, or integers in proportion.
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
