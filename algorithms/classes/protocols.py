"""What every function class is: the contracts that oracles and algorithms rely on.

An algorithm hands a class to oracles, evaluates what comes back, and asks for the
logarithm of the size; the guard of `olivine.algorithms.oracles.ledger` enforces that it
does nothing else. Values map observations to [0, 1], policies to actions 0..K-1;
members are callables on a column as in `olivine.algorithms.exact.data`: int64 codes
(n,) or float64 features (n, d).
"""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Observations = NDArray[Any]
"""int64 codes of shape (n,), or float64 features of shape (n, d)."""


class ValueFunction(Protocol):
    """A function from observations to [0, 1] (to R where a class says so)."""

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Values at n observations: float64, shape (n,)."""


class Policy(Protocol):
    """A function from observations to actions."""

    def __call__(self, observations: Observations, /) -> NDArray[np.int64]:
        """Actions at n observations: int64, shape (n,), in 0..K-1."""


@runtime_checkable
class ValueClass(Protocol):
    """A class G of value functions."""

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Return observations that are checked; ValueError names argument and row."""

    def at_level(self, level: int) -> ValueClass:
        """Return the class of one level, 1-based; a stationary class is its own."""

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """Natural logarithm of the number of functions a union bound counts.

        `resolution` None: as many members as attain every supremum of functionals
        linear in g; otherwise the size of a cover in the supremum norm. `points`: how
        many observations can occur, where the size depends on it. `squared`: whether g²
        occurs beside g.
        """


@runtime_checkable
class PolicyClass(Protocol):
    """A class Π of policies."""

    @property
    def n_actions(self) -> int:
        """K, the number of actions."""

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """As for a value class."""

    def at_level(self, level: int) -> PolicyClass:
        """Return the class of one level, 1-based; a stationary class is its own."""

    def log_size(self, *, points: int | None = None) -> float:
        """Log of the number of policies, or labellings of ``points`` observations."""


def check_level(level: int, deepest: int | None = None) -> None:
    """Refuse a level outside 1..deepest, if that is given (ValueError)."""
    if level < 1 or (deepest is not None and level > deepest):
        limit = "" if deepest is None else f"..{deepest}"
        raise ValueError(f"level: {level} is not in 1{limit}")


class Stationary:
    """A class that is the same at every level."""

    def at_level(self, level: int) -> Self:
        """Return the class itself."""
        check_level(level)
        return self


def check_resolution(resolution: float) -> None:
    """Refuse a resolution outside (0, 1] (ValueError)."""
    if not 0 < resolution <= 1:
        raise ValueError(f"resolution: {resolution} is not in (0, 1]")
