"""OLIVE's program over a family as a mixed-integer linear model: built, solved, read.

The formulations `faithful`, `strengthened` and `projected` have the same optimum and
know more and more of formulas (docs/formulations.md), in two forms: "value-policy" over
pairs (g, π), "q-function" over Q-functions f.

`solve_program` is the fastest way to solve one: `strengthened` and `projected` get a
start (from a local search, checked exactly), a cut-off (the next possible optimum above
the start's: Theorem O) and a lean model. Where the engine finds no point beyond the
cut-off, the start is optimal by its word. `faithful` goes to the engine as it stands:
the reference takes nothing for granted that formulas imply.

`extract` is the way back from any solver. Its point is first held against the program's
own rows, within an engine's tolerances, then made a pair checked in rationals, an
assignment, and a certificate, whose exact value is a lower bound, and the optimum where
it is that of a satisfiable formula.

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

import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.exact.arrays import check_choice, check_type
from ...algorithms.olive_program.program import Form
from ...solvers.milp.milp import solve_milp
from ...solvers.milp.solutions import Solution
from ...solvers.model import LinearModel
from ...solvers.model.integer_form import IntegerForm
from ...solvers.outcome import LinearOutcome, Status
from ..family.family import Family
from ..formula.local_search import least_by_trying, walksat
from . import FORMULATIONS
from .optimum import back, certify, check, least_better, round_to_possible
from .projected import projected
from .reduction_model import ReductionModel, clause_weights, faithful
from .strengthened import strengthened

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


_FLIPS = 20_000


def solve_program(
    built: ReductionModel,
    *,
    engine: str = "highs",
    time_limit: float | None = None,
    known: ArrayLike | None = None,
) -> LinearOutcome:
    """Solve a formulation of OLIVE's program, by one thread.

    `time_limit`: wall seconds for the start and the engine. `known`: an assignment to
    start from, by default the best of a short local search; `faithful` takes none.
    """
    begin = time.monotonic()
    if built.formulation == "faithful":
        return solve_milp(built.model, engine=engine, time_limit=time_limit)
    family, model = built.family, built.model
    if known is None:
        known = start_of(family, time_limit)
    point = built.point(known)
    if fault := next(iter(model.violations(point)), None):
        raise RuntimeError(f"the start misses {fault[0]} by {fault[1]}")
    value = model.objective_value(point)
    asked = with_cut_off(built.lean(), family, value)
    if time_limit is not None:
        time_limit = max(0.0, time_limit - (time.monotonic() - begin))
    outcome = solve_milp(asked, engine=engine, time_limit=time_limit)
    if outcome.values is not None:
        better = built.point(built.assignment(outcome.values))
        found = outcome._replace(values=tuple(map(float, better)))
    elif outcome.status is Status.INFEASIBLE:
        found = _start(outcome._replace(bound=value), Status.OPTIMAL, point, value)
    else:
        found = _start(outcome, Status.FEASIBLE, point, value)
    return found._replace(seconds=time.monotonic() - begin)


def start_of(family: Family, time_limit: float | None = None) -> NDArray[np.bool_]:
    """Search locally, for a moment, for an assignment to start from."""
    search = walksat(
        family.three_sat,
        np.random.default_rng(0),
        target=least_by_trying(family.three_sat),
        max_flips=_FLIPS,
        time_limit=time_limit,
    )
    return search.assignment


def with_cut_off(model: LinearModel, family: Family, value: Fraction) -> LinearModel:
    """Ask a formulation for what is better than a value that is attained."""
    asked = replace(model, rows=list(model.rows))
    unit = math.gcd(*clause_weights(family))
    least = least_better(family.parameters, value, unit) - model.objective_constant
    terms = model.objective
    asked.add_row(list(terms), list(terms.values()), ">=", least, "cut-off")
    return asked


def _start(
    outcome: LinearOutcome, status: Status, point: list[Fraction], value: Fraction
) -> LinearOutcome:
    """Say that the start is the best point known."""
    reason = outcome.reason
    if status is Status.FEASIBLE and not reason:
        reason = f"{outcome.engine} says {outcome.status.value}"
    return outcome._replace(
        status=status,
        objective=float(value),
        values=tuple(map(float, point)),
        # The engine's is one on what is better than the start.
        bound=None if outcome.bound is None else float(max(outcome.bound, value)),
        reason=reason,
    )


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
