"""Tabular classes G = (X → [0, 1]) and Π = (X → A), X the codes 0..|X|-1.

The classes of the hardness theorems and of Proposition "oracles tabular easy".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import check_observations, check_reals, frozen, reject
from .protocols import Observations, Stationary, check_resolution


def check_codes(
    observations: Any, n_observations: int, name: str = "observations"
) -> NDArray[np.int64]:
    """Codes below ``n_observations``, or ValueError naming argument and row."""
    codes = np.asarray(observations)
    usual = codes.ndim == 1 and codes.dtype == np.int64 and codes.size > 0
    # One pass: a negative code is a huge unsigned one.
    if usual and int(codes.view(np.uint64).max()) < n_observations:
        return codes
    codes = check_observations(observations, name)
    if codes.ndim != 1:
        raise ValueError(f"{name}: this class wants integer codes of shape (n,)")
    if codes.size and int(codes.max()) >= n_observations:
        what = f"outside the class (codes are below {n_observations})"
        reject(name, codes >= n_observations, what)
    return codes


@dataclass(frozen=True, eq=False)
class TabularValue:
    """A value function as a table (|X|,) in [0, 1]; `exact`: rationals if known."""

    values: NDArray[np.float64]
    exact: tuple[Fraction, ...] | None = None

    def __post_init__(self) -> None:
        table = check_reals(self.values, "values", (len(self.values),))
        reject("values", (table < 0) | (table > 1), "outside [0, 1]")
        object.__setattr__(self, "values", frozen(table))

    @classmethod
    def from_fractions(cls, values: Sequence[Fraction]) -> TabularValue:
        """Exact table; the float values are its rounding."""
        exact = tuple(map(Fraction, values))
        return cls(np.array([float(v) for v in exact], dtype=np.float64), exact)

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Values at codes, shape (n,); ValueError for a code outside the table."""
        return self.values[check_codes(observations, len(self.values))]


@dataclass(frozen=True, eq=False)
class TabularPolicy:
    """A policy as a table of actions, int64 (|X|,)."""

    actions: NDArray[np.int64]

    def __post_init__(self) -> None:
        table = np.asarray(self.actions)
        if table.ndim != 1 or not np.issubdtype(table.dtype, np.integer):
            raise ValueError(f"actions: expected a vector of integers, got {table!r}")
        reject("actions", table < 0, "negative action")
        put = object.__setattr__
        put(self, "actions", frozen(table.astype(np.int64, copy=False)))

    def __call__(self, observations: Observations, /) -> NDArray[np.int64]:
        """Actions at codes, shape (n,); ValueError for a code outside the table."""
        return self.actions[check_codes(observations, len(self.actions))]


@dataclass(frozen=True)
class _OnCodes(Stationary):
    n_observations: int

    def __post_init__(self) -> None:
        if self.n_observations < 1:
            raise ValueError(f"n_observations: {self.n_observations} is below 1")

    def _points(self, points: int | None) -> int:
        most = self.n_observations
        return most if points is None else min(most, points)

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Codes below `n_observations`, or ValueError naming argument and row."""
        return check_codes(observations, self.n_observations, name)


@dataclass(frozen=True)
class TabularValueClass(_OnCodes):
    """All functions from ``n_observations`` codes to [0, 1]."""

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """|X| ln 2 for functionals, twice if ``squared``; or by a grid's resolution."""
        count = self._points(points)
        if resolution is None:
            return (2 if squared else 1) * count * math.log(2)
        check_resolution(resolution)
        return count * math.log(math.ceil(1 / (2 * resolution)))


@dataclass(frozen=True)
class TabularPolicyClass(_OnCodes):
    """All functions from ``n_observations`` codes to actions 0..``n_actions``-1."""

    n_actions: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_actions < 1:
            raise ValueError(f"n_actions: {self.n_actions} is below 1")

    def log_size(self, *, points: int | None = None) -> float:
        """|X| ln K."""
        return self._points(points) * math.log(self.n_actions)


def tabular_value(values: ArrayLike | Sequence[Fraction]) -> TabularValue:
    """Table of floats, or of Fractions kept exactly."""
    array = np.asarray(values)
    if array.dtype == object:
        return TabularValue.from_fractions(array.tolist())
    return TabularValue(np.asarray(array, dtype=np.float64))
