"""PuLP, of major version 3 or 4: the only file that knows it.

`to_pulp` makes the problem that users get; `solve` runs an engine on it. PuLP's
own verdict is used for CBC alone, whose answer it reads; HiGHS and SCIP are
asked themselves, since PuLP calls a time-limited incumbent "Optimal" and a
program that may be infeasible "Infeasible", and its majors differ in both.
"""

from __future__ import annotations

import importlib.util
import math
import os
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from typing import Any

import pulp
from olivine.solvers import highs
from olivine.solvers.integer_form import IntegerForm, integer_form
from olivine.solvers.model import LinearModel
from olivine.solvers.outcome import Status
from olivine.solvers.temporary import scratch_folder

_CBC_TOLERANCES = ("primalTolerance", "dualTolerance", "integerTolerance")
_MAJOR = int(re.match(r"\d+", pulp.__version__).group())  # type: ignore[union-attr]


@dataclass(frozen=True)
class PulpModel:
    """A model as a PuLP problem.

    Attributes
    ----------
    problem
        The `pulp.LpProblem`, a minimisation in integers; see
        `olivine.solvers.integer_form`. In PuLP 4 variables live as long as it does.
    names
        The model's names of variables and rows by the problem's short names;
        for what the problem has beyond the model, a description.
    negated
        Whether the problem minimises the negative of the model's objective.
    variables
        The problem's variables: the model's in their order, then added ones.
        One that nothing uses is unknown to the engines and stays without value.
    """

    problem: Any
    names: dict[str, str]
    negated: bool
    variables: list[Any]


@dataclass(frozen=True)
class Answer:
    """What an engine said of an integer form, in the form's sense.

    Attributes
    ----------
    values
        One a variable of the form, None where the engine does not know it; or
        None altogether.
    """

    status: Status
    values: tuple[float | None, ...] | None = None
    bound: float | None = None
    nodes: int | None = None
    reason: str = ""


def to_pulp(model: LinearModel) -> PulpModel:
    """Make a PuLP problem of a model.

    Raises
    ------
    ValueError
        If a number has more than 15 digits when scaled to integers. (PuLP's
        `writeLP` rounds to 12 digits, its `writeMPS` to 13.)
    """
    return from_form(integer_form(model))


def from_form(form: IntegerForm) -> PulpModel:
    """Make a PuLP problem of an integer form."""
    problem = pulp.LpProblem("model", pulp.LpMinimize)
    variables = [
        problem.add_variable(
            v.name, v.lower, v.upper, pulp.LpInteger if v.integer else "Continuous"
        )
        for v in form.variables
    ]
    problem.setObjective(_expression(variables, form.objective.items()))
    for row in form.rows:
        left = _expression(variables, zip(row.indices, row.coefficients, strict=True))
        if row.sense == "<=":
            constraint = left <= row.rhs
        elif row.sense == ">=":
            constraint = left >= row.rhs
        else:
            constraint = left == row.rhs
        problem.addConstraint(constraint, row.name)
    return PulpModel(problem, form.names, form.negated, variables)


def _expression(variables: list[Any], terms: Any) -> Any:
    pairs = [(variables[j], c) for j, c in terms]
    if _MAJOR >= 4:
        return pulp.LpAffineExpression.from_list(pairs)
    return pulp.LpAffineExpression(pairs)


# ------------------------------------------------------------------- engines


def available_engines() -> tuple[str, ...]:
    """Name the engines that can be used here; "highs" always comes first."""
    found = ["highs"]
    if cbc_path() is not None:
        found.append("cbc")
    if importlib.util.find_spec("pyscipopt") is not None:
        found.append("scip")
    return tuple(found)


def cbc_path() -> str | None:
    """Find CBC: PuLP 3's own, PuLP 4's extra `cbc`, or one on the path."""
    own = getattr(getattr(pulp, "PULP_CBC_CMD", None), "pulp_cbc_path", None)
    for candidate in (own, pulp.COIN_CMD(msg=False).path, "cbc"):
        if candidate is not None and (path := shutil.which(candidate)) is not None:
            return os.path.abspath(path)
    return None


def solve(form: IntegerForm, engine: str, deadline: float, threads: int) -> Answer:
    """Solve a form; to be called in a child process of its own.

    Parameters
    ----------
    deadline
        On the clock of `time.monotonic`; infinite for no limit.
    """
    model = from_form(form)
    left = deadline - time.monotonic()
    if left <= 0:
        return Answer(Status.UNKNOWN, reason="time limit reached")
    limit = None if math.isinf(left) else left
    run = {"highs": _run_highs, "cbc": _run_cbc, "scip": _run_scip}[engine]
    try:
        return run(model, limit, threads)
    except pulp.PulpSolverError as exc:
        return Answer(Status.UNKNOWN, reason=f"{engine} failed: {exc}")


def _values(model: PulpModel) -> tuple[float | None, ...]:
    return tuple(v.varValue for v in model.variables)


def _run_highs(model: PulpModel, limit: float | None, threads: int) -> Answer:
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
    status, info = highs.status_of(engine), engine.getInfo()
    found = status in (Status.OPTIMAL, Status.FEASIBLE)
    mixed = info.mip_node_count >= 0  # else it ran as a linear program
    bound = info.mip_dual_bound if mixed else engine.getObjectiveValue()
    proved = mixed or status is Status.OPTIMAL
    return Answer(
        status,
        _values(model) if found else None,
        bound if proved and math.isfinite(bound) else None,
        int(info.mip_node_count) if mixed else None,
        "" if status is Status.OPTIMAL else highs.verdict(engine),
    )


_CBC_LOG = "cbc.log"


def _run_cbc(model: PulpModel, limit: float | None, threads: int) -> Answer:
    # Files that PuLP exchanges with CBC are named without their folder, because
    # its command line comes apart at the blanks of a path.
    with scratch_folder() as folder:
        os.chdir(folder)
        tempfile.tempdir = os.curdir  # PuLP 4 logs there
        return _run_cbc_here(model, limit, threads)


def _run_cbc_here(model: PulpModel, limit: float | None, threads: int) -> Answer:
    tolerances = [f"{name} {highs.TOLERANCE}" for name in _CBC_TOLERANCES]
    solver = pulp.COIN_CMD(
        path=cbc_path(),
        msg=False,
        timeLimit=limit,
        gapRel=0.0,
        gapAbs=0.0,
        threads=threads if threads > 1 else None,
        options=tolerances,
        logPath=_CBC_LOG,
    )
    solver.tmpDir = ""
    stats = model.problem.solve(solver)
    if _MAJOR >= 4:
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
        "Infeasible": Status.INFEASIBLE,
        "Unbounded": Status.INFEASIBLE_OR_UNBOUNDED,
    }.get(verdict, Status.FEASIBLE if found else Status.UNKNOWN)
    with open(_CBC_LOG, encoding="utf-8", errors="replace") as file:
        nodes = re.search(r"^Enumerated nodes:\s+(\d+)$", file.read(), re.MULTILINE)
    return Answer(
        status,
        _values(model) if status in (Status.OPTIMAL, Status.FEASIBLE) else None,
        # CBC prints its bound with three decimals only.
        None,
        int(nodes.group(1)) if nodes else None,
        "" if status is Status.OPTIMAL else f"CBC: {verdict}",
    )


def _run_scip(model: PulpModel, limit: float | None, threads: int) -> Answer:
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
    status = scip_status(verdict, found=found)
    bound = engine.getDualbound()
    return Answer(
        status,
        _values(model) if status in (Status.OPTIMAL, Status.FEASIBLE) else None,
        bound if found and abs(bound) < engine.infinity() else None,
        int(engine.getNTotalNodes()),
        "" if status is Status.OPTIMAL else f"SCIP: {verdict}",
    )


def scip_status(verdict: str, *, found: bool) -> Status:
    """Translate what SCIP says, and whether it has a solution."""
    return {
        "optimal": Status.OPTIMAL,
        "infeasible": Status.INFEASIBLE,
        "unbounded": Status.INFEASIBLE_OR_UNBOUNDED,
        "inforunbd": Status.INFEASIBLE_OR_UNBOUNDED,
    }.get(verdict, Status.FEASIBLE if found else Status.UNKNOWN)
