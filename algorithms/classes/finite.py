"""Finite classes, enumerated: by tables or by callables.

Members are numbered from 0; where several are optimal, oracles return the lowest
number.

>>> import numpy as np
>>> policies = FinitePolicyClass([[0, 0], [0, 1]], n_actions=2)
>>> policies.evaluate_all(np.array([1, 1, 0])).tolist()
[[0, 0, 0], [1, 1, 0]]
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import check_actions, check_observations, reject
from .protocols import Observations, Stationary, check_resolution
from .tabular import TabularPolicy, check_codes, tabular_value

Callables = Sequence[Callable[[Any], Any]]


@dataclass(frozen=True, eq=False)
class CallableValue:
    """A value function given as a callable from n observations to n reals, checked."""

    function: Callable[[Any], Any]

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Values, shape (n,); ValueError if any is outside [0, 1]."""
        values = np.asarray(self.function(observations), dtype=np.float64)
        if values.shape != (len(observations),):
            raise ValueError(f"function: returned shape {values.shape}")
        reject("function", ~((values >= 0) & (values <= 1)), "value outside [0, 1]")
        return values


@dataclass(frozen=True, eq=False)
class CallablePolicy:
    """A policy given as a callable from n observations to n integers, checked."""

    function: Callable[[Any], Any]
    n_actions: int

    def __call__(self, observations: Observations, /) -> NDArray[np.int64]:
        """Actions, shape (n,); ValueError if any is outside 0..K-1."""
        actions = np.asarray(self.function(observations))
        if actions.shape != (len(observations),) or not np.issubdtype(
            actions.dtype, np.integer
        ):
            raise ValueError(
                f"function: returned {actions.dtype} of shape {actions.shape}"
            )
        return check_actions(actions, self.n_actions, "function")


class _Finite(Stationary):
    members: tuple[Callable[[Observations], NDArray[Any]], ...]
    _table: NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.members)

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Check observations; ValueError names a code beyond the tables, its row."""
        if self._table is None:
            return check_observations(observations, name)
        return check_codes(observations, self._table.shape[1], name)

    def evaluate_all(
        self, observations: Observations, start: int = 0, stop: int | None = None
    ) -> NDArray[Any]:
        admitted = self.admit(observations)
        if self._table is not None:
            return self._table[start:stop, admitted]
        return np.stack([member(admitted) for member in self.members[start:stop]])


class FiniteValueClass(_Finite):
    """Finitely many value functions: (members, |X|) in [0, 1], or callables."""

    def __init__(self, members: ArrayLike | Callables) -> None:
        functions, table = _functions_or_table(members)
        if table is None:
            self.members = tuple(CallableValue(f) for f in functions)
            self._table = None
            return
        rows = tuple(tabular_value(row) for row in table)
        self.members = rows
        self._table = np.stack([row.values for row in rows])

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """Ln of the number of members, which also covers at any resolution."""
        if resolution is not None:
            check_resolution(resolution)
        return math.log(len(self))


class FinitePolicyClass(_Finite):
    """Finitely many policies: (members, |X|) with entries in 0..K-1, or callables."""

    def __init__(self, members: ArrayLike | Callables, n_actions: int) -> None:
        if n_actions < 1:
            raise ValueError(f"n_actions: {n_actions} is below 1")
        self.n_actions = n_actions
        functions, table = _functions_or_table(members)
        if table is None:
            self.members = tuple(CallablePolicy(f, n_actions) for f in functions)
            self._table = None
            return
        self._table = check_actions(table, n_actions, "members").copy()
        self.members = tuple(TabularPolicy(row) for row in self._table)

    def log_size(self, *, points: int | None = None) -> float:
        """Ln of the number of members."""
        return math.log(len(self))


def _functions_or_table(members: Any) -> tuple[Callables, NDArray[Any] | None]:
    if not isinstance(members, np.ndarray) and len(members) > 0:
        called = [callable(m) for m in members]
        if all(called):
            return tuple(members), None
        if any(called):
            raise ValueError("members: some are callables, some are tables")
    table = np.asarray(members)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"members: expected shape (members, |X|), got {table.shape}")
    return (), table


def _zero(observations: Observations) -> NDArray[np.float64]:
    return np.zeros(len(observations))


def zero_class() -> FiniteValueClass:
    """Return {x ↦ 0}, the value class one level past the last (paper, section 4)."""
    return FiniteValueClass([_zero])
