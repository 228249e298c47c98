"""Files of models and solutions, read and written without the package's own code.

DRN and PRISM files are read as the formats' own definitions say of the part that is
written; all else is refused. A model is a list of states, each a list of choices
(action, reward, {successor: probability}). Program files are written entry by entry:
what the streams must equal. Solution files are as solvers write them: of a point, and
by the solvers themselves.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

from olivine.solvers.milp.engines import cbc
from olivine.solvers.model.integer_form import IntegerForm

Choice = tuple[str, Fraction, dict[int, Fraction]]
WORD = r"[A-Za-z_][A-Za-z0-9_]*"
NUMBER = r"-?[0-9]+(?:\.0)?(?:/[0-9]+(?:\.0)?)?"


@dataclass
class Model:
    states: list[list[Choice]]
    start: int
    end: int

    def __post_init__(self):
        for choices in self.states:
            for _, _, successors in choices:
                assert sum(successors.values()) == 1
                assert all(0 <= t < len(self.states) for t in successors)
        ((_, reward, successors),) = self.states[self.end]
        assert reward == 0
        assert successors == {self.end: 1}

    def optimal_value(self) -> Fraction:
        """Greatest expected reward until `end`."""

        @cache
        def value(state: int) -> Fraction:
            if state == self.end:
                return Fraction(0)
            return max(
                reward + sum(p * value(t) for t, p in successors.items())
                for _, reward, successors in self.states[state]
            )

        return value(self.start)


def number(text: str) -> Fraction:
    assert re.fullmatch(NUMBER, text), text
    numerator, _, denominator = text.partition("/")
    return Fraction(numerator) / Fraction(denominator or 1)


def read_drn(text: str) -> Model:
    """The DRN format of Storm."""
    lines = [line for line in text.splitlines() if not line.startswith("//")]
    header, model = lines[: lines.index("@model")], lines[lines.index("@model") + 1 :]
    assert header[:6] == [
        "@type: MDP",
        "@parameters",
        "",
        "@reward_models",
        "reward",
        "@nr_states",
    ]
    assert header[7] == "@nr_choices"
    states: list[list[Choice]] = []
    labels: dict[str, list[int]] = {}
    for line in model:
        if found := re.fullmatch(r"state (\d+)((?: \w+)*)", line):
            assert int(found[1]) == len(states)
            for label in found[2].split():
                labels.setdefault(label, []).append(len(states))
            states.append([])
        elif found := re.fullmatch(rf"\taction (\w+) \[({NUMBER})\]", line):
            states[-1].append((found[1], number(found[2]), {}))
        else:
            found = re.fullmatch(rf"\t\t(\d+) : ({NUMBER})", line)
            assert found, line
            successors = states[-1][-1][2]
            assert int(found[1]) not in successors
            successors[int(found[1])] = number(found[2])
    assert int(header[6]) == len(states)
    assert int(header[8]) == sum(map(len, states))
    assert set(labels) == {"init", "end"}
    return Model(states, *labels["init"], *labels["end"])


def read_prism(text: str) -> Model:
    """The part of PRISM's language with one module and one variable."""
    lines = [line.strip() for line in text.splitlines() if line]
    assert lines.pop(0) == "mdp"
    names: dict[str, int] = {}
    while found := re.fullmatch(rf"const int ({WORD}) = (\d+);", lines[0]):
        assert found[1] not in names
        names[found[1]] = int(found[2])
        del lines[0]
    assert lines.pop(0) == "module family"
    found = re.fullmatch(rf"s : \[0\.\.(\d+)\] init ({WORD});", lines.pop(0))
    assert found
    states: list[list[Choice]] = [[] for _ in range(int(found[1]) + 1)]
    start = names[found[2]]
    rewards_from = lines.index("endmodule")
    rewards: dict[tuple[int, str], Fraction] = {}
    assert lines[rewards_from + 1] == 'rewards "reward"'
    for line in lines[rewards_from + 2 : -2]:
        entry = re.fullmatch(rf"\[({WORD})\] s=({WORD}) : ({NUMBER});", line)
        assert entry, line
        key = names[entry[2]], entry[1]
        assert key not in rewards
        rewards[key] = number(entry[3])
    assert lines[-2] == "endrewards"
    label = re.fullmatch(rf'label "end" = s=({WORD});', lines[-1])
    assert label
    for line in lines[:rewards_from]:
        command = re.fullmatch(rf"\[({WORD})?\] s=({WORD}) -> (.*);", line)
        assert command, line
        successors: dict[int, Fraction] = {}
        for part in command[3].split(" + "):
            update = re.fullmatch(rf"({NUMBER}) : \(s'=({WORD})\)", part)
            assert update, part
            assert names[update[2]] not in successors
            successors[names[update[2]]] = number(update[1])
        state, action = names[command[2]], command[1] or ""
        assert action not in [name for name, *_ in states[state]]
        reward = rewards.pop((state, action), Fraction(0))
        states[state].append((action, reward, successors))
    assert not rewards
    return Model(states, start, names[label[1]])


# Program files ----------------------------------------------------------------

_LP = {"<=": "<=", ">=": ">=", "==": "="}
_MPS = {"<=": "L", ">=": "G", "==": "E"}


def _title(form: IntegerForm, title: str) -> str:
    what = "minimise the negative of the objective" if form.negated else "minimise"
    return f"{' '.join(title.split())}: {what}"


def _wrapped(head: str, words: list[str]) -> str:
    lines, line = [], head
    for word in words:
        if len(line) + len(word) >= 200:
            lines.append(line)
            line = ""
        line += f" {word}"
    return "\n".join([*lines, line]) + "\n"


def plain_lp(form: IntegerForm, title: str, *remarks: str) -> str:
    """The LP file."""

    def terms(pairs) -> list[str]:
        return [
            f"{'-' if c < 0 else '+'} {abs(c)} {form.variables[j].name}"
            for j, c in pairs
        ]

    used = {*form.objective, *(j for row in form.rows for j in row.indices)}
    idle = [f"+ 0 {v.name}" for j, v in enumerate(form.variables) if j not in used]
    text = "".join(f"\\ {line}\n" for line in (_title(form, title), *remarks))
    text += "Minimize\n"
    text += _wrapped(" obj:", terms(form.objective.items()) + idle) + "Subject To\n"
    for row in form.rows:
        words = terms(zip(row.indices, row.coefficients, strict=True))
        text += _wrapped(f" {row.name}:", [*words, f"{_LP[row.sense]} {row.rhs}"])
    text += "Bounds\n"
    sections: dict[str, list[str]] = {"Generals": [], "Binaries": []}
    for v in form.variables:
        binary = v.integer and (v.lower, v.upper) == (0, 1)
        if v.integer:
            sections["Binaries" if binary else "Generals"].append(v.name)
        if v.lower == v.upper:
            text += f" {v.name} = {v.lower}\n"
        elif not binary:
            text += f" {v.lower} <= {v.name} <= {v.upper}\n"
    for section, members in sections.items():
        if members:
            text += f"{section}\n" + _wrapped("", members)
    return text + "End\n"


def plain_mps(form: IntegerForm, title: str, *remarks: str) -> str:
    """The MPS file, of numbers and names that the fixed columns hold."""
    text = "".join(f"* {line}\n" for line in (_title(form, title), *remarks))
    text += "NAME          model\nROWS\n N  obj\n"
    text += "".join(f" {_MPS[row.sense]}  {row.name}\n" for row in form.rows)
    text += "COLUMNS\n"
    within = False
    for j, v in enumerate(form.variables):
        if v.integer != within:
            within = v.integer
            text += _marker("INTORG" if within else "INTEND")
        entries = [("obj", form.objective[j])] if j in form.objective else []
        for row in form.rows:
            entries += [
                (row.name, c)
                for i, c in zip(row.indices, row.coefficients, strict=True)
                if i == j
            ]
        for name, c in entries or [("obj", 0)]:
            text += f"    {v.name:<8}  {name:<8}  {c:>12}\n"
    if within:
        text += _marker("INTEND")
    text += "RHS\n"
    for row in form.rows:
        text += f"    RHS       {row.name:<8}  {row.rhs:>12}\n" if row.rhs else ""
    text += "BOUNDS\n"
    for v in form.variables:
        bounds = [("LO", v.lower), ("UP", v.upper)]
        for kind, end in [("FX", v.lower)] if v.lower == v.upper else bounds:
            text += f" {kind} BND       {v.name:<8}  {end:>12}\n"
    return text + "ENDATA\n"


def _marker(kind: str) -> str:
    return f"    MARKER    'MARKER'                 '{kind}'\n"


# Solution files ---------------------------------------------------------------

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
