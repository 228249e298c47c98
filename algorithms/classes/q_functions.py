"""Finitely many Q-functions, level by level: what enumerating algorithms take.

OLIVE (Jiang et al. 2017) and LSVEE (Krishnamurthy, Agarwal, Langford 2016) are stated
for a finite class F of f : X × A → [0, 1] that holds Q*. π_f(x) = argmax_a f(x, a),
ties to the lowest action. One member is one function on *all* levels: nothing is mixed.

>>> from fractions import Fraction
>>> import numpy as np
>>> level_1 = [[[Fraction(1, 2), 1]], [[0, 0]]]       # two members, one code, K = 2
>>> level_2 = [[[1, 0], [0, 1]], [[0, 1], [0, 0]]]    # ... two codes
>>> functions = FiniteQClass([level_1, level_2])
>>> len(functions), functions.horizon, functions.n_actions, functions.exact
(2, 2, 2, True)
>>> functions.state_values(1, np.array([0])).tolist()
[[Fraction(1, 1)], [Fraction(0, 1)]]
>>> [policy(np.array([0])).tolist() for policy in functions.greedy(1)]
[[0], [1]]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import as_rational, check_observations, frozen
from .finite import TabularPolicy, check_codes
from .protocols import Observations, check_level

Decoder = Callable[[Any], NDArray[np.int64]]
"""Maps n observations (features) to n codes."""


class FiniteQClass:
    """N functions f(x, a) in [0, 1] on the observations of H levels.

    Raises ValueError if there is no level or no member, shapes disagree between levels,
    or a value lies outside [0, 1]; names level, member and code.

    Parameters
    ----------
    tables
        One array (N, codes of the level, K) a level, in [0, 1]. If all entries are
        integers or Fractions the class is exact; otherwise it is float64.
    decoders
        None where observations are the codes; else a function a level from features (n,
        d) to codes (n,), of which members are then functions.

    Attributes
    ----------
    exact, denominator
        Whether values are Fractions; then their common denominator, else None.
    """

    def __init__(
        self, tables: Sequence[Any], decoders: Sequence[Decoder] | None = None
    ) -> None:
        if len(tables) == 0:
            raise ValueError("tables: none")
        if decoders is not None and len(decoders) != len(tables):
            raise ValueError(
                f"decoders: {len(decoders)} for {len(tables)} levels of tables"
            )
        raw = [_as_table(table, h) for h, table in enumerate(tables, 1)]
        size, k = raw[0].shape[0], raw[0].shape[2]
        for h, table in enumerate(raw, 1):
            if table.shape[0] != size or table.shape[2] != k:
                raise ValueError(
                    f"tables, level {h}: {table.shape[0]} members with "
                    f"{table.shape[2]} actions, level 1 has {size} with {k}"
                )
        self._decoders = None if decoders is None else tuple(decoders)
        self.exact = all(table.dtype == object for table in raw)
        self.denominator: int | None = None
        self._numerators: tuple[NDArray[Any], ...] = ()
        self._best: tuple[NDArray[Any], ...] = ()
        if self.exact:
            # All comparisons of a big class are made in integers, its numerators.
            self.denominator = math.lcm(
                *{v.denominator for table in raw for v in table.flat}
            )
            self._numerators = tuple(_scaled(t, self.denominator) for t in raw)
            self._best = tuple(frozen(t.max(axis=2)) for t in self._numerators)
        else:
            raw = [table.astype(np.float64) for table in raw]
        compared = self._numerators if self.exact else tuple(raw)
        for h, table in enumerate(compared, 1):
            _check_range(table, self.denominator or 1, h)
        self._tables = tuple(frozen(table) for table in raw)
        # argmax takes the first of equal values: the lowest action
        self._actions = tuple(
            frozen(table.argmax(axis=2).astype(np.int64)) for table in compared
        )

    @property
    def horizon(self) -> int:
        """H."""
        return len(self._tables)

    @property
    def n_actions(self) -> int:
        """K."""
        return int(self._tables[0].shape[2])

    def __len__(self) -> int:
        return len(self._tables[0])

    def log_size(self) -> float:
        """Natural logarithm of N."""
        return math.log(len(self))

    def decoder(self, level: int) -> Decoder | None:
        """Return what decodes observations of a level, None where they are codes."""
        check_level(level, self.horizon)
        return None if self._decoders is None else self._decoders[level - 1]

    def n_codes(self, level: int) -> int:
        """Return the number of codes (decoded, where observations are features)."""
        check_level(level, self.horizon)
        return int(self._tables[level - 1].shape[1])

    def table(self, level: int) -> NDArray[Any]:
        """Values at every code of a level, (N, codes, K), read-only."""
        check_level(level, self.horizon)
        return self._tables[level - 1]

    def codes(self, level: int, observations: Any) -> NDArray[np.int64]:
        """Codes of a level's observations, decoded where they are features."""
        check_level(level, self.horizon)
        if self._decoders is not None:
            features = check_observations(observations)
            observations = np.asarray(self._decoders[level - 1](features))
        return check_codes(observations, self.n_codes(level))

    def values(
        self, level: int, observations: Observations, members: Any = None
    ) -> NDArray[Any]:
        """Values f(x, a), (members, n, K), of some members (None: all)."""
        codes = self.codes(level, observations)
        table = self._tables[level - 1]
        return (table if members is None else table[members])[:, codes]

    def numerators(
        self, level: int, observations: Observations, members: Any = None
    ) -> NDArray[Any]:
        """Values of an exact class times `denominator`, int64 or Python integers."""
        table = self.numerator_table(level)
        codes = self.codes(level, observations)
        return (table if members is None else table[members])[:, codes]

    def numerator_table(self, level: int, *, best: bool = False) -> NDArray[Any]:
        """`numerators` at every code, (N, codes, K); the `best`, (N, codes)."""
        check_level(level, self.horizon)
        if not self.exact:
            raise ValueError("numerators: the class has values that are floats")
        return (self._best if best else self._numerators)[level - 1]

    def as_exact(self) -> FiniteQClass:
        """Return the same functions in Fractions: floats stand for themselves."""
        if self.exact:
            return self
        tables = []
        for table in self._tables:
            exact = np.empty(table.shape, dtype=object)
            exact.ravel()[:] = [Fraction(v) for v in table.ravel().tolist()]
            tables.append(exact)
        return FiniteQClass(tables, self._decoders)

    def actions(
        self, level: int, observations: Observations, members: Any = None
    ) -> NDArray[np.int64]:
        """Greedy actions π_f(x), ties to the lowest: int64, shape (members, n)."""
        codes = self.codes(level, observations)
        table = self._actions[level - 1]
        return (table if members is None else table[members])[:, codes]

    def state_values(
        self, level: int, observations: Observations, members: Any = None
    ) -> NDArray[Any]:
        """f(x, π_f(x)), shape (members, n); 0 at level H+1, whatever is observed."""
        if level == self.horizon + 1:
            count = len(self) if members is None else len(np.arange(len(self))[members])
            zero = np.zeros((count, len(observations)))
            if not self.exact:
                return zero
            nothing = np.empty(zero.shape, dtype=object)
            nothing[:] = Fraction(0)
            return nothing
        return np.asarray(self.values(level, observations, members).max(axis=2))

    def member(self, number: int) -> QFunction:
        """Return one member; ValueError outside 0..N-1."""
        self._check_member(number)
        return QFunction(self, number)

    def greedy(self, number: int) -> list[GreedyPolicy | TabularPolicy]:
        """π_f of member 0..N-1: one policy a level, ties to the lowest action."""
        self._check_member(number)
        rows = [actions[number] for actions in self._actions]
        if self._decoders is None:
            return [TabularPolicy(row) for row in rows]
        return [
            GreedyPolicy(decode, row)
            for decode, row in zip(self._decoders, rows, strict=True)
        ]

    def _check_member(self, number: int) -> None:
        if isinstance(number, bool) or not 0 <= number < len(self):
            raise ValueError(f"member: {number!r} is not in 0..{len(self) - 1}")


@dataclass(frozen=True, eq=False)
class QFunction:
    """One member of a `FiniteQClass`, by its number."""

    functions: FiniteQClass
    number: int

    def values(self, level: int, observations: Observations) -> NDArray[Any]:
        """f(x, a) at n observations of a level, shape (n, K)."""
        return np.asarray(self.functions.values(level, observations, [self.number])[0])

    def state_values(self, level: int, observations: Observations) -> NDArray[Any]:
        """f(x, π_f(x)) at n observations of a level (H+1: zeros), shape (n,)."""
        of_all = self.functions.state_values(level, observations, [self.number])
        return np.asarray(of_all[0])

    def greedy(self) -> list[GreedyPolicy | TabularPolicy]:
        """π_f, one policy a level."""
        return self.functions.greedy(self.number)


@dataclass(frozen=True, eq=False)
class GreedyPolicy:
    """Greedy policy of one level on observations that are decoded first."""

    decode: Decoder
    table: NDArray[np.int64]

    def __call__(self, observations: Observations, /) -> NDArray[np.int64]:
        """Actions at n observations, int64, shape (n,)."""
        codes = check_codes(np.asarray(self.decode(observations)), len(self.table))
        return self.table[codes]


def _as_table(values: Any, level: int) -> NDArray[Any]:
    table = np.asarray(values)
    if table.ndim != 3 or table.size == 0:
        raise ValueError(
            f"tables, level {level}: expected shape (members, codes, actions), none "
            f"of them 0, got {table.shape}"
        )
    if np.issubdtype(table.dtype, np.integer):
        table = table.astype(object)
    if table.dtype == object:
        flat = table.ravel().tolist()
        if all(isinstance(v, int | Fraction | np.integer) for v in flat):
            table = np.empty(table.shape, dtype=object)
            # a Fraction is kept as the object it is: big classes share theirs
            table.ravel()[:] = [
                v if type(v) is Fraction else as_rational("value", v) for v in flat
            ]
    if table.dtype != object or not isinstance(table.flat[0], Fraction):
        table = _as_floats(table, level)
    return table


def _check_range(table: NDArray[Any], one: int, level: int) -> None:
    bad = ~np.asarray((table >= 0) & (table <= one), dtype=np.bool_)
    if bad.any():
        i, x, a = np.argwhere(bad)[0].tolist()
        value = table[i, x, a]
        shown = value if isinstance(value, np.floating) else Fraction(int(value), one)
        raise ValueError(
            f"tables, level {level}, member {i}, code {x}, action {a}: {shown} is "
            "outside [0, 1]"
        )


def _as_floats(table: NDArray[Any], level: int) -> NDArray[np.float64]:
    try:
        return table.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"tables, level {level}: not real numbers ({error})") from None


def _scaled(table: NDArray[Any], denominator: int) -> NDArray[Any]:
    whole = np.empty(table.shape, dtype=object)
    whole.ravel()[:] = [
        v.numerator * (denominator // v.denominator) for v in table.flat
    ]
    small = (
        denominator < 2**62 and -(2**62) < min(whole.flat) <= max(whole.flat) < 2**62
    )
    return frozen(whole.astype(np.int64) if small else whole)
