"""The least unsatisfied weight of the formula as read, by MaxSAT.

Without hard clauses a local search comes first; what it finds is the first upper bound
of the race in `olivine.solvers.sat.maxsat`, where RC2 competes with searches for less.
That nothing is better is the engine's word. `optimise` checks the assignment's pair
(g, π) against every constraint of OLIVE's program and the value that Theorem O gives
the weight, and reads the answer back off the pair.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...solvers.outcome import MaxSatOutcome, SatStatus
from ...solvers.sat.maxsat import Better, solve_maxsat
from ..family.family import Instance
from ..formula.formula import ThreeSat
from ..formula.local_search import least_by_trying, walksat
from ..formula.prepare import Hardened
from ..program.optimum import back, forward
from ..program.optimum import optimum as theorem_o
from .route import RouteResult, Settings

_FLIPS = 2_000
_FLIPS_A_VARIABLE = 100
_SEARCH_UP_TO = 100_000
"""Clauses; to set the search up takes longer than RC2 for more."""
_FURTHER_FLIPS = 100_000
"""Less than a second, where RC2 has not ended in half of one."""


def least_unsatisfied(
    instance: Instance,
    rng: np.random.Generator,
    *,
    hard: NDArray[np.bool_] | None = None,
    better: Better = lambda cost, model: None,
    time_limit: float | None = None,
) -> MaxSatOutcome:
    """Search, then race, on the formula as read but for variables left out.

    `hard`: the clauses that must hold, bool, shape (m,). `better` gets each better
    model.
    """
    start = time.monotonic()
    family = instance.family
    formula = family.three_sat.original
    known = further = None
    if formula.n_clauses <= _SEARCH_UP_TO and (hard is None or not hard.any()):
        search = walksat(
            family.three_sat,
            rng,
            target=least_by_trying(family.three_sat),
            max_flips=_FLIPS + _FLIPS_A_VARIABLE * family.n_variables,
            time_limit=time_limit,
        )
        known = search.assignment[: formula.n_variables]
        further = partial(_search, family.three_sat, rng)
    return solve_maxsat(
        formula,
        formula.n_variables,
        formula.weights,
        hard=hard,
        known=known,
        search=further,
        better=better,
        time_limit=time_limit,
        since=start,
    )


def maxsat_route(instance: Instance, settings: Settings) -> RouteResult:
    """Find the least unsatisfied weight of the formula as read, or bounds of it."""
    start = time.perf_counter()
    family = instance.family
    outcome = least_unsatisfied(
        instance, settings.rng, time_limit=settings.limit("maxsat")
    )
    seconds = time.perf_counter() - start
    if outcome.cost is None or outcome.model is None:
        return RouteResult("unknown", seconds, reason=outcome.reason)
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
        reason=outcome.reason,
        details={"engine": outcome.engine} if optimal else bounds,
    )


def _search(
    three_sat: ThreeSat, rng: np.random.Generator, best: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Search on from an assignment of the formula as read; never to a worse one."""
    found = walksat(
        three_sat, rng, start=three_sat.extend(best), max_flips=_FURTHER_FLIPS
    )
    return found.assignment[: three_sat.original.n_variables]


@dataclass(frozen=True, eq=False)
class Optimum:
    """What is known of the least unsatisfied weight."""

    # "optimal"; "feasible", a limit was reached with an assignment known;
    # "unsatisfiable", the hard clauses conflict; or "unknown"
    status: str
    cost: int | None = None  # weight of the soft clauses that `assignment` leaves
    assignment: NDArray[np.bool_] | None = None  # best known, of the formula as read
    value: Fraction | None = None  # Exact g(s0) of its pair
    remarks: tuple[str, ...] = ()  # What happened on the way, for people


def optimise(
    instance: Instance,
    hardened: Hardened | None = None,
    *,
    remarks: tuple[str, ...] = (),
    better: Better = lambda cost, assignment: None,
    time_limit: float | None = None,
) -> Optimum:
    """Find the least unsatisfied weight; `remarks` on what went before.

    `better` is called with each better cost, and its assignment for `shown`.
    """
    outcome = least_unsatisfied(
        instance,
        np.random.default_rng(0),
        hard=None if hardened is None else hardened.original.hard,
        better=better,
        time_limit=time_limit,
    )
    unknown = outcome.status is SatStatus.UNKNOWN
    if unknown:
        reason = f"{outcome.engine}: {outcome.reason}; at least {outcome.lower}"
        remarks = (*remarks, reason)
    if outcome.model is None or outcome.cost is None:
        return Optimum("unknown" if unknown else "unsatisfiable", remarks=remarks)
    status = "feasible" if unknown else "optimal"
    return shown(instance, outcome.cost, outcome.model, status, remarks)


def shown(
    instance: Instance,
    cost: int,
    model: NDArray[np.bool_],
    status: str,
    remarks: tuple[str, ...],
) -> Optimum:
    """Show a cost by an assignment's pair, and read the assignment off the pair."""
    pair = forward(instance.family, instance.family.three_sat.extend(model))
    assignment = instance.restrict(back(instance.family, pair))  # checks the pair
    value = pair.value(instance.family.start)
    if value != theorem_o(instance.family.parameters, cost):
        raise RuntimeError(f"weight {cost} gives a pair of value {value}")
    attained = instance.formula.unsatisfied_weight(assignment)
    if attained != cost:
        raise RuntimeError(f"the pair's assignment has {attained}, not {cost}")
    return Optimum(status, cost, assignment, value, remarks)
