"""The form of a model that engines and files see: integers and short names.

A 1/3 written in decimals, or held in floating point, is another program. Here a row is
scaled to coprime integers. A bound that is not an integer becomes a row, beside a whole
bound outside it (of an integer variable it is rounded inwards). The objective is
minimised, a maximum as its negative, and never scaled; with a constant or a fraction it
is one variable that an integer row defines. A row without variables, or a model without
objective, gets a variable that is fixed at 0, since file formats know neither.

Variables are ``x0``, ``x1``, … and rows ``c0``, ``c1``, … after their place in the
model, what was added behind the model's own; no reader takes these names for a keyword
or a number. A map leads back to the model's own names.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, count, islice

import numpy as np
from numpy.typing import NDArray

from . import LinearModel, Sense
from .large import CHUNK, Ints, Names, Rows, RowTable, Scaled, VariableTable, coded

LARGEST = 10**15 - 1
"""Greatest absolute value of a number in the form: 15 digits. HiGHS refuses a
coefficient of 1e15 and more, and floating point holds every integer to 2**53."""

NEAR_FEASIBLE = 1e-6
ZERO = "constant 0"
OBJECTIVE = "objective of the model"


@dataclass(frozen=True, slots=True)
class IntegerVariable:
    """A variable with whole bounds."""

    name: str
    lower: int
    upper: int
    integer: bool


@dataclass(frozen=True, slots=True)
class IntegerRow:
    """A constraint ``sum(coefficients * x[indices]) sense rhs`` in integers."""

    name: str
    indices: tuple[int, ...]
    coefficients: tuple[int, ...]
    sense: Sense
    rhs: int


class IntegerForm:
    """A program to be minimised, equivalent to a model.

    `negated`: whether the objective is the negative of the model's, which maximises.
    `own`: number of the model's own variables; those that were added come after.
    `kinds, codes`: whole bounds and integrality, and those of each variable. `table`:
    the rows, still in fractions. `objective`: integers by variable, never empty.
    """

    def __init__(self, model: LinearModel) -> None:
        self.negated = model.maximise
        variables, rows = VariableTable.of(model.variables), RowTable.of(model.rows)
        self.own = len(variables)
        self.kinds = [_whole(*kind) for kind in variables.kinds]
        self.codes = variables.codes()
        self._meanings: list[str] = []  # of the variables that were added
        self._variables = variables
        self._zero = -1
        self.table = RowTable()
        for block in rows.blocks:
            self.table.add(self._filled(block))
        self._add_bound_rows(variables)
        self.objective: dict[int, int] = {}
        self._set_objective(model)
        self._check()

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def variables(self) -> list[IntegerVariable]:
        """The variables: the model's own in their order, then those added."""
        return [
            IntegerVariable(f"x{j}", *self.kinds[code])
            for j, code in enumerate(self.codes.tolist())
        ]

    @property
    def rows(self) -> Iterator[IntegerRow]:
        """The rows, scaled: the model's own in their order, then those added."""
        for first, part, (values, codes, sides, side) in self.scaled():
            columns, ends = part.indices.tolist(), part.indptr.tolist()
            coefficients = [values[c] for c in codes.tolist()]
            for k, code in enumerate(side.tolist()):
                own = slice(ends[k], ends[k + 1])
                sense, rhs = sides[code]
                yield IntegerRow(
                    f"c{first + k}",
                    tuple(columns[own]),
                    tuple(coefficients[own]),
                    sense,
                    rhs,
                )

    def scaled(self) -> Iterator[tuple[int, Rows, Scaled]]:
        """Yield parts of the rows, the first one's number before, scaled behind."""
        first = 0
        for block in self.table.blocks:
            for part in block.parts():
                yield first, part, part.scaled()
                first += len(part)

    @property
    def names(self) -> NameMap:
        """Every short name and what it means."""
        added = partial(iter, self._meanings)
        return NameMap(
            ("x", self._variables.names, self.own),
            ("x", added, len(self._meanings)),
            ("c", self.table.names, len(self.table)),
        )

    def completed(self, point: Sequence[Fraction], objective: Fraction) -> list[float]:
        """Give the variables that were added their values, at a point of the model."""
        values = {ZERO: 0.0, OBJECTIVE: float(objective)}
        return [*map(float, point), *map(values.__getitem__, self._meanings)]

    def fault(self, point: NDArray[np.float64], slack: float = NEAR_FEASIBLE) -> str:
        """Round the integer variables of a point in place; say what is wrong, or "".

        Allowed are `slack`, in a row in proportion to its terms, and ten times that of
        integrality.
        """
        ends = np.array(self.kinds, dtype=np.float64).reshape(-1, 3)[self.codes]
        integral, whole = ends[:, 2] == 1, np.rint(point)
        apart = integral & ~(np.abs(point - whole) <= 10 * slack)
        if apart.any():
            j = int(np.argmax(apart))
            return f"x{j}, an integer variable, is {point[j]}"
        point[integral] = whole[integral]
        low, high = ends[:, 0] - slack, ends[:, 1] + slack
        apart = ~((low <= point) & (point <= high))
        if apart.any():
            j = int(np.argmax(apart))
            least, greatest, _ = self.kinds[self.codes[j]]
            return f"x{j} is {point[j]}, outside {least} to {greatest}"
        for first, part, (values, codes, sides, side) in self.scaled():
            terms = np.array(values, dtype=np.float64)[codes] * point[part.indices]
            sums = np.add.reduceat(terms, part.indptr[:-1])
            sizes = np.add.reduceat(np.abs(terms), part.indptr[:-1])
            gaps = sums - np.array([rhs for _, rhs in sides], dtype=np.float64)[side]
            # "<=" and "==" bind from above, ">=" and "==" from below.
            above, below = (
                np.array([sense != free for sense, _ in sides])[side]
                for free in (">=", "<=")
            )
            excess = np.maximum(gaps * above, -gaps * below)
            apart = ~(excess <= slack * np.maximum(1, sizes))
            if apart.any():
                i = int(np.argmax(apart))
                name = next(islice(self.table.names(), first + i, None))
                return f"row c{first + i}, {name!r}, is missed by {excess[i]:.6g}"
        return ""

    def unused(self) -> Ints:
        """Variables in no row and not in the objective."""
        used = np.zeros(len(self), dtype=np.bool_)
        used[list(self.objective)] = True
        for block in self.table.blocks:
            used[block.indices] = True
        return np.flatnonzero(~used)

    def _filled(self, block: Rows) -> Rows:
        (empty,) = np.nonzero(np.diff(block.indptr) == 0)
        if not len(empty):
            return block
        if self._zero < 0:
            self._zero = self._add(0, 0, ZERO)
        places, one = block.indptr[empty], len(block.values)
        counts = np.zeros(len(block) + 1, dtype=np.int64)
        counts[empty + 1] = 1
        return Rows(
            block.indptr + np.cumsum(counts),
            np.insert(block.indices, places, self._zero),
            np.insert(block.codes.astype(np.int64), places, one),
            [*block.values, Fraction(1)],
            block.side,
            block.sides,
            block.names,
        )

    def _add_bound_rows(self, variables: VariableTable) -> None:
        """Say by rows what whole bounds do not."""
        codes = self.codes[: self.own]
        for code, (lower, upper, _) in enumerate(variables.kinds):
            low, high, _ = self.kinds[code]
            sides: list[tuple[Sense, Fraction, str]] = []
            if low > lower or high < upper:  # rounded inwards
                continue
            if lower == upper != low:
                sides = [("==", lower, "value of")]
            else:
                if low != lower:
                    sides.append((">=", lower, "lower bound of"))
                if high != upper:
                    sides.append(("<=", upper, "upper bound of"))
            members = np.flatnonzero(codes == code)
            for sense, end, text in sides:
                k = len(members)
                self.table.add(
                    Rows(
                        np.arange(k + 1),
                        members.astype(np.int32),
                        np.zeros(k, dtype=np.uint8),
                        [Fraction(1)],
                        np.zeros(k, dtype=np.uint8),
                        [(sense, end)],
                        _Called(text, variables, members),
                    )
                )

    def _set_objective(self, model: LinearModel) -> None:
        sign = -1 if model.maximise else 1
        numbers = list(model.objective.values())
        if not model.objective_constant and all(c.denominator == 1 for c in numbers):
            self.objective = {j: sign * int(c) for j, c in model.objective.items()}
            _refuse_long(self.objective.values(), "objective")
        else:
            ends = _range_of_objective(model)
            _refuse_long(ends, "range of the objective")
            z = self._add(*ends, OBJECTIVE)
            codes, values = coded([Fraction(1), *numbers])
            block = Rows(
                np.array([0, 1 + len(numbers)]),
                np.array([z, *model.objective], dtype=np.int32),
                np.array(codes),
                # z itself stands first and may share its number with others
                [*(-v for v in values), Fraction(1)],
                np.zeros(1, dtype=np.uint8),
                [("==", model.objective_constant)],
                partial(iter, ["definition of the objective"]),
            )
            block.codes[0] = len(values)
            self.table.add(block)
            self.objective = {z: sign}
        if not self.objective:
            if self._zero < 0:
                self._zero = self._add(0, 0, ZERO)
            self.objective = {self._zero: 1}

    def _add(self, low: int, high: int, meaning: str) -> int:
        self.kinds.append((low, high, False))
        codes = np.append(self.codes.astype(np.int64), len(self.kinds) - 1)
        self.codes = codes.astype(np.min_scalar_type(len(self.kinds)))
        self._meanings.append(meaning)
        return len(self.codes) - 1

    def _check(self) -> None:
        """Refuse numbers that engines and files cannot hold, by name and value."""
        for code, (low, high, _) in enumerate(self.kinds):
            if max(-low, high) > LARGEST:
                place = int(np.argmax(self.codes == code))
                _refuse_long((low, high), f"bound of variable {self._named(place)!r}")
        first = 0
        for block in self.table.blocks:
            if block.bound() > LARGEST:
                self._check_rows(first, block)
            first += len(block)

    def _check_rows(self, first: int, block: Rows) -> None:
        for part in block.parts():
            values, codes, sides, side = part.scaled()
            long = {c for c, v in enumerate(values) if abs(v) > LARGEST}
            ends = {c for c, (_, rhs) in enumerate(sides) if abs(rhs) > LARGEST}
            if long or ends:
                bad = np.isin(side, list(ends))
                entries = np.flatnonzero(np.isin(codes, list(long)))
                bad[np.searchsorted(part.indptr, entries, side="right") - 1] = True
                row = int(np.argmax(bad))
                own = slice(int(part.indptr[row]), int(part.indptr[row + 1]))
                numbers = [values[c] for c in codes[own].tolist()]
                name = next(islice(self.table.names(), first + row, None))
                _refuse_long((*numbers, sides[side[row]][1]), f"row {name!r}")
            first += len(part)

    def _named(self, variable: int) -> str:
        return next(islice(self._variables.names(), variable, None))


@dataclass(frozen=True, eq=False)
class _Called:
    """What rows that say bounds are called."""

    text: str
    variables: VariableTable
    members: Ints

    def __call__(self) -> Iterator[str]:
        wanted = np.zeros(len(self.variables), dtype=np.bool_)
        wanted[self.members] = True
        names = zip(self.variables.names(), wanted.tolist(), strict=False)
        return (f"{self.text} {name}" for name, chosen in names if chosen)


class NameMap(Mapping[str, str]):
    """What short names mean: there may be many millions, made when they are read."""

    def __init__(self, *parts: tuple[str, Names, int]) -> None:
        self._parts = [part for part in parts if part[2]]

    @cached_property
    def _known(self) -> dict[str, str]:
        return dict(self._pairs())

    def __getitem__(self, name: str) -> str:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._pairs())

    def __len__(self) -> int:
        return sum(count for *_, count in self._parts)

    def items(self) -> ItemsView[str, str]:
        """Names with their meanings, read without making a dictionary."""
        return _Items(self)

    def json(self, before: str) -> Iterator[str]:
        """Yield the text of the pairs, with `before` in front of each."""
        yield from json_pairs(self._pairs(), before)

    def _pairs(self) -> Iterator[tuple[str, str]]:
        numbers: dict[str, Iterator[int]] = {"x": count(), "c": count()}
        for letter, make, _ in self._parts:
            for name, number in zip(make(), numbers[letter], strict=False):
                yield f"{letter}{number}", name


class _Items(ItemsView[str, str]):
    _mapping: NameMap

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return self._mapping._pairs()


def json_pairs(pairs: Iterable[tuple[str, object]], before: str) -> Iterator[str]:
    """Yield pairs as in a JSON object, each after `before`; many at a time."""
    rest = iter(pairs)
    while part := [*chain.from_iterable(islice(rest, CHUNK))]:
        text = json.dumps(part, allow_nan=False, separators=("\n", ":"))
        entries = text[1:-1].split("\n")  # JSON has no line feed within a string
        both = map(": ".join, zip(entries[::2], entries[1::2], strict=True))
        yield "".join([before + pair for pair in both])


def _whole(lower: Fraction, upper: Fraction, integer: bool) -> tuple[int, int, bool]:
    """Whole bounds: inside those of an integer variable if there are, else outside."""
    inside = math.ceil(lower), math.floor(upper)
    if not integer or inside[0] > inside[1]:
        inside = math.floor(lower), math.ceil(upper)
    return *inside, integer


def _range_of_objective(model: LinearModel) -> tuple[int, int]:
    """Whole numbers below and above all values of the objective."""
    bounds = VariableTable.of(model.variables)
    kinds = bounds.codes()[list(model.objective)].tolist()
    costs, values = coded(list(model.objective.values()))
    least = greatest = model.objective_constant
    for (kind, cost), times in Counter(zip(kinds, costs, strict=True)).items():
        lower, upper, _ = bounds.kinds[kind]
        ends = times * values[cost] * lower, times * values[cost] * upper
        least, greatest = least + min(ends), greatest + max(ends)
    return math.floor(least), math.ceil(greatest)


def _refuse_long(numbers: Iterable[int], where: str) -> None:
    largest = max(map(abs, numbers), default=0)
    if largest > LARGEST:
        digits = int(largest.bit_length() * math.log10(2)) + 1
        raise ValueError(
            f"{where}: scaled to integers it has a number of about {digits} digits,"
            " more than the 15 that engines in floating point and files can hold"
        )
