"""What every formulation gives: a linear model and the way back from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....algorithms.mdp.planning import Pair
from ....algorithms.olive_program.program import Form
from ....solvers.model import LinearModel
from ...family.family import Family
from ..witness import forward

Values = Sequence[Fraction] | Sequence[float]
"""A point of a model: one value a variable, exact or an engine's floats."""


@dataclass(frozen=True, eq=False)
class ReductionModel(ABC):
    """A mixed-integer linear model of OLIVE's program over a family."""

    family: Family  # The family
    formulation: str  # "faithful", "strengthened" or "projected"
    form: Form  # "value-policy" or "q-function"
    # The model. Its objective, a variable or an affine expression, is g(s0) itself,
    # maximised and never scaled.
    model: LinearModel

    @abstractmethod
    def assignment(self, values: Values) -> NDArray[np.bool_]:
        """Read an assignment off a point of the model.

        Gives bool, shape (n,), values of the variables of the 3-SAT form. If the point
        is feasible up to rounding, its certificate (`forward`) is worth at least the
        objective of the point (up to rounding).
        """

    def pair(self, values: Values) -> Pair:
        """Read a pair off a point of the model, exactly feasible for the program."""
        return forward(self.family, self.assignment(values))

    @abstractmethod
    def point(self, assignment: ArrayLike) -> list[Fraction]:
        """Exact point of the model that says the same as ``forward`` of it."""

    def lean(self) -> LinearModel:
        """Return a model of the same optimum that engines solve faster."""
        return self.model

    def _changed(self, **parts: Any) -> LinearModel:
        names = {"variables", "rows"} - parts.keys()
        kept = {name: list(getattr(self.model, name)) for name in names}
        return LinearModel(**vars(self.model) | kept | parts)

    def _check_length(self, values: Values) -> None:
        if len(values) != len(self.model.variables):
            raise ValueError(
                f"{len(values)} values for a model of "
                f"{len(self.model.variables)} variables"
            )


def clause_weights(family: Family) -> list[int]:
    """Weight of each clause, 1 each without weights."""
    if family.weights is None:
        return [1] * family.n_clauses
    weights: list[int] = family.weights.tolist()
    return weights
