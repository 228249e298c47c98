"""HiGHS: always here, asked itself what became of a program."""

from __future__ import annotations

import math
from typing import Any

import highspy
import pulp

from ...lp import highs
from ...outcome import Answer, LinearOutcome, Status
from . import UNREADABLE, Engine, PulpModel


def _run(model: PulpModel, limit: float | None, threads: int) -> Answer:
    highs.forget_threads()
    solver = pulp.HiGHS(
        msg=False,
        timeLimit=limit,
        gapRel=0.0,
        gapAbs=0.0,
        threads=threads,
        primal_feasibility_tolerance=highs.TOLERANCE,
        dual_feasibility_tolerance=highs.TOLERANCE,
        mip_feasibility_tolerance=highs.TOLERANCE,
    )
    model.problem.solve(solver)
    engine = model.problem.solverModel
    status = highs.status_of(engine)
    found = status in (Status.OPTIMAL, Status.FEASIBLE)
    values = model.values() if found else None
    return Answer(status, values, **_told(engine, status))


def _told(engine: highspy.Highs, status: Status) -> dict[str, Any]:
    info = engine.getInfo()
    mixed = info.mip_node_count >= 0  # else it ran as a linear program
    bound = info.mip_dual_bound if mixed else engine.getObjectiveValue()
    proved = (mixed or status is Status.OPTIMAL) and math.isfinite(bound)
    return {
        "bound": bound if proved else None,
        "nodes": int(info.mip_node_count) if mixed else None,
        "reason": "" if status is Status.OPTIMAL else highs.verdict(engine),
    }


def _read(path: str, time_limit: float | None) -> LinearOutcome:
    highs.forget_threads()
    engine = highs.new_highs()
    if engine.readModel(path) == highspy.HighsStatus.kError:
        return LinearOutcome(Status.UNKNOWN, reason=UNREADABLE)
    if time_limit is not None:
        highs.set_options(engine, time_limit=engine.getRunTime() + time_limit)
    status = highs.run(engine)
    if status not in (Status.OPTIMAL, Status.FEASIBLE):
        reason = highs.verdict(engine) if status is Status.UNKNOWN else ""
        return LinearOutcome(status, engine="highs", reason=reason)
    return LinearOutcome(
        status,
        engine.getObjectiveValue(),
        tuple(map(float, engine.getSolution().col_value)),
        engine="highs",
        **_told(engine, status),
    )


ENGINE = Engine("highs", lambda: True, _run, "HiGHS", _read)
