"""Solution files of engines: what is read off each, and what is refused by its line."""

from olivine.solvers.milp.solutions import parse_solution

from tests.support.depth import with_rows
from tests.support.refusals import refused

HIGHS = (
    "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective -1.5\n"
    "# Columns 2\nx0 1\nx1 0.5\n# Rows 1\nc0 2\n\n# Dual solution values\nNone\nx1 9\n"
)
CBC = (
    "Optimal - objective value -1.5\n      0 c0    2  0\n**    0 x0 1 0\n"
    "\n      1 x1  0.5 -1\n"
)
SCIP = (
    "solution status: optimal solution found\nobjective value:   -1.5\n"
    "x0 1 \t(obj:-1)\nx1 0.5 \t(obj:-1)\n"
)
GUROBI = "# Solution for model m\n# Objective value = -1.5\nx0 1\nx1 0.5\n"
CPLEX = (
    '<?xml version="1.0"?>\n<CPLEXSolution>\n<header objectiveValue="-1.5"\n'
    ' solutionStatusString="integer optimal solution"/>\n<variables>\n'
    '<variable name="x0" value="1"/>\n<variable name="x1" value="0.5"/>\n'
    "</variables></CPLEXSolution>"
)
GLPSOL = (
    "Problem:    p\nStatus:     INTEGER OPTIMAL\nObjective:  o = -1.5 (MINimum)\n\n"
    "   No.   Row name        Activity     Lower bound\n------ ----\n"
    "     1 c0                          2\n\n     1 x0           *              1\n"
    "     2 x1           *            0.5             0             1\n\n"
    "End of output\n"
)
POINT = (-1.5, [1.0, 0.5])
NONE = (None, None)
SOME = "INTEGER NON-OPTIMAL", "FEASIBLE"
OTHERS = "INTEGER EMPTY", "INTEGER UNDEFINED", "INFEASIBLE (FINAL)", "UNBOUNDED"


def parsed(text: str):
    return parse_solution(text, "f", columns=2, rows=1)


@with_rows(
    "text, solver, status, optimal, point, place",
    (HIGHS, "HiGHS", "Optimal", True, POINT, "f:6"),
    (HIGHS.replace("Optimal", "Time limit", 1), "HiGHS", "Time limit", 0, POINT, "f:6"),
    (HIGHS[: HIGHS.index("O", 15)] + "None\n", "HiGHS", "Optimal", True, NONE, ""),
    ("Model status\n", "HiGHS", "", False, NONE, ""),
    (CBC, "CBC", "Optimal", True, POINT, "f:1"),
    ("Stopped on time - objective value 2\n", "CBC", "Stopped on time", 0, (2, 0), ""),
    ("Infeasible - objective value 0\n     0 c0\n", "CBC", "Infeasible", 0, NONE, ""),
    (SCIP, "SCIP", "optimal solution found", True, POINT, "f:2"),
    ("objective value: 2\nx1 4\n", "SCIP", "", False, (2, [0, 4]), "f:1"),
    (GUROBI, "Gurobi", "", False, POINT, "f:2"),
    (CPLEX, "CPLEX", "integer optimal solution", True, POINT, "f:3"),
    (CPLEX.replace("optimal", "feasible"), "CPLEX", "", False, POINT, "f:3"),
    (GLPSOL, "glpsol", "INTEGER OPTIMAL", True, POINT, "f:3"),
    *((GLPSOL.replace("INTEGER OPTIMAL", s), "glpsol", s, 0, POINT, "") for s in SOME),
    *((GLPSOL.replace("INTEGER OPTIMAL", s), "glpsol", s, 0, NONE, "") for s in OTHERS),
)
def test_what_is_read_off_a_file(text, solver, status, optimal, point, place) -> None:
    found = parsed(text)
    assert (found.solver, found.optimal, found.objective) == (solver, optimal, point[0])
    assert not status or found.status == status
    assert (found.values is None) == (point[1] is None)
    assert found.values is None or (found.values == point[1]).all()
    assert found.place == (place or found.place)
    assert point[0] is not None or found.place == "the solution"


@with_rows(
    "text, words",
    ("", "f:1: the file is empty"),
    ("s mip 1 2 o 3\n", "f:1: glpsol -w numbers variables"),
    ("# Solution for nothing\n", "f:1: no solution file of HiGHS, CBC, SCIP, Gurobi"),
    *((text[:-1], "the last line does not end: tr") for text in (HIGHS, CBC, SCIP)),
    (GLPSOL[:-1], "f:12: the last line does not end: truncated"),
    (GUROBI[:-1], "f:4: the last line does not end: truncated"),
    (GUROBI[:-7], "f:4: 1 values for 2 variables: truncated, or of another program"),
    (HIGHS.replace("Columns 2", "Columns 10"), "f:7: 9 of 10 values: truncated"),
    (HIGHS.replace("Columns 2", "Columns 3"), "f:10: expected a name and its value"),
    (HIGHS.replace("Columns 2", "Columns 1"), "f:16: 1 values for 2 variables"),
    (HIGHS.replace("Rows 1", f"Rows {10**12}"), "f:10: '10{12}' is no count"),
    (HIGHS.replace("Rows 1", "Rows 9" + "0" * 11), "f:10: 6 of 9"),
    (CBC.replace(" -1\n", "\n"), "f:5: expected number, name, value and reduced cost"),
    (CBC.replace("c0", "c1"), "f:2: unknown name 'c1': the program has x0 to x1 and"),
    (CBC.replace("c0    2", "c0 two"), "f:2: c0 'two' is no number"),
    (SCIP.replace("x0 1 \t(obj:-1)", "x0"), "f:3: expected a name and its value: tr"),
    (SCIP.replace("x1", "x" + "0" * 12 + "1"), "f:4: unknown name 'x00"),
    (GUROBI.replace("# Obj", "# obj"), "f:1: no line '# Objective value = ...'"),
    (CPLEX.replace("objectiveValue", "value"), "f:1: no header with an objectiveValue"),
    (CPLEX.replace('"x1"', '"c0"'), "f:8: 1 values for 2 variables"),
    (GLPSOL[:-14], "f:12: no line 'End of output': truncated"),
    (GLPSOL.replace("-1.5 (MINimum)", ""), "f:3: the objective '' is no number"),
    (GLPSOL.replace("*              1", ""), "f:9: expected number, name and activity"),
    (GLPSOL.replace("*              1", "*"), "f:9: x0 '' is no number"),
    (GLPSOL.replace("     2 x1", "     x1"), "f:13: 1 values for 2 variables"),
)
def test_bad_files_are_refused_by_line(text, words) -> None:
    refused(f"^{words}".replace("^the last", "^f:[0-9]+: the last"), parsed, text)
