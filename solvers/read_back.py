"""Read an LP or MPS file with an engine and solve what it read.

This is how a written file is checked: by the engines' own readers, not by
PuLP's or ours. HiGHS reads through highspy, CBC through its command line, SCIP
through PySCIPOpt.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import highspy
from olivine.solvers import highs, pulp_adapter
from olivine.solvers.child import run_in_child
from olivine.solvers.outcome import LinearOutcome, Status
from olivine.solvers.temporary import scratch_folder

_UNREADABLE = "unreadable"


def read_optimum(
    path: str | os.PathLike[str],
    engine: str = "highs",
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
) -> LinearOutcome:
    """Solve the program in an LP or MPS file.

    Parameters
    ----------
    path
        The name ends in ``.lp`` or ``.mps``, by which engines know the format.
    engine
        One of `available_engines()`.
    time_limit, memory_limit
        As in `olivine.solvers.milp.solve_milp`.

    Returns
    -------
    LinearOutcome
        Of the file's program in its own sense: where `olivine.solvers.program_files`
        wrote a maximisation, the objective is the negative of the model's.
        Values are in the order in which the engine met the columns. Never
        ``exact``; gaps are 0.

    Raises
    ------
    ValueError
        If the engine is not available, the name ends in neither, or the engine
        cannot read the file.
    OSError
        If the file cannot be opened.
    RuntimeError
        If the reading process fails otherwise, with its traceback.
    """
    start = time.monotonic()
    if engine not in pulp_adapter.available_engines():
        raise ValueError(f"engine {engine!r} is not available to read files")
    file = Path(path).resolve()
    if file.suffix not in (".lp", ".mps"):
        raise ValueError(f"{path}: the name ends in neither .lp nor .mps")
    file.open("rb").close()
    read = {"highs": _by_highs, "cbc": _by_cbc, "scip": _by_scip}[engine]
    hard = None if time_limit is None else time_limit * 1.1 + 1
    result = run_in_child(
        read,
        str(file),
        time_limit,
        time_limit=hard,
        memory_limit=memory_limit,
    )
    if result.status == "error":
        raise RuntimeError(f"{path}: {result.message}\n{result.details}")
    outcome = result.value
    if outcome is None:
        outcome = LinearOutcome(
            Status.UNKNOWN, None, None, 0.0, engine, reason=result.message
        )
    if outcome.reason == _UNREADABLE:
        raise ValueError(f"{path}: {engine} cannot read it")
    return replace(outcome, seconds=time.monotonic() - start)


def _by_highs(path: str, time_limit: float | None) -> LinearOutcome:
    highs.forget_threads()
    engine = highs.new_highs()
    if engine.readModel(path) == highspy.HighsStatus.kError:
        return _no_values(Status.UNKNOWN, "highs", _UNREADABLE)
    if time_limit is not None:
        highs.set_options(engine, time_limit=engine.getRunTime() + time_limit)
    status = highs.run(engine)
    if status not in (Status.OPTIMAL, Status.FEASIBLE):
        reason = highs.verdict(engine) if status is Status.UNKNOWN else ""
        return _no_values(status, "highs", reason)
    info = engine.getInfo()
    mixed = info.mip_node_count >= 0
    objective = engine.getObjectiveValue()
    bound = info.mip_dual_bound if mixed else objective
    proved = (mixed or status is Status.OPTIMAL) and math.isfinite(bound)
    return LinearOutcome(
        status,
        objective,
        tuple(map(float, engine.getSolution().col_value)),
        0.0,
        "highs",
        bound=bound if proved else None,
        nodes=int(info.mip_node_count) if mixed else None,
        reason="" if status is Status.OPTIMAL else highs.verdict(engine),
    )


def _by_cbc(path: str, time_limit: float | None) -> LinearOutcome:
    with scratch_folder() as folder:
        os.chdir(folder)
        return _by_cbc_here(path, time_limit)


def _by_cbc_here(path: str, time_limit: float | None) -> LinearOutcome:
    copy = f"program{Path(path).suffix}"
    shutil.copyfile(path, copy)  # CBC's command line is not to meet odd names
    cbc = pulp_adapter.cbc_path()
    assert cbc is not None
    command = [cbc, copy, "-ratioGap", "0", "-allowableGap", "0"]
    if time_limit is not None:
        command += ["-timeMode", "elapsed", "-sec", str(time_limit)]
    command += ["-solve", "-printingOptions", "all", "-solution", "solution"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if "errors on input" in done.stdout or not os.path.exists("solution"):
        return _no_values(Status.UNKNOWN, "cbc", _UNREADABLE)
    with open("solution", encoding="utf-8") as file:
        verdict = file.readline().strip()
        lines = [line.replace("**", " ").split() for line in file]
    if not lines:  # it takes a file that it does not understand for an empty one
        return _no_values(Status.UNKNOWN, "cbc", _UNREADABLE)
    status, reason = _cbc_status(verdict)
    if status not in (Status.OPTIMAL, Status.FEASIBLE):
        return _no_values(status, "cbc", reason)
    # Rows come first, then columns, each numbered from 0.
    first = max(k for k, fields in enumerate(lines) if fields[0] == "0")
    values = tuple(float(fields[2]) for fields in lines[first:])
    objective = float(verdict.rsplit(maxsplit=1)[1])
    return LinearOutcome(status, objective, values, 0.0, "cbc", reason=reason)


def _by_scip(path: str, time_limit: float | None) -> LinearOutcome:
    from pyscipopt import Model  # optional

    model = Model()
    model.hideOutput()
    try:
        model.readProblem(path)
    except Exception:  # PySCIPOpt raises bare ones, with SCIP's code in the text
        return _no_values(Status.UNKNOWN, "scip", _UNREADABLE)
    model.setParams({"limits/gap": 0.0, "limits/absgap": 0.0})
    model.setParam("numerics/feastol", highs.TOLERANCE)
    if time_limit is not None:
        model.setParam("limits/time", time_limit)
    model.optimize()
    verdict, found = model.getStatus(), model.getNSols() > 0
    status = pulp_adapter.scip_status(verdict, found=found)
    if status not in (Status.OPTIMAL, Status.FEASIBLE):
        return _no_values(status, "scip", f"SCIP: {verdict}")
    values = tuple(model.getVal(v) for v in model.getVars())
    reason = "" if status is Status.OPTIMAL else f"SCIP: {verdict}"
    return LinearOutcome(
        status,
        model.getObjVal(),
        values,
        0.0,
        "scip",
        bound=model.getDualbound(),
        nodes=int(model.getNTotalNodes()),
        reason=reason,
    )


def _cbc_status(verdict: str) -> tuple[Status, str]:
    if verdict.startswith("Optimal - "):
        return Status.OPTIMAL, ""
    if verdict.startswith(("Infeasible", "Integer infeasible")):
        return Status.INFEASIBLE, ""
    if verdict.startswith("Unbounded"):
        return Status.INFEASIBLE_OR_UNBOUNDED, ""
    found = " - objective value" in verdict and "no integer solution" not in verdict
    return (Status.FEASIBLE if found else Status.UNKNOWN), f"CBC: {verdict}"


def _no_values(status: Status, engine: str, reason: str) -> LinearOutcome:
    return LinearOutcome(status, None, None, 0.0, engine, reason=reason)
