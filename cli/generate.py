"""``olivine generate``: the family as a graph, the program as LP and MPS files."""

from __future__ import annotations

import enum
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common.command import verb
from .common.console import Unseen, progress_bar, tell
from .common.folder import staged
from .common.memory import is_exhausted, want_of_memory
from .common.options import (
    DEFAULT_MAX_VARIABLES,
    FormulationName,
    Json,
    MaxBytes,
    MaxVariables,
    Memory,
    MilpEngine,
    PenaltyOption,
    ReadAs,
    StrictReading,
    VariantName,
    VariantOption,
    checked_engine,
    checked_penalty,
    parse_seconds,
)
from .common.output import (
    ExitStatus,
    describe,
    print_json,
    report_error,
    report_exhausted,
    report_unknown,
    say,
)
from .common.outputs import check_not_input
from .common.reading import Reading

if TYPE_CHECKING:
    from rich.progress import Progress

_LEAST = 1e-3
"""Seconds left where reading alone took the limit; 0 would be no limit."""


class FormatName(enum.StrEnum):
    """What can be written."""

    LP = "lp"
    MPS = "mps"
    JSON = "json"
    GRAPHML = "graphml"
    DOT = "dot"
    DRN = "drn"
    PRISM = "prism"


@verb
def generate(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A DIMACS file, or - for standard input."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder to write, new or empty."
        ),
    ],
    variant: VariantOption = VariantName.PAPER,
    penalty: PenaltyOption = None,
    formulation: Annotated[
        FormulationName, typer.Option(help="Formulation of the program.")
    ] = FormulationName.FAITHFUL,
    engine: MilpEngine = "highs",
    member: Annotated[
        str | None,
        typer.Option(
            metavar="Y",
            help="Write graphs and models with the rewards of this member: a bit per "
            "variable (of the input or of the 3-SAT form), as in 0110; all 0 if not "
            "given.",
        ),
    ] = None,
    two_actions: Annotated[
        bool,
        typer.Option(
            "--two-actions",
            help="Give each state two actions: binary trees replace wide choices.",
        ),
    ] = False,
    start: Annotated[
        bool,
        typer.Option(
            "--start",
            help="Write the point of the best assignment of a short search for solvers "
            "to start from: start.mst (Gurobi, SCIP) and start.sol (HiGHS).",
        ),
    ] = False,
    formats: Annotated[
        list[FormatName] | None,
        typer.Option("--format", help="What to write; repeatable. All by default."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that is not empty.")
    ] = False,
    strict: StrictReading = False,
    input_format: ReadAs = None,
    max_variables: MaxVariables = DEFAULT_MAX_VARIABLES,
    max_bytes: MaxBytes = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            parser=parse_seconds,
            metavar="SECONDS",
            help="CPU time of the run; none by default.",
        ),
    ] = None,
    memory: Memory = None,
    json_lines: Json = False,
) -> int:
    """Write the family of MDPs as a graph and OLIVE's program as LP and MPS.

    The folder holds the graph as node-link JSON, GraphML and DOT; a member for
    model checkers in Storm's DRN and in PRISM's language; three_sat.cnf, the 3-SAT
    form; and family.json with sizes, rewards, the numbering of states and the
    meaning of the short names in the program files.

    The program maximises g(s0) (or minimises -g(s0)). program.mps is fixed MPS,
    unless a number is too long for its columns; it then says so. The first lines of
    program.lp and program.mps give the least difference between two values of the
    optimum: solve with a relative gap of 0 (mip_rel_gap in HiGHS) and an absolute
    gap below it. --engine reads both files back and solves them; olivine extract
    accepts any solver's solution.

    In variant paper, trying a clause has a negative reward, which Storm accepts
    (with --exact) and PRISM does not; the other variants have none
    (docs/model-checkers.md has the commands). With --two-actions, the graph, the
    models and the program are those of an MDP with two actions per state, a horizon
    of order log(n + m) and the same optimum. The folder appears complete or not at
    all.

    Exit status: 0 done, 2 bad input, 3 a limit of time or memory was reached
    (nothing is written).

    Example: [bold]olivine generate tests/cases/cadical/full3.cnf -o full3[/bold]
    """
    from .common import family_folder
    from .experiments.runs import OutOfTimeError, limited

    clock, begun = time.perf_counter(), time.process_time()
    exact_penalty = checked_penalty(variant, penalty)
    reader = checked_engine(engine)
    try:
        check_not_input((output / name for name in family_folder.OURS), file)
        reading = Reading(strict, input_format, max_variables, max_bytes)
        source, instance = reading.read_instance(file, variant.value, exact_penalty)
    except (ValueError, OSError, MemoryError) as error:
        if is_exhausted(error):
            return report_exhausted(file, "in reading it", json_lines=json_lines)
        return report_error(file, describe(error), json_lines=json_lines)
    wanted = [f for f in FormatName if not formats or f in formats]
    try:
        bits = family_folder.parse_member(member, instance.family)
        family_folder.refuse_large(instance.family, wanted, two_actions=two_actions)
        if two_actions:
            family_folder.refuse_two_actions(instance.family, formulation.value)
        if start:
            family_folder.refuse_start(wanted, two_actions=two_actions)
    except ValueError as error:
        message = f"{file}: {describe(error)}"
        return report_error(file, message, json_lines=json_lines)
    for warning in source.warnings:
        say(f"olivine: warning: {warning}")
    stages = family_folder.stages(wanted, start=start)
    reached = _Reached(stages)
    try:
        with (
            progress_bar("generate", len(stages), json_lines) as progress,
            staged(
                output,
                force=force,
                stale=family_folder.OURS,
                last=family_folder.DESCRIPTION,
            ) as stage,
        ):
            reached.show_on(progress)
            left = time_limit and time_limit - (time.process_time() - begun)
            # Not around what follows: once the files move, the run is done.
            with limited(left and max(left, _LEAST)):
                record = family_folder.write_folder(
                    stage,
                    instance,
                    source,
                    wanted,
                    formulation.value,
                    bits,
                    reader,
                    two_actions=two_actions,
                    start=start,
                    at=reached.at,
                )
    except (Exception, OutOfTimeError) as error:
        late = isinstance(error, OutOfTimeError)
        if not late and not is_exhausted(error):
            if not isinstance(error, ValueError | OSError):
                raise
            # A ValueError here means numbers that a format cannot hold.
            message = describe(error, str(output))
            return report_error(file, message, json_lines=json_lines)
        limit = want_of_memory()
        if late:
            limit = f"limit of {time_limit:g} s of CPU time reached"
        reason = (
            f"{limit} at {reached.name}, "
            f"{stages.index(reached.name)} of {len(stages)} steps done; "
            "nothing is written"
        )
        return report_unknown(file, reason, json_lines=json_lines)
    record = {"file": file, "directory": str(output)} | record
    record["warnings"] = list(source.warnings)
    record["seconds"] = round(time.perf_counter() - clock, 6)
    if json_lines:
        print_json(record)
    else:
        _show(record)
    return ExitStatus.DONE


class _Reached:
    """The step that a run is at, on the progress bar and for a limit's message."""

    def __init__(self, stages: list[str]) -> None:
        self._stages = stages
        self._progress: Progress | Unseen | None = None
        self.name = stages[0]

    def show_on(self, progress: Progress | Unseen) -> None:
        """Show the steps on a bar from now on."""
        self._progress = progress

    def at(self, name: str) -> None:
        """Note that a step begins."""
        self.name = name
        if self._progress is None:
            return
        for task in self._progress.task_ids:
            done = self._stages.index(name)
            self._progress.update(task, completed=done, description=name)


def _show(record: dict[str, Any]) -> None:
    sizes = record["three_sat"]
    tell(
        f"{record['directory']}: {record['variant']}, penalty {record['penalty']}, "
        f"3-SAT form with {sizes['variables']} variables and {sizes['clauses']} "
        "clauses"
    )
    for name, size in record["files"].items():
        check = record["read_back"].get(name, "")
        tell(f"  {name:14} {size:>12,} bytes  {check}".rstrip())
