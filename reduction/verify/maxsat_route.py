"""The route by MaxSAT: the least unsatisfied weight of the formula as read.

A local search comes first; what it finds is the upper bound of the race in
`olivine.solvers.maxsat`. There RC2 competes with refutations of "less is unsatisfied",
in the clauses that a certificate is proved over (F_k of docs/certificate.md).
"""

from __future__ import annotations

import time
from functools import partial

from olivine.reduction.certificate.certificate import as_checked
from olivine.reduction.certificate.checker import bound_formula
from olivine.reduction.family.instance import Instance
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.local_search import walksat
from olivine.reduction.program.optimum import optimum as theorem_o
from olivine.reduction.verify.route import RouteResult, Settings
from olivine.solvers.maxsat import solve_maxsat
from olivine.solvers.outcome import SatStatus

_FLIPS = 2_000
_FLIPS_A_VARIABLE = 100
_SEARCH_UP_TO = 100_000
"""Clauses; to set the search up takes longer than RC2 for more."""


def maxsat_route(instance: Instance, settings: Settings) -> RouteResult:
    """Find the least unsatisfied weight of the formula as read, or bounds of it."""
    start = time.perf_counter()
    family, limit = instance.family, settings.limit("maxsat")
    formula = family.three_sat.original
    known = None
    if formula.n_clauses <= _SEARCH_UP_TO:
        n = family.n_variables
        search = walksat(
            family.three_sat,
            settings.rng,
            max_flips=_FLIPS + _FLIPS_A_VARIABLE * n,
            time_limit=limit,
        )
        known = search.assignment[: formula.n_variables]
    outcome = solve_maxsat(
        formula,
        formula.n_variables,
        formula.weights,
        known=known,
        bounded=partial(bounded, formula),
        time_limit=limit and max(0.0, limit - (time.perf_counter() - start)),
    )
    seconds = time.perf_counter() - start
    reason = outcome.reason
    if reason.startswith("time limit"):  # the race had what the search left
        reason = f"time limit of {limit:g} s reached"
    if outcome.cost is None or outcome.model is None:
        return RouteResult("unknown", seconds, reason=reason)
    value = theorem_o(family.parameters, outcome.cost)
    assignment = family.three_sat.extend(outcome.model)
    optimal = outcome.status is SatStatus.SATISFIABLE
    satisfiable = outcome.cost == 0 if optimal else None
    bounds = {"at_least": outcome.lower, "at_most": outcome.cost}
    return RouteResult(
        "optimal" if optimal else "feasible",
        seconds,
        finished=optimal,
        value=value,
        satisfiable=False if outcome.lower else satisfiable,
        unsatisfied=outcome.cost if optimal else None,
        lower=value,
        upper=theorem_o(family.parameters, outcome.lower),
        assignment=assignment,
        attained=family.three_sat.unsatisfied_weight(assignment),
        reason=reason,
        details={"engine": outcome.engine} if optimal else bounds,
    )


def bounded(formula: Formula, cost: int) -> tuple[list[list[int]], int]:
    """Say in clauses that less than `cost` is unsatisfied; see `solve_maxsat`."""
    bound = bound_formula(as_checked(formula), cost)
    return bound.clauses, bound.n
