"""Independent routes to the optimum of OLIVE's program over a formula's family.

Each route answers on its own, within its own time limit, and says what it vouches for:

=========  ===================================================================
route      what it does, and what that proves
=========  ===================================================================
sat        a SAT solver on the formula as read. Satisfiable: the optimum is 1.
           Unsatisfiable: it is at most the greatest possible optimum below 1.
maxsat     MaxSAT on the formula as read finds the least unsatisfied weight u, or
           bounds of it; Theorem O turns it into the optimum.
milp       a formulation of the program itself in floating point. Its answer
           is rounded to the possible optima and must be attained exactly by
           the certificate back of its solution. That proves a lower bound, so
           an optimum of 1; anything below 1 stays a vote.
brute      the best of all 2^n members by exact planning: no theorem about u.
treewidth  dynamic programming over a tree decomposition of the 3-SAT form finds u,
           in time exponential in the width alone; Theorem O does the rest.
witness    the certificate forward of the best assignment known (a local search
           improves it), checked against every constraint in exact arithmetic:
           a lower bound, and the optimum where an upper bound meets it.
=========  ===================================================================

Routes `sat` and `maxsat` see the original clauses, the others the 3-SAT form,
so that their agreement checks Lemma 1 as well.
"""

from __future__ import annotations

import time
import traceback
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...solvers.child.child import run_in_child
from ...solvers.outcome import SatStatus
from ...solvers.sat.sat import solve_sat
from ...solvers.treewidth import Elimination, TooWideError, solve_by_treewidth
from ..family.family import Instance
from ..formula.formula import ThreeSat
from ..formula.local_search import walksat
from ..program.optimum import optimum as theorem_o
from ..program.optimum import unsatisfied_from_optimum
from ..program.witness import certify
from .members import MAX_VARIABLES, best_member
from .milp_route import milp_route
from .optimise import maxsat_route
from .route import Results, Route, RouteResult, Settings

FLIPS = 100_000
"""Flips of the local search, and 20 more a variable."""


def run_route(
    route: Route, instance: Instance, settings: Settings, earlier: Results
) -> RouteResult:
    """Run one route."""
    start = time.perf_counter()
    try:
        if route == "witness":
            return witness_route(instance, settings, earlier)
        others = {
            "sat": sat_route,
            "maxsat": maxsat_route,
            "milp": milp_route,
            "brute": brute_route,
            "treewidth": treewidth_route,
        }
        return others[route](instance, settings)
    except (MemoryError, OSError) as error:
        reason = str(error) or "out of memory"
        return RouteResult("unknown", time.perf_counter() - start, reason=reason)
    except Exception as error:
        return RouteResult(
            "error",
            time.perf_counter() - start,
            reason=f"{type(error).__name__}: {error}",
            details={"traceback": "".join(traceback.format_exception(error))},
        )


def sat_route(instance: Instance, settings: Settings) -> RouteResult:
    """Decide the formula as read, but for variables left out."""
    family = instance.family
    formula, best = family.three_sat.original, family.parameters.best
    outcome = solve_sat(formula, formula.n_variables, time_limit=settings.limit("sat"))
    if outcome.status is SatStatus.UNKNOWN:
        return RouteResult("unknown", outcome.seconds, reason=outcome.reason)
    if outcome.model is not None:
        return _proved(
            "satisfiable",
            outcome.seconds,
            instance,
            best,
            family.three_sat.extend(outcome.model),
            0,
            unsatisfied=0,
        )
    # Some clause stays unsatisfied, at best the lightest; and the penalty keeps
    # the optimum from falling further.
    lightest = 1 if family.weights is None else int(family.weights.min())
    upper = theorem_o(family.parameters, lightest)
    lower = best - family.penalty
    return RouteResult(
        "unsatisfiable",
        outcome.seconds,
        finished=True,
        value=upper if lower == upper else None,
        satisfiable=False,
        lower=lower,
        upper=upper,
    )


def brute_route(instance: Instance, settings: Settings) -> RouteResult:
    """Plan exactly in every member and take the best."""
    family = instance.family
    if family.layout.n_sides:
        reason = f"no member of variant {family.variant} attains the optimum"
        return RouteResult("unknown", 0.0, reason=reason)
    if family.n_variables > MAX_VARIABLES:
        reason = f"2^{family.n_variables} members; at most 2^{MAX_VARIABLES} are tried"
        return RouteResult("unknown", 0.0, reason=reason)
    result = run_in_child(best_member, family, time_limit=settings.limit("brute"))
    result.raise_error("the brute-force route")
    if result.value is None:
        return RouteResult("unknown", result.seconds, reason=result.message)
    value, y = result.value
    attained = family.three_sat.unsatisfied_weight(y)
    return _proved("optimal", result.seconds, instance, value, y, attained)


def treewidth_route(instance: Instance, settings: Settings) -> RouteResult:
    """Find the least unsatisfied weight of the 3-SAT form, if it is narrow."""
    family = instance.family
    child = run_in_child(
        _over_tree, family.three_sat, time_limit=settings.limit("treewidth")
    )
    child.raise_error("the treewidth route")
    if child.value is None:
        return RouteResult("unknown", child.seconds, reason=child.message)
    if isinstance(child.value, str):
        return RouteResult("unknown", child.seconds, reason=child.value)
    u, assignment, width, _ = child.value
    attained = family.three_sat.unsatisfied_weight(assignment)
    if attained != u:
        raise RuntimeError(f"claims {u} unsatisfied, its assignment leaves {attained}")
    return _proved(
        "optimal",
        child.seconds,
        instance,
        theorem_o(family.parameters, u),
        assignment,
        attained,
        unsatisfied=u,
        details={"width": width},
    )


def _proved(
    status: str,
    seconds: float,
    instance: Instance,
    value: Fraction,
    assignment: NDArray[np.bool_],
    attained: int,
    **found: Any,
) -> RouteResult:
    return RouteResult(
        status,
        seconds,
        finished=True,
        value=value,
        satisfiable=value == instance.family.parameters.best,
        lower=value,
        upper=value,
        assignment=assignment,
        attained=attained,
        **found,
    )


def _over_tree(three_sat: ThreeSat) -> Elimination | str:
    """Solve, in the child; a refusal comes back as its reason."""
    weights = None if three_sat.weights is None else three_sat.weights.tolist()
    try:
        return solve_by_treewidth(
            three_sat.clauses.tolist(), three_sat.n_variables, weights
        )
    except TooWideError as error:
        return str(error)


def witness_route(
    instance: Instance, settings: Settings, earlier: Results
) -> RouteResult:
    """Certify the best assignment known, searching for a better one if needed."""
    start = time.perf_counter()
    family = instance.family
    best = family.parameters.best
    upper = min(
        (r.upper for r in earlier.values() if r.upper is not None), default=best
    )
    known = best_assignment(earlier)
    assignment = (
        np.zeros(family.n_variables, dtype=np.bool_) if known is None else known
    )
    value = certify(family, assignment)
    details: dict[str, Any] = {}
    if value < upper:
        search = walksat(
            family.three_sat,
            settings.rng,
            start=known,
            target=unsatisfied_from_optimum(family.parameters, upper).at_least,
            max_flips=FLIPS + 20 * family.n_variables,
            time_limit=settings.limit("witness"),
        )
        details["flips"] = search.flips
        # No worse than its start, but for the penalty's cap all the same.
        assignment = search.assignment
        value = certify(family, assignment)
    optimal = value == upper
    return RouteResult(
        "optimal" if optimal else "feasible",
        time.perf_counter() - start,
        finished=optimal,
        value=value,
        satisfiable=True if value == best else None,
        lower=value,
        assignment=assignment,
        attained=family.three_sat.unsatisfied_weight(assignment),
        reason="" if optimal else "a lower bound; no route met it from above",
        details=details,
    )


def best_assignment(results: Results) -> NDArray[np.bool_] | None:
    """Return the assignment that leaves least unsatisfied, None if none is known."""
    known = [
        (r.attained, k)
        for k, r in enumerate(results.values())
        if r.assignment is not None and r.attained is not None
    ]
    return list(results.values())[min(known)[1]].assignment if known else None
