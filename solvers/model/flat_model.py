"""Rows and variables of large models, kept as copies of few kinds.

A program of a million clauses has tens of millions of rows, but few that differ by
more than their variables. So a *kind* says once what the rows of an item are, by the
places of their variables among the item's own; an item is the number of its kind and
its variables, in flat arrays. Names are made when they are asked for. To the rest of
the package both tables are sequences of `Row` and `Variable`, made on demand.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import eq, itemgetter
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from .model import LinearModel, Row, Sense, Variable

Names = Callable[[], "Iterable[str]"]
"""Makes the names of a block; picklable."""
Thing = TypeVar("Thing")

BLOCK = 8192
"""Items that are worked on at a time."""
_SHARED = 16
"""Terms of the longest row that is compared with others to find its kind."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A row without its variables."""

    places: Sequence[int]  # Where the variables stand among the item's, all distinct
    # coefficients, sense, rhs: as in `Row`; in a program in integers, integers
    coefficients: tuple[Any, ...]
    sense: Sense
    rhs: Any
    # label, numbered: short name with a place for a number, and where that is found:
    # the item's variable of this place, or for -1 the number of the row
    label: str = "c%d"
    numbered: int = -1


@dataclass(frozen=True, slots=True)
class Kind:
    """The rows of an item, and how many variables it has.

    A row without variables must be the only one of an item without variables.
    """

    width: int
    shapes: tuple[Shape, ...]


def row_kind(
    coefficients: tuple[Any, ...], sense: Sense, rhs: Any, **named: Any
) -> Kind:
    """Kind of an item of one row, its variables in the item's order."""
    width = len(coefficients)
    return Kind(width, (Shape(range(width), coefficients, sense, rhs, **named),))


def narrow(kinds: NDArray[Any], count: int) -> NDArray[Any]:
    """Keep the numbers of few kinds in few bytes."""
    return kinds.astype(np.min_scalar_type(count), copy=False)


def given(names: list[str]) -> Names:
    """Names that are there already."""
    return partial(itemgetter(slice(None)), names)


def kind_of(model: LinearModel) -> Kind:
    """Kind of an item that has the variables and the rows of a small model."""
    return Kind(
        len(model.variables),
        tuple(
            Shape(row.indices, row.coefficients, row.sense, row.rhs)
            for row in model.rows
        ),
    )


@dataclass(frozen=True, eq=False)
class Numbered:
    """Names with a number: all of `texts` for each of some natural numbers."""

    texts: tuple[str, ...]  # Each with one ``%d`` and no other ``%``
    numbers: range | NDArray[np.int64]  # Below 2^32; neighbours as a range

    def __call__(self) -> list[str]:
        """Make the names."""
        numbers = np.asarray(self.numbers).tolist()
        return [text % k for k in numbers for text in self.texts]


@dataclass(frozen=True, eq=False)
class Group:
    """The items of a kind in a block."""

    # kind, shapes: number of the kind, and its rows
    kind: int
    shapes: tuple[Shape, ...]
    items: NDArray[np.int64]  # Places of the items in the block, shape (k,)
    variables: NDArray[np.int32]  # Shape (k, width)
    first_rows: NDArray[np.int64]  # Number of each item's first row, shape (k,)


@dataclass(frozen=True, eq=False)
class Block:
    """Items that were added together."""

    kinds: NDArray[Any]
    variables: NDArray[np.int32]
    names: Names
    first_row: int


class _Blocks(Sequence[Thing]):
    """A sequence kept in blocks; `_ends` has the length up to each block's end."""

    def __init__(self) -> None:
        self._ends: list[int] = []

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
        first = self._ends[block - 1] if block else 0
        return self._things(block)[number - first]

    def __iter__(self) -> Iterator[Thing]:
        for block in range(len(self._ends)):
            yield from self._things(block)

    def __eq__(self, other: object) -> bool:
        """Whether another sequence has equal entries."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def _things(self, block: int) -> list[Thing]:
        raise NotImplementedError


class FlatRows(_Blocks[Thing], Generic[Thing]):
    """The rows of a model."""

    def __init__(self, row_type: Callable[..., Any] = Row) -> None:
        super().__init__()
        self.kinds: list[Kind] = []
        self.blocks: list[Block] = []
        self._row_type = row_type
        self._known: dict[object, int] = {}

    @classmethod
    def of(cls, rows: Iterable[Row]) -> FlatRows[Row]:
        """Make a table of rows; one that is a table is returned as it is."""
        if isinstance(rows, FlatRows):
            return rows
        table: FlatRows[Row] = FlatRows()
        listed = list(rows)
        for k in range(0, len(listed), BLOCK):
            part = listed[k : k + BLOCK]
            table.add(
                np.array([table._kind_of(row) for row in part], dtype=np.int32),
                np.fromiter(
                    itertools.chain.from_iterable(row.indices for row in part),
                    dtype=np.int32,
                ),
                given([row.name for row in part]),
            )
        return table

    def add_kind(self, kind: Kind) -> int:
        """Add a kind and return its number."""
        self.kinds.append(kind)
        self.__dict__.pop("widths", None)
        self.__dict__.pop("sizes", None)
        return len(self.kinds) - 1

    def add(
        self, kinds: NDArray[Any], variables: NDArray[np.int32], names: Names
    ) -> None:
        """Add items: kind of each, the variables of all, and names of their rows."""
        first, kinds = len(self), narrow(kinds, len(self.kinds))
        self.blocks.append(Block(kinds, variables, names, first))
        self._ends.append(first + int(self.sizes[kinds].sum()))

    def add_copies(
        self, kinds: NDArray[np.int32], variables: NDArray[np.int32], *texts: str
    ) -> None:
        """Add items of equal width, with a number from 1 on in the name of each row.

        `kinds`: shape (k,). `variables`: shape (k, width).
        """
        for k in range(0, len(kinds), BLOCK):
            end = min(k + BLOCK, len(kinds))
            names = Numbered(texts, range(k + 1, end + 1))
            self.add(kinds[k:end], variables[k:end].ravel(), names)

    def append(self, row: Row) -> None:
        """Add a row."""
        indices = np.array(row.indices, dtype=np.int32)
        kinds = np.array([self._kind_of(row)], dtype=np.int32)
        self.add(kinds, indices, given([row.name]))

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """Number of variables of each kind's items."""
        return np.array([kind.width for kind in self.kinds], dtype=np.int64)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each kind's items."""
        return np.array([len(kind.shapes) for kind in self.kinds], dtype=np.int64)

    def groups(self, block: Block, among: range | None = None) -> Iterator[Group]:
        """Yield the items of a block by kind; only those with a variable `among`."""
        if among is not None:
            inside = block.variables >= among.start
            inside &= block.variables < among.stop
            if not inside.any():
                return
        kinds = block.kinds
        widths, sizes = self.widths[kinds], self.sizes[kinds]
        starts = np.cumsum(widths) - widths
        rows = np.cumsum(sizes) - sizes + block.first_row
        chosen = np.arange(len(kinds))
        if among is not None:
            before = np.zeros(len(inside) + 1, dtype=np.int32)
            np.cumsum(inside, out=before[1:])
            chosen = np.flatnonzero(before[starts + widths] > before[starts])
        order = chosen[np.argsort(kinds[chosen], kind="stable")]
        sorted_kinds = kinds[order].astype(np.int64)
        bounds = np.flatnonzero(np.diff(sorted_kinds, prepend=-1, append=-1))
        for low, high in itertools.pairwise(bounds.tolist()):
            items = order[low:high]
            number = int(kinds[items[0]])
            kind = self.kinds[number]
            places = starts[items, None] + np.arange(kind.width)
            yield Group(
                number, kind.shapes, items, block.variables[places], rows[items]
            )

    def parts(self, block: Block) -> Iterator[Block]:
        """Yield a block, or parts of a long one that share its arrays."""
        if len(block.kinds) <= 4 * BLOCK:
            yield block
            return
        starts = np.cumsum(self.widths[block.kinds]) - self.widths[block.kinds]
        rows = np.cumsum(self.sizes[block.kinds]) - self.sizes[block.kinds]
        cuts = [*range(0, len(starts), BLOCK)]
        places = [*starts[cuts].tolist(), len(block.variables)]
        for k, start, end in zip(cuts, places, places[1:], strict=False):
            yield Block(
                block.kinds[k : k + BLOCK],
                block.variables[start:end],
                block.names,
                block.first_row + int(rows[k]),
            )

    def _kind_of(self, row: Row) -> int:
        """Find the kind of a row among those of other short rows, or add it."""
        kind = row_kind(row.coefficients, row.sense, row.rhs)
        if kind.width > _SHARED:
            return self.add_kind(kind)
        key = row.coefficients, row.sense, row.rhs
        if key not in self._known:
            self._known[key] = self.add_kind(kind)
        return self._known[key]

    def _things(self, block: int) -> list[Thing]:
        """Make the rows of a block."""
        own = self.blocks[block]
        names, found, start = iter(own.names()), [], 0
        variables = own.variables.tolist()
        for number in own.kinds.tolist():
            kind = self.kinds[number]
            item = variables[start : start + kind.width]
            start += kind.width
            for s in kind.shapes:
                found.append(
                    self._row_type(
                        next(names),
                        tuple([item[p] for p in s.places]),
                        s.coefficients,
                        s.sense,
                        s.rhs,
                    )
                )
        return found


class FlatVariables(_Blocks[Variable]):
    """The variables of a model; a kind is the bounds and whether it is integral."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[tuple[Any, Any, bool]] = []
        self.blocks: list[tuple[NDArray[Any], Names]] = []
        self._known: dict[tuple[Any, Any, bool], int] = {}

    @classmethod
    def of(cls, variables: Iterable[Variable]) -> FlatVariables:
        """Make a table of variables; one that is a table is returned as it is."""
        if isinstance(variables, FlatVariables):
            return variables
        table = cls()
        listed = list(variables)
        codes = [table.kind_of(v.lower, v.upper, v.integer) for v in listed]
        names = [v.name for v in listed]
        for k in range(0, len(listed), BLOCK):
            part = slice(k, k + BLOCK)
            table.add(np.array(codes[part], dtype=np.int32), given(names[part]))
        return table

    def kind_of(self, lower: Any, upper: Any, integer: bool) -> int:
        """Find the number of a kind, which is added if need be."""
        key = lower, upper, integer
        if key not in self._known:
            self._known[key] = len(self.kinds)
            self.kinds.append(key)
        return self._known[key]

    def add(self, kinds: NDArray[Any], names: Names) -> int:
        """Add variables, a kind for each; return the number of the first."""
        first = len(self)
        self.blocks.append((narrow(kinds, len(self.kinds)), names))
        self._ends.append(first + len(kinds))
        return first

    def add_copies(self, kinds: Sequence[int], texts: tuple[str, ...], n: int) -> int:
        """Add n copies of some kinds, with a number from 1 on in each name."""
        first = len(self)
        for k in range(0, n, BLOCK):
            end = min(k + BLOCK, n)
            codes = np.tile(np.array(kinds, dtype=np.int32), end - k)
            self.add(codes, Numbered(texts, range(k + 1, end + 1)))
        return first

    def append(self, variable: Variable) -> None:
        """Add a variable."""
        kind = self.kind_of(variable.lower, variable.upper, variable.integer)
        self.add(np.array([kind], dtype=np.int32), given([variable.name]))

    def codes(self) -> NDArray[Any]:
        """Kind of each variable, shape (number of variables,)."""
        empty = np.zeros(0, dtype=np.uint8)
        return np.concatenate([empty, *(kinds for kinds, _ in self.blocks)])

    def _things(self, block: int) -> list[Variable]:
        kinds, names = self.blocks[block]
        return [
            Variable(name, *self.kinds[kind])
            for name, kind in zip(names(), kinds.tolist(), strict=True)
        ]


@dataclass
class FlatModel(LinearModel):
    """A model whose rows and variables are kept flat."""

    variables: FlatVariables = field(  # type: ignore[assignment]
        default_factory=FlatVariables
    )
    rows: FlatRows[Row] = field(default_factory=FlatRows)  # type: ignore[assignment]


def integer_variables(model: LinearModel) -> int:
    """Count the integral variables of a model."""
    table = FlatVariables.of(model.variables)
    integral = np.array([kind[2] for kind in table.kinds], dtype=np.bool_)
    return int(integral[table.codes()].sum())
