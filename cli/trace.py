"""``olivine trace``: the run of OLIVE that leaves its hard program, verified."""

from __future__ import annotations

import enum
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from olivine.cli.common import (
    ExitStatus,
    Reading,
    describe,
    print_json,
    report_error,
    say,
    stdout_console,
    verb,
)
from olivine.cli.options import (
    DEFAULT_MAX_VARIABLES,
    Json,
    MaxVariables,
    PenaltyOption,
    ReadAs,
    Seed,
    StrictReading,
    TimeLimit,
    VariantName,
    VariantOption,
    checked_penalty,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from olivine.reduction.family.family import Family
    from olivine.reduction.run.run import Round, Run

DEFAULT_SECONDS = 60.0


class MemberName(enum.StrEnum):
    """Which member of the family OLIVE runs in."""

    ZERO = "zero"
    RANDOM = "random"
    SAT = "sat"


class _UnknownError(Exception):
    """No satisfying member was found, and none was ruled out."""


@verb
def trace(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A DIMACS file, or - for standard input."),
    ],
    variant: VariantOption = VariantName.PAPER,
    penalty: PenaltyOption = None,
    member: Annotated[
        MemberName,
        typer.Option(
            help="Run in the member of the all-zero assignment, of a random one, or "
            "of a satisfying one."
        ),
    ] = MemberName.ZERO,
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    strict: StrictReading = False,
    input_format: ReadAs = None,
    max_variables: MaxVariables = DEFAULT_MAX_VARIABLES,
    json_lines: Json = False,
) -> int:
    """Run OLIVE, ties broken against it, until its program is the hard one.

    Every round is checked in exact arithmetic: its pair is a maximiser of the
    program so far, the average Bellman error at its level is positive, and it
    adds the constraint stated. The final program is compared with the stated
    one, constraint for constraint. Maximisers, levels and constraints do not
    depend on the member; errors behind a clause do.

    Exit status: 0 everything checked, 1 a check failed, 2 bad input, 3 no
    satisfying member found within --time-limit.

    Example: [bold]olivine trace tests/cases/cadical/full3.cnf[/bold]
    """
    from olivine.reduction.run.run import adversarial_run

    start = time.perf_counter()
    exact_penalty = checked_penalty(variant, penalty)
    try:
        reading = Reading(strict, input_format, max_variables)
        source, instance = reading.read_instance(file, variant.value, exact_penalty)
    except (ValueError, OSError) as error:
        return report_error(file, describe(error), json_lines=json_lines)
    family = instance.family
    try:
        y = _choose(family, member, seed, time_limit or DEFAULT_SECONDS)
    except ValueError as error:
        message = f"{file}: {describe(error)}"
        return report_error(file, message, json_lines=json_lines)
    except _UnknownError as error:
        report_error(file, f"{file}: {describe(error)}", json_lines=json_lines)
        return ExitStatus.UNDECIDED
    for warning in source.warnings:
        say(f"olivine: warning: {warning}")
    run = adversarial_run(family, y)
    for failure in run.failures():
        say(f"olivine: {file}: {failure}")
    if json_lines:
        record = {
            "file": file,
            "variables": source.formula.n_variables,
            "clauses": source.formula.n_clauses,
            **_record(run, member, seed),
            "warnings": list(source.warnings),
        }
        record["seconds"] = round(time.perf_counter() - start, 6)
        print_json(record)
    else:
        _show(run, file, member)
    return ExitStatus.DONE if run.holds else ExitStatus.CONTRADICTION


def _choose(
    family: Family, member: MemberName, seed: int, seconds: float
) -> NDArray[np.bool_]:
    """Choose the assignment of the member.

    Raises
    ------
    ValueError
        If a satisfying one is asked for and there is none.
    _UnknownError
        If none is found in time.
    """
    import numpy as np

    if member is MemberName.ZERO:
        return np.zeros(family.n_variables, dtype=np.bool_)
    if member is MemberName.RANDOM:
        return np.random.default_rng(seed).random(family.n_variables) < 0.5
    from olivine.solvers.outcome import SatStatus
    from olivine.solvers.sat import solve_sat

    try:
        outcome = solve_sat(
            family.three_sat.as_formula(), family.n_variables, time_limit=seconds
        )
    except RuntimeError as error:  # it failed, or gave a model that is none
        raise _UnknownError(f"--member sat: {error}") from None
    if outcome.model is not None:
        return outcome.model
    if outcome.status is SatStatus.UNSATISFIABLE:
        raise ValueError("--member sat: the formula is unsatisfiable")
    raise _UnknownError(f"--member sat: no assignment found: {outcome.reason}")


def _record(run: Run, member: MemberName, seed: int) -> dict[str, Any]:
    """Describe a run; rationals are strings."""
    family = run.family
    drawn = {"seed": seed} if member is MemberName.RANDOM else {}
    return {
        "three_sat": {"variables": family.n_variables, "clauses": family.n_clauses},
        "variant": str(family.variant),
        "penalty": str(family.penalty),
        "member": member.value,
        "assignment": "".join("1" if bit else "0" for bit in run.member),
        **drawn,
        "rounds": [_round(r) for r in run.rounds],
        "least_total_error": str(run.least_total_error),
        "program_as_stated": run.program_as_stated,
        "failures": run.failures(),
    }


def _round(done: Round) -> dict[str, Any]:
    return {
        "round": done.number,
        "action": done.action,
        "level": done.level,
        "errors": [str(error) for error in done.errors],
        "constraint": done.constraint,
        "optimum": str(done.optimum),
        "checks": vars(done.checks),
    }


def _show(run: Run, file: str, member: MemberName) -> None:
    from rich.table import Table
    from rich.text import Text

    family, console = run.family, stdout_console()
    console.print(
        Text(
            f"{file}: {family.variant}, penalty {family.penalty}, 3-SAT form with "
            f"{family.n_variables} variables and {family.n_clauses} clauses, member "
            f"{member.value}"
        )
    )
    table = Table(box=None, header_style="bold")
    for heading, justify in (
        ("round", "right"),
        ("action", "left"),
        ("level", "right"),
        ("errors", "left"),
        ("constraint", "left"),
        ("optimum", "right"),
        ("checks", "left"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for done in run.rounds:
        failed = [name for name, passed in vars(done.checks).items() if not passed]
        table.add_row(
            str(done.number),
            Text(done.action),
            str(done.level),
            ", ".join(map(str, done.errors)),
            done.constraint,
            str(done.optimum),
            Text("failed: " + ", ".join(failed)) if failed else "ok",
        )
    console.print(table)
    same = "as stated" if run.program_as_stated else "NOT as stated"
    console.print(
        f"{len(run.rounds)} rounds, final program {same}; the errors of a round add up "
        f"to {run.least_total_error} at least"
    )
