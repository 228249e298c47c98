"""The route through the program itself, as a MILP in floating point.

An engine's solution is made an exact pair, brought back to an assignment and certified
forward: that proves a lower bound, hence an optimum of 1. Its claim that nothing is
better stays a vote. It is told nothing of what other routes found.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...solvers.child.child import run_in_child
from ...solvers.outcome import LinearOutcome, Status
from ..family.family import Family, Instance
from ..program.optimum import round_to_possible
from ..program.program import build
from ..program.solve import solve_program
from ..program.witness import back, certify
from .route import RouteResult, Settings

FAITHFUL_SIZE = 12
STRENGTHENED_SIZE = 80
"""Up to these n + m the MILP is faithful, strengthened; then projected."""

_Solved = tuple[LinearOutcome, NDArray[np.bool_] | None, str]


def formulation_for(family: Family) -> str:
    """Choose the formulation by size: `faithful` where HiGHS solves it in a moment.

    Then `strengthened` for some dozens of clauses, and `projected` above.
    """
    size = family.n_variables + family.n_clauses
    if family.layout.n_sides:
        return "projected"
    if size <= FAITHFUL_SIZE:
        return "faithful"
    return "strengthened" if size <= STRENGTHENED_SIZE else "projected"


def milp_route(instance: Instance, settings: Settings) -> RouteResult:
    """Solve a formulation of the program; believe what its solution attains."""
    start = time.perf_counter()
    family = instance.family
    formulation = settings.formulation or formulation_for(family)
    details = {"engine": settings.engine, "formulation": formulation}

    def result(status: str, **found: Any) -> RouteResult:
        seconds = time.perf_counter() - start
        return RouteResult(status, seconds, details=details, **found)

    limit = settings.limit("milp")
    # A large model takes longer to build than to solve, so that is limited too;
    # the engine needs a moment more to stop in time.
    child = run_in_child(
        _solve,
        family,
        formulation,
        settings.engine,
        limit,
        time_limit=None if limit is None else 1.1 * limit + 1.5,
    )
    child.raise_error("the MILP route")
    if child.value is None:
        return result("unknown", reason=child.message)
    outcome, assignment, fault = child.value
    if assignment is None:
        # Infeasible is a finished answer, and a false one.
        infeasible = outcome.status is Status.INFEASIBLE
        status = "infeasible" if infeasible else "unknown"
        return result(status, finished=infeasible, reason=outcome.reason or fault)
    exact = certify(family, assignment)
    attained = family.three_sat.unsatisfied_weight(assignment)
    lower = {"lower": exact, "assignment": assignment, "attained": attained}
    if exact == family.parameters.best:
        # Nothing is above it: the witness is a proof, whatever the engine says.
        one = {"value": exact, "satisfiable": True, "upper": exact}
        return result("optimal", finished=True, **one, **lower)
    if outcome.status is not Status.OPTIMAL:
        return result("feasible", value=exact, reason=outcome.reason, **lower)
    try:
        value, _ = round_to_possible(family.parameters, outcome.objective or math.nan)
    except ValueError as error:
        return result("unknown", reason=str(error), **lower)
    if exact < value:
        reason = f"claims {value}, but its solution attains {exact} exactly"
        return result("unknown", reason=reason, **lower)
    return result("optimal", finished=True, value=value, **lower)


def _solve(
    family: Family, formulation: str, engine: str, limit: float | None
) -> _Solved:
    """Build and solve, in the child; a solution comes back as an assignment."""
    start = time.perf_counter()
    built = build(family, formulation)
    if limit is not None:
        limit = max(0.0, limit - (time.perf_counter() - start))
    try:
        outcome = solve_program(built, engine=engine, time_limit=limit)
    except OSError as error:  # no room for temporary files, no more processes
        return LinearOutcome(Status.UNKNOWN, None, None, 0.0, ""), None, str(error)
    if outcome.values is None:
        return outcome, None, ""
    try:
        # A point of the model is a pair up to rounding; made exact, it is
        # checked against the program.
        assignment = back(family, built.pair(outcome.values))
    except ValueError as error:
        return outcome, None, f"its solution is no pair: {error}"
    return outcome, assignment, ""
