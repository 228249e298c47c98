"""Large linear models: rows as blocks of CSR, their numbers as codes into tables.

A program of a million clauses has tens of millions of rows and few different numbers,
so a block of rows has the place of each coefficient in a table of fractions; names are
made when asked for. To the rest of the package a `LargeModel` is a `LinearModel`, whose
rows and variables are made on demand.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import islice
from operator import eq
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from . import LinearModel, Row, Sense, Variable

Thing = TypeVar("Thing")
Ints = NDArray[Any]
Side = tuple[Sense, Fraction]
Names = Callable[[], Iterable[str]]
"""Makes the names of a block."""

CHUNK = 1 << 13
"""Rows, variables or names that are worked on at a time."""
_ENTRIES = 1 << 19
"""Entries of rows that are scaled at a time, if one row has no more."""


@dataclass(frozen=True, eq=False)
class Numbered:
    """Names with a number: all of `texts`, each with one ``%d``, for each number."""

    texts: tuple[str, ...]
    numbers: range | Ints

    def __call__(self) -> Iterator[str]:
        """Yield the names."""
        for k in range(0, len(self.numbers), CHUNK):
            part = np.asarray(self.numbers[k : k + CHUNK]).tolist()
            yield from [text % number for number in part for text in self.texts]


class Scaled(NamedTuple):
    """Rows scaled to coprime integers, which are kept as codes, too."""

    values: list[int]
    codes: Ints
    sides: list[tuple[Sense, int]]
    side: Ints


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that were added together: k of them with e entries."""

    indptr: Ints  # Where the entries of each row begin, shape (k + 1,)
    indices: Ints  # Variables of the entries, shape (e,)
    codes: Ints  # Places of the coefficients in `values`, shape (e,)
    values: Sequence[Fraction]
    side: Ints  # Places of the senses and right-hand sides in `sides`, shape (k,)
    sides: Sequence[Side]
    names: Names

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Rows:
        """Make a block of listed rows."""
        codes, values = coded([c for row in rows for c in row.coefficients])
        sides: dict[Side, int] = {}
        side = [sides.setdefault((r.sense, r.rhs), len(sides)) for r in rows]
        return cls(
            offsets([len(row.indices) for row in rows]),
            np.array([j for row in rows for j in row.indices], dtype=np.int32),
            np.array(codes, dtype=np.int32),
            values,
            np.array(side, dtype=np.int32),
            list(sides),
            partial(iter, [row.name for row in rows]),
        )

    @classmethod
    def copies(cls, item: LinearModel, variables: Ints, names: Names) -> Rows:
        """Copy all rows of a small model for each line of its variables."""
        own, k = cls.of(item.rows), len(variables)
        lengths = np.tile(np.diff(own.indptr), k)
        return cls(
            offsets(lengths),
            variables.astype(np.int32, copy=False)[:, own.indices].ravel(),
            np.tile(narrow(own.codes), k),
            own.values,
            np.tile(narrow(own.side), k),
            own.sides,
            names,
        )

    def __len__(self) -> int:
        return len(self.side)

    def __iter__(self) -> Iterator[Row]:
        names = iter(self.names())
        for low in range(0, len(self), CHUNK):
            part = self.part(low, low + CHUNK)
            columns, codes = part.indices.tolist(), part.codes.tolist()
            coefficients = [self.values[c] for c in codes]
            ends = (part.indptr - part.indptr[0]).tolist()
            for k, code in enumerate(part.side.tolist()):
                own = slice(ends[k], ends[k + 1])
                sense, rhs = self.sides[code]
                yield Row(
                    next(names),
                    tuple(columns[own]),
                    tuple(coefficients[own]),
                    sense,
                    rhs,
                )

    def part(self, low: int, high: int) -> Rows:
        """Give rows low..high-1 as a block that shares the arrays."""
        indptr = self.indptr[low : high + 1]
        entries = slice(int(indptr[0]), int(indptr[-1]))
        return Rows(
            indptr - indptr[0],
            self.indices[entries],
            self.codes[entries],
            self.values,
            self.side[low:high],
            self.sides,
            lambda: islice(self.names(), low, high),
        )

    def parts(self) -> Iterator[Rows]:
        """Yield parts of about `_ENTRIES` entries."""
        low = 0
        while low < len(self):
            most = int(self.indptr[low]) + _ENTRIES
            high = int(np.searchsorted(self.indptr, most, side="right")) - 1
            high = max(low + 1, min(high, low + CHUNK))
            yield self.part(low, high)
            low = high

    def bound(self) -> int:
        """Largest number, but for its sign, that scaling can give."""
        numbers = [*self.values, *(rhs for _, rhs in self.sides)]
        scale = math.lcm(*{v.denominator for v in numbers})
        return max((abs(int(v * scale)) for v in numbers), default=0)

    def scaled(self) -> Scaled:
        """Scale each row to coprime integers."""
        used = np.flatnonzero(np.bincount(self.codes)).tolist()
        ends = np.flatnonzero(np.bincount(self.side)).tolist()
        fractions = [self.values[c] for c in used], [self.sides[s][1] for s in ends]
        scale = math.lcm(*{v.denominator for part in fractions for v in part})
        whole, right = ([int(v * scale) for v in part] for part in fractions)
        codes, side = _places(used, self.codes), _places(ends, self.side)
        divisors = _divisors(self.indptr, codes, whole, side, right)
        distinct, which = np.unique(divisors, return_inverse=True)
        divisor = distinct.tolist()
        of_entry = (
            which if len(divisor) == 1 else np.repeat(which, np.diff(self.indptr))
        )
        values, codes = _quotients(whole, codes, divisor, of_entry)
        rest, side = _quotients(
            list(range(len(right))), side, [1] * len(divisor), which
        )
        pairs = [(k, divisor[d]) for k, d in rest]
        return Scaled(
            [value // divisor[d] for value, d in values],
            codes,
            [(self.sides[ends[k]][0], right[k] // d) for k, d in pairs],
            side,
        )


def _places(used: list[int], codes: Ints) -> Ints:
    """Give the codes that are used new numbers."""
    place: Ints = np.zeros(max(used, default=0) + 1, dtype=np.int64)
    place[used] = np.arange(len(used))
    found: Ints = place[codes]
    return found


def _divisors(
    indptr: Ints, codes: Ints, whole: list[int], side: Ints, right: list[int]
) -> Ints:
    """Find the greatest common divisor of each row and its side; 1 where all is 0."""
    long = max(map(abs, (*whole, *right)), default=0) >= 2**63
    kind = object if long else np.int64
    divisors: Ints = np.abs(np.array(right, dtype=kind)[side])
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        entries = np.array(whole, dtype=kind)[codes]
        inner = np.gcd.reduceat(entries, indptr[filled])
        divisors[filled] = np.gcd(inner, divisors[filled])
    divisors[divisors == 0] = 1
    return divisors


def _quotients(
    whole: list[int], codes: Ints, divisors: list[int], which: Ints
) -> tuple[list[tuple[int, int]], Ints]:
    """Pairs of a number and a divisor's place that occur, and the pair of each code."""
    if len(divisors) == 1:
        return [(value, 0) for value in whole], codes
    keys = which * len(whole) + codes
    occurs = np.zeros(len(divisors) * len(whole), dtype=np.bool_)
    occurs[keys] = True
    found = np.flatnonzero(occurs).tolist()
    pairs = [(whole[key % len(whole)], key // len(whole)) for key in found]
    return pairs, _places(found, keys)


def coded(numbers: Sequence[Fraction]) -> tuple[list[int], list[Fraction]]:
    """Place of each number among the distinct ones, and these."""
    objects = {id(number): number for number in numbers}  # hashing them takes long
    places: dict[Fraction, int] = {}
    place = {
        name: places.setdefault(number, len(places)) for name, number in objects.items()
    }
    return [place[id(number)] for number in numbers], list(places)


def offsets(lengths: Sequence[int] | Ints) -> Ints:
    """Bounds of runs of some lengths laid end to end."""
    found: Ints = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return found.astype(np.int64)


def narrow(codes: Ints) -> Ints:
    """Keep codes in few bytes."""
    return codes.astype(np.min_scalar_type(int(codes.max(initial=0))), copy=False)


class _Blocks(Sequence[Thing]):
    """A sequence kept in blocks that have a length and make their entries."""

    def __init__(self) -> None:
        self.blocks: list[Any] = []
        self._ends: list[int] = []

    def _append(self, block: Any) -> int:
        first = len(self)
        self.blocks.append(block)
        self._ends.append(first + len(block))
        return first

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Thing: ...
    @overload
    def __getitem__(self, index: slice) -> list[Thing]: ...
    def __getitem__(self, index: int | slice) -> Thing | list[Thing]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"no entry {index} among {len(self)}")
        number = int(index) % len(self)
        block = bisect_right(self._ends, number)
        place = number - (self._ends[block - 1] if block else 0)
        found: Thing = next(iter(self.blocks[block].part(place, place + 1)))
        return found

    def __iter__(self) -> Iterator[Thing]:
        for block in self.blocks:
            yield from block

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def names(self) -> Iterator[str]:
        for block in self.blocks:
            yield from block.names()


class RowTable(_Blocks[Row]):
    """The rows of a model, in blocks."""

    @classmethod
    def of(cls, rows: Sequence[Row]) -> RowTable:
        """Make a table of rows; one that is a table is returned as it is."""
        if isinstance(rows, RowTable):
            return rows
        table = cls()
        if rows:
            table.add(Rows.of(rows))
        return table

    def add(self, rows: Rows) -> int:
        """Add a block; return the number of its first row."""
        return self._append(rows)

    def append(self, row: Row) -> None:
        """Add a row."""
        self.add(Rows.of([row]))


Kind = tuple[Fraction, Fraction, bool]
"""Bounds of a variable, and whether it is integral."""


@dataclass(frozen=True, eq=False)
class _Variables:
    """Variables that were added together; `kinds` is that of the table."""

    codes: Ints
    names: Names
    kinds: list[Kind]

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Variable]:
        for name, code in zip(self.names(), self.codes.tolist(), strict=True):
            yield Variable(name, *self.kinds[code])

    def part(self, low: int, high: int) -> _Variables:
        """Give variables low..high-1."""
        names = islice(self.names(), low, high)
        return _Variables(self.codes[low:high], lambda: names, self.kinds)


class VariableTable(_Blocks[Variable]):
    """The variables of a model; a kind is the bounds and whether it is integral."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[Kind] = []
        self._known: dict[Kind, int] = {}

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> VariableTable:
        """Make a table of variables; one that is a table is returned as it is."""
        if isinstance(variables, VariableTable):
            return variables
        table = cls()
        if variables:
            codes = [table.kind_of(v.lower, v.upper, v.integer) for v in variables]
            table.add(np.array(codes), partial(iter, [v.name for v in variables]))
        return table

    def kind_of(self, lower: Fraction, upper: Fraction, integer: bool) -> int:
        """Find the number of a kind, which is added if need be."""
        key = lower, upper, integer
        if key not in self._known:
            self._known[key] = len(self.kinds)
            self.kinds.append(key)
        return self._known[key]

    def add(self, codes: Ints, names: Names) -> int:
        """Add variables of some kinds; return the number of the first."""
        return self._append(_Variables(narrow(codes), names, self.kinds))

    def add_copies(self, kinds: Sequence[int], texts: tuple[str, ...], n: int) -> int:
        """Add n copies of some kinds, with a number from 1 on in each name."""
        codes = np.tile(np.array(kinds, dtype=np.int64), n)
        return self.add(codes, Numbered(texts, range(1, n + 1)))

    def append(self, variable: Variable) -> None:
        """Add a variable."""
        kind = self.kind_of(variable.lower, variable.upper, variable.integer)
        self.add(np.array([kind]), partial(iter, [variable.name]))

    def codes(self) -> Ints:
        """Kind of each variable, shape (number of variables,)."""
        empty = np.zeros(0, dtype=np.uint8)
        return np.concatenate([empty, *(block.codes for block in self.blocks)])

    def integral(self) -> int:
        """Count the integral variables."""
        marks = np.array([integer for *_, integer in self.kinds], dtype=np.bool_)
        return int(marks[self.codes()].sum())


@dataclass
class LargeModel(LinearModel):
    """A model whose rows and variables are kept in blocks."""

    variables: VariableTable = field(  # type: ignore[assignment]
        default_factory=VariableTable
    )
    rows: RowTable = field(default_factory=RowTable)  # type: ignore[assignment]
