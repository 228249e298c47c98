"""SCIP, where PySCIPOpt is installed; it uses one thread whatever is said."""

from __future__ import annotations

import importlib.util

import pulp

from ...lp import highs
from ...outcome import Answer, LinearOutcome, Status
from . import UNREADABLE, Engine, PulpModel


def _run(model: PulpModel, limit: float | None, threads: int) -> Answer:
    solver = pulp.SCIP_PY(
        msg=False,
        timeLimit=limit,
        gapRel=0.0,
        gapAbs=0.0,
        options=[f"numerics/feastol={highs.TOLERANCE}"],
    )
    model.problem.solve(solver)
    engine = model.problem.solverModel
    verdict = engine.getStatus()
    found = engine.getNSols() > 0
    status = _status(verdict, found=found)
    bound = engine.getDualbound()
    return Answer(
        status,
        model.values() if status in (Status.OPTIMAL, Status.FEASIBLE) else None,
        bound if found and abs(bound) < engine.infinity() else None,
        int(engine.getNTotalNodes()),
        "" if status is Status.OPTIMAL else f"SCIP: {verdict}",
    )


def _status(verdict: str, *, found: bool) -> Status:
    return {
        "optimal": Status.OPTIMAL,
        "infeasible": Status.INFEASIBLE,
        "unbounded": Status.INFEASIBLE_OR_UNBOUNDED,
        "inforunbd": Status.INFEASIBLE_OR_UNBOUNDED,
    }.get(verdict, Status.FEASIBLE if found else Status.UNKNOWN)


def _read(path: str, time_limit: float | None) -> LinearOutcome:
    from pyscipopt import Model  # optional

    model = Model()
    model.hideOutput()
    try:
        model.readProblem(path)
    except Exception:  # PySCIPOpt raises bare ones, with SCIP's code in the text
        return LinearOutcome(Status.UNKNOWN, reason=UNREADABLE)
    model.setParams({"limits/gap": 0.0, "limits/absgap": 0.0})
    model.setParam("numerics/feastol", highs.TOLERANCE)
    if time_limit is not None:
        model.setParam("limits/time", time_limit)
    model.optimize()
    verdict, found = model.getStatus(), model.getNSols() > 0
    status = _status(verdict, found=found)
    if status not in (Status.OPTIMAL, Status.FEASIBLE):
        return LinearOutcome(status, engine="scip", reason=f"SCIP: {verdict}")
    return LinearOutcome(
        status,
        model.getObjVal(),
        tuple(model.getVal(v) for v in model.getVars()),
        0.0,
        "scip",
        bound=model.getDualbound(),
        nodes=int(model.getNTotalNodes()),
        reason="" if status is Status.OPTIMAL else f"SCIP: {verdict}",
    )


ENGINE = Engine(
    "scip",
    lambda: importlib.util.find_spec("pyscipopt") is not None,
    _run,
    "SCIP",
    _read,
)
