"""Solve OLIVE's program over a family by a MILP engine, with what is known of it.

`strengthened` and `projected` get a start (from a local search, checked exactly), a
cut-off (the next possible optimum above the start's: Theorem O) and a lean model
(docs/formulations.md). Where the engine finds no point beyond the cut-off, the start is
optimal by its word. `faithful` goes to the engine as it stands: the reference takes
nothing for granted that formulas imply.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...solvers.milp.milp import solve_milp
from ...solvers.model import LinearModel
from ...solvers.outcome import LinearOutcome, Status
from ..family.family import Family
from ..formula.local_search import least_by_trying, walksat
from .formulations.reduction_model import ReductionModel, clause_weights
from .optimum import least_better

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
