"""SCIP, where PySCIPOpt is installed; it uses one thread whatever is said."""

from __future__ import annotations

import importlib.util

import pulp
from olivine.solvers import highs
from olivine.solvers.engines import Engine
from olivine.solvers.outcome import Answer, Status
from olivine.solvers.pulp_adapter import PulpModel


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
    status = {
        "optimal": Status.OPTIMAL,
        "infeasible": Status.INFEASIBLE,
        "unbounded": Status.INFEASIBLE_OR_UNBOUNDED,
        "inforunbd": Status.INFEASIBLE_OR_UNBOUNDED,
    }.get(verdict, Status.FEASIBLE if found else Status.UNKNOWN)
    bound = engine.getDualbound()
    return Answer(
        status,
        model.values() if status in (Status.OPTIMAL, Status.FEASIBLE) else None,
        bound if found and abs(bound) < engine.infinity() else None,
        int(engine.getNTotalNodes()),
        "" if status is Status.OPTIMAL else f"SCIP: {verdict}",
    )


ENGINE = Engine("scip", lambda: importlib.util.find_spec("pyscipopt") is not None, _run)
