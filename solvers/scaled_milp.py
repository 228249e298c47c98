"""HiGHS on rows that no scaling to integers suits, asked directly.

`olivine.solvers.milp` hands engines coprime integers, which keeps short rationals
exact. Rows made of empirical frequencies have integers of eight digits, and a
feasibility tolerance of 1e-9 on those is beyond floating point: HiGHS has then answered
"Solve error", or called points optimal that are not. Here every row is divided by its
largest coefficient instead, and the tolerances are 1e-8. The answer is to be made exact
by `olivine.solvers.milp.confirm`, like any engine's.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import highspy
import numpy as np
from olivine.solvers import highs as engine
from olivine.solvers.child import run_in_child
from olivine.solvers.milp import solve_milp
from olivine.solvers.model import LinearModel, integer_row
from olivine.solvers.outcome import LinearOutcome, Status

TOLERANCE = 1e-8
LONG = 2**14
"""Rows whose integers are larger count as long."""


@dataclass(frozen=True)
class _Answer:
    """What the child sends back."""

    status: Status
    values: tuple[float, ...] | None
    bound: float | None
    nodes: int | None
    reason: str


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
    """Solve a mixed-integer linear program by HiGHS, rows scaled to at most 1.

    Parameters
    ----------
    model
        The program.
    time_limit
        Wall seconds; the process that runs the engine is killed a second (and a
        tenth of the limit) later.

    Returns
    -------
    LinearOutcome
        Never ``exact``; OPTIMAL and INFEASIBLE are the engine's word. Values of
        integer variables are whole.

    Raises
    ------
    ValueError
        If the time limit is negative.
    RuntimeError
        If the adapter fails in the child.
    """
    began = time.monotonic()
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time limit {time_limit} is negative or no number")
    hard = None if time_limit is None else 1.1 * time_limit + 1
    child = run_in_child(_solve, model, time_limit, time_limit=hard)
    if child.status == "error":
        raise RuntimeError(f"highs: {child.message}\n{child.details}")
    answer = child.value
    if answer is None:
        answer = _Answer(Status.UNKNOWN, None, None, None, child.message)
    objective = None
    if answer.values is not None:
        terms = (float(c) * answer.values[j] for j, c in model.objective.items())
        objective = math.fsum((float(model.objective_constant), *terms))
    return LinearOutcome(
        answer.status,
        objective,
        answer.values,
        time.monotonic() - began,
        "highs",
        bound=answer.bound,
        nodes=answer.nodes,
        reason=answer.reason,
    )


def _solve(model: LinearModel, time_limit: float | None) -> _Answer:
    """Run in the child."""
    highs = engine.new_highs()
    engine.set_options(
        highs,
        primal_feasibility_tolerance=TOLERANCE,
        dual_feasibility_tolerance=TOLERANCE,
        mip_feasibility_tolerance=TOLERANCE,
    )
    if time_limit is not None:
        engine.set_options(highs, time_limit=float(time_limit))
    highs.passModel(_as_lp(model))
    status = engine.run(highs)
    info = highs.getInfo()
    known = status in (Status.OPTIMAL, Status.FEASIBLE)
    values = tuple(map(float, highs.getSolution().col_value)) if known else None
    if values is not None:
        values = tuple(
            float(round(x)) if v.integer else x
            for x, v in zip(values, model.variables, strict=True)
        )
    reason = (
        ""
        if status is not Status.UNKNOWN and status is not Status.FEASIBLE
        else (engine.verdict(highs))
    )
    bound = None
    if known and math.isfinite(info.mip_dual_bound):
        sign = -1 if model.maximise else 1
        bound = sign * info.mip_dual_bound + float(model.objective_constant)
    return _Answer(status, values, bound, int(info.mip_node_count), reason)


def _as_lp(model: LinearModel) -> highspy.HighsLp:
    """Write the program, minimised, rows divided by their largest coefficient."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(model.variables), len(model.rows)
    lp.col_cost_ = engine.costs_of(model)
    lp.col_lower_ = np.array([float(v.lower) for v in model.variables])
    lp.col_upper_ = np.array([float(v.upper) for v in model.variables])
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[v.integer] for v in model.variables]
    entries: list[float] = []
    low, high = [], []
    for row in model.rows:
        largest = max(map(abs, row.coefficients), default=1)
        entries += [float(c / largest) for c in row.coefficients]
        right = float(row.rhs / largest)
        low.append(-highspy.kHighsInf if row.sense == "<=" else right)
        high.append(highspy.kHighsInf if row.sense == ">=" else right)
    lp.row_lower_, lp.row_upper_ = np.array(low), np.array(high)
    matrix = lp.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    lengths = [len(row.indices) for row in model.rows]
    matrix.start_ = np.cumsum([0, *lengths], dtype=np.int32)
    matrix.index_ = np.array([j for r in model.rows for j in r.indices], dtype=np.int32)
    matrix.value_ = np.array(entries)
    return lp
