"""The form of a model that engines and files see: integers and short names.

A 1/3 written in decimals, or held in floating point, is another program. Here
every coefficient, right-hand side and bound is an integer that both can hold:

- a row is scaled to coprime integers;
- a bound that is not an integer becomes a row, beside a whole bound outside it
  (on an integer variable it is rounded inwards instead);
- the objective is minimised, a maximum as its negative, and never scaled. If it
  has a constant or a coefficient that is not an integer, it is one variable
  ``z`` that an integer row defines;
- a row without variables, which the file formats cannot say, gets a variable
  ``zero`` that is fixed at 0; so does a model without an objective.

Variables are named ``x0``, ``x1``, … and rows ``c0``, ``c1``, … after their
place in the model, which no reader takes for a keyword or a number; a map leads
back to the model's own names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NoReturn

from olivine.solvers.model import LinearModel, Row, Sense, integer_row

LARGEST = 10**15 - 1
"""Greatest absolute value of a number in the form: 15 digits. HiGHS refuses a
coefficient of 1e15 and more, and floating point holds every integer to 2**53."""


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


@dataclass
class IntegerForm:
    """A program to be minimised, equivalent to a model.

    Attributes
    ----------
    variables
        The model's own in their order, then perhaps ``z`` and ``zero``.
    rows
        The model's own in their order, then those that bounds and the
        objective needed.
    objective
        Integer coefficients by variable, never empty, without a constant.
    negated
        Whether the objective is the negative of the model's, which maximises.
    names
        Model's names by short name, of variables and rows; for what was added,
        a description.
    """

    negated: bool
    variables: list[IntegerVariable] = field(default_factory=list)
    rows: list[IntegerRow] = field(default_factory=list)
    objective: dict[int, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    _zero: int | None = None

    def add_variable(self, variable: IntegerVariable, description: str) -> int:
        """Add a variable and return its index."""
        self.variables.append(variable)
        self.names[variable.name] = description
        return len(self.variables) - 1

    def add_row(self, name: str, row: Row, description: str) -> None:
        """Add a row, scaled to coprime integers.

        Raises
        ------
        ValueError
            If one of its numbers is greater than `LARGEST`.
        """
        indices, (coefficients, rhs) = row.indices, integer_row(row)
        if not indices:
            indices, coefficients = (self.zero(),), (1,)
        if max(map(abs, coefficients)) > LARGEST or abs(rhs) > LARGEST:
            _refuse(max(abs(rhs), *map(abs, coefficients)), f"row {description!r}")
        self.rows.append(IntegerRow(name, indices, coefficients, row.sense, rhs))
        self.names[name] = description

    def zero(self) -> int:
        """Return the index of the variable that is fixed at 0."""
        if self._zero is None:
            fixed = IntegerVariable("zero", 0, 0, False)
            self._zero = self.add_variable(fixed, "constant 0")
        return self._zero


def integer_form(model: LinearModel) -> IntegerForm:
    """Bring a model into integers and short names.

    Raises
    ------
    ValueError
        If a row, bound or the objective needs an integer of more than 15
        digits; says which.
    """
    form = IntegerForm(negated=model.maximise)
    bound_rows: list[tuple[str, Row, str]] = []
    for j, variable in enumerate(model.variables):
        lower, upper = variable.lower, variable.upper
        if lower.denominator == upper.denominator == 1:
            low, high = lower.numerator, upper.numerator
        elif variable.integer and math.ceil(lower) <= math.floor(upper):
            low, high = math.ceil(lower), math.floor(upper)
        else:
            low, high = math.floor(lower), math.ceil(upper)
            bound_rows += _bounds_as_rows(j, variable.name, lower, upper)
        if low < -LARGEST or high > LARGEST:
            _refuse(max(-low, high), f"bound of variable {variable.name!r}")
        form.add_variable(
            IntegerVariable(f"x{j}", low, high, variable.integer), variable.name
        )
    for i, row in enumerate(model.rows):
        form.add_row(f"c{i}", row, row.name)
    for name, row, description in bound_rows:
        form.add_row(name, row, description)
    _set_objective(form, model)
    return form


def _bounds_as_rows(
    j: int, name: str, lower: Fraction, upper: Fraction
) -> list[tuple[str, Row, str]]:
    rows: list[tuple[str, Row, str]] = []
    one = (Fraction(1),)
    if lower == upper:
        return [(f"f{j}", Row("", (j,), one, "==", lower), f"value of {name}")]
    if lower.denominator != 1:
        row = Row("", (j,), one, ">=", lower)
        rows.append((f"l{j}", row, f"lower bound of {name}"))
    if upper.denominator != 1:
        row = Row("", (j,), one, "<=", upper)
        rows.append((f"u{j}", row, f"upper bound of {name}"))
    return rows


def _set_objective(form: IntegerForm, model: LinearModel) -> None:
    sign = -1 if model.maximise else 1
    numbers = list(model.objective.values())
    if not model.objective_constant and all(c.denominator == 1 for c in numbers):
        form.objective = {j: sign * int(c) for j, c in model.objective.items()}
        largest = max(map(abs, form.objective.values()), default=0)
        if largest > LARGEST:
            _refuse(largest, "objective")
    else:
        least = greatest = model.objective_constant
        for j, cost in model.objective.items():
            variable = model.variables[j]
            ends = cost * variable.lower, cost * variable.upper
            least, greatest = least + min(ends), greatest + max(ends)
        low, high = math.floor(least), math.ceil(greatest)
        if low < -LARGEST or high > LARGEST:
            _refuse(max(-low, high), "range of the objective")
        z = form.add_variable(
            IntegerVariable("z", low, high, False), "objective of the model"
        )
        definition = Row(
            "",
            (z, *model.objective),
            (Fraction(1), *(-c for c in numbers)),
            "==",
            model.objective_constant,
        )
        form.add_row("cz", definition, "definition of the objective")
        form.objective = {z: sign}
    if not form.objective:
        form.objective = {form.zero(): 1}


def _refuse(number: int, where: str) -> NoReturn:
    digits = int(number.bit_length() * math.log10(2)) + 1
    raise ValueError(
        f"{where}: scaled to integers it has a number of about {digits} digits,"
        " more than the 15 that engines in floating point and files can hold"
    )
