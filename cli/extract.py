"""``olivine extract``: what any solver's solution of a written program proves."""

from __future__ import annotations

import json
import re
import time
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common.command import verb
from .common.options import Json
from .common.output import ExitStatus, bad_input, print_json, say
from .common.reading import open_regular

if TYPE_CHECKING:
    from ..reduction.family.family import Family

_REMARKS = 10
"""Lines of a program file among which its remarks stand."""
_KEYS = ("formulation", "variant", "penalty", "two_actions", "formula")


@verb
def extract(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A folder that olivine generate wrote."),
    ],
    solution: Annotated[
        str,
        typer.Argument(
            metavar="SOLUTION", help="A solver's solution of DIR's program.lp or .mps."
        ),
    ],
    json_lines: Json = False,
) -> int:
    """Turn a solver's solution into an exact pair, an assignment and what it proves.

    SOLUTION is a file of HiGHS (--solution_file), CBC (-solution), SCIP (write
    solution), Gurobi or CPLEX (.sol), or glpsol (-o). Its values are rounded within
    the solver's tolerances to a pair of values and policy, whose constraints are
    checked in rationals, and the pair gives an assignment of three_sat.cnf. Its exact
    value is a lower bound on the optimum, and the optimum itself if the assignment
    satisfies the formula. Otherwise only the solver claims that nothing is better;
    olivine verify --certificate proves it.

    Exit status: 0 something is proved, 2 bad input, 3 nothing is proved (with the
    reason).

    Example: [bold]olivine extract model model/highs.sol[/bold]
    """
    start = time.perf_counter()
    from ..reduction.program.program import build
    from ..reduction.program.program import extract as judge
    from ..solvers.milp.solutions import parse_solution
    from ..solvers.model.integer_form import IntegerForm

    with bad_input(str(directory), str(directory)):
        family, formulation = _read_folder(directory)
        built = build(family, formulation)
        form = IntegerForm(built.model)
    with bad_input(solution, solution):
        with open_regular(solution) as opened:
            text = opened.read().decode("utf-8", errors="replace")
        size = {"columns": len(form), "rows": len(form.table)}
        found = parse_solution(text, solution, **size)
    with bad_input(solution):
        result = judge(built, form, found)
    record = {
        "directory": str(directory),
        "solution": solution,
        "solver": found.solver,
        "status": found.status,
        "objective": found.objective,
        "formulation": formulation,
        "variant": str(family.variant),
        "penalty": str(family.penalty),
        "proves": result.proves,
        "reason": result.reason,
        "pair": _text(result.pair_value),
        "value": _text(result.value),
        "unsatisfied": result.unsatisfied,
        "assignment": None
        if result.assignment is None
        else "".join("01"[bit] for bit in result.assignment.tolist()),
        "seconds": round(time.perf_counter() - start, 6),
    }
    if json_lines:
        print_json(record)
    elif result.proves == "nothing":
        say(f"olivine: {solution}: proves nothing: {result.reason}")
    else:
        _show(record, family)
    return ExitStatus.UNDECIDED if result.proves == "nothing" else ExitStatus.DONE


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _show(record: dict[str, Any], family: Family) -> None:
    status = f", {record['status']}" if record["status"] else ""
    print(
        f"{record['solution']}: {record['solver']}{status}, objective "
        f"{record['objective']:.9g} of {record['formulation']}, {record['variant']}"
    )
    print(f"pair: g(s0) = {record['pair']}, every constraint checked in rationals")
    print(
        f"assignment: leaves weight {record['unsatisfied']} of {family.total_weight} "
        f"unsatisfied, value {record['value']}"
    )
    sign = "=" if record["proves"] == "optimum" else ">="
    print(f"proves: optimum {sign} {record['value']} ({record['reason']})")
    bits = enumerate(record["assignment"], 1)
    print("v", *(k if bit == "1" else -k for k, bit in bits), 0)


def _read_folder(directory: Path) -> tuple[Family, str]:
    """Read which program a folder has, and make its family."""
    from ..reduction.family.family import Family
    from ..reduction.formula.dimacs import read_dimacs
    from ..reduction.program import FORMULATIONS
    from .common.family_folder import FORMULA

    name, about = _remark(directory)
    if about["two_actions"]:
        raise ValueError(
            f"{name}: a program with two actions a state; extract reads those of the "
            "family's own actions"
        )
    formulation = str(about["formulation"])
    if formulation not in FORMULATIONS:
        raise ValueError(f"{name}: bad remark: no formulation {formulation!r}")
    formula = read_dimacs(directory / FORMULA, max_variables=2**31 - 1).formula
    if not formula.digest().startswith(str(about["formula"])):
        raise ValueError(f"{directory / FORMULA}: another formula than that of {name}")
    penalty = about["penalty"]
    try:
        if penalty is not None:
            if not re.fullmatch("[0-9]{1,200}(/[1-9][0-9]{0,199})?", str(penalty)):
                raise ValueError(f"{str(penalty)[:40]!r} is no penalty")
            penalty = Fraction(str(penalty))
        return Family(formula.three_sat(), about["variant"], penalty), formulation
    except ValueError as error:
        raise ValueError(f"{name}: bad remark: {error}") from None


def _remark(directory: Path) -> tuple[Path, dict[str, Any]]:
    """Find the remark of a program file that says which program it is."""
    from .common.family_folder import FILES, MARK

    files = [directory / FILES[kind] for kind in ("lp", "mps")]
    file = next((file for file in files if file.exists()), None)
    if file is None:
        raise ValueError(f"{directory}: neither program.lp nor program.mps is there")
    with open_regular(str(file)) as lines:
        heads = [line.decode("ascii", "replace") for line in islice(lines, _REMARKS)]
    texts = [head[1:].strip() for head in heads]
    for number, text in enumerate(texts, 1):
        if text.startswith(f"{MARK} {{"):
            try:
                found = json.loads(text.removeprefix(MARK))
                return file, {key: found[key] for key in _KEYS}
            except (ValueError, KeyError) as error:
                raise ValueError(f"{file}:{number}: bad remark: {error}") from None
    raise ValueError(f"{file}: no remark says which program it is")
