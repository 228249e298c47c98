"""The way back from any solver: what a solution of a written program proves.

The point is first held against the program's own rows, within an engine's tolerances,
then made a pair (g, π) checked in rationals, an assignment, and a certificate. Its
exact value is a lower bound, and the optimum where it is that of a satisfiable formula.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...solvers.milp.solutions import Solution
from ...solvers.model.integer_form import IntegerForm
from .formulations.reduction_model import ReductionModel
from .optimum import round_to_possible
from .witness import back, certify, check

_NEAR = 1e-5
"""Relative error of a solver's numbers: some print six digits."""


class Extracted(NamedTuple):
    """What a solution proves."""

    proves: str  # "optimum", "bound" or "nothing"
    reason: str  # Why it is no more
    pair_value: Fraction | None = None  # g(s0) of the exact pair
    value: Fraction | None = None  # Of the assignment's certificate; at least that
    unsatisfied: int | None = None  # Weight that the assignment leaves
    assignment: NDArray[np.bool_] | None = None  # Of the 3-SAT form's variables


def extract(built: ReductionModel, form: IntegerForm, found: Solution) -> Extracted:
    """Judge a solution of the program that `form` is the integer form of.

    Raises ValueError where the values do not give the objective that the file says.
    """
    if found.values is None or found.objective is None:
        says = f": {found.solver} says {found.status!r}" if found.status else ""
        if found.status == "Status unknown":
            says += " (-solve must come before -solution)"
        return Extracted("nothing", f"there is no point{says}")
    given = sum(c * float(found.values[j]) for j, c in form.objective.items())
    if not abs(given - found.objective) <= _NEAR * max(1.0, abs(found.objective)):
        raise ValueError(
            f"{found.place}: the values have the objective {given:.9g}, and the file "
            f"says {found.objective:.9g}: truncated, or of another program"
        )
    point = found.values.copy()
    if fault := form.fault(point, _NEAR):
        return Extracted("nothing", f"no point of the program: {fault}")
    family = built.family
    values = point[: form.own].tolist()
    try:
        pair = built.pair(values)
        exact = check(family, pair)
        assignment = back(family, pair)
    except ValueError as error:
        return Extracted("nothing", f"no pair is near it: {error}")
    value = certify(family, assignment)
    left = family.three_sat.unsatisfied_weight(assignment)
    proved = exact, value, left, assignment
    if value == family.parameters.best:
        return Extracted("optimum", "no formula gives more", *proved)
    claim = -found.objective if form.negated else found.objective
    if float(value) < claim - _NEAR:
        reason = f"the solver's {claim:.9g} is not attained by an exact pair"
    elif found.optimal:
        reason = "that nothing is better is the solver's word" + _doubt(built, claim)
    else:
        reason = "the solver does not say that nothing is better"
    return Extracted("bound", reason, *proved)


def _doubt(built: ReductionModel, claim: float) -> str:
    """Say what else the solver's optimum could be, read within its tolerances."""
    try:
        round_to_possible(built.family.parameters, claim)
    except ValueError as error:
        return f", in floating point: {error}"
    return ", in floating point"
