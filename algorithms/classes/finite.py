"""Classes that are tables, lists, or balls of a kernel, and a class for each level.

G = (X → [0, 1]) and Π = (X → A), X the codes 0..|X|-1, are the classes of the hardness
theorems and of Proposition "oracles tabular easy". Members of an enumerated class, by
tables or by callables, are numbered from 0; where several are optimal, oracles return
the lowest number. G_{H+1} is the singleton {x ↦ 0}.

>>> policies = FinitePolicyClass([[0, 0], [0, 1]], n_actions=2)
>>> policies.evaluate_all(np.array([1, 1, 0])).tolist()
[[0, 0, 0], [1, 1, 0]]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import (
    check_actions,
    check_observations,
    check_reals,
    frozen,
    reject,
)
from .protocols import (
    Observations,
    PolicyClass,
    Stationary,
    ValueClass,
    check_level,
    check_resolution,
)


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


Kernel = Callable[[Observations, Observations], NDArray[np.float64]]
"""Maps n and m observations to the n × m matrix of kernel values."""


def gaussian_kernel(bandwidth: float) -> Kernel:
    """k(x, y) = exp(-‖x - y‖² / (2 bandwidth²)) on features, bandwidth positive."""
    if not 0 < bandwidth < math.inf:
        raise ValueError(f"bandwidth: {bandwidth} is not positive and finite")

    def kernel(a: Observations, b: Observations) -> NDArray[np.float64]:
        # ‖a-b‖² by differences: the expanded square cancels badly.
        squares = np.zeros((len(a), len(b)))
        for column in range(a.shape[1]):
            squares += np.subtract.outer(a[:, column], b[:, column]) ** 2
        return np.exp(squares / (-2 * bandwidth**2))

    return kernel


def identity_kernel(a: Observations, b: Observations) -> NDArray[np.float64]:
    """k(x, y) = 1 if x = y else 0, on codes: the Euclidean ball of R^|X|."""
    return np.equal.outer(a, b).astype(np.float64)


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """The function x ↦ offset + Σ_i coefficients_i k(points_i, x)."""

    points: Observations
    coefficients: NDArray[np.float64]
    kernel: Kernel
    offset: float

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Values, float64, shape (n,)."""
        return self.offset + self.coefficients @ self.kernel(self.points, observations)


@dataclass(frozen=True, eq=False)
class KernelBall(Stationary):
    """The functions centre + radius · f, ‖f‖ ≤ 1, of a kernel with k(x, x) ≤ 1.

    For the two-sample test: the largest difference of two means over one, the maximum
    mean discrepancy, has a closed form (Gretton et al. 2012). The default has values in
    [0, 1], as the paper asks of G.
    """

    kernel: Kernel
    centre: float = 0.5
    radius: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.radius < math.inf:
            raise ValueError(f"radius: {self.radius} is not positive and finite")
        if not math.isfinite(self.centre):
            raise ValueError(f"centre: {self.centre} is not finite")

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Observations in either form (the kernel decides which it takes)."""
        return check_observations(observations, name)

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """Log of a cover on so many points: points · ln(1 + 2 radius / resolution)."""
        if resolution is None or points is None:
            raise ValueError("resolution, points: an infinite class needs both")
        check_resolution(resolution)
        return points * math.log(1 + 2 * self.radius / resolution)


def _zero(observations: Observations) -> NDArray[np.float64]:
    return np.zeros(len(observations))


def zero_class() -> FiniteValueClass:
    """Return {x ↦ 0}, the value class one level past the last (paper, section 4)."""
    return FiniteValueClass([_zero])


_Class = TypeVar("_Class")


class _ByLevel(Generic[_Class]):
    _kind: str

    def __init__(self, classes: Sequence[_Class]) -> None:
        if not classes:
            raise ValueError("classes: none")
        self.classes = tuple(classes)

    @classmethod
    def stationary(cls, one: _Class, horizon: int) -> Self:
        """Return the same class at each of ``horizon`` levels."""
        return cls([one] * horizon)

    @property
    def horizon(self) -> int:
        return len(self.classes)

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        raise ValueError(f"{self._kind}: pick a level with at_level first")


class ValueClassByLevel(_ByLevel[ValueClass]):
    """G_1, …, G_H, one class a level, and G_{H+1} = {0}."""

    _kind = "value_class"

    def at_level(self, level: int) -> ValueClass:
        """Return G_level, level H+1 being {x ↦ 0}; ValueError for another one."""
        check_level(level, self.horizon + 1)
        return self.classes[level - 1] if level <= self.horizon else zero_class()

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """Return the largest of the levels' log sizes."""
        return max(
            c.log_size(resolution=resolution, points=points, squared=squared)
            for c in self.classes
        )


class PolicyClassByLevel(_ByLevel[PolicyClass]):
    """Π_1, …, Π_H, one class a level, all with the same number of actions."""

    _kind = "policy_class"

    def __init__(self, classes: Sequence[PolicyClass]) -> None:
        super().__init__(classes)
        counts = [c.n_actions for c in classes]
        if len(set(counts)) > 1:
            raise ValueError(f"classes: action counts differ: {counts}")
        self.n_actions = counts[0]

    def at_level(self, level: int) -> PolicyClass:
        """Return Π_level; ValueError for a level outside 1..H."""
        check_level(level, self.horizon)
        return self.classes[level - 1]

    def log_size(self, *, points: int | None = None) -> float:
        """Return the largest of the levels' log sizes."""
        return max(c.log_size(points=points) for c in self.classes)
