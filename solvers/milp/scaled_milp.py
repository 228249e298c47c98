"""HiGHS on rows that no scaling to integers suits, asked directly.

Rows of empirical frequencies have integers of eight digits, on which a feasibility
tolerance of 1e-9 is beyond floating point: HiGHS has then answered "Solve error", or
called points optimal that are not. Here every row is divided by its largest
coefficient, and the tolerances are 1e-8. `olivine.solvers.milp.milp.confirm` makes the
answer exact.
"""

from __future__ import annotations

import math
import time

import highspy
import numpy as np

from ..child.child import run_in_child
from ..lp import highs as engine
from ..model.model import LinearModel, Row, integer_row
from ..outcome import LinearOutcome, Status
from .milp import solve_milp

TOLERANCE = 1e-8
LONG = 2**14
"""Rows whose integers are larger count as long."""


def has_long_rows(model: LinearModel) -> bool:
    """Whether some row has integers that tight tolerances are too much for."""
    for row in model.rows:
        integers, rhs = integer_row(row)
        if max(abs(rhs), *map(abs, integers), 0) > LONG:
            return True
    return False


def propose(
    model: LinearModel, engine_name: str = "highs", time_limit: float | None = None
) -> LinearOutcome:
    """Solve by `milp.solve_milp`, or scaled where HiGHS meets long rows."""
    if engine_name == "highs" and has_long_rows(model):
        return solve_scaled_milp(model, time_limit=time_limit)
    return solve_milp(model, engine=engine_name, time_limit=time_limit)


def solve_scaled_milp(
    model: LinearModel, *, time_limit: float | None = None
) -> LinearOutcome:
    """Solve a mixed-integer linear program by HiGHS, rows scaled to at most 1."""
    began = time.monotonic()
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time limit {time_limit} is negative or no number")
    hard = None if time_limit is None else 1.1 * time_limit + 1
    child = run_in_child(_solve, model, time_limit, time_limit=hard)
    child.raise_error("highs")
    outcome = child.value or LinearOutcome(Status.UNKNOWN, reason=child.message)
    return outcome._replace(seconds=time.monotonic() - began, engine="highs")


def _solve(model: LinearModel, time_limit: float | None) -> LinearOutcome:
    highs = engine.new_highs()
    engine.set_options(
        highs,
        primal_feasibility_tolerance=TOLERANCE,
        dual_feasibility_tolerance=TOLERANCE,
        mip_feasibility_tolerance=TOLERANCE,
    )
    if time_limit is not None:
        engine.set_options(highs, time_limit=float(time_limit))
    engine.load(highs, model, _at_most_one)
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    size = len(model.variables)
    types = np.array([kinds[v.integer] for v in model.variables])
    engine.demand(
        highs.changeColsIntegrality(size, np.arange(size, dtype=np.int32), types)
    )
    status = engine.run(highs)
    info = highs.getInfo()
    limited = status in (Status.UNKNOWN, Status.FEASIBLE)
    outcome = LinearOutcome(
        status,
        nodes=int(info.mip_node_count),
        reason=engine.verdict(highs) if limited else "",
    )
    if status not in (Status.OPTIMAL, Status.FEASIBLE):
        return outcome
    values = tuple(
        float(round(x) if v.integer else x)
        for x, v in zip(highs.getSolution().col_value, model.variables, strict=True)
    )
    bound = None
    if math.isfinite(info.mip_dual_bound):
        sign = -1 if model.maximise else 1
        bound = sign * info.mip_dual_bound + float(model.objective_constant)
    objective = model.float_objective(values)
    return outcome._replace(objective=objective, values=values, bound=bound)


def _at_most_one(row: Row) -> engine.ScaledRow:
    largest = max(map(abs, row.coefficients), default=1)
    entries = [float(c / largest) for c in row.coefficients]
    return engine.sided(row, entries, float(row.rhs / largest), float(1 / largest))
