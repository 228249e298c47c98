"""A mixed-integer linear model in exact rationals, known to no engine.

`integer_row` scales a row to coprime integers, which is how every engine and every file
sees it: a 1/3 written in decimals is another program.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

Sense = Literal["<=", ">=", "=="]
Number = Fraction | int

_SMALL = {i: Fraction(i) for i in range(-8, 9)}


def _fraction(number: Number) -> Fraction:
    """Make a Fraction; the small whole ones, of which there are most, are shared."""
    if type(number) is Fraction:
        return number
    found = _SMALL.get(number) if type(number) is int else None
    return Fraction(number) if found is None else found


@dataclass(frozen=True, slots=True)
class Variable:
    """A bounded variable; both bounds are finite (engines differ on free ones)."""

    name: str
    lower: Fraction
    upper: Fraction
    integer: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A constraint ``sum(coefficients * x[indices]) sense rhs``."""

    name: str
    indices: tuple[int, ...]
    coefficients: tuple[Fraction, ...]
    sense: Sense
    rhs: Fraction


def integer_row(row: Row) -> tuple[tuple[int, ...], int]:
    """Scale a row to coprime integers, coefficients and rhs, by a positive factor."""
    ratios = [c.as_integer_ratio() for c in (row.rhs, *row.coefficients)]
    scale = math.lcm(*{d for _, d in ratios})
    # Fraction's own product would reduce to lowest terms each time.
    ints = [n * (scale // d) for n, d in ratios]
    divisor = math.gcd(*ints)
    if divisor > 1:
        ints = [c // divisor for c in ints]
    return tuple(ints[1:]), ints[0]


@dataclass
class LinearModel:
    """Maximise or minimise a linear objective under linear constraints.

    Names are free-form (any characters); engines and files get short
    generated names and a map. Repeated indices in one row are added up and
    zero coefficients dropped when the row is added.
    """

    name: str = "model"
    maximise: bool = True
    variables: list[Variable] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    objective: dict[int, Fraction] = field(default_factory=dict)
    objective_constant: Fraction = Fraction(0)

    def add_variable(
        self, name: str, lower: Number, upper: Number, *, integer: bool = False
    ) -> int:
        """Add a variable and return its index."""
        lo, hi = _fraction(lower), _fraction(upper)
        if hi < lo:
            raise ValueError(f"variable {name!r}: lower bound {lo} above upper {hi}")
        self.variables.append(Variable(name, lo, hi, integer))
        return len(self.variables) - 1

    def add_row(
        self,
        indices: Sequence[int],
        coefficients: Sequence[Number],
        sense: Sense,
        rhs: Number,
        name: str = "",
    ) -> int:
        """Add a constraint and return its index."""
        if sense not in ("<=", ">=", "=="):
            raise ValueError(f"row {name!r}: unknown sense {sense!r}")
        merged = self._merge(indices, coefficients, name)
        label = name or f"row{len(self.rows)}"
        self.rows.append(
            Row(label, tuple(merged), tuple(merged.values()), sense, _fraction(rhs))
        )
        return len(self.rows) - 1

    def set_objective(
        self,
        indices: Sequence[int],
        coefficients: Sequence[Number],
        *,
        maximise: bool,
        constant: Number = 0,
    ) -> None:
        """Set the objective, replacing any earlier one."""
        self.objective = self._merge(indices, coefficients, "objective")
        self.maximise = maximise
        self.objective_constant = Fraction(constant)

    def objective_value(self, values: Sequence[Number]) -> Fraction:
        """Exact objective of a point (one exact value a variable)."""
        terms = (c * values[i] for i, c in self.objective.items())
        return sum(terms, self.objective_constant)

    def float_objective(self, values: Sequence[float]) -> float:
        """Objective of a point in floating point, rounded once."""
        terms = (float(c) * values[j] for j, c in self.objective.items())
        return math.fsum((float(self.objective_constant), *terms))

    def violations(self, values: Sequence[Number]) -> Iterable[tuple[str, Fraction]]:
        """Yield (name, amount) for every bound, integrality or row violated."""
        # Most values and coefficients are whole, and integers are much faster.
        plain = [int(v.numerator) if v.denominator == 1 else v for v in values]
        for var, value in zip(self.variables, plain, strict=True):
            if not var.lower <= value <= var.upper:
                yield var.name, Fraction(max(var.lower - value, value - var.upper))
            elif var.integer and value.denominator != 1:
                yield var.name, abs(value - Fraction(round(value)))
        for row in self.rows:
            ints, rhs = integer_row(row)
            pairs = zip(row.indices, ints, strict=True)
            gap = sum([c * plain[i] for i, c in pairs]) - rhs
            if gap > 0 if row.sense == "<=" else gap < 0 if row.sense == ">=" else gap:
                scale = ints[0] / row.coefficients[0] if ints else Fraction(1)
                yield row.name, abs(gap / scale)

    def is_feasible(self, values: Sequence[Number]) -> bool:
        """Whether a point meets bounds, integrality and every row exactly."""
        return next(iter(self.violations(values)), None) is None

    def _merge(
        self, indices: Sequence[int], coefficients: Sequence[Number], name: str
    ) -> dict[int, Fraction]:
        if len(indices) != len(coefficients):
            raise ValueError(f"row {name!r}: indices and coefficients differ in length")
        size = len(self.variables)
        if len(indices) and not 0 <= min(indices) <= max(indices) < size:
            wrong = next(i for i in indices if not 0 <= i < size)
            raise ValueError(f"row {name!r}: no variable with index {wrong}")
        numbers = map(_fraction, coefficients)
        merged = dict(zip(map(int, indices), numbers, strict=True))
        if len(merged) < len(indices):
            merged = dict.fromkeys(merged, Fraction(0))
            for i, c in zip(indices, coefficients, strict=True):
                merged[int(i)] += c
        if all({id(c): c for c in merged.values()}.values()):  # few, many times over
            return merged
        return {i: c for i, c in merged.items() if c}
