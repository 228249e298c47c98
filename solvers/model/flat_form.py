"""The integer form of a large model, its rows and variables kept as few kinds.

`olivine.solvers.model.integer_form` says what the form is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from .bulk_text import NumberedText, words
from .flat_model import (
    FlatRows,
    FlatVariables,
    Kind,
    Names,
    Shape,
    given,
    row_kind,
)
from .model import (
    LinearModel,
    Number,
    Row,
    Sense,
    by_identity,
    integer_row,
)
from .name_map import Called, NameMap, Pairs

LARGEST = 10**15 - 1
"""Greatest absolute value of a number in the form: 15 digits. HiGHS refuses a
coefficient of 1e15 and more, and floating point holds every integer to 2**53."""


@dataclass(frozen=True, slots=True)
class IntegerRow:
    """A constraint ``sum(coefficients * x[indices]) sense rhs`` in integers."""

    name: str
    indices: tuple[int, ...]
    coefficients: tuple[int, ...]
    sense: Sense
    rhs: int


class FlatForm:
    """The integer form of a model, its rows and variables kept as few kinds.

    `own_variables, own_rows`: Number of the model's own; those that were added come
    after. `variables, rows`: As in `IntegerForm`, flat. The names of rows are the
    meanings. `added`: Names of the variables that were added. `objective, negated`: As
    in `IntegerForm`.
    """

    def __init__(self, model: LinearModel) -> None:
        self.negated = model.maximise
        self.own_variables, self.own_rows = len(model.variables), len(model.rows)
        self.added: list[str] = []
        self.variables = FlatVariables()
        self.rows: FlatRows[IntegerRow] = FlatRows(IntegerRow)
        given_variables = FlatVariables.of(model.variables)
        self._add_variables(given_variables)
        self._first_empty = -1
        self._add_rows(FlatRows.of(model.rows))
        self._add_bound_rows(given_variables)
        self.objective: dict[int, int] = {}
        self._set_objective(model)

    def variable_name(self, index: int) -> str:
        """Short name of a variable."""
        own = self.own_variables
        return f"x{index}" if index < own else self.added[index - own]

    @cached_property
    def digits(self) -> int:
        """Most digits of the number of a variable or a row."""
        return len(str(max(len(self.variables), len(self.rows))))

    def variable_names(
        self, indices: NDArray[np.integer], width: int = 1
    ) -> NDArray[np.uint8]:
        """Short names of variables as `words`; blanks fill them up to a width."""
        if (indices < self.own_variables).all():
            text = NumberedText(f"x%-{width - 1}d", self.digits)
            return text.lines(indices[:, None])
        return words([f"{self.variable_name(j):<{width}}" for j in indices.tolist()])

    def row_names(self) -> Iterator[Pairs]:
        """Yield short names and meanings of the rows, those of a block at a time."""
        for block in self.rows.blocks:
            if block.first_row < self.own_rows:
                count = int(self.rows.sizes[block.kinds].sum())
                yield Called("c", block.first_row, count, block.names)
            else:
                short = self._added_rows(block.kinds, block.variables)
                yield zip(short, block.names(), strict=True)

    def _added_rows(
        self, kinds: NDArray[np.int32], variables: NDArray[np.int32]
    ) -> Iterator[str]:
        """Yield the short names of rows that were added."""
        start = 0
        for number in kinds.tolist():
            for shape in self.rows.kinds[number].shapes:
                named = "%" in shape.label
                place = start + shape.numbered
                yield shape.label % int(variables[place]) if named else shape.label
            start += self.rows.kinds[number].width

    @property
    def names(self) -> NameMap:
        """Every short name and what it means, in the order of their making."""
        return NameMap(len(self.variables) + len(self.rows), self._meanings)

    def _meanings(self) -> Iterator[Pairs]:
        own = self.own_variables
        meant = [v.name for v in self.variables[own:]]
        added = dict(zip(self.added, meant, strict=True))
        number = 0
        for codes, names in self.variables.blocks:
            if number < own:
                yield Called("x", number, len(codes), names)
            number += len(codes)
        for block, pairs in zip(self.rows.blocks, self.row_names(), strict=True):
            before = self._first_empty - block.first_row
            if "zero" in added and before >= 0:
                rest = iter(pairs)
                yield islice(rest, before)
                if next_pair := next(rest, None):
                    yield [("zero", added.pop("zero")), next_pair]
                yield rest
                continue
            kind = self.rows.kinds[int(block.kinds[0])]
            if kind.shapes and kind.shapes[0].label == "cz":
                yield [("z", added.pop("z"))]
            yield pairs
        yield added.items()

    def _add_variables(self, own: FlatVariables) -> None:
        """Make the bounds whole."""
        kinds = []
        for lower, upper, integer in own.kinds:
            inside = math.ceil(lower), math.floor(upper)
            if not integer or inside[0] > inside[1]:
                inside = math.floor(lower), math.ceil(upper)
            kinds.append((*inside, integer))
        for k, (low, high, _) in enumerate(kinds):
            if low < -LARGEST or high > LARGEST:
                first = own[int(np.argmax(own.codes() == k))]
                _refuse(max(-low, high), f"bound of variable {first.name!r}")
        places = np.array(
            [self.variables.kind_of(*kind) for kind in kinds], dtype=np.int32
        )
        for codes, names in own.blocks:
            self.variables.add(places[codes], names)

    def _add_rows(self, own: FlatRows[Row]) -> None:
        """Scale each kind of row to coprime integers."""
        empty = np.zeros(len(own.kinds), dtype=np.bool_)
        for k, kind in enumerate(own.kinds):
            try:
                self.rows.add_kind(_scaled(kind))
            except _TooLarge as error:
                _refuse(error.number, f"row {_first_of(own, k)!r}")
            empty[k] = kind.width == 0
        for block in own.blocks:
            variables, kinds = block.variables, block.kinds
            if empty[kinds].any():
                starts = np.cumsum(own.widths[kinds]) - own.widths[kinds]
                places = starts[empty[kinds]]
                variables = np.insert(variables, places, self._zero())
                if self._first_empty < 0:
                    item = int(np.argmax(empty[kinds]))
                    before = int(own.sizes[kinds[:item]].sum())
                    self._first_empty = block.first_row + before
            self.rows.add(kinds, variables, block.names)

    def _add_bound_rows(self, own: FlatVariables) -> None:
        """Say by rows what whole bounds do not."""
        needed = np.zeros(len(own.kinds) + 1, dtype=np.bool_)
        for k, (lower, upper, integer) in enumerate(own.kinds):
            whole = lower.denominator == upper.denominator == 1
            rounded = integer and math.ceil(lower) <= math.floor(upper)
            needed[k] = not whole and not rounded
        made: dict[int, tuple[int, tuple[str, ...]]] = {}
        first = 0
        for codes, names in own.blocks:
            items = np.flatnonzero(needed[codes])
            for code in np.unique(codes[items]).tolist():
                if code not in made:
                    lower, upper, _ = own.kinds[code]
                    shapes, texts = _bounds_as_rows(lower, upper)
                    try:
                        kind = _scaled(Kind(1, shapes))
                    except _TooLarge as error:
                        name = [*names()][int(np.argmax(codes == code))]
                        _refuse(error.number, f"row {f'{texts[0]} {name}'!r}")
                    made[code] = self.rows.add_kind(kind), texts
            if len(items):
                chosen = codes[items].tolist()
                self.rows.add(
                    np.array([made[code][0] for code in chosen], dtype=np.int32),
                    (items + first).astype(np.int32),
                    _BoundNames(names, items, [made[code][1] for code in chosen]),
                )
            first += len(codes)

    def _set_objective(self, model: LinearModel) -> None:
        sign = -1 if model.maximise else 1
        numbers = list(model.objective.values())
        if not model.objective_constant and all(c.denominator == 1 for c in numbers):
            self.objective = {j: sign * int(c) for j, c in model.objective.items()}
            largest = max(map(abs, self.objective.values()), default=0)
            if largest > LARGEST:
                _refuse(largest, "objective")
        else:
            low, high = _range_of_objective(model)
            if low < -LARGEST or high > LARGEST:
                _refuse(max(-low, high), "range of the objective")
            z = self._add("z", low, high, "objective of the model")
            # Of one object there comes one object.
            minus = {name: -c for name, c in by_identity(numbers).items()}
            negated = map(minus.__getitem__, map(id, numbers))
            coefficients = (Fraction(1), *negated)
            constant = model.objective_constant
            kind = row_kind(coefficients, "==", constant, label="cz")
            meaning = "definition of the objective"
            try:
                number = self.rows.add_kind(_scaled(kind))
            except _TooLarge as error:
                _refuse(error.number, f"row {meaning!r}")
            self.rows.add(
                np.array([number], dtype=np.int32),
                np.array([z, *model.objective], dtype=np.int32),
                given([meaning]),
            )
            self.objective = {z: sign}
        if not self.objective:
            self.objective = {self._zero(): 1}

    def _zero(self) -> int:
        """Index of the variable that is fixed at 0."""
        if "zero" in self.added:
            return self.own_variables + self.added.index("zero")
        return self._add("zero", 0, 0, "constant 0")

    def _add(self, name: str, low: int, high: int, meaning: str) -> int:
        self.added.append(name)
        code = self.variables.kind_of(low, high, False)
        return self.variables.add(np.array([code], dtype=np.int32), given([meaning]))


@dataclass(frozen=True)
class _BoundNames:
    """What the rows of bounds say of their variables; names for `FlatRows.add`."""

    names: Names
    items: NDArray[np.int64]
    texts: list[tuple[str, ...]]

    def __call__(self) -> list[str]:
        own = list(self.names())
        pairs = zip(self.items.tolist(), self.texts, strict=True)
        return [f"{text} {own[item]}" for item, texts in pairs for text in texts]


class _TooLarge(Exception):  # noqa: N818
    """A number has more digits than `LARGEST`."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _scaled(kind: Kind) -> Kind:
    """Scale rows to coprime integers; one without variables gets one."""
    shapes = []
    for s in kind.shapes:
        numbers = by_identity(s.coefficients)
        row = Row("", (), tuple(numbers.values()), s.sense, s.rhs)
        integers, rhs = integer_row(row)
        largest = max(abs(rhs), *map(abs, integers), 0)
        if largest > LARGEST:
            raise _TooLarge(largest)
        scaled = dict(zip(numbers, integers, strict=True))
        whole = tuple(map(scaled.__getitem__, map(id, s.coefficients)))
        shapes.append(replace(s, coefficients=whole, rhs=rhs))
    if kind.width or not shapes:
        return Kind(kind.width, tuple(shapes))
    return Kind(1, (replace(shapes[0], places=(0,), coefficients=(1,)),))


def _first_of(rows: FlatRows[Row], kind: int) -> str:
    """Name of the first row of a kind whose numbers are too large."""
    for block in rows.blocks:
        places = np.flatnonzero(block.kinds == kind)
        if len(places):
            before = int(rows.sizes[block.kinds[: places[0]]].sum())
            for k, s in enumerate(rows.kinds[kind].shapes):
                alone = Kind(rows.kinds[kind].width, (s,))
                try:
                    _scaled(alone)
                except _TooLarge:
                    return [*block.names()][before + k]
    raise AssertionError(f"no row of kind {kind}")


def _bounds_as_rows(
    lower: Number, upper: Number
) -> tuple[tuple[Shape, ...], tuple[str, ...]]:
    """Rows that say what whole bounds do not, and what they are called."""

    def shape(sense: Sense, bound: Number, letter: str) -> Shape:
        return Shape((0,), (Fraction(1),), sense, bound, f"{letter}%d", 0)

    if lower == upper:
        return (shape("==", lower, "f"),), ("value of",)
    found = []
    if lower.denominator != 1:
        found.append((shape(">=", lower, "l"), "lower bound of"))
    if upper.denominator != 1:
        found.append((shape("<=", upper, "u"), "upper bound of"))
    shapes, texts = zip(*found, strict=True)
    return shapes, texts


def _range_of_objective(model: LinearModel) -> tuple[int, int]:
    """Whole numbers below and above all values of the objective."""
    bounds = FlatVariables.of(model.variables)
    codes = bounds.codes()[list(model.objective)].tolist()
    costs = by_identity(model.objective.values())
    counts = Counter(zip(codes, map(id, model.objective.values()), strict=True))
    least = greatest = model.objective_constant
    for (code, name), count in counts.items():
        lower, upper, _ = bounds.kinds[code]
        ends = count * costs[name] * lower, count * costs[name] * upper
        least, greatest = least + min(ends), greatest + max(ends)
    return math.floor(least), math.ceil(greatest)


def _refuse(number: int, where: str) -> NoReturn:
    digits = int(number.bit_length() * math.log10(2)) + 1
    raise ValueError(
        f"{where}: scaled to integers it has a number of about {digits} digits,"
        " more than the 15 that engines in floating point and files can hold"
    )
