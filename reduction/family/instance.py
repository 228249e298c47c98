"""A formula together with the family of its 3-SAT form."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..formula.formula import Formula
from ..formula.prepare import Used, as_formula, without_unused
from .family import Family
from .variants import Variant

if TYPE_CHECKING:
    from pysat.formula import CNF, WCNF


@dataclass(frozen=True)
class Instance:
    """What the main job is about."""

    formula: Formula  # The formula as read. It has no hard clauses.
    family: Family  # The family of MDPs of its 3-SAT form, ``family.three_sat``
    used: Used | None = None  # what the form is of, if variables are unused

    @classmethod
    def of(
        cls,
        source: Formula | CNF | WCNF,
        variant: Variant | str = Variant.PAPER,
        penalty: Fraction | int | None = None,
    ) -> Instance:
        """Bring a formula to 3-SAT form and build its family."""
        formula = as_formula(source)
        if formula.hard is not None and formula.hard.any():
            count = int(formula.hard.sum())
            clauses = "1 hard clause" if count == 1 else f"{count} hard clauses"
            raise ValueError(
                f"{clauses}: the family is defined for soft clauses only; "
                "olivine.reduction.formula.prepare gives them weights"
            )
        used = without_unused(formula)
        clauses_of = formula if used is None else used.formula
        return cls(formula, Family(clauses_of.three_sat(), variant, penalty), used)

    def restrict(self, assignment: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Bring an assignment of the 3-SAT form back to the formula as read."""
        values = self.family.three_sat.restrict(assignment)
        return values if self.used is None else self.used.extend(values)
