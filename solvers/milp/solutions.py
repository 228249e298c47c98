r"""Solution files of MILP solvers, read as points of the program that we wrote.

HiGHS (its raw style), CBC, SCIP, Gurobi, CPLEX (XML) and glpsol (``-o``) are told apart
by how their files begin. The names in a file are those of
`olivine.solvers.model.integer_form`; a point is refused, with the line, where a name is
unknown or comes twice, a value is no finite number, or the file ends early.

>>> text = "solution status: optimal solution found\nobjective value: -1\nx1 1\n"
>>> found = parse_solution(text, "a.sol", columns=2, rows=0)
>>> found.solver, found.optimal, found.objective, found.values.tolist()
('SCIP', True, -1.0, [0.0, 1.0])
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray


class Solution(NamedTuple):
    """What a solver says of a program."""

    solver: str
    status: str  # In the solver's words
    optimal: bool  # Whether the solver calls it so
    objective: float | None  # As the file says it; None without a point
    values: NDArray[np.float64] | None  # One a variable of the program; None likewise
    place: str = "the solution"  # File and line where the objective stands


def parse_solution(text: str, name: str, *, columns: int, rows: int) -> Solution:
    """Read a solution of a program of that size; a ValueError names file and line."""
    reader = _Reader(text, name, columns, rows)
    if not text.strip():
        raise reader.error("the file is empty", 1)
    first = text.lstrip().split("\n", 1)[0].strip()
    for beginning, read in _FORMATS:
        if re.match(beginning, first):
            return read(reader)
    known = "HiGHS, CBC, SCIP, Gurobi, CPLEX or glpsol"
    raise reader.error(f"no solution file of {known}", 1)


class _Reader:
    """The lines of a file, and the values found in it."""

    def __init__(self, text: str, name: str, columns: int, rows: int) -> None:
        self.text, self.lines = text, text.split("\n")
        self.ended = text.endswith("\n")
        self._name, self._columns, self._rows = name, columns, rows
        self._values = [0.0] * columns
        self._seen = bytearray(columns)
        self._line = 1

    def error(self, reason: str, line: int) -> ValueError:
        return ValueError(f"{self._name}:{line}: {reason}")

    def number(self, text: str, line: int, what: str) -> float:
        try:
            value = float(text) if _is_plain(text) else float("no number")
        except ValueError:
            raise self.error(f"{what} {text[:40]!r} is no number", line) from None
        if not math.isfinite(value):
            raise self.error(f"{what} is {text[:40]}, not finite", line)
        return value

    def objective(self, text: str, line: int) -> float:
        """Read the objective, and note where it stands."""
        self._line = line
        return self.number(text, line, "the objective")

    def put(self, name: str, text: str, line: int) -> None:
        """Take the value of a variable; that of a row is not needed."""
        letter, digits = name[:1], name[1:]
        place = int(digits) if re.fullmatch("[0-9]{1,12}", digits) else -1
        if letter == "x" and 0 <= place < self._columns:
            if self._seen[place]:
                raise self.error(f"{name} comes twice", line)
            self._seen[place] = 1
            self._values[place] = self.number(text, line, name)
        elif letter == "c" and 0 <= place < self._rows:
            self.number(text, line, name)
        else:
            reason = (
                f"unknown name {name[:40]!r}: the program has x0 to "
                f"x{self._columns - 1} and c0 to c{self._rows - 1}"
            )
            raise self.error(reason, line)

    def put_all(self, lines: Sequence[str], first: int) -> None:
        """Take a name and a value from each of some lines; `first` numbers the first.

        At once where all is as it should be; else one by one, to find what is not.
        """
        fields = [line.split() for line in lines]
        expected = [f"x{j}" for j in range(self._columns)]
        if [field[0] for field in fields if len(field) == 2] == expected:
            try:
                values = [float(text) for _, text in fields if _is_plain(text)]
            except ValueError:
                values = []
            whole = len(values) == self._columns and not any(self._seen)
            if whole and np.isfinite(values).all():
                self._values, self._seen = values, bytearray(b"\1" * self._columns)
                return
        for k, field in enumerate(fields, first):
            if len(field) != 2:
                raise self.error("expected a name and its value: truncated?", k)
            self.put(field[0], field[1], k)

    def done(
        self,
        solver: str,
        status: str,
        optimal: bool,
        objective: float | None,
        *,
        all_named: bool = False,
    ) -> Solution:
        """Give the solution, without a point if there is no objective."""
        count, last = sum(self._seen), len(self.lines)
        if not self.ended:
            raise self.error("the last line does not end: truncated", last)
        if objective is None:
            return Solution(solver, status, optimal, None, None)
        if all_named and count < self._columns:
            reason = (
                f"{count} values for {self._columns} variables: truncated, or of "
                "another program"
            )
            raise self.error(reason, last)
        values = np.array(self._values)
        return Solution(
            solver, status, optimal, objective, values, f"{self._name}:{self._line}"
        )


def _is_plain(number: str) -> bool:
    """Whether Python reads the number as others do: 1_0 is 10 to it."""
    return number.isascii() and "_" not in number


def _highs(reader: _Reader) -> Solution:
    lines = reader.lines
    status = lines[1].strip() if len(lines) > 1 else ""
    objective, inside, k = None, False, 0
    while k < len(lines):
        line, k = lines[k], k + 1
        if line.startswith("# Primal"):
            inside = True
        elif line.startswith("# Dual"):
            break
        elif inside and line.startswith("Objective "):
            objective = reader.objective(line.partition(" ")[2], k)
        elif inside and line.startswith(("# Columns ", "# Rows ")):
            text = line.split(" ", 2)[2]
            if not re.fullmatch("[0-9]{1,12}", text.strip()):
                raise reader.error(f"{text[:40]!r} is no count of values", k)
            count = int(text)
            part = lines[k : k + count]
            if len(part) < count:
                raise reader.error(f"{len(part)} of {count} values: truncated", k)
            if line.startswith("# Columns"):
                reader.put_all(part, k + 1)
            k += count
    optimal = status == "Optimal"
    return reader.done("HiGHS", status, optimal, objective, all_named=True)


_CBC_WITHOUT = ("nfeasible", "nbounded", "no integer solution", "Status unknown")


def _cbc(reader: _Reader) -> Solution:
    verdict, _, number = reader.lines[0].partition(" - objective value ")
    verdict = verdict.strip()
    without = any(words in reader.lines[0] for words in _CBC_WITHOUT)
    objective = None if without else reader.objective(number, 1)
    for k, line in enumerate(reader.lines[1:], 2):
        fields = line.replace("**", " ").split()
        if without or not fields:
            continue
        if len(fields) != 4:
            raise reader.error("expected number, name, value and reduced cost", k)
        reader.put(fields[1], fields[2], k)
    return reader.done("CBC", verdict, verdict == "Optimal", objective)


def _scip(reader: _Reader) -> Solution:
    status, objective = "", None
    for k, line in enumerate(reader.lines, 1):
        _, colon, rest = line.partition(":")
        if line.startswith("solution status") and colon:
            status = rest.strip()
        elif line.startswith("objective value") and colon:
            objective = reader.objective(rest.strip(), k)
        elif fields := line.split():
            if line.startswith("no solution available"):
                break
            if len(fields) < 2:
                raise reader.error("expected a name and its value: truncated?", k)
            reader.put(fields[0], fields[1], k)
    return reader.done("SCIP", status, "optimal solution" in status, objective)


def _gurobi(reader: _Reader) -> Solution:
    objective, first = None, 0
    for line in reader.lines:
        if not line.startswith("#"):
            break
        first += 1
        if line.startswith("# Objective value ="):
            objective = reader.objective(line.split()[-1], first)
    last = len(reader.lines) - reader.ended  # behind the last line feed is nothing
    reader.put_all(reader.lines[first:last], first + 1)
    if objective is None:
        raise reader.error("no line '# Objective value = ...'", 1)
    return reader.done("Gurobi", "", False, objective, all_named=True)


def _cplex(reader: _Reader) -> Solution:
    found: dict[str, str] = {}
    header = 1
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal header
        line = parser.CurrentLineNumber
        if tag == "header":
            found.update(attributes)
            header = line
        elif tag == "variable":
            name, value = attributes.get("name", ""), attributes.get("value", "")
            reader.put(name, value, line)

    parser.StartElementHandler = start
    try:
        parser.Parse(reader.text, True)
    except expat.ExpatError as error:
        raise reader.error(f"no whole XML: {error}", error.lineno) from None
    reader.ended = True  # an element that does not end is no XML
    if "objectiveValue" not in found:
        raise reader.error("no header with an objectiveValue", 1)
    objective = reader.objective(found["objectiveValue"], header)
    status = found.get("solutionStatusString", "")
    optimal = "optimal" in status
    return reader.done("CPLEX", status, optimal, objective, all_named=True)


def _glpsol(reader: _Reader) -> Solution:
    status, objective, ended = "", None, False
    for k, line in enumerate(reader.lines, 1):
        if line.startswith("Status:"):
            status = line.partition(":")[2].strip()
        elif line.startswith("Objective:"):
            number = line.partition("=")[2].split()
            objective = reader.objective(number[0] if number else "", k)
        elif line.startswith("End of output"):
            ended = True
        elif re.match(r" *\d+ [xc]?\S* ", line) and (fields := line.split()):
            if len(fields) < 3:
                raise reader.error("expected number, name and activity", k)
            place = 3 if fields[2] in ("*", "B", "NL", "NU", "NF", "NS") else 2
            reader.put(fields[1], fields[place] if place < len(fields) else "", k)
    if not ended:
        raise reader.error("no line 'End of output': truncated", len(reader.lines))
    if "OPTIMAL" not in status and "FEASIBLE" not in status.split():
        objective = None
    if status.endswith(("EMPTY", "UNDEFINED")) or "INFEASIBLE" in status:
        objective = None
    optimal = status in ("INTEGER OPTIMAL", "OPTIMAL")
    return reader.done("glpsol", status, optimal, objective, all_named=True)


def _glpsol_raw(reader: _Reader) -> Solution:
    reason = "glpsol -w numbers variables and does not name them; write it with -o"
    raise reader.error(reason, 1)


def start_texts(objective: float, values: Sequence[float]) -> dict[str, Iterator[str]]:
    """Files to start from, in parts: ``mst`` for Gurobi and SCIP, ``sol`` for HiGHS."""
    head = (
        "Model status\nUnknown\n\n# Primal solution values\nFeasible\n"
        f"Objective {objective!r}\n# Columns {len(values)}\n"
    )
    return {
        "mst": chain([f"# MIP start, objective value {objective!r}\n"], _lines(values)),
        "sol": chain([head], _lines(values), ["# Rows 0\n"]),
    }


def _lines(values: Sequence[float]) -> Iterator[str]:
    return (f"x{j} {value!r}\n" for j, value in enumerate(values))


_FORMATS: tuple[tuple[str, Callable[[_Reader], Solution]], ...] = (
    (r"<\?xml|<CPLEXSolution", _cplex),
    (r"Model status", _highs),
    (r"solution status:|objective value:|no solution available", _scip),
    (r"Problem:", _glpsol),
    (r"c Problem:|s (mip|bas|ipt) ", _glpsol_raw),
    (r"# Solution for model|# Objective value", _gurobi),
    (r".* - objective value ", _cbc),
)
