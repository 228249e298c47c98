"""CBC, whose verdict is read off PuLP, or off its solution file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pulp

from ...child.temporary import scratch_folder
from ...lp import highs
from ...outcome import Answer, LinearOutcome, Status
from . import MAJOR, UNREADABLE, Engine, PulpModel

_TOLERANCES = ("primalTolerance", "dualTolerance", "integerTolerance")


def cbc_path() -> str | None:
    """Find CBC: PuLP 3's own, PuLP 4's extra `cbc`, or one on the path."""
    own = getattr(getattr(pulp, "PULP_CBC_CMD", None), "pulp_cbc_path", None)
    for candidate in (own, pulp.COIN_CMD(msg=False).path, "cbc"):
        if candidate is not None and (path := shutil.which(candidate)) is not None:
            return os.path.abspath(path)
    return None


_LOG = "cbc.log"


@contextmanager
def in_scratch() -> Iterator[None]:
    """Work in an empty folder; to be called in a child process of its own."""
    # Files that PuLP exchanges with CBC are named without their folder, because
    # its command line comes apart at the blanks of a path.
    with scratch_folder() as folder:
        os.chdir(folder)
        tempfile.tempdir = os.curdir  # PuLP 4 logs there
        yield


@in_scratch()
def _run(model: PulpModel, limit: float | None, threads: int) -> Answer:
    tolerances = [f"{name} {highs.TOLERANCE}" for name in _TOLERANCES]
    solver = pulp.COIN_CMD(
        path=cbc_path(),
        msg=False,
        timeLimit=limit,
        gapRel=0.0,
        gapAbs=0.0,
        threads=threads if threads > 1 else None,
        options=tolerances,
        logPath=_LOG,
    )
    solver.tmpDir = ""
    stats = model.problem.solve(solver)
    if MAJOR >= 4:
        verdict, found = pulp.LpSolveStatus(stats.status).name, stats.has_solution
    else:
        verdict = pulp.LpStatus[model.problem.status]
        found = model.problem.sol_status in (
            pulp.LpSolutionOptimal,
            pulp.LpSolutionIntegerFeasible,
        )
        if found and model.problem.sol_status != pulp.LpSolutionOptimal:
            verdict = "Stopped"
    status = {
        "Optimal": Status.OPTIMAL if found else Status.UNKNOWN,
        # Within the gap, which is 0.
        "GapLimit": Status.OPTIMAL if found else Status.UNKNOWN,
        "Infeasible": Status.INFEASIBLE,
        "Unbounded": Status.INFEASIBLE_OR_UNBOUNDED,
    }.get(verdict, Status.FEASIBLE if found else Status.UNKNOWN)
    with open(_LOG, encoding="utf-8", errors="replace") as file:
        nodes = re.search(r"^Enumerated nodes:\s+(\d+)$", file.read(), re.MULTILINE)
    return Answer(
        status,
        model.values() if status in (Status.OPTIMAL, Status.FEASIBLE) else None,
        # CBC prints its bound with three decimals only.
        None,
        int(nodes.group(1)) if nodes else None,
        "" if status is Status.OPTIMAL else f"CBC: {verdict}",
    )


@in_scratch()
def _read(path: str, time_limit: float | None) -> LinearOutcome:
    copy = f"program{Path(path).suffix}"
    shutil.copyfile(path, copy)  # CBC's command line is not to meet odd names
    cbc = cbc_path()
    assert cbc is not None
    command = [cbc, copy, "-ratioGap", "0", "-allowableGap", "0"]
    if time_limit is not None:
        command += ["-timeMode", "elapsed", "-sec", str(time_limit)]
    command += ["-solve", "-printingOptions", "all", "-solution", "solution"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if "errors on input" in done.stdout or not os.path.exists("solution"):
        return LinearOutcome(Status.UNKNOWN, reason=UNREADABLE)
    with open("solution", encoding="utf-8") as file:
        verdict = file.readline().strip()
        lines = [line.replace("**", " ").split() for line in file]
    if not lines:  # it takes a file that it does not understand for an empty one
        return LinearOutcome(Status.UNKNOWN, reason=UNREADABLE)
    status, reason = _status(verdict)
    if status not in (Status.OPTIMAL, Status.FEASIBLE):
        return LinearOutcome(status, engine="cbc", reason=reason)
    # Rows come first, then columns, each numbered from 0.
    first = max(k for k, fields in enumerate(lines) if fields[0] == "0")
    values = tuple(float(fields[2]) for fields in lines[first:])
    objective = float(verdict.rsplit(maxsplit=1)[1])
    return LinearOutcome(status, objective, values, 0.0, "cbc", reason=reason)


def _status(verdict: str) -> tuple[Status, str]:
    # Within the gap, which is 0.
    if verdict.startswith(("Optimal - ", "Optimal (within gap tolerance) - ")):
        return Status.OPTIMAL, ""
    if verdict.startswith(("Infeasible", "Integer infeasible")):
        return Status.INFEASIBLE, ""
    if verdict.startswith("Unbounded"):
        return Status.INFEASIBLE_OR_UNBOUNDED, ""
    found = " - objective value" in verdict and "no integer solution" not in verdict
    return (Status.FEASIBLE if found else Status.UNKNOWN), f"CBC: {verdict}"


ENGINE = Engine("cbc", lambda: cbc_path() is not None, _run, "CBC", _read)
