"""OLIVE's program over a family as a mixed-integer linear model.

The formulations `faithful`, `strengthened` and `projected` have the same optimum and
know more and more of formulas (docs/formulations.md), in two forms: "value-policy" over
pairs (g, π), "q-function" over Q-functions f. `olivine.reduction.program.solve` solves
them fastest.

>>> from olivine.reduction.family.family import Family
>>> from olivine.reduction.formula.formula import Formula
>>> from olivine.reduction.program.program import build
>>> from olivine.solvers.milp.milp import solve_milp
>>> family = Family(Formula.from_clauses([[1], [-1]]).three_sat())
>>> built = build(family, "strengthened")
>>> outcome = solve_milp(built.model)
>>> round(outcome.objective, 6)
0.833333
>>> built.pair(outcome.values).value(family.start)
Fraction(5, 6)
"""

from __future__ import annotations

from fractions import Fraction

from ...algorithms.exact.arrays import check_choice, check_type
from ...algorithms.olive_program.program import Form
from ..family.family import Family
from .formulations import FORMULATIONS
from .formulations.faithful import faithful
from .formulations.projected import projected
from .formulations.reduction_model import ReductionModel
from .formulations.strengthened import strengthened

__all__ = ["FORMS", "FORMULATIONS", "ReductionModel", "build"]

FORMS: tuple[Form, ...] = ("value-policy", "q-function")


def build(
    family: Family,
    formulation: str = "faithful",
    form: str = "value-policy",
    tolerance: Fraction | int = 0,
    lower: Fraction | int = 0,
    upper: Fraction | int | None = None,
) -> ReductionModel:
    """Write OLIVE's program over a family as a linear model.

    Parameters
    ----------
    family
    formulation, form
        One of `FORMULATIONS`, of `FORMS`.
    tolerance
        φ >= 0, on the absolute average Bellman errors.
    lower, upper
        Range of g (and f); the upper ends are the variant's by default.

    Returns
    -------
    ReductionModel
        The model and the way back from its points.

    Raises
    ------
    ValueError
        If a name is unknown or a parameter out of range; or for a tolerance or another
        range than the variant's with `strengthened` or `projected`.
    """
    check_type("family", family, Family, "Family")
    chosen = next((known for known in FORMS if known == form), None)
    if chosen is None:
        raise ValueError(f"unknown form {form!r}: choose from {', '.join(FORMS)}")
    if formulation == "faithful":
        return faithful(family, chosen, tolerance, lower, upper)
    check_choice("formulation", formulation, FORMULATIONS)
    if tolerance != 0:
        raise ValueError(
            f"formulation {formulation} needs tolerance 0, got {tolerance}: it "
            "declares literal values integral, which loses nothing for tolerance 0 "
            "only (vertex lemma); use faithful"
        )
    own = family.ranges()
    if lower != 0 or upper not in (None, own):
        needed = "in [0, 1]" if own == 1 else f"in the ranges of {family.variant}"
        raise ValueError(
            f"formulation {formulation} needs values {needed}, got [{lower}, "
            f"{1 if upper is None else upper}]: its bounds and cut rest on that; use "
            "faithful"
        )
    if formulation == "strengthened":
        return strengthened(family, chosen)
    return projected(family, chosen)
