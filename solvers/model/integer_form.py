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

from dataclasses import dataclass, field, replace
from itertools import chain

from .flat_form import FlatForm, IntegerRow
from .model import LinearModel

__all__ = ["IntegerForm", "IntegerRow", "IntegerVariable", "integer_form"]


@dataclass(frozen=True, slots=True)
class IntegerVariable:
    """A variable with whole bounds."""

    name: str
    lower: int
    upper: int
    integer: bool


@dataclass
class IntegerForm:
    """A program to be minimised, equivalent to a model."""

    # Whether the objective is the negative of the model's, which maximises
    negated: bool
    # The model's own in their order, then perhaps ``z`` and ``zero``
    variables: list[IntegerVariable] = field(default_factory=list)
    # The model's own in their order, then those that bounds and the objective needed
    rows: list[IntegerRow] = field(default_factory=list)
    # Integer coefficients by variable, never empty, without a constant
    objective: dict[int, int] = field(default_factory=dict)
    # Model's names by short name, of variables and rows; for what was added, a
    # description
    names: dict[str, str] = field(default_factory=dict)


def integer_form(model: LinearModel) -> IntegerForm:
    """Bring a model into integers and short names."""
    flat = FlatForm(model)
    return IntegerForm(
        flat.negated,
        [
            IntegerVariable(flat.variable_name(j), v.lower, v.upper, v.integer)  # type: ignore[arg-type]
            for j, v in enumerate(flat.variables)
        ],
        [
            replace(row, name=name)
            for row, (name, _) in zip(
                flat.rows, chain.from_iterable(flat.row_names()), strict=True
            )
        ],
        flat.objective,
        dict(flat.names.items()),
    )
