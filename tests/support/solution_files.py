"""Solution files as solvers write them: of a point, and by the solvers themselves."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from olivine.solvers.milp.engines import cbc

Writer = Callable[[float, list[float]], str]


def highs(objective: float, values: list[float]) -> str:
    lines = "".join(f"x{j} {v:.13g}\n" for j, v in enumerate(values))
    return (
        "Model status\nOptimal\n\n# Primal solution values\nFeasible\n"
        f"Objective {objective:.13g}\n# Columns {len(values)}\n{lines}"
        "# Rows 1\nc0 0\n\n# Dual solution values\nNone\n\n# Basis\nNone\n"
    )


def cbc_text(objective: float, values: list[float]) -> str:
    lines = "".join(
        f"{j:7d} x{j:<7} {v:22.15g} {0:22}\n" for j, v in enumerate(values) if v
    )
    return f"Optimal - objective value {objective:.8f}\n{lines}"


def scip(objective: float, values: list[float]) -> str:
    lines = "".join(f"x{j:<30} {v:.15g} \t(obj:0)\n" for j, v in enumerate(values) if v)
    head = "solution status: optimal solution found\n"
    return f"{head}objective value: {objective:.15g}\n{lines}"


def gurobi(objective: float, values: list[float]) -> str:
    lines = "".join(f"x{j} {v:.17g}\n" for j, v in enumerate(values))
    head = "# Solution for model model\n# Objective value = "
    return f"{head}{objective:.16g}\n{lines}"


def cplex(objective: float, values: list[float]) -> str:
    lines = "".join(
        f'  <variable name="x{j}" index="{j}" value="{v:.17g}"/>\n'
        for j, v in enumerate(values)
    )
    return (
        '<?xml version = "1.0" encoding="UTF-8" standalone="yes"?>\n'
        '<CPLEXSolution version="1.2">\n <header problemName="model"\n'
        f'  objectiveValue="{objective:.16g}"\n'
        '  solutionStatusString="integer optimal solution"/>\n'
        f" <variables>\n{lines} </variables>\n</CPLEXSolution>\n"
    )


def glpsol(objective: float, values: list[float]) -> str:
    lines = "".join(
        f"{j + 1:6d} x{j:<13} * {v:13.6g}             0             1\n"
        for j, v in enumerate(values)
    )
    return (
        "Problem:    model\nStatus:     INTEGER OPTIMAL\n"
        f"Objective:  obj = {objective:.10g} (MINimum)\n\n"
        "   No.   Row name        Activity     Lower bound   Upper bound\n"
        "------ ------------    ------------- ------------- -------------\n"
        "     1 c0                         -2            -2               \n\n"
        "   No. Column name       Activity     Lower bound   Upper bound\n"
        "------ ------------    ------------- ------------- -------------\n"
        f"{lines}\nInteger feasibility conditions:\n\nEnd of output\n"
    )


TEXTS: dict[str, Writer] = {
    "HiGHS": highs,
    "CBC": cbc_text,
    "SCIP": scip,
    "Gurobi": gurobi,
    "CPLEX": cplex,
    "glpsol": glpsol,
}


def by_highs(program: Path, solution: Path) -> None:
    """Have HiGHS solve a program file and write its solution."""
    import highspy

    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.setOptionValue("mip_rel_gap", 0.0)
    engine.readModel(str(program))
    engine.run()
    engine.writeSolution(str(solution), 0)


def by_cbc(program: Path, solution: Path) -> None:
    command = [cbc.cbc_path(), program, "-ratioGap", "0", "-solve"]
    subprocess.run([*command, "-solution", solution], check=True, capture_output=True)


def by_scip(program: Path, solution: Path) -> None:
    from pyscipopt import Model

    model = Model()
    model.hideOutput()
    model.readProblem(str(program))
    model.setParam("limits/gap", 0.0)
    model.optimize()
    model.writeBestSol(str(solution))


def by_glpsol(program: Path, solution: Path) -> None:
    kind = "--lp" if program.suffix == ".lp" else "--mps"
    if "\n* free MPS" in program.read_text()[:500]:
        kind = "--freemps"
    command = ["glpsol", kind, program, "-o", solution]
    subprocess.run(command, check=True, capture_output=True)


SOLVERS: dict[str, tuple[Callable[[], bool], Callable[[Path, Path], None]]] = {
    "highs": (lambda: True, by_highs),
    "cbc": (lambda: cbc.cbc_path() is not None, by_cbc),
    "scip": (lambda: _has_scip(), by_scip),
    "glpsol": (lambda: shutil.which("glpsol") is not None, by_glpsol),
}


def _has_scip() -> bool:
    import importlib.util

    return importlib.util.find_spec("pyscipopt") is not None
