"""What every formulation gives: a linear model and the way back from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....algorithms.mdp.bellman import Pair
from ....algorithms.olive.program import Form
from ....solvers.model import LinearModel
from ...family.family import Family
from ..witness import forward

Values = Sequence[Fraction] | Sequence[float]
"""A point of a model: one value a variable, exact or an engine's floats."""


@dataclass(frozen=True, eq=False)
class ReductionModel(ABC):
    """A mixed-integer linear model of OLIVE's program over a family.

    Attributes
    ----------
    family
        The family.
    formulation
        "faithful", "strengthened" or "projected".
    form
        "value-policy" or "q-function".
    model
        The model. Its objective, a variable or an affine expression, is g(s0)
        itself, maximised and never scaled.
    """

    family: Family
    formulation: str
    form: Form
    model: LinearModel

    @abstractmethod
    def assignment(self, values: Values) -> NDArray[np.bool_]:
        """Read an assignment off a point of the model.

        Parameters
        ----------
        values
            One value a variable of the model; those of integer variables may
            be a little off.

        Returns
        -------
        numpy.ndarray
            bool, shape (n,), values of the variables of the 3-SAT form. If the
            point is feasible up to rounding, its certificate (`forward`) is
            worth at least the objective of the point (up to rounding).
        """

    def pair(self, values: Values) -> Pair:
        """Read a pair off a point of the model, exactly feasible for the program.

        Parameters
        ----------
        values
            As for `assignment`.

        Returns
        -------
        Pair
            Its g(s0) is at least the objective of the point, up to rounding; so
            it is optimal if the point is.

        Raises
        ------
        ValueError
            If there is not one value a variable, or no feasible pair near the
            point.
        """
        return forward(self.family, self.assignment(values))

    @abstractmethod
    def point(self, assignment: ArrayLike) -> list[Fraction]:
        """Exact point of the model that says the same as ``forward`` of it.

        Parameters
        ----------
        assignment
            n truth values.

        Returns
        -------
        list
            One value a variable; feasible, and its objective is g(s0) of the
            certificate. (Hence a start for an engine.)

        Raises
        ------
        ValueError
            If `assignment` is not n truth values.
        """

    def lean(self) -> LinearModel:
        """Return a model of the same optimum that engines solve faster.

        Returns
        -------
        LinearModel
            A relaxation in the same variables. `assignment` reads its points, too,
            and keeps its contract.
        """
        return self.model

    def _changed(self, **parts: Any) -> LinearModel:
        """Return the model with other variables or rows, both as lists."""
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
