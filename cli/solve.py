"""``olivine solve``: a SAT and MaxSAT solver that goes through OLIVE's program."""

from __future__ import annotations

import enum
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from .common.command import verb
from .common.options import (
    FormulationName,
    InputFile,
    Json,
    Memory,
    PenaltyOption,
    TimeLimit,
    VariantName,
    VariantOption,
    checked_penalty,
)
from .common.output import bad_input, print_json, say_warnings
from .common.process import ignore_signals, signal_received
from .common.reading import Reading, described, instance_of

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from ..reduction.family.family import Instance
    from ..reduction.formula.prepare import Hardened
    from ..reduction.verify.decision import Decision
    from ..reduction.verify.optimise import Optimum

_EXIT = {True: 10, False: 20, None: 0}
_ANSWER = {True: "SATISFIABLE", False: "UNSATISFIABLE", None: "UNKNOWN"}
_BEST = {
    "optimal": (30, "OPTIMUM FOUND"),
    "feasible": (10, "SATISFIABLE"),
    "unsatisfiable": (20, "UNSATISFIABLE"),
    "unknown": (0, "UNKNOWN"),
}
"""Exit status and answer of the MaxSAT evaluation."""
_FULL_LINE = re.compile(r"(\S.{0,75})(?: |$)")  # 76 characters, behind "v "
_PART = 1 << 16
"""Literals printed at a time."""


class EngineName(enum.StrEnum):
    """What decides."""

    SAT = "sat"
    MILP = "milp"


@verb
def solve(
    file: InputFile,
    *,
    engine: Annotated[
        EngineName,
        typer.Option(help="Decide by a SAT solver, or by a MILP of the program."),
    ] = EngineName.SAT,
    variant: VariantOption = VariantName.PAPER,
    penalty: PenaltyOption = None,
    formulation: Annotated[
        FormulationName | None,
        typer.Option(help="Formulation for --engine milp; chosen by size by default."),
    ] = None,
    time_limit: TimeLimit = None,
    memory: Memory = None,
    reading: Reading,
    json_lines: Json = False,
) -> int:
    """Decide a formula through OLIVE's program, like a solver of the SAT competition.

    Prints c, s and v lines. For a WCNF file it minimises the unsatisfied weight by
    the protocol of the MaxSAT evaluation: an o line for each better weight, then
    "s OPTIMUM FOUND" and a v line of 0 and 1; SIGINT and SIGTERM act as time limits.
    The v lines assign every variable of the input and come from a pair of the
    program that is checked exactly; if satisfiable, the pair has value 1. There is
    no time limit unless --time-limit sets one.

    Exit status: 10 satisfiable (WCNF: stopped at a limit, the best known assignment
    is printed), 20 unsatisfiable, 30 optimum found, 0 unknown, 2 bad input, 3 out
    of memory outside the solver.

    Example: [bold]olivine solve tests/cases/satlib/uf20-01.cnf[/bold]
    """
    start = time.perf_counter()
    exact_penalty = checked_penalty(variant, penalty)
    chosen = None if formulation is None else formulation.value
    named = re.search(r"(?i)\.wcnf(\.\w+)?$", file) and "wcnf"
    with _unknown_if_stopped(
        file, reading.input_format or named, json_lines
    ) as formats:
        with bad_input(file):
            source = reading.read(file)
            formats.append(source.format)
            instance = instance_of(file, source, variant.value, exact_penalty)
        say_warnings(source.warnings)
        if not json_lines:
            _print_head(file, instance)
        found: Decision | Optimum
        own: dict[str, Any]
        if source.format == "cnf":
            from ..reduction.verify.decision import decide

            found = decide(
                instance, engine.value, formulation=chosen, time_limit=time_limit
            )
            status, answer = _EXIT[found.satisfiable], _ANSWER[found.satisfiable]
            own = {"satisfiable": found.satisfiable}
            own["decided_by"] = found.decided_by or None
            lines = value_lines
        else:
            remarks: tuple[str, ...] = ()
            if engine is EngineName.MILP:
                from ..reduction.verify.routes import milp_remark

                remarks = (milp_remark(instance, chosen, time_limit),)
            asked = {"remarks": remarks, "time_limit": time_limit}
            found = _optimum(instance, source.hardened, quiet=json_lines, **asked)
            status, answer = _BEST[found.status]
            ignore_signals(answer=status)  # what is printed is printed whole
            known = {"optimal": found.cost == 0, "unsatisfiable": False}
            own = {
                "satisfiable": known.get(found.status),  # every clause
                "answer": answer,
                "cost": found.cost,
                "decided_by": "maxsat" if found.status in known else None,
            }
            lines = _bit_line
        seconds = time.perf_counter() - start
        if json_lines:
            record = _record(file, instance, found, source.warnings, seconds, **own)
            _print_record(record, found.assignment)
        else:
            _print_comments(found.remarks, found.value, seconds)
            print(f"s {answer}")
            if found.assignment is not None:
                for part in lines(found.assignment):
                    print(part)
            sys.stdout.flush()
        return status
    return _EXIT[None]


@contextmanager
def _unknown_if_stopped(
    file: str, expected: str | None, json_lines: bool
) -> Iterator[list[str | None]]:
    """Answer "unknown" for WCNF if a signal ends the block before a model is known.

    The block adds the format to what is yielded as soon as the file is read.
    """
    formats = [expected]
    try:
        yield formats
    except BaseException:
        is_wcnf = formats[-1] not in (None, "cnf")
        if (number := signal_received()) is None or not is_wcnf:
            raise
        ignore_signals(answer=_EXIT[None])
        reason = f"stopped by {signal.Signals(number).name}"
        if json_lines:
            print_json({"file": file, "answer": _ANSWER[None], "reason": reason})
        else:
            print(f"c {reason}\ns {_ANSWER[None]}", flush=True)


def _optimum(
    instance: Instance, hardened: Hardened | None, *, quiet: bool, **options: Any
) -> Optimum:
    """Find the optimum, with an o line for each better cost unless `quiet`.

    SIGINT and SIGTERM are limits of time: what is best by then is shown.
    """
    best: list[tuple[int, NDArray[np.bool_]]] = []

    def better(cost: int, assignment: NDArray[np.bool_]) -> None:
        best.append((cost, assignment))
        del best[:-1]
        if not quiet:
            print(f"o {cost}", flush=True)

    try:
        from ..reduction.verify.optimise import optimise, shown

        found = optimise(instance, hardened, better=better, **options)
        ignore_signals()
        return found
    except BaseException:
        if (number := signal_received()) is None or not best:
            raise
    ignore_signals()
    remarks = (f"stopped by {signal.Signals(number).name}",)
    return shown(instance, *best[0], "feasible", remarks)


def _record(
    file: str,
    instance: Instance,
    found: Decision | Optimum,
    warnings: tuple[str, ...],
    seconds: float,
    **own: Any,
) -> dict[str, Any]:
    """Make the record of a file; `own`: what only its format has."""
    return (
        {"file": file}
        | described(instance)
        | own
        | {
            "value": None if found.value is None else str(found.value),
            "model": None,
            "remarks": list(found.remarks),
            "warnings": list(warnings),
            "seconds": round(seconds, 6),
        }
    )


def _print_head(file: str, instance: Instance) -> None:
    formula, family = instance.formula, instance.family
    comments = [
        f"olivine {__version__}: 3-SAT through OLIVE's program",
        # A line break in a name must not start a line of another kind.
        f"file {file!a}: {formula.n_variables} variables, {formula.n_clauses} clauses",
        f"family {family.variant}, penalty {family.penalty}: 3-SAT form with "
        f"{family.n_variables} variables, {family.n_clauses} clauses",
    ]
    print(*(f"c {comment}" for comment in comments), sep="\n", flush=True)


def _print_comments(
    remarks: tuple[str, ...], value: Fraction | None, seconds: float
) -> None:
    comments = list(remarks)
    if value is not None:
        comments.append(f"exact witness: g(s0) = {value}, all constraints met")
    comments.append(f"{seconds:.3f} seconds")
    print(*(f"c {comment}" for comment in comments), sep="\n")


def value_lines(model: NDArray[np.bool_]) -> Iterator[str]:
    """Yield the lines ``v ...`` that give every variable once and end with 0.

    Many lines at a time and never all of them: a header names ten million variables
    for nothing.
    """
    rest = ""
    for literals in chain(_literals(model), ["0"]):
        *lines, rest = _FULL_LINE.findall(f"{rest} {literals}".lstrip())
        if lines:
            yield "v " + "\nv ".join(lines)
    yield f"v {rest}"


def _bit_line(model: NDArray[np.bool_]) -> Iterator[str]:
    """Yield the one line of a WCNF file's assignment, a bit for each variable."""
    yield f"v {(model + ord('0')).astype('u1').tobytes().decode('ascii')}"


def _literals(model: NDArray[np.bool_]) -> Iterator[str]:
    """Yield the literals of an assignment as "1 -2", each once, many at a time.

    The digits are computed by columns, so parts do not mix numbers of digits.
    """
    import numpy as np

    end = len(model) + 1
    for digits in range(1, len(str(len(model))) + 1):
        for first in range(10 ** (digits - 1), min(10**digits, end), _PART):
            last = min(first + _PART, 10**digits, end)
            variables = np.arange(first, last, dtype=np.int32)
            text = np.empty((len(variables), digits + 2), dtype=np.uint8)
            text[:, :2] = np.frombuffer(b" -", dtype=np.uint8)
            for place in range(digits):
                text[:, -1 - place] = variables // 10**place % 10 + ord("0")
            shown = np.ones(text.shape, dtype=bool)
            shown[:, 1] = ~model[first - 1 : last - 1]
            yield text[shown].tobytes().decode()[1:]


def _print_record(record: dict[str, Any], model: NDArray[np.bool_] | None) -> None:
    """Print the record as JSON, the literals of the model a part at a time."""
    if model is None:
        print_json(record)
        return
    import json  # a start without it is quicker by a fiftieth

    before, after = json.dumps(record | {"model": []}).split('"model": []')
    sys.stdout.write(f'{before}"model": [')
    for k, part in enumerate(_literals(model)):
        sys.stdout.write(", " * (k > 0) + part.replace(" ", ", "))
    sys.stdout.write(f"]{after}\n")
    sys.stdout.flush()
